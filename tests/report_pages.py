"""Answers and pages of a report about nothing, for tests of how they are written."""

import base64
import gzip
import json
from pathlib import Path
from typing import Any

from ldlrepro.catalogue import Paper, Project
from ldlrepro.experiments import MeasuredCell, MeasuredTable, Measurement, Provenance
from ldlrepro.judge.answer import PaperAnswer
from ldlrepro.judge.scores import UnitScores
from ldlrepro.judge.verdicts import JUDGED, VerdictRow
from ldlrepro.report.content import PaperPage, ReportContent
from ldlrepro.train.records import FoldRow

PROJECT = Project.open(Path(__file__).parents[1])
"""The checkout that the tests lie in."""


def fold(number: int, **changes: object) -> FoldRow:
    values = {"status": "ok", "params": {"depth": 5 + number, "trees": 50, "random_state": number}}
    return FoldRow("cv", "toy", "rf", 0, number, **{**values, **changes})


def unit(method: str = "rf", dataset: str = "toy", protocol: str = "cv", **changes) -> UnitScores:
    values = {
        "rows": [fold(0), fold(1)],
        "scores": {"kl": [0.10, 0.12], "cosine": [0.9, 0.8]},
        "source": "local",
    }
    return UnitScores(protocol, dataset, method, **{**values, **changes})


def measured(names: tuple[str, str, str], scores: dict, source="local", **of_rows) -> UnitScores:
    """A unit by its protocol, data set and method, whose folds have these scores."""
    count = len(next(iter(scores.values())))
    rows = [FoldRow(*names, 0, number, "ok", **of_rows) for number in range(count)]
    return UnitScores(*names, rows, scores, source)


def cell(verdict: str = "reproduced", metric: str = "kl", **changes) -> VerdictRow:
    values = {
        "paper": "demo",
        "table": "1",
        "dataset": "toy",
        "setting": "",
        "method": "RF",
        "metric": metric,
        "printed": "0.110",
        "printed_std": "0.010",
        "better": "lower",
        "verdict": verdict,
    }
    if verdict in JUDGED:
        values |= {
            "measured": 0.11123456789,
            "measured_std": 0.0141,
            "n_folds": 2,
            "expected_folds": 2,
            "difference": 0.0112,
            "band": 0.0141,
            "source": "local",
            "protocol": "cv",
            "method_id": "rf",
            "unit_dataset": "toy",
        }
    return VerdictRow(**{**values, **changes})


def measurement() -> Measurement:
    about = {"toy": "f"}, {"numpy": "2"}, {"cpu": "x"}
    made = Provenance("2026-01-01", 1.5, "abc", "d", "e", *about)
    cell = MeasuredCell("toy", "", "RF", "time_s", 1.0, None, 4)
    table = MeasuredTable("times", ["a", "b"], [["x", 1]])
    return Measurement("demo", "times", {"rows": 60.0}, [cell], [table], {"5": [1, "a"]}, made)


def answer(paper: str = "demo", **changes) -> PaperAnswer:
    values = {
        "rows": [],
        "units": [],
        "claims": [],
        "curves": [],
        "experiments": {},
        "persons": [],
        "photographs": [],
        "leaks": [],
    }
    return PaperAnswer(paper, **{**values, **changes})


def paper(name: str = "demo", **changes) -> Paper:
    """A paper about nothing."""
    protocol = {"scheme": "kfold", "folds": 2, "text": "Two folds."}
    tree = {
        "title": "A demonstration",
        "authors": "A. Author",
        "venue": "Nowhere",
        "year": 2020,
        "protocols": {"folds": protocol},
        "datasets": [],
        "methods": {},
        "tables": {"1": {"title": "one measure"}},
    }
    made = Paper.model_validate({**tree, **changes})
    return made.placed(name, PROJECT.root / "papers" / name / "paper.yaml", PROJECT)


def page(
    rows: list[VerdictRow] | None = None,
    units: list[UnitScores] | None = None,
    name: str = "demo",
    figures: dict[str, Any] | None = None,
    measured: dict[str, Any] | None = None,
    project: Project = PROJECT,
    **changes,
) -> PaperPage:
    """A page; changes are keys of the paper's file, or fields of its answer."""
    of_paper = {key: value for key, value in changes.items() if key in Paper.model_fields}
    told = {
        "rows": [cell()] if rows is None else rows,
        "units": [unit()] if units is None else units,
        "experiments": measured or {},
    }
    told |= {key: value for key, value in changes.items() if key not in of_paper}
    return PaperPage(paper(name, **of_paper), answer(name, **told), project, figures or {})


def content(*pages: PaperPage, **changes) -> ReportContent:
    values = {"generated_at": "2026-01-01", "version": "0.1.0", "git_commit": "abc", "machine": "m"}
    return ReportContent(list(pages) or [page()], PROJECT, **{**values, **changes})


def packed_in(html: str, name: str) -> Any:
    """Unpack what a report holds as JSON packed by gzip: 'board-data' or 'record-data'."""
    text = html.partition(f'id="{name}">')[2].partition("</script>")[0]
    return json.loads(gzip.decompress(base64.b64decode(text)))
