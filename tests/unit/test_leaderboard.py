"""The leaderboard: who is ranked, on what, by which numbers, and who never is."""

from __future__ import annotations

import pytest

from ldl.metrics import BETTER
from ldlrepro.arena.standings import Standings, read, sentence, tables
from ldlrepro.catalogue import Project
from ldlrepro.judge.scores import UnitScores
from ldlrepro.report import leaderboard
from ldlrepro.report.conclusions import of_board
from ldlrepro.report.content import CONTROLS, PaperPage
from ldlrepro.report.html import write_report
from ldlrepro.report.leaderboard import (
    SEES_LABELS,
    board_data,
    collect,
    standings,
)
from tests import report_pages
from tests.report_pages import PROJECT, content, measured, packed_in


def unit(method: str, dataset: str, kl: float, protocol: str = "cv") -> UnitScores:
    scores = {"kl": [kl, kl], "cosine": [1 - kl, 1 - kl]}
    return measured((protocol, dataset, method), scores, fit_s=kl, peak_mb=101)


def page(units, paper: str = "first") -> PaperPage:
    return report_pages.page([], list(units), paper)


def grid(methods, datasets, protocol: str = "cv") -> list[UnitScores]:
    """On every data set the methods come in this order."""
    return [
        unit(method, dataset, 0.1 * (place + 1) + 0.01 * number, protocol)
        for number, dataset in enumerate(datasets)
        for place, method in enumerate(methods)
    ]


def ranks(outcome) -> dict[str, float]:
    return {line.contestant.id: line.rank for line in outcome.lines if line.rank is not None}


NINE = [f"d{number}" for number in range(9)]


def test_methods_are_ranked_in_the_order_of_their_scores_in_either_direction():
    board = collect(PROJECT, [page(grid(["sa_bfgs", "aa_knn", "pt_bayes"], NINE))])
    for measure in ("kl", "cosine"):
        outcome = standings(board, "first", "cv", measure)
        assert ranks(outcome) == {"sa_bfgs": 1, "aa_knn": 2, "pt_bayes": 3}
        best = outcome.lines[0]
        assert (best.better_than, best.worse_than, best.datasets) == (2, 0, 9)
        assert outcome.lines[-1].worse_than == 2
    assert best.fit_s == pytest.approx(0.14)
    assert best.peak_mb == 101


def test_controls_and_what_sees_test_labels_are_shown_and_never_ranked():
    unranked = ["uniform", "train_mean", "true_labels", "ldldf_oracle", "sldlf_released"]
    board = collect(PROJECT, [page(grid([*unranked, "sa_bfgs", "aa_knn"], NINE))])
    outcome = standings(board, "first", "cv")
    assert ranks(outcome) == {"sa_bfgs": 1, "aa_knn": 2}
    notes = {line.contestant.id: line.contestant.note for line in outcome.lines if not line.rank}
    assert set(notes) == set(unranked)
    assert notes["train_mean"] == CONTROLS["train_mean"][1]
    assert notes["ldldf_oracle"] == notes["sldlf_released"] == SEES_LABELS


def test_only_data_sets_with_all_compared_methods_count():
    units = [*grid(["sa_bfgs", "aa_knn", "rf"], NINE), unit("sa_bfgs", "alone", 9.0)]
    units += grid(["pt_bayes"], NINE[:2])
    outcome = standings(collect(PROJECT, [page(units)]), "first", "cv")
    assert set(ranks(outcome)) == {"sa_bfgs", "aa_knn", "rf"}
    assert (len(outcome.datasets), outcome.of) == (9, 10)
    left = next(line for line in outcome.lines if line.contestant.id == "pt_bayes")
    assert (left.rank, left.datasets) == (None, 2)


def test_the_gain_is_what_a_method_takes_off_the_training_means_loss():
    units = [unit("train_mean", "d0", 0.4), unit("train_mean", "d1", 0.1)]
    units += [unit("sa_bfgs", "d0", 0.1), unit("sa_bfgs", "d1", 0.1)]
    units += [unit("aa_knn", "d0", 0.4), unit("aa_knn", "d1", 0.2), unit("rf", "d0", 0.1)]
    board = collect(PROJECT, [page(units)])
    gains = {line.contestant.id: line.gain for line in standings(board, "first", "cv").lines}
    assert gains == {
        "sa_bfgs": pytest.approx(0.5),  # a quarter and the whole of the loss: half of it
        "aa_knn": pytest.approx(1 - 2**0.5),
        "train_mean": 0,
        "rf": None,
    }
    of_likeness = standings(board, "first", "cv", "cosine").lines
    assert {line.gain for line in of_likeness} == {None}


def test_each_kind_of_the_arena_is_a_protocol_and_defaults_stand_in_for_a_kind(tmp_path):
    scores = [
        ("TrainMean", "control", "default", 0.4),
        ("Ridge", "linear", "default", 0.3),
        ("Ridge", "linear", "tuned", 0.1),
        ("LDLDF", "forest", "default", 0.2),
    ]
    lines = [",".join(["method", "family", "kind", "fold", *BETTER, "fit_s", "error"])]
    lines += [
        ",".join([*row[:3], str(fold), *[str(row[3])] * len(BETTER), "2", ""])
        for row in scores
        for fold in (0, 1)
    ]
    path = tmp_path / "scores.csv"
    half, failed = lines[-1].replace("LDLDF", "Half"), [f"{line}no" for line in lines[-2:]]
    failed = [line.replace("LDLDF", "Failed") for line in failed]
    path.write_text("\n".join([*lines, half, *failed]) + "\n")
    board = collect(PROJECT, [], {"sjaffe": path})
    assert board.protocols() == [("arena", "arena_default"), ("arena", "arena_tuned")]
    by_kind = [ranks(standings(board, *place)) for place in board.protocols()]
    assert by_kind == [{"LDLDF": 1, "Ridge": 2}, {"Ridge": 1, "LDLDF": 2}]
    data = board_data(board, leaderboard.all_standings(board))
    assert ["arena_tuned", "Failed", ["sjaffe"]] in [list(one) for one in data["failed"]]


def test_the_page_opens_with_the_arena_and_then_ranks_by_a_protocol_of_the_papers(tmp_path):
    kept = tables(tmp_path, PROJECT.root / "reference")
    few = {name: kept[name] for name in ("jura", "sjaffe")}  # two families are quick
    text = write_report(content(page(grid(["sa_bfgs"], NINE)), arena=few), tmp_path / "page.html")
    text = " ".join(text.read_text().split())
    told = sentence(Standings(read(few), PROJECT.families))
    assert told in text
    assert 0 < text.index(told) < text.index('id="conclusion"')
    assert packed_in(text, "board-data")["start"]["protocol"] == "cv"


def test_a_method_whose_settings_the_print_chose_never_comes_first_in_words():
    board = collect(PROJECT, [page(grid(["ldldf", "sa_bfgs", "aa_knn"], NINE))])
    outcome = standings(board, "first", "cv")
    assert ranks(outcome)["ldldf"] == 1
    said = of_board(outcome)
    assert said.startswith("SA-BFGS comes first of the 2 methods")
    assert "is ahead, but printed numbers chose" in said
    assert "better than 1 of the others; 0 cannot" in said
    alone = standings(collect(PROJECT, [page(grid(["ldldf", "structrf"], NINE))]), "first", "cv")
    assert of_board(alone).startswith("No method here may be cited, ")


def test_the_first_sentence_says_that_the_best_loses_to_the_training_mean():
    methods = ["train_mean", "aa_knn", "sa_bfgs"]
    said = of_board(standings(collect(PROJECT, [page(grid(methods, NINE))]), "first", "cv"))
    assert " but its loss is " in said
    assert said.index("above that of the training mean. ") < said.index("better than")
    good = standings(collect(PROJECT, [page(grid(methods[::-1], NINE))]), "first", "cv")
    assert "training mean" not in of_board(good)


def test_a_reader_can_have_one_kind_of_data_set():
    board = collect(PROJECT, [page(grid(["sa_bfgs"], ["sjaffe", "yeast_spoem", "movie", "d0"]))])
    kinds = dict(board_data(board, [])["kinds"])
    assert kinds["with persons"] == ["sjaffe"]
    assert kinds["of more than 1000 rows"] == ["yeast_spoem", "movie"]
    assert kinds["of at most 6 labels"] == ["sjaffe", "yeast_spoem", "movie"]
    assert kinds["of the family yeast"] == ["yeast_spoem"]


def with_a_failed_fold(method: str, dataset: str) -> UnitScores:
    half = unit(method, dataset, 0.1)
    half.rows[1].status = "failed"
    return half


def test_a_unit_that_failed_counts_for_nothing_and_is_told():
    units = [
        *grid(["sa_bfgs", "aa_knn"], ["d0", "d1"]),
        with_a_failed_fold("aa_knn", "d2"),
        with_a_failed_fold("rf", "d0"),
        with_a_failed_fold("rf", "d1"),
    ]
    board = collect(PROJECT, [page(units)])
    outcome = standings(board, "first", "cv")
    told = {line.contestant.id: (line.datasets, line.failed) for line in outcome.lines}
    assert told == {"sa_bfgs": (2, ()), "aa_knn": (2, ("d2",)), "rf": (0, ("d0", "d1"))}
    assert ranks(outcome) == {"sa_bfgs": 1.0, "aa_knn": 2.0}
    data = board_data(board, [outcome])
    assert {name for name, *_ in data["methods"]} == {"sa_bfgs", "aa_knn", "rf"}
    assert {(method, *sets) for _, method, sets in data["failed"]} == {
        ("aa_knn", "d2"),
        ("rf", "d0", "d1"),
    }


def test_a_method_of_ones_own_is_always_compared_and_opens_the_page(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("title: Mine\nclass: ldl.AAKNN\n")
    project = Project.open(PROJECT.root, [path])
    units = grid(["sa_bfgs", "aa_knn"], NINE) + grid(["mine", "sa_bfgs", "aa_knn"], ["d0"], "small")
    board = collect(project, [page(units)])
    assert board.contestants["mine"].own
    assert ranks(standings(board, "first", "small"))["mine"] == 1
    assert board_data(board, leaderboard.all_standings(board))["start"]["protocol"] == "small"
