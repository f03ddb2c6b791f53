"""Turns papers into units: which (protocol, data set, method) must run, and for which cells.

The Snakefile, the command line and the verdicts all read this plan.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property

from ldlrepro.catalogue import (
    DataSet,
    Extra,
    Figure,
    Method,
    Paper,
    PrintedSetting,
    Project,
    Protocol,
    Remark,
    RunConfig,
)
from ldlrepro.core.errors import UserError
from ldlrepro.core.groups import grouped
from ldlrepro.plan import printed, sweeps
from ldlrepro.plan.past_runs import PastRuns
from ldlrepro.plan.units import Cell, Chunk, Unit

CONTROLS = ("uniform", "train_mean", "true_labels")  # that run on a user's own data, too
LONGEST_JOB_S = 60.0
"""Units that were measured are cut into jobs of this length, but never within a fold."""


@dataclass(frozen=True, eq=False)
class Plan:
    """What runs in a project, and for which cells. Each paper is planned when it is asked for."""

    project: Project
    _rows: dict[str, list[printed.Row]] = field(default_factory=dict, repr=False)
    _cells: dict[str, list[Cell]] = field(default_factory=dict, repr=False)

    @cached_property
    def past_runs(self) -> PastRuns:
        """Return the measurements of the maintainers' runs."""
        return PastRuns(self.project)

    # ------------------------------------------------------------------ units by name

    def unit(self, protocol: str, data_set: str, method: str) -> Unit:
        """Return a unit by the ids of its parts; refuse what needs persons that nobody knows."""
        project = self.project
        rows = project.data_set(data_set)
        unit = Unit(project.protocol(protocol), rows, project.method(method))
        knows = rows.names_persons or rows.reader == "images"  # photographs may name them
        if unit.protocol.scheme == "leave_one_group_out" and not knows:
            raise UserError(
                f"{protocol} keeps persons whole, but {data_set} does not say whose row each is. "
                "Choose another protocol: `ldlrepro list papers --wide`."
            )
        return unit

    def unit_of(self, key: str) -> Unit:
        """Return a unit by its key, ``protocol/dataset/method``."""
        parts = key.split("/")
        if len(parts) != 3:
            raise UserError(f"'{key}' does not name a unit. Write protocol/dataset/method.")
        return self.unit(*parts)

    # ------------------------------------------------------------------ cells

    def published(self, paper: Paper) -> list[printed.Row]:
        """Read every printed row of a paper, dashes included, as text."""
        if paper.id not in self._rows:
            path = paper.beside("cells.csv")
            self._rows[paper.id] = printed.read(path, paper, self.project) if path.is_file() else []
        return self._rows[paper.id]

    def cells(self, paper: Paper) -> list[Cell]:
        """Return the printed numbers of a paper in the order of its file."""
        if paper.id not in self._cells:
            proofs = self.copies(paper)
            self._cells[paper.id] = [
                replace(self._cell(paper, row), copied=proofs.get(number, ""))
                for number, row in enumerate(self.published(paper))
                if row["mean"]
            ]
        return self._cells[paper.id]

    def copies(self, paper: Paper) -> dict[int, str]:
        """Return number of row -> proof, for printed numbers that another paper has to the digit.

        If the mean or the standard deviation of a cell in a copied column differs, the cell is the
        paper's own.
        """
        found = {}
        for entry in paper.copied:
            others = self.published(self.project.paper(entry.source))
            theirs = grouped(others, lambda row: (row["method"], row["dataset"], row["metric"]))
            for number, row in enumerate(self.published(paper)):
                if row["table"] in entry.tables and row["method"] in entry.methods:
                    method = entry.their_name or row["method"]
                    for other in theirs.get((method, row["dataset"], row["metric"]), []):
                        if _is_copy(row, other, entry):
                            where = f"{entry.source}, Table {other['table']}"
                            found[number] = f"equals {where}, to the digit: {entry.proof}"
        return found

    def _cell(self, paper: Paper, row: printed.Row) -> Cell:
        entry, table = paper.methods[row["method"]], paper.tables[row["table"]]
        setting = table.settings.get(row["setting"], PrintedSetting())
        unavailable = paper.not_available.get(row["dataset"], "")
        if skip := entry.skip or unavailable:
            return Cell(row, None, skip, entry.note if entry.method else "")
        if table.experiment:
            return Cell(row, None, "", entry.note, experiment=table.experiment)
        name = entry.in_row(row)
        if setting.variant:
            name = f"{name.partition('@')[0]}@{setting.variant}"
        protocol = self._protocol(paper, setting.protocol or table.protocol)
        named = paper.use_dataset.get(row["dataset"], row["dataset"])
        data_set = self.project.data_set(setting.dataset or named)
        unit = Unit(protocol, data_set, self._method(paper, name, f"methods.{row['method']}"))
        others: tuple[Unit, ...] = ()
        for number, choice in enumerate(paper.candidates):
            mine = row["method"] in choice.methods and row["metric"] not in printed.TIMES
            if mine and not setting.variant:  # else the table names what runs
                key = f"candidates.{number}"
                unit, *rest = (self._reading(paper, r, unit, key) for r in choice.readings)
                others = tuple(rest)
        base = None
        if row["metric"].startswith(printed.DELTA):
            other = paper.methods[table.compared_to].in_row(row)
            base = replace(unit, method=self._method(paper, other, f"methods.{table.compared_to}"))
        return Cell(row, unit, "", entry.note, others, base)

    def _reading(self, paper: Paper, reading: str, unit: Unit, key: str) -> Unit:
        """Return the unit of a reading, ``protocol``, ``method`` or ``protocol/method``."""
        protocol, _, method = reading.rpartition("/")
        if not protocol and method in paper.protocols:
            protocol, method = method, ""
        return Unit(
            self.project.protocol(protocol) if protocol else unit.protocol,
            unit.data_set,
            self._method(paper, method, key) if method else unit.method,
        )

    def _protocol(self, paper: Paper, chosen: str) -> Protocol:
        """Return the protocol that some key chooses, else the main one."""
        return self.project.protocol(chosen) if chosen else paper.main_protocol

    def _method(self, paper: Paper, name: str, key: str) -> Method:
        try:
            return self.project.method(name)
        except UserError as error:
            raise UserError(f"{paper.shown_file}: {key}: {error}") from None

    # ------------------------------------------------------------------ units

    def units(self, paper: Paper, *, extra: bool = True) -> list[Unit]:
        """Return a paper's units, sorted."""
        cells = self.cells(paper)
        units = {cell.unit for cell in cells if cell.unit is not None and not cell.skip}
        units |= set(self._unprinted(paper))
        units |= set(self._own_units(paper, {(unit.protocol, unit.data_set) for unit in units}))
        units |= {unit for cell in cells for unit in cell.others}
        if extra:
            for number, block in enumerate(paper.extra):
                units |= set(self._extra(paper, block, f"extra.{number}.methods"))
            for figure in paper.figures.values():
                units |= set(self.figure_units(paper, figure).values())
        return sorted(units)

    def run_units(self, run: RunConfig, paper: Paper) -> list[Unit]:
        """Return the units of a paper under a run configuration, with its slice applied."""
        data_sets, methods = run.only.datasets, run.only.methods
        return [
            unit
            for unit in self.units(paper, extra=run.extra)
            if (not data_sets or unit.data_set.id in data_sets)
            and (not methods or unit.method.id in methods)
        ]

    def run_experiments(self, run: RunConfig, paper: Paper) -> list[str]:
        """Return the experiments of a paper. A slice, or a run without extras, has none."""
        return sorted(paper.experiments) if run.extra and not run.only else []

    def figure_units(self, paper: Paper, figure: Figure) -> dict[sweeps.Point, Unit]:
        """Return the unit behind each point of a figure."""
        if not figure.x:
            return {}
        protocol = self._protocol(paper, figure.protocol)
        data_set = self.project.data_set(figure.dataset)
        return {
            point: Unit(protocol, data_set, self.project.method(point.method))
            for point in sweeps.points(figure, self.project)
        }

    def _extra(self, paper: Paper, block: Extra, key: str) -> Iterator[Unit]:
        protocol = self._protocol(paper, block.protocol)
        printed_on = [paper.use_dataset.get(name, name) for name in paper.datasets]
        for name in block.datasets or printed_on:
            data_set = self.project.data_set(name)
            for method in block.methods:
                yield Unit(protocol, data_set, self._method(paper, method, key))

    def _unprinted(self, paper: Paper) -> Iterator[Unit]:
        """Yield every method on every data set, for a paper without printed numbers."""
        if self.published(paper):
            return
        for name in paper.datasets:
            for printed_name, entry in paper.methods.items():
                if entry.method:
                    method = self._method(paper, entry.method, f"methods.{printed_name}")
                    yield Unit(paper.main_protocol, self.project.data_set(name), method)

    def _own_units(self, paper: Paper, places: set[tuple[Protocol, DataSet]]) -> Iterator[Unit]:
        """Yield own methods wherever the paper's methods run, and the paper's methods on own data.

        The main protocol applies to own data. Methods that need more than features and labels do
        not run there. Own files in the folder of a paper run only where that paper says so.
        """
        project = self.project
        methods = [project.method(name) for name in self._of_no_paper("method")]
        for protocol, data_set in places:
            yield from (Unit(protocol, data_set, method) for method in methods)
        data_sets = [project.data_set(name) for name in self._of_no_paper("dataset")]
        if not data_sets:
            return
        main = paper.main_protocol
        theirs = {e.method for e in paper.methods.values() if e.method and not e.skip}
        anywhere = [m for m in map(project.method, sorted(theirs)) if not m.needs]
        controls = [project.method(name) for name in CONTROLS]
        for data_set in data_sets:
            if data_set.names_persons or main.scheme != "leave_one_group_out":
                for method in {*anywhere, *methods, *controls}:
                    yield Unit(main, data_set, method)

    def _of_no_paper(self, kind: str) -> list[str]:
        own = self.project.own.found[kind]
        return [
            name for name in self.project.own_ids(kind) if not own[name.partition("@")[0]].of_paper
        ]

    # ------------------------------------------------------------------ jobs

    def chunks(self, unit: Unit) -> list[Chunk]:
        """Cut the unit's folds into jobs.

        The cut follows the times of the reference, or the method's file. It ignores what this
        checkout measured, because it names files and must not change with every run.
        """
        count = unit.count_folds()
        if count is None:
            return [Chunk(unit)]
        known = self.past_runs.reference(unit)
        if known is not None and len(known.seconds) == count:
            edges = _edges_by_time(known.seconds)
        else:
            jobs = -(-count // unit.resources.folds_per_job)
            edges = [round(i * count / jobs) for i in range(jobs + 1)]
        return [Chunk(unit, a, b - 1) for a, b in itertools.pairwise(edges)]


def _edges_by_time(seconds: Sequence[float]) -> list[int]:
    edges, length = [0], 0.0
    for fold, duration in enumerate(seconds):
        if fold > edges[-1] and length + duration > LONGEST_JOB_S:
            edges.append(fold)
            length = 0.0
        length += duration
    return [*edges, len(seconds)]


def _is_copy(row: Mapping[str, str], other: Mapping[str, str], entry: Remark) -> bool:
    """Tell whether two rows of the same thing print the same mean and standard deviation."""
    if entry.kind == "copied_means":
        return same_to_fewer_digits(row["mean"], other["mean"])
    return all(same_number(row[part], other[part]) for part in ("mean", "std"))


def same_number(one: str, other: str) -> bool:
    """Tell whether two printed numbers are the same, ignoring zeros at the end."""
    return bool(one and other) and Decimal(one) == Decimal(other)


def same_to_fewer_digits(one: str, other: str) -> bool:
    """Tell whether two printed numbers may be the same, with one rounded to fewer digits.

    A final five may have been rounded either way.
    """
    if not (one and other):
        return False
    digits = min(len(text.partition(".")[2]) for text in (one, other))
    return abs(Decimal(one) - Decimal(other)) <= Decimal(5).scaleb(-digits - 1)


def is_quoted(row: Mapping[str, str]) -> bool:
    """Tell whether the paper itself says that it took the number from elsewhere."""
    return bool(row["quoted_from"]) and not row["quoted_from"].startswith("inferred")
