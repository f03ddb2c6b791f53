"""Inside soft forests for ages: entropy of the routing, leaves, widths of labels, phi and seeds.

This is Figures 6, 7 and 8 and section 6.4.4 of the DRF paper, on data in place of its photographs.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ldlrepro import models
from ldlrepro.core.seeds import seed_for
from ldlrepro.data import Dataset, ages
from ldlrepro.data.images.age_distributions import age_distributions
from ldlrepro.experiments import Inputs, Outcome
from ldlrepro.experiments._forest_insides import asking_other_outputs, entropy, table
from ldlrepro.folds.splits import Fold

SEED = 2026
FREQUENT_BELOW, RARE_ABOVE = 20, 40
DRF, DLDLF = "DRF", "DLDLF"


def measure(
    inputs: Inputs,
    methods: Mapping[str, str],
    iterations: Sequence[int],
    widths: Sequence[float],
    splits: int,
    seeds: int,
    trees: Sequence[int] = (),
    depths: Sequence[int] = (),
) -> Outcome:
    """Measure the insides; vary trees and depths only where no units of a figure do."""
    outcome = Outcome()
    for dataset in inputs.available():
        data, folds = inputs.load(dataset), inputs.folds(dataset)
        _entropies(outcome, data, folds[0], methods, iterations)
        inputs.say(f"{dataset}: entropies done")
        _leaves(outcome, data, folds[0], methods)
        inputs.say(f"{dataset}: leaves done")
        _widths(outcome, data, folds[:splits], methods[DLDLF], widths)
        inputs.say(f"{dataset}: widths done")
        for varied, values in (("trees", trees), ("depth", depths)):
            if values:
                _sizes(outcome, data, folds[:splits], methods, varied, values)
                inputs.say(f"{dataset}: {varied} done")
        _draws(outcome, data, folds[0], methods[DRF], seeds)
    return outcome


def _fit(
    method: str,
    data: Dataset,
    fold: Fold,
    D: np.ndarray,
    seed: int,
    phi_seed: int | None = None,
    **settings: Any,
) -> Any:
    """Fit from one seed, so that fits of fewer iterations are the beginnings of longer ones."""
    state = seed_for(SEED, "age_forests", data.id, fold.repeat, fold.fold, seed)
    model = models.load(method, random_state=state, **settings)
    if phi_seed is not None:
        model = asking_other_outputs(model, phi_seed)
    return model.fit(data.X[fold.train], D[fold.train])


def _mae(model: Any, method: str, data: Dataset, fold: Fold) -> float:
    grid = ages.grid_of(data.labels)
    assert grid is not None
    assert data.target is not None
    P = model.predict(data.X[fold.test])
    return ages.errors(P, grid, data.target[fold.test], method)["mae"]


# ---------------------------------------------------------------------- Figure 6


def _entropies(
    outcome: Outcome,
    data: Dataset,
    fold: Fold,
    methods: Mapping[str, str],
    iterations: Sequence[int],
) -> None:
    curves: dict[str, list[float]] = {}
    for name, method in methods.items():
        fits = [_fit(method, data, fold, data.D, 0, max_iter=count) for count in iterations]
        curves[name] = [entropy(model, data.X[fold.train]) for model in fits]
    for name in (DRF, DLDLF):
        plain = f"{name} (T=0)"
        for place, count in enumerate(iterations):
            ratio = curves[name][place] / curves[plain][place]
            outcome.facts[f"entropy of {name} over {plain} after {count}"] = ratio
        fall, plain_fall = (1 - curves[key][3] / curves[key][0] for key in (name, plain))
        outcome.facts[f"fall of {name}'s entropy over {plain}"] = fall / plain_fall
    outcome.series["6"] = {"iterations": list(iterations), "entropies": curves}
    outcome.tables.append(
        {
            "title": f"Mean entropy of the leaf that a training row goes to, {data.id}",
            "columns": ["method", *(f"after {count}" for count in iterations)],
            "rows": [[name, *values] for name, values in curves.items()],
        }
    )


# ---------------------------------------------------------------------- Figure 7


def _leaves(outcome: Outcome, data: Dataset, fold: Fold, methods: Mapping[str, str]) -> None:
    """Draw the leaves of the first tree; take the numbers from all trees."""
    grid = ages.grid_of(data.labels)
    assert grid is not None
    drf, dldlf = (_fit(methods[name], data, fold, data.D, 0) for name in (DRF, DLDLF))
    mean = table(drf)[..., 0] * drf.scale_ + drf.shift_ + grid[0]
    deviation = np.sqrt(table(drf)[..., 1]) * drf.scale_
    shares = table(dldlf)
    centre = shares @ grid
    width = np.sqrt(np.maximum(shares @ grid**2 - centre**2, 0))
    for name, where, spread in ((DRF, mean, deviation), (DLDLF, centre, width)):
        rare, frequent = spread[where > RARE_ABOVE], spread[where < FREQUENT_BELOW]
        if len(rare) and len(frequent):
            fact = f"deviation of {name}'s leaves at rare over frequent ages"
            outcome.facts[fact] = float(rare.mean() / frequent.mean())
        outcome.tables.append(
            {
                "title": f"Leaves of {name}, {data.id}",
                "columns": ["centred", "leaves", "mean deviation in years"],
                "rows": [
                    [words, len(found), float(found.mean()) if len(found) else None]
                    for words, found in (
                        (f"below {FREQUENT_BELOW}", frequent),
                        ("between", spread[(where >= FREQUENT_BELOW) & (where <= RARE_ABOVE)]),
                        (f"above {RARE_ABOVE}", rare),
                    )
                ],
            }
        )
    assert data.target is not None
    outcome.series["7"] = {
        "ages": grid.tolist(),
        "counts": rows_at(grid, data.target).tolist(),
        "shares": np.round(shares[0], 5).tolist(),
        "means": mean[0].round(3).tolist(),
        "deviations": deviation[0].round(3).tolist(),
    }


def rows_at(grid: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Count the rows of each age of an ascending grid, in whole years as grids of ages are."""
    return (np.floor(target)[:, None] == grid).sum(axis=0)


# ---------------------------------------------------------------------- Figure 8 and 6.4.4


def _sizes(
    outcome: Outcome,
    data: Dataset,
    folds: Sequence[Fold],
    methods: Mapping[str, str],
    varied: str,
    values: Sequence[int],
) -> None:
    """Vary the number of trees or depth.

    Trees move together, or one at a time as in deep neural decision forests.
    """
    schedules = ("joint", "random") if varied == "trees" else ("joint",)
    lines = {}
    for name in (DRF, DLDLF):
        for schedule in schedules:

            def mae(value: int, method: str = methods[name], schedule: str = schedule) -> float:
                settings: dict[str, Any] = {varied: value, "schedule": schedule}
                fits = ((_fit(method, data, f, data.D, 0, **settings), f) for f in folds)
                return statistics.fmean(_mae(model, method, data, f) for model, f in fits)

            line = f"{name}, one at a time" if schedule == "random" else name
            lines[line] = [mae(value) for value in values]
            for value, found in zip(values[1:], lines[line][1:], strict=True):
                fact = f"MAE of {line} with {varied} {value} over {values[0]}"
                outcome.facts[fact] = found / lines[line][0]
    outcome.series["8a" if varied == "trees" else "8b"] = {
        "varied": varied,
        "values": list(values),
        "mae": lines,
    }
    outcome.tables.append(
        {
            "title": f"MAE by {varied}, {data.id}",
            "columns": ["method", *(f"{varied} {value}" for value in values)],
            "rows": [[line, *found] for line, found in lines.items()],
        }
    )


def _widths(
    outcome: Outcome, data: Dataset, folds: Sequence[Fold], method: str, widths: Sequence[float]
) -> None:
    grid = ages.grid_of(data.labels)
    assert grid is not None
    assert data.target is not None
    means = []
    for width in widths:
        D = age_distributions(data.target, grid, width)
        means.append(
            statistics.fmean(_mae(_fit(method, data, f, D, 0), method, data, f) for f in folds)
        )
    two = means[list(widths).index(2)]
    for width, mean in zip(widths, means, strict=True):
        outcome.facts[f"MAE of width {width:g} over 2"] = mean / two
    outcome.series["8c"] = {"widths": list(widths), "mae": means}
    outcome.tables.append(
        {
            "title": f"MAE of DLDLF by the width of the labels, {data.id}",
            "columns": ["width in years", "MAE"],
            "rows": [list(pair) for pair in zip(widths, means, strict=True)],
        }
    )


def _draws(outcome: Outcome, data: Dataset, fold: Fold, method: str, seeds: int) -> None:
    """Vary the seed of phi alone (the outputs that splits ask), and of everything that is drawn."""

    def mae(seed: int, **settings: Any) -> float:
        return _mae(_fit(method, data, fold, data.D, seed, **settings), method, data, fold)

    varied = {
        "phi": [mae(0, phi_seed=seed_for(SEED, "phi", s)) for s in range(seeds)],
        "seeds": [mae(s) for s in range(seeds)],
    }
    rows = []
    for what, found in varied.items():
        mean, deviation = statistics.fmean(found), statistics.stdev(found)
        outcome.facts[f"deviation of the MAE over {what}"] = deviation
        outcome.facts[f"deviation over {what} as a share of the MAE"] = deviation / mean
        rows.append([what, mean, deviation, min(found), max(found)])
    outcome.tables.append(
        {
            "title": f"MAE of DRF over {seeds} draws of phi, and of all seeds, {data.id}",
            "columns": ["varied", "mean", "deviation", "lowest", "highest"],
            "rows": rows,
        }
    )


# ---------------------------------------------------------------------- drawings


def draw(series: dict[str, Any]) -> dict[str, Any]:
    drawn = {}
    if "6" in series:
        drawn["6"] = _draw_entropies(series["6"])
    if "7" in series:
        drawn["7"] = _draw_leaves(series["7"])
    for number in ("8a", "8b"):
        if number in series:
            drawn[number] = _draw_sizes(series[number])
    if "8c" in series:
        drawn["8c"] = _draw_widths(series["8c"])
    return drawn


def _panels(count: int) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.6 * count, 3.2), layout="constrained", dpi=120)
    return figure, figure.subplots(1, count, squeeze=False)[0]


def _draw_entropies(content: Mapping[str, Any]) -> Any:
    figure, panels = _panels(2)
    for axes, name in zip(panels, (DLDLF, DRF), strict=True):
        for key, style in ((name, "-o"), (f"{name} (T=0)", "--s")):
            axes.plot(content["iterations"], content["entropies"][key], style, label=key)
        axes.set_xscale("log")
        axes.set_xticks(content["iterations"], [f"{count}" for count in content["iterations"]])
        axes.set_xticks([], minor=True)
        axes.set_xlabel("iterations")
        axes.set_ylabel("mean entropy of the routing")
        axes.legend(frameon=False, fontsize=8)
    return figure


def _draw_leaves(content: Mapping[str, Any]) -> Any:
    figure, panels = _panels(3)
    grid = np.array(content["ages"])
    panels[0].bar(grid, content["counts"], width=1.0)
    panels[0].set_ylabel("rows")
    for shares in content["shares"]:
        panels[1].plot(grid, shares, linewidth=0.8)
    panels[1].set_ylabel("probability (a leaf of DLDLF)")
    fine = np.linspace(grid[0], grid[-1], 600)
    for mean, deviation in zip(content["means"], content["deviations"], strict=True):
        density = np.exp(-((fine - mean) ** 2) / (2 * deviation**2))
        # Curves are as high as their peak allows, and no higher than a leaf of one year.
        panels[2].plot(fine, density * min(1.0, 1.0 / deviation), linewidth=0.8)
    panels[2].set_ylabel("density, cut (a leaf of DRF)")
    for axes in panels:
        axes.set_xlabel("age")
    return figure


def _draw_sizes(content: Mapping[str, Any]) -> Any:
    figure, panels = _panels(1)
    for line, found in content["mae"].items():
        panels[0].plot(content["values"], found, "--s" if "one at" in line else "-o", label=line)
    panels[0].set_xlabel(content["varied"])
    panels[0].set_ylabel("MAE")
    panels[0].legend(frameon=False, fontsize=8)
    return figure


def _draw_widths(content: Mapping[str, Any]) -> Any:
    figure, panels = _panels(1)
    panels[0].plot(content["widths"], content["mae"], "-o")
    panels[0].set_xlabel("width of the labels in years")
    panels[0].set_ylabel("MAE")
    return figure
