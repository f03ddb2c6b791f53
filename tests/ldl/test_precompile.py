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
import numpy as np
import ldl
from ldl import precompile
from ldl._machine_code import _KeptCode
from tests.ldl.estimators import TABLES, cheap

def kept():
    for module in pkgutil.walk_packages(ldl.__path__, "ldl."):
        if "._" in module.name:
            for name, value in vars(importlib.import_module(module.name)).items():
                if isinstance(getattr(value, "_cache", None), _KeptCode):
                    yield f"{module.name}.{name}", value

if __name__ == "__main__":
    precompile.main()
    for name in precompile.COMPILED:
        precompile.fit(name)
    missed = {name: sum(value.stats.cache_misses.values()) for name, value in kept()}
    compiled = {name: len(value.signatures) for name, value in kept()}
    generator = np.random.default_rng(0)
    X, D = generator.normal(size=(60, 5)), generator.dirichlet(np.ones(4), size=60)
    for name in TABLES:
        cheap(name).fit(X, D).predict(X)
    found = {n: [missed[n], compiled[n], len(v.signatures) - compiled[n]] for n, v in kept()}
    print(json.dumps(found))
"""
ROOT = Path(__file__).parents[2]


def test_no_estimator_needs_code_that_setup_has_not_compiled(tmp_path, monkeypatch):
    pytest.importorskip("torch")  # SLDLF needs it
    script = tmp_path / "check.py"
    script.write_text(CHECK)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), *sys.path]))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    *told, found = done.stdout.splitlines()
    assert len(told) == 12
    assert told[-1].endswith("(12 of 12)")
    kept = json.loads(found)
    assert len(kept) >= 14
    assert [name for name, (missed, _, _) in kept.items() if missed] == []
    assert [name for name, (_, compiled, _) in kept.items() if not compiled] == []
    assert [name for name, (_, _, later) in kept.items() if later] == []


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
    recipe = ROOT.joinpath("Makefile").read_text()
    assert "/python -m ldl.precompile" in recipe
