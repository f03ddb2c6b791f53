"""How long a paper takes on so many cores, simulated from the times of its records."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass

from ldlrepro import plan
from ldlrepro.compare.collect import Units, UnitScores, best_source

START_S = 3.0
"""Assumed for a job's interpreter and imports."""


@dataclass(frozen=True)
class Job:
    name: str
    seconds: float
    cores: int = 1


@dataclass(frozen=True)
class Schedule:
    cores: int
    jobs: int
    core_seconds: float
    wall_seconds: float
    longest: Job
    missing: list[plan.Unit]
    """Units that no record has times of; they are not in the other numbers."""

    @property
    def efficiency(self) -> float:
        return self.core_seconds / (self.cores * self.wall_seconds)


def jobs_of(
    units: Iterable[plan.Unit], local: Units, reference: Units
) -> tuple[list[Job], list[plan.Unit]]:
    """Every job that the workflow would start, and the units without times."""
    jobs, missing = [], []
    for unit in units:
        found = best_source(unit, local, reference)
        if found is None or not found.rows:
            missing.append(unit)
            continue
        threads = plan.resources(unit)["threads"]
        for chunk in plan.chunks(unit):
            last = len(found.rows) - 1 if chunk.last is None else chunk.last
            seconds = START_S + sum(_seconds(found)[chunk.first : last + 1])
            name = f"{unit.dataset} {unit.method} folds {chunk.name}"
            jobs.append(Job(name, seconds, threads))
    return jobs, missing


def _seconds(unit: UnitScores) -> list[float]:
    return [row.fit_s + row.predict_s + row.overhead_s for row in unit.rows]


def simulate(jobs: list[Job], cores: int, missing: list[plan.Unit]) -> Schedule:
    """Longest jobs first, each as soon as enough cores are free."""
    free = cores
    now = 0.0
    running: list[tuple[float, int]] = []
    waiting = sorted(jobs, key=lambda job: -job.seconds)
    while waiting or running:
        for job in list(waiting):
            taken = min(job.cores, cores)
            if taken <= free:
                heapq.heappush(running, (now + job.seconds, taken))
                free -= taken
                waiting.remove(job)
            if not free:
                break
        now, released = heapq.heappop(running)
        free += released
    return Schedule(
        cores=cores,
        jobs=len(jobs),
        core_seconds=sum(job.seconds * min(job.cores, cores) for job in jobs),
        wall_seconds=now,
        longest=max(jobs, key=lambda job: job.seconds),
        missing=missing,
    )
