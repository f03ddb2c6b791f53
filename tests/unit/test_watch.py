"""Long trainings: killed and gone on with, heard while they run, never held up by a tracker."""

from __future__ import annotations

from pathlib import Path

import pytest

from ldlrepro import cli
from ldlrepro.core.workspace import Workspace
from ldlrepro.data.pixels import make_pixels
from ldlrepro.train import cards
from ldlrepro.train.long_training import Curve, FoldName, FoldWatch, parse_rows, read_rows
from ldlrepro.train.records import OK, UNAVAILABLE, read_predictions
from ldlrepro.train.records import read_rows as read_rows_of_record
from ldlrepro.train.unit import UnitJob, run_unit
from tests import here
from tests.here import known, unit
from tests.traps import Trap

METHOD = """
title: steps on pixels
class: own_steps.Steps
parameters: {steps: 60}
needs: [images]
"""

# Random steps towards the mean label: what a step does depends on all before it.
ESTIMATOR = """
import numpy as np
import torch

from ldl.watch import current_watch
from ldl.base import LDLEstimator

done = []
stop_at = None
fail_at = None


class Steps(LDLEstimator):
    def __init__(self, steps=10, random_state=None):
        self.steps, self.random_state = steps, random_state

    def fit(self, X, D):
        self.renormalised_ = 0
        self.diagnostics_ = {"brightness": float(X.read().mean())}
        heard = current_watch()
        generator = torch.Generator().manual_seed(self.random_state % 2**63)
        goal = torch.from_numpy(D.mean(axis=0))
        self.P = torch.full_like(goal, 1 / len(goal))
        start, state = 0, heard.restore()
        if state is not None and state["steps"] == self.steps:
            start, self.P = state["step"], state["P"]
            generator.set_state(state["generator"])
        for step in range(start + 1, self.steps + 1):
            if step == stop_at:
                raise KeyboardInterrupt
            if step == fail_at:
                raise ValueError("diverged")
            share = torch.rand(len(goal), generator=generator, dtype=goal.dtype)
            self.P = self.P + 0.1 * share * (goal - self.P)
            done.append(step)
            loss = float((goal - self.P).abs().sum())
            heard.report(step, {"steps": self.steps, "loss": loss, "mae": 7.0 / step})
            if step % 7 == 0:
                heard.keep(
                    {
                        "steps": self.steps,
                        "step": step,
                        "P": self.P.clone(),
                        "generator": generator.get_state(),
                        "big": 2**130,
                        "nothing": None,
                    }
                )
        return self

    def predict(self, X):
        P = self.P.numpy() / self.P.numpy().sum()
        return np.tile(P, (len(X), 1))
"""


@pytest.fixture
def photos(tiny):
    """The tiny paper in two folds of drawn photographs."""
    tiny.edit("config/datasets/drawn_fgnet.yaml", "persons: 12", "persons: 4")
    tiny.edit("papers/tiny/paper.yaml", "[toy]", "[drawn_fgnet]")
    tiny.edit("papers/tiny/paper.yaml", "folds: 4, validation: next_fold", "folds: 2")
    tiny.write("config/methods/near.yaml", METHOD)
    tiny.module("own_steps", ESTIMATOR)
    assert cli.main(["fetch", "drawn_fgnet"]) == 0
    assert cli.main(["prepare", "drawn_fgnet"]) == 0
    assert cli.main(["folds", "tiny", "drawn_fgnet"]) == 0
    make_pixels(known("drawn_fgnet"), Workspace())
    return tiny


def job(name: str = "results") -> UnitJob:
    return here.job(unit("tiny", "drawn_fgnet", "near"), "0-1", name)


def states(name: str = "results") -> list[str]:
    return sorted(path.name for path in (Path(name) / "journal").rglob("*.state"))


def steps_done() -> list[int]:
    import own_steps

    found = list(own_steps.done)
    own_steps.done.clear()
    return found


# ---------------------------------------------------------------------- killed and gone on with


def test_a_killed_unit_goes_on_from_the_last_state_with_the_same_bits(photos, capsys):
    rows = run_unit(job("whole"))
    assert [row.status for row in rows] == [OK, OK], rows[0].error
    assert steps_done() == 2 * list(range(1, 61))
    import own_steps

    own_steps.stop_at = 40
    with pytest.raises(KeyboardInterrupt):
        run_unit(job())
    assert steps_done() == list(range(1, 40))
    assert states() == ["r000_f000.fit001.state"]
    own_steps.stop_at = None
    said: list[str] = []
    again = run_unit(job(), said.append)
    assert steps_done() == [*range(36, 61), *range(1, 61)]
    assert any("goes on at step 36 of 60" in line for line in said)
    assert states() == []
    whole, parts = read_predictions(job("whole").record), read_predictions(job().record)
    for key, P in whole.items():
        assert P.tobytes() == parts[key].tobytes()
    # The curve is that of a training that was never stopped, and the record has it.
    assert curve() == curve("whole")
    assert parse_rows(again[0].curve)[1] == curve()
    assert read_rows_of_record(job().record)[0].curve == again[0].curve


def curve(name: str = "results", fold: int = 0) -> list[list[str]]:
    path = job(name).record.parent / "curves" / f"r000_f{fold:03d}.csv"
    header, rows = read_rows(path)
    assert header == ["fit", "step", "loss", "mae", "images_per_second"]
    return rows


@pytest.mark.parametrize("change", ["code", "settings", "pixels"])
def test_a_state_of_other_code_settings_or_pixels_is_never_taken_up(photos, change):
    import own_steps

    own_steps.stop_at = 40
    with pytest.raises(KeyboardInterrupt):
        run_unit(job())
    if change == "code":
        photos.module("own_steps", ESTIMATOR.replace("0.1 * share", "0.2 * share"))
    elif change == "settings":
        photos.edit("config/methods/near.yaml", "steps: 60", "steps: 61")
    else:
        photos.edit("config/datasets/drawn_fgnet.yaml", "64]", "60]")
        make_pixels(known("drawn_fgnet"), Workspace())
    own_steps.stop_at = None
    own_steps.done.clear()
    run_unit(job())
    assert steps_done()[:2] == [1, 2]


def test_a_damaged_state_is_no_state(photos):
    import own_steps

    own_steps.stop_at = 40
    with pytest.raises(KeyboardInterrupt):
        run_unit(job())
    (path,) = Path("results/journal").rglob("*.state")
    path.write_bytes(path.read_bytes()[:200])
    own_steps.stop_at = None
    steps_done()
    said: list[str] = []
    run_unit(job(), said.append)
    assert steps_done() == 2 * list(range(1, 61))
    assert any("cannot be read" in line for line in said)


def test_a_state_that_could_run_code_is_refused(tmp_path, monkeypatch):
    import torch

    monkeypatch.chdir(tmp_path)
    watched = _watch(tmp_path)
    torch.save({"P": Trap(tmp_path / "sprung")}, tmp_path / "r000_f001.fit001.state")
    assert watched.restore() is None
    assert not (tmp_path / "sprung").exists()


def _watch(folder: Path, fresh: bool = False) -> FoldWatch:
    name = FoldName("tiny/drawn_fgnet/near", 0, 1)
    return FoldWatch(name, folder, folder / "curves", fresh, "", lambda line: None)


# ---------------------------------------------------------------------- heard


def test_a_line_cut_by_a_kill_is_left_out(tmp_path):
    path = tmp_path / "c.csv"
    path.write_text("fit,step,loss\n1,1,0.5\n1,2,0.")
    assert read_rows(path) == (["fit", "step", "loss"], [["1", "1", "0.5"]])
    curve = Curve(path, goes_on=True)
    curve.begin(1, 2)
    curve.add(2, 2, {"loss": 0.25})
    curve.close()
    assert path.read_text() == "fit,step,loss\n1,1,0.5\n1,2,0.25\n"


# ---------------------------------------------------------------------- what a unit lacks


def test_a_method_that_needs_a_gpu_is_not_run_without_unless_asked_to(photos, monkeypatch):
    monkeypatch.setattr(cards, "listed", lambda: [])
    monkeypatch.delenv(cards.VISIBLE, raising=False)
    monkeypatch.delenv(cards.DEVICE, raising=False)
    photos.write("config/methods/near.yaml", METHOD + "resources: {gpu: 1}\n")
    rows = run_unit(job())
    assert {row.status for row in rows} == {UNAVAILABLE}
    assert rows[0].error.startswith("needs a GPU, and there is none here")
    monkeypatch.setenv(cards.DEVICE, "cpu")
    assert {row.status for row in run_unit(job())} == {OK}
