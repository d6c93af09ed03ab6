"""C and C++ to tensor programs: `windlass.c.compile`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from windlass.diagnostics.options import option_error, read_macros, read_path, read_texts
from windlass.launching.c_module import CFunction, CModule

__all__ = ["CFunction", "CModule", "compile"]


def compile(
    source: str | Path,
    language: Literal["c", "c++"] | None = None,
    *,
    include: str | Path | Sequence[str | Path] = (),
    define: Mapping[str, object] | None = None,
) -> CModule:
    """Compile a C or C++ file, given by path or as source text, whose loops may be OpenMP's or Cilk's.

    `module["name"](*arguments)` then runs a function: arrays are NumPy's and are updated in place, numbers go by value,
    and a returned number is returned. The meaning is that of a team of one thread, which is the program's serial one;
    iterations of `omp for` and `cilk_for` loops are taken to be independent, as the source says.

    Without a `language` a file that ends in ".c" is C, all other files are C++, and text is C. `include` are folders
    for `#include`, `define` macros.

    Raises CompilationError with clang's messages, shown at the user's own lines; for options of wrong types one that
    is a TypeError as well (WL0703).

    >>> import numpy as np
    >>> module = compile('''
    ... double total(int n, const double *x) {
    ...     double sum = 0;
    ...     #pragma omp parallel for reduction(+ : sum)
    ...     for (int i = 0; i < n; i++) sum += x[i];
    ...     return sum;
    ... }''')
    >>> float(module["total"](4, np.arange(4.0)))
    6.0
    """
    text_or_path = read_path("source", source)
    if language not in (None, "c", "c++"):
        raise option_error("language", '"c" or "c++"', language)
    options = {"include": read_texts("include", include, "a folder"), "define": read_macros(define)}
    whole = text_or_path if isinstance(text_or_path, str) else Path(text_or_path)
    return CModule(whole, language, options)
