"""A verb of the command line: a function whose docstring is the help, and its arguments."""

from __future__ import annotations

import argparse
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ldlrepro.core.errors import nearest
from ldlrepro.core.progress import wrapped

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
    table: bool
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
        shared = [*TABLE] * self.table + [JSON] * (self.json or self.table) + [QUIET]
        for argument in (*self.arguments, *shared):
            parser.add_argument(*argument.names, **argument.told)
        return parser


def verb(
    *arguments: Argument, json: bool = False, table: bool = False, examples: Sequence[str] = ()
) -> Callable[[Handler], Verb]:
    """Make a verb of a function; its name is the verb, its docstring the help.

    A verb that answers with a table can answer in JSON, too.
    """
    return lambda handler: Verb(handler, arguments, json, table, examples)


REQUIRED = "the following arguments are required: "
LEFT_OVER = "unrecognized arguments: "
INVALID = re.compile(r"invalid choice: '(?P<word>.*)' \(choose from .*\)")
"""Complaint of argparse about a word that an argument does not take."""
WHOLE = re.compile(r"invalid int value: ('.*')")
OPTION = re.compile(r"(?:^|\s)(--?([a-z][\w-]*))")


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, and what to type."""

    def error(self, message: str) -> None:  # type: ignore[override]
        if message.startswith(LEFT_OVER):
            message = self._left_over(message.removeprefix(LEFT_OVER))
        message = WHOLE.sub(r"\1 is not a whole number", message)
        for action in self._actions:
            if message == f"{REQUIRED}{action.dest}":
                message = f"{action.dest.upper()} is missing: {_what(action)}"
            if wrong := INVALID.fullmatch(message.removeprefix(f"argument {action.dest}: ")):
                word = wrong["word"]
                message = f"no {action.dest} '{word}'.{nearest(word, action.choices or ())} "
                message += f"Choose {_what(action)}."
        if message.startswith(REQUIRED):
            names = message.removeprefix(REQUIRED).upper().split(", ")
            message = f"{', '.join(names[:-1])} and {names[-1]} are missing"
        first = (self.epilog or "").partition("\n")[2].partition("\n")[0].strip()
        example = f"\nFor example: {first}" if first else ""
        told = f"{self.prog}: {message}{example}\nType `{self.prog} --help`."
        self.exit(2, f"{wrapped(told)}\n")

    def _left_over(self, words: str) -> str:
        """Say what to do about words that the verb does not take."""
        if option := OPTION.search(words):
            if (name := option[2]) in IDS:
                return f"there is no option {option[1]}. Give the {name} without --{name}."
            shown = (action for action in self._actions if action.help != argparse.SUPPRESS)
            known = [name for action in shown for name in action.option_strings]
            return f"there is no option {option[1]}.{nearest(option[1], known)}"
        cure = "Put a name with spaces in quotes."
        if "," in words:
            cure = "Write names without spaces between them, or all of them in quotes."
        return f"'{words}' is too much. {cure}"


def _what(action: argparse.Action) -> str:
    """Say what an argument may be."""
    return f"one of {', '.join(action.choices)}" if action.choices else str(action.help)


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
        raise argparse.ArgumentTypeError(f"'{text}' is not a positive whole number")
    return int(text)


UNITS = {"s": 1, "m": 60, "h": 3600}


def duration(text: str) -> float:
    """Parse a time such as 90s, 10m or 1.5h."""
    number, unit = (text[:-1], text[-1:]) if text[-1:] in UNITS else (text, "s")
    try:
        seconds = float(number) * UNITS[unit]
    except ValueError:
        seconds = 0.0
    if not seconds > 0:
        raise argparse.ArgumentTypeError(f"'{text}' is no time; write 90s, 10m or 1.5h")
    return seconds


# ---------------------------------------------------------------------- arguments of several verbs

IDS = {
    "dataset": "id of a data set (`ldlrepro list datasets`)",
    "source": "id of a data set (`ldlrepro list datasets`) or of weights (`ldlrepro list weights`)",
    "method": "id of a method, with @variant if you like (`ldlrepro list methods`)",
    "paper": "id of a paper (`ldlrepro list papers`)",
    "protocol": "id of a protocol (`ldlrepro list papers --wide`)",
}
DATASET = takes("dataset", help=IDS["dataset"])
PAPER = takes("paper", help=IDS["paper"])
PAPERS = takes("paper", nargs="*", help=f"{IDS['paper']}; default: all papers")
SOME_PAPERS = takes("paper", nargs="+", help=IDS["paper"])
PROTOCOL = takes("protocol", help=IDS["protocol"])
INPUTS = flag("--inputs", "first fetch, prepare and split the data if that is not done yet")
SEED = takes("--seed", type=int, help="global seed; default: the one in config/config.yaml")
STORE = takes(
    "--tracking-uri", help="MLflow store; default: MLFLOW_TRACKING_URI, then config/config.yaml"
)
THREADS = takes(
    "--threads", type=positive, default=1, help="threads; the results are the same for any number"
)
TABLE = (
    flag("--wide", "show every column, one line per row"),
    flag("--all", "show every row"),
)
JSON = flag("--json", "answer in JSON, for programs")
QUIET = flag("--quiet", "print the answer and errors only, no progress")
# Jobs of the workflow say that they are jobs. The workflow has judged the paper already, so the
# verb does not judge it again. A failed fold or missing data is a row of the results and does not
# fail the job; `gate` reports it at the end.
OF_WORKFLOW = flag("--of-workflow", argparse.SUPPRESS)
FRONT_PAGE = "results/report/all/index.html"
