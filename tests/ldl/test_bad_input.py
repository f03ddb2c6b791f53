"""Input that no fit could use is refused in one line that names the argument.

The bases look at input, so that an estimator of each stands for all; test_drawn_input.py gives each
estimator some of it, and the rules of `ldl.checks` more: tests/unit/test_contract.py.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from ldl.checks import sample
from tests.ldl.estimators import cheap, images

BASES = ("AAKNN", "RFRegression", "DFLDL")
"""One on the base itself, one whose rows have weights, and one that wraps another."""
Spoil = Callable[[Any, Any], tuple[Any, Any]]


def text(values: np.ndarray) -> list[list[str]]:
    return [["high" if value > 0.5 else "low" for value in row] for row in values]


def one(values: np.ndarray, value: Any) -> np.ndarray:
    values = values.astype(object if isinstance(value, str) else values.dtype)
    values[3, 1] = value
    return values


BAD_LABELS: dict[str, tuple[Spoil, str]] = {
    "none": (lambda X, D: (X, None), "D is None: fit requires y"),
    "classes": (
        lambda X, D: (X, D.argmax(axis=1)),
        r"D must have shape \(rows, labels >= 2\), got \(24,\)",
    ),
    "words": (lambda X, D: (X, text(D)), "D must hold label degrees as numbers: got text"),
    "a word": (
        lambda X, D: (X, one(D, "most")),
        "D must hold label degrees as numbers: could not convert string to float: 'most'",
    ),
    "ragged": (lambda X, D: (X, [[0.5, 0.5]] * 23 + [[1.0]]), "D must hold label degrees"),
    "sums": (lambda X, D: (X, one(D, 1.5)), r"row 3 of D sums to [12]\.\d+, not to 1"),
    "percent": (lambda X, D: (X, 100 * D), r"row \d+ of D sums to 100, not to 1"),
    "complex": (lambda X, D: (X, D + 0j), "D holds complex numbers"),
    "sparse": (
        lambda X, D: (X, sparse.csr_array(D)),
        r"D must be dense, got a sparse matrix; write D\.toarray\(\)",
    ),
}
BAD_FEATURES: dict[str, tuple[Spoil, str]] = {
    "none": (lambda X, D: (None, D), "X is None"),
    "one axis": (
        lambda X, D: (X[:, 0], D),
        r"X must have shape \(rows, features >= 1\), got \(24,\)\. Reshape your data",
    ),
    "no rows": (lambda X, D: (X[:0], D[:0]), r"X has 0 sample\(s\)"),
    "numbers as text": (
        lambda X, D: (X.astype(str), D),
        r"X must hold features as numbers: got text, such as '\d",
    ),
    "a column of words": (
        lambda X, D: (pd.DataFrame(X).assign(kind="a").rename(columns=str), D),
        "X must hold features as numbers: could not convert string to float: 'a'",
    ),
    "ragged": (lambda X, D: ([[1.0, 2.0]] * 23 + [[1.0]], D), "X must hold features as numbers"),
    "nan in a sparse table": (
        lambda X, D: (sparse.csr_array(one(X, np.nan)), D),
        "X contains NaN or infinity",
    ),
    "complex": (lambda X, D: (X + 0j, D), "X holds complex numbers"),
    "mixed names": (
        lambda X, D: (pd.DataFrame(X, columns=["a", "b", "c", 1, 2, 3]), D),
        "X has column names of mixed types",
    ),
}


def refused(call: Callable[[], Any], message: str) -> str:
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        call()
    return str(caught.value)


def in_one_line(said: str) -> None:
    assert "\n" not in said
    assert len(said) <= 250


@pytest.mark.parametrize("name", BASES)
@pytest.mark.parametrize("bad", BAD_LABELS)
def test_bad_labels(name, bad):
    spoil, message = BAD_LABELS[bad]
    spoilt = spoil(*sample(n=24))
    in_one_line(refused(lambda: cheap(name).fit(*spoilt), message))


@pytest.mark.parametrize("name", BASES)
@pytest.mark.parametrize("bad", BAD_FEATURES)
def test_bad_features(name, bad):
    spoil, message = BAD_FEATURES[bad]
    spoilt = spoil(*sample(n=24))
    in_one_line(refused(lambda: cheap(name).fit(*spoilt), message))


@pytest.mark.parametrize("name", BASES)
def test_bad_features_of_new_rows(name):
    X, D = sample(n=24)
    model = cheap(name).fit(X, D)
    for bad, (spoil, message) in BAD_FEATURES.items():
        if bad not in ("no rows", "a column of words"):
            spoilt = spoil(X, D)[0]
            in_one_line(refused(lambda spoilt=spoilt: model.predict(spoilt), message))
    in_one_line(refused(lambda: model.predict(X[:0]), r"X has 0 sample\(s\)"))
    said = refused(lambda: model.predict(X[:, :5]), "X has 5 features")
    assert "is expecting 6 features as input: those that fit saw" in said
    in_one_line(said)


def test_other_columns_than_fit_saw():
    X, D = sample(n=24)
    frame = pd.DataFrame(X, columns=[f"f{k}" for k in range(6)])
    model = cheap("AAKNN").fit(frame, D)
    for columns, wanted in (
        (["f1", "f0", *frame.columns[2:]], ["Feature names must be in the same order as"]),
        (["g0", *frame.columns[1:]], ["unseen at fit time:\n- g0\n", "now missing:\n- f0\n"]),
        (frame.columns[:5], ["seen at fit time, yet now missing:\n- f5\n"]),
        ([f"g{k}" for k in range(6)], ["- g4\n- ...\n"]),
    ):
        other = frame.iloc[:, : len(columns)].set_axis(list(columns), axis=1)
        said = refused(lambda other=other: model.predict(other), "^The feature names should")
        for part in wanted:
            assert part in said


def test_unknown_parameters():
    refused(lambda: cheap("DRF").set_params(no_such=1), "Invalid parameter 'no_such' for .*DRF")


# ---------------------------------------------------------------------- images


@pytest.mark.skipif(not find_spec("torch"), reason="torch is not installed")
def test_bad_images():
    X, D = images(6)
    model = cheap("DLDL").fit(X, D)
    for spoilt, message in (
        (X / 255, "X must hold grey levels from 0 to 255 as uint8, got float64"),
        (X[..., 0], r"X must hold images, .*, got \(6, 8, 8\)"),
        (X[:, 0, 0], r"X must hold images, .*, got \(6, 3\)"),
        (X.tolist(), "X must"),
        (None, "X "),
        ([["a", "b"]] * 6, "X must"),
    ):
        in_one_line(refused(lambda spoilt=spoilt: cheap("DLDL").fit(spoilt, D), message))
        in_one_line(refused(lambda spoilt=spoilt: model.predict(spoilt), message))
    said = refused(lambda: model.predict(X[:, :, :7]), "X has images of 8 x 7 pixels")
    assert "fit saw 8 x 8" in said
    in_one_line(said)
    for bad, (spoil, message) in BAD_LABELS.items():
        if "24" not in message and bad != "ragged":  # of other lengths
            spoilt = spoil(X, np.full((6, 4), 0.25))
            in_one_line(refused(lambda spoilt=spoilt: cheap("DLDL").fit(*spoilt), message))
