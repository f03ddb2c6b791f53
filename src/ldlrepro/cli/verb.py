"""A verb of the command line: a function with its help in the docstring, and what it takes."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

Handler = Callable[[argparse.Namespace], int]


@dataclass(frozen=True)
class Argument:
    """An argument, with what argparse is told of it."""

    names: tuple[str, ...]
    told: Mapping[str, Any]


@dataclass(frozen=True)
class Verb:
    """A verb, which can be called as the function that it is made of."""

    handler: Handler
    arguments: tuple[Argument, ...]
    json: bool
    examples: Sequence[str]

    def __call__(self, args: argparse.Namespace) -> int:
        return self.handler(args)

    @property
    def name(self) -> str:
        return self.handler.__name__.rstrip("_")

    @property
    def text(self) -> str:
        return " ".join((self.handler.__doc__ or "").split())

    def parser(self) -> argparse.ArgumentParser:
        """Return the parser of what stands after the verb."""
        parser = Parser(
            prog=f"ldlrepro {self.name}",
            description=textwrap.fill(self.text, 80),
            epilog="\n  ".join(["Examples:", *self.examples]) if self.examples else None,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        parser.set_defaults(handler=self)
        if self.json:
            parser.add_argument("--json", action="store_true", help="answer in JSON, for programs")
        for argument in self.arguments:
            parser.add_argument(*argument.names, **argument.told)
        return parser


def verb(
    *arguments: Argument, json: bool = False, examples: Sequence[str] = ()
) -> Callable[[Handler], Verb]:
    """Make a verb of a function; its name is the verb, its docstring the help."""
    return lambda handler: Verb(handler, arguments, json, examples)


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, and what to type."""

    def error(self, message: str) -> None:  # type: ignore[override]
        for name in IDS:
            if message.startswith("unrecognized") and f"--{name}" in message:
                message += f". Give the {name} without --{name}."
        self.exit(2, f"{self.prog}: {message}\nType `{self.prog} --help`.\n")


def takes(*names: str, **told: Any) -> Argument:
    return Argument(names, told)


def flag(name: str, text: str) -> Argument:
    return Argument((name,), {"action": "store_true", "help": text})


def count(name: str, default: int, text: str) -> Argument:
    told = {"type": positive, "default": default, "help": f"{text}; default {default}"}
    return Argument((name,), told)


def positive(text: str) -> int:
    """Parse a whole number of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no number of them; write 1 or more")
    return int(text)


def seconds(text: str) -> float:
    """Parse a positive number of seconds."""
    with suppress(ValueError):
        if float(text) > 0:
            return float(text)
    raise argparse.ArgumentTypeError(f"'{text}' is no time; write seconds, more than 0")


# ---------------------------------------------------------------------- arguments of several verbs

IDS = {
    "dataset": "data set id; `ldlrepro list datasets` lists them",
    "source": "id of a data set or of weights; `ldlrepro list datasets` and `list weights`",
    "method": "method id, maybe with @variant; `ldlrepro list methods` lists them",
    "paper": "paper id; `ldlrepro list papers` lists them",
    "protocol": "protocol id; `ldlrepro list papers` lists them",
}
DATASET = takes("dataset", help=IDS["dataset"])
PAPER = takes("paper", help=IDS["paper"])
PAPERS = takes("paper", nargs="*", help=f"{IDS['paper']}; default all")
SOME_PAPERS = takes("paper", nargs="+", help=IDS["paper"])
PROTOCOL = takes("protocol", help=IDS["protocol"])
INPUTS = flag("--inputs", "first fetch, prepare and split what is missing")
SEED = takes("--seed", type=int, help="global seed (default: that of config.yaml)")
STORE = takes("--tracking-uri", help="MLflow store; default: config, MLFLOW_TRACKING_URI")
THREADS = takes("--threads", type=positive, default=1, help="threads; they change no bit")
# Jobs say that they are jobs. The workflow has judged the paper, so nothing is judged again; what
# fails or lacks is a row of the results, which `gate` tells at the end, and fails no other job.
OF_WORKFLOW = flag("--of-workflow", argparse.SUPPRESS)
FRONT_PAGE = "results/report/all/index.html"
