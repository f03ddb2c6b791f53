"""Changes of the measures by the adaptive step, beside those by another seed."""

from __future__ import annotations

from typing import Any

import numpy as np

from ldl import metrics
from ldlrepro.core.seeds import seed_for
from ldlrepro.experiments import Inputs, Outcome
from ldlrepro.folds.splits import Fold

MEASURES = ("chebyshev", "clark", "canberra", "kl", "cosine", "intersection")
CHANGES = {"adaptive step, same seed": ("structrf_star", 0), "another seed": ("structrf", 1)}


def measure(inputs: Inputs, seed: int) -> Outcome:
    """Measure both changes against StructRF on the same folds: the mean differences."""
    rows: list[list[Any]] = []
    relative: dict[str, list[float]] = {change: [] for change in CHANGES}
    for dataset in inputs.available():
        scores = [_scores(inputs, dataset, fold, seed) for fold in inputs.folds(dataset)]
        base = np.mean([found[0] for found in scores], axis=0)
        for number, change in enumerate(CHANGES, start=1):
            change_of = np.mean([found[number] - found[0] for found in scores], axis=0)
            rows.append([dataset, change, *change_of.tolist()])
            relative[change] += (100 * change_of / base).tolist()
        inputs.say(f"{dataset}: done")
    step, noise = (np.sqrt(np.mean(np.square(relative[change]))) for change in CHANGES)
    facts = {"step_percent": step, "seed_percent": noise, "step_over_seed": step / noise}
    outcome = Outcome(facts={name: float(value) for name, value in facts.items()})
    title = "Mean difference to StructRF with every threshold"
    outcome.add_table(title, ["data set", "change", *MEASURES], rows)
    return outcome


def _scores(inputs: Inputs, dataset: str, fold: Fold, seed: int) -> list[np.ndarray]:
    """Return the measures of StructRF, then of each change."""
    data = inputs.load(dataset)
    X, D = data.X[fold.train], data.D[fold.train]
    found = []
    for method, shift in (("structrf", 0), *CHANGES.values()):
        state = seed_for(seed, "step_loss", dataset, fold.repeat, fold.fold, shift)
        model = inputs.estimator(method, random_state=state).fit(X, D)
        scores = metrics.evaluate(data.D[fold.test], model.predict(data.X[fold.test]))
        found.append(np.array([scores[name] for name in MEASURES]))
    return found
