"""Ranks as drawn: a dot for each measure, printed and measured."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import replace

from ldl import metrics
from ldlrepro.catalogue import Figure
from ldlrepro.judge.scores import UnitScores
from ldlrepro.judge.verdicts import VerdictRow
from ldlrepro.report.ranks import COLOURS, rank_figure
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


def figure_of(rows, units, printed=PRINTED, project=PROJECT):
    return rank_figure(page(rows, units, "p", project=project), printed, "Ranks")


def test_a_method_has_a_dot_for_its_printed_rank_and_one_for_its_measured_rank():
    figure = figure_of(*table(8))
    root = ElementTree.fromstring(figure.image)
    dots = [dot for dot in root.iter(f"{SVG}circle") if dot.get("fill-opacity")]
    assert [dot.get("fill") for dot in dots] == [*COLOURS.values()] * 3
    printed, measured = (sorted(float(dot.get("cx")) for dot in dots[side::2]) for side in (0, 1))
    assert printed == measured == sorted({*printed})
    told = "A ranks first of 3 methods by 1 of 1 measures, in print and as measured. By 1 of 1"
    assert figure.caption.startswith(told)


def test_too_few_data_sets_for_a_test_confirm_no_lead_and_variants_are_named():
    rows, units = table(3)
    named = {"b": "b@slow"}
    rows = [replace(r, method_id=named.get(r.method_id, r.method_id)) for r in rows]
    units = [replace(u, method=named.get(u.method, u.method)) for u in units]
    figure = figure_of(rows, units)
    assert figure.further.startswith("Too few data sets to tell pairs of methods apart. ")
    assert figure.caption.endswith(" Measured: B as b@slow.")


def test_a_method_with_some_numbers_of_another_protocol_is_marked():
    rows, units = table(8)
    rows[0] = replace(rows[0], protocol="q")
    units[0] = replace(units[0], protocol="q")
    figure = figure_of(rows, units)
    assert [line[3] for line in figure.table[1:]] == ["A†", "B", "C"] * 2
    assert figure.caption.endswith(" † has numbers of the protocol q, on other splits.")


def test_ranks_that_nothing_was_measured_for_are_not_drawn():
    assert figure_of(*table(8, measured=0)) is None
