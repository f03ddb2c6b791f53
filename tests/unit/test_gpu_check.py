"""`make gpu-check`: every step in small on the processor; faults, resumption, no card at all."""

from __future__ import annotations

import copy
import importlib
import json
import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bench.gpu import __main__ as check
from bench.gpu import arithmetic, jobs, page, speed, steps
from bench.gpu.steps import FAILED, IMPOSSIBLE, PASSED, STEPS, Outcome, Place, Step
from ldlrepro.audit.seals import seal_reference
from ldlrepro.core.errors import UserError
from ldlrepro.doctor.pairing import LEAST_DRIVER
from ldlrepro.train import cards

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "gpu.md"
REFERENCE = ROOT / "reference" / "gpu"


@pytest.fixture
def place(tmp_path) -> Place:
    return Place("cpu", tmp_path, time.monotonic() + 600)


def files_of_the_project() -> dict[Path, float]:
    return {p: p.stat().st_mtime for p in [PAGE, *REFERENCE.rglob("*.json")]}


# ---------------------------------------------------------------------- the whole, in small


@pytest.mark.slow
def test_every_step_is_rehearsed_on_the_processor(tmp_path):
    for package in ("torch", "xgboost", "pytest"):
        pytest.importorskip(package)
    before, locks = files_of_the_project(), set(cards.LOCKS.glob("ldlrepro-GPU-*.lock"))
    command = [sys.executable, "-m", "bench.gpu", "--rehearse", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stderr
    records = {record["step"]: record for record in page.read(tmp_path / "records")}
    assert list(records) == [step.name for step in STEPS]
    states = {name: record["state"] for name, record in records.items()}
    assert states.pop("suite") == IMPOSSIBLE  # its tests want a card
    assert set(states.values()) == {PASSED}
    assert records["resume"]["numbers"] == {"apart": 0.0, "taken_up_at": jobs.DIES_AT}
    assert records["pairing"]["about"]["card"].startswith("none: a rehearsal")
    text = (tmp_path / "gpu.md").read_text()
    assert page.NOT_RUN not in text
    assert "| batch | DRF, images/s |" in text
    assert files_of_the_project() == before
    assert set(cards.LOCKS.glob("ldlrepro-GPU-*.lock")) <= locks

    # A second call does again only what was not possible.
    again = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert again.returncode == 0
    assert again.stderr.count("(kept, ") == len(STEPS) - 1


def test_the_steps_together_stay_below_nine_minutes():
    assert sum(step.seconds for step in STEPS) < 9 * 60
    for step in STEPS:
        assert step.function().__doc__, step.name


# ---------------------------------------------------------------------- without a card


def test_without_a_card_it_says_what_it_would_do_and_writes_nothing(monkeypatch, capsys):
    monkeypatch.setattr(cards, "listed", list)
    before = files_of_the_project()
    assert check.main([]) == 1
    told = capsys.readouterr().out
    assert told.startswith("Not run: this machine shows no NVIDIA card")
    assert all(f"  {step.name} " in told and step.bar in told for step in STEPS)
    assert "Nothing was written now" in told
    assert files_of_the_project() == before


def test_what_keeps_a_card_from_being_used_is_said(monkeypatch):
    monkeypatch.setattr(cards, "listed", lambda: [cards.Card("0", "GPU-1", "Test Card")])
    monkeypatch.setenv(cards.VISIBLE, "")
    assert "hides every card" in check.lack()
    monkeypatch.delenv(cards.VISIBLE)
    fits = check.pairing.TorchBuild("2.13.0", (13, 0), (), True)
    for build, said in (
        (replace(fits, cuda=None), "torch 2.13.0 is built without CUDA: make TORCH=gpu setup."),
        (replace(fits, cuda=(99, 0)), "this torch needs a newer driver"),
        (fits, ""),
    ):
        monkeypatch.setattr(check.pairing, "torch_build", lambda build=build: build)
        monkeypatch.setattr(
            check.pairing,
            "driver",
            lambda: check.pairing.Driver("Test Card", "580.65", 81559, (9, 0), (13, 0)),
        )
        found = check.lack()
        assert said in found if said else found == ""


# ---------------------------------------------------------------------- steps that go wrong


def target(folder: Path) -> check.Target:
    return check.Target.of(folder)


def measured(monkeypatch, folder: Path, program: str, seconds: int = 60) -> dict:
    """The result of a step whose process runs this program instead."""
    (folder / "python").write_text(f"#!/bin/sh\n{program}\n")
    (folder / "python").chmod(0o755)
    monkeypatch.setattr(check.sys, "executable", str(folder / "python"))
    monkeypatch.setattr(check, "limit", lambda step, target: seconds)
    return check.measured(STEPS[0], target(folder), {})


def test_a_step_that_dies_is_a_failed_step(monkeypatch, tmp_path):
    record = measured(monkeypatch, tmp_path, "kill -9 $$")
    assert record["state"] == FAILED
    assert record["found"] == "died of SIGKILL; see its log"


def test_a_step_that_hangs_is_ended_with_all_that_it_started(monkeypatch, tmp_path):
    child = tmp_path / "child"
    record = measured(monkeypatch, tmp_path, f"sleep 300 & echo $! > {child}; wait", seconds=1)
    assert record["found"] == "did not end within 1 s"
    deadline = time.monotonic() + 30
    while Path(f"/proc/{child.read_text().strip()}").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    state = Path(f"/proc/{child.read_text().strip()}/stat")
    assert not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z"


def outcome_of(monkeypatch, function) -> Outcome:
    monkeypatch.setattr(Step, "function", lambda step: function)
    return steps.run(STEPS[0], "cpu", time.monotonic() + 60)


def test_a_missing_package_makes_a_step_impossible_and_an_error_fails_it(monkeypatch):
    def lacks(place: Place) -> Outcome:
        return importlib.import_module("no_such_package_anywhere").check(place)

    def breaks(place: Place) -> Outcome:
        raise ValueError("no")

    lacking = outcome_of(monkeypatch, lacks)
    assert lacking.state == IMPOSSIBLE
    assert lacking.found.startswith("no_such_package_anywhere is not installed: make TORCH=gpu")
    assert outcome_of(monkeypatch, breaks) == Outcome(FAILED, "ValueError: no")


def test_results_of_other_circumstances_are_not_kept(tmp_path):
    about = {"card": "A", "code": "1", "commit": "x"}
    path = tmp_path / "step.json"
    record = {"state": FAILED, "about": about}
    assert check.finished(path, about) is None
    path.write_text(json.dumps(record))
    assert check.finished(path, {**about, "commit": "y"}) == record
    assert check.finished(path, {**about, "code": "2"}) is None
    path.write_text(json.dumps({**record, "state": IMPOSSIBLE}))
    assert check.finished(path, about) is None
    path.write_text('{"state": "pas')
    assert check.finished(path, about) is None


def test_only_a_run_on_a_card_writes_into_the_project(tmp_path):
    there, here = check.Target.of(None), target(tmp_path)
    assert (there.records, there.page) == (REFERENCE, PAGE)
    for path in (here.kept, here.records, here.page):
        assert tmp_path in path.parents


def test_a_run_on_a_card_renews_page_reference_and_checksums(monkeypatch, tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "gpu.md").write_text(PAGE.read_text())
    (tmp_path / "reference" / "paper").mkdir(parents=True)
    other = tmp_path / "reference" / "paper" / "method.csv"
    other.write_text("a,b\n")
    seal_reference(tmp_path)
    monkeypatch.setattr(check, "ROOT", tmp_path)
    there = check.Target.of(None)
    about = {"card": "Test Card", "memory_mb": 81559, "driver": "580.65", "commit": "abcdefghij"}
    about |= {"torch": "2.13.0", "torch_cuda": "13.0", "python": "3.11.7"}
    record = {"step": "suite", "checks": "c", "bar": "b", "state": PASSED, "found": "8 | 0"}
    record |= {"numbers": {}, "seconds": 3.0, "command": check.COMMAND, "about": about}
    check.publish(there, [record])
    assert page.read(there.records) == [record]
    text = there.page.read_text()
    assert "`make gpu-check` on Test Card, 81559 MB, driver 580.65; torch 2.13.0 for CUDA" in text
    assert "| suite | c | b | passed | 8 \\| 0 | 3 |" in text
    check.refuse_changed_reference(tmp_path)
    other.write_text("a,c\n")
    with pytest.raises(UserError, match=r"paper/method\.csv"):
        check.publish(there, [record])


# ---------------------------------------------------------------------- bars that can be missed


@pytest.mark.parametrize("name", ["forest_layer", "leaf_update"])
def test_a_device_that_computes_otherwise_is_found(monkeypatch, place, name):
    exact = arithmetic.moved
    calls = []

    def moved(values: np.ndarray, device: str):
        calls.append(device)
        return exact(values + (1e-6 if device == "meta" else 0.0), "cpu")

    monkeypatch.setattr(arithmetic, "moved", moved)
    monkeypatch.setattr(arithmetic, "_device", lambda device: exact(np.zeros(1), "cpu").device)
    monkeypatch.setattr(arithmetic, "LAYERS", ("drf",))
    monkeypatch.setattr(arithmetic, "LEAVES", ("drf",))
    function = getattr(arithmetic, name)
    assert function(place).state == PASSED
    assert function(replace(place, device="meta")).state == FAILED
    assert set(calls) == {"cpu", "meta"}


def test_trainings_that_end_apart_are_found(monkeypatch, place):
    exact = arithmetic.trained_in_double
    begun = []

    def other(name: str, device: str, steps: int):
        begun.append(name)
        learned = dict(exact(name, "cpu", steps))
        learned["mean"] = learned["mean"] * (1 + 1e-8 * (len(begun) % 2))
        return learned

    monkeypatch.setattr(arithmetic, "HEADS", ("drf",))
    monkeypatch.setattr(arithmetic, "trained_in_double", other)
    found = arithmetic.heads(place)
    assert found.state == FAILED
    assert found.numbers["largest_relative_difference"]["drf"] == pytest.approx(1e-8, rel=0.01)


def test_the_largest_difference_counts_relative_to_the_largest_entry():
    one = {"a": np.array([10.0, -100.0]), "b": np.zeros(2)}
    other = copy.deepcopy(one)
    assert arithmetic.farthest(one, other) == 0.0
    other["a"][0] += 1.0
    assert arithmetic.farthest(one, other) == pytest.approx(0.01)
    other["b"][0] = 0.5
    assert arithmetic.farthest(one, other) == pytest.approx(0.5)
    other["b"][0] = np.nan
    assert arithmetic.farthest(one, other) == np.inf


def test_jobs_that_meet_on_a_card_are_found(monkeypatch, place, tmp_path):
    """Locks in folders of their own, as if there were none."""
    (tmp_path / "bin").mkdir()
    shim = tmp_path / "bin" / "python"
    shim.write_text(
        f'#!/bin/sh\nexec {sys.executable} "$@" --locks="$(mktemp -d {tmp_path}/XXXX)"\n'
    )
    shim.chmod(0o755)
    monkeypatch.setattr(jobs.sys, "executable", str(shim))
    monkeypatch.setattr(jobs, "SECONDS_HELD", 4.0)
    found = jobs.cards(place)
    assert found.state == FAILED
    assert not found.found.startswith("3 jobs, 0 meetings")


@pytest.mark.parametrize(
    ("ends", "taken_up_at", "apart", "state"),
    [
        ((-9, 0), 25, 0.0, PASSED),
        ((-9, 0), 25, 1e-12, FAILED),
        ((-9, 0), 0, 0.0, FAILED),
        ((0, 0), 25, 0.0, FAILED),
        ((-9, 1), 25, 0.0, FAILED),
    ],
)
def test_a_training_that_does_not_go_on_is_found(
    monkeypatch, place, ends, taken_up_at, apart, state
):
    codes = iter([0, *ends])

    def trained(folder: Path, place: Place, *more: str):
        folder.mkdir(exist_ok=True)
        np.save(folder / "predictions.npy", np.full(3, apart * (folder.name == "killed")))
        (folder / "told.json").write_text(json.dumps({"taken_up_at": taken_up_at}))
        return subprocess.CompletedProcess([], next(codes))

    monkeypatch.setattr(jobs, "_trained", trained)
    assert jobs.resume(place).state == state


@pytest.mark.parametrize(("extra", "state"), [(0.04, PASSED), (0.06, FAILED)])
def test_a_forest_that_costs_too_much_is_found_on_a_card(monkeypatch, place, extra, state):
    times = {"deep_regression": 1.0, "drf": 1.0 + extra, "dldlf@annealed": 1.01}
    monkeypatch.setattr(speed, "_model", lambda name, batch, place: name)
    monkeypatch.setattr(speed.shares, "noise", lambda count, side: (None, None))
    monkeypatch.setattr(speed.shares, "seconds_per_step", lambda name, X, D, steps: times[name])
    found = speed.forest_share(replace(place, device="cuda"))
    assert found.state == state
    assert f"drf: {extra:+.1%}" in found.found


@pytest.mark.parametrize(("ratio", "state"), [(0.95, PASSED), (0.85, FAILED)])
def test_slow_training_is_found_and_what_does_not_fit_is_told(monkeypatch, place, ratio, state):
    def measured(measure, place):
        found = measure()
        return (None, None) if found is None else (found, 1.0)

    def bare(place: Place, batch: int, steps: int) -> float:
        return batch / 1000.0

    def ours(batch: int, X, D, steps: int) -> float:
        return batch / (1000.0 * (ratio if batch >= 64 else 0.5))

    monkeypatch.setattr(speed, "_model", lambda name, batch, place: batch)
    monkeypatch.setattr(speed.shares, "noise", lambda count, side: (None, None))
    monkeypatch.setattr(speed.shares, "seconds_per_step", ours)
    monkeypatch.setattr(speed, "_bare_seconds", bare)
    monkeypatch.setattr(speed, "_estimated_memory", lambda place: lambda batch: 0.1 * batch)
    fits = {"left": 9}  # the last batch of ours fits, that of the bare network does not

    def with_peak(measure, place: Place):
        fits["left"] -= 1
        return measured(measure, place) if fits["left"] >= 0 else (None, None)

    monkeypatch.setattr(speed, "_with_peak", with_peak)
    found = speed.throughput(replace(place, device="cuda"))
    assert found.state == state
    assert "16: 500 images/s, 0.50 of bare" in found.found
    assert found.found.endswith("do not fit into memory: 256")
    assert [row["batch"] for row in found.numbers["batches"]] == list(speed.BATCHES)
    late = replace(place, device="cuda", deadline=time.monotonic() + 5)
    assert "no time was left for: 16, 32, 64, 128, 256" in speed.throughput(late).found


# ---------------------------------------------------------------------- the page


def test_the_page_is_what_the_reference_gives():
    text = PAGE.read_text()
    assert page.with_results(text, page.read(REFERENCE)) == text, "type: make gpu-check"


def test_without_results_the_page_says_so_and_shows_no_number():
    text = page.with_results(PAGE.read_text(), [])
    shown = text.partition(page.BEGIN)[2].partition(page.END)[0].strip()
    assert shown == page.NOT_RUN
    assert not re.search(r"\d", shown)


def test_lost_marks_are_an_error():
    with pytest.raises(UserError, match="put back the marks"):
        page.with_results("# On a GPU\n", [])


def test_the_page_describes_every_step():
    rows = re.findall(r"^\| ([a-z_0-9, ]+) \|", PAGE.read_text().partition("steps mean")[2], re.M)
    named = {name for row in rows for name in row.split(", ")}
    assert {step.name for step in STEPS} <= named


def test_the_pairing_on_the_page_is_that_of_the_containers():
    text = PAGE.read_text()
    pins = dict(
        line.split("==") for line in (ROOT / "envs/gpu.txt").read_text().split("\n") if "==" in line
    )
    base = re.search(r"^FROM (\S+)$", (ROOT / "envs/Dockerfile").read_text(), re.M)[1]
    assert f"| base image | `{base}`, without CUDA |" in text
    cuda = re.search(rf"\| torch \| {re.escape(pins['torch'])}, for CUDA (\d+)\.", text)
    assert cuda, "torch has another pin: say which CUDA it is built for"
    assert f"| xgboost | {pins['xgboost']}, " in text
    least = LEAST_DRIVER[int(cuda[1])]
    assert f"| least driver | {least} |" in text
    for name in ("Dockerfile", "ldlrepro.def"):
        assert f"driver {least} or newer" in (ROOT / "envs" / name).read_text(), name


def test_gpu_tests_are_marked_so_that_the_check_runs_them():
    """A test that is skipped for want of a card has the mark by which the check finds it."""
    for path in (ROOT / "tests").rglob("test_*.py"):
        text = path.read_text()
        skips = len(re.findall(r"skipif\(not torch\.cuda\.is_available", text))
        assert skips == len(re.findall(rf"^@{re.escape(jobs.MARK)}$", text, re.M)), path


def test_make_knows_it():
    command = ["make", "-n", "gpu-check", "FRESH=1"]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "python -m bench.gpu --fresh" in told
    assert "pip" not in told
