"""The sentences that open an answer."""

from __future__ import annotations

import re

import pytest

from ldlrepro import cli


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (
            ["structrf"],
            r"takes about [\d.]+ (h|min) on 4 cores\. That leaves out \d+ units",
        ),
        (
            ["drf", "--printed"],
            r"was ever timed\. Their time limits allow \d+ days on 4 cores",
        ),
    ],
)
def test_a_status_begins_with_what_is_done_and_how_long_the_rest_takes(
    capsys, monkeypatch, tmp_path, asked, said
):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["status", *asked, "--cores", "4"]) == 0
    opening, _, _ = capsys.readouterr().out.partition("\n\n")
    assert opening.startswith("0 of ")
    assert re.search(said, " ".join(opening.split()))
