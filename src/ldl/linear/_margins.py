# mypy: disable-error-code="no-untyped-def"
"""The hinges of LDLM and their slopes, row by row; compiled."""

from __future__ import annotations

import numpy as np

from ldl._compiled import cached


@cached
def hinges(P, others, top, free, rho, margin, rest, values, slopes):
    """Write the loss of every row into ``values``; overwrite P (labels x rows) with its slopes.

    The slopes are those by the scores of which P is the softmax. ``others`` are the degrees but for
    zero at the label ``top`` of a row; ``free`` is the error of them that costs nothing. ``slopes``
    is room for those of a row.
    """
    labels, rows = P.shape
    for i in range(rows):
        t, highest = top[i], P[top[i], i]
        # The errors of the other labels sum to 1 - P_top, as that of the highest one does.
        beyond = max(2.0 * (1.0 - highest) - rho, 0.0)
        error = -free[i]
        for y in range(labels):
            if y != t:
                error += abs(P[y, i] - others[y, i])
        pull = rest if error > 0 else 0.0
        lacking, slopes[t] = 0.0, -1.0 if beyond > 0 else 0.0
        for y in range(labels):
            if y != t:
                slopes[y] = pull * np.sign(P[y, i] - others[y, i])
                if beyond > 0:
                    slopes[y] += 1.0
                if P[y, i] + rho > highest:
                    lacking += P[y, i] + rho - highest
                    slopes[y] += margin
                    slopes[t] -= margin
        values[i] = beyond + margin * lacking + rest * max(error, 0.0)
        mean = 0.0
        for y in range(labels):
            mean += P[y, i] * slopes[y]
        for y in range(labels):
            P[y, i] *= slopes[y] - mean
