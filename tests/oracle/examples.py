"""Examples and checks that the tests of several methods use."""

from collections.abc import Callable

import numpy as np

from ldl.linear.maxent import softmax_rows
from ldl.metrics import evaluate


def softmax_problem(
    seed: int = 0, n: int = 60, q: int = 4, c: int = 5
) -> tuple[np.ndarray, np.ndarray]:
    """Normal features and noisy labels of a softmax model."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, q))
    D = softmax_rows(X @ generator.normal(size=(q, c)) + 0.5 * generator.normal(size=(n, c)))
    return X, D


def exponential_problem(
    seed: int = 0, n: int = 60, q: int = 6, c: int = 4, noise: float = 0.5
) -> tuple[np.ndarray, np.ndarray]:
    """Normal features and labels that depend on them."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, q))
    D = np.exp(X @ generator.normal(size=(q, c)) + noise * generator.normal(size=(n, c)))
    return X, D / D.sum(axis=1, keepdims=True)


def unrelated(seed: int = 0, n: int = 90, q: int = 3, c: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Normal features and labels that do not depend on them."""
    generator = np.random.default_rng(seed)
    return generator.normal(size=(n, q)), generator.dirichlet(np.ones(c), size=n)


def means_of_ten_folds(data, fit: Callable) -> dict[str, float]:
    """Means over ten folds of every measure; ``fit(X, D)`` gives a model of the other nine."""
    scores = []
    for test in np.array_split(np.random.default_rng(0).permutation(len(data.D)), 10):
        train = np.setdiff1d(np.arange(len(data.D)), test)
        P = fit(data.X[train], data.D[train]).predict(data.X[test])
        scores.append(evaluate(data.D[test], P))
    return {name: np.mean([score[name] for score in scores]) for name in scores[0]}


def check_gradient(
    objective: Callable[[np.ndarray], tuple[float, np.ndarray]],
    at: np.ndarray,
    step: float = 1e-5,
    tolerance: float = 1e-6,
) -> None:
    """The objective's gradient against central differences of its value."""
    gradient = objective(at)[1].copy()
    differences = [
        (objective(at + step * e)[0] - objective(at - step * e)[0]) / (2 * step)
        for e in np.eye(len(at))
    ]
    np.testing.assert_allclose(gradient, differences, rtol=tolerance, atol=tolerance)
