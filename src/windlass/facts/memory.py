"""How much memory a program takes: which values XLA writes out, in which buffers, and how many of these live at once.

XLA computes chains of elementwise ops in one loop, so most values are never written. What is written has a buffer from
the kernel that writes it to the last that reads it, and may take over the buffer of an operand that ends there. A loop
keeps what it carries in place: its rounds add what they write before the values that they began with are free. So the
estimate is one walk over each block, with the buffers that live at each kernel; the largest sum is the peak. Arguments
live from beginning to end, results from where they are made.

The rules of fusion are those of `InstructionFusion` in XLA (xla/service/instruction_fusion.cc) for CPUs, simplified:
what does much for each element is computed once, what only moves elements as often as it is wanted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from windlass.facts.cost import fuses
from windlass.ir import Argument, Block, Function, Module, Op, TensorType, Value
from windlass.ops import (
    Add,
    BroadcastInDim,
    Call,
    Concatenate,
    Constant,
    CustomCall,
    DynamicUpdateSlice,
    Iota,
    Reduce,
    Reshape,
    Scatter,
    Sort,
    While,
)
from windlass.ops.combiners import combiner_of
from windlass.ops.control import Branching
from windlass.ops.pointwise import Elementwise


@dataclass(frozen=True)
class Memory:
    """What a program takes, in bytes. `live` are the buffers at the peak, the largest first, with what wrote each."""

    arguments: int
    results: int
    peak: int
    """Of arguments, results and temporaries together."""
    at: Op | None
    """The kernel at which it is reached; None where there is none."""
    live: tuple[tuple[int, Value], ...]


def estimate_memory(function: Function, module: Module | None = None) -> Memory:
    """The memory that a program takes on one device. `module` holds functions that it calls.

    >>> from windlass.ir import Block, Builder
    >>> from windlass.ir.values import tensor_type
    >>> from windlass.ops import DotGeneral, Return, Tanh
    >>> block = Block([tensor_type((100, 100), "f32")])
    >>> x = block.arguments[0]
    >>> with Builder(block):
    ...     y = DotGeneral(x, x, (), (), (1,), (0,))
    ...     _ = Return((Tanh(y),))
    >>> estimate_memory(Function("main", block)).peak
    80000
    """
    found = _Walk(function.body, module, owns_arguments=False).peak()
    arguments = sum(_bytes(each) for each in function.arguments)
    live = [(size, value) for value, size in found.live.items()] + [(_bytes(each), each) for each in function.arguments]
    live.sort(key=lambda each: -each[0])
    return Memory(
        arguments, sum(_bytes(each) for each in function.results), arguments + found.bytes, found.at, tuple(live)
    )


@dataclass
class _Peak:
    bytes: int = 0
    at: Op | None = None
    live: Mapping[Value, int] = field(default_factory=dict[Value, int])

    def raise_to(self, size: int, at: Op, live: Mapping[Value, int]) -> None:
        if size > self.bytes or self.at is None:
            self.bytes, self.at, self.live = size, at, dict(live)


class _Walk:
    """The buffers of one block. Its arguments are buffers of its own if they are those that a loop carries."""

    def __init__(self, block: Block, module: Module | None, owns_arguments: bool) -> None:
        self.block = block
        self.module = module
        self.owns_arguments = owns_arguments
        self.ops = list(block)
        self.places = {op: place for place, op in enumerate(self.ops)}
        self.homes: dict[Op, frozenset[Op]] = {}
        """For each op the kernels that compute it: itself, or those that read it."""
        for op in reversed(self.ops):
            self.homes[op] = self._find_homes(op)
        self.kernels = {op for op in self.ops if op in self.homes[op]}
        self.last: dict[Value, int] = {}
        for value in (*block.arguments, *(result for op in self.ops for result in op.results)):
            self._find_last(value)

    # -- what is written ----------------------------------------------------------------------------------------------

    def _find_homes(self, op: Op) -> frozenset[Op]:
        itself = frozenset((op,))
        users = {self._anchor(user) for user in op.uses}
        homes = frozenset[Op]().union(*(self.homes[user] for user in users))
        if isinstance(op, Constant | Iota) or _is_other_shape(op):
            return homes - itself
        if not _is_in_loops(op) or not users or not all(_takes_in(user, op) for user in users):
            return itself
        if any(isinstance(home, Reduce) and _is_library_sum(home) for home in homes):
            return homes if len(op.uses) == 1 and (op.is_elementwise or isinstance(op, BroadcastInDim)) else itself
        is_read_apart = len(homes) > 1 or (len(users) > 1 and self._arrays_of(op) > 1)
        if is_expensive(op) and (is_read_apart or any(_reuses(user, op) for user in users)):
            return itself
        return homes

    def _anchor(self, op: Op) -> Op:
        """The op of this block that is or holds the op."""
        while op not in self.places:
            region = op.block.parent if op.block is not None else None
            assert region is not None and region.parent is not None
            op = region.parent
        return op

    def _is_done_again(self, op: Op, user: Op) -> bool:
        """Whether the user computes an op anew which others need written: one that does little, of one array."""
        return (
            op in self.kernels
            and _is_in_loops(op)
            and not is_expensive(op)
            and _takes_in(user, op)
            and not any(isinstance(home, Reduce) for home in self.homes[user])
            and self._arrays_of(op) <= 1
        )

    def _arrays_of(self, op: Op) -> int:
        """How many arrays the op reads: neither numbers nor what is spread from one."""
        return sum(
            not _is_small(each) and not isinstance(each, Constant | Iota) and not _is_spread(each)
            for each in set(op.operands)
        )

    def _find_last(self, value: Value) -> int:
        """The place of the last kernel that reads the value."""
        if value not in self.last:
            self.last[value] = -1
            self.last[value] = max((self._reach(value, self._anchor(user)) for user in value.uses), default=-1)
        return self.last[value]

    def _reach(self, value: Value, user: Op) -> int:
        """The place of the last kernel that reads a value through this user."""
        if isinstance(value, Op) and value in self.places and self._is_done_again(value, user):
            return -1
        if user not in self.kernels:
            return max(self._find_last(each) for each in user.results)
        again = {self._anchor(each) for each in user.uses}
        places = [self._place_of(each) for each in again if self._is_done_again(user, each)]
        return max(self.places[user], *places, -1)

    def _place_of(self, user: Op) -> int:
        return max(self.places[home] for home in self.homes[user])

    def _read(self, op: Op, aligned: bool = True) -> Iterator[tuple[Value, bool]]:
        """The written values that a kernel reads, and whether only where it writes: elements at the same place."""
        aligned = aligned and (op.is_elementwise or _is_other_shape(op) or _keeps_values(op, self.module))
        for operand in op.operands:
            if (
                isinstance(operand, Op)
                and operand in self.places
                and (operand not in self.kernels or self._is_done_again(operand, op))
            ):
                yield from self._read(operand, aligned)
            elif isinstance(operand, Argument) or operand in self.last:
                yield operand, aligned

    # -- what lives ---------------------------------------------------------------------------------------------------

    def peak(self) -> _Peak:
        found = _Peak()
        live: dict[Value, int] = {}
        if self.owns_arguments:
            live = {each: _bytes(each) for each in self.block.arguments}
            self._drop(live, -1)
        for place, op in enumerate(self.ops):
            if op in self.kernels:
                inner = self._inner(op)
                taken = self._taken_over(op, live, place)
                for old in taken:
                    live.pop(old, None)
                for result in op.results:
                    if op is not self.ops[-1]:
                        live[result] = _bytes(result)
                size = sum(live.values()) + max(0, inner.bytes - sum(_bytes(each) for each in op.results))
                # Within a loop its results are what it carries.
                outside = {each: held for each, held in live.items() if each not in op.results}
                found.raise_to(size, inner.at or op, {**outside, **inner.live} if inner.at else live)
            self._drop(live, place)
        return found

    def _drop(self, live: dict[Value, int], place: int) -> None:
        for value in [each for each in live if self.last[each] <= place]:
            del live[value]

    def _inner(self, op: Op) -> _Peak:
        """What the rounds of a loop take, or the greater of branches."""
        if isinstance(op, While):
            round_ = _Walk(op.body.block, self.module, owns_arguments=True).peak()
            # What is asked before a round is computed beside all that is carried.
            asked = _Walk(op.cond.block, self.module, owns_arguments=False).peak()
            carried = {each: _bytes(each) for each in op.cond.block.arguments}
            round_.raise_to(asked.bytes + sum(carried.values()), asked.at or op, {**carried, **asked.live})
            return round_
        if isinstance(op, Branching):
            peaks = [_Walk(region.block, self.module, owns_arguments=False).peak() for region in op.regions]
            return max(peaks, key=lambda each: each.bytes, default=_Peak())
        return _Peak()

    def _taken_over(self, op: Op, live: Mapping[Value, int], place: int) -> list[Value]:
        """The values whose buffers the results of the kernel take over."""
        taken: list[Value] = []
        wanted = [_bytes(result) for result in op.results]
        if isinstance(op, While | Sort):
            candidates = list(op.operands)
        elif isinstance(op, DynamicUpdateSlice | Scatter):
            candidates = list(op.operands[:1])
        elif isinstance(op, CustomCall):
            candidates = list(op.operands) if op.output_operand_aliases else []
        else:
            candidates = [value for value, aligned in self._read(op) if aligned]
        for value in map(self._behind, candidates):
            size = _bytes(value)
            if value in live and self.last[value] <= place and value not in taken and size in wanted:
                wanted.remove(size)
                taken.append(value)
        return taken

    def _behind(self, value: Value) -> Value:
        """The value whose buffer this one is another shape of."""
        while isinstance(value, Op) and value in self.places and _is_other_shape(value):
            value = value.operands[0]
        return value


def _bytes(value: Value) -> int:
    return value.type.bytes if isinstance(value.type, TensorType) else 0


def _is_spread(value: Value) -> bool:
    return isinstance(value, BroadcastInDim) and _is_small(value.operand)


def _is_small(value: Value) -> bool:
    return _bytes(value) <= SMALL


def _is_other_shape(op: Op) -> bool:
    """Whether the result is the operand's own buffer."""
    if isinstance(op, BroadcastInDim):
        return op.operand.tensor.size == op.tensor.size and list(op.broadcast_dimensions) == sorted(
            op.broadcast_dimensions
        )
    return isinstance(op, Reshape)


def _keeps_values(op: Op, module: Module | None) -> bool:
    """Whether the op calls a function that gives its arguments back: there to keep values apart."""
    if not isinstance(op, Call) or module is None:
        return False
    callee = module.functions.get(str(op.callee))
    return callee is not None and callee.body.first is callee.body.last


def is_expensive(op: Op) -> bool:
    """Whether the op does so much for each element that XLA won't do it twice."""
    return isinstance(op, Elementwise) and op.effort > 2


def _takes_in(user: Op, op: Op) -> bool:
    """Whether a kernel of `user` computes the op for itself."""
    if isinstance(user, Reduce):
        is_done_here = _is_library_sum(user) or _folded(user) <= TREE
        return is_done_here and (op.is_elementwise or isinstance(op, BroadcastInDim))
    if isinstance(user, DynamicUpdateSlice):
        return op is user.update and op is not user.operand
    return _is_in_loops(user)


SMALL = 64
"""Bytes of what is read anew without a thought."""
TREE = 32
"""Elements: more are folded in several steps by XLA, whose operands are written."""


def _folded(op: Reduce) -> int:
    """How many elements are folded into one."""
    return math.prod(op.inputs[0].shape[axis] for axis in op.dimensions)


def _is_library_sum(op: Reduce) -> bool:
    """Whether a library adds up rows, with products and sums of whole arrays on the way."""
    return len(op.inputs) == 1 and op.inputs[0].tensor.rank > 1 and combiner_of(op.body) is Add


def _reuses(user: Op, op: Op) -> bool:
    """Whether the user reads an element of the op several times."""
    return isinstance(user, BroadcastInDim) and user.tensor.size > op.tensor.size


def _is_in_loops(op: Op) -> bool:
    """Whether kernels compute the op element by element. Rows of several parts are copied instead."""
    return fuses(op) and not (isinstance(op, Concatenate) and op.dimension == op.tensor.rank - 1)
