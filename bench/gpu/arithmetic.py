"""The same numbers on the card as on the processor: the forest layer, leaves, whole trainings."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from bench.gpu.steps import Outcome, Place, judged

WITHIN = 1e-9
WORSE, WORSE_IN_REHEARSAL = 1.1, 1.5
"""Factors by which bfloat16's error may lie above float32's; a rehearsal learns from few faces."""
LEARNED = 0.9
"""Share of the error of a constant answer that a training must get below."""
LAYERS = ("dldlf", "dldlf@annealed", "drf", "drf@as_released")
LEAVES = ("dldlf", "drf", "drf@nrf", "dndf")
HEADS = ("dldlf@annealed", "drf")
TRAINED = ("dldlf@tiny", "drf@tiny")
AGES = 62
SMALL_SIDE = 8

Numbers = Mapping[str, np.ndarray]


def forest_layer(place: Place) -> Outcome:
    """Compare loss and gradient, for distributions and densities, with entropy and without."""
    rows = place.pick(4096, 64)

    def computed(name: str, device: str) -> Numbers:
        head, draw = _drawn(name, rows, device)
        _leaf_step(head, *draw())  # from leaves that are alike nothing is learned
        outputs, targets = draw()
        outputs.requires_grad_()
        loss = head.loss(_blocks(head, outputs), targets, None)
        loss.backward()
        return {"loss": _array(loss), "gradient": _array(outputs.grad)}

    return _compared(LAYERS, computed, place)


def leaf_update(place: Place) -> Outcome:
    """Compare the leaves after three leaf steps."""
    rows = place.pick(800, 64)

    def computed(name: str, device: str) -> Numbers:
        head, draw = _drawn(name, rows, device)
        for _ in range(3):
            _leaf_step(head, *draw())
        return {key: _array(value) for key, value in head.leaves.state_dict().items()}

    return _compared(LEAVES, computed, place)


def heads(place: Place) -> Outcome:
    """Compare everything that whole trainings of a linear network have learned."""
    steps = place.pick(120, 12)

    def computed(name: str, device: str) -> Numbers:
        return trained_in_double(name, device, steps)

    return _compared(HEADS, computed, place)


def trained_in_double(name: str, device: str, steps: int) -> Numbers:
    """Return weights and leaves after a training in double precision."""
    import torch

    from ldl.deep._hardware import Hardware
    from ldl.deep._images import InMemory
    from ldl.deep._networks import ImageNetwork
    from ldl.deep._pixels import Window
    from ldl.deep._training import Training
    from ldl.deep.weights import PREPROCESSING, TORCHVISION
    from ldlrepro.models import load

    rng = np.random.default_rng(1)
    X = rng.integers(0, 256, (128, SMALL_SIDE, SMALL_SIDE, 3), dtype=np.uint8)
    model: Any = load(
        name, max_iter=steps, leaf_batches=max(1, steps // 6), learning_rate=0.01, drop_every=None
    )
    D = _age_distributions(len(X), rng)
    head = model._head(D, 0)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        trunk, inputs = torch.nn.Flatten(), 3 * SMALL_SIDE**2
        network = ImageNetwork(trunk, inputs, head.widths, PREPROCESSING[TORCHVISION]).double()
    Training(
        network,
        head,
        InMemory(X),
        model._targets(D),
        model._settings(),
        Window(SMALL_SIDE, SMALL_SIDE),
        Hardware(torch.device(device)),
        seed=0,
    ).run()
    learned = {**network.state_dict(), **head.leaves.state_dict()}
    return {key: _array(value) for key, value in learned.items()}


def bfloat16(place: Place) -> Outcome:
    """Compare errors on new drawn faces of trainings in both precisions."""
    known, new = place.pick(800, 160), place.pick(400, 80)
    steps, seeds = place.pick(300, 100), place.pick(3, 1)
    X, ages = drawn_faces(known + new, place.pick(64, 32))
    constant = float(np.abs(ages[known:] - np.median(ages[:known])).mean())
    worst, errors, said, learned = 0.0, {}, [], True
    for name in TRAINED:
        found = {
            mixed: np.mean(
                [_error(name, mixed, steps, seed, X, ages, known, place) for seed in range(seeds)]
            )
            for mixed in (False, True)
        }
        exact, mixed = (float(found[key]) for key in (False, True))
        worst = max(worst, mixed / exact)
        learned &= exact < LEARNED * constant
        errors[name] = {"float32": exact, "bfloat16": mixed}
        said.append(f"{name}: {exact:.2f} years in float32, {mixed:.2f} in bfloat16")
    said.append(f"the median age of the known faces: {constant:.2f}")
    return judged(
        learned and worst <= place.pick(WORSE, WORSE_IN_REHEARSAL),
        "; ".join(said),
        errors=errors,
        constant=constant,
    )


def _error(
    name: str,
    mixed: bool,
    steps: int,
    seed: int,
    X: np.ndarray,
    ages: np.ndarray,
    known: int,
    place: Place,
) -> float:
    """Return the mean absolute error on new faces."""
    import torch

    from ldl.deep._hardware import Hardware
    from ldlrepro.data.images.age_distributions import age_distributions, age_grid
    from ldlrepro.models import load

    D = age_distributions(ages, age_grid(0, 69), 2.0)
    model: Any = load(name, max_iter=steps, device=place.device, random_state=seed)
    # The estimator leaves bfloat16 to GPUs; here a rehearsal computes in it, too.
    model._hardware = lambda: Hardware(torch.device(place.device), mixed)
    model.fit(X[:known], D[:known])
    return float(np.abs(model.predict_number(X[known:]) - ages[known:]).mean())


def drawn_faces(count: int, side: int) -> tuple[np.ndarray, np.ndarray]:
    """Return drawn faces, each of another person, and their ages."""
    from ldlrepro.data.drawn.portraits import person, portrait

    rng = np.random.default_rng(1)
    ages = rng.integers(0, 70, count)
    drawn = [portrait(person(rng), float(age), None, (side, side), rng).picture for age in ages]
    return np.stack([np.asarray(picture) for picture in drawn]), ages


# ---------------------------------------------------------------------- inside


def _drawn(name: str, rows: int, device: str) -> tuple[Any, Any]:
    """Return a head on a device, and a function that draws outputs and targets for it there."""
    from ldlrepro.models import load

    rng = np.random.default_rng(0)
    D = _age_distributions(rows, rng)
    model: Any = load(name)
    head = copy.deepcopy(model._head(D, 0))
    targets = model._targets(D).values

    def draw() -> tuple[Any, Any]:
        outputs = rng.normal(0.0, 2.0, (rows, sum(head.widths)))
        return moved(outputs, device), moved(targets, device)

    return head.to(_device(device)), draw


def moved(values: np.ndarray, device: str) -> Any:
    """Put an array on a device."""
    import torch

    return torch.from_numpy(values).to(device)


def _device(device: str) -> Any:
    import torch

    return torch.device(device)


def _leaf_step(head: Any, outputs: Any, targets: Any) -> None:
    import torch

    with torch.no_grad():
        head.visited(_blocks(head, outputs), targets)
        head.after(head.leaf_batches, last=False)


def _blocks(head: Any, outputs: Any) -> list[Any]:
    return list(outputs.split(head.widths, 1))


def _age_distributions(rows: int, rng: np.random.Generator) -> np.ndarray:
    from ldlrepro.data.images.age_distributions import age_distributions, age_grid

    return age_distributions(rng.integers(0, AGES, rows), age_grid(0, AGES - 1), 2.0)


def _array(tensor: Any) -> np.ndarray:
    return np.array(tensor.detach().cpu().numpy())


def _compared(names: Iterable[str], computed: Any, place: Place) -> Outcome:
    """Compute on the processor and on the device; judge the largest difference of each method."""
    apart = {name: farthest(computed(name, "cpu"), computed(name, place.device)) for name in names}
    said = "; ".join(f"{name}: {difference:.1e}" for name, difference in apart.items())
    return judged(max(apart.values()) <= WITHIN, said, largest_relative_difference=apart)


def farthest(first: Numbers, second: Numbers) -> float:
    """Return the largest difference of two sets of arrays, relative to each array's largest entry.

    Numbers that are none are infinitely far from everything.
    """
    most = 0.0
    for key, one in first.items():
        largest = np.abs(one).max(initial=0.0)
        difference = np.abs(one - second[key]).max(initial=0.0) / (largest or 1.0)
        most = max(most, float(difference) if np.isfinite(difference) else np.inf)
    return most
