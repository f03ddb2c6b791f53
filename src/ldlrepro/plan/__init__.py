"""Turns papers into units: which (protocol, data set, method) must run, and for which cells.

These are pure functions of the configuration. The Snakefile, the command line and the verdicts all
read the same plan.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

from ldlrepro import config
from ldlrepro.catalogue import digests
from ldlrepro.config import plugins
from ldlrepro.core.errors import UserError, nearest
from ldlrepro.folds import splits
from ldlrepro.plan import past_runs, printed, sweeps

NOT_IMPLEMENTED = "method not implemented"


@dataclass(frozen=True, order=True)
class Unit:
    """One method on one data set under one protocol."""

    protocol: str
    dataset: str
    method: str


@dataclass(frozen=True)
class Cell:
    """A printed number and the unit that measures it, or why none does."""

    row: dict[str, str]
    unit: Unit | None
    skip: str = ""
    note: str = ""
    base: Unit | None = None
    """The unit that a difference is taken to."""
    experiment: str = ""
    """The experiment that measures the number, where no unit does."""
    copied: str = ""
    """Proof that the number is another paper's, where it is."""


@dataclass(frozen=True)
class Chunk:
    """Folds first..last (positions in the fold file) of a unit: one Snakemake job.

    Without ``last`` these are all folds, where only the data tell their number.
    """

    unit: Unit
    first: int = 0
    last: int | None = None

    @property
    def name(self) -> str:
        return "all" if self.last is None else f"{self.first}-{self.last}"

    def overlaps(self, other: Chunk) -> bool:
        end, other_end = (math.inf if c.last is None else c.last for c in (self, other))
        return self.first <= other_end and other.first <= end

    @classmethod
    def parse(cls, unit: Unit, name: str) -> Chunk:
        if name == "all":
            return cls(unit)
        first, _, last = name.partition("-")
        if not (first.isdecimal() and last.isdecimal() and int(first) <= int(last)):
            raise UserError(f"'{name}' names no folds. Write 'all', or first-last such as 0-4.")
        return cls(unit, int(first), int(last))


# ---------------------------------------------------------------------- protocols


@cache
def protocols() -> dict[str, tuple[str, dict[str, Any]]]:
    """Return protocol id -> (paper id, definition)."""
    found: dict[str, tuple[str, dict[str, Any]]] = {}
    for paper in config.paper_ids():
        for name, definition in config.load_paper(paper)["protocols"].items():
            if name in found:
                raise UserError(
                    f"{_where(paper)}: protocols.{name} is also defined in "
                    f"{_where(found[name][0])}; choose another name"
                )
            found[name] = (paper, definition)
    for paper in config.paper_ids():
        for where, name in _protocols_named_in(config.load_paper(paper)):
            if name not in found:
                raise UserError(
                    f"{_where(paper)}: {where}: no paper has a protocol '{name}'."
                    f"{nearest(name, found)}"
                )
    return found


def _protocols_named_in(tree: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield every mention of a protocol in a paper's file: (key, protocol id)."""
    mentions: dict[str, Any] = {f"methods.{name}": m for name, m in tree["methods"].items()}
    mentions |= {f"extra.{i}": block for i, block in enumerate(tree.get("extra", []))}
    for name, definition in tree["protocols"].items():
        for key in ("noise_of", "persons_of"):
            if key in definition:
                yield f"protocols.{name}.{key}", definition[key]
    for number, table in tree["tables"].items():
        mentions[f"tables.{number}"] = table
        for name, setting in table.get("settings", {}).items():
            mentions[f"tables.{number}.settings.{name}"] = setting
    for where, entry in mentions.items():
        if isinstance(entry, dict) and "protocol" in entry:
            yield f"{where}.protocol", entry["protocol"]


def protocol(name: str) -> dict[str, Any]:
    """Return the definition of a protocol."""
    known = protocols()
    if name not in known:
        raise UserError(
            f"unknown protocol '{name}'.{nearest(name, known)} `ldlrepro list papers` lists them."
        )
    return known[name][1]


def published_folds(name: str, dataset: str) -> Path | None:
    """Return the table of folds that a protocol gives for a data set, beside its paper's file."""
    protocol(name)
    paper, definition = protocols()[name]
    given = definition.get("given", {}).get(dataset)
    return config.paper_file(paper, given) if given else None


def count_folds(unit: Unit) -> int | None:
    """Return the runs of a unit; None where only the data tell how many persons there are."""
    definition = protocol(unit.protocol)
    if definition["scheme"] != "leave_one_group_out":
        return splits.count_folds(definition)
    counts = (definition.get("folds"), config.count_persons(unit.dataset))
    return min((count for count in counts if count is not None), default=None)


# ---------------------------------------------------------------------- cells


@cache
def published(paper: str) -> list[dict[str, str]]:
    """Read every printed row of a paper, dashes included, as text."""
    path = config.paper_file(paper, "cells.csv")
    return printed.read(path, paper, _paper(paper)) if path.is_file() else []


@cache
def cells(paper: str) -> list[Cell]:
    """Return the printed numbers of a paper in the order of its file."""
    proofs = copies(paper)
    return [
        replace(_cell(paper, row), copied=proofs.get(number, ""))
        for number, row in enumerate(published(paper))
        if row["mean"]
    ]


def copies(paper: str) -> dict[int, str]:
    """Return number of row -> proof, for printed numbers that are another paper's to the digit.

    Those of a copied column whose mean or standard deviation differs are the paper's own.
    """
    found = {}
    for entry in _paper(paper).get("copied", []):
        theirs: dict[tuple[str, ...], list[dict[str, str]]] = {}
        for other in published(entry["from"]):
            theirs.setdefault((other["method"], other["dataset"], other["metric"]), []).append(
                other
            )
        for number, row in enumerate(published(paper)):
            if row["table"] in entry["tables"] and row["method"] in entry["methods"]:
                method = entry.get("their_name", row["method"])
                for other in theirs.get((method, row["dataset"], row["metric"]), []):
                    if _is_copy(row, other, entry):
                        place = f"{entry['from']}, Table {other['table']}"
                        found[number] = f"equals {place}, to the digit: {entry['proof']}"
    return found


def _is_copy(row: Mapping[str, str], other: Mapping[str, str], entry: Mapping[str, Any]) -> bool:
    """Tell whether two rows of the same thing print the same mean and standard deviation."""
    if entry.get("means_only"):
        return same_to_fewer_digits(row["mean"], other["mean"])
    return all(same_number(row[part], other[part]) for part in ("mean", "std"))


def same_number(one: str, other: str) -> bool:
    """Tell whether two printed numbers are the same, whatever zeros follow them."""
    return bool(one and other) and Decimal(one) == Decimal(other)


def same_to_fewer_digits(one: str, other: str) -> bool:
    """Tell whether two printed numbers could be one that is rounded to fewer digits in one place.

    A five may have been rounded either way.
    """
    if not (one and other):
        return False
    digits = min(len(text.partition(".")[2]) for text in (one, other))
    return abs(Decimal(one) - Decimal(other)) <= Decimal(5).scaleb(-digits - 1)


def _cell(paper: str, row: dict[str, str]) -> Cell:
    tree = _paper(paper)
    method = tree["methods"][row["method"]]
    if isinstance(method, str):
        method = {"method": method}
    note = method.get("note", "")
    table = tree["tables"][row["table"]]
    setting = table.get("settings", {}).get(row["setting"], {})
    unavailable = tree["not_available"].get(row["dataset"])
    skip = method.get("skip") or setting.get("skip") or unavailable
    if skip:
        return Cell(row, None, skip, note)
    name = _method_of(method, row)
    if "variant" in setting:
        name = f"{name.partition('@')[0]}@{setting['variant']}"
    if not config.method_exists(name):
        return Cell(row, _unit(tree, table, setting, method, row, name), NOT_IMPLEMENTED, note)
    unit = _unit(tree, table, setting, method, row, name)
    base = None
    if table.get("kind") == "deltas":
        other = tree["methods"][table["compared_to"]]
        base = _unit(tree, table, setting, method, row, _method_of(other, row))
    return Cell(row, unit, "", note, base, table.get("experiment", ""))


def _method_of(entry: str | Mapping[str, Any], row: Mapping[str, str]) -> str:
    """Return the method id that runs for a printed method in a printed row."""
    if isinstance(entry, str):
        return entry
    by_dataset = entry.get("by_dataset", {}).get(row["dataset"], entry["method"])
    return str(entry.get("by_setting", {}).get(row["setting"], by_dataset))


def _unit(
    tree: dict[str, Any],
    table: dict[str, Any],
    setting: dict[str, Any],
    method: dict[str, Any],
    row: dict[str, str],
    name: str,
) -> Unit | None:
    if table.get("kind") == "experiment":
        return None
    own = next(iter(tree["protocols"]))
    chosen = setting.get("protocol") or method.get("protocol") or table.get("protocol") or own
    printed = tree.get("use_dataset", {}).get(row["dataset"], row["dataset"])
    dataset = setting.get("dataset", printed)
    return Unit(chosen, dataset, name)


@cache
def _paper(paper: str) -> dict[str, Any]:
    return config.load_paper(paper)


def _where(paper: str) -> str:
    return config.shown(config.paper_file(paper))


# ---------------------------------------------------------------------- units


def paper_units(paper: str, *, extra: bool = True, to_come: bool = False) -> list[Unit]:
    """Return a paper's units, sorted; ``to_come`` adds those whose method does not exist yet."""
    tree = _paper(paper)
    units = {
        cell.unit for cell in cells(paper) if cell.unit is not None and (to_come or not cell.skip)
    }
    units |= set(_planned_rows(paper, to_come))
    units |= set(_own_units(paper, {(unit.protocol, unit.dataset) for unit in units}))
    if extra:
        main = next(iter(tree["protocols"]))
        use = tree.get("use_dataset", {})
        for block in tree.get("extra", []):
            named = block.get("datasets")
            datasets = named or [use.get(d, d) for d in tree["datasets"]]
            units |= {
                Unit(block.get("protocol", main), dataset, method)
                for dataset in datasets
                for method in block["methods"]
                if to_come or config.method_exists(method)
            }
        for figure in tree.get("figures", {}).values():
            units |= set(figure_units(paper, figure).values())
    return sorted(units)


def figure_units(paper: str, figure: Mapping[str, Any]) -> dict[sweeps.Point, Unit]:
    """Return the unit behind each point of a figure."""
    chosen = figure.get("protocol") or next(iter(_paper(paper)["protocols"]))
    return {p: Unit(chosen, figure["dataset"], p.method) for p in sweeps.points(figure)}


def run_experiments(run: Mapping[str, Any], paper: str) -> list[str]:
    """Return the experiments of a paper; none for a slice or a run without extras."""
    if run["only"].get("datasets") or run["only"].get("methods") or not run.get("extra", True):
        return []
    return sorted(_paper(paper).get("experiments", {}))


def experiment(paper: str, name: str) -> dict[str, Any]:
    """Return the settings of a paper's experiment."""
    found: dict[str, Any] = config.current().paper(paper).experiment(name).model_dump(mode="json")
    return found


def _planned_rows(paper: str, to_come: bool) -> Iterator[Unit]:
    """Yield every method on every set for a paper without printed numbers (a recorded demo)."""
    if published(paper):
        return
    tree = _paper(paper)
    main = next(iter(tree["protocols"]))
    for dataset in tree["datasets"]:
        for entry in tree["methods"].values():
            method = entry if isinstance(entry, str) else entry.get("method", "")
            if method and (to_come or config.method_exists(method)):
                yield Unit(main, dataset, method)


CONTROLS = ("uniform", "train_mean", "true_labels")  # that run on a user's own data, too


def _own_units(paper: str, places: set[tuple[str, str]]) -> Iterator[Unit]:
    """Yield the user's own methods wherever the paper's run, and the paper's on the user's data.

    On those the main protocol holds; methods that need more than features and labels stay away.
    What lies in the folder of a paper runs where that paper says, and nowhere else.
    """
    methods, datasets = _of_no_paper("method"), _of_no_paper("dataset")
    for protocol, dataset in places:
        yield from (Unit(protocol, dataset, method) for method in methods)
    if not datasets:
        return
    tree = _paper(paper)
    main, definition = next(iter(tree["protocols"].items()))
    entries = [{"method": e} if isinstance(e, str) else e for e in tree["methods"].values()]
    theirs = {entry["method"] for entry in entries if "method" in entry and "skip" not in entry}
    theirs = {name for name in theirs if _runs_anywhere(name)}
    for dataset in datasets:
        spec = config.load_dataset(dataset)
        grouped = "groups" in spec.get("keys", {}) or "rows_per_person" in spec
        if grouped or definition["scheme"] != "leave_one_group_out":
            yield from (Unit(main, dataset, name) for name in {*theirs, *methods, *CONTROLS})


def _of_no_paper(kind: str) -> list[str]:
    apart = plugins.beside_papers(kind)
    return [name for name in config.own_ids(kind) if name.partition("@")[0] not in apart]


def _runs_anywhere(method: str) -> bool:
    return config.method_exists(method) and not config.load_method(method).get("needs")


def is_own(unit: Unit) -> bool:
    """Tell whether the user's own method, data set or paper is part of it."""
    base = unit.method.partition("@")[0]
    return (
        unit.dataset in config.own_ids("dataset")
        or base in config.own_ids("method")
        or protocols()[unit.protocol][0] in config.own_ids("paper")
    )


def is_quoted(row: dict[str, str]) -> bool:
    """Tell whether the paper itself says that it took the number from elsewhere."""
    return bool(row["quoted_from"]) and not row["quoted_from"].startswith("inferred")


def run_units(run: Mapping[str, Any], paper: str) -> list[Unit]:
    """Return the units of a paper under a run configuration, with its slice applied."""
    datasets, methods = run["only"].get("datasets"), run["only"].get("methods")
    return [
        unit
        for unit in paper_units(paper, extra=run.get("extra", True))
        if (not datasets or unit.dataset in datasets) and (not methods or unit.method in methods)
    ]


# ---------------------------------------------------------------------- jobs


DEFAULT_RESOURCES = {"threads": 1, "mem_mb": 1500, "runtime": 60, "folds_per_job": 10, "gpu": 0}


def resources(unit: Unit) -> dict[str, int]:
    """Return what a job of this unit may use: defaults, then the method's, then the data set's."""
    if not config.method_exists(unit.method):
        return dict(DEFAULT_RESOURCES)
    asked = dict(_method_resources(unit.method))
    for_dataset = asked.pop("datasets", {}).get(unit.dataset, {})
    return {**DEFAULT_RESOURCES, **asked, **for_dataset}


@cache
def _method_resources(method: str) -> dict[str, Any]:
    return config.load_method(method).get("resources", {})


LONGEST_JOB_S = 60.0
"""A unit that was measured is cut into jobs of this length, but never within a fold."""


def chunks(unit: Unit) -> list[Chunk]:
    """Cut the unit's folds into jobs.

    The cut follows the times of the reference, or the method's file. It never follows what this
    checkout measured: it names files, and should not change with every run.
    """
    count = count_folds(unit)
    if count is None:
        return [Chunk(unit)]
    known = past_runs.reference(astuple(unit))
    if known is not None and len(known.seconds) == count:
        edges = _edges_by_time(known.seconds)
    else:
        jobs = -(-count // resources(unit)["folds_per_job"])
        edges = [round(i * count / jobs) for i in range(jobs + 1)]
    return [Chunk(unit, a, b - 1) for a, b in itertools.pairwise(edges)]


def _edges_by_time(seconds: Sequence[float]) -> list[int]:
    edges, length = [0], 0.0
    for fold, duration in enumerate(seconds):
        if fold > edges[-1] and length + duration > LONGEST_JOB_S:
            edges.append(fold)
            length = 0.0
        length += duration
    return [*edges, len(seconds)]


@cache
def spec_digest(unit: Unit) -> str:
    """Return the digest of the settings that decide the unit's numbers."""
    if not config.method_exists(unit.method):
        return ""
    select_by = protocol(unit.protocol).get("select_by", "kl")
    return digests.spec_digest(config.current().method(unit.method), select_by)


def record_path(results: str | Path, chunk: Chunk) -> Path:
    """Return the file of a chunk's record."""
    unit = chunk.unit
    folder = Path(results) / "units" / unit.protocol / unit.dataset / unit.method
    return folder / f"folds_{chunk.name}.parquet"
