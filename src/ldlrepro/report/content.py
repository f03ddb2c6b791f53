"""Content of the report as plain data. Nothing here knows of HTML or of files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from ldlrepro.catalogue import Method, Paper, Project
from ldlrepro.core.groups import grouped

if TYPE_CHECKING:
    from pathlib import Path

    from ldlrepro.judge.answer import PaperAnswer
    from ldlrepro.judge.scores import UnitScores
    from ldlrepro.judge.verdicts import VerdictRow


@dataclass(frozen=True)
class VerdictSign:
    """Look and meaning of a verdict; the sign and the word always stand together."""

    name: str
    sign: str
    meaning: str

    @property
    def slug(self) -> str:
        return self.name.replace(" ", "-")


CLAIM_SIGNS = {"holds": "✓", "holds partly": "◐", "fails": "✗", "not tested": "○"}

VERDICT_SIGNS = {
    sign.name: sign
    for sign in (
        VerdictSign(
            "exact",
            "✔",
            "The measured mean rounds to the printed one, or to its neighbour in the last printed "
            "digit.",
        ),
        VerdictSign(
            "reproduced",
            "✓",
            "The measured mean is within 1% of the printed one, or within two standard deviations "
            "of what other seeds of the same protocol give.",
        ),
        VerdictSign(
            "near",
            "≈",
            "Not reproduced, but within one standard deviation over folds, printed or measured. "
            "Folds scatter far more than their mean does, so this says little.",
        ),
        VerdictSign(
            "better",
            "▲",
            "Not even near, on the side that the measure calls better than printed. That is not "
            "praise: the printed number was not met.",
        ),
        VerdictSign(
            "worse",
            "▼",
            "Not even near, on the side that the measure calls worse than printed; also any "
            "miss of a number that has no better side.",
        ),
        VerdictSign(
            "not run",
            "○",
            "Nothing was measured, or nothing can judge it; the note beside it says why.",
        ),
        VerdictSign(
            "quoted",
            "“",
            "The paper takes this number from other work, as it says or as its digits show; the "
            "note says from where. What was measured here is shown, not judged.",
        ),
        VerdictSign(
            "misprint",
            "≠",
            "The printed value is impossible, or an evident slip; the note gives the proof.",
        ),
    )
}

SEES_LABELS = "sees the test labels"
CONTROLS = {
    "uniform": ("Uniform", "control: floor"),
    "train_mean": ("Training mean", "control: floor"),
    "true_labels": ("True labels", "control: ceiling"),
}
"""Methods that show how low and how high a measure can go, by the titles of tables.

Other methods with the role ``control`` are diagnostics, which keep their own title and place."""

MEASURE_TITLES = {
    "chebyshev": "Chebyshev",
    "clark": "Clark",
    "canberra": "Canberra",
    "kl": "KL",
    "cosine": "Cosine",
    "intersection": "Intersection",
    "euclidean": "Euclidean",
    "sorensen": "Sørensen",
    "squared_chi2": "Squared χ²",
    "fidelity": "Fidelity",
    "zero_one_loss": "0/1 loss",
    "error_probability": "Error probability",
    "mae": "MAE",
    "cs5": "CS(5)",
    "time_s": "Time (s)",
    "train_time_s": "Training (s)",
    "test_time_s": "Test (s)",
}


def measure_title(metric: str, project: Project) -> str:
    """Return a measure's name for readers."""
    if metric.startswith("delta_"):
        return f"Δ {measure_title(metric.removeprefix('delta_'), project)}"
    if metric in project.measure_ids:
        return project.measure(metric).title
    return MEASURE_TITLES.get(metric, metric.replace("_", " "))


PHONE, LEAST = 358, 10
"""Width of a drawing on a phone, and height of its letters there, in pixels."""


@dataclass(frozen=True)
class Figure:
    """A drawing, with the numbers that it shows."""

    title: str
    image: str
    """SVG text."""
    caption: str = ""
    table: list[list[str]] = field(default_factory=list)
    """Its numbers as text, under a line of names."""
    narrow: str = ""
    """The same for a phone, where it needs another one."""

    @property
    def finding(self) -> str:
        """The first sentence of its caption, without the full stop."""
        return self.caption.partition(". ")[0].removesuffix(".")

    @property
    def further(self) -> str:
        """The rest of its caption."""
        return self.caption.partition(". ")[2]

    @property
    def is_broad(self) -> bool:
        """Tell whether letters would be too small where a phone shows all of it."""
        image = self.narrow or self.image
        width = re.search(r'viewBox="0 0 ([\d.]+)', image)
        letters = re.findall(r'font(?:-size="|-size: |: )([\d.]+)', image)
        if not (width and letters):
            return False
        return min(map(float, letters)) * PHONE < LEAST * float(width[1])


@dataclass
class PaperPage:
    """Everything the report says about one paper: what its files say, and what was judged."""

    paper: Paper
    answer: PaperAnswer
    project: Project
    figures: dict[str, Figure] = field(default_factory=dict)
    """Drawings by their file names, without ending."""

    @classmethod
    def of(cls, project: Project, answer: PaperAnswer) -> PaperPage:
        """Put what was judged of a paper beside what its files say of it."""
        return cls(project.paper(answer.paper), answer, project)

    @property
    def id(self) -> str:
        return self.paper.id

    @property
    def rows(self) -> list[VerdictRow]:
        """Return the verdicts in the order in which the paper prints the numbers."""
        return self.answer.rows

    @property
    def units(self) -> list[UnitScores]:
        return self.answer.units

    @cached_property
    def methods(self) -> dict[str, Method]:
        """Return the methods of its units by their ids; one may be no more."""
        names = dict.fromkeys(unit.method for unit in self.units)
        known = self.project
        return {name: known.method(name) for name in names if known.has_method(name)}

    def title_of(self, method: str) -> str:
        """Return a method's title, which may be its id."""
        return self.methods[method].title if method in self.methods else method

    def is_own(self, method: str) -> bool:
        """Tell whether a method is the user's own."""
        return method in self.methods and self.methods[method].is_own

    def measure(self, metric: str) -> str:
        """Return a measure's name for readers."""
        return measure_title(metric, self.project)

    @property
    def protocols(self) -> list[tuple[list[str], str]]:
        """Return each text once, with the names of the protocols that it describes."""
        protocols = self.paper.protocols
        texts = grouped(protocols, lambda name: protocols[name].text)
        return [(names, text) for text, names in texts.items()]

    @property
    def commands(self) -> list[str]:
        """Return what to type for its numbers, and for what came of them."""
        questions = [f"ldlrepro verdicts {self.id}"]
        if not self.rows:  # a comparison prints no number to judge
            questions = [f"ldlrepro leaderboard {protocol}" for protocol in self.paper.protocols]
        return [f"snakemake --cores all {self.id}", *questions]


@dataclass(frozen=True)
class Cost:
    """Time that one paper's records took."""

    paper: str
    units: int
    seconds: float
    """Wall time of fits and predictions."""

    @classmethod
    def of(cls, page: PaperPage) -> Cost:
        rows = [row for unit in page.units for row in unit.rows]
        return cls(page.id, len(page.units), sum(row.fit_s + row.predict_s for row in rows))


@dataclass
class ReportContent:
    """Everything the report shows."""

    pages: list[PaperPage]
    project: Project
    generated_at: str
    version: str
    git_commit: str
    machine: str
    further: list[tuple[Path, str]] = field(default_factory=list)
    """(file, title) of other pages that are there: notebooks."""
    written: Mapping[str, Path] = field(default_factory=dict)
    """Page about all papers, such as findings -> the file that it is written in."""
    logs: Mapping[str, Path] = field(default_factory=dict)
    """Key of a unit -> its log file, where there is one."""
    arena: Mapping[str, Path] = field(default_factory=dict)
    """Data set -> its table of the arena."""

    @property
    def costs(self) -> list[Cost]:
        return [Cost.of(page) for page in self.pages if page.units]

    @property
    def origins(self) -> dict[str, int]:
        """Return how many records there are of each origin."""
        from ldlrepro.judge.scores import origins

        return origins(self.units().values(), self.project)

    def measure(self, metric: str) -> str:
        """Return a measure's name for readers."""
        return measure_title(metric, self.project)

    def units(self) -> dict[str, UnitScores]:
        """Return each unit once, although papers may share it."""
        found: dict[str, UnitScores] = {}
        for page in self.pages:
            for unit in page.units:
                found.setdefault(unit.key, unit)
        return found
