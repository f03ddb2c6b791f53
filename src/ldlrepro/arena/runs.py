"""Runs methods on a public data set as the protocol of the arena says, fold by fold.

The protocol was written down before its first run, on 26 November 2026; ``PROTOCOL`` is what the
code heeds of it. A finished fold of a method is kept, and computed again only where data, code or
the protocol have changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ldl import metrics
from ldl.comparison import store
from ldl.comparison.contenders import MEAN, Contender, portfolio
from ldl.comparison.search import KINDS, Searched, Task, outer_folds, search
from ldlrepro.arena import toolbox
from ldlrepro.catalogue import digests
from ldlrepro.core import numerics
from ldlrepro.core.checksums import array_sha256
from ldlrepro.core.files import csv_text, write_text
from ldlrepro.core.progress import say
from ldlrepro.core.workspace import Workspace
from ldlrepro.data import Dataset, load_ready
from ldlrepro.train import provenance

ARENA = "arena"
DIGITS = 10
"""Significant digits of scores in tables."""


@dataclass(frozen=True)
class Protocol:
    """Folds, rows and budget, which every method gets alike."""

    folds: int = 5
    """Outer folds; persons stay whole where they are known."""
    rows: int = 1000
    """Rows that are drawn of a larger data set."""
    settings: int = 25
    """Settings that are tried at most, the defaults among them."""
    seconds: float = 2.0
    """CPU seconds of a fold after which no further setting is begun."""
    seed: int = 2026


PROTOCOL = Protocol()
YEAST = ("alpha", "cdc", "cold", "diau", "dtt", "elu", "heat", "spo", "spo5", "spoem")
DATA_SETS = (
    *("fgnet_features", "jura", "m2b", "m2b_lngoo", "movie", "natural_scene", "sbu_3dfe"),
    *("scut_fbp", "sjaffe", "wq", *(f"yeast_{name}" for name in YEAST)),
)
"""The public sets of tables; photographs have no features that everybody shares."""


@dataclass(frozen=True)
class Drawn:
    """A data set as the arena sees it."""

    id: str
    X: Any
    D: np.ndarray
    groups: np.ndarray | None
    rows: np.ndarray
    """Places of the rows in the data set."""

    @property
    def sha256(self) -> str:
        return array_sha256(np.ascontiguousarray(np.hstack([self.X, self.D])))


def draw(data: Dataset) -> Drawn:
    """Draw the rows of a data set that take part, in their order."""
    order = np.random.default_rng(PROTOCOL.seed).permutation(len(data.D))
    rows = np.sort(order[: PROTOCOL.rows])
    X = data.X[rows]
    X = X.toarray() if hasattr(X, "toarray") else X
    groups = None if data.groups is None else data.groups[rows]
    return Drawn(data.id, X, data.D[rows], groups, rows)


def tasks(drawn: Drawn, contender: Contender) -> Iterator[Task]:
    """Yield the task of each fold. A slow method runs with its defaults only."""
    for train, test in outer_folds(len(drawn.D), drawn.groups, PROTOCOL.folds, PROTOCOL.seed):
        yield Task(
            drawn.X,
            drawn.D,
            train,
            test,
            groups=drawn.groups,
            settings=1 if contender.slow else PROTOCOL.settings,
            seconds=PROTOCOL.seconds,
            random_state=PROTOCOL.seed,
        )


def decides(contender: Contender, drawn: Drawn) -> str:
    """Return the digest of everything that decides a method's scores but the clock."""
    return digests.tree_digest(
        [
            asdict(PROTOCOL),
            drawn.sha256,
            repr(contender.make().get_params()),
            repr(sorted(contender.space.items())),
            contender.slow,
            code_of(contender),
            digests.stage_digest(*COMPARING),
            provenance.versions(),
            numerics.kernels(),
        ]
    )


COMPARING = ("ldl.comparison.search:search", "ldl.comparison.search:outer_folds")


def contenders() -> dict[str, Contender]:
    """Return every method of the arena, by name."""
    return portfolio() | toolbox.contenders()


def code_of_all() -> str:
    """Return the digest of the code of every method."""
    known = contenders().values()
    return digests.tree_digest([digests.stage_digest(*COMPARING), *sorted(map(code_of, known))])


def code_of(contender: Contender) -> str:
    """Return the digest of a method's code; of somebody else's its version counts."""
    kind = type(contender.make())
    return digests.class_digest(f"{kind.__module__}.{kind.__qualname__}")


def folder(workspace: Workspace, dataset: str) -> Path:
    return workspace.results / ARENA / dataset


def run(dataset: str, workspace: Workspace, only: Iterable[str] = ()) -> Path:
    """Run what is missing on a data set, then write its table; return the table's place."""
    known = contenders()
    wanted = [known[name] for name in only] or list(known.values())
    drawn = draw(load_ready(workspace.ready(dataset)))
    commit = provenance.git_commit(Path(__file__).resolve().parents[3])
    for contender in wanted:
        key = decides(contender, drawn)
        for fold, task in enumerate(tasks(drawn, contender)):
            path = folder(workspace, dataset) / f"{contender.name}.{fold}.npz"
            there = store.load(path)
            if there is None or there[1]["decides"] != key:
                found = _found(contender, task)
                made = {"decides": key, "git_commit": commit, "cpu": provenance.machine()["cpu"]}
                store.save(path, found, made)
                say(f"{dataset}: {contender.name}, fold {fold}: {_said(found, task)}")
    return write_table(drawn, workspace)


def _found(contender: Contender, task: Task) -> Searched:
    return (toolbox.fitted if contender.family == toolbox.FAMILY else search)(contender, task)


def _said(found: Searched, task: Task) -> str:
    scores = {kind: task.loss(task.D[task.test], one.P) for kind, one in found.found.items()}
    told = ", ".join(f"{kind} {score:.4f}" for kind, score in scores.items())
    return f"{told or found.error} ({len(found.tried)} settings, {found.search_s:.1f} s)"


# ---------------------------------------------------------------------- tables

COSTS = ("settings_tried", "fit_s", "predict_s", "search_s")
COLUMNS = (
    *("method", "family", "kind", "fold", *metrics.BETTER, *COSTS),
    *("settings", "predictions_sha256", "error"),
)


def write_table(drawn: Drawn, workspace: Workspace) -> Path:
    """Write a row for every method, kind and fold that has run."""
    path = folder(workspace, drawn.id) / "scores.csv"
    lines: list[dict[str, Any]] = []
    made: dict[str, Any] = {}
    for contender in contenders().values():
        for fold, task in enumerate(tasks(drawn, contender)):
            there = store.load(folder(workspace, drawn.id) / f"{contender.name}.{fold}.npz")
            if there is not None:
                lines += _lines(contender, fold, task, there[0])
                made[contender.name] = there[1]
    rows = [[line.get(name, "") for name in COLUMNS] for line in lines]
    write_text(path, csv_text([COLUMNS, *rows]))
    facts = {
        "protocol": asdict(PROTOCOL),
        "rows": len(drawn.D),
        "features": drawn.X.shape[1],
        "labels": drawn.D.shape[1],
        "persons": 0 if drawn.groups is None else len(np.unique(drawn.groups)),
        "data_sha256": drawn.sha256,
        "versions": provenance.versions(),
        "machine": provenance.machine(),
        "methods": made,
    }
    write_text(path.with_name("facts.json"), json.dumps(facts, indent=1, sort_keys=True) + "\n")
    return path


def _lines(
    contender: Contender, fold: int, task: Task, found: Searched
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a fold; a method that cannot be fitted counts as the training mean."""
    shared = {"method": contender.name, "family": contender.family, "fold": fold}
    if not found.found:
        mean = np.tile(task.D[task.train].mean(axis=0), (len(task.test), 1))
        yield {**shared, "kind": "default", **_scores(task, mean), "error": found.error}
        return
    for kind in KINDS:
        if kind in found.found:
            one = found.found[kind]
            yield {
                **shared,
                "kind": kind,
                **_scores(task, one.P),
                "settings_tried": len(found.tried),
                "fit_s": f"{one.fit_s:.4g}",
                "predict_s": f"{one.predict_s:.4g}",
                "search_s": f"{found.search_s:.4g}",
                "settings": json.dumps(one.settings),
                "predictions_sha256": array_sha256(one.P),
            }


def _scores(task: Task, P: np.ndarray) -> dict[str, str]:
    found = metrics.evaluate(task.D[task.test], P)
    return {name: f"{value:.{DIGITS}g}" for name, value in found.items()}


def write_predictions(dataset: str, workspace: Workspace, path: Path) -> int:
    """Write what every method predicts for every row, with the truth; return the lines written."""
    import pandas as pd

    data = load_ready(workspace.ready(dataset))
    drawn = draw(data)
    names = data.labels or [f"label_{j}" for j in range(drawn.D.shape[1])]
    frames = []

    def add(method: str, kind: str, fold: int, rows: np.ndarray, P: np.ndarray) -> None:
        frame = pd.DataFrame(P, columns=names)
        places = {"row": drawn.rows[rows], "method": method, "kind": kind, "fold": fold}
        frames.append(frame.assign(**places))

    for contender in contenders().values():
        for fold, task in enumerate(tasks(drawn, contender)):
            if contender.name == MEAN:
                add("truth", "", fold, task.test, task.D[task.test])
            there = store.load(folder(workspace, dataset) / f"{contender.name}.{fold}.npz")
            for kind, found in there[0].found.items() if there else ():
                add(contender.name, kind, fold, task.test, found.P)
    table = pd.concat(frames, ignore_index=True)[["row", "method", "kind", "fold", *names]]
    table.to_parquet(path, index=False)
    return len(table)


@dataclass(frozen=True)
class Stopped(Contender):
    """A method whose search ends after so many settings, as an earlier one did by the clock."""

    after: int = 1

    def settings(self, count: int, random_state: int) -> list[dict[str, Any]]:
        return super().settings(count, random_state)[: self.after]


def again(dataset: str, workspace: Workspace, table: Path, count: int, seed: int) -> list[bool]:
    """Compute drawn folds of a table again; return whether their predictions are the same."""
    import pandas as pd

    drawn = draw(load_ready(workspace.ready(dataset)))
    known, same = contenders(), []
    rows = pd.read_csv(table).dropna(subset=["predictions_sha256"])
    rows = rows[rows["method"].isin(known)]  # those of python-ldl are left out where it is not
    chosen = rows.sample(min(count, len(rows)), random_state=seed).to_dict("records")
    for row in chosen:
        contender = known[row["method"]]
        task = list(tasks(drawn, contender))[row["fold"]]
        stopped = Stopped(**vars(contender), after=int(row["settings_tried"]))
        found = _found(stopped, replace(task, seconds=None))
        same.append(array_sha256(found.found[row["kind"]].P) == row["predictions_sha256"])
        name = f"{row['method']}, {row['kind']}, fold {row['fold']}"
        say(f"{dataset}: {name}: {'the same predictions' if same[-1] else 'OTHER PREDICTIONS'}")
    return same


def keep(results: Path, reference: Path) -> list[Path]:
    """Copy the tables of what ran here to the maintainers' records; return their places."""
    written = []
    for table in sorted((results / ARENA).glob("*/scores.csv")):
        for path in (table, table.with_name("facts.json")):
            copy = reference / ARENA / table.parent.name / path.name
            write_text(copy, path.read_text(encoding="utf-8"))
            written.append(copy)
    return written
