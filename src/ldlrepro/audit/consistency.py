"""Checks that records, data, folds, tables and MLflow agree."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ldlrepro import experiments
from ldlrepro.audit import Check
from ldlrepro.catalogue import DataSet, Paper, Project, Protocol, RawFile, digests
from ldlrepro.core.checksums import mismatch
from ldlrepro.core.seeds import seed_for
from ldlrepro.core.workspace import Workspace
from ldlrepro.data import DataUnavailable, load_ready
from ldlrepro.data.fetch import read_status
from ldlrepro.data.photographs import fingerprint_of, raw_file, rows_to_compare
from ldlrepro.folds import leaks, splits
from ldlrepro.folds.making import protocol_folds
from ldlrepro.judge.bands import bands_of, has_band, too_good
from ldlrepro.judge.judging import Judge
from ldlrepro.judge.scores import REFERENCE, Sources, UnitScores, is_complete
from ldlrepro.plan import Plan, Unit
from ldlrepro.train import provenance, records
from ldlrepro.train.records import OK, UNAVAILABLE, FoldRow

ROUNDING = 1e-9
"""How far the sum of a predicted row may be from one."""


@dataclass
class Scope:
    """The papers and folders that an audit looks at."""

    judge: Judge
    papers: Sequence[Paper]
    seed: int
    """The workflow's seed."""
    tracking_uri: str
    named: Sequence[str] = ()
    """Keys of the only units to look at; without any, all of the papers."""
    unusable: dict[Unit, str] = field(default_factory=dict)

    @property
    def plan(self) -> Plan:
        return self.judge.plan

    @property
    def project(self) -> Project:
        return self.judge.project

    @property
    def workspace(self) -> Workspace:
        return self.judge.workspace

    @cached_property
    def planned(self) -> list[Unit]:
        units = {unit for paper in self.papers for unit in self.plan.units(paper)}
        return sorted(unit for unit in units if not self.named or unit.key in self.named)

    @cached_property
    def present(self) -> list[Unit]:
        """Units with a local record, usable or not."""
        results = self.workspace.results
        return [
            unit
            for unit in self.planned
            if any(chunk.record(results).is_file() for chunk in self.plan.chunks(unit))
        ]

    @cached_property
    def local(self) -> dict[Unit, UnitScores]:
        """Local units that can be used. ``unusable`` says why the others cannot."""
        found = {}
        for unit in self.present:
            try:
                scored = self.judge.local_units([unit]).get(unit.key)
            except Exception as error:  # damage shows as errors of all kinds
                self.unusable[unit] = str(error).strip().partition("\n")[0]
            else:
                if scored is None:
                    self.unusable[unit] = self._why_unusable(unit)
                else:
                    found[unit] = scored
        return found

    def _why_unusable(self, unit: Unit) -> str:
        """Return why a readable record cannot be scored."""
        places = self.workspace
        for path in (places.ready(unit.data_set.id), places.folds(*unit.ids[:2])):
            if not path.is_file():
                return f"{path} is missing, which it was made with"
        return "made with other rows or folds than those here"

    @cached_property
    def chosen(self) -> Mapping[Unit, UnitScores]:
        """Scores that the tables show: complete local records, else the reference."""
        local = {unit.key: scored for unit, scored in self.local.items()}
        sources = Sources(local, self.judge.reference)
        found = ((unit, sources.best(unit)) for unit in self.planned)
        return {unit: scored for unit, scored in found if scored is not None}

    @property
    def pairs(self) -> list[tuple[Protocol, DataSet]]:
        """Protocols and data sets of all local records."""
        return sorted({(unit.protocol, unit.data_set) for unit in self.present})


def check_data(scope: Scope) -> Check:
    """Check raw files, features and labels against their digests."""
    check = Check("data", "Are raw files those that were fetched, and the features and labels?")
    for data_set in sorted({data_set for _, data_set in scope.pairs}):
        dataset, where = data_set.id, scope.workspace.data
        again = f"ldlrepro fetch {dataset}; ldlrepro prepare {dataset}"
        with check.of(dataset, again):
            stated = {file.name: file for file in data_set.files}
            try:
                data = load_ready(scope.workspace.ready(dataset))
            except DataUnavailable as error:
                check.skip(dataset, str(error))
                continue
            for file in read_status(where / "raw" / dataset).files:
                name = file["name"]
                path = raw_file(data_set, name, where)
                if path is None:
                    check.skip(file["name"], "unpacked: its images count in the digest of the rows")
                else:
                    known = RawFile(name="any", sha256=file["sha256"], bytes=file["bytes"])
                    wrong = [mismatch(path, each) for each in (stated.get(name, known), known)]
                    check.judge(str(path), next(filter(None, wrong), ""), again)
            found = fingerprint_of(data_set, data, where)
            same = all(data.fingerprint[key] == value for key, value in found.items())
            check.judge(dataset, "" if same else "the rows have not the digest they had", again)
    return check


def check_folds(scope: Scope) -> Check:
    """Check that folds are those of the protocol and seed, and free of leaks."""
    check = Check("folds", "Are folds those of the protocol and seed, and free of leaks?")
    for protocol, data_set in scope.pairs:
        path = scope.workspace.folds(protocol.id, data_set.id)
        again = f"rm {path}; ldlrepro folds {protocol.id} {data_set.id}"
        with check.of(str(path), again):
            try:
                data = load_ready(scope.workspace.ready(data_set.id))
            except DataUnavailable as error:
                check.skip(str(path), str(error))
                continue
            made = protocol_folds(protocol, data_set, data, scope.seed, scope.workspace)
            stored, _ = splits.read_folds(path)
            same = splits.folds_digest(stored) == splits.folds_digest(made)
            check.judge(str(path), "" if same else "not the folds of the protocol", again)
            rows = rows_to_compare(data_set, data, scope.workspace.data)
            told = json.loads(path.with_suffix(".leaks.json").read_text(encoding="utf-8"))
            found = leaks.check_leaks(rows, data.D, stored, data.groups)
            problem = "" if found.text() == told["text"] else "another answer than the file gives"
            if found.broken:
                problem = found.text()
            check.judge(f"leaks of {path}", problem, again)
    return check


def check_records(scope: Scope) -> Check:
    """Check that records match today's data, folds, settings, code and lock file."""
    check = Check(
        "records", "Do records belong to the data, folds, settings, code and lock file of today?"
    )
    usable = scope.local
    for unit, reason in scope.unusable.items():
        check.judge(unit.key, reason or "cannot be read", _again(unit))
    for unit, scored in usable.items():
        if all(row.status == UNAVAILABLE for row in scored.rows):
            check.skip(unit.key, scored.rows[0].error)
            continue
        with check.of(unit.key, _again(unit)):
            problems = _problems(scope, unit, scored)
            check.judge(unit.key, "; ".join(sorted(set(problems))), _again(unit))
    for unit, scored in scope.chosen.items():
        if scored.source == REFERENCE:
            _judge_reference(scope, check, unit, scored)
    for paper in [] if scope.named else scope.papers:
        for found in experiments.read_all(paper, scope.workspace.results).values():
            _judge_experiment(check, paper, found)
    return check


def _judge_experiment(check: Check, paper: Paper, found: experiments.Measurement) -> None:
    """Judge an experiment by its code. An older one of the maintainers is skipped, as a unit is."""
    again = f"ldlrepro experiment {paper.id} {found.experiment} --inputs"
    subject = f"experiment {paper.id}/{found.experiment}"
    with check.of(subject, again):
        same = found.provenance.code_sha256 == experiments.code_digest(paper, found.experiment)
        if found.source == experiments.REFERENCE and not same:
            check.skip(f"{subject} (reference)", "made with another code", again)
        else:
            check.judge(subject, "" if same else "made with another code", again)


def _judge_reference(scope: Scope, check: Check, unit: Unit, scored: UnitScores) -> None:
    """Skip reference records of older code: only a rerun tells whether that matters."""
    subject = f"{unit.key} (reference)"
    today = current_digests(unit, scope.project)
    older = {name for row in scored.rows for name in differing(row, today)}
    if older - {"lock file"}:
        command = f"ldlrepro audit --unit {unit.key}"
        check.skip(subject, f"made with another {' and '.join(sorted(older))}", command)
    else:
        check.judge(subject, "; ".join(_wrong_seeds(scope, unit, scored)), _again(unit))


def _wrong_seeds(scope: Scope, unit: Unit, scored: UnitScores) -> set[str]:
    return {
        "another seed than that of the workflow"
        for row in scored.rows
        if row.seed != f"{seed_for(scope.seed, *unit.ids, row.repeat, row.fold):032x}"
    }


def _problems(scope: Scope, unit: Unit, scored: UnitScores) -> list[str]:
    problems = [] if is_complete(unit, scored) else ["folds are missing or failed"]
    problems += _wrong_seeds(scope, unit, scored)
    today = current_digests(unit, scope.project)
    predictions = {
        key: P for path in scored.files for key, P in records.read_predictions(path).items()
    }
    for row in scored.rows:
        if row.status != OK:
            continue
        problems += [f"made with another {name}" for name in differing(row, today)]
        P = predictions[row.repeat, row.fold]
        if not (np.isfinite(P).all() and P.min() >= 0 and abs(P.sum(1) - 1).max() < ROUNDING):
            problems.append("predictions are not distributions")
    return problems


def current_digests(unit: Unit, project: Project) -> dict[str, set[str]]:
    """Return the digests that a record of this unit may have today."""
    return {
        "spec_sha256": {unit.spec_sha256},
        "code_sha256": digests.codes_as_good(unit.method),
        "lock_sha256": {provenance.lock_digest(project.root)},
    }


def differing(row: FoldRow, today: Mapping[str, set[str]]) -> list[str]:
    """Return the names of everything that has changed since a record was made."""
    words = {"spec_sha256": "setting", "code_sha256": "code", "lock_sha256": "lock file"}
    return [words[name] for name, known in today.items() if getattr(row, name) not in known]


def check_too_good(scope: Scope) -> Check:
    """Look for means far better than other seeds give: test rows may be in training."""
    check = Check("too good", "Is no number better than its band over many seeds?")
    bands = bands_of(scope.chosen.values(), scope.project)
    for scored in scope.chosen.values():
        if has_band(scored, bands):
            measures = too_good(scored, bands)
            problem = f"better than any seed should be: {measures}" if measures else ""
            check.judge(scored.key, problem, f"ldlrepro audit --unit {scored.key}")
    return check


def check_tables(scope: Scope) -> Check:
    """Check that the tables follow from the records."""
    from ldlrepro.judge.answer import answer_text
    from ldlrepro.report.content import PaperPage
    from ldlrepro.report.export import table_texts

    check = Check("tables", "Do the tables say what the records give?")
    for paper in scope.papers:
        path = scope.workspace.answer(paper.id)
        command = f"snakemake --cores all {paper.id}"
        if not path.parent.is_dir():
            check.skip(paper.id, "no tables here", command)
            continue
        with check.of(paper.id, command):
            answer = scope.judge.anew(paper)
            expected = {path: answer_text(answer)}
            for name, text in table_texts(PaperPage.of(scope.project, answer)).items():
                expected[path.parent / name] = text.encode()
            for path, content in expected.items():
                same = path.is_file() and path.read_bytes() == content
                check.judge(str(path), "" if same else "not what the records give now", command)
    return check


def check_tracking(scope: Scope) -> Check:
    """Check that MLflow says what the records say."""
    from ldlrepro.track import sync as track

    check = Check("tracking", "Does MLflow hold every run once, with the numbers of the records?")
    check.compared.append("every value of every metric, by fold and step; parameters; tags")
    for paper in scope.papers:
        command = f"ldlrepro sync {paper.id}"
        planned = set(scope.plan.units(paper))
        units = [scored for unit, scored in scope.chosen.items() if unit in planned]
        with check.of(paper.id, command):
            if track.outdated(paper.id, [], scope.tracking_uri) is None:
                check.skip(paper.id, "never tracked here", command)
                continue
            rows = scope.judge.answer(paper).rows
            own = scope.project.own.found["method"]
            told = track.differences(paper.id, units, scope.tracking_uri, rows, own) or {}
            for subject, problem in told.items():
                check.judge(f"{paper.id}: {subject}", problem, command)
    return check


def _again(unit: Unit) -> str:
    return f"ldlrepro run {' '.join(unit.ids)} --inputs --fresh"
