"""The workflow as its users run it, on drawn data."""

import json
import os
import re
from pathlib import Path

from ldlrepro.train.records import FAILED, OK, UNAVAILABLE, read_rows

CELLS = "results/compare/tiny/cells.csv"
GATE = "results/gate/tiny.ok"


def planned_units(output: str) -> set[str]:
    """Methods of the train jobs that a dry run lists."""
    return set(re.findall(r"wildcards: protocol=tiny, dataset=\w+, method=([\w@]+)", output))


def test_one_paper_from_nothing_to_report_and_tracking(undisturbed, whole):
    told = undisturbed.root.with_suffix(".told").read_text()
    assert re.search(r"\[4 of 4 units, \d+ of \d+ steps\]", told), told
    assert (whole.root / "results/report/tiny/index.html").stat().st_size > 10_000
    assert (whole.root / "results/gate/tiny.ok").is_file()
    assert json.loads((whole.root / "results/track/tiny.json").read_text())["units"] == 4
    leaks = json.loads((whole.root / "results/folds/tiny/drawn_faces.leaks.json").read_text())
    assert leaks["available"]
    assert not leaks["broken"]
    assert leaks["shared_groups"] > 0, "shuffled folds put drawn persons on both sides"
    assert "Nothing to be done" in whole.snakemake("-n", "tiny")


def test_an_edit_reruns_what_depends_on_it_and_nothing_else(undisturbed, tmp_path):
    project = undisturbed.copy(tmp_path / "project")
    # Touched, or by a clock that jumped.
    later = dict.fromkeys(("data", "config", "papers", "src"), 4e9)
    for part, seconds in {"results": 315532800, **later}.items():
        for path in (project.root / part).rglob("*"):
            os.utime(path, (seconds, seconds))
    # A comment, a docstring, the text of an error, a function that no method uses.
    source = project.root / "src/ldl/neighbours/knn.py"
    source.write_text('"""Another docstring."""\n# and a comment\n' + source.read_text())
    project.edit("src/ldl/neighbours/knn.py", "n_neighbors must be", "n_neighbors has to be")
    with open(source, "a") as end:
        end.write("\n\ndef not_used_yet():\n    return 1\n")
    assert "Nothing to be done" in project.snakemake("-n", CELLS)
    project.edit("config/methods/sa_bfgs.yaml", "max_iter: 300", "max_iter: 299")
    project.edit("src/ldl/neighbours/knn.py", "_BLOCK_BYTES // (4 * ", "_BLOCK_BYTES // (8 * ")
    assert planned_units(project.snakemake("-n", CELLS)) == {"sa_bfgs", "aa_knn@grid"}
    project.edit("src/ldlrepro/train/selection.py", "direction * score <", "direction * score <=")
    every = {"sa_bfgs", "aa_knn@grid", "rf", "train_mean"}
    assert planned_units(project.snakemake("-n", CELLS)) == every


BROKEN = '''
from ldl.base import LDLEstimator

class Broken(LDLEstimator):
    """Fails on purpose."""

    def _fit(self, X, D):
        raise RuntimeError("the method itself is broken")

    def _predict(self, X):
        return X
'''


def test_what_fails_or_cannot_be_had_is_a_row_and_the_rest_goes_on(undisturbed, tmp_path):
    project, mine = undisturbed.copy(tmp_path / "project"), tmp_path / "mine"
    mine.mkdir()
    (mine / "broken.py").write_text(BROKEN)
    (mine / "broken.yaml").write_text("title: Broken\nclass: broken.Broken\n")
    project.edit("config/config.yaml", "own_files: []", f"own_files: {mine}")
    (project.root / "papers/tiny/cells.csv").unlink()  # so that every method runs on all data
    project.edit("papers/tiny/paper.yaml", "[drawn_faces]", "[drawn_faces, fgnet]")
    project.edit("config/config.yaml", "offline: false", "offline: true")
    output = project.snakemake(GATE, "--retries", "0", status=1)
    assert "the method itself is broken" in output
    assert "FAILED tiny/drawn_faces/broken: 5 of 5 folds" in output
    assert "left out: fgnet is not available" in output
    assert "data/manual/fgnet" in output
    units = project.root / "results/units/tiny"
    record = units / "drawn_faces/broken/folds_0-4.parquet"
    assert {row.status for row in read_rows(record)} == {FAILED}
    assert "Traceback" in read_rows(record)[0].error
    missing = read_rows(units / "fgnet/sa_bfgs/folds_0-4.parquet")
    assert [row.status for row in missing] == [UNAVAILABLE] * 5
    assert (project.root / "results/report/tiny/index.html").is_file()
    # The message names the command that runs only these again; after the mend it works.
    advice = re.search(r"^\s+rm (\S+)$", output, re.MULTILINE)
    assert advice, output
    (mine / "broken.py").write_text(
        BROKEN.replace('raise RuntimeError("the method itself is broken")', "pass").replace(
            "return X", "return abs(X[:, : self.n_labels_])"
        )
    )
    (project.root / advice[1]).unlink()
    assert re.search(r"\[\d of \d units, ", project.snakemake(GATE))
    assert {row.status for row in read_rows(record)} == {OK}


def test_a_wrong_configuration_stops_before_anything_runs(project):
    project.edit("config/config.yaml", "offline: false", "ofline: false")
    output = project.snakemake("-n", status=1)
    assert "unknown key 'ofline'. Did you mean 'offline'?" in output
    assert not Path(project.root / "results").exists()
