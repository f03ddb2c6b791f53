"""The verbs that answer: what there is, what holds, how far it has got, and why."""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ldlrepro import config, plan
from ldlrepro.cli import openings
from ldlrepro.cli.output import answer
from ldlrepro.core.errors import UserError, nearest
from ldlrepro.core.workspace import Workspace

if TYPE_CHECKING:
    from ldlrepro.judge.claims import ClaimRow
    from ldlrepro.workflow.schedule import Schedule

HERE = Workspace()


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
    return answer(args.json, rows, ("id", "title"))


def datasets(args: argparse.Namespace) -> int:
    from ldlrepro.data.fetch import default_mirrors

    mirrors = default_mirrors(config.load_run_config()["mirrors"])
    rows = []
    for name in config.dataset_ids():
        spec = config.load_dataset(name)
        shape = spec.get("shape", {})
        where = _where(name, spec, HERE.ready(name), mirrors)
        size = " x ".join(str(shape.get(k, "?")) for k in ("n", "q", "c")) if shape else ""
        rows.append({"id": name, "where": where, "n x q x c": size, "title": spec["title"]})
    return answer(args.json, rows, ("id", "where", "n x q x c", "title"))


def weights(args: argparse.Namespace) -> int:
    from ldlrepro.data.fetch import default_mirrors

    mirrors = default_mirrors(config.load_run_config()["mirrors"])
    rows = []
    for name in config.weight_ids():
        spec = config.load_weights(name)
        where = _where(name, spec, HERE.weights(name), mirrors)
        rows.append({"id": name, "where": where} | {k: spec[k] for k in ("network", "title")})
    return answer(args.json, rows, ("id", "where", "network", "title"))


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
    return answer(args.json, rows, ("id", "year", "cells", "units", "protocols", "title"))


# ---------------------------------------------------------------------- verdicts


def verdicts(args: argparse.Namespace) -> int:
    from ldlrepro.judge.answer import current_answers
    from ldlrepro.judge.misses import idle, unexplained
    from ldlrepro.judge.verdicts import VERDICTS

    wanted = args.paper or config.real_papers()
    if args.show and args.show not in VERDICTS:
        raise UserError(
            f"no verdict '{args.show}'.{nearest(args.show, VERDICTS)} "
            f"They are: {', '.join(VERDICTS)}"
        )
    everything = {answer.paper: answer.rows for answer in current_answers(wanted, HERE)}
    rows = [row for mine in everything.values() for row in mine]
    rows = _only(rows, "dataset", args.dataset)
    rows = _only(rows, "method", args.method)
    if args.unexplained:
        for paper, mine in everything.items():
            for reason in idle(mine, paper):
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


def claims(args: argparse.Namespace) -> int:
    from ldlrepro.judge.answer import current_answers

    wanted = args.paper or config.real_papers()
    judged = [found for found in current_answers(wanted, HERE) if found.claims]
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
    from ldlrepro.judge.answer import current_answers
    from ldlrepro.judge.contradictions import contradictions

    wanted = args.paper or config.real_papers()
    rows = [row for judged in current_answers(wanted, HERE) for row in judged.rows]
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

    tables = findings(args.paper, HERE.results)
    if args.json:
        print(json.dumps(tables, indent=1))
        return 0
    for title, rows in tables.items():
        print(f"{title}:")
        answer(False, rows, [name for name in rows[0] if name not in LEFT_TO_JSON])
        print()
    print("A diagnosis that looks at test rows; see docs/protocols.md.")
    return 0


def leaderboard(args: argparse.Namespace) -> int:
    """Print the report's leaderboard for one measure: a line per method and protocol."""
    from ldlrepro.judge.answer import current_answers
    from ldlrepro.report.build import paper_page
    from ldlrepro.report.leaderboard import collect, standings

    wanted = args.paper or config.real_papers()
    board = collect([paper_page(judged) for judged in current_answers(wanted, HERE)])
    if args.measure not in board.directions:
        raise UserError(
            f"no measure '{args.measure}'.{nearest(args.measure, board.directions)} "
            f"They are: {', '.join(board.directions)}"
        )
    rows, said = [], []
    for paper, protocol in board.protocols():
        outcome = standings(board, paper, protocol, args.measure)
        said.append(openings.of_standings(outcome))
        if outcome.compared.refusal:
            print(f"{protocol}: {outcome.compared.refusal}", file=sys.stderr)
        for line in outcome.lines:
            known = line.rank is not None
            rows.append(
                {
                    "protocol": protocol,
                    "method": line.contestant.id,
                    "rank": round(line.rank, 3) if line.rank is not None else None,
                    "ranked on": len(outcome.datasets) if known else 0,
                    "needs": outcome.needs if known else None,
                    "has": line.datasets,
                    "failed": len(line.failed) or None,
                    "mean": None if line.mean is None else round(line.mean, 6),
                    "beats": line.better_than if known else None,
                    "beaten by": line.worse_than if known else None,
                    "fit s": None if line.fit_s is None else round(line.fit_s, 3),
                    "peak MB": None if line.peak_mb is None else round(line.peak_mb),
                    "source": line.sources,
                    "note": line.contestant.note or "by print" * line.contestant.by_print,
                }
            )
    columns = tuple(rows[0]) if rows else ("protocol", "method")
    if not args.json:
        print("\n".join([*filter(None, said), ""]))
        rows = [{k: "" if v is None else v for k, v in row.items()} for row in rows]
    return answer(args.json, rows, columns)


def baselines(args: argparse.Namespace) -> int:
    """Print numbers to cite, a line for each measure of each unit, or write them into a folder."""
    from ldlrepro.report.baselines import collect, document, write_folder

    for name in args.dataset:
        config.load_dataset(name)
    for name in args.method:
        config.load_method(name)
    if args.protocol:
        plan.protocol(args.protocol)
    found = collect(HERE, args.dataset, args.protocol, args.method)
    measures = {baseline.measure for baseline in found}
    if args.measure and found and args.measure not in measures:
        raise UserError(f"no measure '{args.measure}' here.{nearest(args.measure, measures)}")
    shown = args.measure or (None if args.json or args.out else "kl")
    found = [baseline for baseline in found if shown in (None, baseline.measure)]
    if args.out:
        seed = config.load_run_config()["seed"]
        write_folder(args.out, found, HERE, seed, lambda text: print(text, file=sys.stderr))
        print(f"{len(found)} numbers in {args.out}", file=sys.stderr)
        return 0
    if args.json:
        print(json.dumps(document(found), indent=1))
        return 0
    lines = [
        {name: "" if value is None else value for name, value in baseline.line().items()}
        for baseline in found
    ]
    return answer(False, lines, lines[0] if lines else ("dataset", "protocol", "method"))


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


# ---------------------------------------------------------------------- status


def status(args: argparse.Namespace) -> int:
    from ldlrepro.judge.answer import maintainers_units
    from ldlrepro.judge.scores import is_complete, local_units
    from ldlrepro.train.records import FAILED, UNAVAILABLE, last_line
    from ldlrepro.workflow import schedule as schedules

    reference = maintainers_units()
    rows, failures = [], []
    for paper in args.paper or config.paper_ids():
        units = plan.paper_units(paper)
        local = local_units(HERE, units)
        keys = {unit: astuple(unit) for unit in units}
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
                failures.append(f"FAILED {'/'.join(key)}: {last_line(errors[0])}")
    answer(args.json, rows, tuple(rows[0]))
    if failures and not args.json:
        print("\n".join(["", *failures]))
    return 0


def schedule(args: argparse.Namespace) -> int:
    """Say how long papers take, all of them together first."""
    from ldlrepro.judge.answer import maintainers_units
    from ldlrepro.judge.scores import local_units
    from ldlrepro.workflow import schedule as schedules

    papers = args.paper or config.real_papers(config.FIVE)
    wanted = {paper: plan.paper_units(paper, extra=not args.printed) for paper in papers}
    everything = sorted({unit for units in wanted.values() for unit in units})
    if len(papers) > 1:
        # A unit of two papers is computed once.
        wanted = {"together" if args.paper else config.FIVE: everything, **wanted}
    local, reference = local_units(HERE, everything), maintainers_units()
    found = {
        name: schedules.simulate(jobs, args.cores, missing)
        for name, units in wanted.items()
        for jobs, missing in [schedules.jobs_of(units, local, reference)]
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


# ---------------------------------------------------------------------- one cell, one machine


def explain(args: argparse.Namespace) -> int:
    from ldlrepro.judge.answer import current_answer
    from ldlrepro.judge.explain import explain, summary

    paper = args.cell.partition("/")[0]
    config.load_paper(paper)
    facts = explain(args.cell, current_answer(paper, HERE))
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


def doctor(args: argparse.Namespace) -> int:
    from ldlrepro.core.findings import BAD
    from ldlrepro.doctor.machine import examine

    lines = list(examine(HERE))
    answer(args.json, [asdict(line) for line in lines], ("what", "state", "found", "do"))
    return int(any(line.state == BAD for line in lines))


def new(args: argparse.Namespace) -> int:
    """Write templates, and say what to type next."""
    from datetime import date

    from ldlrepro.doctor.templates import write

    written = write(args.kind, args.name, args.folder, date.today().year)
    for path in written:
        print(path)
    yaml = next(path for path in written if path.suffix == ".yaml")
    print(f"Edit them, then:\n  ldlrepro check {shlex.quote(str(yaml))}")
    return 0


def check(args: argparse.Namespace) -> int:
    """Print a line per finding; return 1 if something is wrong."""
    from ldlrepro.core.findings import BAD
    from ldlrepro.doctor.plugins import examine, next_command

    kind, name, path, findings = examine(args.file)
    seen = []
    for finding in findings:
        seen.append(finding)
        if not args.json:
            print(f"{finding.what}  {finding.state}  {finding.found}", flush=True)
    wrong = sum(finding.state == BAD for finding in seen)
    if args.json:
        found = {"file": str(path), "kind": kind, "id": name, "wrong": wrong}
        print(json.dumps({**found, "findings": [asdict(f) for f in seen]}, indent=1))
    elif wrong:
        print(f"{wrong} of {len(seen)} checks found something wrong.", file=sys.stderr)
    else:
        where = {"paper": "it", "weight": "a paper with it"}.get(
            kind, "it on drawn data, in a minute"
        )
        print(f"Nothing wrong. To run {where}:\n  {next_command(kind, path)}")
    return 1 if wrong else 0


def cite(args: argparse.Namespace) -> int:
    from ldlrepro.report.citation import entries

    print("\n\n".join(entries()))
    return 0
