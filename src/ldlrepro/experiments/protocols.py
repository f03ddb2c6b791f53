"""Protocols that the printed digits of deterministic methods fit, told by means and deviations.

A method that draws nothing gives the same number on the same folds. So its printed means, and even
more its printed deviations, say how the folds were made, and which of a few open counts was used:
neighbours, sweeps, iterations.

Every candidate (a way to make folds, with a count) is run and compared with the print: how far are
means and deviations off, in units of what another seed of ten shuffled folds changes, beyond what
rounding allows? Folds that are drawn are drawn with many seeds. The nearest candidate is ``told``
where seeds of the runner-up hardly ever come as near.

This looks at test rows: a diagnosis of the print. A setting that follows from it is marked as
chosen by the print.
"""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ldl import metrics
from ldlrepro import config, experiments, models, plan
from ldlrepro.config import digests
from ldlrepro.core.errors import UserError
from ldlrepro.core.seeds import rng_for, seed_for
from ldlrepro.data import Dataset
from ldlrepro.experiments import Inputs, Outcome
from ldlrepro.folds.making import bundled
from ldlrepro.folds.splits import Fold, make_folds
from ldlrepro.train import selection

MEASURES = tuple(metrics.BETTER)
FEWEST_PRINTED = 4
"""Measures that a row must print to tell anything."""
SHUFFLED = "10 folds, shuffled"
"""Its seeds give the unit that gaps are measured in."""
CANDIDATES: dict[str, dict[str, Any]] = {
    "10 folds, file order": {"scheme": "kfold", "folds": 10, "shuffle": False},
    "5 folds, file order": {"scheme": "kfold", "folds": 5, "shuffle": False},
    "10 folds, persons apart": {"scheme": "leave_one_group_out", "folds": 10},
    SHUFFLED: {"scheme": "kfold", "folds": 10},
    "10 folds, stratified": {"scheme": "stratified", "folds": 10},
    "5 folds, shuffled": {"scheme": "kfold", "folds": 5},
    "10 splits, 80 %": {"scheme": "shuffle_split", "repeats": 10, "train_share": 0.8},
    "10 splits, 90 %": {"scheme": "shuffle_split", "repeats": 10, "train_share": 0.9},
}
FARTHEST = 3.0
"""Gap that a single number can have at most, so that one misprint does not decide."""
PROBES = 3
"""Seeds with which every setting is tried; the nearest gets all seeds."""
TOLD, LIKELY = 0.05, 0.2
"""Chance that a seed of the runner-up comes as near, up to which the best is told, or likely."""
FITS = 1.5
"""Distance up to which a candidate fits: two seeds of the same folds are about 1.1 apart."""
CANNOT = "cannot be told"


@dataclass(frozen=True)
class Scores:
    """Means and deviations over the folds, measure by measure."""

    means: tuple[float, ...]
    deviations: tuple[float, ...]


@dataclass(frozen=True)
class Printed:
    """A printed row: numbers with half a unit of their last digit; NaN what is not printed."""

    means: tuple[float, ...]
    means_round: tuple[float, ...]
    deviations: tuple[float, ...]
    deviations_round: tuple[float, ...]

    @property
    def count(self) -> int:
        return sum(not np.isnan(value) for value in self.means + self.deviations)

    def agree(self, scores: Scores) -> int:
        """Count the numbers that are met to within one unit of the last digit."""
        # Rounded to that digit and one unit off: three half units.
        pairs = [
            *zip(scores.means, self.means, self.means_round, strict=True),
            *zip(scores.deviations, self.deviations, self.deviations_round, strict=True),
        ]
        return sum(abs(found - value) <= 3 * half * (1 + 1e-9) for found, value, half in pairs)


@dataclass(frozen=True)
class Tried:
    """A candidate with one setting: its seeds' scores, and how far each is from the print."""

    candidate: str
    setting: str
    scores: list[Scores]
    distances: list[float]

    @property
    def typical(self) -> float:
        return statistics.median(self.distances)

    @property
    def nearest(self) -> Scores:
        return self.scores[int(np.argmin(self.distances))]


# ---------------------------------------------------------------------- comparing


def distance(scores: Scores, printed: Printed, unit: Scores) -> float:
    """Return the mean gap to the print beyond rounding, in units of what a seed changes."""
    gaps = []
    for found, value, half, one in (
        *zip(scores.means, printed.means, printed.means_round, unit.means, strict=True),
        *zip(
            scores.deviations,
            printed.deviations,
            printed.deviations_round,
            unit.deviations,
            strict=True,
        ),
    ):
        if not np.isnan(value):
            gap = max(0.0, abs(found - value) - half)
            gaps.append(min(FARTHEST, gap / one) if one else FARTHEST * (gap > 0))
    return statistics.fmean(gaps)


def spread(scores: Sequence[Scores]) -> Scores:
    """Return what another seed changes: standard deviations over seeds."""
    means = np.array([one.means for one in scores])
    deviations = np.array([one.deviations for one in scores])
    return Scores(tuple(means.std(axis=0, ddof=1)), tuple(deviations.std(axis=0, ddof=1)))


@dataclass(frozen=True)
class Finding:
    """A conclusion about one method on one data set."""

    best: Tried
    runner_up: Tried
    as_near: int
    """Number of the runner-up's seeds that come as near to the print as the best does."""
    other_setting: Tried | None
    verdict: str
    stated: Tried | None = None
    """The candidate that the paper names."""

    @property
    def chance(self) -> float:
        return (self.as_near + 1) / (len(self.runner_up.distances) + 1)


def conclude(tried: Sequence[Tried], stated: str = "") -> Finding:
    """Name the nearest candidate, the nearest of other folds, and what that is worth.

    ``stated`` is the candidate that the paper names, where it names one.
    """
    ranked = sorted(tried, key=lambda one: one.typical)
    best = ranked[0]
    most = max(len(one.distances) for one in ranked)
    # Only folds that are drawn tell what chance does, and only with all seeds; folds that are not
    # are met, or refuted.
    runner_up = next(
        one
        for one in ranked
        if _kind(one.candidate) != _kind(best.candidate) and len(one.distances) == most
    )
    as_near = sum(found <= best.typical for found in runner_up.distances)
    chance = (as_near + 1) / (len(runner_up.distances) + 1)
    verdict = "told" if chance <= TOLD else "likely" if chance <= LIKELY else CANNOT
    if best.typical > FITS:
        verdict = "none fits"
    settings = (one for one in ranked if one.candidate == best.candidate and one is not best)
    by_paper = next((one for one in ranked if one.candidate == stated), None)
    return Finding(best, runner_up, as_near, next(settings, None), verdict, by_paper)


def _kind(candidate: str) -> str:
    """Return what a candidate is told apart by: stratified folds are shuffled ones, too."""
    return SHUFFLED if CANDIDATES[candidate]["scheme"] == "stratified" else candidate


# ---------------------------------------------------------------------- running


def measure(
    inputs: Inputs, seed: int, methods: Mapping[str, Mapping[str, Any]], stated: str = ""
) -> Outcome:
    """Compare every method's printed rows with the candidates on every data set that is here."""
    paper = str(plan.protocols()[inputs.protocol][0])
    kept = _Kept(inputs.results / "experiments" / paper / "protocols.jsonl")
    rows: list[list[Any]] = []
    told: dict[str, Counter[str]] = {}
    for printed_method, asked in methods.items():
        for dataset in inputs.available():
            printed = printed_row(paper, printed_method, dataset)
            if printed is None or dataset in asked.get("without", []):
                continue
            data = inputs.load(_run_on(paper, dataset))
            runs = _Runs(data, seed, kept)
            seeds = asked.get("seeds_of", {}).get(dataset, asked["seeds"])
            tried = try_all(runs.scores, candidates_for(data), asked, seeds, printed)
            found = conclude(tried, stated)
            rows.append(_line(printed_method, dataset, printed, found))
            told.setdefault(printed_method, Counter())[_summary(found)] += 1
            inputs.say(f"{printed_method} on {dataset}: {_summary(found)}")
    return Outcome(
        facts={
            f"{method}: {what}": float(count)
            for method, counts in told.items()
            for what, count in counts.items()
        },
        tables=[
            {
                "title": "Folds and counts that the printed digits fit",
                "columns": COLUMNS,
                "rows": rows,
            },
            {
                "title": "The same by method",
                "columns": ["method", "folds", "data sets"],
                "rows": [
                    [method, what, count]
                    for method, counts in told.items()
                    for what, count in counts.most_common()
                ],
            },
        ],
    )


COLUMNS = [
    "method",
    "data set",
    "folds",
    "setting",
    "digits that agree",
    "distance",
    "our deviation / printed",
    "runner-up",
    "its distance",
    "its seeds as near",
    "next setting",
    "seeds of the stated folds as near",
    "verdict",
]


def _line(method: str, dataset: str, printed: Printed, found: Finding) -> list[Any]:
    nearest = found.best.nearest
    ratios = [
        float(mine / theirs)
        for mine, theirs in zip(nearest.deviations, printed.deviations, strict=True)
        if theirs > 0
    ]
    other = found.other_setting
    return [
        method,
        dataset,
        found.best.candidate,
        found.best.setting,
        f"{printed.agree(nearest)} of {printed.count}",
        round(found.best.typical, 2),
        round(statistics.median(ratios), 2) if ratios else "not printed",
        f"{found.runner_up.candidate}, {found.runner_up.setting}",
        round(found.runner_up.typical, 2),
        _as_near(found.runner_up, found.best),
        f"{other.setting}: {other.typical:.2f}" if other else "",
        _as_near(found.stated, found.best) if found.stated else "",
        found.verdict,
    ]


def _as_near(other: Tried, best: Tried) -> str:
    if other is best:
        return "nearest"
    return f"{sum(one <= best.typical for one in other.distances)} of {len(other.distances)}"


def _summary(found: Finding) -> str:
    told = found.verdict in ("told", "likely")
    return f"{found.best.candidate} ({found.verdict})" if told else found.verdict


def try_all(
    scores: Callable[[str, str, int], Scores],
    candidates: Sequence[str],
    asked: Mapping[str, Any],
    seeds: int,
    printed: Printed,
) -> list[Tried]:
    """Run settings by candidates: all with a few seeds, the nearest with every seed."""
    first = asked["settings"][0]
    unit = spread([scores(first, SHUFFLED, number) for number in range(seeds)])

    def tried(candidate: str, setting: str, count: int) -> Tried:
        drawn = [scores(setting, candidate, number) for number in range(count)]
        return Tried(candidate, setting, drawn, [distance(one, printed, unit) for one in drawn])

    found = []
    for candidate in candidates:
        drawn = _is_drawn(candidate)
        probed = [
            tried(candidate, setting, min(PROBES, seeds) if drawn else 1)
            for setting in asked["settings"]
        ]
        nearest, *others = sorted(probed, key=lambda one: one.typical)
        found += [tried(candidate, nearest.setting, seeds) if drawn else nearest, *others]
    return found


def candidates_for(data: Dataset) -> list[str]:
    """Return the candidates for a data set: persons apart only where persons are known."""
    return [
        name
        for name, definition in CANDIDATES.items()
        if definition["scheme"] != "leave_one_group_out" or data.groups is not None
    ]


def _is_drawn(candidate: str) -> bool:
    definition = CANDIDATES[candidate]
    return definition["scheme"] != "leave_one_group_out" and definition.get("shuffle", True)


def candidate_folds(candidate: str, data: Dataset, seed: tuple[object, ...]) -> list[Fold]:
    """Make the folds of a candidate."""
    definition = CANDIDATES[candidate]
    if definition["scheme"] == "stratified":
        return _stratified(data.D.argmax(axis=1), definition["folds"], seed)
    groups = data.groups
    if groups is not None and definition["scheme"] == "leave_one_group_out":
        groups = bundled(groups, definition["folds"])
    return make_folds(definition, len(data.D), seed, groups)


def _stratified(label: np.ndarray, count: int, seed: tuple[object, ...]) -> list[Fold]:
    """Deal the shuffled rows of each strongest label out over the folds in turn."""
    shuffled = rng_for(*seed, "stratified").permutation(len(label))
    dealt = shuffled[np.argsort(label[shuffled], kind="stable")]
    fold_of = np.empty(len(label), dtype=np.int64)
    fold_of[dealt] = np.arange(len(label)) % count
    nothing = np.array([], dtype=np.int64)
    return [
        Fold(0, fold, np.flatnonzero(fold_of != fold), nothing, np.flatnonzero(fold_of == fold))
        for fold in range(count)
    ]


# ---------------------------------------------------------------------- fits


class _Runs:
    """Scores of settings on candidates of one data set, each computed once."""

    def __init__(self, data: Dataset, seed: int, kept: _Kept) -> None:
        self.data, self.seed, self.kept = data, seed, kept
        self.neighbours: np.ndarray | None = None

    def scores(self, setting: str, candidate: str, number: int) -> Scores:
        """Return the scores of a setting on a candidate drawn with the seed of this number."""
        spec = config.load_method(setting)
        deciding = (self.data.fingerprint["data_sha256"], digests.method_digest(spec), self.seed)
        name = f"{self.data.id}/{setting}/{candidate}/{number}/{'/'.join(map(str, deciding))}"
        found = self.kept.load(name)
        if found is None:
            folds = candidate_folds(
                candidate, self.data, (self.seed, "protocols", self.data.id, candidate, number)
            )
            found = summary([self._score(setting, spec, fold) for fold in folds])
            self.kept.save(name, found)
        return found

    def _score(self, setting: str, spec: Mapping[str, Any], fold: Fold) -> list[float]:
        X, D = self.data.X, self.data.D
        if spec["class"] == "ldl.AAKNN" and spec["scaling"] == "none":
            P = self._mean_of_neighbours(models.load(setting).get_params()["n_neighbors"], fold)
        else:
            state = seed_for(self.seed, "protocols", self.data.id, setting, fold.repeat, fold.fold)
            P = selection.run_fold(
                setting, spec, X, D, fold, select_by="kl", seed=state
            ).predictions
        scores = metrics.evaluate(D[fold.test], P)
        return [scores[name] for name in MEASURES]

    def _mean_of_neighbours(self, k: int, fold: Fold) -> np.ndarray:
        """Predict as AA-kNN does, with distances that all folds and counts share."""
        if self.neighbours is None:
            self.neighbours = _nearest_first(self.data.X)
        trained = np.zeros(len(self.data.D), dtype=bool)
        trained[fold.train] = True
        rows = self.neighbours[fold.test]
        nearest = np.array([row[trained[row]][:k] for row in rows])
        return np.asarray(self.data.D[nearest].mean(axis=1))


def _nearest_first(X: Any) -> np.ndarray:
    """Return for each row all rows in the order of their distance, of equal ones the first."""
    dense = X.toarray() if hasattr(X, "tocsr") else np.asarray(X)
    squares = (dense**2).sum(axis=1)
    order = np.empty((len(dense), len(dense)), dtype=np.int32)
    for row, own in enumerate(dense):
        order[row] = np.argsort(squares - 2.0 * (dense @ own), kind="stable")
    return order


def summary(folds: Sequence[Sequence[float]]) -> Scores:
    """Return means and sample deviations over folds."""
    values = np.array(folds)
    means, deviations = values.mean(axis=0), values.std(axis=0, ddof=1)
    return Scores(tuple(means.tolist()), tuple(deviations.tolist()))


class _Kept:
    """Scores of earlier runs, a line each, so that an interrupted measurement goes on."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: dict[str, Scores] = {}
        if path.is_file():
            for line in path.read_text(encoding="utf-8").splitlines():
                with suppress(ValueError, KeyError, TypeError):  # what a kill left of a line
                    read = json.loads(line)
                    self.lines[read["name"]] = Scores(
                        tuple(read["means"]), tuple(read["deviations"])
                    )

    def load(self, name: str) -> Scores | None:
        return self.lines.get(name)

    def save(self, name: str, scores: Scores) -> None:
        self.lines[name] = scores
        self.path.parent.mkdir(parents=True, exist_ok=True)
        told = {"name": name, "means": scores.means, "deviations": scores.deviations}
        with open(self.path, "a", encoding="utf-8") as handle:
            handle.write(json.dumps(told) + "\n")


# ---------------------------------------------------------------------- print


def printed_row(paper: str, method: str, dataset: str) -> Printed | None:
    """Return the first printed row of a method on a data set with measures enough."""
    tables: dict[tuple[str, str], dict[str, tuple[str, str]]] = {}
    for row in plan.published(paper):
        if (row["method"], row["dataset"]) == (method, dataset) and row["mean"]:
            numbers = tables.setdefault((row["table"], row["setting"]), {})
            numbers[row["metric"]] = (row["mean"], row["std"])
    for found in tables.values():
        if sum(name in found for name in MEASURES) >= FEWEST_PRINTED:
            return as_printed([found.get(name, ("", "")) for name in MEASURES])
    return None


def as_printed(numbers: Sequence[tuple[str, str]]) -> Printed:
    """Read printed means and deviations, as text, with the room that rounding leaves them."""

    def value(text: str) -> float:
        return float(text) if text else float("nan")

    def half(text: str) -> float:
        return 0.5 * 10.0 ** -len(text.partition(".")[2])

    means, deviations = zip(*numbers, strict=True)
    return Printed(
        tuple(map(value, means)),
        tuple(map(half, means)),
        tuple(map(value, deviations)),
        tuple(map(half, deviations)),
    )


def _run_on(paper: str, dataset: str) -> str:
    return str(config.load_paper(paper).get("use_dataset", {}).get(dataset, dataset))


def draw(series: dict[str, Any]) -> dict[str, Any]:
    return {}


def findings(paper: str, results: Path) -> list[dict[str, Any]]:
    """Return what the last measurement found, here or by the maintainers: a line for each row."""
    plan.experiment(paper, "protocols")
    found = experiments.read(paper, "protocols", results)
    if found is None:
        raise UserError(
            f"{paper}: nothing measured yet. Type `ldlrepro experiment {paper} protocols --inputs`."
        )
    table = found["tables"][0]
    return [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
