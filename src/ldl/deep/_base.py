"""What all estimators on images share: checks, the network, its training, states, answers."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ldl._parameters import check_parameters
from ldl.base import LDLEstimator, check_distributions, child_seeds, to_simplex

if TYPE_CHECKING:
    from torch import Tensor

    from ldl.deep._heads import Head, Outputs
    from ldl.deep._pixels import Images, Window
    from ldl.deep._training import Course, Place, Taught

# They say where and how fast, so a training may go on with others.
_NO_MATTER = ("device", "mixed_precision", "readers")


@dataclass(eq=False, repr=False)
class ImageEstimator(LDLEstimator):
    """A network on images, (rows, height, width, 3) as whole grey levels, trained step by step.

    X is an array, or anything with ``shape``, ``X[rows]`` and ``read(rows)``, so that images need
    not lie in memory. ``weights`` is a file with the checksum ``sha256``; ``random_weights`` starts
    from nothing instead and says so in every record. Training sees squares of ``crop_side`` pixels
    from anywhere, mirrored at random if ``flip``; predictions see the middle. ``readers`` threads
    read ahead. On a GPU all layers but the last compute in bfloat16 if ``mixed_precision``. Whoever
    puts a ``Watch`` in place (``_watch.py``) can follow a training and take it up again.
    """

    accepts_images = True

    network: str = "vgg16"
    weights: str | None = None
    sha256: str | None = None
    random_weights: bool = False
    crop_side: int | None = None
    flip: bool = True
    max_iter: int = 30000
    batch_size: int = 16
    optimiser: str = "sgd"
    learning_rate: float = 0.05
    momentum: float = 0.9
    weight_decay: float = 0.0005
    drop_every: int | None = 10000
    drop_factor: float = 0.5
    device: str = "auto"
    mixed_precision: bool = True
    readers: int = 2
    random_state: int | None = None

    # ------------------------------------------------------------------ to be written by methods

    def _head(self, D: np.ndarray, seed: int) -> Head:
        """What stands on the network, for these labels of the training rows."""
        raise NotImplementedError

    def _taught(self, D: np.ndarray) -> Taught:
        raise NotImplementedError

    def _shares(self, outputs: Outputs) -> Tensor:
        """Label distributions."""
        raise NotImplementedError

    def _numbers(self, outputs: Outputs) -> Tensor:
        """Numbers of the labels."""
        return self.head_.numbers(outputs)

    # ------------------------------------------------------------------ public

    def fit(self, X: Any, D: Any) -> Self:
        from ldl.deep._pixels import checked

        images = checked(X)
        D, self.renormalised_ = check_distributions(D, images.shape[0])
        self.n_labels_ = int(D.shape[1])
        self.image_shape_ = images.shape[1:]
        self.n_features_in_ = int(np.prod(self.image_shape_))
        self._train(images, D)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Label distributions, one row per image."""
        return to_simplex(self._answered(X, self._shares))

    def predict_number(self, X: Any) -> np.ndarray:
        """The number of the label that the method predicts, such as the age in years."""
        return self._answered(X, self._numbers)

    # ------------------------------------------------------------------ inside

    def _train(self, images: Images, D: np.ndarray) -> None:
        import torch

        from ldl.deep._networks import image_network
        from ldl.deep._training import Training

        check_parameters(self.get_params())
        head_seed, network_seed, seed = child_seeds(self.random_state, 3)
        window, where = self._window(), self._place()
        self.head_ = self._head(D, head_seed)
        self.network_, record = image_network(
            self.network,
            self.head_.widths,
            self.weights,
            self.sha256,
            self.random_weights,
            network_seed,
        )
        training = Training(
            self.network_,
            self.head_,
            images,
            self._taught(D),
            self._course(),
            window,
            where,
            seed,
            self._name(images, D),
        )
        training.run()
        self.head_.to(torch.device("cpu"))
        self.diagnostics_ = {
            **record,
            "iterations": training.step,
            "taken_up_at": training.taken_up_at,
            "last_batch_mae": training.latest["mae"],
            "device": str(where.device),
            "mixed_precision": where.mixed_precision,
        }
        for key, value in (
            ("last_loss", training.latest.get("loss")),
            ("leaf_steps", getattr(self.head_, "leaf_steps", None)),
        ):
            if value is not None:
                self.diagnostics_[key] = value

    def _answered(self, X: Any, answer: Any) -> np.ndarray:
        from ldl.deep._pixels import checked
        from ldl.deep._training import answered

        self._demand_fitted()
        images = checked(X)
        if images.shape[1:] != self.image_shape_:
            seen, given = (
                " x ".join(map(str, shape[:2])) for shape in (self.image_shape_, images.shape[1:])
            )
            raise ValueError(f"X has images of {given} pixels, but fit saw {seen}")
        return answered(self.network_, images, self._window(), self._place(), answer)

    def _window(self) -> Window:
        from ldl.deep._networks import LEAST_SIDE
        from ldl.deep._pixels import Window

        window = Window(*self.image_shape_[:2], self.crop_side)
        least = LEAST_SIDE[self.network]
        if min(window.shape) < least:
            height, width = window.shape
            raise ValueError(
                f"{self.network} needs images of {least} x {least} pixels or more, X has "
                f"{height} x {width}"
            )
        return window

    def _place(self) -> Place:
        from ldl.deep._training import place

        return place(self.device, self.mixed_precision, self.readers)

    def _course(self) -> Course:
        from ldl.deep._training import Course

        return Course(
            self.max_iter,
            self.batch_size,
            self.optimiser,
            self.learning_rate,
            self.momentum,
            self.weight_decay,
            self.drop_every,
            self.drop_factor,
            self.flip,
            getattr(self, "schedule", "joint"),
            getattr(self, "trees", 1),
        )

    def _name(self, images: Images, D: np.ndarray) -> str:
        """Of this very fit; states of others are not taken up."""
        deciding = {k: v for k, v in self.get_params().items() if k not in _NO_MATTER}
        text = json.dumps([type(self).__name__, deciding, list(images.shape)], sort_keys=True)
        return hashlib.sha256(text.encode() + D.tobytes()).hexdigest()
