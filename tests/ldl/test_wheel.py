"""The two wheels; the library's in an environment that has what it asks for and nothing else."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import ldl

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = {"ldl": "packages/ldl", "ldlrepro": "."}
PROJECTS = {
    name: tomllib.loads((ROOT / folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for name, folder in FOLDERS.items()
}
ASKED_FOR = {"joblib", "numba", "numpy", "scikit-learn", "scipy"}
"""Packages that the library asks for, and joblib, which scikit-learn brings."""
MOST_BYTES = 1_000_000
"""Largest size of the library's wheel."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not find_spec("pip") or not find_spec("setuptools"), reason="needs pip"),
]


@pytest.fixture(scope="module")
def wheels(tmp_path_factory) -> dict[str, Path]:
    """Built from a copy, so that no build folder is left in the checkout."""
    copy, folder = tmp_path_factory.mktemp("copy"), tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    for name in ("packages", "src"):
        shutil.copytree(
            ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info")
        )
    both = (copy / name for name in FOLDERS.values())
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, *both)
    return {path.name.partition("-")[0]: path for path in folder.glob("*.whl")}


def pip(*arguments: object) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    command += [str(argument) for argument in arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def python(wheels, tmp_path_factory) -> Path:
    """The interpreter of an environment with the wheel and links to all that it asks for."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False, symlinks=os.name != "nt")
    (packages,) = folder.rglob("site-packages")
    for name in needed(PROJECTS["ldl"]["dependencies"]):
        distribution = metadata.distribution(name)
        for entry in {path.parts[0] for path in distribution.files or [] if path.parts[0] != ".."}:
            source = Path(str(distribution.locate_file(entry)))
            if source.exists() and entry != "__pycache__":
                (packages / entry).symlink_to(source)
    found = next(path for path in (folder / "bin" / "python", folder / "Scripts") if path.exists())
    pip("--python", found, "install", "--no-deps", "--no-index", wheels["ldl"])
    return found


def needed(lines: list[str]) -> set[str]:
    """Names of the distributions asked for, of those that these ask for, and so on."""
    found: set[str] = set()
    waiting = [Requirement(line) for line in lines]
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name not in found and (not requirement.marker or requirement.marker.evaluate()):
            found.add(name)
            waiting += [Requirement(line) for line in metadata.requires(name) or []]
    return found


def test_the_library_asks_for_four_packages_and_the_workflow_for_the_library():
    library, workflow = PROJECTS["ldl"], PROJECTS["ldlrepro"]
    assert {Requirement(line).name for line in library["dependencies"]} == ASKED_FOR
    assert workflow["dependencies"] == [f"ldl=={library['version']}"]
    assert library["version"] == ldl.__version__
    extras = [project["optional-dependencies"] for project in (library, workflow)]
    assert set(extras[0]) == {"cpu", "gpu", "show"}
    assert {"workflow", "cpu", "gpu", "stores", "faces", "dev"} == set(extras[1])
    assert [extras[0][name] for name in ("cpu", "gpu")] == [
        extras[1][name] for name in ("cpu", "gpu")
    ]


@pytest.mark.parametrize("name", FOLDERS)
def test_what_is_in_a_wheel(wheels, name):
    with zipfile.ZipFile(wheels[name]) as archive:
        names = [n for n in archive.namelist() if ".dist-info/" not in n]
        (described,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        asked = archive.read(described).decode()
    sources = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src" / name).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc"
    }
    assert f"{name}/py.typed" in sources
    assert set(names) == sources
    always = re.findall(r"^Requires-Dist: (?!.*extra ==)(.*)$", asked, re.MULTILINE)
    assert sorted(always) == sorted(PROJECTS[name]["dependencies"])
    assert wheels["ldl"].stat().st_size < MOST_BYTES


def test_the_library_works_where_nothing_else_is(python, tmp_path):
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    shutil.copy(ROOT / "packages/ldl/check.py", tmp_path)
    command = [str(python), "check.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    version, file = done.stdout.split()
    assert version == ldl.__version__
    assert Path(file).is_relative_to(python.parents[1])


def test_the_command_says_in_one_line_what_it_lacks_there(python, wheels):
    pip("--python", python, "install", "--no-deps", "--no-index", wheels["ldlrepro"])
    done = subprocess.run([python.parent / "ldlrepro", "verdicts"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("ldlrepro: the workflow is not installed")
    assert line.endswith("type: pip install 'ldlrepro[workflow]'")
