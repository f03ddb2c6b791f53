"""The audit of photographs without features: rows are told apart by the bytes of their images."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from ldlrepro import cli
from ldlrepro.audit.consistency import Scope, check_data, check_folds
from ldlrepro.core.workspace import Workspace
from ldlrepro.data.drawn.albums import write_album
from ldlrepro.judge.judging import Judge

DATA, RESULTS = Path("data"), Path("results")
PROTOCOLS = {
    "kfold": "folds: 4",
    "leave_one_group_out": "folds: 3",
    "parts": "parts: [train, test]",
}


@pytest.fixture
def photographed(tiny):
    """A function: a paper of one scheme on drawn faces without features, with its records."""

    def make(scheme: str, dataset: str = "drawn_cacd") -> Scope:
        protocol = f"{{scheme: {scheme}, {PROTOCOLS[scheme]}, text: t}}"
        text = (tiny.root / "papers/tiny/paper.yaml").read_text()
        text = text.replace(
            "{scheme: kfold, folds: 4, validation: next_fold, text: four folds}", protocol
        )
        tiny.write("papers/tiny/paper.yaml", text.replace("[toy]", f"[{dataset}]"))
        if dataset == "drawn_cacd":
            tiny.edit(f"config/datasets/{dataset}.yaml", "features: {extractor: lbp}\n", "")
        # Without a table of features this method has nothing to fit: a row that says so.
        assert cli.main(["run", "tiny", dataset, "train_mean", "--inputs"]) == 1
        judge = Judge(tiny.plan, Workspace())
        return Scope(judge, [judge.project.paper("tiny")], 2026, "")

    return make


@pytest.mark.parametrize("scheme", PROTOCOLS)
def test_untouched_photographs_pass_under_every_scheme(photographed, scheme):
    scope = photographed(scheme)
    for check in (check_data(scope), check_folds(scope)):
        assert (check.verdict, check.failed) == ("pass", [])
    leaks = json.loads((RESULTS / "folds" / "tiny" / "drawn_cacd.leaks.json").read_text())
    assert leaks["available"]


def test_another_image_in_place_of_one_is_found(photographed):
    scope = photographed("parts")
    first, second = sorted((DATA / "raw" / "drawn_cacd" / "images").rglob("*.jpg"))[:2]
    shutil.copyfile(first, second)
    said = {remark.subject for remark in check_data(scope).failed}
    assert said == {str(second), "drawn_cacd"}


def test_photographs_that_a_user_put_in_place_pass_as_an_archive_too(photographed):
    album, place = DATA / "album", DATA / "manual" / "cacd"
    write_album(album, "cacd", 8, 3, seed=2)
    shutil.make_archive(str(place / "faces"), "zip", album)
    (place / "terms.txt").write_text("as agreed")
    check = check_data(photographed("kfold", "cacd"))
    assert (check.passed, check.failed) == (["data/raw/cacd/images/terms.txt", "cacd"], [])
    assert [remark.subject for remark in check.skipped] == ["faces.zip"]


def test_data_that_are_not_here_are_not_seen_rather_than_wrong(photographed):
    scope = photographed("kfold", "fgnet")
    check = check_data(scope)
    assert (check.verdict, check.failed) == ("skipped", [])
    assert "data/manual/fgnet/" in check.skipped[0].text
