"""The files that a report consists of, and the links from one place to another.

A place has a route such as ``#/structrf/table/16``. Of one paper everything stands in one file; of
several papers each has a file of its own.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from ldlrepro.report.content import PaperPage, ReportContent


def anchor(*parts: str) -> str:
    """Return the id of a place in the report: /structrf/table/16."""
    return "/" + "/".join(parts)


def route(*parts: str) -> str:
    """Return the link to a place in the same file. It works without script as well."""
    return "#/" + quote("/".join(parts), safe="@/")


def file_link(path: Path, folder: Path) -> list[str]:
    """Return text and relative link; no link to what lies outside the run's folder."""
    if not path.absolute().is_relative_to(Path.cwd()):
        return [path.name, ""]
    return [path.name, relative(path, folder)]


def relative(path: Path, folder: Path) -> str:
    return quote(Path(os.path.relpath(path, folder)).as_posix())


def beside(front: Path) -> Path:
    """Return the folder of a report's figures, and of all its files but the front page.

    An ``index.html`` shares its folder with them, so that the folder is the whole report.
    """
    if front.name == "index.html":
        return front.parent
    return front.with_suffix("")


@dataclass(frozen=True, eq=False)
class Document:
    """A file of the report."""

    path: Path
    papers: list[PaperPage]
    """Papers whose tables and records it shows."""
    views: frozenset[str]
    """Its other views, '' for the front page's."""

    @property
    def folder(self) -> Path:
        return self.path.parent


class Documents:
    """All files of a report; knows where a route leads."""

    def __init__(self, content: ReportContent, front: Path, apart: Sequence[str]) -> None:
        """Give each paper a file, and each of the views ``apart``, if there are several papers."""
        self.front = front
        self.beside = beside(front)
        rest = frozenset(("", "about", "methods", "data", "left-out"))
        if len(content.pages) < 2:
            self.all = [Document(front, content.pages, rest.union(apart))]
        else:
            self.all = [Document(front, [], rest.union(content.written))]
            self.all += [
                Document(self.beside / f"{page.id}.html", [page], frozenset())
                for page in content.pages
            ]
            self.all += [
                Document(self.beside / f"{name}.html", [], frozenset([name])) for name in apart
            ]
        self._of_view = {view: doc for doc in self.all for view in doc.views}
        self._of_view |= {page.id: doc for doc in self.all for page in doc.papers}
        self._of_unit: dict[str, Document] = {}
        for doc in self.all:
            for unit in (unit for page in doc.papers for unit in page.units):
                self._of_unit.setdefault(unit.key, doc)
        self._own_units = {
            doc: {unit.key for page in doc.papers for unit in page.units} for doc in self.all
        }
        self._links = {
            (one, other): "" if one is other else relative(other.path, one.folder)
            for one in self.all
            for other in self.all
        }

    @property
    def site(self) -> Path | None:
        """The documentation, where the report lies inside it."""
        around = self.beside.parent
        return around if (around / "doubt.html").is_file() else None

    def link(self, here: Document, parts: Iterable[str]) -> str:
        """Return the link from a file to a place, wherever it is."""
        place = "/".join(parts)
        kind, _, name = place.partition("/")
        if kind == "record" and name:
            there = here if name in self._own_units[here] else self._of_unit[name]
        else:
            view = name.partition("/")[0] if kind == "cell" else kind
            there = self._of_view.get(view, self.all[0])
        return self._links[here, there] + route(place)
