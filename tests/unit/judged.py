"""Plans, claims and verdicts for tests of judging."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ldlrepro.catalogue import Claim, Project
from ldlrepro.judge.bands import SeedNoise, bands_of
from ldlrepro.judge.cells import verdict_rows
from ldlrepro.judge.claims import ClaimRow, claim_row
from ldlrepro.judge.comparisons import Evidence
from ldlrepro.judge.experiment_cells import Experiments
from ldlrepro.judge.scores import Sources, Units
from ldlrepro.judge.verdicts import VerdictRow
from ldlrepro.plan import Plan
from tests.report_pages import PROJECT

PLAN = Plan(PROJECT)


def verdicts(
    paper: str,
    local: Units | None = None,
    reference: Units | None = None,
    experiments: Experiments | None = None,
    plan: Plan = PLAN,
) -> list[VerdictRow]:
    sources = Sources(local or {}, reference or {})
    noise = SeedNoise(bands_of(sources.local.values(), plan.project), {})
    return verdict_rows(plan, plan.project.paper(paper), sources, noise, experiments)


def outcome_of(claim: Mapping[str, Any], evidence: Evidence) -> ClaimRow:
    """A claim as claims.yaml would say it, tested."""
    return claim_row("p", Claim.model_validate(dict(claim)), evidence)


def with_protocols(**known: Mapping[str, Any]) -> Project:
    """The checkout, with other protocols in place of its own."""
    from tests.unit.protocols import protocol

    project = Project.open(PROJECT.root)
    made = {name: protocol({"scheme": "kfold", "folds": 2, **p}, name) for name, p in known.items()}
    project.__dict__["protocols"] = made
    return project
