"""Compiles the C files that python-ldl's wheel ships as sources only; its StructRF needs them.

Runs in the peers' environment, once, when ``make bench`` sets it up. They were generated for a
newer NumPy, whose headers name some fields of its objects otherwise; the macros are those names.
"""

from __future__ import annotations

import contextlib
import importlib.util
import sys
import tempfile
from pathlib import Path

MODULES = ("_tree", "_rbm")
NEWER_NAMES = {
    "_PyUFuncObject_GET_ITEM_DATA": "((PyUFuncObject *)(op))",
    "_PyDatetimeScalarObject_GetMetadata": "(((PyDatetimeScalarObject *)(op))->obmeta)",
    "_PyDatetimeScalarObject_GetValue": "(((PyDatetimeScalarObject *)(op))->obval)",
    "_PyTimedeltaScalarObject_GetValue": "(((PyTimedeltaScalarObject *)(op))->obval)",
}


def main() -> None:
    import numpy
    from setuptools import Distribution, Extension

    spec = importlib.util.find_spec("pyldl")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    package = Path(spec.submodule_search_locations[0])
    headers = Path(numpy.get_include())
    written = "".join(path.read_text() for path in headers.rglob("*.h"))
    macros = [(f"{name}(op)", body) for name, body in NEWER_NAMES.items() if name not in written]
    extensions = [
        Extension(
            f"pyldl.algorithms.{name}",
            [f"pyldl/algorithms/{name}.c"],
            include_dirs=[str(headers)],
            define_macros=list(macros),
            extra_compile_args=["-w"],
        )
        for name in MODULES
    ]
    build = Distribution({"name": "peer", "ext_modules": extensions}).get_command_obj("build_ext")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(package.parent):
        build.build_lib, build.build_temp = str(package.parent), folder
        build.ensure_finalized()
        build.run()


if __name__ == "__main__":
    try:
        main()
    except Exception as error:
        print(
            f"python-ldl's StructRF was not compiled ({type(error).__name__}); its rows will say "
            "so. It needs a C compiler and Python's headers; with them, remove the peers' "
            "environment and type make bench again.",
            file=sys.stderr,
        )
