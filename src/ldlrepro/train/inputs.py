"""Makes what a unit reads, where no workflow has made it: data, folds, pixels."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ldlrepro.catalogue import DataSet, Project, Protocol, Weights
from ldlrepro.core.errors import UNREADABLE, UserError
from ldlrepro.core.progress import ProgressLine, paragraph, say
from ldlrepro.core.workspace import Workspace
from ldlrepro.data.dataset import DataUnavailable
from ldlrepro.plan import Unit

HOW = "Add --inputs to make what is missing"


def global_seed(project: Project, given: int | None = None) -> int:
    """Return the given seed, else that of config.yaml."""
    return project.run.seed if given is None else given


def make_unit_inputs(project: Project, unit: Unit, seed: int, workspace: Workspace) -> None:
    """Make everything that a unit reads and that is missing: data, folds, weights, images."""
    make_inputs(project, unit.data_set, unit.protocol, seed, workspace)
    if holds_rows(workspace.ready(unit.data_set.id)):
        make_weights(project, unit.method.weights.values(), workspace)
    make_pixels_of(unit, workspace, threads=1)


def make_inputs(
    project: Project,
    data_set: DataSet,
    protocol: Protocol | None,
    seed: int,
    workspace: Workspace,
) -> None:
    """Fetch, prepare and split what is missing.

    A file that only says that the data were missing is made again.
    """
    dataset = data_set.id
    there = workspace.ready(dataset).is_file()
    if not there or not holds_rows(workspace.ready(dataset)):
        # Files that an earlier fetch has found need not be copied again.
        if not (there and is_fetched(dataset, workspace)):
            _fetch(project, data_set, workspace)
        features = data_set.features
        if features and features.weights and is_fetched(dataset, workspace):
            make_weights(project, [project.weights(features.weights)], workspace)
        _prepare(data_set, workspace)
    if protocol is not None:
        _split(data_set, protocol, seed, workspace)


def make_weights(project: Project, named: Iterable[Weights], workspace: Workspace) -> None:
    """Fetch and prepare weights that are not here yet."""
    from ldlrepro.data.weights import prepare_weights, weights_facts

    for weights in named:
        try:
            weights_facts(weights.id, workspace.data)
        except DataUnavailable:
            _fetch(project, weights, workspace)
            say(f"{weights.id}: {prepare_weights(weights, workspace.data)}")


def check_inputs(
    data_set: DataSet, protocol: Protocol | None, images: bool, workspace: Workspace
) -> None:
    """Refuse to begin without the files that a unit or an experiment reads."""
    needed = [workspace.ready(data_set.id)]
    if protocol is not None:
        needed.append(workspace.folds(protocol.id, data_set.id))
    if images:
        needed.append(workspace.pixels(data_set.id))
    for path in needed:
        if not path.is_file():
            raise UserError(f"{path}: no such file. {HOW}, or let snakemake do it all.")


def is_fetched(dataset: str, workspace: Workspace) -> bool:
    from ldlrepro.data.fetch import read_status

    try:
        return read_status(workspace.data / "raw" / dataset).available
    except UserError:  # not fetched yet
        return False


def holds_rows(ready: Path) -> bool:
    """Tell data from a file that only says why there are no data."""
    return bool(_meta(ready).get("available", True))


def why_no_rows(ready: Path) -> str:
    """Return why a prepared file holds no data; '' where it holds some."""
    meta = _meta(ready)
    return "" if meta.get("available", True) else str(meta.get("reason", "no reason is known"))


def make_pixels_of(unit: Unit, workspace: Workspace, threads: int) -> None:
    """Align the images of a unit that reads them, where that is missing."""
    from ldlrepro.data.pixels import load_pixels

    if not unit.method.needs.images:
        return
    path = workspace.pixels(unit.data_set.id)
    try:
        if path.is_file():
            load_pixels(path)
            return
    except DataUnavailable:
        pass
    if unit.data_set.layout and holds_rows(workspace.ready(unit.data_set.id)):
        _refuse_without_weights(unit)
    align(unit.data_set, workspace, threads)


def align(data_set: DataSet, workspace: Workspace, threads: int) -> Path:
    """Write a data set's aligned images as one file of pixels, with progress."""
    from ldlrepro.data.pixels import make_pixels

    line = ProgressLine(f"{data_set.id}: images aligned")
    path = make_pixels(data_set, workspace, threads, line.update)
    line.close()
    return path


def _fetch(project: Project, source: DataSet | Weights, workspace: Workspace) -> None:
    from ldlrepro.data.fetch import default_mirrors, fetch

    mirrors = default_mirrors(project)
    status = fetch(source, workspace.data, mirrors, offline=project.run.offline)
    count = len(status.files)
    found = f"here, {count} file{'s' * (count != 1)} checked"
    told = found if status.available else f"not available: {status.reason}"
    say(paragraph(f"{source.id}: {told}"))


def _prepare(data_set: DataSet, workspace: Workspace) -> None:
    from ldlrepro.data.registry import prepare

    path = prepare(data_set, workspace.data)
    if holds_rows(path):  # else the reason has been said
        say(f"{data_set.id}: {path}")


def _split(data_set: DataSet, protocol: Protocol, seed: int, workspace: Workspace) -> None:
    from ldlrepro.folds.making import write_protocol_folds

    path = workspace.folds(protocol.id, data_set.id)
    meta = _meta(path)
    made_without_rows = bool(meta) and "data_sha256" not in meta
    if not path.is_file() or (made_without_rows and holds_rows(workspace.ready(data_set.id))):
        made = write_protocol_folds(protocol, data_set, seed, workspace)
        if holds_rows(workspace.ready(data_set.id)):
            say(paragraph(made))


def _refuse_without_weights(unit: Unit) -> None:
    """Refuse before hours of alignment what the first fold would refuse after them."""
    given = unit.method.estimator().get_params()
    searched = {"weights", "random_weights"} & set(unit.method.grid)
    if searched or given.get("weights") or given.get("random_weights", True):
        return
    from ldl.deep._networks import image_network

    try:
        image_network(given["network"], (), None, None, random_weights=False, seed=0)
    except UserError as error:
        raise UserError(f"{unit.key}: {error}") from None


def _meta(path: Path) -> dict[str, Any]:
    """Return what a file says about itself. A damaged file gives {}; its reader will complain."""
    import numpy as np

    try:
        with np.load(path, allow_pickle=False) as stored:
            return dict(json.loads(str(stored["meta"])))
    except UNREADABLE:
        return {}
    except FileNotFoundError:
        return {}
