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


def test_setup_compiles_for_the_workflow_too_as_units_compute():
    """Numba keeps code by the processor's name, which units choose before they import it."""
    code = """
import ldlrepro.train.precompile, os
from ldlrepro.core import numerics
from numba.core import config
print(numerics.pin().get("NUMBA_CPU_NAME") == config.CPU_NAME)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True"]
    recipe = Path(__file__).parents[2].joinpath("Makefile").read_text()
    assert "/python -m ldl.precompile\n" in recipe
    assert "/python -m ldlrepro.train.precompile\n" in recipe
