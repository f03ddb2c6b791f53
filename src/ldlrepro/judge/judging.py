"""Judges papers: every score, verdict and claim from what is in the folders of a run."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ldlrepro import experiments
from ldlrepro.catalogue import Paper, Project
from ldlrepro.catalogue.own_files import DECISIVE_KEY
from ldlrepro.core.at_once import at_once
from ldlrepro.core.code_digest import OURS
from ldlrepro.core.code_digest import SOURCES as CODE
from ldlrepro.core.workspace import Workspace
from ldlrepro.data.images.faces import KINDS
from ldlrepro.judge import measures
from ldlrepro.judge.answer import (
    Curve,
    CurvePoint,
    PaperAnswer,
    Photographs,
    Trouble,
    read_answer,
    write_answer,
)
from ldlrepro.judge.bands import Bands, SeedNoise, bands_of, with_bands
from ldlrepro.judge.cells import rows_for_claims, rows_on_judging_folds, verdict_rows
from ldlrepro.judge.claims import claim_rows
from ldlrepro.judge.comparisons import Evidence
from ldlrepro.judge.evidence import Readings
from ldlrepro.judge.persons import persons_apart
from ldlrepro.judge.reference import ReferenceUnits
from ldlrepro.judge.scores import (
    LOCAL,
    Scorer,
    Sources,
    UnitScores,
    expected_folds,
    is_complete,
)
from ldlrepro.plan import Plan, Unit
from ldlrepro.train.records import FAILED, UNAVAILABLE


@dataclass(frozen=True, eq=False)
class Judge:
    """Judges the papers of a plan by the records of a workspace, then by the reference.

    Data, folds and reference records are read once; whoever has changed them takes another judge.
    """

    plan: Plan
    workspace: Workspace

    def __reduce__(self) -> Any:
        # Another process reads files faster than it takes over all that was read from them.
        return _again, (self.project, self.workspace)

    @property
    def project(self) -> Project:
        return self.plan.project

    # ------------------------------------------------------------------ scores

    @cached_property
    def scorer(self) -> Scorer:
        return Scorer(self.plan, self.workspace)

    @cached_property
    def reference(self) -> ReferenceUnits:
        """Return every unit of ``reference/``."""
        return ReferenceUnits(self.project.root / "reference", self.project)

    @cached_property
    def reference_bands(self) -> Bands:
        """Return what the choice of seeds changes, where the maintainers repeated units."""
        repeated = [p.id for p in self.project.protocols.values() if p.noise_of]
        return bands_of(self.reference.of(repeated), self.project)

    def local_units(self, units: Iterable[Unit]) -> dict[str, UnitScores]:
        """Return scored local records of units; those without any are left out."""
        return self.scorer.local_units(units)

    def sources(self, units: Iterable[Unit]) -> Sources:
        """Return the local records of units, and the reference."""
        return Sources(self.local_units(units), self.reference)

    def unknown_records(self) -> dict[str, list[Path]]:
        """Return the folders of local records by the name in them that is not known here."""
        found: dict[str, list[Path]] = {}
        for folder in sorted((self.workspace.results / "units").glob("*/*/*")):
            name = self._unknown_name(*folder.parts[-3:])
            if name and any(folder.glob("*.parquet")):
                found.setdefault(name, []).append(folder)
        return found

    def _unknown_name(self, protocol: str, dataset: str, method: str) -> str:
        """Return the first name of a unit that is not known here; '' where all are."""
        if protocol not in self.project.protocols:
            return f"protocol {protocol}"
        if dataset not in self.project.data_set_ids:
            return f"data set {dataset}"
        return "" if self.project.has_method(method) else f"method {method}"

    # ------------------------------------------------------------------ answers

    def answer(self, paper: Paper) -> PaperAnswer:
        """Return the answer as of now: the workflow's, or one that is judged here and kept.

        As with make, an answer holds now if it is newer than everything it rests on. What is judged
        outside the workflow lies in ``results/answers``, so that no file of the workflow is
        changed.
        """
        return self.kept(paper) or self._judged(paper)

    def answers(
        self, papers: Iterable[Paper], done: Callable[[int, int], None] = lambda done, total: None
    ) -> list[PaperAnswer]:
        """Return the answers of several papers as of now; those that are judged anew, at once.

        Another process would take longer to hand over an answer than this one takes to read it.
        """
        found = {paper: self.kept(paper) for paper in papers}
        anew = [paper.id for paper, answer in found.items() if answer is None]
        judged = dict(zip(anew, at_once(self._judged_by_id, anew, done), strict=True))
        return [answer or judged[paper.id] for paper, answer in found.items()]

    def answer_of(self, paper: Paper, of_workflow: bool) -> PaperAnswer:
        """Return the workflow's answer in its jobs; by hand, the answer of now."""
        return read_answer(self.workspace.answer(paper.id)) if of_workflow else self.answer(paper)

    def kept(self, paper: Paper) -> PaperAnswer | None:
        """Return the workflow's answer or the one that is kept here, if it holds now."""
        newest = self._last_change(paper)
        for path in (self.workspace.answer(paper.id), self._of_hand(paper)):
            if _changed(path) > newest:
                answer = read_answer(path)
                if answer.own_files == self._own_files() and self._is_still_there(answer):
                    return answer
        return None

    @property
    def has_own_folder(self) -> bool:
        """Tell whether results are here, or the checkout: elsewhere no answer is kept."""
        results = self.workspace.results.resolve()
        return results.is_dir() or results.parent == self.project.root

    def answered_at(self, paper: Paper) -> int:
        """Return since when the current answer holds: the time of the newest file behind it."""
        kept = (self.workspace.answer(paper.id), self._of_hand(paper))
        return max(self._last_change(paper), *map(_changed, kept))

    def _judged(self, paper: Paper) -> PaperAnswer:
        """Judge a paper and keep the answer, if nothing that it rests on has changed meanwhile."""
        newest = self._last_change(paper)
        answer = self.anew(paper)
        if self._last_change(paper) != newest:  # a record came while this was judged
            return answer
        if self.has_own_folder:
            with suppress(OSError):  # where only the workflow may write; the answer stands even so
                write_answer(answer, self._of_hand(paper))
        return answer

    def _judged_by_id(self, paper: str) -> PaperAnswer:
        """Judge a paper in another process, for which an id is enough."""
        return self._judged(self.project.paper(paper))

    # ------------------------------------------------------------------ judging

    def anew(self, paper: Paper) -> PaperAnswer:
        """Score every record of a paper, judge every printed number, test every claim."""
        units = self.plan.units(paper)
        sources = self.sources(units)
        measured = experiments.read_all(paper, self.workspace.results)
        chosen = sources.chosen(units)
        noise = self._noise(chosen)
        rows = verdict_rows(self.plan, paper, sources, noise, measured)
        rows = with_bands(rows, noise.bands)
        curves = figure_curves(self.plan, paper, sources)
        evidence = Evidence(
            rows_for_claims(self.plan, paper, sources, noise, rows),
            {curve.number: curve.means() for curve in curves},
            measured,
            measures.directions(self.project),
            {unit.key: unit for unit in chosen},
            {curve.number: paper.figures[curve.number].dataset for curve in curves},
            {curve.number: curve.few_folds() for curve in curves},
            self.project.families,
        )
        return PaperAnswer(
            paper=paper.id,
            rows=rows,
            readings=Readings(self.plan, paper, sources, noise).table(),
            units=chosen,
            claims=claim_rows(
                paper, evidence, rows_on_judging_folds(self.plan, paper, sources, noise, rows)
            ),
            curves=curves,
            experiments=measured,
            persons=persons_apart(chosen, self.project),
            photographs=self._photographs(units),
            leaks=self._leaks(units),
            troubles=list(_troubles(sources.local.values())),
            own_files=self._own_files(),
        )

    def _noise(self, units: Iterable[UnitScores]) -> SeedNoise:
        return SeedNoise(bands_of(units, self.project), self.reference_bands)

    def complete_here(self, answer: PaperAnswer) -> dict[str, list[Path]]:
        """Return the records of units whose every fold was computed here, by their keys."""
        return {
            unit.key: unit.files
            for unit in answer.units
            if unit.source == LOCAL and is_complete(self.plan.unit_of(unit.key), unit)
        }

    def _photographs(self, units: Iterable[Unit]) -> list[Photographs]:
        """Return what preparing the sets of photographs found, where they are here."""
        found = []
        for dataset in sorted({unit.data_set.id for unit in units}):
            facts = self.workspace.ready(dataset).with_suffix(".json")
            about = json.loads(facts.read_text(encoding="utf-8")) if facts.is_file() else {}
            if "images" not in about:
                continue
            about = about["images"]
            table = self.workspace.faces(dataset)
            problems = [(kind, count, KINDS[kind]) for kind, count in about["problems"].items()]
            found.append(Photographs(dataset, about["used"], about["persons"], problems, table))
        return found

    def _leaks(self, units: Iterable[Unit]) -> list[tuple[str, str, str]]:
        found = []
        for protocol, dataset in sorted({(unit.protocol.id, unit.data_set.id) for unit in units}):
            path = self.workspace.leaks(protocol, dataset)
            if path.is_file():
                facts = json.loads(path.read_text(encoding="utf-8"))
                if facts["available"]:
                    found.append((protocol, dataset, facts["text"]))
        return found

    def _own_files(self) -> list[str]:
        own = self.project.own.found
        return sorted(f"{kind} {name}" for kind in DECISIVE_KEY for name in own[kind])

    # ------------------------------------------------------------------ what an answer rests on

    def _of_hand(self, paper: Paper) -> Path:
        """Return the place of an answer that is judged outside the workflow."""
        return self.workspace.results / "answers" / f"{paper.id}.json"

    def _is_still_there(self, answer: PaperAnswer) -> bool:
        """Tell whether all that was measured is there: of a folder that is gone no date tells."""
        files = [path for unit in answer.units for path in unit.files]
        files += [
            experiments.place(self.workspace.results, answer.paper, name)
            for name, measured in answer.experiments.items()
            if measured.source == experiments.LOCAL
        ]
        return all(path.is_file() for path in files)

    def _last_change(self, paper: Paper) -> int:
        return max(map(_changed, self._rests_on(paper)), default=0)

    def _rests_on(self, paper: Paper) -> Iterator[str | Path]:
        """Yield the files that an answer is made of, and their folders, for a file may be gone.

        Of code the files alone: a folder of code changes when Python first compiles into it.
        """
        root, workspace = self.project.root, self.workspace
        protocols = {unit.protocol.id for unit in self.plan.units(paper)}
        folders = [
            root / "config",
            root / "papers",
            root / "reference",
            workspace.data / "ready",
            workspace.results / "experiments" / paper.id,
            *(workspace.results / part / name for part in ("folds", "units") for name in protocols),
            *self.project.own.folders,
        ]
        for folder in folders:
            yield folder
            for place, names in _walk(folder):
                yield place
                yield from names
        for package in OURS:
            for _, names in _walk(CODE / package):
                yield from names


def figure_curves(plan: Plan, paper: Paper, sources: Sources) -> list[Curve]:
    """Return the figures whose points are units, with the points that have been measured."""
    curves = []
    for number, figure in paper.figures.items():
        if not figure.x:
            continue
        scores, of_folds = {}, 0
        for point, unit in plan.figure_units(paper, figure).items():
            scored = sources.best(unit)
            if scored and (by_fold := scored.by_fold(figure.metric)):
                scores[point.line, point.x] = by_fold
                of_folds = expected_folds(unit, scored)
        shared = set.intersection(*map(set, scores.values())) if scores else set()
        points = [
            CurvePoint(line, x, [value for fold, value in by_fold.items() if fold in shared])
            for (line, x), by_fold in scores.items()
            if shared
        ]
        line, x = next(iter(figure.lines), ""), next(iter(figure.x))
        curves.append(Curve(number, figure.title, figure.metric, x, line, points, of_folds))
    return curves


def _again(project: Project, workspace: Workspace) -> Judge:
    return Judge(Plan(project), workspace)


def _troubles(units: Iterable[UnitScores]) -> Iterator[Trouble]:
    for unit in units:
        for status in (FAILED, UNAVAILABLE):
            if errors := [row.error for row in unit.rows if row.status == status]:
                yield Trouble(unit.key, status, errors, len(unit.rows), unit.files)


def _changed(path: str | Path) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except FileNotFoundError:
        return 0


def _walk(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield each folder with its files; Path.rglob takes three times as long over thousands."""
    for place, below, names in os.walk(folder):
        below[:] = [name for name in below if name != "__pycache__"]
        yield place, [os.path.join(place, name) for name in names]
