"""All about one cell: what it rests on, where each parameter comes from, and what moves it."""

from __future__ import annotations

import argparse
import json
import statistics
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ldlrepro import config, plan
from ldlrepro.compare.collect import UnitScores, best_source
from ldlrepro.compare.verdicts import VerdictRow, deviation
from ldlrepro.errors import UserError, nearest
from ldlrepro.questions import units_of, verdict_rows_of

PLUMBING = {"random_state", "n_jobs", "device", "readers", "sha256"}
"""Parameters that say nothing of a method, so that nobody has to say where they come from."""
CODE = "the original code"
OURS, OPEN = "our choice", "our choice, see open points"
LEAK = ", which sees test labels"
CHOSEN = "chosen on validation rows; candidates: "


def explain(args: argparse.Namespace) -> int:
    paper = args.cell.partition("/")[0]
    config.load_paper(paper)
    rows = {row.cell: row for row in verdict_rows_of(paper)}
    if args.cell not in rows:
        raise UserError(
            f"no cell '{args.cell}'.{nearest(args.cell, rows)} A cell is named "
            f"PAPER/TABLE/DATASET[/SETTING]/METHOD/MEASURE; `ldlrepro verdicts {paper} --show "
            "reproduced` lists some."
        )
    facts = facts_of(paper, rows[args.cell])
    if args.json:
        print(json.dumps(facts, indent=1, default=str))
    else:
        print("\n".join(_lines(facts)))
    return 0


def facts_of(paper: str, row: VerdictRow) -> dict[str, Any]:
    facts: dict[str, Any] = {
        key: value for key, value in asdict(row).items() if value not in ("", None)
    }
    local, reference = units_of(paper)
    key = (row.protocol, row.unit_dataset, row.method_id)
    scored = {"local": local, "reference": reference}.get(row.source, {}).get(key)
    if scored is not None:
        facts |= _unit_facts(row, scored)
        facts["what moves it"] = what_moves(paper, row, local, reference)
    if row.method_id and config.method_exists(row.method_id):
        facts["open points"] = config.load_method(row.method_id).get("choices", [])
        facts["compute it again"] = "ldlrepro run " + " ".join(key) + " --fresh"
    if name := config.load_paper(paper)["tables"][row.table].get("experiment"):
        facts["compute it again"] = f"ldlrepro experiment {paper} {name}"
    return facts


def _unit_facts(row: VerdictRow, scored: UnitScores) -> dict[str, Any]:
    first = scored.rows[0]
    values = scored.values(row.metric.removeprefix("delta_"))  # none for seconds
    facts: dict[str, Any] = {}
    if values:
        facts["fold values"] = " ".join(f"{v:.4f}" for v in values)
        facts["median of folds"] = round(statistics.median(values), 6)
    return facts | {
        "parameters": parameters_of(row.paper, scored),
        "seeds": f"{first.seed} in the first fold; each fold has its own",
        "computed": first.started_at,
        "fit seconds": round(statistics.median(r.fit_s for r in scored.rows), 3),
        "data_sha256": first.data_sha256,
        "folds_sha256": first.folds_sha256,
        "spec_sha256": first.spec_sha256,
        "code_sha256": first.code_sha256,
        "lock_sha256": first.lock_sha256,
        "git_commit": first.git_commit,
        "versions": first.versions,
        "record": ", ".join(map(str, scored.files)),
    }


def parameters_of(paper: str, scored: UnitScores) -> list[dict[str, Any]]:
    """Every parameter, its value (or values over the folds) and where it comes from."""
    spec = config.load_method(scored.method)
    found = []
    for name in sorted(set(scored.rows[0].params) - PLUMBING):
        counts = Counter(json.dumps(row.params.get(name), default=str) for row in scored.rows)
        values = [
            value if len(counts) == 1 else f"{value} ({times} folds)"
            for value, times in counts.most_common()
        ]
        origin = CHOSEN * (name in spec.get("grid", {})) + origin_of(name, spec, paper)
        found.append({"parameter": name, "value": ", ".join(values), "from": origin})
    return found


def origin_of(name: str, spec: Mapping[str, Any], paper: str) -> str:
    """This paper's word counts first, then the original code, then what another paper states."""
    sources = {key for key, names in spec.get("origins", {}).items() if name in names}
    papers = sorted(sources - {"code", "ours"})
    if paper in papers:
        return f"the paper, {paper}"
    if "code" in sources:
        return CODE
    if papers:
        return f"another paper, {papers[0]}"
    is_open = name in {choice["switch"] for choice in spec.get("choices", [])}
    return OPEN if is_open else OURS


def what_moves(
    paper: str, row: VerdictRow, local: Mapping[Any, Any], reference: Mapping[Any, Any]
) -> list[dict[str, Any]]:
    """Other settings of the method on the same folds, and diagnostics of it, the one nearest to the
    print first."""
    family = row.method_id.partition("@")[0]
    metric = row.metric.removeprefix("delta_")
    found = []
    for unit in plan.paper_units(paper):
        if (unit.protocol, unit.dataset) != (row.protocol, row.unit_dataset):
            continue
        spec = config.load_method(unit.method)
        if family not in (unit.method.partition("@")[0], spec.get("diagnoses")):
            continue
        if unit.method == row.method_id:
            continue
        scored = best_source(unit, dict(local), dict(reference))
        mean = scored.mean(metric) if scored else None
        if mean is None or row.metric != metric:
            continue
        off = deviation(mean, row.printed)
        found.append(
            {
                "setting": unit.method + (LEAK if spec.get("sees_test_labels") else ""),
                "measured": round(mean, 5),
                "deviation": "" if off is None else f"{off:+.1%}",
            }
        )
    return sorted(found, key=lambda entry: abs(entry["measured"] - float(row.printed)))


def _lines(facts: Mapping[str, Any]) -> list[str]:
    lines = []
    for name, value in facts.items():
        if isinstance(value, list):
            entries = ["; ".join(f"{k}: {v}" for k, v in entry.items()) for entry in value]
            lines += [f"{name}:", *(f"  - {entry}" for entry in entries or ["none"])]
        else:
            lines.append(f"{name + ':':<18} {value}")
    return lines
