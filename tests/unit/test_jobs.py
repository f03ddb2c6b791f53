"""What jobs ask for: by what was measured, else by the method's file; more on every attempt."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from ldlrepro.plan import Chunk, jobs
from ldlrepro.plan.past_runs import Measured
from ldlrepro.train.records import read_rows, write_record
from ldlrepro.train.unit import run_unit

ROOT = Path(__file__).resolve().parents[2]


class Asked:
    """What chunks of a unit ask for, by the files as they are now."""

    def __init__(self, checkout) -> None:
        self.checkout = checkout
        self.known: tuple[tuple[float, ...], float, str] | None = None

    def measure(self, *seconds: float, peak_mb: float = 100) -> None:
        """Say what the reference holds of every unit, made with the settings of now."""
        unit = self.checkout.plan.unit("tiny", "toy", "near")
        self.known = seconds, peak_mb, unit.spec_sha256

    def __call__(self, ask, first: int = 0, last: int | None = 3, **attempt):
        plan = self.checkout.plan
        if self.known:
            plan.past_runs.reference = lambda unit: Measured(*self.known)
        chunk = Chunk(plan.unit("tiny", "toy", "near"), first, last)
        return ask(plan, chunk, **attempt)


@pytest.fixture
def asked(tiny) -> Asked:
    return Asked(tiny)


def test_without_measurements_the_methods_file_counts(asked):
    assert asked(jobs.mem_mb, attempt=1) == 700 + jobs.CLUSTER_MB
    assert asked(jobs.minutes, attempt=1) == 60
    assert asked(jobs.group) is None


def test_what_was_measured_counts_with_a_margin(asked):
    asked.measure(100, 200, 300, 400, peak_mb=1010)
    assert asked(jobs.mem_mb, attempt=1) == 1600 + jobs.CLUSTER_MB
    assert asked(jobs.minutes, attempt=1) == 50
    assert asked(jobs.minutes, 0, 1, attempt=1) == 15
    assert asked(jobs.minutes, 0, None, attempt=1) == 50


def test_every_attempt_asks_for_twice_as_much(asked):
    first = 700 + jobs.CLUSTER_MB
    wanted = [first, 2 * first, 4 * first]
    assert [asked(jobs.mem_mb, attempt=n) for n in (1, 2, 3)] == wanted
    assert [asked(jobs.minutes, attempt=n) for n in (1, 2, 3)] == [60, 120, 240]


@pytest.mark.parametrize(
    ("seconds", "group"),
    [(0.1, "units_64"), (7.5, "units_32"), (8, "units_16"), (31, "units_4"), (61, None)],
)
def test_the_shorter_the_units_the_more_share_a_job(asked, seconds, group):
    asked.measure(seconds)
    assert asked(jobs.group, 0, 0) == group


def test_the_slurm_profile_knows_every_group():
    profile = yaml.safe_load((ROOT / "profiles/slurm/config.yaml").read_text())
    sizes = {f"units_{size}": size for size in jobs.GROUPS}
    assert sizes.items() <= profile["group-components"].items()


def test_records_of_this_checkout_count_where_there_is_no_reference(ready, asked):
    job = ready.job(folds="0-1")
    run_unit(job)
    rows = [replace(row, fit_s=100.0, predict_s=20.0, peak_mb=999) for row in read_rows(job.record)]
    write_record(job.record, rows, {})
    assert asked(jobs.minutes, attempt=1) == 24, "two folds that were measured, two like them"
    assert asked(jobs.mem_mb, attempt=1) == 1500 + jobs.CLUSTER_MB
    ready.edit("config/methods/near.yaml", "n_neighbors: 4", "n_neighbors: 3")
    assert asked(jobs.minutes, attempt=1) == 60, "times of other settings say nothing"
