"""Keeps the outcome of a task in one file, whole or not at all."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ldl.comparison.search import Found, Searched, Tried


def save(path: Path, searched: Searched, told: dict[str, Any]) -> None:
    """Write what a search found, and in JSON what else is told of it.

    Of predictions of held-out rows only those by the defaults are kept, which a longer search of
    the same task begins with.
    """
    facts = {
        "told": told,
        "tried": [[one.setting, one.loss] for one in searched.tried],
        "found": {
            kind: [found.settings, found.fit_s, found.predict_s]
            for kind, found in searched.found.items()
        },
        "search_s": searched.search_s,
        "error": searched.error,
    }
    arrays = {kind: found.P for kind, found in searched.found.items()}
    arrays |= {"facts": np.array(json.dumps(facts)), "held": searched.tried[0].held}
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    with open(part, "wb") as handle:
        np.savez(handle, **arrays)  # type: ignore[arg-type]
    part.replace(path)


def load(path: Path) -> tuple[Searched, dict[str, Any]] | None:
    """Read what ``save`` wrote; None where there is nothing."""
    if not path.is_file():
        return None
    with np.load(path, allow_pickle=False) as stored:
        facts = json.loads(str(stored["facts"]))
        tried = [
            Tried(_setting(setting), loss, np.empty((0, 0))) for setting, loss in facts["tried"]
        ]
        tried[0] = replace(tried[0], held=stored["held"])
        found = {
            kind: Found(stored[kind], [(w, _setting(s)) for w, s in settings], fit_s, predict_s)
            for kind, (settings, fit_s, predict_s) in facts["found"].items()
        }
    return Searched(tried, found, facts["search_s"], facts["error"]), facts["told"]


def _setting(read: dict[str, Any]) -> dict[str, Any]:
    """Return a setting as it was: JSON makes lists of tuples."""
    return {name: tuple(v) if isinstance(v, list) else v for name, v in read.items()}
