"""The tables of docs/gpu.md, between two marks, from the results in reference/gpu/."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.gpu.steps import STEPS
from ldlrepro.core.errors import UserError

BEGIN, END = "<!-- results of make gpu-check -->", "<!-- end of results -->"
NOT_RUN = "**Not run on a card yet**: no machine with one could be had. So there is no number here."

Record = Mapping[str, Any]


def read(folder: Path) -> list[Record]:
    """Return the results that a folder has, in the order of the steps."""
    paths = [folder / f"{step.name}.json" for step in STEPS]
    return [json.loads(path.read_text(encoding="utf-8")) for path in paths if path.is_file()]


def with_results(page: str, records: Sequence[Record]) -> str:
    """Return the page with the tables of these results in place of those between the marks."""
    before, mark, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (mark and end):
        raise UserError(f"docs/gpu.md: put back the marks {BEGIN} and {END}")
    return f"{before}{BEGIN}\n{tables(records)}\n{END}{after}"


def tables(records: Sequence[Record]) -> str:
    """Return the tables, or the sentence that there are none yet."""
    if not records:
        return NOT_RUN
    parts = [_machines(records), _results(records)]
    parts += [_batches(record) for record in records if record["numbers"].get("batches")]
    return "\n\n".join(parts)


def _machines(records: Sequence[Record]) -> str:
    """Name card and versions; results of two machines, after a run cut in two, both."""
    lines = []
    for record in records:
        about = record["about"]
        card = about["card"]
        if about["memory_mb"]:
            card += f", {about['memory_mb']} MB, driver {about['driver']}"
        cuda = f" for CUDA {about['torch_cuda']}" if about["torch_cuda"] else ""
        line = (
            f"`{record['command']}` on {card}; torch {about['torch']}{cuda}, "
            f"Python {about['python']}; commit {about['commit'][:7] or 'unknown'}."
        )
        if line not in lines:
            lines.append(line)
    return "\n".join(lines)


def _results(records: Sequence[Record]) -> str:
    rows = [
        f"| {r['step']} | {r['checks']} | {r['bar']} | {r['state']} | {_cell(r['found'])} "
        f"| {r['seconds']:.0f} |"
        for r in records
    ]
    head = ["| step | checks | bar | result | what came out | s |", "|---|---|---|---|---|---|"]
    return "\n".join([*head, *rows])


def _batches(record: Record) -> str:
    head = [
        "| batch | DRF, images/s | bare, images/s | ratio | DRF, GB | bare, GB | expected, GB |",
        "|---|---|---|---|---|---|---|",
    ]
    rows = []
    for row in record["numbers"]["batches"]:
        ours, bare = row["ours_per_s"], row["bare_per_s"]
        cells = [
            str(row["batch"]),
            _number(ours, 0),
            _number(bare, 0),
            _number(ours / bare if ours and bare else None, 2),
            _number(row["ours_gb"], 2),
            _number(row["bare_gb"], 2),
            _number(row["estimated_gb"], 2),
        ]
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join([*head, *rows])


def _number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
