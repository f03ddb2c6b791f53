"""Parses the command line. A verb's module is imported only when the verb is called."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Sequence
from importlib import import_module
from typing import cast

from ldlrepro import __version__
from ldlrepro.cli.verb import Parser, Verb
from ldlrepro.core.errors import nearest

INDENT = 17
GROUPS: dict[str, dict[str, tuple[str, ...]]] = {
    "What holds, and why": {
        "verdicts": ("verdicts", "explain", "claims"),
        "standings": ("leaderboard", "baselines"),
        "pages": ("report", "cite"),
    },
    "What there is, and how far it is": {
        "state": ("list", "status", "schedule", "doctor"),
        "images": ("images",),
    },
    "Compute and check": {
        "inputs": ("fetch",),
        "runs": ("run", "try"),
        "tracking": ("ui",),
        "pages": ("export",),
        "results": ("audit",),
    },
    "Of your own": {"own": ("new", "check")},
    "Called by the rules of the workflow, and seldom by hand": {
        "inputs": ("prepare", "pixels", "folds"),
        "runs": ("experiment",),
        "results": ("compare", "tidy", "gate"),
        "pages": ("figures", "notebook"),
        "tracking": ("sync",),
    },
    "For those who question the prints, and for maintainers": {
        "verdicts": ("contradictions", "protocols"),
        "lint": ("lint",),
        "results": ("record",),
    },
}
"""Title -> module of this folder -> its verbs, in the order of the help."""
FIRST_HELP = 4
"""Groups that the help shows without --all."""
MODULES = {
    name: module for group in GROUPS.values() for module, names in group.items() for name in names
}
HEAD = """\
usage: ldlrepro VERB ...

Reproduces five label-distribution-learning papers, cell by cell.
"""
EPILOG = """\
Examples:
  ldlrepro verdicts                      which printed numbers hold, per paper
  ldlrepro verdicts mslp --show worse    the cells of one paper that miss
  ldlrepro schedule                      how long the five papers take on 32 cores
  ldlrepro explain structrf/16/sjaffe/SA-BFGS/kl
  ldlrepro lint table.csv                is a printed table possible?
  ldlrepro fetch sjaffe                  get and check one data set
  ldlrepro run structrf sjaffe sa_bfgs --inputs   compute one unit by hand
  snakemake --cores 32 structrf          compute a whole paper
Exit codes:
  0    done
  1    done, but not all is well: a fold failed, data are not available, a check found something
       wrong; what could be done is kept
  2    not begun: a name, an option, a file or the machine stands in the way; the message says what
       to type
  130  interrupted; finished folds are kept
In the jobs of the workflow, failed folds and missing data end with 0, for they are rows of the
results: `gate`, at the end, fails for them.
Run it in the checkout, where results/ and data/ are. `ldlrepro VERB --help` tells more;
`ldlrepro --help --all` also lists the verbs that the rules call; `--version` tells the version.
"""


def verb_of(name: str) -> Verb:
    """Return a verb, whose module is imported only now."""
    module = import_module(f"ldlrepro.cli.{MODULES[name]}")
    return cast(Verb, getattr(module, {"list": "list_", "try": "try_"}.get(name, name)))


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """Return the arguments of a verb with its handler; print the help where that is asked for."""
    words = list(sys.argv[1:] if argv is None else argv)
    # No option before the verb has a value, so the first word that is none is the verb.
    at = next((at for at, word in enumerate(words) if not word.startswith("-")), len(words))
    options = _options()
    asked = options.parse_args(words[:at])
    if asked.help:
        print(_help(asked.all), end="")
        options.exit(0)
    if at == len(words):
        options.error("which VERB?")
    if words[at] not in MODULES:
        options.error(f"no verb '{words[at]}'.{nearest(words[at], MODULES)}")
    return verb_of(words[at]).parser().parse_args(words[at + 1 :])


def _options() -> Parser:
    """Return the parser of what stands before a verb."""
    options = Parser(prog="ldlrepro", add_help=False)
    options.add_argument("--version", action="version", version=__version__)
    options.add_argument("-h", "--help", action="store_true")
    options.add_argument("--all", action="store_true")
    return options


def _help(everything: bool) -> str:
    lines = [HEAD]
    shown = list(GROUPS.items())[: None if everything else FIRST_HELP]
    for title, modules in shown:
        lines.append(f"{title}:")
        for name in (name for names in modules.values() for name in names):
            told = textwrap.wrap(verb_of(name).text, 80 - INDENT)
            lines.append(f"  {name:<{INDENT - 2}}{told[0]}")
            lines += [" " * INDENT + line for line in told[1:]]
        lines.append("")
    return "\n".join([*lines, EPILOG])
