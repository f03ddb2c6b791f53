"""Stored tensors of ONNX files: read without the package, and nothing run."""

from __future__ import annotations

import numpy as np
import pytest

from ldlrepro.data.onnx_tensors import OnnxError, onnx_tensors
from tests.onnx_files import field, model, number_field, tensor, varint

KERNEL = np.arange(24, dtype=np.float32).reshape(2, 3, 2, 2)
BIAS = np.array([0.5, -1.0], np.float32)


@pytest.mark.parametrize("packed", [False, True])
def test_tensors_come_back_by_name_and_in_order(packed: bool) -> None:
    found = onnx_tensors(model([tensor("b", BIAS, packed=packed), tensor("a", KERNEL)]))
    assert list(found) == ["b", "a"]
    np.testing.assert_array_equal(found["a"], KERNEL)
    np.testing.assert_array_equal(found["b"], BIAS)


def test_values_in_a_field_of_numbers_are_read_as_well() -> None:
    typed = number_field(1, 2) + number_field(2, 1) + field(8, b"typed")
    found = onnx_tensors(model([typed + field(4, BIAS.tobytes())]))
    np.testing.assert_array_equal(found["typed"], BIAS)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "holds no stored tensors"),
        (model([]), "holds no stored tensors"),
        (b"\xff" * 40, "cut off, or not an ONNX file"),
        (b"\x0b\x0c", "not an ONNX file"),
        (b"PK\x03\x04 anything", "ONNX file"),
        (model([tensor("a", KERNEL)])[:-20], "cut off"),
        (model([tensor("a", KERNEL)[:-4] + b"\0" * 4 + number_field(1, 9)]), "24 values, 216"),
        (model([field(8, b"far") + number_field(14, 1)]), "'far' lies in another file"),
        (model([field(8, b"odd") + field(9, b"abc")]), "'odd' has broken values"),
        (model([number_field(8, 1 << 60) + field(2, b"type")]), "no stored tensors"),
        (model([field(8, b"odd") + varint(9 << 3) + varint(3)]), "'odd' has broken values"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_what_is_no_whole_file_is_told(content: bytes, problem: str) -> None:
    with pytest.raises(OnnxError, match=problem):
        onnx_tensors(content)


def test_no_beginning_of_a_file_is_taken_for_the_whole() -> None:
    """Wherever the file is cut off, the tensor that is cut is never returned."""
    content = model([tensor("a", KERNEL)])
    for length in range(len(content)):
        with pytest.raises(OnnxError):
            onnx_tensors(content[:length])
