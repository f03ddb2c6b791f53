"""Folds that somebody else has drawn: read from a small table, refused with a clear line."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from ldlrepro import cli
from ldlrepro.core.errors import UserError
from ldlrepro.core.workspace import Workspace
from ldlrepro.folds.given import read_parts, write_parts
from ldlrepro.folds.splits import folds_digest, folds_seed, read_folds
from tests.unit.protocols import make_folds

SEED = folds_seed(2026, "tiny", "toy")
KFOLD = {"scheme": "kfold", "folds": 3, "repeats": 2}
SPLITS = {"scheme": "shuffle_split", "repeats": 4, "train_share": 0.7}


@pytest.mark.parametrize("protocol", [KFOLD, SPLITS, {**KFOLD, "validation": "next_fold"}])
def test_written_folds_read_back_as_the_same_folds(protocol, tmp_path):
    made = make_folds(protocol, 20, SEED)
    path = tmp_path / "folds.csv"
    write_parts(path, made)
    again = make_folds(protocol, 20, SEED, given=read_parts(path, 20, len(made)))
    assert folds_digest(again) == folds_digest(made)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("row,fould\n0,1\n", "no column 'fold'. Did you mean 'fould'?"),
        ("row,fold\n0,0\n9,1\n", "line 3: row 9, but the data set has 9 rows, 0 to 8"),
        ("row,fold\n0,0\n1,x\n", "line 3: not whole numbers: '0', 'x', '1'"),
        ("row,fold\n0,0\n-1,1\n", "line 3: not whole numbers"),
        ("row,fold\n0,0\n0,0\n1,1\n", "row 0 stands twice in repeat 0, fold 0"),
        ("row,fold\n0,0\n1,1\n2,2\n", "3 folds, but the protocol has 2"),
    ],
)
def test_a_table_that_cannot_be_is_refused_with_its_line(text, said, tmp_path):
    path = tmp_path / "folds.csv"
    path.write_text(text)
    with pytest.raises(UserError, match=r"folds\.csv") as error:
        read_parts(path, 9, 2)
    assert said in str(error.value)


def test_the_folds_of_a_protocol_are_those_of_its_table(ready):
    """From the paper's file to the folds that training reads, and the rule that makes them."""
    rows = np.random.default_rng(0).permutation(60)
    lines = [f"{row},{place % 4}" for place, row in enumerate(rows)]
    ready.write("papers/tiny/toy_folds.csv", "\n".join(["row,fold", *lines]) + "\n")
    ready.edit("papers/tiny/paper.yaml", "folds: 4,", "folds: 4, given: {toy: toy_folds.csv},")
    assert cli.main(["folds", "tiny", "toy"]) == 0
    folds, _ = read_folds(Workspace().folds("tiny", "toy"))
    assert [fold.test.tolist() for fold in folds] == [sorted(rows[start::4]) for start in range(4)]
    for fold, following in zip(folds, [*folds[1:], folds[0]], strict=True):
        assert fold.validation.tolist() == following.test.tolist()
    declared = ready.rules().published_folds
    assert declared(SimpleNamespace(protocol="tiny", dataset="toy")) == [
        "papers/tiny/toy_folds.csv"
    ]
    assert declared(SimpleNamespace(protocol="tiny", dataset="movie")) == []
