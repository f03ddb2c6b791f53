"""Jobs that the check starts as processes of their own.

python -m bench.gpu.child hold SECONDS DEVICE       holds a card and says when
python -m bench.gpu.child train FOLDER DEVICE       trains, keeps its state, goes on with it
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from ldlrepro.core.files import atomically
from ldlrepro.train import cards

STEPS = 40
UNIT = ("gpu_check", "noise", "drf@tiny")


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.gpu.child", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    holder = verbs.add_parser("hold")
    holder.add_argument("seconds", type=float)
    holder.add_argument("device", choices=["cuda", "cpu"])
    holder.add_argument("--locks", type=Path, help="folder of the locks on a stand-in card")
    trainer = verbs.add_parser("train")
    trainer.add_argument("folder", type=Path)
    trainer.add_argument("device", choices=["cuda", "cpu"])
    trainer.add_argument("--die-at", type=int, help="step after which it kills itself")
    given = parser.parse_args()
    if given.verb == "hold":
        hold(given.seconds, given.device, given.locks)
    else:
        train(given.folder, given.device, given.die_at)


def hold(seconds: float, device: str, locks: Path | None) -> None:
    """Take a card, keep it for some time, and print when and which it was."""
    if locks:
        cards.LOCKS = locks
    if device == "cuda":
        import torch  # which looks for cards only when it is asked
    with cards.held(1, "gpu-check", _say):
        told: dict[str, Any] = {"begun": time.time(), "card": os.environ[cards.VISIBLE]}
        if device == "cuda":
            told["cards_seen"] = torch.cuda.device_count()
            torch.ones(1, device=device).sum().item()
        time.sleep(seconds)
        told["ended"] = time.time()
    print(json.dumps({"cards_seen": 0, **told}))


def train(folder: Path, device: str, die_at: int | None) -> None:
    """Train a small forest, whose state is kept after every step, and predict."""
    import torch

    from ldl.deep import _training
    from ldl.watch import watched_by
    from ldlrepro.models import load
    from ldlrepro.train.long_training import FoldName, FoldWatch

    class Mortal(FoldWatch):
        """Kills its process when it has kept the state of a step."""

        def keep(self, state: dict[str, Any]) -> None:
            super().keep(state)
            if state["step"] == die_at:
                os.kill(os.getpid(), signal.SIGKILL)

    _training.KEEP_SECONDS = 0.0  # after every step
    # Its short mantissa would carry two runs of one training as far apart as a lost state does.
    torch.backends.cudnn.allow_tf32 = False
    X, D = pictures()
    folder.mkdir(parents=True, exist_ok=True)
    watch = Mortal(FoldName(UNIT, 0, 0), folder / "states", folder / "curves", False, _say)
    with cards.held(int(device == "cuda"), "gpu-check resume", _say), watch, watched_by(watch):
        model: Any = load(
            "drf@tiny",
            max_iter=STEPS,
            leaf_batches=10,
            learning_rate=0.001,
            temperature=0.0,
            device=device,
            mixed_precision=False,
            random_state=0,
        ).fit(X, D)
        answers = model.predict(X)
    with open(folder / "predictions.npy", "wb") as handle:
        np.save(handle, answers)
    told = json.dumps({"taken_up_at": model.diagnostics_["taken_up_at"]})
    atomically(folder / "told.json", lambda part: part.write_text(told, "utf-8"))


def pictures() -> tuple[np.ndarray, np.ndarray]:
    """Return noise whose brightness tells the label, and distributions about it."""
    rng = np.random.default_rng(0)
    numbers = rng.integers(0, 10, 64)
    light = 30.0 + 20.0 * numbers
    X = np.clip(light[:, None, None, None] + rng.normal(0, 20, (64, 16, 16, 3)), 0, 255)
    D = np.exp(-0.5 * (np.arange(10) - numbers[:, None]) ** 2)
    return X.astype(np.uint8), D / D.sum(axis=1, keepdims=True)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
