"""The functions that device code declares, by where their meaning comes from: an instruction, our library, nowhere."""

from __future__ import annotations

import re
import shlex

from windlass.emulator.mathematics import FUNCTIONS

PREFIX = "__windlass_gpu_"
"""How the library's mathematical functions begin: those of a program may be called as the C library's are."""

_CALLED = frozenset(
    shlex.split("""
    exp exp2 exp10 log log2 log10 pow sin cos tan asin acos atan atan2 sinh cosh tanh
    """)
)
"""LLVM's intrinsics of one or two floats that no GPU has an exact instruction for."""

_ROUNDED_TO_INTEGERS = frozenset({"lround", "llround", "lrint", "llrint"})

_SELECTED = frozenset(
    shlex.split("""
    abs smax smin umax umin scmp ucmp fabs sqrt floor ceil trunc rint nearbyint round roundeven fma fmuladd
    minnum maxnum minimum maximum minimumnum maximumnum copysign canonicalize is.fpclass ctpop ctlz cttz bswap
    bitreverse fshl fshr sadd.with.overflow uadd.with.overflow ssub.with.overflow usub.with.overflow
    smul.with.overflow umul.with.overflow sadd.sat uadd.sat ssub.sat usub.sat sshl.sat ushl.sat fptosi.sat fptoui.sat
    arithmetic.fence vector.reduce.add vector.reduce.mul vector.reduce.and vector.reduce.or vector.reduce.xor
    vector.reduce.smax vector.reduce.smin vector.reduce.umax vector.reduce.umin vector.reduce.fadd vector.reduce.fmul
    vector.insert vector.extract expect expect.with.probability is.constant objectsize ptrmask
    launder.invariant.group strip.invariant.group ssa.copy memcpy memcpy.inline memmove memset memset.inline
    lifetime.start lifetime.end assume dbg experimental.noalias.scope.decl invariant.start invariant.end
    sideeffect pseudoprobe donothing trap debugtrap stacksave stackrestore prefetch ubsantrap
    """)
)
"""LLVM's intrinsics that both of its GPU targets have code for."""

_FLOAT = re.compile(r"llvm\.(\w+)(?:\.i64)?\.(f32|f64)")


def is_selected(name: str) -> bool:
    """Whether LLVM has code of its own for an intrinsic that is no target's.

    >>> is_selected("llvm.sqrt.f32"), is_selected("llvm.exp.f32"), is_selected("llvm.uadd.with.overflow.i32")
    (True, False, True)
    """
    words = name.removeprefix("llvm.").split(".")
    return name.startswith("llvm.") and any(".".join(words[:count]) in _SELECTED for count in range(1, len(words) + 1))


def library_name(name: str) -> str | None:
    """What the library calls a mathematical function or intrinsic; None for what is none.

    >>> library_name("llvm.exp.f32"), library_name("erf"), library_name("llvm.sqrt.f32")
    ('__windlass_gpu_expf', '__windlass_gpu_erf', None)
    """
    if name.startswith("__windlass_"):
        return None
    if name in FUNCTIONS:
        return PREFIX + name
    match = _FLOAT.fullmatch(name)
    if match is not None and match[1] in _CALLED | _ROUNDED_TO_INTEGERS:
        return PREFIX + match[1] + ("f" if match[2] == "f32" else "")
    if name in ("llvm.ldexp.f32.i32", "llvm.ldexp.f64.i32", "llvm.powi.f32.i32", "llvm.powi.f64.i32"):
        return PREFIX + name.split(".")[1] + ("f" if "f32" in name else "")
    return None
