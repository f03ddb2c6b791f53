"""Bands over fold seeds: what they explain, and what is too good to be true."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from ldl import metrics
from ldlrepro.audit.consistency import Scope, check_too_good
from ldlrepro.catalogue import Project
from ldlrepro.core.workspace import Workspace
from ldlrepro.judge.bands import Band, bands_of, too_good, with_bands
from ldlrepro.judge.judging import Judge
from ldlrepro.judge.scores import LOCAL, UnitScores
from ldlrepro.judge.verdicts import VerdictRow
from ldlrepro.plan import Plan
from ldlrepro.train.records import FoldRow
from tests.unit.judged import with_protocols

SPREAD = (0.040, 0.041, 0.042, 0.043, 0.044, 0.041, 0.042, 0.043, 0.042, 0.042)


PROTOCOLS = with_protocols(paper={}, paper_seeds={"repeats_of": "paper"})


def unit(protocol: str, method: str, means: tuple[float, ...], folds: int = 2) -> UnitScores:
    """Folds of a seed lie .01 around its mean."""
    rows, values = [], []
    for repeat, mean in enumerate(means):
        for fold in range(folds):
            rows.append(FoldRow(protocol, "faces", method, repeat, fold, "ok"))
            values.append(mean + 0.01 * (fold - (folds - 1) / 2))
    return UnitScores(protocol, "faces", method, rows, dict.fromkeys(metrics.BETTER, values), LOCAL)


def printed(value: str, method: str = "knn", metric: str = "kl") -> VerdictRow:
    row = VerdictRow(
        "p", "1", "faces", "", "kNN", metric, value, "", "lower", "worse", method_id=method
    )
    return dataclasses.replace(row, protocol="paper", unit_dataset="faces")


def seeds(*methods: str) -> list[UnitScores]:
    return [unit("paper_seeds", method, SPREAD) for method in methods]


def test_a_band_is_made_of_the_means_over_the_folds_of_each_seed() -> None:
    (band,) = [b for b in bands_of(seeds("knn"), PROTOCOLS)["paper", "faces"] if b.measure == "kl"]
    assert (band.low, band.high) == (pytest.approx(0.040), pytest.approx(0.044))
    assert len(band.means) == len(SPREAD)


@pytest.mark.parametrize(
    ("value", "outside"), [("0.041", False), ("0.0444", True), ("0.0395", True), ("0.04", False)]
)
def test_a_printed_number_is_inside_if_a_number_that_rounds_to_it_is(value, outside) -> None:
    (row,) = with_bands([printed(value)], bands_of(seeds("knn"), PROTOCOLS))
    assert row.outside_seeds is outside


def test_another_seed_looks_too_good_as_rarely_as_promised() -> None:
    lot = np.random.default_rng(0)
    draws = lot.normal(size=(20000, 11))
    alarms = np.mean([Band("m", "kl", tuple(d[:10]), 1.0).too_good(d[10]) for d in draws[:4000]])
    assert alarms < 0.004


def test_the_audit_refuses_a_unit_that_is_better_than_its_seeds(monkeypatch) -> None:
    leaking = unit("paper", "knn", (0.002,))
    honest = unit("paper", "knn@wide", (0.042,))
    scope = Scope(Judge(Plan(PROTOCOLS), Workspace(*2 * ["x"])), [], 1, "")
    every = [leaking, honest, *seeds("knn", "knn@wide")]
    scope.__dict__["chosen"] = {scored.key: scored for scored in every}
    check = check_too_good(scope)
    assert check.passed == ["paper/faces/knn@wide"]
    (remark,) = check.failed
    assert remark.subject == "paper/faces/knn"
    assert "kl" in remark.text
    assert "cosine" not in remark.text  # lower is no better there
    assert too_good(honest, bands_of(seeds("knn@wide"), PROTOCOLS)) == ""


def test_a_mean_over_seeds_stands_beside_the_deviation_over_folds_of_the_same_runs():
    project = Project.open()
    judge = Judge(Plan(project), Workspace(Path("nowhere/results"), Path("nowhere/data")))
    rows = judge.anew(project.paper("mslp")).rows
    seen = [row for row in rows if row.seeds and (row.method, row.metric) == ("CCA", "kl")]
    assert seen
    for row in seen:
        repeated = [name for name, one in project.protocols.items() if one.noise_of == row.protocol]
        (unit,) = [
            unit
            for unit in judge.reference.of(repeated)
            if (unit.dataset, unit.method) == (row.unit_dataset, row.method_id)
        ]
        by_seed = np.reshape(unit.values("kl"), (row.seeds, -1))
        assert row.measured == pytest.approx(by_seed.mean())
        assert row.measured_std == pytest.approx(by_seed.std(axis=1, ddof=1).mean())
