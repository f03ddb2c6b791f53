"""Methods and data sets over all papers: what became of the numbers that are printed of each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ldl.comparison.result import ALPHA, titled
from ldlrepro.arena.advice import of_arena
from ldlrepro.arena.standings import spoken
from ldlrepro.judge.tallies import Tally, tally

if TYPE_CHECKING:
    import pandas as pd

    from ldlrepro.arena.standings import Standings
    from ldlrepro.catalogue import Project
    from ldlrepro.judge.verdicts import VerdictRow
    from ldlrepro.report.content import PaperPage


@dataclass(frozen=True)
class Lead:
    """The method that leads on a data set in the arena."""

    method: str
    gain: str
    """Its gain over the training mean, and how many other methods are tied with it."""
    said: str


@dataclass(frozen=True)
class Subject:
    """A method or a data set."""

    id: str
    title: str
    facts: list[str]
    """Descriptions, a text for each column."""
    papers: list[str]
    """Papers that print numbers of it."""
    counts: Tally
    own_of: list[str]
    """Papers whose own method it is."""
    printed_as: frozenset[str] = frozenset()
    """Names that papers give to it, for a method."""
    why: str = ""
    """The first reason of a printed number that was not judged."""
    lead: Lead | None = None
    arena: str = ""
    """Its name in the arena, for a method that is there."""


def methods(project: Project, pages: Iterable[PaperPage], ranked: Collection[str]) -> list[Subject]:
    """Return every method that a paper prints, those with most numbers that hold first.

    Variants count as their method, and so does every name that a paper gives to it. ``ranked``
    has the names of the arena, which are those of classes.
    """
    pages = list(pages)
    ids = {
        (row.paper, row.method): row.method_id.partition("@")[0]
        for page in pages
        for row in page.rows
        if row.method_id
    }

    def title(name: str) -> str:
        return project.method(name).title if project.has_method(name) else name

    def in_arena(name: str) -> str:
        known = project.has_method(name)
        named = project.method(name).class_path.rpartition(".")[2] if known else ""
        return named if named in ranked else ""

    found = _subjects(
        pages, lambda row: ids.get((row.paper, row.method), row.method), title, lambda _: []
    )
    return [replace(one, arena=in_arena(one.id)) for one in found]


def leads(board: Standings) -> dict[str, Lead]:
    """Return who leads on each data set of the arena."""
    return {
        str(name): _lead(rows, board.measure)
        for name, rows in board.rows.groupby("dataset")
        if name in board.losses.index
    }


def _lead(rows: pd.DataFrame, measure: str) -> Lead:
    found = of_arena(rows, measure, apart=False)
    first, gain = spoken(found.first), f"{found.gain(found.first):.0%}"
    said = (
        f"{first} leads in the arena. Its {titled(measure)} is {found.means[found.first]:.4f}, "
        f"{gain} better than that of the training mean.{found.doubts}"
    )
    unsure = "maybe none better than the mean, " * (found.p(found.mean) > ALPHA)
    told = f"{gain}, {unsure}{len(found.tied)} of {len(found.others)} tied"
    return Lead(first, told, said)


def data_sets(
    project: Project, pages: Iterable[PaperPage], leading: Mapping[str, Lead]
) -> list[Subject]:
    """Return every data set of a paper or of the arena, with who leads on it there."""

    def title(name: str) -> str:
        return project.data_set(name).title if name in project.data_set_ids else name

    def facts(name: str) -> list[str]:
        shape = project.data_set(name).shape if name in project.data_set_ids else None
        sizes = (shape.n, shape.q, shape.c) if shape else (None,) * 3
        return ["" if n is None else f"{n:,}" for n in sizes]

    found = _subjects(pages, lambda row: row.unit_dataset or row.dataset, title, facts)
    printed = {one.id for one in found}
    found += [
        Subject(name, title(name), facts(name), [], tally([]), [])
        for name in leading
        if name not in printed
    ]
    return [replace(one, lead=leading.get(one.id)) for one in found]


def _subjects(
    pages: Iterable[PaperPage],
    key: Callable[[VerdictRow], str],
    title: Callable[[str], str],
    facts: Callable[[str], list[str]],
) -> list[Subject]:
    groups: dict[str, list[tuple[PaperPage, VerdictRow]]] = {}
    for page in pages:
        for row in page.rows:
            groups.setdefault(key(row), []).append((page, row))
    found = [
        Subject(
            name,
            title(name),
            facts(name),
            list(dict.fromkeys(page.id for page, _ in cells)),
            tally(row for _, row in cells),
            list(dict.fromkeys(page.id for page, row in cells if row.method in page.paper.own)),
            frozenset(row.method for _, row in cells),
            next((row.reason for _, row in cells if row.reason), ""),
        )
        for name, cells in groups.items()
    ]
    return sorted(found, key=lambda one: (-one.counts.holds, -one.counts.judged, one.title))
