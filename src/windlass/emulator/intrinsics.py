"""How a kernel's calls of hardware and library functions are carried out: by functions of the runtime library.

`RUNTIME_CALLS` maps names as they stand in LLVM IR (without `llvm.nvvm.` where they begin so) to `RuntimeCall`s.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass


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


def _build() -> dict[str, RuntimeCall]:
    calls: dict[str, RuntimeCall] = {}
    for axis in "xyz":
        calls[f"read.ptx.sreg.tid.{axis}"] = _register(f"wl_thread_{axis}")
        calls[f"read.ptx.sreg.ctaid.{axis}"] = _register(f"wl_block_{axis}")
        calls[f"read.ptx.sreg.ntid.{axis}"] = _register(f"wl_block_size_{axis}")
        calls[f"read.ptx.sreg.nctaid.{axis}"] = _register(f"wl_grid_size_{axis}")
    for name, function in {
        "laneid": "wl_lane",
        "warpid": "wl_warp",
        "nwarpid": "wl_warp_count",
        "lanemask.eq": "wl_lane_bit",
        "lanemask.lt": "wl_lanes_below",
        "lanemask.le": "wl_lanes_up_to",
        "lanemask.gt": "wl_lanes_above",
        "lanemask.ge": "wl_lanes_from",
        "clock": "wl_clock_low",
        "smid": "wl_zero",
        "nsmid": "wl_one",
        "gridid": "wl_zero",
        "warpsize": "wl_warp_size",
    }.items():
        calls[f"read.ptx.sreg.{name}"] = _register(function)
    for name in ("clock64", "globaltimer"):
        calls[f"read.ptx.sreg.{name}"] = RuntimeCall("wl_clock", "i64", (), takes_site=False)

    barrier = RuntimeCall("wl_barrier", "void", ("i32",), waits=True)
    some = RuntimeCall("wl_barrier_of", "void", ("i32", "i32"), waits=True)
    for name in ("barrier.cta.sync.aligned.all", "barrier.cta.sync.all", "barrier.sync", "barrier.n", "bar.sync"):
        calls[name] = barrier
    for name in ("barrier.cta.sync.aligned.count", "barrier.cta.sync.count", "barrier", "barrier.sync.cnt"):
        calls[name] = some
    calls["barrier0"] = RuntimeCall("wl_barrier_zero", waits=True)
    for kind, function, result in (
        ("popc", "wl_barrier_count", "i32"),
        ("and", "wl_barrier_and", "i1"),
        ("or", "wl_barrier_or", "i1"),
    ):
        for name in (f"barrier.cta.red.{kind}.aligned.all", f"barrier.cta.red.{kind}.all"):
            calls[name] = RuntimeCall(function, result, ("i32", "i1"), waits=True)
        calls[f"barrier0.{kind}"] = RuntimeCall(f"{function}_zero", "i32", ("i32",), waits=True)

    calls["bar.warp.sync"] = RuntimeCall("wl_warp_barrier", "void", ("i32",), waits=True)
    for kind, function in (("idx", "index"), ("up", "up"), ("down", "down"), ("bfly", "xor")):
        for suffix, value, result in (
            ("i32", "i32", "low i32"),
            ("f32", "float", "low float"),
            ("i32p", "i32", "{i32,i1}"),
            ("f32p", "float", "{float,i1}"),
        ):
            calls[f"shfl.sync.{kind}.{suffix}"] = RuntimeCall(
                f"wl_shuffle_{function}", result, ("i32", value, "i32", "i32"), waits=True
            )
        for suffix in ("i64", "f64"):
            value = "i64" if suffix == "i64" else "double"
            calls[f"__windlass_shfl_sync_{kind}_{suffix}"] = RuntimeCall(
                f"wl_shuffle_{function}_wide", value, ("i32", value, "i32", "i32"), waits=True
            )
    for kind, function in (("any", "any"), ("all", "all"), ("uni", "uniform")):
        calls[f"vote.{kind}.sync"] = RuntimeCall(f"wl_vote_{function}", "i1", ("i32", "i1"), waits=True)
    calls["vote.ballot.sync"] = RuntimeCall("wl_vote_ballot", "i32", ("i32", "i1"), waits=True)
    for width, value in (("i32", "i32>i64"), ("i64", "i64")):
        calls[f"match.any.sync.{width}"] = RuntimeCall("wl_match_any", "i32", ("i32", value), waits=True)
        calls[f"match.all.sync.{width}p"] = RuntimeCall("wl_match_all", "{i32,i1}", ("i32", value), waits=True)
    for kind, function in {
        "add": "add",
        "min": "min",
        "max": "max",
        "umin": "unsigned_min",
        "umax": "unsigned_max",
        "and": "and",
        "or": "or",
        "xor": "xor",
    }.items():
        calls[f"redux.sync.{kind}"] = RuntimeCall(f"wl_reduce_{function}", "i32", ("i32", "i32"), waits=True)
    calls["elect.sync"] = RuntimeCall("wl_elect", "{i32,i1}", ("i32",), waits=True)
    calls["activemask"] = RuntimeCall("wl_active_mask", "i32", (), waits=True)

    fence = RuntimeCall("wl_fence")
    for name in ("membar.cta", "membar.gl", "membar.sys", "fence.acq_rel", "fence.sc"):
        calls[name] = fence
    for name in ("nanosleep", "pm.event.mask"):
        calls[name] = RuntimeCall("wl_nothing", "void", (), takes_site=False)
    calls["exit"] = RuntimeCall("wl_exit", waits=True)

    for name, function in (("global", "global"), ("shared", "shared"), ("const", "constant"), ("local", "local")):
        calls[f"isspacep.{name}"] = RuntimeCall(f"wl_is_{function}", "i1", ("ptr",), takes_site=False)

    strings = ("ptr", "ptr", "i32", "ptr")
    for name in ("__assertfail", "__assert_fail", "__windlass_assert_fail"):
        calls[name] = RuntimeCall("wl_assert", "void", strings)
    for name in ("llvm.trap", "llvm.debugtrap", "__windlass_trap"):
        calls[name] = RuntimeCall("wl_trap")
    calls["vprintf"] = RuntimeCall("wl_print", "i32", ("ptr", "ptr"))
    calls["malloc"] = RuntimeCall("wl_malloc", "ptr", ("i64",))
    calls["free"] = RuntimeCall("wl_heap_free", "void", ("ptr",))
    calls["__windlass_shared_pointer"] = RuntimeCall("wl_shared_pointer", "ptr", ("i32",), takes_site=False)
    for name in ("_Znwm", "_Znam"):
        calls[name] = calls["malloc"]
    for name in ("_ZdlPv", "_ZdlPvm", "_ZdaPv", "_ZdaPvm"):
        calls[name] = calls["free"]
    calls["__windlass_grid_sync"] = RuntimeCall("wl_grid_barrier", waits=True)
    calls["__windlass_warp_meets"] = RuntimeCall("wl_warp_meets", waits=True)
    phase = ("ptr", "i32")
    calls["__windlass_barrier_open"] = RuntimeCall("wl_barrier_open", "void", phase)
    calls["__windlass_barrier_arrive"] = RuntimeCall("wl_barrier_arrive", "i32", ("ptr", "i32", "i32"))
    calls["__windlass_barrier_is_last"] = RuntimeCall("wl_barrier_is_last", "i32", phase)
    calls["__windlass_barrier_wait"] = RuntimeCall("wl_barrier_wait", "void", phase, waits=True)
    calls["__windlass_barrier_passed"] = RuntimeCall("wl_barrier_passed", "i32", phase, waits=True)
    calls["__windlass_clock"] = RuntimeCall("wl_clock", "i64", (), takes_site=False)
    calls["__windlass_smid"] = _register("wl_zero")
    fetch = ("i64", "i32", "i32", "i32", "float", "float", "float")
    calls["__windlass_texture_integer"] = RuntimeCall("wl_texture_integer", "i32", fetch)
    calls["__windlass_texture_float"] = RuntimeCall("wl_texture_float", "low float", fetch)
    calls["__windlass_bound_texture"] = RuntimeCall("wl_bound_texture", "i64", ("ptr",))
    calls["__windlass_surface_place"] = RuntimeCall(
        "wl_surface_place", "i64", ("i64", "i32", "i32", "i32", "i32", "i32")
    )
    calls["__windlass_texels"] = RuntimeCall("wl_texture_texels", "ptr", ("i64",))
    return calls


RUNTIME_CALLS = _build()

# Intrinsics that only tell the compiler something.
WITHOUT_EFFECT = (
    "llvm.lifetime.end",
    "llvm.assume",
    "llvm.dbg.",
    "llvm.experimental.noalias.scope.decl",
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
