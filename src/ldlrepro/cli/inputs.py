"""Verbs that make what units read: raw files, tables, pixels, folds."""

from __future__ import annotations

import argparse
import json
import os

from ldlrepro.cli.here import HERE, plan_here, tell_new_folders
from ldlrepro.cli.output import counted, outcome, paragraph
from ldlrepro.cli.verb import DATASET, IDS, OF_WORKFLOW, PROTOCOL, SEED, count, flag, takes, verb
from ldlrepro.core.progress import say


@verb(
    takes("dataset", nargs="+", help=IDS["source"]),
    flag("--offline", "never download"),
    OF_WORKFLOW,
    json=True,
    examples=["ldlrepro fetch sjaffe movie", "ldlrepro fetch movie --offline"],
)
def fetch(args: argparse.Namespace) -> int:
    """Get the raw files of data sets and weights from local folders or the internet, and check
    them; for data that are not public, say how to get them.
    """
    from ldlrepro.data.fetch import OFFLINE, default_mirrors, fetch, missing_mirrors

    project = plan_here(args).project
    for path in missing_mirrors(project):
        say(f"warning: the mirror {path} does not exist")
    mirrors = default_mirrors(project)
    offline = args.offline or bool(os.environ.get(OFFLINE))
    here = True
    sources = {name: project.source(name) for name in args.dataset}
    tell_new_folders()
    for name, source in sources.items():
        status = fetch(source, HERE.data, mirrors, offline=offline)
        here &= status.available
        if args.json:
            told = {"available": status.available, "reason": status.reason, "files": status.files}
            print(json.dumps({"dataset": name, **told}))
        elif status.available:
            say(f"{name}: here, {counted(len(status.files), 'file')} checked")
        else:
            say(paragraph(f"{name}: not available: {status.reason}"))
    return outcome(here, args.of_workflow)


@verb(takes("dataset", help=IDS["source"]), OF_WORKFLOW, examples=["ldlrepro prepare sjaffe"])
def prepare(args: argparse.Namespace) -> int:
    """Turn raw files into features and labels, or into the weights that networks begin with."""
    project = plan_here(args).project
    if args.dataset in project.weights_ids:
        from ldlrepro.data.weights import prepare_weights

        path = prepare_weights(project.weights(args.dataset), HERE.data)
        say(f"{args.dataset}: {path}")
        return 0
    from ldlrepro.data.registry import prepare, warning_of
    from ldlrepro.train.inputs import holds_rows

    path = prepare(project.data_set(args.dataset), HERE.data)
    say(f"{args.dataset}: {path}")
    if warning := warning_of(path):
        say(f"{args.dataset}: {warning}")
    return outcome(holds_rows(path), args.of_workflow)


@verb(DATASET, count("--threads", 1, "processes"), OF_WORKFLOW)
def pixels(args: argparse.Namespace) -> int:
    """Align the images of a prepared data set for the methods that read images, and write them as
    one file of pixels.
    """
    from ldlrepro.train.inputs import align, holds_rows

    data_set = plan_here(args).project.data_set(args.dataset)
    say(f"{args.dataset}: {align(data_set, HERE, args.threads)}")
    return outcome(holds_rows(HERE.ready(args.dataset)), args.of_workflow)


@verb(PROTOCOL, DATASET, SEED, OF_WORKFLOW, examples=["ldlrepro folds structrf sjaffe"])
def folds(args: argparse.Namespace) -> int:
    """Make the folds of a protocol on a data set."""
    from ldlrepro.folds.making import write_protocol_folds
    from ldlrepro.train.inputs import global_seed, holds_rows

    project = plan_here(args).project
    protocol, data_set = project.protocol(args.protocol), project.data_set(args.dataset)
    made = write_protocol_folds(protocol, data_set, global_seed(project, args.seed), HERE)
    say(paragraph(made))
    return outcome(holds_rows(HERE.ready(args.dataset)), args.of_workflow)
