"""What a unit's job asks of the machine: memory, time, priority, and a group of jobs.

One rule holds for all of them. A job asks for what earlier runs measured, with a margin. Where
nothing was measured, it asks for what the method's file says. Every attempt asks for twice as much
as the one before.
"""

from __future__ import annotations

import math

from ldlrepro.plan.planning import LONGEST_JOB_S, Plan
from ldlrepro.plan.units import Chunk, Unit

MEMORY_MARGIN, TIME_MARGIN = 1.5, 3
SHORTEST_LIMIT_MIN = 5
CLUSTER_MB = 450
"""Memory of a cluster job beside what records say: 250 MB of Snakemake, 120 MB of scikit-learn's
base, which records made without it do not count, and a margin."""
GROUPS = (4, 8, 16, 32, 64)
"""Sizes of groups of short units; `group-components` in profiles/slurm names them again."""
GROUP_S = GROUPS[0] * LONGEST_JOB_S


def mem_mb(plan: Plan, chunk: Chunk, attempt: int) -> int:
    """Return the memory that an attempt at a chunk asks for."""
    known, asked = plan.past_runs.of(chunk.unit), chunk.unit.resources.mem_mb
    need = 100 * math.ceil(known.peak_mb * MEMORY_MARGIN / 100) if known else 0
    return (_limit(plan, chunk.unit, need, asked) + CLUSTER_MB) * growth(attempt)


def minutes(plan: Plan, chunk: Chunk, attempt: int) -> int:
    """Return the minutes that an attempt at a chunk asks for."""
    seconds, asked = _measured_seconds(plan, chunk), chunk.unit.resources.runtime
    need = max(SHORTEST_LIMIT_MIN, math.ceil((seconds or 0) * TIME_MARGIN / 60))
    return _limit(plan, chunk.unit, need, asked) * growth(attempt)


def _limit(plan: Plan, unit: Unit, need: int, asked: int) -> int:
    """Return what was measured.

    If settings have changed since, return at least what the file asks for.
    """
    known = plan.past_runs.of(unit)
    if known is None:
        return asked
    return need if known.spec_sha256 == unit.spec_sha256 else max(need, asked)


def growth(attempt: int) -> int:
    """Return the memory and time of an attempt as a multiple of the first attempt's."""
    return int(2 ** (attempt - 1))


def priority(plan: Plan, chunk: Chunk) -> int:
    """Return a priority: long jobs start first.

    A job that nobody has measured may take as long as its limit allows.
    """
    seconds = _measured_seconds(plan, chunk)
    return round(60 * chunk.unit.resources.runtime if seconds is None else seconds)


def group(plan: Plan, chunk: Chunk) -> str | None:
    """Let short units share a job on a cluster: the shorter they are, the more of them."""
    seconds = _measured_seconds(plan, chunk)
    asked = chunk.unit.resources
    if seconds is None or seconds > LONGEST_JOB_S or asked.threads > 1 or asked.gpu:
        return None
    fitting = [size for size in GROUPS if size * seconds <= GROUP_S]
    return f"units_{max(fitting)}"


def _measured_seconds(plan: Plan, chunk: Chunk) -> float | None:
    found = plan.past_runs.of(chunk.unit)
    if found is None:
        return None
    last = len(found.seconds) - 1 if chunk.last is None else chunk.last
    return found.of_folds(chunk.first, last + 1 - chunk.first)
