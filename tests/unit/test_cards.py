"""GPUs of a machine that has none: a stand-in for the driver's tool lists them."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import uuid
from pathlib import Path

import pytest

from ldlrepro.core.errors import UserError
from ldlrepro.train import cards

WAIT_S = 60


class Machine:
    """Its cards have identities of their own, so that no test meets the locks of another."""

    def __init__(self, folder: Path, count: int, text: str = "") -> None:
        self.uuids = [f"GPU-{uuid.uuid4()}" for _ in range(count)]
        lines = [f"GPU {i}: Test Card (UUID: {u})" for i, u in enumerate(self.uuids)]
        folder.mkdir(exist_ok=True)
        tool = folder / "nvidia-smi"
        tool.write_text("#!/bin/sh\ncat <<'END'\n" + (text or "\n".join(lines)) + "\nEND\n")
        tool.chmod(0o755)


@pytest.fixture
def machine(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(cards, "LOCKS", tmp_path)
    monkeypatch.setattr(cards, "SECONDS_BETWEEN_TRIES", 0.01)
    for name in (cards.VISIBLE, cards.DEVICE, *cards.SCHEDULED):
        monkeypatch.delenv(name, raising=False)
    return lambda count, text="": Machine(tmp_path / "bin", count, text)


def visible() -> list[str]:
    return [name for name in os.environ[cards.VISIBLE].split(",") if name]


# ---------------------------------------------------------------------- who gets which card


def test_a_lock_can_be_taken_by_other_users_whatever_the_umask(machine, tmp_path):
    machine(1)
    before = os.umask(0o077)
    try:
        with cards.held(1, "unit"):
            pass
    finally:
        os.umask(before)
    (lock,) = tmp_path.glob("ldlrepro-*.lock")
    assert lock.stat().st_mode & 0o777 == 0o666


def hold(there: str, marks: Path, name: str) -> subprocess.Popen[str]:
    """A process that holds a card, says which, and gives it back when a file appears."""
    script = f"""
        import os, pathlib, sys, time
        from ldlrepro.train import cards
        cards.LOCKS = pathlib.Path({str(marks)!r})
        cards.SECONDS_BETWEEN_TRIES = 0.01
        with cards.held(1, {name!r}, lambda line: print(line, flush=True)):
            print("has", os.environ["CUDA_VISIBLE_DEVICES"], flush=True)
            while not pathlib.Path({str(marks / name)!r}).exists():
                time.sleep(0.02)
    """
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PATH": there},
    )


def test_processes_share_no_card_and_wait_with_a_line(machine, tmp_path):
    there = machine(2)
    path = os.environ["PATH"]
    first, second = hold(path, tmp_path, "first"), hold(path, tmp_path, "second")
    got = [process.stdout.readline().split()[1] for process in (first, second)]
    assert sorted(got) == sorted(there.uuids)
    third = hold(path, tmp_path, "third")
    line = third.stdout.readline()
    assert line.startswith("third: waits for 1 free GPU(s) of: Test Card (")
    assert f"first, process {first.pid}" in line
    assert f"second, process {second.pid}" in line
    (tmp_path / "second").touch()
    assert third.stdout.readline().split() == ["has", got[1]]
    first.kill()  # the system gives the card back
    fourth = hold(path, tmp_path, "fourth")
    assert fourth.stdout.readline().split() == ["has", got[0]]
    for name in ("third", "fourth"):
        (tmp_path / name).touch()
    for process in (first, second, third, fourth):
        process.communicate(timeout=WAIT_S)


# ---------------------------------------------------------------------- what others say


def test_the_cards_of_a_scheduler_are_kept(machine, monkeypatch):
    machine(4)
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv(cards.VISIBLE, "2")
    with cards.held(1, "unit") as names:
        assert visible() == ["2"]
        assert names == ["Test Card"]


def test_a_users_choice_of_cards_is_kept_to(machine, monkeypatch):
    there = machine(3)
    monkeypatch.setenv(cards.VISIBLE, f"1,{there.uuids[2][:12]}")
    with cards.held(2, "unit"):
        assert visible() == there.uuids[1:]
    assert os.environ[cards.VISIBLE].startswith("1,")


def test_no_card_where_one_is_needed_is_said(machine):
    machine(0)
    with pytest.raises(cards.NoCardError, match=r"needs a GPU.*LDLREPRO_DEVICE=cpu"):
        cards.held(1, "unit").__enter__()


def test_on_the_users_word_the_cpu_is_taken(machine, monkeypatch):
    machine(1)
    monkeypatch.setenv(cards.DEVICE, "cpu")
    with cards.held(1, "unit") as names:
        assert (names, visible()) == ([], [])
    monkeypatch.setenv(cards.DEVICE, "tpu")
    with pytest.raises(UserError, match="write auto"):
        cards.held(1, "unit").__enter__()


def test_a_unit_without_need_sees_no_card(machine):
    machine(1)
    with cards.held(0, "unit"):
        assert visible() == []


def test_parts_of_a_divided_card_are_cards(machine):
    machine(
        0,
        "GPU 0: Big Card (UUID: GPU-0)\n"
        "  MIG 1g.18gb     Device  0: (UUID: MIG-a)\n"
        "  MIG 1g.18gb     Device  1: (UUID: MIG-b)\n"
        "GPU 1: Big Card (UUID: GPU-1)",
    )
    assert [(card.uuid, card.name) for card in cards.usable()] == [
        ("MIG-a", "Big Card MIG 1g.18gb"),
        ("MIG-b", "Big Card MIG 1g.18gb"),
        ("GPU-1", "Big Card"),
    ]
