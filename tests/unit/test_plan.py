"""The plan: cells to units, slices, chunks of folds and their records."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldlrepro.catalogue import Request, RunConfig
from ldlrepro.catalogue.methods import Resources
from ldlrepro.core.errors import UserError
from ldlrepro.plan import Cell, Chunk, Plan, Unit
from ldlrepro.plan.past_runs import Measured
from ldlrepro.plan.planning import LONGEST_JOB_S
from tests.unit.judged import PLAN, PROJECT

MSLP = PLAN.project.paper("mslp")


def a_unit() -> Unit:
    return PLAN.unit("mslp", "sjaffe", "sa_bfgs")


def cell(paper: str, table: str, dataset: str, method: str, setting: str = "") -> Cell:
    rows = [
        c
        for c in PLAN.cells(PLAN.project.paper(paper))
        if (c.row["table"], c.row["dataset"], c.row["method"], c.row["setting"])
        == (table, dataset, method, setting)
    ]
    return rows[0]


# ---------------------------------------------------------------------- cells


def test_a_setting_may_have_its_own_protocol_and_variant():
    found = cell("ldlf", "3", "morph_sub", "dLDLF", "training ratio 20%; AlexNet")
    assert found.unit == PLAN.unit("ldlf_ratio_20", "morph_sub", "dldlf@alexnet")


def test_a_row_that_nobody_runs_says_why():
    found = cell("drf", "I", "morph", "AGES", "Setup I")
    assert found.unit is None
    assert found.skip == "quoted by the paper; not implemented by decision"


def test_numbers_that_an_experiment_measures_have_no_unit():
    for table, experiment in (("3", "times"), ("20", "split_search")):
        found = [c for c in PLAN.cells(PLAN.project.paper("structrf")) if c.row["table"] == table]
        assert {(c.unit, c.experiment, c.skip) for c in found} == {(None, experiment, "")}


# ---------------------------------------------------------------------- units


@pytest.mark.parametrize("paper", PLAN.project.real_papers(), ids=lambda paper: paper.id)
def test_without_extra_units_only_those_are_left_that_printed_numbers_are_judged_by(paper):
    behind = [
        unit
        for cell in PLAN.cells(paper)
        for unit in (cell.unit, cell.base, *cell.others)
        if not cell.skip
    ]
    assert set(PLAN.units(paper, extra=False)) == set(filter(None, behind))


@pytest.mark.parametrize(
    "only",
    [
        {},
        {"datasets": ["sjaffe"], "methods": []},
        {"datasets": ["sjaffe", "m2b"], "methods": ["uniform"]},
        {"methods": ["uniform"]},
    ],
)
def test_a_slice_takes_what_both_lists_allow(only):
    units = PLAN.run_units(RunConfig.model_validate({"papers": [], "only": only}), MSLP)
    datasets, methods = only.get("datasets"), only.get("methods")
    wanted = [
        unit
        for unit in PLAN.units(MSLP)
        if (unit.data_set.id in datasets if datasets else True)
        and (unit.method.id in methods if methods else True)
    ]
    assert units == wanted
    assert units


# ---------------------------------------------------------------------- chunks


def chunks_of(measured: Measured | None = None, per_job: int = 10, **protocol) -> list[Chunk]:
    """The chunks of a unit under another protocol, with other resources."""
    unit, here = a_unit(), Plan(PROJECT)
    here.past_runs.reference = lambda unit: measured
    changed = unit.protocol.model_copy(update={"repeats": 1, **protocol})
    asked = Resources(folds_per_job=per_job)
    method = unit.method.model_copy(update={"resources": asked})
    return here.chunks(replace(unit, protocol=changed, method=method))


@given(folds=st.integers(2, 130), per_job=st.integers(1, 40), repeats=st.integers(1, 3))
def test_chunks_hold_every_fold_once_in_parts_of_nearly_equal_size(folds, per_job, repeats):
    chunks = chunks_of(None, per_job, folds=folds, repeats=repeats)
    covered = [i for chunk in chunks for i in range(chunk.first, chunk.last + 1)]
    assert covered == list(range(folds * repeats))
    sizes = [chunk.last - chunk.first + 1 for chunk in chunks]
    assert max(sizes) <= per_job
    assert max(sizes) - min(sizes) <= 1


@given(st.lists(st.floats(0, 100), min_size=1, max_size=60))
def test_a_measured_unit_is_cut_into_jobs_of_limited_length_but_not_within_a_fold(seconds):
    known = Measured(tuple(seconds), peak_mb=100, spec_sha256="")
    chunks = chunks_of(known, folds=len(seconds))
    covered = [i for chunk in chunks for i in range(chunk.first, chunk.last + 1)]
    assert covered == list(range(len(seconds)))
    lengths = [sum(seconds[c.first : c.last + 1]) for c in chunks]
    for chunk, length in zip(chunks, lengths, strict=True):
        assert length <= LONGEST_JOB_S or chunk.first == chunk.last
    for here, there in itertools.pairwise(chunks):  # no cut was needless
        assert sum(seconds[here.first : there.first + 1]) > LONGEST_JOB_S


@pytest.mark.parametrize("name", ["", "abc", "5", "3-1", "-1-3", "1-", "0-4-9", "0-x", "0 - 4"])
def test_a_name_that_is_no_chunk_is_refused_with_an_example(name):
    with pytest.raises(UserError, match=r"such as 0-4"):
        Chunk.parse(a_unit(), name)


def test_resources_go_from_defaults_over_the_method_to_the_data_set(checkout):
    checkout.write(
        "config/methods/dear.yaml",
        "title: dear\nclass: a.B\nresources:\n  threads: 4\n  mem_mb: 100\n"
        "  datasets: {movie: {mem_mb: 9000}}\n",
    )
    plain = checkout.plan.unit("mslp", "sjaffe", "dear").resources
    movie = checkout.plan.unit("mslp", "movie", "dear").resources
    assert plain == Request(threads=4, mem_mb=100)
    assert movie == Request(threads=4, mem_mb=9000)


@pytest.mark.parametrize(
    ("protocol", "dataset", "count"),
    [
        ("ldldf_persons", "sjaffe", 10),
        ("drf_fgnet", "fgnet", 82),
        ("drf_fgnet", "drawn_jaffe", 10),
        ("drf_fgnet", "morph", None),
    ],
)
def test_folds_are_counted_without_the_data_where_a_file_states_the_persons(
    protocol, dataset, count
):
    assert PLAN.unit(protocol, dataset, "uniform").count_folds() == count
