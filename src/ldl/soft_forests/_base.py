"""Parameters and steps that soft forests share, on a linear map or on a network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ldl._parameters import check_parameters
from ldl.base import LDLEstimator

if TYPE_CHECKING:
    from ldl.soft_forests._leaves import GaussianLeaves
    from ldl.soft_forests._training import ForestSettings, Snapshot


@dataclass(eq=False, repr=False)
class SoftTrees(LDLEstimator):
    """Base of all soft forests: parameters of the trees and of their leaf steps."""

    n_estimators: int = 5
    depth: int = 6
    units: int | None = 128
    phi_replacement: bool = False
    schedule: str = "joint"
    share_units: bool | None = None
    leaf_batches: int = 50
    leaf_repeats: int = 20
    temperature: float = 0.0
    temperature_factor: float = 0.9

    def _leaf_count(self) -> int:
        """Return the number of leaves of a tree."""
        return 2 ** (self.depth - 1)

    def _units_are_shared(self) -> bool:
        """Return ``share_units``, or what the schedule implies where it is None."""
        return self.schedule == "joint" if self.share_units is None else self.share_units


@dataclass(eq=False, repr=False)
class NumberTrees(SoftTrees):
    """Base of soft forests for numbers such as ages: their leaves hold normal densities.

    The numbers are those of the highest labels. Inside they have mean 0 and deviation 1; times
    ``scale_`` plus ``shift_`` they are labels again.
    """

    tau: float = 0.5
    tau_factor: float = 0.9
    leaf_init: str = "random"
    leaf_rule: str = "posterior"
    split_loss: str = "nll"
    least_variance: float = 0.01

    def _standardise(self, D: np.ndarray) -> np.ndarray:
        """Return the standardised numbers of the rows; store their mean and deviation."""
        numbers, self.shift_, self.scale_ = standard_numbers(D)
        return numbers

    def _first_leaves(
        self, numbers: np.ndarray, generator: np.random.Generator, **settings: Any
    ) -> GaussianLeaves:
        """Return leaves to start from, for standardised numbers of the training rows."""
        from ldl.soft_forests._leaves import first_leaves

        return first_leaves(
            numbers,
            (self.n_estimators, self._leaf_count()),
            self.leaf_init,
            generator,
            least_variance=self.least_variance / self.scale_**2,
            tau=self.tau,
            tau_factor=self.tau_factor,
            rule=self.leaf_rule,
            split_loss=self.split_loss,
            **settings,
        )

    def _distributions(self, table: np.ndarray) -> np.ndarray:
        """Return the label distribution of each leaf from its mean and variance."""
        from ldl.soft_forests._leaves import interval_shares

        return interval_shares(table, self.shift_, self.scale_, self.n_labels_)


def standard_numbers(D: np.ndarray) -> tuple[np.ndarray, float, float]:
    """Return the numbers of the highest labels standardised, then their mean and deviation.

    A deviation of 0 is returned as 1.
    """
    numbers = D.argmax(axis=1).astype(np.float64)
    shift, scale = float(numbers.mean()), float(numbers.std()) or 1.0
    return (numbers - shift) / scale, shift, scale


@dataclass(eq=False, repr=False)
class SoftForest(SoftTrees):
    """Base of soft forests on a linear map: parameters of the map and of its steps."""

    accepts_sparse = True

    max_iter: int = 30000
    batch_size: int = 16
    optimiser: str = "sgd"
    learning_rate: float = 0.05
    momentum: float = 0.9
    drop_every: int | None = 10000
    drop_factor: float = 0.5
    init: str = "glorot"
    fit_intercept: bool = True
    standardise: bool = True
    dtype: str = "float32"
    random_state: int | None = None

    def _checked_settings(self) -> ForestSettings:
        """Check the parameters and return what decides a training."""
        from ldl.soft_forests._linear import OptimiserSettings
        from ldl.soft_forests._training import ForestSettings

        units = self._leaf_count() if self.units is None else self.units
        check_parameters({**self.get_params(), "units": units}, self._own_words())
        return ForestSettings(
            trees=self.n_estimators,
            depth=self.depth,
            units=units,
            phi_replacement=self.phi_replacement,
            max_iter=self.max_iter,
            batch_size=self.batch_size,
            leaf_batches=self.leaf_batches,
            leaf_repeats=self.leaf_repeats,
            init=self.init,
            fit_intercept=self.fit_intercept,
            standardise=self.standardise,
            steps=OptimiserSettings(
                self.optimiser,
                self.learning_rate,
                self.momentum,
                self.drop_every,
                self.drop_factor,
            ),
            dtype=self.dtype,
            schedule=self.schedule,
            share_units=self._units_are_shared(),
            temperature=self.temperature,
            temperature_factor=self.temperature_factor,
            **self._own_settings(),
        )

    def _own_settings(self) -> dict[str, Any]:
        """Return the settings that only some linear forests have as parameters."""
        return {}

    def _own_words(self) -> dict[str, tuple[str, ...]]:
        """Return the words that a class allows for parameters where others do not."""
        return {}

    def _store(self, phi: np.ndarray, state: Snapshot) -> None:
        """Store what predictions need."""
        self.phi_, self.state_ = phi, state

    def _mixture(self, table: np.ndarray, X: Any) -> np.ndarray:
        """Return what a table of leaf contents predicts for X, averaged over trees."""
        from ldl.soft_forests._linear import one_thread
        from ldl.soft_forests._training import predict

        with one_thread():
            return predict(self.phi_, self.state_, table, X)
