"""The error whose text is written for the person at the keyboard."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UserError(Exception):
    """Something the user can mend: what went wrong, where, and what to type next."""


def nearest(word: str, choices: Iterable[str]) -> str:
    """Return ' Did you mean ...?' for the closest choice, or an empty string."""
    match = difflib.get_close_matches(str(word), [str(c) for c in choices], n=1, cutoff=0.6)
    return f" Did you mean '{match[0]}'?" if match else ""
