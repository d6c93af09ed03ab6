"""The only functions outside of its own text that a kernel may call by name: mathematics, each with its types.

Whoever writes a kernel can declare any function, under any name and with any types. What is not listed here, or is
declared with other types, is not called: a kernel computes, and reaches nothing else of the process that it runs in.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class MathFunction:
    """LLVM's types of the result and the arguments. `writes` are the bytes that each pointer argument is written."""

    result: str
    arguments: tuple[str, ...]
    writes: tuple[int, ...] = ()


_OF_ONE = """
sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh exp exp2 exp10 expm1 log log2 log10 log1p logb sqrt cbrt
erf erfc tgamma lgamma ceil floor trunc round roundeven rint nearbyint fabs j0 j1 y0 y1
erfinv erfcinv erfcx cyl_bessel_i0 cyl_bessel_i1
"""
_OF_TWO = "pow atan2 fmod remainder drem fdim hypot fmax fmin copysign nextafter"


def _functions() -> Iterator[tuple[str, MathFunction]]:
    for suffix, real, size in (("", "double", 8), ("f", "float", 4)):
        for name in _OF_ONE.split():
            yield name + suffix, MathFunction(real, (real,))
        for name in _OF_TWO.split():
            yield name + suffix, MathFunction(real, (real, real))
        yield f"fma{suffix}", MathFunction(real, (real, real, real))
        for name in ("ldexp", "scalbn"):
            yield name + suffix, MathFunction(real, (real, "i32"))
        yield f"scalbln{suffix}", MathFunction(real, (real, "i64"))
        for name in ("jn", "yn"):
            yield name + suffix, MathFunction(real, ("i32", real))
        for name in ("ilogb", "finite", "isnan", "isinf"):
            yield name + suffix, MathFunction("i32", (real,))
        for name in ("lrint", "lround", "llrint", "llround"):
            yield name + suffix, MathFunction("i64", (real,))
        yield f"sincos{suffix}", MathFunction("void", (real, "ptr", "ptr"), (size, size))
        yield f"modf{suffix}", MathFunction(real, (real, "ptr"), (size,))
        yield f"frexp{suffix}", MathFunction(real, (real, "ptr"), (4,))
        yield f"remquo{suffix}", MathFunction(real, (real, real, "ptr"), (4,))
    for kind in ("e4m3", "e5m2"):
        yield f"__windlass_float_to_{kind}", MathFunction("i32", ("float",))
        yield f"__windlass_{kind}_to_float", MathFunction("float", ("i32",))


FUNCTIONS = dict(_functions())

MEMORY_FUNCTIONS = frozenset({"memcpy", "memmove", "memset"})
"""What the code generator calls for copies, whose places have been checked by then."""

_INTRINSICS = frozenset(
    shlex.split("""
    abs smax smin umax umin scmp ucmp fabs sqrt floor ceil trunc rint nearbyint round roundeven lround llround lrint
    llrint exp exp2 exp10 log log2 log10 pow powi sin cos tan asin acos atan atan2 sinh cosh tanh sincos ldexp frexp
    modf fma fmuladd minnum maxnum minimum maximum minimumnum maximumnum copysign canonicalize is.fpclass ctpop ctlz
    cttz bswap bitreverse fshl fshr sadd.with.overflow uadd.with.overflow ssub.with.overflow usub.with.overflow
    smul.with.overflow umul.with.overflow sadd.sat uadd.sat ssub.sat usub.sat sshl.sat ushl.sat smul.fix umul.fix
    smul.fix.sat umul.fix.sat fptosi.sat fptoui.sat convert.to.fp16 convert.from.fp16 arithmetic.fence
    vector.reduce.add vector.reduce.mul vector.reduce.and vector.reduce.or vector.reduce.xor vector.reduce.smax
    vector.reduce.smin vector.reduce.umax vector.reduce.umin vector.reduce.fadd vector.reduce.fmul
    vector.reduce.fmax vector.reduce.fmin vector.reduce.fmaximum vector.reduce.fminimum vector.insert vector.extract
    vector.reverse vector.splice expect expect.with.probability is.constant objectsize ptrmask
    launder.invariant.group strip.invariant.group ssa.copy memcpy memcpy.inline memmove memset memset.inline
    """)
)


def is_known_intrinsic(name: str) -> bool:
    """Whether an intrinsic of LLVM does nothing but compute (copies and fills have their places checked before).

    >>> [is_known_intrinsic(f"llvm.{name}") for name in ("sqrt.f32", "sadd.with.overflow.i32", "write_register.i64")]
    [True, True, False]
    """
    words = name.removeprefix("llvm.").split(".")
    return name.startswith("llvm.") and any(
        ".".join(words[:count]) in _INTRINSICS for count in range(1, len(words) + 1)
    )


_ROUNDED_TO_INTEGERS = re.compile(r"(?:llvm\.)?l?l(rint|round)(f|\.i(?:32|64)\.f(?:32|64))?")


def rounding_before_conversion(name: str, kind: str) -> str | None:
    """The intrinsic that rounds as `lround` and its kin do, before the result becomes an integer by saturation.

    C leaves open what they give of what fits no integer, and CPUs give other numbers than GPUs.

    >>> rounding_before_conversion("llvm.llrint.i64.f64", "double"), rounding_before_conversion("lroundf", "float")
    ('llvm.rint.f64', 'llvm.round.f32')
    >>> rounding_before_conversion("round", "double")
    """
    found = _ROUNDED_TO_INTEGERS.fullmatch(name)
    suffix = {"float": "f32", "double": "f64"}.get(kind)
    return f"llvm.{found[1]}.{suffix}" if found and suffix else None


_ORDERING_ZEROS = {"llvm.minnum.": "llvm.minimumnum.", "llvm.maxnum.": "llvm.maximumnum."}


def ordering_zeros(name: str) -> str:
    """The intrinsic for which -0 is less than 0, as it is for PTX's `min` and `max`; LLVM's `minnum` gives either.

    >>> ordering_zeros("llvm.maxnum.f32"), ordering_zeros("llvm.sqrt.f32")
    ('llvm.maximumnum.f32', 'llvm.sqrt.f32')
    """
    for prefix, instead in _ORDERING_ZEROS.items():
        if name.startswith(prefix):
            return instead + name.removeprefix(prefix)
    return name
