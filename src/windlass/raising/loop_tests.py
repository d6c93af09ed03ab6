"""What says before each iteration of a `While` whether it goes on: a count, one truth for all, or one for each lane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

from windlass.affine.dimensions import Dimension, in_order
from windlass.affine.domain import Domain
from windlass.affine.index import Index, RuntimeScalar
from windlass.affine.predicate import TRUE, Predicate
from windlass.ir import Argument, Block, Value
from windlass.ops.comparison import Compare
from windlass.ops.creation import Constant
from windlass.ops.elementwise import Add, And, Or, Select
from windlass.ops.extremes import Maximum
from windlass.ops.reduction import reduce_with
from windlass.raising import emission
from windlass.raising.lanes import Lanes, condition_of

if TYPE_CHECKING:
    from windlass.raising.state import RaisingState


class Carrier:
    """The operands of the `While` as they are gathered: initial values, block arguments for them, the next values."""

    def __init__(self) -> None:
        self.block = Block()
        self.initial: list[Value] = []
        self.next: list[Value] = []

    def carry(self, value: Value) -> Argument:
        self.initial.append(value)
        return self.block.add_argument(value.type)


class GrowingGuess(Protocol):
    """What is told where lanes turn out to stop at different times."""

    def widen_active(self, dims: frozenset[Dimension]) -> None: ...


class Count:
    """A number of iterations that is known before the first one.

    `trips` is how many each lane runs, `total` the most of any lane, `upper` its bound; `is_ragged` says that some
    lanes may run fewer.
    """

    def __init__(self, state: RaisingState, trips: Index) -> None:
        self.trips = trips.maximum(Index(0), state.box).simplify(state.box)
        self.upper = self.trips.value_range(state.box)[1]
        lanes = state.lanes(self.trips, "i32" if self.upper < 2**31 else "i64")
        self.is_ragged = bool(lanes.dims)
        self.total = _most(state, lanes) if self.is_ragged else _uniform(state, lanes.value)

    def carry(self, state: RaisingState, carrier: Carrier) -> None:
        self.count = carrier.carry(emission.constant(0, self.total.dtype))

    @property
    def iteration(self) -> Index:
        """The number of the iteration, within the loop."""
        return Index.of(RuntimeScalar(self.count, 0, max(self.upper - 1, 0)))

    def enter(self, outer: Domain) -> tuple[Predicate, Domain]:
        if not self.is_ragged:
            return TRUE, outer
        runs = Predicate.compare("LT", self.iteration, self.trips)
        return runs, outer.restrict(runs)

    def note(self, state: RaisingState, goes_on: Predicate, guess: GrowingGuess) -> None:
        pass

    def find_next(self, state: RaisingState, goes_on: Predicate, domain: Domain, guess: GrowingGuess) -> Value | None:
        return Add(self.count, Constant.of(1, self.count.dtype))

    def ask(self, carried: Value, limit: Value) -> Value:
        return Compare(carried, limit, "LT")


class AllTogether:
    """One truth for all lanes."""

    def carry(self, state: RaisingState, carrier: Carrier) -> None:
        carrier.carry(emission.constant(True, "i1"))

    def enter(self, outer: Domain) -> tuple[Predicate, Domain]:
        return TRUE, outer

    def note(self, state: RaisingState, goes_on: Predicate, guess: GrowingGuess) -> None:
        self.flag = state.condition_lanes(goes_on)
        if self.flag.dims:
            guess.widen_active(frozenset(self.flag.dims))

    def find_next(self, state: RaisingState, goes_on: Predicate, domain: Domain, guess: GrowingGuess) -> Value | None:
        return self.flag.value

    def ask(self, carried: Value) -> Value:
        return carried


@dataclass
class EachLane:
    """Which lanes still run, along the dimensions where some stop before others."""

    dims: tuple[Dimension, ...]
    mask: Lanes

    @staticmethod
    def over(state: RaisingState, dims: frozenset[Dimension], guess: GrowingGuess) -> EachLane | None:
        """None, and the guess has grown, where the lanes that come to the loop differ along more dimensions."""
        mask = state.condition_lanes(state.domain.mask)
        if not frozenset(mask.dims) <= dims:
            guess.widen_active(frozenset(mask.dims))
            return None
        return EachLane(in_order(dims), mask)

    def carry(self, state: RaisingState, carrier: Carrier) -> None:
        self.active = carrier.carry(self.mask.expand(self.dims, state.box))

    def enter(self, outer: Domain) -> tuple[Predicate, Domain]:
        runs = condition_of(Lanes.over(self.active, self.dims, outer.box))
        return runs, Domain(outer.dimensions, outer.box, runs)

    def note(self, state: RaisingState, goes_on: Predicate, guess: GrowingGuess) -> None:
        pass

    def find_next(self, state: RaisingState, goes_on: Predicate, domain: Domain, guess: GrowingGuess) -> Value | None:
        with state.within(domain):
            condition = state.condition_lanes(goes_on)
        if not frozenset(condition.dims) <= frozenset(self.dims):
            guess.widen_active(frozenset(condition.dims))
            return None
        return And(self.active, condition.expand(self.dims, domain.box))

    def ask(self, carried: Value) -> Value:
        return reduce_with(Or, carried, tuple(range(len(carried.shape)))) if carried.shape else carried


LoopTest: TypeAlias = "Count | AllTogether | EachLane"


def _uniform(state: RaisingState, total: Value) -> Value:
    """The count that all lanes share; 0 where no lane gets here.

    There the number means nothing: it may be what the source guards against.
    """
    mask = state.domain.mask
    if mask.is_true or isinstance(total, Constant):
        return total
    active = state.condition_lanes(mask).value
    any_active = reduce_with(Or, active, tuple(range(len(active.shape)))) if active.shape else active
    return Select(any_active, total, emission.constant(0, total.dtype))


def _most(state: RaisingState, lanes: Lanes) -> Value:
    """The most iterations of any active lane.

    None at all where no lane is active: the identity of the maximum is the least integer, which is fewer.
    """
    if not state.domain.mask.is_true:
        zero = Lanes(emission.constant(0, lanes.dtype))
        lanes = Lanes.elementwise(Select, state.condition_lanes(state.domain.mask), lanes, zero, box=state.box)
    return reduce_with(Maximum, lanes.value, tuple(range(len(lanes.dims))))
