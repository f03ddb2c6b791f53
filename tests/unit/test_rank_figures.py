"""Critical-difference diagrams: what is on them, and what stands there instead."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pandas as pd

from ldl import metrics
from ldlrepro.catalogue import Figure
from ldlrepro.judge.scores import UnitScores
from ldlrepro.judge.significance import Ranking
from ldlrepro.judge.verdicts import VerdictRow
from ldlrepro.report.ranks import BAR, WIDTH, bars_of, rank_figure
from tests.report_pages import PROJECT, measured, page

SVG = "{http://www.w3.org/2000/svg}"
PRINTED = Figure(title="ranks", ranks="6")


def row(dataset: str, method: str, printed: float, **changes) -> VerdictRow:
    metric = changes.pop("metric", "kl")
    fields = ("p", "6", dataset, "", method, metric, str(printed), "", metrics.BETTER[metric])
    known = {"protocol": "p", "method_id": method.lower(), "unit_dataset": dataset}
    return VerdictRow(*fields, **{"verdict": "reproduced", **known, **changes})


def unit(dataset: str, method: str, value: float, protocol: str = "p") -> UnitScores:
    return measured((protocol, dataset, method), {"kl": [value] * 2})


def table(count: int, methods=("A", "B", "C"), measured: int | None = None):
    """Methods in this order on every data set; ``measured`` of the data sets were run."""
    rows = [
        row(f"d{i}", m, n * (1 + 0.1 * i) + 0.1)
        for i in range(count)
        for n, m in enumerate(methods)
    ]
    units = [
        unit(r.unit_dataset, r.method_id, float(r.printed))
        for r in rows
        if int(r.dataset[1:]) < (count if measured is None else measured)
    ]
    return rows, units


def bars(image: str) -> list[tuple[float, float]]:
    """Both ends of each bar."""
    lines = ElementTree.fromstring(image).iter(f"{SVG}polyline")
    places = [line.get("points").split() for line in lines if line.get("stroke") == BAR]
    return [tuple(float(point.split(",")[0]) for point in line) for line in places]


def figure_of(rows, units, printed=PRINTED, project=PROJECT):
    return rank_figure(page(rows, units, "p", project=project), printed, "Ranks")


def test_bars_join_what_does_not_differ_and_nothing_else():
    """A is first everywhere; B and C take turns."""
    rows, units = table(8, ("A", "B", "C"))
    for i in range(0, 8, 2):
        b, c = rows[3 * i + 1], rows[3 * i + 2]
        rows[3 * i + 1], rows[3 * i + 2] = (
            row(b.dataset, "B", float(c.printed)),
            row(c.dataset, "C", float(b.printed)),
        )
    ((first, second),) = bars(figure_of(rows, units).image)
    assert first == second < WIDTH / 2  # both at rank 2.5, on the printed side


def test_bars_are_the_longest_stretches_of_neighbours_in_which_no_two_differ():
    p = pd.DataFrame(0.01, index=list("ABCD"), columns=list("ABCD"))
    for one, other in ("AB", "BC", "CD", "AD"):
        p.loc[one, other] = p.loc[other, one] = 0.5
    ranks = dict(zip("ABCD", (1.0, 2.0, 3.0, 4.0), strict=True))
    # A and D do not differ either, but a bar from one to the other would cross C, which A beats.
    joined = bars_of(Ranking(ranks, (), friedman=0.0, p=p))
    assert joined == [list(bar) for bar in ("AB", "BC", "CD")]
    p.loc["A", "C"] = p.loc["C", "A"] = 0.5
    assert bars_of(Ranking(ranks, (), friedman=0.0, p=p)) == [list("ABC"), list("CD")]
    assert bars_of(Ranking(ranks, (), friedman=0.0, p=p * 0)) == []
