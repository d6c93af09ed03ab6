"""C and C++, with OpenMP and Cilk → LLVM IR of functions that one thread runs.

Takes a .c or .cpp file or source text; gives `HostCode`: LLVM IR text in which each function that has an external name
is an entry, as a kernel of CUDA is (`DeviceCode`). It takes the function's parameters and, where a number is returned,
an array of one element for that. Afterwards nothing is left of OpenMP's runtime, and loops whose iterations may run in
any order are marked (`For.is_independent` at the loop level). Errors are `CompilationError` with the user's lines.

Start reading at `compilation.py`; `openmp.py` is the team of one, `entries.py` says what can be called, `clang.py` has
the flags, `include/` our omp.h and cilk/cilk.h.
"""

from windlass.frontends.cpp.compilation import HostCode, compile_functions
from windlass.frontends.cpp.entries import RESULT

__all__ = ["RESULT", "HostCode", "compile_functions"]
