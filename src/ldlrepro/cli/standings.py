"""Verbs that compare methods by numbers of all that ran."""

from __future__ import annotations

import argparse
import json
import sys

from ldlrepro import config, plan
from ldlrepro.cli import openings
from ldlrepro.cli.output import answer
from ldlrepro.core.errors import UserError, nearest
from ldlrepro.core.workspace import Workspace

HERE = Workspace()


def leaderboard(args: argparse.Namespace) -> int:
    """Print the report's leaderboard for one measure: a line per method and protocol."""
    from ldlrepro.judge.judging import Judge
    from ldlrepro.report.build import paper_page
    from ldlrepro.report.leaderboard import collect, standings

    wanted = args.paper or config.real_papers()
    judge = Judge(plan.current(), HERE)
    answers = judge.answers(judge.project.paper(paper) for paper in wanted)
    board = collect([paper_page(judged) for judged in answers])
    if args.measure not in board.directions:
        raise UserError(
            f"no measure '{args.measure}'.{nearest(args.measure, board.directions)} "
            f"They are: {', '.join(board.directions)}"
        )
    rows, said = [], []
    for paper, protocol in board.protocols():
        outcome = standings(board, paper, protocol, args.measure)
        said.append(openings.of_standings(outcome))
        if outcome.compared.refusal:
            print(f"{protocol}: {outcome.compared.refusal}", file=sys.stderr)
        for line in outcome.lines:
            known = line.rank is not None
            rows.append(
                {
                    "protocol": protocol,
                    "method": line.contestant.id,
                    "rank": round(line.rank, 3) if line.rank is not None else None,
                    "ranked on": len(outcome.datasets) if known else 0,
                    "needs": outcome.needs if known else None,
                    "has": line.datasets,
                    "failed": len(line.failed) or None,
                    "mean": None if line.mean is None else round(line.mean, 6),
                    "beats": line.better_than if known else None,
                    "beaten by": line.worse_than if known else None,
                    "fit s": None if line.fit_s is None else round(line.fit_s, 3),
                    "peak MB": None if line.peak_mb is None else round(line.peak_mb),
                    "source": line.sources,
                    "note": line.contestant.note or "by print" * line.contestant.by_print,
                }
            )
    columns = tuple(rows[0]) if rows else ("protocol", "method")
    if not args.json:
        print("\n".join([*filter(None, said), ""]))
        rows = [{k: "" if v is None else v for k, v in row.items()} for row in rows]
    return answer(args.json, rows, columns)


def baselines(args: argparse.Namespace) -> int:
    """Print numbers to cite, a line for each measure of each unit, or write them into a folder."""
    from ldlrepro.report.baselines import collect, document, write_folder

    for name in args.dataset:
        config.load_dataset(name)
    for name in args.method:
        config.load_method(name)
    if args.protocol:
        plan.protocol(args.protocol)
    found = collect(HERE, args.dataset, args.protocol, args.method)
    measures = {baseline.measure for baseline in found}
    if args.measure and found and args.measure not in measures:
        raise UserError(f"no measure '{args.measure}' here.{nearest(args.measure, measures)}")
    shown = args.measure or (None if args.json or args.out else "kl")
    found = [baseline for baseline in found if shown in (None, baseline.measure)]
    if args.out:
        seed = config.load_run_config()["seed"]
        write_folder(args.out, found, HERE, seed, lambda text: print(text, file=sys.stderr))
        print(f"{len(found)} numbers in {args.out}", file=sys.stderr)
        return 0
    if args.json:
        print(json.dumps(document(found), indent=1))
        return 0
    lines = [
        {name: "" if value is None else value for name, value in baseline.line().items()}
        for baseline in found
    ]
    return answer(False, lines, lines[0] if lines else ("dataset", "protocol", "method"))
