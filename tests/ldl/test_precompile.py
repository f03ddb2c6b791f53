"""Setup leaves no compiled function to the first fits."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ldlrepro.core import numerics

CHECK = """
import importlib, json, pkgutil
import ldl
from ldl import precompile
from ldl._machine_code import _KeptCode

if __name__ == "__main__":
    precompile.main()
    for name in precompile.COMPILED:
        precompile.fit(name)
    found = {}
    for module in pkgutil.walk_packages(ldl.__path__, "ldl."):
        if "._" not in module.name:
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            if isinstance(getattr(value, "_cache", None), _KeptCode):
                missed = sum(value.stats.cache_misses.values())
                found[f"{module.name}.{name}"] = [len(value.signatures), missed]
    print(json.dumps(found))
"""


def test_every_function_that_is_kept_is_called_and_found_by_the_next_process(tmp_path):
    pytest.importorskip("torch")  # SLDLF needs it
    script = tmp_path / "check.py"
    script.write_text(CHECK)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    *told, found = done.stdout.splitlines()
    assert len(told) == 12
    assert told[-1].endswith("(12 of 12)")
    kept = json.loads(found)
    assert len(kept) >= 14
    assert [name for name, (signatures, _) in kept.items() if not signatures] == []
    assert [name for name, (_, missed) in kept.items() if missed] == []


KEY = """
from numba.core.registry import cpu_target
print(cpu_target.target_context.codegen().magic_tuple())
"""
"""Prints the processor's part of what names machine code."""


def test_units_find_what_setup_compiled():
    """Code is kept by the processor's name and features, which units must not change."""
    as_in_setup = {k: v for k, v in os.environ.items() if k not in numerics.pin()}
    in_a_unit = "from ldlrepro.core import numerics\nnumerics.pin()\n" + KEY
    keys = [
        subprocess.check_output([sys.executable, "-c", code], env=as_in_setup, text=True)
        for code in (KEY, in_a_unit)
    ]
    assert keys[0] == keys[1]
    recipe = Path(__file__).parents[2].joinpath("Makefile").read_text()
    assert "/python -m ldl.precompile" in recipe
