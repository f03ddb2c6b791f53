"""Results on an object store: where Snakemake keeps its copies of objects.

Verbs read and write below the working folder, ``results/...`` and ``data/...``, as the rules name
them. With ``--default-storage-provider`` Snakemake takes these names for objects, fetches what a
job reads into its own folder, and looks there for what the job wrote. That folder becomes a link to
the working folder, so both use the same files.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ldlrepro.core.workspace import DATA, RESULTS


def keep_copies_here(workflow: Any) -> None:
    """Make the folder of copies a link to the working folder, where there is an object store."""
    from snakemake.exceptions import WorkflowError

    provider = workflow.storage_registry.default_storage_provider
    if provider is None:
        return
    prefix = workflow.storage_settings.default_storage_prefix or ""
    copies = Path(provider.object(prefix).local_path())
    if copies.is_symlink() and copies.resolve() == Path.cwd().resolve():
        return
    if copies.exists():
        raise WorkflowError(f"{copies}: holds other copies of objects. Remove it.")
    mine = [place for place in (RESULTS, DATA / "ready") if place.is_dir() and any(place.iterdir())]
    if mine:
        raise WorkflowError(
            f"{mine[0]}/ has results that are not on an object store, and Snakemake removes copies "
            "when it is done with them. Take an empty folder: --directory FOLDER"
        )
    copies.parent.mkdir(parents=True, exist_ok=True)
    copies.symlink_to(Path.cwd())
