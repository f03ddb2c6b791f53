"""Base of methods that hold another method."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any, Self

from ldl.base import LDLEstimator


@dataclass(eq=False, repr=False)
class Wrapper(LDLEstimator):
    """Base of methods around another method, their ``base``.

    As with scikit-learn's own, parameters of a base that is an estimator are parameters of the
    wrapper too, by the name ``base__parameter``. A base can also be the dotted path of its class,
    such as 'ldl.AAKNN', whose arguments are then ``settings``: files can hold that.
    """

    base: LDLEstimator | str | None = None
    settings: dict[str, Any] | None = None

    def _default_base(self) -> LDLEstimator:
        """Return what stands for a base of None."""
        raise NotImplementedError

    def _new_base(self, seed: int) -> LDLEstimator:
        """Return an unfitted base; its ``random_state`` is the seed unless it has one."""
        if self.settings is not None and not isinstance(self.base, str):
            raise ValueError("settings belong to a base that is given by its path")
        if isinstance(self.base, str):
            made = _class_at(self.base)(**(self.settings or {}))
        elif self.base is None:
            made = self._default_base()
        elif isinstance(self.base, LDLEstimator):
            made = type(self.base)(**self.base.get_params(deep=False))
        else:
            raise ValueError(f"base must be an estimator of ldl or its path, got {self.base!r}")
        if made.accepts_images:
            raise ValueError(f"base: {type(made).__name__} needs more than a table of features")
        if getattr(made, "random_state", seed) is None:
            made.set_params(random_state=seed)
        return made

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Parameters
        ----------
        deep : bool, default=True
            Return those of a base that is an estimator as well, as ``base__parameter``.

        Returns
        -------
        dict
            Parameter names and values.
        """
        found = super().get_params(deep)
        if deep and isinstance(self.base, LDLEstimator):
            found |= {f"base__{name}": value for name, value in self.base.get_params().items()}
        return found

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name.

        Parameters
        ----------
        **params : dict
            Names and values; ``base__parameter`` is one of a base that is an estimator.

        Returns
        -------
        self
            The estimator.
        """
        nested = {name: params[name] for name in params if name.startswith("base__")}
        super().set_params(**{name: params[name] for name in params if name not in nested})
        if nested:
            if not isinstance(self.base, LDLEstimator):
                raise ValueError(
                    f"{type(self).__name__} has no parameter '{next(iter(nested))}': its base is "
                    "no estimator; arguments of a base given by its path are settings"
                )
            self.base.set_params(**{name[len("base__") :]: nested[name] for name in nested})
        return self

    def __repr__(self) -> str:
        """Show the parameters that differ from their defaults, without those of the base."""
        changed = (
            f"{name}={value!r}"
            for name, value in self.get_params(deep=False).items()
            if repr(value) != repr(getattr(type(self), name))
        )
        return f"{type(self).__name__}({', '.join(changed)})"


def _class_at(path: str) -> type[LDLEstimator]:
    """Return the estimator that a dotted path names."""
    module, _, name = path.rpartition(".")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(
            f"base: cannot find '{path}' ({error}). "
            "Write the dotted path of its class, such as ldl.AAKNN."
        ) from error
    if not isinstance(found, type) or not issubclass(found, LDLEstimator):
        raise ValueError(f"base: '{path}' is no estimator of ldl")
    return found
