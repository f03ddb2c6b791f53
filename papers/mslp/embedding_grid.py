"""Every grid point of methods that end in nearest neighbours, on every fold, in one pass.

A paper that prints the best of a grid may have looked for it on the test folds. What that gives is
shown here beside the honest choice. It sees test labels, so it is a diagnostic and no result. The
same pass tells how each method depends on ``u``, the dimension of the embedding as a share of the
features, and which grid point comes nearest to the printed row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ldl import metrics
from ldl._holdouts import first_best
from ldl.base import to_simplex
from ldl.neighbours._embedded import Candidate
from ldlrepro.core.seeds import seed_for
from ldlrepro.experiments import Inputs, Outcome
from ldlrepro.folds.splits import Fold
from ldlrepro.report import canvas, svg
from ldlrepro.train.scaling import Scaler

MEASURES = ("chebyshev", "clark", "canberra", "kl", "cosine", "intersection")
KL = MEASURES.index("kl")
PRINTED = "printed"
NESTED = "chosen on training rows"
TESTED = "diagnostic: chosen on the test folds by KL"
NEAREST = "diagnostic: grid point nearest to the printed row"


@dataclass(frozen=True)
class Scan:
    """Scores of every grid point: on the test rows, and on the estimator's own hold-outs."""

    grid: list[Candidate]
    tested: np.ndarray
    """Folds x grid points x ``MEASURES``."""
    validated: np.ndarray
    """Folds x grid points: KL, from training rows only."""

    @property
    def means(self) -> np.ndarray:
        return np.asarray(self.tested.mean(axis=0))

    @property
    def all(self) -> np.ndarray:
        return np.arange(len(self.grid))

    def nested(self, among: np.ndarray) -> np.ndarray:
        """Return mean test scores of what each fold chooses on training rows."""
        chosen = [int(among[first_best(row[among], True)]) for row in self.validated]
        return np.asarray(self.tested[np.arange(len(chosen)), chosen].mean(axis=0))

    def best_tested(self, among: np.ndarray) -> int:
        """Return the one grid point with the lowest mean KL over the test folds."""
        return int(among[first_best(self.means[among, KL], True)])


def measure(
    inputs: Inputs, methods: dict[str, str], only: dict[str, list[str]] | None = None
) -> Outcome:
    """Score every grid point of the methods.

    ``methods`` is printed name -> method id; ``only`` gives the data sets of expensive ones.
    """
    outcome = Outcome()
    for dataset in inputs.available():
        printed = _printed(inputs, dataset)
        here = [name for name in methods if dataset in (only or {}).get(name, [dataset])]
        scans = {name: _scan(inputs, dataset, name, methods[name]) for name in here}
        curves = outcome.series[dataset] = _curves(scans, printed)
        outcome.facts |= _facts(dataset, scans, curves)
        title = f"{dataset}: values chosen on training rows and, as a diagnostic, on test folds"
        rows = (
            [name, *row] for name, scan in scans.items() for row in _rows(scan, printed.get(name))
        )
        outcome.add_table(title, ["method", "row", *MEASURES, "grid point"], rows)
    return outcome


# ---------------------------------------------------------------------- scores


def _scan(inputs: Inputs, dataset: str, name: str, method: str) -> Scan:
    data = inputs.load(dataset)
    tested: list[list[list[float]]] = []
    validated: list[list[float]] = []
    grid: list[Candidate] = []
    folds = inputs.folds(dataset)
    for fold in folds:
        model, scaler = _fitted(inputs, dataset, method, data, fold)
        predictions = model.grid_predictions(
            scaler.transform(data.X[fold.train]),
            data.D[fold.train],
            scaler.transform(data.X[fold.test]),
        )
        grid, scores = [], []
        for candidate, P in predictions:
            found = metrics.evaluate(data.D[fold.test], to_simplex(P))
            grid.append(candidate)
            scores.append([found[measure] for measure in MEASURES])
        tested.append(scores)
        validated.append([score for _, score in model.tried_] or [0.0])
        inputs.say(
            f"{dataset}: {name}, fold {len(tested)} of {len(folds)}, {len(grid)} grid points"
        )
    return Scan(grid, np.array(tested), np.array(validated))


def _fitted(inputs: Inputs, dataset: str, method: str, data: Any, fold: Fold) -> tuple[Any, Scaler]:
    """Fit the estimator as the unit does, with the same seed: it holds its hold-outs' scores."""
    unit = inputs.plan.unit(inputs.protocol.id, dataset, method)
    seed = seed_for(inputs.project.run.seed, *unit.ids, fold.repeat, fold.fold)
    model = unit.method.estimator(random_state=seed)
    scaler = Scaler(unit.method.scaling).fit(data.X[fold.train])
    return model.fit(scaler.transform(data.X[fold.train]), data.D[fold.train]), scaler


def _printed(inputs: Inputs, dataset: str) -> dict[str, np.ndarray]:
    """Return printed rows of the paper on this data set, by method."""
    paper = inputs.project.paper(inputs.protocol.paper)
    names = {dataset} | {name for name, run in paper.use_dataset.items() if run == dataset}
    found: dict[str, dict[str, float]] = {}
    for row in inputs.plan.published(paper):
        if row["dataset"] in names and row["mean"]:
            found.setdefault(row["method"], {})[row["metric"]] = float(row["mean"])
    return {
        method: np.array([values[measure] for measure in MEASURES])
        for method, values in found.items()
        if set(MEASURES) <= set(values)
    }


def nearest_to(printed: np.ndarray, means: np.ndarray) -> int:
    """Return the grid point with the least squares of relative differences."""
    return first_best(np.mean((means / printed - 1.0) ** 2, axis=1), True)


# ---------------------------------------------------------------------- tables


def _rows(scan: Scan, printed: np.ndarray | None) -> Iterator[list[Any]]:
    """Yield how values were chosen, what that gives in every measure, and the grid point."""
    means, best = scan.means, scan.best_tested(scan.all)
    rows = [(NESTED, scan.nested(scan.all), "one per fold")]
    rows += [(TESTED, means[best], in_words(scan.grid[best]))]
    if printed is not None:
        index = nearest_to(printed, means)
        nearest = (NEAREST, means[index], in_words(scan.grid[index]))
        rows = [(PRINTED, printed, ""), *rows, nearest]
    for how, scores, point in rows:
        yield [how, *(round(float(score), 4) for score in scores), point]


def in_words(candidate: Candidate) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in candidate.items())


# ---------------------------------------------------------------------- u


def _curves(scans: Mapping[str, Scan], printed: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Return, per method and u, the KL with all else chosen on the test folds, or nested."""
    curves = {}
    for name, scan in scans.items():
        shares = np.array([candidate["u"] for candidate in scan.grid])
        if len(each := np.unique(shares)) == 1:
            continue
        among = [np.flatnonzero(shares == u) for u in each]
        curves[name] = {
            "u": each.tolist(),
            "tested": [_short(scan.means[scan.best_tested(points), KL]) for points in among],
            "nested": [_short(scan.nested(points)[KL]) for points in among],
            "printed": _short(printed[name][KL]) if name in printed else None,
        }
    return curves


def lowest_share(curve: Mapping[str, Any], line: str) -> float:
    """Return the smallest u with the lowest KL.

    Where directions run out, larger ones change nothing.
    """
    return float(curve["u"][first_best(np.array(curve[line]), True)])


def _facts(dataset: str, scans: Mapping[str, Scan], curves: Mapping[str, Any]) -> dict[str, float]:
    facts = {}
    for name, curve in curves.items():
        facts[f"best u of {name} on {dataset}"] = lowest_share(curve, "tested")
        facts[f"best u of {name} on {dataset}, nested"] = lowest_share(curve, "nested")
    honest = {name: scan.nested(scan.all)[KL] for name, scan in scans.items()}
    peeked = {name: scan.means[scan.best_tested(scan.all), KL] for name, scan in scans.items()}
    first, *rivals = scans
    for rival in rivals:
        pair = f"KL of {first} over {rival} on {dataset}"
        facts[pair] = _short(honest[first] / honest[rival])
        facts[f"{pair}, chosen on test folds"] = _short(peeked[first] / peeked[rival])
    return facts


def _short(value: float) -> float:
    return float(f"{value:.6g}")


# ---------------------------------------------------------------------- drawing

BOLD: dict[str, Any] = {"color": svg.MEASURED, "linewidth": 2.0}
STAR: dict[str, Any] = {"color": svg.PRINTED, "marker": "*", "markersize": 11}


def draw(series: dict[str, Any]) -> dict[str, Any]:
    """Draw KL against u, one panel per data set."""
    from matplotlib.lines import Line2D

    columns = min(3, len(series))
    rows = -(-len(series) // columns) if columns else 0
    if not rows:
        return {}
    figure, panels = canvas.panels(0.6 + 2.7 * rows, 9, rows, columns)
    figure.supxlabel("u, share of the features", fontsize=10)
    figure.supylabel("KL (lower is better)", fontsize=10)
    first = next(name for curves in series.values() for name in curves)
    for axes in panels[len(series) :]:
        axes.set_axis_off()
    for axes, (dataset, curves) in zip(panels, series.items(), strict=False):
        _draw_panel(axes, dataset, curves, first)
    handles = [
        Line2D([], [], label=first, **BOLD),
        Line2D([], [], linestyle="--", label=f"{first}, by training rows", **BOLD),
        Line2D([], [], linestyle="", label=f"{first}, printed", **STAR),
        Line2D([], [], color=canvas.REST, label="other methods"),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=4, frameon=False, fontsize=10)
    return {"u": figure}


def _draw_panel(axes: Any, dataset: str, curves: Mapping[str, Any], first: str) -> None:
    for name, curve in reversed(list(curves.items())):
        look = BOLD if name == first else {"color": canvas.REST}
        axes.plot(curve["u"], curve["tested"], label=f"{name}, on test folds", **look)
        if name == first:
            axes.plot(curve["u"], curve["nested"], "--", label=f"{name}, on training rows", **look)
            # The paper says only for MSLP at which u its printed row stands.
            if curve["printed"] is not None:
                axes.plot([0.1], curve["printed"], label=f"{name}, printed", **STAR)
    axes.set_title(dataset, fontsize=10)
    axes.tick_params(labelsize=9)
