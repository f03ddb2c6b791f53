"""Finds what is wrong with a paper's files: names, and printed numbers that cannot be."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ldlrepro import config, plan
from ldlrepro.core.errors import UserError, nearest
from ldlrepro.doctor.lines import BAD, GOOD, NOTE, Finding
from ldlrepro.experiments import module_name
from ldlrepro.lint.findings import IMPOSSIBLE
from ldlrepro.lint.linter import examine_paper


def check_paper(name: str, path: Path) -> Iterator[Finding]:
    """Yield the findings about a paper: its names, its numbers, what can be measured of them."""
    tree = config.load_paper(name)
    yield Finding(name, GOOD, f"{path.name}, its keys and the names in it")
    missing = list(_missing_methods(name))
    yield from missing
    yield from _missing_measurements(name)
    plan.protocols()
    rows = [row for row in plan.published(name) if row["mean"]]
    if not rows:
        yield Finding(name, NOTE, "no cells.csv: nothing is printed that could be compared with")
        return
    tables, methods = ({row[column] for row in rows} for column in ("table", "method"))
    yield Finding(
        name,
        GOOD,
        f"{len(rows)} printed numbers of {len(methods)} methods in {len(tables)} tables",
    )
    yield from _impossible(name)
    if not missing:  # else there is no unit for some numbers
        yield from _out_of_reach(name)
    if not tree["own"]:
        yield Finding(name, NOTE, "`own` names no method: the paper's own is not counted apart")


def _missing_methods(paper: str) -> Iterator[Finding]:
    tree = config.load_paper(paper)
    named: dict[str, list[str]] = {}
    for printed, entry in tree["methods"].items():
        entry = {"method": entry} if isinstance(entry, str) else entry
        others = [*entry.get("by_dataset", {}).values(), *entry.get("by_setting", {}).values()]
        named[f"methods.{printed}"] = [entry.get("method", ""), *others]
    for number, block in enumerate(tree.get("extra", [])):
        named[f"extra.{number}.methods"] = block["methods"]
    for where, methods in named.items():
        for method in sorted({*methods} - {""}):
            if not config.method_exists(method):
                hint = nearest(method, config.method_ids())
                yield Finding(paper, BAD, f"{where}: there is no method '{method}'.{hint}")


def _missing_measurements(paper: str) -> Iterator[Finding]:
    for spec in config.load_paper(paper).get("experiments", {}).values():
        try:
            module_name(paper, spec["code"])
        except UserError as error:
            yield Finding(paper, BAD, str(error))


def _out_of_reach(paper: str) -> Iterator[Finding]:
    """Say how many numbers have data and a method, and why others have not."""
    skipped: dict[str, int] = {}
    for cell in plan.cells(paper):
        if cell.skip:
            skipped[cell.skip] = skipped.get(cell.skip, 0) + 1
    for reason, count in skipped.items():
        yield Finding(paper, NOTE, f"{count} numbers are not run: {reason}")
    units = {cell.unit for cell in plan.cells(paper) if cell.unit and not cell.skip}
    yield Finding(paper, GOOD, f"{len(units)} units measure the others")


# ---------------------------------------------------------------------- numbers that cannot be


def _impossible(paper: str) -> Iterator[Finding]:
    """Find numbers that cannot be, and count those that only look odd."""
    project = config.current()
    found = examine_paper(project, project.paper(paper))
    for finding in found:
        if finding.state == IMPOSSIBLE:
            cells = ", ".join(map(str, finding.cells))
            yield Finding(paper, BAD, f"{finding.cell.place}: {cells}: {finding.why}. {CURE}")
    odd = sum(finding.state != IMPOSSIBLE for finding in found)
    if odd:
        look = f"{odd} finding{'s' * (odd > 1)} of suspicious numbers"
        yield Finding(paper, NOTE, f"{look}; see `ldlrepro lint {paper}`")


CURE = "Correct cells.csv, or list the number under `misprints` with the proof."
