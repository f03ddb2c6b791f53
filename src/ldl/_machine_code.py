# mypy: disable-error-code="attr-defined"
"""Machine code that is kept on disk under what it was made of.

numba keeps machine code beside the source, so every copy of the library compiles anew; and it sees
no change in a function of another file that is called. Here the name of a file is a digest of all
that its code depends on: a function with all that it calls, the types of its arguments, the
processor, and the versions of Python, numba, llvmlite and NumPy. So whatever one environment has
compiled is found by every other one on the machine, and nothing stale is ever found.

Files lie in the folder that NUMBA_CACHE_DIR names, else in the user's cache folder (~/.cache or
XDG_CACHE_HOME, as numba's own); where that cannot be written, in one among temporary files. These
are the only environment variables that decide anything here, and numba reads them. Many processes
may read and write at once, on a shared disk too: a file is written under a name of its own,
renamed, and checked when it is read. The files longest unused go when there are too many.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import logging
import os
import pickle
import stat
import sys
import tempfile
import time
import uuid
from importlib.metadata import version
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numba
import numpy as np
from numba.core import config, types
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.dispatcher import Dispatcher
from numba.core.serialize import dumps
from numba.misc.appdirs import AppDirs

MOST_BYTES = 200 * 10**6
"""Size of the folder at which the files longest unused go; one state of the library has 5 MB."""
_ABANDONED = 24 * 3600
"""Age in seconds of a half-written file that nobody will finish."""
_PARTIAL = ".part"
_CHECKSUM_BYTES = 32
_PLAIN = (int, float, complex, str, bytes, bool, type(None), type(...), np.generic)

_told: set[str] = set()
"""Parts of the library of which this process has said that they are compiled."""


def keep(function: Any) -> Any:
    """Make a function that numba compiles keep its machine code, and return it."""
    if isinstance(function, Dispatcher):  # a plain function where numba is switched off
        function._cache = _KeptCode(function)
    return function


class _KeptCode(NullCache):
    """Machine code of one function, as numba's dispatcher asks for it."""

    def __init__(self, function: Dispatcher) -> None:
        self.function = function

    @property
    def cache_path(self) -> str:
        return next(iter(folders()), "")

    def load_overload(self, signature: Any, target: Any) -> Any:
        target.refresh()
        name = self._file_name(signature, target.codegen())
        for folder in folders():
            payload = _read(os.path.join(folder, name))
            if payload is not None:
                return CompileResult._rebuild(target, *pickle.loads(payload))
        _tell(self.function.__module__.rpartition(".")[0])
        return None

    def save_overload(self, signature: Any, result: Any) -> None:
        if result.library.has_dynamic_globals:  # addresses of this process
            return
        name, payload = self._file_name(signature, result.codegen), dumps(result._reduce())
        for folder in folders():
            if _write(folder, name, payload):
                _sweep(folder)
                return

    def _file_name(self, signature: Any, codegen: Any) -> str:
        made_of = (self._said, _spelled(signature), codegen.magic_tuple(), _versions())
        digest = hashlib.sha256(repr(made_of).encode()).hexdigest()
        return f"{self.function.__module__}.{self.function.__name__}-{digest[:32]}.nbc"

    @functools.cached_property
    def _said(self) -> str:
        """Digest of the function; made at the first call, when all that it calls is defined."""
        return source_digest(self.function)


@functools.cache
def _versions() -> tuple[str, ...]:
    # llvmlite is numba's own choice, so it is asked for by name and not imported.
    return sys.version, numba.__version__, version("llvmlite"), np.__version__


def _spelled(kind: Any) -> Any:
    """Return types in words, with the fields of named tuples, whose order code depends on."""
    if isinstance(kind, tuple):
        return tuple(map(_spelled, kind))
    if isinstance(kind, types.BaseTuple):
        fields = getattr(kind, "fields", ())
        return str(kind), fields, fields and kind.instance_class.__module__, _spelled(kind.types)
    return str(kind)


def _tell(part: str) -> None:
    """Say once that a part of the library is compiled: else a first fit seems to hang."""
    if part not in _told:
        _told.add(part)
        logging.getLogger("ldl").warning(
            "%s is compiled for this machine, once; it takes a few seconds", part
        )


# ---------------------------------------------------------------------- what functions say


def source_digest(function: Any) -> str:
    """Return the digest of what a function and all that it calls in its package say.

    Comments, docstrings and places in files are no part of it.
    """
    return hashlib.sha256(repr(_Said(function).words).encode()).hexdigest()


class _Said:
    """Source of a function and of all that it calls in its package, in words."""

    def __init__(self, function: Any) -> None:
        self.package = _top(function.__module__)
        self.functions: list[FunctionType] = []
        self.words = [self._word(function)]
        for each in self.functions:  # which grow while they are read
            self.words.append(self._function(each))

    def _function(self, function: FunctionType) -> Any:
        constants = [c for c in function.__code__.co_consts if c is not function.__doc__]
        defaults = (function.__defaults__, *(function.__kwdefaults__ or {}).items())
        closed = [cell.cell_contents for cell in function.__closure__ or ()]
        seen = tuple(map(self._word, (*constants, *defaults, *closed)))
        return seen, function.__code__.co_code, self._names(function.__code__, function.__globals__)

    def _names(self, code: CodeType, known: dict[str, Any]) -> Any:
        """Return names with what they stand for: globals, and what modules of the package hold."""
        return [(name, self._word(known[name], code)) for name in code.co_names if name in known]

    def _word(self, value: Any, user: CodeType | None = None) -> Any:
        if isinstance(value, Dispatcher):
            return repr(value.targetoptions), self._word(value.py_func)
        value = getattr(value, "_defn", value)  # of an intrinsic
        if isinstance(value, tuple):
            return tuple(map(self._word, value))
        if isinstance(value, frozenset):
            return sorted(map(repr, map(self._word, value)))
        if isinstance(value, CodeType):
            return value.co_code, value.co_names, tuple(map(self._word, value.co_consts))
        if isinstance(value, np.ndarray):
            return str(value.dtype), value.shape, value.tobytes()
        if isinstance(value, _PLAIN):
            return type(value).__name__, repr(value)
        if isinstance(value, ModuleType) and user and _top(value.__name__) == self.package:
            return self._names(user, vars(value))
        if isinstance(value, FunctionType) and _top(value.__module__) == self.package:
            if value not in self.functions:
                self.functions.append(value)
            return value.__module__, value.__qualname__
        name = getattr(value, "__name__", str(value))
        return getattr(value, "__module__", ""), name, getattr(value, "_fields", ())


def _top(module: str) -> str:
    return module.partition(".")[0]


# ---------------------------------------------------------------------- files


def folders() -> list[str]:
    """Return the folders to look into, and to write into the first that lets us."""
    if config.CACHE_DIR:
        return [os.path.join(config.CACHE_DIR, "ldl")]
    found = [AppDirs(appname="ldl", appauthor=False).user_cache_dir, *_among_temporary_files()]
    return [folder for folder in found if os.path.isabs(folder)]


def _among_temporary_files() -> list[str]:
    """Return a folder that only this user can write: code that others wrote is never run."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    folder = os.path.join(tempfile.gettempdir(), f"ldl-{user}")
    try:
        state = os.lstat(folder)
    except OSError:
        return [folder]
    ours = stat.S_ISDIR(state.st_mode) and state.st_uid == user and not state.st_mode & 0o022
    return [folder] if ours or os.name == "nt" else []


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError:
        return None
    checksum, payload = content[:_CHECKSUM_BYTES], content[_CHECKSUM_BYTES:]
    if hashlib.sha256(payload).digest() != checksum:
        return None
    with contextlib.suppress(OSError):
        os.utime(path)  # used today
    return payload


def _write(folder: str, name: str, payload: bytes) -> bool:
    """Write a file whole or not at all; tell whether that could be done."""
    partial = os.path.join(folder, uuid.uuid4().hex + _PARTIAL)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with open(partial, "wb") as file:
            file.write(hashlib.sha256(payload).digest() + payload)
        os.replace(partial, os.path.join(folder, name))
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(partial)
        return False
    return True


def _sweep(folder: str) -> None:
    """Remove the files longest unused beyond ``MOST_BYTES``, and what was left half written."""
    left = MOST_BYTES
    with contextlib.suppress(OSError):  # somebody else sweeps
        files = [(entry.stat(), entry.path) for entry in os.scandir(folder)]
        for state, path in sorted(files, key=lambda file: -file[0].st_mtime):
            left -= state.st_size
            old = time.time() - state.st_mtime > _ABANDONED
            if left < 0 or (old and path.endswith(_PARTIAL)):
                os.unlink(path)
