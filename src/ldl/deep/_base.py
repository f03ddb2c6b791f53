"""The base of all estimators on images: checks, the network, its training, predictions."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np

from ldl._parameters import Count, Factor, Interval, NotNegative, Positive
from ldl.base import Weighted, check_distributions, check_weights, child_seeds, to_simplex
from ldl.deep._images import Images, SomeImages, check_images

if TYPE_CHECKING:
    from torch import Tensor

    from ldl.deep._hardware import Hardware
    from ldl.deep._heads import Head, Outputs
    from ldl.deep._pixels import Window
    from ldl.deep._training import Targets, TrainingSettings

_NOT_DECIDING = ("device", "mixed_precision", "readers", "verbose")
"""Parameters that say where and how fast, so that a training may go on with others."""


@dataclass(eq=False, repr=False)
class ImageEstimator(Weighted):
    """Base of estimators that train a network on images, step by step.

    A subclass writes ``_head``, ``_targets`` and ``_shares``. A ``Watch`` (``ldl.watch``) around a
    fit can follow the training and take it up again.

    Parameters
    ----------
    network : {'vgg16', 'alexnet', 'tiny'}, default='vgg16'
        Network below the last layer. ``'tiny'`` has three convolutions, for trials on small images;
        nobody published weights for it.
    weights : str or None, default=None
        Path of a file of weights to start from. A relative path counts from the current folder, ~
        is the home folder. ``fit`` raises ``UserError`` if it is None and ``random_weights`` is not
        set.
    sha256 : str or None, default=None
        SHA-256 checksum of that file, or its first eight digits or more. None takes it from a
        description of the file that ends in ``.json`` beside it.
    random_weights : bool, default=False
        Start from random weights instead of others, for trials; ``diagnostics_`` then holds a
        warning.
    crop_side : int or None, default=None
        Side of the square that the network sees, in pixels: anywhere in the image in training, in
        the middle in predictions. None shows the whole image.
    flip : bool, default=True
        Mirror about half of the training images, drawn anew at every visit.
    max_iter : int, default=30000
        Number of mini-batches.
    batch_size : int, default=16
        Images in a mini-batch; lower it if the memory will not do. Several processes of torchrun
        share a batch, so it must be a multiple of their number.
    solver : {'sgd', 'adam'}, default='sgd'
        Gradient descent with momentum, or Adam.
    learning_rate : float, default=0.05
        Learning rate, on the mean loss of a batch. The first parameter to tune.
    momentum : float, default=0.9
        Momentum of ``'sgd'``; Adam ignores it.
    weight_decay : float, default=0.0005
        L2 penalty on the weights of the network.
    drop_every : int or None, default=10000
        Mini-batches after which the learning rate is multiplied by ``drop_factor``, again and
        again. None keeps it.
    drop_factor : float, default=0.5
        Factor of the learning rate at each drop.
    device : {'auto', 'cpu', 'cuda'}, default='auto'
        Processor or GPU to compute on; ``'auto'`` takes a GPU if there is one.
    mixed_precision : bool, default=True
        Compute all layers but the last in bfloat16 on a GPU; a processor ignores it.
    readers : int, default=2
        Threads that read images ahead; more help where images lie on a slow disk.
    random_state : int or None, default=None
        Seed of everything random; None draws a fresh one.

    Attributes
    ----------
    network_ : ImageNetwork
        Trained network, on the processor.
    image_shape_ : tuple of int
        Height, width and channels of the images seen by ``fit``.
    diagnostics_ : dict
        Facts about the weights, iterations, the step at which the training was taken up, loss and
        mean absolute error at the last report, device and precision.
    n_features_in_ : int
        Number of pixel values of an image.
    """

    accepts_images = True

    network: Literal["vgg16", "alexnet", "tiny"] = "vgg16"
    weights: str | None = None
    sha256: str | None = None
    random_weights: bool = False
    crop_side: int | None = None
    flip: bool = True
    max_iter: Count = 30000
    batch_size: Count = 16
    solver: Literal["sgd", "adam"] = "sgd"
    learning_rate: Positive = 0.05
    momentum: Annotated[float, Interval(0, 1, open_high=True)] = 0.9
    weight_decay: NotNegative = 0.0005
    drop_every: Count | None = 10000
    drop_factor: Factor = 0.5
    device: Literal["auto", "cpu", "cuda"] = "auto"
    mixed_precision: bool = True
    readers: Count = 2
    random_state: int | None = None

    # ------------------------------------------------------------------ to be written by methods

    def _head(self, D: np.ndarray, seed: int) -> Head:
        """Return what stands on the network, for these labels of the training rows."""
        raise NotImplementedError

    def _targets(self, D: np.ndarray) -> Targets:
        """Return what the head is to predict for each row."""
        raise NotImplementedError

    def _shares(self, outputs: Outputs) -> Tensor:
        """Return label distributions from the network's outputs."""
        raise NotImplementedError

    def _numbers(self, outputs: Outputs) -> Tensor:
        """Return numbers of labels from the network's outputs."""
        return self.head_.numbers(outputs)

    # ------------------------------------------------------------------ public

    def fit(self, X: Any, D: Any, sample_weight: Any = None) -> Self:
        """Fit to images and label distributions.

        Parameters
        ----------
        X : array of shape (rows, height, width, 3) and type uint8
            Red, green and blue from 0 to 255. Images need not lie in memory: any object will do
            that has ``shape`` and a method ``read(rows)``, which returns the images of these rows.
        D : array-like of shape (rows, labels)
            Label degrees, not negative; each row sums to 1 within 0.001.
        sample_weight : array-like of shape (rows,) or None, default=None
            How often each image is drawn, in relation to the others; None for all alike.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        UserError
            If no weights are given, if their file does not fit the checksum or the network, or if
            the memory of the GPU will not do.
        """
        images = check_images(X)
        D, self.renormalised_ = check_distributions(D, images.shape[0])
        weight = check_weights(sample_weight, len(D))
        if weight is not None:
            drawn = np.flatnonzero(weight)
            images, D, weight = SomeImages(images, drawn), D[drawn], weight[drawn]
        self.n_labels_ = int(D.shape[1])
        self.image_shape_ = images.shape[1:]
        self.n_features_in_ = int(np.prod(self.image_shape_))
        with self._fitted_or_not():
            self._train(images, D, weight)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predict label distributions.

        Parameters
        ----------
        X : array of shape (rows, height, width, 3) and type uint8
            Images of the size that ``fit`` saw.

        Returns
        -------
        ndarray of shape (rows, labels)
            A distribution for each row: not negative, with sum 1.
        """
        return to_simplex(self._answered(X, self._shares))

    def predict_number(self, X: Any) -> np.ndarray:
        """Predict the number of the label, such as the age.

        Parameters
        ----------
        X : array of shape (rows, height, width, 3) and type uint8
            Images of the size that ``fit`` saw.

        Returns
        -------
        ndarray of shape (rows,)
            The method's estimate: the highest label's number, or a mean that is not rounded.
        """
        return self._answered(X, self._numbers)

    # ------------------------------------------------------------------ inside

    def _train(self, images: Images, D: np.ndarray, weight: np.ndarray | None) -> None:
        """Build head and network, train both, and store them with the diagnostics."""
        import torch

        from ldl.deep._networks import image_network
        from ldl.deep._training import Training

        self._check_parameters()
        head_seed, network_seed, seed = child_seeds(self.random_state, 3)
        window, hardware = self._window(), self._hardware()
        self.head_: Any = self._head(D, head_seed)
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
            replace(self._targets(D), weight=weight),
            replace(self._settings(), name=self._name(images, D, weight)),
            window,
            hardware,
            seed,
            self._say,
        )
        training.run()
        self.head_.to(torch.device("cpu"))
        self.diagnostics_ = {
            **record,
            "iterations": training.step,
            "taken_up_at": training.taken_up_at,
            "last_batch_mae": training.latest["mae"],
            "device": str(hardware.device),
            "mixed_precision": hardware.mixed_precision,
        }
        for key, value in (
            ("last_loss", training.latest.get("loss")),
            ("leaf_steps", getattr(self.head_, "leaf_steps", None)),
        ):
            if value is not None:
                self.diagnostics_[key] = value

    def _answered(self, X: Any, answer: Callable[[Outputs], Tensor]) -> np.ndarray:
        """Return ``answer`` of the network's outputs for every image."""
        from ldl.deep._training import predict

        self._demand_fitted()
        images = check_images(X)
        if images.shape[1:] != self.image_shape_:
            seen, given = (
                " x ".join(map(str, shape[:2])) for shape in (self.image_shape_, images.shape[1:])
            )
            raise ValueError(f"X has images of {given} pixels, but fit saw {seen}")
        return predict(self.network_, images, self._window(), self._hardware(), answer)

    def _window(self) -> Window:
        """Return the part of the images that the network sees; refuse images that are too small."""
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

    def _hardware(self) -> Hardware:
        from ldl.deep._hardware import choose_hardware

        return choose_hardware(self.device, self.mixed_precision, self.readers)

    def _settings(self) -> TrainingSettings:
        from ldl.deep._training import TrainingSettings

        return TrainingSettings(
            max_iter=self.max_iter,
            batch_size=self.batch_size,
            solver=self.solver,
            learning_rate=self.learning_rate,
            momentum=self.momentum,
            weight_decay=self.weight_decay,
            drop_every=self.drop_every,
            drop_factor=self.drop_factor,
            flip=self.flip,
        )

    def _name(self, images: Images, D: np.ndarray, weight: np.ndarray | None) -> str:
        """Return a name for this very fit; states with another name are not taken up."""
        deciding = {k: v for k, v in self.get_params().items() if k not in _NOT_DECIDING}
        text = json.dumps([type(self).__name__, deciding, list(images.shape)], sort_keys=True)
        counts = b"" if weight is None else weight.tobytes()
        return hashlib.sha256(text.encode() + D.tobytes() + counts).hexdigest()
