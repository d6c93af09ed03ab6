"""Changes of counted loops that schedules ask for: in strips, exchanged, several rounds at once.

    strip_mine(i, 32)      for t in ceil(n/32): for p in min(32, n - 32·t): i = 32·t + p
    interchange(i, j)      for i: for j: body  =  for j: for i: body
    unroll(i, 4)           for t in n // 4: body(4·t) … body(4·t + 3), and a loop for what is left

Strips and unrolling keep the order of all that is done. Whether two loops may be exchanged is asked of `dependences`;
here is only asked whether it can be written. Each change gives the loops that have come in a loop's place.
"""

from __future__ import annotations

from windlass.ir import Block, Builder, Op, Region, Value, tensor_type
from windlass.loops import For, Yield
from windlass.ops.creation import Constant
from windlass.ops.elementwise import Add, Divide, Multiply, Subtract
from windlass.ops.extremes import Minimum


def strip_mine(loop: For, size: int) -> tuple[For, For]:
    """The loop as one over strips of `size` rounds, and one within a strip."""
    assert loop.block is not None and size > 0
    with Builder(loop.block, before=loop, source=loop.source):
        strips = _ceiling(loop.trip_count, size)
        outer_body = _body_like(loop, "strip")
        with Builder(outer_body, source=loop.source):
            first = Multiply(outer_body.arguments[0], Constant.of(size, "i64"))
            left = Minimum(Subtract(loop.trip_count, first), Constant.of(size, "i64"))
            inner_body = _body_like(loop, loop.body.block.arguments[0].name)
            with Builder(inner_body, source=loop.source):
                counter = Add(first, inner_body.arguments[0])
                _inline(loop.body.block, [counter, *inner_body.arguments[1:]])
            inner = _loop_like(loop, left, tuple(outer_body.arguments[1:]), inner_body)
            Yield(tuple(inner.results))
        outer = _loop_like(loop, strips, loop.initial, outer_body)
    _replace(loop, outer.results)
    return outer, inner


def unroll(loop: For, times: int) -> tuple[For, For | None]:
    """The loop with so many rounds in one, and that for the rounds that are left; None where there are none."""
    assert loop.block is not None and times > 0
    count = loop.trip_count
    with Builder(loop.block, before=loop, source=loop.source):
        rounds = _floor(count, times)
        body = _body_like(loop, loop.body.block.arguments[0].name)
        with Builder(body, source=loop.source) as builder:
            first = Multiply(body.arguments[0], Constant.of(times, "i64"))
            carried: list[Value] = list(body.arguments[1:])
            for number in range(times):
                counter = Add(first, Constant.of(number, "i64")) if number else first
                carried = _inline_round(loop.body.block, [counter, *carried])
            builder.source = loop.source
            Yield(tuple(carried))
        unrolled = _loop_like(loop, rounds, loop.initial, body)
        results, rest = unrolled.results, None
        if not (isinstance(count, Constant) and int(count.number) % times == 0):
            done = Multiply(rounds, Constant.of(times, "i64"))
            left_body = _body_like(loop, loop.body.block.arguments[0].name)
            with Builder(left_body, source=loop.source):
                _inline(loop.body.block, [Add(done, left_body.arguments[0]), *left_body.arguments[1:]])
            rest = _loop_like(loop, Subtract(count, done), tuple(unrolled.results), left_body)
            results = rest.results
    _replace(loop, results)
    return unrolled, rest


def why_not_nested(outer: For, inner: For) -> str:
    """What keeps the two loops from being written the other way round; "" if nothing does."""
    block = outer.body.block
    if inner.block is not block:
        return "one does not stand directly in the other"
    if outer.initial or inner.initial:
        return "a value is carried from round to round"
    around = [op for op in block if op is not inner and op is not block.terminator]
    if any(not op.is_pure for op in around):
        return "something is done between the two"
    if not _is_outside(inner, block):
        return "the inner one's number of rounds depends on the outer one's counter"
    return ""


def interchange(outer: For, inner: For) -> tuple[For, For]:
    """The two loops the other way round: nothing stands between them (see `why_not_nested`)."""
    assert outer.block is not None and not why_not_nested(outer, inner)
    with Builder(outer.block, before=outer, source=inner.source):
        new_outer_body = _body_like(inner, inner.body.block.arguments[0].name)
        with Builder(new_outer_body, source=outer.source):
            new_inner_body = _body_like(outer, outer.body.block.arguments[0].name)
            with Builder(new_inner_body):
                mapping: dict[Value, Value] = {
                    outer.body.block.arguments[0]: new_inner_body.arguments[0],
                    inner.body.block.arguments[0]: new_outer_body.arguments[0],
                }
                for op in outer.body.block:
                    if op is inner:
                        _clone_ops(inner.body.block, mapping)
                    elif op is not outer.body.block.terminator:
                        op.clone(mapping)
                Yield(())
            new_inner = _loop_like(outer, outer.trip_count, (), new_inner_body)
            Yield(())
        new_outer = _loop_like(inner, inner.trip_count, (), new_outer_body)
        # Of the inner loop's rounds it was only known that they don't meet within one of the outer loop's.
        new_outer.is_independent = inner.is_independent and outer.is_independent
    _replace(outer, ())
    return new_outer, new_inner


def hoist_counts(block: Block) -> None:
    """Move what trip counts are computed of out of the loops around, where it does not depend on these."""
    for op in list(block.walk()):
        if isinstance(op, For):
            _hoist(op.trip_count, op)


def _hoist(value: Value, loop: Op) -> None:
    around = loop.block
    while around is not None and around.parent is not None and isinstance(around.parent.parent, For):
        holder = around.parent.parent
        needed = _computed_in(value, around)
        if needed is None:
            return
        assert holder.block is not None
        for op in needed:
            around.unlink(op)
            holder.block.insert_before(op, holder)
        around = holder.block


def _computed_in(value: Value, block: Block) -> list[Op] | None:
    """The ops of the block that a value is made of, in order; None where one depends on the block's arguments."""
    found: dict[Op, None] = {}
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if each in block.arguments:
            return None
        if isinstance(each, Op) and each.block is block:
            if not each.is_pure or each.regions:
                return None
            found[each] = None
            waiting += each.operands
        elif not isinstance(each, Op) and getattr(getattr(each, "owner", None), "block", None) is block:
            return None
    return [op for op in block if op in found]


def _is_outside(inner: For, block: Block) -> bool:
    """Whether the inner loop's trip count is computed outside of the block."""
    count = inner.trip_count
    return count not in block.arguments and not (isinstance(count, Op) and count.block is block)


# -- parts ------------------------------------------------------------------------------------------------------------


def _body_like(loop: For, name: str | None) -> Block:
    old = loop.body.block.arguments
    return Block([tensor_type((), "i64"), *(each.type for each in old[1:])], [name, *(each.name for each in old[1:])])


def _loop_like(loop: For, count: Value, initial: tuple[Value, ...], body: Block) -> For:
    """A loop of which the same is known."""
    return For(count, initial, Region(body), reductions=loop.reductions, is_independent=loop.is_independent)


def _inline(block: Block, arguments: list[Value]) -> None:
    mapping: dict[Value, Value] = dict(zip(block.arguments, arguments, strict=True))
    _clone_ops(block, mapping)
    Yield(tuple(mapping.get(value, value) for value in block.terminator.operands))


def _inline_round(block: Block, arguments: list[Value]) -> list[Value]:
    mapping: dict[Value, Value] = dict(zip(block.arguments, arguments, strict=True))
    _clone_ops(block, mapping)
    return [mapping.get(value, value) for value in block.terminator.operands]


def _clone_ops(block: Block, mapping: dict[Value, Value]) -> None:
    for op in block:
        if op is not block.terminator:
            op.clone(mapping)


def _replace(loop: For, results: tuple[Value, ...]) -> None:
    for old, new in zip(loop.results, results, strict=True):
        old.replace_all_uses_with(new)
    loop.erase()


def _ceiling(count: Value, size: int) -> Value:
    """How many strips there are: none where there are no rounds."""
    return _floor(Add(count, Constant.of(size - 1, "i64")), size)


def _floor(count: Value, size: int) -> Value:
    """The quotient, of a count that may be negative where there are no rounds: then at most 0."""
    if isinstance(count, Constant):
        return Constant.of(max(int(count.number) // size, 0), "i64")
    return Divide(count, Constant.of(size, "i64"))
