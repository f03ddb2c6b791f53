"""Earlier code that predicts the same bits counts as that of today."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import replace

import pytest

from ldlrepro.audit.consistency import current_digests, differing
from ldlrepro.catalogue import digests
from ldlrepro.judge.scores import origins
from ldlrepro.train.unit import run_unit
from tests.site_pages import ROOT

KEY = "tiny/toy/near@grid"
EARLIER, OTHER = "e" * 64, "0" * 64


@pytest.fixture
def known(ready):
    """A unit that ran here, and the digest of its code, of which the project knows earlier code."""
    run_unit(ready.job("near@grid"))
    measured = ready.judge.local_units([ready.judge.plan.unit_of(KEY)])[KEY]
    today = digests.method_digest(ready.project.method(measured.method))
    ready.write(digests.SAME_BITS, json.dumps({today: [EARLIER]}))
    digests.codes_with_the_same_bits.cache_clear()
    yield measured, today
    digests.codes_with_the_same_bits.cache_clear()


def by(measured, code):
    return replace(measured, rows=[replace(row, code_sha256=code) for row in measured.rows])


def test_an_audit_takes_records_of_code_with_the_same_bits(known, ready):
    measured, today = known
    expected = current_digests(ready.plan.unit_of(measured.key), ready.project)
    for code, said in ((today, []), (EARLIER, []), (OTHER, ["code"])):
        found = differing(by(measured, code).rows[0], expected)
        assert [name for name in found if name == "code"] == said


def test_records_are_counted_by_the_code_that_computed_them(known, ready):
    measured, today = known
    units = [by(measured, code) for code in (today, EARLIER, EARLIER, OTHER)]
    units.append(replace(measured, method="gone"))
    assert list(origins(units, ready.project).values())[:3] == [1, 2, 2]


def test_code_is_listed_where_all_methods_of_it_predict_the_same_bits(tmp_path):
    place = importlib.util.spec_from_file_location("fit_digests", ROOT / "tools/fit_digests.py")
    tool = importlib.util.module_from_spec(place)
    place.loader.exec_module(tool)
    path = tmp_path / "same_bits.json"
    a, b, failed = "a" * 64, "b" * 64, "ValueError"
    first = [(("1", a), ("2", a)), (("1", b), ("2", b)), (("x", a), ("y", a)), (("x", a), ("y", b))]
    tool.renew(path, [*first, (("e", failed), ("f", failed)), (("s", a), ("s", a))])
    assert json.loads(path.read_text()) == {"2": ["1"]}
    tool.renew(path, [(("2", a), ("3", a))])
    assert json.loads(path.read_text()) == {"3": ["1", "2"]}
