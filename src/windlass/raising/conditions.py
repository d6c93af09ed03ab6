"""Branches: each side is interpreted for the lanes that take it, then results are merged."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from windlass.affine.choices import choose_index, holds_choice, with_bounds
from windlass.affine.index import Index
from windlass.affine.predicate import (
    FALSE,
    TRUE,
    Predicate,
)
from windlass.ir import Block, Op, TensorType
from windlass.raising.extremes import complete_pending
from windlass.raising.items import (
    PENDING,
    AccumulatedTerm,
    Accumulation,
    AccumulationTest,
    Item,
    Pointer,
    PointerChoice,
    UndefinedItem,
)
from windlass.raising.origins import origin
from windlass.raising.selecting import select_lanes
from windlass.raising.words import load_words

if TYPE_CHECKING:
    from windlass.raising.state import RaisingState


def merge_items(state: RaisingState, condition: Predicate, on_true: Item, on_false: Item, dtype: str | None) -> Item:
    """`on_true` at the lanes where the condition holds, `on_false` at the others.

    Each side need be right at its own lanes only. `dtype` is None for buffers.
    """
    if on_true is on_false or isinstance(on_false, UndefinedItem):
        return on_true
    if isinstance(on_true, UndefinedItem):
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


def _merge_loads(state: RaisingState, condition: Predicate, on_true: Item, on_false: Item, dtype: str) -> Item | None:
    """Where both sides loaded from the same memory: one load, if the index that it takes is a simple one."""
    one, other = origin(state, on_true), origin(state, on_false)
    if one is None or other is None or replace(one, index=other.index) != other:
        return None
    memory, index = one.memory, one.index
    if one.dtype != dtype or memory.state.version != one.version or index.has_data or other.index.has_data:
        return None
    chosen = choose_index(condition, index, other.index, state.box)
    if chosen is None or holds_choice(chosen):
        return None
    return load_words(state, memory, chosen, dtype)


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
    type_ = op.results[position].type
    return type_.dtype if isinstance(type_, TensorType) else None


def merge_accumulations(state: RaisingState, condition: Predicate, on_true: Item, on_false: Item) -> Item:
    """Where the sides of a branch add different terms: each counts at its own lanes.

    Raises Obstacle where a side does anything else.
    """
    completed = complete_pending(state, condition, on_true, on_false)
    if completed is not None:
        return completed
    if (
        not isinstance(on_true, Accumulation)
        or not isinstance(on_false, Accumulation)
        or on_true.root is not on_false.root
        or on_true.elements != on_false.elements
        or PENDING in (on_true.nan, on_false.nan)
    ):
        raise state.obstacle("a branch replaces a value that other iterations add to")
    sides = [side for side in (on_true, on_false) if side.terms]
    kinds = {(side.combiner, side.nan, side.leader, side.direction, id(side.tested)) for side in sides}
    if len(kinds) > 1:
        raise state.obstacle("a value is accumulated by several different operations")
    shared = [term for term in on_true.terms if any(term is other for other in on_false.terms)]
    terms = list(shared)
    for side, accumulation in ((condition, on_true), (~condition, on_false)):
        for term in accumulation.terms:
            if not any(term is other for other in shared):
                terms.append(AccumulatedTerm(term.item, term.domain.restrict(side)))
    terms = [term for term in terms if not term.domain.is_empty]
    if not terms:
        return Accumulation(on_true.root, elements=on_true.elements)
    return replace(sides[0], terms=tuple(terms))
