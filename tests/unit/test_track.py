"""Tracking: what MLflow shows, written once, by one writer, and mended after a kill."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from ldlrepro.core.errors import UserError
from ldlrepro.judge.scores import REFERENCE
from ldlrepro.judge.verdicts import VerdictRow
from ldlrepro.track.layout import content_sha256, mean_and_deviation, saved_views
from ldlrepro.track.sync import SyncCounts, differences, open_hint, outdated, sync
from tests.mlflow_server import free_port
from tests.tracked import (
    PAPER,
    TITLE,
    client_of,
    database_bytes,
    make_unit,
    many_units,
    only_run,
    runs_of,
)

# ---------------------------------------------------------------------- what a run shows


def test_a_run_has_fold_means_and_sample_deviations(uri):
    sync(PAPER, TITLE, [make_unit()], uri)
    metrics = only_run(uri).data.metrics
    assert metrics["kl"] == pytest.approx(0.21)
    assert metrics["kl_std"] == pytest.approx(0.01)
    assert metrics["fit_seconds"] == pytest.approx(3.0)
    assert metrics["predict_seconds"] == pytest.approx(0.5)
    assert metrics["peak_mb"] == 102.0


def test_a_run_began_with_its_first_fold_and_lasted_as_long_as_all_of_them(uri):
    sync(PAPER, TITLE, [make_unit()], uri)
    run = only_run(uri).info
    assert run.start_time == 1_772_359_200_000  # 2026-03-01, 10:00
    assert run.end_time - run.start_time == 10_500


def printed(metric: str, number: str, verdict: str, table: str = "6") -> VerdictRow:
    return VerdictRow(
        *(PAPER, table, "Movie", "", "kNN", metric, number, "", "lower", verdict),
        measured=0.2,
        difference=0.2 / float(number) - 1,
        protocol="ten_fold",
        method_id="knn",
        unit_dataset="movie",
    )


def test_a_run_has_the_printed_number_the_difference_and_the_verdict_beside_ours(uri):
    cells = [printed("kl", "0.16", "worse"), printed("kl", "0.2", "exact", "7")]
    sync(PAPER, TITLE, [make_unit(), make_unit("lrr")], uri, rows=cells)
    found = {run.data.params["method"]: run.data for run in runs_of(uri)}
    assert found["knn"].metrics["kl_printed"] == 0.16
    assert found["knn"].metrics["kl_off_percent"] == 25.0
    tags = found["knn"].tags
    assert (tags["KL verdict"], tags["holds"]) == ("worse", "0 of 2")
    said, _, why, _, means, _, first, second, _, ran = tags["mlflow.note.content"].splitlines()
    assert said.startswith("KL is 0.2 here. In print it is 0.16 (+25.0%): worse. **0 of 2")
    assert ran == "It ran as `knn` on `movie` under `ten_fold`, 3 of 3 folds."
    assert why == 'Why? `ldlrepro explain "structrf/6/Movie/kNN/kl"`'
    assert means == "Means, ± the deviation over folds:"
    assert first == "- Table 6, KL: 0.2100 ± 0.0100, in print 0.16 (+25.0%): worse"
    assert second == "- Table 7, KL: 0.2100 ± 0.0100, in print 0.2 (0.0%): exact"
    assert tags["why"] == found["lrr"].tags["why"] == "–"
    assert "prints no number of it" in found["lrr"].tags["mlflow.note.content"]
    assert not [name for name in found["lrr"].metrics if name.endswith("_printed")]


MEAN = "the training mean"


@pytest.mark.parametrize(
    ("why", "evidence", "yardsticks"),
    [
        ("–", "blind", {MEAN: "worse"}),
        ("no baseline", "blind", {}),
        ("fitted", "fitted", {MEAN: "worse"}),
        (f"{MEAN} too", "predicted", {MEAN: "exact"}),
        (f"{MEAN} too, fitted", "fitted", {MEAN: "reproduced"}),
    ],
)
def test_a_met_number_that_does_not_hold_says_why(uri, why, evidence, yardsticks):
    met = replace(printed("kl", "0.2", "exact"), evidence=evidence, yardsticks=yardsticks)
    sync(PAPER, TITLE, [make_unit()], uri, rows=[met, printed("cosine", "7", "misprint")])
    tags, holds = only_run(uri).data.tags, f"{int(why == '–')} of 1"
    assert (tags["why"], tags["holds"]) == (why, holds)
    assert client_of(uri).get_experiment_by_name(PAPER).tags["holds"] == f"{holds} judged"


def test_a_run_without_a_judged_number_counts_none(uri):
    sync(PAPER, TITLE, [make_unit()], uri, rows=[printed("kl", "7", "misprint")])
    tags = only_run(uri).data.tags
    assert tags["holds"] == "–"
    assert "hold" not in tags["mlflow.note.content"]


def test_a_reference_run_has_no_artifacts_and_says_what_to_type_for_them(uri):
    local = make_unit("lrr")
    sync(
        PAPER,
        TITLE,
        [make_unit(source=REFERENCE), local],
        uri,
        rows=[printed("kl", "0.16", "worse")],
    )
    notes = {r.data.params["method"]: r.data.tags["mlflow.note.content"] for r in runs_of(uri)}
    assert "`ldlrepro run ten_fold movie knn --inputs`, and sync again" in notes["knn"]
    assert "ldlrepro run" not in notes["lrr"]


def test_a_number_that_is_judged_over_seeds_stands_beside_the_difference_that_it_has(uri):
    reason = {"reason": "another start", "reason_kind": "conjecture"}
    cells = [replace(printed("kl", "0.16", "worse"), seeds=20, measured_std=0.0312, **reason)]
    sync(PAPER, TITLE, [make_unit()], uri, rows=cells)
    run = only_run(uri).data
    assert run.tags["why"] == "conjecture"
    (used,) = only_run(uri).inputs.dataset_inputs
    assert (used.dataset.name, run.tags["data_sha256"][:36]) == ("movie", used.dataset.digest)
    assert (run.metrics["kl"], run.metrics["kl_std"]) == pytest.approx((0.20, 0.0312))
    assert run.metrics["kl_off_percent"] == 25.0
    note = run.tags["mlflow.note.content"]
    assert "here, the mean over 20 seeds. In print it is 0.16" in note
    assert "- Table 6, KL: 0.2000 ± 0.0312, in print 0.16 (+25.0%)" in note
    assert "Why? another start.\n\nMore: `ldlrepro explain" in note
    assert "Means over 20 seeds, ± the deviation over the folds of one seed:" in note


def test_a_table_shows_what_is_printed_and_the_users_own_and_a_second_view_the_others(uri):
    roles = {"knn": "printed", "mine@k=3": "own", "lrr": "other", "train_mean": "control"}
    units, cells = [make_unit(method) for method in roles], [printed("kl", "0.16", "worse")]
    sync(PAPER, TITLE, units, uri, rows=cells, own=["mine"])
    assert {run.data.params["method"]: run.data.tags["role"] for run in runs_of(uri)} == roles
    experiment = client_of(uri).get_experiment_by_name(PAPER).experiment_id
    views = [json.loads(view) for view in saved_views(units, cells).values() if view[0] == "{"]
    shown = {}
    for view in views:
        state = json.loads(view["state"])
        seen = client_of(uri).search_runs([experiment], state["searchFilter"])
        shown[view["name"]] = {run.data.params["method"] for run in seen}
    assert shown == {
        "movie (ten_fold)": {"knn", "mine@k=3"},
        "movie (ten_fold), all runs": {"knn", "mine@k=3", "lrr"},
    }


def test_a_table_that_prints_no_kl_begins_with_what_it_prints_the_best_first(uri):
    cells = [replace(printed("cosine", "0.7", "exact"), better="higher")]
    sync(PAPER, TITLE, [make_unit()], uri, rows=cells)
    assert only_run(uri).data.tags["Cosine verdict"] == "exact"
    (view, *_) = saved_views([make_unit()], cells).values()
    state = json.loads(json.loads(view)["state"])
    assert state["selectedColumns"][:3] == [
        f"metrics.`{name}`" for name in ("cosine", "cosine_std", "cosine_printed")
    ]
    assert state["orderByAsc"] is False


def test_the_names_of_a_table_are_whole():
    units = [make_unit(), make_unit("forest@min_samples_split=20,max_depth=5")]
    wide = {}
    for view in saved_views(units, [printed("kl", "0.16", "worse")]).values():
        if view[0] == "{":
            widths = json.loads(json.loads(view)["state"])["columnWidths"]
            wide[json.loads(view)["name"]] = widths["attributes.`Run Name`"]
    assert wide["movie (ten_fold)"] == 130
    assert wide["movie (ten_fold), all runs"] > 7 * len(units[1].method)


def test_a_failed_fold_marks_the_run_and_withholds_its_mean(uri):
    counts = sync(PAPER, TITLE, [make_unit(failed=(1,)), make_unit("lrr")], uri)
    run = next(r for r in runs_of(uri) if r.info.run_name == "knn")
    assert counts.failed == 1
    assert run.info.status == "FAILED"
    assert run.data.tags["error"] == (
        "1 of 3 folds failed; repeat 0, fold 1: ValueError: D contains NaN"
    )
    assert "kl" not in run.data.metrics
    history = client_of(uri).get_metric_history(run.info.run_id, "fold/kl")
    assert [m.step for m in history] == [0, 2]


# ---------------------------------------------------------------------- writing once


def test_a_second_sync_writes_nothing(uri):
    units = many_units(3)
    assert sync(PAPER, TITLE, units, uri) == SyncCounts(new=3)
    before = database_bytes(uri)
    assert sync(PAPER, TITLE, units, uri) == SyncCounts(unchanged=3)
    assert database_bytes(uri) == before


def test_a_changed_record_supersedes_its_run_and_no_other(uri):
    sync(PAPER, TITLE, [make_unit(), make_unit("lrr")], uri)
    untouched = {r.info.run_id for r in runs_of(uri) if r.data.params["method"] == "lrr"}
    changed = [make_unit(shift=0.1), make_unit("lrr")]
    assert sync(PAPER, TITLE, changed, uri) == SyncCounts(unchanged=1, superseded=1)
    visible = {run.data.params["method"]: run for run in runs_of(uri)}
    (old,) = runs_of(uri, view=2)
    assert visible["knn"].data.metrics["kl"] == pytest.approx(0.31)
    assert visible["lrr"].info.run_id in untouched
    assert old.data.tags["superseded_by"] == visible["knn"].info.run_id
    assert old.data.metrics["kl"] == pytest.approx(0.21)


@pytest.mark.parametrize(
    "change",
    [{"fit_s": 9.0}, {"predictions_sha256": "f" * 64}, {"params": {"k": 7}}, {"git_commit": "e"}],
)
def test_the_content_hash_covers_every_part_of_a_row(change):
    unit = make_unit()
    changed = replace(unit, rows=[replace(unit.rows[0], **change), *unit.rows[1:]])
    assert content_sha256(changed) != content_sha256(unit)


def test_runs_of_other_people_are_left_alone(uri):
    sync(PAPER, TITLE, [], uri)
    client = client_of(uri)
    experiment = client.get_experiment_by_name(PAPER).experiment_id
    theirs = client.create_run(experiment, run_name="loss curve").info.run_id
    sync(PAPER, TITLE, [make_unit()], uri)
    assert {run.info.run_id for run in runs_of(uri)} > {theirs}
    assert client.get_run(theirs).info.status == "RUNNING"


# ---------------------------------------------------------------------- addresses


def test_an_unreachable_server_is_an_error_with_the_cure():
    with pytest.raises(UserError, match=r"No record is lost\. Start the server"):
        sync(PAPER, TITLE, [make_unit()], f"http://127.0.0.1:{free_port()}")


def test_a_password_is_not_repeated_in_the_error():
    with pytest.raises(UserError) as caught:
        sync(PAPER, TITLE, [make_unit()], f"http://me:secret@127.0.0.1:{free_port()}")
    assert "secret" not in str(caught.value)


def test_the_hint_keeps_a_password_out_of_the_log():
    hint = open_hint("postgresql://me:secret@box/mlflow")
    assert "secret" not in hint
    assert '"$MLFLOW_TRACKING_URI"' in hint


def test_runs_that_are_older_than_their_records_or_missing_are_counted_as_the_audit_finds_them(uri):
    assert outdated(PAPER, many_units(2), uri) is None
    cells = [printed("kl", "0.16", "worse")]
    sync(PAPER, TITLE, [make_unit(), *many_units(2)], uri, rows=cells)
    units = [make_unit(), make_unit("method_00", shift=0.5), *many_units(3)[1:]]
    found = outdated(PAPER, units, uri, cells)
    assert found == [key for key, why in differences(PAPER, units, uri, cells).items() if why]
    assert [key.rpartition("/")[2] for key in found] == ["method_00", "method_02"]


def test_small_means_keep_their_digits():
    assert mean_and_deviation([0.07, 0.08]) == "0.0750 ± 0.0071"
    assert mean_and_deviation([1e-5, 3e-5]) == "2e-05 ± 1.4e-05"
