"""A graph of equalities: classes of equal values, and ops on classes.

A node is an op whose operands stand for their classes: they are the values that represent these. Its key is the op's
own (`Op.structural_key`), with classes for operands; so ops that become equal when their operands do are found by
their keys, and their results made one class (congruence). All ops of the graph stand in a block of their own. Values
from outside of it are given: they cost nothing, and rules may look through them at what they are made of.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, TypeVar

from windlass.facts.terms import op_of
from windlass.ir import Block, Builder, Op, Region, TypeFault, Value
from windlass.ops import Constant
from windlass.rewriting.common_subexpressions import key_of_regions

Found = TypeVar("Found", bound=Op)


class Scratch(Block):
    """A block beside a program: what happens in it is no change of what is around."""

    __slots__ = ()

    def __init__(self, around: Region | None) -> None:
        super().__init__()
        self.parent = around

    def forget_findings(self) -> None:
        self.revision += 1


class Node:
    """An op on classes: `operands` are theirs, `homes` those of its results."""

    __slots__ = ("homes", "made_by", "op", "operands", "seen")

    def __init__(self, op: Op, operands: tuple[int, ...], homes: tuple[int, ...], made_by: str | None) -> None:
        self.op, self.operands, self.homes, self.made_by = op, operands, homes, made_by
        self.seen: tuple[int, ...] = ()
        """How many ops the operands' classes had when rules were last tried on the node."""


class EqualClass:
    """Values that are known to be equal. `value` represents them; the one that is `given`, if any, is there already."""

    __slots__ = ("given", "members", "value")

    def __init__(self, value: Value, is_given: bool) -> None:
        self.value = value
        self.given = value if is_given else None
        self.members: list[tuple[Node, int]] = []
        """Nodes, and which of their results it is."""

    def goes_before(self, other: EqualClass) -> bool:
        """Whether its value shows rules more than that of the other one does: constants, then what is given."""
        ranks = [2 * isinstance(each.value, Constant) + (each.given is not None) for each in (self, other)]
        return ranks[0] >= ranks[1]


class EqualityGraph:
    """Values are entered, and made equal; `rebuild` then makes equal what follows by congruence.

    >>> from windlass.ir.values import tensor
    >>> from windlass.ops import Add, Negate
    >>> x, y, graph = tensor("f32", 3), tensor("f32", 3, name="y"), EqualityGraph()
    >>> with Builder(graph.block):
    ...     one, other = Negate(x), Negate(Add(y, y))
    >>> graph.enter(one) == graph.enter(other)
    False
    >>> graph.unite(graph.enter(x), graph.number(other.operand))
    True
    >>> graph.rebuild()
    >>> graph.number(one) == graph.number(other)
    True
    """

    def __init__(self, around: Region | None = None) -> None:
        self.block = Scratch(around)
        self.classes: dict[int, EqualClass] = {}
        self.nodes: dict[Hashable, Node] = {}
        self.unions = 0
        """How often classes were made one."""
        self.kept: set[Op] = set()
        """Ops of the block that are, or were, nodes: what represents classes is made by them."""
        self.nested: list[Op] = []
        """Ops that were made within regions of the graph's ops."""
        self._parents: list[int] = []
        self._numbers: dict[Value, int] = {}
        self._marks: set[Hashable] = set()

    # -- what is known ----------------------------------------------------------------------------------------------

    def find(self, number: int) -> int:
        """The number that a class has now, which once had this one."""
        parents = self._parents
        while parents[number] != number:
            parents[number] = number = parents[parents[number]]
        return number

    def number(self, value: Value) -> int:
        """The class of a value that was entered."""
        return self.find(self._numbers[value])

    def holds(self, op: Op) -> bool:
        """Whether an op stands in the graph's own block: all others are given."""
        return op.block is self.block

    def ops_of(self, op_class: type[Found]) -> list[Found]:
        """Every op of the class, in the order in which they came."""
        return [node.op for node in self.nodes.values() if isinstance(node.op, op_class)]

    def ops_like(self, value: Value, op_class: type[Found]) -> list[Found]:
        """The ops of the class that give what is known to be equal to the value."""
        members = self.classes[self.number(value)].members
        return [node.op for node, _ in members if isinstance(node.op, op_class)]

    def is_new(self, *mark: Hashable) -> bool:
        """Whether nobody has asked this before."""
        if mark in self._marks:
            return False
        self._marks.add(mark)
        return True

    # -- what becomes known -----------------------------------------------------------------------------------------

    def enter(self, value: Value, made_by: str | None = None) -> int:
        """The class of a value; what it is made of is entered with it, as far as it stands in the graph's block."""
        if value in self._numbers:
            return self.number(value)
        made = op_of(value)
        if made is None or not self.holds(made):
            if made is not None and made.block is None:
                raise TypeFault(f"{type(made).__name__} stands in no block, and is not computed")
            return self._new_class(value, is_given=True)
        operands = tuple([self.enter(operand, made_by) for operand in made.operands])
        key = self._key(made, operands)
        known = self.nodes.get(key)
        if known is None:
            op = self.on_classes(made, operands)
            homes = tuple(self._new_class(result, is_given=False) for result in op.results)
            known = self.nodes[key] = Node(op, operands, homes, made_by)
            self.kept.add(op)
            for index, home in enumerate(homes):
                self.classes[home].members.append((known, index))
        for result, home in zip(made.results, known.homes, strict=True):
            self._numbers.setdefault(result, home)
        return self.number(value)

    def unite(self, one: int, other: int) -> bool:
        """Make two classes one; gives whether they were two.

        Raises TypeFault where their values have different types, which equal values can't have.
        """
        one, other = sorted((self.find(one), self.find(other)))
        if one == other:
            return False
        kept, gone = self.classes[one], self.classes[other]
        if kept.value.type != gone.value.type:
            raise TypeFault(f"{kept.value.type} and {gone.value.type} were said to be equal")
        self._parents[other] = one
        del self.classes[other]
        if not kept.goes_before(gone):
            kept.value = gone.value
        kept.given = gone.given if kept.given is None else kept.given
        kept.members += gone.members
        self.unions += 1
        return True

    def rebuild(self) -> None:
        """Find the keys anew after classes were united; ops with one key are one, and so are their results."""
        while True:
            before, nodes = self.unions, list(self.nodes.values())
            self.nodes = {}
            for node in nodes:
                node.operands = tuple(map(self.find, node.operands))
                node.homes = tuple(map(self.find, node.homes))
                node.op = self.on_classes(node.op, node.operands)
                self.kept.add(node.op)
                for result, home in zip(node.op.results, node.homes, strict=True):
                    self._numbers[result] = home
                known = self.nodes.setdefault(self._key(node.op, node.operands), node)
                if known is not node:
                    for one, other in zip(known.homes, node.homes, strict=True):
                        self.unite(one, other)
            if self.unions == before:
                break
        for each in self.classes.values():
            each.members = []
        for node in self.nodes.values():
            for index, home in enumerate(node.homes):
                self.classes[home].members.append((node, index))

    # -- ops --------------------------------------------------------------------------------------------------------

    def on_classes(self, op: Op, operands: Sequence[int]) -> Op:
        """The op on the values that represent these classes."""
        return self.on(op, [self.classes[each].value for each in operands])

    def on(self, op: Op, operands: Sequence[Value]) -> Op:
        """The op on other operands of the same types; regions are shared, as nothing changes in them."""
        if all(old is new for old, new in zip(op.operands, operands, strict=True)):
            return op
        copy = op.repeat(list(operands), {}, self.block)
        copy.source, copy.made_by = op.source, op.made_by
        return copy

    def discard(self, ops: Iterable[Op]) -> None:
        """Take ops out that were made in vain. They must not be those of nodes.

        Those with regions stay, unused: ops of nodes may have come by their regions, whose parents they are.
        """
        for op in ops:
            if not op.region_names:
                op.drop_operands()
                self.block.unlink(op)

    def build(self) -> Builder:
        """Places ops in the graph's block, to be entered or discarded; `placed` lists them."""
        builder = Builder(self.block)
        builder.placed, builder.nested = [], self.nested
        return builder

    def close(self) -> None:
        """Let the graph's ops use nothing any more of what is around it."""
        for op in (*self.block, *self.nested):
            op.drop_operands()

    def _new_class(self, value: Value, is_given: bool) -> int:
        number = len(self._parents)
        self._parents.append(number)
        self.classes[number] = EqualClass(value, is_given)
        self._numbers[value] = number
        return number

    def _key(self, op: Op, operands: Sequence[int]) -> Hashable:
        held: Any = key_of_regions(op) if op.region_names else ()
        if held is None:
            held = op.regions  # equal to itself
        return op.structural_key(operands), held
