"""Verbs, their groups and their arguments. A handler is imported only when its verb is called."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

from ldlrepro import __version__
from ldlrepro.cli.arguments import positive, seconds
from ldlrepro.cli.texts import EPILOG, EXAMPLES, HEAD, IDS, INPUTS, STORE
from ldlrepro.core.errors import nearest

INDENT = 17


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """Return the arguments of a verb with its handler; print the help where that is asked for."""
    words = list(sys.argv[1:] if argv is None else argv)
    # No option before the verb has a value, so the first word that is none is the verb.
    at = next((at for at, word in enumerate(words) if not word.startswith("-")), len(words))
    options = _options()
    asked = options.parse_args(words[:at])
    there = groups()
    if asked.help:
        print(_help(there, asked.all), end="")
        options.exit(0)
    if at == len(words):
        options.error("which VERB?")
    verbs = {name: verb for group in there for name, verb in group.verbs.items()}
    verb = words[at]
    if verb not in verbs:
        options.error(f"no verb '{verb}'.{nearest(verb, verbs)}")
    return verbs[verb].parse_args(words[at + 1 :])


def _options() -> _Parser:
    """Return the parser of what stands before a verb."""
    options = _Parser(prog="ldlrepro", add_help=False)
    options.add_argument("--version", action="version", version=__version__)
    options.add_argument("-h", "--help", action="store_true")
    options.add_argument("--all", action="store_true")
    return options


def _help(there: Sequence[Group], everything: bool) -> str:
    lines = [HEAD]
    for group in there:
        if group.hidden and not everything:
            continue
        lines.append(f"{group.title}:")
        for name, text in group.texts.items():
            told = textwrap.wrap(text, 80 - INDENT)
            lines.append(f"  {name:<{INDENT - 2}}{told[0]}")
            lines += [" " * INDENT + line for line in told[1:]]
        lines.append("")
    return "\n".join([*lines, EPILOG])


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, and what to type."""

    def error(self, message: str) -> None:  # type: ignore[override]
        for name in IDS:
            if message.startswith("unrecognized") and f"--{name}" in message:
                message += f". Give the {name} without --{name}."
        self.exit(2, f"{self.prog}: {message}\nType `{self.prog} --help`.\n")


@dataclass
class Group:
    """Verbs that belong together; a hidden group is in the help with --all only."""

    title: str
    hidden: bool = False
    texts: dict[str, str] = field(default_factory=dict)
    verbs: dict[str, argparse.ArgumentParser] = field(default_factory=dict)

    def verb(
        self, name: str, module: str, text: str, json: bool = False
    ) -> argparse.ArgumentParser:
        """Add a verb, whose handler is the function of its name in a module of this folder."""
        verb = _Parser(
            prog=f"ldlrepro {name}",
            description=textwrap.fill(text, 80),
            epilog="\n  ".join(["Examples:", *EXAMPLES[name]]) if name in EXAMPLES else None,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        verb.set_defaults(handler=_later(module, name))
        if json:
            verb.add_argument("--json", action="store_true", help="answer in JSON, for programs")
        self.texts[name], self.verbs[name] = text, verb
        return verb


def _later(module: str, verb: str) -> Callable[[argparse.Namespace], int]:
    name = {"list": "list_", "try": "try_"}.get(verb, verb)

    def call(args: argparse.Namespace) -> int:
        return int(getattr(import_module(f"ldlrepro.cli.{module}"), name)(args))

    return call


def groups() -> list[Group]:
    """Return all verbs, in the order of the help."""
    return [_what_holds(), _what_there_is(), _to_compute(), _own(), _of_rules(), _of_maintainers()]


# ---------------------------------------------------------------------- for people and programs


def _what_holds() -> Group:
    group = Group("What holds, and why")
    verdicts = group.verb(
        "verdicts",
        "verdicts",
        "Count which printed numbers hold. Local results come first, then the maintainers' "
        "reference records; the answer says which.",
        json=True,
    )
    _add_papers(verdicts)
    verdicts.add_argument("--show", metavar="VERDICT", help="list the cells with this verdict")
    verdicts.add_argument(
        "--unexplained",
        action="store_true",
        help="list the cells that miss and have no reason in the paper's misses.yaml",
    )
    verdicts.add_argument(
        "--badges", type=Path, metavar="FOLDER", help="draw a badge per paper and method as SVG"
    )
    verdicts.add_argument("--dataset", help="only this data set")
    verdicts.add_argument("--method", help="only this method, as the paper prints it")

    explain = group.verb(
        "explain",
        "verdicts",
        "Tell about one cell: printed and measured value, verdict, why it misses, and the nearest "
        "other setting; with --full all about it.",
        json=True,
    )
    explain.add_argument("cell", help="PAPER/TABLE/DATASET[/SETTING]/METHOD/MEASURE")
    explain.add_argument(
        "--full",
        action="store_true",
        help="parameters and where they come from, folds, every other setting, digests, and the "
        "command that computes it again",
    )

    text = "Say which sentences of the papers hold, on their own numbers and on ours."
    _add_papers(group.verb("claims", "verdicts", text, json=True))

    text = "Rank the methods of each protocol over the data sets that all of them have."
    leaderboard = group.verb("leaderboard", "standings", text, json=True)
    _add_papers(leaderboard)
    leaderboard.add_argument("--measure", default="kl", help="default: %(default)s")

    _add_baselines(group)

    text = "Write the report of papers: one folder of pages and figures, index.html the front page."
    report = group.verb("report", "pages", text)
    _add_papers(report)
    report.add_argument(
        "--out", default="results/report/all/index.html", help="default: %(default)s"
    )
    report.add_argument("--notebooks", nargs="*", default=[], help=argparse.SUPPRESS)
    _add_of_workflow(report)

    group.verb("cite", "pages", "BibTeX of the project and of the papers.")
    return group


def _add_baselines(group: Group) -> None:
    baselines = group.verb(
        "baselines",
        "standings",
        "Give numbers to cite, of every method that ran: means and standard deviations over folds, "
        "with the folds, the settings and the code behind them.",
        json=True,
    )
    baselines.add_argument("--dataset", nargs="+", default=[], help="only these data sets")
    baselines.add_argument("--protocol", help=IDS["protocol"])
    baselines.add_argument(
        "--method", nargs="+", default=[], help="only these methods, with their variants"
    )
    baselines.add_argument(
        "--measure", help="only this measure; default: all, but kl where a table is shown"
    )
    baselines.add_argument(
        "--out",
        type=Path,
        metavar="FOLDER",
        help="write baselines.json, by_fold.csv, cite.bib, and the tested rows of every fold",
    )


def _what_there_is() -> Group:
    group = Group("What there is, and how far it is")
    text = "List methods and their variants, data sets, weights of networks, or papers."
    listing = group.verb("list", "state", text, json=True)
    kinds = ["methods", "datasets", "weights", "papers"]
    listing.add_argument("kind", choices=kinds, help="which list")

    _add_images(group)

    status = group.verb(
        "status",
        "state",
        "How far the results are, what failed, and how long the rest takes by the times of the "
        "reference.",
        json=True,
    )
    _add_papers(status)

    schedule = group.verb(
        "schedule",
        "state",
        "How long papers take on so many cores, together and each, longest jobs first, from the "
        "times of the records.",
        json=True,
    )
    _add_papers(schedule, "the five papers")
    schedule.add_argument("--cores", type=positive, default=32, help="default 32")
    schedule.add_argument(
        "--printed",
        action="store_true",
        help="count only the units that printed numbers are judged by, without controls and "
        "further variants: what `snakemake --config extra=False` computes",
    )

    text = "What this machine has for the workflow, what each finding means, and what to do."
    group.verb("doctor", "state", text, json=True)
    return group


def _add_images(group: Group) -> None:
    images = group.verb(
        "images",
        "images",
        "Tell what is in a prepared set of photographs: how many can be used, and which are "
        "missing, broken, unlabelled, grey or there twice.",
        json=True,
    )
    images.add_argument("dataset", help=IDS["dataset"])
    images.add_argument(
        "--from",
        dest="folder",
        metavar="FOLDER",
        type=Path,
        help="first take the photographs from this folder and prepare them",
    )
    images.add_argument("--show", metavar="PROBLEM", help="list the images with this problem")
    images.add_argument(
        "--compare", metavar="PUBLISHED", help="compare LBP features with this published data set"
    )
    images.add_argument(
        "--place-eyes",
        action="store_true",
        help="with --compare: look for the place of the eyes in the crop that fits best",
    )
    images.add_argument(
        "--find-eyes", action="store_true", help="find the eyes in images without eye points"
    )
    images.add_argument(
        "--threads", type=positive, default=1, help="processes that find eyes; default 1"
    )


def _to_compute() -> Group:
    group = Group("Compute and check")
    fetch = group.verb(
        "fetch",
        "inputs",
        "Get the raw files of data sets and weights from local folders or the internet, and check "
        "them.",
        json=True,
    )
    fetch.add_argument("dataset", nargs="+", help=IDS["source"])
    fetch.add_argument("--mirror", action="append", default=[], help="local folder to search first")
    fetch.add_argument("--offline", action="store_true", help="never download")
    _add_of_workflow(fetch)

    _add_run(group)

    _add_try(group)

    ui = group.verb(
        "ui",
        "tracking",
        "Open MLflow's page of all papers, or of the tables of one, for this machine only, and "
        "tell how to reach it safely from another one.",
    )
    ui.add_argument("paper", nargs="?", default="", help=IDS["paper"])
    ui.add_argument("--tracking-uri", help=STORE)
    ui.add_argument("--port", type=positive, default=5000, help="default %(default)s")
    ui.add_argument("--no-browser", dest="browser", action="store_false", help="only print it")

    export = group.verb(
        "export",
        "pages",
        "Pack a finished paper as an RO-Crate (Workflow Run Crate): workflow, settings, records, "
        "tables, and what made what. Data sets are named, never copied.",
    )
    export.add_argument("paper", help=IDS["paper"])
    export.add_argument("--crate", type=Path, help="folder to make; default results/crate/PAPER")

    _add_audit(group)
    return group


def _add_run(group: Group) -> None:
    run = group.verb(
        "run",
        "runs",
        "Compute one unit: a method on a data set under a protocol. Finished folds are kept if it "
        "is interrupted.",
    )
    run.add_argument("protocol", help=IDS["protocol"])
    run.add_argument("dataset", help=IDS["dataset"])
    run.add_argument("method", help=IDS["method"])
    run.add_argument("--folds", metavar="A-B", help="only these fold positions, as one record")
    run.add_argument("--threads", type=positive, default=1, help="threads; they change no bit")
    run.add_argument("--fresh", action="store_true", help="compute finished folds again")
    run.add_argument("--inputs", action="store_true", help=INPUTS)
    _add_seed(run)
    _add_of_workflow(run)


def _add_try(group: Group) -> None:
    trial = group.verb(
        "try",
        "runs",
        "Compare methods or settings without looking at a test row: the training rows of one fold "
        "are cut again, and a fifth of them judges. Whatever is done is kept for the next trial.",
        json=True,
    )
    trial.add_argument("protocol", help=IDS["protocol"])
    trial.add_argument("dataset", help=IDS["dataset"])
    trial.add_argument("method", nargs="+", help="the first is what the others are compared with")
    trial.add_argument("--cuts", type=positive, default=5, help="how many; default %(default)s")
    trial.add_argument("--fold", type=int, default=0, help="its position; default %(default)s")
    trial.add_argument("--measure", help="to compare by; default what the protocol selects by")
    trial.add_argument("--threads", type=positive, default=1, help="threads; they change no bit")
    _add_seed(trial)


def _add_audit(group: Group) -> None:
    audit = group.verb(
        "audit",
        "results",
        "Check results from end to end: files, data, folds, records, tables and MLflow against "
        "each other, and some folds, drawn by lot, by computing them again. Writes audit.json and "
        "audit.html.",
        json=True,
    )
    _add_papers(audit)
    audit.add_argument("--units", type=positive, default=20, help="units to draw; default 20")
    audit.add_argument(
        "--unit",
        action="append",
        default=[],
        metavar="PROTOCOL/DATASET/METHOD",
        help="this one instead of a draw; may be repeated",
    )
    audit.add_argument(
        "--longest", type=seconds, default=30.0, help="draw folds of fewer seconds; default 30"
    )
    audit.add_argument("--lot", type=int, help="repeat the draw of an earlier audit")
    audit.add_argument("--tracking-uri", help=STORE)
    audit.add_argument(
        "--out", type=Path, default=Path("results/audit"), help="default %(default)s"
    )
    _add_seed(audit)


def _own() -> Group:
    group = Group("Of your own")
    text = "Write the files to begin from: a paper, method, data set or measure of your own."
    new = group.verb("new", "own", text)
    new.add_argument("kind", choices=["paper", "method", "dataset", "metric"])
    new.add_argument("name", help="its id: small letters, digits and _")
    new.add_argument(
        "--folder", type=Path, default=Path("../mine"), help="where to; default %(default)s"
    )
    text = "Say what is wrong with a paper, method, data set, measure or weights of your own."
    group.verb("check", "own", text, json=True).add_argument("file", help="its YAML file, anywhere")
    return group


# ---------------------------------------------------------------------- out of the first help


def _of_rules() -> Group:
    group = Group("Called by the rules of the workflow, and seldom by hand", hidden=True)
    text = "Turn raw files into features and labels, or into weights that networks begin with."
    prepare = group.verb("prepare", "inputs", text)
    prepare.add_argument("dataset", help=IDS["source"])
    _add_of_workflow(prepare)

    pixels = group.verb(
        "pixels",
        "inputs",
        "Align the images of a prepared data set and write them as one file of pixels, for methods "
        "that read images.",
    )
    pixels.add_argument("dataset", help=IDS["dataset"])
    pixels.add_argument("--threads", type=positive, default=1, help="processes; default 1")
    _add_of_workflow(pixels)

    folds = group.verb("folds", "inputs", "Make the folds of a protocol on a data set.")
    folds.add_argument("protocol", help=IDS["protocol"])
    folds.add_argument("dataset", help=IDS["dataset"])
    _add_seed(folds)
    _add_of_workflow(folds)

    text = "Measure what is no unit: timings, traces, embeddings, diagnostics."
    experiment = group.verb("experiment", "runs", text)
    experiment.add_argument("paper", help=IDS["paper"])
    experiment.add_argument("experiment", help="its name in the paper's file")
    experiment.add_argument("--inputs", action="store_true", help=INPUTS)
    _add_seed(experiment)
    _add_of_workflow(experiment)

    _add_judging(group)
    return group


def _add_judging(group: Group) -> None:
    text = (
        "Judge a paper: score its records, give every printed number a verdict, write the tables."
    )
    group.verb("compare", "results", text).add_argument("paper", help=IDS["paper"])

    text = "Throw away the finished folds of complete units, which their records hold as well."
    tidy = group.verb("tidy", "results", text)
    tidy.add_argument("paper", help=IDS["paper"])
    _add_of_workflow(tidy)

    figures = group.verb("figures", "pages", "Draw a paper's figures.")
    figures.add_argument("paper", help=IDS["paper"])
    _add_of_workflow(figures)

    text = "Run one of notebooks/ on the results here and keep it as results/notebooks/NAME.html."
    notebook = group.verb("notebook", "pages", text)
    notebook.add_argument("name", help="its file's name without .ipynb")
    notebook.add_argument("--paper", default="mslp", help="the paper it is about; default mslp")

    text = "Bring MLflow in line with the records. Safe to repeat: nothing is written twice."
    sync = group.verb("sync", "tracking", text)
    sync.add_argument("paper", nargs="+", help=IDS["paper"])
    sync.add_argument("--tracking-uri", help=STORE)
    sync.add_argument("--out", help=argparse.SUPPRESS)
    _add_of_workflow(sync)

    gate = group.verb("gate", "results", "Say what was left out; fail if a run failed.")
    gate.add_argument("papers", nargs="+", help=IDS["paper"])
    gate.add_argument("--page", default="results/report/all/index.html", help=argparse.SUPPRESS)
    gate.add_argument("--tracked", nargs="*", default=[], help=argparse.SUPPRESS)
    _add_of_workflow(gate)


def _of_maintainers() -> Group:
    group = Group("For those who question the prints, and for maintainers", hidden=True)
    against = group.verb(
        "contradictions",
        "verdicts",
        "List the experiments that more than one paper prints, by how far their numbers are "
        "apart, with ours under each paper's protocol.",
        json=True,
    )
    _add_papers(against)
    against.add_argument("--dataset", help="of this printed data set only")
    against.add_argument("--method", help="of this method only, by its id without variant")
    against.add_argument("--first", type=positive, default=40, help="how many; default %(default)s")

    _add_lint(group)

    text = "Say which folds and counts the printed digits of deterministic methods fit."
    protocols = group.verb("protocols", "verdicts", text, json=True)
    protocols.add_argument("paper", help=IDS["paper"])

    text = "Renew reference/ and its checksums from complete results."
    record = group.verb("record", "results", text)
    record.add_argument("paper", nargs="*", help="papers; without any, the checksums alone")
    record.add_argument("--command-line", help="the command that made the results")
    return group


def _add_lint(group: Group) -> None:
    lint = group.verb(
        "lint",
        "lint",
        "Ask whether a printed table is possible, by its own numbers: measures that contradict "
        "each other, deviations, ranks, copies. Ends with 1 where something is impossible.",
        json=True,
    )
    lint.add_argument("table", help=f"a CSV file of printed numbers, or {IDS['paper']}")
    lint.add_argument("--folds", type=positive, help="how many values deviations are over")
    lint.add_argument("--variances", action="store_true", help="variances stand beside the means")
    lint.add_argument(
        "--misprints",
        action="store_true",
        help="print the impossible numbers as `misprints` of a paper's YAML file, with proofs",
    )


# ---------------------------------------------------------------------- arguments of several verbs


def _add_papers(parser: argparse.ArgumentParser, default: str = "all") -> None:
    parser.add_argument("paper", nargs="*", help=f"{IDS['paper']}; default {default}")


def _add_of_workflow(parser: argparse.ArgumentParser) -> None:
    """Let jobs say that they are jobs.

    The workflow has judged the paper, so nothing is judged again; what fails or lacks is a row of
    the results, which `gate` tells at the end, and fails no other job.
    """
    parser.add_argument("--of-workflow", action="store_true", help=argparse.SUPPRESS)


def _add_seed(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seed", type=int, help="global seed (default: that of config.yaml)")
