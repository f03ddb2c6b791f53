"""The arena in MLflow: a run for each data set, method and kind, synced like those of papers."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from ldlrepro import cli
from ldlrepro.track.arena import sync_arena
from ldlrepro.track.layout import rounded
from ldlrepro.track.page import pages_of
from ldlrepro.track.sync import SyncCounts
from tests.tracked import client_of, database_bytes

ROOT = Path(__file__).resolve().parents[2]
METHODS = ["TrainMean", "AAKNN", "StructRF"]


@pytest.fixture
def records(tmp_path: Path) -> dict[str, Path]:
    """The maintainers' records of three methods on one set."""
    rows = pd.read_csv(ROOT / "reference/arena/sjaffe/scores.csv")
    table = tmp_path / "reference" / "arena" / "sjaffe" / "scores.csv"
    table.parent.mkdir(parents=True)
    rows[rows["method"].isin(METHODS)].to_csv(table, index=False)
    return {"sjaffe": table}


def runs_of_arena(uri: str) -> dict[str, Any]:
    client = client_of(uri)
    experiment = client.get_experiment_by_name("arena")
    return {run.info.run_name: run for run in client.search_runs([experiment.experiment_id])}


def test_a_run_holds_the_means_over_folds_and_what_a_method_gains_on_the_mean(
    records, uri, tmp_path
):
    rows = pd.read_csv(records["sjaffe"])
    kinds = rows[["method", "kind"]].drop_duplicates()
    assert sync_arena(records, uri, tmp_path / "results") == SyncCounts(new=len(kinds))
    found = runs_of_arena(uri)
    assert len(found) == len(kinds)
    info, run = found["StructRF, tuned"].info, found["StructRF, tuned"].data
    mine = rows[(rows["method"] == "StructRF") & (rows["kind"] == "tuned")]
    floor = rows[(rows["method"] == "TrainMean") & (rows["kind"] == "default")]["kl"].mean()
    assert run.metrics["kl"] == rounded(mine["kl"].mean(), 4)
    assert run.metrics["cosine_std"] == rounded(mine["cosine"].std(), 3)
    assert run.metrics["fit_seconds"] == rounded(mine["fit_s"].mean(), 4)
    assert run.metrics["kl_gain_percent"] == round(100 * (1 - mine["kl"].mean() / floor), 1)
    seconds = (info.end_time - info.start_time) / 1000
    assert seconds == pytest.approx((mine["fit_s"] + mine["predict_s"]).sum(), abs=0.001)
    assert run.tags["source"] == "reference"
    assert "`ldlrepro arena sjaffe --predictions" in run.tags["mlflow.note.content"]
    assert run.params["param.settings"] in set(mine["settings"])
    history = client_of(uri).get_metric_history(info.run_id, "fold/kl")
    assert {point.step: point.value for point in history} == pytest.approx(
        dict(zip(mine["fold"], mine["kl"], strict=True)), rel=1e-5
    )


def test_a_second_sync_writes_nothing_and_a_changed_table_only_what_changed(records, uri, tmp_path):
    sync_arena(records, uri, tmp_path)
    before = database_bytes(uri)
    count = len(runs_of_arena(uri))
    assert sync_arena(records, uri, tmp_path) == SyncCounts(unchanged=count)
    assert database_bytes(uri) == before
    rows = pd.read_csv(records["sjaffe"])
    rows.loc[rows["method"] == "AAKNN", "kl"] *= 2
    rows.to_csv(records["sjaffe"], index=False)
    changed = rows[rows["method"] == "AAKNN"]["kind"].nunique()
    counts = sync_arena(records, uri, tmp_path)
    assert (counts.superseded, counts.unchanged) == (changed, count - changed)
    doubled = runs_of_arena(uri)["AAKNN, default"].data
    assert doubled.metrics["kl_gain_percent"] < 0
    assert "% above that of the training mean" in doubled.tags["mlflow.note.content"]


def test_the_verb_syncs_the_arena_and_its_page_is_offered(records, uri, checkout, capsys):
    shutil.copytree(records["sjaffe"].parents[1], "results/arena")
    assert cli.main(["sync", "arena", "--tracking-uri", uri]) == 0
    assert "arena: " in capsys.readouterr().err
    (page,) = [page for name, page in pages_of(uri).items() if name == "arena"]
    assert page.endswith("viewStateShareKey=arena-sjaffe")
    assert {run.data.tags["source"] for run in runs_of_arena(uri).values()} == {"local"}
