"""Collects what the report shows about each paper."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from ldlrepro import __version__, config, experiments, notebooks, plan, sweeps
from ldlrepro.compare.bands import bands_of, with_bands
from ldlrepro.compare.cells import verdict_rows
from ldlrepro.compare.claims import claim_rows
from ldlrepro.compare.collect import (
    LOCAL,
    Places,
    Units,
    best_source,
    expected_folds,
    local_units,
)
from ldlrepro.compare.comparisons import Evidence
from ldlrepro.compare.persons import persons_apart
from ldlrepro.compare.reference import chosen_units, reference_units
from ldlrepro.data.images.faces import KINDS
from ldlrepro.report.content import Curve, Overhead, PaperPage, Photographs, ReportContent, UnitKey
from ldlrepro.report.figures import drawings
from ldlrepro.runs import provenance


def paper_page(paper: str, results: Path, data: Path) -> PaperPage:
    """Everything measured about a paper: local records first, then the reference."""
    tree = config.load_paper(paper)
    units = plan.paper_units(paper)
    local, reference = local_units(Places(results, data), units), _reference()
    measured = experiments.read_all(paper, results)
    chosen = chosen_units(units, local, reference)
    rows = with_bands(verdict_rows(paper, local, reference, measured), bands_of(chosen))
    curves = figure_curves(paper, local, reference)
    evidence = Evidence(
        rows,
        {curve.number: curve.means() for curve in curves},
        measured,
        {unit.key: unit for unit in chosen},
        {curve.number: tree["figures"][curve.number]["dataset"] for curve in curves},
        {curve.number: curve.few_folds() for curve in curves},
    )
    return PaperPage(
        id=paper,
        title=tree["title"],
        authors=tree["authors"],
        venue=tree["venue"],
        year=tree["year"],
        protocols=_protocols(tree["protocols"]),
        rows=rows,
        tables={number: table["title"] for number, table in tree["tables"].items()},
        units=chosen,
        left_out=_left_out(paper),
        leaks=_leaks(results, units),
        photographs=_photographs(data, units),
        printed_figures=tree.get("figures", {}),
        curves=curves,
        experiments=measured,
        experiment_titles={
            name: (spec["title"], spec.get("text", ""))
            for name, spec in tree.get("experiments", {}).items()
        },
        persons=persons_apart(chosen),
        claims=claim_rows(paper, tree.get("claims", []), evidence),
        commands=[f"snakemake --cores all {paper}", f"ldlrepro verdicts {paper}"],
        method_titles={unit.method: _title(unit.method) for unit in units},
        own_methods={name: _title(name) for name in config.own_ids("method")},
        sees_labels={unit.method for unit in units if _sees_labels(unit.method)},
        synthetic=tree["synthetic"],
    )


def figure_curves(paper: str, local: Units, reference: Units) -> list[Curve]:
    """The figures whose points are units, with the points that have been measured."""
    curves = []
    for number, figure in config.load_paper(paper).get("figures", {}).items():
        if "x" not in figure:
            continue
        scores, of_folds = {}, 0
        for point, unit in plan.figure_units(paper, figure).items():
            scored = best_source(unit, local, reference)
            if scored and (by_fold := scored.by_fold(figure["metric"])):
                scores[point.line, point.x] = by_fold
                of_folds = expected_folds(unit, scored)
        shared = set.intersection(*map(set, scores.values())) if scores else set()
        found = {point: [v for f, v in s.items() if f in shared] for point, s in scores.items()}
        line = next(iter(figure.get("lines", {"": []})))
        x = sweeps.x_parameter(figure)
        found = found if shared else {}
        curves.append(Curve(number, figure["title"], figure["metric"], x, line, found, of_folds))
    return curves


def report_content(results: Path, data: Path) -> ReportContent:
    """All five papers, and synthetic ones that have local results."""
    pages = [paper_page(paper, results, data) for paper in config.paper_ids()]
    pages = [
        page
        for page in pages
        if not page.synthetic or any(unit.source == LOCAL for unit in page.units)
    ]
    for page in pages:
        page.figures = list(drawings(page).values())
    pages.sort(key=lambda page: (page.synthetic, page.year, page.id))
    return ReportContent(
        pages=pages,
        generated_at=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        version=__version__,
        git_commit=provenance.git_commit(),
        machine=f"{provenance.machine()['cpu']}, {platform.system()}",
        overhead=[Overhead.of(page) for page in pages if page.units],
        further=_further(results),
        logs=lambda key: _log(results, key),
    )


def _further(results: Path) -> list[tuple[str, str]]:
    """Pages beside the report, by their address from its folder."""
    found = []
    for name in notebooks.names():
        page = results / "notebooks" / f"{name}.html"
        if page.is_file():
            found.append((f"../notebooks/{page.name}", f"Notebook: {notebooks.title(name)}"))
    if (results / "audit" / "audit.html").is_file():
        found.append(("../audit/audit.html", "The last audit"))
    return found


@cache
def _reference() -> Units:
    return reference_units(config.project_root() / "reference")


def _left_out(paper: str) -> list[tuple[str, str]]:
    """Planned extra units whose method does not exist yet."""
    tree = config.load_paper(paper)
    planned = {method for block in tree.get("extra", []) for method in block["methods"]}
    return [
        (name, plan.NOT_IMPLEMENTED) for name in sorted(planned) if not config.method_exists(name)
    ]


def _leaks(results: Path, units: list[plan.Unit]) -> list[tuple[str, str, str]]:
    found = []
    for protocol, dataset in sorted({(unit.protocol, unit.dataset) for unit in units}):
        path = results / "folds" / protocol / f"{dataset}.leaks.json"
        if path.is_file():
            facts = json.loads(path.read_text(encoding="utf-8"))
            if facts["available"]:
                found.append((protocol, dataset, facts["text"]))
    return found


def _protocols(definitions: Mapping[str, Any]) -> list[tuple[list[str], str]]:
    """Each text once, with the names of the protocols that it tells of."""
    names: dict[str, list[str]] = {}
    for name, definition in definitions.items():
        names.setdefault(definition["text"], []).append(name)
    return [(same, text) for text, same in names.items()]


def _photographs(data: Path, units: list[plan.Unit]) -> list[Photographs]:
    """What preparing the sets of photographs found, where they are here."""
    found = []
    for dataset in sorted({unit.dataset for unit in units}):
        table = data / "ready" / f"{dataset}.images.csv"
        if not table.is_file():
            continue
        record = json.loads((data / "ready" / f"{dataset}.json").read_text(encoding="utf-8"))
        about = record["images"]
        problems = [(kind, count, KINDS[kind]) for kind, count in about["problems"].items()]
        found.append(Photographs(dataset, about["used"], about["persons"], problems, table))
    return found


def _log(results: Path, key: UnitKey) -> str:
    """The unit's log, relative to the folder of the report."""
    folder = results.parent / "logs" / "units" / Path(*key)
    logs = sorted(folder.glob("*.log"))
    return f"../../{logs[0].relative_to(results.parent).as_posix()}" if logs else ""


def _title(method: str) -> str:
    return config.load_method(method)["title"] if config.method_exists(method) else method


def _sees_labels(method: str) -> bool:
    return config.method_exists(method) and bool(config.load_method(method)["sees_test_labels"])
