"""Verbs that compare methods by numbers of all that ran."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from ldlrepro.cli import openings
from ldlrepro.cli.here import judge_here, papers_of
from ldlrepro.cli.output import answer
from ldlrepro.cli.verb import IDS, PAPERS, takes, verb
from ldlrepro.core.errors import UserError, nearest


@verb(
    PAPERS,
    takes("--measure", default="kl", help="default: %(default)s"),
    json=True,
    examples=["ldlrepro leaderboard structrf", "ldlrepro leaderboard mslp --measure cosine"],
)
def leaderboard(args: argparse.Namespace) -> int:
    """Rank the methods of each protocol over the data sets that all of them have."""
    from ldlrepro.report.content import PaperPage
    from ldlrepro.report.leaderboard import collect, standings

    judge = judge_here()
    project = judge.project
    answers = judge.answers(papers_of(project, args.paper))
    board = collect(project, [PaperPage.of(project, answer) for answer in answers])
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


@verb(
    takes("--dataset", nargs="+", default=[], help="only these data sets"),
    takes("--protocol", help=IDS["protocol"]),
    takes("--method", nargs="+", default=[], help="only these methods, with their variants"),
    takes("--measure", help="only this measure; default: all, but kl where a table is shown"),
    takes(
        "--out",
        type=Path,
        metavar="FOLDER",
        help="write baselines.json, by_fold.csv, cite.bib, and the tested rows of every fold",
    ),
    json=True,
    examples=[
        "ldlrepro baselines --dataset sjaffe --method structrf sa_bfgs",
        "ldlrepro baselines --dataset sjaffe yeast_alpha --out ../baselines",
    ],
)
def baselines(args: argparse.Namespace) -> int:
    """Give numbers to cite, of every method that ran: means and standard deviations over folds,
    with the folds, the settings and the code behind them.
    """
    from ldlrepro.report.baselines import collect, document, write_folder

    judge = judge_here()
    for name in args.dataset:
        judge.project.data_set(name)
    for name in args.method:
        judge.project.method(name)
    if args.protocol:
        judge.project.protocol(args.protocol)
    found = collect(judge, args.dataset, args.protocol, args.method)
    measures = {baseline.measure for baseline in found}
    if args.measure and found and args.measure not in measures:
        raise UserError(f"no measure '{args.measure}' here.{nearest(args.measure, measures)}")
    shown = args.measure or (None if args.json or args.out else "kl")
    found = [baseline for baseline in found if shown in (None, baseline.measure)]
    if args.out:
        write_folder(args.out, found, judge, lambda text: print(text, file=sys.stderr))
        print(f"{len(found)} numbers in {args.out}", file=sys.stderr)
        return 0
    if args.json:
        print(json.dumps(document(judge.project, found), indent=1))
        return 0
    lines = [
        {name: "" if value is None else value for name, value in baseline.line().items()}
        for baseline in found
    ]
    return answer(False, lines, lines[0] if lines else ("dataset", "protocol", "method"))
