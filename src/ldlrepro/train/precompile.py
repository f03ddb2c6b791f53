"""Compile what would else be compiled in the first units, as units compute.

    python -m ldlrepro.train.precompile

What ``ldl.precompile`` compiles is for the processor that it runs on; units take one schedule of
instructions on all of them, so they find none of that. It takes a second where it has been done.
"""

from ldlrepro.core import numerics

numerics.pin()  # before anything imports numba

from ldl import precompile  # noqa: E402

if __name__ == "__main__":
    precompile.main()
