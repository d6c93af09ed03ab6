"""Grid-stride loops: `for (i = id; i < n; i += number of threads)`.

Iteration k of thread g works on i = stride*k + g. Over the two dimensions k and g the guard `i < n` is no box, but
over the one dimension i it is: the loop's counter and the thread's dimension are fused within the loop.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from windlass.affine.dimensions import Box, Dimension, in_order
from windlass.affine.domain import Domain
from windlass.affine.index import Atom, Data, FloorDivide, Index, IndexMaximum, IndexMinimum
from windlass.affine.predicate import (
    Conjunction,
    DataCondition,
    Disjunction,
    Predicate,
    conjunction,
    disjunction,
)
from windlass.ir import Block
from windlass.raising import emission
from windlass.raising.items import Accumulation, AccumulationTest, Item, Pointer, PointerChoice, integer_item
from windlass.raising.lanes import Lanes, condition_of, lanes_of
from windlass.raising.materialize import materialize_condition

if TYPE_CHECKING:
    from windlass.raising.state import RaisingState


@dataclass(frozen=True)
class Fusion:
    """`fused = stride*counter + thread`; `domain` are the lanes of the loop over the fused dimension."""

    fused: Dimension
    thread: Dimension
    counter: Dimension
    domain: Domain

    @property
    def stride(self) -> int:
        return self.thread.size

    @property
    def replacements(self) -> dict[Dimension, Index]:
        """What the two dimensions are in terms of the fused one."""
        place = Index.of(self.fused)
        return {self.counter: place.floor_divide(self.stride), self.thread: place.modulo(self.stride)}


def find_fusion(state: RaisingState, trips: Index, counter: Dimension) -> Fusion | None:
    """The fusion under which the loop's guard becomes a box, if there is one."""
    outer = state.domain
    for thread in sorted(trips.dimensions, key=lambda dimension: dimension.key):
        if thread not in outer.dimensions or outer.box.extent(thread) != thread.size or thread.size == 1:
            continue
        if thread in outer.mask.dimensions:
            continue
        fused = Dimension(f"{thread.name}+{counter.name}", thread.size * counter.size, thread.order, (*thread.key, 0))
        place = Index.of(fused)
        replacements = {counter: place.floor_divide(thread.size), thread: place.modulo(thread.size)}
        dimensions = in_order(fused if each is thread else each for each in outer.dimensions)
        guard = nonnegative((trips - Index.of(counter) - 1).substitute(replacements, outer.box), outer.box)
        domain = Domain(dimensions, outer.box, outer.mask).restrict(guard)
        if domain.is_empty or fused in domain.mask.dimensions:
            continue
        return Fusion(fused, thread, counter, domain)
    return None


def nonnegative(index: Index, box: Box) -> Predicate:
    """`index >= 0`, with quotients multiplied out: x floordiv d + r >= 0 where x + d*r >= 0.

    >>> i = Index.of(Dimension("i", 100, 0))
    >>> nonnegative((Index(37) - i.modulo(8)).floor_divide(8) - i.floor_divide(8), Box()).split(Box())[0]
    Box(i in [0, 38))
    """
    for atom, factor in index.terms.items():
        if abs(factor) != 1:
            continue
        rest = index - Index(0, {atom: factor})
        if isinstance(atom, FloorDivide):
            if factor == 1:
                return nonnegative(atom.operand + rest.scale(atom.divisor), box)
            # x floordiv d <= r where x <= d*r + d - 1
            return nonnegative(rest.scale(atom.divisor) + (atom.divisor - 1) - atom.operand, box)
        if isinstance(atom, IndexMaximum) and factor == 1:
            return nonnegative(rest + atom.left, box) | nonnegative(rest + atom.right, box)
        if isinstance(atom, IndexMinimum) and factor == 1:
            return nonnegative(rest + atom.left, box) & nonnegative(rest + atom.right, box)
    return Predicate.compare("GE", index, Index(0)).simplify(box)


def enter(state: RaisingState, fusion: Fusion, body: Block) -> None:
    """Let all that the body uses from outside be over the fused dimension.

    Raises Obstacle for what can't be: local arrays of each thread, sums over outer loops.
    """
    for value in dict.fromkeys(operand for op in body.walk() for operand in op.operands):
        item = state.environment.get(value)
        if item is not None:
            state.environment[value] = moved(state, item, fusion)
            state.retried.pop(value, None)


def moved(state: RaisingState, item: Item, fusion: Fusion) -> Item:
    """The item over the fused dimension instead of the thread's."""
    match item:
        case Index():
            return _move_index(item, fusion)
        case Predicate():
            return _move_predicate(item, fusion)
        case Lanes():
            return _move_lanes(item, fusion)
        case Pointer():
            if item.memory is not None and item.memory.home is not None and item.memory.home.dimensions:
                raise state.obstacle("a loop over all threads' elements uses a local array")
            return item
        case PointerChoice():
            on_true, on_false = moved(state, item.on_true, fusion), moved(state, item.on_false, fusion)
            assert isinstance(on_true, Pointer | PointerChoice) and isinstance(on_false, Pointer | PointerChoice)
            return PointerChoice(_move_predicate(item.condition, fusion), on_true, on_false)
        case Accumulation() | AccumulationTest():
            raise state.obstacle("a loop over all threads' elements adds to a sum over an outer loop")
        case _:
            return item


def _move_index(index: Index, fusion: Fusion) -> Index:
    if fusion.thread not in index.dimensions:
        return index

    def leaf(atom: Atom) -> Index:
        if isinstance(atom, Dimension) and atom in fusion.replacements:
            return fusion.replacements[atom]
        if isinstance(atom, Data) and fusion.thread in atom.handle.dims:
            return integer_item(_move_lanes(lanes_of(atom), fusion), (atom.lower, atom.upper))
        return Index.of(atom)

    return index.rebuild(leaf, fusion.domain.box)


def _move_predicate(predicate: Predicate, fusion: Fusion) -> Predicate:
    if fusion.thread not in predicate.dimensions:
        return predicate
    match predicate:
        case Conjunction():
            return conjunction(_move_predicate(part, fusion) for part in predicate.parts)
        case Disjunction():
            return disjunction(_move_predicate(part, fusion) for part in predicate.parts)
        case DataCondition():
            moved_lanes = condition_of(_move_lanes(lanes_of(predicate), fusion))
            return ~moved_lanes if predicate.is_negated else moved_lanes
        case _:
            if predicate.has_data:
                lanes = materialize_condition(predicate, fusion.domain.box.without([fusion.fused]))
                return condition_of(_move_lanes(lanes, fusion))
            return predicate.substitute(fusion.replacements, fusion.domain.box)


def _move_lanes(lanes: Lanes, fusion: Fusion) -> Lanes:
    """Each thread's value at each of its iterations."""
    if fusion.thread not in lanes.dims:
        return lanes
    lanes = lanes.cover(lanes.region.without([fusion.thread]))
    axis = lanes.dims.index(fusion.thread)
    shape = lanes.value.shape
    spread = (*shape[:axis], fusion.counter.size, *shape[axis:])
    axes = [place if place < axis else place + 1 for place in range(len(shape))]
    value = emission.reshape(
        emission.broadcast(lanes.value, spread, axes), (*shape[:axis], fusion.fused.size, *shape[axis + 1 :])
    )
    dims = tuple(fusion.fused if each is fusion.thread else each for each in lanes.dims)
    order = in_order(dims)
    permutation = [dims.index(each) for each in order]
    lower = tuple(lanes.lower[place] for place in permutation)
    return Lanes(emission.transpose(value, permutation), order, lower)


def split_back(lanes: Lanes, fusion: Fusion, filling: int | float | bool) -> Lanes:
    """Lanes over the fused dimension as lanes over counter and thread; `filling` where the loop did not go."""
    if fusion.fused not in lanes.dims:
        return lanes
    axis = lanes.dims.index(fusion.fused)
    lower, extent = lanes.lower[axis], lanes.value.shape[axis]
    value = emission.pad_axis(lanes.value, axis, lower, fusion.fused.size - lower - extent, filling)
    shape = (*value.shape[:axis], fusion.counter.size, fusion.thread.size, *value.shape[axis + 1 :])
    value = emission.reshape(value, shape)
    dims = (*lanes.dims[:axis], fusion.counter, fusion.thread, *lanes.dims[axis + 1 :])
    lowers = (*lanes.lower[:axis], 0, 0, *lanes.lower[axis + 1 :])
    order = in_order(dims)
    permutation = [dims.index(each) for each in order]
    return Lanes(emission.transpose(value, permutation), order, [lowers[place] for place in permutation])
