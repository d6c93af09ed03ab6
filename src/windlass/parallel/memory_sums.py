"""Sums in memory over a loop that is not the innermost: the loop goes inwards, until it is.

    for k: for j: C[j] += A[k] * B[k, j]   =   for j: for k: C[j] += A[k] * B[k, j]

Each place gets its terms in the order that it got them before, so that the result is the same to the bit. In the inner
loop the place stands still: it is a value that the loop carries, and the loop a sum, or a contraction. Matrix products
that are written for caches, with `j` innermost, are thereby products.
"""

from __future__ import annotations

from windlass.facts.indices import IndexReader
from windlass.facts.threads import thread_ids
from windlass.ir import Builder, Function, Op, Value
from windlass.loops import Access, For, Load, Parallel, Store
from windlass.loops.launch_specification import LaunchSpecification
from windlass.parallel.dead_code import remove_unused
from windlass.parallel.dependences import UNKNOWN, Dependences
from windlass.parallel.loop_nests import hoist_counts, interchange, why_not_nested

MOST_EXCHANGES = 64
"""Of loops of one function."""
MOST_ACCESSES = 24
"""Nests with more accesses are left alone: every two of them would have to be compared."""


def move_sums_inward(function: Function, specification: LaunchSpecification) -> None:
    """Exchange loops of a function, specialized for that launch, as long as a sum in memory gets further in."""
    launch = next(op for op in function.body if isinstance(op, Parallel))
    if not any(_inner_loop(op) is not None for op in launch.body.walk() if isinstance(op, For)):
        return
    for _ in range(MOST_EXCHANGES):
        reader = IndexReader.of_launch(launch, thread_ids(function, launch, specification))
        dependences = Dependences.of_launch(reader, function.arguments, specification)
        if not any(_exchange(op, dependences) for op in list(launch.body.walk()) if isinstance(op, For)):
            return


def _inner_loop(outer: For) -> For | None:
    """The one loop in the body of another, if neither carries a value from round to round."""
    inner = [op for op in outer.body.block if op.regions]
    if len(inner) != 1 or not isinstance(inner[0], For):
        return None
    loops = (outer, inner[0])
    is_plain = not any(each.initial or each.counts_elements or each.serializes for each in loops)
    return inner[0] if is_plain else None


def _exchange(outer: For, dependences: Dependences) -> bool:
    """Exchange a loop with the one in it, if it sums in memory and may be; whether it was."""
    inner = _inner_loop(outer)
    if inner is None or not _sums(outer, inner, dependences):
        return False
    hoist_counts(outer.body.block)
    if not _can_enter(outer, inner, dependences):
        return False
    if dependences.why_not_exchanged(outer, inner) is not None:
        return False
    _enter(outer, inner)
    if why_not_nested(outer, inner):
        return False
    interchange(outer, inner)
    return True


def _sums(outer: For, inner: For, dependences: Dependences) -> bool:
    """Whether all that is stored goes to places that the outer loop comes to again, and the inner one tells apart."""
    across, along = (dependences.reader.dimension_of(each) for each in (outer, inner))
    accesses = [op for op in outer.body.walk() if isinstance(op, Access)]
    stores = [op for op in accesses if not isinstance(op, Load)]
    if across is None or along is None or not stores or len(accesses) > MOST_ACCESSES:
        return False
    for store in stores:
        if not isinstance(store, Store) or store.is_volatile or dependences.memory_of(store)[0] != "memory":
            return False
        place = dependences.reader.affine_index_of(store.offset)
        if place is None or across in place.dimensions or along not in place.dimensions:
            return False
    return True


def _can_enter(outer: For, inner: For, dependences: Dependences) -> bool:
    """Whether what stands in the outer loop alone is made of numbers that stay the same in the inner one."""
    stored = {
        dependences.memory_of(op) for op in inner.body.walk() if isinstance(op, Access) and not isinstance(op, Load)
    }
    place = inner.next
    while place is not None:
        if place is not outer.body.block.terminator and not place.is_pure:
            return False
        place = place.next
    for op in _between(outer, inner):
        if op.is_pure:
            continue
        if not isinstance(op, Load) or op.is_volatile or dependences.memory_of(op) in (*stored, UNKNOWN):
            return False
    return inner.trip_count not in _made_in(outer, inner)


def _between(outer: For, inner: For) -> list[Op]:
    return [op for op in outer.body.block if op is not inner and op is not outer.body.block.terminator]


def _made_in(outer: For, inner: For) -> set[Value]:
    return {result for op in _between(outer, inner) for result in op.results}


def _enter(outer: For, inner: For) -> None:
    """Compute within the inner loop what stands in the outer one alone, if it is no number of the counters'."""
    mapping: dict[Value, Value] = {}
    body = inner.body.block
    with Builder(body, before=body.first):
        for op in _between(outer, inner):
            copy = op.clone(mapping)
            for old, new in zip(op.results, copy.results, strict=True):
                for user in [user for user in old.uses if _stands_in(user, inner)]:
                    user.replace_operand(old, new)
    remove_unused(outer.body.block)


def _stands_in(op: Op, loop: For) -> bool:
    around = op.parent_op
    while around is not None and around is not loop:
        around = around.parent_op
    return around is loop
