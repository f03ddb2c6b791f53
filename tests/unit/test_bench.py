"""The benchmark's harness, with fake sides: no library is timed here."""

from __future__ import annotations

import csv
import os
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ldl
from bench import adapters, entries, measure, tables, worker
from bench.__main__ import our_code
from bench.entries import Bars, Comparison
from bench.process import SideFailed, Worker
from ldlrepro.catalogue import Project, digests

OURS = adapters.ADAPTERS["ldlrepro"]
# Speaks the protocol: prints where it should not, and answers what it was asked.
FAKE = """
import json, os, sys
answers = os.fdopen(os.dup(1), "w"); os.dup2(2, 1)
for line in sys.stdin:
    question = json.loads(line)
    print("libraries print what they like", flush=True)
    if question["do"] == "die":
        sys.exit(3)
    if question["do"] == "sleep":
        import time; time.sleep(60)
    good = question["do"] != "refuse"
    answer = {"ok": good, "echo": question} if good else {"ok": False, "error": "no such class"}
    answers.write(json.dumps(answer) + "\\n"); answers.flush()
"""


@pytest.fixture
def fake(tmp_path):
    command = [sys.executable, "-c", FAKE]
    with closing(Worker(command, dict(os.environ), tmp_path / "log.txt")) as started:
        yield started


class Scripted:
    """A side without a process: seconds from a list, and a diary shared with the other side."""

    def __init__(self, name, seconds, diary, fails_at=None):
        self.name, self.seconds, self.diary, self.fails_at = name, seconds, diary, fails_at
        self.runs, self.closed = 0, False

    def ask(self, do, limit_s, **question):
        self.diary.append((self.name, do, question.get("seed")))
        if do == self.fails_at:
            raise SideFailed("no compiler")
        if do != "run":
            return {"versions": {self.name: "1.0"}}
        taken = self.seconds[self.runs % len(self.seconds)]
        self.runs += 1
        return {"cpu": taken, "wall": 2 * taken, "calls": 1, "predictions": taken, "peak_mb": 9.0}

    def close(self):
        self.closed = True


def comparison(**changes) -> Comparison:
    given = {
        "id": "forest",
        "dataset": "toy",
        "group": "Forests",
        "title": "a forest",
        "measure": "fit",
        "ours": {"library": "ldlrepro", "method": "rf"},
        "peer": {"library": "scikit-learn", "class": "Forest"},
    }
    return Comparison(**{**given, **changes})


def measured(sides, budget_s=1000.0, clock=lambda: 0.0, most=15, **changes):
    by_library = {"ldlrepro": sides[0], "scikit-learn": sides[-1]}
    return measure.measure(
        comparison(**changes), by_library.__getitem__, float, {}, budget_s, most, clock
    )


def pair(ours=(1.0,), peer=(10.0,), fails_at=None):
    diary: list[tuple] = []
    return Scripted("ours", ours, diary), Scripted("peer", peer, diary, fails_at), diary


# ---------------------------------------------------------------------- processes


def test_what_a_library_prints_is_no_answer(fake):
    assert fake.ask("load", 30.0, dataset="toy")["echo"] == {"do": "load", "dataset": "toy"}
    assert fake.ask("run", 30.0, seed=4)["echo"]["seed"] == 4


def test_an_error_of_a_side_is_told_and_the_side_goes_on(fake):
    with pytest.raises(SideFailed, match="no such class"):
        fake.ask("refuse", 30.0)
    assert fake.ask("load", 30.0)["echo"] == {"do": "load"}


def test_a_side_that_dies_says_where_its_log_is(fake):
    with pytest.raises(SideFailed, match=r"code 3; see .*log\.txt"):
        fake.ask("die", 30.0)


def test_a_side_that_takes_too_long_is_stopped(fake):
    with pytest.raises(SideFailed, match="stopped after 0 s"):
        fake.ask("sleep", 0.1)


def test_an_environment_that_is_not_there_is_a_failed_side(tmp_path):
    with pytest.raises(SideFailed, match="cannot start"):
        Worker([str(tmp_path / "python")], {}, tmp_path / "log.txt")


# ---------------------------------------------------------------------- measuring


def test_sides_take_turns_after_a_warm_up_with_a_new_seed_each_time():
    ours, peer, diary = pair(ours=[1.0, 4.0, 1.0, 1.0])
    measured((ours, peer), most=4)
    runs = [(name, seed) for name, do, seed in diary if do == "run"]
    assert runs == [(name, seed) for seed in range(4) for name in ("ours", "peer")]
    assert [do for _, do, _ in diary[:4]] == ["load", "warm_up"] * 2
    assert ours.closed
    assert peer.closed


def test_steady_sides_are_measured_a_few_times_only():
    ours, peer, _ = pair()
    result = measured((ours, peer))
    assert len(result["ours"]["cpu"]) == len(result["peer"]["cpu"]) == measure.FEWEST + 1


def test_noisy_sides_are_measured_until_the_limit():
    ours, peer, _ = pair(ours=[1.0, 2.0, 3.0])
    assert len(measured((ours, peer), most=11)["ours"]["cpu"]) == 11


def test_slow_sides_are_measured_three_times_whatever_the_budget():
    ours, peer, _ = pair(ours=[1.0, 2.0, 3.0])
    moments = iter(range(100))
    result = measured((ours, peer), budget_s=0.5, clock=lambda: float(next(moments)))
    assert len(result["ours"]["cpu"]) == measure.FEWEST


def test_what_takes_minutes_is_measured_once():
    ours, peer, _ = pair(ours=[1.0, 2.0, 3.0])
    moments = iter([0.0, measure.PATIENCE_S + 1.0])
    result = measured((ours, peer), clock=lambda: next(moments))
    assert len(result["ours"]["cpu"]) == 1
    assert "measurements: 1" in tables.row_of(comparison(), result).note


@pytest.mark.parametrize("fails_at", ["load", "warm_up", "run"])
def test_the_other_side_is_timed_where_one_fails(fails_at):
    ours, peer, _ = pair(fails_at=fails_at)
    result = measured((ours, peer))
    assert result["peer"]["error"] == "no compiler"
    assert result["peer"]["cpu"] == []
    assert len(result["ours"]["cpu"]) > measure.FEWEST
    row = tables.row_of(comparison(bars=Bars(faster=1.0)), result)
    assert row.verdict == "not measured"
    assert "peer: no compiler" in row.note


def test_memory_is_taken_from_one_cold_run():
    ours, peer, diary = pair()
    result = measured((ours, peer), measure="memory", peer=None)
    assert [do for _, do, _ in diary] == ["load", "run"]
    assert result["ours"]["peak_mb"] == 9.0


def test_short_actions_are_repeated_and_preparations_not_timed(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(worker.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(worker.time, "process_time", lambda: now[0] / 2)

    def spend(seconds):
        now[0] += seconds

    taken = worker.timed(lambda: spend(0.25), at_least=1.0, prepare=lambda: spend(100.0))
    assert taken == {"cpu": 0.125, "wall": 0.25, "calls": 4}


# ---------------------------------------------------------------------- rows and tables


def result(ours, peer, kl=(0.1, 0.1)):
    sides = {}
    for name, cpu, value in (("ours", ours, kl[0]), ("peer", peer, kl[1])):
        side = measure.Samples(cpu=list(cpu), wall=list(cpu), kl=[value] * len(cpu))
        sides[name] = measure.asdict(side)
    return sides


def test_the_ratio_is_the_median_over_neighbours_in_time():
    row = tables.row_of(comparison(), result(ours=[1.0, 2.0, 10.0], peer=[8.0, 20.0, 90.0]))
    assert (row.ratio_cpu, row.ratio_cpu_low, row.ratio_cpu_high) == (9.0, 8.0, 10.0)
    assert (row.ours_cpu_s, row.peer_cpu_s) == (2.0, 20.0)


@pytest.mark.parametrize(
    ("bars", "kl", "expected"),
    [
        (Bars(faster=10.0), (0.1, 0.1), "met"),
        (Bars(faster=10.0, strictly=True), (0.1, 0.1), "missed: speed"),
        (Bars(faster=10.5), (0.1, 0.1), "missed: speed"),
        (Bars(faster=2.0, worse_kl=0.02), (0.1015, 0.1), "met"),
        (Bars(faster=20.0, worse_kl=0.02), (0.103, 0.1), "missed: speed, KL"),
        (Bars(seconds=1.0), (0.1, 0.1), "missed: time"),
        (Bars(), (0.1, 0.1), ""),
    ],
)
def test_verdicts(bars, kl, expected):
    row = tables.row_of(comparison(bars=bars), result([1.0] * 3, [10.0] * 3, kl))
    assert row.verdict == expected


def test_tables_hold_every_row_and_number():
    rows = [
        tables.row_of(comparison(), result([1.0] * 3, [12.5] * 3)),
        tables.row_of(comparison(dataset="other", note="odd"), result([1.0] * 3, [3.0] * 3)),
        tables.row_of(comparison(id="alone", group="Alone", peer=None), None),
    ]
    read = list(csv.DictReader(tables.to_csv(rows).splitlines()))
    assert [line["ratio_cpu"] for line in read] == ["12.5", "3", ""]
    table = tables.ratio_table(rows)
    assert "| what is timed | beside | toy | other |" in table
    assert "| a forest | scikit-learn Forest | 12.5 | 3 |" in table
    assert "Alone" not in table
    assert tables.from_csv(tables.to_csv(rows)) == rows


def test_a_kl_that_is_worse_by_more_than_the_allowance_is_told():
    for ours, told in ((0.1015, "| 10 |"), (0.105, "| 10 (KL +5%) |")):
        row = tables.row_of(comparison(), result([1.0] * 3, [10.0] * 3, (ours, 0.1)))
        assert told in tables.ratio_table([row])


def test_the_page_shows_the_numbers_of_the_csv_file():
    docs = Path(__file__).resolve().parents[2] / "docs"
    rows = tables.from_csv((docs / "benchmarks.csv").read_text())
    assert len(rows) > 100
    page = (docs / "benchmarks.md").read_text()
    for part in (tables.ratio_lists(rows), tables.ratio_table(rows)):
        assert part in page, "type: python -m bench --page"


def test_the_page_counts_fits_and_predictions_of_each_peer_and_their_geometric_means():
    fits = [
        tables.row_of(comparison(id=name), result([1.0] * 3, [times] * 3))
        for name, times in (("a", 0.5), ("b", 32.0))
    ]
    timed = result([0.5] * 3, [4.5] * 3)
    for side in timed.values():
        side["predicted"] = 100
    prediction = tables.row_of(comparison(group="Predictions", measure="predict_all"), timed)
    assert (prediction.ours_rows_s, prediction.peer_rows_s) == (200.0, 100 / 4.5)
    of_ours = comparison(peer={"library": "ldlrepro", "method": "rf"})
    rows = [*fits, prediction, tables.row_of(of_ours, result([1.0] * 3, [99.0] * 3))]
    assert tables.ratio_lists(rows) == (
        "- **scikit-learn**: 2 fits, mean 4, from 0.5 to 32; 1 predictions, mean 9, from 9 to 9.\n"
    )
    assert "| a forest, predictions | scikit-learn" in tables.ratio_table(rows)


# ---------------------------------------------------------------------- entries


def test_entries_name_methods_and_arguments_that_exist():
    project = Project.open()
    comparisons = entries.read()
    assert len(comparisons) > 30
    for one in comparisons:
        assert one.dataset in project.data_set_ids
        for side in (one.ours, one.peer or {}):
            if "method" in side:
                project.method(side["method"]).estimator(**side.get("parameters", {}))


def test_an_entry_spreads_over_methods_and_data_sets(tmp_path):
    path = tmp_path / "some.yaml"
    path.write_text(
        "- {id: m, group: g, title: '{method}', methods: [rf, mslp], datasets: [toy, movie],"
        " measure: memory, ours: {}}\n"
    )
    found = entries.read(path)
    assert [c.name for c in found] == ["m_rf/toy", "m_rf/movie", "m_mslp/toy", "m_mslp/movie"]
    assert found[0].ours == {"library": "ldlrepro", "method": "rf"}
    assert len({c.identity for c in found}) == 4
    assert [c.name for c in entries.chosen(found, "rf/mo")] == ["m_rf/movie"]


def test_methods_of_an_entry_may_have_settings_and_peers_of_their_own(tmp_path):
    path = tmp_path / "some.yaml"
    path.write_text(
        "- {id: m, group: g, title: '{method}', datasets: [toy], measure: predict, ours: {},"
        " peer: {library: python-ldl}, methods: {rf: {ours: {parameters: {n_estimators: 2}},"
        " peer: {class: Forest}}, mslp: null}}\n"
    )
    forest, alone = entries.read(path)
    assert forest.ours == {"library": "ldlrepro", "method": "rf", "parameters": {"n_estimators": 2}}
    assert forest.peer == {"library": "python-ldl", "class": "Forest"}
    assert alone.peer is None


def test_a_mistake_in_an_entry_is_named(tmp_path):
    path = tmp_path / "some.yaml"
    path.write_text("- {id: m, group: g, title: t, datasets: [toy], measure: fits, ours: {}}\n")
    with pytest.raises(ValueError, match=r"some.yaml: m: measure 'fits'"):
        entries.read(path)


def test_another_setting_or_other_code_of_ours_measures_again(monkeypatch):
    known = our_code(comparison())
    assert set(known) == {"rf"}
    for name in ("spec_digest", "method_digest"):
        with monkeypatch.context() as patch:
            patch.setattr(digests, name, lambda *_: "another")
            assert our_code(comparison()) != known


def test_rows_of_defaults_name_no_setting_of_either_side():
    rows = [c for c in entries.read() if "each with its own defaults" in c.title]
    assert {c.ours["class"] for c in rows} >= {"SABFGS", "LDLHR", "CPNN", "LDSVR", "PTBayes"}
    for row in rows:
        assert not {"parameters", "scaling"} & set(row.ours)
        assert not {"init", "fit"} & set(row.peer)


def test_code_of_a_class_counts_as_that_of_a_method():
    by_class = Comparison("m", "toy", "g", "t", "fit", {"library": "ldlrepro", "class": "AAKNN"})
    another = replace(by_class, ours={**by_class.ours, "class": "CPNN"})
    assert our_code(by_class) != our_code(another)
    peer = {"library": "python-ldl", "class": "AA_KNN"}
    assert our_code(replace(by_class, peer=peer)) == our_code(by_class)


# ---------------------------------------------------------------------- sides


def test_our_side_may_be_a_class_with_its_own_defaults():
    built = OURS.build({"class": "CPNN"}, 5)
    assert repr(built) == repr(ldl.CPNN(random_state=5))
    changed = OURS.build({"class": "CPNN", "parameters": {"max_iter": 7}}, 5)
    assert repr(changed) == repr(ldl.CPNN(max_iter=7, random_state=5))


def test_our_side_scales_features_by_its_training_rows_where_an_entry_says_so():
    generator = np.random.default_rng(0)
    X, D = generator.normal(5.0, 3.0, size=(40, 3)), generator.dirichlet([1, 2, 3], size=40)
    plain = {"method": "sa_bfgs", "parameters": {"max_iter": 5}}
    scaled = OURS.build({**plain, "scaling": "standard"}, 0)
    OURS.fit(scaled, X[:30], D[:30], {})
    mean, spread = X[:30].mean(axis=0), X[:30].std(axis=0)
    by_hand = OURS.build(plain, 0)
    by_hand.fit((X[:30] - mean) / spread, D[:30])
    expected = by_hand.predict((X[30:] - mean) / spread)
    np.testing.assert_allclose(OURS.predict(scaled, X[30:]), expected, rtol=1e-9)


def test_a_peer_that_predicts_labels_is_asked_for_distributions():
    class Network:
        def predict(self, X):
            return ["distribution"] * len(X)

    class Classifier(Network):
        def predict(self, X):
            return ["label"] * len(X)

        def predict_proba(self, X):
            return ["distribution"] * len(X)

    for model in (Network(), Classifier()):
        assert adapters.ADAPTERS["python-ldl"].predict(model, [1, 2]) == ["distribution"] * 2
