"""Errors with texts for the person at the keyboard."""

import difflib
import errno
import re
import traceback
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ldl.errors import UserError

NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
NO_RIGHT = (errno.EACCES, errno.EPERM, errno.EROFS)
# Snakemake looks for the configuration in the folder, unless it is told where it is.
ELSEWHERE = "snakemake --cores all PAPER --directory FOLDER --configfile config/config.yaml"
# Errors that numpy, pyarrow and json raise at files cut short or with other content.
UNREADABLE = (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile, zlib.error)


def plain(name: str) -> str:
    """Return a name without capitals, spaces and marks, for comparison: 's-JAFFE' -> 'sjaffe'."""
    return re.sub(r"[^a-z0-9*+/]", "", name.casefold())


def nearest(word: str, choices: Iterable[str]) -> str:
    """Return ' Did you mean ...?' for a name that begins like the word, or else the closest one."""
    names = {plain(str(choice)): str(choice) for choice in choices}
    meant = plain(word)
    begun = sorted((name for name in names if name.startswith(meant)), key=len)
    close = begun or difflib.get_close_matches(meant, names, n=1, cutoff=0.6)
    return f" Did you mean '{names[close[0]]}'?" if close and meant else ""


def unknown(kind: str, word: str, choices: Iterable[str], hint: str = "") -> UserError:
    """Return the error for a name that does not exist, with the nearest one that does.

    Without a hint, all names that do are told.
    """
    names = list(choices)
    hint = hint or f"Choose from: {', '.join(names) or 'none'}"
    return UserError(f"unknown {kind} '{word}'.{nearest(word, names)} {hint}")


def in_words(error: BaseException, beside: Path) -> str:
    """Describe an error, with the line of the user's own code that raised it."""
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {error.msg} ({error.filename}, line {error.lineno})"
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in frames if Path(frame.filename).parent == beside.parent]
    place = f" ({theirs[-1].filename}, line {theirs[-1].lineno})" if theirs else ""
    return f"{type(error).__name__}: {error}{place}"


def of_the_disk(error: OSError) -> str:
    """Say what to do about a full or write-protected disk; return '' for other errors."""
    if error.errno == errno.ENOENT and not error.filename:
        return "the folder that you are in is gone. Go to another, such as the checkout."
    place = error.filename or Path.cwd()
    if error.errno in NO_ROOM:
        return (
            f"no room left on the disk ({place}). Finished work is safe. Make room, then give "
            "the same command again."
        )
    if error.errno == errno.ENOTDIR:
        return (
            f"{place}: a file lies where a folder should be. Move it away, or go to the checkout."
        )
    if error.errno in NO_RIGHT:
        return (
            f"{place}: {error.strerror}. Finished work is safe. Give yourself the right to write "
            f"there, or work in another folder (`{ELSEWHERE}`, see docs/faq.md)."
        )
    return ""


@contextmanager
def damage_told(path: Path, cure: str) -> Iterator[None]:
    """Turn any error from broken bytes in ``path`` into a UserError that ends with ``cure``."""
    try:
        yield
    except FileNotFoundError:
        raise UserError(f"{path}: the file is gone. {cure}") from None
    except (*UNREADABLE, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the disk's own errors; damaged Parquet comes without a number
        said = (str(error).splitlines() or [type(error).__name__])[0]
        raise UserError(f"{path}: the file is damaged ({said}). {cure}") from None
