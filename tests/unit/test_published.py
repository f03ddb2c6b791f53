"""The printed numbers: all there, all mapped, and every misprint proven by its own row."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from ldl import metrics
from ldlrepro.catalogue import FIVE
from ldlrepro.plan import Plan
from tests.unit.judged import PROJECT, verdicts

COUNTS = {
    "structrf": {"3": 72, "19": 18, "20": 8, "21": 36, **{str(t): 24 for t in range(4, 19)}},
    "ldlf": {"1": 84, "2": 5, "3": 30},
    "ldldf": {"4": 189, "5": 84, "6": 792, "7": 168},
    "mslp": {"1": 156, "2": 156, "3": 78},
    "drf": {"I": 21, "II": 26, "III": 7, "IV": 29, "V": 6, "VI": 20},
}
DASHES = {
    ("ldldf", "6"): 24,
    ("drf", "I"): 3,
    ("drf", "II"): 4,
    ("drf", "III"): 3,
    ("drf", "IV"): 5,
}
COLUMNS = (
    "paper table dataset setting method metric mean std better quoted_from note".split()  # noqa: SIM905
)
OTHER_BETTER = {
    **metrics.AGE_BETTER,
    **dict.fromkeys(("train_time_s", "test_time_s", "time_s", "time_ms"), "lower"),
    **dict.fromkeys(("split_threshold", "feature_index"), "none"),
    "information_gain": "higher",
}
PLAN = Plan(PROJECT)
PAPERS = tuple(COUNTS)


def published(paper: str) -> list[dict[str, str]]:
    return PLAN.published(PROJECT.paper(paper))


ROWS = [row for paper in PAPERS for row in published(paper)]


def row_key(row: dict[str, str]) -> tuple[str, ...]:
    return tuple(row[name] for name in ("paper", "table", "dataset", "setting", "method"))


# ---------------------------------------------------------------------- counts and form


def test_there_are_2345_printed_numbers():
    assert sum(len(PLAN.cells(PROJECT.paper(paper))) for paper in PAPERS) == 2345
    assert sum(sum(tables.values()) for tables in COUNTS.values()) == 2345
    assert {paper.id for paper in PROJECT.real_papers(FIVE)} == set(PAPERS)


def test_there_are_2070_more_in_four_more_papers():
    more = {p.id: len(PLAN.cells(p)) for p in PROJECT.real_papers("four more papers")}
    assert more == {
        "df_ldl": 884,
        "ldl4c": 358,
        "ldl_hr": 288,
        "ssg_ldl": 540,
    }
    assert {paper.id for paper in PROJECT.real_papers()} == {*PAPERS, *more}


@pytest.mark.parametrize("paper", PAPERS)
def test_every_table_has_all_its_numbers_and_dashes(paper):
    rows = published(paper)
    assert Counter(row["table"] for row in rows if row["mean"]) == COUNTS[paper]
    dashes = Counter(row["table"] for row in rows if not row["mean"])
    assert dashes == {table: n for (p, table), n in DASHES.items() if p == paper}


def test_every_row_is_well_formed_and_stands_once():
    number = re.compile(r"-?\d+(\.\d+)?")
    seen = Counter((*row_key(row), row["metric"]) for row in ROWS)
    assert max(seen.values()) == 1
    for row in ROWS:
        assert list(row) == COLUMNS
        assert not row["mean"] or number.fullmatch(row["mean"]), row
        assert not row["std"] or number.fullmatch(row["std"]), row
        assert row["mean"] or row["note"], f"a dash without a reason: {row}"


def test_every_measure_has_the_direction_that_we_score_by():
    for row in ROWS:
        metric = row["metric"]
        better = {**metrics.BETTER, **OTHER_BETTER}.get(metric)
        if metric.startswith("delta_"):
            assert metric.removeprefix("delta_") in metrics.BETTER
            better = "none"
        assert row["better"] == better, row


# ---------------------------------------------------------------------- mapping


@pytest.mark.parametrize("paper", PAPERS)
def test_every_printed_name_is_mapped_and_every_mapping_is_printed(paper):
    told = PROJECT.paper(paper)
    rows = published(paper)
    assert {row["paper"] for row in rows} == {paper}
    assert {row["method"] for row in rows} == set(told.methods)
    assert {row["table"] for row in rows} == set(told.tables)
    assert {row["dataset"] for row in rows} >= set(told.use_dataset)
    for table, entry in told.tables.items():
        settings = {row["setting"] for row in rows if row["table"] == table}
        assert set(entry.settings or settings) == settings, table


# ---------------------------------------------------------------------- misprints

MISPRINTS = [(p, entry) for p in PAPERS for entry in PROJECT.paper(p).misprints]


@pytest.mark.parametrize(("paper", "entry"), MISPRINTS, ids=str)
def test_a_misprint_names_exactly_one_printed_number(paper, entry):
    fields = ("table", "dataset", "setting", "method", "metric")
    rows = [r for r in published(paper) if all(r[f] == getattr(entry, f) for f in fields)]
    assert len(rows) == 1
    if entry.std_reads:
        assert rows[0]["std"]
        assert float(entry.std_reads) < float(rows[0]["std"])


def test_the_demos_printed_numbers_are_the_maintainers_records():
    from ldlrepro.judge.reference import ReferenceUnits

    reference = ReferenceUnits(PROJECT.root / "reference", PROJECT)
    rows = verdicts("demo", reference=reference)
    assert len(rows) == 48
    for row in rows:
        assert row.measured is not None
        assert row.printed == f"{row.measured:.4f}", row.cell


# ---------------------------------------------------------------------- copied columns
