"""Verbs that tell which printed numbers and sentences hold, and why."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ldlrepro.cli import openings
from ldlrepro.cli.here import HERE, judge_here, papers_of, plan_here
from ldlrepro.cli.output import answer
from ldlrepro.cli.verb import PAPER, PAPERS, count, flag, takes, verb
from ldlrepro.core.errors import UserError, nearest

if TYPE_CHECKING:
    from ldlrepro.catalogue import DataSet
    from ldlrepro.judge.answer import PaperAnswer
    from ldlrepro.judge.claims import ClaimRow
    from ldlrepro.judge.verdicts import VerdictRow


@verb(
    PAPERS,
    takes("--show", metavar="VERDICT", help="list the cells with this verdict, or evidence"),
    flag("--readings", "list the readings of what a paper leaves open, and what its digits choose"),
    flag("--unexplained", "list the cells that miss and have no reason in the paper's misses.yaml"),
    takes("--badges", type=Path, metavar="FOLDER", help="draw a badge per paper and method as SVG"),
    takes("--dataset", help="only this data set"),
    takes("--method", help="only this method, as the paper prints it"),
    json=True,
    examples=["ldlrepro verdicts", "ldlrepro verdicts mslp --show worse --dataset sjaffe"],
)
def verdicts(args: argparse.Namespace) -> int:
    """Count which printed numbers hold.

    Local results come first, then the maintainers' reference records; the answer says which.
    """
    from ldlrepro.judge.misses import idle, unexplained
    from ldlrepro.judge.verdicts import EVIDENCE, VERDICTS
    from ldlrepro.report.summary import with_groups

    judge = judge_here()
    wanted = papers_of(judge.project, args.paper)
    shown = (*VERDICTS, "holds", *EVIDENCE)
    if args.show and args.show not in shown:
        raise UserError(
            f"no verdict '{args.show}'.{nearest(args.show, shown)} They are: {', '.join(shown)}"
        )
    answers = zip(wanted, judge.answers(wanted), strict=True)
    if args.readings:
        found = [line for _, answered in answers for line in _readings(answered)]
        return answer(args.json, found, ("paper", "method", "reading", "surprise", "chosen"))
    everything = {paper: answer.rows for paper, answer in answers}
    rows = [row for mine in everything.values() for row in mine]
    rows = _only(rows, "dataset", args.dataset)
    rows = _only(rows, "method", args.method)
    if args.unexplained:
        for paper, mine in everything.items():
            for reason in idle(mine, paper):
                where = judge.project.shown(paper.beside("misses.yaml"))
                print(f"{where}: no miss for: {reason}", file=sys.stderr)
        rows = unexplained(rows)
    if args.badges:
        from ldlrepro.report.badges import write_badges

        written = write_badges(args.badges, rows)
        print(f"{len(written)} badges in {args.badges}", file=sys.stderr)
    if args.show:
        rows = [
            row
            for row in rows
            if args.show in (row.verdict, row.evidence) or (args.show == "holds" and row.holds)
        ]
    if args.show or args.unexplained:
        lines = [_cell_line(row) for row in rows]
        columns = ("cell", "printed", "measured", "difference", "source", "marks", "reason")
        return answer(args.json, [asdict(r) for r in rows] if args.json else lines, columns)
    kept = {paper: [row for row in rows if row.paper == paper.id] for paper in wanted}
    counted = [_counted(name, mine) for name, mine in with_groups(kept)]
    return answer(args.json, counted, tuple(counted[0]))


def _readings(found: PaperAnswer) -> list[dict[str, Any]]:
    return [
        {
            "paper": found.paper,
            "method": row.method,
            "reading": row.reading + ", as stated" * row.stated,
            "surprise": f"{row.surprise:.2f}",
            "chosen": f"for {row.chosen} of {row.of} data sets",
        }
        for row in found.readings
    ]


def _only(rows: list[VerdictRow], column: str, wanted: str | None) -> list[VerdictRow]:
    """Return rows with the wanted value; refuse a value that no row has."""
    if not wanted:
        return rows
    printed = dict.fromkeys(getattr(row, column) for row in rows)
    if wanted not in printed:
        raise UserError(
            f"no printed number for {column} '{wanted}'.{nearest(wanted, printed)} "
            f"There are: {', '.join(printed)}"
        )
    return [row for row in rows if getattr(row, column) == wanted]


def _counted(name: str, rows: list[VerdictRow]) -> dict[str, Any]:
    """Return a line of counts: what holds, by which evidence numbers are met, every verdict."""
    from ldlrepro.judge.tallies import tally

    found = tally(rows)
    sources = Counter(row.source for row in rows if row.source)
    return {
        "paper": name,
        **found.line,
        "other settings": found.other_settings,
        "local": sources["local"],
        "reference": sources["reference"],
    }


def _cell_line(row: VerdictRow) -> dict[str, str]:
    return {
        "cell": row.cell,
        "printed": f"{row.printed} ± {row.printed_std}" if row.printed_std else row.printed,
        "measured": "" if row.measured is None else f"{row.measured:.4f}",
        "difference": "" if row.difference is None else f"{row.difference:+.1%}",
        "source": row.source,
        "marks": ", ".join(row.marks),
        "reason": row.reason,
    }


@verb(
    takes("cell", help="PAPER/TABLE/DATASET[/SETTING]/METHOD/MEASURE, or a data set"),
    flag(
        "--full",
        "parameters and where they come from, folds, every other setting, digests, and the "
        "command that computes it again",
    ),
    json=True,
    examples=[
        "ldlrepro explain structrf/16/sjaffe/SA-BFGS/kl",
        'ldlrepro explain "ldldf/4/sjaffe/combination RF+RF/LDLDF/kl"',
        "ldlrepro explain scut_fbp",
    ],
)
def explain(args: argparse.Namespace) -> int:
    """Tell about one cell: printed and measured value, verdict, why it misses, and the nearest
    other setting; with --full all about it. Of a data set tell what its features reveal.
    """
    from ldlrepro.judge.explain import explain, summary

    judge = judge_here()
    if args.cell in judge.project.data_set_ids:
        return _explain_data_set(judge.project.data_set(args.cell), args.json)
    paper = judge.project.paper(args.cell.partition("/")[0])
    facts = explain(args.cell, judge.answer(paper), judge.project)
    if args.json:
        print(json.dumps(facts, indent=1, default=str))
    else:
        print("\n".join(_lines(facts) if args.full else summary(args.cell, facts)))
    return 0


def _explain_data_set(data_set: DataSet, as_json: bool) -> int:
    from ldlrepro.data import load_ready
    from ldlrepro.data.traits import traits_of

    path = HERE.ready(data_set.id)
    if not path.is_file():
        raise UserError(
            f"{data_set.id} is not ready. Type `ldlrepro fetch {data_set.id}` and "
            f"`ldlrepro prepare {data_set.id}` first."
        )
    data = load_ready(path)
    size = f"{data.X.shape[0]} rows, {data.X.shape[1]} features, {data.D.shape[1]} labels"
    facts = {"title": data_set.title, "size": size} | traits_of(data.X).facts
    print(json.dumps(facts, indent=1) if as_json else "\n".join(_lines(facts)))
    return 0


def _lines(facts: Mapping[str, Any]) -> list[str]:
    lines = []
    for name, value in facts.items():
        if isinstance(value, list):
            entries = ["; ".join(f"{k}: {v}" for k, v in entry.items()) for entry in value]
            lines += [f"{name}:", *(f"  - {entry}" for entry in entries or ["none"])]
        elif isinstance(value, dict):
            told = "; ".join(f"{key}: {one}" for key, one in value.items())
            lines.append(f"{name + ':':<18} {told or 'none'}")
        else:
            lines.append(f"{name + ':':<18} {value}")
    return lines


@verb(PAPERS, json=True, examples=["ldlrepro claims structrf"])
def claims(args: argparse.Namespace) -> int:
    """Say which sentences of the papers hold, on their own numbers and on ours."""
    judge = judge_here()
    answers = judge.answers(papers_of(judge.project, args.paper))
    judged = [found for found in answers if found.claims]
    if args.json:
        return answer(
            True,
            [{**asdict(row), "support": row.support} for found in judged for row in found.claims],
            [],
        )
    width = min(shutil.get_terminal_size().columns, 110)
    for found in judged:
        print(openings.of_claims(found.paper, found.claims))
        print()
        for row in found.claims:
            print(_claim_in_lines(row, width))
            print()
    return 0


def _claim_in_lines(row: ClaimRow, width: int) -> str:
    """Return what a claim says, where it stands, and what came out, wrapped for a terminal."""
    from ldlrepro.judge.claims import shares_in_words

    counts = f": {row.measured}" if row.measured else ""
    counts += f" ({row.printed} in print)" if row.measured and row.printed else ""
    lines = [f"{row.support}{counts}  [{row.id}]"]
    by = [("by measure", row.by_metric), ("by data set", row.by_dataset)]
    told = [
        f"{row.text} ({row.where})" if row.where else row.text,
        f"tested on: {row.stand_in}" if row.stand_in else "",
        *(f"{head}: {shares_in_words(shares)}" for head, shares in by if shares),
        row.evidence,
    ]
    for text in filter(None, told):
        lines += textwrap.wrap(text, width, initial_indent="    ", subsequent_indent="    ")
    return "\n".join(lines)


@verb(
    PAPERS,
    takes("--dataset", help="of this printed data set only"),
    takes("--method", help="of this method only, by its id without variant"),
    count("--first", 40, "how many"),
    json=True,
    examples=["ldlrepro contradictions", "ldlrepro contradictions --dataset sjaffe"],
)
def contradictions(args: argparse.Namespace) -> int:
    """List the experiments that more than one paper prints, by how far their numbers are apart,
    with ours under each paper's protocol.
    """
    from ldlrepro.judge.contradictions import contradictions

    judge = judge_here()
    answers = judge.answers(papers_of(judge.project, args.paper))
    rows = [row for judged in answers for row in judged.rows]
    lines: list[dict[str, Any]] = []
    for one in contradictions(rows):
        if args.dataset not in (None, one.dataset) or args.method not in (None, one.method):
            continue
        lines.append(
            {
                "data set": one.dataset,
                "method": one.method,
                "measure": one.metric,
                "times": round(one.times, 2),
                "printed": {row.paper: row.printed for row in one.rows},
                "ours times": one.ours and round(one.ours, 2),
                "ours": {
                    row.protocol: float(f"{row.measured:.4g}")
                    for row in one.rows
                    if row.measured is not None
                },
            }
        )
    if not args.json:
        lines = lines[: args.first]
        for line in lines:
            for column in ("printed", "ours"):
                line[column] = ", ".join(f"{name} {value}" for name, value in line[column].items())
            line["ours times"] = line["ours times"] or ""
    columns = ("data set", "method", "measure", "times", "printed", "ours times", "ours")
    return answer(args.json, lines, columns)


@verb(PAPER, json=True, examples=["ldlrepro protocols structrf"])
def protocols(args: argparse.Namespace) -> int:
    """Say which folds and counts the printed digits of deterministic methods fit."""
    from ldlrepro.experiments.protocols import LEFT_TO_JSON, findings

    tables = findings(plan_here().project.paper(args.paper), HERE.results)
    if args.json:
        print(json.dumps(tables, indent=1))
        return 0
    for title, rows in tables.items():
        print(f"{title}:")
        answer(False, rows, [name for name in rows[0] if name not in LEFT_TO_JSON])
        print()
    print("A diagnosis that looks at test rows; see docs/protocols.md.")
    return 0
