"""Derivatives of native code on JAX values: native code of the loop level's own derivatives (autodiff/kernels).

A program is native code that XLA calls, with the function of the loop level that it is made of. What its results change
by is a program again, and so is what takes their cotangents back: each is made where JAX first runs it, and has
derivatives in its turn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from windlass.autodiff.kernels import (
    Refusal,
    pullback_kernel,
    tangent_kernel,
    threads_meet,
    with_one_thread_a_block,
)
from windlass.diagnostics import Diagnostic, Position, WindlassError
from windlass.ir import Block, BufferType, Function
from windlass.launching.native_launch import told_of_defect
from windlass.loops import Condition, DoWhile, For, Yield
from windlass.native import LaunchFacts, MemoryFacts, NotNative, are_threads_independent, compile_kernel
from windlass.native.xla_call import Slot, XlaCall, enter
from windlass.native.xla_rows import Kind
from windlass.ops.creation import Constant
from windlass.parallel.effects import written_parameters
from windlass.stablehlo.linear_call import LinearRule, linear_call

if TYPE_CHECKING:
    from windlass.launching.loaded_kernel import LoadedKernel

Enter: TypeAlias = "Callable[[XlaCall], Callable[..., Any]]"
"""Gives the function of JAX values that makes the call."""
_NUMBERS = (Kind.BITS, Kind.F32_TO_F64)
"""How floats enter that are numbers."""
UNKNOWN_ROUNDS = 8
"""How often a loop goes round by estimate, where that is not known."""


@dataclass(frozen=True)
class Source:
    """What native code is made of: a function of the loop level, what is known of its launch, and what fills its
    arguments, and then its variables."""

    function: Function
    facts: LaunchFacts
    slots: tuple[Slot, ...]

    def flops(self) -> int:
        """About how many operations a launch takes, in all branches; loops of unknown length count as 8 rounds."""
        return math.prod(self.facts.extents) * _count(self.function.body)


def _count(block: Block) -> int:
    total = 0
    for op in block:
        rounds = 1
        if isinstance(op, For) and isinstance(op.trip_count, Constant):
            rounds = max(int(op.trip_count.number), 0)
        elif isinstance(op, For | DoWhile):
            rounds = UNKNOWN_ROUNDS
        inside = sum(_count(region.block) for region in op.regions)
        total += rounds * inside if op.regions else not isinstance(op, Constant | Yield | Condition)
    return total


class NativeProgram:
    """Native code as a function of JAX values that has derivatives.

    `count` results are given: the new values of the arrays that are written, first those that are asked for.
    """

    def __init__(self, kernel: LoadedKernel, source: Source, call: XlaCall, enter_call: Enter, count: int) -> None:
        self.kernel = kernel
        self.source = source
        self.call = call
        self._enter_call = enter_call
        self._count = count
        written = {slot.result: slot.operand for slot in source.slots if slot.kind is Kind.WRITTEN}
        self.operand_of_result = [written[result] for result in range(count)]
        arguments = len(source.function.arguments)
        self._positions = {
            slot.operand: position
            for position, slot in enumerate(source.slots[:arguments])
            if slot.kind is not Kind.NULL
        }
        """The argument of the function that each operand fills."""
        self._operands = {position: operand for operand, position in self._positions.items()}
        self._derived: dict[Hashable, tuple[NativeProgram, tuple[int, ...]]] = {}
        run = enter_call(call)

        def plain(*operands: Any) -> list[Any]:
            return list(run(*operands))[:count]

        plain.__name__ = plain.__qualname__ = kernel.name
        self._plain = jax.custom_jvp(plain)
        self._plain.defjvp(self._push_forward, symbolic_zeros=True)

    def apply(self, *operands: Any) -> list[Any]:
        return self._plain(*operands)

    def _push_forward(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        results = self._plain(*primals)
        active = tuple(
            operand
            for operand, (value, tangent) in enumerate(zip(primals, tangents, strict=True))
            if not isinstance(tangent, jax.custom_derivatives.SymbolicZero)
            and operand in self._positions
            and jnp.issubdtype(value.dtype, jnp.inexact)
        )
        moved = iter(())
        if active:
            given = [tangents[operand] for operand in active]
            moved = iter(linear_call.bind(*primals, *given, rule=_Tangent(self, len(primals), active)))
        changes = [
            np.zeros(each.shape, jax.dtypes.float0)
            if not jnp.issubdtype(each.dtype, jnp.inexact)
            else next(moved)
            if active
            else jnp.zeros_like(each)
            for each in results
        ]
        return results, changes

    # -- what is derived ----------------------------------------------------------------------------------------------

    def tangent(self, active: tuple[int, ...]) -> tuple[NativeProgram, tuple[int, ...]]:
        """What the results change by as these operands do: a program of all operands, and of the shadows of the
        arguments at the positions that come with it."""
        return self._derive(("tangent", active), active, self._tangent_source)

    def pullback(self, active: tuple[int, ...]) -> tuple[NativeProgram, tuple[int, ...]]:
        """The cotangents of these operands: a program of all operands and of shadows, as that of `tangent`."""
        return self._derive(("pullback", active), active, self._pullback_source)

    def _derive(
        self, key: Hashable, active: Sequence[int], make: Callable[[list[int]], tuple[Source, tuple[int, ...], int]]
    ) -> tuple[NativeProgram, tuple[int, ...]]:
        with self.kernel.lock:
            found = self._derived.get(key)
            if found is None:
                try:
                    source, positions, count = make([self._positions[operand] for operand in active])
                    code = compile_kernel(source.function.clone(), source.facts)
                except Refusal as refusal:
                    raise refused(self.kernel, refusal.reason, refusal.source) from None
                except NotNative as reason:
                    told = f"its derivative has no native code: {reason.reason}"
                    raise refused(self.kernel, told, reason.position) from None
                except WindlassError:
                    raise
                except Exception as defect:
                    raise refused(self.kernel, told_of_defect(defect), self.source.function.source) from defect
                call = enter(self.kernel.name, code, source.slots, source.flops())
                found = NativeProgram(self.kernel, source, call, self._enter_call, count), positions
                self._derived[key] = found
            return found

    def _apart(self) -> Source:
        """The same launch, with blocks of one thread where those of a block meet."""
        source = self.source
        if not threads_meet(source.function):
            return source
        extents = source.facts.extents
        function = with_one_thread_a_block(source.function, extents, source.facts.shared_bytes)
        return replace(source, function=function, facts=replace(source.facts, extents=(*extents[:3], 1, 1, 1)))

    def _tangent_source(self, active: list[int]) -> tuple[Source, tuple[int, ...], int]:
        source = self._apart()
        made = tangent_kernel(source.function, active)
        written = written_parameters(made.function)
        first = len(self.source.function.arguments)
        own: list[Slot] = []
        for number, position in enumerate(made.positions):
            like = self.source.slots[position]
            kind = like.kind
            if kind in (Kind.READ, Kind.WRITTEN):
                kind = Kind.WRITTEN if first + number in written else Kind.READ
            own.append(replace(like, kind=kind))
        return self._with_shadows(source.facts, made.function, made.positions, own, written)

    def _pullback_source(self, active: list[int]) -> tuple[Source, tuple[int, ...], int]:
        source = self.source
        narrowed = {position: "f32" for position, slot in enumerate(source.slots) if slot.kind is Kind.F32_TO_F64}
        is_independent = are_threads_independent(source.function, source.facts)
        source = self._apart()
        made = pullback_kernel(source.function, active, is_independent=is_independent, narrowed=narrowed)
        own: list[Slot] = []
        for position in made.positions:
            like = source.slots[position]
            if like.kind in _NUMBERS:
                like = replace(like, alignment=like.bytes)
            own.append(replace(like, kind=Kind.WRITTEN))
        found, positions, count = self._with_shadows(
            source.facts, made.function, made.positions, own, written_parameters(made.function)
        )
        if not is_independent:  # one thread runs all of them
            found = replace(found, facts=replace(found.facts, extents=(1,) * 6))
        return found, positions, count

    def _with_shadows(
        self,
        facts: LaunchFacts,
        function: Function,
        positions: Sequence[int],
        shadows: Sequence[Slot],
        written: frozenset[int],
    ) -> tuple[Source, tuple[int, ...], int]:
        """What native code of a derived function is made of. Shadows are operands behind the others, and results before
        them; an array that it does not write any more is read alone."""
        slots = self.source.slots
        first = len(self.source.function.arguments)
        operands = sum(slot.kind is not Kind.NULL for slot in slots)
        results = iter(range(len(slots) + len(shadows)))
        mine = [
            replace(slot, operand=operands + number, result=next(results) if slot.kind is Kind.WRITTEN else 0)
            for number, slot in enumerate(shadows)
        ]
        count = sum(slot.kind is Kind.WRITTEN for slot in mine)
        others: list[Slot] = []
        for position, slot in enumerate(slots):
            if slot.kind is Kind.WRITTEN:
                is_written = position in written
                slot = replace(slot, kind=Kind.WRITTEN if is_written else Kind.READ)
                slot = replace(slot, result=next(results) if is_written else 0)
            others.append(slot)
        memories = [
            MemoryFacts(slot.bytes, slot.alignment) if isinstance(argument.type, BufferType) else None
            for slot, argument in zip(mine, function.arguments[first:], strict=True)
        ]
        source = Source(
            function,
            replace(
                facts,
                memories=(*facts.memories, *memories),
                names=(
                    *(facts.name_of(position) for position in range(first)),
                    *(f"the derivative of {facts.name_of(position)}" for position in positions),
                ),
            ),
            (*others[:first], *mine, *others[first:]),
        )
        return source, tuple(positions), count

    def operand_at(self, position: int) -> int:
        return self._operands[position]


class _Tangent(LinearRule):
    """What the results of a program change by."""

    def __init__(self, program: NativeProgram, known: int, active: tuple[int, ...]) -> None:
        self.program = program
        self.known = known
        self.active = active

    def result_types(self, *types: jax.ShapeDtypeStruct) -> list[jax.ShapeDtypeStruct]:
        found = [types[operand] for operand in self.program.operand_of_result]
        return [each for each in found if jnp.issubdtype(each.dtype, jnp.inexact)]

    def run(self, *operands: Any) -> Sequence[Any]:
        known = operands[: self.known]
        moved = dict(zip(self.active, operands[self.known :], strict=True))
        found = self._shadows(*self.program.tangent(self.active), known, moved)
        results = [operand for operand in self.program.operand_of_result if is_of_floats(known[operand])]
        return [found[operand] if operand in found else jnp.zeros_like(known[operand]) for operand in results]

    def transpose(self, known: Sequence[Any], cotangents: Sequence[Any], wanted: Sequence[int]) -> Sequence[Any]:
        chosen = tuple(self.active[number] for number in wanted)
        results = [operand for operand in self.program.operand_of_result if is_of_floats(known[operand])]
        given = {
            operand: cotangent for operand, cotangent in zip(results, cotangents, strict=True) if cotangent is not None
        }
        if not given:
            return [jnp.zeros_like(known[operand]) for operand in chosen]
        found = self._shadows(*self.program.pullback(chosen), known, given)
        return [found[operand] for operand in chosen]

    def _shadows(
        self, derived: NativeProgram, positions: Sequence[int], known: Sequence[Any], given: Mapping[int, Any]
    ) -> dict[int, Any]:
        """What shadows hold after a launch, by the operand whose shadow it is; those not given are zero before it."""
        operands = [self.program.operand_at(position) for position in positions]
        before = [given[each] if each in given else jnp.zeros_like(known[each]) for each in operands]
        first = len(known)
        results = derived.apply(*known, *before)
        after = dict(zip(derived.operand_of_result, results, strict=True))
        return {operand: after[first + number] for number, operand in enumerate(operands) if first + number in after}


def is_of_floats(value: Any) -> bool:
    return bool(jnp.issubdtype(value.dtype, jnp.inexact))


def refused(kernel: LoadedKernel, reason: str, source: Position | None) -> WindlassError:
    """Why the native code of a kernel has no derivative (WL0901)."""
    return WindlassError(
        kernel.with_source_lines(
            Diagnostic(
                "WL0901",
                f"{kernel.name} can't be differentiated: {reason}",
                source or kernel.signature.position,
                notes=("it runs as native code, whose derivative is taken of the kernel as it is written",),
                help="give it a derivative by @kernel.defvjp, or use jax.lax.stop_gradient on its arguments if no "
                "gradient has to pass through it",
            )
        )
    )
