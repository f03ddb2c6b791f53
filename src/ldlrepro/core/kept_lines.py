"""Keeps results of earlier runs, one line of JSON each, so that an interrupted run goes on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any


class KeptLines:
    """Results by their keys, in a file that gets one line for each."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: dict[str, Mapping[str, Any]] = {}
        if path.is_file():
            for line in path.read_text(encoding="utf-8").splitlines():
                with suppress(ValueError, KeyError, TypeError):  # what a kill left of a line
                    read = json.loads(line)
                    self.lines[read["key"]] = read

    def load(self, key: str) -> Mapping[str, Any] | None:
        return self.lines.get(key)

    def save(self, key: str, **values: Any) -> None:
        self.lines[key] = {"key": key, **values}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path, "a", encoding="utf-8") as handle:
            # The newline comes first: a kill may have left half a line.
            handle.write("\n" + json.dumps(self.lines[key]))
