"""Verbs for what users add: papers, methods, data sets, measures and weights of their own."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from dataclasses import asdict


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
    from ldlrepro.doctor.lines import BAD
    from ldlrepro.doctor.own_files import examine, next_command

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
