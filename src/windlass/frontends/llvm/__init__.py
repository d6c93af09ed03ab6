"""LLVM IR to the loop level.

Takes a translation unit's `DeviceCode`; gives one loop-level function per kernel. Afterwards control flow is structured
(`If`, `For`, `DoWhile`), loops that can be counted are `For`s that carry true recurrences only, every pointer is a
buffer and a byte offset, aggregates and vectors are scalars, and every op knows its source position.

Start reading at `kernel.py`; `structure.py` makes loops and branches, `translator.py` and the modules that register
with `registry.py` translate instructions, `builtins` holds what functions mean.
"""

from windlass.frontends.llvm.kernel import import_kernel
from windlass.ir.signature import DeviceCode
from windlass.llvm.module import DeviceModule, module_of


def variable_contents(code: DeviceCode) -> dict[str, bytes]:
    """The initial bytes of the module's variables and constant tables, by linker name.

    Shared memory and variables that hold addresses are left out.
    """
    module = module_of(code)
    found: dict[str, bytes] = {}
    for name in module.global_names:
        variable = module.variable(name)
        if variable is not None and variable.space != 3:
            data = variable.contents()
            if data is not None:
                found[name] = data
    return found


__all__ = ["DeviceModule", "import_kernel", "module_of", "variable_contents"]
