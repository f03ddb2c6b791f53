"""Citations of the project and of the papers whose numbers it holds: BibTeX from CITATION.cff.

cffconvert would write the project's own entry alone: it leaves out the references, which here are
the papers.
"""

from __future__ import annotations

import re
import subprocess
import unicodedata
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import yaml

from ldlrepro.catalogue import Project

KINDS = {"article": "article", "conference-paper": "inproceedings", "software": "software"}


def entries(project: Project, titles: Collection[str] = ()) -> list[str]:
    """Return the BibTeX entries of the project and of the papers, or of those with the titles."""
    tree = _read(project)
    papers = [one for one in tree["references"] if not titles or one["title"] in titles]
    return [bibtex(entry) for entry in [_commit(project.root) | tree, *papers]]


def _commit(root: Path) -> dict[str, str]:
    """Return the year and the name of a checkout's last commit; nothing outside git."""
    command = ["git", "log", "-1", "--format=%cs %h"]
    try:
        told = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return {}
    date, commit = told.split()
    return {"date-released": date, "notes": f"commit {commit}"}


def addresses(project: Project) -> dict[str, str]:
    """Return where each paper can be read, by its title."""
    found = {}
    for entry in _read(project)["references"]:
        doi = entry.get("doi")
        found[entry["title"]] = f"https://doi.org/{doi}" if doi else entry["url"]
    return found


def _read(project: Project) -> dict[str, Any]:
    text = (project.root / "CITATION.cff").read_text(encoding="utf-8")
    return dict(yaml.safe_load(text))


def bibtex(entry: Mapping[str, Any]) -> str:
    """Return an entry of CITATION.cff as BibTeX."""
    year = str(entry.get("year") or entry.get("date-released", ""))[:4]
    first = entry["authors"][0]
    name = first.get("family-names", entry["title"].partition(":")[0])
    fields = {
        "author": " and ".join(map(_author, entry["authors"])),
        "title": f"{{{entry['title']}}}",
        "journal": entry.get("journal"),
        "booktitle": entry.get("conference", {}).get("name"),
        "volume": entry.get("volume"),
        "pages": f"{entry['start']}--{entry['end']}" if "start" in entry else None,
        "version": entry.get("version"),
        "note": entry.get("notes"),
        "year": year,
        "doi": entry.get("doi"),
        "url": entry.get("url"),
    }
    lines = [f"  {key} = {{{value}}}," for key, value in fields.items() if value]
    words = dict.fromkeys([_letters(name), year, _letters(_first_word(entry["title"]))])
    key = "".join(words)
    return "\n".join([f"@{KINDS[entry['type']]}{{{key},", *lines, "}"])


def _author(author: Mapping[str, str]) -> str:
    """Return a person as BibTeX reads one, family name first; a group in braces."""
    if "name" in author:
        return f"{{{author['name']}}}"
    return ", ".join(author[part] for part in ("family-names", "given-names") if part in author)


def _first_word(title: str) -> str:
    """Return the first word that tells something."""
    words = [word for word in title.split() if word.lower() not in ("a", "an", "the", "on")]
    return words[0]


def _letters(text: str) -> str:
    """Return the letters of a text without accents, as keys of BibTeX need them."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"\W", "", plain).lower()
