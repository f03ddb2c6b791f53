"""Looks the pins up in the public lists of known vulnerabilities: python envs/audit.py

Installs pip-audit into a throw-away environment, so that it is no dependency of the project.
Prints one line per finding and one for the whole; the status is 1 only where something was found,
so that a machine without network, or a registry without such a list, stops nobody.
"""

import json
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PINS = ("lock.txt", "gpu.txt", "stores.txt")
MINUTES = 5


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        try:
            found = lines_of(looked_up(folder))
        except (OSError, subprocess.SubprocessError, ValueError) as error:
            print(f"dependency audit: not possible here ({type(error).__name__}); nothing checked")
            return 0
    print("\n".join(found))
    return 1 if len(found) > 1 else 0


def looked_up(folder: str) -> dict[str, Any]:
    """What pip-audit says of the pins; it fails where it finds something, which is no error."""
    venv.create(folder, with_pip=True)
    install = [f"{folder}/bin/pip", "install", "-q", "--disable-pip-version-check"]
    install += ["--retries", "0", "--timeout", "10", "pip-audit"]
    subprocess.run(install, check=True, timeout=60 * MINUTES, capture_output=True)
    look = [f"{folder}/bin/pip-audit", "--no-deps", "--disable-pip", "--format", "json"]
    look += ["--progress-spinner", "off", "--timeout", "10"]
    for name in PINS:
        look += ["-r", str(HERE / name)]
    done = subprocess.run(look, capture_output=True, text=True, timeout=60 * MINUTES)
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def lines_of(report: dict[str, Any]) -> list[str]:
    """A line per vulnerability, then how many packages could be looked up at all."""
    lines, known = [], 0
    for package in report["dependencies"]:
        known += "vulns" in package
        for entry in package.get("vulns", []):
            cure = ", ".join(entry.get("fix_versions", [])) or "no version yet"
            lines.append(
                f"{package['name']} {package['version']}: {entry['id']}; mended in: {cure}"
            )
    result = f"{len(lines)} findings"
    if not known:
        result = "nothing checked (offline, or this registry has no such list)"
    total = len(report["dependencies"])
    return [*lines, f"dependency audit: {known} of {total} packages looked up, {result}"]


if __name__ == "__main__":
    sys.exit(main())
