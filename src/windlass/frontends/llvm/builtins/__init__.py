"""What functions of numbers mean, in the vocabulary: one Python function per builtin, registered by name.

To add one, write a function `(emit, *scalars) -> scalar` under `@builtin(names)` in the module where it fits. It must
be right for all inputs that C's function is defined for, and precise to a few units in the last place.
"""

from windlass.frontends.llvm.builtins import (
    exponentials,
    extremes,
    floats,
    fp8,
    integers,
    special,
    structured,
    trigonometry,
)

MODULES = (exponentials, extremes, floats, fp8, integers, special, structured, trigonometry)
"""Importing these registers their functions."""
