"""From records to verdicts: which source counts, what a cell shows, and why one is not run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ldl import metrics
from ldlrepro.core.errors import UserError
from ldlrepro.core.workspace import Workspace
from ldlrepro.folds.splits import read_folds
from ldlrepro.judge.cells import quoted_source
from ldlrepro.judge.scores import (
    LOCAL,
    REFERENCE,
    Scorer,
    Sources,
    UnitScores,
    is_complete,
)
from ldlrepro.judge.tallies import tally
from ldlrepro.plan import is_quoted
from ldlrepro.train.records import FAILED, OK, FoldRow, predictions_path
from ldlrepro.train.unit import run_unit
from tests.unit import judged

HEADER = "paper,table,dataset,setting,method,metric,mean,std,better,quoted_from,note\n"


KEY = "tiny/toy/near"


def scored(
    values: dict[str, list[float]], *, folds=4, source=LOCAL, status=OK, error="", method="near"
):
    """A unit with the given scores; folds beyond their number failed."""
    count = len(next(iter(values.values()), []))
    rows = [
        FoldRow(
            "tiny",
            "toy",
            method,
            0,
            i,
            status=status if i < count else FAILED,
            error=error or ("" if i < count else "Traceback\nValueError: bad"),
            predictions_sha256=str(i),
        )
        for i in range(folds)
    ]
    nothing = [float("nan")] * folds
    scores = dict.fromkeys(metrics.BETTER, nothing)
    scores |= {name: [*found, *nothing][:folds] for name, found in values.items()}
    return UnitScores("tiny", "toy", method, rows, scores, source)


def by_key(*units: UnitScores):
    return {unit.key: unit for unit in units}


@pytest.fixture
def printed(tiny):
    """``printed("0.5,0.1,lower,,")`` makes a paper of such cells and returns their verdicts."""

    def verdicts(*lines: str, local=None, reference=None, extra: str = ""):
        text = "".join(f"tiny,1,toy,,Near,{line}\n" for line in lines)
        tiny.write("papers/tiny/cells.csv", HEADER + text)
        if extra:
            paper = (tiny.root / "papers/tiny/paper.yaml").read_text()
            tiny.write("papers/tiny/paper.yaml", paper + extra)
        return judged.verdicts("tiny", local, reference, plan=tiny.plan)

    return verdicts


# ---------------------------------------------------------------------- one cell


def test_a_measured_cell_shows_mean_deviation_band_and_folds(printed):
    unit = scored({"kl": [0.4, 0.5, 0.6, 0.7]})
    (row,) = printed("kl,0.50,0.01,lower,,", local=by_key(unit))
    assert row.measured == pytest.approx(0.55, rel=1e-12)
    assert row.measured_std == pytest.approx(np.std([0.4, 0.5, 0.6, 0.7], ddof=1), rel=1e-12)
    assert row.band == row.measured_std
    assert row.difference == pytest.approx(0.1, rel=1e-9)
    assert (row.n_folds, row.expected_folds, row.source) == (4, 4, "local")
    assert (row.protocol, row.unit_dataset, row.method_id) == ("tiny", "toy", "near")
    assert (row.printed, row.printed_std) == ("0.50", "0.01")
    assert row.verdict == "near"


def test_a_number_that_the_paper_quotes_is_shown_and_not_judged(printed):
    unit = scored({"kl": [0.9] * 4})
    (row,) = printed("kl,0.5,,lower,[27],", local=by_key(unit))
    assert (row.verdict, row.reason) == ("quoted", "the paper takes it from [27]")
    assert row.difference == pytest.approx(0.8)
    (row,) = printed("kl,0.5,,lower,[27],")
    assert (row.verdict, row.measured) == ("quoted", None)


def test_the_source_of_every_quoted_number_of_the_papers_is_named():
    nameless = {
        (paper.id, cell.row["quoted_from"])
        for paper in judged.PROJECT.real_papers()
        for cell in judged.PLAN.cells(paper)
        if is_quoted(cell.row) and "] " not in quoted_source(paper, cell.row["quoted_from"])
    }
    assert nameless == set()


MISPRINT = """
remarks:
  - {kind: misprint, tables: ["1"], datasets: [toy], methods: [Near], metrics: [kl],
     proof: it is negative%s}
"""


def test_an_impossible_number_is_a_misprint_with_its_proof(printed):
    unit = scored({"kl": [0.5] * 4, "clark": [0.5] * 4})
    lines = ("kl,0.5,,lower,,", "clark,0.5,,lower,,")
    first, second = printed(*lines, local=by_key(unit), extra=MISPRINT % "")
    assert (first.verdict, first.reason) == ("misprint", "it is negative")
    assert first.measured == 0.5
    assert second.verdict == "exact"


# ---------------------------------------------------------------------- what a verdict is worth


def test_a_number_holds_if_it_is_met_and_constant_answers_miss_it(printed):
    unit = scored({"kl": [0.5] * 4})
    for mean, flat, holds in ((0.508, 0.9, False), (0.52, 0.508, False), (0.52, 0.9, True)):
        known = by_key(
            unit,
            scored({"kl": [mean] * 4}, method="train_mean"),
            scored({"kl": [flat] * 4}, method="uniform"),
        )
        (row,) = printed("kl,0.504,0.05,lower,,", local=known)
        assert (row.verdict, row.evidence, row.holds) == ("reproduced", "blind", holds)
    assert row.yardsticks == {"the training mean": "near", "the uniform distribution": "worse"}
    assert row.ahead == []
    better = by_key(scored({"kl": [0.4] * 4}, method="train_mean"))
    (row,) = printed("kl,0.504,0.05,lower,,", local=known | better)
    assert (row.holds, row.ahead) == (True, ["the training mean"])
    forest = scored({"kl": [0.5] * 4}, method="rf_reg")  # asked for forests only
    (row,) = printed("kl,0.504,0.05,lower,,", local=known | by_key(forest))
    assert (row.not_asked, row.holds) == ({"an ordinary forest": "reproduced"}, True)
    (row,) = printed("kl,0.504,0.05,lower,,", local=by_key(unit))
    assert set(row.yardsticks.values()) == {""}
    assert (row.apart, row.holds) == (None, False)


AROUND = """
title: Around
class: ldl.SSGLDL
parameters: {estimator: %s, settings: {%s}}
"""


@pytest.mark.parametrize(
    ("inside", "settings", "too"),
    [("ldl.StructRF", "n_estimators: 1", "StructTree"), ("ldl.AAKNN", "", "AA-kNN")],
)
def test_a_method_that_wraps_another_one_is_compared_with_it(tiny, inside, settings, too):
    tiny.write("config/methods/around.yaml", AROUND % (inside, settings))
    printed = "{Near: around, Forest: structrf, Tree: structrf@tree, Neighbours: aa_knn}"
    paper = (tiny.root / "papers/tiny/paper.yaml").read_text()
    paper = paper.replace("methods:\n  Near: near\n  Mean: train_mean", f"methods: {printed}")
    tiny.write("papers/tiny/paper.yaml", paper)
    tiny.write("papers/tiny/cells.csv", HEADER + "tiny,1,toy,,Near,kl,0.5,,lower,,\n")
    met = {"StructTree": "structrf@tree", "AA-kNN": "aa_knn"}[too]
    flat = [scored({"kl": [0.9] * 4}, method=name) for name in ("train_mean", "uniform", "rf_reg")]
    units = [scored({"kl": [0.5] * 4}, method=name) for name in ("around", met)]
    (row,) = judged.verdicts("tiny", by_key(*units, *flat), plan=tiny.plan)
    assert (row.verdict, row.holds, row.marks) == ("exact", False, [f"{too} too"])
    assert ("an ordinary forest" in row.yardsticks) is (inside == "ldl.StructRF")


def test_what_the_print_chose_is_fitted_unless_the_paper_states_it(printed, tiny):
    unit = scored({"kl": [0.5] * 4})
    (row,) = printed("kl,0.500,,lower,,", local=by_key(unit))
    assert (row.evidence, row.rests_on) == ("blind", "")
    tiny.edit(
        "config/methods/near.yaml", "class:", "origins: {print: {n_neighbors: 4 fit}}\nclass:"
    )
    (row,) = printed("kl,0.500,,lower,,", local=by_key(unit), extra="stated: {near: [n_neighbors]}")
    assert row.evidence == "blind"
    chosen = """
remarks:
  - {kind: chosen_by_print, datasets: [toy], metrics: [kl], what: these data, proof: others miss}
  - {kind: chosen_by_print, methods: [Mean], what: nothing, proof: of this cell}
"""
    tiny.edit("papers/tiny/paper.yaml", "stated: {near: [n_neighbors]}", "")
    (row,) = printed("kl,0.500,,lower,,", local=by_key(unit), extra=chosen)
    assert (row.evidence, row.holds) == ("fitted", False)
    assert row.rests_on == "these data (others miss); n_neighbors (4 fit)"


def test_a_record_of_settings_that_have_changed_since_is_marked(printed, tiny):
    unit = scored({"kl": [0.5] * 4})
    today = tiny.plan.unit_of(unit.key).spec_sha256
    made = replace(unit, rows=[replace(row, spec_sha256=today) for row in unit.rows])
    (row,) = printed("kl,0.500,,lower,,", reference=by_key(made))
    assert (row.other_settings, row.marks) == (False, ["no baseline"])
    tiny.edit("config/methods/near.yaml", "n_neighbors: 4", "n_neighbors: 5")
    (row,) = printed("kl,0.500,,lower,,", reference=by_key(made))
    assert (row.other_settings, row.marks) == (True, ["no baseline", "other settings"])
    assert "to be run again" in row.notes[-1]
    assert tally([row]).other_settings == 1


COPIED = """
remarks:
  - {kind: copied, tables: ["1"], methods: [Near], from: other, proof: all of them}
"""


def test_a_number_of_another_paper_is_quoted_if_mean_and_deviation_are_its_own(printed, tiny):
    other = (tiny.root / "papers/tiny/paper.yaml").read_text().replace("tiny:", "other:")
    tiny.write("papers/other/paper.yaml", other)
    theirs = "".join(f"other,1,toy,,Near,{m},0.50,0.01,lower,,\n" for m in ("kl", "canberra"))
    tiny.write("papers/other/cells.csv", HEADER + theirs)
    lines = ("kl,0.5000,0.0100,lower,,", "canberra,0.50,0.0101,lower,,", "clark,0.50,0.01,lower,,")
    ours = {name: [0.9] * 4 for name in ("kl", "canberra", "clark")}
    rows = printed(*lines, local=by_key(scored(ours)), extra=COPIED)
    assert [row.verdict for row in rows] == ["quoted", "worse", "worse"]
    assert rows[0].reason == "equals other, Table 1, to the digit: all of them"
    assert rows[0].measured == pytest.approx(0.9)


# ---------------------------------------------------------------------- not run


@pytest.mark.parametrize(
    ("dataset", "words"),
    [
        ("toy", "not run yet: snakemake --cores all tiny"),
        ("fgnet", "data not available: Ask the keepers"),
        ("human_gene", "data not available: We could not get the public copy"),
    ],
)
def test_what_was_never_run_says_what_to_type_or_whom_to_ask(printed, tiny, dataset, words):
    tiny.edit("papers/tiny/paper.yaml", "tables:", f"use_dataset: {{toy: {dataset}}}\ntables:")
    (row,) = printed("kl,0.5,,lower,,")
    assert row.verdict == "not run"
    assert row.reason.startswith(words)


# ---------------------------------------------------------------------- sources


def test_a_complete_local_record_beats_the_reference_which_beats_half_a_record(tiny):
    whole, half = scored({"kl": [1.0] * 4}), scored({"kl": [1.0] * 3})
    theirs = scored({"kl": [2.0] * 4}, source=REFERENCE)
    unit = tiny.plan.unit_of(KEY)
    theirs_half = scored({"kl": [2.0] * 3}, source=REFERENCE)
    assert is_complete(unit, whole)
    assert not is_complete(unit, half)
    assert Sources(by_key(whole), by_key(theirs)).best(unit) is whole
    assert Sources(by_key(half), by_key(theirs)).best(unit) is theirs
    assert Sources(by_key(half), {}).best(unit) is half
    assert Sources({}, by_key(theirs)).best(unit) is theirs
    assert Sources(by_key(half), by_key(theirs_half)).best(unit) is half
    assert Sources({}, by_key(theirs_half)).best(unit) is theirs_half
    assert Sources(by_key(whole), by_key(theirs_half)).best(unit) is whole
    assert Sources({}, {}).best(unit) is None


def test_bits_are_compared_where_there_is_something_to_compare(printed):
    mine, theirs = scored({"kl": [1.0] * 4}), scored({"kl": [1.0] * 4}, source=REFERENCE)
    line = "kl,0.5,,lower,,"
    assert printed(line, local=by_key(mine), reference=by_key(theirs))[0].same_bits == "yes"
    assert printed(line, local=by_key(mine))[0].same_bits == ""
    assert printed(line, reference=by_key(theirs))[0].same_bits == ""
    assert printed(line, reference=by_key(theirs))[0].source == "reference"
    theirs.rows[2].predictions_sha256 = "other"
    assert printed(line, local=by_key(mine), reference=by_key(theirs))[0].same_bits == "no"


# ---------------------------------------------------------------------- scores of local records


def local(checkout) -> dict[str, UnitScores]:
    places = Workspace(checkout.root / "results", checkout.root / "data")
    return Scorer(checkout.plan, places).local_units([checkout.plan.unit_of(KEY)])


def test_scores_are_those_of_the_stored_predictions(ready):
    job = ready.job()
    run_unit(job)
    found = local(ready)[KEY]
    folds, _ = read_folds(job.folds)
    with np.load(job.ready) as stored, np.load(predictions_path(job.record)) as predicted:
        for fold, value in zip(folds, found.scores["kl"], strict=True):
            P = predicted[f"r000_f{fold.fold:03d}"]
            assert value == metrics.evaluate(stored["D"][fold.test], P)["kl"]
    assert found.source == LOCAL
    assert found.files == [ready.root / job.record]


def test_predictions_that_were_changed_are_refused_with_what_to_do(ready):
    job = ready.job()
    run_unit(job)
    path = predictions_path(job.record)
    with np.load(path) as stored:
        arrays = {name: stored[name] for name in stored.files}
    arrays["r000_f002"] = arrays["r000_f002"][::-1]
    np.savez_compressed(path, **arrays)
    with pytest.raises(UserError, match=r"fold 2 are not those .* remove it and"):
        local(ready)


def other_folds(checkout):
    checkout.make_folds(seed=1)


def other_data(checkout):
    checkout.edit("config/datasets/toy.yaml", "licence:", "noise_variance: 0.1\nlicence:")
    checkout.make_data()
    checkout.make_folds()


@pytest.mark.parametrize("change", [other_folds, other_data])
def test_a_record_of_other_rows_or_folds_is_never_scored(ready, change):
    """Sizes agree, so nothing else would notice that rows and predictions do not."""
    run_unit(ready.job())
    assert len(local(ready)) == 1
    change(ready)
    assert local(ready) == {}
