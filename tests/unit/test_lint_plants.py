"""Faults planted in a sound table: each is found by the rule that is made for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ldl.metrics import evaluate, label_errors
from ldlrepro.lint.findings import IMPOSSIBLE, SUSPICIOUS
from ldlrepro.lint.linter import Beside, examine
from ldlrepro.lint.tables import BETTER, Cell, Printed

LABELS = {"one": 6, "two": 3, "three": 9, "four": 5, "five": 14, "six": 4}
METHODS = ("A", "B", "C", "D", "E")
FOLDS = 10
Cells = list[Cell]


def sound_table(source: str = "mine", seed: int = 0, table: str = "1") -> Cells:
    """Means and deviations of real measures of drawn distributions over ten folds."""
    rng = np.random.default_rng(seed)
    cells: Cells = []
    for dataset, labels in LABELS.items():
        truth = rng.dirichlet(np.ones(labels) * 2, (FOLDS, 30))
        for number, method in enumerate(METHODS):
            share = 0.15 + 0.12 * number
            noise = rng.dirichlet(np.ones(labels), truth.shape[:2])
            predicted = (1 - share) * truth + share * noise
            folds = [
                {**evaluate(D, P), **label_errors(D, P)}
                for D, P in zip(truth, predicted, strict=True)
            ]
            for measure in folds[0]:
                values = [fold[measure] for fold in folds]
                place = (source, len(cells) + 2, table, dataset, "", method, measure)
                mean, std = (Printed(f"{f(values):.4f}") for f in (np.mean, np.std))
                better = BETTER[measure]
                cells.append(Cell(*place, mean, std, better, labels=labels))
    return cells


SOUND = sound_table()
OTHER = sound_table("other", 1)
THEIRS = [replace(cell, source="mine") for cell in OTHER]
BESIDE = Beside(parts=FOLDS, others={"other": OTHER}, even={"one": 300})


def at(dataset: str, method: str, measure: str, cells: Cells = SOUND) -> Cell:
    place = (dataset, method, measure)
    (cell,) = (c for c in cells if (c.dataset, c.method, c.measure) == place)
    return cell


def write(dataset: str, method: str, **numbers: str) -> Cells:
    """The sound table with other means, or deviations after ``±``."""
    cells = list(SOUND)
    for measure, text in numbers.items():
        old = at(dataset, method, measure)
        mean, _, std = text.partition("±")
        new = replace(old, mean=Printed(mean) if mean else old.mean)
        cells[cells.index(old)] = replace(new, std=Printed(std)) if std else new
    return cells


def scaled(power: int, which: Callable[[Cell], bool]) -> Cells:
    """The sound table with the point of some deviations moved."""
    moved = []
    for cell in SOUND:
        text = f"{cell.std.value * 10.0**power:.{max(4 - power, 2)}f}" if cell.std else ""
        moved.append(replace(cell, std=Printed(text)) if which(cell) else cell)
    return moved


def is_of(method: str) -> Callable[[Cell], bool]:
    return lambda cell: cell.method == method


def is_at(*place: str) -> Callable[[Cell], bool]:
    return lambda cell: (cell.dataset, cell.method, cell.measure)[: len(place)] == place


def with_text(which: Callable[[Cell], bool], **changes: object) -> Cells:
    return [replace(cell, **changes) if which(cell) else cell for cell in SOUND]


def exchanged(one: str, other: str) -> Cells:
    """Two measures of a row exchanged."""
    first, second = at("three", "E", one), at("three", "E", other)
    return write("three", "E", **{one: second.mean.text, other: first.mean.text})


def retyped(method: str, like: str, cells: Iterable[Cell] = SOUND, **changes: object) -> Cells:
    """A method's numbers, typed once more as another's."""
    mine = [cell for cell in cells if cell.method == method]
    return [replace(cell, method=like, line=cell.line + 5000, **changes) for cell in mine]


def without(which: Callable[[Cell], bool]) -> Cells:
    return [cell for cell in SOUND if not which(cell)]


def extra(measure: str, texts: Iterable[str], count: int | None = None, std: str = "") -> Cells:
    """Numbers of another measure, one for each method."""
    return [
        Cell(
            *("mine", 9000 + number, "2", "ages", "", method, measure, Printed(text)),
            Printed(std) if std else None,
            BETTER.get(measure, "lower"),
            count=count,
        )
        for number, (method, text) in enumerate(zip(METHODS, texts, strict=False))
    ]


def averages(what: str, text: str) -> Cells:
    """A row of averages in one measure, with one of its two numbers wrong."""
    mine = [c for c in SOUND if (c.method, c.measure) == ("A", "kl")]
    means, stds = ([p.value for p in ps] for ps in ([c.mean for c in mine], [c.std for c in mine]))
    right = {"mean": f"{np.mean(means):.4f}", "std": f"{np.mean(stds):.4f}"} | {what: text}
    row = replace(mine[0], dataset="Average", labels=None, line=9999)
    return [*SOUND, replace(row, mean=Printed(right["mean"]), std=Printed(right["std"]))]


def second_table(measure: str, text: str) -> Cells:
    """The sound table, and one method's column in a second one with another number."""
    theirs = [cell for cell in write("one", "C", **{measure: text}) if cell.method == "C"]
    return [*SOUND, *(replace(cell, table="2") for cell in theirs)]


def copied(changed: Callable[[Cell], bool], **changes: object) -> Cells:
    """Another paper's table as ours, with some cells changed."""
    return [replace(cell, **changes) if changed(cell) else cell for cell in THEIRS]


def rows_exchanged(one: str, other: str) -> Cells:
    """Another paper's table as ours, with two methods' rows exchanged on one data set."""
    names = {one: other, other: one}
    return [
        replace(cell, method=names.get(cell.method, cell.method)) if is_at("one")(cell) else cell
        for cell in THEIRS
    ]


def numbers(dataset: str, method: str, measure: str) -> str:
    cell = at(dataset, method, measure)
    return f"{cell.mean.text}±{cell.std.text}"


KL = at("three", "E", "kl").mean.value
ACCURACY = replace(at("one", "A", "zero_one_loss"), measure="accuracy", better="higher", std=None)
OUTCOMES = {"wins": "7", "ties": "6", "losses": "6"}
PLANTS = {
    "relation": {
        "fidelity lost a digit": write("one", "A", fidelity="0.5210"),
        "cosine and intersection exchanged": exchanged("cosine", "intersection"),
        "Clark and Canberra exchanged": exchanged("clark", "canberra"),
        "Canberra with the point moved": write("five", "B", canberra="0.4012"),
        "Clark with the point moved": write("five", "B", clark="0.1391"),
        "KL below what squared chi2 asks": write("three", "E", kl=f"{KL / 10:.4f}"),
        "squared chi2 three times as large": write("one", "C", squared_chi2="0.4900"),
        "Euclidean above what Chebyshev allows": write("two", "C", euclidean="0.5400"),
        "Euclidean below Chebyshev": write("two", "C", euclidean="0.0410"),
        "Sorensen is not one minus intersection": write("four", "D", sorensen="0.3210"),
        "cosine below what intersection allows": write("six", "A", cosine="0.3190"),
        "cosine above what Chebyshev allows": write("two", "E", cosine="0.9999"),
        "error probability below half the 0/1 loss": write("one", "E", error_probability="0.03"),
        "error probability too high": write("one", "A", error_probability="0.9900"),
        "a mean error below what CS(5) leaves": [*extra("mae", ["1.2"]), *extra("cs5", ["71.2"])],
        "accuracy and 0/1 loss": [*SOUND, replace(ACCURACY, mean=Printed("0.5000"))],
    },
    "range": {
        "Clark above the root of the labels": write("six", "B", clark="2.0100"),
        "a share above 100 %": extra("cs5", ["101.3"]),
    },
    "deviation": {
        "forbidden by the range": write("six", "B", cosine="±0.4513"),
        "forbidden by ten folds": write("six", "B", kl="0.0102±0.0420"),
    },
    "twins": {
        "intersection and Sorensen deviate apart": write("one", "B", sorensen="±0.0199"),
        "three labels, Chebyshev deviates apart": write("two", "B", chebyshev="±0.0199"),
    },
    "count": {
        "a share that no rows give": extra("accuracy", ["0.8123"], 100),
        "a CS(5) that no images give": extra("cs5", ["61.27"], 1002),
        "a mean rank that no data sets give": extra("mean_rank", ["1.17"], 10),
        "even folds": write("one", "B", zero_one_loss="0.2950"),
        "half a win": extra("wins", ["3.5"]),
    },
    "sum": {
        "too many wins": [cell for m, text in OUTCOMES.items() for cell in extra(m, [text], 18)],
        "ranks of five": extra("mean_rank", ["1.4", "2.3", "2.9", "3.9", "4.9"]),
    },
    "average": {
        "of means": averages("mean", "0.2345"),
        "of deviations": averages("std", "0.0345"),
    },
    "shifted": {
        "ten times too large": scaled(1, is_at("one", "C", "cosine")),
        "ten times too small": scaled(-1, is_at("one", "C", "clark")),
        "in percent": scaled(2, is_at("three", "C", "clark")),
        "a row ten times too large": scaled(1, is_at("three", "C")),
    },
    "alike": {"one deviation for all": with_text(is_of("D"), std=Printed("0.0041"))},
    "rank": {"the third as the second": with_text(is_at("one", "C", "kl"), rank=2)},
    "digits": {
        "two where others have four": write("one", "C", kl=numbers("one", "C", "kl")[:4]),
        "two of a deviation": write("one", "C", kl="±0.02"),
    },
    "gap": {
        "a cell left out": without(is_at("one", "C", "kl")),
        "a dash without a reason": with_text(is_at("one", "C", "kl"), mean=Printed(""), std=None),
    },
    "twice": {"in a row": write("five", "E", cosine=numbers("five", "E", "fidelity"))},
    "column twice": {"under two names": [*without(is_of("B")), *retyped("A", "B")]},
    "row twice": {
        "all numbers": [*without(is_at("one", "B")), *filter(is_at("one"), retyped("A", "B"))],
        "deviations alone": [
            replace(c, std=at("one", "A", c.measure).std) if is_at("one", "B")(c) else c
            for c in SOUND
        ],
        "exchanged with another": rows_exchanged("A", "B"),
        "of another paper": [*without(is_at("one", "A")), *filter(is_at("one", "A"), THEIRS)],
    },
    "two tables": {"with other numbers": [*SOUND, *sound_table("mine", 3, "2")]},
    "slip": {
        "a mean in a second table": second_table("kl", "0.0871"),
        "a deviation in a second table": second_table("cosine", "±0.0091"),
        "from another paper": copied(is_at("one", "C", "cosine"), mean=Printed("0.9001")),
    },
    "copy": {"of another paper": [*SOUND, *retyped("A", "Ours", OTHER, source="mine")]},
}
NEVER_PROOF = ("shifted", "alike", "rank", "digits", "gap", "twice", "column twice", "row twice")


def test_the_sound_table_is_sound():
    assert examine(SOUND, BESIDE) == []


@pytest.mark.parametrize(
    ("rule", "name"), [(rule, name) for rule, plants in PLANTS.items() for name in plants]
)
def test_a_planted_fault_is_found_by_its_rule(rule, name):
    planted = PLANTS[rule][name]
    found = [finding for finding in examine(planted, BESIDE) if finding.rule == rule]
    assert found
    if rule != "gap":
        assert {cell for finding in found for cell in finding.suspects} - {*SOUND}
    states = {finding.state for finding in found}
    if rule in NEVER_PROOF or name in ("even folds", "ranks of five"):
        assert states == {SUSPICIOUS}
    elif rule not in ("two tables", "slip", "copy"):
        assert states == {IMPOSSIBLE}


def test_the_page_explains_every_rule():
    page = (Path(__file__).resolve().parents[2] / "docs" / "lint.md").read_text(encoding="utf-8")
    assert [rule for rule in (*PLANTS, "below the mean", "floor") if f"`{rule}`" not in page] == []


def test_a_row_below_the_training_mean_and_one_above_the_labels_are_found():
    beside = replace(BESIDE, means={"one": {"kl": 0.02, "cosine": 0.99}}, floors={"one": 0.9})
    planted = examine(write("one", "E", error_probability="0.8700"), beside)
    assert {"below the mean", "floor"} <= {finding.rule for finding in planted}
    sound = examine(SOUND, replace(BESIDE, means={"one": {"kl": 2.0, "cosine": 0.1}}))
    assert sound == []
