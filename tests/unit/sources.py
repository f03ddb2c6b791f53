"""A copy of both packages that digests are taken from, to be changed at will."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from ldlrepro.core import code_digest, kept_digests

SRC = Path(__file__).resolve().parents[2] / "src"


@dataclass(frozen=True)
class Sources:
    """``src/`` in a folder of its own."""

    root: Path

    def edit(self, file: str, old: str, new: str) -> None:
        """Replace text that must be there."""
        path = self.root / file
        text = path.read_text(encoding="utf-8")
        assert old in text, f"{file} does not hold {old!r}"
        path.write_text(text.replace(old, new), encoding="utf-8")
        forget()

    def append(self, file: str, text: str) -> None:
        with open(self.root / file, "a", encoding="utf-8") as handle:
            handle.write(text)
        forget()

    def rename(self, old: str, new: str) -> None:
        """Move a file and rename its module wherever it is imported."""
        (self.root / new).parent.mkdir(parents=True, exist_ok=True)
        shutil.move(self.root / old, self.root / new)
        before, after = (name.removesuffix(".py").replace("/", ".") for name in (old, new))
        named = re.compile(rf"\b{re.escape(before)}\b")
        for path in self.root.rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            path.write_text(named.sub(after, text), encoding="utf-8")
        forget()


def copied(folder: Path, monkeypatch) -> Sources:
    """Copy the sources into ``folder`` and let digests be taken from there."""
    root = folder / "src"
    shutil.copytree(SRC, root, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    monkeypatch.setattr(code_digest, "SOURCES", root)
    forget()
    return Sources(root)


def forget() -> None:
    """Drop what was read of the sources."""
    code_digest._read.cache_clear()
    code_digest._template.cache_clear()
    kept_digests._kept.cache_clear()
    kept_digests._sources.cache_clear()
