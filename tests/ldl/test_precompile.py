"""Setup leaves no compiled function to the first fits."""

import json
import os
import subprocess
import sys
from pathlib import Path

from ldlrepro.core import numerics

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


KEY = """
from numba.core.registry import cpu_target
print(cpu_target.target_context.codegen().magic_tuple())
"""
"""Prints the part of numba's key that depends on the process and not on the code."""


def test_units_find_what_setup_compiled():
    """Numba keeps code by the processor's name and features, which units must not change."""
    as_in_setup = {k: v for k, v in os.environ.items() if k not in numerics.pin()}
    in_a_unit = "from ldlrepro.core import numerics\nnumerics.pin()\n" + KEY
    keys = [
        subprocess.check_output([sys.executable, "-c", code], env=as_in_setup, text=True)
        for code in (KEY, in_a_unit)
    ]
    assert keys[0] == keys[1]
    recipe = Path(__file__).parents[2].joinpath("Makefile").read_text()
    assert "/python -m ldl.precompile " in recipe
