"""Results do not depend on how they were computed: cores, order, kills."""

import random
import time

import numpy as np

from tests.chaos.kills import finished_folds

CELLS = "results/compare/tiny/cells.csv"
TIDY = "results/tidy/tiny.ok"
METHODS = ("train_mean", "rf", "sa_bfgs", "aa_knn@grid")


def test_four_cores_and_another_order_give_the_same_bytes(undisturbed, tmp_path):
    project = undisturbed.without_units(tmp_path / "project")
    for method in METHODS:  # another order, four threads, each unit in two halves
        for folds in ("3-4", "0-2"):
            project.run("ldlrepro", "run", "tiny", "drawn_faces", method, "--folds", folds,
                        "--threads", "4")  # fmt: skip
    expected = arrays(undisturbed)
    assert len(expected) == 5 * len(METHODS)
    assert arrays(project) == expected


def arrays(project) -> dict[tuple[str, str], bytes]:
    """Prediction bytes by method and fold, however the folds were cut into files."""
    found = {}
    for path in (project.root / "results/units").rglob("*.npz"):
        with np.load(path) as stored:
            for name in stored.files:
                found[path.parent.name, name] = stored[name].tobytes()
    return found


def test_killed_ten_times_it_loses_no_finished_fold(undisturbed, tmp_path):
    """kill -9 to the whole workflow at ten random moments or more, then let it finish.

    Data and folds are there; tests/workflow/test_chaos.py kills what makes them.
    """
    project = undisturbed.without_units(tmp_path / "project")
    moments = random.Random(20260101)
    finished: dict[tuple[str, str, int], str] = {}
    for kills in range(1, 41):
        process = project.begin("snakemake", "--cores", "2", "--nolock", CELLS)
        time.sleep(moments.uniform(0.1, 1.2 * 1.12**kills))
        process.kill()
        finished |= finished_folds(project)
        if kills >= 10 and finished:  # a slow machine needs more tries to get anywhere
            break
    project.snakemake("--nolock", CELLS, TIDY)
    assert project.predictions() == undisturbed.predictions()
    assert finished, "no fold was finished before a kill; the test proves nothing"
    final = finished_folds(project)
    lost = {key for key, started in finished.items() if final[key] != started}
    assert not lost, f"computed again although they were finished: {lost}"
    for place in ("units", "journal"):  # what `tidy` promises
        half = list((project.root / "results" / place).rglob("*.part"))
        assert not half, "half a file was left behind"


def test_journals_are_thrown_away_once_the_paper_is_judged(undisturbed, tmp_path):
    """And not by the judging itself, which only writes what it found."""
    journals = undisturbed.root / "results/journal"
    assert len(list(journals.rglob("r*_f*.npz"))) == 5 * len(METHODS)
    copy = undisturbed.copy(tmp_path / "copy")
    copy.snakemake("results/tidy/tiny.ok")
    assert not list((copy.root / "results/journal").rglob("*.npz"))
    assert copy.predictions() == undisturbed.predictions()
    assert "Nothing to be done" in copy.snakemake(CELLS)
