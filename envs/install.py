"""Runs pip and says how far it is: packages looked up, then packages installed.

    .venv/bin/python envs/install.py STEP REQUIREMENTS -- PIP ARGUMENTS ...

pip itself is silent with -q and prints hundreds of lines without it. Run by ``make setup``, with
the Python of the new environment.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

from ldlrepro.core.progress import ProgressLine  # noqa: E402

SECONDS = 1.0
"""Between two looks at what is installed."""


def main() -> int:
    step, listed, _, *command = sys.argv[1:]
    total = sum("==" in line for line in Path(listed).read_text(encoding="utf-8").splitlines())
    folder, done = Path(sysconfig.get_path("purelib")), threading.Event()
    before = _installed(folder)
    line = ProgressLine(step)
    pip = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )

    def watch() -> None:
        while (new := min(_installed(folder) - before, total)) < total and not done.wait(SECONDS):
            line.update(new, total, "installed")
        line.update(new, total, "installed")

    said, found = [], 0
    watcher = threading.Thread(target=watch, daemon=True)
    for text in pip.stdout or ():
        said.append(text)
        if text.startswith("Collecting "):
            found += 1
            line.update(min(found, total), total, f"found {text.split()[1].split('==')[0]}")
        elif text.startswith("Installing collected packages"):
            line.begin(0)
            watcher.start()
    code = pip.wait()
    done.set()
    line.close()
    if code:
        print("".join(said[-30:]), file=sys.stderr)
    return code


def _installed(folder: Path) -> int:
    return sum(1 for _ in folder.glob("*.dist-info"))


if __name__ == "__main__":
    sys.exit(main())
