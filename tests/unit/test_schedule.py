"""Simulated schedules: bounds, threads, and units without times."""

from ldlrepro.judge.scores import Sources, UnitScores
from ldlrepro.train.records import OK, FoldRow
from ldlrepro.workflow.schedule import START_S, Job, jobs_of, simulate
from tests.unit.judged import PLAN


def wall(seconds: list[float], cores: int) -> float:
    jobs = [Job(str(number), time) for number, time in enumerate(seconds)]
    return simulate(jobs, cores).wall_seconds


def test_long_jobs_start_first():
    assert wall([1, 1, 1, 1, 4], 2) == 4


def test_a_job_of_two_cores_waits_until_both_are_free_and_others_go_before():
    jobs = [Job("single", 5), Job("double", 4, cores=2), Job("small", 1)]
    found = simulate(jobs, 2)
    assert found.wall_seconds == 9
    assert found.core_seconds == 5 + 8 + 1


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
    assert len(jobs) == len(PLAN.chunks(unit))
