"""Own files of the current folder's project, until every stage takes a ``Project``. It will go."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ldlrepro.catalogue.own_files import DECISIVE_KEY as DECISIVE_KEY
from ldlrepro.catalogue.own_files import PAPER as PAPER
from ldlrepro.catalogue.own_files import absolute as absolute
from ldlrepro.catalogue.own_files import id_of as id_of
from ldlrepro.catalogue.own_files import kind_of as kind_of
from ldlrepro.catalogue.project import OWN_FILES
from ldlrepro.config.here import current


def announce(run: Mapping[str, Any]) -> None:
    """Tell this process, and all that it starts, where the own files of a run are."""
    listed = run.get("own_files", [])
    listed = [listed] if isinstance(listed, str) else listed
    known = [*filter(None, os.environ.get(OWN_FILES, "").split(os.pathsep))]
    paths = [*known, *(str(absolute(path)) for path in listed)]
    if paths:
        os.environ[OWN_FILES] = os.pathsep.join(dict.fromkeys(paths))


def files(kind: str) -> dict[str, Path]:
    """Return id -> YAML file of everything of this kind that is the user's own."""
    return {name: file.path for name, file in current().own.found[kind].items()}


def beside_papers(kind: str) -> set[str]:
    """Return the ids that are known only because their files lie in the folder of a paper."""
    return {name for name, file in current().own.found[kind].items() if file.of_paper}


def folders() -> set[Path]:
    """Return the folders that hold own files."""
    return set(current().own.folders)
