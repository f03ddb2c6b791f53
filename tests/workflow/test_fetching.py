"""What the workflow does about raw files that come, go, and lie in folders with odd names."""

import hashlib

import pytest

TABLE = "data/ready/mine.npz"
ROWS = "a,b,x,y\n" + "".join(f"{n},{n * n % 7},0.25,0.75\n" for n in range(12))
DATA_SET = """
title: Rows of the test
reader: csv
licence: none
keys: {{X: "a,b", D: "x,y"}}
labels: [x, y]
files: [{{name: mine.csv, sha256: {checksum}}}]
"""


@pytest.fixture
def mine(project):
    """A data set whose file lies in a folder that only `mirrors` may name."""
    (project.root / "far off; touch broken").mkdir()
    describe(project, ROWS)
    return project


def describe(project, rows: str) -> None:
    checksum = hashlib.sha256(rows.encode()).hexdigest()
    text = DATA_SET.format(checksum=checksum)
    (project.root / "config/datasets/mine.yaml").write_text(text)
    (project.root / "far off; touch broken/mine.csv").write_text(rows)


def dry_run(project, *config: str) -> str:
    settings = ["--config", *config] if config else []
    return project.snakemake("-n", TABLE, *settings)


MIRROR = "mirrors=['far off; touch broken']"


def test_data_out_of_reach_are_fetched_once_they_are_not_and_again_when_described_anew(mine):
    mine.snakemake(TABLE)
    mine.snakemake(TABLE, "--config", MIRROR)
    assert (mine.root / "data/raw/mine/mine.csv").read_text() == ROWS
    assert not (mine.root / "broken").exists()
    assert "Nothing to be done" in dry_run(mine, "offline=True")  # and the mirror is gone
    describe(mine, ROWS.replace("0.25,0.75", "0.75,0.25"))
    assert "rule fetch" in dry_run(mine, MIRROR)
