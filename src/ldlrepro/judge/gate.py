"""The end of a workflow: says what was left out, and fails if a run failed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from ldlrepro.core.errors import UserError
from ldlrepro.judge.answer import PaperAnswer, Trouble
from ldlrepro.judge.scores import LOCAL
from ldlrepro.train import cards
from ldlrepro.train.records import FAILED, UNAVAILABLE, last_line


def pass_gate(answers: Sequence[PaperAnswer], page: Path, say: Callable[[str], None]) -> bool:
    """Tell what was left out and what failed; return whether nothing failed."""
    papers = " ".join(answer.paper for answer in answers)
    everything = f"`snakemake --cores all {papers}`"
    ran = any(unit.source == LOCAL for answer in answers for unit in answer.units)
    troubles = {trouble.unit: trouble for answer in answers for trouble in answer.troubles}
    has_page = page.is_file()  # by hand there may be none; under Snakemake there is
    if not (ran or troubles or has_page):
        raise UserError(f"nothing of {papers.replace(' ', ', ')} has run here. Type {everything}.")
    _tell_left_out([t for t in troubles.values() if t.status == UNAVAILABLE], say)
    say(f"report: {page}" if has_page else f"no report yet; {everything} makes it")
    failed = [trouble for trouble in troubles.values() if trouble.status == FAILED]
    for trouble in failed:
        counts = f"{len(trouble.errors)} of {trouble.folds} folds"
        say(f"FAILED {trouble.unit}: {counts}: {last_line(trouble.errors[0])}")
    if failed:
        say(f"{len(failed)} unit(s) failed; all others are done and in the report.")
        _tell_how_to_run_again(failed, say)
    else:
        say(f"What holds: ldlrepro verdicts {papers}")
    return not failed


def _tell_left_out(units: Iterable[Trouble], say: Callable[[str], None]) -> None:
    """Print one entry for each reason, for whole data sets may be left out for the same one."""
    left_out: dict[str, list[Trouble]] = {}
    for unit in units:
        left_out.setdefault(unit.errors[0], []).append(unit)
    for reason, theirs in left_out.items():
        say(f"left out: {reason}\n  of {', '.join(each.unit for each in theirs)}")
        if cards.is_lack(reason):  # data are looked for by the workflow itself; cards are not
            _tell_how_to_run_again(theirs, say)


def _tell_how_to_run_again(units: Iterable[Trouble], say: Callable[[str], None]) -> None:
    """Name no command: whoever ran them gave options that nobody here knows."""
    records = " ".join(str(path) for unit in units for path in unit.records)
    say(
        "To run only these again, remove their records and give your snakemake command again, "
        f"with all its options:\n  rm {records}\nNamed as the targets of that command, after --, "
        "they run without anything else; the command as it was then renews the tables."
    )
