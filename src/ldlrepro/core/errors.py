"""Errors with texts for the person at the keyboard."""

import errno
import traceback
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ldl.errors import UserError
from ldl.errors import nearest as nearest_of

NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
NO_RIGHT = (errno.EACCES, errno.EPERM, errno.EROFS)
# Snakemake looks for the configuration in the folder, unless it is told where it is.
ELSEWHERE = "snakemake --cores all PAPER --directory FOLDER --configfile config/config.yaml"
# Errors that numpy, pyarrow and json raise at files cut short or with other content.
UNREADABLE = (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile, zlib.error)


def nearest(word: str, choices: Iterable[str]) -> str:
    """Return ' Did you mean ...?' for a name that begins like the word, or else the closest one."""
    names = [str(choice) for choice in choices]
    begun = [name for name in names if name.casefold().startswith(word.casefold())]
    return f" Did you mean '{min(begun, key=len)}'?" if begun and word else nearest_of(word, names)


def unknown(kind: str, word: str, choices: Iterable[str], hint: str) -> UserError:
    """Return the error for a name that does not exist, with the nearest one that does."""
    return UserError(f"unknown {kind} '{word}'.{nearest(word, choices)} {hint}")


def in_words(error: BaseException, beside: Path) -> str:
    """Describe an error, with the line of the user's own code that raised it."""
    if isinstance(error, SyntaxError):
        return f"{error.msg} ({error.filename}, line {error.lineno})"
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in frames if Path(frame.filename).parent == beside.parent]
    place = f" ({theirs[-1].filename}, line {theirs[-1].lineno})" if theirs else ""
    return f"{type(error).__name__}: {error}{place}"


def of_the_disk(error: OSError) -> str:
    """Say what to do about a full or write-protected disk; return '' for other errors."""
    place = error.filename or Path.cwd()
    if error.errno in NO_ROOM:
        return (
            f"no room left on the disk ({place}). Finished work is safe. Make room, then give "
            "the same command again."
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
