"""Heads on networks: gradients against differences, losses and leaf steps against formulas."""

import copy

import numpy as np
import pytest
import torch

from ldl.deep._heads import ForestHead, RegressionHead, SoftmaxHead
from ldl.soft_forests._base import SoftTrees
from ldl.soft_forests._leaves import DistributionLeaves, GaussianLeaves
from ldl.soft_forests._routing import draw_phi

TREES, DEPTH, UNITS, ROWS, LABELS = 3, 3, 5, 7, 4
LEAVES = 2 ** (DEPTH - 1)


def outputs(blocks: int = 1, seed: int = 0) -> list[torch.Tensor]:
    drawn = np.random.default_rng(seed).normal(size=(blocks, ROWS, UNITS))
    return [torch.from_numpy(block).requires_grad_() for block in drawn]


def distributions(seed: int = 1) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).dirichlet(np.ones(LABELS), ROWS))


def numbers(seed: int = 1) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).normal(size=(ROWS, 1)))


def leaves(kind: str, seed: int = 2, **how):
    generator = np.random.default_rng(seed)
    if kind == "distributions":
        made = DistributionLeaves(TREES, LEAVES, LABELS)
        made.Q = torch.from_numpy(generator.dirichlet(np.ones(LABELS), (TREES, LEAVES)))
        made.alike = False
        return made, distributions()
    shape = (TREES, LEAVES)
    return GaussianLeaves(
        generator.normal(size=shape), generator.uniform(0.2, 1, shape), 0.01, **how
    ), numbers()


def head(kind: str = "distributions", share: bool = True, **how) -> tuple[ForestHead, torch.Tensor]:
    phi = draw_phi(TREES, DEPTH, UNITS, np.random.default_rng(4))
    held, targets = leaves(kind, **how.pop("of_leaves", {}))
    return ForestHead(phi, held, trees_of(share, **how)), targets


def trees_of(share: bool = True, **how) -> SoftTrees:
    given = {"leaf_batches": 2, "leaf_repeats": 5, "temperature_factor": 1.0, **how}
    return SoftTrees(units=UNITS, schedule="joint" if share else "random", **given)


def by_the_book(forest: ForestHead, phi, F: torch.Tensor, targets: torch.Tensor, temperature=0.0):
    """Loss of the paper, node by node, left to autograd."""
    losses = []
    for tree in range(TREES):
        P = torch.stack(
            [
                torch.stack([side(F, phi[tree], leaf, level) for level in range(DEPTH - 1)]).prod(0)
                for leaf in range(LEAVES)
            ]
        )
        if isinstance(forest.leaves, DistributionLeaves):
            losses.append(-(targets.t() * (forest.leaves.Q[tree].t() @ P).log()).sum(0).mean())
        else:
            normal = torch.distributions.Normal(
                forest.leaves.mean[tree], forest.leaves.variance[tree].sqrt()
            )
            density = normal.log_prob(targets[:, 0]).exp()
            losses.append(-(P * density).sum(0).log().mean())
        losses[-1] = losses[-1] - temperature * -(P * P.log()).sum(0).mean()
    return torch.stack(losses).mean()


def side(F, phi, leaf: int, level: int) -> torch.Tensor:
    left = torch.sigmoid(F[:, phi[2**level - 1 + leaf % 2**level]])
    return 1 - left if leaf >> level & 1 else left


# ---------------------------------------------------------------------- gradients


@pytest.mark.parametrize("kind", ["distributions", "numbers"])
@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_loss_and_gradients_equal_the_loop_over_nodes_left_to_autograd(kind, temperature):
    forest, targets = head(kind, temperature=temperature)
    phi = draw_phi(TREES, DEPTH, UNITS, np.random.default_rng(4))
    ours, theirs = outputs(), outputs()
    loss = forest.loss(ours, targets, None)
    expected = by_the_book(forest, phi, theirs[0], targets, temperature)
    loss.backward()
    expected.backward()
    assert loss.item() == pytest.approx(expected.item(), rel=1e-12)
    np.testing.assert_allclose(ours[0].grad.numpy(), theirs[0].grad.numpy(), atol=1e-13)


# ---------------------------------------------------------------------- one tree at a time


def test_blocks_answer_as_trees_of_their_own_do():
    apart, _ = head(share=False)
    F = [block.detach() for block in outputs(TREES)]
    together = apart.mixture(F, apart.leaves.Q)
    phi = draw_phi(TREES, DEPTH, UNITS, np.random.default_rng(4))
    each = []
    for tree in range(TREES):
        one = ForestHead(phi[[tree]], apart.leaves.only(tree), trees_of())
        each.append(one.mixture([F[tree]], one.leaves.Q))
    np.testing.assert_allclose(together.numpy(), torch.stack(each).mean(0).numpy(), rtol=1e-12)


# ---------------------------------------------------------------------- leaves


def test_leaves_learn_from_all_batches_since_their_last_step():
    halves, whole = head()[0], head()[0]
    targets, F = distributions(), outputs()
    halves.visited([F[0][:3]], targets[:3])
    halves.after(1, last=False)
    assert halves.leaf_steps == 0
    halves.visited([F[0][3:]], targets[3:])
    halves.after(2, last=False)
    whole.visited(F, targets)
    whole.after(2, last=False)
    np.testing.assert_allclose(halves.leaves.table(), whole.leaves.table(), rtol=1e-13)
    assert (halves.leaf_steps, halves.queue) == (1, [])


def test_annealing_ends_where_the_papers_say():
    forest, targets = head(
        "numbers",
        temperature=1.0,
        temperature_factor=0.9,
        of_leaves={"tau": 0.5, "tau_factor": 0.9},
    )
    F, reached = outputs(), []
    for step in range(1, 91):
        forest.visited(F, targets)
        forest.after(2 * step, last=False)
        reached.append((forest.temperature, forest.leaves.tau))
    assert reached[0] == pytest.approx((0.9, 0.5 / 0.9))
    assert reached[5][1] < 1.0 == reached[6][1]
    assert reached[-1] == (0.0, 1.0)


def test_state_brings_back_queue_leaves_and_temperatures():
    how = {"temperature": 1.0, "temperature_factor": 0.9}
    forest, targets = head("numbers", **how, of_leaves={"tau": 0.5, "tau_factor": 0.9})
    fresh, _ = head("numbers", **how, of_leaves={"tau": 1.0, "tau_factor": 0.9})
    forest.visited(outputs(), targets)
    forest.after(2, last=False)
    forest.visited(outputs(seed=9), targets)
    fresh.restore(copy.deepcopy(forest.state()))
    for each in (forest, fresh):
        each.visited(outputs(seed=10), targets)
        each.after(4, last=False)
    np.testing.assert_array_equal(fresh.leaves.table(), forest.leaves.table())
    assert (fresh.temperature, fresh.leaves.tau) == (forest.temperature, forest.leaves.tau)


# ---------------------------------------------------------------------- rivals


def test_loss_of_dldl_is_kl_and_its_slope_the_difference():
    targets, F = distributions(), outputs()
    z = [F[0][:, :LABELS]]
    loss = SoftmaxHead(LABELS).loss(z, targets, None)
    P = torch.softmax(z[0], 1).detach()
    kl = (targets * (targets / P).log()).sum(1).mean()
    assert loss.item() == pytest.approx(kl.item(), rel=1e-12)
    loss.backward()
    slope = F[0].grad[:, :LABELS]
    np.testing.assert_allclose(slope.numpy(), ((P - targets) / ROWS).numpy(), atol=1e-14)


def test_regression_is_pulled_by_half_the_squared_distance():
    F = [torch.tensor([[1.0], [4.0]], requires_grad=True)]
    loss = RegressionHead().loss(F, torch.tensor([[0.0], [2.0]]), None)
    assert loss.item() == pytest.approx((1 + 4) / 4)
    loss.backward()
    np.testing.assert_allclose(F[0].grad.numpy(), [[0.5], [1.0]])
