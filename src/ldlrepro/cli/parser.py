"""Parses the command line. The module of a verb is imported only when the verb is called."""

from __future__ import annotations

import argparse
import re
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
        "arena": ("recommend", "arena"),
        "standings": ("leaderboard", "baselines"),
        "pages": ("report", "cite"),
    },
    "What there is, and what is done": {
        "state": ("list", "status", "doctor"),
    },
    "Compute and check": {
        "inputs": ("fetch",),
        "runs": ("run",),
        "tracking": ("ui",),
        "results": ("audit",),
        "lint": ("lint",),
    },
    "Your own methods, data sets, measures and papers": {"own": ("new", "check")},
    "Called by the rules of the workflow, and rarely by hand": {
        "inputs": ("prepare", "pixels", "folds"),
        "runs": ("experiment",),
        "results": ("compare", "tidy", "gate"),
        "pages": ("figures", "notebook"),
        "tracking": ("sync",),
    },
    "For those who question the printed numbers, and for maintainers": {
        "verdicts": ("contradictions", "protocols"),
        "images": ("images",),
        "pages": ("export",),
        "runs": ("try",),
        "results": ("record",),
        "completion": ("completion",),
    },
}
"""Title -> module of this folder -> its verbs, in the order of the help."""
FIRST_HELP = 4
"""Groups that the help shows without --all."""
MODULES = {
    name: module for group in GROUPS.values() for module, names in group.items() for name in names
}
CLAUSE = re.compile(r"[.:;](?:\s|$)")
HEAD = """\
usage: ldlrepro VERB ...

Reproduces published label-distribution-learning results, number by number.
"""
QUESTIONS = """\
Questions:
  ldlrepro explain structrf/16/sjaffe/SA-BFGS/kl   does it hold, and why?
  ldlrepro audit mslp                      I doubt a number: compute it again
  ldlrepro arena my.csv --labels a,b,c     which is best on my own data?
  ldlrepro new method my_method            how do I compare my own method?
  ldlrepro arena sjaffe --predictions FILE.parquet   where are raw predictions?
  ldlrepro status mslp --cores 8           how long does a paper take?
  snakemake --cores 8 mslp                 how do I reproduce a paper?
  snakemake --profile profiles/slurm mslp  and on a SLURM cluster?
"""
EXIT_CODES = """\
Exit codes:
  0    done
  1    done, but something is wrong: a fold failed, data are not available, or a
       check found a mistake; everything that could be done is kept
  2    not started: a name, an option, a file or the machine is in the way; the
       message says what to type
  130  interrupted; finished folds are kept
In the jobs of the workflow, failed folds and missing data end with 0, because
they are rows of the results. The last job, `gate`, fails for failed folds.
`ldlrepro completion --help` sets up the Tab key.
"""
WHERE = """\
Run ldlrepro in the checkout, where results/ and data/ are. `ldlrepro VERB
--help` tells more about a verb, `ldlrepro --help --all` about all of them.
"""


def verb_of(name: str) -> Verb:
    """Return a verb; its module is imported only now."""
    module = import_module(f"ldlrepro.cli.{MODULES[name]}")
    return cast(Verb, getattr(module, {"list": "list_", "try": "try_"}.get(name, name)))


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """Return the arguments of a verb with its handler; print the help if that is asked for."""
    words = list(sys.argv[1:] if argv is None else argv)
    # No option before the verb takes a value, so the first word that is not an option is the verb.
    at = next((at for at, word in enumerate(words) if not word.startswith("-")), len(words))
    options = _options()
    asked = options.parse_args(words[:at])
    if asked.help:
        print(_help(asked.all), end="")
        options.exit(0)
    if at == len(words):
        print(_help(False), end="", file=sys.stderr)
        options.exit(2)
    if words[at] not in MODULES:
        options.error(f"no verb '{words[at]}'.{nearest(words[at], MODULES)}")
    parser = verb_of(words[at]).parser()
    if "" in words:
        parser.error("a name is empty. Is a variable of your shell not set?")
    return parser.parse_args(words[at + 1 :])


def _options() -> Parser:
    """Return the parser of the options before a verb."""
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
            text = verb_of(name).text
            told = textwrap.wrap(text if everything else _short(text), 80 - INDENT)
            lines.append(f"  {name:<{INDENT - 2}}{told[0]}")
            lines += [" " * INDENT + line for line in told[1:]]
        lines.append("")
    if not everything:
        hidden = list(GROUPS.values())[FIRST_HELP:]
        others = [name for modules in hidden for names in modules.values() for name in names]
        lines += [*textwrap.wrap(f"Others: {', '.join(others)}.", 80), ""]
    return "\n".join([*lines, QUESTIONS, *[EXIT_CODES] * everything, WHERE])


def _short(text: str) -> str:
    """Return the first clause of a verb's help."""
    return f"{CLAUSE.split(text, maxsplit=1)[0]}."
