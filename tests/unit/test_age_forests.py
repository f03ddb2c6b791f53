"""The variance of phi is phi's: nothing else differs between its fits."""

from __future__ import annotations

import statistics
from types import SimpleNamespace

import pytest

from ldlrepro.experiments import Outcome, age_forests


@pytest.fixture
def fits(monkeypatch):
    """Every fit that is asked for, (seed, settings); its error is its place in the order."""
    asked: list[tuple[int, dict]] = []

    def fit(method, data, fold, D, seed, **settings):
        asked.append((seed, settings))
        return len(asked)

    monkeypatch.setattr(age_forests, "_fit", fit)
    monkeypatch.setattr(age_forests, "_mae", lambda model, *_: float(model))
    return asked


def test_draws_of_phi_share_the_seed_of_everything_else(fits):
    outcome = Outcome()
    age_forests._draws(outcome, SimpleNamespace(id="toy", D=None), None, "drf_linear", 4)
    by_phi, by_seed = fits[:4], fits[4:]
    assert [seed for seed, _ in by_phi] == [0] * 4
    assert len({settings["phi_seed"] for _, settings in by_phi}) == 4
    assert by_seed == [(seed, {}) for seed in range(4)]
    facts = outcome.facts
    deviation = statistics.stdev([1.0, 2.0, 3.0, 4.0])
    assert facts["deviation of the MAE over phi"] == pytest.approx(deviation)
    assert facts["deviation over phi as a share of the MAE"] == pytest.approx(deviation / 2.5)
    assert facts["deviation over seeds as a share of the MAE"] == pytest.approx(deviation / 6.5)
