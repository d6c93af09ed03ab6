"""Each rule of the loop level is broken by a program, in the profiles in which it holds, and by that program alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import pytest
from tests.frontends.llvm.running import imported

from windlass import loops
from windlass.ir import Block, BufferType, Builder, Function, Module, Region, Type, Value, tensor_type
from windlass.loops import verifier
from windlass.loops.verifier import LoopFault, Profile, find_loop_faults, verify_kernel, verify_program
from windlass.ops import Add, Constant, Multiply
from windlass.ops.regions import Return
from windlass.parallel.nesting import nest

I1, I32, I64 = (tensor_type((), dtype) for dtype in ("i1", "i32", "i64"))
BUFFER = BufferType.of("global")
Body = Callable[..., object]


def nothing(*values: Value) -> None:
    pass


def region(types: Sequence[Type], body: Body, end: type[loops.Yield] | None = loops.Yield) -> Region:
    block = Block(types)
    with Builder(block):
        body(*block.arguments)
        if end is not None:
            end(())
    return Region(block)


def launch(body: Body = nothing, dimensions: tuple[str, ...] = loops.LAUNCH_DIMENSIONS) -> loops.Parallel:
    sizes = (Constant.of(2, "i32"),) * 6
    return loops.Parallel(sizes, dimensions, region([I32] * 6, body))


def grid(before: Body = nothing, after: Body = nothing, size: int | None = None, count: int = 1) -> None:
    """A launch nested; the first size of a block is the grid's argument of that number, if there is one."""
    sizes = (Constant.of(2, "i32"),) * 6

    def blocks(*ids: Value) -> None:
        before()
        extents = sizes[3:] if size is None else (ids[size], *sizes[4:])
        for _ in range(count):
            loops.Parallel(extents, loops.LAUNCH_DIMENSIONS[3:], region([I32] * 3, nothing), kind="block")
        after()

    loops.Parallel(sizes[:3], loops.LAUNCH_DIMENSIONS[:3], region([I32] * 3, blocks), kind="grid")


def warps(before: Body = nothing, after: Body = nothing, lanes: int = 1, size: bool = False) -> None:
    """A launch over the warps of blocks; the first size of a block is the warp's number, if that is asked for."""
    sizes = (Constant.of(2, "i32"),) * 6

    def of_block(warp: Value) -> None:
        before()
        extents = (warp, *sizes[4:]) if size else sizes[3:]
        for _ in range(lanes):
            loops.Parallel(extents, loops.LAUNCH_DIMENSIONS[3:], region([I32] * 3, nothing), kind="lane")
        after()

    def of_grid(*ids: Value) -> None:
        loops.Parallel(sizes[:1], loops.WARPS, region([I32], of_block), kind="block")

    loops.Parallel(sizes[:3], loops.LAUNCH_DIMENSIONS[:3], region([I32] * 3, of_grid), kind="grid")


def function(build: Callable[[Value], object], argument: Type = BUFFER, returns: bool = True) -> Function:
    """A function of one argument."""
    built = Function("f", Block([argument]))
    with Builder(built.body):
        build(built.arguments[0])
        if returns:
            Return(())
    return built


def load(buffer: Value, dtype: str = "i32", offset: Value | None = None) -> Value:
    return loops.Load(buffer, offset or Constant.of(0, "i64"), dtype)


def independent(body: Body = nothing) -> None:
    loops.Parallel((Constant.of(2, "i32"),), ("i",), region([I32], body), kind="independent")


def branch(body: Body) -> None:
    loops.If(Constant.of(True, "i1"), region([], body), region([], nothing))


def barrier() -> None:
    loops.Barrier("block")


def shared() -> None:
    loops.Allocate("shared", 4, "mine")


def carries_too_little(*ids: Value) -> None:
    loops.For(Constant.of(2, "i64"), (ids[0],), region([I64, I32], nothing))


def ends_in_a_condition(*ids: Value) -> None:
    def body(iteration: Value) -> None:
        loops.Condition(Constant.of(True, "i1"), ())

    loops.For(Constant.of(2, "i64"), (), region([I64], body, None))


def sums(name: str) -> Body:
    """A product that is said to be a reduction by the operation of that name."""

    def thread(*ids: Value) -> None:
        block = Block([I64, I32])
        with Builder(block):
            loops.Yield((Multiply(block.arguments[1], Add(block.arguments[1], ids[0])),))
        loops.For(Constant.of(2, "i64"), (ids[0],), Region(block), reductions=(name,))

    return thread


def serial(body: Body) -> Body:
    return lambda *_: loops.For(Constant.of(2, "i64"), (), region([I64], body), serializes=loops.BLOCKS)


def store(own: Value) -> None:
    loops.Store(Constant.of(1, "i32"), own, Constant.of(0, "i64"))


def of_any_order(body: Body) -> Body:
    """A loop that is said to be independent, behind an array of the thread's own."""

    def thread(*_: Value) -> None:
        own = loops.Allocate("local", 4)

        def round_(iteration: Value) -> None:
            body(own)

        loops.For(Constant.of(2, "i64"), (), region([I64], round_), is_independent=True)

    return thread


def allocate_within(space: str) -> Body:
    return lambda *_: loops.Allocate(space, 4, "mine")


def allocate_twice(*_: Value) -> None:
    shared()
    shared()


def launched(*inputs: Value) -> None:
    one = Constant.of(1, "i32")
    loops.Launch("k", (one,) * 6, one, inputs)


EITHER: tuple[Profile, ...] = ("imported", "transformed")
EACH: tuple[Profile, ...] = (*EITHER, "program")
IMPORTED: tuple[Profile, ...] = ("imported",)
CHANGED: tuple[Profile, ...] = ("transformed", "program")
PROGRAM: tuple[Profile, ...] = ("program",)
FAULTY: list[tuple[str, tuple[Profile, ...], Function]] = [
    ("L1: ", EACH, function(lambda x: launch(), tensor_type((2,), "i32"))),
    ("L2: 0 parallel loops", EITHER, function(nothing)),
    ("L2: 2 parallel loops", IMPORTED, function(lambda x: (launch(), launch()))),
    ("L2: a parallel loop of kind grid", IMPORTED, function(lambda x: grid())),
    ("L2: a parallel loop of kind independent", EACH, function(lambda x: independent())),
    ("L2: the function does not end in a return", EACH, function(lambda x: launch(), returns=False)),
    ("L3: the body of For ends in Condition", EACH, function(lambda x: launch(ends_in_a_condition))),
    ("L4: the body of For hands on", EACH, function(lambda x: launch(carries_too_little))),
    ("L5: Constant gives", EACH, function(lambda x: launch(lambda *_: Constant.of([1, 2])))),
    ("L6: Load of i1", EACH, function(lambda x: launch(lambda *_: load(x, "i1")))),
    ("L7: mine is allocated within a branch", EACH, function(lambda x: launch(lambda *_: branch(shared)))),
    ("L7: mine is allocated within a branch", IMPORTED, function(lambda x: launch(serial(allocate_within("local"))))),
    ("L7: shared variable mine is allocated 2 times", EACH, function(lambda x: launch(allocate_twice))),
    ("L7: global memory is allocated", IMPORTED, function(lambda x: (loops.Allocate("global", 4), launch()))),
    ("L7: local memory is allocated", EACH, function(lambda x: (loops.Allocate("local", 4), launch()))),
    ("L7: mine is allocated within the parallel", EACH, function(lambda x: launch(allocate_within("global")))),
    ("L8: Load outside the parallel loop", EACH, function(lambda x: (load(x), launch()))),
    ("L8: a launch size", EACH, function(lambda x: launch(lambda *_: loops.LaunchSize("block.x")))),
    ("L8: Barrier outside the threads of a block", CHANGED, function(lambda x: grid(before=barrier))),
    ("L9: a parallel loop of kind independent", IMPORTED, function(lambda x: launch(lambda *_: independent()))),
    (
        "L9: threads meet within an independent parallel loop",
        CHANGED,
        function(lambda x: launch(lambda *_: independent(lambda i: barrier()))),
    ),
    ("L10: carried value 0 of For is no reduction by mul", EACH, function(lambda x: launch(sums("mul")))),
    ("L8: a program reads a launch size", PROGRAM, function(lambda x: loops.LaunchSize("block.x"))),
    ("L12: @k is launched, but not", EITHER, function(lambda x: (launch(), launched(x)))),
    ("L12: @k is launched within", EACH, function(lambda x: launch(lambda *_: launched(x)))),
    ("L11: Barrier after the threads of a block", CHANGED, function(lambda x: grid(after=barrier))),
    ("L11: 0 parallel loops in a warp", CHANGED, function(lambda x: warps(lanes=0))),
    ("L11: 2 parallel loops in a warp", CHANGED, function(lambda x: warps(lanes=2))),
    ("L11: Barrier after the threads of a warp", CHANGED, function(lambda x: warps(after=barrier))),
    ("L11: the number of threads differs from warp", CHANGED, function(lambda x: warps(size=True))),
    ("L8: Allocate outside the threads of a warp", CHANGED, function(lambda x: warps(before=shared))),
    ("L2: a parallel loop of kind grid", CHANGED, function(lambda x: launch(lambda *_: grid()))),
    ("L2: the parallel dimensions", EACH, function(lambda x: launch(dimensions=loops.LAUNCH_DIMENSIONS[::-1]))),
    ("L11: 2 parallel loops in a grid", CHANGED, function(lambda x: grid(count=2))),
    ("L13: Load of i32 at 2", EACH, function(lambda x: launch(lambda *_: load(x, offset=loops.Subscript((), (), 2))))),
    ("L14: an independent loop: it stores to memory of", EACH, function(lambda x: launch(of_any_order(store)))),
    ("L14: an independent loop: threads meet", EACH, function(lambda x: launch(of_any_order(lambda *_: barrier())))),
    ("L11: the number of threads differs", CHANGED, function(lambda x: grid(size=0))),
]


CASES = [
    pytest.param(wanted, profile, built, id=f"{profile}-{wanted}")
    for wanted, profiles, built in FAULTY
    for profile in profiles
]


@pytest.mark.parametrize(("wanted", "profile", "built"), CASES)
def test_a_broken_rule_is_told_by_its_number(wanted: str, profile: Profile, built: Function) -> None:
    faults = list(find_loop_faults(built, profile))
    assert faults and all(fault.startswith(wanted) for fault in faults)


def test_each_rule_is_broken_by_a_program() -> None:
    assert verifier.__doc__ is not None
    rules = set(re.findall(r"^\* (L\d+):", verifier.__doc__, re.MULTILINE))
    assert {wanted.partition(":")[0] for wanted, _, _ in FAULTY} == rules


ALLOWED = [pytest.param(built, id=wanted) for wanted, profiles, built in FAULTY if profiles == IMPORTED]


@pytest.mark.parametrize("built", ALLOWED)
def test_transformed_kernels_may_be_what_imported_ones_may_not(built: Function) -> None:
    verify_kernel(built, "transformed")


def test_launches_of_a_program_fit_its_kernels() -> None:
    kernel, main = function(lambda x: launch()), function(launched)
    kernel.name = "k"
    verify_program(Module([main, kernel]))
    with pytest.raises(LoopFault, match="L12: @k is given"):
        verify_program(Module([function(lambda x: launched(x, x)), kernel]))
    with pytest.raises(LoopFault, match="L12: there is no kernel @k"):
        verify_program(Module([main]))


def test_forms_of_one_kernel_keep_the_rules_of_their_profiles() -> None:
    kernel = imported("__global__ void kernel(int *p) { __shared__ int s[4]; s[0] = 1; __syncthreads(); p[0] = s[0]; }")
    verify_kernel(kernel, "transformed")
    nest(kernel.body)
    verify_kernel(kernel, "transformed")
    with pytest.raises(LoopFault, match="L2: a parallel loop of kind grid"):
        verify_kernel(kernel)
