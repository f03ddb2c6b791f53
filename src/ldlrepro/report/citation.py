"""Citations of the project and of the papers whose numbers it holds: BibTeX from CITATION.cff.

cffconvert would write the project's own entry alone: it leaves out the references, which here are
the papers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import yaml

from ldlrepro import config

KINDS = {"article": "article", "conference-paper": "inproceedings", "software": "software"}


def entries() -> list[str]:
    """Return the BibTeX entries of the project and of the papers."""
    path = config.project_root() / "CITATION.cff"
    tree = yaml.safe_load(path.read_text(encoding="utf-8"))
    return [bibtex(entry) for entry in [tree, *tree["references"]]]


def bibtex(entry: Mapping[str, Any]) -> str:
    """Return an entry of CITATION.cff as BibTeX."""
    year = str(entry.get("year") or entry["date-released"])[:4]
    first = entry["authors"][0]
    name = first.get("family-names", entry["title"].partition(":")[0])
    authors = [a.get("family-names") or f"{{{a['name']}}}" for a in entry["authors"]]
    fields = {
        "author": " and ".join(authors),
        "title": f"{{{entry['title']}}}",
        "journal": entry.get("journal"),
        "booktitle": entry.get("conference", {}).get("name"),
        "volume": entry.get("volume"),
        "version": entry.get("version"),
        "note": entry.get("notes"),
        "year": year,
    }
    lines = [f"  {key} = {{{value}}}," for key, value in fields.items() if value]
    key = re.sub(r"\W", "", name).lower() + year
    return "\n".join([f"@{KINDS[entry['type']]}{{{key},", *lines, "}"])
