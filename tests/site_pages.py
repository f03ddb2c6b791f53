"""The documentation sites, built for tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PLANTED = ("nowhere.md", "numbers.md#no-such-part")
"""Links of a copy of the project that lead nowhere."""


def build_site(folder: Path) -> str:
    """Build both sites of a copy with planted links, warnings or not; return what was said."""
    project = folder.with_name("project_of_the_site")
    for name in ("docs", "config", "packages", "papers", "src", "tools"):
        shutil.copytree(ROOT / name, project / name)
    for name in ("mkdocs.yml", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "CITATION.cff"):
        shutil.copy(ROOT / name, project / name)
    with open(project / "docs/faq.md", "a") as page:
        page.writelines(f"\n[there]({link})\n" for link in PLANTED)
    said = ""
    for config, place in (("mkdocs.yml", folder), ("packages/ldl/mkdocs.yml", folder / "library")):
        options = ["--config-file", config, "--no-strict", "--site-dir", str(place)]
        done = subprocess.run(
            [sys.executable, "-m", "mkdocs", "build", *options],
            cwd=project,
            env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        said += done.stderr
    return said
