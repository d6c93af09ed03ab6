"""Sums over one mask done together: of what it lets through, and how much that is.

XLA:CPU gives a sum of floats to a library, and a sum of integers to another loop. A reduction of both at once becomes
one vectorized loop that looks at the mask once. Measured with jaxlib 0.10.2 on x86: the sum and the count of the
positive of 1000 × 1000 floats 662 µs apart, 65 µs together. (Of two sums of floats that is not so.)
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from windlass.facts.cost import Device, estimate_cost, fuses
from windlass.facts.terms import op_of, sources
from windlass.ir import Block, Builder, Op, Value, tensor_type
from windlass.ops import Add, Compare, Constant, Convert, Not, Reduce
from windlass.ops.regions import make_region
from windlass.rewriting.driver import remove_dead_code
from windlass.rewriting.ordering import sort_block
from windlass.rewriting.passes import Change, Pass
from windlass.rewriting.rule import catalogue

MOST_ROWS = 64
"""Rows that are folded with each other in one loop as well as rows by themselves."""
MOST_COUNTED = 1 << 24
"""Numbers up to this are whole in f32."""
DEEPEST = 8
"""Ops between a mask and what is summed."""


def join_folds(block: Block, device: Device) -> Iterator[Change]:
    """Make one reduction of a sum of floats and one of integers that depend on one mask, on devices that gain by it."""
    if not device.slow_fold:
        return
    waiting: dict[tuple[object, ...], Reduce] = {}
    for op in list(block):
        if not isinstance(op, Reduce) or not _is_plain_sum(op):
            continue
        mask = _find_mask(op.inputs[0])
        if mask is None:
            continue
        counts = _is_count(op)
        key = (mask, op.inputs[0].shape, tuple(sorted(op.dimensions)), counts)
        other = waiting.pop((*key[:-1], not counts), None)
        if other is None:
            waiting.setdefault(key, op)
            continue
        change = _join(block, other, op, device)
        if change is not None:
            yield change


def _is_plain_sum(op: Reduce) -> bool:
    if op.combiner is not Add or len(op.inputs) != 1:
        return False
    operand, init = op.inputs[0], op.init_values[0]
    if operand.dtype not in ("f32", "i32") or not isinstance(init, Constant) or init.number != 0:
        return False
    shape = operand.shape
    folded = math.prod(shape[axis] for axis in op.dimensions)
    # Rows folded with each other are slow where they are many.
    return folded > 1 and (len(shape) - 1 in op.dimensions or folded <= MOST_ROWS)


def _is_count(op: Reduce) -> bool:
    """Whether the op adds up integers, or floats that are 0 or 1 and so few that integers do as well."""
    operand = op.inputs[0]
    if not operand.tensor.is_float:
        return True
    folded = math.prod(operand.shape[axis] for axis in op.dimensions)
    return isinstance(operand, Convert) and operand.operand.tensor.is_boolean and folded <= MOST_COUNTED


def _find_mask(value: Value) -> Value | None:
    """The boolean of the value's shape that it is computed from elementwise, if it is one."""
    pending, found, steps = [value], set[Value](), 0
    while pending and steps < DEEPEST:
        each = pending.pop()
        op = op_of(each)
        steps += 1
        if each.tensor.is_boolean and each.shape == value.shape:
            found.add(op.operand if isinstance(op, Not) else each)
        elif op is not None and op.is_elementwise and fuses(op) and not isinstance(op, Compare):
            pending += [operand for operand in op.operands if not isinstance(operand, Constant)]
    return found.pop() if len(found) == 1 else None


def _join(block: Block, first: Reduce, second: Reduce, device: Device) -> Change | None:
    if _depends(block, first, second):
        return None
    olds = (first.results[0], second.results[0])
    inputs = (first.inputs[0], second.inputs[0])
    given = {operand for value in inputs if (op := op_of(value)) is not None for operand in op.operands}
    before = sum(estimate_cost([old], given, device).seconds for old in olds)
    home = Block()
    with Builder(home, source=second.source):
        summed = tuple(_counted(op) for op in (first, second))
        zeros = tuple(Constant.of(0, value.dtype) for value in summed)
        scalars = [tensor_type((), value.dtype) for value in (*summed, *summed)]
        body = make_region(scalars, lambda a, b, c, d: (Add(a, c), Add(b, d)))
        found = Reduce(summed, zeros, second.dimensions, body).results
        news = tuple(
            new if new.type is old.type else Convert(new, old.dtype) for old, new in zip(olds, found, strict=True)
        )
    saved = before - estimate_cost(news, given, device).seconds
    placed = list(home)
    for op in placed:
        home.unlink(op)
        block.insert_before(op, second)
        op.made_by = ("sums_over_one_mask",)
    for old, new in zip(olds, news, strict=True):
        old.replace_all_uses_with(new)
    remove_dead_code(block)
    sort_block(block)
    return Change("Reduce", second.source, placed, saved)


def _counted(op: Reduce) -> Value:
    """What the op adds up; integers for a count."""
    operand = op.inputs[0]
    is_float_count = operand.tensor.is_float and _is_count(op)
    return Convert(operand.operand, "i32") if is_float_count and isinstance(operand, Convert) else operand


def _depends(block: Block, first: Op, second: Op) -> bool:
    """Whether the second op needs the first, which stands before it."""
    tainted: set[Op] = {first}
    op = first.next
    while op is not None:
        if any(op_of(value) in tainted for value in sources(op)):
            if op is second:
                return True
            tainted.add(op)
        if op is second:
            return False
        op = op.next
    return True


catalogue.passes.append(
    Pass(
        "sums_over_one_mask",
        "sum(select(p, x, 0)), sum(convert(p)) = one reduction of both",
        join_folds,
        reassociates=True,
    )
)
