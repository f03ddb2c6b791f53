"""Measurements of a paper that are no units: timings, traces, embeddings, diagnostics.

A paper's YAML names a module in the paper's own folder, or one of this package, which several
papers share. The module has ``measure(inputs, **parameters)``, which returns an ``Outcome``. It may
have ``draw(series)``, which returns drawings by the figure's number. Measurements are kept as JSON:
``results/experiments/<paper>/<name>.json``, or the maintainers' under ``reference/experiments/``.
"""

from __future__ import annotations

import json
import pkgutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ldlrepro.catalogue import Paper, Project, Protocol, digests
from ldlrepro.catalogue.modules import package_of
from ldlrepro.core.errors import UserError, nearest
from ldlrepro.core.files import write_text
from ldlrepro.core.workspace import Workspace
from ldlrepro.plan import Plan
from ldlrepro.train import provenance

if TYPE_CHECKING:
    from ldl.base import LDLEstimator
    from ldlrepro.data import Dataset
    from ldlrepro.folds.splits import Fold

LOCAL, REFERENCE = "local", "reference"


@dataclass(frozen=True)
class Inputs:
    """Inputs of an experiment: data sets that are here, and their folds."""

    plan: Plan
    workspace: Workspace
    datasets: Sequence[str]
    folds_of: Protocol | None = None
    """The protocol whose folds it uses, where it uses any."""
    say: Callable[[str], None] = print
    images: bool = False
    """Whether data sets come with pixels as features."""
    _read: dict[str, Dataset] = field(default_factory=dict, repr=False)

    @property
    def project(self) -> Project:
        return self.plan.project

    @property
    def protocol(self) -> Protocol:
        assert self.folds_of is not None  # the experiment names it
        return self.folds_of

    def estimator(self, method: str, **overrides: Any) -> LDLEstimator:
        """Return the unfitted estimator of a method."""
        return self.project.method(method).estimator(**overrides)

    def load(self, dataset: str) -> Dataset:
        """Load a data set."""
        from ldlrepro.data import load_ready
        from ldlrepro.data.pixels import load_pixels

        if dataset not in self._read:
            data = load_ready(self.workspace.ready(dataset))
            if self.images:
                data = replace(data, X=load_pixels(self.workspace.pixels(dataset))[0])
            self._read[dataset] = data
        return self._read[dataset]

    def available(self) -> list[str]:
        from ldlrepro.data import DataUnavailable

        found = []
        for dataset in self.datasets:
            try:
                self.load(dataset)
            except (FileNotFoundError, DataUnavailable):
                continue
            found.append(dataset)
        return found

    def folds(self, dataset: str) -> list[Fold]:
        from ldlrepro.folds.splits import read_folds

        return read_folds(self.workspace.folds(self.protocol.id, dataset))[0]


@dataclass(frozen=True)
class MeasuredCell:
    """The measured value of a printed one."""

    dataset: str
    setting: str
    method: str
    metric: str
    mean: float
    std: float | None
    n: int


@dataclass(frozen=True)
class MeasuredTable:
    """A table for people."""

    title: str
    columns: list[str]
    rows: list[list[Any]]


@dataclass
class Outcome:
    """Measurements; everything in them can be written as JSON."""

    facts: dict[str, float] = field(default_factory=dict)
    """Named numbers that claims refer to."""
    cells: list[MeasuredCell] = field(default_factory=list)
    tables: list[MeasuredTable] = field(default_factory=list)
    series: dict[str, Any] = field(default_factory=dict)
    """Content of the drawings, for ``draw``."""

    def add_table(
        self, title: str, columns: Iterable[str], rows: Iterable[Iterable[object]]
    ) -> None:
        self.tables.append(MeasuredTable(title, list(columns), [list(row) for row in rows]))


@dataclass(frozen=True)
class Provenance:
    """The code, data and machine that an experiment was measured with."""

    started_at: str
    seconds: float
    git_commit: str
    code_sha256: str
    lock_sha256: str
    data_sha256: dict[str, str]
    versions: dict[str, str]
    machine: dict[str, Any]


@dataclass(frozen=True)
class Measurement:
    """The measurement of an experiment, and its provenance."""

    paper: str
    experiment: str
    facts: dict[str, float]
    cells: list[MeasuredCell]
    tables: list[MeasuredTable]
    series: dict[str, Any]
    provenance: Provenance
    source: str = LOCAL
    """'local' (results/) or 'reference' (reference/)."""


def run(paper: Paper, name: str, inputs: Inputs) -> Measurement:
    """Run an experiment."""
    asked = paper.experiment(name)
    started, clock = datetime.now(UTC), time.perf_counter()
    module, root = import_module(module_name(paper, asked.code)), inputs.project.root
    outcome: Outcome = module.measure(inputs, **asked.parameters)
    data = {d: inputs.load(d).fingerprint["data_sha256"] for d in inputs.available()}
    return Measurement(
        paper.id,
        name,
        **vars(outcome),
        provenance=Provenance(
            started_at=started.isoformat(timespec="seconds"),
            seconds=round(time.perf_counter() - clock, 1),
            git_commit=provenance.git_commit(root),
            code_sha256=code_digest(paper, name),
            lock_sha256=provenance.lock_digest(root),
            data_sha256=data,
            versions=provenance.versions(),
            machine=provenance.machine(),
        ),
    )


def code_digest(paper: Paper, name: str) -> str:
    """Return the digest of an experiment's code of today, and of all that it imports."""
    code = module_name(paper, paper.experiment(name).code)
    return digests.stage_digest(code, modules=paper.project.modules)


def module_name(paper: Paper, code: str) -> str:
    """Return the full name of a measurement's module, which can be imported after that."""
    folder = paper.file.parent
    if (folder / f"{code}.py").is_file():
        paper.project.modules.take_turn()
        return f"{package_of(folder)}.{code}"
    shared = [name for _, name, _ in pkgutil.iter_modules(__path__)]
    if code in shared:
        return f"{__name__}.{code}"
    where = f"{paper.project.shown(folder)}: experiments"
    raise UserError(f"{where}: there is no {code}.py.{nearest(code, shared)}")


def place(folder: Path, paper: str, name: str) -> Path:
    """Return the place of an experiment's file under results/ or reference/."""
    return folder / "experiments" / paper / f"{name}.json"


def write(found: Measurement, folder: Path) -> Path:
    """Write the outcome of an experiment; return its place."""
    path = place(folder, found.paper, found.experiment)
    path.parent.mkdir(parents=True, exist_ok=True)
    plain = asdict(found)
    del plain["source"]  # the place tells it
    write_text(path, json.dumps(plain, indent=1, allow_nan=False) + "\n")
    return path


def read(paper: Paper, name: str, results: Path) -> Measurement | None:
    """Read the local measurement, else the maintainers'; return None without either.

    One that had no data stands behind one that had.
    """
    folders = {LOCAL: results, REFERENCE: paper.project.root / "reference"}
    paths = {source: place(folder, paper.id, name) for source, folder in folders.items()}
    found = [
        _measurement(json.loads(path.read_text(encoding="utf-8")), source)
        for source, path in paths.items()
        if path.is_file()
    ]
    found.sort(key=lambda each: not each.provenance.data_sha256)  # else local first, as they are
    return found[0] if found else None


def _measurement(plain: Mapping[str, Any], source: str) -> Measurement:
    made: dict[str, Any] = {
        **plain,
        "cells": [MeasuredCell(**cell) for cell in plain["cells"]],
        "tables": [MeasuredTable(**table) for table in plain["tables"]],
        "provenance": Provenance(**plain["provenance"]),
    }
    return Measurement(**made, source=source)


def read_all(paper: Paper, results: Path) -> dict[str, Measurement]:
    """Read every experiment of a paper that has been measured."""
    found = {name: read(paper, name, results) for name in paper.experiments}
    return {name: outcome for name, outcome in found.items() if outcome is not None}


def drawings(paper: Paper, found: Measurement) -> dict[str, Any]:
    """Draw an experiment: Matplotlib figures by the number of the printed figure."""
    code = paper.experiment(found.experiment).code
    draw = getattr(import_module(module_name(paper, code)), "draw", None)
    return draw(found.series) if draw else {}
