"""Choices lane by lane as tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windlass.affine.predicate import Predicate
from windlass.ops.elementwise import Select
from windlass.raising.emission import splat_number
from windlass.raising.items import Item, from_lanes
from windlass.raising.lanes import Lanes
from windlass.raising.origins import note_guarded
from windlass.raising.prefixes import pad_instead_of_select

if TYPE_CHECKING:
    from windlass.raising.state import RaisingState


def select_lanes(state: RaisingState, condition: Predicate, on_true: Item, on_false: Item, dtype: str) -> Item:
    """The merge as a tensor select, or as a pad where that says the same."""
    one, other = state.lanes(on_true, dtype), state.lanes(on_false, dtype)
    merged = pad_instead_of_select(condition, one, other, state.box)
    if merged is not None:
        item = from_lanes(merged)
    else:
        lanes = [state.condition_lanes(condition), one, other]
        key = ("select", tuple(map(id, lanes)), state.box)
        if key not in state.memo:
            state.memo[key] = (lanes, from_lanes(Lanes.elementwise(Select, *lanes, box=state.box)))
        item = state.memo[key][1]
    for loaded, filling, guard in ((on_true, other, condition), (on_false, one, ~condition)):
        number = splat_number(filling.value)
        if number is not None:
            note_guarded(state, item, loaded, guard, number)
    return item
