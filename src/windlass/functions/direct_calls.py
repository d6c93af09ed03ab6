"""Programs that consist of calls of native code alone, run on NumPy's arrays where they are: without XLA.

Nothing is copied on the way in or out, arrays may begin anywhere in their cache lines, and what a program writes is
written in place. Memory for values between calls is kept from call to call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from windlass.ir import Block, Module, Op, TensorType, Value
from windlass.native.running import Runner
from windlass.native.xla_call import Slot, entered_call
from windlass.native.xla_rows import Kind
from windlass.ops import Constant, CustomCall, Reshape

Array: TypeAlias = NDArray[Any]
MOST_KEPT = 1 << 28
"""Bytes for values between calls that are kept from one call to the next."""


@dataclass(frozen=True)
class _Step:
    """One call on memories by their numbers; before it memories are copied, from each first to each second one."""

    runner: Runner
    places: tuple[int, ...]
    copies: tuple[tuple[int, int], ...]


@dataclass
class DirectCall:
    """A program's memories: those of its arguments first, then constants, and room for what it computes."""

    types: list[TensorType]
    constants: dict[int, Array]
    """Memories that always hold the same."""
    steps: list[_Step]
    results: list[int]
    """The memories that the results are in at last..."""
    shapes: list[tuple[int, ...]]
    """... and their shapes."""
    arguments: int
    _kept: list[dict[int, Array]] = field(default_factory=list[dict[int, Array]])

    def run(self, leaves: Sequence[Any], written: Sequence[int], fresh: int) -> list[Array]:
        """What the program gives: `fresh` arrays, and then what it leaves in the arguments at the `written` places,
        which is put there.

        Raises KeyboardInterrupt where Ctrl-C was pressed meanwhile: what was written until then stays.
        """
        given = [_in_order(leaf, type_) for leaf, type_ in zip(leaves, self.types, strict=False)]
        memories: dict[int, Array] = {**dict(enumerate(given)), **self.constants}
        try:
            kept = self._kept.pop()
        except IndexError:
            kept = {}
        handed = set(self.results[:fresh])
        for place in range(self.arguments, len(self.types)):
            if place in self.constants:
                continue
            if place in handed or place not in kept:
                memories[place] = _room(self.types[place])
            else:
                memories[place] = kept[place]
            if place not in handed:
                kept[place] = memories[place]
        for step in self.steps:
            for source, target in step.copies:
                np.copyto(memories[target].reshape(-1), memories[source].reshape(-1))
            fault = step.runner.run([_address(memories[place]) for place in step.places])
            assert fault is None, "code that checks accesses is run by XLA"
        found = self._handed(memories, fresh)
        self._put_back(leaves, given, memories, written, self.results[fresh:])
        if sum(array.nbytes for array in kept.values()) <= MOST_KEPT:
            self._kept.append(kept)
        return found

    def _put_back(
        self,
        leaves: Sequence[Any],
        given: Sequence[Array],
        memories: dict[int, Array],
        written: Sequence[int],
        ends: Sequence[int],
    ) -> None:
        """Put where they belong what is elsewhere at last."""
        moved = [(place, end) for place, end in zip(written, ends, strict=True) if end != place]
        aside = {end: memories[end].copy() for _, end in moved if end < self.arguments}
        for place, end in moved:
            source = aside.get(end, memories[end])
            np.copyto(given[place], source.reshape(given[place].shape))
        for place in written:
            if given[place] is not leaves[place]:
                np.copyto(leaves[place], given[place])

    def _handed(self, memories: dict[int, Array], fresh: int) -> list[Array]:
        found: list[Array] = []
        for number, place in enumerate(self.results[:fresh]):
            is_own = place >= self.arguments and place not in self.constants and place not in self.results[:number]
            array = memories[place] if is_own else memories[place].copy()
            found.append(array if array.shape == self.shapes[number] else array.reshape(self.shapes[number]))
        return found


def _in_order(leaf: Any, type_: TensorType) -> Array:
    """An argument as an array in C order that native code takes: itself if it is one."""
    wanted = type_.numpy_dtype
    if isinstance(leaf, np.ndarray) and leaf.dtype == wanted and leaf.flags.c_contiguous and leaf.flags.aligned:
        return leaf
    return np.array(leaf, wanted, order="C").reshape(type_.shape)


def _room(type_: TensorType) -> Array:
    return np.empty(type_.shape, type_.numpy_dtype)


def _address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


def direct_call(module: Module, written: Sequence[int]) -> DirectCall | None:
    """The program as direct calls, if it consists of nothing but calls of native code that check nothing.

    `written` are the arguments that the last of its results are put into.
    """
    if len(module.functions) != 1:
        return None
    body = module.main.body
    for op in body:
        if op is body.terminator or isinstance(op, Constant | Reshape):
            continue
        call = entered_call(op) if isinstance(op, CustomCall) else None
        if call is None or call.code.sites or any(slot.kind not in _KINDS for slot in call.slots):
            return None
    return _Planner(body, written).planned()


_KINDS = (Kind.READ, Kind.WRITTEN, Kind.ROOM)


class _Planner:
    """Gives each value of a block a memory."""

    def __init__(self, body: Block, written: Sequence[int]) -> None:
        self._body = body
        self._types = [argument.tensor for argument in body.arguments]
        self._place: dict[Value, int] = dict(zip(body.arguments, range(len(self._types)), strict=True))
        self._constants: dict[int, Array] = {}
        self._order = {op: number for number, op in enumerate(body)}
        returned = body.terminator.operands
        self._targets = dict(zip(map(_origin, returned[len(returned) - len(written) :]), written, strict=True))
        """The arguments that values are put into at last."""
        self._written = frozenset(written)

    def planned(self) -> DirectCall:
        steps: list[_Step] = []
        for op in self._body:
            if op is self._body.terminator:
                continue
            if isinstance(op, Constant):
                place = self._room(op.tensor)
                self._place[op] = place
                self._constants[place] = np.array(np.broadcast_to(op.value.data, op.shape), op.tensor.numpy_dtype)
            elif isinstance(op, Reshape):
                self._place[op] = self._place[op.operand]
            else:
                assert isinstance(op, CustomCall)
                steps.append(self._step(op))
        returned = self._body.terminator.operands
        results, shapes = [self._place[value] for value in returned], [value.tensor.shape for value in returned]
        return DirectCall(self._types, self._constants, steps, results, shapes, len(self._body.arguments))

    def _room(self, type_: TensorType) -> int:
        self._types.append(type_)
        return len(self._types) - 1

    def _step(self, op: CustomCall) -> _Step:
        call = entered_call(op)
        assert call is not None
        places: list[int] = []
        copies: list[tuple[int, int]] = []
        for slot in call.slots:
            if slot.kind is Kind.READ:
                places.append(self._place[op.inputs[slot.operand]])
                continue
            result = op.results[slot.result]
            place = self._written_place(op, slot, result, copies)
            self._place[result] = place
            places.append(place)
        return _Step(Runner(call.code), tuple(places), tuple(copies))

    def _written_place(self, op: CustomCall, slot: Slot, result: Value, copies: list[tuple[int, int]]) -> int:
        """Where a call writes a result."""
        if slot.kind is Kind.WRITTEN:
            before = self._place[op.inputs[slot.operand]]
            if self._may_be_written(before, op, 1):
                return before
        target = self._targets.get(result)
        can_be_target = target is not None and self._may_be_written(target, op, 0)
        place = target if target is not None and can_be_target else self._room(result.tensor)
        if slot.kind is Kind.WRITTEN:
            copies.append((self._place[op.inputs[slot.operand]], place))
        return place

    def _may_be_written(self, place: int, op: Op, own_uses: int) -> bool:
        """Whether nobody reads any more what is in a memory, but for an op at so many of its operands."""
        if place in self._constants or (place < len(self._body.arguments) and place not in self._written):
            return False
        readers = [value for value, other in self._place.items() if other == place]
        uses = 0
        for value in readers:
            for user, count in value.uses.items():
                if isinstance(user, Reshape):
                    if user not in self._place:
                        return False  # it stands behind the op
                    continue
                if user is op:
                    uses += count
                elif self._order[user] > self._order[op]:
                    return False
        return uses == own_uses


def _origin(value: Value) -> Value:
    while isinstance(value, Reshape):
        value = value.operand
    return value
