"""Methods and data sets over all papers: what became of the numbers that are printed of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ldlrepro.judge.tallies import Tally, tally

if TYPE_CHECKING:
    from ldlrepro.judge.verdicts import VerdictRow
    from ldlrepro.report.content import PaperPage


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


def methods(pages: Iterable[PaperPage]) -> list[Subject]:
    """Return every method that a paper prints, those with most numbers that hold first.

    Variants count as their method, and so does every name that a paper gives to it.
    """
    pages = list(pages)
    ids = {
        (row.paper, row.method): row.method_id.partition("@")[0]
        for page in pages
        for row in page.rows
        if row.method_id
    }

    def title(page: PaperPage, name: str) -> str:
        return page.project.method(name).title if page.project.has_method(name) else name

    return _subjects(
        pages, lambda row: ids.get((row.paper, row.method), row.method), title, lambda *_: []
    )


def data_sets(pages: Iterable[PaperPage], leaders: Mapping[str, str]) -> list[Subject]:
    """Return every data set that a paper prints numbers of, with who leads on it in the arena."""

    def title(page: PaperPage, name: str) -> str:
        known = name in page.project.data_set_ids
        return page.project.data_set(name).title if known else name

    def facts(page: PaperPage, name: str) -> list[str]:
        known = name in page.project.data_set_ids
        shape = page.project.data_set(name).shape if known else None
        sizes = (shape.n, shape.q, shape.c) if shape else (None,) * 3
        return [*("" if n is None else f"{n:,}" for n in sizes), leaders.get(name, "")]

    return _subjects(pages, lambda row: row.unit_dataset or row.dataset, title, facts)


def _subjects(
    pages: Iterable[PaperPage],
    key: Callable[[VerdictRow], str],
    title: Callable[[PaperPage, str], str],
    facts: Callable[[PaperPage, str], list[str]],
) -> list[Subject]:
    groups: dict[str, list[tuple[PaperPage, VerdictRow]]] = {}
    for page in pages:
        for row in page.rows:
            groups.setdefault(key(row), []).append((page, row))
    found = [
        Subject(
            name,
            title(cells[0][0], name),
            facts(cells[0][0], name),
            list(dict.fromkeys(page.id for page, _ in cells)),
            tally(row for _, row in cells),
            list(dict.fromkeys(page.id for page, row in cells if row.method in page.paper.own)),
        )
        for name, cells in groups.items()
    ]
    return sorted(found, key=lambda one: (-one.counts.holds, -one.counts.judged, one.title))
