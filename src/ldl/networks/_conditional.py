# mypy: disable-error-code="no-untyped-def"
"""Sigmoid units that see a row and a label, for all rows and labels; compiled.

The input of a unit is a part of the row plus a part of the label, and the exponential of a sum is a
product. So exponentials are taken of the parts, not of each row with each label.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ldl._compiled import cached, compiled

ROWS = 16
"""Rows of a block, whose activations stay in the cache; loops over them use vector registers."""


class Room(NamedTuple):
    """Working memory for a block of rows."""

    H: np.ndarray
    """Activations, or slopes by the units' inputs, (labels, hidden, rows)."""
    F: np.ndarray
    """Outputs, or their slopes, (labels, rows)."""
    total: np.ndarray
    """Sums of slopes by the units' inputs, (hidden, rows)."""

    @classmethod
    def of(cls, labels: int, hidden: int) -> Room:
        """Allocate it for so many labels and hidden units."""
        return cls(
            H=np.empty((labels, hidden, ROWS)),
            F=np.empty((labels, ROWS)),
            total=np.empty((hidden, ROWS)),
        )


@cached
def predictions(of_rows, of_labels, out, P, room):
    """Write the softmax of the outputs into P (rows x labels).

    ``of_rows`` (hidden x rows) and ``of_labels`` (labels x hidden) are exp(-part), ``out`` are the
    weights of the hidden units.
    """
    for start in range(0, len(P), ROWS):
        _forward(of_rows, of_labels, out, P, start, room.H, room.F)


@cached
def slopes(of_rows, of_labels, out, D, weight, P, errors, by_out, by_label, room):
    """Write predictions into P, and the slopes of the weighted cross entropy of P to D.

    ``errors`` (hidden x rows) gets the slopes by the units' inputs, ``by_label`` (labels x hidden x
    ROWS) their sums over rows, both but for the weight of the unit; ``by_out`` (hidden x ROWS) gets
    the slopes by ``out``. The two sums are left open over the places in a block.
    """
    (labels, hidden), H, F, total = of_labels.shape, room.H, room.F, room.total
    for start in range(0, len(P), ROWS):
        rows = min(ROWS, len(P) - start)
        _forward(of_rows, of_labels, out, P, start, H, F)
        total[:] = 0.0
        for y in range(labels):
            for r in range(rows):
                F[y, r] = weight[start + r] * (P[start + r, y] - D[start + r, y])
            for k in range(hidden):
                # Two loops, for in one there are too many arrays to use vector registers.
                for r in range(rows):
                    first = F[y, r] * H[y, k, r]
                    by_out[k, r] += first
                    H[y, k, r] = first - first * H[y, k, r]
                for r in range(rows):
                    by_label[y, k, r] += H[y, k, r]
                    total[k, r] += H[y, k, r]
        for k in range(hidden):
            for r in range(rows):
                errors[k, start + r] = total[k, r]


@cached
def move(weights, gradient, steps, previous, grow, shrink, smallest, largest):
    """Do one epoch of Rprop in place."""
    for i in range(len(weights)):
        agreement = gradient[i] * previous[i]
        previous[i] = gradient[i]
        if agreement > 0:
            steps[i] = min(steps[i] * grow, largest)
        elif agreement < 0:
            steps[i] = max(steps[i] * shrink, smallest)
            previous[i] = 0.0
        weights[i] -= np.sign(previous[i]) * steps[i]


@compiled
def _forward(of_rows, of_labels, out, P, start, H, F):
    """Fill H with the activations of a block, and its rows of P."""
    labels, hidden = of_labels.shape
    rows = min(ROWS, len(P) - start)
    F[:] = 0.0
    for y in range(labels):
        for k in range(hidden):
            of_label, weight, activations, outputs = of_labels[y, k], out[k], H[y, k], F[y]
            for r in range(rows):
                activation = 1.0 / (1.0 + of_rows[k, start + r] * of_label)
                activations[r] = activation
                outputs[r] += weight * activation
    for r in range(rows):
        largest = F[0, r]
        for y in range(1, labels):
            largest = max(largest, F[y, r])
        whole = 0.0
        for y in range(labels):
            P[start + r, y] = np.exp(F[y, r] - largest)
            whole += P[start + r, y]
        for y in range(labels):
            P[start + r, y] /= whole
