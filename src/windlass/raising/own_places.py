"""Whether threads that change what they find in memory, without an atomic operation, each have a place of their own.

An address that is a plain sum over the threads' numbers answers that by its form; one that is known otherwise, by what
it is at each thread. Where an array tells the threads their places, the program looks as it runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from windlass.affine.conflict import is_injective
from windlass.affine.dimensions import Box, Dimension, in_order
from windlass.affine.enumeration import holds_at, points_of, values_of
from windlass.affine.index import Index, dimensions_of
from windlass.affine.predicate import EqualsZero, Predicate
from windlass.ir import Value
from windlass.ops.comparison import Compare
from windlass.ops.conversion import byte_width
from windlass.ops.elementwise import And, Or
from windlass.ops.reduction import reduce_with
from windlass.raising import access, emission
from windlass.raising.assumptions import assume_never
from windlass.raising.codes import RACE
from windlass.raising.items import Memory
from windlass.raising.lanes import Lanes, condition_of
from windlass.raising.materialize import dtype_of_places, materialize, materialize_condition
from windlass.raising.report import Assumption

if TYPE_CHECKING:
    from windlass.raising.state import RaisingState

HELP = "use atomicAdd, or let one thread do it"


def have_own_places(state: RaisingState, address: Index) -> bool:
    """Whether different threads surely come to different addresses, by the form of the address and the mask."""
    known = _told_by_mask(state.domain.mask)
    return is_injective(address, [each for each in _threads(state) if each not in known], state.box)


def _told_by_mask(mask: Predicate) -> set[Dimension]:
    """Dimensions along which only one lane is active for each point of the others: `x == f(y)`."""
    known: set[Dimension] = set()
    others: set[Dimension] = set()
    for each in mask.conjuncts():
        if not isinstance(each, EqualsZero):
            continue
        for atom in each.index.terms:
            rest: set[Dimension] = set()
            rest.update(*(dimensions_of(other) for other in each.index.terms if other is not atom))
            if isinstance(atom, Dimension) and atom not in rest | others and rest.isdisjoint(known):
                known.add(atom)
                others |= rest
                break
    return known


def check_own_places(state: RaisingState, memory: Memory, address: Index, dtype: str) -> None:
    """Raise Obstacle if several threads come to one address; let the program look where that depends on data."""
    reason = f"several threads add to the same place of {memory.name} without an atomic operation"
    # Places that lie as far apart from each other as those of an earlier check need not be checked again.
    key = ("own places", memory, address - address.constant, dtype, state.domain)
    if key in state.memo.results:
        return
    found = _some_meet(state, memory, address)
    if found:
        raise state.obstacle(reason, RACE, HELP)
    state.memo.results[key] = True
    if found is None:
        assume_never(state, _meets(state, memory, address, dtype), Assumption(reason, state.position, RACE, HELP))


def _threads(state: RaisingState) -> list[Dimension]:
    """The dimensions along which threads differ; in loops over all threads' elements, those elements."""
    fused = [frame.dimension for frame in state.frames if frame.is_fused]
    return [
        each
        for each in state.domain.dimensions
        if state.box.extent(each) > 1 and (each in state.thread_dimensions or each in fused)
    ]


def _number(dimensions: Iterable[Dimension], box: Box) -> Index:
    """A number of its own for each point, from 0."""
    number, count = Index(0), 1
    for each in dimensions:
        number = number + (Index.of(each) - box.lower(each)).scale(count)
        count *= box.extent(each)
    return number


def _size(memory: Memory) -> int:
    """The bytes of a memory, of all segments together."""
    words = memory.state.words
    return 0 if words is None else words.shape[0] * byte_width(words.dtype)


def _some_meet(state: RaisingState, memory: Memory, address: Index) -> bool | None:
    """Whether two active threads have one address; None where that is known at run time only.

    Threads beyond the memory do not count: that is another error.
    """
    threads = _threads(state)
    mask = state.domain.mask
    points = points_of({*threads, *address.dimensions, *mask.dimensions}, state.box)
    if points is None or not address.is_static:
        return None
    # What one thread does in an iteration and another in a later one may be ordered by a barrier.
    loops = [each for each in points if each not in threads]
    count = state.box.count(loops)
    place = values_of(address.scale(count) + _number(loops, state.box), points)
    is_inside = (place >= 0) & (place < _size(memory) * count)
    places, numbers, counted = np.broadcast_arrays(place, values_of(_number(threads, state.box), points), is_inside)
    is_known = not mask.has_data
    if is_known:
        counted = counted & holds_at(mask, points)
    # None meet if they don't even where all are active.
    return (True if is_known else None) if _meet(places[counted], numbers[counted]) else False


def _meet(places: NDArray[Any], numbers: NDArray[Any]) -> bool:
    """Whether there are two threads of different numbers at one place."""
    order = np.argsort(places, kind="stable")
    places, numbers = places[order], numbers[order]
    return bool(((places[1:] == places[:-1]) & (numbers[1:] != numbers[:-1])).any())


def _meets(state: RaisingState, memory: Memory, address: Index, dtype: str) -> Predicate:
    """Whether some thread comes to another's address: few are compared with each other, many by way of a table."""
    width, box, mask = byte_width(dtype), state.box, state.domain.mask
    index = address.floor_divide(width, box)
    threads = _threads(state)
    dims = in_order({*threads, *index.dimensions, *mask.dimensions})
    places = materialize(index, box, "i64")
    numbers = materialize(_number(threads, box), box, dtype_of_places(box.count(threads)))
    lanes = [places, numbers] if mask.is_true else [places, numbers, materialize_condition(mask, box)]
    count, words = box.count(dims), _size(memory) // width
    if count * count > words:
        return _meet_in_table(words, index, numbers, box, mask)
    place, number, *active = [emission.reshape(each.expand(dims, box), (count,)) for each in lanes]

    def of_pairs(direction: str, value: Value) -> Value:
        one, other = (emission.broadcast(value, (count, count), (axis,)) for axis in (0, 1))
        return Compare(one, other, direction)

    meets = And(of_pairs("EQ", place), of_pairs("NE", number))
    for each in active:
        for axis in (0, 1):
            meets = And(meets, emission.broadcast(each, (count, count), (axis,)))
    return condition_of(Lanes(reduce_with(Or, meets, (0, 1))))


def _meet_in_table(words: int, index: Index, numbers: Lanes, box: Box, mask: Predicate) -> Predicate:
    """Where a thread finds another's number at its place, after all have put theirs there."""
    owners = access.store(emission.constant(0, numbers.dtype, (words,)), index, numbers, box, mask)

    def differ(one: Value, other: Value) -> Value:
        return Compare(one, other, "NE")

    found = access.load(owners, index, box, mask)
    return condition_of(Lanes.elementwise(differ, found, numbers, box=box))
