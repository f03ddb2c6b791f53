"""One answer per paper: every score, verdict and claim, judged once and kept as a file.

The rule ``compare`` writes it. Figures, report, tracking, audit and the command line read it; none
of them judges anything itself.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, cast

from ldlrepro.core.errors import UserError
from ldlrepro.core.files import atomically
from ldlrepro.experiments import Measurement
from ldlrepro.judge.claims import ClaimRow
from ldlrepro.judge.evidence import ReadingRow
from ldlrepro.judge.persons import PersonsApart
from ldlrepro.judge.scores import UnitScores
from ldlrepro.judge.verdicts import VerdictRow


@dataclass(frozen=True)
class CurvePoint:
    """Scores of one setting in the folds that all measured settings share."""

    line: Any
    x: Any
    scores: list[float]


@dataclass(frozen=True)
class Curve:
    """A printed figure whose points are units: a measure against a parameter."""

    number: str
    title: str
    metric: str
    x: str
    """Name of the parameter on the horizontal axis."""
    line: str
    """Name of the parameter that tells lines apart, or ''."""
    points: list[CurvePoint]
    of_folds: int
    """Number of folds of a finished point."""

    @property
    def values(self) -> dict[tuple[Any, Any], list[float]]:
        """Return the scores by (line, x)."""
        return {(point.line, point.x): point.scores for point in self.points}

    def few_folds(self) -> str:
        """Return '2 of 10 folds' while some are missing."""
        folds = len(self.points[0].scores) if self.points else 0
        return f"{folds} of {self.of_folds} folds" if folds < self.of_folds else ""

    def means(self) -> dict[tuple[Any, Any], float]:
        return {point: statistics.fmean(values) for point, values in self.values.items()}


@dataclass(frozen=True)
class Photographs:
    """A set of photographs that a paper's runs use, and what was wrong with its images."""

    dataset: str
    used: int
    persons: int
    problems: list[tuple[str, int, str]]
    """(kind, number of images, meaning)."""
    table: Path
    """A line for every image."""


@dataclass(frozen=True)
class Trouble:
    """A unit that ran here and failed, or lacked something."""

    unit: str
    """Its key."""
    status: str
    errors: list[str]
    folds: int
    records: list[Path]


@dataclass(frozen=True)
class PaperAnswer:
    """All that was measured and judged of a paper: local records first, then the reference."""

    paper: str
    rows: list[VerdictRow]
    """A verdict for every printed number, in printed order."""
    units: list[UnitScores]
    claims: list[ClaimRow]
    curves: list[Curve]
    experiments: dict[str, Measurement]
    """Measurements of experiments, by their id."""
    persons: list[PersonsApart]
    """The same methods with persons kept apart."""
    photographs: list[Photographs]
    leaks: list[tuple[str, str, str]]
    """(protocol, data set, what the search for leaks found)."""
    readings: list[ReadingRow] = field(default_factory=list)
    """Readings of what the paper leaves open, and which of them its digits choose."""
    troubles: list[Trouble] = field(default_factory=list)
    own_files: list[str] = field(default_factory=list)
    """Ids of the user's own methods, data sets and measures that were known."""

    def unit(self, key: str) -> UnitScores | None:
        return next((unit for unit in self.units if unit.key == key), None)


# ---------------------------------------------------------------------- the file


@cache
def _format() -> Any:
    from pydantic import ConfigDict, TypeAdapter

    # In a tuple, for a dataclass itself takes no configuration. NaN is written as Python's json
    # writes it: as a string it would come back as one wherever a value may be anything.
    return TypeAdapter(tuple[PaperAnswer], config=ConfigDict(ser_json_inf_nan="constants"))


def answer_text(answer: PaperAnswer) -> bytes:
    """Return an answer as JSON: the same bytes whenever it says the same."""
    return bytes(_format().dump_json((answer,)) + b"\n")


def write_answer(answer: PaperAnswer, path: Path) -> None:
    """Write an answer as JSON."""
    text = answer_text(answer)
    atomically(path, lambda temporary: temporary.write_bytes(text))


def read_answer(path: Path) -> PaperAnswer:
    """Read what ``write_answer`` wrote."""
    from pydantic import ValidationError

    again = f"Remove it and give the same command again:\n  rm {path}"
    try:
        (answer,) = _format().validate_json(path.read_bytes())
    except FileNotFoundError:
        raise UserError(f"{path}: no such file. Type `ldlrepro compare PAPER` first.") from None
    except ValidationError as error:
        what = error.errors()[0]
        where = ".".join(map(str, what["loc"]))
        raise UserError(f"{path}: not an answer ({where} {what['msg']}). {again}") from None
    return cast(PaperAnswer, answer)
