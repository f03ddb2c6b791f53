"""Content of the report as plain data. Nothing here knows of HTML or of files."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ldlrepro import config
from ldlrepro.config import plugins

if TYPE_CHECKING:
    from pathlib import Path

    from ldlrepro.judge.answer import Curve, Photographs
    from ldlrepro.judge.claims import ClaimRow
    from ldlrepro.judge.persons import PersonsApart
    from ldlrepro.judge.scores import UnitScores
    from ldlrepro.judge.tallies import Tally
    from ldlrepro.judge.verdicts import VerdictRow

UnitKey = tuple[str, str, str]
"""(protocol, dataset, method)."""


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
            "The measured mean lies within the band around the printed mean. The band is the "
            "largest of the printed standard deviation, the measured standard deviation and half "
            "a unit of the last printed digit.",
        ),
        VerdictSign(
            "better",
            "▲",
            "Outside the band, on the side that the measure calls better than printed. That is no "
            "praise: the printed number was not met.",
        ),
        VerdictSign(
            "worse",
            "▼",
            "Outside the band, on the side that the measure calls worse than printed; also any "
            "miss of a number that has no better side.",
        ),
        VerdictSign("not run", "○", "Nothing was measured here; the note beside it says why."),
        VerdictSign(
            "quoted",
            "“",
            "The paper takes this number from other work, as it says or as its digits show; the "
            "note says from where. What was measured here is shown, not judged.",
        ),
        VerdictSign("misprint", "≠", "The printed value is impossible; the note gives the proof."),
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


def measure_title(metric: str) -> str:
    """Return a measure's name for readers."""
    if metric.startswith("delta_"):
        return f"Δ {measure_title(metric.removeprefix('delta_'))}"
    if metric in plugins.files("metric"):
        return str(config.load_metric(metric)["title"])
    return MEASURE_TITLES.get(metric, metric.replace("_", " "))


@dataclass(frozen=True)
class Figure:
    """A drawing, with the numbers that it shows."""

    title: str
    image: str
    """SVG text."""
    caption: str = ""
    table: list[list[str]] = field(default_factory=list)
    """Its numbers as text, under a line of names."""


@dataclass
class PaperPage:
    """Everything the report says about one paper."""

    id: str
    title: str
    authors: str
    venue: str
    year: int
    protocols: list[tuple[list[str], str]]
    """Names of protocols, and the one paragraph that says how all of them were run."""
    rows: list[VerdictRow]
    """Verdicts in the order in which the paper prints the numbers."""
    tables: dict[str, str]
    """Table id -> title."""
    units: list[UnitScores]
    leaks: list[tuple[str, str, str]] = field(default_factory=list)
    """(protocol, data set, what the leak check found)."""
    photographs: list[Photographs] = field(default_factory=list)
    figures: dict[str, Figure] = field(default_factory=dict)
    """Drawings by their file names, without ending."""
    printed_figures: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Figure number -> its entry in the paper's file."""
    curves: list[Curve] = field(default_factory=list)
    experiments: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Measurements of experiments, by their id."""
    experiment_titles: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Experiment id -> (title, how it was done)."""
    persons: list[PersonsApart] = field(default_factory=list)
    """The same methods with persons kept apart."""
    claims: list[ClaimRow] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    method_titles: Mapping[str, str] = field(default_factory=dict)
    """Method id -> name for methods that no printed row names."""
    own_methods: Mapping[str, str] = field(default_factory=dict)
    """Id -> title of the user's own methods."""
    sees_labels: Set[str] = frozenset()
    """Methods that are given the test labels, to see what a leak is worth."""
    by_print: Set[str] = frozenset()
    """Methods whose setting was chosen because it fits the print."""
    own: list[str] = field(default_factory=list)
    """Printed names of the paper's own methods."""
    group: str = ""
    """Papers of the same group are counted together."""
    synthetic: bool = False
    """A made-up paper on drawn data: shown, but never counted among the papers."""


@dataclass(frozen=True)
class Overhead:
    """Cost of one paper's units, and the share of it spent outside fit and predict."""

    paper: str
    units: int
    compute_s: float
    overhead_share: float

    @classmethod
    def of(cls, page: PaperPage) -> Overhead:
        rows = [row for unit in page.units for row in unit.rows]
        told = [row for row in rows if row.overhead_s]  # 0 where a record does not tell it
        outside = sum(row.overhead_s for row in told)
        within = sum(row.fit_s + row.predict_s for row in told)
        compute = sum(row.fit_s + row.predict_s for row in rows)
        return cls(page.id, len(page.units), compute, outside / max(outside + within, 1e-9))


@dataclass
class ReportContent:
    """Everything the report shows."""

    pages: list[PaperPage]
    generated_at: str
    version: str
    git_commit: str
    machine: str
    overhead: list[Overhead] = field(default_factory=list)
    further: list[tuple[Path, str]] = field(default_factory=list)
    """(file, title) of other pages that are there: notebooks."""
    findings: bool = False
    """Whether it shows what came out of all papers together."""
    logs: Mapping[UnitKey, Path] = field(default_factory=dict)
    """Unit -> its log file, where there is one."""

    def units(self) -> dict[UnitKey, UnitScores]:
        """Return each unit once, although papers may share it."""
        found: dict[UnitKey, UnitScores] = {}
        for page in self.pages:
            for unit in page.units:
                found.setdefault(unit.key, unit)
        return found


def own_rows(page: PaperPage) -> list[VerdictRow]:
    """Return the cells of a paper's own methods."""
    return [row for row in page.rows if row.method in page.own]


def in_words(counts: Tally) -> list[str]:
    """Return sentences that say what the verdicts of some cells are worth."""
    found = []
    if counts.met:
        found.append(
            f"The mean of the training labels misses {counts.from_mean} of the {counts.met} exact "
            "or reproduced numbers. Where the method is a forest, an ordinary forest must miss as "
            f"well, which leaves {counts.discriminating}. Only these say something about their "
            "method." + (f" For {counts.untold} this is not known." if counts.untold else "")
        )
    if counts.met_by_print:
        found.append(
            f"Of the {counts.met}, {counts.met_by_print} rest on a setting that was chosen because "
            "it fits the print, or after a look at test rows."
        )
    if counts.std_off:
        found.append(
            f"{counts.with_std} numbers have a standard deviation on both sides. In "
            f"{counts.std_off} of them one is more than twice the other, which suggests that the "
            "paper used other folds."
        )
    if counts.other_settings:
        found.append(
            f"{counts.other_settings} were measured with settings that have changed since. Run "
            "them again."
        )
    return found
