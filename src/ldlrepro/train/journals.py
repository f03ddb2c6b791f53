"""Removes finished folds that complete units no longer need."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from ldlrepro.core.workspace import Workspace


def forget_journals(complete: Mapping[str, Iterable[Path]], workspace: Workspace) -> int:
    """Remove journals of complete units, and partial files that kills left beside their records.

    ``complete`` is key of a unit -> its records. This must not happen before the judging. A unit
    with a written record may still run again, if Snakemake was killed before it registered that.
    """
    for unit, records in complete.items():
        shutil.rmtree(workspace.journal(unit), ignore_errors=True)
        for half in {path for record in records for path in record.parent.glob(".*.part")}:
            half.unlink(missing_ok=True)
    return len(complete)
