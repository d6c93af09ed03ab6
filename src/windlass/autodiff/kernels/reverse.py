"""Reverse mode of a kernel: each thread goes its way, and back."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from windlass.autodiff.kernels.backwards import Backwards
from windlass.autodiff.kernels.float_words import read_words_as_floats
from windlass.autodiff.kernels.keeping import Keeping
from windlass.autodiff.kernels.recording import Recording
from windlass.autodiff.kernels.shadows import Shadows, fitted, shadow_type, with_shadows
from windlass.autodiff.kernels.varying import Refusal, Varying
from windlass.ir import Block, BufferType, Builder, Function, Op, Region, Value
from windlass.loops import (
    THREADS,
    Access,
    Allocate,
    Barrier,
    Collective,
    DoWhile,
    For,
    If,
    Load,
    Parallel,
    Pop,
    Push,
    Store,
    Yield,
)
from windlass.ops.creation import Constant
from windlass.ops.elementwise import Add
from windlass.ops.regions import Return
from windlass.parallel.dead_code import remove_unused
from windlass.parallel.serialization import serialize


@dataclass(frozen=True)
class Pullback:
    """A kernel that takes cotangents back. It takes the arguments of the kernel that it is made of, and then the
    shadows of those at `positions`: memory like theirs, of one element for a scalar."""

    function: Function
    positions: tuple[int, ...]


def pullback_kernel(
    function: Function,
    active: Collection[int],
    *,
    is_independent: bool,
    narrowed: Mapping[int, str] | None = None,
) -> Pullback:
    """The cotangents of what a launch is given, from those of what it leaves in memory.

    `function` holds one launch, whose numbers are known. Shadows hold the cotangents of memory after the launch, and
    after the pullback those of memory before it; those of scalars are added to. Memory that is written is as before the
    launch, and holds anything afterwards. `is_independent` says that no thread comes to what another writes, but by
    sums; else all of them run one after another, and back. `narrowed` are the element types of shadows of scalars that
    have others than these.

    Raises Refusal.
    """
    kernel = function.clone()
    read_words_as_floats(kernel)
    if not is_independent:
        _run_in_order(kernel)
    launch = launch_of(kernel)
    varying = Varying(kernel, active)
    positions = tuple(varying.shadowed())
    shadows = Shadows(varying)
    types = [
        BufferType.of("global", narrowed[position])
        if narrowed and position in narrowed
        else shadow_type(kernel.arguments[position])
        for position in positions
    ]
    block = with_shadows(kernel, positions, types, shadows)
    top = launch.body.block
    backwards = Backwards(varying, shadows)
    mirror = backwards.mirrors[top] = Block()
    before = _before(kernel, launch)
    with Builder(mirror, source=launch.source):
        found = backwards.undo(top, {})
        found = backwards.undo_ops(before, found)
        for position, argument in enumerate(kernel.arguments):
            cotangent = found.get(argument)
            if cotangent is None:
                continue
            shadow = shadows.of_memories[argument]
            dtype = (narrowed or {}).get(position, argument.dtype)
            start = Constant.of(0, "i64")
            Store(Add(Load(shadow, start, dtype), fitted(cotangent.settle(), dtype)), shadow, start)
    remove_unused(mirror)
    keeping = Keeping(varying, backwards, top)
    keeping.settle(mirror)
    body = Block([each.type for each in top.arguments], [each.name for each in top.arguments])
    mapping: dict[Value, Value] = dict(zip(kernel.arguments, block.arguments, strict=False))
    mapping.update(zip(top.arguments, body.arguments, strict=True))
    recording = Recording(varying, backwards, keeping, mapping)
    with Builder(block, source=launch.source):
        recording.place(before)
        with Builder(body, source=launch.source):
            recording.place(op for op in top if op is not top.terminator)
            recording.hand_over(keeping.at_hand)
            for op in list(mirror):
                mirror.unlink(op)
                body.append(op)
            Yield(())
        Parallel(tuple(mapping.get(each, each) for each in launch.extents), launch.dimensions, Region(body))
        Return(())
    remove_idle(body)
    return Pullback(Function(f"{function.name}_pullback", block), positions)


def launch_of(function: Function) -> Parallel:
    """The only launch of a kernel whose threads do not meet."""
    launches = [op for op in function.body if isinstance(op, Parallel)]
    if len(launches) != 1 or launches[0].kind != "launch":
        raise Refusal("it is no single launch", function.source)
    for op in launches[0].body.walk():
        if isinstance(op, Barrier | Collective):
            raise Refusal("its threads meet", op.source)
        if isinstance(op, Allocate) and op.space != "local":
            raise Refusal(f"it has {op.space} memory", op.source)
    return launches[0]


def _before(kernel: Function, launch: Parallel) -> list[Op]:
    found: list[Op] = []
    for op in kernel.body:
        if op is launch:
            break
        found.append(op)
    return found


def _run_in_order(kernel: Function) -> None:
    """Let one thread do what all do, one after another."""
    launch_of(kernel)
    serialize(kernel.body, THREADS)
    for op in [*kernel.walk()]:
        if isinstance(op, Barrier):
            op.erase()


def remove_idle(block: Block) -> None:
    """Erase what has no effect, and whose results nothing uses: branches and loops too."""
    remove_unused(block)
    op = block.last
    while op is not None:
        previous = op.previous
        for region in op.regions:
            remove_idle(region.block)
        if isinstance(op, If | For | DoWhile) and op.is_unused and not any(map(_acts, op.regions)):
            op.erase()
        op = previous
    remove_unused(block)


def _acts(region: Region) -> bool:
    return any(
        (isinstance(op, Access) and not isinstance(op, Load)) or isinstance(op, Push | Pop) for op in region.walk()
    )
