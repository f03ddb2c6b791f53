"""``ldlrepro <verb>``: questions for people and programs, and the verbs that the rules call."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import nullcontext

from ldlrepro.cli.output import RED, coloured
from ldlrepro.cli.parser import MODULES, parse, verb_of
from ldlrepro.core import numerics
from ldlrepro.core.errors import UserError, of_the_disk
from ldlrepro.core.progress import silence


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
        if not of_the_disk(error):
            raise
        return _refused(of_the_disk(error))


def _refused(message: object) -> int:
    print(f"{coloured('ldlrepro:', RED, sys.stderr)} {message}", file=sys.stderr)
    return 2


def verbs() -> dict[str, argparse.ArgumentParser]:
    """Return the parser of every verb, by its name."""
    return {name: verb_of(name).parser() for name in MODULES}
