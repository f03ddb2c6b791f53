"""The part of a score that comes from knowing the person: methods with persons kept apart."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ldl import metrics
from ldlrepro.catalogue import Method, Project
from ldlrepro.judge.scores import UnitScores

FLOOR = "train_mean"
"""The method that knows nothing of a row."""
SHOWN = "kl"
FEWEST = 3
"""Number of methods below which an order says nothing."""


@dataclass(frozen=True)
class Line:
    """One method: with rows of the same persons in training, and without."""

    method: str
    mixed: float
    apart: float
    lost: float | None
    """The share of what it gains over the training mean that is gone; None if it gained nothing."""
    rank_mixed: int
    rank_apart: int


@dataclass(frozen=True)
class PersonsApart:
    """The comparison of methods on one data set."""

    protocol: str
    dataset: str
    lines: list[Line]
    agreement: dict[str, float]
    """Measure -> Kendall's tau between both orders of the methods."""


def persons_apart(units: Iterable[UnitScores], project: Project) -> list[PersonsApart]:
    """Compare the methods on every data set that ran with persons apart."""
    known = {unit.key: unit for unit in units}
    pairs: dict[tuple[str, str], dict[str, tuple[UnitScores, UnitScores]]] = {}
    for apart in known.values():
        base = project.protocol(apart.protocol).persons_of
        mixed = known.get(f"{base}/{apart.dataset}/{apart.method}") if base else None
        if mixed is not None:
            pairs.setdefault((apart.protocol, apart.dataset), {})[apart.method] = (mixed, apart)
    found = [
        _compared(protocol, dataset, methods, project)
        for (protocol, dataset), methods in sorted(pairs.items())
    ]
    return [comparison for comparison in found if len(comparison.lines) >= FEWEST]


def _compared(
    protocol: str,
    dataset: str,
    methods: Mapping[str, tuple[UnitScores, UnitScores]],
    project: Project,
) -> PersonsApart:
    ranked = [n for n, both in methods.items() if _may_be_ranked(project.method(n), both)]
    means = {
        measure: {name: _both(methods[name], measure) for name in ranked}
        for measure in metrics.BETTER
    }
    shown = means[SHOWN]
    floor = _both(methods[FLOOR], SHOWN) if FLOOR in methods else None
    mixed, apart = (_order({name: both[side] for name, both in shown.items()}) for side in (0, 1))
    lines = [
        Line(name, *shown[name], _lost(shown[name], floor), mixed[name], apart[name])
        for name in sorted(ranked, key=lambda name: mixed[name])
    ]
    agreement = {measure: _tau(list(both.values())) for measure, both in means.items()}
    return PersonsApart(protocol, dataset, lines, agreement)


def _may_be_ranked(method: Method, both: Sequence[UnitScores]) -> bool:
    competes = not (method.control or method.sees_test_labels)
    return competes and all(unit.values(SHOWN) for unit in both)


def _both(units: tuple[UnitScores, UnitScores], measure: str) -> tuple[float, float]:
    mixed, apart = (statistics.fmean(unit.values(measure)) for unit in units)
    return mixed, apart


def _order(values: Mapping[str, float]) -> dict[str, int]:
    ordered = sorted(values, key=lambda name: values[name])
    return {name: place for place, name in enumerate(ordered, start=1)}


def _lost(both: tuple[float, float], floor: tuple[float, float] | None) -> float | None:
    if floor is None or both[0] >= floor[0]:
        return None
    return 1 - (floor[1] - both[1]) / (floor[0] - both[0])


def _tau(both: Sequence[tuple[float, float]]) -> float:
    """Return Kendall's tau-b of two orders; scipy.stats takes a second to import."""
    mixed, apart = (np.sign(np.subtract.outer(x, x)) for x in np.asarray(both).T)
    return float((mixed * apart).sum() / np.sqrt((mixed**2).sum() * (apart**2).sum()))
