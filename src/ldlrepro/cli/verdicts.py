"""Verbs that tell which printed numbers and sentences hold, and why."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ldlrepro import config, plan
from ldlrepro.cli import openings
from ldlrepro.cli.output import answer
from ldlrepro.core.errors import UserError, nearest
from ldlrepro.core.workspace import Workspace

if TYPE_CHECKING:
    from ldlrepro.judge.answer import PaperAnswer
    from ldlrepro.judge.claims import ClaimRow

HERE = Workspace()


def verdicts(args: argparse.Namespace) -> int:
    from ldlrepro.judge.misses import idle, unexplained
    from ldlrepro.judge.verdicts import VERDICTS

    wanted = args.paper or config.real_papers()
    if args.show and args.show not in VERDICTS:
        raise UserError(
            f"no verdict '{args.show}'.{nearest(args.show, VERDICTS)} "
            f"They are: {', '.join(VERDICTS)}"
        )
    everything = {answer.paper: answer.rows for answer in _answers(wanted)}
    rows = [row for mine in everything.values() for row in mine]
    rows = _only(rows, "dataset", args.dataset)
    rows = _only(rows, "method", args.method)
    if args.unexplained:
        for paper, mine in everything.items():
            for reason in idle(mine, config.current().paper(paper)):
                where = config.shown(config.paper_file(paper, "misses.yaml"))
                print(f"{where}: no miss for: {reason}", file=sys.stderr)
        rows = unexplained(rows)
    if args.badges:
        from ldlrepro.report.badges import write_badges

        written = write_badges(args.badges, rows)
        print(f"{len(written)} badges in {args.badges}", file=sys.stderr)
    if args.show:
        rows = [row for row in rows if row.verdict == args.show]
    if args.show or args.unexplained:
        shown = [_cell_line(row) for row in rows]
        columns = ("cell", "printed", "measured", "difference", "source", "marks", "reason")
        return answer(args.json, [asdict(r) for r in rows] if args.json else shown, columns)
    groups: dict[str, list[str]] = {}
    for paper in wanted:
        groups.setdefault(config.load_paper(paper)["group"], []).append(paper)
    counted = []
    for group, papers in groups.items():
        counted += [_counted(name, [row for row in rows if row.paper == name]) for name in papers]
        if len(papers) > 1:
            counted.append(_counted(group, [row for row in rows if row.paper in papers]))
    return answer(args.json, counted, tuple(counted[0]))


def _answers(papers: Iterable[str]) -> list[PaperAnswer]:
    from ldlrepro.judge.judging import Judge

    judge = Judge(plan.current(), HERE)
    return judge.answers(judge.project.paper(paper) for paper in papers)


def _only(rows: list[Any], column: str, wanted: str | None) -> list[Any]:
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


def _counted(name: str, rows: list[Any]) -> dict[str, Any]:
    """Return a line of counts; what stands after `reproduced` says what these two are worth."""
    from ldlrepro.judge.tallies import tally
    from ldlrepro.judge.verdicts import MET

    found = tally(rows)
    met = {verdict: found.counts[verdict] for verdict in MET}
    sources = Counter(row.source for row in rows if row.source)
    return {
        "paper": name,
        "cells": found.total,
        **met,
        "apart from mean": found.from_mean,
        "discriminate": found.discriminating,
        "not known": found.untold,
        "by print": found.met_by_print,
        **{verdict: count for verdict, count in found.counts.items() if verdict not in met},
        "std off": found.std_off,
        "other settings": found.other_settings,
        "local": sources["local"],
        "reference": sources["reference"],
    }


def _cell_line(row: Any) -> dict[str, str]:
    return {
        "cell": row.cell,
        "printed": f"{row.printed} ± {row.printed_std}" if row.printed_std else row.printed,
        "measured": "" if row.measured is None else f"{row.measured:.4f}",
        "difference": "" if row.difference is None else f"{row.difference:+.1%}",
        "source": row.source,
        "marks": ", ".join(row.marks),
        "reason": row.reason,
    }


def explain(args: argparse.Namespace) -> int:
    from ldlrepro.judge.explain import explain, summary
    from ldlrepro.judge.judging import Judge

    paper = args.cell.partition("/")[0]
    judge = Judge(plan.current(), HERE)
    answered = judge.answer(judge.project.paper(paper))
    facts = explain(args.cell, answered, judge.project)
    if args.json:
        print(json.dumps(facts, indent=1, default=str))
    else:
        print("\n".join(_lines(facts) if args.full else summary(args.cell, facts)))
    return 0


def _lines(facts: Mapping[str, Any]) -> list[str]:
    lines = []
    for name, value in facts.items():
        if isinstance(value, list):
            entries = ["; ".join(f"{k}: {v}" for k, v in entry.items()) for entry in value]
            lines += [f"{name}:", *(f"  - {entry}" for entry in entries or ["none"])]
        else:
            lines.append(f"{name + ':':<18} {value}")
    return lines


def claims(args: argparse.Namespace) -> int:
    wanted = args.paper or config.real_papers()
    judged = [found for found in _answers(wanted) if found.claims]
    if args.json:
        return answer(True, [asdict(row) for found in judged for row in found.claims], [])
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
    counts += f", {row.printed} in print" if row.measured and row.printed else ""
    counts += f", {row.datasets} data sets" if row.datasets > 1 else ""
    lines = [f"{row.verdict}{counts}  [{row.id}]"]
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


def contradictions(args: argparse.Namespace) -> int:
    """Print experiments that several papers print, a line each, the widest apart first."""
    from ldlrepro.judge.contradictions import contradictions

    wanted = args.paper or config.real_papers()
    rows = [row for judged in _answers(wanted) for row in judged.rows]
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


def protocols(args: argparse.Namespace) -> int:
    """Print what printed digits say of the folds: a table of rows, one of methods, what is left."""
    from ldlrepro.experiments.protocols import LEFT_TO_JSON, findings

    tables = findings(config.current().paper(args.paper), HERE.results)
    if args.json:
        print(json.dumps(tables, indent=1))
        return 0
    for title, rows in tables.items():
        print(f"{title}:")
        answer(False, rows, [name for name in rows[0] if name not in LEFT_TO_JSON])
        print()
    print("A diagnosis that looks at test rows; see docs/protocols.md.")
    return 0
