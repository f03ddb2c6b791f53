"""The audit as a whole: its verdict for programs, its page for people."""

from __future__ import annotations

import argparse
import json
import secrets
import shlex
from collections.abc import Callable, Sequence
from dataclasses import asdict, astuple
from datetime import UTC, datetime
from typing import Any

import numpy as np

from ldlrepro import __version__, config
from ldlrepro.audit import Check
from ldlrepro.audit.records import (
    Scope,
    check_data,
    check_folds,
    check_records,
    check_tables,
    check_too_good,
    check_tracking,
)
from ldlrepro.audit.rerun import Draw, check_reruns, draw
from ldlrepro.audit.seals import check_seals
from ldlrepro.compare.collect import Places, UnitScores
from ldlrepro.errors import UserError, unknown
from ldlrepro.files import write_text
from ldlrepro.report.html import audit_page
from ldlrepro.runs import provenance
from ldlrepro.stages import DATA, RESULTS, say
from ldlrepro.track_store import shell_word

OUT = RESULTS / "audit"

WHOLE: tuple[Callable[[Scope], Check], ...] = (
    lambda scope: check_seals(scope.papers, scope.places.results, config.project_root()),
    check_data,
    check_folds,
    check_records,
    check_tables,
    check_tracking,
    check_too_good,
)
"""Checks that look at everything, in the order in which damage would show."""


def audit(args: argparse.Namespace) -> int:
    papers = args.paper or [p for p in config.paper_ids() if not config.load_paper(p)["synthetic"]]
    for paper in papers:
        config.load_paper(paper)
    run = config.load_run_config()
    scope = Scope(
        papers,
        Places(RESULTS, DATA),
        int(run["seed"] if args.seed is None else args.seed),
        args.tracking_uri or config.tracking_uri(run),
    )
    lot = secrets.randbelow(2**31) if args.lot is None else args.lot
    asked = len(set(args.unit)) or args.units
    draws, too_long = _drawn(scope, args, lot)
    checks = []
    for make in WHOLE:
        checks.append(make(scope))
        say(_line(checks[-1]))
    _make_inputs(draws)
    reruns = check_reruns(scope, draws, say)
    for scored in too_long:
        reruns.skip(
            "/".join(scored.key),
            f"not in the draw: a fold takes more than {args.longest:g} s",
            f"ldlrepro audit --unit {'/'.join(scored.key)}",
        )
    say(_line(reruns))
    found = certificate(papers, [*checks, reruns], command_of(args, papers, lot), asked)
    write_text(args.out / "audit.json", json.dumps(found, indent=1) + "\n")
    write_text(args.out / "audit.html", audit_page(found))
    if args.json:
        print(json.dumps(found, indent=1))
    else:
        print(f"{found['summary']}  {args.out / 'audit.html'}")
    return 0 if found["verdict"] == "pass" else 1


def certificate(
    papers: Sequence[str], checks: Sequence[Check], command: str, asked: int
) -> dict[str, Any]:
    """What was asked and found. Of the checks only the last, the reruns, must have seen a thing."""
    verdicts = {check.verdict for check in checks}
    reruns = checks[-1]
    computed = len(reruns.passed) + len(reruns.failed)
    verdict = "pass" if "fail" not in verdicts and reruns.passed else "fail"
    return {
        "verdict": verdict,
        "summary": f"{verdict.upper()}, {computed} of {asked} rerun",
        "reruns": {"asked": asked, "computed": computed},
        "papers": list(papers),
        "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "ldlrepro": __version__,
        "git_commit": provenance.git_commit(),
        "versions": provenance.versions(),
        "machine": provenance.machine(),
        "command": command,
        "checks": [
            {
                "id": check.id,
                "question": check.question,
                "compared": check.compared,
                "verdict": check.verdict,
                "passed": len(check.passed),
                "failed": [asdict(remark) for remark in check.failed],
                "skipped": [asdict(remark) for remark in check.skipped],
                "subjects": check.passed,
            }
            for check in checks
        ],
    }


def _drawn(scope: Scope, args: argparse.Namespace, lot: int) -> tuple[list[Draw], list[UnitScores]]:
    generator = np.random.default_rng(lot)
    if not args.unit:
        return draw(scope.chosen, args.units, args.longest, generator)
    known = {"/".join(unit.key): unit for unit in scope.chosen}
    broken = {"/".join(astuple(unit)) for unit in scope.unusable}  # the check of records says why
    names = list(dict.fromkeys(args.unit))
    for name in names:
        if name not in known and name not in broken:
            raise unknown("measured unit", name, known, "Write PROTOCOL/DATASET/METHOD.")
    named = [known[name] for name in names if name in known]
    draws, _ = draw(named, len(named), float("inf"), generator)
    if len(draws) < len(named):
        raise UserError("only complete units can be compared; run snakemake first")
    return draws, []


def _make_inputs(draws: Sequence[Draw]) -> None:
    """In a fresh clone the reference is audited, and there are no data or folds yet."""
    from ldlrepro import stages

    for protocol, dataset in sorted({(d.unit.protocol, d.unit.dataset) for d in draws}):
        stages.make_inputs(dataset, protocol)


def _line(check: Check) -> str:
    counts = f"{len(check.passed)} right, {len(check.failed)} wrong, {len(check.skipped)} not seen"
    return f"{check.id + ':':<10} {check.verdict:<8} {counts}"


def command_of(args: argparse.Namespace, papers: Sequence[str], lot: int) -> str:
    """What to type for the same audit with the same draw."""
    words = ["ldlrepro", "audit", *papers]
    for unit in args.unit:
        words += ["--unit", shlex.quote(unit)]
    if not args.unit:
        words += ["--units", str(args.units)]
    words += ["--longest", f"{args.longest!r}", "--lot", str(lot)]
    if args.seed is not None:
        words += ["--seed", str(args.seed)]
    if args.tracking_uri:
        words += ["--tracking-uri", shell_word(args.tracking_uri)]
    if args.out != OUT:
        words += ["--out", shlex.quote(str(args.out))]
    return " ".join([*words, *["--json"] * args.json])
