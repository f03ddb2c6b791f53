"""LDL-SCL: its loss in words, its slopes, Adam by hand, codes and their regression."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from ldl import LDLSCL
from ldl.linear._softmax import softmax_rows
from ldl.linear.ldl_scl import CodedObjective, Unknowns
from tests.oracle.examples import check_gradient, softmax_problem
from tests.oracle.settings import as_stated


def problem(n: int = 20, m: int = 3) -> tuple[CodedObjective, Unknowns]:
    X, D = softmax_problem(n=n)
    generator = np.random.default_rng(1)
    at = Unknowns(
        generator.normal(size=(4, 5)),
        generator.normal(size=(m, 5)),
        generator.uniform(0.1, 2.0, size=(n, m)),
    )
    centres = generator.dirichlet(np.ones(5), size=m)
    return CodedObjective(X, D, centres, as_stated(LDLSCL, 0.3, 0.2, 0.7)), at


def released(objective: CodedObjective) -> CodedObjective:
    return replace(objective, model=clone(objective.model).set_params(code_slopes="as_released"))


def flat(values: Unknowns) -> np.ndarray:
    return np.concatenate([array.ravel() for array in values.arrays()])


def unflattened(values: np.ndarray, like: Unknowns) -> Unknowns:
    ends = np.cumsum([array.size for array in like.arrays()])
    parts = np.split(values, ends[:-1])
    return Unknowns(*(p.reshape(a.shape) for p, a in zip(parts, like.arrays(), strict=True)))


def test_loss_is_the_sum_of_its_terms():
    objective, at = problem()
    P = softmax_rows(objective.X @ at.weights + at.codes @ at.code_weights)
    total = 0.3 * (at.weights**2).sum() + 0.2 * (at.code_weights**2).sum()
    for d, p, c in zip(objective.D, P, at.codes, strict=True):
        total += sum(x * np.log(x / y) for x, y in zip(d, p, strict=True) if x > 0)
        for k, centre in enumerate(objective.centres):
            total += 0.7 * c[k] * ((p - centre) ** 2).sum() + 0.05 / c[k]
    assert objective(at, 0.05)[0] == pytest.approx(total, rel=1e-12)


def test_slopes_equal_central_differences():
    objective, at = problem()

    def call(values):
        value, slopes = objective(unflattened(values, at), 0.05)
        return value, flat(slopes)

    check_gradient(call, flat(at), step=1e-6)


def test_released_slopes_of_codes_move_the_distance_to_their_own_cluster_only():
    """Written out: the derivative of c_k ||P - p_k||^2 alone, by differences of the code k."""
    objective, at = problem(n=6)
    objective = released(objective)
    slopes = objective(at, 0.05)[1].codes
    step = 1e-6
    for i in range(6):
        for k in range(3):

            def own(change: float, i: int = i, k: int = k) -> float:
                code = at.codes[i].copy()
                code[k] += change
                p = softmax_rows((objective.X[i] @ at.weights + code @ at.code_weights)[None, :])[0]
                d = objective.D[i]
                near = ((p - objective.centres[k]) ** 2).sum()
                return (d * np.log(d / p)).sum() + 0.7 * code[k] * near + 0.05 / code[k]

            assert slopes[i, k] == pytest.approx((own(step) - own(-step)) / (2 * step), rel=1e-5)


def test_steps_are_those_of_adam_written_out():
    X, D = softmax_problem(n=40)
    model = as_stated(LDLSCL, n_clusters=2, max_iter=5, tol=0.0, random_state=0).fit(X, D)
    objective = CodedObjective(X, D, model.centres_, as_stated(LDLSCL, 0.001, 0.001, 0.001))
    member = ((D[:, None, :] - model.centres_) ** 2).sum(axis=2).argmin(axis=1)
    at = Unknowns(np.ones((4, 5)), np.ones((2, 5)), np.where(np.eye(2)[member] > 0, 1.0, 1e-6))
    x, m, v = flat(at), 0.0, 0.0
    for t in range(1, 6):
        g = flat(objective(unflattened(x, at), 0.1 ** (t - 1))[1])
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        x = x - 0.001 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
    np.testing.assert_allclose(flat(Unknowns(model.coef_, model.code_coef_, model.codes_)), x)
    assert model.loss_ == pytest.approx(objective(unflattened(x, at), 1e-5)[0])


def test_centres_are_the_means_of_clusters_of_distributions():
    generator = np.random.default_rng(0)
    tops = generator.integers(3, size=60)
    D = 0.9 * np.eye(3)[tops] + 0.1 * generator.dirichlet(np.ones(3), size=60)
    model = as_stated(LDLSCL, n_clusters=3, random_state=0).fit(generator.normal(size=(60, 2)), D)
    means = np.array([D[tops == k].mean(axis=0) for k in range(3)])
    order = np.argsort(model.centres_.argmax(axis=1))
    np.testing.assert_allclose(model.centres_[order], means)
    np.testing.assert_array_equal(model.codes_.argmax(axis=1), order[tops])
