"""The verb that checks whether a printed table is possible."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ldlrepro.cli import openings
from ldlrepro.cli.output import paragraph
from ldlrepro.cli.verb import IDS, flag, positive, takes, verb

if TYPE_CHECKING:
    from ldlrepro.lint.findings import Finding

SHOWN = 4
"""Cells of a finding that people see."""


@verb(
    takes("table", help=f"a CSV file of printed numbers, or {IDS['paper']}"),
    takes("--folds", type=positive, help="number of folds behind each printed deviation"),
    flag("--variances", "the table has variances in place of deviations"),
    flag(
        "--misprints", "print the impossible numbers and their proofs as `remarks` for a paper.yaml"
    ),
    json=True,
    examples=["ldlrepro lint ../table.csv --folds 10", "ldlrepro lint ldldf --misprints"],
)
def lint(args: argparse.Namespace) -> int:
    """Check whether a printed table is possible, by its own numbers: measures that contradict each
    other, deviations, ranks, copies.

    Ends with 1 if something is impossible.
    """
    from ldlrepro.catalogue import from_environment
    from ldlrepro.lint.findings import IMPOSSIBLE
    from ldlrepro.lint.linter import examine, table_of_file, table_of_paper
    from ldlrepro.lint.misprints import as_yaml

    project, path = from_environment(), Path(args.table)
    if path.is_file() or path.suffix == ".csv":
        cells, beside = table_of_file(project, path, args.folds)
    else:
        paper = project.paper(project.id_called("paper", args.table))
        cells, beside = table_of_paper(project, paper)
        path = Path(project.shown(paper.beside("cells.csv")))
    if args.folds:
        beside = replace(beside, parts=args.folds)
    if args.variances:
        beside = replace(beside, is_variance=True)
    found = examine(cells, beside)
    states = Counter(finding.state for finding in found)
    if args.misprints:
        print(as_yaml(found), end="")
    elif args.json:
        print(json.dumps([_plain(finding, path) for finding in found], indent=1))
    else:
        numbers = sum(not cell.is_gap for cell in cells)
        print(paragraph(openings.of_table(str(path), numbers, states, len(beside.misprints))))
        for finding in found:
            print()
            print(_in_lines(finding, path))
    return int(states[IMPOSSIBLE] > 0)


def _plain(finding: Finding, path: Path) -> dict[str, object]:
    first = finding.cell
    return {
        "file": str(path),
        "line": first.line,
        "state": finding.state,
        "rule": finding.rule,
        "table": first.table,
        "dataset": first.dataset,
        "setting": first.setting,
        "method": first.method,
        "cells": [{"line": cell.line, "cell": str(cell)} for cell in finding.cells],
        "why": finding.why,
    }


def _in_lines(finding: Finding, path: Path) -> str:
    more = len(finding.cells) - SHOWN
    cells = [str(cell) for cell in finding.cells[:SHOWN]] + [f"and {more} more"] * (more > 0)
    told = (f"{finding.cell.place}: {', '.join(cells)}", f"{finding.why}.")
    head = f"{path}:{finding.cell.line}: {finding.state} ({finding.rule})"
    return "\n".join([head, *(paragraph(text, "  ") for text in told)])
