"""The peer's process: fits and predicts with python-ldl, on lines of JSON and arrays in files.

It runs as a script in the environment that ``make peers`` creates. It needs the standard library,
NumPy and python-ldl, and knows nothing of this project.
"""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import sys
import threading
import time
import traceback
from collections.abc import Mapping
from importlib import metadata
from typing import Any

import numpy as np


class Peer:
    """One algorithm, its model once it is fitted, and how to call it."""

    def __init__(self, algorithm: str) -> None:
        from pyldl import algorithms

        self.kind = getattr(algorithms, algorithm)
        self.model: Any = None

    def fit(self, request: Mapping[str, Any]) -> dict[str, Any]:
        seed = int(request["seed"])
        random.seed(seed)
        np.random.seed(seed)
        with np.load(request["training"]) as stored:
            X, D = stored["X"], stored["D"]
        self.model = self.kind(**request["arguments"], random_state=seed)
        self.model.fit(X, D, **request["fit_arguments"])
        return {"version": metadata.version("python-ldl")}

    def predict(self, request: Mapping[str, Any]) -> dict[str, Any]:
        # Its classifiers predict the highest label alone.
        whole = getattr(self.model, "predict_proba", self.model.predict)
        np.save(request["predictions"], np.asarray(whole(np.load(request["X"])), dtype=float))
        return {}


def peak_mb() -> float:
    """Return the peak memory of this process; getrusage would start from its parent's."""
    try:
        with open("/proc/self/status", encoding="utf-8") as status:
            return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))
    except (OSError, StopIteration):  # not Linux
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def end_with_the_parent(parent: int, folder: str) -> None:
    """Stop, whatever is being computed, when the process that asks has ended."""
    while os.getppid() == parent:
        time.sleep(1.0)
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)


def serve(parent: int, folder: str) -> None:
    threading.Thread(target=end_with_the_parent, args=(parent, folder), daemon=True).start()
    # The peer prints what it likes to stdout; answers have a channel of their own.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    peer: Peer | None = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            do = request.pop("do")
            if peer is None:  # before the clock starts: python-ldl imports what a class needs here
                peer = Peer(request["algorithm"])
            began = time.process_time()
            answer = {"ok": True, **getattr(peer, do)(request)}
            answer["cpu_s"] = time.process_time() - began
            answer["peak_mb"] = peak_mb()
        except Exception as error:  # a failure of the peer is an answer, too
            traceback.print_exc()
            answer = {"ok": False, "error": f"{type(error).__name__}: {error}".splitlines()[0]}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    serve(int(sys.argv[1]), sys.argv[2])
