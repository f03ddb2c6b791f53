"""Verbs that judge, keep and check results."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from ldlrepro import config, plan
from ldlrepro.core.errors import UserError
from ldlrepro.core.progress import say
from ldlrepro.core.workspace import Workspace

HERE = Workspace()


def compare(args: argparse.Namespace) -> int:
    from ldlrepro import experiments
    from ldlrepro.audit.seals import write_seals
    from ldlrepro.judge.answer import write_answer
    from ldlrepro.judge.judging import Judge
    from ldlrepro.report.build import paper_page
    from ldlrepro.report.export import write_tables

    answer = Judge(plan.current(), HERE).anew(config.current().paper(args.paper))
    place = HERE.answer(args.paper)
    written = write_tables(paper_page(answer), place.parent)
    write_answer(answer, place)
    measured = [experiments.place(HERE.results, args.paper, name) for name in answer.experiments]
    write_seals(place.parent, HERE, answer.units, [*written, place, *measured])
    say(f"{args.paper}: {len(answer.rows)} cells, {len(written)} files")
    return 0


def tidy(args: argparse.Namespace) -> int:
    from ldlrepro.judge.judging import Judge
    from ldlrepro.train.journals import forget_journals

    judge = Judge(plan.current(), HERE)
    answer = judge.answer_of(judge.project.paper(args.paper), args.of_workflow)
    count = forget_journals(judge.complete_here(answer), HERE)
    say(f"{args.paper}: journals of {count} units thrown away")
    return 0


def gate(args: argparse.Namespace) -> int:
    from ldlrepro.judge.gate import pass_gate
    from ldlrepro.judge.judging import Judge

    judge = Judge(plan.current(), HERE)
    papers = [judge.project.paper(paper) for paper in args.papers]
    answers = [judge.answer_of(paper, args.of_workflow) for paper in papers]
    page = Path(args.page)
    if args.of_workflow and not page.is_file():
        raise UserError(f"{page}: no such file, but the workflow should have made it")
    for path in args.tracked:
        told = json.loads(Path(path).read_text(encoding="utf-8"))
        say(f"{told['paper']}: {told['units']} units in MLflow")
    return 0 if pass_gate(answers, page, say) else 1


def record(args: argparse.Namespace) -> int:
    """Renew reference/ and its checksums; without a paper, the checksums alone."""
    from ldlrepro import experiments
    from ldlrepro.audit.seals import REFERENCE_SUMS, refuse_changed_reference, seal_reference
    from ldlrepro.judge.judging import Judge
    from ldlrepro.judge.reference import drop_unplanned, write_reference

    root = config.project_root()
    refuse_changed_reference(root)
    for paper in args.paper:
        planned = [unit for unit in plan.paper_units(paper) if not unit.is_own]
        units = Judge(plan.current(), HERE).local_units(planned)
        command = args.command_line or f"snakemake --cores all {paper}"
        written = write_reference(plan.current(), root / "reference", units.values(), command)
        value = config.current().paper(paper)
        for name in value.experiments:
            measured = experiments.read(value, name, HERE.results)
            if measured and measured.source == experiments.LOCAL:
                written.append(experiments.write(measured, root / "reference"))
        say(f"{paper}: {len(written)} reference files")
    asked_for = {unit.key for paper in config.paper_ids() for unit in plan.paper_units(paper)}
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
