"""Running the clang that the ziglang wheel holds: which flags, which headers, which process.

`zig clang -cc1` is clang's inner compiler. It is undocumented, so ziglang is pinned to one version, and everything
that depends on it is in this file.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import ziglang

from windlass.frontends.cuda.child import Outcome, run_child

ZIG_FOLDER = Path(ziglang.__file__ or "").parent
INCLUDE_FOLDER = Path(__file__).parent / "include"
UMBRELLA_HEADER = "windlass_cuda.h"
OWN_SECONDS = 900.0
"""How long the compilation of what is ours may take, on machines of all kinds: it ends."""

# What `zig c++` defines for the libc++ in the wheel.
_LIBRARY_MACROS = shlex.split("""
__GLIBC_MINOR__=31 _LIBCPP_ABI_VERSION=1 _LIBCPP_ABI_NAMESPACE=__1 _LIBCPP_HAS_THREADS=1 _LIBCPP_HAS_MONOTONIC_CLOCK
_LIBCPP_HAS_TERMINAL _LIBCPP_HAS_MUSL_LIBC=0 _LIBCXXABI_DISABLE_VISIBILITY_ANNOTATIONS
_LIBCPP_DISABLE_VISIBILITY_ANNOTATIONS _LIBCPP_HAS_VENDOR_AVAILABILITY_ANNOTATIONS=0 _LIBCPP_HAS_FILESYSTEM=1
_LIBCPP_HAS_RANDOM_DEVICE _LIBCPP_HAS_LOCALIZATION _LIBCPP_HAS_UNICODE _LIBCPP_HAS_WIDE_CHARACTERS
_LIBCPP_HAS_NO_STD_MODULES _LIBCPP_HAS_TIME_ZONE_DATABASE _LIBCPP_PSTL_BACKEND_SERIAL
_LIBCPP_HARDENING_MODE=_LIBCPP_HARDENING_MODE_NONE
_LIBCPP_ASSERTION_SEMANTIC_DEFAULT=_LIBCPP_ASSERTION_SEMANTIC_IGNORE _GNU_SOURCE
""")

# Parts of older C++ standards that programs still use.
_REMOVED_FEATURES = [
    f"_LIBCPP_ENABLE_{name}"
    for name in shlex.split("""
CXX17_REMOVED_AUTO_PTR CXX17_REMOVED_BINDERS CXX17_REMOVED_RANDOM_SHUFFLE CXX17_REMOVED_UNARY_BINARY_FUNCTION
CXX20_REMOVED_TYPE_TRAITS CXX20_REMOVED_BINDER_TYPEDEFS CXX20_REMOVED_NEGATORS CXX20_REMOVED_RAW_STORAGE_ITERATOR
CXX20_REMOVED_TEMPORARY_BUFFER CXX20_REMOVED_UNCAUGHT_EXCEPTION CXX20_REMOVED_SHARED_PTR_ATOMICS
""")
]

# Device code is compiled for a device with warp reductions and bfloat16, but tells programs that it is of the
# generation before: then they choose plain code over instructions of newer devices. `define` can override it.
# Clang concludes from what C++ leaves open more than nvcc does, and than programs bear. Arguments may be values that
# nothing was written to: one lane of a warp reads a counter into a variable, and all lanes give it to a shuffle (clang:
# no other lane comes there). A function may end without the result that it declares, if nobody uses it (clang: it
# doesn't end).
_TARGET_FLAGS = shlex.split("-triple nvptx64-nvidia-cuda -target-cpu sm_80 -target-feature +ptx70")
_DEVICE_FLAGS = shlex.split("""
-aux-triple x86_64-unknown-linux-gnu -fcuda-is-device -U __CUDA_ARCH__ -D __CUDA_ARCH__=700
-fcuda-allow-variadic-functions
-no-enable-noundef-analysis -fno-strict-return
""")

# Code for any x86-64 machine, to be part of a shared library. Old programs call members of null pointers and ask there
# whether `this` is null.
_HOST_FLAGS = shlex.split("""
-triple x86_64-unknown-linux-gnu -aux-triple nvptx64-nvidia-cuda -target-cpu x86-64 -mrelocation-model pic -pic-level 2
-O1 -ffp-contract=off -fno-delete-null-pointer-checks
""")

_LANGUAGE_FLAGS = shlex.split("""
-x cuda -target-sdk-version=12.6 -fdeprecated-macro -fgnuc-version=4.2.1 -fcxx-exceptions -fexceptions
""")

# Positions are those of the source for every operation; a compilation folder of "." leaves file names as they were
# given. Nothing is optimized yet, but everything is emitted for optimization.
CODE_FLAGS = shlex.split("""
-O1 -disable-llvm-passes -debug-info-kind=standalone -dwarf-version=4 -debugger-tuning=gdb -fdebug-compilation-dir=.
""")

# -O1 with everything inlined keeps loops as they are written: higher levels unroll and vectorize. None is unrolled
# because the source asks for it: one may be a contraction, and raising repeats short ones itself.
# Nor does it make second versions of loops that compare the addresses of arrays as the program runs.
OPTIMIZATION_FLAGS = shlex.split("""
-O1 -mllvm -inline-threshold=100000 -mllvm -disable-loop-idiom-all -mllvm -runtime-check-per-loop-load-elim=0
-mllvm -pragma-unroll-threshold=0 -mllvm -unroll-threshold=0 -mllvm -unroll-partial-threshold=0
""")

MESSAGE_FLAGS = shlex.split("""
-Wno-everything -ferror-limit 20 -fno-caret-diagnostics -fmessage-length=0 -ftemplate-backtrace-limit=4
""")


@lru_cache
def library_flags(*first: Path, has_cpp: bool = True) -> tuple[str, ...]:
    """Flags that make the headers known of the C library, and of C++'s with `has_cpp`, behind these folders."""
    library = ZIG_FOLDER / "lib"
    flags = ["-nostdsysteminc", "-nobuiltininc"]
    cpp = (library / "libcxx" / "include", library / "libcxxabi" / "include") if has_cpp else ()
    for folder in (*first, *cpp, library / "include"):
        flags += ["-internal-isystem", str(folder)]
    for name in ("x86-linux-gnu", "generic-glibc", "x86-linux-any", "any-linux-any"):
        flags += ["-internal-externc-isystem", str(library / "libc" / "include" / name)]
    for macro in (*_LIBRARY_MACROS, *_REMOVED_FEATURES) if has_cpp else ("__GLIBC_MINOR__=31", "_GNU_SOURCE"):
        flags += ["-D", macro]
    return tuple(flags)


def device_flags(standard: str = "gnu++20", fast_math: bool = False) -> list[str]:
    """Flags of a device-side compilation to LLVM IR that is not optimized yet, without inputs and outputs.

    `fast_math` lets clang contract a multiplication and an addition into one operation that rounds once, as nvcc does
    unless told otherwise; without it every operation rounds as it is written.
    """
    contraction = ["-ffp-contract=fast", "-D", "__WINDLASS_FAST_MATH"] if fast_math else ["-ffp-contract=off"]
    return [
        *_TARGET_FLAGS,
        *_DEVICE_FLAGS,
        *_LANGUAGE_FLAGS,
        *CODE_FLAGS,
        *MESSAGE_FLAGS,
        f"-std={standard}",
        *contraction,
        *library_flags(INCLUDE_FOLDER),
    ]


def host_flags(standard: str = "gnu++20") -> list[str]:
    """Flags of a host-side compilation to LLVM IR, without inputs and outputs."""
    return [*_HOST_FLAGS, *_LANGUAGE_FLAGS, *MESSAGE_FLAGS, f"-std={standard}", *library_flags(INCLUDE_FOLDER)]


def optimization_flags(fast_math: bool = False) -> list[str]:
    """Flags that make clang optimize LLVM IR for a device, without inputs and outputs."""
    return [*_TARGET_FLAGS, *OPTIMIZATION_FLAGS, f"-ffp-contract={'fast' if fast_math else 'off'}", "-x", "ir"]


def run_clang(arguments: Sequence[str], seconds: float | None = None) -> Outcome:
    """Run `clang -cc1` with these arguments and return what it says; never raises for what clang does.

    `seconds` is how long it may take, if that is not what the user's settings say.

    >>> run_clang(["-version"]).status
    0
    """
    return run_child([str(ZIG_FOLDER / "zig"), "clang", "-cc1", *arguments], seconds)
