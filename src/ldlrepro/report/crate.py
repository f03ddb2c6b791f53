"""A finished paper as an RO-Crate: workflow, settings, records, tables, and what made what.

Follows the Workflow Run Crate profile: the run of the workflow is one action, every unit another.
Data sets are named by address and checksum and never copied.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ldlrepro import __version__
from ldlrepro.catalogue import DataSet, Paper, Project
from ldlrepro.core.errors import UserError
from ldlrepro.judge.judging import Judge
from ldlrepro.judge.scores import LOCAL, UnitScores
from ldlrepro.train.records import OK, predictions_path

if TYPE_CHECKING:
    from rocrate.rocrate import ROCrate

SPECIFICATION = "https://w3id.org/ro/crate/1.1"
WORKFLOWS = "https://w3id.org/workflowhub/workflow-ro-crate/1.0"
PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": "Process Run Crate",
    "https://w3id.org/ro/wfrun/workflow/0.5": "Workflow Run Crate",
    WORKFLOWS: "Workflow RO-Crate",
}
BIOSCHEMAS = "https://bioschemas.org/profiles"
LICENCE = "https://spdx.org/licenses/MIT"
CODE = ("rules", "envs", "src", "config/schemas", "papers", "profiles")
SINGLE = ("README.md", "LICENSE", "CITATION.cff", "pyproject.toml", "config/config.yaml")


def write_crate(judge: Judge, paper: Paper, out: Path) -> int:
    """Pack a paper into the folder ``out``; return how many units it holds."""
    if out.exists() and any(out.iterdir()):
        raise UserError(f"{out} is not empty. Remove it, or name another folder after --crate.")
    here = [unit for unit in judge.answer(paper).units if unit.source == LOCAL]
    if not any(row.status == OK for unit in here for row in unit.rows):
        raise UserError(
            f"nothing of {paper.id} has run here. Type `snakemake --cores all {paper.id}`."
        )
    build(judge, paper, here).write(out)
    return len(here)


def build(judge: Judge, paper: Paper, units: list[UnitScores]) -> ROCrate:
    """Build the crate of a paper."""
    from rocrate.rocrate import ROCrate

    units = [unit for unit in units if any(row.status == OK for row in unit.rows)]
    crate = ROCrate(version="1.1")
    crate.metadata["conformsTo"] = [{"@id": address} for address in (SPECIFICATION, WORKFLOWS)]
    project = judge.project
    crate.name = f"ldlrepro: {paper.title}"
    crate.description = (
        f"The numbers of {paper.authors}, {paper.title}, {paper.venue} {paper.year}, "
        "computed again: records of every run, tables with verdicts, and the workflow behind them."
    )
    crate.license = crate.add(_entity(crate, LICENCE, "CreativeWork", name="MIT License"))
    maker = crate.add(_entity(crate, "#ldlrepro", "Organization", name="the ldlrepro maintainers"))
    crate.root_dataset["author"] = crate.root_dataset["publisher"] = maker
    crate.root_dataset["conformsTo"] = [
        crate.add(_entity(crate, address, "CreativeWork", name=name, version=address[-3:]))
        for address, name in PROFILES.items()
    ]
    workflow = _workflow(crate, project.root)
    _code(crate, project, units)
    names = sorted({unit.dataset for unit in units})
    data = {name: _dataset(crate, project.data_set(name)) for name in names}
    tables = _tables(crate, paper.id, judge.workspace.answer(paper.id).parent)
    tool = crate.add(
        _entity(
            crate,
            "#ldlrepro-run",
            "SoftwareApplication",
            name="ldlrepro run",
            softwareVersion=__version__,
            description="Fits and scores one method on one data set under one protocol.",
        )
    )
    actions = [_unit_action(crate, unit, tool, data, maker) for unit in units]
    start, end = zip(*(_span(unit) for unit in units), strict=True)
    whole = _entity(
        crate,
        "#workflow-run",
        "CreateAction",
        name=f"snakemake {paper.id}",
        description=f"snakemake --cores all {paper.id}",
        startTime=_iso(min(start)),
        endTime=_iso(max(end)),
        actionStatus=_status(row.status == OK for unit in units for row in unit.rows),
    )
    whole["instrument"], whole["agent"] = workflow, maker
    whole["object"] = [*data.values()] if len(data) > 1 else data[names[0]]  # as JSON-LD wants it
    whole["result"] = tables
    crate.root_dataset["mentions"] = [crate.add(whole), *actions]
    return crate


def _workflow(crate: ROCrate, root: Path) -> Any:
    workflow = crate.add_workflow(
        root / "Snakefile",
        "Snakefile",
        main=True,
        lang="snakemake",
        lang_version=metadata.version("snakemake"),
    )
    workflow["name"] = "Reproduction of nine papers on label distribution learning"
    workflow["license"] = crate.license
    workflow["version"] = __version__
    workflow["encodingFormat"] = "text/plain"
    workflow["conformsTo"] = {"@id": f"{BIOSCHEMAS}/ComputationalWorkflow/1.0-RELEASE"}
    for end, name, kind in (("input", "datasets", "Dataset"), ("output", "tables", "File")):
        parameter = _entity(
            crate,
            f"#{name}",
            "FormalParameter",
            name=name,
            additionalType=kind,
            multipleValues="True",
        )
        parameter["conformsTo"] = {"@id": f"{BIOSCHEMAS}/FormalParameter/1.0-RELEASE"}
        workflow[end] = crate.add(parameter)
    return workflow


def _code(crate: ROCrate, project: Project, units: Iterable[UnitScores]) -> None:
    """Add the workflow's code, with the settings of this paper's methods and data sets."""
    root = project.root
    described = {project.method(unit.method).file for unit in units}
    described |= {project.data_set(unit.dataset).file for unit in units}
    files = [p.relative_to(root).as_posix() for p in described if p.is_relative_to(root)]
    files += SINGLE
    for folder in CODE:
        found = (root / folder).rglob("*")
        files += [p.relative_to(root).as_posix() for p in found if p.is_file()]
    for name in sorted(set(files)):
        if "__pycache__" not in name and ".egg-info" not in name and (root / name).is_file():
            about = {"about": {"@id": "./"}} if name == "README.md" else {}
            _file(crate, root / name, name, **about)


def _dataset(crate: ROCrate, data_set: DataSet) -> Any:
    """Add a data set by its first file's public address, or, if drawn, by its description."""
    file = data_set.files[0] if data_set.files else None
    entity = _entity(
        crate,
        file.urls[0] if file and file.urls else f"#data-{data_set.id}",
        "Dataset",
        name=data_set.title,
        description=data_set.description or data_set.title,
        exampleOfWork={"@id": "#datasets"},
    )
    if file and file.bytes:
        entity["contentSize"] = str(file.bytes)
    if file and file.sha256:
        entity["sha256"] = file.sha256
    entity["usageInfo"] = data_set.licence
    return crate.add(entity)


def _tables(crate: ROCrate, paper: str, folder: Path) -> list[Any]:
    added = [
        _file(crate, path, path.as_posix(), exampleOfWork={"@id": "#tables"})
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(".")
    ]
    if not added:
        raise UserError(f"{folder} holds no tables. Type `ldlrepro compare {paper}` first.")
    return added


def _unit_action(
    crate: ROCrate, unit: UnitScores, tool: Any, data: dict[str, Any], maker: Any
) -> Any:
    start, end = _span(unit)
    first = unit.rows[0]
    action = _entity(
        crate,
        f"#run-{unit.key}",
        "CreateAction",
        name=unit.key,
        description=(
            f"ldlrepro run {unit.key.replace('/', ' ')}; folds {first.folds_sha256}, settings "
            f"{first.spec_sha256}, code {first.code_sha256}"
        ),
        startTime=_iso(start),
        endTime=_iso(end),
        actionStatus=_status(row.status == OK for row in unit.rows),
    )
    action["instrument"], action["agent"] = tool, maker
    action["object"] = data[unit.dataset]
    files = [file for path in unit.files for file in (path, predictions_path(path))]
    action["result"] = [_file(crate, path, path.as_posix()) for path in files]
    return crate.add(action)


def _span(unit: UnitScores) -> tuple[datetime, datetime]:
    spans = []
    for row in unit.rows:
        if row.started_at:
            start = datetime.fromisoformat(row.started_at)
            spans.append((start, start + timedelta(seconds=row.fit_s + row.predict_s)))
    now = datetime.now(UTC)
    starts, ends = zip(*spans, strict=True) if spans else ((now,), (now,))
    return min(starts), max(ends)


def _iso(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")


def _status(right: Iterable[bool]) -> str:
    return "http://schema.org/" + ("Completed" if all(right) else "Failed") + "ActionStatus"


KINDS = {
    ".py": "text/x-python",
    ".yaml": "application/yaml",
    ".csv": "text/csv",
    ".md": "text/markdown",
    ".html": "text/html",
    ".parquet": "application/vnd.apache.parquet",
    ".npz": "application/zip",
    ".smk": "text/plain",
    ".txt": "text/plain",
}


def _file(crate: ROCrate, path: Path, name: str, **properties: Any) -> Any:
    kind = KINDS.get(path.suffix, "text/plain")
    about = {"name": path.name, "encodingFormat": kind, **properties}
    about["contentSize"] = str(path.stat().st_size)
    return crate.add_file(path, name, properties=about)


def _entity(crate: ROCrate, identity: str, kind: str, **properties: Any) -> Any:
    from rocrate.model import ContextEntity

    return ContextEntity(crate, identity, properties={"@type": kind, **properties})
