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
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ldlrepro import config, plan
from ldlrepro.catalogue import digests
from ldlrepro.catalogue.modules import package_of
from ldlrepro.core.errors import UserError, nearest
from ldlrepro.core.files import write_text
from ldlrepro.train import provenance

if TYPE_CHECKING:
    from ldlrepro.data import Dataset
    from ldlrepro.folds.splits import Fold

LOCAL, REFERENCE = "local", "reference"


@dataclass(frozen=True)
class Inputs:
    """Inputs of an experiment: data sets that are here, and their folds."""

    results: Path
    data: Path
    datasets: list[str]
    protocol: str = ""
    say: Callable[[str], None] = print
    images: bool = False

    def load(self, dataset: str) -> Dataset:
        """Load a data set, with pixels as features where the experiment asks for ``images``."""
        data = _ready(self.data / "ready" / f"{dataset}.npz")
        if not self.images:
            return data
        from ldlrepro.data.pixels import load_pixels, pixels_path

        return replace(data, X=load_pixels(pixels_path(dataset, self.data))[0])

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

        return read_folds(self.results / "folds" / self.protocol / f"{dataset}.npz")[0]


@cache
def _ready(path: Path) -> Dataset:
    from ldlrepro.data import load_ready

    return load_ready(path)


@dataclass
class Outcome:
    """Measurements; everything in them can be written as JSON."""

    facts: dict[str, float] = field(default_factory=dict)
    """Named numbers that claims refer to."""
    cells: list[dict[str, Any]] = field(default_factory=list)
    """Measured values of printed ones: dataset, setting, method, metric, mean, std, n."""
    tables: list[dict[str, Any]] = field(default_factory=list)
    """For people: title, columns, rows."""
    series: dict[str, Any] = field(default_factory=dict)
    """Content of the drawings, for ``draw``."""

    def add_table(
        self, title: str, columns: Iterable[str], rows: Iterable[Iterable[object]]
    ) -> None:
        table = {"title": title, "columns": list(columns), "rows": [list(row) for row in rows]}
        self.tables.append(table)


def run(paper: str, name: str, inputs: Inputs) -> dict[str, Any]:
    """Run an experiment; return what it measured and with what."""
    spec = plan.experiment(paper, name)
    started, clock = datetime.now(UTC), time.perf_counter()
    code = module_name(paper, spec["code"])
    outcome: Outcome = import_module(code).measure(inputs, **spec["parameters"])
    data = {d: inputs.load(d).fingerprint["data_sha256"] for d in inputs.available()}
    return {
        "paper": paper,
        "experiment": name,
        **asdict(outcome),
        "provenance": {
            "started_at": started.isoformat(timespec="seconds"),
            "seconds": round(time.perf_counter() - clock, 1),
            "git_commit": provenance.git_commit(),
            "code_sha256": digests.stage_digest(code, modules=config.current().modules),
            "lock_sha256": provenance.lock_digest(),
            "data_sha256": data,
            "versions": provenance.versions(),
            "machine": provenance.machine(),
        },
    }


def module_name(paper: str, code: str) -> str:
    """Return the full name of a measurement's module, which can be imported after that."""
    folder = config.paper_file(paper).parent
    if (folder / f"{code}.py").is_file():
        return f"{package_of(folder)}.{code}"
    shared = [name for _, name, _ in pkgutil.iter_modules(__path__)]
    if code in shared:
        return f"{__name__}.{code}"
    where = f"{config.shown(folder)}: experiments"
    raise UserError(f"{where}: there is no {code}.py.{nearest(code, shared)}")


def place(folder: Path, paper: str, name: str) -> Path:
    """Return the place of an experiment's file under results/ or reference/."""
    return folder / "experiments" / paper / f"{name}.json"


def write(found: dict[str, Any], folder: Path) -> Path:
    """Write the outcome of an experiment; return its place."""
    path = place(folder, found["paper"], found["experiment"])
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps(found, indent=1, allow_nan=False) + "\n")
    return path


def read(paper: str, name: str, results: Path) -> dict[str, Any] | None:
    """Read the local measurement, else the maintainers'; return None without either."""
    for source, folder in ((LOCAL, results), (REFERENCE, config.project_root() / "reference")):
        path = place(folder, paper, name)
        if path.is_file():
            return {**json.loads(path.read_text(encoding="utf-8")), "source": source}
    return None


def read_all(paper: str, results: Path) -> dict[str, dict[str, Any]]:
    """Read every experiment of a paper that has been measured."""
    names = config.load_paper(paper).get("experiments", {})
    found = {name: read(paper, name, results) for name in names}
    return {name: outcome for name, outcome in found.items() if outcome is not None}


def drawings(paper: str, found: dict[str, Any]) -> dict[str, Any]:
    """Draw an experiment: Matplotlib figures by the number of the printed figure."""
    code = plan.experiment(paper, found["experiment"])["code"]
    draw = getattr(import_module(module_name(paper, code)), "draw", None)
    return draw(found["series"]) if draw else {}
