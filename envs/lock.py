"""Writes the pins: resolves both pyproject.toml in a throw-away environment and freezes it.

    make lock                      newest versions of everything
    python envs/lock.py FILE       ... but no newer than the constraints in FILE

lock.txt holds what every environment has; cpu.txt and gpu.txt what differs; stores.txt what servers
and object stores need beside that. The conda file for Snakemake's --sdm repeats the pins, and a
test keeps them equal.
"""

import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
# The accelerators: what the registry calls them for each kind of machine.
ACCELERATED = ("torch", "xgboost-cpu", "xgboost")


def main(constraints: str | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        pip = [f"{folder}/bin/pip", "--disable-pip-version-check"]
        limits = ["-c", constraints] if constraints else []
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        groups = project["optional-dependencies"]
        library = tomllib.loads((ROOT / "packages/ldl/pyproject.toml").read_text())["project"]
        wanted = [*library["dependencies"], "setuptools>=77"]
        wanted += [line for group in ("workflow", "cpu", "faces", "dev") for line in groups[group]]
        subprocess.run([*pip, "install", *limits, *wanted], check=True)
        pins = frozen(pip)
        kept = Path(folder, "kept.txt")
        kept.write_text("\n".join(f"{name}=={version}" for name, version in pins.items()))
        subprocess.run([*pip, "install", *limits, "-c", str(kept), *groups["stores"]], check=True)
        more = {name: version for name, version in frozen(pip).items() if name not in pins}
    write("stores.txt", [f"{k}=={v}" for k, v in sorted(more.items(), key=lambda p: p[0].lower())])
    torch, boost = pins["torch"].partition("+")[0], pins["xgboost-cpu"]
    common = [
        f"{k}=={v}"
        for k, v in sorted(pins.items(), key=lambda p: p[0].lower())
        if k not in ACCELERATED
    ]
    write("lock.txt", common)
    write(
        "cpu.txt",
        [
            f'torch=={torch}+cpu; sys_platform == "linux"',
            f'torch=={torch}; sys_platform != "linux"',
            f"xgboost-cpu=={boost}",
        ],
    )
    write("gpu.txt", [f"torch=={torch}", f"xgboost=={boost}"])
    conda = ["name: ldlrepro", "channels: [conda-forge]", "dependencies:", "  - python=3.11"]
    conda += ["  - pip", "  - pip:"]
    conda += [f"      - {pin}" for pin in [*common, f"torch=={torch}", f"xgboost=={boost}"]]
    write("ldlrepro.yaml", conda)


def frozen(pip: list[str]) -> dict[str, str]:
    """Return name and version of what is installed."""
    told = subprocess.run([*pip, "freeze", "--all"], check=True, capture_output=True, text=True)
    pins = dict(line.split("==") for line in told.stdout.splitlines() if "==" in line)
    pins.pop("pip", None)
    return pins


def write(name: str, lines: list[str]) -> None:
    head = "# Written by `make lock`; do not edit.\n"
    (HERE / name).write_text(head + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
