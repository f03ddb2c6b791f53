"""Compares methods or settings on rows cut from training rows, so that no test row is looked at.

Settings that were chosen by test rows make these rows worth nothing. So the training rows of one
fold are cut again: a fifth is held back to judge. These are whole persons where the protocol keeps
persons apart.
"""

from __future__ import annotations

import hashlib
import json
import math
import statistics
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ldl import metrics
from ldl.comparison.result import corrected_t
from ldlrepro.catalogue import Project, Protocol, digests
from ldlrepro.core.errors import UserError, nearest
from ldlrepro.core.kept_lines import KeptLines
from ldlrepro.core.progress import say, time_left
from ldlrepro.core.seeds import seed_for
from ldlrepro.core.workspace import Workspace
from ldlrepro.data import Dataset, DataUnavailable, ages, load_ready
from ldlrepro.folds.splits import Fold, folds_digest, make_folds, read_folds
from ldlrepro.judge import measures
from ldlrepro.plan import Unit
from ldlrepro.train import cards, provenance, selection
from ldlrepro.train.records import last_line
from ldlrepro.train.unit import MACHINE_ERRORS, features

HELD_BACK = 0.2
"""Share of the training rows, or of their persons, that judges."""
SHOWN = ("kl", "chebyshev", "clark", "canberra", "cosine", "intersection")


@dataclass(frozen=True)
class Question:
    """A question for a trial: what to compare, and where."""

    project: Project
    units: list[Unit]
    """Methods on one data set under one protocol; the others are compared with the first."""
    cuts: int
    fold: int
    measure: str | None
    threads: int
    seed: int

    @property
    def protocol(self) -> Protocol:
        return self.units[0].protocol

    @property
    def dataset(self) -> str:
        return self.units[0].data_set.id

    @property
    def by(self) -> str:
        """Return the measure that decides."""
        return self.measure or self.protocol.select_by

    def check(self) -> None:
        """Refuse mistakes in settings, and methods that see the labels that judge them."""
        for unit in self.units:
            unit.method.refuse_mistakes()
            if unit.method.sees_test_labels:
                raise UserError(
                    f"{unit.method.id} is given the labels that judge it: nothing to compare"
                )


@dataclass(frozen=True)
class Outcome:
    """A method on one cut; no scores where it failed."""

    scores: dict[str, float]
    seconds: float
    error: str = ""


@dataclass(frozen=True)
class Line:
    """A method's scores cut by cut, and how it compares with the first."""

    method: str
    scores: dict[str, list[float]]
    better: int | None
    """Cuts in which it is better than the first; None for the first itself."""
    of: int | None
    p: float | None
    """Of the corrected t test over the cuts."""
    fit_s: float
    note: str


def compare(question: Question, workspace: Workspace) -> tuple[list[Line], bool]:
    """Return a line for each method, and whether none failed."""
    protocol, directions = question.protocol, measures.directions(question.project)
    try:
        data = load_ready(workspace.ready(question.dataset))
        _check_measure(question.by, data, directions)
        train = _fold(question, workspace).train
        place = (question.seed, "try", protocol.id, question.dataset, question.fold)
        made = cuts(protocol, train, data.groups, question.cuts, place)
        with cards.held(max(unit.resources.gpu for unit in question.units), "try", say):
            found = _outcomes(question, data, made, workspace)
    except (DataUnavailable, cards.NoCardError) as error:
        raise UserError(str(error)) from None
    failed = any(outcome.error for outcomes in found.values() for outcome in outcomes)
    return compared(found, made, question.by, directions[question.by]), not failed


def cuts(
    protocol: Protocol,
    train: np.ndarray,
    groups: np.ndarray | None,
    count: int,
    seed_parts: tuple[object, ...],
) -> list[Fold]:
    """Make folds within ``train``, with rows for a grid where the protocol keeps some."""
    inside = Protocol(
        scheme="shuffle_split",
        repeats=count,
        train_share=1.0 - HELD_BACK,
        validation="none" if protocol.validation == "none" else "holdout",
        validation_share=protocol.validation_share,
        text="cuts inside the rows for training",
    )
    whom = np.arange(len(train))
    if protocol.scheme == "leave_one_group_out" and groups is not None:
        whom = groups[train]
    _, number = np.unique(whom, return_inverse=True)
    return [
        Fold(
            fold.repeat,
            fold.fold,
            *(train[np.isin(number, part)] for part in (fold.train, fold.validation, fold.test)),
        )
        for fold in make_folds(inside, int(number.max()) + 1, seed_parts)
    ]


def compared(
    found: Mapping[str, Sequence[Outcome]], made: Sequence[Fold], by: str, better: str
) -> list[Line]:
    """Return a line for each method; of the measure that decides ``better`` is lower or higher."""
    first = next(iter(found))
    rows = []
    for method, outcomes in found.items():
        failed = [outcome.error for outcome in outcomes if outcome.error]
        kept = [outcome.scores for outcome in outcomes if not outcome.error]
        line = Line(
            method=method,
            scores={name: [cut[name] for cut in kept] for name in _shown(kept, by)},
            better=None,
            of=None,
            p=None,
            fit_s=statistics.median(outcome.seconds for outcome in outcomes),
            note=f"{len(failed)} of {len(outcomes)} failed: {failed[0]}" if failed else "",
        )
        if method != first:
            gains = _gains(found[first], outcomes, by, better)
            p = None
            if len(gains) > 1:
                p = corrected_t(gains, len(made[0].train), len(made[0].test))
            line = replace(line, better=sum(gain > 0 for gain in gains), of=len(gains), p=p)
        rows.append(line)
    return rows


def _shown(kept: Sequence[Mapping[str, float]], by: str) -> list[str]:
    known = kept[0] if kept else {}
    return list(dict.fromkeys(name for name in (by, *metrics.AGE_BETTER, *SHOWN) if name in known))


def _gains(first: Sequence[Outcome], other: Sequence[Outcome], by: str, better: str) -> list[float]:
    """Return by how much the other is better, in each cut in which both have scores."""
    sign = -1.0 if better == "lower" else 1.0
    return [
        sign * (b.scores[by] - a.scores[by])
        for a, b in zip(first, other, strict=True)
        if not (a.error or b.error)
    ]


def _check_measure(name: str, data: Dataset, directions: Iterable[str]) -> None:
    """Refuse an unknown measure before hours of fits."""
    known = list(directions)
    if data.target is None or ages.grid_of(data.labels) is None:
        known = [measure for measure in known if measure not in metrics.AGE_BETTER]
    if name not in known:
        raise UserError(
            f"no measure '{name}' here.{nearest(name, known)} It can be {', '.join(known)}"
        )


def _fold(question: Question, workspace: Workspace) -> Fold:
    folds, _ = read_folds(workspace.folds(question.protocol.id, question.dataset))
    if not 0 <= question.fold < len(folds):
        raise UserError(
            f"{question.protocol.id} has folds 0-{len(folds) - 1} on {question.dataset}, not "
            f"{question.fold}"
        )
    return folds[question.fold]


def _outcomes(
    question: Question, data: Dataset, made: Sequence[Fold], workspace: Workspace
) -> dict[str, list[Outcome]]:
    """Fit cut by cut, so that a trial that is stopped compares all methods alike."""
    units, by = question.units, question.by
    found: dict[str, list[Outcome]] = {unit.method.id: [] for unit in units}
    kept = KeptLines(workspace.results / "trials" / question.protocol.id / f"{data.id}.jsonl")
    total, done, fitted, start = len(units) * len(made), 0, 0, time.monotonic()
    for cut, fold in enumerate(made):
        # One seed for all methods: what two settings share they draw alike.
        seed = seed_for(question.seed, question.protocol.id, question.dataset, "try", cut)
        for unit in units:
            fit = _Fit(question, unit, data, fold, seed, workspace)
            key = fit.key()
            if line := kept.load(key):
                outcome, origin = (
                    Outcome(line["scores"], line["seconds"]),
                    ", from an earlier trial",
                )
            else:
                outcome, origin = fit.outcome(), ""
                fitted += 1
                if not outcome.error:
                    told = {"scores": outcome.scores, "seconds": outcome.seconds}
                    kept.save(key, method=unit.method.id, **told)
            found[unit.method.id].append(outcome)
            done += 1
            words = outcome.error or f"{by} {outcome.scores.get(by, math.nan):.4f}"
            left = time_left(time.monotonic() - start, fitted, total - done)
            say(
                f"{done} of {total}: {unit.method.id}, cut {cut}, "
                f"{words}{origin}{left and ', ' + left}"
            )
    return found


@dataclass(frozen=True)
class _Fit:
    """A method to be fitted on a cut."""

    question: Question
    unit: Unit
    data: Dataset
    fold: Fold
    seed: int
    workspace: Workspace

    def key(self) -> str:
        """Return the digest of everything that decides the scores."""
        _, pixels_sha256 = self._features()
        deciding = [
            self.data.fingerprint["data_sha256"],
            pixels_sha256,
            folds_digest([self.fold]),
            self.unit.spec_sha256,
            digests.method_digest(self.unit.method),
            provenance.versions(),
            measures.digests(self.question.project),
            self.seed,
        ]
        return hashlib.sha256(json.dumps(deciding, sort_keys=True).encode()).hexdigest()[:16]

    def outcome(self) -> Outcome:
        method, fold = self.unit.method, self.fold
        X, _ = self._features()
        start = time.perf_counter()
        try:
            fitted = selection.run_fold(
                method,
                X,
                self.data.D,
                fold,
                select_by=self.unit.protocol.select_by,
                seed=self.seed,
                n_jobs=self.question.threads,
            )
        except MACHINE_ERRORS:
            raise
        except Exception as error:  # as in a fold of a unit, the others go on
            return Outcome({}, time.perf_counter() - start, last_line(str(error) or repr(error)))
        own = self.question.project.measures
        scores = measures.evaluate(self.data.D[fold.test], fitted.predictions, own)
        grid, true = ages.grid_of(self.data.labels), self.data.target
        if grid is not None and true is not None:
            scores |= ages.errors(fitted.predictions, grid, true[fold.test], method.age)
        return Outcome(scores, fitted.fit_s)

    def _features(self) -> tuple[Any, str]:
        return features(self.unit, self.workspace.ready(self.data.id), self.data)
