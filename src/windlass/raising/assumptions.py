"""What a raised form takes for granted of the data, and checks as it runs.

Some accesses are right for every sensible input and can't be shown to be: threads that each add to a place of their
own, which an array tells them; vectors at places that an array tells; assertions. The program has one word more, which
says whether all of that held. Where it did not, its results mean nothing, and the launch is emulated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from windlass.affine.predicate import Predicate
from windlass.ops.comparison import Compare
from windlass.ops.elementwise import Or, Select
from windlass.ops.extremes import Maximum
from windlass.ops.reduction import reduce_with
from windlass.raising import emission
from windlass.raising.lanes import Lanes, condition_of
from windlass.raising.materialize import materialize_condition
from windlass.raising.report import Assumption

if TYPE_CHECKING:
    from windlass.raising.state import RaisingState


def nothing_is_violated(state: RaisingState) -> Predicate:
    """Whether all assumptions held so far: a loop in which one does not may have no end."""
    words = state.assumptions.state.words
    assert words is not None
    zero = emission.constant(0, "i32")
    return condition_of(Lanes(Compare(emission.reshape(words, ()), zero, "EQ")))


def assume_never(state: RaisingState, violated: Predicate, assumption: Assumption) -> None:
    """Let the program see whether the condition holds for some active lane.

    The word holds the greatest number, from 1, of an assumption that did not hold; 0 if all did.
    """
    condition = (state.domain.mask & violated).simplify(state.box)
    if condition.is_false:
        return
    known = state.report.assumptions
    if assumption not in known:
        known.append(assumption)
    lanes = materialize_condition(condition, state.box).at(state.box)
    flag = reduce_with(Or, lanes.value, tuple(range(len(lanes.dims)))) if lanes.dims else lanes.value
    number = emission.constant(known.index(assumption) + 1, "i32")
    found = emission.reshape(Select(flag, number, emission.constant(0, "i32")), (1,))
    before = state.assumptions.state.words
    assert before is not None
    state.assumptions.change(Maximum(before, found))
