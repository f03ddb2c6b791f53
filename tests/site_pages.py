"""The documentation site, built for a test."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def build_site(project: Path, site: Path) -> str:
    """Build the site of a checkout into a folder, warnings or not; return what was said."""
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--no-strict", "--site-dir", str(site)],
        cwd=project,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr
