"""Machine code is found by whoever has the same source, and by nobody else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba.core import config
from numba.core.errors import TypingError

from ldl import _machine_code
from ldl._compiled import cached, compiled

SOURCE = Path(_machine_code.__file__).parent
PARTS = """
from ldl._compiled import compiled

STEP = {step}


@compiled
def inner(x):
    {comment}
    return x + STEP
"""
WHOLE = """
from ldl._compiled import cached
from {package} import parts


@cached
def outer(x):
    return 2 * parts.inner(x)
"""
CALL = """
from {package}.whole import outer
print(outer(1), outer(1.5), sum(outer.stats.cache_misses.values()))
"""


def write(folder: Path, step: int = 1, comment: str = '"""Add."""') -> None:
    package = folder / "package_of_test"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "parts.py").write_text(PARTS.format(step=step, comment=comment))
    (package / "whole.py").write_text(WHOLE.format(package=package.name))


def begin(folder: Path, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", CALL.format(package="package_of_test")],
        env=os.environ | {"PYTHONPATH": f"{folder}{os.pathsep}{SOURCE.parent}"} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def call(folder: Path, **environment: str) -> tuple[list[str], str]:
    """Return the two results with the number of misses, and what was said."""
    process = begin(folder, **environment)
    out, said = process.communicate()
    assert process.returncode == 0, said
    return out.split(), said


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "ldl"


def test_a_copy_elsewhere_compiles_nothing_and_a_changed_callee_does(tmp_path, cache):
    write(tmp_path / "first")
    assert call(tmp_path / "first") == (
        ["4", "5.0", "2"],
        "package_of_test is compiled for this machine, once; it takes a few seconds\n",
    )
    assert len(list(cache.glob("*.nbc"))) == 2
    write(tmp_path / "copy", comment='"""Other words."""  # and a comment\n')
    assert call(tmp_path / "copy") == (["4", "5.0", "0"], "")
    write(tmp_path / "changed", step=2)
    assert call(tmp_path / "changed")[0] == ["6", "7.0", "2"]


def test_processes_at_once_write_whole_files(tmp_path, cache):
    write(tmp_path)
    both = [begin(tmp_path) for _ in range(2)]
    assert [process.communicate()[0].split()[:2] for process in both] == [["4", "5.0"]] * 2
    assert len(list(cache.iterdir())) == 2
    assert call(tmp_path)[0][2] == "0"


def test_a_damaged_file_is_compiled_anew(tmp_path, cache):
    write(tmp_path)
    call(tmp_path)
    for file in cache.iterdir():
        file.write_bytes(file.read_bytes()[:-1])
    assert call(tmp_path)[0] == ["4", "5.0", "2"]
    assert call(tmp_path)[0] == ["4", "5.0", "0"]


def test_where_the_home_cannot_be_written_temporary_files_do(tmp_path, monkeypatch):
    write(tmp_path)
    (tmp_path / "home").write_text("a file, in which no folder can be made")
    (tmp_path / "temporary").mkdir()
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    assert call(tmp_path)[0] == ["4", "5.0", "2"]
    (folder,) = (tmp_path / "temporary").iterdir()
    assert len(list(folder.iterdir())) == 2
    assert call(tmp_path)[0] == ["4", "5.0", "0"]
    folder.chmod(0o777)  # others could have written there
    assert call(tmp_path)[0] == ["4", "5.0", "2"]


def test_what_is_longest_unused_goes_when_there_is_too_much(tmp_path, monkeypatch):
    monkeypatch.setattr(_machine_code, "MOST_BYTES", 250)
    for age, name in enumerate(["new", "middle", "old", "left.part"]):
        (tmp_path / name).write_bytes(bytes(10 if name == "left.part" else 100))
        os.utime(tmp_path / name, (10**9 - age, 10**9 - age))
    _machine_code._sweep(str(tmp_path))
    assert {file.name for file in tmp_path.iterdir()} == {"new", "middle"}


@compiled
def first(values):
    return values[0]


@cached
def doubled(values):
    return 2 * first(values)


@cached
def fresh(n):
    return np.empty(n).sum()


@cached
def shorter(values):
    return values[1:]


def test_a_part_becomes_machine_code_in_its_entry_point_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    assert doubled(np.array([3.0, 4.0])) == 6.0
    for function, has_code in ((first, False), (doubled, True)):
        (made,) = function.overloads.values()
        place = made.library.get_pointer_to_function(made.fndesc.llvm_func_name)
        assert bool(place) == has_code


@pytest.mark.parametrize(("function", "argument"), [(fresh, 3), (shorter, np.arange(3.0))])
def test_compiled_code_that_would_allocate_is_refused(function, argument):
    with pytest.raises(TypingError):
        function(argument)
