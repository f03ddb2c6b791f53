"""Driver, torch's CUDA and the card: what fits together, and what is said where it does not."""

from __future__ import annotations

import os

import pytest

from ldlrepro.doctor import pairing
from ldlrepro.doctor.lines import BAD, GOOD, NOTE
from ldlrepro.doctor.pairing import Driver, TorchBuild

HEADER = """\
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 580.65.06              Driver Version: 580.65.06      CUDA Version: 13.0     |
+-----------------------------------------+------------------------+----------------------+
"""
NEWER = "| NVIDIA-SMI 590.44   KMD Version: 590.44   CUDA UMD Version: 13.1 |"
CARD = "NVIDIA Test Card, 580.65.06, 9.0"


def build(cuda=(13, 0), archs=("sm_80", "sm_90"), sees_card=True) -> TorchBuild:
    return TorchBuild("2.13.0", cuda, archs, sees_card)


def machine(cuda=(13, 0), version="580.65.06", capability=(9, 0)) -> Driver:
    return Driver("Test Card", version, capability, cuda)


@pytest.fixture
def tool(tmp_path, monkeypatch):
    """A stand-in for nvidia-smi, which answers with a header or with the line of a card."""

    def put(header: str, card: str = CARD, status: int = 0) -> None:
        path = tmp_path / "nvidia-smi"
        (tmp_path / "header").write_text(header)
        (tmp_path / "card").write_text(card + "\n")
        answer = f"if [ $# = 0 ]; then cat {tmp_path}/header; else cat {tmp_path}/card; fi"
        path.write_text(f"#!/bin/sh\n{answer}\nexit {status}\n")
        path.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    return put


@pytest.mark.parametrize(("header", "cuda"), [(HEADER, (13, 0)), (NEWER, (13, 1))])
def test_the_driver_is_read_from_its_own_tool(tool, header, cuda):
    tool(header)
    found = pairing.driver()
    assert found == Driver("NVIDIA Test Card", "580.65.06", (9, 0), cuda)


@pytest.mark.parametrize(
    ("header", "card", "status"),
    [("No devices were found", "", 0), (HEADER, CARD, 9), (HEADER, "[N/A], , [N/A], [N/A]", 0)],
)
def test_a_driver_that_does_not_answer_is_none(tool, header, card, status):
    tool(header, card, status)
    assert pairing.driver() is None
    assert pairing.compare(None, build(sees_card=False)).state == BAD
    assert pairing.compare(None, build()).state == NOTE


@pytest.mark.parametrize(
    ("driver", "torch", "state", "said"),
    [
        (machine(), build(), GOOD, "fit together"),
        (machine(), build(cuda=(13, 2)), NOTE, "a newer driver has all"),
        (machine(cuda=(12, 8)), build(), BAD, "needs driver 580 or newer; see docs/gpu.md"),
        (machine(), build(cuda=None), BAD, "make TORCH=gpu setup"),
        (machine(), build(sees_card=False), BAD, "docker run --gpus all"),
        (machine(capability=(6, 1)), build(), BAD, "no code for Test Card (sm_61)"),
    ],
)
def test_what_fits_and_what_does_not(driver, torch, state, said):
    found = pairing.compare(driver, torch)
    assert found.state == state
    assert said in found.do


@pytest.mark.parametrize(
    ("capability", "archs", "runs"),
    [
        ((9, 0), ("sm_80", "sm_90"), True),
        ((8, 9), ("sm_80", "sm_86"), True),
        ((9, 0), ("sm_80",), False),
        ((9, 0), ("sm_80", "compute_80"), True),
        ((12, 0), ("sm_90a",), False),
        ((10, 3), ("sm_100f",), True),
    ],
)
def test_which_cards_run_which_code(capability, archs, runs):
    assert pairing.has_code_for(capability, archs) == runs
