"""Base of methods that hold another method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ldl._parameters import class_at
from ldl.base import LDLEstimator, Weighted


@dataclass(eq=False, repr=False)
class Wrapper(Weighted):
    """Base of methods around another method, their ``estimator``.

    As with scikit-learn's own, parameters of one that is given as an object are parameters of the
    wrapper too, by the name ``estimator__parameter``. It can also be the dotted path of a class,
    such as 'ldl.AAKNN', whose arguments are then ``settings``: files can hold that.
    """

    estimator: LDLEstimator | str | None = None
    settings: dict[str, Any] | None = None

    def _default_estimator(self) -> LDLEstimator:
        """Return what stands for an estimator of None."""
        raise NotImplementedError

    def _new_estimator(self, seed: int) -> LDLEstimator:
        """Return an unfitted estimator; its ``random_state`` is the seed unless it has one."""
        if self.settings is not None and not isinstance(self.estimator, str):
            raise ValueError("settings belong to an estimator that is given by its path")
        if isinstance(self.estimator, str):
            made = _class_at(self.estimator)(**(self.settings or {}))
        elif self.estimator is None:
            made = self._default_estimator()
        elif isinstance(self.estimator, LDLEstimator):
            made = type(self.estimator)(**self.estimator.get_params(deep=False))
        else:
            raise ValueError(
                f"estimator must be an estimator of ldl or its path, got {self.estimator!r}"
            )
        if made.accepts_images:
            name = type(made).__name__
            raise ValueError(f"estimator: {name} needs more than a table of features")
        if getattr(made, "random_state", seed) is None:
            made.set_params(random_state=seed)
        return made


def _class_at(path: str) -> type[LDLEstimator]:
    """Return the estimator that a dotted path names."""
    found = class_at("estimator", path, "ldl.AAKNN")
    if not isinstance(found, type) or not issubclass(found, LDLEstimator):
        raise ValueError(f"estimator: '{path}' is no estimator of ldl")
    return found
