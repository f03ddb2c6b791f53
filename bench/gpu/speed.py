"""Speed and memory on the card: forests beside plain networks, data, features, boosted trees."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench import forest_share as shares
from bench.gpu.steps import IMPOSSIBLE, Outcome, Place, judged

BATCHES = (16, 32, 64, 128, 256)
JUDGED_FROM = 64
"""Batch from which on the speed beside bare VGG-16 is judged; below, launches weigh more."""
LEAST_SHARE_OF_BARE = 0.9
MOST_WAITING = 0.05
FEATURES_WITHIN = 1e-6
WORSE_BY_CARD = 1.01
GB = 1e9
ON_FEATURES = {"sldlf": "dldlf", "drf_linear": "drf"}
"""Methods on features, and those on images that have the same forest."""
UNJUDGED = "a rehearsal does not judge speed"


def forest_share(place: Place) -> Outcome:
    """Measure steps with a forest and without in turn, as often as time allows, three times."""
    batch, steps = place.pick(16, 4), place.pick(200, 20)
    X, D = shares.noise(4 * batch, place.pick(224, 16))
    times: dict[str, list[float]] = {name: [] for name in (shares.PLAIN, *shares.FORESTS)}
    for _ in range(place.pick(3, 1)):
        begun = time.monotonic()
        for name, found in times.items():
            found.append(shares.seconds_per_step(_model(name, batch, place), X, D, steps))
        if place.left() < 1.5 * (time.monotonic() - begun):
            break
    plain = float(np.median(times[shares.PLAIN]))
    more = {name: float(np.median(times[name])) / plain - 1 for name in shares.FORESTS}
    said = "; ".join(f"{name}: {share:+.1%}" for name, share in more.items())
    said += f" of {1000 * plain:.2f} ms, batches of {batch}"
    met = max(more.values()) <= shares.BAR
    return _of_speed(met, said, place, share=more, seconds_per_step=times, batch=batch)


def throughput(place: Place) -> Outcome:
    """Measure images per second and peak memory of DRF and of the bare network, by batch."""
    steps = place.pick(40, 20)
    rows = []
    estimate = _estimated_memory(place)
    for batch in place.pick(BATCHES, (4, 8)):
        if place.left() < 20:
            rows.append({"batch": batch, "late": True})
            continue
        X, D = shares.noise(2 * batch, place.pick(224, 16))
        row: dict[str, Any] = {"batch": batch, "estimated_gb": estimate(batch)}

        def ours(batch: int = batch, X: np.ndarray = X, D: np.ndarray = D) -> float:
            return batch / shares.seconds_per_step(_model("drf", batch, place), X, D, steps)

        def bare(batch: int = batch) -> float:
            return batch / _bare_seconds(place, batch, steps)

        for name, measure in (("ours", ours), ("bare", bare)):
            row[f"{name}_per_s"], row[f"{name}_gb"] = _with_peak(measure, place)
        rows.append(row)
    measured = [row for row in rows if row.get("ours_per_s") and row.get("bare_per_s")]
    ratios = {row["batch"]: row["ours_per_s"] / row["bare_per_s"] for row in measured}
    said = "; ".join(
        f"{row['batch']}: {row['ours_per_s']:.0f} images/s, {ratios[row['batch']]:.2f} of bare"
        for row in measured
    )
    for why, late in (("do not fit into memory", False), ("no time was left for", True)):
        left_out = [
            str(r["batch"]) for r in rows if r not in measured and r.get("late", False) is late
        ]
        if left_out:
            said += f"; {why}: {', '.join(left_out)}"
    judged_ones = [ratio for batch, ratio in ratios.items() if batch >= JUDGED_FROM]
    met = bool(judged_ones) and min(judged_ones) >= LEAST_SHARE_OF_BARE
    return _of_speed(met, said, place, batches=[row for row in rows if "late" not in row])


def data_path(place: Place) -> Outcome:
    """Compare trainings that read a file of pixels with those whose batch is always there."""
    from ldlrepro.data.pixels import Pixels

    count, side, batch = place.pick(2000, 64), place.pick(224, 16), place.pick(64, 4)
    steps = place.pick(60, 20)
    path = _file_of_pixels(place.folder / "pixels.npy", count, side)
    D = shares.noise(count, 1)[1]
    sources: dict[str, Any] = {"file": Pixels(path), "memory": OneBatch(count, side)}
    best = dict.fromkeys(sources, np.inf)
    for _ in range(2):
        for name, X in sources.items():
            found = shares.seconds_per_step(_model("drf", batch, place), X, D, steps)
            best[name] = min(best[name], found)
    waiting = max(0.0, 1.0 - best["memory"] / best["file"])
    said = (
        f"{waiting:.1%} of the time, {batch / best['file']:.0f} images/s of {side} x {side} from a "
        "file in the system's cache, two reading threads"
    )
    return _of_speed(waiting <= MOST_WAITING, said, place, waiting=waiting, seconds_per_step=best)


class OneBatch:
    """Images that are always the same rows, which are there already."""

    def __init__(self, count: int, side: int) -> None:
        self.shape = (count, side, side, 3)
        self._there: dict[int, np.ndarray] = {}

    def read(self, rows: np.ndarray) -> np.ndarray:
        if len(rows) not in self._there:
            self._there[len(rows)] = shares.noise(len(rows), self.shape[1])[0]
        return self._there[len(rows)]


def features(place: Place) -> Outcome:
    """Run the estimators on the processor, then the same forests on a linear map on both devices.

    The estimators compute on processors only; the second part says what a card would bring.
    """
    from ldlrepro.models import load

    rows, steps = place.pick(100_000, 1000), place.pick(60, 12)
    batches = place.pick((16, 256), (16, 64))
    rng = np.random.default_rng(0)
    X = rng.normal(0.0, 1.0, (rows, place.pick(128, 16)))
    ages = np.clip(np.rint(30 + 8 * X[:, 0] + 4 * X[:, 1]), 0, shares.AGES - 1)
    D = _around(ages)
    apart, seconds, said = 0.0, {}, []
    where = place.pick("on the card", "in its place")
    for linear, deep in ON_FEATURES.items():
        begun = time.perf_counter()
        load(linear, max_iter=place.pick(500, 60), random_state=0).fit(X, D)
        found: dict[str, Any] = {"estimator_fit_s": time.perf_counter() - begun}
        for batch in batches:
            (there, here) = (
                _forest_on_map(deep, X, D, device, batch, steps) for device in (place.device, "cpu")
            )
            apart = max(apart, float(np.abs(there[1] - here[1]).max()))
            found[f"batch_{batch}"] = {"card_s": there[0], "cpu_s": here[0]}
            said.append(
                f"{linear}, batches of {batch}: {1000 * there[0]:.2f} ms a step {where}, "
                f"{1000 * here[0]:.2f} on one thread"
            )
        seconds[linear] = found
    said.append(f"predictions apart by {apart:.1e}")
    met = apart <= FEATURES_WITHIN
    return judged(met, "; ".join(said), rows=rows, seconds=seconds, apart=apart)


def boosting(place: Place) -> Outcome:
    """Compare xgboost's trees on the card with its own on the processor and with ours."""
    import xgboost

    from ldl import LDLDF
    from ldl.cascade._learners import Boosted

    if place.device == "cuda" and not xgboost.build_info().get("USE_CUDA"):
        return Outcome(IMPOSSIBLE, "xgboost is built without CUDA: make TORCH=gpu setup")
    rows = place.pick(20_000, 400)
    rng = np.random.default_rng(0)
    X = rng.random((rows, place.pick(243, 12)))
    logits = 3.0 * X[:, :6] + X[:, 6:12]
    D = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    known = rows // 2
    model: Any = LDLDF()
    ours = Boosted(model._settings(1), seed=0)

    def grown(device: str) -> Callable[[], Any]:
        def train() -> Any:
            data = xgboost.QuantileDMatrix(X[:known], D[:known], max_bin=model.max_bin)
            asked = {**ours.parameters, "max_bin": model.max_bin, "device": device}
            booster = xgboost.train(asked, data, ours.settings.trees)
            return booster.predict(xgboost.DMatrix(X[known:]))

        return train

    def grown_by_us() -> Any:
        return ours.fit(X[:known], D[:known]).predict(X[known:])

    ways = {"card": grown(place.device), "xgboost_cpu": grown("cpu"), "ours_cpu": grown_by_us}
    seconds, kl = {}, {}
    for name, way in ways.items():
        way()  # compiles, and wakes the card
        begun = time.perf_counter()
        P = np.clip(way(), 1e-6, None)
        seconds[name] = time.perf_counter() - begun
        P = P / P.sum(axis=1, keepdims=True)
        kl[name] = float((D[known:] * np.log(D[known:] / P)).sum(axis=1).mean())
    said = "; ".join(f"{name}: {seconds[name]:.2f} s, KL {kl[name]:.5f}" for name in ways)
    said += f"; {known} rows, one thread on the processor"
    met = kl["card"] <= WORSE_BY_CARD * kl["xgboost_cpu"]
    return judged(met, said, seconds=seconds, kl=kl)


# ---------------------------------------------------------------------- inside


def _of_speed(met: bool, said: str, place: Place, **numbers: Any) -> Outcome:
    if place.rehearsal:
        return judged(True, f"{said}; {UNJUDGED}", **numbers)
    return judged(met, said, **numbers)


def _model(name: str, batch: int, place: Place) -> Any:
    return shares.untrained(name, place.pick("vgg16", "tiny"), batch, place.device)


def _with_peak(measure: Callable[[], float], place: Place) -> tuple[float | None, float | None]:
    """Return a measurement and the most memory in use meanwhile; None where it does not fit."""
    import torch

    from ldl.errors import UserError

    if place.device == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    try:
        found = measure()
    except (torch.OutOfMemoryError, MemoryError, UserError) as error:
        print(f"does not fit: {error}", flush=True)
        return None, None
    peak = torch.cuda.max_memory_allocated() / GB if place.device == "cuda" else None
    return found, peak


def _bare_seconds(place: Place, batch: int, steps: int) -> float:
    """Return the time of a step of the network alone, on images that lie on the device."""
    import torch

    from ldl.deep._networks import _tiny
    from ldl.deep.weights import random_network

    cuda, side = place.device == "cuda", place.pick(224, 16)
    network: Any = random_network("vgg16", 0).network if cuda else _tiny()
    network.to(place.device, memory_format=torch.channels_last).train()
    images = torch.rand((batch, 3, side, side), device=place.device)
    images = images.to(memory_format=torch.channels_last)
    labels = torch.zeros(batch, dtype=torch.long, device=place.device)
    optimiser = torch.optim.SGD(network.parameters(), 0.001, 0.9, weight_decay=0.0005)

    def step() -> None:
        with torch.autocast(place.device, torch.bfloat16, enabled=cuda):
            answers = network(images)
        loss = torch.nn.functional.cross_entropy(answers.float(), labels)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()

    before = torch.backends.cudnn.benchmark
    torch.backends.cudnn.benchmark = cuda
    try:
        return _timed(step, steps, cuda)
    finally:
        torch.backends.cudnn.benchmark = before


def _timed(step: Callable[[], None], steps: int, cuda: bool) -> float:
    """Return the time of a step, after as many to warm up as a training takes to its report."""
    for _ in range(20):
        step()
    begun = _now(cuda)
    for _ in range(steps):
        step()
    return (_now(cuda) - begun) / steps


def _now(cuda: bool) -> float:
    """Read the clock: on a card when its work is done, on the processor that of this process."""
    import torch

    if not cuda:
        return time.process_time()
    torch.cuda.synchronize()
    return time.perf_counter()


def _estimated_memory(place: Place) -> Callable[[int], float]:
    """Return what a training expects a batch to take, in GB; it refuses batches by that."""
    from ldl.deep._memory import activation_bytes, fixed_bytes
    from ldl.deep._networks import image_network

    side = place.pick(224, 16)
    network, _ = image_network(place.pick("vgg16", "tiny"), [128], None, None, True, 0)
    each, fixed = activation_bytes(network, (side, side)), fixed_bytes(network, "sgd")
    each //= 1 if place.rehearsal else 2  # bfloat16
    return lambda batch: (fixed + batch * each) / GB


def _file_of_pixels(path: Path, count: int, side: int) -> Path:
    shape = (count, side, side, 3)
    pixels = np.lib.format.open_memmap(path, mode="w+", dtype=np.uint8, shape=shape)
    pixels[:] = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    pixels.flush()
    return path


def _around(ages: np.ndarray) -> np.ndarray:
    from ldlrepro.data.images.age_distributions import age_distributions, age_grid

    return age_distributions(ages, age_grid(0, shares.AGES - 1), 2.0)


def _forest_on_map(
    name: str, X: np.ndarray, D: np.ndarray, device: str, batch: int, steps: int
) -> tuple[float, np.ndarray]:
    """Train a forest on a linear map of features; return the time of a step and predictions."""
    import torch

    from ldl.deep._pixels import Order
    from ldlrepro.models import load

    model: Any = load(name, leaf_batches=max(1, steps // 5))
    head = model._head(D, 0).to(torch.device(device))
    targets = torch.from_numpy(model._targets(D).values).to(device)
    inputs = torch.from_numpy(X).to(device)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        layer = torch.nn.Linear(X.shape[1], sum(head.widths), dtype=torch.float64)
    layer.to(device)
    optimiser = torch.optim.SGD(layer.parameters(), 0.01, 0.9)
    order = Order(len(X), batch, 0)
    cuda = device == "cuda"
    begun = _now(cuda)
    for number in range(1, steps + 1):
        rows = torch.from_numpy(order.batch(number)).to(device)
        outputs = layer(inputs[rows])
        loss = head.loss([outputs], targets[rows], None)
        if loss is not None:
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()
        with torch.no_grad():
            head.visited([outputs], targets[rows])
            head.after(number, number == steps)
    seconds = (_now(cuda) - begun) / steps
    with torch.no_grad():
        answers = head.mixture([layer(inputs[:1000])], _table(head)).cpu().numpy()
    return seconds, answers


def _table(head: Any) -> Any:
    leaves = head.leaves
    return leaves.Q if hasattr(leaves, "Q") else leaves.mean
