"""Makes the folds of a protocol on a data set, whatever its scheme, and looks for leaks."""

from __future__ import annotations

from typing import Any

from ldlrepro.catalogue import DataSet, Protocol
from ldlrepro.core.errors import UserError
from ldlrepro.core.files import write_json
from ldlrepro.core.workspace import Workspace
from ldlrepro.data.dataset import Dataset, DataUnavailable
from ldlrepro.data.photographs import rows_to_compare
from ldlrepro.data.registry import load_ready, not_prepared
from ldlrepro.folds import given, leaks, parts
from ldlrepro.folds.splits import (
    Fold,
    folds_digest,
    folds_seed,
    make_folds,
    write_folds,
)


def write_protocol_folds(
    protocol: Protocol, data_set: DataSet, seed: int, workspace: Workspace
) -> str:
    """Make the folds, look for leaks, write both, and return the findings in words.

    ``seed`` is the workflow's. Where the data are not available, the file is empty and says why.
    """
    dataset = data_set.id
    meta: dict[str, object] = {"protocol": protocol.id, "dataset": dataset}
    made: list[Fold] = []
    try:
        data = load_ready(workspace.ready(dataset))
    except FileNotFoundError:
        raise not_prepared(workspace.ready(dataset)) from None
    except DataUnavailable as error:
        found: dict[str, Any] = {"available": False, "text": str(error)}
    else:
        made = protocol_folds(protocol, data_set, data, seed, workspace)
        rows = rows_to_compare(data_set, data, workspace.data)
        report = leaks.check_leaks(rows, data.D, made, data.groups)
        if report.broken:
            raise UserError(f"protocol {protocol.id} on {dataset}: {report.text()}")
        found = {"available": True, **report.to_dict()}
        meta |= {
            "data_sha256": data.fingerprint["data_sha256"],
            "folds_sha256": folds_digest(made),
            "seed": [str(part) for part in folds_seed(seed, protocol.id, dataset)],
        }
    write_folds(workspace.folds(protocol.id, dataset), made, meta)
    write_json(workspace.leaks(protocol.id, dataset), {**meta, **found})
    return f"{protocol.id} on {dataset}: {len(made)} folds; leaks: {found['text']}"


def protocol_folds(
    protocol: Protocol, data_set: DataSet, data: Dataset, seed: int, workspace: Workspace
) -> list[Fold]:
    """Return all folds. Parts that the authors of photographs made are read from the data."""
    if protocol.scheme == parts.SCHEME:
        return parts.make_folds(protocol, data_set, workspace.data)
    n, seeds, groups = len(data.D), folds_seed(seed, protocol.id, data.id), data.groups
    if published := protocol.published_folds(data.id):
        drawn = given.read_parts(published, n, protocol.count_folds())
        return make_folds(protocol, n, seeds, given=drawn)
    return make_folds(protocol, n, seeds, groups)
