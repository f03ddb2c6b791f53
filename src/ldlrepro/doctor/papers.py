"""Finds what is wrong with a paper's files: names, and printed numbers that cannot be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ldlrepro.catalogue import Paper, Project
from ldlrepro.core.errors import UserError, nearest
from ldlrepro.doctor.lines import BAD, GOOD, NOTE, Finding
from ldlrepro.experiments import module_name
from ldlrepro.lint.findings import IMPOSSIBLE
from ldlrepro.lint.linter import examine_paper
from ldlrepro.plan.planning import Plan


def check_paper(plan: Plan, paper: Paper) -> Iterator[Finding]:
    """Yield the findings about a paper: its names, its numbers, what can be measured of them."""
    yield Finding(paper.id, GOOD, f"{paper.file.name}, its keys and the names in it")
    missing = list(_missing_methods(paper, plan.project))
    yield from missing
    yield from _missing_measurements(paper)
    _ = plan.project.protocols, paper.claims, paper.misses
    rows = [row for row in plan.published(paper) if row["mean"]]
    if not rows:
        nothing = "no cells.csv: nothing is printed that could be compared with"
        yield Finding(paper.id, NOTE, nothing)
        return
    tables, methods = ({row[column] for row in rows} for column in ("table", "method"))
    yield Finding(
        paper.id,
        GOOD,
        f"{len(rows)} printed numbers of {len(methods)} methods in {len(tables)} tables",
    )
    yield from _impossible(plan.project, paper)
    if not missing:  # else there is no unit for some numbers
        yield from _out_of_reach(plan, paper)
    if not paper.own:
        none = "`own` names no method: the paper's own is not counted apart"
        yield Finding(paper.id, NOTE, none)


def _missing_methods(paper: Paper, project: Project) -> Iterator[Finding]:
    named: dict[str, set[str]] = {}
    for printed, entry in paper.methods.items():
        others = entry.by_setting.values()
        named[f"methods.{printed}"] = {entry.method, *others}
    for number, block in enumerate(paper.extra):
        named[f"extra.{number}.methods"] = set(block.methods)
    for where, methods in named.items():
        for method in sorted(methods - {""}):
            if not project.has_method(method):
                hint = nearest(method, project.method_ids)
                yield Finding(paper.id, BAD, f"{where}: there is no method '{method}'.{hint}")


def _missing_measurements(paper: Paper) -> Iterator[Finding]:
    for experiment in paper.experiments.values():
        try:
            module_name(paper, experiment.code)
        except UserError as error:
            yield Finding(paper.id, BAD, str(error))


def _out_of_reach(plan: Plan, paper: Paper) -> Iterator[Finding]:
    """Say how many numbers have data and a method, and why others have not."""
    cells = plan.cells(paper)
    for reason, count in Counter(cell.skip for cell in cells if cell.skip).items():
        yield Finding(paper.id, NOTE, f"{count} numbers are not run: {reason}")
    units = {cell.unit for cell in cells if cell.unit and not cell.skip}
    yield Finding(paper.id, GOOD, f"{len(units)} units measure the others")


# ---------------------------------------------------------------------- numbers that cannot be


def _impossible(project: Project, paper: Paper) -> Iterator[Finding]:
    """Find numbers that cannot be, and count those that only look odd."""
    found = examine_paper(project, paper)
    for finding in found:
        if finding.state == IMPOSSIBLE:
            cells = ", ".join(map(str, finding.cells))
            yield Finding(paper.id, BAD, f"{finding.cell.place}: {cells}: {finding.why}. {CURE}")
    odd = sum(finding.state != IMPOSSIBLE for finding in found)
    if odd:
        look = f"{odd} finding{'s' * (odd > 1)} of suspicious numbers"
        yield Finding(paper.id, NOTE, f"{look}; see `ldlrepro lint {paper.id}`")


CURE = "Correct cells.csv, or list the number under `remarks` as a misprint, with the proof."
