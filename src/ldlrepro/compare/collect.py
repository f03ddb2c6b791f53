"""Gathers what units left behind: rows, scores and where they came from."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ldlrepro.runs.records import FoldRow

LOCAL, REFERENCE = "local", "reference"


@dataclass(frozen=True)
class UnitScores:
    """All folds of one (protocol, dataset, method), scored."""

    protocol: str
    dataset: str
    method: str
    rows: list[FoldRow]
    """Every fold, failed ones too, ordered by (repeat, fold)."""
    scores: dict[str, list[float]]
    """Measure name -> value per row of ``rows``; NaN where the fold has no prediction."""
    source: str
    """'local' (results/) or 'reference' (reference/)."""
    files: list[Path] = field(default_factory=list)
    """The record files, for links and artifacts."""

    @property
    def key(self) -> tuple[str, str, str]:
        return (self.protocol, self.dataset, self.method)
