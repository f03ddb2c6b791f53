"""Finds what is wrong with a paper's files: names, and printed numbers that cannot be."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from ldl import metrics
from ldlrepro import config, plan
from ldlrepro.core.errors import UserError, nearest
from ldlrepro.doctor.lines import BAD, GOOD, NOTE, Finding
from ldlrepro.experiments import module_name
from ldlrepro.plan.printed import RANK, Row

ONE_AT_MOST = (
    *("chebyshev", "cosine", "intersection", "sorensen", "fidelity"),
    *metrics.LABEL_BETTER,
)
FEWEST_COPIES = 5
"""Equal numbers of a method, from which on they are called a copy."""


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
    yield from _impossible(name, rows)
    yield from _wrong_ranks(name, rows)
    yield from _copies(name, rows)
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
    value = config.current().paper(paper)
    for asked in value.experiments.values():
        try:
            module_name(value, asked.code)
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


def _impossible(paper: str, rows: Sequence[Row]) -> Iterator[Finding]:
    """Find numbers out of range, and rows whose measures contradict each other."""
    known = {
        tuple({"setting": "", **entry}[key] for key in ("table", "dataset", "setting", "method"))
        for entry in config.load_paper(paper).get("misprints", [])
    }
    printed: dict[tuple[str, ...], dict[str, str]] = {}
    for row in rows:
        place = tuple(row[name] for name in ("table", "dataset", "setting", "method"))
        if row["metric"] in plan.printed.OURS:
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
                yield Finding(paper, BAD, f"{said}. {CURE}")
                del sound[metric]
        is_known = place[1] in config.dataset_ids()
        shape = config.load_dataset(place[1]).get("shape", {}) if is_known else {}
        for pair in broken_relations(sound, shape["c"]) if "c" in shape else []:
            values = " and ".join(f"{metric} {numbers[metric]}" for metric in sorted(pair))
            said = f"{where}: no distributions over {shape['c']} labels have {values}"
            yield Finding(paper, BAD, f"{said}. {CURE}")


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


def _wrong_ranks(paper: str, rows: Iterable[Row]) -> Iterator[Finding]:
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
        yield Finding(paper, NOTE, f"a rank that does not follow from the means: {text}")


def _copies(paper: str, rows: Iterable[Row]) -> Iterator[Finding]:
    """Find methods whose numbers, standard deviations too, another paper prints to the digit."""
    mine = _columns(rows)
    for other in config.paper_ids():
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
                    yield Finding(
                        paper,
                        NOTE,
                        f"{method}: {len(equal)} of {len(common)} numbers equal those that {other} "
                        f"prints for {name}; if they were taken from there, say so under `copied`",
                    )


def _declared(paper: str, other: str) -> set[str]:
    """Return the methods of which a paper's file says that their numbers are another's."""
    entries = config.load_paper(paper).get("copied", [])
    mine = [entry for entry in entries if entry["from"] == other]
    return {name for entry in mine for name in (*entry["methods"], entry.get("their_name", ""))}


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
    return not (one[1] and other[1]) or plan.same_number(one[1], other[1])
