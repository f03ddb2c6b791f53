"""Finds what is wrong with a paper's files: names, and printed numbers that cannot be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from ldlrepro.catalogue import Paper, Project
from ldlrepro.core.errors import UserError, nearest
from ldlrepro.doctor.lines import BAD, GOOD, NOTE, Finding
from ldlrepro.experiments import module_name
from ldlrepro.lint.findings import IMPOSSIBLE
from ldlrepro.lint.linter import examine, examine_paper, table_of_paper
from ldlrepro.plan.planning import Plan, Unit
from ldlrepro.plan.printed import Row, cell_key, known_measures

COUNTS_ROWS = ("n_neighbors",)
"""Parameters that no training set with fewer rows can fill."""


def check_paper(plan: Plan, paper: Paper, without: Sequence[str] = ()) -> Iterator[Finding]:
    """Yield the findings about a paper: its names, its numbers, what can be measured of them.

    ``without`` are data sets that it names and that nobody has described.
    """
    yield from (_without(paper, name, plan.project) for name in without)
    if not without:
        yield Finding(paper.id, GOOD, f"{paper.file.name}, its keys and the names in it")
    missing = list(_missing_methods(paper, plan.project))
    yield from missing
    yield from _missing_measurements(paper)
    _ = plan.project.protocols, paper.misses
    rows = [row for row in plan.published(paper) if row["mean"]]
    if not rows:
        nothing = "no cells.csv, so there are no printed numbers to compare with"
        yield Finding(paper.id, NOTE, nothing)
        return
    tables, methods = ({row[column] for row in rows} for column in ("table", "method"))
    yield Finding(
        paper.id,
        GOOD,
        f"{len(rows)} printed numbers of {len(methods)} methods in {len(tables)} "
        f"table{'s' * (len(tables) != 1)}",
    )
    yield from _unknown_in_claims(paper, rows, plan.project)
    yield from _out_of_own_range(paper, rows, plan.project)
    yield from _impossible(plan.project, paper)
    yield from _misprints(plan.project, paper, rows)
    if not missing:  # else there is no unit for some numbers
        yield from _unfit_parameters(plan, paper)
        yield from _out_of_reach(plan, paper)
    if not paper.own:
        none = "`own` names no method, so the paper's own method is not counted separately"
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


def _without(paper: Paper, name: str, project: Project) -> Finding:
    do = (
        "If its data cannot be had, move it to `not_available` with the reason. Else describe it: "
        f"`ldlrepro new dataset {name} --folder {paper.file.parent}`."
    )
    said = f"datasets: there is no data set '{name}'.{project.data_sets_like(name)} {do}"
    return Finding(paper.id, BAD, said)


def _unfit_parameters(plan: Plan, paper: Paper) -> Iterator[Finding]:
    """Find settings behind an @ that a method lacks, and counts of rows that no fold has."""
    refused, too_many = set(), set()
    for unit in plan.units(paper):
        method, rows = unit.method, _trained_on(unit)
        if "=" in method.id:
            try:
                method.estimator()
            except UserError as error:
                refused.add(f"{method.id}: {error}")
                continue
        for name in COUNTS_ROWS:
            values = method.grid.get(name, (method.parameters.get(name),))
            for value in values:
                if rows is not None and isinstance(value, int) and value > rows:
                    where = f"{unit.protocol.id} on {unit.data_set.id}"
                    too_many.add(f"{method.id}: {name} is {value}, but {where} trains on {rows}")
    for text in (*sorted(refused), *sorted(too_many)):
        yield Finding(paper.id, BAD, text)


def _trained_on(unit: Unit) -> int | None:
    """Return the rows that a fold trains on at most; None where the data tell it."""
    protocol, shape = unit.protocol, unit.data_set.shape
    if shape is None or shape.n is None:
        return None
    if protocol.scheme == "kfold" and protocol.folds:
        return shape.n - shape.n // protocol.folds
    if protocol.scheme == "shuffle_split" and protocol.train_share:
        return round(shape.n * protocol.train_share)
    return shape.n


def _unknown_in_claims(paper: Paper, rows: Sequence[Row], project: Project) -> Iterator[Finding]:
    """Find names in claims that the paper does not print and the project does not have."""
    datasets = {*paper.datasets, *paper.not_available, *project.data_set_ids}
    measures = {*known_measures(project), *(row["metric"] for row in rows)}
    settings = {row["setting"] for row in rows if row["setting"]}
    for claim in paper.claims:
        if (test := claim.test) is None:
            continue
        compared = settings if test.by == "setting" else {*paper.methods}
        named: list[tuple[str, Iterable[str], Collection[str]]] = [
            ("methods", test.methods, compared),
            ("pairs", [name for pair in test.pairs for name in pair], compared),
            ("tables", test.tables, paper.tables),
            ("datasets", test.datasets, datasets),
            ("metrics", test.metrics, measures),
            ("protocol", [test.protocol], project.protocols),
        ]
        for check in test.checks:
            named += [
                ("checks", [check.judged[0], check.base[0]], project.protocols),
                ("checks", [check.experiment], paper.experiments),
                ("checks", [check.figure], paper.figures),
                ("checks", [check.dataset], datasets),
            ]
            for method in filter(None, {check.judged[1], check.base[1]}):
                if not project.has_method(method):
                    named.append(("checks", [method], project.method_ids))
        for key, names, known in named:
            for name in names:
                if name and name not in known:
                    said = f"claims.yaml: {claim.id}: {key}: '{name}' does not exist."
                    yield Finding(paper.id, BAD, said + nearest(name, known))


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


def _out_of_own_range(paper: Paper, rows: Iterable[Row], project: Project) -> Iterator[Finding]:
    """Find numbers that a user's own measure cannot have."""
    own = {measure.id: measure for measure in project.measures}
    for row in rows:
        measure = own.get(row["metric"])
        if measure and not measure.allows(float(row["mean"])):
            where = ", ".join(filter(None, (row["dataset"], row["setting"], row["method"])))
            said = f"Table {row['table']}, {where}: {measure.id} is {row['mean']}, but must be"
            yield Finding(paper.id, BAD, f"{said} {measure.range_in_words}. {CURE}")


def _misprints(project: Project, paper: Paper, rows: Iterable[Row]) -> Iterator[Finding]:
    """Find misprints that are no cells, and those that only their proof in words speaks for."""
    printed = {cell_key(row) for row in rows}
    cells, beside = table_of_paper(project, paper)
    found = examine(cells, replace(beside, misprints=frozenset()))
    shown = {(*cell.row, cell.measure) for finding in found for cell in finding.suspects}
    for entry in paper.misprints:
        place = cell_key(vars(entry))
        where = ", ".join(filter(None, place))
        if place not in printed:
            said = f"remarks: a misprint of Table {where}, but no such number is printed"
            yield Finding(paper.id, BAD, said)
        elif place not in shown:
            said = f"remarks: no number beside Table {where} shows that it is a misprint"
            yield Finding(paper.id, NOTE, f"{said}, so nobody can verify it: {entry.proof}")


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
