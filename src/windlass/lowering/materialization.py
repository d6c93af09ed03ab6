"""Which values a loop should read rather than compute anew, and seeing to it that XLA:CPU does so.

XLA:CPU fuses an elementwise computation into everything that reads it. What reads it at several places, as a stencil
reads its neighbours, computes it as many times; and a chain of stencils does so exponentially. No op of StableHLO stops
that, but a settled value does (see settling.py). Which values to settle is decided from the front of the program to the
back: each costs the operations of its own fused expression, in which what was settled before costs nothing.

Measured on a 512² periodic 5-point stencil, six steps by `jnp.roll`: 9.9 ms as XLA fuses it, 0.6 ms with settled steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable

from windlass.diagnostics.deadline import is_late
from windlass.facts.cost import CPU, Device, fuses, has_features_last, has_mixed_axes
from windlass.ir import Block, Builder, Module, Op, TensorType, Value
from windlass.lowering.settling import Settling, is_settling, is_settling_function
from windlass.ops import (
    Concatenate,
    Convolution,
    DotGeneral,
    DynamicUpdateSlice,
    Elementwise,
    Pad,
    Reduce,
    Reshape,
    Return,
)

CACHE = 4 << 20
"""Arrays larger than this many bytes are written to memory that was never touched before..."""
FRESH = 8
"""... which takes this many times as long as the bandwidth says: the system has to map each page."""
SHORT_FOLD = 16
"""Elements."""
FARTHEST = 32
"""How many ops are gone through to find out which reductions a value is computed for."""
MARGIN = 2
"""How much dearer computing anew has to look: within a loop, arithmetic is mostly hidden behind memory."""
EXPENSIVE = 4
"""XLA doesn't compute ops of this effort in several loops: it writes out what they give."""
BRANCH = 4
"""Operations that deciding for each element between the parts of a concatenation, or a padding, is worth."""


def materialize_shared(module: Module, device: Device = CPU) -> int:
    """Settle, in place, values that XLA would compute several times over at more cost than writing them takes.

    Gives how many. When the time is over (see `windlass.diagnostics.deadline`), what is left stays as it is.
    """
    settling = Settling(module)
    return sum(
        _materialize_block(function.body, settling, device)
        for function in list(module.functions.values())
        if not is_settling_function(function)
    )


def _materialize_block(block: Block, settling: Settling, device: Device) -> int:
    count = 0
    for op in list(block):
        for region in op.regions:
            if region.blocks and _holds_tensors(region.block):
                count += _materialize_block(region.block, settling, device)
    if is_late():
        return count
    chosen = _Choice(block, device).chosen
    for op in chosen:
        users = list(op.uses)
        with Builder(block, before=op.next, source=op.source):
            settled = settling.settle(op)
        for user in users:
            user.replace_operand(op, settled)
    return count + len(chosen)


def _holds_tensors(block: Block) -> bool:
    """Whether a region computes with whole arrays, rather than saying how to combine two elements."""
    return any(isinstance(argument.type, TensorType) and argument.type.rank > 0 for argument in block.arguments) or any(
        isinstance(op.type, TensorType) and op.type.rank > 0 for op in block
    )


def _may_be_shared(op: Op) -> bool:
    return (
        isinstance(op.type, TensorType)
        and op.type.rank > 0
        and not op.is_free
        and not op.picks_elements
        and not isinstance(op, DynamicUpdateSlice)
        and (len(op.uses) > 1 or any(_computes_badly(user, op) for user in op.uses))
        and fuses(op)
        and not any(is_settling(user) for user in op.uses)
    )


class _Choice:
    """Chooses the values of a block to settle.

    First from the front to the back, by how many places each value is read at. Then it is known which loops there will
    be, and that values which several of them read at the same place are computed in each. Last, values are given up
    that, with all others settled, are as well computed anew.
    """

    def __init__(self, block: Block, device: Device) -> None:
        self.device = device
        self.ops = list(block)
        self.chosen: dict[Op, None] = {}
        self.loops: dict[Op, int] = {}
        candidates = [op for op in self.ops if _may_be_shared(op)]
        if not candidates:
            return
        for find in (self.find_first, self.find_computed_in_several_loops, self.find_needless):
            find()

    def find_first(self) -> None:
        self.add(_count_places, _Recomputation(self.chosen))

    def find_computed_in_several_loops(self) -> None:
        if self.find_loops():
            self.add(self.count_computations, _Recomputation(self.chosen, EXPENSIVE))

    def find_needless(self) -> None:
        """Give up what costs more to write than to compute, now that the values before it are settled."""
        self.find_loops()
        work = _Recomputation(self.chosen)
        for op in [each for each in self.ops if each in self.chosen]:
            del work.known[op]
            if self.pays(op, self.count_computations(op), work):
                work.known[op] = 0.0
            else:
                del self.chosen[op]

    def add(self, count: Callable[[Op], float], work: _Recomputation) -> None:
        for op in self.ops:
            if op in self.chosen:
                continue
            if _may_be_shared(op) and self.pays(op, count(op), work):
                self.chosen[op] = None
                work.known[op] = 0.0
            elif fuses(op) and not op.is_elementwise:
                # Known early, so that nothing is asked through long chains later.
                for operand in op.operands:
                    work.per_element(operand)

    def pays(self, op: Op, computations: float, work: _Recomputation) -> bool:
        """Whether writing the value costs less than computing it so many times."""
        size = op.tensor.size
        if computations <= 1 or not size:
            return False
        saved = (computations - 1) * size * work.per_element(op) / self.device.arithmetic
        written = op.tensor.bytes
        slow = FRESH if written > CACHE else 1
        needs_writing = not any(_is_written_for(user, op) for user in op.uses)
        cost = self.device.call + (2 * slow * written / self.device.bandwidth if needs_writing else 0)
        return saved > MARGIN * cost

    def find_loops(self) -> bool:
        """Find in which loops each value is computed, as sets of bits; whether any is in several."""
        self.loops.clear()
        number = 0
        has_several = False
        for op in reversed(self.ops):
            bits = 0
            if not _is_written(op) and op not in self.chosen and not any(_is_written_for(user, op) for user in op.uses):
                for user in op.uses:
                    bits |= self.loops.get(user, 0)
            if not bits:
                bits = 1 << number
                number += 1
            elif bits & (bits - 1):
                has_several = True
            self.loops[op] = bits
        return has_several

    def count_computations(self, op: Op) -> float:
        """How often an element is computed, if it isn't settled."""
        if any(_is_written_for(user, op) for user in op.uses):
            return _count_places(op)
        shifted, together = 0.0, 0
        for user in op.uses:
            bits = self.loops.get(user, 0)
            share = _share_elsewhere(user, op)
            if share:
                shifted += share * bits.bit_count()
            else:
                together |= bits
        return shifted + max(together.bit_count(), _count_reductions(op, self.chosen))


def _count_places(op: Op) -> float:
    """How often an element is computed if nothing is written.

    All readers at its own place count as one, but each reduction that they feed is a loop of its own.
    """
    shares = [_share_elsewhere(user, op) for user in op.uses]
    return sum(shares) + max(0.0 in shares, _count_reductions(op))


def _share_elsewhere(user: Op, value: Op) -> float:
    """What share of a value's elements a user reads at another place than its own; 0 where it reads them at its own."""
    size = value.tensor.size
    share = _rearranged(user, value)
    if share:
        return share
    if isinstance(user, Concatenate):
        # Computed with a decision for each element.
        return 1.5
    if isinstance(user, Return) or not fuses(user) or (user.is_elementwise and user.tensor.size == size):
        return 0.0
    return min(1.0, user.tensor.size / size) if user.picks_elements and size else 1.0


def _count_reductions(op: Op, settled: Collection[Op] = ()) -> int:
    """How many reductions are computed in one loop each with the op.

    Those of few elements each count twice: their inner loops are too short for vector registers.
    """
    found: dict[Op, int] = {}
    seen: set[Op] = {op}
    pending = [op]
    while pending and len(seen) < FARTHEST:
        for user in pending.pop().uses:
            if isinstance(user, Reduce):
                few = user.inputs[0].tensor.size <= SHORT_FOLD * max(user.results[0].tensor.size, 1)
                found[user] = 2 if few else 1
            elif user in seen or user in settled or not (user.is_elementwise or isinstance(user, Reshape)):
                continue
            elif user.tensor.size == op.tensor.size:
                seen.add(user)
                pending.append(user)
    return sum(found.values())


def _is_written(op: Op) -> bool:
    """Whether XLA writes out what the op gives in any case: an update is made in place."""
    return not fuses(op) or isinstance(op, DynamicUpdateSlice)


def _is_written_for(user: Op, value: Value) -> bool:
    """Whether XLA writes out a value that the user reads in any case."""
    if _rearranged(user, value):
        return False
    return isinstance(user, Return) or user.is_contraction or bool(user.regions and not user.flops())


def _computes_badly(user: Op, value: Value) -> bool:
    """Whether a loop that the user is computed in doesn't suit what is computed in it."""
    if isinstance(user, Reshape):
        return any(_computes_badly(each, user) for each in user.uses)
    return isinstance(user, Concatenate | Reduce) or _rearranged(user, value) > 0


def _rearranged(user: Op, value: Value) -> float:
    """How much a value is slowed down by being computed in the order that a product or convolution wants.

    XLA transposes what they read, in one loop with its computation. That order suits neither what the value is made of
    nor vector registers. 0 where nothing is transposed.
    """
    if isinstance(user, Reshape):
        return max((_rearranged(each, user) for each in user.uses), default=0.0)
    if isinstance(user, DotGeneral):
        is_mixed = any(each is value and has_mixed_axes(user, place) for place, each in enumerate(user.operands))
        return 1.25 if is_mixed else 0.0
    return 2.0 if isinstance(user, Convolution) and not has_features_last(user) else 0.0


class _Recomputation:
    """Operations per element of values, each with all that XLA fuses into it."""

    def __init__(self, settled: Iterable[Op] = (), most_effort: float = math.inf) -> None:
        self.most_effort = most_effort
        self.known: dict[Value, float] = dict.fromkeys(settled, 0.0)

    def per_element(self, value: Value) -> float:
        """The operations for one element, with everything that fuses computed for it.

        An expression is computed once for all that read it at the same place, and once more for each other place.
        """
        if value in self.known:
            return self.known[value]
        total = 0.0
        seen: set[Value] = set()
        pending = [value]
        while pending:
            each = pending.pop()
            if each in seen or not isinstance(each, Op) or _is_written(each):
                continue
            if each is not value and self.known.get(each) == 0:
                continue
            seen.add(each)
            if isinstance(each, Elementwise):
                if each.effort >= self.most_effort:
                    continue
                total += 1
                pending.extend(each.operands)
            else:
                total += BRANCH * (len(each.operands) - 1) if isinstance(each, Concatenate | Pad) else 0
                total += sum(self.per_element(operand) for operand in each.operands)
        self.known[value] = total
        return total
