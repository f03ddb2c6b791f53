"""The wheel in an environment that has what it asks for and nothing else."""

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

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not find_spec("pip") or not find_spec("setuptools"), reason="needs pip"),
]

USE = """
import pickle
import sys

import numpy as np
from ldl import SABFGS, AAKNN, StructRF
from ldl.metrics import kl, scorer
from sklearn.model_selection import GridSearchCV

generator = np.random.default_rng(0)
X = generator.random((60, 4))
D = np.exp(X @ generator.normal(size=(4, 3)))
D /= D.sum(axis=1, keepdims=True)
forest = StructRF(n_estimators=3, random_state=0).fit(X[:40], D[:40])
assert np.allclose(forest.predict(X[40:]).sum(axis=1), 1)
assert kl(D[40:], SABFGS(alpha=0.1).fit(X[:40], D[:40]).predict(X[40:])) < 0.01
search = GridSearchCV(AAKNN(), {"n_neighbors": [1, 5]}, cv=2, scoring=scorer("kl")).fit(X, D)
for model in (forest, search):
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict(X) == model.predict(X)).all()
for name in ("snakemake", "mlflow", "pandas", "torch", "xgboost", "yaml"):
    try:
        __import__(name)
    except ModuleNotFoundError:
        continue
    sys.exit(f"{name} can be imported")
print(sys.modules["ldl"].__file__)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """Built from a copy, so that no build folder is left in the checkout."""
    copy, folder = tmp_path_factory.mktemp("copy"), tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", PROJECT["readme"], *PROJECT["license-files"]):
        shutil.copy(ROOT / name, copy)
    shutil.copytree(
        ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info")
    )
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, copy)
    (found,) = folder.glob("*.whl")
    return found


def pip(*arguments: object) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    command += [str(argument) for argument in arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory) -> Path:
    """The interpreter of an environment with the wheel and links to all that it asks for."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False, symlinks=os.name != "nt")
    (packages,) = folder.rglob("site-packages")
    for name in needed(PROJECT["dependencies"]):
        distribution = metadata.distribution(name)
        for entry in {path.parts[0] for path in distribution.files or [] if path.parts[0] != ".."}:
            source = Path(str(distribution.locate_file(entry)))
            if source.exists() and entry != "__pycache__":
                (packages / entry).symlink_to(source)
    found = next(path for path in (folder / "bin" / "python", folder / "Scripts") if path.exists())
    pip("--python", found, "install", "--no-deps", "--no-index", wheel)
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


def test_it_asks_for_four_packages():
    names = {Requirement(line).name for line in PROJECT["dependencies"]}
    assert names == {"numba", "numpy", "scikit-learn", "scipy"}
    assert {"workflow", "cpu", "gpu", "stores", "faces", "dev"} == set(
        PROJECT["optional-dependencies"]
    )


def test_what_is_in_it(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        asked = archive.read(next(n for n in names if n.endswith(".dist-info/METADATA"))).decode()
    held = {name.partition("/")[0] for name in names}
    assert {"ldl", "ldlrepro"} <= held
    assert "tests" not in held
    assert {"ldl/py.typed", "ldlrepro/py.typed"} <= set(names)
    sources = {
        path.relative_to(ROOT / "src").as_posix()
        for package in ("ldl", "ldlrepro")
        for path in (ROOT / "src" / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc"
    }
    assert sources - set(names) == set()
    always = re.findall(r"^Requires-Dist: (?!.*extra ==)(.*)$", asked, re.MULTILINE)
    assert sorted(always) == sorted(PROJECT["dependencies"])


def test_the_library_works_where_nothing_else_is(python, tmp_path):
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment["NUMBA_OPT"] = "0"  # compiles in two thirds of the time
    command = [str(python), "-c", USE]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).is_relative_to(python.parents[1])


def test_the_command_says_in_one_line_what_it_lacks_there(python):
    done = subprocess.run([python.parent / "ldlrepro", "verdicts"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("ldlrepro: the workflow is not installed")
    assert line.endswith("type: pip install 'ldlrepro[workflow]'")
