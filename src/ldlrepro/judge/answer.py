"""One answer per paper: every score, verdict and claim, judged once and kept as a file.

The rule ``compare`` writes it. Figures, report, tracking, audit and the command line read it; none
of them judges anything itself.
"""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any, cast

from ldlrepro import config, experiments, plan
from ldlrepro.config import plugins
from ldlrepro.core.at_once import at_once
from ldlrepro.core.code_digest import OURS, SOURCES
from ldlrepro.core.errors import UserError
from ldlrepro.core.files import atomically
from ldlrepro.core.workspace import Workspace
from ldlrepro.data.images.faces import KINDS
from ldlrepro.judge.bands import bands_of, with_bands
from ldlrepro.judge.cells import verdict_rows
from ldlrepro.judge.claims import ClaimRow, claim_rows
from ldlrepro.judge.comparisons import Evidence
from ldlrepro.judge.persons import PersonsApart, persons_apart
from ldlrepro.judge.reference import ReferenceUnits, chosen_units
from ldlrepro.judge.scores import (
    LOCAL,
    Units,
    UnitScores,
    best_source,
    expected_folds,
    is_complete,
    local_units,
)
from ldlrepro.judge.verdicts import VerdictRow
from ldlrepro.plan import sweeps
from ldlrepro.train.records import FAILED, UNAVAILABLE


@dataclass(frozen=True)
class CurvePoint:
    """Scores of one setting in the folds that all measured settings share."""

    line: Any
    x: Any
    scores: list[float]


@dataclass(frozen=True)
class Curve:
    """A printed figure whose points are units: a measure against a parameter."""

    number: str
    title: str
    metric: str
    x: str
    """Name of the parameter on the horizontal axis."""
    line: str
    """Name of the parameter that tells lines apart, or ''."""
    points: list[CurvePoint]
    of_folds: int
    """Number of folds of a finished point."""

    @property
    def values(self) -> dict[tuple[Any, Any], list[float]]:
        """Return the scores by (line, x)."""
        return {(point.line, point.x): point.scores for point in self.points}

    def few_folds(self) -> str:
        """Return '2 of 10 folds' while some are missing."""
        folds = len(self.points[0].scores) if self.points else 0
        return f"{folds} of {self.of_folds} folds" if folds < self.of_folds else ""

    def means(self) -> dict[tuple[Any, Any], float]:
        return {point: statistics.fmean(values) for point, values in self.values.items()}


@dataclass(frozen=True)
class Photographs:
    """A set of photographs that a paper's runs use, and what was wrong with its images."""

    dataset: str
    used: int
    persons: int
    problems: list[tuple[str, int, str]]
    """(kind, number of images, meaning)."""
    table: Path
    """A line for every image."""


@dataclass(frozen=True)
class Trouble:
    """A unit that ran here and failed, or lacked something."""

    unit: tuple[str, str, str]
    status: str
    errors: list[str]
    folds: int
    records: list[Path]


@dataclass(frozen=True)
class PaperAnswer:
    """All that was measured and judged of a paper: local records first, then the reference."""

    paper: str
    rows: list[VerdictRow]
    """A verdict for every printed number, in printed order."""
    units: list[UnitScores]
    claims: list[ClaimRow]
    curves: list[Curve]
    experiments: dict[str, dict[str, Any]]
    """Measurements of experiments, by their id."""
    persons: list[PersonsApart]
    """The same methods with persons kept apart."""
    photographs: list[Photographs]
    leaks: list[tuple[str, str, str]]
    """(protocol, data set, what the search for leaks found)."""
    troubles: list[Trouble] = field(default_factory=list)
    own_files: list[str] = field(default_factory=list)
    """Ids of the user's own methods, data sets and measures that were known."""

    def unit(self, key: tuple[str, str, str]) -> UnitScores | None:
        return next((unit for unit in self.units if unit.key == key), None)


# ---------------------------------------------------------------------- judging


def judge_paper(paper: str, workspace: Workspace) -> PaperAnswer:
    """Score every record of a paper, judge every printed number, test every claim."""
    tree = config.load_paper(paper)
    units = plan.paper_units(paper)
    local, reference = local_units(workspace, units), maintainers_units()
    measured = experiments.read_all(paper, workspace.results)
    chosen = chosen_units(units, local, reference)
    rows = with_bands(verdict_rows(paper, local, reference, measured), bands_of(chosen))
    curves = figure_curves(paper, local, reference)
    evidence = Evidence(
        rows,
        {curve.number: curve.means() for curve in curves},
        measured,
        {unit.key: unit for unit in chosen},
        {curve.number: tree["figures"][curve.number]["dataset"] for curve in curves},
        {curve.number: curve.few_folds() for curve in curves},
    )
    return PaperAnswer(
        paper=paper,
        rows=rows,
        units=chosen,
        claims=claim_rows(paper, tree.get("claims", []), evidence),
        curves=curves,
        experiments=measured,
        persons=persons_apart(chosen),
        photographs=_photographs(workspace, units),
        leaks=_leaks(workspace, units),
        troubles=list(_troubles(local.values())),
        own_files=_own_files(),
    )


@cache
def maintainers_units() -> Units:
    """Return every unit of ``reference/``."""
    return ReferenceUnits(config.project_root() / "reference")


def figure_curves(paper: str, local: Units, reference: Units) -> list[Curve]:
    """Return the figures whose points are units, with the points that have been measured."""
    curves = []
    for number, figure in config.load_paper(paper).get("figures", {}).items():
        if "x" not in figure:
            continue
        scores, of_folds = {}, 0
        for point, unit in plan.figure_units(paper, figure).items():
            scored = best_source(unit, local, reference)
            if scored and (by_fold := scored.by_fold(figure["metric"])):
                scores[point.line, point.x] = by_fold
                of_folds = expected_folds(unit, scored)
        shared = set.intersection(*map(set, scores.values())) if scores else set()
        points = [
            CurvePoint(line, x, [value for fold, value in by_fold.items() if fold in shared])
            for (line, x), by_fold in scores.items()
            if shared
        ]
        line = next(iter(figure.get("lines", {"": []})))
        x = sweeps.x_parameter(figure)
        curves.append(Curve(number, figure["title"], figure["metric"], x, line, points, of_folds))
    return curves


def _photographs(workspace: Workspace, units: Iterable[plan.Unit]) -> list[Photographs]:
    """Return what preparing the sets of photographs found, where they are here."""
    found = []
    for dataset in sorted({unit.dataset for unit in units}):
        facts = workspace.ready(dataset).with_suffix(".json")
        about = json.loads(facts.read_text(encoding="utf-8")) if facts.is_file() else {}
        if "images" not in about:
            continue
        about = about["images"]
        table = workspace.data / "ready" / f"{dataset}.images.csv"
        problems = [(kind, count, KINDS[kind]) for kind, count in about["problems"].items()]
        found.append(Photographs(dataset, about["used"], about["persons"], problems, table))
    return found


def _leaks(workspace: Workspace, units: Iterable[plan.Unit]) -> list[tuple[str, str, str]]:
    found = []
    for protocol, dataset in sorted({(unit.protocol, unit.dataset) for unit in units}):
        path = workspace.leaks(protocol, dataset)
        if path.is_file():
            facts = json.loads(path.read_text(encoding="utf-8"))
            if facts["available"]:
                found.append((protocol, dataset, facts["text"]))
    return found


def _troubles(units: Iterable[UnitScores]) -> Iterator[Trouble]:
    for unit in units:
        for status in (FAILED, UNAVAILABLE):
            if errors := [row.error for row in unit.rows if row.status == status]:
                yield Trouble(unit.key, status, errors, len(unit.rows), unit.files)


def _own_files() -> list[str]:
    return sorted(f"{kind} {name}" for kind in plugins.DECISIVE_KEY for name in plugins.files(kind))


def complete_here(answer: PaperAnswer) -> dict[tuple[str, str, str], list[Path]]:
    """Return the records of units whose every fold was computed here."""
    return {
        unit.key: unit.files
        for unit in answer.units
        if unit.source == LOCAL and is_complete(plan.Unit(*unit.key), unit)
    }


# ---------------------------------------------------------------------- the file


@cache
def _format() -> Any:
    from pydantic import ConfigDict, TypeAdapter

    # In a tuple, for a dataclass itself takes no configuration. NaN is written as Python's json
    # writes it: as a string it would come back as one wherever a value may be anything.
    return TypeAdapter(tuple[PaperAnswer], config=ConfigDict(ser_json_inf_nan="constants"))


def answer_text(answer: PaperAnswer) -> bytes:
    """Return an answer as JSON: the same bytes whenever it says the same."""
    return bytes(_format().dump_json((answer,)) + b"\n")


def write_answer(answer: PaperAnswer, path: Path) -> None:
    """Write an answer as JSON."""
    text = answer_text(answer)
    atomically(path, lambda temporary: temporary.write_bytes(text))


def read_answer(path: Path) -> PaperAnswer:
    """Read what ``write_answer`` wrote."""
    from pydantic import ValidationError

    again = f"Remove it and give the same command again:\n  rm {path}"
    try:
        (answer,) = _format().validate_json(path.read_bytes())
    except FileNotFoundError:
        raise UserError(f"{path}: no such file. Type `ldlrepro compare PAPER` first.") from None
    except ValidationError as error:
        what = error.errors()[0]
        where = ".".join(map(str, what["loc"]))
        raise UserError(f"{path}: not an answer ({where} {what['msg']}). {again}") from None
    return cast(PaperAnswer, answer)


def answer_of(paper: str, workspace: Workspace, of_workflow: bool) -> PaperAnswer:
    """Return the workflow's answer in its jobs; by hand, the answer of now."""
    config.load_paper(paper)  # a name that nobody knows is told first
    return read_answer(workspace.answer(paper)) if of_workflow else current_answer(paper, workspace)


def current_answer(paper: str, workspace: Workspace) -> PaperAnswer:
    """Return the answer as of now: the workflow's, or one that is judged here and kept.

    As with make, an answer holds now if it is newer than everything it rests on. What is judged
    outside the workflow lies in ``results/answers``, so that no file of the workflow is changed.
    """
    return kept_answer(paper, workspace) or _judged(paper, workspace)


def _judged(paper: str, workspace: Workspace) -> PaperAnswer:
    """Judge a paper and keep the answer, if nothing that it rests on has changed meanwhile."""
    newest = _last_change(paper, workspace)
    answer = judge_paper(paper, workspace)
    if _last_change(paper, workspace) == newest:  # else a record came while this was judged
        with suppress(OSError):  # where only the workflow may write; the answer stands even so
            write_answer(answer, _of_hand(paper, workspace))
    return answer


def kept_answer(paper: str, workspace: Workspace) -> PaperAnswer | None:
    """Return the workflow's answer or the one that is kept here, if it holds now."""
    newest = _last_change(paper, workspace)
    for path in (workspace.answer(paper), _of_hand(paper, workspace)):
        if _changed(path) > newest:
            answer = read_answer(path)
            if answer.own_files == _own_files() and _is_still_there(answer, workspace):
                return answer
    return None


def current_answers(papers: Iterable[str], workspace: Workspace) -> list[PaperAnswer]:
    """Return the answers of several papers as of now; those that are judged anew, at once.

    Another process would take longer to hand over an answer than this one takes to read it.
    """
    found = {paper: kept_answer(paper, workspace) for paper in papers}
    anew = [paper for paper, answer in found.items() if answer is None]
    judge = partial(_judged, workspace=workspace)
    judged = dict(zip(anew, at_once(judge, anew), strict=True))
    return [answer or judged[paper] for paper, answer in found.items()]


def _of_hand(paper: str, workspace: Workspace) -> Path:
    """Return the place of an answer that is judged outside the workflow."""
    return workspace.results / "answers" / f"{paper}.json"


def answered_at(paper: str, workspace: Workspace) -> int:
    """Return since when the current answer holds: the time of the newest file behind it."""
    kept = (workspace.answer(paper), _of_hand(paper, workspace))
    return max(_last_change(paper, workspace), *map(_changed, kept))


def _is_still_there(answer: PaperAnswer, workspace: Workspace) -> bool:
    """Tell whether all that was measured is still there: of a folder that is gone no date tells."""
    files = [path for unit in answer.units for path in unit.files]
    files += [
        experiments.place(workspace.results, answer.paper, name)
        for name, measured in answer.experiments.items()
        if measured["source"] == experiments.LOCAL
    ]
    return all(path.is_file() for path in files)


def _last_change(paper: str, workspace: Workspace) -> int:
    return max(map(_changed, _rests_on(paper, workspace)), default=0)


def _changed(path: str | Path) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except FileNotFoundError:
        return 0


def _rests_on(paper: str, workspace: Workspace) -> Iterator[str | Path]:
    """Yield the files that an answer is made of, and their folders, for a file may be gone.

    Of code the files alone: a folder of code changes when Python first compiles into it.
    """
    root = config.project_root()
    protocols = {unit.protocol for unit in plan.paper_units(paper)}
    folders = [
        root / "config",
        root / "papers",
        root / "reference",
        workspace.data / "ready",
        workspace.results / "experiments" / paper,
        *(workspace.results / part / name for part in ("folds", "units") for name in protocols),
        *plugins.folders(),
    ]
    for folder in folders:
        yield folder
        for place, names in _walk(folder):
            yield place
            yield from names
    for package in OURS:
        for _, names in _walk(SOURCES / package):
            yield from names


def _walk(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield each folder with its files; Path.rglob takes three times as long over thousands."""
    for place, below, names in os.walk(folder):
        below[:] = [name for name in below if name != "__pycache__"]
        yield place, [os.path.join(place, name) for name in names]
