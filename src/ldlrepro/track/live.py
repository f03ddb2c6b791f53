"""Sends a training's loss curve to an MLflow server while it grows.

A long training starts ``python -m ldlrepro.track.live UNIT REPEAT FOLD CURVE``,
and closes its input when it is done or dies.
"""

from __future__ import annotations

import select
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ldlrepro.catalogue import from_environment
from ldlrepro.core.errors import UserError
from ldlrepro.core.progress import say
from ldlrepro.track.layout import curve_metrics
from ldlrepro.track.store import (
    QUICK_HTTP,
    QUIET,
    checked_uri,
    connect,
    environment,
    told_to_the_user,
)
from ldlrepro.track.sync import LIVE_TAG, experiment_of, tracked_runs
from ldlrepro.train.long_training import FoldName

SHORTEST_PAUSE_S, LONGEST_PAUSE_S = 5.0, 300.0


def main(unit: str, repeat: str, fold: str, curve: str) -> None:
    """Send the curve of a fold until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # meant for the training

    def ended(seconds: float) -> bool:
        return bool(select.select([sys.stdin], [], [], seconds)[0])

    name = FoldName(unit, int(repeat), int(fold))
    project = from_environment()
    paper = project.paper(project.protocol(unit.partition("/")[0]).paper)
    uri = project.tracking_uri
    stream_curve(paper.id, paper.title, unit, str(name), Path(curve), uri, ended, say)


def stream_curve(
    paper: str,
    title: str,
    unit: str,
    fold: str,
    curve: Path,
    tracking_uri: str,
    ended: Callable[[float], bool],
    say: Callable[[str], None],
) -> None:
    """Send a growing loss curve to a server until ``ended(seconds to wait)`` says that it is done.

    Whatever the server does is no error: what it lacks is sent again later, less and less often.
    The unit's record has the whole curve in the end, and the next sync takes it from there.
    """
    uri = checked_uri(tracking_uri)
    client = run = None
    sent, pause, done = 0, SHORTEST_PAUSE_S, False
    with environment(QUIET | QUICK_HTTP):
        while not done:
            done = ended(pause)
            text = curve.read_text("utf-8") if curve.is_file() else ""
            points = curve_metrics(text, int(time.time() * 1000))
            try:
                with told_to_the_user(uri, paper):
                    client = client or connect(uri)
                    found = _live_run(
                        client, experiment_of(client, uri, paper, title, {}), unit, fold
                    )
                    if found != run:
                        run, sent = found, 0
                    _send(client, run, points[sent:], done)
            except UserError as error:
                if pause == SHORTEST_PAUSE_S:
                    say(f"{unit} {fold}: the loss curve waits in {curve}: {error}")
                pause = min(2 * pause, LONGEST_PAUSE_S)
            else:
                sent, pause = len(points), SHORTEST_PAUSE_S


def _live_run(client: Any, experiment: str, unit: str, fold: str) -> str:
    for run in tracked_runs(client, experiment, LIVE_TAG).get(unit, []):
        if run.info.run_name == fold:
            return str(run.info.run_id)
    return str(client.create_run(experiment, None, {LIVE_TAG: unit}, fold).info.run_id)


def _send(client: Any, run: str, points: Sequence[Any], done: bool) -> None:
    from mlflow.entities import Metric

    if points:
        client.log_batch(run, [Metric(*point) for point in points])
    if done:
        client.set_terminated(run, "FINISHED")


if __name__ == "__main__":
    main(*sys.argv[1:])
