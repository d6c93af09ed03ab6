"""Kernels written in Python → CUDA C++ text, which the CUDA front end takes from there.

Takes a Python function and the types of its arguments; gives the text of one translation unit (`CompiledFunction`).
Afterwards integers, floats and control flow mean what they mean in Numba's kernels: `//` rounds down, negative indices
count from the end, two integers give one of 64 bits. Lines and columns in the text, told by #line and blanks, are those
of the Python file, so that all that later parts of the compiler say about positions is true of what the user wrote.

Start reading at `compilation.py`; `statements.py` tells how variables get their types, `promotion.py` has the rules
of operators, `include/windlass_python.h` what Python's operators are in C++.
"""

from windlass.frontends.kernels.compilation import INCLUDE_FOLDER, CompiledFunction, compile_function

__all__ = ["INCLUDE_FOLDER", "CompiledFunction", "compile_function"]
