"""Looks into fitted soft forests, whether they stand on a linear map or on a network."""

from __future__ import annotations

from typing import Any

import numpy as np


def entropy(model: Any, X: Any) -> float:
    """Return the entropy of the leaf that a row goes to, as a mean over trees and rows.

    The forests' own record of it does not reach all methods.
    """
    logs = _of_leaves(model, X)
    return float(-(np.exp(logs) * logs).sum(axis=2).mean())


def table(model: Any) -> np.ndarray:
    """Return what the leaves hold, (trees, leaves, numbers)."""
    found = model.head_.leaves.table() if hasattr(model, "head_") else model.state_.table
    return np.asarray(found, dtype=float)


def asking_other_outputs(model: Any, phi_seed: int) -> Any:
    """Return the same estimator, whose splits ask outputs drawn with ``phi_seed``."""
    if "phi_seed" in model.get_params():
        return model.set_params(phi_seed=phi_seed)
    from ldl.deep._heads import ForestHead
    from ldl.soft_forests._routing import draw_phi

    own = model._head

    def head(D: np.ndarray, seed: int) -> ForestHead:
        generator = np.random.default_rng(phi_seed)
        phi = draw_phi(model.n_estimators, model.depth, model.units, generator)
        usual = own(D, seed)
        return ForestHead(phi, usual.leaves, model)

    model._head = head
    return model


def _of_leaves(model: Any, X: Any) -> np.ndarray:
    """Return logarithms of the leaves' probabilities, (rows, trees, leaves)."""
    import torch

    from ldl.soft_forests._linear import Rows
    from ldl.soft_forests._routing import Routing

    def routed(routing: Routing, F: torch.Tensor) -> torch.Tensor:
        return routing.log_probabilities(routing.log_sigmoids(F)).permute(2, 0, 1)

    if hasattr(model, "head_"):
        routing = model.head_.routing
        return np.asarray(
            model._answered(
                X, lambda outputs: routed(routing, torch.cat(outputs, 1).double().t().contiguous())
            )
        )
    state = model.state_
    W, b = torch.from_numpy(state.W), torch.from_numpy(state.b)
    rows = Rows(X, torch.float64)
    F = rows.outputs(rows.take(np.arange(rows.count)), W, b)
    return routed(Routing(state.phi_of(model.phi_), W.shape[1]), F).numpy()
