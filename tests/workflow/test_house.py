"""Rules of the house: style, pins, and what must not be in the repository."""

from __future__ import annotations

import base64
import hashlib
import io
import re
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from PIL import Image

from ldlrepro.catalogue.yaml_files import read_yaml
from tests.imports import imported

ROOT = Path(__file__).resolve().parents[2]
ENVS = ROOT / "envs"
DATA_SUFFIXES = {
    ".db",
    ".h5",
    ".joblib",
    ".mat",
    ".npy",
    ".npz",
    ".parquet",
    ".pickle",
    ".pkl",
    ".pt",
    ".pth",
    ".sqlite",
    ".zip",
}
# Workspace on somebody's machine. An address of SQLite may show an absolute path as an example.
MACHINE_PATHS = re.compile(r"(?<![\w.:/])/(?:root|home|work|Users|tmp)/")


@cache
def tracked_files() -> list[Path]:
    """What git has; the tests that need it are skipped outside a checkout."""
    command = ["git", "ls-files"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"not a git checkout: {error}")
    return [path for name in listed.stdout.splitlines() if (path := ROOT / name).is_file()]


def shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


# ---------------------------------------------------------------------- pins


def pins(name: str) -> dict[str, str]:
    """Package -> version of a requirements file; of builds per system the first."""
    found: dict[str, str] = {}
    for line in (ENVS / name).read_text().splitlines():
        if line and not line.startswith("#"):
            requirement = Requirement(line)
            (pin,) = requirement.specifier
            assert pin.operator == "==", line
            found.setdefault(canonicalize_name(requirement.name), pin.version)
    return found


def test_conda_environment_has_the_pins_of_the_lock():
    tree = yaml.safe_load((ENVS / "ldlrepro.yaml").read_text())
    (from_pip,) = (entry["pip"] for entry in tree["dependencies"] if isinstance(entry, dict))
    conda = {
        canonicalize_name(name): version for name, version in (p.split("==") for p in from_pip)
    }
    assert conda == pins("lock.txt") | pins("gpu.txt")


def test_cpu_and_gpu_have_the_same_versions():
    cpu, gpu = pins("cpu.txt"), pins("gpu.txt")
    assert cpu["torch"].removesuffix("+cpu") == gpu["torch"]
    assert cpu["xgboost-cpu"] == gpu["xgboost"]


def described() -> dict[str, Any]:
    """The project, with what its library asks for in the place of the library."""
    texts = [(ROOT / name / "pyproject.toml").read_text() for name in (".", "packages/ldl")]
    ours, library = (tomllib.loads(text)["project"] for text in texts)
    assert ours["dependencies"] == [f"{library['name']}=={library['version']}"]
    return {**ours, "dependencies": library["dependencies"]}


def test_every_dependency_is_pinned_within_its_bounds():
    project = described()
    extras = project["optional-dependencies"]
    pinned = pins("lock.txt") | pins("cpu.txt") | pins("gpu.txt") | pins("stores.txt")
    for line in [*project["dependencies"], *(line for extra in extras.values() for line in extra)]:
        requirement = Requirement(line)
        name = canonicalize_name(requirement.name)
        assert name in pinned, f"{name} is in pyproject.toml only: type make lock"
        assert requirement.specifier.contains(pinned[name]), (line, pinned[name])


def test_every_pin_installs_on_the_oldest_python_that_is_promised():
    project = described()
    oldest = project["requires-python"].removeprefix(">=") + ".0"
    refused = {
        name: wanted
        for name in pins("lock.txt") | pins("cpu.txt")
        if (wanted := metadata.metadata(name).get("Requires-Python"))
        and not SpecifierSet(wanted).contains(oldest)
    }
    assert refused == {}, "a distribution's own Python may be as old: Debian 12 has 3.11.2"


def declared(*extras: str) -> set[str]:
    project = described()
    groups = project["optional-dependencies"]
    lines = project["dependencies"] + [line for extra in extras for line in groups[extra]]
    return {canonicalize_name(Requirement(line).name) for line in lines}


def imported_distributions(*folders: str) -> set[str]:
    """What is imported from elsewhere, by the names that it is installed under."""
    paths = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    names = set().union(*(imported(path) for path in paths))
    renamed = {"pil": "pillow", "skimage": "scikit-image", "sklearn": "scikit-learn"}
    renamed |= {"yaml": "pyyaml", "rocrate-validator": "roc-validator"}
    here = {path.stem for folder in ("src", "tests") for path in (ROOT / folder).rglob("*.py")}
    here |= {path.name for folder in ("src", ".") for path in (ROOT / folder).iterdir()}
    theirs = {canonicalize_name(name) for name in names - sys.stdlib_module_names - here}
    return {renamed.get(name, name) for name in theirs}


def test_what_is_imported_is_declared_and_nothing_else():
    of_library, of_all = imported_distributions("src/ldl"), imported_distributions("src")
    assert declared() <= of_library <= declared("gpu") | {"matplotlib", "pandas"}
    of_all -= {"pyldl"}  # by a script that runs in the peers' environment alone
    assert of_all <= declared("gpu", "workflow")
    # ipykernel is started for the notebooks.
    assert declared("gpu", "workflow") - of_all == {"ipykernel"}
    of_tests = imported_distributions("tests") - {"own-steps"}  # which a test writes
    assert of_tests <= declared("gpu", "workflow", "dev", "stores")


def test_what_the_stores_need_is_pinned_beside_the_lock_and_not_in_it():
    assert not pins("stores.txt").keys() & pins("lock.txt").keys()


# ---------------------------------------------------------------------- files


@pytest.mark.parametrize("path", sorted((ROOT / ".github/workflows").glob("*.yml")), ids=shown)
def test_workflows_name_no_key_twice_and_no_job_or_file_that_is_missing(path):
    jobs = read_yaml(path)["jobs"]
    for job in jobs.values():
        assert "runs-on" in job or (ROOT / job["uses"]).is_file()
        assert job.get("needs", next(iter(jobs))) in jobs


def test_the_library_is_tested_on_every_python_that_its_wheel_names():
    job = read_yaml(ROOT / ".github/workflows/library.yml")["jobs"]["check"]
    told = tomllib.loads((ROOT / "packages/ldl/pyproject.toml").read_text())["project"]
    named = re.findall(r"Python :: (3\.\d+)", " ".join(told["classifiers"]))
    assert job["strategy"]["matrix"]["python"] == named


def test_no_data_in_the_repository():
    assert [shown(p) for p in tracked_files() if p.suffix.lower() in DATA_SUFFIXES] == []


# What no text begins with: pictures, archives, arrays, tables. A tar says so at its 257th byte.
BINARY = re.compile(
    rb"\xff\xd8\xff|\x89PNG|\x89HDF|GIF8|RIFF....WEBP|BM....\0\0\0\0|II\*\0|MM\0\*|....ftyp|"
    rb"\0\0\0\x0cjP|\xff\x0a|\x93NUMPY|MATLAB 5|PAR1|SQLite format|\x80[\x02-\x05]|"
    rb"PK\x03\x04|\x1f\x8b|BZh\d|\xfd7zXZ|7z\xbc|Rar!|\x28\xb5\x2f\xfd|.{257}ustar",
    re.DOTALL,
)
IN_BASE64 = re.compile(rb"(?:[A-Za-z0-9+/]{4}){16,}")
# Screenshots of MLflow, the only pictures that are not drawn.
SCREENSHOTS = {
    "compare": "01cd85e8eaccf9ac9fbb433cdc04db384f1711b4579d384bc6d80891acfdb2d8",
    "table": "b8b6ed3a437c192493a21cbf7ba4f998cdab5ba3b3dea3b50a7f50b90564f8de",
}


def album(content: bytes) -> list[str]:
    """Parts of a file that may be a photograph, or rows made of them.

    These are begins of binary files, as they are or in base64. A PNG that matplotlib drew is none,
    nor is a drawing without a picture.
    """
    found = [content[:8].hex()] if BINARY.match(content) or b"\0" in content else []
    for run in IN_BASE64.findall(content):
        inside = base64.b64decode(run)
        if BINARY.match(inside) and b"Software\0Matplotlib" not in inside[:200]:
            found.append(run[:16].decode())
    return found


def test_nothing_of_an_album_is_in_the_repository():
    files = {shown(path): path.read_bytes() for path in tracked_files()}
    for name, digest in SCREENSHOTS.items():
        shot = files.pop(f"docs/pictures/mlflow-{name}.jpg")
        assert hashlib.sha256(shot).hexdigest() == digest, "look at it, then write its digest here"
    assert {name: found for name, text in files.items() if (found := album(text))} == {}


def planted(kind: str) -> bytes:
    """A photograph's pixels as somebody might bring them in by mistake."""
    pixels = np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    file = io.BytesIO()
    if kind == "npz":
        np.savez_compressed(file, pixels)
    elif kind == "tar.gz":
        with tarfile.open(fileobj=file, mode="w:gz") as archive:
            archive.addfile(tarfile.TarInfo("a"))
    else:
        Image.fromarray(pixels).save(file, kind)
    return file.getvalue()


@pytest.mark.parametrize("kind", ["jpeg", "png", "webp", "npz", "tar.gz"])
def test_a_photograph_is_found_by_its_content(kind):
    content = planted(kind)
    assert album(content)
    assert album(b'{"image": "' + base64.b64encode(content) + b'"}')
    assert album(b"data:image/x;base64," + base64.encodebytes(content).replace(b"\n", b"\\n"))
    assert album(b"age,sex\n1,0\n") == []


def test_no_paths_of_somebodys_machine():
    found = [
        f"{shown(path)}:{number}: {line.strip()}"
        for path in tracked_files()
        if path.relative_to(ROOT).parts[0] != "tests"
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), start=1)
        if MACHINE_PATHS.search(line)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("see /home/ann/notes", True),
        ('"/home/ann/data"', True),
        ("sqlite:////tmp/mlflow.db", False),
        ("https://example.org/home/page", False),
        ("results/work/x", False),
    ],
)
def test_the_search_for_paths_finds_them(line, wrong):
    assert bool(MACHINE_PATHS.search(line)) == wrong


# ---------------------------------------------------------------------- layers


def package_files(package: str) -> Iterator[Path]:
    yield from (ROOT / "src" / package).rglob("*.py")


def test_only_tracking_imports_mlflow():
    users = {shown(path) for path in package_files("ldlrepro") if "mlflow" in imported(path)}
    assert "src/ldlrepro/track/sync.py" in users
    assert {name for name in users if not name.startswith("src/ldlrepro/track/")} == set()
