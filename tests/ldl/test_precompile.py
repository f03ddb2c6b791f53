"""Setup leaves no compiled function to the first fits."""

import json
import subprocess
import sys
from pathlib import Path

LIST_THEM = """
import json, pkgutil, importlib, sys
from numba.core.dispatcher import Dispatcher
import ldl
from ldl import precompile

precompile.main()
kept = {}
for module in pkgutil.walk_packages(ldl.__path__, "ldl."):
    if "._" not in module.name:
        continue
    for name, value in vars(importlib.import_module(module.name)).items():
        if isinstance(value, Dispatcher) and type(value._cache).__name__ != "NullCache":
            kept[f"{module.name}.{name}"] = len(value.signatures)
json.dump(kept, sys.stderr)
"""


def test_every_function_that_is_kept_compiled_is_called():
    done = subprocess.run(
        [sys.executable, "-c", LIST_THEM], capture_output=True, text=True, check=True
    )
    assert done.stdout.count("compiled ") == 9
    kept = json.loads(done.stderr.splitlines()[-1])
    assert len(kept) >= 8
    assert [name for name, signatures in kept.items() if not signatures] == []


def test_units_find_what_setup_compiled():
    """Numba keeps code by the processor's name and features, which units must not change."""
    code = """
from ldlrepro.core import numerics
numerics.pin()
from ldl import precompile
from ldl.forests._regression_trees import grow
precompile.main()
print(len(grow.stats.cache_hits), len(grow.stats.cache_misses))
"""
    subprocess.run([sys.executable, "-m", "ldl.precompile"], capture_output=True, check=True)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "1 0"
    recipe = Path(__file__).parents[2].joinpath("Makefile").read_text()
    assert "/python -m ldl.precompile " in recipe
