"""The whole audit: its verdict for programs, and its page for people."""

from __future__ import annotations

import json
import re
import secrets
import shlex
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from textwrap import shorten
from typing import Any

import numpy as np

from ldlrepro import __version__
from ldlrepro.audit import Check, Remark
from ldlrepro.audit.consistency import (
    Scope,
    check_data,
    check_folds,
    check_records,
    check_tables,
    check_too_good,
    check_tracking,
)
from ldlrepro.audit.rerun import Draw, check_reruns, draw, every_fold
from ldlrepro.audit.seals import check_seals
from ldlrepro.catalogue import Paper, Project
from ldlrepro.core.errors import UserError, unknown
from ldlrepro.core.files import write_text
from ldlrepro.core.groups import grouped
from ldlrepro.core.workspace import RESULTS
from ldlrepro.judge.judging import Judge
from ldlrepro.judge.scores import is_complete, origins
from ldlrepro.judge.verdicts import listed
from ldlrepro.plan import Unit
from ldlrepro.report.html import audit_page
from ldlrepro.track.store import shell_word
from ldlrepro.train import provenance
from ldlrepro.train.inputs import global_seed, make_unit_inputs, why_no_rows

OUT = RESULTS / "audit"
REASONS, COMMANDS, LONGEST_REASON = 5, 3, 200
"""Reasons of a check, commands of a reason and letters of it that the terminal shows."""

OF_RECORDS: tuple[Callable[[Scope], Check], ...] = (
    lambda scope: check_seals(
        [paper.id for paper in scope.papers], scope.workspace.results, scope.project.root
    ),
    check_data,
    check_folds,
    check_records,
)
"""Checks of records and of what they were made with, in the order in which damage would show."""
WHOLE = (*OF_RECORDS, check_tables, check_tracking, check_too_good)


@dataclass(frozen=True)
class Question:
    """The question that an audit answers."""

    papers: list[Paper]
    units: int
    """How many units to draw."""
    named: list[str]
    """PROTOCOL/DATASET/METHOD: these alone are checked, and all of their folds computed again."""
    longest: float
    """Seconds. Folds that take longer are not drawn."""
    lot: int | None
    seed: int | None
    tracking_uri: str | None
    out: Path

    def command(self, lot: int) -> str:
        """Return the command for the same audit with the same draw."""
        words = ["ldlrepro", "audit", *(paper.id for paper in self.papers)]
        for unit in self.named:
            words += ["--unit", shlex.quote(unit)]
        if not self.named:
            words += ["--units", str(self.units)]
        words += ["--longest", f"{self.longest!r}", "--lot", str(lot)]
        if self.seed is not None:
            words += ["--seed", str(self.seed)]
        if self.tracking_uri:
            words += ["--tracking-uri", shell_word(self.tracking_uri)]
        if self.out != OUT:
            words += ["--out", shlex.quote(str(self.out))]
        return " ".join(words)


@dataclass(frozen=True)
class Extent:
    """Extent of an audit."""

    command: str
    asked: int
    """Number of folds to compute again."""
    folds: int
    """Number of folds of all records in scope."""
    records: dict[str, int]
    """Number of records in scope, by their origin."""
    named: Sequence[str] = ()
    """The only units that were checked; none where all were."""


def audit(question: Question, judge: Judge, say: Callable[[str], None]) -> dict[str, Any]:
    """Check everything, or named units, compute folds again, write the certificate, return it."""
    project = judge.project
    seed = global_seed(project, question.seed)
    uri = question.tracking_uri or project.tracking_uri
    asked, named = question.papers, set(question.named)
    if named:
        asked = [one for one in asked if named & {unit.key for unit in judge.plan.units(one)}]
    scope = Scope(judge, asked, seed, uri, question.named)
    lot = secrets.randbelow(2**31) if question.lot is None else question.lot
    draws, too_long = _drawn(scope, question, lot)
    checks = []
    for make in OF_RECORDS if question.named else WHOLE:
        checks.append(make(scope))
        say(_line(checks[-1]))
    # In a fresh clone the reference is audited, and there are no data or folds yet.
    absent: dict[str, str] = {}
    for unit in sorted({d.unit for d in draws}):
        if unit.data_set.id not in absent:
            make_unit_inputs(project, unit, scope.seed, judge.workspace)
            if reason := why_no_rows(judge.workspace.ready(unit.data_set.id)):
                absent[unit.data_set.id] = reason
    reruns = check_reruns(scope, [d for d in draws if d.unit.data_set.id not in absent], say)
    for one in draws:
        if (name := one.unit.data_set.id) in absent:
            reruns.skip(one.name, f"{name} is not available: {absent[name]}", one.command)
    for unit in too_long:
        reruns.skip(
            unit.key,
            f"not in the draw: a fold takes more than {question.longest:g} s",
            f"ldlrepro audit --unit {unit.key}",
        )
    say(_line(reruns))
    in_scope = list(scope.chosen.values())
    extent = Extent(
        question.command(lot),
        max(len(draws), len(question.named)) if question.named else question.units,
        sum(len(scored.rows) for scored in in_scope),
        origins(in_scope, project),
        question.named,
    )
    found = certificate(project, scope.papers, [*checks, reruns], extent)
    write_text(question.out / "audit.json", json.dumps(found, indent=1) + "\n")
    write_text(question.out / "audit.html", audit_page(found, in_words(found)))
    return found


def certificate(
    project: Project, papers: Sequence[Paper], checks: Sequence[Check], extent: Extent
) -> dict[str, Any]:
    """Return what was asked and what was found.

    Only the last check, the reruns, must have computed something. The others may be skipped.
    """
    verdicts = {check.verdict for check in checks}
    reruns = checks[-1]
    computed = len(reruns.passed) + len(reruns.failed)
    verdict = "fail" if "fail" in verdicts else "pass" if computed else "not computed"
    return {
        "verdict": verdict,
        "summary": (
            f"{verdict.upper()}, {computed} of {extent.asked} rerun{_not_computed(reruns)}"
            f"{_unseen(checks[:-1])}"
        ),
        "reruns": {
            "asked": extent.asked,
            "computed": computed,
            "in_scope": extent.folds,
            "finds_one_altered_fold": computed / extent.folds if extent.folds else 0.0,
        },
        "records": extent.records,
        "papers": [paper.id for paper in papers],
        "units": list(extent.named),
        "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "ldlrepro": __version__,
        "git_commit": provenance.git_commit(project.root),
        "versions": provenance.versions(),
        "machine": provenance.machine(),
        "command": extent.command,
        "checks": [
            {
                **asdict(check),
                "verdict": check.verdict,
                "passed": len(check.passed),
                "subjects": check.passed,
            }
            for check in checks
        ],
    }


def _not_computed(reruns: Check) -> str:
    """Count the folds that could not be computed, by reason; '' where there is none."""
    texts = Counter(map(_without_addresses, reruns.skipped))
    return "".join(f"; {count} not computed ({reason})" for reason, count in texts.items())


def _without_addresses(remark: Remark) -> str:
    """Return a reason without the addresses at which a data set was looked for."""
    return re.sub(r"(?s)(?<= is not available): .*", "", remark.text)


def _unseen(checks: Sequence[Check]) -> str:
    """Name the checks that have not seen all their subjects, and why; '' where each has."""
    alike = grouped(checks, _why_unseen)
    parts = [f"{listed([one.id for one in same])} ({why})" for why, same in alike.items() if why]
    return f"; not checked: {', '.join(parts)}" if parts else ""


def _why_unseen(check: Check) -> str:
    seen, skipped = len(check.passed) + len(check.failed), len(check.skipped)
    if not skipped:
        return "" if seen else "nothing ran here"
    reasons = set(map(_without_addresses, check.skipped))
    share = [f"{skipped} of {seen + skipped}"] * bool(seen)
    return ": ".join([*share, *reasons] if len(reasons) == 1 else share) or f"all {skipped}"


def _drawn(scope: Scope, question: Question, lot: int) -> tuple[list[Draw], list[Unit]]:
    if not question.named:
        lots = np.random.default_rng(lot)
        return draw(scope.chosen, question.units, question.longest, lots)
    known = {unit.key: unit for unit in scope.chosen}
    broken = {unit.key for unit in scope.unusable}  # the check of records says why
    names = question.named
    for name in names:
        if name not in known and name not in broken:
            measured = [
                unit.key for unit in replace(scope, papers=question.papers, named=()).chosen
            ]
            raise unknown("measured unit", name, measured, "Write PROTOCOL/DATASET/METHOD.")
    named = {known[name]: scope.chosen[known[name]] for name in names if name in known}
    if not all(is_complete(unit, scored) for unit, scored in named.items()):
        raise UserError("only complete units can be compared; run snakemake first")
    return [each for unit in sorted(named) for each in every_fold(unit, named[unit])], []


def in_words(found: Mapping[str, Any]) -> list[str]:
    """Return, as sentences, what an audit can find and what its records are."""
    if found["units"]:
        everything = " ".join(["ldlrepro audit", *found["papers"]])
        return [f"Nothing but {listed(found['units'])} was checked. `{everything}` checks all."]
    reruns, records = found["reruns"], found["records"]
    right = found["checks"][-1]["passed"]
    share = f"{100 * reruns['finds_one_altered_fold']:.2g}%"
    *by_code, _ = records.values()
    present, same, other, changed = (f"{n:,}" if n else "none" for n in records.values())
    papers = len(found["papers"])
    told = f"{papers} paper{'s' * (papers > 1)}"
    return [
        f"{reruns['computed']:,} of {reruns['in_scope']:,} folds were computed again, {right:,} of "
        f"them right. That is {share} of all, and the chance to find one fold that was altered "
        "together with its checksums.",
        f"Of {sum(by_code):,} records of {told}, {present} were computed by the present code, "
        f"{same} by earlier code that predicts the same bits, and {other} by other code. "
        f"{changed.capitalize()} come from a tree with uncommitted changes.",
    ]


def failures(found: Mapping[str, Any]) -> list[str]:
    """Return a line for each reason of each check that failed, with what to type.

    Equal reasons of one check share a line.
    """
    lines = []
    for check in found["checks"]:
        reasons = grouped(check["failed"], lambda remark: str(remark["text"]))
        lines += [f"{check['id']}: {_reason(same)}" for same in list(reasons.values())[:REASONS]]
        if len(reasons) > REASONS:
            lines.append(f"{check['id']}: {len(reasons) - REASONS} more reasons are in audit.html.")
    return lines


def _reason(same: Sequence[Mapping[str, str]]) -> str:
    """Name the first of the subjects that fail for the same reason, and what to type."""
    first, others = same[0], len(same) - 1
    subject = first["subject"] + f" and {others} other{'s' * (others > 1)}" * bool(others)
    said = f"{subject}: {shorten(first['text'], LONGEST_REASON).rstrip('.')}."
    commands = list(dict.fromkeys(remark["command"] for remark in same if remark["command"]))
    if not commands:
        return said
    if len(commands) > COMMANDS:
        return f"{said} Type `{commands[0]}` for the first; audit.html has the others."
    return f"{said} Type {' and '.join(f'`{command}`' for command in commands)}."


def _line(check: Check) -> str:
    noted = f" ({len(check.noted)} with a note)" if check.noted else ""
    right = f"{len(check.passed)} right{noted}"
    skipped = "not computed" if check.id == "reruns" else "not checked"
    counts = f"{right}, {len(check.failed)} wrong, {len(check.skipped)} {skipped}"
    return f"{check.id + ':':<10} {check.verdict:<8} {counts}"
