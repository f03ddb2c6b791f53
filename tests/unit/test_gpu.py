"""What is timed on a card, in small on the processor; which tests and versions a card is for."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from bench import gpu
from ldl.watch import current_watch
from ldlrepro.doctor.lines import BAD, Finding
from ldlrepro.doctor.pairing import LEAST_DRIVER
from ldlrepro.train import cards

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "gpu.md"
MARK = "pytest.mark.gpu"
SMALL = {"device": "cpu", "network": "tiny", "side": 8, "batch": 4, "steps": 2, "repeats": 1}


def test_share_is_told_for_every_forest(capsys):
    assert gpu.main([f"--{name}={value}" for name, value in SMALL.items()]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("deep_regression: ")
    assert lines[0].endswith(" ms for a step of 4 images on the processor")
    assert [line.partition(":")[0] for line in lines[1:]] == list(gpu.FORESTS)
    assert all(line.endswith(("within 5%", "above 5%")) for line in lines[1:])


@pytest.mark.parametrize(("extra", "status"), [(0.04, 0), (0.06, 1)])
def test_a_forest_that_costs_too_much_fails_on_a_card(extra, status, capsys):
    times = {"deep_regression": [1.0], "drf": [1.0 + extra], "dldlf@annealed": [1.01]}
    assert gpu.told(times, "16 images on Test Card", judged=True) == status
    assert f"drf: {1000 + 1000 * extra:.2f} ms, {extra:+.1%}" in capsys.readouterr().out
    assert gpu.told(times, "16 images on the processor", judged=False) == 0


def test_without_a_card_it_says_so_and_times_nothing(monkeypatch, capsys):
    monkeypatch.setattr(gpu, "taken", None)
    monkeypatch.setattr(cards, "listed", list)
    assert gpu.main([]) == 1
    assert capsys.readouterr().out.startswith("Not timed: no NVIDIA card here")
    monkeypatch.setattr(cards, "listed", lambda: [cards.Card("0", "GPU-1", "Test Card")])
    monkeypatch.setenv(cards.VISIBLE, "")
    assert gpu.main([]) == 1
    assert "hides every card" in capsys.readouterr().out


def test_a_torch_that_cannot_use_the_card_is_told(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(gpu, "taken", None)
    monkeypatch.setattr(cards, "LOCKS", tmp_path)
    monkeypatch.setattr(cards, "listed", lambda: [cards.Card("0", "GPU-1", "Test Card")])
    for name in (cards.VISIBLE, cards.DEVICE):
        monkeypatch.delenv(name, raising=False)
    finding = Finding("CUDA", BAD, "torch is built without CUDA", "make TORCH=gpu setup")
    monkeypatch.setattr(gpu.pairing, "examine", lambda: finding)
    assert gpu.main([]) == 1
    told = capsys.readouterr().out
    assert told == "Not timed: torch is built without CUDA: make TORCH=gpu setup\n"


class Fit:
    """A training that takes 7 s and 2 s for each step, and reports every 20 steps."""

    device = "cpu"

    def __init__(self, max_iter: int) -> None:
        self.max_iter, self.now = max_iter, 0.0

    def fit(self, X, D) -> None:
        self.now += 7.0
        for step in range(1, self.max_iter + 1):
            self.now += 2.0
            if step % 20 == 0:
                current_watch().report(step, {})


def test_preparation_does_not_count_and_the_training_ends_early(monkeypatch):
    fit = Fit(max_iter=1000)
    monkeypatch.setattr(gpu.time, "process_time", lambda: fit.now)
    assert gpu.seconds_per_step(fit, None, None, steps=50) == 2.0
    assert fit.now == 7.0 + 2.0 * 80


def test_a_training_too_short_to_be_timed_is_refused():
    with pytest.raises(ValueError, match=r"max_iter \(60\) is less than 50 steps"):
        gpu.seconds_per_step(Fit(max_iter=60), None, None, steps=50)


# ---------------------------------------------------------------------- make gpu-check


def test_make_runs_the_marked_tests_and_the_script():
    command = ["make", "-n", "gpu-check"]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "python -m pytest -m gpu" in told
    assert "python -m bench.gpu" in told
    assert "pip" not in told


def test_gpu_tests_are_marked_so_that_the_check_runs_them():
    """A test that is skipped for want of a card has the mark by which the check finds it."""
    marked = 0
    for path in (ROOT / "tests").rglob("test_*.py"):
        text = path.read_text()
        skips = len(re.findall(r"skipif\(not torch\.cuda\.is_available", text))
        assert skips == len(re.findall(rf"^@{re.escape(MARK)}$", text, re.M)), path
        marked += skips
    assert marked


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
