"""Verbs that compute: units, trials without test rows, experiments."""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ldlrepro import plan
from ldlrepro.cli.output import answer, outcome
from ldlrepro.core.progress import say
from ldlrepro.core.workspace import Workspace

HERE = Workspace()


def run(args: argparse.Namespace) -> int:
    from ldlrepro.train import by_hand
    from ldlrepro.train.inputs import global_seed, make_unit_inputs

    unit = plan.unit(args.protocol, args.dataset, args.method)
    project = plan.current().project
    seed = global_seed(project, args.seed)
    if args.inputs:
        make_unit_inputs(project, unit, seed, HERE)
    failed, lacking = by_hand.run(
        plan.current(),
        unit,
        HERE,
        seed=seed,
        folds=args.folds or "",
        threads=args.threads,
        fresh=args.fresh,
    )
    if lacking:
        command = f"ldlrepro run {' '.join(unit.ids)} --inputs"
        say(f"not run: {lacking}\nOnce there is what it lacks, type `{command}`.")
    return outcome(not (failed or lacking), args.of_workflow)


def try_(args: argparse.Namespace) -> int:
    from ldlrepro.judge import trials
    from ldlrepro.train.inputs import global_seed, make_unit_inputs

    project = plan.current().project
    question = trials.Question(
        project=project,
        units=[plan.unit(args.protocol, args.dataset, method) for method in args.method],
        cuts=args.cuts,
        fold=args.fold,
        measure=args.measure,
        threads=args.threads,
        seed=global_seed(project, args.seed),
    )
    question.check()
    for unit in question.units:
        make_unit_inputs(project, unit, question.seed, HERE)
    lines, good = trials.compare(question, HERE)
    rows = [asdict(line) for line in lines]
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


def experiment(args: argparse.Namespace) -> int:
    from ldlrepro import experiments
    from ldlrepro.train.inputs import align, check_inputs, global_seed, make_inputs

    project = plan.current().project
    paper = project.paper(args.paper)
    asked = paper.experiment(args.experiment)
    protocol = project.protocol(asked.protocol) if asked.protocol else None
    for name in asked.datasets:
        data_set = project.data_set(name)
        if args.inputs:
            make_inputs(project, data_set, protocol, global_seed(project, args.seed), HERE)
            if asked.images and not HERE.pixels(name).is_file():
                align(name, HERE, 1)
        check_inputs(data_set, protocol, asked.images, HERE)
    inputs = experiments.Inputs(plan.current(), HERE, asked.datasets, protocol, say, asked.images)
    missing = sorted(set(asked.datasets) - set(inputs.available()))
    if missing:
        say(f"data not available, left out: {', '.join(missing)}")
    path = experiments.write(experiments.run(paper, args.experiment, inputs), HERE.results)
    say(f"{args.paper}: {args.experiment}: {path}")
    return outcome(not missing, args.of_workflow)
