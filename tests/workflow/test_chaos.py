"""The small version of ``make chaos``, and that it would tell of a loss."""

import sys

import pytest

from ldlrepro.core.errors import UserError
from tests.chaos import __main__ as chaos
from tests.chaos.kills import Paper, Tally, finished_folds, kill_and_compare
from tests.workflow.conftest import Project


def test_kills_at_random_moments_and_inside_writes_lose_nothing(tmp_path):
    paper = Paper(datasets=("few",), methods=("sa_bfgs", "train_mean"))
    tally = kill_and_compare(tmp_path, kills=6, seed=11, say=print, paper=paper)
    assert tally.kills == 6
    assert any("inside a write" in kind for kind in tally.killed)
    assert {what: found for what, found in tally.losses.items() if found} == {}


@pytest.mark.parametrize(
    "name", ["units/chaos/few/rf/folds_0-4.parquet", "journal/a/r000_f001.npz"]
)
def test_half_a_file_under_a_final_name_is_told(tmp_path, name):
    path = tmp_path / "results" / name
    path.parent.mkdir(parents=True)
    path.write_bytes(b"PAR1 and no more")
    with pytest.raises(UserError, match=f"{path.name}: the file is damaged.*Half a file"):
        finished_folds(Project(tmp_path))


@pytest.mark.parametrize("lost", [[], ["round 3: few/rf/folds_0-4.npz"]])
def test_a_loss_is_named_before_the_last_line_and_in_the_status(monkeypatch, capsys, lost):
    tally = Tally(predictions_changed=lost)
    monkeypatch.setattr(chaos, "kill_and_compare", lambda *_: tally)
    monkeypatch.setattr(sys, "argv", ["chaos", "--syncs", "0"])
    assert chaos.main() == len(lost)
    *before, last = capsys.readouterr().out.splitlines()
    assert f"{len(lost)} predictions changed" in last
    assert before == [f"predictions changed: {one}" for one in lost]
