"""Examples and checks that the tests of several methods use."""

from collections.abc import Callable

import numpy as np

from ldl.linear.maxent import softmax_rows


def softmax_problem(
    seed: int = 0, n: int = 60, q: int = 4, c: int = 5
) -> tuple[np.ndarray, np.ndarray]:
    """Normal features and noisy labels of a softmax model."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, q))
    D = softmax_rows(X @ generator.normal(size=(q, c)) + 0.5 * generator.normal(size=(n, c)))
    return X, D


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
