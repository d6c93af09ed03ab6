"""Places in memory that a loop accumulates in: `y[i] += x[i*m + k]` in a loop over k.

A place that every iteration loads and stores is treated as a variable that the loop carries: it is read before the
loop, is an accumulation within it, and is written after it. Elements of local arrays are such places, and so are
words of memory whose address does not depend on the iteration.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from windlass.affine.choices import box_condition
from windlass.affine.dimensions import Dimension
from windlass.affine.domain import Domain
from windlass.affine.index import Data, Index, RuntimeScalar, parts_of
from windlass.affine.predicate import Predicate
from windlass.ir import Op, Result
from windlass.ops.conversion import byte_width
from windlass.raising.carried_places import Cell, NeedsCells, PlaceCell, SlotCell
from windlass.raising.conditions import merge_items
from windlass.raising.dependences import varies
from windlass.raising.frames import VectorFrame
from windlass.raising.items import Accumulation, Item, Memory, Root, Slot, SlotKey, UndefinedItem, fresh_version
from windlass.raising.lanes import lanes_of
from windlass.raising.reductions import finish
from windlass.raising.slots import store_slot
from windlass.raising.words import read_words, record_access, write_words

if TYPE_CHECKING:
    from windlass.raising.state import RaisingState


@dataclass
class BoundCell:
    """A cell within the loop: its root, what it held before, and what held it (in a loop around this one)."""

    cell: Cell
    root: Root
    initial: Item
    outer: Slot | None


# -- what the body does -----------------------------------------------------------------------------------------------


def find_place(state: RaisingState, memory: Memory, address: Index, dtype: str) -> PlaceCell | None:
    """The cell at an address; None if the memory has no cells.

    Raises Obstacle where the access may touch a cell without being one, and NeedsCells where the cell is one of a loop
    around the innermost.
    """
    own = [cell for cell in state.places if cell.memory is memory]
    if not own:
        return None
    address = address.simplify(state.box)
    for cell in own:
        if cell.address == address and cell.dtype == dtype:
            item = state.places[cell].item
            if isinstance(item, Accumulation):
                if item.root.while_depth != state.while_depth:
                    raise state.obstacle("a sum over an outer loop is made within a loop that can't be vectorized")
                if item.root.loop_depth != len(state.frames):
                    raise NeedsCells([cell])
            return cell
    raise state.obstacle(f"{memory.name} is accumulated in and accessed in other ways")


def check_addresses(state: RaisingState, cells: Iterable[Cell]) -> None:
    """Raise Obstacle where the address of a place was computed in an attempt that was given up: by the loop itself."""
    for cell in cells:
        if isinstance(cell, PlaceCell) and _is_gone(cell.address):
            raise state.obstacle("the loop itself finds the place in memory that carries values between iterations")


def _is_gone(index: Index) -> bool:
    for atom in index.terms:
        value = (
            lanes_of(atom).value if isinstance(atom, Data) else atom.value if isinstance(atom, RuntimeScalar) else None
        )
        op = value.owner if isinstance(value, Result) else value
        if (isinstance(op, Op) and op.block is None) or any(map(_is_gone, parts_of(atom))):
            return True
    return False


def set_place(state: RaisingState, cell: PlaceCell, item: Item) -> None:
    """Store to a cell from the active lanes."""
    old = state.places[cell]
    domain = state.domain
    if domain != old.domain:
        condition = box_condition(domain.box, old.domain.box) & domain.mask
        with state.within(old.domain):
            item = merge_items(state, condition, item, old.item, cell.dtype)
    state.places[cell] = Slot(item, old.domain)


def places_to_carry(frame: VectorFrame, memory: Memory) -> list[PlaceCell]:
    """The places of a memory that every iteration of the loop uses, if it uses nothing else of that memory."""
    if memory.home is not None:
        return []
    found: dict[PlaceCell, bool] = {}
    for record in frame.accesses:
        if record.memory is not memory:
            continue
        if record.kind not in ("load", "store") or record.while_depth != frame.while_depth:
            return []
        if any(varies(atom, frame) for atom in record.address.terms):
            return []
        cell = PlaceCell(memory, record.address.simplify(record.box), record.dtype)
        found[cell] = found.get(cell, False) or record.is_unconditional
    cells = list(found)
    for place, one in enumerate(cells):
        for other in cells[place + 1 :]:
            distance = (one.address - other.address).constant_value
            if distance is None or abs(distance) < max(byte_width(one.dtype), byte_width(other.dtype)):
                return []
    # A place that no iteration uses for sure may be another lane's.
    return cells if all(found.values()) else []


# -- before and after the loop ----------------------------------------------------------------------------------------


def bind_cells(state: RaisingState, cells: Iterable[Cell], domain: Domain, depth: int) -> list[BoundCell]:
    """Let cells be accumulations within the loop over `domain`."""
    bound: list[BoundCell] = []
    for cell in cells:
        match cell:
            case SlotCell():
                slots = cell.memory.state.slots
                if slots is None or cell.key not in slots:
                    raise state.obstacle("a local array is accessed in several ways")
                root = Root(cell.key[1], state.while_depth, depth)
                bound.append(BoundCell(cell, root, slots[cell.key].item, slots[cell.key]))
                replace_slot(cell.memory, cell.key, Slot(Accumulation(root), domain))
            case PlaceCell():
                outer = state.places.get(cell)
                if outer is not None:
                    initial = outer.item
                else:
                    # Loops around this one see just one load before it, and one store after it.
                    record_access(state, cell.memory, "load", cell.address, cell.dtype)
                    initial = read_words(state, cell.memory, cell.address, cell.dtype)
                root = Root(cell.dtype, state.while_depth, depth)
                bound.append(BoundCell(cell, root, initial, outer))
                state.places[cell] = Slot(Accumulation(root), domain)
    return bound


def replace_slot(memory: Memory, key: SlotKey, slot: Slot) -> None:
    """Let an element of a local array hold something else."""
    assert memory.state.slots is not None
    slots = {**memory.state.slots, key: slot}
    memory.state = replace(memory.state, slots=slots, version=fresh_version())


def _with_elements(domain: Domain, cell: Cell) -> Domain:
    """The domain times the elements of a local array that are lanes."""
    for axis in cell.memory.axes:
        domain = domain.extended(axis.dimension)
    return domain


def finish_cells(state: RaisingState, bound: Iterable[BoundCell], runs: Predicate, dimension: Dimension) -> None:
    """Give cells the values that they have after the loop; `runs` tells the lanes that have any iterations.

    Raises Obstacle where a cell is replaced by what is no accumulation.
    """
    for each in bound:
        cell = each.cell
        slot = cell.memory.state.slots[cell.key] if isinstance(cell, SlotCell) and cell.memory.state.slots else None
        if isinstance(cell, PlaceCell):
            slot = state.places[cell]
        if slot is None:
            raise state.obstacle("a local array is accessed in several ways")
        if not isinstance(slot.item, Accumulation) or slot.item.root is not each.root:
            raise state.obstacle("a place in memory is replaced by what other iterations do not add to")
        with state.within(_with_elements(state.domain, cell)):
            final, _ = finish(state, slot.item, each.initial, dimension)
        match cell:
            case SlotCell():
                assert each.outer is not None
                replace_slot(cell.memory, cell.key, each.outer)
                with state.within(_with_elements(state.domain, cell)):
                    store_slot(state, cell.memory, cell.key, final)
            case PlaceCell() if each.outer is not None:
                state.places[cell] = each.outer
                with state.within(state.domain.restrict(runs)):
                    set_place(state, cell, final)
            case PlaceCell():
                del state.places[cell]
                with state.within(state.domain.restrict(runs)):
                    if not isinstance(final, UndefinedItem) and not state.domain.is_empty:
                        record_access(state, cell.memory, "store", cell.address, cell.dtype)
                        write_words(state, cell.memory, cell.address, final, cell.dtype)
