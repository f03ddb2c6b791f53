"""Algorithms of python-ldl, the only public toolbox of the field, as methods."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import tempfile
import time
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from ldl.base import LDLEstimator
from ldlrepro.core.errors import UserError
from ldlrepro.peers import worker

ENVIRONMENT = ".bench-venv"
"""Where ``make peers`` creates it in the checkout. ``make bench`` uses it too."""
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
PATIENCE = 4
"""Wall seconds for each CPU second of the limit: a busy machine fails no fit, and none hangs."""
GLANCE = 0.5
"""Seconds between two looks at the peer's CPU time."""
LAST_WORDS = 2000
"""Characters of the peer's log that are searched for its last line."""

_too_slow: set[str] = set()
"""Fits that ran into their limit in this process. Other folds of the unit would too."""


class TimeLimitError(UserError):
    """A request that was not answered within the limit."""


@dataclass(eq=False, repr=False)
class PythonLDL(LDLEstimator):
    """An algorithm of python-ldl with that package's own defaults.

    Negative degrees are set to zero and rows divided by their sums, as the contract of our
    estimators has it; a prediction with NaN is a failure.

    Parameters
    ----------
    algorithm : str, default='SA_BFGS'
        Name of the class in ``pyldl.algorithms``.
    arguments : dict or None, default=None
        Arguments of the class.
    fit_arguments : dict or None, default=None
        Arguments of its ``fit``.
    time_limit : float, default=120.0
        CPU seconds that a fit, or a prediction, may take, on one thread. A fit that needs more is
        not tried again in the same process on rows of as many features and labels.
    random_state : int or None, default=None
        Seed; python-ldl takes 32 bits of it.

    Attributes
    ----------
    diagnostics_ : dict
        ``python-ldl``, the version that ran; under ``elsewhere`` the CPU seconds of ``fit`` and
        ``predict`` and the peak memory in MB of the process that ran it.
    n_features_in_ : int
        Number of features seen by ``fit``.
    n_labels_ : int
        Number of labels.

    Examples
    --------
    >>> from ldlrepro.peers.python_ldl import PythonLDL
    >>> PythonLDL(algorithm="AA_KNN", arguments={"k": 7}).get_params()["arguments"]
    {'k': 7}
    """

    algorithm: str = "SA_BFGS"
    arguments: dict[str, Any] | None = None
    fit_arguments: dict[str, Any] | None = None
    time_limit: float = 120.0
    random_state: int | None = None

    def _fit(self, X: Any, D: np.ndarray) -> None:
        settings = {
            "algorithm": self.algorithm,
            "arguments": self.arguments or {},
            "fit_arguments": self.fit_arguments or {},
        }
        alike = json.dumps([settings, self.time_limit, X.shape[1], D.shape[1]], sort_keys=True)
        if alike in _too_slow:
            raise TimeLimitError(
                f"{self.algorithm} did not finish an earlier fit of this job in "
                f"{self.time_limit:g} s, so this one was not tried"
            )
        self._peer = Process(self.algorithm, self.time_limit)
        training = self._peer.folder / "training.npz"
        np.savez(training, X=X, D=D)
        seed = (self.random_state or 0) % 2**32
        try:
            answer = self._peer.ask("fit", **settings, seed=seed, training=str(training))
        except TimeLimitError:
            _too_slow.add(alike)
            raise
        elsewhere = {"fit_cpu_s": answer["cpu_s"], "peak_mb": answer["peak_mb"]}
        self.diagnostics_ = {"python-ldl": answer["version"], "elsewhere": elsewhere}

    def _predict(self, X: Any) -> np.ndarray:
        rows, predictions = (self._peer.folder / name for name in ("X.npy", "P.npy"))
        np.save(rows, X)
        answer = self._peer.ask("predict", X=str(rows), predictions=str(predictions))
        self.diagnostics_["elsewhere"] |= {
            "predict_cpu_s": answer["cpu_s"],
            "peak_mb": answer["peak_mb"],
        }
        P: np.ndarray = np.load(predictions)
        if P.shape != (len(X), self.n_labels_):
            wanted = (len(X), self.n_labels_)
            raise UserError(f"{self.algorithm} predicts an array of {P.shape}, not of {wanted}")
        if not np.isfinite(P).all():
            raise UserError(f"{self.algorithm} predicts NaN or infinity")
        return np.clip(P, 0.0, None)


class Process:
    """A process of the peers' environment, with a folder for arrays. Both end with this object."""

    def __init__(self, name: str, time_limit: float) -> None:
        self.name, self.time_limit = name, time_limit
        self.folder = Path(tempfile.mkdtemp(prefix="ldlrepro-peer-"))
        self.log = self.folder / "log.txt"
        try:
            with open(self.log, "wb") as log:
                self._process = subprocess.Popen(
                    [interpreter(), worker.__file__, str(os.getpid()), str(self.folder)],
                    env={**os.environ, **ONE_THREAD, "KERAS_BACKEND": "torch"},
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    text=True,
                )
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        weakref.finalize(self, _end, self._process, self.folder)

    def ask(self, do: str, **request: Any) -> dict[str, Any]:
        """Send a request and return the answer, or raise the error or the time limit."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps({"do": do, **request}) + "\n")
            self._process.stdin.flush()
        except OSError:
            raise UserError(self._ended()) from None
        if not self._answered_in_time(self._process.stdout):
            self._process.kill()
            raise TimeLimitError(f"{self.name} did not finish its {do} in {self.time_limit:g} s")
        line = self._process.stdout.readline()
        if not line:
            raise UserError(self._ended())
        answer: dict[str, Any] = json.loads(line)
        if not answer.pop("ok"):
            raise UserError(f"{self.name} failed in its {do}: {answer['error']}")
        return answer

    def _answered_in_time(self, answers: IO[str]) -> bool:
        """Wait for a line or the end of the process, as long as the limit allows."""
        waited, spent = time.monotonic(), self._cpu_seconds()
        while not select.select([answers], [], [], GLANCE)[0]:
            if self._cpu_seconds() - spent > self.time_limit:
                return False
            if time.monotonic() - waited > PATIENCE * self.time_limit:
                return False
        return True

    def _cpu_seconds(self) -> float:
        import psutil

        try:
            times = psutil.Process(self._process.pid).cpu_times()
        except psutil.Error:
            return 0.0
        return float(times.user + times.system)

    def _ended(self) -> str:
        words = self.log.read_text(encoding="utf-8", errors="replace")[-LAST_WORDS:].split("\n")
        last = next((word for word in reversed(words) if word.strip()), "it said nothing")
        return f"{self.name}: its process ended with code {self._process.wait()}: {last.strip()}"


def interpreter(package: str = "python-ldl") -> str:
    """Return the Python of the peers' environment; refuse where ``package`` cannot run there."""
    from ldlrepro.catalogue.project import checkout_here

    path = checkout_here() / ENVIRONMENT / "bin" / "python"
    if not path.is_file():
        raise UserError(
            f"{package} runs in an environment of its own, and {path} is not there: type "
            f"`make peers`, or make {ENVIRONMENT} a link to an environment that has it"
        )
    return str(path)


def _end(process: subprocess.Popen[str], folder: Path) -> None:
    process.kill()
    process.wait()
    for channel in (process.stdin, process.stdout):
        if channel is not None:
            channel.close()
    shutil.rmtree(folder, ignore_errors=True)
