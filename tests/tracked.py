"""Units to be tracked, and what MLflow then says of them."""

from __future__ import annotations

import math
from pathlib import Path

from ldlrepro.judge.scores import LOCAL, UnitScores
from ldlrepro.train.records import FAILED, OK, FoldRow

PAPER, TITLE = "structrf", "Structured random forest"


def make_unit(
    method: str = "knn",
    dataset: str = "movie",
    *,
    shift: float = 0.0,
    failed: tuple[int, ...] = (),
    files: tuple[Path, ...] = (),
    source: str = LOCAL,
    repeats: int = 1,
    folds: int = 3,
) -> UnitScores:
    rows = [
        FoldRow(
            protocol="ten_fold",
            dataset=dataset,
            method=method,
            repeat=repeat,
            fold=fold,
            status=FAILED if fold in failed else OK,
            error="Traceback ...\nValueError: D contains NaN" if fold in failed else "",
            params={"k": 5 if fold == 1 else 4, "weights": "uniform"},
            fit_s=2.0 + fold,
            predict_s=0.5,
            peak_mb=100.0 + fold,
            data_sha256="d" * 64,
            git_commit="c" * 40,
            machine={"cpu": "box a" if fold else "box b"},
            started_at=f"2026-03-01T10:0{fold}:00+00:00",
        )
        for repeat in range(repeats)
        for fold in range(folds)
    ]
    scores = {
        name: [
            math.nan if row.status == FAILED else base + shift + 0.01 * row.fold + 0.1 * row.repeat
            for row in rows
        ]
        for name, base in (("kl", 0.2), ("cosine", 0.7))
    }
    return UnitScores("ten_fold", dataset, method, rows, scores, source, list(files))


def many_units(count: int) -> list[UnitScores]:
    return [make_unit(f"method_{i:02d}", shift=i / 100) for i in range(count)]


def client_of(uri: str):
    from mlflow import MlflowClient

    return MlflowClient(uri)


def runs_of(uri: str, view: int = 1, paper: str = PAPER) -> list:
    """Runs of the experiment; view 1 is what the page shows, 2 the deleted, 3 all."""
    client = client_of(uri)
    experiment = client.get_experiment_by_name(paper)
    where = [experiment.experiment_id] if experiment else []
    return list(client.search_runs(where, run_view_type=view)) if where else []


def only_run(uri: str):
    (run,) = runs_of(uri)
    return run


def database_bytes(uri: str) -> bytes:
    return Path(uri.removeprefix("sqlite:///")).read_bytes()


def contents(uri: str) -> list:
    """Everything the visible runs say, without ids and places."""
    client = client_of(uri)
    found = []
    for run in runs_of(uri):
        history = {
            name: sorted(
                (m.step, m.value, m.timestamp)
                for m in client.get_metric_history(run.info.run_id, name)
            )
            for name in run.data.metrics
        }
        artifacts = [item.path for item in client.list_artifacts(run.info.run_id)]
        info = (run.info.run_name, run.info.status, run.info.start_time, run.info.end_time)
        found.append((info, run.data.params, run.data.tags, history, artifacts))
    return sorted(found, key=lambda item: item[0])
