"""Verbs that tell which printed numbers and sentences hold, and why."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ldlrepro.cli import openings
from ldlrepro.cli.here import HERE, answers_of, judge_here, papers_of, plan_here
from ldlrepro.cli.output import (
    BOLD,
    COLOURS,
    FEW,
    FIRST_ROWS,
    answer,
    coloured,
    counted,
    paragraph,
    show,
)
from ldlrepro.cli.verb import PAPER, PAPERS, flag, takes, verb
from ldlrepro.core.errors import UserError, nearest, plain
from ldlrepro.core.progress import say

if TYPE_CHECKING:
    from ldlrepro.catalogue import Project
    from ldlrepro.catalogue.papers import Paper
    from ldlrepro.judge.answer import PaperAnswer
    from ldlrepro.judge.claims import ClaimRow
    from ldlrepro.judge.contradictions import Contradiction
    from ldlrepro.judge.verdicts import VerdictRow

R = TypeVar("R")
CLAIM_RULE = (
    "Each count says how many comparisons come out as the claim says. A claim fails if at most "
    "half of ours do, whatever the print has. Else it holds if our share reaches that in print, "
    "and holds partly if not."
)
NAMES = {
    "parameters": "Parameters (value; chosen by; from)",
    "open points": "Open points (alternatives; what is known)",
    "what moves it": "Other settings (measured; relative difference)",
    "stated": "First reading of the text",
    "versions": "Versions",
    "method_id": "method",
    "unit_dataset": "data set",
    "protocol": "protocol",
    "better": "better is",
    "measured": "measured",
    "difference": "relative difference",
    "loss difference": "relative difference of the distances from a perfect answer",
    "band": "near up to this distance from the print",
    "noise": "deviation over other seeds",
    "measured_std": "deviation over folds",
    "repeats_std": "deviation over repeats of the folds",
    "median of folds": "median of folds",
    "fold values": "folds",
    "computed": "computed",
    "fit seconds": "fit seconds",
    "record": "file",
    "seed of the first fold": "seed of the first fold",
    "git_commit": "git commit",
    "data_sha256": "digest of the data",
    "folds_sha256": "digest of the folds",
    "spec_sha256": "digest of the settings",
    "code_sha256": "digest of the code",
    "lock_sha256": "digest of envs/lock.txt",
}
"""Fact about a cell that only --full tells -> its name, in the order in which they are told."""
FIRST_OF_FOLDS = ("method", "data set", "folds", "explained", "its seeds as strong", "verdict")
"""Columns that `protocols` shows without --wide, where a table has them."""
MANY = 24
"""Names that an error does not list."""


@verb(
    PAPERS,
    takes("--show", metavar="VERDICT", help="list the numbers with this verdict, such as worse"),
    flag("--readings", "list the ways to read what a paper leaves open, and which fit its numbers"),
    flag("--unexplained", "list the missed numbers whose reason is not known, or not written down"),
    takes("--badges", type=Path, metavar="FOLDER", help="draw a badge per paper and method as SVG"),
    takes("--dataset", help="only this data set, by its id or its name in print"),
    takes(
        "--method",
        dest="printed_method",
        metavar="METHOD",
        help="only this method, by its id or its name in print",
    ),
    table=True,
    examples=["ldlrepro verdicts", "ldlrepro verdicts mslp --show worse --dataset sjaffe"],
)
def verdicts(args: argparse.Namespace) -> int:
    """Count the printed numbers that hold.

    Your results in this folder count first, then the maintainers' reference records; --wide says
    how many of each.
    """
    from ldlrepro.judge.verdicts import EVIDENCE, VERDICTS

    judge = judge_here(args)
    wanted = papers_of(judge.project, args.paper)
    shown = (*VERDICTS, "met", "holds", *EVIDENCE)
    if args.show and args.show not in shown:
        raise UserError(
            f"no verdict '{args.show}'.{nearest(args.show, shown)} Choose from: {', '.join(shown)}"
        )
    answers = dict(zip(wanted, answers_of(judge, wanted), strict=True))
    if args.readings:
        found = [line for answered in answers.values() for line in _readings(answered)]
        return answer(args, found, openings.of_readings(found), first=6)
    rows = [row for answered in answers.values() for row in answered.rows]
    rows = _only(rows, "dataset", args.dataset, lambda row: (row.dataset, row.unit_dataset))
    rows = _only(rows, "method", args.printed_method, _names_of_method)
    if args.badges:
        from ldlrepro.report.badges import write_badges

        say(f"{len(write_badges(args.badges, rows))} badges in {args.badges}")
    if args.show or args.unexplained:
        if args.unexplained:
            _name_idle_reasons(judge.project, answers)
        return _list_asked(args, rows)
    return _count_by_paper(args, rows, wanted)


def _name_idle_reasons(project: Project, answers: Mapping[Paper, PaperAnswer]) -> None:
    """Name the written reasons that no missed number has."""
    from ldlrepro.judge.misses import idle

    for paper, answered in answers.items():
        for reason in idle(answered.rows, paper):
            where = project.shown(paper.beside("misses.yaml"))
            print(f"{where}: no cell that misses has this reason: {reason}", file=sys.stderr)


def _list_asked(args: argparse.Namespace, rows: Sequence[VerdictRow]) -> int:
    """List the numbers with a verdict, those without a reason, or those with both."""
    from ldlrepro.judge.misses import unexplained
    from ldlrepro.judge.verdicts import JUDGED, VERDICTS

    listed = unexplained(rows) if args.unexplained else rows
    if not args.show:
        return _list_cells(args, listed, openings.of_unexplained(listed, len(rows)))
    listed = [row for row in listed if _is(row, args.show)]
    if args.show in VERDICTS and args.show not in JUDGED:
        of = counted(len(rows), "printed number")
    else:
        of = counted(sum(row.verdict in JUDGED for row in rows), "judged number")
    return _list_cells(args, listed, openings.of_cells(len(listed), of, args.show))


def _count_by_paper(
    args: argparse.Namespace, rows: Sequence[VerdictRow], wanted: Sequence[Paper]
) -> int:
    from ldlrepro.report.conclusions import of_papers

    kept = {paper: [row for row in rows if row.paper == paper.id] for paper in wanted}
    asked = " on ".join(filter(None, [args.printed_method, args.dataset]))
    if asked:
        kept = {paper: mine for paper, mine in kept.items() if mine}
    lines = [_counted(paper.id, mine) for paper, mine in kept.items()]
    if len(kept) > 1:
        lines.append(_counted("all", rows))
    whose = f" of {wanted[0].id}" if len(wanted) == 1 else of_papers(kept)
    if asked:
        whose = f" of {asked}{whose.replace(' of ', ' in ')}"
    answer(args, lines, openings.of_verdicts(rows, whose, bool(asked)), first=9)
    if not (args.json or asked):
        print(f"\n{paragraph(openings.of_words())}")
    return 0


def _readings(found: PaperAnswer) -> list[dict[str, Any]]:
    return [
        {
            "reading": row.reading,
            "paper": found.paper,
            "method": row.method,
            "stated": row.stated,
            "surprise": f"{row.surprise:.2f}",
            "chosen for": f"{row.chosen}/{row.of}",
        }
        for row in found.readings
    ]


def _only(
    rows: list[R], column: str, wanted: str | None, names: Callable[[R], Sequence[str]]
) -> list[R]:
    """Return the rows with the wanted name, however it is written; refuse one that no row has."""
    if not (wanted and rows):
        return rows
    for same in (str, plain):
        if found := [row for row in rows if same(wanted) in map(same, names(row))]:
            return found
    printed = list(dict.fromkeys(names(row)[0] for row in rows))
    told = f" There are: {', '.join(printed)}" if len(printed) < MANY else ""
    meant = nearest(wanted, (name for row in rows for name in names(row))) or told
    raise UserError(f"no printed number for {column} '{wanted}' here.{meant}")


def _names_of_method(row: VerdictRow) -> tuple[str, str, str]:
    return row.method, row.method_id, row.method_id.partition("@")[0]


def _is(row: VerdictRow, word: str) -> bool:
    from ldlrepro.judge.verdicts import MET

    wider = {"met": row.verdict in MET, "holds": row.holds}
    return wider.get(word, word in (row.verdict, row.evidence))


def _counted(name: str, rows: Sequence[VerdictRow]) -> dict[str, Any]:
    """Return a line of counts: what holds, by which evidence numbers are met, every verdict."""
    from ldlrepro.judge.tallies import tally
    from ldlrepro.judge.verdicts import JUDGED

    found = tally(rows)
    sources = Counter(row.source for row in rows if row.source)
    return {
        "paper": name,
        "judged": found.judged,
        "met": found.met,
        **{name: found.line[name] for name in ("holds", *JUDGED)},
        **found.line,
        "other settings": found.other_settings,
        "local": sources["local"],
        "reference": sources["reference"],
    }


def _list_cells(args: argparse.Namespace, rows: Sequence[VerdictRow], said: str) -> int:
    """List cells; without --wide their reasons follow, each once, with a number that cells name."""
    from ldlrepro.judge.misses import in_sentences

    if args.json:
        return answer(args, [asdict(row) for row in rows])
    given = dict.fromkeys(row.reason for row in rows if row.reason)
    reasons = {reason: number for number, reason in enumerate(given, start=1)}
    answer(args, [_cell_line(row, {} if args.wide else reasons) for row in rows], said)
    for reason, number in reasons.items():
        if not args.wide:
            told, where = in_sentences(reason)
            see = f" See {where}." if where else ""
            print(f"\n{paragraph(f'[{number}] {told}{see}')}")
    return 0


def _cell_line(row: VerdictRow, reasons: Mapping[str, int]) -> dict[str, str]:
    from ldlrepro.judge.verdicts import percent

    reason = f"[{reasons[row.reason]}]" if row.reason in reasons else ""
    return {
        "cell": row.cell,
        "printed": f"{row.printed}±{row.printed_std}" if row.printed_std else row.printed,
        "measured": "" if row.measured is None else f"{row.measured:.4f}",
        "difference": percent(row.difference),
        "remarks": ", ".join([*row.marks, *filter(None, [reason])]),
        "source": row.source,
        "reason": row.reason,
    }


@verb(
    takes(
        "cell",
        help="a printed number, PAPER/TABLE/DATASET[/SETTING]/METHOD/MEASURE; "
        "`ldlrepro verdicts PAPER --show exact` lists some",
    ),
    flag(
        "--full",
        "show parameters and their origins, folds, every other setting, digests, and the command "
        "that computes the cell again",
    ),
    json=True,
    examples=[
        "ldlrepro explain structrf/16/sjaffe/SA-BFGS/kl",
        'ldlrepro explain "ldldf/4/sjaffe/combination RF+RF/LDLDF/kl"',
    ],
)
def explain(args: argparse.Namespace) -> int:
    """Say why a printed number holds or misses: the measured value, the verdict, the reading that
    judged it, and the closest other setting. --full shows everything about it.
    """
    from ldlrepro.judge.explain import blocks, explain

    judge = judge_here(args)
    project = judge.project
    paper = project.paper(project.id_called("paper", args.cell.partition("/")[0]))
    (answered,) = answers_of(judge, [paper])
    facts = explain(args.cell, answered, project)
    if args.json:
        print(json.dumps(facts, indent=1, default=str))
        return 0
    told = blocks(facts["cell"], facts)
    if args.full:
        again = facts.get("compute it again", "")
        told |= _details(facts) | ({"What to type": [again]} if again else {})
    else:
        told["What to type"] = [
            f"ldlrepro explain {shlex.quote(facts['cell'])} --full",
            "It shows parameters, folds, digests and the command that computes the number again. "
            "docs/doubt.md says how to challenge it.",
        ]
    for heading, lines in told.items():
        head = [f"\n{coloured(heading, BOLD)}"] * bool(heading)
        print(*head, *(paragraph(line, "  " * bool(heading)) for line in lines), sep="\n")
    return 0


def _details(facts: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return by heading what only --full tells."""
    found: dict[str, list[str]] = {}
    single = []
    for key, name in NAMES.items():
        value = facts.get(key)
        if isinstance(value, list | dict):
            entries = value if isinstance(value, list) else value.items()
            found[name] = [*map(_told, entries)] or ["none"]
        elif value is not None:
            single.append(f"{name}: {_told(value)}")
    return found | {"The record": single}


def _told(value: Any) -> str:
    """Return a value in words: of a mapping its values, of a name and a value both."""
    if isinstance(value, tuple):
        return f"{value[0]}: {_told(value[1])}"
    if isinstance(value, dict):
        return "; ".join(map(_told, value.values()))
    if isinstance(value, list):
        return ", ".join(map(_told, value))
    return f"{value:.6g}" if isinstance(value, float) else str(value)


@verb(
    PAPERS,
    flag("--full", "show every claim in full: by measure, by data set, and what speaks against it"),
    table=True,
    examples=["ldlrepro claims structrf", "ldlrepro claims structrf --full"],
)
def claims(args: argparse.Namespace) -> int:
    """Say which claims of the papers hold, on their own numbers and on ours.

    Several papers have a line each; with --all, each claim has.
    """
    from ldlrepro.report import conclusions

    judge = judge_here(args)
    answers = answers_of(judge, papers_of(judge.project, args.paper))
    rows = [row for found in answers for row in found.claims]
    if args.json:
        return answer(args, [{**asdict(row), "support": row.support} for row in rows])
    said = f"{conclusions.of_claims(rows)} {CLAIM_RULE}"
    if not args.full:
        rows.sort(key=lambda row: (bool(row.stand_in), [*conclusions.CLAIMS].index(row.verdict)))
        several = len(answers) > 1
        if several and not args.all:
            said = f"{said} `ldlrepro claims PAPER` lists those of a paper, --all those of all."
            lines = [
                {"paper": one.paper} | conclusions.claims_counted(one.claims) for one in answers
            ]
            return answer(args, lines, said, first=6)
        lines = [
            ({"paper": row.paper} if several else {})
            | {
                "verdict": row.verdict,
                "claim": f"{row.text} [on {row.stand_in}]" if row.stand_in else row.text,
                "ours": row.measured,
                "in print": row.printed,
                "id": row.id,
                "data sets": f"{row.datasets} of {row.of_datasets}" if row.datasets else "",
                "where": row.where,
            }
            for row in rows
        ]
        return answer(args, lines, said, 4 - several)
    print(paragraph(said))
    for row in rows:
        print()
        print(_claim_in_lines(row))
    return 0


def _claim_in_lines(row: ClaimRow) -> str:
    """Return what a claim says, where it stands in the paper, and what came out."""
    from ldlrepro.judge.claims import shares_in_words

    counts = f": {row.measured}" if row.measured else ""
    counts += f" ({row.printed} in print)" if row.measured and row.printed else ""
    head = coloured(paragraph(f"{row.support}{counts}"), COLOURS.get(row.verdict, ""))
    by = [("by measure", row.by_metric), ("by data set", row.by_dataset)]
    told = [
        f"{row.text} ({row.where})" if row.where else row.text,
        f"tested on: {row.stand_in}" if row.stand_in else "",
        *(f"{title}: {shares_in_words(shares)}" for title, shares in by if shares),
        row.evidence,
    ]
    lines = (paragraph(text, "    ") for text in filter(None, told))
    return "\n".join([head, f"    {row.id}", *lines])


@verb(
    PAPERS,
    takes("--dataset", help="only this data set"),
    takes("--method", help="only this method, by its id without variant"),
    table=True,
    examples=["ldlrepro contradictions", "ldlrepro contradictions --dataset sjaffe"],
)
def contradictions(args: argparse.Namespace) -> int:
    """List the experiments that more than one paper prints: how far their numbers are apart, and
    ours under each paper's protocol.

    One paper is compared with all others.
    """
    from ldlrepro.judge.contradictions import contradictions
    from ldlrepro.report import conclusions

    judge = judge_here(args)
    if args.dataset:
        judge.project.data_set(args.dataset)
    if args.method:
        judge.project.method(args.method)
    wanted = papers_of(judge.project, args.paper)
    alone = wanted[0].id if len(wanted) == 1 else ""
    answers = answers_of(judge, judge.project.real_papers() if alone else wanted)
    found = contradictions(row for judged in answers for row in judged.rows)
    found = [one for one in found if not alone or alone in {row.paper for row in one.rows}]
    found = _only(found, "dataset", args.dataset, lambda one: (one.dataset,))
    found = _only(found, "method", args.method, lambda one: (one.method,))
    if args.json:
        return answer(args, [_contradiction(one) for one in found])
    lines = [line for one in found for line in _printed_and_ours(one)]
    begun = [at for at, line in enumerate(lines[: FIRST_ROWS + 1]) if line["data set"]]
    brief = lines[: begun[-1]] if len(lines) > FIRST_ROWS + FEW else lines  # experiments stay whole
    return answer(args, lines, conclusions.of_contradictions(found), first=7, brief=brief)


def _contradiction(one: Contradiction) -> dict[str, Any]:
    return {
        "data set": one.dataset,
        "method": one.method,
        "measure": one.metric,
        "times": round(one.times, 2),
        "printed": {row.paper: row.printed for row in one.rows},
        "misprints": one.misprints,
        "ours times": one.ours and round(one.ours, 2),
        "ours": {
            row.protocol: float(f"{row.measured:.4g}")
            for row in one.rows
            if row.measured is not None
        },
    }


def _printed_and_ours(one: Contradiction) -> list[dict[str, Any]]:
    """Return a line for each paper; what all of them share stands in the first."""
    shared = (one.dataset, one.method, one.metric, f"{one.times:.2f}")
    return [
        {
            **dict(
                zip(
                    ("data set", "method", "measure", "times apart"),
                    shared if row is one.rows[0] else ("",) * 4,
                    strict=True,
                )
            ),
            "paper": row.paper,
            "printed": row.printed + " (misprint)" * (row.paper in one.misprints),
            "ours": "" if row.measured is None else f"{row.measured:.4g}",
            "our protocol": row.protocol,
        }
        for row in one.rows
    ]


@verb(PAPER, table=True, examples=["ldlrepro protocols structrf"])
def protocols(args: argparse.Namespace) -> int:
    """Find the folds and settings that fit the printed numbers of deterministic methods."""
    from ldlrepro.experiments.printed_digits import FITS, LIKELY, TOLD
    from ldlrepro.experiments.protocols import LEFT_TO_JSON, findings

    paper = plan_here(args).project.paper(args.paper)
    if "protocols" not in paper.experiments:
        raise UserError(f"{paper.id}: its folds were not looked for; it has no such experiment")
    tables = findings(paper, HERE.results)
    if args.json:
        print(json.dumps(tables, indent=1))
        return 0
    said = (
        "This looks at test rows, so it is a diagnosis and not a result: docs/protocols.md. Folds "
        f"fit a row if they explain {FITS:.0%} of its printed numbers. The chance to be wrong is "
        "the share of seeds under the runner-up's folds that are as strong; with n seeds it is at "
        f"least 1 / (n + 1). Up to {TOLD:.0%} the folds are told, up to {LIKELY:.0%} likely."
    )
    print(f"{paragraph(openings.of_folds(paper.id, tables))}\n")
    for title, rows in tables.items():
        print(f"{title}:")
        kept = [name for name in rows[0] if name in FIRST_OF_FOLDS or name not in LEFT_TO_JSON]
        kept.sort(key=lambda name: name not in FIRST_OF_FOLDS)
        shown = sum(name in FIRST_OF_FOLDS for name in kept)
        show(args, [{name: row[name] for name in kept} for row in rows], first=shown)
        print()
    print(paragraph(said))
    return 0
