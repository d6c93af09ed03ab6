"""Branches: each side is interpreted for the lanes that take it, then results are merged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windlass.affine.dimensions import Box
from windlass.affine.index import Atom, Choice, Index, parts_of
from windlass.affine.predicate import (
    FALSE,
    TRUE,
    AtLeastZero,
    Conjunction,
    DiffersFromZero,
    Disjunction,
    EqualsZero,
    Predicate,
)
from windlass.ir import Block, Op
from windlass.ops.elementwise import Select
from windlass.raising.emission import splat_number
from windlass.raising.items import Item, Pointer, PointerChoice, Undefined, from_lanes
from windlass.raising.lanes import Lanes, lanes_of
from windlass.raising.prefixes import pad_instead_of_select

if TYPE_CHECKING:
    from windlass.raising.state import RaisingState

MOST_CHOICES = 4
"""Integers that depend on conditions of more parts than this are selected as values, not symbolically."""
MOST_WEIGHT = 16
"""Terms of an index that is still looked into; larger ones are computed as tensors."""


def box_condition(box: Box, outer: Box) -> Predicate:
    """That a lane of the outer box is in the box."""
    condition = TRUE
    for dimension in box.restricted:
        lower, upper = box.bounds(dimension)
        outer_lower, outer_upper = outer.bounds(dimension)
        index = Index.of(dimension)
        if lower > outer_lower:
            condition = condition & Predicate.compare("GE", index, Index(lower))
        if upper < outer_upper:
            condition = condition & Predicate.compare("LT", index, Index(upper))
    return condition


def merge_items(state: RaisingState, condition: Predicate, on_true: Item, on_false: Item, dtype: str | None) -> Item:
    """`on_true` at the lanes where the condition holds, `on_false` at the others.

    Each side need be right at its own lanes only. `dtype` is None for buffers.
    """
    from windlass.raising.reductions import Accumulation, AccumulationTest, merge_accumulations

    if on_true is on_false or isinstance(on_false, Undefined):
        return on_true
    if isinstance(on_true, Undefined):
        return on_false
    condition = condition.simplify(state.box)
    if condition.is_true or condition.is_false:
        return on_true if condition.is_true else on_false
    match on_true, on_false:
        case ((Pointer() | PointerChoice()), (Pointer() | PointerChoice())):
            if (
                isinstance(on_true, Pointer)
                and isinstance(on_false, Pointer)
                and on_true.memory is on_false.memory
                and on_true.byte_offset == on_false.byte_offset
            ):
                return on_true
            return PointerChoice(condition, on_true, on_false)
        case Predicate(), Predicate():
            if on_true == on_false:
                return on_true
            return (condition & on_true) | (~condition & on_false)
        case Index(), Index():
            return _merge_indices(state, condition, on_true, on_false, dtype)
        case _:
            pass
    if isinstance(on_true, Accumulation | AccumulationTest) or isinstance(on_false, Accumulation | AccumulationTest):
        return merge_accumulations(state, condition, on_true, on_false)
    assert dtype is not None
    loaded = _merge_loads(state, condition, on_true, on_false, dtype)
    return loaded if loaded is not None else select_lanes(state, condition, on_true, on_false, dtype)


def select_lanes(state: RaisingState, condition: Predicate, on_true: Item, on_false: Item, dtype: str) -> Item:
    """The merge as a tensor select, or as a pad where that says the same."""
    from windlass.raising.memory import note_guarded

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


def _merge_indices(
    state: RaisingState, condition: Predicate, on_true: Index, on_false: Index, dtype: str | None
) -> Item:
    assert dtype is not None
    if on_true == on_false:
        return on_true
    chosen = choose_index(condition, on_true, on_false, state.box)
    if chosen is not None and not chosen.has_data:
        return chosen
    loaded = _merge_loads(state, condition, on_true, on_false, dtype)
    if loaded is not None:
        return loaded
    selected = select_lanes(state, condition, on_true, on_false, dtype)
    if isinstance(selected, Index):
        one, other = on_true.value_range(state.box), on_false.value_range(state.box)
        return with_bounds(selected, min(one[0], other[0]), max(one[1], other[1]))
    return selected


def with_bounds(index: Index, lower: int, upper: int) -> Index:
    """The computed integers with narrower bounds than their dtype's, where these are narrower."""
    from windlass.affine.index import Data, Scalar

    if len(index.terms) == 1 and not index.constant:
        ((atom, factor),) = index.terms.items()
        if factor == 1 and isinstance(atom, Data):
            return Index.of(Data(lanes_of(atom), max(lower, atom.lower), min(upper, atom.upper)))
        if factor == 1 and isinstance(atom, Scalar):
            return Index.of(Scalar(atom.value, max(lower, atom.lower), min(upper, atom.upper)))
    return index


def choose_index(
    condition: Predicate, on_true: Index, on_false: Index, box: Box, budget: int = MOST_CHOICES
) -> Index | None:
    """The merge of two integers as an index; None where the condition is on data or it grows too large."""
    if on_true.weight + on_false.weight > MOST_WEIGHT:
        return None
    match condition:
        case AtLeastZero() | EqualsZero() if condition.index.weight > MOST_WEIGHT:
            return None
        case AtLeastZero():
            return Index.choose(condition.index, on_true, on_false, box)
        case EqualsZero():
            return Index.choose(condition.index.minimum(-condition.index, box), on_true, on_false, box)
        case DiffersFromZero():
            return choose_index(~condition, on_false, on_true, box, budget)
        case Conjunction() | Disjunction() if len(condition.parts) <= budget:
            result: Index | None = on_true if isinstance(condition, Conjunction) else on_false
            for part in reversed(condition.parts):
                if result is None:
                    return None
                if isinstance(condition, Conjunction):
                    result = choose_index(part, result, on_false, box, budget - 1)
                else:
                    result = choose_index(part, on_true, result, box, budget - 1)
            return result
        case _:
            return None


def _merge_loads(state: RaisingState, condition: Predicate, on_true: Item, on_false: Item, dtype: str) -> Item | None:
    """Where both sides loaded from the same memory: one load, if the index that it takes is a simple one."""
    from windlass.raising.memory import load_words, origin

    one, other = origin(state, on_true), origin(state, on_false)
    if one is None or other is None or one[:3] != other[:3]:
        return None
    memory, version, loaded_dtype, index = one
    if loaded_dtype != dtype or memory.state.version != version or index.has_data or other[3].has_data:
        return None
    chosen = choose_index(condition, index, other[3], state.box)
    if chosen is None or holds_choice(chosen):
        return None
    return load_words(state, memory, chosen, dtype)


def holds_choice(index: Index) -> bool:
    """Whether some part of the index still depends on a condition."""

    def in_atom(atom: Atom) -> bool:
        return isinstance(atom, Choice) or any(holds_choice(part) for part in parts_of(atom))

    return any(in_atom(atom) for atom in index.terms)


def split_domains(state: RaisingState, condition: Predicate) -> tuple[Predicate, bool, bool]:
    """The condition as it is for the active lanes, and whether some lanes may take each side."""
    condition = condition.simplify(state.box)
    if condition.is_true:
        return TRUE, True, False
    if condition.is_false:
        return FALSE, False, True
    takes_true = not state.domain.restrict(condition).is_empty
    takes_false = not state.domain.restrict(~condition).is_empty
    return condition, takes_true, takes_false


def is_empty_block(block: Block) -> bool:
    """Whether a branch does nothing but yield."""
    return block.first is block.last


def yielded_dtype(op: Op, position: int) -> str | None:
    """The dtype of a result, None for buffers."""
    from windlass.ir import TensorType

    type_ = op.results[position].type
    return type_.dtype if isinstance(type_, TensorType) else None
