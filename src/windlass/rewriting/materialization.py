"""Which values a loop should read rather than compute anew, and seeing to it that XLA:CPU does so.

XLA:CPU fuses an elementwise computation into everything that reads it. What reads it at several places, as a stencil
reads its neighbours, computes it as many times; and a chain of stencils does so exponentially. No op of StableHLO stops
that, but a settled value does (see settling.py). Which values to settle is decided from the front of the program to the
back: each costs the operations of its own fused expression, in which what was settled before costs nothing.

Measured on a 512² periodic 5-point stencil, six steps by `jnp.roll`: 9.9 ms as XLA fuses it, 0.6 ms with settled steps.
"""

from __future__ import annotations

from windlass.ir import Block, Builder, Module, Op, TensorType, Value
from windlass.ops import Concatenate, Convolution, Pad, Reduce, Reshape, Return
from windlass.rewriting.cost import CPU, Device, fuses, has_features_last
from windlass.rewriting.settling import SETTLING, Settling, is_settling

CACHE = 4 << 20
"""Arrays larger than this many bytes are written to memory that was never touched before..."""
FRESH = 8
"""... which takes this many times as long as the bandwidth says: the system has to map each page."""
FARTHEST = 32
"""How many ops are gone through to find out which loops a value is computed in."""
BRANCH = 4
"""Operations that deciding for each element between the parts of a concatenation, or a padding, is worth."""


def materialize_shared(module: Module, device: Device = CPU) -> int:
    """Settle, in place, values that XLA would compute several times over at more cost than writing them takes.

    Gives how many.
    """
    settling = Settling(module)
    return sum(
        _materialize_block(function.body, settling, device)
        for function in list(module.functions.values())
        if not function.name.startswith(SETTLING)
    )


def _materialize_block(block: Block, settling: Settling, device: Device) -> int:
    work = _Work()
    count = 0
    op = block.first
    while op is not None:
        for region in op.regions:
            if region.blocks and _holds_tensors(region.block):
                count += _materialize_block(region.block, settling, device)
        following = op.next
        if _may_be_shared(op) and _pays(op, work, device):
            users = list(op.uses)
            with Builder(block, before=following, source=op.source):
                settled = settling.settle(op)
            for user in users:
                user.replace_operand(op, settled)
            count += 1
        elif fuses(op) and not op.is_elementwise:
            # Known early, so that nothing is asked through long chains later.
            for operand in op.operands:
                work.per_element(operand)
        op = following
    return count


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
        and (len(op.uses) > 1 or any(_is_rearranged_for(user) for user in op.uses))
        and fuses(op)
        and not any(is_settling(user) for user in op.uses)
    )


def _pays(op: Op, work: _Work, device: Device) -> bool:
    size = op.tensor.size
    readings = _count_readings(op)
    if readings <= 1 or not size:
        return False
    saved = (readings - 1) * size * work.per_element(op) / device.arithmetic
    written = op.tensor.bytes
    slow = FRESH if written > CACHE else 1
    needs_writing = not any(_is_written_for(user) for user in op.uses)
    cost = device.launch + (2 * slow * written / device.bandwidth if needs_writing else 0)
    return saved > cost


def _count_readings(op: Op) -> float:
    """How often an element is computed if nothing is written.

    All readers at its own place count as one, but each reduction that they feed is a loop of its own.
    """
    size = op.tensor.size
    shifted, is_read_in_place = 0.0, False
    for user in op.uses:
        is_at_same_place = (
            isinstance(user, Return) or not fuses(user) or (user.is_elementwise and user.tensor.size == size)
        )
        if _is_rearranged_for(user):
            # Computed in an order that suits neither what it is made of nor vector registers.
            shifted += 2
        elif is_at_same_place:
            is_read_in_place = True
        else:
            shifted += min(1.0, user.tensor.size / size) if user.picks_elements else 1.0
    return shifted + max(is_read_in_place, _count_reductions(op))


def _count_reductions(op: Op) -> int:
    """How many reductions are computed in one loop each with the op."""
    found: set[Op] = set()
    seen: set[Op] = {op}
    pending = [op]
    while pending and len(seen) < FARTHEST:
        for user in pending.pop().uses:
            if isinstance(user, Reduce):
                found.add(user)
            elif user not in seen and user.is_elementwise and user.tensor.size == op.tensor.size:
                seen.add(user)
                pending.append(user)
    return len(found)


def _is_written_for(user: Op) -> bool:
    """Whether XLA writes out what the user reads in any case."""
    if _is_rearranged_for(user):
        return False
    return isinstance(user, Return) or user.is_contraction or bool(user.regions and not user.flops())


def _is_rearranged_for(user: Op) -> bool:
    """Whether XLA transposes what the user reads, in one loop with its computation."""
    if isinstance(user, Reshape):
        return any(_is_rearranged_for(each) for each in user.uses)
    return isinstance(user, Convolution) and not has_features_last(user)


class _Work:
    """Operations per element of values, each with all that XLA fuses into it."""

    def __init__(self) -> None:
        self.known: dict[Value, float] = {}

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
            if each in seen or not isinstance(each, Op) or not fuses(each) or is_settling(each):
                continue
            seen.add(each)
            if each.is_elementwise:
                total += 1
                pending.extend(each.operands)
            else:
                total += BRANCH * (len(each.operands) - 1) if isinstance(each, Concatenate | Pad) else 0
                total += sum(self.per_element(operand) for operand in each.operands)
        self.known[value] = total
        return total
