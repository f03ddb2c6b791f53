"""Drawn embeddings in two dimensions, with numbers for what the eye sees.

Each method chooses its values as in the tables, on hold-outs of the rows it is given, with the
dimension fixed at two. Beside it stands the grid point that looks best, which sees the labels of
all rows drawn. The measure is how mixed the colours are: the mean distance between the label
distributions of a row and of its nearest rows in the plane, as a share of that of any two rows. It
is 0 where neighbours have the same labels and 1 where the place says nothing.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ldl._distances import squared_distances
from ldl._holdouts import first_best
from ldl._parameters import as_list
from ldl.neighbours._embedded import combinations
from ldl.neighbours._spectral import Coordinates, RawFeatures
from ldl.neighbours.embeddings import LPPKNN
from ldl.neighbours.knn import AAKNN
from ldlrepro.core.seeds import seed_for
from ldlrepro.data.dataset import Dataset
from ldlrepro.experiments import Inputs, Outcome

from .two_dimensions_drawn import draw, picture

__all__ = ["draw", "measure"]

DIMENSIONS = 2
UNCENTRED = "LPP, not centred"


class UncentredLPP(LPPKNN):
    """LPP on features as they are, with ``pca_keep`` 1.

    A direction along which the rows are nearly constant is then nearly free of cost, so it comes
    first and takes a dimension without telling rows apart.
    """

    def _coordinates(self, X: np.ndarray) -> Coordinates:
        return RawFeatures()


@dataclass(frozen=True)
class Plane:
    """One set of values: the picture, and how mixed it is."""

    model: Any
    places: np.ndarray
    mixed: float


@dataclass(frozen=True)
class Planes:
    """A method on a data set."""

    chosen: Plane
    """Values chosen on hold-outs."""
    clearest: Plane
    """Values with the least mixed colours."""
    grid: list[Mapping[str, Any]]
    over_grid: list[float]


Found = dict[str, Planes]
"""Planes by the name of the method."""


def measure(
    inputs: Inputs,
    methods: dict[str, str],
    figures: dict[str, str],
    noisy: dict[str, str],
    neighbours: int,
    neutral: dict[str, int],
) -> Outcome:
    """Embed, draw and measure the rows.

    ``figures`` is number -> data set, ``noisy`` a noisy data set -> the same without noise, and
    ``neutral`` a data set coloured by strongest label -> how many of the rows nearest to the
    uniform distribution are drawn black.
    """
    outcome, found = Outcome(), {}
    available = inputs.available()
    here = {number: dataset for number, dataset in figures.items() if dataset in available}
    for number, dataset in here.items():
        data = inputs.load(dataset)
        found[dataset] = _all_planes(inputs, data, methods, neighbours)
        raw = mixing(data.X, data.D, neighbours)
        title = f"{dataset}: how mixed the colours are (0 sorted, 1 at random)"
        outcome.add_table(title, MIXED, _rows(found[dataset], raw))
        outcome.facts |= _facts(dataset, found[dataset], raw)
        outcome.series[number] = _picture(data, found[dataset], neutral.get(dataset))
    rows = []
    for with_noise, without in noisy.items():
        if {with_noise, without} <= set(found):
            both = inputs.load(without), inputs.load(with_noise)
            costs = _noise_costs(*both, found[without], neighbours)
            rows += [[with_noise, name, *_spread(ratios)] for name, ratios in costs.items()]
            for name, ratios in costs.items():
                pair = f"noise cost of {name} on {with_noise}"
                outcome.facts[f"median {pair}"] = _short(statistics.median(ratios))
                outcome.facts[f"highest {pair}"] = _short(max(ratios))
    title = "What noise does to directions: colours mixed among clean rows, noisy over clean"
    outcome.add_table(title, NOISE, rows)
    return outcome


def _all_planes(
    inputs: Inputs, data: Dataset, methods: Mapping[str, str], neighbours: int
) -> Found:
    makers: dict[str, Callable[..., Any]] = {
        name: partial(inputs.estimator, method) for name, method in methods.items()
    }
    of_lpp = inputs.estimator(methods["LPP"], pca_keep=[1.0]).get_params()
    makers[UNCENTRED] = partial(UncentredLPP, **of_lpp)
    found = {}
    for name, make in makers.items():
        place = ("two dimensions", data.id, methods.get(name, name))
        seed = seed_for(inputs.project.run.seed, *place)
        model = make(u=DIMENSIONS / data.X.shape[1], random_state=seed)
        found[name] = _planes(data, model.fit(data.X, data.D), neighbours)
        inputs.say(f"{data.id}: {name}, colours mixed {found[name].chosen.mixed:.3f}")
    return found


def _planes(data: Dataset, model: Any, neighbours: int) -> Planes:
    X, D = data.X, data.D
    grid = combinations({name: as_list(getattr(model, name)) for name in model.searched})

    def plane(model: Any) -> Plane:
        places = model.transform(X)
        return Plane(model, places, mixing(places, D, neighbours))

    over_grid = [plane(again(model, X, D, values)).mixed for values in grid]
    best = grid[first_best(np.array(over_grid), True)]
    return Planes(plane(model), plane(again(model, X, D, best)), grid, over_grid)


def again(model: Any, X: np.ndarray, D: np.ndarray, values: Mapping[str, Any]) -> Any:
    """Refit a method with fixed values; those chosen count where none is given."""
    return type(model)(**{**model.get_params(), **model.chosen_, **values}).fit(X, D)


# ---------------------------------------------------------------------- how mixed colours are


def mixing(places: np.ndarray, D: np.ndarray, neighbours: int) -> float:
    """Measure mixing of rows among themselves; a row is not its own neighbour."""
    search = AAKNN(neighbours + 1, standardise=False, mean_share=None)
    order = search.fit(places, D).kneighbors(places)
    others = order != np.arange(len(D))[:, None]
    # A row with many twins may not be in its own list; then the last entry is left out.
    others[others.all(axis=1), -1] = False
    near = D[order[others].reshape(len(D), neighbours)]
    apart = np.linalg.norm(near - D[:, None, :], axis=2).mean()
    return float(apart / mean_label_distance(D))


def mean_label_distance(D: np.ndarray) -> float:
    """Return the mean label distance over the pairs of different rows."""
    lengths = np.sqrt(squared_distances(D, D))
    np.fill_diagonal(lengths, 0.0)  # not the root of a rounding error
    return float(lengths.sum() / (len(D) * (len(D) - 1)))


def _noise_costs(
    clean: Dataset, noisy: Dataset, found: Found, neighbours: int
) -> dict[str, list[float]]:
    """Return what noise costs, grid point by grid point.

    Noise blurs any picture of noisy rows, so directions are judged on the rows without it. The cost
    is how mixed the clean rows are along directions learned from noisy rows, divided by the same
    along directions learned from the clean rows.
    """
    costs: dict[str, list[float]] = {}
    for name, planes in found.items():
        costs[name] = []
        for values, without in zip(planes.grid, planes.over_grid, strict=True):
            learned = again(planes.chosen.model, noisy.X, noisy.D, values)
            places = learned.transform(clean.X)
            costs[name].append(mixing(places, clean.D, neighbours) / without)
    return costs


# ---------------------------------------------------------------------- what is told

NOISE = ["noisy set", "method", "lowest over the grid", "median", "highest"]
MIXED = [
    "method",
    "by values chosen on hold-outs",
    "these values",
    "by the clearest values",
    "clearest values",
    "lowest over the grid",
    "median",
    "highest",
]


def _rows(found: Found, raw: float) -> Iterator[list[Any]]:
    for name, planes in found.items():
        row: list[Any] = [name]
        for plane in (planes.chosen, planes.clearest):
            row += [round(plane.mixed, 3), _values(plane.model)]
        yield [*row, *_spread(planes.over_grid)]
    yield ["all features", round(raw, 3), *[""] * (len(MIXED) - 2)]


def _values(model: Any) -> str:
    return ", ".join(f"{name} {model.chosen_[name]:g}" for name in model.searched)


def _spread(values: list[float]) -> list[float]:
    return [round(value, 3) for value in (min(values), statistics.median(values), max(values))]


def _facts(dataset: str, found: Found, raw: float) -> dict[str, float]:
    (first, mine), *rivals = found.items()
    over = mine.chosen.mixed / raw
    facts = {f"mixing of {first} over all features on {dataset}": _short(over)}
    for name, rival in rivals:
        pair = f"mixing of {first} over {name} on {dataset}"
        facts[pair] = _short(mine.chosen.mixed / rival.chosen.mixed)
        facts[f"least {pair}"] = _short(mine.clearest.mixed / rival.clearest.mixed)
    return facts


def _short(value: float) -> float:
    return float(f"{value:.6g}")


def _picture(data: Dataset, found: Found, neutral: int | None) -> dict[str, Any]:
    panels = {name: planes.chosen for name, planes in found.items()}
    name, planes = next(iter(found.items()))
    panels[f"{name}, clearest values"] = planes.clearest
    shown = {name: (plane.places, plane.mixed) for name, plane in panels.items()}
    return picture(data.D, data.labels, shown, neutral)
