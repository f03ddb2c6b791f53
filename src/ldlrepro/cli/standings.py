"""Verbs that compare methods by the numbers of everything that ran."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ldlrepro.cli import openings
from ldlrepro.cli.here import answers_of, judge_here, papers_of
from ldlrepro.cli.output import FEW, FIRST_ROWS, answer, paragraph, show
from ldlrepro.cli.verb import IDS, PAPERS, takes, verb
from ldlrepro.core.errors import UserError, unknown
from ldlrepro.core.progress import say, waiting

if TYPE_CHECKING:
    from ldlrepro.catalogue import Project
    from ldlrepro.judge.judging import Judge
    from ldlrepro.plan import Unit
    from ldlrepro.report.baselines import Baseline
    from ldlrepro.report.leaderboard import Standings

DECIMALS, DIGITS = 6, 4
"""Decimals of a mean at most, and significant digits of the smallest one."""
COLUMNS = (
    "Rank is the mean over data sets, and 1 the best. Gain is the share of the training mean's "
    "loss that a method takes away. Beats and beaten by count significant differences. A method "
    "that lacks a data set has no rank."
)
TO_CHOOSE = (
    "These are settings that reproduce papers. To choose a method for your data, believe "
    "`ldlrepro recommend`, which compares the classes of the library, tuned on training rows."
)


@verb(
    PAPERS,
    takes("--measure", default="kl", help="measure that decides; default: %(default)s"),
    takes("--protocol", help=IDS["protocol"]),
    table=True,
    examples=[
        "ldlrepro leaderboard",
        "ldlrepro leaderboard structrf",
        "ldlrepro leaderboard mslp --measure cosine",
    ],
)
def leaderboard(args: argparse.Namespace) -> int:
    """Rank the methods of each protocol over the data sets that all of them have.

    Without a paper or a protocol, one line per protocol names its best method; protocols that only
    repeat another with other seeds are left out.
    """
    from ldlrepro.judge.measures import directions
    from ldlrepro.report.content import PaperPage
    from ldlrepro.report.leaderboard import collect, standings

    judge = judge_here(args)
    project = judge.project
    _settle_papers(project, args)
    known = directions(project)
    if args.measure not in known:
        raise unknown("measure", args.measure, known)
    answers = answers_of(judge, papers_of(project, args.paper))
    board = collect(project, [PaperPage.of(project, answer) for answer in answers])
    found = [
        standings(board, paper, protocol, args.measure)
        for paper, protocol in board.protocols()
        if args.protocol in (None, protocol)
    ]
    if args.json:
        return answer(args, [row for outcome in found for row in outcome.rows])
    if not args.paper:
        protocols = project.protocols
        seeds = {name for name, protocol in protocols.items() if protocol.noise_of}
        leaders = [line for one in found if one.protocol not in seeds and (line := _leader(one))]
        return answer(args, leaders, openings.of_leaders(leaders, args.measure))
    for outcome in found:
        said = openings.of_standings(outcome)
        lacking = f"{outcome.protocol}: a rank takes two methods on the same data sets."
        print(paragraph(f"{said} {TO_CHOOSE}" if said and outcome is found[0] else said or lacking))
        print()
        lines = [_with_even_digits(row) for row in outcome.rows]
        show(args, lines, first=6, brief=[line for line in lines if line["gain"] or line["rank"]])
        print()
    print(paragraph(COLUMNS))
    return 0


def _settle_papers(project: Project, args: argparse.Namespace) -> None:
    """Ask for the paper of the protocol that is asked for; refuse what does not go together."""
    for name in args.paper:
        if name in project.protocols and name not in project.paper_ids:
            raise UserError(
                f"{name} is a protocol, not a paper. Type `ldlrepro leaderboard --protocol {name}`."
            )
    if args.protocol:
        paper = project.protocol(args.protocol).paper
        if args.paper and paper not in args.paper:
            raise UserError(f"{args.protocol} is a protocol of {paper}. Name that paper, or none.")
        args.paper = args.paper or [paper]


def _with_even_digits(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a line with as many decimals as those above and below it have."""
    formats = {"rank": ".2f", "gain": ".1%"}
    return {
        name: value if value is None else format(value, formats.get(name, ""))
        for name, value in row.items()
    }


def _leader(outcome: Standings) -> dict[str, Any] | None:
    """Return a line about the best method that may be cited; None where nothing is ranked."""
    ranked = [line for line in outcome.lines if line.rank is not None]
    citable = [line for line in ranked if not line.contestant.by_print]
    if len(ranked) < 2 or not citable:
        return None
    first = citable[0]
    better = None if outcome.compared.refusal else f"{first.better_than} of {len(ranked) - 1}"
    return {
        "protocol": outcome.protocol,
        "best to cite": first.contestant.id,
        "mean rank": f"{first.rank:.2f}",
        "data sets": len(outcome.datasets),
        "gain over mean": None if first.gain is None else f"{first.gain:.0%}",
        "significantly better than": better,
    }


@verb(
    takes("--dataset", nargs="+", default=[], help="only these data sets"),
    takes("--protocol", help=IDS["protocol"]),
    takes("--method", nargs="+", default=[], help="only these methods, with their variants"),
    takes("--measure", help="only this measure; default: kl in the table, all in JSON and --out"),
    takes(
        "--out",
        type=Path,
        metavar="FOLDER",
        help="write baselines.json, by_fold.csv, cite.bib, and the test rows of every fold",
    ),
    table=True,
    examples=[
        "ldlrepro baselines --dataset sjaffe --method structrf sa_bfgs",
        "ldlrepro baselines --dataset sjaffe yeast_alpha --out ../baselines",
    ],
)
def baselines(args: argparse.Namespace) -> int:
    """Give numbers to cite for every method that ran: means and standard deviations over folds,
    with the folds, the settings and the code behind them.
    """
    from ldlrepro.report.baselines import collect, document, write_folder

    judge = judge_here(args)
    if not (args.dataset or args.protocol or args.method or args.out or args.all or args.json):
        named = ", ".join(sorted(judge.project.data_set_ids))
        print(paragraph("Name a data set: `ldlrepro baselines --dataset sjaffe`."))
        print(f"\n{paragraph(f'There are: {named}.')}")
        return 0
    _demand_known(judge.project, args)
    with waiting("reading records"):
        found = collect(judge, args.dataset, args.protocol, args.method)
    measures = {baseline.measure for baseline in found}
    if args.measure and found and args.measure not in measures:
        raise unknown("measure", args.measure, sorted(measures))
    shown = args.measure or (None if args.json or args.out else "kl")
    found = [baseline for baseline in found if shown in (None, baseline.measure)]
    if args.out:
        write_folder(args.out, found, judge, lambda text: print(text, file=sys.stderr))
        say(f"{len(found)} numbers in {args.out}")
        return 0
    if args.json:
        print(json.dumps(document(judge.project, found), indent=1))
        return 0
    if not found:
        raise UserError("no complete record fits that. `ldlrepro status` says what has run.")
    return _show_baselines(args, judge, found, str(shown))


def _demand_known(project: Project, args: argparse.Namespace) -> None:
    """Refuse names of data sets, methods and protocols that do not exist."""
    for name in args.dataset:
        project.data_set(name)
    for name in args.method:
        project.method(name)
    if args.protocol:
        project.protocol(args.protocol)


def _show_baselines(
    args: argparse.Namespace, judge: Judge, found: list[Baseline], measure: str
) -> int:
    """Show numbers by one measure, what can be cited first."""
    from ldlrepro.judge.measures import directions
    from ldlrepro.judge.persons import FLOOR
    from ldlrepro.report.baselines import collect, of_persons

    up = directions(judge.project).get(measure) == "higher"
    found.sort(key=lambda one: _citable_first(one, up))
    floors = found if not args.method else collect(judge, args.dataset, args.protocol, [FLOOR])
    worse = _worse_than_mean(found, floors, up)
    decimals = _decimals_of(found)
    star = {one.unit: "*" if one.unit in worse else " " * bool(worse) for one in found}
    lines = [_to_read(one, decimals, star[one.unit]) for one in found]
    if not args.wide:
        places = ("dataset", "protocol", "people apart")
        alike = [name for name in places if len({one[name] for one in lines}) < 2]
        lines = [{name: one[name] for name in one if name not in alike} for one in lines]
    listed = lines[: sum(not one.unit.method.by_print for one in found)]
    best_alone = len(listed) > FIRST_ROWS + FEW and not args.all
    said = openings.of_baselines(found, measure, decimals, best_alone, worse)
    said = f"{said}\n\n{of_persons(found)}".rstrip()
    first = list(lines[0]).index("by print") + args.all
    answer(args, lines, said, first, _best_of_each(found, listed) if best_alone else listed)
    if worse:
        print("\n* worse than the mean of the training labels, where that ran on the same folds")
    return 0


def _best_of_each(
    found: Sequence[Baseline], listed: Sequence[Mapping[str, Any]]
) -> Sequence[Mapping[str, Any]]:
    """Return the first line of each protocol on each data set."""
    first: dict[Any, Mapping[str, Any]] = {}
    for one, line in zip(found, listed, strict=False):
        first.setdefault((one.unit.data_set, one.unit.protocol), line)
    return [*first.values()][:FIRST_ROWS]


def _worse_than_mean(found: Sequence[Baseline], floors: Sequence[Baseline], up: bool) -> set[Unit]:
    """Return the units that the training mean beats under the same protocol."""
    from ldlrepro.judge.persons import FLOOR

    means = {
        (one.unit.ids[:2], one.measure): one.mean for one in floors if one.unit.method.id == FLOOR
    }
    worse = set()
    for one in found:
        floor = means.get((one.unit.ids[:2], one.measure), one.mean)
        if one.mean < floor if up else one.mean > floor:
            worse.add(one.unit)
    return worse


def _citable_first(baseline: Baseline, up: bool) -> tuple[Any, ...]:
    """Order by use to a reader: what can be cited, people apart, each protocol from its best on."""
    unit = baseline.unit
    mean = -baseline.mean if up else baseline.mean
    apart = _keeps_apart(baseline)
    return unit.method.by_print, unit.data_set.id, not apart, unit.protocol.id, mean


def _keeps_apart(baseline: Baseline) -> bool | None:
    """Tell whether nobody is in training and test rows; None where persons are not known."""
    from ldlrepro.report.baselines import keeps_apart

    unit = baseline.unit
    return keeps_apart(unit.protocol, unit.data_set) if unit.data_set.names_persons else None


def _decimals_of(found: Sequence[Baseline]) -> int:
    """Return how many decimals all means of a table have."""
    least = min((abs(one.mean) for one in found if one.mean), default=1.0)
    return min(DECIMALS, max(0, DIGITS - 1 - math.floor(math.log10(least))))


def _to_read(baseline: Baseline, decimals: int, star: str) -> dict[str, Any]:
    """Return a line of numbers to cite, what matters most first.

    A star marks a mean that is worse than that of the training mean.
    """
    line = baseline.line()
    numbers = ("mean", "std", "seeds low", "seeds high")
    given = {name: line[name] for name in numbers if line[name] is not None}
    # A sum that ends at -2e-17 is zero.
    told = {n: f"{round(value, decimals) + 0.0:.{decimals}f}" for n, value in given.items()}
    first = {name: line[name] for name in ("method", "dataset", "protocol", "mean", "std")}
    marks = {"people apart": _keeps_apart(baseline), "by print": "yes" * line["by print"]}
    told["mean"] += star
    return first | marks | {**line, **marks, **told}
