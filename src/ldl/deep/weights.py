"""Weights of networks from files that the user names: the checksum first, and never a pickle.

A ``.pth`` file is a zip archive with a list of tensors inside; PyTorch reads it with
``weights_only``, which builds tensors and refuses everything that could run code. A file of the
same name that ends in ``.json`` may stand beside it, with its checksum and preprocessing.
"""

from __future__ import annotations

import hashlib
import json
import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from ldl.deep.backbones import (
    BUILDERS,
    STANDARD,
    Backbone,
    Sizes,
    sizes_of,
    vgg_face_names,
)
from ldl.errors import UserError

TORCHVISION, VGG_FACE, RANDOM = "torchvision", "vgg_face", "random"

PREPROCESSING: dict[str, dict[str, Any]] = {
    TORCHVISION: {"scale": 1 / 255, "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]},
    VGG_FACE: {"scale": 1.0, "mean": [129.1863, 104.7624, 93.594], "std": [1.0, 1.0, 1.0]},
}
"""Mean and deviation of red, green and blue after pixel values are multiplied by ``scale``."""
FEWEST_DIGITS = 8
"""Digits of a checksum below which another file would pass by chance."""
CONVOLUTIONS_ALONE = "convolutions alone; all other layers began at random"
RANDOM_WARNING = (
    "RANDOM WEIGHTS, asked for with random_weights: this network was never trained, and nothing "
    "computed with it says anything about a method"
)


@dataclass
class Loaded:
    """A network ready to use.

    Attributes
    ----------
    network : Backbone
        The network, set to evaluate.
    preprocessing : dict
        Entry of ``PREPROCESSING`` for its weights.
    record : dict
        Facts that belong into every record made with it: the network's name, the file and its
        checksum, or the seed and a warning.
    """

    network: Backbone
    preprocessing: dict[str, Any]
    record: dict[str, Any]

    @property
    def warning(self) -> str:
        """The warning of the record, or an empty string."""
        return str(self.record.get("warning", ""))


def random_network(name: str, seed: int, sizes: Sizes | None = None) -> Loaded:
    """Return a network with untrained weights, for trials; its record carries a warning.

    Parameters
    ----------
    name : {'vgg16', 'alexnet'}
        Name of the network.
    seed : int
        Seed of the weights.
    sizes : Sizes or None, default=None
        Widths of the layers; None takes the published ones.

    Returns
    -------
    Loaded
        The network and what belongs to it.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = BUILDERS[name](sizes or STANDARD[name])
    record = {"network": name, "weights": RANDOM, "seed": seed, "warning": RANDOM_WARNING}
    return Loaded(network.eval(), PREPROCESSING[TORCHVISION], record)


def load_network(
    name: str, path: Path, sha256: str | None = None, any_size: bool = False
) -> Loaded:
    """Return a network with the weights of a file.

    A file may hold the convolutions alone. The other layers of such a network have no values yet:
    its outputs until the last pooling can be had, and ``begin_classifier`` draws the rest.

    Parameters
    ----------
    name : {'vgg16', 'alexnet'}
        Name of the network.
    path : Path
        File with torchvision's names of the layers or, for VGG-16, VGG-Face's. A relative path
        counts from the current folder.
    sha256 : str or None, default=None
        Checksum that the file must have, in hexadecimal digits; its first ones will do. None
        takes checksum and preprocessing from the ``.json`` file beside it.
    any_size : bool, default=False
        Also take narrower networks than the published ones.

    Returns
    -------
    Loaded
        The network and what belongs to it.

    Raises
    ------
    UserError
        If the file is missing, has another checksum, could run code or does not fit the network.
    """
    if not path.is_file():
        hint = "" if path.is_absolute() else f" Relative paths count from {Path.cwd()}."
        raise UserError(f"{path}: there is no such file of weights.{hint}")
    about = {} if sha256 else _beside(name, path)
    expected = sha256 or about["sha256"]
    with open(path, "rb") as stored:
        found = hashlib.file_digest(stored, "sha256").hexdigest()
    if len(expected) < FEWEST_DIGITS or not found.startswith(expected):
        raise UserError(
            f"{path}: its SHA-256 is {found}, not {expected}. Get the file again, or correct "
            "sha256."
        )
    layout, state = named_layers(name, path, read_tensors(path))
    network = with_tensors(name, path, state, any_size)
    record = {"network": name, "weights": path.name, "sha256": found, "layout": layout}
    if lacks_classifier(network):
        record["layers"] = CONVOLUTIONS_ALONE
    for key in ("weights", "source_sha256"):  # of prepared ones: the id, and what they are made of
        if key in about:
            record[key] = about[key]
    return Loaded(network, about.get("preprocessing") or PREPROCESSING[layout], record)


def with_tensors(
    name: str, path: Path, state: Mapping[str, torch.Tensor], any_size: bool = False
) -> Backbone:
    """Return a network with these tensors, or refuse them.

    Parameters
    ----------
    name : {'vgg16', 'alexnet'}
        Name of the network.
    path : Path
        File that the tensors come from, for messages.
    state : mapping of str to Tensor
        All weights, or those of the convolutions, under torchvision's names.
    any_size : bool, default=False
        Also take narrower networks than the published ones.

    Returns
    -------
    Backbone
        The network, set to evaluate.

    Raises
    ------
    UserError
        If the tensors do not fit the network.
    """
    sizes = _sizes(name, path, state)
    if not any_size and sizes.channels != STANDARD[name].channels:
        raise UserError(f"{path}: not the weights of {name}: its layers have other widths.")
    with torch.device("meta"):
        network = BUILDERS[name](sizes)
    part: torch.nn.Module = network
    if not any(key.startswith("classifier.") for key in state):
        part = torch.nn.ModuleDict({"features": network.features})
    _check_tensors(path, part, state)
    part.load_state_dict(state, strict=True, assign=True)
    return network.eval()


def lacks_classifier(network: Backbone) -> bool:
    """Tell whether a network has convolutions alone, and its other layers no values yet.

    Parameters
    ----------
    network : Backbone
        The network.

    Returns
    -------
    bool
        Whether ``begin_classifier`` has something to do.
    """
    return any(parameter.is_meta for parameter in network.classifier.parameters())


def begin_classifier(network: Backbone) -> None:
    """Draw the layers behind the convolutions, where a file did not hold them.

    Parameters
    ----------
    network : Backbone
        The network; layers that have values keep them.
    """
    if lacks_classifier(network):
        for layer in network.classifier:
            if isinstance(layer, torch.nn.Linear):
                layer.to_empty(device="cpu")
                layer.reset_parameters()


def _beside(name: str, path: Path) -> dict[str, Any]:
    """Return what the file beside a file of weights says of it."""
    beside = path.with_suffix(".json")
    if not beside.is_file():
        raise UserError(f"{path}: sha256 is missing beside weights; `sha256sum {path}` prints it.")
    try:
        about = dict(json.loads(beside.read_text(encoding="utf-8")))
        about["sha256"]
    except (ValueError, TypeError, KeyError):
        raise UserError(f"{beside}: it does not say the checksum of {path.name}.") from None
    if about.get("network", name) != name:
        raise UserError(f"{path}: weights of {about['network']}, not of {name}.")
    return about


def read_tensors(path: Path) -> dict[str, torch.Tensor]:
    """Read the named tensors of a file, and nothing else.

    Parameters
    ----------
    path : Path
        File that ``torch.save`` wrote.

    Returns
    -------
    dict of str to Tensor
        The tensors as 32-bit numbers, by name.

    Raises
    ------
    UserError
        If the file is broken, could run code or holds anything else.
    """
    try:
        stored = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError:
        raise UserError(
            f"{path}: refused, for it holds more than tensors and could run code. Save only the "
            "state_dict of the network with torch.save."
        ) from None
    except MemoryError:
        raise
    except Exception as error:  # PyTorch raises whatever the broken bytes lead to
        said = (str(error).splitlines() or [type(error).__name__])[0]
        raise UserError(f"{path}: not a readable file of weights ({said}).") from None
    if isinstance(stored, Mapping) and isinstance(stored.get("state_dict"), Mapping):
        stored = stored["state_dict"]
    if not isinstance(stored, Mapping) or not stored:
        raise UserError(f"{path}: it holds no table of named tensors.")
    if not all(isinstance(value, torch.Tensor) for value in stored.values()):
        raise UserError(f"{path}: it holds something that is no tensor.")
    return {str(k).removeprefix("module."): v.float() for k, v in stored.items()}


def named_layers(
    name: str, path: Path, state: dict[str, torch.Tensor]
) -> tuple[str, dict[str, torch.Tensor]]:
    """Return the layout whose names the file has, and the tensors under torchvision's names.

    Parameters
    ----------
    name : {'vgg16', 'alexnet'}
        Name of the network.
    path : Path
        File that the tensors come from, for messages.
    state : dict of str to Tensor
        The tensors by their names in the file.

    Returns
    -------
    str
        Name of the layout, ``'torchvision'`` or ``'vgg_face'``.
    dict of str to Tensor
        The tensors by torchvision's names.

    Raises
    ------
    UserError
        If the names are those of no known layout.
    """
    if name == "vgg16" and "conv1_1.weight" in state:
        names = vgg_face_names()
        renamed = {}
        for key, tensor in state.items():
            layer, _, part = key.rpartition(".")
            renamed[f"{names.get(layer, layer)}.{part}"] = tensor
        return VGG_FACE, renamed
    if "features.0.weight" in state:
        return TORCHVISION, state
    first = next(iter(state))
    known = "torchvision's or VGG-Face's" if name == "vgg16" else "torchvision's"
    raise UserError(f"{path}: names like '{first}' are not {known} for {name}.")


def _sizes(name: str, path: Path, state: Mapping[str, torch.Tensor]) -> Sizes:
    """Return the sizes that the weights are made for."""
    sizes = sizes_of(dict(sorted(state.items(), key=lambda item: _position(item[0]))))
    if len(sizes.channels) != len(STANDARD[name].channels):
        raise UserError(
            f"{path}: {len(sizes.channels)} convolutions, but {name} has "
            f"{len(STANDARD[name].channels)}."
        )
    return sizes


def _position(key: str) -> tuple[bool, int]:
    """Return a key that sorts features before the classifier, then layers by number."""
    part, _, rest = key.partition(".")
    number = rest.partition(".")[0]
    return part != "features", int(number) if number.isdigit() else 0


def _check_tensors(path: Path, network: torch.nn.Module, state: Mapping[str, torch.Tensor]) -> None:
    """Refuse tensors that the network lacks, has in other shapes, or that hold no numbers."""
    expected = {key: tuple(value.shape) for key, value in network.state_dict().items()}
    given = {key: tuple(value.shape) for key, value in state.items()}
    wrong = sorted(k for k in {*expected, *given} if expected.get(k) != given.get(k))
    if wrong:
        key = wrong[0]
        raise UserError(
            f"{path}: {len(wrong)} tensors do not fit, first {key}: "
            f"{given.get(key, 'absent')} instead of {expected.get(key, 'none')}."
        )
    for key, tensor in state.items():
        if not bool(torch.isfinite(tensor).all()):
            raise UserError(f"{path}: {key} holds values that are no numbers.")
