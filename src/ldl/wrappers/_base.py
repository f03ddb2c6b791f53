"""Base of methods that hold another method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from ldl._parameters import class_at
from ldl._self_tuned import SelfTuned
from ldl.base import LDLEstimator


@dataclass(eq=False, repr=False)
class Wrapper(SelfTuned):
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

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Parameters
        ----------
        deep : bool, default=True
            Return those of an estimator given as an object as well, as ``estimator__parameter``.

        Returns
        -------
        dict
            Parameter names and values.
        """
        found = super().get_params(deep)
        if deep and isinstance(self.estimator, LDLEstimator):
            nested = self.estimator.get_params().items()
            found |= {f"estimator__{name}": value for name, value in nested}
        return found

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name.

        Parameters
        ----------
        **params : dict
            Names and values; ``estimator__parameter`` is one of an estimator given as an object.

        Returns
        -------
        self
            The estimator.
        """
        nested = {name: params[name] for name in params if name.startswith("estimator__")}
        super().set_params(**{name: params[name] for name in params if name not in nested})
        if nested:
            if not isinstance(self.estimator, LDLEstimator):
                raise ValueError(
                    f"{type(self).__name__} has no parameter '{next(iter(nested))}': its estimator "
                    "is no object; arguments of one given by its path are settings"
                )
            self.estimator.set_params(
                **{name.removeprefix("estimator__"): value for name, value in nested.items()}
            )
        return self


def _class_at(path: str) -> type[LDLEstimator]:
    """Return the estimator that a dotted path names."""
    found = class_at("estimator", path, "ldl.AAKNN")
    if not isinstance(found, type) or not issubclass(found, LDLEstimator):
        raise ValueError(f"estimator: '{path}' is no estimator of ldl")
    return found
