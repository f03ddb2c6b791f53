"""Compiled steps of soft forests: the same bits as torch's operations and scipy's products."""

import numpy as np
import pytest
import torch
from scipy import sparse

from ldl import SLDLF
from ldl.soft_forests import _compiled
from ldl.soft_forests._linear import LinearMap, Rows, Scale, one_thread
from ldl.soft_forests._routing import CompiledRouting, Routing, draw_phi
from tests.oracle.settings import as_stated

DTYPES = [torch.float32, torch.float64]


def drawn(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape)).to(dtype)


def sparse_rows(rows: int, features: int, seed: int = 0) -> sparse.csr_matrix:
    """Rows some of whose features no other row has, and the first without any."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(rows, features)) * (generator.random((rows, features)) < 0.1)
    X[0] = 0.0
    return sparse.csr_matrix(X)


# ---------------------------------------------------------------------- routes


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("trees", "depth", "units", "rows"), [(5, 7, 64, 33), (40, 3, 64, 7), (1, 9, 256, 5)]
)
def test_compiled_routes_and_gradients_are_those_of_torch(dtype, trees, depth, units, rows):
    phi = draw_phi(trees, depth, units, np.random.default_rng(1))
    plain, compiled = Routing(phi, units), CompiledRouting(phi, units)
    F = 3.0 * drawn(units, rows, dtype=dtype)
    mass, times = drawn(2, trees, 2 ** (depth - 1), rows, seed=2, dtype=dtype)
    both, sides = plain.log_sigmoids(F), compiled.log_sigmoids(F)
    logs = plain.log_probabilities(both)
    assert torch.equal(compiled.log_probabilities(sides), logs)
    expected = plain.gradients(both, mass, times)
    assert torch.equal(compiled.gradients(sides, mass, times), expected)
    # As leaves give them: trees within leaves, and a number that stands for all.
    within = mass.transpose(0, 1).contiguous().transpose(0, 1)
    expected = plain.gradients(both, within, times.new_full((), 0.7))
    assert torch.equal(compiled.gradients(sides, within, times.new_full((), 0.7)), expected)


def test_routes_are_written_into_a_part_of_given_memory_and_nowhere_else():
    phi = draw_phi(3, 4, 16, np.random.default_rng(1))
    routing = CompiledRouting(phi, 16)
    sides = routing.log_sigmoids(drawn(16, 5))
    memory = torch.full((4, 8, 11), 9.0)
    routing.write_log_probabilities(sides, memory[1:, :, 2:7])
    assert torch.equal(memory[1:, :, 2:7], routing.log_probabilities(sides))
    memory[1:, :, 2:7] = 9.0
    assert (memory == 9.0).all()


# ---------------------------------------------------------------------- sparse rows


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("units", [5, 64, _compiled.WIDTH + 16])
def test_products_with_sparse_rows_are_those_of_scipy(dtype, units):
    X = sparse_rows(30, 50)
    rows = Rows(X, dtype)
    W, b = drawn(50, units, dtype=dtype), drawn(units, seed=1, dtype=dtype)
    batch = np.array([3, 0, 17, 17, 29, 4, 11, 8])
    taken = X.astype(W.numpy().dtype)[batch]
    found = rows.outputs(rows.take(batch), W, b)
    np.testing.assert_array_equal(found.numpy(), (taken @ W.numpy() + b.numpy()).T)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("standardise", [True, False])
def test_steps_that_waited_end_where_those_taken_at_once_do(dtype, standardise):
    X, units = sparse_rows(60, 40), 32
    rows = Rows(X, dtype, Scale(X) if standardise else None)
    moving = LinearMap(rows, units, as_stated(SLDLF, learning_rate=0.3), np.random.default_rng(3))
    W, b = moving.W.clone(), moving.b.clone()
    speed_W, speed_b = torch.zeros_like(W), torch.zeros_like(b)
    generator, rate = np.random.default_rng(4), 0.3
    with one_thread():
        for step in range(30):
            batch = generator.integers(0, 60, 3)
            if step == 20:
                moving.slow_down(0.5)
                rate *= 0.5
            assert torch.equal(moving(rows.take(batch)), rows.outputs(batch, W, b).clone())
            by_outputs = drawn(units, 3, seed=step, dtype=dtype)
            moving.move(batch, by_outputs)
            for parameter, speed, slope in (
                (W, speed_W, rows.gradient(batch, by_outputs)),
                (b, speed_b, by_outputs.sum(1)),
            ):
                speed.mul_(0.9).add_(slope)
                parameter.sub_(speed, alpha=rate)
        assert torch.equal(moving.W, W) is standardise
        moving.settle()
    assert torch.equal(moving.W, W)
    assert torch.equal(moving.b, b)
