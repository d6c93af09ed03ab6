"""Equal ops on different values become one op on all of them: vectorization of straight-line programs.

From a group of equal ops that don't depend on each other (products, mostly), operands are packed upwards: equal ops
become one on packed operands, slices of one array become that array, anything else is stacked. The method is that of
superword-level parallelism (Larsen and Amarasinghe, 2000), with a new axis in place of a register.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from windlass.diagnostics.deadline import is_late
from windlass.facts.cost import Cost, Device, estimate_cost
from windlass.facts.terms import op_of, sources
from windlass.ir import Block, Builder, Op, Value
from windlass.ops import (
    BroadcastInDim,
    Concatenate,
    Constant,
    DotGeneral,
    Elementwise,
    Reduce,
    Reshape,
    Slice,
    Transpose,
    While,
)
from windlass.ops.base import TensorOp
from windlass.ops.reduction import Folding
from windlass.passes.batcher import pick_blocks
from windlass.rewriting.driver import remove_dead_code
from windlass.rewriting.ordering import sort_block
from windlass.rewriting.passes import Change, Pass
from windlass.rewriting.rule import catalogue

LARGEST_STACK = 1 << 26
"""Bytes of a stack of values that were apart."""


FEWEST_FOLDS = 4
"""Reductions that are worth to be done at once: the slices of the result cost as much as they save of a few."""


class CannotPack(Exception):
    """These values can't be computed as one."""


Key = tuple[object, ...]


def kind_of(op: Op) -> Key | None:
    """Equal for ops that do the same to operands of the same types; None for ops that aren't packed."""
    if not op.is_pure or not isinstance(op, TensorOp) or not op.operands or not op.has_batch():
        return None
    inside: object = None
    if op.regions:
        if not isinstance(op, Folding) or op.combiner is None:
            return None
        inside = op.combiner
    attributes = tuple(getattr(op, name) for name in op.attribute_names)
    types = tuple(value.type for value in (*op.operands, *op.results))
    return (type(op), inside, attributes, types)


@dataclass
class BlockView:
    """A block, how deep in it each op stands (deeper than all that it depends on), and who is equal."""

    block: Block
    device: Device
    depths: dict[Op, int] = field(default_factory=dict[Op, int])
    groups: dict[tuple[Key, int], list[Op]] = field(default_factory=dict[tuple[Key, int], list[Op]])
    stacks: dict[Key, Value] = field(default_factory=dict[Key, Value])
    """Concatenations that there are, by what they are of."""

    def __post_init__(self) -> None:
        for op in self.block:
            depths = [self.depths.get(owner, 0) for value in sources(op) if (owner := op_of(value)) is not None]
            self.depths[op] = 1 + max(depths, default=0)
            if isinstance(op, Concatenate):
                self.stacks[stack_key(op.inputs, op.dimension)] = op
            key = kind_of(op) if op.is_contraction or isinstance(op, Reduce) else None
            if key is not None:
                self.groups.setdefault((key, self.depths[op]), []).append(op)

    @property
    def loop(self) -> While | None:
        """The loop whose body the block is."""
        parent = self.block.parent.parent if self.block.parent is not None else None
        return parent if isinstance(parent, While) and parent.body.block is self.block else None

    def is_inside(self, value: Value) -> bool:
        owner = op_of(value)
        return owner in self.depths if owner is not None else value in self.block.arguments


def stack_key(parts: Sequence[Value], axis: int) -> Key:
    """Equal for concatenations of the same values, reshaped to the same shapes."""
    found: list[object] = [axis, parts[0].type]
    for part in parts:
        found.append(part.operand if isinstance(part, Reshape) else part)
    return tuple(found)


class Packing:
    """One attempt: ops made in blocks of its own, and put into the program if they cost less than what they replace."""

    def __init__(self, view: BlockView, size: int) -> None:
        self.view = view
        self.size = size
        self.scratch = Block()
        self.ahead = Block()
        """Ops that go before the loop whose body the block is."""
        self.packed: dict[tuple[Value, ...], tuple[Value, bool]] = {}
        self.members: list[tuple[tuple[Op, ...], tuple[Value, ...]]] = []
        """Ops that are replaced, with what has all their results."""

    def pack(self, values: tuple[Value, ...]) -> tuple[Value, bool]:
        """The values as one: with a new first axis, or as it is if they are all the same (False then)."""
        if all(value is values[0] for value in values):
            return values[0], False
        if values not in self.packed:
            self.packed[values] = (self._pack(values), True)
        return self.packed[values]

    def _pack(self, values: tuple[Value, ...]) -> Value:
        constants = [value for value in values if isinstance(value, Constant)]
        if len(constants) == len(values):
            return self._stack_constants(constants)
        ops = [op_of(value) for value in values]
        if all(op is not None and op in self.view.depths for op in ops) and len(set(ops)) == len(ops):
            found = self._pack_ops(values, [op for op in ops if op is not None])
            if found is not None:
                return found
        return self._stack(values)

    def _pack_ops(self, values: tuple[Value, ...], ops: list[Op]) -> Value | None:
        slices = [op for op in ops if isinstance(op, Slice)]
        if len(slices) == len(ops):
            found = self._whole(slices)
            if found is not None:
                return found
        depth, key = self.view.depths[ops[0]], kind_of(ops[0])
        if key is None or any(self.view.depths[op] != depth or kind_of(op) != key for op in ops):
            return None
        index = ops[0].results.index(values[0])
        if any(op.results[index] is not value for op, value in zip(ops, values, strict=True)):
            return None
        results = self.batch(ops)
        return None if results is None else results[index]

    def batch(self, ops: Sequence[Op]) -> tuple[Value, ...] | None:
        """The results of equal ops as those of one."""
        first = ops[0]
        assert isinstance(first, TensorOp)
        known = len(self.members)
        operands = [self.pack(tuple(column)) for column in zip(*(op.operands for op in ops), strict=True)]
        flags = tuple(is_many for _, is_many in operands)
        if not any(flags):
            del self.members[known:]
            return None
        with Builder(self.scratch):
            results = first.batch(tuple(value for value, _ in operands), flags, self.size)
        if results is None:
            # What was packed for it has no use.
            del self.members[known:]
            return None
        self.members.append((tuple(ops), results))
        return results

    def _whole(self, slices: list[Slice]) -> Value | None:
        """Slices at regular places of one array, as that array."""
        first = slices[0]
        if any(each.operand is not first.operand or each.type is not first.type for each in slices):
            return None
        if any(step != 1 for each in slices for step in each.strides):
            return None
        starts = np.array([each.start_indices for each in slices])
        moving = [axis for axis in range(starts.shape[1]) if (starts[:, axis] != starts[0, axis]).any()]
        if len(moving) != 1:
            return None
        (axis,) = moving
        begin, end = list(first.start_indices), list(first.limit_indices)
        begin[axis], end[axis] = 0, first.operand.shape[axis]
        with Builder(self.scratch):
            whole: Value = first.operand
            if tuple(end) != whole.shape or any(begin):
                whole = Slice(whole, tuple(begin), tuple(end), first.strides)
            return pick_blocks(whole, axis, starts[:, axis], first.shape[axis])

    def stacks_values(self) -> bool:
        """Whether values that were apart are written beside each other."""
        return bool(list(self.ahead)) or any(isinstance(op, Concatenate) for op in self.scratch)

    def list_lasting(self) -> list[Op]:
        """Ops that are done at once and stay so.

        Of what is computed of stacks alone, element by element, the catalogue makes a stack again.
        """
        stacks: set[Value] = {op for op in (*self.ahead, *self.scratch) if isinstance(op, Concatenate)}
        lasting: list[Op] = []
        for ops, results in self.members:
            made = op_of(results[0])
            if isinstance(made, Elementwise) and _is_of_stacks(made, stacks):
                stacks.add(made)
            else:
                lasting += ops
        return lasting

    def _stack_constants(self, constants: list[Constant]) -> Value:
        if sum(constant.tensor.bytes for constant in constants) > LARGEST_STACK:
            raise CannotPack
        with Builder(self.scratch):
            return Constant.of(np.stack([constant.array for constant in constants]), constants[0].dtype)

    def _stack(self, values: tuple[Value, ...]) -> Value:
        if any(value.type is not values[0].type for value in values) or not hasattr(values[0].type, "shape"):
            raise CannotPack
        if sum(value.tensor.bytes for value in values) > LARGEST_STACK:
            raise CannotPack
        is_ahead = self.view.loop is not None and not any(self.view.is_inside(value) for value in values)
        with Builder(self.ahead if is_ahead else self.scratch):
            rows = tuple(Reshape(value, (1, *value.shape)) for value in values)
            return self.view.stacks.get(stack_key(rows, 0)) or Concatenate(rows, 0)

    # -- whether it pays, and doing it ------------------------------------------------------------------------------

    def settle(self, name: str, replaced: dict[Value, Value], shared: int = 1) -> Change | None:
        """Put the ops in and use the new values for the old ones, if that costs less; else leave no trace.

        `shared` groups will use the same stacks, so that each bears a part of their cost.
        """
        self._extract(replaced)
        old, new = list(replaced), list(replaced.values())
        saved = self._saving(old, new, shared)
        if saved <= 0:
            self.abandon()
            return None
        return self._enter(name, replaced, saved)

    def abandon(self) -> None:
        """Leave no trace of the attempt."""
        for block in (self.scratch, self.ahead):
            for op in reversed(list(block)):
                op.erase()

    def _extract(self, replaced: dict[Value, Value]) -> None:
        """Rows for whoever uses what is replaced from outside."""
        inside = {op for ops, _ in self.members for op in ops}
        for ops, results in self.members:
            for position, op in enumerate(ops):
                for index, result in enumerate(op.results):
                    if result in replaced or all(user in inside for user in result.uses):
                        continue
                    with Builder(self.scratch):
                        replaced[result] = row_of(results[index], position)

    def _saving(self, old: list[Value], new: list[Value], shared: int) -> float:
        device = self.view.device
        made = {*self.scratch, *self.ahead}
        given = {value for op in made for value in sources(op) if op_of(value) not in made}
        dying = {op for ops, _ in self.members for op in ops} | {
            op for value in old if (op := op_of(value)) is not None
        }
        # What only these use goes with them: slices, reshapes.
        frontier = list(dying)
        while frontier:
            for value in frontier.pop().operands:
                op = op_of(value)
                if op is None or op not in self.view.depths or op in dying or value in given or not op.is_pure:
                    continue
                if all(user in dying for result in op.results for user in result.uses):
                    dying.add(op)
                    frontier.append(op)
        before_given = {value for op in dying for value in sources(op) if op_of(value) not in dying}
        before = estimate_cost(old, before_given, device).seconds
        stacks = {op: op for op in made if isinstance(op, Concatenate) and op.block is self.ahead}
        rounds = self.view.loop.repetitions() if self.view.loop is not None else 1.0
        loop_given = given | set(stacks)
        # Rows are read by who uses them; only products want them by themselves.
        rows = [value for value in new if isinstance(skip_reshapes(value), Slice)]
        packed: dict[Value, None] = {}
        for value in new:
            inner = skip_reshapes(value)
            packed[inner.operand if isinstance(inner, Slice) else value] = None
        after = estimate_cost(packed, loop_given, device).seconds
        for value, result in zip(new, old, strict=True):
            if value in rows:
                lone = any(user.is_contraction for user in result.uses)
                after += result.tensor.bytes / device.bandwidth + (device.launch if lone else 0.0)
        after += sum(estimate_cost([stack], given, device).seconds for stack in stacks) / max(rounds, 1.0)
        if shared > 1:
            own = [op for op in self.scratch if isinstance(op, Concatenate)]
            cost = sum((estimate_cost([stack], given, device) for stack in own), Cost())
            after -= cost.seconds * (1 - 1 / shared)
        return before - after

    def _enter(self, name: str, replaced: dict[Value, Value], saved: float) -> Change:
        block, loop = self.view.block, self.view.loop
        placed = [*self.ahead, *self.scratch]
        replaced_op = op_of(next(iter(replaced)))
        assert replaced_op is not None
        source, root = replaced_op.source, type(replaced_op).__name__
        for op in list(self.ahead):
            assert loop is not None and loop.block is not None
            self.ahead.unlink(op)
            loop.block.insert_before(op, loop)
        for op in list(self.scratch):
            self.scratch.unlink(op)
            block.insert_before(op, block.terminator)
        for op in placed:
            op.made_by = (name,)
            op.source = source
        for old, new in replaced.items():
            old.replace_all_uses_with(new)
        remove_dead_code(block)
        sort_block(block)
        return Change(root, source, placed, saved)


def _is_of_stacks(op: Elementwise, stacks: set[Value]) -> bool:
    """Whether the op takes two stacks or more that nothing else takes, and numbers."""
    taken = {value for value in op.operands if value in stacks}
    if len(taken) < 2 or any(len(value.uses) > 1 for value in taken):
        return False
    return all(value in taken or _is_number(value) for value in op.operands)


def _is_number(value: Value) -> bool:
    """Whether the value is the same number everywhere."""
    if isinstance(value, Constant):
        return value.is_splat
    return not value.shape or (isinstance(value, BroadcastInDim) and not value.operand.shape)


def skip_reshapes(value: Value) -> Value:
    """What the value is a reshape of."""
    while isinstance(value, Reshape):
        value = value.operand
    return value


def row_of(values: Value, position: int) -> Value:
    """One of the values that were packed."""
    shape = values.shape
    begin, end = [0] * len(shape), list(shape)
    begin[0], end[0] = position, position + 1
    row = Slice(values, tuple(begin), tuple(end), (1,) * len(shape))
    return Reshape(row, shape[1:])


# -- where to begin ---------------------------------------------------------------------------------------------------


def pack_block(block: Block, device: Device) -> Iterator[Change]:
    """Make one op of equal ones wherever that costs less, in this block."""
    declined: set[object] = set()
    while _may_pack(block):
        change = _pack_once(BlockView(block, device), declined)
        if change is None:
            return
        yield change


def _may_pack(block: Block) -> bool:
    """A quick test: whether the block is pure, and has anything to begin with."""
    starts = 0
    for op in block:
        if not op.is_pure and op is not block.last:
            return False
        starts += (op.is_contraction or isinstance(op, Reduce)) + 2 * isinstance(op, Concatenate)
    return starts > 1


def _pack_once(view: BlockView, declined: set[object]) -> Change | None:
    """The first change that pays, of those that were not tried before; what does not pay is entered in `declined`."""
    for op in view.block:
        if is_late():
            return None
        if isinstance(op, Concatenate) and len(op.inputs) > 1 and op not in declined:
            change = _pack_parts(view, op)
            if change is not None:
                return change
            declined.add(op)
    candidates = [
        candidate
        for group in view.groups.values()
        if len(group) >= (FEWEST_FOLDS if isinstance(group[0], Reduce) else 2)
        for candidate in _list_candidates(group)
    ]
    counts: dict[tuple[Value, ...], int] = {}
    for group in candidates:
        for column in zip(*(op.operands for op in group), strict=True):
            counts[column] = counts.get(column, 0) + 1
    for group in candidates:
        if is_late():
            return None
        if tuple(group) in declined:
            continue
        shared = max(counts[column] for column in zip(*(op.operands for op in group), strict=True))
        change = _pack_group(view, group, shared)
        if change is not None:
            return change
        declined.add(tuple(group))
    return None


def _list_candidates(group: list[Op]) -> Iterator[list[Op]]:
    """Those of the group that share an operand, and the group."""
    for position in (1, 0):
        shared: dict[Value, list[Op]] = {}
        for op in group:
            if len(op.operands) == 2:
                shared.setdefault(op.operands[position], []).append(op)
        if 1 < len(shared) < len(group):
            yield from (each for each in shared.values() if len(each) > 1)
    yield group


def _pack_group(view: BlockView, group: list[Op], shared: int) -> Change | None:
    products = [op for op in group if isinstance(op, DotGeneral)]
    if len(products) == len(group) and all(op.lhs is products[0].lhs for op in products):
        change = _join_products(view, products, shared)
        if change is not None or products[0].rhs_free_dimensions:
            return change
    packing = Packing(view, len(group))
    if isinstance(group[0], Reduce):
        group = sorted(group, key=_place)
    roots = _grow(view, group)
    try:
        results = packing.batch(roots)
    except CannotPack:
        results = None
    if results is not None and isinstance(group[0], Reduce) and packing.stacks_values():
        # Values are read once by reductions: to write them beside each other first costs more than it saves.
        results = None
    if results is None:
        packing.abandon()
        return None
    return packing.settle("equal_ops_done_at_once", {}, shared)


def _place(op: Op) -> tuple[int, ...]:
    """Where what the op reads first lies in an array, if it is a slice, reshaped or repeated."""
    owner = op_of(op.operands[0])
    while owner is not None and owner.is_free and owner.operands:
        owner = op_of(owner.operands[0])
    return owner.start_indices if isinstance(owner, Slice) else ()


def _grow(view: BlockView, group: list[Op]) -> list[Op]:
    """The ops that equal users of equal ops end in."""
    roots = group
    while True:
        users: list[Op] = []
        for op in roots:
            using = list(op.uses) if len(op.results) == 1 and op.results[0] is op else []
            if len(using) != 1 or using[0] not in view.depths:
                return roots
            users.append(using[0])
        key, depth = kind_of(users[0]), view.depths[users[0]]
        if key is None or len(set(users)) != len(users) or isinstance(users[0], Concatenate):
            return roots
        if any(kind_of(user) != key or view.depths[user] != depth for user in users):
            return roots
        roots = users


def _pack_parts(view: BlockView, op: Concatenate) -> Change | None:
    """A concatenation of equal computations on different values."""
    parts = op.inputs
    if any(part.type is not parts[0].type for part in parts) or len(set(parts)) != len(parts):
        return None
    owners = [op_of(part) for part in parts]
    if any(owner is None or owner not in view.depths for owner in owners):
        return None
    packing = Packing(view, len(parts))
    # The concatenation that is replaced is not there to be used.
    view.stacks = {key: stack for key, stack in view.stacks.items() if stack is not op}
    try:
        found, _ = packing.pack(parts)
    except CannotPack:
        packing.abandon()
        return None
    if not any(op.flops() > 0 for op in packing.list_lasting()):
        # Slices of one value stacked another way round, say: nothing is computed at once.
        packing.abandon()
        return None
    axis, rank = op.dimension, op.tensor.rank
    with Builder(packing.scratch):
        moved = found
        if axis:
            moved = Transpose(found, (*range(1, axis + 1), 0, *range(axis + 1, rank + 1)))
        whole = Reshape(moved, op.shape)
    return packing.settle("equal_parts_done_at_once", {op: whole}, 1)


def _join_products(view: BlockView, products: list[DotGeneral], shared: int) -> Change | None:
    """x @ a, x @ b = slices of x @ (a beside b)."""
    first = products[0]
    free = first.rhs_free_dimensions
    if first.rhs_batching_dimensions or not free or len({op.rhs for op in products}) != len(products):
        return None
    axis = free[0]
    packing = Packing(view, len(products))
    if sum(op.rhs.tensor.bytes for op in products) > LARGEST_STACK:
        return None
    values = [op.rhs for op in products]
    is_ahead = view.loop is not None and not any(view.is_inside(value) for value in values)
    with Builder(packing.ahead if is_ahead else packing.scratch):
        joined = view.stacks.get(stack_key(values, axis)) or Concatenate(tuple(values), axis)
    with Builder(packing.scratch):
        fields = first.field_values() | {"rhs": joined}
        product = DotGeneral.from_fields(fields)
        place = len(first.lhs_free_dimensions)
        replaced: dict[Value, Value] = {}
        for position, op in enumerate(products):
            size = op.shape[place]
            begin, end = [0] * op.tensor.rank, list(product.shape)
            begin[place], end[place] = position * size, (position + 1) * size
            replaced[op] = Slice(product, tuple(begin), tuple(end), (1,) * op.tensor.rank)
    return packing.settle("products_of_one_value", replaced, shared)


catalogue.passes.append(
    Pass("equal_ops_at_once", "f(a), f(b), f(c) = rows of f(stack(a, b, c))", pack_block, reassociates=True)
)
