"""The verdict line of an audit."""

from __future__ import annotations

from ldlrepro.audit import Check
from ldlrepro.audit.certificate import Extent, certificate, failures, in_words
from ldlrepro.report.html import audit_page
from tests.report_pages import PROJECT, paper


def checks(*, passed: int = 2, skipped: int = 0) -> list[Check]:
    data, tracking, reruns = (Check(name, "?") for name in ("data", "tracking", "reruns"))
    for check, seen, unseen in ((data, passed, skipped), (tracking, 0, 1), (reruns, 3, 1)):
        for number in range(seen):
            check.judge(str(number), "")
        for number in range(unseen):
            check.skip(f"unseen {number}", "a reason")
    return [data, tracking, reruns]


def extent(asked: int) -> Extent:
    records = {"present code": 1, "the same bits": 3000, "other code": 0, "changed": 2}
    return Extent("ldlrepro audit p", asked, 40, records)


def test_the_verdict_line_names_what_was_not_seen():
    found = certificate(PROJECT, [paper("p")], checks(skipped=1), extent(4))
    told = "1 not computed (a reason); not checked: data (1 of 3: a reason), tracking (a reason)"
    assert found["summary"] == f"PASS, 3 of 4 rerun; {told}"
    found = certificate(PROJECT, [paper("p")], checks(passed=0), extent(4))
    assert "not checked: data (nothing ran here), tracking (a reason)" in found["summary"]


def test_an_audit_says_how_likely_it_finds_one_altered_fold_and_what_its_records_are():
    found = certificate(PROJECT, [paper("p")], checks(), extent(3))
    assert found["reruns"]["finds_one_altered_fold"] == 3 / 40
    chance, records = in_words(found)
    assert chance.startswith("3 of 40 folds were computed again, 3 of them right. That is 7.5%")
    for told in (
        "Of 3,001 records of 1 paper, 1 were computed by the present code",
        "3,000 by earlier code that predicts the same bits, and none by other code",
        "2 come from a tree",
    ):
        assert told in records
    for sentence in (chance, records):
        assert sentence in audit_page(found, in_words(found))


def test_an_audit_of_a_unit_says_that_nothing_else_was_checked():
    asked = Extent("ldlrepro audit --unit p/d/m", 3, 3, {}, ["p/d/m"])
    (told,) = in_words(certificate(PROJECT, [paper("p")], checks(), asked))
    assert told == "Nothing but p/d/m was checked. `ldlrepro audit p` checks all."


def test_a_reason_that_keeps_many_folds_out_is_told_once_and_shortly():
    whole = checks()
    for fold in range(3):
        whole[-1].skip(f"fold {fold}", "faces is not available: https://x: cannot connect")
    told = certificate(PROJECT, [paper("p")], whole, extent(7))["summary"]
    assert "; 1 not computed (a reason); 3 not computed (faces is not available)" in told
    assert "https" not in told


def test_equal_reasons_share_a_line_that_says_what_to_type():
    whole = checks()
    for unit in range(273):
        whole[1].judge(f"p: unit {unit}", "tracked before the record changed", "ldlrepro sync p")
    whole[2].judge("fold 1", "kl is 2, not 1", "ldlrepro audit --unit a")
    assert failures(certificate(PROJECT, [paper("p")], whole, extent(4))) == [
        "tracking: p: unit 0 and 272 others: tracked before the record changed. "
        "Type `ldlrepro sync p`.",
        "reruns: fold 1: kl is 2, not 1. Type `ldlrepro audit --unit a`.",
    ]
    for fold in range(9):
        whole[0].judge(f"file {fold}", "changed", f"make {fold}")
        whole[2].judge(f"fold {fold}", f"kl is {fold}", "type")
    told = failures(certificate(PROJECT, [paper("p")], whole, extent(4)))
    assert told[0].endswith("Type `make 0` for the first; audit.html has the others.")
    assert told[-1] == "reruns: 5 more reasons are in audit.html."
