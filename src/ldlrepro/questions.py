"""The verbs that answer: what there is, what holds, how far it is, and why."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from ldlrepro import config, plan
from ldlrepro.errors import UserError, nearest
from ldlrepro.stages import DATA, RESULTS


def methods(args: argparse.Namespace) -> int:
    rows = []
    for name in config.method_ids():
        spec = config.load_method(name)
        rows.append(
            {
                "id": name,
                "title": spec["title"],
                "parameters": spec.get("parameters", {}),
                "grid": spec.get("grid", {}),
                "scaling": spec["scaling"],
            }
        )
    return answer(args, rows, ("id", "title"))


def datasets(args: argparse.Namespace) -> int:
    from ldlrepro.data.fetch import default_mirrors, local_sources

    mirrors = default_mirrors(config.load_run_config()["mirrors"])
    rows = []
    for name in config.dataset_ids():
        spec = config.load_dataset(name)
        shape = spec.get("shape", {})
        if (DATA / "ready" / f"{name}.json").is_file():
            where = "ready"
        elif spec["reader"].startswith("drawn"):
            where = "drawn when needed"
        elif local_sources(name, DATA, mirrors):
            where = "in a local folder"
        elif any(file.get("urls") for file in spec.get("files", [])):
            where = "to be downloaded"
        else:
            where = "not public: see how_to_get"
        size = " x ".join(str(shape.get(k, "?")) for k in ("n", "q", "c")) if shape else ""
        rows.append({"id": name, "where": where, "n x q x c": size, "title": spec["title"]})
    return answer(args, rows, ("id", "where", "n x q x c", "title"))


def papers(args: argparse.Namespace) -> int:
    rows = []
    for name in config.paper_ids():
        tree = config.load_paper(name)
        rows.append(
            {
                "id": name,
                "year": tree["year"],
                "cells": len(plan.cells(name)),
                "units": len(plan.paper_units(name)),
                "protocols": ", ".join(tree["protocols"]),
                "title": tree["title"],
            }
        )
    return answer(args, rows, ("id", "year", "cells", "units", "protocols", "title"))


# ---------------------------------------------------------------------- verdicts


def verdicts(args: argparse.Namespace) -> int:
    from ldlrepro.compare.verdicts import VERDICTS

    wanted = args.paper or [p for p in config.paper_ids() if not config.load_paper(p)["synthetic"]]
    if args.show and args.show not in VERDICTS:
        raise UserError(
            f"no verdict '{args.show}'.{nearest(args.show, VERDICTS)} "
            f"They are: {', '.join(VERDICTS)}"
        )
    rows = [row for paper in wanted for row in verdict_rows_of(paper)]
    rows = _only(rows, "dataset", args.dataset)
    rows = _only(rows, "method", args.method)
    if args.show:
        rows = [row for row in rows if row.verdict == args.show]
        shown = [_cell_line(row) for row in rows]
        columns = ("cell", "printed", "measured", "deviation", "source", "reason")
        return answer(args, [asdict(r) for r in rows] if args.json else shown, columns)
    counted = []
    for paper in wanted:
        mine = [row for row in rows if row.paper == paper]
        counts = Counter(row.verdict for row in mine)
        sources = Counter(row.source for row in mine if row.source)
        counted.append(
            {
                "paper": paper,
                "cells": len(mine),
                **{verdict: counts[verdict] for verdict in VERDICTS},
                "local": sources["local"],
                "reference": sources["reference"],
            }
        )
    if len(counted) > 1:
        total = {key: sum(c[key] for c in counted) for key in counted[0] if key != "paper"}
        counted.append({"paper": "all", **total})
    return answer(args, counted, tuple(counted[0]))


def claims(args: argparse.Namespace) -> int:
    from ldlrepro.report.build import paper_page

    wanted = args.paper or [p for p in config.paper_ids() if not config.load_paper(p)["synthetic"]]
    rows = [asdict(row) for paper in wanted for row in paper_page(paper, RESULTS, DATA).claims]
    columns = ["id", "verdict", "printed", "measured", "datasets", "text", "evidence"]
    if any(row["stand_in"] for row in rows):
        columns.insert(2, "stand_in")
    return answer(args, rows, columns)


def leaderboard(args: argparse.Namespace) -> int:
    """The page of the report, for one measure: a line for each method under each protocol."""
    from ldlrepro.report.build import paper_page
    from ldlrepro.report.leaderboard import collect, standings

    wanted = args.paper or [p for p in config.paper_ids() if not config.load_paper(p)["synthetic"]]
    board = collect([paper_page(paper, RESULTS, DATA) for paper in wanted])
    if args.measure not in board.directions:
        raise UserError(
            f"no measure '{args.measure}'.{nearest(args.measure, board.directions)} "
            f"They are: {', '.join(board.directions)}"
        )
    rows = []
    for paper, protocol in board.protocols():
        outcome = standings(board, paper, protocol, args.measure)
        for line in outcome.lines:
            known = line.rank is not None
            rows.append(
                {
                    "protocol": protocol,
                    "method": line.contestant.id,
                    "rank": round(line.rank, 3) if line.rank is not None else None,
                    "ranked on": len(outcome.datasets) if known else 0,
                    "has": line.datasets,
                    "mean": None if line.mean is None else round(line.mean, 6),
                    "beats": line.better_than if known else None,
                    "beaten by": line.worse_than if known else None,
                    "fit s": None if line.fit_s is None else round(line.fit_s, 3),
                    "peak MB": line.peak_mb,
                    "source": line.sources,
                    "note": line.contestant.note,
                }
            )
    columns = tuple(rows[0]) if rows else ("protocol", "method")
    if not args.json:
        rows = [{k: "" if v is None else v for k, v in row.items()} for row in rows]
    return answer(args, rows, columns)


def _only(rows: list[Any], column: str, wanted: str | None) -> list[Any]:
    """Rows with the wanted value; a value that no row has is a mistake, not an empty answer."""
    if not wanted:
        return rows
    printed = dict.fromkeys(getattr(row, column) for row in rows)
    if wanted not in printed:
        raise UserError(
            f"no printed number for {column} '{wanted}'.{nearest(wanted, printed)} "
            f"There are: {', '.join(printed)}"
        )
    return [row for row in rows if getattr(row, column) == wanted]


def verdict_rows_of(paper: str) -> list[Any]:
    from ldlrepro import experiments
    from ldlrepro.compare.bands import bands_of, with_bands
    from ldlrepro.compare.cells import verdict_rows
    from ldlrepro.compare.reference import chosen_units

    local, reference = units_of(paper)
    rows = verdict_rows(paper, local, reference, experiments.read_all(paper, RESULTS))
    return with_bands(rows, bands_of(chosen_units(plan.paper_units(paper), local, reference)))


def units_of(paper: str) -> tuple[dict[Any, Any], dict[Any, Any]]:
    from ldlrepro.compare.collect import Places, local_units
    from ldlrepro.compare.reference import reference_units

    local = local_units(Places(RESULTS, DATA), plan.paper_units(paper))
    return local, reference_units(config.project_root() / "reference")


def _cell_line(row: Any) -> dict[str, str]:
    return {
        "cell": row.cell,
        "printed": f"{row.printed} ± {row.printed_std}" if row.printed_std else row.printed,
        "measured": "" if row.measured is None else f"{row.measured:.4f}",
        "deviation": "" if row.deviation is None else f"{row.deviation:+.1%}",
        "source": row.source,
        "reason": row.reason,
    }


# ---------------------------------------------------------------------- status


def status(args: argparse.Namespace) -> int:
    from ldlrepro import schedule as schedules
    from ldlrepro.compare.collect import is_complete
    from ldlrepro.runs.records import FAILED, UNAVAILABLE

    rows, failures = [], []
    for paper in args.paper or config.paper_ids():
        units = plan.paper_units(paper)
        local, reference = units_of(paper)
        keys = {unit: tuple(asdict(unit).values()) for unit in units}
        done = {u for u, key in keys.items() if key in local and is_complete(u, local[key])}
        states = [{row.status for row in unit.rows} for unit in local.values()]
        absent = {key for key, unit in local.items() if unit.rows[0].status == UNAVAILABLE}
        open_units = [u for u, key in keys.items() if u not in done and key not in absent]
        jobs, unknown = schedules.jobs_of(open_units, {}, reference)
        seconds = sum(r.fit_s + r.predict_s + r.overhead_s for u in local.values() for r in u.rows)
        rows.append(
            {
                "paper": paper,
                "units": len(units),
                "done here": len(done),
                "failed": sum(FAILED in state for state in states),
                "no data": sum(UNAVAILABLE in state for state in states),
                "in reference": sum(key in reference for key in keys.values()),
                "compute min": round(seconds / 60, 1),
                "to do, core min": round(sum(job.wall * job.cores for job in jobs) / 60, 2),
                "of unknown length": len(unknown),
            }
        )
        for key, scored in local.items():
            if errors := [row.error for row in scored.rows if row.status == FAILED]:
                failures.append(f"FAILED {'/'.join(key)}: {errors[0].strip().splitlines()[-1]}")
    answer(args, rows, tuple(rows[0]))
    if failures and not args.json:
        print("\n".join(["", *failures]))
    return 0


def schedule(args: argparse.Namespace) -> int:
    from ldlrepro import schedule as schedules

    units = plan.paper_units(args.paper)
    jobs, missing = schedules.jobs_of(units, *units_of(args.paper))
    if not jobs:
        raise UserError(f"no unit of {args.paper} has been measured, here or in reference/")
    found = schedules.simulate(jobs, args.cores, missing)
    row = {
        "paper": args.paper,
        "cores": found.cores,
        "jobs": found.jobs,
        "core hours": round(found.core_seconds / 3600, 2),
        "wall minutes": round(found.wall_seconds / 60, 2),
        "efficiency": f"{found.efficiency:.0%}",
        "longest job": f"{found.longest.name}, {found.longest.seconds:.0f} s",
        "a twentieth": f"{found.twentieth:.0f} s",
        "jobs above it and a minute": len(found.too_long),
        "of these a single fold": sum(job.folds == 1 for job in found.too_long),
        "units without times": len(found.missing),
    }
    return answer(args, [row], tuple(row))


# ---------------------------------------------------------------------- answers


def answer(args: argparse.Namespace, rows: list[dict[str, Any]], columns: Iterable[str]) -> int:
    """A table for people, or JSON for programs."""
    if args.json:
        print(json.dumps(rows, indent=1, default=str))
        return 0
    columns = list(columns)
    texts = [[str(row[name]) for name in columns] for row in rows]
    widths = [
        max(len(name), *(len(t[i]) for t in texts)) if texts else len(name)
        for i, name in enumerate(columns)
    ]
    for line in [columns, *texts]:
        padded = "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True))
        print(padded.rstrip())
    if not rows:
        print("(none)", file=sys.stderr)
    return 0
