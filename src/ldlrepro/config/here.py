"""The project of the current folder, until every stage takes a ``Project``. It will go."""

from __future__ import annotations

import os
from functools import cache

from ldlrepro.catalogue.project import OWN_FILES, ROOT, Project, from_environment


def current() -> Project:
    """Return the project of the current folder and environment."""
    project = _open(os.getcwd(), os.environ.get(ROOT), os.environ.get(OWN_FILES))
    if project.modules.folders:
        project.modules.take_turn()
    return project


@cache
def _open(folder: str, root: str | None, own_files: str | None) -> Project:
    return from_environment()
