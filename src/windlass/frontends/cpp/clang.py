"""Which flags make clang compile C and C++ for a host, as far as LLVM IR that is then raised."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Literal, TypeAlias

from windlass.frontends.cuda.clang import CODE_FLAGS, MESSAGE_FLAGS, OPTIMIZATION_FLAGS, library_flags

Language: TypeAlias = Literal["c", "c++"]

OWN_FOLDER = Path(__file__).parent / "include"
"""Our omp.h and cilk/cilk.h: the wheel of clang has none. Users' folders come before it."""

STANDARDS = {"c": "gnu17", "c++": "gnu++20"}

# Any x86-64 machine, on every machine: nothing but IR is made of it, and its layouts are those of all 64-bit hosts.
_TARGET_FLAGS = shlex.split("-triple x86_64-unknown-linux-gnu -target-cpu x86-64")

# Math functions set no errno, so that they are functions of numbers.
_LANGUAGE_FLAGS = shlex.split("-fopenmp -fgnuc-version=4.2.1 -ffp-contract=off")

# Mistakes of C that clang takes for errors, unless it is told to be silent of all that is not.
_C_FLAGS = shlex.split("""
-Werror=implicit-function-declaration -Werror=implicit-int -Werror=int-conversion
-Werror=incompatible-function-pointer-types
""")

# Exceptions may be thrown, as far as the language goes, but no code is made for what happens then: a throw is a call of
# the library's, and what comes to one is refused.
_CPP_FLAGS = shlex.split("-fdeprecated-macro -fcxx-exceptions")


def source_flags(language: Language) -> list[str]:
    """Flags of a compilation to LLVM IR that is not optimized yet, without inputs and outputs."""
    return [
        *_TARGET_FLAGS,
        "-x",
        language,
        *_LANGUAGE_FLAGS,
        *(_CPP_FLAGS if language == "c++" else ()),
        *CODE_FLAGS,
        *MESSAGE_FLAGS,
        *(_C_FLAGS if language == "c" else ()),
        f"-std={STANDARDS[language]}",
        *library_flags(has_cpp=language == "c++"),
    ]


def optimization_flags() -> list[str]:
    """Flags that make clang optimize LLVM IR for a host, without inputs and outputs."""
    return [*_TARGET_FLAGS, *OPTIMIZATION_FLAGS, "-ffp-contract=off", "-x", "ir"]
