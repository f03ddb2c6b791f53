"""``ldlrepro <verb>``: questions for people and programs, and the verbs that the rules call."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

from ldlrepro import __version__
from ldlrepro.cli.arguments import positive, seconds
from ldlrepro.cli.texts import EPILOG, EXAMPLES, IDS, INPUTS, STORE
from ldlrepro.core import numerics
from ldlrepro.core.errors import UserError, nearest, of_the_disk


def main(argv: Sequence[str] | None = None) -> int:
    """Parse and run; turn errors meant for people into one message and status 2."""
    numerics.pin()
    args = _parser().parse_args(argv)
    try:
        return int(args.handler(args))
    except UserError as error:
        print(f"ldlrepro: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("ldlrepro: interrupted; finished folds are kept", file=sys.stderr)
        return 130
    except BrokenPipeError:  # `ldlrepro verdicts | head`
        sys.stderr.close()
        return 0
    except OSError as error:
        if not of_the_disk(error):
            raise
        print(f"ldlrepro: {of_the_disk(error)}", file=sys.stderr)
        return 2


class _Parser(argparse.ArgumentParser):
    """Names the nearest verb when one is misspelt."""

    def error(self, message: str) -> None:  # type: ignore[override]
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction) and "invalid choice" in message:
                word = message.partition("'")[2].partition("'")[0]
                message = f"no verb '{word}'.{nearest(word, action.choices)}"
        for name in IDS:
            if message.startswith("unrecognized") and f"--{name}" in message:
                message += f". Give the {name} without --{name}."
        self.exit(2, f"{self.prog}: {message}\nType `{self.prog} --help`.\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="ldlrepro",
        description="Reproduces five label-distribution-learning papers, cell by cell.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=__version__)
    verbs = parser.add_subparsers(metavar="VERB", required=True)
    _questions(verbs)
    _stages(verbs)
    return parser


def verbs() -> dict[str, argparse.ArgumentParser]:
    """Return the parser of every verb, by its name."""
    (found,) = (a for a in _parser()._actions if isinstance(a, argparse._SubParsersAction))
    return dict(found.choices)


def _verb(
    verbs: argparse._SubParsersAction, name: str, handler: str, text: str, json: bool = False
) -> argparse.ArgumentParser:
    """Add a verb whose handler is imported only when it is called, so that starting stays quick."""
    verb: argparse.ArgumentParser = verbs.add_parser(
        name,
        help=text,
        description=textwrap.fill(text, 80),
        epilog="\n  ".join(["Examples:", *EXAMPLES[name]]) if name in EXAMPLES else None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verb.set_defaults(handler=_later(handler))
    if json:
        verb.add_argument("--json", action="store_true", help="answer in JSON, for programs")
    return verb


def _later(path: str) -> Callable[[argparse.Namespace], int]:
    module, _, name = path.rpartition(".")

    def call(args: argparse.Namespace) -> int:
        return int(getattr(import_module(module), name)(args))

    return call


def _questions(verbs: argparse._SubParsersAction) -> None:
    here = "ldlrepro.cli.questions"
    _verb(verbs, "methods", f"{here}.methods", "List the methods and their variants.", json=True)
    _verb(
        verbs, "datasets", f"{here}.datasets", "List the data sets, and which are here.", json=True
    )
    text = "List the weights that networks can begin with, and which are here."
    _verb(verbs, "weights", f"{here}.weights", text, json=True)
    images = _verb(
        verbs,
        "images",
        "ldlrepro.cli.images.images",
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
    _verb(verbs, "papers", f"{here}.papers", "List the papers and their protocols.", json=True)

    text = "Say what is wrong with a paper, method, data set, measure or weights of your own."
    new = _verb(
        verbs,
        "new",
        "ldlrepro.cli.questions.new",
        "Write the files to begin from: a paper, method, data set or measure of your own.",
    )
    new.add_argument("kind", choices=["paper", "method", "dataset", "metric"])
    new.add_argument("name", help="its id: small letters, digits and _")
    new.add_argument(
        "--folder", type=Path, default=Path("../mine"), help="where to; default %(default)s"
    )

    check = _verb(verbs, "check", "ldlrepro.cli.questions.check", text, json=True)
    check.add_argument("file", help="its YAML file, anywhere")

    verdicts = _verb(
        verbs,
        "verdicts",
        f"{here}.verdicts",
        "Count which printed numbers hold. Local results come first, then the maintainers' "
        "reference records; the answer says which.",
        json=True,
    )
    verdicts.add_argument("paper", nargs="*", help="papers; default all")
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

    claims = _verb(
        verbs,
        "claims",
        f"{here}.claims",
        "Say which sentences of the papers hold, on their own numbers and on ours.",
        json=True,
    )
    claims.add_argument("paper", nargs="*", help="papers; default all")

    text = "Rank the methods of each protocol over the data sets that all of them have."
    leaderboard = _verb(verbs, "leaderboard", f"{here}.leaderboard", text, json=True)
    leaderboard.add_argument("paper", nargs="*", help="papers; default all")
    leaderboard.add_argument("--measure", default="kl", help="default: %(default)s")

    baselines = _verb(
        verbs,
        "baselines",
        f"{here}.baselines",
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

    text = "Say which folds and counts the printed digits of deterministic methods fit."
    against = _verb(
        verbs,
        "contradictions",
        f"{here}.contradictions",
        "List the experiments that more than one paper prints, by how far their numbers are "
        "apart, with ours under each paper's protocol.",
        json=True,
    )
    against.add_argument("paper", nargs="*", help=f"{IDS['paper']}; default all")
    against.add_argument("--dataset", help="of this printed data set only")
    against.add_argument("--method", help="of this method only, by its id without variant")
    against.add_argument("--first", type=positive, default=40, help="how many; default %(default)s")

    protocols = _verb(verbs, "protocols", f"{here}.protocols", text, json=True)
    protocols.add_argument("paper", help=IDS["paper"])

    status = _verb(
        verbs,
        "status",
        f"{here}.status",
        "How far the results are, what failed, and how long the rest takes by the times of the "
        "reference.",
        json=True,
    )
    status.add_argument("paper", nargs="*", help="papers; default all")
    _verb(
        verbs,
        "doctor",
        "ldlrepro.cli.questions.doctor",
        "What this machine has for the workflow, what each finding means, and what to do.",
        json=True,
    )
    _verb(verbs, "cite", "ldlrepro.cli.questions.cite", "BibTeX of the project and of the papers.")

    schedule = _verb(
        verbs,
        "schedule",
        f"{here}.schedule",
        "How long papers take on so many cores, together and each, longest jobs first, from the "
        "times of the records.",
        json=True,
    )
    schedule.add_argument("paper", nargs="*", help=f"{IDS['paper']}; default the five papers")
    schedule.add_argument("--cores", type=positive, default=32, help="default 32")
    schedule.add_argument(
        "--printed",
        action="store_true",
        help="count only the units that printed numbers are judged by, without controls and "
        "further variants: what `snakemake --config extra=False` computes",
    )

    explain = _verb(
        verbs,
        "explain",
        "ldlrepro.cli.questions.explain",
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

    audit = _verb(
        verbs,
        "audit",
        "ldlrepro.cli.stages.audit",
        "Check results from end to end: files, data, folds, records, tables and MLflow against "
        "each other, and some folds, drawn by lot, by computing them again. Writes audit.json and "
        "audit.html.",
        json=True,
    )
    audit.add_argument("paper", nargs="*", help="papers; default all")
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
    audit.add_argument("--tracking-uri", help="MLflow store; default: config, MLFLOW_TRACKING_URI")
    audit.add_argument(
        "--out", type=Path, default=Path("results/audit"), help="default %(default)s"
    )
    _add_seed(audit)


def _stages(verbs: argparse._SubParsersAction) -> None:
    here = "ldlrepro.cli.stages"
    fetch = _verb(
        verbs,
        "fetch",
        f"{here}.fetch",
        "Get the raw files of data sets and weights from local folders or the internet, and check "
        "them.",
        json=True,
    )
    fetch.add_argument("dataset", nargs="+", help=IDS["source"])
    fetch.add_argument("--mirror", action="append", default=[], help="local folder to search first")
    fetch.add_argument("--offline", action="store_true", help="never download")

    text = "Turn raw files into features and labels, or into weights that networks begin with."
    prepare = _verb(verbs, "prepare", f"{here}.prepare", text)
    prepare.add_argument("dataset", help=IDS["source"])

    pixels = _verb(
        verbs,
        "pixels",
        f"{here}.pixels",
        "Align the images of a prepared data set and write them as one file of pixels, for methods "
        "that read images.",
    )
    pixels.add_argument("dataset", help=IDS["dataset"])
    pixels.add_argument("--threads", type=positive, default=1, help="processes; default 1")

    folds = _verb(verbs, "folds", f"{here}.folds", "Make the folds of a protocol on a data set.")
    folds.add_argument("protocol", help=IDS["protocol"])
    folds.add_argument("dataset", help=IDS["dataset"])
    _add_seed(folds)

    run = _verb(
        verbs,
        "run",
        f"{here}.run",
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

    trial = _verb(
        verbs,
        "try",
        "ldlrepro.cli.trials.trial",
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

    experiment = _verb(
        verbs,
        "experiment",
        f"{here}.experiment",
        "Measure what is no unit: timings, traces, embeddings, diagnostics.",
    )
    experiment.add_argument("paper", help=IDS["paper"])
    experiment.add_argument("experiment", help="its name in the paper's file")
    experiment.add_argument("--inputs", action="store_true", help=INPUTS)
    _add_seed(experiment)

    compare = _verb(
        verbs,
        "compare",
        f"{here}.compare",
        "Judge a paper: score its records, give every printed number a verdict, write the tables.",
    )
    compare.add_argument("paper", help=IDS["paper"])
    tidy = _verb(
        verbs,
        "tidy",
        f"{here}.tidy",
        "Throw away the finished folds of complete units, which their records hold as well.",
    )
    tidy.add_argument("paper", help=IDS["paper"])
    _add_of_workflow(tidy)
    figures = _verb(verbs, "figures", f"{here}.figures", "Draw a paper's figures.")
    figures.add_argument("paper", help=IDS["paper"])
    _add_of_workflow(figures)

    sync = _verb(
        verbs,
        "sync",
        f"{here}.sync",
        "Bring MLflow in line with the records. Safe to repeat: nothing is written twice.",
    )
    sync.add_argument("paper", nargs="+", help=IDS["paper"])
    sync.add_argument("--tracking-uri", help=STORE)
    sync.add_argument("--out", help=argparse.SUPPRESS)
    _add_of_workflow(sync)

    ui = _verb(
        verbs,
        "ui",
        f"{here}.ui",
        "Open MLflow's page of all papers, or of the tables of one, for this machine only, and "
        "tell how to reach it safely from another one.",
    )
    ui.add_argument("paper", nargs="?", default="", help=IDS["paper"])
    ui.add_argument("--tracking-uri", help=STORE)
    ui.add_argument("--port", type=positive, default=5000, help="default %(default)s")
    ui.add_argument("--no-browser", dest="browser", action="store_false", help="only print it")

    notebook = _verb(
        verbs,
        "notebook",
        "ldlrepro.cli.stages.notebook",
        "Run one of notebooks/ on the results here and keep it as results/notebooks/NAME.html.",
    )
    notebook.add_argument("name", help="its file's name without .ipynb")
    notebook.add_argument("--paper", default="mslp", help="the paper it is about; default mslp")

    export = _verb(
        verbs,
        "export",
        "ldlrepro.cli.stages.export",
        "Pack a finished paper as an RO-Crate (Workflow Run Crate): workflow, settings, records, "
        "tables, and what made what. Data sets are named, never copied.",
    )
    export.add_argument("paper", help=IDS["paper"])
    export.add_argument("--crate", type=Path, help="folder to make; default results/crate/PAPER")

    stream = _verb(
        verbs,
        "stream",
        f"{here}.stream",
        "Send a growing loss curve to the MLflow server. Long trainings start it themselves.",
    )
    for name in ("protocol", "dataset", "method"):
        stream.add_argument(name, help=IDS[name])
    stream.add_argument("repeat", type=int, help="which repetition")
    stream.add_argument("fold", type=int, help="which fold")
    stream.add_argument("curve", type=Path, help="the file that the training writes")

    report = _verb(
        verbs,
        "report",
        f"{here}.report",
        "Write the report of papers: one folder of pages and figures, index.html the front page.",
    )
    report.add_argument("paper", nargs="*", help="papers; default all")
    report.add_argument(
        "--out", default="results/report/all/index.html", help="default: %(default)s"
    )
    report.add_argument("--notebooks", nargs="*", default=[], help=argparse.SUPPRESS)
    _add_of_workflow(report)
    record = _verb(
        verbs,
        "record",
        f"{here}.record",
        "For maintainers: renew reference/ and its checksums from complete results.",
    )
    record.add_argument("paper", nargs="*", help="papers; without any, the checksums alone")
    record.add_argument("--command-line", help="the command that made the results")
    gate = _verb(
        verbs, "gate", "ldlrepro.cli.stages.gate", "Say what was left out; fail if a run failed."
    )
    gate.add_argument("papers", nargs="+", help=IDS["paper"])
    gate.add_argument("--page", default="results/report/all/index.html", help=argparse.SUPPRESS)
    gate.add_argument("--tracked", nargs="*", default=[], help=argparse.SUPPRESS)
    _add_of_workflow(gate)


def _add_of_workflow(parser: argparse.ArgumentParser) -> None:
    """Let jobs say that the workflow has judged the paper, so that nothing is judged again."""
    parser.add_argument("--of-workflow", action="store_true", help=argparse.SUPPRESS)


def _add_seed(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seed", type=int, help="global seed (default: that of config.yaml)")
