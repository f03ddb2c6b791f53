"""Soft trees: routing, gradients and leaf steps against loops, closed forms and differences."""

import numpy as np
import pytest
import torch

from ldl.soft_forests._leaves import DistributionLeaves
from ldl.soft_forests._routing import Routing, draw_phi


def forest(
    trees: int = 3, depth: int = 4, units: int = 9, rows: int = 6, seed: int = 0
) -> tuple[Routing, np.ndarray, torch.Tensor]:
    generator = np.random.default_rng(seed)
    phi = draw_phi(trees, depth, units, generator)
    F = torch.from_numpy(2.0 * generator.normal(size=(units, rows)))
    return Routing(phi, units), phi, F


def distributions(labels: int, rows: int, seed: int = 1) -> torch.Tensor:
    D = np.random.default_rng(seed).dirichlet(np.ones(labels), rows)
    return torch.from_numpy(np.ascontiguousarray(D.T))


def random_leaves(routing: Routing, labels: int, seed: int = 2) -> DistributionLeaves:
    leaves = DistributionLeaves(routing.trees, routing.leaves, labels)
    drawn = np.random.default_rng(seed).dirichlet(np.ones(labels), leaves.Q.shape[:2])
    leaves.Q = torch.from_numpy(drawn)
    return leaves


def probabilities(routing: Routing, F: torch.Tensor) -> torch.Tensor:
    return routing.log_probabilities(routing.log_sigmoids(F)).exp()


def step(leaves, tree, P, D, repeats, counts=None) -> None:
    """A leaf step, from probabilities that are left as they are."""
    counts = torch.ones(P.shape[1], dtype=P.dtype) if counts is None else counts
    leaves.update(tree, P.log(), D, counts, repeats)


def loop_over_nodes(phi: np.ndarray, F: np.ndarray) -> np.ndarray:
    """Equation 1 as it stands: a product over the nodes on the way to each leaf."""
    trees, nodes = phi.shape
    P = np.ones((trees, nodes + 1, F.shape[1]))
    for tree in range(trees):
        for leaf in range(nodes + 1):
            for level in range((nodes + 1).bit_length() - 1):
                node = 2**level - 1 + leaf % 2**level
                left = 1 / (1 + np.exp(-F[phi[tree, node]]))
                P[tree, leaf] *= 1 - left if leaf >> level & 1 else left
    return P


# ---------------------------------------------------------------------- routing


@pytest.mark.parametrize(("trees", "depth", "units"), [(1, 2, 1), (3, 4, 9), (2, 6, 40)])
def test_routing_equals_the_loop_over_nodes(trees, depth, units):
    routing, phi, F = forest(trees, depth, units)
    P = probabilities(routing, F)
    np.testing.assert_allclose(P.numpy(), loop_over_nodes(phi, F.numpy()), rtol=1e-12)
    np.testing.assert_allclose(P.sum(1).numpy(), 1.0, rtol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_depth_13_with_certain_splits_keeps_finite_logarithms(dtype):
    routing, _, F = forest(1, 13, 4095, rows=2)
    logs = routing.log_probabilities(routing.log_sigmoids(200.0 * F.to(dtype)))
    assert torch.isfinite(logs).all()
    assert logs.min() < -750  # zero, were it not a logarithm
    np.testing.assert_allclose(logs.exp().sum(1).numpy(), 1.0, rtol=1e-4)


# ---------------------------------------------------------------------- gradients


def test_gradients_equal_differences_and_automatic_ones():
    routing, _, F = forest()
    leaves, D = random_leaves(routing, 5), distributions(5, 6)

    def loss(F: torch.Tensor) -> torch.Tensor:
        P = probabilities_for_autograd(routing, F)
        return -(D * (leaves.Q.transpose(1, 2) @ P).log()).sum() / (routing.trees * F.shape[1])

    both = routing.log_sigmoids(F)
    P = routing.log_probabilities(both).exp()
    found = routing.gradients(both, *leaves.pull(P.log(), D)) / (routing.trees * F.shape[1])

    tracked = F.clone().requires_grad_()
    loss(tracked).backward()
    np.testing.assert_allclose(found.numpy(), tracked.grad.numpy(), rtol=1e-10, atol=1e-15)

    step = 1e-6
    for unit, row in [(0, 0), (3, 2), (8, 5)]:
        moved = F.clone()
        moved[unit, row] += step
        up = loss(moved)
        moved[unit, row] -= 2 * step
        difference = (up - loss(moved)) / (2 * step)
        np.testing.assert_allclose(found[unit, row].item(), difference.item(), atol=1e-8)


def probabilities_for_autograd(routing: Routing, F: torch.Tensor) -> torch.Tensor:
    """Without writing into anything that the backward pass needs."""
    logs = torch.nn.functional.logsigmoid
    steps = torch.cat([logs(F), logs(-F)]).index_select(0, routing.sides)
    reached = F.new_zeros((routing.trees, F.shape[1]))
    start = 0
    for level in range(routing.levels):
        count = routing.trees << level
        step = steps[start : start + 2 * count].view(2, count, -1)
        reached = (step + reached).view(2 * count, -1)
        start += 2 * count
    return reached.view(routing.leaves, routing.trees, -1).transpose(0, 1).exp()


# ---------------------------------------------------------------------- leaves


def losses(leaves: DistributionLeaves, P: torch.Tensor, D: torch.Tensor) -> np.ndarray:
    return leaves.loss(P.log(), D).numpy()


def test_leaf_step_minimises_the_bound_that_touches_the_loss():
    routing, _, F = forest(1, 3, 3)
    leaves, D = random_leaves(routing, 4), distributions(4, 6)
    P = probabilities(routing, F)
    old = leaves.Q.clone()
    shares = P[0][:, :, None] * old[0][:, None, :] / (old.transpose(1, 2) @ P)[0].t()[None]

    def bound(Q: torch.Tensor) -> float:
        inside = torch.log(P[0][:, :, None] * Q[:, None, :] / shares)
        return float(-(D.t()[None] * shares * inside).sum() / 6)

    np.testing.assert_allclose(bound(old[0]), losses(leaves, P, D)[0], rtol=1e-12)
    step(leaves, 0, P[0], D, 1)
    least = bound(leaves.Q[0])
    assert losses(leaves, P, D)[0] <= least
    generator = np.random.default_rng(3)
    for _ in range(50):
        other = torch.from_numpy(generator.dirichlet(np.ones(4), 4))
        nearby = 0.99 * leaves.Q[0] + 0.01 * other
        assert bound(nearby) >= least - 1e-12
        assert bound(nearby) >= -float((D * (nearby.t() @ P[0]).log()).sum()) / 6 - 1e-12


def test_row_drawn_three_times_counts_as_three_rows():
    routing, _, F = forest(1, 4, 7)
    P, D = probabilities(routing, F)[0], distributions(5, 6)
    counts = torch.tensor([3.0, 1, 1, 2, 1, 1], dtype=torch.float64)
    weighted, repeated = DistributionLeaves(1, 8, 5), DistributionLeaves(1, 8, 5)
    step(weighted, 0, P, D, 4, counts)
    times = counts.long()
    step(repeated, 0, P.repeat_interleave(times, 1), D.repeat_interleave(times, 1), 4)
    np.testing.assert_allclose(weighted.Q.numpy(), repeated.Q.numpy(), rtol=1e-10)
