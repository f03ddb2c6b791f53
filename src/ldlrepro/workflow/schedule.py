"""Simulates how long jobs take on a number of cores, from the times of records."""

from __future__ import annotations

import heapq
import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from ldlrepro.judge.scores import Sources
from ldlrepro.plan import Plan, Unit, jobs
from ldlrepro.train.records import OK

START_S = 1.0
"""Seconds that a job takes in addition to its folds. Nine of ten reference records have less."""


@dataclass(frozen=True)
class Job:
    """A job and what it takes."""

    name: str
    seconds: float
    """Seconds of fits and predictions."""
    cores: int = 1
    start_s: float = 0.0

    @property
    def wall(self) -> float:
        return self.start_s + self.seconds


@dataclass(frozen=True)
class Schedule:
    """The outcome of a simulation."""

    core_seconds: float
    wall_seconds: float


def jobs_of(plan: Plan, units: Iterable[Unit], sources: Sources) -> tuple[list[Job], list[Unit]]:
    """Return every job that the workflow would start, and the units without times."""
    timed, missing = [], []
    for unit in units:
        found = sources.best(unit)
        finished = [row for row in found.rows if row.status == OK] if found else []
        if found is None or not finished:
            missing.append(unit)
            continue
        # Threads are as measured: a record made on one thread says nothing of the time on two.
        threads = max(row.threads for row in finished)
        mean = statistics.fmean(sum(row.seconds) for row in finished)
        seconds = [sum(row.seconds) if row.status == OK else mean for row in found.rows]
        for chunk in plan.chunks(unit):
            last = len(seconds) - 1 if chunk.last is None else chunk.last
            mine = seconds[chunk.first : last + 1]
            name = f"{unit.data_set.id} {unit.method.id} folds {chunk.name}"
            timed.append(Job(name, sum(mine), threads, START_S))
    return timed, missing


def longest_jobs_of(plan: Plan, units: Iterable[Unit]) -> list[Job]:
    """Return the jobs of units that were never timed, each as long as its time limit."""
    return [
        Job(f"{unit.data_set.id} {unit.method.id} folds {chunk.name}", 60.0 * limit, cores)
        for unit in units
        for chunk in plan.chunks(unit)
        for limit, cores in [(jobs.minutes(plan, chunk, 1), unit.resources.threads)]
    ]


def simulate(to_run: list[Job], cores: int) -> Schedule:
    """Start the longest jobs first, each as soon as enough cores are free."""
    free = cores
    now = 0.0
    running: list[tuple[float, int]] = []
    waiting: dict[int, list[tuple[float, int]]] = {}
    for place, job in enumerate(to_run):
        waiting.setdefault(min(job.cores, cores), []).append((job.wall, -place))
    for of_as_many_cores in waiting.values():
        of_as_many_cores.sort()  # the longest is the last; of equals, the one named first
    while any(waiting.values()) or running:
        while fitting := [taken for taken, jobs in waiting.items() if jobs and taken <= free]:
            taken = max(fitting, key=lambda taken: waiting[taken][-1])
            wall, _ = waiting[taken].pop()
            heapq.heappush(running, (now + wall, taken))
            free -= taken
        now, released = heapq.heappop(running)
        free += released
    core_seconds = sum(job.seconds * min(job.cores, cores) for job in to_run)
    return Schedule(core_seconds, now)
