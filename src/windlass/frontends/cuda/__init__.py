"""CUDA C++ → LLVM IR, with nothing but what pip installs: clang from the ziglang wheel and our own headers.

Takes a .cu file or source text; gives `DeviceCode` (windlass.ir.signature): LLVM IR text for nvptx64 that llvmlite
parses, with a source position on every operation, and each kernel's names and parameters.
Afterwards every CUDA builtin is an LLVM instruction, an LLVM intrinsic, or a call by a name that `include/README.md`
lists. Errors are `CompilationError` with the user's file, line and column.

Start reading at `compilation.py`; `clang.py` has the flags, `include/windlass_cuda.h` the headers, `signatures.py`
the way from debug metadata to NumPy dtypes, `lookup.py` how users' names find kernels, `textures.py` kernels whose
textures are known, `records.py` those whose structs hold pointers, `linking.py` programs of several units, `hip.py`
HIP's names for all this.
"""

from windlass.frontends.cuda.compilation import compile_device
from windlass.frontends.cuda.linking import LinkedUnits, link_units, unresolved_symbols
from windlass.frontends.cuda.lookup import find_kernel
from windlass.frontends.cuda.records import give_pointers_apart
from windlass.frontends.cuda.textures import TextureUse, specialize_textures, texels_variable, texture_uses
from windlass.llvm.reach import reached_names

__all__ = [
    "LinkedUnits",
    "TextureUse",
    "compile_device",
    "find_kernel",
    "give_pointers_apart",
    "link_units",
    "reached_names",
    "specialize_textures",
    "texels_variable",
    "texture_uses",
    "unresolved_symbols",
]
