"""Kinds of values that the command line takes."""

from __future__ import annotations

import argparse
from contextlib import suppress


def positive(text: str) -> int:
    """Parse a whole number of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no number of them; write 1 or more")
    return int(text)


def seconds(text: str) -> float:
    """Parse a positive number of seconds."""
    with suppress(ValueError):
        if float(text) > 0:
            return float(text)
    raise argparse.ArgumentTypeError(f"'{text}' is no time; write seconds, more than 0")
