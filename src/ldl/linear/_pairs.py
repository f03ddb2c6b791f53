# mypy: disable-error-code="no-untyped-def"
"""Pairs of labels that a prediction should rank as the degrees are; compiled."""

from __future__ import annotations

from ldl._compiled import cached


@cached
def pairs_of_label(j, behind, degrees, weight, sharpness, slopes, odds, weights):
    """Pair label j with each later one, in all rows; all tables are label by row.

    ``behind`` is exp(-sharpness p) but for a factor. A pair gets its weight, and 1 + exp(-sharpness
    (p - p')), where p should be above p'; its derivatives are added to ``slopes``.
    """
    labels, rows = degrees.shape
    for k in range(j + 1, labels):
        for i in range(rows):
            apart = degrees[j, i] - degrees[k, i]
            ratio = behind[j, i] / behind[k, i] if apart > 0 else behind[k, i] / behind[j, i]
            odds[k - j - 1, i] = 1.0 + ratio
            weights[k - j - 1, i] = weight[i] * apart * apart
            pull = sharpness * weights[k - j - 1, i] * ratio / (1.0 + ratio)
            pull = pull if apart > 0 else -pull
            slopes[j, i] -= pull
            slopes[k, i] += pull
