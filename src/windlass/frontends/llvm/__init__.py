"""LLVM IR to the loop level.

Takes a translation unit's `DeviceCode`; gives one loop-level function per kernel. Afterwards control flow is structured
(`If`, `For`, `DoWhile`), loops that can be counted are `For`s that carry true recurrences only, every pointer is a
buffer and a byte offset, aggregates and vectors are scalars, and every op knows its source position.

Start reading at `kernel.py`; `structure.py` makes loops and branches, `translator.py` and the modules that register
with `registry.py` translate instructions, `builtins` holds what functions mean.
"""

from windlass.frontends.llvm.kernel import import_kernel
from windlass.llvm.module import DeviceModule, module_of, variable_contents

__all__ = ["DeviceModule", "import_kernel", "module_of", "variable_contents"]
