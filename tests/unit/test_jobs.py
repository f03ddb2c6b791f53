"""What jobs ask for: by what was measured, else by the method's file; more on every attempt."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from ldlrepro import plan
from ldlrepro.plan import jobs
from ldlrepro.plan.past_runs import Measured
from ldlrepro.train.records import read_rows, write_record
from ldlrepro.train.unit import run_unit

ROOT = Path(__file__).resolve().parents[2]
UNIT = plan.Unit("tiny", "toy", "near")
ALL = plan.Chunk(UNIT, 0, 3)


@pytest.fixture
def measure(tiny, monkeypatch):
    """Say what the reference holds of every unit."""

    def say(*seconds: float, peak_mb: float = 100) -> None:
        known = Measured(seconds, peak_mb, plan.spec_digest(UNIT))
        monkeypatch.setattr(jobs.past_runs, "reference", lambda unit: known)
        jobs._measured.cache_clear()

    return say


def test_without_measurements_the_methods_file_counts(tiny):
    assert jobs.mem_mb(ALL, 1) == 700 + jobs.CLUSTER_MB
    assert jobs.minutes(ALL, 1) == 60
    assert jobs.group(ALL) is None


def test_what_was_measured_counts_with_a_margin(measure):
    measure(100, 200, 300, 400, peak_mb=1010)
    assert jobs.mem_mb(ALL, 1) == 1600 + jobs.CLUSTER_MB
    assert jobs.minutes(ALL, 1) == 50
    assert jobs.minutes(plan.Chunk(UNIT, 0, 1), 1) == 15
    assert jobs.minutes(plan.Chunk(UNIT), 1) == 50


def test_limits_of_other_settings_are_not_below_the_methods_file(measure, tiny):
    measure(100, 200, 300, 400, peak_mb=1010)
    tiny.edit("config/methods/near.yaml", "n_neighbors: 4", "n_neighbors: 3")
    assert jobs.minutes(ALL, 1) == 60
    assert jobs.mem_mb(ALL, 1) == 1600 + jobs.CLUSTER_MB


def test_every_attempt_asks_for_twice_as_much(tiny):
    assert [jobs.mem_mb(ALL, n) for n in (1, 2, 3)] == [950, 1900, 3800]
    assert [jobs.minutes(ALL, n) for n in (1, 2, 3)] == [60, 120, 240]


def test_long_jobs_start_first_and_unknown_ones_before_them(measure, tiny, monkeypatch):
    unknown = jobs.priority(ALL)
    measure(1, 1, 1, 50)
    assert unknown > jobs.priority(plan.Chunk(UNIT, 3, 3)) > jobs.priority(plan.Chunk(UNIT, 0, 2))


@pytest.mark.parametrize(
    ("seconds", "group"),
    [(0.1, "units_64"), (7.5, "units_32"), (8, "units_16"), (31, "units_4"), (61, None)],
)
def test_the_shorter_the_units_the_more_share_a_job(measure, seconds, group):
    measure(seconds)
    assert jobs.group(plan.Chunk(UNIT, 0, 0)) == group


def test_units_with_threads_or_a_gpu_have_a_job_of_their_own(measure, tiny):
    measure(1, 1, 1, 1)
    tiny.edit("config/methods/near.yaml", "threads: 1", "threads: 2")
    assert jobs.group(ALL) is None
    tiny.edit("config/methods/near.yaml", "threads: 2", "gpu: 1")
    assert jobs.group(ALL) is None


def test_the_slurm_profile_knows_every_group():
    profile = yaml.safe_load((ROOT / "profiles/slurm/config.yaml").read_text())
    sizes = {f"units_{size}": size for size in jobs.GROUPS}
    assert sizes.items() <= profile["group-components"].items()


def test_records_of_this_checkout_count_where_there_is_no_reference(ready):
    job = ready.job(folds="0-1")
    run_unit(job)
    rows = [replace(row, fit_s=100.0, predict_s=20.0, peak_mb=999) for row in read_rows(job.record)]
    write_record(job.record, rows, {})
    ready.forget()
    assert jobs.minutes(ALL, 1) == 24, "two folds that were measured, two like them"
    assert jobs.mem_mb(ALL, 1) == 1500 + jobs.CLUSTER_MB
    ready.edit("config/methods/near.yaml", "n_neighbors: 4", "n_neighbors: 3")
    assert jobs.minutes(ALL, 1) == 60, "times of other settings say nothing"


def test_a_damaged_record_is_no_measurement(ready):
    job = ready.job()
    run_unit(job)
    job.record.write_bytes(b"PAR1 no more")
    ready.forget()
    assert jobs.minutes(ALL, 1) == 60
