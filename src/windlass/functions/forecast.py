"""`wl.forecast`: what a program takes, in memory and work, found from the program alone. Nothing is run or compiled.

The function is traced and lowered as for a call, its derivatives too. What XLA would be given is read, and walked
over: `facts/memory.py` for buffers, `facts/cost.py` for operations and bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.core import Tracer

from windlass.diagnostics import Position
from windlass.diagnostics.progress import telling
from windlass.facts.cost import CPU, estimate_cost
from windlass.facts.known_values import known_integers
from windlass.facts.memory import estimate_memory
from windlass.functions.pure_call import PureCall, is_computed_wide, name_of, pure_call
from windlass.ir import Argument, Block, Builder, Module, Op, TensorType, Value
from windlass.ir.values import Result
from windlass.ops import Call, Constant, expand_composites
from windlass.ops.base import INTEGER
from windlass.reports.words import spell_size
from windlass.rewriting.common_subexpressions import share_common_subexpressions
from windlass.rewriting.inlining import inline_calls
from windlass.stablehlo.importing import import_module
from windlass.stablehlo.platforms import device_for

SHOWN = 5
"""Buffers that a report names."""
FARTHEST = 256
"""Operations that are looked at for one whose line is known."""


@dataclass(frozen=True)
class Buffer:
    """Memory that is held at the peak."""

    bytes: int
    what: str
    """Its type, and the operation that writes it, or which argument it is."""
    position: Position | None

    def __str__(self) -> str:
        return f"{spell_size(self.bytes):>8}  {self.what}" + _at(self.position)


@dataclass(frozen=True)
class Forecast:
    """What a program will take. Its text says where the peak is, and what is held there."""

    name: str
    peak_bytes: int
    """Arguments, results, and what is held between, all together where they are most."""
    argument_bytes: int
    result_bytes: int
    flops: int
    """Operations on numbers; a function of floats, such as a root, counts as several."""
    bytes: int
    """What goes between memory and processor."""
    seconds: float
    """What the cost model expects of the device, roughly."""
    position: Position | None
    """The line at which the peak is reached, where it is known."""
    buffers: tuple[Buffer, ...]
    """What is held at the peak, the largest first."""

    def __str__(self) -> str:
        between = max(0, self.peak_bytes - self.argument_bytes - self.result_bytes)
        lines = [
            f"{self.name}: {spell_size(self.peak_bytes)} at the peak{_at(self.position)}",
            f"  arguments {spell_size(self.argument_bytes)}, results {spell_size(self.result_bytes)}, "
            f"between them {spell_size(between)}",
            f"  {_spell_count(self.flops)} operations, {spell_size(self.bytes)} moved",
            "  held at the peak:",
        ]
        lines += [f"  {buffer}" for buffer in self.buffers[:SHOWN]]
        if len(self.buffers) > SHOWN:
            rest = self.buffers[SHOWN:]
            lines.append(f"  {spell_size(sum(each.bytes for each in rest)):>8}  {len(rest)} more")
        return "\n".join(lines)


def forecast(function: Any, *arguments: Any, **named: Any) -> Forecast:
    """What memory and work a call of the function with these arguments will take, without running or compiling it.

    The function is what `grad` takes, or a derivative by it: `forecast(wl.grad(f), x)`. Arrays are only asked for their
    shapes and dtypes: a `jax.ShapeDtypeStruct` does as well. Integers that loops count by are known by their values; a
    loop whose length depends on what is computed counts as some rounds.

    Memory is an estimate of what XLA sets aside, by the rules of facts/memory.py. It knows no other programs, and none
    of what Python, XLA's code and libraries take for themselves.

    Raises WindlassError where the function can't be traced or has no such derivative, as a call would.

    >>> import numpy as np
    >>> def loss(x):
    ...     return (np.tanh(x @ x) ** 2).sum()
    >>> found = forecast(loss, np.ones((1000, 1000)))
    >>> found.argument_bytes, found.result_bytes, found.peak_bytes >= 16_000_000
    (8000000, 8, True)
    """
    leaves, structure = jax.tree.flatten((arguments, named))
    places = [place for place, leaf in enumerate(leaves) if _is_array(leaf)]
    calls: list[PureCall] = []

    def run(*given: Any) -> Any:
        all_leaves = list(leaves)
        for place, value in zip(places, given, strict=True):
            all_leaves[place] = value
        positional, by_name = jax.tree.unflatten(structure, all_leaves)
        with jax.ensure_compile_time_eval():
            # Numbers stay numbers.
            call = pure_call(function, positional, by_name)
        calls.append(call)
        return call.apply(call.values)

    shapes = [jax.ShapeDtypeStruct(leaves[place].shape, leaves[place].dtype) for place in places]
    with jax.enable_x64(True) if is_computed_wide(function, leaves) else nullcontext():
        with telling(f"Windlass forecasts {name_of(function)}"):
            lowered = jax.jit(run).lower(*shapes)
            program, values = calls[0].program, calls[0].values
            if program is not None:
                # What is called is this program, with all that it writes for results.
                lowered = jax.jit(program.bind).lower(*program.abstract_arguments())
        module = import_module(lowered.compiler_ir("stablehlo"))
    if program is not None:
        _fill_in(module, values)
    return _forecast(name_of(function), module)


def _forecast(name: str, module: Module) -> Forecast:
    main = module.main
    callers = {op.source for op in main.body if isinstance(op, Call)}
    inline_calls(main.body, module)
    _fold(main.body)
    expand_composites(main.body)
    share_common_subexpressions(main.body)
    device = device_for((jax.default_backend(),)) or CPU
    cost = estimate_cost(main.results, main.arguments, device)
    memory = estimate_memory(main, module)
    return Forecast(
        name,
        memory.peak,
        memory.arguments,
        memory.results,
        cost.operations,
        cost.bytes,
        cost.seconds,
        None if memory.at is None else _position(memory.at, callers),
        tuple(Buffer(size, _described(value), _position(value, callers)) for size, value in memory.live),
    )


def _fill_in(module: Module, values: Sequence[Any]) -> None:
    """Put numbers in the place of arguments that are integers: loops count by them."""
    main = module.main
    first = next(iter(main.body))
    with Builder(main.body, before=first):
        for argument, value in zip(main.arguments, values, strict=True):
            is_known = not isinstance(value, Tracer) and not np.shape(value)
            if is_known and not argument.shape and argument.dtype in INTEGER:
                argument.replace_all_uses_with(Constant.of(int(value), argument.dtype))


def _fold(block: Block) -> None:
    """Put numbers in the place of integers that are computed of numbers: loops count by them."""
    for op in list(block.walk()):
        if (
            not isinstance(op, Constant)
            and isinstance(op.type, TensorType)
            and not op.shape
            and op.dtype in INTEGER - {"ui64"}
        ):
            known = known_integers(op)
            if known is not None and op.block is not None:
                with Builder(op.block, before=op):
                    op.replace_all_uses_with(Constant.of(int(known), op.dtype))


def _is_array(leaf: Any) -> bool:
    is_numeric = isinstance(leaf, np.ndarray) and leaf.dtype.names is None and leaf.dtype.kind not in "OSUMm"
    return is_numeric or isinstance(leaf, jax.Array | jax.ShapeDtypeStruct)


def _position(value: Value, callers: set[Position | None]) -> Position | None:
    """The line of the op, or of what it is computed from: ops of derivatives may stand where the program is called."""
    seen: set[Value] = set()
    frontier = [value]
    while frontier and len(seen) < FARTHEST:
        each = frontier.pop(0)
        each = each.owner if isinstance(each, Result) else each
        if not isinstance(each, Op) or each in seen:
            continue
        seen.add(each)
        if each.source is not None and each.source.line and each.source not in callers:
            return each.source
        frontier += each.operands
    return None


def _described(value: Value) -> str:
    """What an array is, for a reader who knows NumPy."""
    sizes = "×".join(map(str, value.shape)) or "a number"
    kind = f"{value.dtype}, {sizes}"
    if isinstance(value, Argument):
        is_carried = value.block is not None and value.block.parent is not None
        return f"{kind}: carried by a loop" if is_carried else f"{kind}: an argument"
    maker = value.owner if isinstance(value, Result) else value
    if not isinstance(maker, Op):
        return kind
    # A function that is called still gives back what it is given: it is there to keep values apart.
    return f"{kind}: {'copy' if isinstance(maker, Call) else maker.name.rpartition('.')[2]}"


def _at(position: Position | None) -> str:
    return "" if position is None else f", {position}"


def _spell_count(count: int) -> str:
    for unit, factor in (("T", 10**12), ("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if count >= factor:
            return f"{count / factor:.3g} {unit}"
    return str(count)
