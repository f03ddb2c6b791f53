"""Reads the stored tensors of an ONNX file. It never runs the model.

ONNX is a protocol buffer, and a reader of tensors needs only eight of its hundred fields: a
tensor's shape, type, name and values, and the path to it. Values outside the file are refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

GRAPH = 7  # of a model
INITIALIZER = 5  # of a graph
DIMS, DATA_TYPE, FLOAT_DATA, NAME, RAW_DATA, LOCATION = 1, 2, 4, 8, 9, 14  # of a tensor
FLOAT32 = 1
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


class OnnxError(Exception):
    """Raised for a file that is not ONNX or is cut off; the text says where."""


def onnx_tensors(content: bytes) -> dict[str, np.ndarray]:
    """Return the stored tensors of 32-bit numbers, by name, in the order of the file."""
    found: dict[str, np.ndarray] = {}
    for number, graph in _fields(memoryview(content)):
        if number == GRAPH and isinstance(graph, memoryview):
            for inner, tensor in _fields(graph):
                if inner == INITIALIZER and isinstance(tensor, memoryview):
                    found.update(_tensor(tensor))
    if not found:
        raise OnnxError("it holds no stored tensors of 32-bit numbers")
    return found


def _tensor(content: memoryview) -> dict[str, np.ndarray]:
    """Return one tensor by its name; nothing for a tensor of another type."""
    shape: list[int] = []
    name, kind, values = "", 0, np.zeros(0, np.float32)
    for number, value in _fields(content):
        if number == DIMS:
            shape += _whole_numbers(value)
        elif number == DATA_TYPE and isinstance(value, int):
            kind = value
        elif number == NAME and isinstance(value, memoryview):
            name = bytes(value).decode("utf-8", "replace")
        elif number in (RAW_DATA, FLOAT_DATA):
            if not isinstance(value, memoryview) or len(value) % 4:
                raise OnnxError(f"tensor '{name}' has broken values")
            values = np.append(values, np.frombuffer(value, "<f4"))
        elif number == LOCATION and value:
            raise OnnxError(f"tensor '{name}' lies in another file")
    if kind != FLOAT32:
        return {}
    if values.size != math.prod(shape):
        raise OnnxError(f"tensor '{name}' has {values.size} values, {math.prod(shape)} expected")
    return {name: values.reshape(shape)}


def _whole_numbers(value: Any) -> list[int]:
    """Return the numbers of a repeated field, which come one by one or packed."""
    if not isinstance(value, memoryview):
        return [int(value)]
    numbers, at = [], 0
    while at < len(value):
        number, at = _varint(value, at)
        numbers.append(number)
    return numbers


def _fields(content: memoryview) -> Iterator[tuple[int, Any]]:
    """Yield number and value of each field of a message: a whole number, or bytes."""
    at = 0
    while at < len(content):
        key, at = _varint(content, at)
        number, kind = key >> 3, key & 7
        if kind == VARINT:
            value, at = _varint(content, at)
            yield number, value
            continue
        if kind == BYTES:
            size, at = _varint(content, at)
        elif kind in (FIXED32, FIXED64):
            size = 4 if kind == FIXED32 else 8
        else:
            raise OnnxError("it is not an ONNX file")
        if at + size > len(content):
            raise OnnxError("it is cut off, or not an ONNX file")
        yield number, content[at : at + size]
        at += size


def _varint(content: memoryview, at: int) -> tuple[int, int]:
    """Read a whole number of seven bits a byte; return it and the position after it."""
    value = shift = 0
    while at < len(content) and shift < 64:
        byte = content[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
    raise OnnxError("it is cut off, or not an ONNX file")
