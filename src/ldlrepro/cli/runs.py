"""Verbs that compute: units, trials without test rows, extra measurements."""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from ldlrepro.cli.here import HERE, judge_here, plan_here, tell_new_folders
from ldlrepro.cli.output import answer, counted, outcome, paragraph
from ldlrepro.cli.verb import (
    DATASET,
    IDS,
    INPUTS,
    OF_WORKFLOW,
    PAPER,
    PROTOCOL,
    SEED,
    THREADS,
    count,
    flag,
    takes,
    verb,
)
from ldlrepro.core.progress import say

if TYPE_CHECKING:
    from ldlrepro.judge.trials import Line
    from ldlrepro.plan import Plan, Unit


@verb(
    PROTOCOL,
    DATASET,
    takes("method", help=IDS["method"]),
    takes("--folds", metavar="A-B", help="only folds A to B, counted from 0, as one record"),
    THREADS,
    flag("--fresh", "compute finished folds again"),
    INPUTS,
    SEED,
    OF_WORKFLOW,
    examples=[
        "ldlrepro run structrf sjaffe sa_bfgs --inputs",
        "ldlrepro run mslp m2b aa_knn@grid --inputs --folds 0-4",
    ],
)
def run(args: argparse.Namespace) -> int:
    """Compute one method on one data set under a protocol. Its predictions are saved.

    An interrupted run keeps its finished folds.
    """
    from ldlrepro.train import by_hand
    from ldlrepro.train.inputs import global_seed, make_unit_inputs

    plan = plan_here(args)
    unit = plan.unit(args.protocol, args.dataset, args.method)
    unit.method.refuse_mistakes()
    seed = global_seed(plan.project, args.seed)
    if not args.of_workflow and (said := _not_planned(plan, unit)):
        say(paragraph(said))
    if args.inputs:
        tell_new_folders()
        make_unit_inputs(plan.project, unit, seed, HERE)
    failed, lacking = by_hand.run(
        plan,
        unit,
        HERE,
        seed=seed,
        folds=args.folds or "",
        threads=args.threads,
        fresh=args.fresh,
    )
    if lacking:
        command = f"ldlrepro run {' '.join(unit.ids)} --inputs"
        say(f"not run: {lacking}\nWhen the missing part is there, type `{command}`.")
    elif not (failed or args.folds or args.of_workflow):
        say(paragraph(_scored(args, unit)))
    return outcome(not (failed or lacking), args.of_workflow)


def _scored(args: argparse.Namespace, unit: Unit) -> str:
    """Say what a unit got, and what to type next."""
    from ldl.comparison.result import titled

    measure, protocol = unit.protocol.select_by, unit.protocol.id
    (scored,) = judge_here(args).sources([unit]).chosen([unit])
    if not scored.values(measure):
        measure = "kl"  # for errors in years, where labels are no ages
    values = scored.values(measure)
    mean, std = scored.mean_and_std(values)
    told = f"{titled(measure)} {mean:.4g}" + (f" ± {std:.2g}" if std else "")
    folds = counted(len(values), "fold")
    return (
        f"{told} over {folds}. Beside other methods: `ldlrepro leaderboard --protocol {protocol}`"
    )


def _not_planned(plan: Plan, unit: Unit) -> str:
    """Name the data sets of a protocol, if the unit's is none of them; else return ''."""
    from ldlrepro.judge.verdicts import listed

    protocol, data_set = unit.protocol, unit.data_set
    units = plan.units(plan.project.paper(protocol.paper))
    names = sorted({other.data_set.id for other in units if other.protocol == protocol})
    if not names or data_set.id in names:
        return ""
    return (
        f"No paper asks for {data_set.id} under the protocol {protocol.id}, "
        f"so no printed number is compared with it. Its data sets are {listed(names)}."
    )


@verb(
    PROTOCOL,
    DATASET,
    takes("method", nargs="+", help=f"{IDS['method']}; all are compared with the first"),
    count("--cuts", 5, "how often to cut the training rows"),
    takes("--fold", type=int, default=0, help="position of the fold; default %(default)s"),
    takes("--measure", help="compare by this; default: the measure that the protocol selects by"),
    THREADS,
    SEED,
    table=True,
    examples=[
        "ldlrepro try ldldf sjaffe ldldf ldldf@no_reuse ldldf@learning_rate=0.1",
        "ldlrepro try structrf movie sa_bfgs my_method --cuts 10 --measure chebyshev",
    ],
)
def try_(args: argparse.Namespace) -> int:
    """Compare methods or settings without looking at a test row: cut the training rows of one
    fold again, and score on a fifth of them.

    The next trial reuses what is done.
    """
    from ldlrepro.judge import trials
    from ldlrepro.train.inputs import global_seed, make_unit_inputs

    plan = plan_here(args)
    question = trials.Question(
        project=plan.project,
        units=[plan.unit(args.protocol, args.dataset, method) for method in args.method],
        cuts=args.cuts,
        fold=args.fold,
        measure=args.measure,
        threads=args.threads,
        seed=global_seed(plan.project, args.seed),
    )
    question.check()
    tell_new_folders()
    for unit in question.units:
        make_unit_inputs(plan.project, unit, question.seed, HERE)
    lines, good = trials.compare(question, HERE)
    columns = max((list(line.scores) for line in lines), key=len)
    columns.sort(key=lambda name: name != question.by)
    rows = [asdict(line) if args.json else _for_people(line, columns) for line in lines]
    said = (
        f"Means over {counted(args.cuts, 'cut')} of the training rows of fold {args.fold}, and how "
        "often a method is better than the first. No test row was used."
    )
    answer(args, rows, said)
    return 0 if good else 1


def _for_people(line: Line, columns: Sequence[str]) -> dict[str, str]:
    return {
        "method": line.method,
        columns[0]: _mean(line.scores.get(columns[0], [])),
        "better": "" if line.of is None else f"{line.better} of {line.of}",
        "p": "" if line.p is None else f"{line.p:.3f}",
        "note": line.note,
        **{name: _mean(line.scores.get(name, [])) for name in columns[1:]},
        "fit s": f"{line.fit_s:.1f}",
    }


def _mean(values: Sequence[float]) -> str:
    if not values:
        return ""
    spread = f" ({statistics.stdev(values):.4f})" if len(values) > 1 else ""
    return f"{statistics.fmean(values):.4f}{spread}"


@verb(
    PAPER,
    takes("experiment", help="its name in the paper's paper.yaml"),
    INPUTS,
    SEED,
    OF_WORKFLOW,
    examples=["ldlrepro experiment structrf split_search --inputs"],
)
def experiment(args: argparse.Namespace) -> int:
    """Run a paper's extra measurement: timings, traces, embeddings, diagnostics."""
    from ldlrepro import experiments
    from ldlrepro.train.inputs import align, check_inputs, global_seed, make_inputs

    plan = plan_here(args)
    project, paper = plan.project, plan.project.paper(args.paper)
    asked = paper.experiment(args.experiment)
    if args.inputs:
        tell_new_folders()
    data_sets = [project.data_set(name) for name in asked.datasets]
    protocol = project.protocol(asked.protocol) if asked.protocol else None
    for data_set in data_sets:
        if args.inputs:
            make_inputs(project, data_set, protocol, global_seed(project, args.seed), HERE)
            if asked.images and not HERE.pixels(data_set.id).is_file():
                align(data_set, HERE, 1)
        check_inputs(data_set, protocol, asked.images, HERE)
    inputs = experiments.Inputs(plan, HERE, asked.datasets, protocol, say, asked.images)
    missing = sorted(set(asked.datasets) - set(inputs.available()))
    if missing:
        say(f"data not available, left out: {', '.join(missing)}")
    path = experiments.write(experiments.run(paper, args.experiment, inputs), HERE.results)
    say(f"{args.paper}: {args.experiment}: {path}")
    return outcome(not missing, args.of_workflow)
