"""Verbs that judge, record and check results."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from ldlrepro.cli.here import HERE, judge_here, papers_of
from ldlrepro.cli.output import paragraph
from ldlrepro.cli.verb import (
    FRONT_PAGE,
    OF_WORKFLOW,
    PAPER,
    PAPERS,
    SEED,
    SOME_PAPERS,
    STORE,
    count,
    duration,
    positive,
    takes,
    verb,
)
from ldlrepro.core.errors import UserError
from ldlrepro.core.progress import say, waiting


@verb(PAPER, examples=["ldlrepro compare mslp"])
def compare(args: argparse.Namespace) -> int:
    """Judge a paper: score its records, give every cell a verdict and write the tables."""
    from ldlrepro import experiments
    from ldlrepro.audit.seals import write_seals
    from ldlrepro.judge.answer import write_answer
    from ldlrepro.report.content import PaperPage
    from ldlrepro.report.export import write_tables

    judge = judge_here(args)
    with waiting(f"judging {args.paper}"):
        answer = judge.anew(judge.project.paper(args.paper))
    place = HERE.answer(args.paper)
    written = write_tables(PaperPage.of(judge.project, answer), place.parent)
    write_answer(answer, place)
    measured = [experiments.place(HERE.results, args.paper, name) for name in answer.experiments]
    write_seals(place.parent, HERE, answer.units, [*written, place, *measured])
    say(f"{args.paper}: {len(answer.rows)} cells, {len(written)} files in {place.parent}")
    say(f"What holds: ldlrepro verdicts {args.paper}")
    return 0


@verb(PAPER, OF_WORKFLOW)
def tidy(args: argparse.Namespace) -> int:
    """Delete the saved folds of complete units; their records hold the same."""
    from ldlrepro.train.journals import forget_journals

    judge = judge_here(args)
    answer = judge.answer_of(judge.project.paper(args.paper), args.of_workflow)
    count = forget_journals(judge.complete_here(answer), HERE)
    say(f"{args.paper}: saved folds of {count} units deleted")
    return 0


@verb(
    SOME_PAPERS,
    takes("--page", default=FRONT_PAGE, help=argparse.SUPPRESS),
    takes("--tracked", nargs="*", default=[], help=argparse.SUPPRESS),
    OF_WORKFLOW,
    examples=["ldlrepro gate mslp"],
)
def gate(args: argparse.Namespace) -> int:
    """Say what was left out, and fail if a run failed."""
    from ldlrepro.judge.gate import pass_gate

    judge = judge_here(args)
    papers = [judge.project.paper(name) for name in args.paper]
    answers = [judge.answer_of(paper, args.of_workflow) for paper in papers]
    page = Path(args.page)
    if args.of_workflow and not page.is_file():
        raise UserError(f"{page}: no such file. The workflow should have made it.")
    for path in args.tracked:
        told = json.loads(Path(path).read_text(encoding="utf-8"))
        say(f"{told['paper']}: {told['units']} units in MLflow")
    return 0 if pass_gate(answers, page, say) else 1


@verb(
    takes("paper", nargs="*", help="papers; default: only renew the checksums"),
    examples=["ldlrepro record", "ldlrepro record mslp"],
)
def record(args: argparse.Namespace) -> int:
    """Renew reference/ from complete results, and the checksums of reference/ and papers/.

    Files there that something else has changed are refused.
    """
    from ldlrepro import experiments
    from ldlrepro.arena.runs import ARENA, keep
    from ldlrepro.audit.seals import refuse_changed, seal
    from ldlrepro.judge.reference import count_same_bits, drop_unplanned, write_reference

    judge = judge_here(args)
    plan, project = judge.plan, judge.project
    reference = project.root / "reference"
    refuse_changed(project.root)
    if ARENA in args.paper:
        written = keep(HERE.results, reference)
        say(f"{ARENA}: {len(written)} reference files")
    for paper in [project.paper(name) for name in args.paper if name != ARENA]:
        with waiting(f"reading the records of {paper.id}"):
            units = judge.local_units(unit for unit in plan.units(paper) if not unit.is_own)
        same, compared = count_same_bits(units.values(), judge.reference)
        command = f"snakemake --cores all {paper.id}"
        written = write_reference(plan, reference, units.values(), command)
        for measured in experiments.read_all(paper, HERE.results).values():
            if measured.source == experiments.LOCAL:
                written.append(experiments.write(measured, reference))
        before = f"; {same:,} of {compared:,} folds have the bits of the records before"
        say(f"{paper.id}: {len(written)} reference files{before if compared else ''}")
    asked_for = {unit.key for paper in project.papers for unit in plan.units(paper)}
    if dropped := drop_unplanned(reference, asked_for):
        say("dropped, because no paper asks for them: " + ", ".join(dropped))
    for told in seal(project.root):
        say(paragraph(told))
    return 0


@verb(
    PAPERS,
    count("--units", 20, "how many units to draw, to compute one fold of each again"),
    takes(
        "--unit",
        action="append",
        default=[],
        metavar="PROTOCOL/DATASET/METHOD",
        help="check this unit alone, and compute all of its folds again; may be repeated",
    ),
    takes(
        "--longest",
        type=duration,
        default=30.0,
        help="draw only folds that took less, such as 90s or 1h; default 30s",
    ),
    takes("--lot", type=positive, help="lot that an earlier audit printed, to draw the same"),
    STORE,
    takes("--out", type=Path, default=Path("results/audit"), help="folder; default %(default)s"),
    SEED,
    json=True,
    examples=[
        "ldlrepro audit mslp",
        "ldlrepro audit mslp --units 5 --longest 5s",
        "ldlrepro audit --unit structrf/sjaffe/sa_bfgs",
    ],
)
def audit(args: argparse.Namespace) -> int:
    """Check results from end to end: compare files, data, folds, records, tables and MLflow with
    each other, and compute some randomly drawn folds again.

    Without results in this folder, the reference records are checked. Writes audit.json and
    audit.html.
    """
    from ldlrepro.audit.certificate import Question, audit, failures, in_words

    judge = judge_here(args)
    question = Question(
        papers=papers_of(judge.project, args.paper),
        units=args.units,
        named=list(dict.fromkeys(args.unit)),
        longest=args.longest,
        lot=args.lot,
        seed=args.seed,
        tracking_uri=args.tracking_uri,
        out=args.out,
    )
    found = audit(question, judge, lambda line: say(paragraph(line)))
    if args.json:
        print(json.dumps(found, indent=1))
    else:
        page = f"As a page: {(args.out / 'audit.html').resolve().as_uri()}"
        for sentence in (f"{found['summary']}.", *failures(found), *in_words(found), page):
            print(paragraph(sentence))
    return 0 if found["verdict"] == "pass" else 1
