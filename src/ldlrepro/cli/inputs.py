"""Verbs that make what units read: raw files, tables, pixels, folds."""

from __future__ import annotations

import argparse
import json
import os

from ldlrepro import config
from ldlrepro.cli.output import outcome
from ldlrepro.core.progress import say
from ldlrepro.core.workspace import Workspace

HERE = Workspace()


def fetch(args: argparse.Namespace) -> int:
    from ldlrepro.data.fetch import OFFLINE, default_mirrors, fetch

    mirrors = default_mirrors(args.mirror)
    offline = args.offline or bool(os.environ.get(OFFLINE))
    here = True
    for dataset in args.dataset:
        status = fetch(dataset, HERE.data, mirrors, offline=offline)
        here &= status.available
        if args.json:
            told = {"available": status.available, "reason": status.reason, "files": status.files}
            print(json.dumps({"dataset": dataset, **told}))
        elif status.available:
            say(f"{dataset}: here, {len(status.files)} file(s) checked")
        else:
            say(f"{dataset}: not available: {status.reason}")
    return outcome(here, args.of_workflow)


def prepare(args: argparse.Namespace) -> int:
    if args.dataset in config.weight_ids():
        from ldlrepro.data.weights import prepare_weights

        say(f"{args.dataset}: {prepare_weights(args.dataset, HERE.data)}")
        return 0
    from ldlrepro.data.registry import prepare, warning_of
    from ldlrepro.train.inputs import holds_rows

    path = prepare(args.dataset, HERE.data)
    say(f"{args.dataset}: {path}")
    if warning := warning_of(path):
        say(f"{args.dataset}: {warning}")
    return outcome(holds_rows(path), args.of_workflow)


def pixels(args: argparse.Namespace) -> int:
    from ldlrepro.train.inputs import align, holds_rows

    say(f"{args.dataset}: {align(args.dataset, HERE, args.threads)}")
    return outcome(holds_rows(HERE.ready(args.dataset)), args.of_workflow)


def folds(args: argparse.Namespace) -> int:
    from ldlrepro.folds.making import write_protocol_folds
    from ldlrepro.train.inputs import global_seed, holds_rows

    project = config.current()
    protocol = project.protocol(args.protocol)
    config.load_dataset(args.dataset)
    say(
        write_protocol_folds(protocol, args.dataset, global_seed(config.current(), args.seed), HERE)
    )
    return outcome(holds_rows(HERE.ready(args.dataset)), args.of_workflow)
