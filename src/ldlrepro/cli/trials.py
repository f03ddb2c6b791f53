"""The verb ``try``: compares settings without a look at test rows."""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from ldlrepro.cli.output import answer
from ldlrepro.core.workspace import Workspace


def trial(args: argparse.Namespace) -> int:
    from ldlrepro.judge import trials
    from ldlrepro.train.inputs import global_seed, make_inputs

    question = trials.Question(
        protocol=args.protocol,
        dataset=args.dataset,
        methods=args.method,
        cuts=args.cuts,
        fold=args.fold,
        measure=args.measure,
        threads=args.threads,
        seed=global_seed(args.seed),
    )
    question.check()
    here = Workspace()
    for unit in question.planned:
        make_inputs(unit.dataset, unit.protocol, question.seed, here, unit)
    rows, good = trials.compare(question, here)
    if not args.json:
        columns = max((list(row["scores"]) for row in rows), key=len)
        rows = [_for_people(row, columns) for row in rows]
    answer(args.json, rows, rows[0])
    return 0 if good else 1


def _for_people(row: Mapping[str, Any], columns: Sequence[str]) -> dict[str, str]:
    return {
        "method": row["method"],
        **{name: _mean(row["scores"].get(name, [])) for name in columns},
        "better": "" if row["of"] is None else f"{row['better']} of {row['of']}",
        "p": "" if row["p"] is None else f"{row['p']:.3f}",
        "fit s": f"{row['fit_s']:.1f}",
        "note": row["note"],
    }


def _mean(values: Sequence[float]) -> str:
    if not values:
        return ""
    spread = f" ({statistics.stdev(values):.4f})" if len(values) > 1 else ""
    return f"{statistics.fmean(values):.4f}{spread}"
