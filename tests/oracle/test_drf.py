"""DRF: leaf steps against closed forms, gradients against differences, limits of the annealing."""

import numpy as np
import pytest
import torch

from ldl.soft_forests._leaves import DistributionLeaves, GaussianLeaves, clustered
from ldl.soft_forests._training import LinearForest
from ldl.soft_forests.drf import DRF
from ldl.soft_forests.ldlf import SLDLF
from tests.oracle.settings import as_stated


def case(seed: int = 0, leaves: int = 4, rows: int = 12) -> tuple[torch.Tensor, ...]:
    """Logarithms of leaf probabilities (leaves, rows), numbers (1, rows), counts."""
    generator = np.random.default_rng(seed)
    P = generator.dirichlet(np.ones(leaves), rows).T
    y = torch.from_numpy(generator.normal(size=(1, rows)))
    return torch.from_numpy(P.copy()).log(), y, torch.ones(rows, dtype=torch.float64)


def gaussians(seed: int = 1, leaves: int = 4, trees: int = 1, **how: object) -> GaussianLeaves:
    generator = np.random.default_rng(seed)
    mean = generator.normal(size=(trees, leaves))
    return GaussianLeaves(mean, generator.gamma(2.0, size=(trees, leaves)), 1e-6, **how)


# ---------------------------------------------------------------------- leaves


def test_leaf_step_below_one_never_raises_the_free_energy():
    logs, y, counts = case(rows=30)
    leaves = gaussians(tau=0.4)

    def energy() -> float:
        """After the best responsibilities for the present leaves."""
        joint = (logs[None] + leaves.log_densities(y))[0]
        shares = torch.softmax(0.4 * joint, 0)
        return float(-(shares * (joint - shares.log() / 0.4)).sum() / 30)

    before = energy()
    for _ in range(15):
        leaves.update(0, logs, y, counts, 1)
        assert energy() <= before + 1e-10
        before = energy()


def test_leaf_step_by_hand():
    leaves = GaussianLeaves(np.array([[0.0, 2.0]]), np.ones((1, 2)), 1e-6)
    P = np.array([[0.5, 0.25], [0.5, 0.75]])
    y = np.array([0.5, 2.5])
    joint = P * np.exp(-0.5 * (y - np.array([[0.0], [2.0]])) ** 2)
    shares = joint / joint.sum(0)
    mean = (shares * y).sum(1) / shares.sum(1)
    variance = (shares * (y - mean[:, None]) ** 2).sum(1) / shares.sum(1)
    leaves.update(0, torch.from_numpy(P).log(), torch.from_numpy(y)[None], torch.ones(2), 1)
    np.testing.assert_allclose(leaves.mean[0, :, 0].numpy(), mean, rtol=1e-12)
    np.testing.assert_allclose(leaves.variance[0, :, 0].numpy(), variance, rtol=1e-12)


# ---------------------------------------------------------------------- gradients


def annealed(leaves: object, targets: np.ndarray, temperature: float) -> LinearForest:
    settings = as_stated(
        SLDLF,
        n_estimators=2,
        depth=3,
        units=5,
        temperature=temperature,
        dtype="float64",
        max_iter=1,
    )
    X = np.zeros((len(targets), 2))
    return LinearForest(settings, X, targets, leaves, 0)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("kind", ["distributions", "gaussians", "gaussians l2"])
def test_gradients_with_and_without_entropy_equal_differences(kind, temperature):
    generator = np.random.default_rng(4)
    rows = np.arange(6)
    if kind == "distributions":
        targets = generator.dirichlet(np.ones(3), 6)
        leaves = DistributionLeaves(2, 4, 3)
        leaves.Q = torch.from_numpy(generator.dirichlet(np.ones(3), (2, 4)))
    else:
        targets = generator.normal(size=(6, 1))
        leaves = gaussians(trees=2, split_loss="l2" if kind.endswith("l2") else "nll")
    forest = annealed(leaves, targets, temperature)
    T = torch.from_numpy(targets.T.copy())
    F = torch.from_numpy(2.0 * generator.normal(size=(5, 6)))

    def loss(F: torch.Tensor) -> float:
        logs = forest.routing.log_probabilities(forest.routing.log_sigmoids(F))
        P = logs.exp()
        if not kind.endswith("l2"):
            value = leaves.loss(logs, T).mean()
        else:
            value = 0.5 * (((P * leaves.mean).sum(1) - T) ** 2).mean()
        entropy = -(P * logs).sum(1).mean()
        return float(value - temperature * entropy)

    both = forest.routing.log_sigmoids(F)
    logs = forest.routing.log_probabilities(both)
    gradients = forest.routing.gradients(both, *forest._pull(logs, rows, None)) / 12
    step = 1e-6
    for unit in range(5):
        for row in (0, 4):
            up, down = F.clone(), F.clone()
            up[unit, row] += step
            down[unit, row] -= step
            difference = (loss(up) - loss(down)) / (2 * step)
            np.testing.assert_allclose(gradients[unit, row].item(), difference, atol=1e-8)


# ---------------------------------------------------------------------- the estimator


def test_two_groups_and_one_split_recover_both_means():
    X = np.repeat([[-1.0], [1.0]], 30, axis=0)
    D = np.zeros((60, 40))
    D[np.arange(60), np.where(X[:, 0] < 0, 10, 30)] = 1.0
    model = as_stated(
        DRF,
        n_estimators=1,
        depth=2,
        units=1,
        max_iter=600,
        leaf_batches=20,
        leaf_init="kmeans",
        random_state=0,
    ).fit(X, D)
    np.testing.assert_allclose(np.sort(model.state_.table[0, :, 0] * 10 + 20), [10, 30], atol=0.1)
    np.testing.assert_allclose(model.predict_number(X[[0, -1]]), [10, 30], atol=0.5)
    assert model.predict(X).argmax(1).tolist() == [10] * 30 + [30] * 30


def test_clusters_of_separate_groups_are_their_means_and_variances():
    y = np.array([1.0, 2.0, 3.0, 50.0, 52.0])
    centres, variances = clustered(y, 2)
    np.testing.assert_allclose(centres, [2.0, 51.0])
    np.testing.assert_allclose(variances, [2 / 3, 1.0])
