"""Verbs that say what there is, how far it is, and what this machine has."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ldlrepro import config, plan
from ldlrepro.cli import openings
from ldlrepro.cli.output import answer
from ldlrepro.core.errors import UserError
from ldlrepro.core.workspace import Workspace

if TYPE_CHECKING:
    from ldlrepro.workflow.schedule import Schedule

HERE = Workspace()
Listed = tuple[list[dict[str, Any]], tuple[str, ...]]
"""Rows, and the columns that people see."""


def list_(args: argparse.Namespace) -> int:
    rows, columns = LISTS[args.kind]()
    return answer(args.json, rows, columns)


def _methods() -> Listed:
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
    return rows, ("id", "title")


def _datasets() -> Listed:
    from ldlrepro.data.fetch import default_mirrors

    mirrors = default_mirrors(config.load_run_config()["mirrors"])
    rows = []
    for name in config.dataset_ids():
        spec = config.load_dataset(name)
        shape = spec.get("shape", {})
        where = _where(name, spec, HERE.ready(name), mirrors)
        size = " x ".join(str(shape.get(k, "?")) for k in ("n", "q", "c")) if shape else ""
        rows.append({"id": name, "where": where, "n x q x c": size, "title": spec["title"]})
    return rows, ("id", "where", "n x q x c", "title")


def _weights() -> Listed:
    from ldlrepro.data.fetch import default_mirrors

    mirrors = default_mirrors(config.load_run_config()["mirrors"])
    rows = []
    for name in config.weight_ids():
        spec = config.load_weights(name)
        where = _where(name, spec, HERE.weights(name), mirrors)
        rows.append({"id": name, "where": where} | {k: spec[k] for k in ("network", "title")})
    return rows, ("id", "where", "network", "title")


def _where(name: str, spec: Mapping[str, Any], ready: Path, mirrors: Sequence[Path]) -> str:
    """Say where a data set or weights are, or where they come from."""
    from ldlrepro.data.fetch import local_sources

    if ready.with_suffix(".json").is_file():
        return "ready"
    if spec.get("reader", "").startswith("drawn"):
        return "drawn when needed"
    if local_sources(name, HERE.data, mirrors):
        return "in a local folder"
    if any(file.get("urls") for file in spec.get("files", [])):
        return "to be downloaded"
    return "not public: see how_to_get"


def _papers() -> Listed:
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
    return rows, ("id", "year", "cells", "units", "protocols", "title")


def status(args: argparse.Namespace) -> int:
    from ldlrepro.judge.judging import Judge
    from ldlrepro.judge.scores import Sources, is_complete
    from ldlrepro.train.records import FAILED, UNAVAILABLE, last_line
    from ldlrepro.workflow import schedule as schedules

    judge = Judge(plan.current(), HERE)
    reference = judge.reference
    rows, failures = [], []
    for paper in args.paper or config.paper_ids():
        units = plan.paper_units(paper)
        local = judge.local_units(units)
        keys = {unit: unit.key for unit in units}
        done = {u for u, key in keys.items() if key in local and is_complete(u, local[key])}
        states = [{row.status for row in unit.rows} for unit in local.values()]
        absent = {key for key, unit in local.items() if unit.rows[0].status == UNAVAILABLE}
        open_units = [u for u, key in keys.items() if u not in done and key not in absent]
        jobs, unknown = schedules.jobs_of(open_units, Sources({}, reference))
        seconds = sum(r.fit_s + r.predict_s + r.overhead_s for u in local.values() for r in u.rows)
        rows.append(
            {
                "paper": paper,
                "units": len(units),
                "done here": len(done),
                "failed": sum(FAILED in state for state in states),
                "no data": sum(UNAVAILABLE in state for state in states),
                "in reference": sum(
                    key in reference and is_complete(unit, reference[key])
                    for unit, key in keys.items()
                ),
                "compute min": round(seconds / 60, 1),
                "to do, core min": round(sum(job.wall * job.cores for job in jobs) / 60, 2),
                "of unknown length": len(unknown),
            }
        )
        for key, scored in local.items():
            if errors := [row.error for row in scored.rows if row.status == FAILED]:
                failures.append(f"FAILED {key}: {last_line(errors[0])}")
    answer(args.json, rows, tuple(rows[0]))
    if failures and not args.json:
        print("\n".join(["", *failures]))
    return 0


def schedule(args: argparse.Namespace) -> int:
    """Say how long papers take, all of them together first."""
    from ldlrepro.judge.judging import Judge
    from ldlrepro.workflow import schedule as schedules

    papers = args.paper or config.real_papers(config.FIVE)
    wanted = {paper: plan.paper_units(paper, extra=not args.printed) for paper in papers}
    everything = sorted({unit for units in wanted.values() for unit in units})
    if len(papers) > 1:
        # A unit of two papers is computed once.
        wanted = {"together" if args.paper else config.FIVE: everything, **wanted}
    sources = Judge(plan.current(), HERE).sources(everything)
    found = {
        name: schedules.simulate(jobs, args.cores, missing)
        for name, units in wanted.items()
        for jobs, missing in [schedules.jobs_of(units, sources)]
    }
    if not any(outcome.jobs for outcome in found.values()):
        raise UserError(
            f"no unit of {' or '.join(papers)} has been measured, here or in reference/"
        )
    if not args.json:
        if args.printed:
            print("Only what printed numbers are judged by:")
        said = [openings.of_schedule(name, outcome) for name, outcome in found.items()]
        print("\n".join(said), end="\n\n")
    rows = [_scheduled(name, outcome) for name, outcome in found.items()]
    return answer(args.json, rows, tuple(rows[0]))


def _scheduled(name: str, found: Schedule) -> dict[str, Any]:
    longest = found.longest
    return {
        "paper": name,
        "cores": found.cores,
        "jobs": found.jobs,
        "core hours": round(found.core_seconds / 3600, 2),
        "wall minutes": round(found.wall_seconds / 60, 2),
        "efficiency": f"{found.efficiency:.0%}",
        "longest job": f"{longest.name}, {longest.seconds:.0f} s" if longest else "",
        "a twentieth": f"{found.twentieth:.0f} s",
        "jobs above it and a minute": len(found.too_long),
        "of these a single fold": sum(job.folds == 1 for job in found.too_long),
        "units without times": len(found.missing),
    }


def doctor(args: argparse.Namespace) -> int:
    from ldlrepro.doctor.lines import BAD
    from ldlrepro.doctor.machine import examine

    lines = list(examine(HERE))
    answer(args.json, [asdict(line) for line in lines], ("what", "state", "found", "do"))
    return int(any(line.state == BAD for line in lines))


LISTS: dict[str, Callable[[], Listed]] = {
    "methods": _methods,
    "datasets": _datasets,
    "weights": _weights,
    "papers": _papers,
}
