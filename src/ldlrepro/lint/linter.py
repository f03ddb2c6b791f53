"""Applies all rules to a table, with what is known beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from ldlrepro.catalogue import Paper, Project
from ldlrepro.core.errors import plain
from ldlrepro.core.workspace import Workspace
from ldlrepro.data import DataUnavailable, load_ready
from ldlrepro.lint import copies, counts, deviations, layout, relations, yardsticks
from ldlrepro.lint.findings import IMPOSSIBLE, Finding
from ldlrepro.lint.tables import Cell, read_table, rows_of

Name = tuple[str, str, str, str, str]
"""Table, data set, setting, method and measure."""


@dataclass(frozen=True)
class Beside:
    """What is known beside a table's numbers. Each part may lack; its rules then say nothing."""

    parts: int | None = None
    """Folds or repeats that deviations are over."""
    is_variance: bool = False
    """Whether variances are printed in place of deviations."""
    even: Mapping[str, int] = field(default_factory=dict)
    """Data set -> rows of all folds together, where folds are equally large."""
    means: yardsticks.Yardstick = field(default_factory=dict)
    """Data set -> measure -> what the training mean scores."""
    floors: Mapping[str, float] = field(default_factory=dict)
    """Data set -> the lowest error probability."""
    others: Mapping[str, Sequence[Cell]] = field(default_factory=dict)
    """Paper -> its printed cells."""
    declared: frozenset[str] = frozenset()
    """Methods of which it is said that their numbers are another paper's."""
    misprints: frozenset[Name] = frozenset()
    """Cells that are listed as misprints, with their proof, and are no findings."""


def examine(cells: Sequence[Cell], beside: Beside) -> list[Finding]:
    """Return what is impossible or suspicious in a table, by line, the impossible first."""
    found = [
        finding
        for finding in _findings(cells, beside)
        if not any((*cell.row, cell.measure) in beside.misprints for cell in finding.suspects)
    ]
    return sorted(found, key=lambda f: (f.state != IMPOSSIBLE, f.cell.line))


def examine_paper(project: Project, paper: Paper) -> list[Finding]:
    """Do what ``examine`` does for the printed cells of a paper."""
    return examine(*table_of_paper(project, paper))


def _findings(cells: Sequence[Cell], beside: Beside) -> Iterator[Finding]:
    yield from layout.left_out(cells)
    cells = [cell for cell in cells if not cell.is_gap]
    unlisted = [cell for cell in cells if (*cell.row, cell.measure) not in beside.misprints]
    rows = rows_of(unlisted)
    yield from relations.out_of_range(unlisted)
    yield from relations.contradicting(rows)
    yield from deviations.too_wide(unlisted, beside.parts, beside.is_variance)
    yield from deviations.unlike_its_twin(rows)
    alike = list(deviations.all_alike(cells))
    yield from alike
    yield from deviations.shifted(unlisted, {finding.cell.method for finding in alike})
    yield from counts.no_whole_number(cells, beside.even)
    yield from counts.wrong_sums(rows)
    yield from counts.wrong_averages(unlisted)
    yield from layout.wrong_ranks(cells)
    yield from layout.fewer_digits(cells)
    yield from layout.typed_twice(rows)
    yield from copies.in_two_tables(cells)
    yield from copies.of_other_papers(cells, beside.others, beside.declared)
    theirs = [cell for mine in beside.others.values() for cell in mine]
    yield from copies.equal_rows(cells, theirs)
    yield from yardsticks.worse_than_the_mean(rows, beside.means)
    yield from yardsticks.better_than_the_labels(rows, beside.floors)


# ---------------------------------------------------------------------- what is known


def table_of_paper(project: Project, paper: Paper) -> tuple[list[Cell], Beside]:
    """Return a paper's printed cells, and what its file and the project say of them."""
    cells = _read(project, paper)
    declared = {
        name
        for one in project.papers
        for other in one.copied
        if paper.id in (one.id, other.source)
        for name in (*other.methods, other.their_name)
    }
    protocol = paper.main_protocol
    parts = protocol.count_folds()
    beside = _beside(project, cells, parts if protocol.scheme == "kfold" else None, paper.id)
    known = {(m.table, m.dataset, m.setting, m.method, m.metric) for m in paper.misprints}
    return cells, replace(
        beside,
        parts=parts,
        is_variance=paper.spread == "variance",
        declared=frozenset(declared),
        misprints=frozenset(known),
    )


def table_of_file(project: Project, path: Path, folds: int | None) -> tuple[list[Cell], Beside]:
    """Return the cells of a file, its data sets by the project's ids, and what is known of them."""
    ids = {plain(name): name for name in project.data_set_ids}
    cells = [
        replace(cell, dataset=ids.get(plain(cell.dataset), cell.dataset))
        for cell in read_table(path, str(path))
    ]
    cells = [_with_labels(project, cell, cell.dataset) for cell in cells]
    return cells, replace(_beside(project, cells, folds, ""), parts=folds)


def _read(project: Project, paper: Paper) -> list[Cell]:
    path = paper.beside("cells.csv")
    if not path.is_file():
        return []
    cells = read_table(path, paper.id)
    return [_with_labels(project, cell, paper.use_dataset.get(cell.dataset)) for cell in cells]


def _numbers(project: Project, paper: Paper) -> list[Cell]:
    return [cell for cell in _read(project, paper) if not cell.is_gap]


def _with_labels(project: Project, cell: Cell, named: str | None) -> Cell:
    """Return a cell with the number of labels of its data set, where the project knows it."""
    dataset = named or cell.dataset
    known = project.data_set(dataset).shape if dataset in project.data_set_ids else None
    return replace(cell, labels=known.c) if known and cell.labels is None else cell


def _beside(project: Project, cells: Sequence[Cell], folds: int | None, paper: str) -> Beside:
    datasets = {cell.dataset for cell in cells} & {*project.data_set_ids}
    shapes = {name: project.data_set(name).shape for name in datasets}
    even = {n: s.n for n, s in shapes.items() if s and s.n and folds and s.n % folds == 0}
    others = {p.id: _numbers(project, p) for p in project.real_papers() if p.id != paper}
    means = yardsticks.training_means(project.root / "reference")
    labels = {one.id: one.labels_of for one in project.data_sets}
    means = {labels.get(name) or name: scores for name, scores in means.items()}
    wanted = {cell.dataset for cell in cells if cell.measure == "error_probability"}
    floors = {name: floor for name in wanted & datasets if (floor := _floor(project, name))}
    return Beside(even=even, means=means, floors=floors, others=others)


def _floor(project: Project, dataset: str) -> float | None:
    """Return the lowest error probability that labels allow, where they are prepared here."""
    path = Workspace(data=project.root / "data").ready(dataset)
    try:
        return float(1 - np.max(load_ready(path).D, axis=1).mean())
    except (FileNotFoundError, DataUnavailable):
        return None
