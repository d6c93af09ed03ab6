"""How a kernel's calls of hardware and library functions are carried out: by functions of the runtime library.

`RUNTIME_CALLS` maps names as they stand in LLVM IR (without `llvm.nvvm.` where they begin so) to `RuntimeCall`s.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from windlass.llvm.names import ENTER, IN_ORDER, ITERATION, OWN_THREAD


@dataclass(frozen=True)
class RuntimeCall:
    """A function of the runtime library that stands for an intrinsic.

    `arguments` are the runtime's argument types in order, `order` tells which of the call's arguments each is;
    "i1" and "float" are passed as i32, "double" as i64, and "i32>i64" is zero-extended. `result` is the intrinsic's
    result type: "i1" and "float" come back as i32, "double" as i64, "{i32,i1}" as an i64 with the predicate in bit 32,
    "low i32" drops it.
    `waits` is true where a thread may wait for others, so that threads need stacks of their own.
    """

    function: str
    result: str = "void"
    arguments: tuple[str, ...] = ()
    takes_site: bool = True
    waits: bool = False


def _register(function: str) -> RuntimeCall:
    return RuntimeCall(function, "i32", (), takes_site=False)


def _waiting(function: str, result: str = "void", *arguments: str) -> RuntimeCall:
    return RuntimeCall(function, result, arguments, waits=True)


def _plain(function: str, result: str = "void", *arguments: str) -> RuntimeCall:
    return RuntimeCall(function, result, arguments, takes_site=False)


def _calling(function: str, result: str = "void", *arguments: str) -> RuntimeCall:
    return RuntimeCall(function, result, arguments)


_REGISTERS = {
    **{
        f"{register}.{axis}": _register(f"wl_{what}_{axis}")
        for register, what in (("tid", "thread"), ("ctaid", "block"), ("ntid", "block_size"), ("nctaid", "grid_size"))
        for axis in "xyz"
    },
    "laneid": _register("wl_lane"),
    "warpid": _register("wl_warp"),
    "nwarpid": _register("wl_warp_count"),
    "lanemask.eq": _register("wl_lane_bit"),
    "lanemask.lt": _register("wl_lanes_below"),
    "lanemask.le": _register("wl_lanes_up_to"),
    "lanemask.gt": _register("wl_lanes_above"),
    "lanemask.ge": _register("wl_lanes_from"),
    "clock": _register("wl_clock_low"),
    "clock64": _plain("wl_clock", "i64"),
    "globaltimer": _plain("wl_clock", "i64"),
    "smid": _register("wl_zero"),
    "nsmid": _register("wl_one"),
    "gridid": _register("wl_zero"),
    "warpsize": _register("wl_warp_size"),
}
_BARRIERS = {
    **dict.fromkeys(
        ("barrier.cta.sync.aligned.all", "barrier.cta.sync.all", "barrier.sync", "barrier.n", "bar.sync"),
        _waiting("wl_barrier", "void", "i32"),
    ),
    **dict.fromkeys(
        ("barrier.cta.sync.aligned.count", "barrier.cta.sync.count", "barrier", "barrier.sync.cnt"),
        _waiting("wl_barrier_of", "void", "i32", "i32"),
    ),
    "barrier0": _waiting("wl_barrier_zero"),
    **{
        f"barrier.cta.red.{kind}.{form}": _waiting(f"wl_barrier_{function}", result, "i32", "i1")
        for kind, function, result in (("popc", "count", "i32"), ("and", "and", "i1"), ("or", "or", "i1"))
        for form in ("aligned.all", "all")
    },
    **{
        f"barrier0.{kind}": _waiting(f"wl_barrier_{function}_zero", "i32", "i32")
        for kind, function in (("popc", "count"), ("and", "and"), ("or", "or"))
    },
    "bar.warp.sync": _waiting("wl_warp_barrier", "void", "i32"),
    "__windlass_grid_sync": _waiting("wl_grid_barrier"),
    "__windlass_warp_meets": _waiting("wl_warp_meets"),
    "__windlass_barrier_open": _calling("wl_barrier_open", "void", "ptr", "i32"),
    "__windlass_barrier_arrive": _calling("wl_barrier_arrive", "i32", "ptr", "i32", "i32"),
    "__windlass_barrier_is_last": _calling("wl_barrier_is_last", "i32", "ptr", "i32"),
    "__windlass_barrier_wait": _waiting("wl_barrier_wait", "void", "ptr", "i32"),
    "__windlass_barrier_passed": _waiting("wl_barrier_passed", "i32", "ptr", "i32"),
    **dict.fromkeys(("membar.cta", "membar.gl", "membar.sys", "fence.acq_rel", "fence.sc"), _calling("wl_fence")),
}
_SHUFFLES = {"idx": "index", "up": "up", "down": "down", "bfly": "xor"}
_REDUCTIONS = {
    "add": "add",
    "min": "min",
    "max": "max",
    "umin": "unsigned_min",
    "umax": "unsigned_max",
    "and": "and",
    "or": "or",
    "xor": "xor",
}
_WARPS = {
    **{
        f"shfl.sync.{kind}.{suffix}": _waiting(f"wl_shuffle_{function}", result, "i32", value, "i32", "i32")
        for kind, function in _SHUFFLES.items()
        for suffix, value, result in (
            ("i32", "i32", "low i32"),
            ("f32", "float", "low float"),
            ("i32p", "i32", "{i32,i1}"),
            ("f32p", "float", "{float,i1}"),
        )
    },
    **{
        f"__windlass_shfl_sync_{kind}_{suffix}": _waiting(
            f"wl_shuffle_{function}_wide", value, "i32", value, "i32", "i32"
        )
        for kind, function in _SHUFFLES.items()
        for suffix, value in (("i64", "i64"), ("f64", "double"))
    },
    **{
        f"vote.{kind}.sync": _waiting(f"wl_vote_{function}", "i1", "i32", "i1")
        for kind, function in (("any", "any"), ("all", "all"), ("uni", "uniform"))
    },
    "vote.ballot.sync": _waiting("wl_vote_ballot", "i32", "i32", "i1"),
    "match.any.sync.i32": _waiting("wl_match_any", "i32", "i32", "i32>i64"),
    "match.any.sync.i64": _waiting("wl_match_any", "i32", "i32", "i64"),
    "match.all.sync.i32p": _waiting("wl_match_all", "{i32,i1}", "i32", "i32>i64"),
    "match.all.sync.i64p": _waiting("wl_match_all", "{i32,i1}", "i32", "i64"),
    **{
        f"redux.sync.{kind}": _waiting(f"wl_reduce_{function}", "i32", "i32", "i32")
        for kind, function in _REDUCTIONS.items()
    },
    "elect.sync": _waiting("wl_elect", "{i32,i1}", "i32"),
    "activemask": _waiting("wl_active_mask", "i32"),
}
_FETCH = ("i64", "i32", "i32", "i32", "float", "float", "float")
_TEXTURES = {
    "__windlass_texture_integer": _calling("wl_texture_integer", "i32", *_FETCH),
    "__windlass_texture_float": _calling("wl_texture_float", "low float", *_FETCH),
    "__windlass_bound_texture": _calling("wl_bound_texture", "i64", "ptr"),
    "__windlass_surface_place": _calling("wl_surface_place", "i64", "i64", "i32", "i32", "i32", "i32", "i32"),
    "__windlass_texels": _calling("wl_texture_texels", "ptr", "i64"),
}
_HOST = {
    **dict.fromkeys(
        ("__assertfail", "__assert_fail", "__windlass_assert_fail"),
        _calling("wl_assert", "void", "ptr", "ptr", "i32", "ptr"),
    ),
    **dict.fromkeys(("llvm.trap", "llvm.debugtrap", "__windlass_trap"), _calling("wl_trap")),
    **dict.fromkeys(("malloc", "_Znwm", "_Znam"), _calling("wl_malloc", "ptr", "i64")),
    **dict.fromkeys(("free", "_ZdlPv", "_ZdlPvm", "_ZdaPv", "_ZdaPvm"), _calling("wl_heap_free", "void", "ptr")),
    **dict.fromkeys(("nanosleep", "pm.event.mask"), _plain("wl_nothing")),
    **{
        f"isspacep.{name}": _plain(f"wl_is_{space}", "i1", "ptr")
        for name, space in (("global", "global"), ("shared", "shared"), ("const", "constant"), ("local", "local"))
    },
    "exit": _waiting("wl_exit"),
    "vprintf": _calling("wl_print", "i32", "ptr", "ptr"),
    "__windlass_shared_pointer": _plain("wl_shared_pointer", "ptr", "i32"),
    "__windlass_clock": _plain("wl_clock", "i64"),
    "__windlass_smid": _register("wl_zero"),
}
RUNTIME_CALLS = {
    **{f"read.ptx.sreg.{name}": call for name, call in _REGISTERS.items()},
    **_BARRIERS,
    **_WARPS,
    **_TEXTURES,
    **_HOST,
}

# Intrinsics that only tell the compiler something.
WITHOUT_EFFECT = (
    "llvm.lifetime.end",
    "llvm.assume",
    "llvm.dbg.",
    "llvm.experimental.noalias.scope.decl",
    ENTER,
    ITERATION,
    IN_ORDER,
    OWN_THREAD,
    "llvm.invariant.",
    "llvm.prefetch",
    "llvm.stackrestore",
    "llvm.sideeffect",
    "llvm.pseudoprobe",
    "llvm.donothing",
    "llvm.nvvm.prefetch",
)


def fits(call: RuntimeCall, kinds: Sequence[str]) -> bool:
    """Whether a call's arguments have the types that the runtime function takes; what is passed beyond is dropped.

    Names are anybody's to declare, and with any types: another type would arrive in another register.

    >>> fits(RUNTIME_CALLS["vprintf"], ["ptr", "ptr"]), fits(RUNTIME_CALLS["vprintf"], ["double", "double"])
    (True, False)
    """
    return len(kinds) >= len(call.arguments) and all(
        kind.partition(" ")[0] == expected.partition(">")[0]
        for kind, expected in zip(kinds, call.arguments, strict=False)
    )


def write_runtime_call(
    call: RuntimeCall,
    result: str | None,
    arguments: list[tuple[str, str]],
    site: int | None,
    fresh: Callable[[], str],
) -> list[str]:
    """LLVM IR that calls a function of the runtime library and gives its result the intrinsic's type.

    `arguments` are types and values of the intrinsic's call, of types that `fits` has found right; `fresh` makes new
    names.
    """
    lines: list[str] = []
    passed: list[str] = []
    for (kind, value), expected in zip(arguments, call.arguments, strict=False):
        if expected in ("i1", "i32>i64"):
            wide, target = fresh(), "i32" if expected == "i1" else "i64"
            lines.append(f"  {wide} = zext {kind} {value} to {target}")
            passed.append(f"{target} {wide}")
        elif expected in ("float", "double"):
            bits, target = fresh(), "i32" if expected == "float" else "i64"
            lines.append(f"  {bits} = bitcast {expected} {value} to {target}")
            passed.append(f"{target} {bits}")
        else:
            passed.append(f"{kind} {value}")
    if site is not None:
        passed.append(f"i32 {site}")
    invoked = f"@{call.function}({', '.join(passed)})"
    if call.result == "void" or result is None:
        return [*lines, f"  call void {invoked}"]
    return lines + _unpack(call.result, result, invoked, fresh)


def _unpack(kind: str, result: str, invoked: str, fresh: Callable[[], str]) -> list[str]:
    if kind in ("i32", "i64", "ptr"):
        return [f"  {result} = call {kind} {invoked}"]
    raw = fresh()
    if kind == "i1":
        return [f"  {raw} = call i32 {invoked}", f"  {result} = icmp ne i32 {raw}, 0"]
    lines = [f"  {raw} = call i64 {invoked}"]
    if kind == "double":
        return [*lines, f"  {result} = bitcast i64 {raw} to double"]
    if kind == "low i32":
        return [*lines, f"  {result} = trunc i64 {raw} to i32"]
    low = fresh()
    lines.append(f"  {low} = trunc i64 {raw} to i32")
    if kind == "low float":
        return [*lines, f"  {result} = bitcast i32 {low} to float"]
    scalar, value = kind[1 : kind.index(",")], low
    if scalar == "float":
        value = fresh()
        lines.append(f"  {value} = bitcast i32 {low} to float")
    high, predicate, partial = fresh(), fresh(), fresh()
    return [
        *lines,
        f"  {high} = lshr i64 {raw}, 32",
        f"  {predicate} = trunc i64 {high} to i1",
        f"  {partial} = insertvalue {{ {scalar}, i1 }} poison, {scalar} {value}, 0",
        f"  {result} = insertvalue {{ {scalar}, i1 }} {partial}, i1 {predicate}, 1",
    ]
