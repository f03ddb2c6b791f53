"""What verbs print fits a terminal of 80 columns, begins with a sentence, and is plain in pipes."""

from __future__ import annotations

import argparse
import io
import re
from contextlib import suppress

import pytest

from ldlrepro import cli
from ldlrepro.cli import completion, output
from ldlrepro.core.progress import wrapped

COLUMNS = 80
CELL = "structrf/16/sjaffe/SA-BFGS/kl"
TABLES = [
    "verdicts mslp",
    "verdicts drf --show quoted",
    "verdicts structrf --readings",
    "leaderboard structrf mslp",
    "claims mslp structrf",
    "baselines --dataset sjaffe",
    "contradictions mslp structrf",
    "protocols structrf",
    "status mslp drf",
    "list methods",
    "list papers",
    "doctor",
]
TEXTS = [f"explain {CELL}", f"explain {CELL} --full", "claims mslp --full", "lint ldldf", "--help"]


def too_long(text: str) -> list[str]:
    """Lines that a terminal would break; a single word, such as an address, cannot be wrapped."""
    return [line for line in text.splitlines() if len(line) > COLUMNS and " " in line.strip()]


def told(capsys, command: str) -> str:
    with suppress(SystemExit):  # of --help
        cli.main(command.split())
    shown = capsys.readouterr()
    assert not shown.err.startswith("ldlrepro")
    return shown.out


@pytest.fixture(autouse=True)
def terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", str(COLUMNS))


@pytest.mark.parametrize("command", [*TABLES, *TEXTS])
def test_every_answer_fits_80_columns_and_every_table_begins_with_a_sentence(
    capsys, monkeypatch, fresh_clone, command
):
    monkeypatch.chdir(fresh_clone)
    text = told(capsys, command)
    assert len(text.splitlines()) > 3
    assert too_long(text) == []
    if command in TABLES:
        first = text.partition("\n\n")[0]
        assert first.endswith((".", ".\n"))
        assert len(first.split()) > 4


@pytest.mark.parametrize("verb", cli.verbs())
def test_every_help_fits_80_columns(capsys, verb):
    assert too_long(told(capsys, f"{verb} --help")) == []


def test_what_is_said_on_the_way_to_a_record_fits_the_terminal(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "36")
    assert cli.main(["run", "mslp", "toy", "train_mean", "--folds", "0-1", "--inputs"]) == 0
    assert cli.main(["folds", "mslp", "toy"]) == 0
    err = capsys.readouterr().err
    assert err.count(f"Results and data go to new folders in {tmp_path}\n") == 1
    lines = err.splitlines()
    assert lines.count("mslp on toy: 10 folds; leaks: none") == 2
    assert "2 folds, 0 failed; predictions in" in lines


@pytest.mark.parametrize(
    "command",
    [
        "run mslp sjaffe aa_knn",
        "leaderboard --measure kll",
        "verdicts mslp --colour",
        "fetch --",
        "recommend a_table_with_a_long_name_of_mine.csv",
    ],
)
def test_every_error_fits_80_columns_and_its_commands_stay_whole(
    capsys, monkeypatch, tmp_path, command
):
    monkeypatch.chdir(tmp_path)
    told = []
    for columns in COLUMNS, 1000:
        monkeypatch.setenv("COLUMNS", str(columns))
        with suppress(SystemExit):
            cli.main(command.split())
        told.append(capsys.readouterr().err)
    narrow, wide = told
    assert "ldlrepro" in wide
    assert too_long(narrow) == []
    assert narrow.split() == wide.split()
    assert all(whole in narrow for whole in re.findall("`.*?`", wide))


def test_a_list_in_a_message_stays_a_list(monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    shown = wrapped(
        "name: what is wrong there\n  - first and next line\n\nType `a b c d e f g h i j`."
    )
    assert shown.splitlines() == [
        "name: what is wrong",
        "there",
        "  - first and next",
        "  line",
        "",
        "Type",
        "`a b c d e f g h i j`.",
    ]


def test_a_planted_line_is_found():
    assert too_long("a line " * 20)
    row = {"cell": "mslp/1/sjaffe/LPP/kl", "reason": "a reason that is long " * 5}
    (_, *wide), narrow = output.table([row], list(row)), output.table([row], list(row), COLUMNS)
    assert too_long("\n".join(wide))
    assert not too_long("\n".join(narrow))


def test_a_verdict_on_folds_stands_beside_what_it_rests_on(capsys, monkeypatch, fresh_clone):
    monkeypatch.chdir(fresh_clone)
    text = told(capsys, "protocols structrf")
    (line,) = [line for line in text.splitlines() if line.startswith("SA-BFGS  sjaffe")]
    assert re.search(r"  \d+ of 12 +\d+ of \d+ +likely$", line)
    assert "Up to 5% the folds are told, up to 20% likely." in " ".join(text.split())


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("verdicts mslp", "Near: within one deviation over folds."),
        ("leaderboard --protocol structrf", "A method that lacks a data set has no rank."),
        ("status drf", "A unit is a method on a data set under a protocol."),
    ],
)
def test_the_words_of_a_table_are_explained(capsys, monkeypatch, fresh_clone, command, words):
    monkeypatch.chdir(fresh_clone)
    assert words in " ".join(told(capsys, command).split())
    assert words not in " ".join(told(capsys, f"{command} --json").split())


def test_methods_without_a_rank_are_left_to_all(capsys, monkeypatch, fresh_clone):
    monkeypatch.chdir(fresh_clone)
    some, every = (told(capsys, f"leaderboard --protocol structrf{end}") for end in ("", " --all"))
    assert "structrf@select" not in some
    assert "structrf@select" in every
    assert "more rows: --all" in some


def test_an_experiment_that_papers_contradict_each_other_on_is_listed_whole(
    capsys, monkeypatch, fresh_clone
):
    monkeypatch.chdir(fresh_clone)
    some, every = (
        told(capsys, f"contradictions structrf ldldf df_ldl{end}").split("\n\n")[1].splitlines()
        for end in ("", " --all")
    )
    assert 30 < len(some) < len(every)
    assert not every[len(some)].startswith(" ")


# ---------------------------------------------------------------------- tables


def test_ids_that_one_may_copy_stay_whole(capsys, monkeypatch, fresh_clone):
    monkeypatch.chdir(fresh_clone)
    text = told(capsys, "verdicts structrf --readings")
    assert "structrf/rf@bootstrap=true,min_samples_split=2" in text.split()


def shown(rows: list[dict], **chosen: bool) -> argparse.Namespace:
    return argparse.Namespace(**{"json": False, "wide": False, "all": False, **chosen})


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_colour_is_for_terminals_and_nobody_who_said_no(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert output.coloured("exact", output.GREEN, Terminal()) == "\x1b[32mexact\x1b[0m"
    assert output.coloured("exact", output.GREEN, io.StringIO()) == "exact"
    monkeypatch.setenv("NO_COLOR", "1")
    assert output.coloured("exact", output.GREEN, Terminal()) == "exact"


# ---------------------------------------------------------------------- the Tab key


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("ldlrepro verdicts mslp --data", ["--dataset"]),
        ("ldlrepro verdicts --dataset sj", ["sjaffe"]),
        ("ldlrepro run mslp sjaffe aa_knn@", ["aa_knn@grid", "aa_knn@odd", "aa_knn@k5"]),
        ("ldlrepro explain structrf/16/sjaffe/SA-B", None),
    ],
)
def test_the_tab_key_completes_what_the_parsers_take(line, words):
    found = completion.candidates(line)
    assert found == words if words is not None else CELL in found


def test_ids_are_completed():
    assert completion.candidates("ldlrepro explain ms") == ["mslp/"]
    assert completion.candidates("ldlrepro arena sj") == ["sjaffe"]
