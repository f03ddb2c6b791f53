"""What is timed on a card, in small on the processor; which tests and versions a card is for."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bench import gpu

ROOT = Path(__file__).resolve().parents[2]
MARK = "pytest.mark.gpu"
SMALL = {"device": "cpu", "network": "tiny", "side": 8, "batch": 4, "steps": 2, "repeats": 1}


def test_share_is_told_for_every_forest(capsys):
    assert gpu.main([f"--{name}={value}" for name, value in SMALL.items()]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("deep_regression: ")
    assert lines[0].endswith(" ms for a step of 4 images on the processor")
    assert [line.partition(":")[0] for line in lines[1:]] == list(gpu.FORESTS)
    assert all(line.endswith(("within 25%", "above 25%")) for line in lines[1:])


@pytest.mark.parametrize(("extra", "status"), [(0.24, 0), (0.26, 1)])
def test_a_forest_that_costs_too_much_fails_on_a_card(extra, status, capsys):
    times = {"deep_regression": [1.0], "drf": [1.0 + extra], "dldlf@annealed": [1.01]}
    assert gpu.told(times, "16 images on Test Card", judged=True) == status
    assert f"drf: {1000 + 1000 * extra:.2f} ms, {extra:+.1%}" in capsys.readouterr().out
    assert gpu.told(times, "16 images on the processor", judged=False) == 0


# ---------------------------------------------------------------------- make gpu-check


def test_gpu_tests_are_marked_so_that_the_check_runs_them():
    """A test that is skipped for want of a card has the mark by which the check finds it."""
    marked = 0
    for path in (ROOT / "tests").rglob("test_*.py"):
        text = path.read_text()
        skips = len(re.findall(r"skipif\(not torch\.cuda\.is_available", text))
        assert skips == len(re.findall(rf"^@{re.escape(MARK)}$", text, re.M)), path
        marked += skips
    assert marked
