"""Simulated schedules: bounds, threads, and units without times."""

import json

import pytest

from ldlrepro import cli
from ldlrepro.catalogue import FIVE, Project
from ldlrepro.judge.scores import Sources, UnitScores
from ldlrepro.plan import Plan
from ldlrepro.train.records import FAILED, OK, FoldRow
from ldlrepro.workflow.schedule import START_S, Job, jobs_of, simulate

PLAN = Plan(Project.open())


def wall(seconds: list[float], cores: int) -> float:
    jobs = [Job(str(number), time) for number, time in enumerate(seconds)]
    return simulate(jobs, cores, []).wall_seconds


def test_long_jobs_start_first():
    assert wall([1, 1, 1, 1, 4], 2) == 4


def test_a_job_of_two_cores_waits_until_both_are_free_and_others_go_before():
    jobs = [Job("single", 5), Job("double", 4, cores=2), Job("small", 1)]
    found = simulate(jobs, 2, [])
    assert found.wall_seconds == 9
    assert found.core_seconds == 5 + 8 + 1
    assert found.longest.name == "single"


def test_jobs_over_a_twentieth_of_the_ideal_wall_time_are_named():
    short = [Job("short", 20)] * 100
    found = simulate([*short, Job("long", 65)], 2, [])
    assert found.twentieth == pytest.approx((100 * 20 + 65) / 2 / 20)
    assert [job.name for job in found.too_long] == ["long"]
    assert simulate([Job("short", 20)], 2, []).too_long == [], "shorter than a minute"


def test_jobs_are_the_chunks_of_a_unit_with_the_times_of_its_folds():
    unit = PLAN.unit("ldldf", "sjaffe", "ldldf")
    other = PLAN.unit("ldldf", "sbu_3dfe", "ldldf")
    names = unit.ids
    rows = [FoldRow(*names, repeat=n, fold=0, status=OK, fit_s=float(n)) for n in range(10)]
    record = UnitScores(*names, rows, {}, "local")
    jobs, missing = jobs_of(PLAN, [unit, other], Sources({record.key: record}, {}))
    assert missing == [other]
    assert sum(job.seconds for job in jobs) == sum(range(10))
    assert sum(job.wall for job in jobs) == sum(range(10)) + START_S * len(jobs)
    assert sum(job.folds for job in jobs) == 10
    assert len(jobs) == len(PLAN.chunks(unit))


def test_a_fold_that_failed_takes_the_mean_of_the_others_and_alone_tells_nothing():
    unit = PLAN.unit("ldldf", "sjaffe", "train_mean")
    names = unit.ids
    rows = [FoldRow(*names, repeat=n, fold=0, status=OK, fit_s=2.0) for n in range(9)]
    rows.append(FoldRow(*names, repeat=9, fold=0, status=FAILED))
    record = UnitScores(*names, rows, {}, "reference")
    jobs, missing = jobs_of(PLAN, [unit], Sources({}, {unit.key: record}))
    assert (sum(job.seconds for job in jobs), missing) == (20.0, [])
    only = UnitScores(*names, rows[9:], {}, "reference")
    assert jobs_of(PLAN, [unit], Sources({}, {unit.key: only})) == ([], [unit])


@pytest.mark.parametrize(("threads", "seconds"), [(1, 3.0), (2, 9.0)])
def test_on_one_thread_the_processor_tells_how_long_a_fold_takes(threads, seconds):
    unit = PLAN.unit("ldldf", "sjaffe", "train_mean")
    times = {"fit_s": 8.0, "predict_s": 1.0, "fit_cpu_s": 2.5, "predict_cpu_s": 0.5}
    names = unit.ids
    row = FoldRow(*names, repeat=0, fold=0, status=OK, threads=threads, **times)
    record = UnitScores(*names, [row], {}, "local")
    (job,), _ = jobs_of(PLAN, [unit], Sources({record.key: record}, {}))
    assert job.seconds == seconds


def answered(capsys, *options: str) -> dict[str, dict]:
    assert cli.main(["schedule", *options, "--json"]) == 0
    return {row["paper"]: row for row in json.loads(capsys.readouterr().out)}


def test_without_a_paper_the_five_are_answered_together_and_each(capsys):
    rows = answered(capsys)
    together, *each = rows.values()
    assert list(rows) == [FIVE, *(paper.id for paper in PLAN.project.real_papers(FIVE))]
    # Some units belong to two papers and are computed once.
    assert max(row["jobs"] for row in each) < together["jobs"] <= sum(row["jobs"] for row in each)
    assert list(answered(capsys, "drf", "ldldf")) == ["all together", "drf", "ldldf"]
