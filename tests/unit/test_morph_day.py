"""The rehearsal of the day on which MORPH arrives: its album and its paper."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from bench import morph_day
from ldlrepro import cli, config, plan


@pytest.fixture
def rehearsal(checkout, monkeypatch) -> Path:
    folder = checkout.root
    morph_day.describe(folder, rows=23, pictures=10)
    morph_day.draw(folder, rows=23, pictures=10)
    monkeypatch.setenv("LDLREPRO_OWN_FILES", str(folder / "mine"))
    checkout.forget()
    return folder


def test_the_large_album_has_all_lines_and_persons_of_its_own(rehearsal):
    album = rehearsal / "data" / "manual" / morph_day.ALBUM
    with open(album / morph_day.LIST, newline="") as handle:
        rows = list(csv.DictReader(handle))
    assert len({row["photo"] for row in rows}) == len(rows) == 23
    assert all((album / row["photo"]).is_file() for row in rows)
    assert len({row["id_num"] for row in rows}) == 5  # two of each ten pictures, and the last three
    assert {row["photo"][7:13] for row in rows} == {row["id_num"] for row in rows}


def test_its_paper_is_sound_and_says_that_it_is_a_stand_in(rehearsal, capsys):
    assert cli.main(["check", str(rehearsal / "mine" / morph_day.PAPER / "paper.yaml")]) == 0
    assert plan.protocol(morph_day.PAPER)["text"].startswith("Drawn faces in place of MORPH")
    assert config.load_paper(morph_day.PAPER)["title"].startswith("Stand-in")


def test_both_albums_are_fetched_and_prepared(rehearsal, capsys):
    for dataset, count, eyes in ((morph_day.PICTURES, 10, 9), (morph_day.ALBUM, 23, 23)):
        assert cli.main(["fetch", dataset]) == 0
        assert cli.main(["prepare", dataset]) == 0
        capsys.readouterr()
        assert cli.main(["images", dataset]) == 0
        said = capsys.readouterr().out
        assert f"{count} images of" in said
        assert f"{eyes} with eye points" in said


def test_a_command_that_fails_ends_the_rehearsal(rehearsal, capsys):
    with pytest.raises(SystemExit, match="`ldlrepro pixels nothing` failed"):
        morph_day.step(rehearsal, 0, ["pixels", "nothing"])
    assert capsys.readouterr().out == ""
