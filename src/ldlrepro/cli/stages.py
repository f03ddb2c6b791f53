"""The verbs that rules call, and those that keep what rules made."""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from ldlrepro import config, plan
from ldlrepro.cli.output import outcome
from ldlrepro.core.errors import UserError
from ldlrepro.core.files import write_text
from ldlrepro.core.progress import say
from ldlrepro.core.workspace import Workspace

if TYPE_CHECKING:
    from ldlrepro.judge.answer import PaperAnswer

HERE = Workspace()
NEEDED_TO_DRAW = ("matplotlib.figure", "matplotlib.backends.backend_svg", "pandas", "scipy.stats")
"""Loaded once, before processes fork that would each load them."""


# ---------------------------------------------------------------------- data and folds


def fetch(args: argparse.Namespace) -> int:
    from ldlrepro.data.fetch import OFFLINE, default_mirrors, fetch

    mirrors = default_mirrors(args.mirror)
    offline = args.offline or bool(os.environ.get(OFFLINE))
    here = True
    for dataset in args.dataset:
        status = fetch(dataset, HERE.data, mirrors, offline=offline)
        here &= status.available
        if args.json:
            told = {"available": status.available, "reason": status.reason, "files": status.files}
            print(json.dumps({"dataset": dataset, **told}))
        elif status.available:
            say(f"{dataset}: here, {len(status.files)} file(s) checked")
        else:
            say(f"{dataset}: not available: {status.reason}")
    return outcome(here)


def prepare(args: argparse.Namespace) -> int:
    if args.dataset in config.weight_ids():
        from ldlrepro.data.weights import prepare_weights

        say(f"{args.dataset}: {prepare_weights(args.dataset, HERE.data)}")
        return 0
    from ldlrepro.data.photographs import prepare
    from ldlrepro.data.registry import warning_of
    from ldlrepro.train.inputs import holds_rows

    path = prepare(args.dataset, HERE.data)
    say(f"{args.dataset}: {path}")
    if warning := warning_of(path):
        say(f"{args.dataset}: {warning}")
    return outcome(holds_rows(path))


def pixels(args: argparse.Namespace) -> int:
    from ldlrepro.train.inputs import align, holds_rows

    say(f"{args.dataset}: {align(args.dataset, HERE, args.threads)}")
    return outcome(holds_rows(HERE.ready(args.dataset)))


def folds(args: argparse.Namespace) -> int:
    from ldlrepro.folds.making import write_protocol_folds
    from ldlrepro.train.inputs import global_seed, holds_rows

    definition = plan.protocol(args.protocol)
    config.load_dataset(args.dataset)
    seed = global_seed(args.seed)
    published = plan.published_folds(args.protocol, args.dataset)
    say(write_protocol_folds(args.protocol, definition, args.dataset, seed, HERE, published))
    return outcome(holds_rows(HERE.ready(args.dataset)))


# ---------------------------------------------------------------------- runs


def run(args: argparse.Namespace) -> int:
    from ldlrepro.train import by_hand
    from ldlrepro.train.inputs import global_seed, make_inputs

    unit = plan.Unit(args.protocol, args.dataset, args.method)
    by_hand.check_names(unit)
    seed = global_seed(args.seed)
    if args.inputs:
        make_inputs(unit.dataset, unit.protocol, seed, HERE, unit)
    failed, lacking = by_hand.run(
        unit, HERE, seed=seed, folds=args.folds or "", threads=args.threads, fresh=args.fresh
    )
    if lacking:
        command = f"ldlrepro run {unit.protocol} {unit.dataset} {unit.method} --inputs"
        say(f"not run: {lacking}\nOnce there is what it lacks, type `{command}`.")
    return outcome(not (failed or lacking))


def experiment(args: argparse.Namespace) -> int:
    from ldlrepro import experiments
    from ldlrepro.train.inputs import align, check_inputs, global_seed, make_inputs

    spec = plan.experiment(args.paper, args.experiment)
    for dataset in spec["datasets"]:
        if args.inputs:
            make_inputs(dataset, spec["protocol"], global_seed(args.seed), HERE)
            if spec["images"] and not HERE.pixels(dataset).is_file():
                align(dataset, HERE, 1)
        check_inputs(dataset, spec["protocol"], spec["images"], HERE)
    inputs = experiments.Inputs(
        HERE.results, HERE.data, spec["datasets"], spec["protocol"], say, spec["images"]
    )
    missing = sorted(set(spec["datasets"]) - set(inputs.available()))
    if missing:
        say(f"data not available, left out: {', '.join(missing)}")
    path = experiments.write(experiments.run(args.paper, args.experiment, inputs), HERE.results)
    say(f"{args.paper}: {args.experiment}: {path}")
    return outcome(not missing)


# ---------------------------------------------------------------------- answers


def compare(args: argparse.Namespace) -> int:
    from ldlrepro import experiments
    from ldlrepro.audit.seals import write_seals
    from ldlrepro.judge.answer import judge_paper, write_answer
    from ldlrepro.report.build import paper_page
    from ldlrepro.report.export import write_tables

    answer = judge_paper(args.paper, HERE)
    place = HERE.answer(args.paper)
    written = write_tables(paper_page(answer), place.parent)
    write_answer(answer, place)
    measured = [experiments.place(HERE.results, args.paper, name) for name in answer.experiments]
    write_seals(place.parent, HERE, answer.units, [*written, place, *measured])
    say(f"{args.paper}: {len(answer.rows)} cells, {len(written)} files")
    return 0


def _answer(paper: str, args: argparse.Namespace) -> PaperAnswer:
    """Read the workflow's answer in its jobs; by hand, return the answer of now."""
    from ldlrepro.judge.answer import current_answer, read_answer

    config.load_paper(paper)
    return read_answer(HERE.answer(paper)) if args.of_workflow else current_answer(paper, HERE)


def tidy(args: argparse.Namespace) -> int:
    from ldlrepro.judge.answer import complete_here
    from ldlrepro.train.journals import forget_journals

    count = forget_journals(complete_here(_answer(args.paper, args)), HERE)
    say(f"{args.paper}: journals of {count} units thrown away")
    return 0


def figures(args: argparse.Namespace) -> int:
    from ldlrepro.report.build import paper_page
    from ldlrepro.report.figures import write_figures

    page = paper_page(_answer(args.paper, args))
    for path in write_figures(page, HERE.figures(args.paper)):
        say(str(path))
    return 0


def sync(args: argparse.Namespace) -> int:
    from dataclasses import asdict

    from ldlrepro.track import sync as tracking

    uri = tracking_uri(args.tracking_uri)
    for paper in args.paper:
        title = config.load_paper(paper)["title"]
        answer = _answer(paper, args)
        files = sorted(HERE.figures(paper).glob("*.svg"))
        files += sorted(HERE.answer(paper).parent.rglob("*.csv"))
        counts = tracking.sync(paper, title, answer.units, uri, files, rows=answer.rows)
        say(f"{paper}: {asdict(counts)}")
        if args.out:
            told = {"paper": paper, "units": len(answer.units), "content": counts.content}
            write_text(Path(args.out), json.dumps(told) + "\n")
    say(f"To look at the runs: {tracking.open_hint(uri)}")
    return 0


def stream(args: argparse.Namespace) -> int:
    """Send a growing loss curve.

    A long training starts this verb, and closes our input when it is done or dies.
    """
    import select
    import signal

    from ldlrepro.track import sync as tracking
    from ldlrepro.train.watch import FoldName

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # meant for the training

    def ended(seconds: float) -> bool:
        return bool(select.select([sys.stdin], [], [], seconds)[0])

    names = (args.protocol, args.dataset, args.method)
    fold = FoldName(names, args.repeat, args.fold)
    paper = plan.protocols()[args.protocol][0]
    uri = tracking_uri(None)
    title = config.load_paper(paper)["title"]
    tracking.stream_curve(paper, title, "/".join(names), str(fold), args.curve, uri, ended, say)
    return 0


def ui(args: argparse.Namespace) -> int:
    from ldlrepro.track import sync as tracking

    tracking.serve(tracking_uri(args.tracking_uri), args.port, say, args.paper, args.browser)
    return 0


def tracking_uri(given: str | None) -> str:
    return str(given or config.tracking_uri(config.load_run_config()))


def report(args: argparse.Namespace) -> int:
    # Millions of records are read, and all of them stay: to search them for garbage, here and in
    # the processes that judge, would take a sixth of the time.
    with without_garbage_collection():
        return _report(args)


def _report(args: argparse.Namespace) -> int:
    from ldlrepro.judge.answer import read_answer
    from ldlrepro.report import notebooks
    from ldlrepro.report.build import report_content
    from ldlrepro.report.html import write_report

    papers = args.paper or config.paper_ids()
    for paper in papers:
        config.load_paper(paper)  # a name that nobody knows is told before anything is judged
    folder, shown = HERE.results / "figures", args.notebooks
    if args.of_workflow:  # which has drawn the figures already, and names the notebooks
        answers = [read_answer(HERE.answer(paper)) for paper in papers]
    else:
        folder = HERE.results / "answers" / "figures"
        answers = _drawn(papers, folder)
        pages = HERE.results / "notebooks"
        shown = [name for name in notebooks.names() if (pages / f"{name}.html").is_file()]
    if not args.paper:  # a comparison that has not run has nothing to show
        answers = [answer for answer in answers if answer.rows or answer.units]
    path = write_report(report_content(answers, folder, shown), Path(args.out))
    say(f"report: {path}")
    return 0


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _drawn(papers: Sequence[str], folder: Path) -> list[PaperAnswer]:
    """Return the answers of now, and see that all figures are as new as these."""
    from ldlrepro.core.at_once import at_once
    from ldlrepro.judge.answer import kept_answer

    kept = {
        paper: kept_answer(paper, HERE) if _has_figures(paper, folder) else None for paper in papers
    }
    anew = [paper for paper, answer in kept.items() if answer is None]
    if anew:
        for package in NEEDED_TO_DRAW:
            import_module(package)
    drawn = dict(zip(anew, at_once(partial(_draw, folder=folder), anew), strict=True))
    return [answer or drawn[paper] for paper, answer in kept.items()]


def _has_figures(paper: str, folder: Path) -> bool:
    from ldlrepro.judge.answer import answered_at
    from ldlrepro.report.figures import LIST

    listed = folder / paper / LIST
    return listed.exists() and listed.stat().st_mtime_ns > answered_at(paper, HERE)


def _draw(paper: str, folder: Path) -> PaperAnswer:
    """Return a paper's answer of now, with its figures drawn."""
    from ldlrepro.judge.answer import current_answer
    from ldlrepro.report.build import paper_page
    from ldlrepro.report.figures import write_figures

    judged = current_answer(paper, HERE)
    if not _has_figures(paper, folder):
        write_figures(paper_page(judged), folder / paper)
    return judged


def notebook(args: argparse.Namespace) -> int:
    from ldlrepro.report.notebooks import write_notebook

    say(f"{args.name}: {write_notebook(args.name, args.paper, HERE)}")
    return 0


def gate(args: argparse.Namespace) -> int:
    from ldlrepro.judge.gate import pass_gate

    answers = [_answer(paper, args) for paper in args.papers]
    page = Path(args.page)
    if args.of_workflow and not page.is_file():
        raise UserError(f"{page}: no such file, but the workflow should have made it")
    for path in args.tracked:
        told = json.loads(Path(path).read_text(encoding="utf-8"))
        say(f"{told['paper']}: {told['units']} units in MLflow")
    return 0 if pass_gate(answers, page, say) else 1


def export(args: argparse.Namespace) -> int:
    from ldlrepro.judge.answer import current_answer
    from ldlrepro.report.crate import write_crate

    out = args.crate or HERE.results / "crate" / args.paper
    count = write_crate(current_answer(args.paper, HERE), out, HERE)
    say(f"{args.paper}: {count} units in {out}; check it with `rocrate-validator validate`")
    return 0


def record(args: argparse.Namespace) -> int:
    """Renew reference/ and its checksums; without a paper, the checksums alone."""
    from ldlrepro import experiments
    from ldlrepro.audit.seals import REFERENCE_SUMS, refuse_changed_reference, seal_reference
    from ldlrepro.judge.reference import drop_unplanned, write_reference
    from ldlrepro.judge.scores import local_units

    root = config.project_root()
    refuse_changed_reference(root)
    for paper in args.paper:
        planned = [unit for unit in plan.paper_units(paper) if not plan.is_own(unit)]
        units = local_units(HERE, planned)
        command = args.command_line or f"snakemake --cores all {paper}"
        written = write_reference(root / "reference", units.values(), command)
        for name in config.load_paper(paper).get("experiments", {}):
            measured = experiments.read(paper, name, HERE.results)
            if measured and measured.pop("source") == experiments.LOCAL:
                written.append(experiments.write(measured, root / "reference"))
        say(f"{paper}: {len(written)} reference files")
    asked_for = {astuple(unit) for paper in config.paper_ids() for unit in plan.paper_units(paper)}
    if dropped := drop_unplanned(root / "reference", asked_for):
        say("no paper asks for these any more, dropped: " + ", ".join(dropped))
    seal_reference(root)
    say(f"checksums: {root / REFERENCE_SUMS}")
    return 0


def audit(args: argparse.Namespace) -> int:
    from ldlrepro.audit.certificate import Question, audit

    papers = args.paper or config.real_papers()
    for paper in papers:
        config.load_paper(paper)
    question = Question(
        papers=papers,
        units=args.units,
        named=list(dict.fromkeys(args.unit)),
        longest=args.longest,
        lot=args.lot,
        seed=args.seed,
        tracking_uri=args.tracking_uri,
        out=args.out,
    )
    found = audit(question, HERE, say)
    if args.json:
        print(json.dumps(found, indent=1))
    else:
        print(f"{found['summary']}  {args.out / 'audit.html'}")
    return 0 if found["verdict"] == "pass" else 1
