"""Entry of the ``ldlrepro`` command."""

from __future__ import annotations

import sys
from importlib.util import find_spec

NEEDED = ("mlflow", "pandas", "pydantic", "snakemake", "yaml")
"""Some of the extra ``workflow``, without which no verb works; the library ``ldl`` needs none."""


def main() -> int:
    """Run the command line; say in one line what lacks where only the library is installed."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        print(
            f"ldlrepro: the workflow is not installed, {', '.join(missing)} cannot be imported; "
            "type: pip install 'ldlrepro[workflow]'",
            file=sys.stderr,
        )
        return 2
    from ldlrepro.cli import main as run

    return run()
