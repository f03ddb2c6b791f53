"""Runs notebooks: as pages about the results here, and for the outputs that are committed.

``python -m ldlrepro.report.notebooks`` renews the committed outputs, as a fresh clone shows them.
"""

from __future__ import annotations

import contextlib
import json
import re
import tempfile
from pathlib import Path
from typing import Any

from ldlrepro.catalogue import Paper, Project, from_environment
from ldlrepro.core import numerics
from ldlrepro.core.errors import UserError, unknown
from ldlrepro.core.files import write_text
from ldlrepro.core.workspace import Workspace

PARAMETERS = "parameters"
"""Tag of the cell that says which paper a notebook is about."""
CELL_SECONDS = 600


def names(project: Project) -> list[str]:
    """Return the names of the notebooks."""
    return sorted(path.stem for path in (project.root / "notebooks").glob("*.ipynb"))


def title(project: Project, name: str) -> str:
    """Return the first heading of a notebook."""
    cells = json.loads(_file(project, name).read_text(encoding="utf-8"))["cells"]
    return "".join(cells[0]["source"]).partition("\n")[0].removeprefix("# ")


def _file(project: Project, name: str) -> Path:
    return project.root / "notebooks" / f"{name}.ipynb"


def executed(project: Project, name: str, paper: str = "") -> Any:
    """Return a notebook with what it shows when it runs in the current folder.

    A paper's id takes the place of the one that the notebook names. Progress is not kept.
    """
    import nbformat
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    if name not in names(project):
        raise unknown("notebook", name, names(project))
    path = _file(project, name)
    book = nbformat.read(path, as_version=4)
    for cell in book.cells:
        if paper and PARAMETERS in cell.metadata.get("tags", []):
            cell.source = f'paper = "{paper}"'
    numerics.pin()  # the kernel computes as units do
    # Results and data are read from here, wherever the checkout is.
    where = {"metadata": {"path": str(Path.cwd())}}
    with tempfile.TemporaryDirectory(prefix="ldlrepro-kernel-") as folder:
        # Sockets that only this user can open; jupyter's default are open ports of this machine.
        kernel = AsyncKernelManager(kernel_name="python3", transport="ipc", ip=f"{folder}/kernel")
        # A line and its end may arrive apart: how they do says nothing.
        client = NotebookClient(
            book,
            km=kernel,
            timeout=CELL_SECONDS,
            resources=where,
            record_timing=False,
            coalesce_streams=True,
            # A kernel would warn in our log that it ends.
            extra_arguments=["--IPKernelApp.log_level=ERROR"],
        )
        try:
            client.execute()
        except CellExecutionError as error:
            said = re.sub(r"\x1b\[[0-9;]*m", "", f"{error.ename}: {error.evalue}")
            raise UserError(
                f"{path}: a cell failed: {said}. Open it with Jupyter to see where."
            ) from None
    for cell in book.cells:
        if cell.cell_type == "code":
            cell.outputs = [out for out in cell.outputs if out.get("name") != "stderr"]
    return book


def write_notebook(project: Project, name: str, paper: Paper, workspace: Workspace) -> Path:
    """Run a notebook about a paper in the current folder; return its page."""
    from nbconvert import HTMLExporter

    page, _ = HTMLExporter(embed_images=True).from_notebook_node(executed(project, name, paper.id))
    out = workspace.results / "notebooks" / f"{name}.html"
    write_text(out, page)
    return out


def main() -> None:
    """Run every notebook in an empty folder, and keep what it shows in its file."""
    import nbformat

    project = from_environment()
    for name in names(project):
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            book = executed(project, name)
        book.metadata["language_info"] = {"name": "python"}  # whichever Python ran it
        write_text(_file(project, name), nbformat.writes(book) + "\n")
        print(_file(project, name))


if __name__ == "__main__":
    main()
