"""Drawn input: an estimator predicts distributions, or says in one line which argument is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import ldl
from ldl._tempered import Tempered
from ldl.base import Weighted
from tests.ldl.estimators import TABLES, cheap

ROWS, WIDTHS, LABELS = st.integers(1, 14), st.integers(1, 20), st.integers(1, 5)
KINDS_OF_LABELS = st.sampled_from(["drawn", "constant", "hard", "a label of zeros", "even"])
SPOILT = {
    "nothing": (lambda X, D: (X, D), ""),
    "sparse": (lambda X, D: (sparse.csr_array(X), D), ""),
    "text": (lambda X, D: ([["a"] * X.shape[1]] * len(X), D), "X must hold features as numbers"),
    "nan": (lambda X, D: (np.where(X.max() == X, np.nan, X), D), "X contains NaN or infinity"),
    "infinite": (lambda X, D: (X + np.inf, D), "X contains NaN or infinity"),
    "labels of nan": (lambda X, D: (X, D * np.nan), "D contains NaN"),
    "negative labels": (lambda X, D: (X, D - 2.0), "D contains negative"),
    "other sums": (lambda X, D: (X, D * 0.5), "of D sums to"),
    "sparse labels": (lambda X, D: (X, sparse.csr_array(D)), "D must be dense"),
    "rows apart": (lambda X, D: (np.vstack([X, X]), D), "rows but D has"),
}
"""Changes of the data, each with the words that are then said."""


WEIGHTS = {
    "some zeros": (lambda w: np.where(w > np.median(w), w, 0.0), ""),
    "zeros but one": (lambda w: np.where(w == w.max(), w, 0.0), "above zero for two rows"),
    "zeros": (lambda w: 0.0 * w, "not all zero"),
    "negative": (lambda w: -w, "not negative"),
    "nan": (lambda w: w * np.nan, "must be finite"),
    "text": (lambda w: ["a"] * len(w), "weights of rows as numbers"),
    "too many": (lambda w: np.append(w, 1.0), "must have shape"),
}
"""Changes of weights, each with the words that are then said after ``sample_weight``."""


def drawn(seed: int, n: int, q: int, c: int, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Draw features of all scales, some of them constant, and labels of a kind."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, q)) * 10.0 ** generator.integers(-4, 5, q)
    X[:, generator.random(q) < 0.2] = 3.0
    D = generator.dirichlet(np.ones(c), size=n)
    if kind == "constant":
        D[:] = D[0]
    elif kind == "hard":
        D = np.eye(c)[D.argmax(axis=1)]
    elif kind == "even":
        D[:] = 1.0 / c
    elif kind == "a label of zeros" and c > 1:
        D[:, 0] = 0.0
        D /= D.sum(axis=1, keepdims=True)
    return X, D


def refusal(call: Any) -> str:
    """Return what is said, in a line."""
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.filterwarnings("ignore")
@settings(max_examples=6)
@given(st.integers(0, 99), ROWS, WIDTHS, LABELS, KINDS_OF_LABELS, st.sampled_from(sorted(SPOILT)))
def test_drawn_input_is_fitted_or_refused_in_a_line(name, seed, n, q, c, kind, spoil):
    X, D = drawn(seed, n, q, c, kind)
    change, said = SPOILT[spoil]
    model = cheap(name)
    if said:
        expected = (said, "D must have shape", "D has one row")
        assert any(text in refusal(lambda: model.fit(*change(X, D))) for text in expected)
    elif c < 2:
        assert "D must have shape (rows, labels >= 2)" in refusal(lambda: model.fit(X, D))
    elif n < 2:
        assert "D has one row" in refusal(lambda: model.fit(X, D))
    else:
        if "n_neighbors" in model.get_params():
            model.set_params(n_neighbors=1)
        P = model.fit(*change(X, D)).predict(X)
        assert P.shape == D.shape
        # A share of the mean leaves no label at zero, of which the divergence were infinite.
        assert P.min() > 0 if isinstance(model, Tempered) else P.min() >= 0
        np.testing.assert_allclose(P.sum(axis=1), 1.0)
        wider = np.hstack([X, X])
        assert f"X has {2 * q} features" in refusal(lambda: model.predict(wider))


@pytest.mark.parametrize("name", [n for n in TABLES if issubclass(getattr(ldl, n), Weighted)])
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("change", WEIGHTS)
@settings(max_examples=3)
@given(st.integers(0, 99), st.integers(4, 14), WIDTHS)
def test_drawn_weights_are_heeded_or_refused_in_a_line(name, change, seed, n, q):
    n += 10 * (name == "LDLDF")  # its layers cut rows into folds
    X, D = drawn(seed, n, q, 3, "drawn")
    spoil, said = WEIGHTS[change]
    weight = spoil(np.random.default_rng(seed).uniform(0.5, 2.0, n))
    model = cheap(name, **({"n_neighbors": 1} if name == "AAKNN" else {}))
    if said:
        told = refusal(lambda: model.fit(X, D, sample_weight=weight))
        assert told.startswith("sample_weight")
        assert said in told
    else:
        P = model.fit(X, D, sample_weight=weight).predict(X)
        np.testing.assert_allclose(P.sum(axis=1), 1.0)
