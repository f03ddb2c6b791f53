"""The workflow on a full disk, after a kill, and twice in one folder."""

import shutil
import time

from tests.workflow.conftest import CELLS


def wait_for_lock(project, process):
    for _ in range(600):
        assert process.status(0) is None, process.output.read_text()
        if list((project.root / ".snakemake" / "locks").glob("*.lock")):
            return
        time.sleep(0.1)
    raise AssertionError("the first workflow took no lock")


def test_a_second_workflow_in_the_same_folder_is_turned_away_and_the_first_goes_on(
    undisturbed, tmp_path
):
    project = undisturbed.without_units(tmp_path / "project")
    first = project.begin("snakemake", "--cores", "1", CELLS)
    wait_for_lock(project, first)
    told = project.snakemake(CELLS, status=1)
    assert "cannot be locked" in told
    assert "snakemake --unlock" in told or "--unlock" in told
    assert first.status(300) == 0, first.output.read_text()
    assert project.predictions() == undisturbed.predictions()


DAMAGED = (
    ("reference/tiny/rf.csv", "method,dataset,repeat,fold,fit_s\nrf,drawn_faces,0,0,soon\n"),
    ("papers/tiny/cells.csv", "garbage\n"),
)


def test_a_damaged_file_is_told_although_everything_is_there(undisturbed, tmp_path):
    project = undisturbed.copy(tmp_path / "project")
    for name, text in DAMAGED:
        path = project.root / name
        whole = path.read_text() if path.is_file() else ""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(whole + text)
        told = project.snakemake(CELLS, status=1)
        assert name in told
        assert "Nothing to be done" not in told
        assert "Traceback" not in told
        path.write_text(whole)
        if not whole:
            path.unlink()
    assert "Nothing to be done" in project.snakemake(CELLS)


def test_a_full_disk_fails_the_workflow_with_the_reason_and_the_next_run_ends_it(
    undisturbed, tmp_path, disks
):
    project = undisturbed.copy(tmp_path / "project")
    results = project.root / "results"
    shutil.rmtree(results)
    disks.small(results, "100k")
    told = project.snakemake("--retries", "0", CELLS, status=1)
    assert "no room left on the disk" in told
    assert "give the same command again" in told
    disks.resize(results, "20m")
    project.snakemake(CELLS)
    assert project.predictions() == undisturbed.predictions()
