"""``ldlrepro <verb>``: questions for people and programs, and the verbs that the rules call."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from ldlrepro.cli.here import with_checkout
from ldlrepro.cli.output import RED, coloured
from ldlrepro.cli.parser import MODULES, parse, verb_of
from ldlrepro.core import numerics
from ldlrepro.core.errors import UserError, of_the_disk
from ldlrepro.core.progress import silence, wrapped

WHERE_TO_WRITE = ("out", "crate", "folder")
"""Options that name a place for what a verb writes."""


def main(argv: Sequence[str] | None = None) -> int:
    """Parse and run; turn errors meant for people into one message and status 2."""
    numerics.pin()
    args = parse(argv)
    try:
        with silence() if args.quiet else nullcontext():
            return int(args.handler(args))
    except UserError as error:
        return _refused(error)
    except KeyboardInterrupt:
        print("ldlrepro: interrupted; finished folds are kept", file=sys.stderr)
        return 130
    except BrokenPipeError:  # `ldlrepro verdicts | head`
        sys.stderr.close()
        return 0
    except OSError as error:
        told = of_the_disk(error) or _of_the_place(error, args)
        if not told:
            raise
        return _refused(told)


def _of_the_place(error: OSError, args: argparse.Namespace) -> str:
    """Say that nothing can be written where an option asks; return '' for other errors."""
    for option in WHERE_TO_WRITE:
        if asked := getattr(args, option, None):
            place = Path(asked).absolute()
            for name in filter(None, (error.filename, error.filename2)):
                met = Path(os.fsdecode(name)).absolute()
                if met.is_relative_to(place) or place.is_relative_to(met):
                    reason = "a file" if place.is_file() else error.strerror
                    return (
                        f"{asked}: nothing can be written there ({reason}). "
                        f"Type another folder after --{option}."
                    )
    return ""


def _refused(error: object) -> int:
    name = "ldlrepro:"
    message = wrapped(f"{name} {with_checkout(str(error))}")
    print(message.replace(name, coloured(name, RED, sys.stderr), 1), file=sys.stderr)
    return 2


def verbs() -> dict[str, argparse.ArgumentParser]:
    """Return the parser of every verb, by its name."""
    return {name: verb_of(name).parser() for name in MODULES}
