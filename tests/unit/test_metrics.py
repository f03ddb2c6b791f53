"""The ten measures: values known by hand, relations that always hold, zeros, refusals."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldl import metrics

PERFECT = {name: 0.0 if better == "lower" else 1.0 for name, better in metrics.BETTER.items()}


def random_rows(seed: int, n: int, c: int, concentration: float = 1.0) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.full(c, concentration), size=n)


@st.composite
def pairs(draw, zeros_allowed: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Two rows on the simplex, often with zeros and with degrees of very different size."""
    c = draw(st.integers(2, 9))
    lowest = 0.0 if zeros_allowed else 1e-6
    degree = st.one_of(st.just(lowest), st.floats(1e-6, 1.0), st.floats(0.5, 1.0))

    def row() -> np.ndarray:
        raw = np.array(draw(st.lists(degree, min_size=c, max_size=c)))
        raw[draw(st.integers(0, c - 1))] += 0.5
        return raw / raw.sum()

    return row()[None, :], row()[None, :]


@pytest.mark.parametrize("zeros", metrics.ZERO_CONVENTIONS)
def test_perfect_prediction_has_the_perfect_value_of_every_measure(zeros):
    D = random_rows(0, 30, 5)
    assert metrics.evaluate(D, D, zeros) == pytest.approx(PERFECT, abs=1e-12)


def test_values_worked_out_by_hand():
    measured = metrics.evaluate([[1.0, 0.0]], [[0.5, 0.5]])
    expected = {
        "chebyshev": 0.5,
        "clark": np.sqrt(1 / 9 + 1),
        "canberra": 4 / 3,
        "kl": np.log(2),
        "cosine": 1 / np.sqrt(2),
        "intersection": 0.5,
        "euclidean": np.sqrt(0.5),
        "sorensen": 0.5,
        "squared_chi2": 0.25 / 1.5 + 0.5,
        "fidelity": np.sqrt(0.5),
    }
    assert measured == pytest.approx(expected, abs=1e-12)


def test_each_convention_gives_its_own_value_where_the_prediction_is_zero():
    D, P = [[0.5, 0.5]], [[1.0, 0.0]]
    eps64, eps32 = 2.220446049250313e-16, 1.1920928955078125e-07
    expected = {
        "clip64": 0.5 * np.log(0.5) + 0.5 * np.log(0.5 / eps64),
        "clip32": 0.5 * np.log(0.5) + 0.5 * np.log(0.5 / eps32),
        "add64": 0.5 * np.log(0.5) + 0.5 * np.log(0.5 / eps64),
        "add1e-5": 0.50001 * np.log(0.50001 / 1.00001) + 0.50001 * np.log(0.50001 / 1e-5),
        "exact": np.inf,
    }
    measured = {zeros: metrics.evaluate(D, P, zeros)["kl"] for zeros in metrics.ZERO_CONVENTIONS}
    assert measured == pytest.approx(expected, rel=1e-12)


def test_zeros_report_counts_zeros_and_rows_of_infinite_kl():
    D = np.array([[0.5, 0.5, 0.0], [0.5, 0.25, 0.25], [1.0, 0.0, 0.0], [0.2, 0.4, 0.4]])
    P = np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [0.0, 0.5, 0.5], [0.2, 0.4, 0.4]])
    assert metrics.zeros_report(D, P) == {"zero_predictions": 4, "infinite_kl_share": 0.5}
    infinite = np.isinf(metrics.per_row(D, P, "exact")["kl"])
    assert infinite.mean() == 0.5


@pytest.mark.parametrize(
    ("D", "P", "message"),
    [
        ([[0.5, 0.5]], [[0.2, 0.3, 0.5]], "one shape"),
        (np.empty((0, 3)), np.empty((0, 3)), "one shape"),
        ([[np.nan, 0.5]], [[0.5, 0.5]], "D_true contains NaN"),
        ([[1.5, -0.5]], [[0.5, 0.5]], "D_true contains negative"),
        ([[0.5, 0.5], [0.5, 0.6]], [[0.5, 0.5]] * 2, "row 1 of D_true sums to 1.1"),
    ],
)
def test_what_is_no_distribution_is_refused_by_name(D, P, message):
    with pytest.raises(ValueError, match=message):
        metrics.evaluate(D, P)


# ---------------------------------------------------------------------- ages


def test_age_errors_use_the_raw_prediction():
    # Off by 0, 5, 5.4 and 10 years; rounding would bring 5.4 down to 5.
    measured = metrics.age_errors([20, 30, 40, 50], [20.0, 35.0, 45.4, 40.0])
    assert measured == pytest.approx({"mae": 5.1, "cs5": 50.0})


# ---------------------------------------------------------------------- facts, ranks and ratios


def value_of(name: str, D: np.ndarray, P: np.ndarray) -> float:
    return metrics.measure(name, D, P, "exact" if name == "kl" else "clip64")


@pytest.mark.parametrize("name", metrics.FACTS)
@given(pair=pairs())
@settings(max_examples=40)
def test_values_lie_in_the_stated_range(name, pair):
    D, P = pair
    names = {"c": D.shape[1], "sqrt": np.sqrt, "inf": np.inf}
    low, high = (eval(end, names) for end in metrics.FACTS[name].range.split(" to "))
    assert low - 1e-9 <= value_of(name, D, P) <= high + 1e-9


def test_rank_correlations_are_scipys_on_rows_with_ties():
    from scipy.stats import kendalltau, spearmanr

    generator = np.random.default_rng(3)
    D = generator.integers(1, 5, size=(40, 6)).astype(float)
    P = generator.integers(1, 5, size=(40, 6)).astype(float)
    theirs = {
        "spearman": [spearmanr(d, p).statistic for d, p in zip(D, P, strict=True)],
        "kendall": [kendalltau(d, p).statistic for d, p in zip(D, P, strict=True)],
    }
    D, P = (rows / rows.sum(axis=1, keepdims=True) for rows in (D, P))
    for name, values in theirs.items():
        assert np.isfinite(values).all()
        assert metrics.measure(name, D, P) == pytest.approx(np.mean(values), abs=1e-12)


def test_aitchison_is_the_distance_of_centred_logarithms():
    D, P = random_rows(1, 20, 5), random_rows(2, 20, 5)
    centred = [np.log(rows) - np.log(rows).mean(axis=1, keepdims=True) for rows in (D, P)]
    wanted = np.linalg.norm(centred[0] - centred[1], axis=1).mean()
    assert metrics.aitchison(D, P) == pytest.approx(wanted)


def test_last_bits_break_ties_unless_a_tolerance_is_given():
    D = np.array([[0.4, 0.3, 0.3]])
    P = np.array([[0.5, 0.25, np.nextafter(0.25, 1)]])
    assert metrics.spearman(D, P) == pytest.approx(np.sqrt(3) / 2)
    assert metrics.spearman(D, P, tolerance=1e-9) == pytest.approx(1.0)
    assert metrics.kendall(D, P) < metrics.kendall(D, P, tolerance=1e-9) == pytest.approx(1.0)
    assert metrics.top_k(D, P, k=2) == 0.5
    assert metrics.top_k(D, P, k=2, tolerance=1e-9) == 1.0
    even = np.full((1, 3), 1 / 3)
    assert metrics.spearman(D, even) == metrics.kendall(even, D) == 0.0
    with pytest.raises(ValueError, match="tolerance must be at least 0, got nan"):
        metrics.spearman(D, P, tolerance=np.nan)


def test_scorers_sign_what_each_measure_gives_and_predict_once():
    D, P = random_rows(1, 12, 5), random_rows(2, 12, 5)

    class Known:
        asked = 0

        def predict(self, X):
            self.asked += 1
            return P

    model = Known()
    found = metrics.scorers()(model, None, D)
    assert model.asked == 1
    assert list(found) == list(metrics.FACTS)
    for name, value in found.items():
        assert value == pytest.approx(metrics.scorer(name)(model, None, D), abs=1e-15)
    tied = metrics.scorers("kendall", tolerance=1.0)(model, None, D)
    assert tied == {"kendall": 0.0}
    with pytest.raises(ValueError, match=r"unknown measure 'kendal'\. Did you mean 'kendall'"):
        metrics.scorers("kl", "kendal")
