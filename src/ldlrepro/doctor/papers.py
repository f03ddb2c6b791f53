"""Finds what is wrong with a paper's files: names, and printed numbers that cannot be."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ldl import metrics
from ldlrepro.catalogue import Paper, Project
from ldlrepro.core.errors import UserError, nearest
from ldlrepro.doctor.lines import BAD, GOOD, NOTE, Finding
from ldlrepro.experiments import module_name
from ldlrepro.plan.planning import Plan, same_number
from ldlrepro.plan.printed import OURS, RANK, Row

ONE_AT_MOST = (
    *("chebyshev", "cosine", "intersection", "sorensen", "fidelity"),
    *metrics.LABEL_BETTER,
)
FEWEST_COPIES = 5
"""Equal numbers of a method, from which on they are called a copy."""


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
    yield from _impossible(paper, rows, plan.project)
    yield from _wrong_ranks(paper, rows)
    yield from _copies(plan, paper, rows)
    if not missing:  # else there is no unit for some numbers
        yield from _out_of_reach(plan, paper)
    if not paper.own:
        none = "`own` names no method: the paper's own is not counted apart"
        yield Finding(paper.id, NOTE, none)


def _missing_methods(paper: Paper, project: Project) -> Iterator[Finding]:
    named: dict[str, set[str]] = {}
    for printed, entry in paper.methods.items():
        others = (*entry.by_dataset.values(), *entry.by_setting.values())
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


def _impossible(paper: Paper, rows: Sequence[Row], project: Project) -> Iterator[Finding]:
    """Find numbers out of range, and rows whose measures contradict each other."""
    known = {(m.table, m.dataset, m.setting, m.method) for m in paper.misprints}
    printed: dict[tuple[str, ...], dict[str, str]] = {}
    for row in rows:
        place = tuple(row[name] for name in ("table", "dataset", "setting", "method"))
        if row["metric"] in OURS:
            printed.setdefault(place, {})[row["metric"]] = row["mean"]
    for place, numbers in printed.items():
        if place in known:
            continue
        where = ", ".join(part for part in ("Table " + place[0], *place[1:]) if part)
        sound = dict(numbers)
        for metric, text in numbers.items():
            top = 1.0 if metric in ONE_AT_MOST else math.inf
            if not 0.0 <= float(text) <= top:
                limits = "0 or more" if math.isinf(top) else "between 0 and 1"
                said = f"{where}: {metric} is {text}, but must be {limits}"
                yield Finding(paper.id, BAD, f"{said}. {CURE}")
                del sound[metric]
        is_known = place[1] in project.data_set_ids
        shape = project.data_set(place[1]).shape if is_known else None
        labels = shape.c if shape else 0
        for pair in broken_relations(sound, labels) if labels else []:
            values = " and ".join(f"{metric} {numbers[metric]}" for metric in sorted(pair))
            said = f"{where}: no distributions over {labels} labels have {values}"
            yield Finding(paper.id, BAD, f"{said}. {CURE}")


CURE = "Correct cells.csv, or list the number under `misprints` with the proof."


def broken_relations(numbers: Mapping[str, str], labels: int) -> list[frozenset[str]]:
    """Return pairs of printed means of one row that no distributions can have.

    Means over rows keep linear and convex relations; half a printed unit is allowed on each side.
    """

    def half(name: str) -> float:
        return 0.5 * 10.0 ** -len(numbers[name].partition(".")[2]) + 1e-9

    def low(name: str) -> float:
        return float(numbers[name]) - half(name)

    def high(name: str) -> float:
        return float(numbers[name]) + half(name)

    checks = {
        ("chebyshev", "intersection"): lambda: (
            low("chebyshev") <= 1 - low("intersection")
            and 1 - high("intersection") <= (labels // 2) * high("chebyshev")
        ),
        ("clark", "canberra"): lambda: (
            low("clark") <= high("canberra")
            and low("canberra") <= math.sqrt(labels) * high("clark")
        ),
        ("sorensen", "intersection"): lambda: (
            low("sorensen") <= 1 - low("intersection")
            and 1 - high("intersection") <= high("sorensen")
        ),
        ("kl", "intersection"): lambda: high("kl") >= 2 * max(0, 1 - high("intersection")) ** 2,
        ("kl", "fidelity"): lambda: high("kl") >= -2 * math.log(high("fidelity")),
        ("squared_chi2", "fidelity"): lambda: (
            2 * (1 - high("fidelity")) <= high("squared_chi2")
            and low("squared_chi2") <= 4 * (1 - low("fidelity"))
        ),
    }
    present = {pair: holds for pair, holds in checks.items() if set(pair) <= set(numbers)}
    return [frozenset(pair) for pair, holds in present.items() if not holds()]


def _wrong_ranks(paper: Paper, rows: Iterable[Row]) -> Iterator[Finding]:
    """Find printed ranks, bold marks among them, that do not follow from the printed means."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        place = tuple(row[name] for name in ("table", "dataset", "setting", "metric"))
        groups.setdefault(place, []).append(row)
    wrong = []
    for (table, dataset, setting, metric), group in groups.items():
        if group[0]["better"] == "none":
            continue
        sign = -1.0 if group[0]["better"] == "higher" else 1.0
        values = {row["method"]: sign * float(row["mean"]) for row in group}
        for row in group:
            mine = values[row["method"]]
            least = 1 + sum(value < mine for value in values.values())
            most = sum(value <= mine for value in values.values())
            if row.get(RANK) and not least <= int(row[RANK]) <= most:
                where = ", ".join(part for part in (f"Table {table}", dataset, setting) if part)
                wrong.append(
                    f"{where}, {metric}: {row['method']} is printed as {row[RANK]}, "
                    f"but its {row['mean']} is number {least}"
                )
    for text in wrong:
        yield Finding(paper.id, NOTE, f"a rank that does not follow from the means: {text}")


def _copies(plan: Plan, paper: Paper, rows: Iterable[Row]) -> Iterator[Finding]:
    """Find methods whose numbers, standard deviations too, another paper prints to the digit."""
    mine = _columns(rows)
    for other in plan.project.papers:
        if other == paper:
            continue
        declared = _declared(paper, other) | _declared(other, paper)
        theirs = _columns(row for row in plan.published(other) if row["mean"])
        for method, numbers in mine.items():
            if method in declared:
                continue
            for name, found in theirs.items():
                common = numbers.keys() & found.keys()
                equal = [place for place in common if _same(numbers[place], found[place])]
                if len(equal) >= FEWEST_COPIES and 2 * len(equal) > len(common):
                    said = f"{method}: {len(equal)} of {len(common)} numbers equal those that "
                    said += f"{other.id} prints for {name}"
                    cure = "if they were taken from there, say so under `copied`"
                    yield Finding(paper.id, NOTE, f"{said}; {cure}")


def _declared(paper: Paper, other: Paper) -> set[str]:
    """Return the methods of which a paper's file says that their numbers are another's."""
    mine = [entry for entry in paper.copied if entry.source == other.id]
    return {name for entry in mine for name in (*entry.methods, entry.their_name)}


def _columns(rows: Iterable[Row]) -> dict[str, dict[tuple[str, str], tuple[str, str]]]:
    found: dict[str, dict[tuple[str, str], tuple[str, str]]] = {}
    for row in rows:
        if not row["setting"]:
            place = (row["dataset"], row["metric"])
            found.setdefault(row["method"], {}).setdefault(place, (row["mean"], row["std"]))
    return found


def _same(one: tuple[str, str], other: tuple[str, str]) -> bool:
    """Tell whether means agree in the digits of the shorter, and deviations where both have one."""
    mine, theirs = (len(text.partition(".")[2]) for text in (one[0], other[0]))
    digits = min(mine, theirs)
    if digits < 3 or round(float(one[0]), digits) != round(float(other[0]), digits):
        return False
    return not (one[1] and other[1]) or same_number(one[1], other[1])
