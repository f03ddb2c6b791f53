"""Decorators of all functions that numba compiles.

Fast math is off, so sums keep their order, and results depend on no thread and on no processor.

A first fit waits for the compiler, so it is given as little to do as can be. Compiled code
allocates nothing, for numba takes long to compile what counts references to memory: Python hands it
all the room that it needs, and numba refuses `np.empty`. Parts are optimised, and become machine
code, only in the entry point that they go into.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.typed_passes import NativeLowering, NopythonRewrites
from numba.core.untyped_passes import InlineClosureLikes

from ldl._machine_code import keep


class _PartLibrary(JITCodeLibrary):
    """A part as numba's other libraries take it in, neither optimised nor made machine code."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _PartLowering(NativeLowering):
    """Turns a part into code for whatever calls it."""

    _name = "ldl_part_lowering"

    def run_pass(self, state: Any) -> bool:
        context = state.targetctx
        state.flags.no_compile = True
        state.library = _PartLibrary(context.codegen(), state.func_id.func_qualname)
        super().run_pass(state)
        # Callers find a part by what Python would call: any built-in function, if no other has it.
        found_by = list[Any]().append
        state.cr = state.cr._replace(cfunc=found_by)
        context.insert_user_function(found_by, state.cr.fndesc, [state.library])
        return True


class _Compiler(CompilerBase):
    """numba's compiler, without what no function of ours needs."""

    _needless = InlineClosureLikes, NopythonRewrites
    _lowering = NativeLowering

    def define_pipelines(self) -> list[PassManager]:
        usual = DefaultPassBuilder.define_nopython_pipeline(self.state)
        ours = PassManager(usual.pipeline_name)
        for each, description in usual.passes:
            if each not in self._needless:
                ours.add_pass(self._lowering if each is NativeLowering else each, description)
        ours.finalize()
        return [ours]


class _PartCompiler(_Compiler):
    _lowering = _PartLowering


_WAYS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
    "_nrt": False,
    "pipeline_class": _Compiler,
}
_PART: dict[str, Any] = {"no_cpython_wrapper": True, "pipeline_class": _PartCompiler}
compiled = njit(**(_WAYS | _PART))
"""Compile a part, into whatever calls it; Python cannot."""


def cached(function: Callable[..., Any]) -> Any:
    """Compile an entry point, and keep its machine code for all processes and environments."""
    return keep(njit(**_WAYS)(function))
