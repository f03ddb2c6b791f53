"""One side of a comparison: a process of its own environment that reads and writes lines of JSON.

Started by ``process.Worker`` as ``python -m bench.worker LIBRARY``. Needs the standard library,
NumPy and that library; of this project only where the library is ldlrepro.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Any

WARM_UP_ROWS = 150


class Side:
    """Rows of one fold, and the models fitted on them."""

    def __init__(self, library: str) -> None:
        # Imported here, after the number of threads was set.
        from . import adapters

        self.library = library
        self.adapter = adapters.ADAPTERS[library]
        self._fitted: tuple[str, Any] = ("", None)

    def load(self, request: Mapping[str, Any]) -> dict[str, Any]:
        from . import adapters

        self.X, self.D, self.X_test = adapters.rows(self.library, request)
        return {"rows": self.X.shape[0]}

    def warm_up(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Imports, compiles and caches what a first call does; on few rows."""
        spec = _merged(request["spec"], request["spec"].get("warm_up", {}))
        some = slice(0, WARM_UP_ROWS)
        model = self.adapter.build(spec, 0)
        self.adapter.fit(model, self.X[some], self.D[some], spec)
        self.adapter.predict(model, self.X_test)
        return {"versions": self.adapter.versions()}

    def run(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Times fits or predictions until together they take ``at_least`` seconds."""
        spec, seed = request["spec"], request["seed"]
        if request["measure"] in ("fit", "memory"):
            models: list[Any] = []

            def prepare() -> None:
                models[:] = [self.adapter.build(spec, seed)]

            def fit() -> None:
                self.adapter.fit(models[0], self.X, self.D, spec)

            taken = timed(fit, request["at_least"], prepare)
            model = models[0]
            predicted = 0
        else:
            model = self._once_fitted(spec, seed)
            rows = self._rows_to_predict(request["measure"])
            predicted = rows.shape[0]
            taken = timed(lambda: self.adapter.predict(model, rows), request["at_least"])
        predictions = self.adapter.predict(model, self.X_test)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        return {
            **taken,
            "predictions": predictions.tolist(),
            "peak_mb": peak,
            "predicted": predicted,
        }

    def _once_fitted(self, spec: Mapping[str, Any], seed: int) -> Any:
        key = json.dumps([spec, seed], sort_keys=True)
        if self._fitted[0] != key:
            model = self.adapter.build(spec, seed)
            self.adapter.fit(model, self.X, self.D, spec)
            self._fitted = (key, model)
        return self._fitted[1]

    def _rows_to_predict(self, measure: str) -> Any:
        return self.X if measure == "predict_all" else self.X_test


def timed(
    action: Callable[[], Any], at_least: float, prepare: Callable[[], Any] = lambda: None
) -> dict[str, Any]:
    """Mean CPU and wall seconds of a call; ``prepare`` runs untimed before each."""
    cpu = wall = 0.0
    calls = 0
    gc.collect()
    while wall < at_least or not calls:
        prepare()
        start_wall, start_cpu = time.perf_counter(), time.process_time()
        action()
        cpu += time.process_time() - start_cpu
        wall += time.perf_counter() - start_wall
        calls += 1
    return {"cpu": cpu / calls, "wall": wall / calls, "calls": calls}


def _merged(spec: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """``spec`` with single values inside its parts replaced."""
    return {**spec, **{part: {**spec.get(part, {}), **new} for part, new in changes.items()}}


def serve(library: str) -> None:
    # Libraries print what they like to stdout; answers have a channel of their own.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    side = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            side = side or Side(library)
            answer = {"ok": True, **getattr(side, request["do"])(request)}
        except Exception as error:  # the other comparisons go on
            traceback.print_exc()
            text = f"{type(error).__name__}: {error}".splitlines()[0]
            answer = {"ok": False, "error": text}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    serve(sys.argv[1])
