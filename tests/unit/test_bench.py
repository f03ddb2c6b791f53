"""The benchmark's harness, with fake sides: no library is timed here."""

from __future__ import annotations

import os
import sys
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from bench import entries, in_time, measure, tables
from bench.entries import Bars, Comparison
from bench.process import SideFailed, Worker
from ldl import TrainMean
from ldl.metrics import kl
from tests.unit.judged import PROJECT

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


# ---------------------------------------------------------------------- measuring


def test_sides_take_turns_after_a_warm_up_with_a_new_seed_each_time():
    ours, peer, diary = pair(ours=[1.0, 4.0, 1.0, 1.0])
    measured((ours, peer), most=4)
    runs = [(name, seed) for name, do, seed in diary if do == "run"]
    assert runs == [(name, seed) for seed in range(4) for name in ("ours", "peer")]
    assert [do for _, do, _ in diary[:4]] == ["load", "warm_up"] * 2
    assert ours.closed
    assert peer.closed


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
        (Bars(faster=10.5), (0.1, 0.1), "missed: speed"),
        (Bars(faster=20.0, worse_kl=0.02), (0.103, 0.1), "missed: speed, KL"),
        (Bars(), (0.1, 0.1), ""),
    ],
)
def test_verdicts(bars, kl, expected):
    row = tables.row_of(comparison(bars=bars), result([1.0] * 3, [10.0] * 3, kl))
    assert row.verdict == expected


def test_the_page_shows_the_numbers_of_the_csv_file():
    docs = Path(__file__).resolve().parents[2] / "docs"
    rows = tables.from_csv((docs / "benchmarks.csv").read_text())
    assert len(rows) > 100
    page = (docs / "benchmarks.md").read_text()
    for part in (tables.ratio_lists(rows), tables.ratio_table(rows)):
        assert part in page, "type: python -m bench --page"


# ---------------------------------------------------------------------- entries


def test_entries_name_methods_and_arguments_that_exist():
    comparisons = entries.read()
    assert len(comparisons) > 30
    for one in comparisons:
        assert one.dataset in PROJECT.data_set_ids
        for side in (one.ours, one.peer or {}):
            if "method" in side:
                PROJECT.method(side["method"]).estimator(**side.get("parameters", {}))


# ---------------------------------------------------------------------- ten minutes and an hour


def test_rows_that_judge_ten_minutes_are_kept_from_the_comparison(monkeypatch):
    rng = np.random.default_rng(0)
    X, D, groups = np.arange(100.0)[:, None], rng.dirichlet([1, 1, 1], 100), np.arange(100) // 5
    given = []

    def compare(X, D, groups, **options):
        given.append((X, groups, options["time"]))
        return SimpleNamespace(entries=[1, 2], winner="TrainMean", best=TrainMean().fit(X, D))

    monkeypatch.setattr(in_time, "load", lambda dataset: (X, D, groups))
    monkeypatch.setattr(in_time, "compare", compare)
    line = in_time._line("drawn", 10)
    ((seen, whose, seconds),) = given
    unseen = np.setdiff1d(X, seen).astype(int)
    assert len(unseen) == 20
    assert not set(groups[unseen]) & set(whose)
    assert seconds == 600
    mean = D[seen.ravel().astype(int)].mean(axis=0)
    assert float(line["kl"]) == pytest.approx(kl(D[unseen], np.tile(mean, (20, 1))), rel=1e-5)
    assert line["kl"] == line["mean_kl"]


def test_a_difference_counts_as_near_up_to_two_hundredths_and_half_a_pair_not_at_all():
    kls = {("a", 10): 1.019, ("a", 60): 1.0, ("b", 10): 1.03, ("b", 60): 1.0, ("c", 10): 1.0}
    lines = [
        {"dataset": dataset, "minutes": minutes, "winner": "Ridge", "kl": kl}
        for (dataset, minutes), kl in kls.items()
    ]
    shown = in_time.table(lines)
    assert "on 1 of 2 data sets" in shown
    assert "| b | Ridge | 1.0300 | Ridge | 1.0000 | +3.0% |" in shown
    assert "| c |" not in shown


def test_the_page_shows_the_record_of_ten_minutes():
    part = in_time.table(in_time.recorded())
    assert part in in_time.PAGE.read_text(), "type: python -m bench.in_time scut_fbp"
