"""Inside soft forests for ages: entropy of the routing, leaves, widths of labels, phi and seeds.

This is Figures 6, 7 and 8 and section 6.4.4 of the DRF paper, on data in place of its photographs.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ldlrepro.core.seeds import seed_for
from ldlrepro.data import Dataset, ages
from ldlrepro.data.images.age_distributions import age_distributions
from ldlrepro.experiments import Inputs, Outcome
from ldlrepro.folds.splits import Fold
from ldlrepro.report import canvas

from .forest_insides import asking_other_outputs, entropy, table

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
        folds = inputs.folds(dataset)[:splits]
        forests = Forests(inputs, inputs.load(dataset), folds, methods, outcome)
        forests.entropies(iterations)
        inputs.say(f"{dataset}: entropies done")
        forests.leaves()
        inputs.say(f"{dataset}: leaves done")
        forests.widths(widths)
        inputs.say(f"{dataset}: widths done")
        for varied, values in (("trees", trees), ("depth", depths)):
            if values:
                forests.sizes(varied, values)
                inputs.say(f"{dataset}: {varied} done")
        forests.draws(seeds)
    return outcome


@dataclass
class Forests:
    """Forests on a data set of ages; what is measured of them goes to the outcome."""

    inputs: Inputs
    data: Dataset
    folds: Sequence[Fold]
    methods: Mapping[str, str]
    outcome: Outcome

    @property
    def grid(self) -> np.ndarray:
        grid = ages.grid_of(self.data.labels)
        assert grid is not None
        return grid

    @property
    def target(self) -> np.ndarray:
        assert self.data.target is not None
        return self.data.target

    def fitted(
        self,
        name: str,
        fold: Fold,
        D: np.ndarray | None = None,
        seed: int = 0,
        phi_seed: int | None = None,
        **settings: Any,
    ) -> Any:
        """Fit from one seed, so that fits of fewer iterations are the beginnings of longer ones."""
        D = self.data.D if D is None else D
        state = seed_for(SEED, "age_forests", self.data.id, fold.repeat, fold.fold, seed)
        model = self.inputs.estimator(self.methods[name], random_state=state, **settings)
        if phi_seed is not None:
            model = asking_other_outputs(model, phi_seed)
        return model.fit(self.data.X[fold.train], D[fold.train])

    def mae(self, name: str, fold: Fold, **changes: Any) -> float:
        P = self.fitted(name, fold, **changes).predict(self.data.X[fold.test])
        rule = self.inputs.project.method(self.methods[name]).age
        return ages.errors(P, self.grid, self.target[fold.test], rule)["mae"]

    def mean_mae(self, name: str, **changes: Any) -> float:
        return statistics.fmean(self.mae(name, fold, **changes) for fold in self.folds)

    def entropies(self, iterations: Sequence[int]) -> None:
        """Measure Figure 6."""
        fold, curves = self.folds[0], {}
        for name in self.methods:
            fits = (self.fitted(name, fold, max_iter=count) for count in iterations)
            curves[name] = [entropy(model, self.data.X[fold.train]) for model in fits]
        for name in (DRF, DLDLF):
            plain = f"{name} (T=0)"
            for place, count in enumerate(iterations):
                ratio = curves[name][place] / curves[plain][place]
                self.outcome.facts[f"entropy of {name} over {plain} after {count}"] = ratio
            fall, plain_fall = (1 - curves[key][3] / curves[key][0] for key in (name, plain))
            self.outcome.facts[f"fall of {name}'s entropy over {plain}"] = fall / plain_fall
        self.outcome.series["6"] = {"iterations": list(iterations), "entropies": curves}
        self.outcome.add_table(
            f"Mean entropy of the leaf that a training row goes to, {self.data.id}",
            ["method", *(f"after {count}" for count in iterations)],
            [[name, *values] for name, values in curves.items()],
        )

    def leaves(self) -> None:
        """Measure Figure 7: draw the leaves of the first tree; take the numbers from all trees."""
        grid = self.grid
        drf, dldlf = (self.fitted(name, self.folds[0]) for name in (DRF, DLDLF))
        mean = table(drf)[..., 0] * drf.scale_ + drf.shift_ + grid[0]
        deviation = np.sqrt(table(drf)[..., 1]) * drf.scale_
        shares = table(dldlf)
        centre = shares @ grid
        width = np.sqrt(np.maximum(shares @ grid**2 - centre**2, 0))
        for name, where, spread in ((DRF, mean, deviation), (DLDLF, centre, width)):
            parts = {
                f"below {FREQUENT_BELOW}": spread[where < FREQUENT_BELOW],
                "between": spread[(where >= FREQUENT_BELOW) & (where <= RARE_ABOVE)],
                f"above {RARE_ABOVE}": spread[where > RARE_ABOVE],
            }
            means = {words: float(p.mean()) if len(p) else None for words, p in parts.items()}
            frequent, _, rare = means.values()
            if rare is not None and frequent is not None:
                fact = f"deviation of {name}'s leaves at rare over frequent ages"
                self.outcome.facts[fact] = rare / frequent
            self.outcome.add_table(
                f"Leaves of {name}, {self.data.id}",
                ["centred", "leaves", "mean deviation in years"],
                [[words, len(part), means[words]] for words, part in parts.items()],
            )
        self.outcome.series["7"] = {
            "ages": grid.tolist(),
            "counts": (np.floor(self.target)[:, None] == grid).sum(axis=0).tolist(),
            "shares": np.round(shares[0], 5).tolist(),
            "means": mean[0].round(3).tolist(),
            "deviations": deviation[0].round(3).tolist(),
        }

    def sizes(self, varied: str, values: Sequence[int]) -> None:
        """Vary the number of trees or depth for Figure 8.

        Trees move together, or one at a time as in deep neural decision forests.
        """
        schedules = {"": "joint"} | ({", one at a time": "random"} if varied == "trees" else {})
        parameter = "n_estimators" if varied == "trees" else varied
        lines: dict[str, list[float]] = {}
        for name in (DRF, DLDLF):
            for words, schedule in schedules.items():
                line = lines[f"{name}{words}"] = [
                    self.mean_mae(name, **{parameter: value}, schedule=schedule) for value in values
                ]
                for value, found in zip(values[1:], line[1:], strict=True):
                    fact = f"MAE of {name}{words} with {varied} {value} over {values[0]}"
                    self.outcome.facts[fact] = found / line[0]
        number = "8a" if varied == "trees" else "8b"
        self.outcome.series[number] = {"varied": varied, "values": list(values), "mae": lines}
        self.outcome.add_table(
            f"MAE by {varied}, {self.data.id}",
            ["method", *(f"{varied} {value}" for value in values)],
            [[line, *found] for line, found in lines.items()],
        )

    def widths(self, widths: Sequence[float]) -> None:
        """Vary the width of the labels for Figure 8."""
        labels = (age_distributions(self.target, self.grid, width) for width in widths)
        means = [self.mean_mae(DLDLF, D=D) for D in labels]
        two = means[list(widths).index(2)]
        for width, mean in zip(widths, means, strict=True):
            self.outcome.facts[f"MAE of width {width:g} over 2"] = mean / two
        self.outcome.series["8c"] = {"widths": list(widths), "mae": means}
        self.outcome.add_table(
            f"MAE of DLDLF by the width of the labels, {self.data.id}",
            ["width in years", "MAE"],
            zip(widths, means, strict=True),
        )

    def draws(self, seeds: int) -> None:
        """Vary the seed of phi alone (the outputs that splits ask), and of all that is drawn."""
        changes: dict[str, list[dict[str, int]]] = {
            "phi": [{"phi_seed": seed_for(SEED, "phi", seed)} for seed in range(seeds)],
            "seeds": [{"seed": seed} for seed in range(seeds)],
        }
        rows = []
        for what, drawn in changes.items():
            found = [self.mae(DRF, self.folds[0], **change) for change in drawn]
            mean, deviation = statistics.fmean(found), statistics.stdev(found)
            self.outcome.facts[f"deviation over {what} as a share of the MAE"] = deviation / mean
            rows.append([what, mean, deviation, min(found), max(found)])
        self.outcome.add_table(
            f"MAE of DRF over {seeds} draws of phi, and of all seeds, {self.data.id}",
            ["varied", "mean", "deviation", "lowest", "highest"],
            rows,
        )


# ---------------------------------------------------------------------- drawings


def draw(series: dict[str, Any]) -> dict[str, Any]:
    pens = {
        "6": _draw_entropies,
        "7": _draw_leaves,
        "8a": _draw_sizes,
        "8b": _draw_sizes,
        "8c": lambda c: _draw_sizes(
            {"varied": "label width in years", "values": c["widths"], "mae": {DLDLF: c["mae"]}}
        ),
    }
    return {number: pens[number](content) for number, content in series.items()}


def _panels(count: int) -> tuple[Any, list[Any]]:
    return canvas.panels(3.2, 3.6 * count, columns=count)


def _look(line: str) -> dict[str, Any]:
    """Return the pen of a line: a colour for each method, broken where it is a variant."""
    colour = canvas.SECOND if line.startswith(DLDLF) else canvas.FIRST
    variant = line not in (DLDLF, DRF)
    return {"color": colour, "linestyle": "--" if variant else "-", "marker": "so"[not variant]}


def _draw_entropies(content: Mapping[str, Any]) -> Any:
    figure, panels = _panels(2)
    for axes, name in zip(panels, (DLDLF, DRF), strict=True):
        for key in (name, f"{name} (T=0)"):
            axes.plot(content["iterations"], content["entropies"][key], label=key, **_look(key))
        axes.sharey(panels[0])
        axes.set_xscale("log")
        axes.set_xticks(content["iterations"], [f"{count}" for count in content["iterations"]])
        axes.set_xticks([], minor=True)
        axes.set_xlabel("training iterations")
        axes.set_ylabel("mean entropy of the routing (nats)")
        axes.legend(frameon=False, fontsize=8)
    return figure


def _draw_leaves(content: Mapping[str, Any]) -> Any:
    figure, panels = _panels(2)
    grid, shares = np.array(content["ages"]), np.array(content["shares"])
    panels[0].bar(grid, content["counts"], width=1.0, color=canvas.REST)
    panels[0].set_ylabel("rows of the data")
    means = shares @ grid
    deviations = np.sqrt((shares * (grid - means[:, None]) ** 2).sum(axis=1))
    look: dict[str, Any] = {"linestyle": "", "fillstyle": "none", "clip_on": False}
    panels[1].plot(means, deviations, marker="o", color=canvas.SECOND, label=DLDLF, **look)
    found = content["means"], content["deviations"]
    panels[1].plot(*found, marker="x", color=canvas.FIRST, label=DRF, **look)
    panels[1].set_ylabel("standard deviation in years")
    panels[1].set_ylim(0)
    panels[1].legend()
    for axes, age in zip(panels, ("age", "mean age of a leaf"), strict=True):
        axes.set_xlabel(f"{age} in years")
    return figure


def _draw_sizes(content: Mapping[str, Any]) -> Any:
    figure, panels = _panels(1)
    for line, found in content["mae"].items():
        panels[0].plot(content["values"], found, label=line, **_look(line))
    panels[0].set_xticks(content["values"])
    panels[0].set_xlabel(content["varied"])
    panels[0].set_ylabel("MAE in years (lower is better)")
    panels[0].legend(frameon=False, fontsize=8)
    return figure
