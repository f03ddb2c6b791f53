"""The end of a workflow: says what was left out, and fails if a run failed."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

from ldlrepro import plan
from ldlrepro.compare.collect import Places, UnitScores, local_units, unavailable_reason
from ldlrepro.errors import UserError
from ldlrepro.runs import cards
from ldlrepro.runs.records import FAILED
from ldlrepro.runs.unit import last_line
from ldlrepro.stages import DATA, RESULTS, say


def gate(args: argparse.Namespace) -> int:
    units: dict[tuple[str, str, str], UnitScores] = {}
    for paper in args.papers:
        units |= local_units(Places(RESULTS, DATA), plan.paper_units(paper))
    everything = f"`snakemake --cores all {' '.join(args.papers)}`"
    has_page = Path(args.page).is_file()  # by hand there may be none; under Snakemake there is
    if not (units or has_page):
        raise UserError(f"nothing of {', '.join(args.papers)} has run here. Type {everything}.")
    _tell_left_out(units.values())
    say(f"report: {args.page}" if has_page else f"no report yet; {everything} makes it")
    failed = [unit for unit in units.values() if _errors(unit)]
    for unit in failed:
        errors = _errors(unit)
        counts = f"{len(errors)} of {len(unit.rows)} folds"
        say(f"FAILED {'/'.join(unit.key)}: {counts}: {last_line(errors[0])}")
    if failed:
        say(f"{len(failed)} unit(s) failed; all others are done and in the report.")
        _tell_how_to_run_again(failed)
    return int(bool(failed))


def _errors(unit: UnitScores) -> list[str]:
    return [row.error for row in unit.rows if row.status == FAILED]


def _tell_left_out(units: Iterable[UnitScores]) -> None:
    """One entry for each reason, for whole data sets are left out for the same."""
    left_out: dict[str, list[UnitScores]] = {}
    for unit in units:
        if reason := unavailable_reason(unit):
            left_out.setdefault(reason, []).append(unit)
    for reason, theirs in left_out.items():
        say(f"left out: {reason}\n  of {', '.join('/'.join(unit.key) for unit in theirs)}")
        if cards.is_lack(reason):  # data are looked for by the workflow itself; cards are not
            _tell_how_to_run_again(theirs)


def _tell_how_to_run_again(units: Iterable[UnitScores]) -> None:
    """Whoever ran them did so with options that nobody here knows, such as --configfile."""
    records = " ".join(str(path) for unit in units for path in unit.files)
    say(
        "To run only these again, remove their records and give your snakemake command again, "
        f"with all its options:\n  rm {records}\nNamed as the targets of that command, after --, "
        "they run without anything else; the command as it was then renews the tables."
    )
