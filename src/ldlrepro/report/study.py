"""Tables and pictures for notebooks: a paper's numbers, and a printed table examined.

Notebooks hold no logic. They call what stands here, and what it returns displays itself.
"""

from __future__ import annotations

import hashlib
import re
import statistics
import tempfile
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ldlrepro.arena import standings
from ldlrepro.catalogue import from_environment
from ldlrepro.core.errors import unknown
from ldlrepro.core.files import write_text
from ldlrepro.core.workspace import Workspace
from ldlrepro.data import load_ready
from ldlrepro.judge.explain import blocks, facts_of
from ldlrepro.judge.judging import Judge
from ldlrepro.judge.persons import FLOOR
from ldlrepro.judge.tallies import tally
from ldlrepro.judge.verdicts import JUDGED, MISSED, VerdictRow, reach
from ldlrepro.lint import linter, relations
from ldlrepro.lint.tables import rows_of
from ldlrepro.plan import Plan
from ldlrepro.report.arena import leading, trade_off
from ldlrepro.report.canvas import FIRST, REST, SECOND, as_svg, canvas, legends_above
from ldlrepro.report.content import measure_title
from ldlrepro.report.svg import MEASURED, PRINTED, SOFT, blank
from ldlrepro.train.inputs import global_seed, holds_rows, make_inputs

if TYPE_CHECKING:
    from pandas import DataFrame

    from ldlrepro.arena.standings import Standings
    from ldlrepro.judge.persons import PersonsApart
    from ldlrepro.judge.scores import UnitScores

WRONG = "#c53030"
RING: Mapping[str, Any] = {"markersize": 9, "markerfacecolor": "none", "color": FIRST}
SQUARE: Mapping[str, Any] = {"markersize": 5, "color": SECOND}
"""Marks of which none hides the other."""
FAR = 1.5
"""Times the training mean's loss where the axis ends; what lies farther is written there."""
DECIMALS = 4
WIDTH, ACROSS = 80, 7.5
"""Letters of a line, and inches of a picture, that the column of a notebook has room for."""
NOTHING = "Nothing was measured here."


@dataclass(frozen=True, repr=False)
class Picture:
    """A drawing that a notebook shows, with its words for who cannot see it."""

    caption: str
    svg: str

    def __repr__(self) -> str:
        return self.caption

    def _repr_svg_(self) -> str:
        return self.svg


class Sentences(str):
    """Some sentences, one a line, which a notebook shows without quotation marks."""

    def __repr__(self) -> str:
        return str(self)


class Study:
    """One paper: what ran in this folder, and for the rest the reference records."""

    def __init__(self, paper: str) -> None:
        self.project = from_environment()
        self.paper = self.project.paper(paper)
        self.plan = Plan(self.project)
        self.answer = Judge(self.plan, Workspace()).answer(self.paper)

    def __repr__(self) -> str:
        return f"{self.paper.authors}: {self.paper.title} ({self.paper.year})"

    # ------------------------------------------------------------------ printed numbers

    def counts(self) -> DataFrame:
        """Count the verdicts of each printed method; ``holds`` are the numbers that hold."""
        rows = self.answer.rows
        methods = dict.fromkeys(row.method for row in rows)
        lines = [
            {"method": name, "holds": found.holds, **found.counts, "printed": found.total}
            for name in methods
            if (found := tally(row for row in rows if row.method == name))
        ]
        counted = _table(lines)
        return counted.loc[:, counted.any()]

    def number(self, method: str = "", measure: str = "kl", missed: bool = False) -> Number:
        """Return the nearest number that holds, or that of a printed method in a measure.

        Of numbers that are missed, it is the farthest; those that other settings meet come first.
        """
        judged = [row for row in self.answer.rows if row.verdict in JUDGED and row.method_id]
        if method:
            known = {row.method: row for row in reversed(judged) if row.metric == measure}
            if method not in known:
                raise unknown("method", method, known, f"{self.paper.id} has these in {measure}.")
            return Number(self, known[method])
        rows = [row for row in judged if row.metric == measure]
        rows.sort(key=lambda row: abs(row.difference or 0), reverse=missed)
        if missed:
            first = [row for row in rows if row.verdict in MISSED]
            first.sort(key=lambda row: row.reason_kind != "run")
        else:
            first = [row for row in rows if row.holds]
        rows = [*first, *rows, *judged, *self.answer.rows]
        return Number(self, rows[0] if rows else None)

    # ------------------------------------------------------------------ persons

    def persons(self, dataset: str) -> DataFrame:
        """Return KL with people mixed and kept apart, methods that may be cited first."""
        found = self._apart(dataset)
        lines = found.lines if found else ()
        return _table(
            {
                "method": self._title(line.method),
                "KL, same people": f"{line.mixed:.{DECIMALS}f}",
                "KL, other people": f"{line.apart:.{DECIMALS}f}",
                "gain lost": _lost(line.lost),
                "rank": f"{line.rank_mixed} to {line.rank_apart}",
            }
            for line in sorted(lines, key=lambda line: self.project.method(line.method).by_print)
        )

    def _title(self, method: str) -> str:
        """Return a method's title, with a star where printed numbers chose its settings."""
        found = self.project.method(method)
        return found.title + " *" * found.by_print

    def _apart(self, dataset: str) -> PersonsApart | None:
        return next((one for one in self.answer.persons if one.dataset == dataset), None)

    def persons_picture(self, dataset: str) -> Picture:
        """Draw each method's KL under both protocols, a line from one to the other."""
        found = self._apart(dataset)
        if not found:
            text = f"{self.paper.id} has no protocol that keeps the people of {dataset} apart"
            return Picture(text, blank(text))
        lines, places = found.lines, range(len(found.lines))
        mixed, apart = [line.mixed for line in lines], [line.apart for line in lines]
        figure, axes = canvas(0.32 * len(lines) + 1.6, ACROSS)
        axes.plot([mixed, apart], [places, places], color="#cbd5e1")
        axes.plot(mixed, places, "o", label="same people in training and test", **RING)
        axes.plot(apart, places, "s", label="people kept apart", **SQUARE)
        floor = self.answer.unit(f"{found.protocol}/{dataset}/{FLOOR}")
        if floor is not None and (mean := floor.mean("kl")) is not None:
            axes.axvline(mean, color=SOFT, linestyle=":", label="training mean")
            axes.set_xlim(0.95 * min(*mixed, *apart), FAR * mean)
            for place, line in enumerate(lines):
                if min(line.mixed, line.apart) > FAR * mean:
                    words = f"{line.mixed:.{DECIMALS}f}, {line.apart:.{DECIMALS}f} →"
                    axes.text(FAR * mean, place, words, ha="right", va="center")
        axes.set_yticks(range(len(lines)), [self._title(line.method) for line in lines])
        axes.invert_yaxis()
        axes.set_xlabel("KL, lower is better")
        axes.legend()
        return Picture(f"KL on {dataset} with people mixed and kept apart.", _svg(figure))


@dataclass(frozen=True, repr=False)
class Number:
    """A printed number beside what was measured."""

    study: Study
    row: VerdictRow | None
    """None where the paper prints no number."""

    def __repr__(self) -> str:
        return self.row.cell if self.row else "no number"

    @property
    def unit(self) -> UnitScores | None:
        """Return what it was measured by; None where nothing was."""
        return self.study.answer.unit(self.row.unit_key) if self.row else None

    @cached_property
    def facts(self) -> Mapping[str, Any]:
        """Return what ``ldlrepro explain`` tells of it."""
        study = self.study
        return facts_of(self.row, study.answer, study.project) if self.row else {}

    def verdict(self) -> Sentences:
        """Say what was printed, what was measured, and what follows."""
        row = self.row
        if row is None:
            return Sentences(f"{self.study.paper.id} prints no number.")
        lines = []
        for heading, sentences in blocks(row.cell, self.facts).items():
            lines += [f"\n{heading}"] * bool(heading)
            lines += [textwrap.indent(_wrapped(one), "  " * bool(heading)) for one in sentences]
        return Sentences("\n".join(lines))

    def folds(self) -> Picture:
        """Draw the value of each fold beside both means and the training mean."""
        row, values = self.row, self.unit.values(self.row.metric) if self.unit and self.row else []
        if row is None or not values:
            return Picture(NOTHING, blank(NOTHING))
        figure, axes = canvas(3.4, ACROSS)
        title = measure_title(row.metric, self.study.project)
        axes.plot(range(1, len(values) + 1), values, "o", color=MEASURED, label="each fold")
        axes.axhline(statistics.fmean(values), color=MEASURED, label="our mean")
        printed, far = float(row.printed), reach(row.printed, row.noise)
        axes.axhline(printed, color=PRINTED, linestyle="--", label="printed mean")
        axes.axhspan(printed - far, printed + far, color=PRINTED, alpha=0.2, label="met within")
        floor = self.study.answer.unit(f"{row.protocol}/{row.unit_dataset}/{FLOOR}")
        if floor is not None and (mean := floor.mean(row.metric)) is not None:
            axes.axhline(mean, color=SOFT, linestyle=":", label="training mean")
        axes.set_xticks(range(1, len(values) + 1))
        axes.set_xlabel("fold")
        axes.set_ylabel(title)
        axes.legend()
        return Picture(f"{title} of each fold, {row.cell}.", _svg(figure))

    def parameters(self) -> DataFrame:
        """Return every setting, its value and where it comes from."""
        heads = {"chosen_by": "chosen by", "from": "comes from"}
        return _table(self.facts.get("parameters", [])).rename(columns=heads)

    def other_settings(self) -> DataFrame:
        """Return what other settings of the method give on the same folds."""
        return _table(self.facts.get("what moves it", []))


# ---------------------------------------------------------------------- estimators and tables


def arena() -> Standings:
    """Return what the records of the arena say."""
    project = from_environment()
    paths = standings.tables(Workspace().results, project.root / "reference")
    return standings.Standings(standings.read(paths), project.families)


def leaders(board: Standings, first: int = 10) -> DataFrame:
    """Return the first methods of the arena, the best by Elo first."""
    return _table(leading(board, first))


def gains_and_costs(board: Standings) -> Picture:
    """Draw what the methods of the arena gain over the training mean, and what a fit costs."""
    return Picture(standings.sentence(board), trade_off(board))


def load(dataset: str) -> tuple[Any, Any, Any]:
    """Return features, label distributions and groups of a data set, which is prepared if needed.

    Groups, such as the person of each row, are None where nobody knows them.
    """
    project, here = from_environment(), Workspace()
    ready = here.ready(dataset)
    with tempfile.TemporaryDirectory() as folder:
        data = here.data if ready.is_file() and holds_rows(ready) else Path(folder, "data")
        scratch = Workspace(Path(folder, "results"), data)
        make_inputs(project, project.data_set(dataset), None, global_seed(project, None), scratch)
        found = load_ready(scratch.ready(dataset))
    return found.X, found.D, found.groups


def examined(text: str, folds: int | None = None) -> Sentences:
    """Say what is impossible or suspicious in a printed table, given as CSV text."""
    cells, beside = _read(text, folds)
    lines = []
    for finding in linter.examine(cells, beside):
        numbers = ", ".join(map(str, finding.cells))
        said = f"{finding.cell.place}: {numbers}. {finding.why}."
        lines += [
            f"Line {finding.cell.line} is {finding.state}.",
            textwrap.indent(_wrapped(said), "  "),
        ]
    return Sentences("\n".join(lines) or "Nothing is impossible or suspicious.")


def misplaced_mass(text: str) -> Picture:
    """Draw, for each row of a printed table, the share of mass that each measure allows to move.

    All measures of a row describe the same predictions, so their intervals must meet.
    """
    cells, _ = _read(text, None)
    rows = {
        cells_of[next(iter(cells_of))].place: cells_of
        for cells_of in rows_of(cell for cell in cells if not cell.is_gap).values()
    }
    figure, axes = canvas(0.3 * sum(len(row) + 1 for row in rows.values()) + 1.2, ACROSS)
    names: list[str] = []
    for place, row in rows.items():
        known = [c for c in row.values() if c.measure in relations.THROUGH_MASS and c.labels]
        intervals = {cell.measure: relations.mass_of(cell, cell.labels or 0) for cell in known}
        least = max((low for low, _ in intervals.values()), default=0)
        most = min((high for _, high in intervals.values()), default=1)
        for measure, (low, high) in intervals.items():
            wrong = low > most or high < least
            colour = WRONG if wrong else REST
            axes.plot([low, high], [len(names)] * 2, color=colour, linewidth=5)
            names.append(f"{place}: {measure}")
        names.append("")
    axes.set_yticks([place for place, name in enumerate(names) if name], filter(None, names))
    axes.invert_yaxis()
    axes.set_xlabel("share of each distribution that is in the wrong place")
    axes.plot([], [], color=WRONG, linewidth=5, label="cannot all be right")
    axes.plot([], [], color=REST, linewidth=5, label="possible")
    axes.legend()
    return Picture("The mass that each measure allows to be misplaced.", _svg(figure))


def _read(text: str, folds: int | None) -> tuple[list[Any], linter.Beside]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.csv")
        write_text(path, text.strip() + "\n")
        return linter.table_of_file(from_environment(), path, folds)


def _lost(share: float | None) -> str:
    """Return the share of a gain that is lost; what loses more than all is behind the mean."""
    if share is None:
        return "no gain"
    return f"{share:.0%}" if share <= 1 else "all of it"


def _table(lines: Iterable[Mapping[str, object]]) -> DataFrame:
    """Return lines as a table; their first entries name them."""
    import pandas as pd

    found = pd.DataFrame(list(lines))
    return found.set_index(found.columns[0]) if len(found) else found


def _wrapped(text: str) -> str:
    return textwrap.fill(text, WIDTH, break_long_words=False)


def _svg(figure: Any) -> str:
    """Return SVG text whose names are no other picture's: a page shows several of them."""
    text = as_svg(legends_above(figure), transparent=False)
    own = hashlib.sha256(text.encode()).hexdigest()[:8]
    return re.sub(r'(id="|url\(#|href="#)', rf"\g<1>{own}-", text)
