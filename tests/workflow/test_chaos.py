"""The small version of ``make chaos``."""

from tests.chaos.kills import Paper, kill_and_compare


def test_kills_at_random_moments_and_inside_writes_lose_nothing(tmp_path):
    paper = Paper(datasets=("few",), methods=("sa_bfgs", "train_mean"))
    tally = kill_and_compare(tmp_path, kills=6, seed=11, say=print, paper=paper)
    assert tally.kills == 6
    assert any("inside a write" in kind for kind in tally.killed)
    assert {what: found for what, found in tally.losses.items() if found} == {}
