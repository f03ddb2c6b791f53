"""All methods over all data sets: the comparisons, the data sets they stand on, the outcome.

Methods are ranked within a protocol, where all have the same folds, and over data sets on which all
of them have numbers. The page's script does the same for every choice of a reader; here it is done
once per protocol, for the page without script and for ``ldlrepro leaderboard``.
"""

from __future__ import annotations

import csv
import itertools
import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ldl.metrics import BETTER
from ldlrepro.catalogue import Project
from ldlrepro.core.groups import grouped
from ldlrepro.judge import measures
from ldlrepro.judge.scores import LOCAL, REFERENCE
from ldlrepro.judge.significance import Ranking, fewest_datasets, independent, ranking
from ldlrepro.report.content import CONTROLS, SEES_LABELS, measure_title
from ldlrepro.train.records import FAILED, OK

if TYPE_CHECKING:
    from pathlib import Path

    from ldlrepro.judge.scores import UnitScores
    from ldlrepro.report.content import PaperPage

MEASURE = "kl"
"""Measure that methods are ranked by at first."""
DIGITS = 9
"""Significant digits of a mean; the script reads the same ones, so that it finds the same ties."""
DECIMALS = 12
"""Decimals of a mean; anything below is rounding noise."""
CONTROL = "control"
FLOORS = ("train_mean", "TrainMean")
"""Methods that predict the mean of the training labels, in the papers and in the arena."""
LEAST = 1e-6
"""Share of the training mean's loss below which nothing counts as better."""
ARENA = "arena"
"""The comparison with equal tuning, as a paper; each kind of its rows is a protocol."""


@dataclass(frozen=True)
class Contestant:
    """A method, with the reason if it is not ranked."""

    id: str
    title: str
    note: str = ""
    own: bool = False
    """True for the user's own methods."""
    by_print: bool = False
    """True if its setting was chosen because it fits the print."""


@dataclass(frozen=True)
class Entry:
    """A unit with all its folds."""

    protocol: str
    dataset: str
    method: str
    means: dict[str, float]
    fit_s: float
    """Mean over the folds."""
    peak_mb: float | None
    source: str


@dataclass(frozen=True)
class Line:
    """A method in a ranking, or beside it."""

    contestant: Contestant
    rank: float | None
    """Mean rank; None for what is not ranked."""
    datasets: int
    """Number of the protocol's data sets that it has numbers of."""
    gain: float | None
    """Share of the training mean's loss that it takes away, by the geometric mean over the data
    sets of the ranking; None where it, or the training mean, lacks one of them."""
    better_than: int
    """Number of others that are significantly worse."""
    worse_than: int
    fit_s: float | None
    peak_mb: float | None
    sources: str
    failed: tuple[str, ...]
    """Data sets on which a fold failed, so that they do not count."""


@dataclass(frozen=True)
class Standings:
    """The outcome for one protocol and measure."""

    paper: str
    protocol: str
    measure: str
    measure_title: str
    datasets: tuple[str, ...]
    """Data sets that the ranking stands on."""
    of: int
    """Number of data sets that the protocol has."""
    lines: list[Line]
    compared: Ranking
    independent: int
    """Number of data sets that it stands on, a family of them counted once."""
    under: str
    """The protocol in a clause, for the end of a sentence."""

    @property
    def needs(self) -> int | None:
        """Return how many data sets it takes until any two of the methods can differ at all."""
        k = len(self.compared.ranks)
        return fewest_datasets(k * (k - 1) // 2) if k > 1 else None

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Return its lines for a table; without a rank, what is shown and not compared."""
        tested = not self.compared.refusal
        return [
            {
                "method": line.contestant.id,
                "rank": round(line.rank, 3) if line.rank is not None else None,
                "gain": None if line.gain is None else round(line.gain, 3),
                "beats": line.better_than if tested and line.rank is not None else None,
                "beaten by": line.worse_than if tested and line.rank is not None else None,
                "note": line.contestant.note or "settings by print" * line.contestant.by_print,
                "ranked on": len(self.datasets) if line.rank is not None else 0,
                "needs": self.needs if line.rank is not None else None,
                "has": line.datasets,
                "failed": len(line.failed) or None,
                "fit s": None if line.fit_s is None else round(line.fit_s, 3),
                "peak MB": None if line.peak_mb is None else round(line.peak_mb),
                "source": line.sources,
                "protocol": self.protocol,
            }
            for line in self.lines
        ]


@dataclass
class Board:
    """All entries and contestants of some papers."""

    project: Project
    entries: list[Entry]
    contestants: dict[str, Contestant]
    papers: dict[str, list[str]]
    """Paper -> protocols under which its units ran."""
    failed: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    """(protocol, method) -> data sets on which a fold failed."""

    @property
    def directions(self) -> dict[str, str]:
        return measures.directions(self.project)

    def protocols(self) -> list[tuple[str, str]]:
        """Return (paper, protocol), each protocol once, with the paper whose own it is."""
        found: dict[str, str] = {}
        for paper, names in self.papers.items():
            for protocol in names:
                known = self.project.protocols.get(protocol)
                found.setdefault(protocol, known.paper if known else paper)
        return [(paper, protocol) for protocol, paper in found.items()]


def collect(
    project: Project, pages: Sequence[PaperPage], arena: Mapping[str, Path] | None = None
) -> Board:
    """Collect some papers' units on a board, without points of figures and incomplete units.

    ``arena`` has the table of each data set of the arena. Each kind of its rows is a protocol.
    """
    units: dict[str, UnitScores] = {}
    for unit in (unit for page in pages for unit in page.units):
        if "=" not in unit.method and unit.rows:
            units.setdefault(unit.key, unit)
    folds: dict[tuple[str, str], int] = {}
    failed: dict[tuple[str, str], list[str]] = {}
    for unit in units.values():
        place = (unit.protocol, unit.dataset)
        folds[place] = max(folds.get(place, 0), len(unit.rows))
        if any(row.status == FAILED for row in unit.rows):
            failed.setdefault((unit.protocol, unit.method), []).append(unit.dataset)
    entries = [
        _entry(unit)
        for unit in units.values()
        if sum(row.status == OK for row in unit.rows) == folds[unit.protocol, unit.dataset]
    ]
    names = dict.fromkeys([*(entry.method for entry in entries), *(name for _, name in failed)])
    present = {entry.protocol for entry in entries}
    papers = {
        page.id: list(dict.fromkeys(u.protocol for u in page.units if u.protocol in present))
        for page in pages
    }
    board = Board(
        project,
        entries,
        {name: _contestant(project, name) for name in names},
        {paper: protocols for paper, protocols in papers.items() if protocols},
        failed,
    )
    for dataset, path in (arena or {}).items():
        _add_arena(board, dataset, path)
    return board


def _add_arena(board: Board, dataset: str, path: Path) -> None:
    """Put the rows of a data set of the arena on a board.

    A kind that a method does not have counts as its defaults there.
    """
    with open(path, encoding="utf-8", newline="") as lines:
        rows = grouped(csv.DictReader(lines), lambda row: (row["kind"], row["method"]))
    folds = max(map(len, rows.values()), default=0)
    kinds, methods = (dict.fromkeys(key[place] for key in rows) for place in (0, 1))
    source = REFERENCE if path.is_relative_to(board.project.root / REFERENCE) else LOCAL
    protocols = board.papers.setdefault(ARENA, [])
    for kind, method in itertools.product(kinds, methods):
        mine = rows.get((kind, method)) or rows["default", method]
        protocol = f"{ARENA}_{kind}"
        if protocol not in protocols:
            protocols.append(protocol)
        note = CONTROL if mine[0]["family"] == CONTROL else ""
        board.contestants.setdefault(method, Contestant(method, method, note))
        if any(row["error"] for row in mine):
            board.failed.setdefault((protocol, method), []).append(dataset)
        if len(mine) < folds or any(row["error"] for row in mine):
            continue
        means = {n: _rounded(statistics.fmean(float(row[n]) for row in mine)) for n in BETTER}
        fit = statistics.fmean(float(row["fit_s"]) for row in mine)
        board.entries.append(Entry(protocol, dataset, method, means, fit, None, source))


def _entry(unit: UnitScores) -> Entry:
    means = {
        name: _rounded(mean)
        for name, values in unit.scores.items()
        if all(map(math.isfinite, values)) and (mean := unit.mean(name)) is not None
    }
    fit = statistics.fmean(row.seconds[0] for row in unit.rows)
    return Entry(*unit.ids, means, fit, max(row.peak_mb for row in unit.rows), unit.source)


def _rounded(mean: float) -> float:
    return float(f"{round(mean, DECIMALS):.{DIGITS}g}")


def _contestant(project: Project, name: str) -> Contestant:
    if name in CONTROLS:
        title, remark = CONTROLS[name]
        return Contestant(name, title, remark)
    if not project.has_method(name):
        return Contestant(name, name)
    method = project.method(name)
    note = SEES_LABELS if method.sees_test_labels else CONTROL if method.control else ""
    return Contestant(name, method.title, note, method.is_own, method.by_print)


# ---------------------------------------------------------------------- who is compared on what


def compared(places: Mapping[str, set[str]], always: Iterable[str]) -> list[str]:
    """Return the methods that are compared by default, given their data sets.

    These have at least so many data sets that methods times common data sets is largest. The user's
    own methods, in ``always``, join whatever they have.
    """
    always = [name for name in always if places.get(name)]
    best, best_area = list(always), 0
    for fewest in sorted({len(sets) for sets in places.values() if sets}, reverse=True):
        chosen = [name for name, sets in places.items() if len(sets) >= fewest or name in always]
        common = set.intersection(*(places[name] for name in chosen))
        if len(chosen) * len(common) >= best_area:
            best, best_area = chosen, len(chosen) * len(common)
    return best


def standings(board: Board, paper: str, protocol: str, measure: str = MEASURE) -> Standings:
    """Rank the methods of a protocol by one measure."""
    mine = [e for e in board.entries if e.protocol == protocol and measure in e.means]
    cells = {(entry.dataset, entry.method): entry for entry in mine}
    datasets = list(dict.fromkeys(entry.dataset for entry in mine))
    sets: dict[str, set[str]] = {}
    for entry in mine:
        sets.setdefault(entry.method, set()).add(entry.dataset)
    ranked = {name: s for name, s in sets.items() if not board.contestants[name].note}
    names = compared(ranked, (name for name in ranked if board.contestants[name].own))
    sign = -1.0 if board.directions.get(measure) == "higher" else 1.0
    floors = {e.dataset: e.means[measure] for e in mine if e.method in FLOORS and sign > 0}
    losses = {
        d: {n: sign * cells[d, n].means[measure] for n in names if (d, n) in cells}
        for d in datasets
    }
    outcome = Ranking(dict.fromkeys(names, 1.0), ())
    if len(names) > 1:
        outcome = ranking(names, losses, board.project.families)
        outcome = replace(outcome, ranks=dict(outcome.by_family))
    on = outcome.datasets or tuple(datasets)

    def line(name: str) -> Line:
        own = [cells[d, name] for d in on if (d, name) in cells]
        rank = outcome.ranks.get(name)
        others = [n for n in outcome.ranks if n != name] if rank is not None else []
        others = [n for n in others if outcome.differ(name, n)]
        ahead = sum(outcome.ranks[name] < outcome.ranks[n] for n in others)
        return Line(
            board.contestants[name],
            rank,
            len(sets[name]),
            _gain({e.dataset: e.means[measure] for e in own}, floors, on, board.project.families),
            ahead,
            len(others) - ahead,
            _mean(entry.fit_s for entry in own),
            max((entry.peak_mb for entry in own if entry.peak_mb is not None), default=None),
            ", ".join(sorted({entry.source for entry in own})),
            tuple(board.failed.get((protocol, name), ())),
        )

    for failing in (name for where, name in board.failed if where == protocol):
        sets.setdefault(failing, set())
    beside = sorted((n for n in sets if n not in outcome.ranks), key=lambda n: (-len(sets[n]), n))
    lines = [line(name) for name in [*outcome.ranks, *beside]]
    title = measure_title(measure, board.project)
    apart = independent(on, board.project.families)
    under = _under(board, protocol)
    return Standings(
        *(paper, protocol, measure, title, on, len(datasets), lines, outcome, apart, under)
    )


def _under(board: Board, protocol: str) -> str:
    """Return a protocol and how it makes folds, for the end of a sentence."""
    known = board.project.protocols.get(protocol)
    if known is None:
        return f" under {protocol}"
    order = "shuffled" if known.shuffle else "unshuffled"
    ways = {
        "kfold": f"{known.folds} {order} folds",
        "shuffle_split": f"{known.repeats} random splits",
        "leave_one_group_out": "folds that keep persons apart",
        "parts": "fixed parts",
    }
    return f" under {protocol}, which has {ways[known.scheme]}"


def all_standings(board: Board) -> list[Standings]:
    """Return standings by the first measure for each protocol that has numbers."""
    found = (standings(board, paper, protocol) for paper, protocol in board.protocols())
    return [outcome for outcome in found if outcome.lines]


def _gain(
    losses: Mapping[str, float],
    floors: Mapping[str, float],
    on: Iterable[str],
    families: Mapping[str, str],
) -> float | None:
    if not all(name in losses and floors.get(name, 0.0) > 0 for name in on):
        return None
    shares: dict[str, list[float]] = defaultdict(list)
    for name in on:
        share = max(losses[name] / floors[name], LEAST)
        shares[families.get(name) or name].append(math.log(share))
    return 1 - math.exp(statistics.fmean(map(statistics.fmean, shares.values())))


def _mean(values: Iterable[float]) -> float | None:
    present = list(values)
    return statistics.fmean(present) if present else None


# ---------------------------------------------------------------------- for the script


def board_data(board: Board, boards: Sequence[Standings]) -> dict[str, Any]:
    """Return the board as small JSON: names once, entries as lists."""
    names = [name for name in board.directions if any(name in e.means for e in board.entries)]
    shown = {*(entry.method for entry in board.entries), *(name for _, name in board.failed)}
    return {
        "measures": [
            [name, measure_title(name, board.project), board.directions[name]] for name in names
        ],
        "papers": list(board.papers.items()),
        "methods": [
            [c.id, c.title, c.note, c.own, c.by_print]
            for c in board.contestants.values()
            if c.id in shown
        ],
        "entries": [
            [
                *(entry.protocol, entry.dataset, entry.method),
                *(_short(entry.fit_s), _short(entry.peak_mb), entry.source),
                [entry.means.get(name) for name in names],
            ]
            for entry in board.entries
        ],
        "under": {name: _under(board, name) for _, name in board.protocols()},
        "failed": [[*unit, datasets] for unit, datasets in board.failed.items()],
        "families": dict(board.project.families),
        "kinds": list(kinds(board.project, [e.dataset for e in board.entries]).items()),
        "floors": FLOORS,
        "least": LEAST,
        "start": {"measure": MEASURE, "protocol": _first_protocol(board, boards)},
    }


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")


SIZES = {"rows": ("n", 1000), "features": ("q", 100), "labels": ("c", 6)}
"""Field of a shape, and up to how many are few."""


def kinds(project: Project, names: Iterable[str]) -> dict[str, list[str]]:
    """Return kinds of data set that a reader may want alone, with their members."""
    known = {one.id: one for one in project.data_sets}
    used = [known[name] for name in dict.fromkeys(names) if name in known]
    kinds = {"with persons": [one.id for one in used if one.names_persons]}
    for what, (size, few) in SIZES.items():
        counts = {one.id: getattr(one.shape, size) for one in used if one.shape}
        counts = {name: count for name, count in counts.items() if count is not None}
        kinds[f"of at most {few} {what}"] = [name for name, count in counts.items() if count <= few]
        kinds[f"of more than {few} {what}"] = [
            name for name, count in counts.items() if count > few
        ]
    for family in dict.fromkeys(one.family for one in used if one.family):
        kinds[f"of the family {family}"] = [one.id for one in used if one.family == family]
    return kinds


def _first_protocol(board: Board, boards: Sequence[Standings]) -> str:
    """Return where the user's own methods ran, else where most was compared, papers first."""
    own = [e.protocol for e in board.entries if board.contestants[e.method].own]
    if own:
        return max(dict.fromkeys(own), key=own.count)
    sizes = {
        s.protocol: (s.paper != ARENA, len(s.compared.ranks) * len(s.datasets)) for s in boards
    }
    return max(sizes, key=lambda name: sizes[name], default="")
