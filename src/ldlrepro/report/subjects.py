"""Methods and data sets over all papers: what became of the numbers that are printed of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ldl.comparison.contenders import MEAN
from ldl.comparison.result import ALPHA, corrected_t, titled
from ldlrepro.arena.standings import best_of_each, method_of, spoken
from ldlrepro.judge.tallies import Tally, tally

if TYPE_CHECKING:
    import pandas as pd

    from ldlrepro.arena.standings import Standings
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
    lead: Lead | None = None


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


def leads(board: Standings) -> dict[str, Lead]:
    """Return who leads on each data set of the arena."""
    return {
        str(name): _lead(rows, board.measure)
        for name, rows in board.rows.groupby("dataset")
        if name in board.losses.index
    }


def _lead(rows: pd.DataFrame, measure: str) -> Lead:
    folds = rows.pivot_table(measure, "fold", ["method", "kind"]).dropna(axis=1)
    folds.columns = [", ".join(names) for names in folds.columns]
    mean = f"{MEAN}, default"
    order = folds.mean().sort_values(kind="stable").index
    best = best_of_each({"method": str(name)} for name in order)
    first, *others = [line["method"] for line in best]

    def is_tied(name: str) -> bool:  # training rows are to test rows as other folds to one
        return corrected_t(folds[first] - folds[name], len(folds) - 1, 1) > ALPHA

    others = [name for name in others if method_of(name) != MEAN]
    tied = sum(map(is_tied, others))
    gain = f"{1 - folds[first].mean() / folds[mean].mean():.0%}"
    chance = " Chance alone could give that gain." if is_tied(mean) else ""
    said = (
        f"{spoken(first)} leads in the arena. Its {titled(measure)} is {folds[first].mean():.4f}, "
        f"{gain} below that of the training mean.{chance} {len(folds)} folds cannot tell {tied} of "
        f"{len(others)} other methods from it."
    )
    return Lead(spoken(first), f"{gain}, {tied} of {len(others)} tied", said)


def data_sets(pages: Iterable[PaperPage], leading: Mapping[str, Lead]) -> list[Subject]:
    """Return every data set that a paper prints numbers of, with who leads on it in the arena."""

    def title(page: PaperPage, name: str) -> str:
        known = name in page.project.data_set_ids
        return page.project.data_set(name).title if known else name

    def facts(page: PaperPage, name: str) -> list[str]:
        known = name in page.project.data_set_ids
        shape = page.project.data_set(name).shape if known else None
        sizes = (shape.n, shape.q, shape.c) if shape else (None,) * 3
        return ["" if n is None else f"{n:,}" for n in sizes]

    found = _subjects(pages, lambda row: row.unit_dataset or row.dataset, title, facts)
    return [replace(one, lead=leading.get(one.id)) for one in found]


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
