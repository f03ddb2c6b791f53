"""What the labels of public data sets say: the training mean's numbers, and their floor."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import fmean, median

from ldlrepro.lint.findings import SUSPICIOUS, Finding
from ldlrepro.lint.tables import BETTER, Rows

Yardstick = Mapping[str, Mapping[str, float]]
"""Data set -> measure -> mean."""
MARGIN = 0.01


def training_means(reference: Path) -> dict[str, dict[str, float]]:
    """Return what the training mean scores: of all protocols of the reference the median."""
    found: dict[str, dict[str, list[float]]] = {}
    for path in sorted(reference.glob("*/train_mean.csv")):
        with open(path, encoding="utf-8", newline="") as handle:
            folds = list(csv.DictReader(handle))
        for dataset in {fold["dataset"] for fold in folds}:
            mine = [fold for fold in folds if fold["dataset"] == dataset]
            for measure in BETTER:
                values = [float(fold[measure]) for fold in mine if fold.get(measure)]
                if values:
                    found.setdefault(dataset, {}).setdefault(measure, []).append(fmean(values))
    return {d: {m: median(v) for m, v in scores.items()} for d, scores in found.items()}


def worse_than_the_mean(rows: Rows, means: Yardstick) -> Iterator[Finding]:
    """Find rows that lose to the training mean in every measure, by more than a hundredth."""
    for row in rows.values():
        known = means.get(next(iter(row.values())).dataset, {})
        losses = []
        for measure, cell in row.items():
            if measure in known:
                sign = -1.0 if cell.better == "higher" else 1.0
                gap = sign * (cell.mean.value - known[measure]) - cell.mean.half
                losses.append((gap > MARGIN * abs(known[measure]), cell))
        if len(losses) > 1 and all(lost for lost, _ in losses):
            cell = losses[0][1]
            why = (
                f"the mean of the training labels has {known[cell.measure]:.4f} here, and is "
                f"better in all {len(losses)} measures"
            )
            yield Finding("below the mean", SUSPICIOUS, (cell,), why)


def better_than_the_labels(rows: Rows, floors: Mapping[str, float]) -> Iterator[Finding]:
    """Find error probabilities below that of always naming the label with the highest degree."""
    for row in rows.values():
        cell = row.get("error_probability")
        if cell and cell.mean.high < floors.get(cell.dataset, 0.0):
            why = (
                f"naming the highest label of every row gives {floors[cell.dataset]:.4f} over all "
                "rows, and nothing gives less"
            )
            yield Finding("floor", SUSPICIOUS, (cell,), why)
