"""Verbs that say which method to use: on one's own data, and by the records."""

from __future__ import annotations

import argparse
import hashlib
import os
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ldlrepro.cli.here import HERE, tell_new_folders
from ldlrepro.cli.output import answer, counted, paragraph, show
from ldlrepro.cli.verb import IDS, OF_WORKFLOW, duration, positive, takes, verb
from ldlrepro.core import progress
from ldlrepro.core.errors import UserError, unknown
from ldlrepro.core.progress import say

TIME, MEASURE = 600.0, "kl"
"""Defaults for a table of one's own."""


def names(text: str) -> list[str]:
    """Parse names with commas between them."""
    found = [name.strip() for name in text.split(",") if name.strip()]
    if twice := [name for name in found if found.count(name) > 1]:
        raise argparse.ArgumentTypeError(f"'{twice[0]}' is named twice")
    return found


@verb(
    takes("data", help="a table of yours (.csv, .parquet, .mat), or id of a public data set"),
    takes("--labels", type=names, default=[], help="columns of the label degrees, such as a,b,c"),
    takes("--groups", help="column that says which rows belong together, such as a person"),
    takes("--ignore", type=names, default=[], help="columns to leave out, such as id,date"),
    takes("--time", type=duration, default=TIME, help="for all of it: 90s, 10m, 1h; default 10m"),
    takes(
        "--methods",
        type=names,
        default=[],
        help="only these methods, such as StructRF,Ridge; default: all",
    ),
    takes("--measure", default=MEASURE, help="measure that decides; default: %(default)s"),
    takes(
        "--threads",
        type=positive,
        default=os.cpu_count() or 1,
        help="methods that run at once; default: all cores",
    ),
    takes("--again", type=positive, help="of a public set: compute so many folds again"),
    takes(
        "--predictions",
        metavar="FILE",
        help="compute every method on a public set, and write their predictions to this .parquet "
        "file; that takes minutes to hours of CPU time, which it says first",
    ),
    OF_WORKFLOW,
    table=True,
    examples=[
        "ldlrepro arena my.csv --labels happy,sad,angry",
        "ldlrepro arena my.csv --labels happy,sad,angry --groups person --time 30m",
        "ldlrepro arena sjaffe --predictions sjaffe.parquet",
    ],
)
def arena(args: argparse.Namespace) -> int:
    """Compare methods on your own table, and say which to use and how sure that is.

    Settings are chosen on training rows. The answer is a sentence, a line for each method, a page
    and a short program that fits the winner. A comparison that was stopped goes on. A public data
    set runs as the protocol of the arena says.
    """
    if _is_table(args.data):
        return _own(args, Path(args.data))
    from ldlrepro.arena import runs, standings
    from ldlrepro.catalogue import from_environment
    from ldlrepro.data import load_ready
    from ldlrepro.data.own_table import demand_groups
    from ldlrepro.train.inputs import global_seed, make_inputs

    project = from_environment()
    name = project.id_called("dataset", args.data)
    if name not in project.data_set_ids:
        _refuse_folder(Path(args.data))
    data_set = project.data_set(name)
    _refuse_unused(args, data_set.id)
    if not args.of_workflow:
        tell_new_folders()
        make_inputs(project, data_set, None, global_seed(project), HERE)
    demand_groups(load_ready(HERE.ready(data_set.id)).groups, f"{data_set.id}: its groups")
    if args.again:
        return _again(args.again, data_set.id, project.root / "reference")
    known = standings.tables(HERE.results, project.root / "reference").get(data_set.id)
    if known and not args.methods:
        took = progress.duration(standings.cpu_seconds(known))
        said = f"{data_set.id}: all methods take about {took} of CPU time; finished folds are kept"
        say(paragraph(said))
    say(f"{runs.run(data_set.id, HERE, args.methods)}")
    if args.predictions:
        rows = runs.write_predictions(data_set.id, HERE, Path(args.predictions))
        say(f"{rows:,} predictions: {args.predictions}")
    return 0


def _is_table(name: str) -> bool:
    """Tell a table of the user's from the id of a data set."""
    return bool(Path(name).suffix) or Path(name).is_file()


def _again(count: int, dataset: str, reference: Path) -> int:
    """Compute folds of the records again, and say whether they are right."""
    from ldlrepro.arena import runs
    from ldlrepro.arena.standings import tables

    paths = tables(HERE.results, reference)
    if dataset not in paths:
        raise UserError(f"{dataset} has not run in the arena yet. Type `ldlrepro arena {dataset}`")
    seed = random.SystemRandom().randrange(2**32)
    same = runs.again(dataset, HERE, paths[dataset], count, seed)
    folds = counted(len(same), "fold")
    said = f"{folds} of {paths[dataset]} computed again: {same.count(False)} differ."
    print(paragraph(said))
    return 0 if all(same) else 1


def _refuse_folder(path: Path) -> None:
    if path.is_dir():
        from ldlrepro.data.own_table import FORMATS

        raise UserError(
            f"{path} is a folder. The arena takes a table ({FORMATS}) or the id of a data set"
        )


def _refuse_unused(args: argparse.Namespace, dataset: str) -> None:
    """Refuse what a public set cannot use, before it computes for hours."""
    from ldlrepro.arena.runs import contenders

    unused: dict[str, object]
    unused = {"labels": [], "groups": None, "ignore": [], "time": TIME, "measure": MEASURE}
    if asked := [f"--{name}" for name, value in unused.items() if getattr(args, name) != value]:
        raise UserError(
            f"{dataset} is a public set, which takes no {', '.join(asked)}: these are for a table "
            f"of yours. `ldlrepro recommend {dataset}` tells what has run."
        )
    known = contenders()
    for name in args.methods:
        if name not in known:
            raise unknown("method of the arena", name, known, "`ldlrepro recommend --all` has all.")


def _own(args: argparse.Namespace, path: Path) -> int:
    """Compare methods on a table; each question has a folder of its own for page and program."""
    from ldl import compare
    from ldl.comparison.compare import Arena, demand_enough
    from ldl.metrics import better
    from ldlrepro.core.checksums import sha256_of
    from ldlrepro.core.files import write_text
    from ldlrepro.data.own_table import read_own
    from ldlrepro.report import html
    from ldlrepro.report.arena import bars, lines_of

    _refuse_folder(path)
    if not path.is_file():
        raise UserError(f"{path}: no such file")
    try:
        better(args.measure)
    except ValueError as error:
        raise UserError(str(error)) from None
    table = read_own(path, args.labels, args.groups, args.ignore)
    tell_new_folders()
    say(paragraph(" ".join([f"{path}: {table.seen}", *table.remarks])))
    folds = Arena.folds if table.groups is None else min(Arena.folds, len(set(table.groups)))
    demand_enough(len(table.X), table.groups, max(folds, 2))
    home = HERE.results / "arena" / "own"
    asked = [args.labels, args.groups, sorted(args.ignore), args.measure, sorted(args.methods)]
    question = hashlib.sha256(repr([sha256_of(path), *asked]).encode()).hexdigest()
    folder = home / f"{path.stem}-{question[:8]}"
    found = compare(
        table.X,
        table.D,
        groups=table.groups,
        folds=folds,
        methods=args.methods or None,
        time=args.time,
        measure=args.measure,
        n_jobs=args.threads,
        store=home / "folds",
        verbose=not args.quiet,
    )
    program, page = folder / "best.py", folder / "index.html"
    if found.has_winner:
        shown = 'print(labels, model.predict(X[:5]).round(3), sep="\\n")\n'
        write_text(program, f"{table.imports}{found.imports}\n{table.code}{found.code}{shown}")
    else:
        program.unlink(missing_ok=True)
    seen, lines = " ".join([table.seen, *table.remarks]), lines_of(found)
    drawn = {"seen": seen, "found": found, "lines": lines, "bars": bars(found)}
    write_text(page, html.page("own.html.j2", title=path.name, **drawn))
    if args.json:
        answer(args, lines)
    else:
        print(f"{paragraph(found.sentence)}\nAs a page: {page.resolve().as_uri()}\n")
        show(args, lines, first=6)
        if found.left_out:
            print()
            print(paragraph(f"Left out (more time: --time): {', '.join(found.left_out)}."))
        if found.has_winner:
            print(f"\nThe winner in code: {program}")
    return 0 if len(found.means) > 1 else 1


@verb(
    takes("dataset", nargs="?", help=f"{IDS['dataset']}; default: all public sets that ran"),
    takes("--measure", default="kl", help="measure that decides; default: %(default)s"),
    table=True,
    examples=["ldlrepro recommend", "ldlrepro recommend sbu_3dfe"],
)
def recommend(args: argparse.Namespace) -> int:
    """Say which method to use for data like a public set, by the records; without a set, which
    method leads over all of them.

    For a table of your own, type `ldlrepro arena`.
    """
    from ldl.metrics import BETTER
    from ldlrepro.arena import advice, standings
    from ldlrepro.arena.standings import best_of_each
    from ldlrepro.cli.here import judge_here

    if args.measure not in BETTER:
        raise unknown("measure", args.measure, BETTER)
    judge = judge_here(args)
    project = judge.project
    if args.dataset:
        if args.dataset not in project.data_set_ids and _is_table(args.dataset):
            raise UserError(
                f"{args.dataset} is no data set here. For a table of yours, "
                f"type `ldlrepro arena {args.dataset} --labels A,B,C`"
            )
        data_set = project.data_set(args.dataset)
        found = advice.recommend(judge, data_set, args.measure)
        brief = best_of_each(found.lines)[:10]
        brief += [
            one for one in found.lines if one["method"] == found.cheapest and one not in brief
        ]
        answer(args, found.lines, found.said, brief=brief)
        return _explained(args, found.lines, "")
    paths = standings.tables(HERE.results, project.root / "reference")
    board = standings.Standings(standings.read(paths), project.families, args.measure)
    lines = standings.lines(board)
    answer(args, lines, advice.overall(board), first=6, brief=best_of_each(lines)[:10])
    rating = (
        f"Elo is a rating by wins: 400 more means ten wins for one loss, and "
        f"{standings.spoken(standings.BASE)} has {standings.BASE_ELO:.0f}. "
    )
    return _explained(args, lines, rating)


def _explained(args: argparse.Namespace, lines: Sequence[Mapping[str, Any]], rating: str) -> int:
    """Say what the words of a table mean, and how to fit its first method if it is the arena's."""
    from ldl.comparison.contenders import portfolio
    from ldl.comparison.search import MEMBERS
    from ldlrepro.arena.standings import method_of

    if args.json:
        return 0
    kinds = (
        "Default is the class as it is. Tuned is its best setting, ensemble a mixture of at most "
        f"{MEMBERS} settings; training rows chose them. "
    ) * any(method_of(line["method"]) != line["method"] for line in lines)
    gain = "Gain over mean is the share of the training mean's loss that a method takes away."
    print(f"\n{paragraph(f'{kinds}{rating}{gain}')}")
    if (name := method_of(lines[0]["method"])) in portfolio():
        print(f'\nTo tune and fit it in Python: ldl.compare(X, D, methods=["{name}"]).best')
    return 0
