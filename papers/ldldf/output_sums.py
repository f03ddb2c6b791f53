"""The effect of outputs that do not sum to one on a cascade's KL, and on printed numbers.

KL of an output whose degrees sum to s is lower by ln s than that of the distribution made from it;
measures like the cosine do not notice. Boosting that starts every label at one half and shrinks its
leaves ends with sums above one.
"""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np

from ldl import metrics
from ldl.base import to_simplex
from ldl.cascade._learners import LOWEST_DEGREE
from ldl.cascade.ldldf import LDLDF
from ldlrepro.core.seeds import seed_for
from ldlrepro.experiments import Inputs, Outcome
from ldlrepro.folds.splits import Fold

MEASURED = ["mean sum", "KL of outputs", "KL", "cosine"]
COLUMNS = ["data set", "learners", "runs", *MEASURED, "printed KL", "printed cosine"]


def measure(
    inputs: Inputs,
    settings: dict[str, str],
    runs: dict[str, int],
    parameters: dict[str, Any],
    seed: int,
) -> Outcome:
    """Measure sums and KL of the outputs.

    ``settings`` are printed combinations and their methods; ``runs`` says how many of the splits to
    use.
    """
    rows: list[list[Any]] = []
    for dataset in inputs.available():
        count = runs[dataset]
        for setting, method in settings.items():
            found = _means(inputs, dataset, method, parameters, count, seed)
            printed = _printed(inputs, dataset, setting)
            rows.append([dataset, setting, count, *found, printed["kl"], printed["cosine"]])
            inputs.say(f"{dataset}, {setting}: done")
    outcome = Outcome(
        facts={
            "raw_miss": _median_miss(rows, "KL of outputs"),
            "normalised_miss": _median_miss(rows, "KL"),
        }
    )
    outcome.add_table("KL before and after normalising", COLUMNS, rows)
    return outcome


def _median_miss(rows: list[list[Any]], name: str) -> float:
    """Return median relative distance of a column's KL from the printed one."""
    ours, printed = COLUMNS.index(name), COLUMNS.index("printed KL")
    return statistics.median(abs(row[ours] / row[printed] - 1) for row in rows)


def _printed(inputs: Inputs, dataset: str, setting: str) -> dict[str, float]:
    return {
        row["metric"]: float(row["mean"])
        for row in inputs.plan.published(inputs.project.paper("ldldf"))
        if (row["dataset"], row["setting"]) == (dataset, setting)
    }


def _means(
    inputs: Inputs, dataset: str, method: str, parameters: dict[str, Any], runs: int, seed: int
) -> list[float]:
    folds = inputs.folds(dataset)[:runs]
    found = [_one(inputs, dataset, method, parameters, fold, seed) for fold in folds]
    return np.mean(found, axis=0).tolist()


def _one(
    inputs: Inputs, dataset: str, method: str, parameters: dict[str, Any], fold: Fold, seed: int
) -> list[float]:
    """Return means: sum and KL of the outputs, KL of the distributions made of them, cosine."""
    data = inputs.load(dataset)
    state = seed_for(seed, "output_sums", dataset, method, fold.repeat, fold.fold)
    model = inputs.estimator(method, normalise="none", random_state=state, **parameters)
    assert isinstance(model, LDLDF)
    model.fit(data.X[fold.train], data.D[fold.train])
    D, P = data.D[fold.test], model.outputs(data.X[fold.test]).mean(axis=0)
    P = np.maximum(P, LOWEST_DEGREE)
    raw = metrics.zero_convention("clip64").kl(D, P).mean()
    scores = metrics.evaluate(D, to_simplex(P))
    return [P.sum(axis=1).mean(), raw, scores["kl"], scores["cosine"]]
