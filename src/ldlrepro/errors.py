"""The one exception whose text is written for the person at the keyboard."""

import difflib
from collections.abc import Iterable


class UserError(Exception):
    """Something the user can mend: what went wrong, where, and what to type next.

    The command line prints it without a traceback and exits with status 2.
    """


def nearest(word: str, choices: Iterable[str]) -> str:
    """' Did you mean ...?' for the closest choice, or an empty string."""
    match = difflib.get_close_matches(str(word), [str(c) for c in choices], n=1, cutoff=0.5)
    return f" Did you mean '{match[0]}'?" if match else ""


def unknown(kind: str, word: str, choices: Iterable[str], hint: str) -> UserError:
    """The error for a name that does not exist, with the nearest one that does."""
    return UserError(f"unknown {kind} '{word}'.{nearest(word, choices)} {hint}")
