"""Verbs for own files: papers, methods, data sets, measures and weights of the user's."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from dataclasses import asdict
from pathlib import Path

from ldlrepro.cli.here import plan_here, with_checkout
from ldlrepro.cli.output import COLOURS, coloured, counted, paragraph
from ldlrepro.cli.verb import takes, verb


@verb(
    takes("kind", choices=["paper", "method", "dataset", "measure"], help="what to begin"),
    takes("name", help="its id: small letters, digits and _"),
    takes(
        "--folder",
        type=Path,
        default=Path("../mine"),
        help="folder for them; default %(default)s",
    ),
    examples=["ldlrepro new paper wang_2026", "ldlrepro new method my_method --folder ../mine"],
)
def new(args: argparse.Namespace) -> int:
    """Write the files that a paper, method, data set or measure of your own begins with."""
    from datetime import date

    from ldlrepro.core.errors import UserError
    from ldlrepro.doctor.templates import write

    if args.name in plan_here(args).project.ids[args.kind]:
        raise UserError(f"the id '{args.name}' is taken. Choose another name.")
    written = write(args.kind, args.name, args.folder, date.today().year)
    for path in written:
        print(path)
    yaml = next(path for path in written if path.suffix == ".yaml")
    print(f"Edit them, then:\n  ldlrepro check {shlex.quote(str(yaml))}")
    return 0


@verb(
    takes("file", help="path of its YAML file"),
    json=True,
    examples=["ldlrepro check ../mine/my_method.yaml"],
)
def check(args: argparse.Namespace) -> int:
    """Check a paper, method, data set, measure or weights of your own, and say what is wrong."""
    from ldlrepro.doctor.lines import BAD
    from ldlrepro.doctor.own_files import examine

    mine = examine(args.file, plan_here(args).project)
    seen = []
    for finding in mine.findings():
        seen.append(finding)
        if not args.json:
            state = coloured(finding.state, COLOURS[finding.state])
            print(
                paragraph(f"{finding.what}  {finding.state}  {finding.found}").replace(
                    finding.state, state, 1
                ),
                flush=True,
            )
    wrong = sum(finding.state == BAD for finding in seen)
    if args.json:
        found = {"file": str(mine.path), "kind": mine.kind, "id": mine.id, "wrong": wrong}
        print(json.dumps({**found, "findings": [asdict(f) for f in seen]}, indent=1))
    elif wrong:
        print(f"{counted(wrong, 'finding')} to mend, marked {BAD}.", file=sys.stderr)
    else:
        where = {
            "paper": "it",
            "weight": "a paper with it",
            "dataset": "the demo's methods on it",
        }.get(mine.kind, "it on small synthetic data, which takes a minute")
        print(with_checkout(f"Nothing wrong. To run {where}:\n  {mine.next_command()}"))
    return 1 if wrong else 0
