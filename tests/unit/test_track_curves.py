"""Loss curves on their way to MLflow: while they grow, after a server died, and by the sync."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from ldlrepro.judge.scores import LOCAL, UnitScores
from ldlrepro.track import live
from ldlrepro.track.live import stream_curve
from ldlrepro.track.sync import LIVE_TAG, UNIT_TAG, SyncCounts, sync
from ldlrepro.train.long_training import FoldName, FoldWatch
from ldlrepro.train.records import OK, FoldRow
from tests.tracked import client_of, runs_of
from tests.waiting import until

PAPER = "drf"
IDS = ("drf_morph", "morph", "drf")
KEY = "/".join(IDS)

runs = partial(runs_of, paper=PAPER)


def unit(folder: Path, curve: str = "") -> UnitScores:
    """One fold of a deep method, recorded in a folder."""
    row = FoldRow(*IDS, repeat=0, fold=0, status=OK, started_at="2026-03-01T10:00:00+00:00")
    row.curve = curve
    record = folder / "folds_0-0.parquet"
    record.parent.mkdir(parents=True, exist_ok=True)
    record.write_bytes(b"record")
    return UnitScores(*IDS, [row], {"kl": [0.5]}, LOCAL, [record])


def curve(steps: int, fits: int = 1) -> str:
    lines = ["fit,step,loss,mae"]
    lines += [f"{fit},{s},{fit / s},{s}" for fit in range(1, fits + 1) for s in range(1, steps + 1)]
    return "\n".join(lines) + "\n"


def history(uri: str, run, name: str) -> list[tuple[int, float]]:
    points = client_of(uri).get_metric_history(run.info.run_id, name)
    return sorted((point.step, point.value) for point in points)


# ---------------------------------------------------------------------- the sync


def test_the_sync_takes_the_curve_from_the_record(uri, tmp_path):
    trained = unit(tmp_path, curve(steps=4))
    assert sync(PAPER, "DRF", [trained], uri) == SyncCounts(new=1)
    (run,) = runs(uri)
    assert history(uri, run, "loss/r000_f000") == [(1, 1.0), (2, 0.5), (3, 1 / 3), (4, 0.25)]
    assert sync(PAPER, "DRF", [trained], uri) == SyncCounts(unchanged=1)


# ---------------------------------------------------------------------- while it grows


class Flaky:
    """An MLflow client whose server is away for some of the calls."""

    def __init__(self, away: list[bool]) -> None:
        self.away, self.sent, self.ended = away, [], False

    def log_batch(self, run, metrics):
        from mlflow.exceptions import MlflowException

        if self.away.pop(0):
            raise MlflowException("connection refused")
        self.sent += [(metric.key, metric.step) for metric in metrics]

    def set_terminated(self, run, status):
        self.ended = True


def test_what_a_server_missed_is_sent_again_once(tmp_path, monkeypatch):
    client = Flaky([False, True, True, False, False])
    monkeypatch.setattr(live, "connect", lambda uri: client)
    monkeypatch.setattr(live, "experiment_of", lambda *args: "1")
    monkeypatch.setattr(live, "_live_run", lambda *args: "run")
    pauses: list[float] = []

    def grows(seconds: float) -> bool:
        pauses.append(seconds)
        path.write_text(curve(steps=len(pauses)))
        return len(pauses) == 5

    said: list[str] = []
    path = tmp_path / "r000_f000.csv"
    stream_curve(PAPER, "DRF", KEY, "f", path, "http://there:1", grows, said.append)
    assert client.sent == [(name, step) for step in range(1, 6) for name in ("loss", "mae")]
    assert client.ended
    assert pauses == [5.0, 5.0, 10.0, 20.0, 5.0]
    assert len(said) == 1
    assert "the loss curve waits in" in said[0]


@pytest.mark.slow
def test_a_server_that_dies_neither_stops_nor_spoils_a_training(
    checkout, own_server, tmp_path, uri, monkeypatch
):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", own_server.address)
    name = FoldName(KEY, 0, 0)
    with FoldWatch(name, tmp_path, tmp_path / "curves", False, own_server.address, print) as heard:
        heard.restore()
        for step in range(1, 11):
            heard.report(step, {"steps": 20, "loss": 1 / step})
        heard.curve.flush()
        until(
            lambda: any(LIVE_TAG in run.data.tags for run in runs(own_server.address)), "a live run"
        )
        (live,) = runs(own_server.address)
        assert UNIT_TAG not in live.data.tags
        until(lambda: len(history(own_server.address, live, "loss")) == 10, "the ten steps")
        own_server.kill()
        for step in range(11, 21):
            heard.report(step, {"steps": 20, "loss": 1 / step})
    sender = heard._sender
    assert sender.wait(120) == 0
    # Nothing is lost: a sync, here to a file, has all of it.
    whole = unit(tmp_path, heard.curve.last_fit())
    sync(PAPER, "DRF", [whole], uri)
    assert [step for step, _ in history(uri, runs(uri)[0], "loss/r000_f000")] == [*range(1, 21)]
    # And where the server comes back, the run that grew gives way to the whole one.
    own_server.start()
    assert sync(PAPER, "DRF", [whole], own_server.address).new == 1
    (run,) = runs(own_server.address)
    assert len(history(own_server.address, run, "loss/r000_f000")) == 20


def test_without_a_server_no_process_is_started_and_mlflow_is_not_imported(tmp_path):
    script = (
        "import sys; from pathlib import Path; from ldlrepro.train.long_training import *;"
        f"w = FoldWatch(FoldName({KEY!r}, 0, 0), Path('.'), Path('curves'), False, '', print);"
        "w.report(1, {'steps': 1, 'loss': 1.0}); assert w._sender is None;"
        "assert 'mlflow' not in sys.modules"
    )
    subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={**os.environ, "MLFLOW_TRACKING_URI": ""},
        check=True,
    )
