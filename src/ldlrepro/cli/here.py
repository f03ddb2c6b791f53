"""The project, the plan and the judge of a call; each verb opens them once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ldlrepro.core.workspace import Workspace

if TYPE_CHECKING:
    from ldlrepro.catalogue import Paper, Project
    from ldlrepro.judge.judging import Judge
    from ldlrepro.plan import Plan

HERE = Workspace()


def plan_here() -> Plan:
    """Open the project of this folder and environment."""
    from ldlrepro.catalogue import from_environment
    from ldlrepro.plan import Plan

    return Plan(from_environment())


def judge_here() -> Judge:
    """Open the project, and whatever its units have left in this folder."""
    from ldlrepro.judge.judging import Judge

    return Judge(plan_here(), HERE)


def papers_of(project: Project, asked: Sequence[str]) -> list[Paper]:
    """Return the papers that were asked for; all that print numbers, where none was."""
    return [project.paper(name) for name in asked] or project.real_papers()
