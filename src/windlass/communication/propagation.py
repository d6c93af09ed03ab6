"""Which axes of which values are divided among devices, found from the values whose sharding is known.

Axes are put together into classes: those that ops map onto one another, as the letters of `Op.axes` say, and those that
slices, pads, concatenations and updates only shift. A class is divided as the values of known sharding among it are.
What is found decides how much is communicated, never what is computed: so it need not be what XLA would find.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from windlass.ir import Block, Function, TensorType, Value
from windlass.ir.core import Op
from windlass.ops import (
    Branching,
    Concatenate,
    DynamicUpdateSlice,
    Gather,
    Opaque,
    Pad,
    ReduceWindow,
    Scatter,
    Slice,
    TensorOp,
    While,
)
from windlass.ops.shardings import Mesh, Sharding, sharding_of

SHIFTING = (Slice, Pad, Concatenate, DynamicUpdateSlice)
"""Ops that take their axes in place, moved along themselves."""
CONSTRAINT = "sdy.sharding_constraint"


class Division(NamedTuple):
    """How an axis is divided: by these axes of the mesh, into so many parts, of so many elements each."""

    names: tuple[str, ...]
    parts: int
    length: int

    @property
    def extent(self) -> int:
        """How many elements an array has along the axis; others begin or end elsewhere."""
        return self.parts * self.length


class Claim(NamedTuple):
    """That an axis of a value is divided by these axes of the mesh, as its sharding says."""

    value: Value
    axis: int
    names: tuple[str, ...]


Divisions = tuple["Division | None", ...]
"""For each axis of a value how it is divided; None: not at all."""


@dataclass
class Propagation:
    """The classes of axes of one function, and how each is divided."""

    mesh: Mesh
    _parents: dict[tuple[Value, int], tuple[Value, int]] = field(
        default_factory=dict[tuple[Value, int], "tuple[Value, int]"]
    )
    _found: dict[tuple[Value, int], Division | None] = field(default_factory=dict[tuple[Value, int], "Division | None"])

    reshardings: set[Op] = field(default_factory=set[Op])
    """Constraints that divide otherwise than what they constrain is divided: it moves from device to device there."""
    _divisions: dict[Value, Divisions | None] = field(default_factory=dict[Value, "Divisions | None"])
    """Those that were asked for."""
    _claims: list[Claim] = field(default_factory=list[Claim])

    def divisions(self, value: Value) -> Divisions | None:
        """How the value is divided; None where its axes would be divided by the same axis of the mesh."""
        if value not in self._divisions:
            found: Divisions | None = ()
            if isinstance(value.type, TensorType):
                found = tuple(self._found.get(self._root((value, axis))) for axis in range(value.type.rank))
                names = [name for each in found if each is not None for name in each.names]
                found = None if len(names) != len(set(names)) else found
            self._divisions[value] = found
        return self._divisions[value]

    def is_undivided(self, value: Value) -> bool:
        """Whether every device has all of the value."""
        divisions = self.divisions(value)
        return divisions is not None and not any(divisions)

    def _root(self, node: tuple[Value, int]) -> tuple[Value, int]:
        parents = self._parents
        while (parent := parents.get(node, node)) != node:
            parents[node] = parents.get(parent, parent)
            node = parent
        return node

    def join(self, first: Value, axis: int, second: Value, other: int) -> None:
        """Put two axes into one class."""
        one, two = self._root((first, axis)), self._root((second, other))
        if one != two:
            self._parents[two] = one
            self._divisions.pop(second, None)
            if two in self._found:
                division = self._found.pop(two)
                if self._found.setdefault(one, division) != division:
                    self._found[one] = None

    def join_all(self, first: Value, second: Value) -> None:
        """Put each axis of a value into the class of the same axis of the other."""
        if isinstance(first.type, TensorType) and isinstance(second.type, TensorType):
            for axis in range(first.type.rank):
                self.join(first, axis, second, axis)

    def settle(self, known: Iterable[tuple[Value, Sharding]]) -> None:
        """Divide the classes as the values of known sharding are; where these contradict each other, not at all."""
        contradicting: set[tuple[Value, int]] = set()
        for value, sharding in known:
            for axis, (size, names) in enumerate(zip(value.shape, sharding.axes, strict=True)):
                parts = self.mesh.size(names)
                root = self._root((value, axis))
                if parts == 1:
                    continue
                self._claims.append(Claim(value, axis, names))
                division = Division(names, parts, size // parts)
                if size % parts or self._found.setdefault(root, division) != division:
                    contradicting.add(root)
        for root in contradicting:
            self._found[root] = None

    def decided(self) -> list[tuple[list[Claim], Division | None, int]]:
        """For each class of axes: the claims on it, how it is divided (None: they contradict), how many it has."""
        sizes = Counter(self._root(node) for node in {*self._parents, *self._found})
        by_class: dict[tuple[Value, int], list[Claim]] = {}
        for claim in self._claims:
            by_class.setdefault(self._root((claim.value, claim.axis)), []).append(claim)
        return [(claims, self._found.get(root), max(sizes[root], 1)) for root, claims in by_class.items()]

    def join_constraint(self, op: Opaque, sharding: Sharding | None) -> None:
        """Let what a constraint gives be divided as what it takes, unless that is divided otherwise."""
        (operand,), (result,) = op.inputs, op.results
        if sharding is not None and sharding.is_divided:
            held, wanted = self.divisions(operand), self.divisions(result)
            pairs = zip(held or (), wanted or (), strict=False)
            if wanted is not None and (held is None or any(own is not None and own != other for own, other in pairs)):
                self.reshardings.add(op)
                return
        self.join_all(operand, result)
        self._divisions.clear()


def propagate(
    function: Function, shardings: Mapping[Value, Sharding], meshes: Mapping[str, Mesh] | None = None
) -> Propagation | None:
    """How the function's values are divided, given the sharding of some; None where there is nothing to divide, or
    more than one mesh. `meshes` are those that constraints may name."""
    known = [(value, sharding) for value, sharding in shardings.items() if sharding.is_divided]
    constraints: list[tuple[Opaque, Sharding | None]] = []
    for op in function.walk():
        if isinstance(op, Opaque) and op.operation == CONSTRAINT:
            texts = dict(op.attribute_texts)
            sharding = sharding_of(texts.get("sharding", ""), op.results[0].tensor.rank, meshes)
            constraints.append((op, sharding))
            if sharding is not None and sharding.is_divided:
                known.append((op.results[0], sharding))
    used = {sharding.mesh for _, sharding in known}
    if len(used) != 1:
        return None
    found = Propagation(used.pop())
    _join_block(function.body, found)
    found.settle(known)
    for op, sharding in constraints:
        found.join_constraint(op, sharding)
    return found


def _join_block(block: Block, found: Propagation) -> None:
    for op in block:
        _join_op(op, found)
        for region in op.regions:
            if isinstance(op, While | Branching):
                for inner in region.blocks:
                    _join_block(inner, found)


def _join_op(op: Op, found: Propagation) -> None:
    if isinstance(op, While):
        for place, operand in enumerate(op.operands):
            for other in (
                op.results[place],
                op.body.block.arguments[place],
                op.cond.block.arguments[place],
                op.body.block.terminator.operands[place],
            ):
                found.join_all(operand, other)
    elif isinstance(op, Branching):
        for region in op.regions:
            for result, given in zip(op.results, region.block.terminator.operands, strict=True):
                found.join_all(result, given)
    elif isinstance(op, SHIFTING):
        for operand in op.operands:
            if isinstance(operand.type, TensorType) and operand.type.rank == op.results[0].tensor.rank:
                found.join_all(op.results[0], operand)
    elif isinstance(op, TensorOp):
        _join_letters(op, found)
        if isinstance(op, ReduceWindow):
            for axis, sizes in enumerate(zip(op.inputs[0].shape, op.results[0].tensor.shape, strict=True)):
                if sizes[0] == sizes[1]:
                    found.join(op.results[0], axis, op.inputs[0], axis)


def _join_letters(op: TensorOp, found: Propagation) -> None:
    axes = op.axes()
    if axes is None:
        return
    # What tells places in an array says nothing of how that is divided, and may serve several axes.
    apart = op.start_indices if isinstance(op, Gather) else op.scatter_indices if isinstance(op, Scatter) else None
    places: dict[int, tuple[Value, int]] = {}
    for values, rows in ((op.operands, axes.operands), (op.results, axes.results)):
        for value, row in zip(values, rows, strict=True):
            for axis, letters in enumerate(row):
                if letters is None or len(letters) != 1 or not isinstance(value.type, TensorType) or value is apart:
                    continue
                first = places.setdefault(letters[0], (value, axis))
                found.join(*first, value, axis)
