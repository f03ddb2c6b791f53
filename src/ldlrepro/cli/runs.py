"""Verbs that compute: units, trials without test rows, experiments."""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from ldlrepro import plan
from ldlrepro.cli.output import answer, outcome
from ldlrepro.core.progress import say
from ldlrepro.core.workspace import Workspace

HERE = Workspace()


def run(args: argparse.Namespace) -> int:
    from ldlrepro.train import by_hand
    from ldlrepro.train.inputs import global_seed, make_inputs

    unit = plan.Unit(args.protocol, args.dataset, args.method)
    by_hand.check_names(unit)
    seed = global_seed(args.seed)
    if args.inputs:
        make_inputs(unit.dataset, unit.protocol, seed, HERE, unit)
    failed, lacking = by_hand.run(
        unit, HERE, seed=seed, folds=args.folds or "", threads=args.threads, fresh=args.fresh
    )
    if lacking:
        command = f"ldlrepro run {unit.protocol} {unit.dataset} {unit.method} --inputs"
        say(f"not run: {lacking}\nOnce there is what it lacks, type `{command}`.")
    return outcome(not (failed or lacking), args.of_workflow)


def try_(args: argparse.Namespace) -> int:
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
    for unit in question.planned:
        make_inputs(unit.dataset, unit.protocol, question.seed, HERE, unit)
    rows, good = trials.compare(question, HERE)
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

    spec = plan.experiment(args.paper, args.experiment)
    for dataset in spec["datasets"]:
        if args.inputs:
            make_inputs(dataset, spec["protocol"], global_seed(args.seed), HERE)
            if spec["images"] and not HERE.pixels(dataset).is_file():
                align(dataset, HERE, 1)
        check_inputs(dataset, spec["protocol"], spec["images"], HERE)
    inputs = experiments.Inputs(
        HERE.results, HERE.data, spec["datasets"], spec["protocol"], say, spec["images"]
    )
    missing = sorted(set(spec["datasets"]) - set(inputs.available()))
    if missing:
        say(f"data not available, left out: {', '.join(missing)}")
    path = experiments.write(experiments.run(args.paper, args.experiment, inputs), HERE.results)
    say(f"{args.paper}: {args.experiment}: {path}")
    return outcome(not missing, args.of_workflow)
