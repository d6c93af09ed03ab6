"""Writes random programs: ops of all kinds, and instances of rules' own patterns, so that rules meet each other.

Values are computed while a program is written. So what a program for inexact comparison computes stays of ordinary
size, and whatever has no meaning is taken out again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.fuzz.tensor.meaning import Endless, Meaning
from tests.laws.op_instances import meaningful_classes, share_out
from windlass.catalogue import catalogue
from windlass.ir import Block, Builder, Function, Module, Op, Region, Result, TensorType, TypeFault, Value, tensor_type
from windlass.ir.captures import captures
from windlass.ops import (
    Add,
    BroadcastInDim,
    Case,
    Clamp,
    Compare,
    Constant,
    Convert,
    DynamicSlice,
    DynamicUpdateSlice,
    If,
    Iota,
    Pad,
    Reshape,
    Return,
    Slice,
    While,
)
from windlass.ops.collective import Collective
from windlass.ops.sampling import Draw, RandomDraw, Unsuitable
from windlass.rewriting import Rule
from windlass.rewriting.instances import Mismatch, list_arguments, make_instance

Array = NDArray[Any]

USUAL = frozenset({"f32", "i32", "i1", "ui8", "f64"})
SELDOM = frozenset({"ui32", "i64", "bf16", "f16", "i8", "complex<f32>", "complex<f64>", "ui64"})
LARGEST = 300
MOST_ARGUMENTS = 10
CLASSES = [cls for cls in meaningful_classes() if not issubclass(cls, Collective | Iota | While)]
"""Loops are made by `Author.loop`: others might run for ever on these values."""
RULES = list(catalogue)

WRONG_START = (TypeFault, Unsuitable, Mismatch, NotImplementedError, Endless, ValueError, np.linalg.LinAlgError)
"""What is raised by choices that don't go together."""


@dataclass(frozen=True)
class Program:
    """A program, and arguments to run it on. `is_exact`: special values are among them, and every bit counts."""

    module: Module
    arrays: tuple[Array, ...]
    is_exact: bool

    def copy(self) -> Module:
        """The module once more, to be changed."""
        return copy_module(self.module)


def copy_module(module: Module) -> Module:
    copy = Module([function.clone() for function in module.functions.values()], module.name)
    copy.attributes, copy.globals = dict(module.attributes), list(module.globals)
    return copy


def write_program(seed: int, is_exact: bool, size: int = 24, rules: Sequence[Rule] = RULES) -> Program:
    """The program of that number, with so many values."""
    author = Author(RandomDraw(seed), is_exact, rules)
    return author.write(size)


class Author:
    """Writes one program. `known` holds what its values are, those of regions as the first time they run."""

    def __init__(self, draw: Draw, is_exact: bool, rules: Sequence[Rule]) -> None:
        self.draw = draw
        self.is_exact = is_exact
        self.rules = rules
        self.dtypes = USUAL | SELDOM if draw.integer(0, 3) == 0 else USUAL
        self.known: dict[Value, Any] = {}
        self.meaning = Meaning()
        self.body = Block()

    def write(self, size: int) -> Program:
        draw = self.draw
        types = [tensor_type(draw.shape(0, 3), draw.choose(sorted(self.dtypes))) for _ in range(draw.integer(2, 4))]
        block = self.body
        given = [self.add_argument(type_) for type_ in types]
        with np.errstate(all="ignore"):
            values = self.fill(block, list(given), 2, size)
        returned = [*values[-3:], *(draw.choose(values) for _ in range(3))]
        with Builder(block):
            Return(tuple(dict.fromkeys(returned)))
        arrays = tuple(np.asarray(self.known[argument]) for argument in block.arguments)
        return Program(Module([Function("main", block)]), arrays, self.is_exact)

    def add_argument(self, type_: TensorType) -> Value:
        """One more argument of the program."""
        argument = self.body.add_argument(type_)
        self.known[argument] = self.draw.array(type_) if self.is_exact else self.draw.tame_array(type_)
        return argument

    def fill(self, block: Block, values: list[Value], depth: int, size: int) -> list[Value]:
        """Write ops at the end of a block, on values around it and its own; gives all values there are then."""
        if block is not self.body:
            values = [*values, *block.arguments]
        goal = len(values) + size
        with Builder(block):
            for _ in range(20 * size):
                if len(values) >= goal:
                    break
                last = block.last
                try:
                    grown = self.grow(values, depth)
                    self.compute(block, last)
                except WRONG_START:
                    self.take_back(block, last)
                    continue
                if all(self.is_tame(each) for each in placed_after(block, last)):
                    values += grown
                else:
                    self.take_back(block, last)
        return values

    def compute(self, block: Block, last: Op | None) -> None:
        """Find out what the new ops of a block mean."""
        self.meaning.left = 3000
        # What an op's meaning is made of is no part of the program.
        with Builder(Block()):
            for op in placed_after(block, last):
                if not any(result in self.known for result in op.results):
                    self.meaning.run(op, self.known)

    def take_back(self, block: Block, last: Op | None) -> None:
        for op in reversed(list(placed_after(block, last))):
            op.erase()

    def is_tame(self, op: Op) -> bool:
        """Whether what an op gives may stay in the program."""
        if isinstance(op, DynamicSlice | DynamicUpdateSlice) and not op.start_indices:
            return False  # MLIR doesn't read what it writes for these
        for result in op.results:
            if not isinstance(result.type, TensorType) or result.tensor.size > LARGEST:
                return False
            if result.dtype not in USUAL | SELDOM:
                return False
            if not self.is_exact and (result.tensor.is_float or result.tensor.is_complex):
                sizes = np.abs(np.asarray(self.known[result]).astype(np.complex128))
                if not np.all((sizes == 0) | ((sizes > 1e-5) & (sizes < 1e4))):
                    return False
        return True

    def grow(self, values: list[Value], depth: int) -> list[Value]:
        """What one more step gives: a loop or branches, an instance of a rule's pattern, or an op."""
        kind = self.draw.integer(0, 19)
        if values and depth and kind < 2:
            return self.loop(values, depth) if self.draw.boolean() else self.branches(values, depth)
        if kind < 12:
            return self.plant(self.draw.choose(self.rules), values)
        return self.place(self.draw.choose(CLASSES), values)

    # -- ops and patterns -----------------------------------------------------------------------------------------

    def place(self, cls: type[Any], values: list[Value]) -> list[Value]:
        """A random op of a class."""
        types = cls.sample_operands(self.draw)
        if any(type_.dtype not in self.dtypes or type_.size > LARGEST for type_ in types):
            raise Unsuitable
        fields = cls.sample(self.draw, *types)
        operands = [self.fitting(type_, values) for type_ in types]
        return list(cls(**share_out(cls, operands), **fields).results)

    def plant(self, rule: Rule, values: list[Value]) -> list[Value]:
        """An instance of a rule's pattern on values of the program; inner values may get other users too."""
        with Builder(Block()):
            root = make_instance(rule, self.draw)
        mapping: dict[Value, Value] = {}
        for argument in list_arguments(root):
            if argument.tensor.size > LARGEST:
                raise Unsuitable
            mapping[argument] = self.fitting(argument.tensor, values)
        inner: list[Value] = []
        for op in in_order(root):
            op.clone(mapping)
            inner += [mapping[result] for result in op.results]
        news = [mapping[result] for result in root.results]
        if self.draw.integer(0, 2) == 0:
            news = [self.draw.choose(inner), *news]
        return news

    def fitting(self, type_: TensorType, values: list[Value]) -> Value:
        """A value of the type: one that there is, or made of one."""
        alike = [value for value in values if value.type is type_]
        if alike and self.draw.integer(0, 4):
            return self.draw.choose(alike[-6:])
        if len(self.body.arguments) < MOST_ARGUMENTS and self.draw.boolean():
            return self.add_argument(type_)
        return self.adapt(self.draw.choose(values[-7:]), type_)

    def adapt(self, value: Value, type_: TensorType) -> Value:
        """A value of the type made of another one by moving and converting elements."""
        if value.type is type_:
            return value
        draw = self.draw
        if value.tensor.is_complex and not type_.is_complex:
            raise Unsuitable
        if value.tensor.size == 0 or not value.shape:
            scalar = value if not value.shape else Constant.of(draw.integer(0, 2), value.dtype)
            return BroadcastInDim(self.converted(scalar, type_.dtype), type_.shape, ())
        if value.shape == type_.shape:
            return self.converted(value, type_.dtype)
        flat = value if value.tensor.rank == 1 else Reshape(value, (value.tensor.size,))
        missing = type_.size - value.tensor.size
        if missing < 0:
            flat = Slice(flat, (0,), (type_.size,), (1,))
        elif missing > 0:
            flat = Pad(flat, Constant.of(draw.integer(0, 1), value.dtype), (0,), (missing,), (0,))
        return self.converted(flat if flat.shape == type_.shape else Reshape(flat, type_.shape), type_.dtype)

    def converted(self, value: Value, dtype: str) -> Value:
        return value if value.dtype == dtype else Convert(value, dtype)

    # -- regions --------------------------------------------------------------------------------------------------

    def loop(self, values: list[Value], depth: int) -> list[Value]:
        """A loop of a few rounds, known or not, on a counter and some values; its body may use what is around it."""
        draw = self.draw
        carried = [draw.choose(values[-6:]) for _ in range(draw.integer(1, 3))]
        counting = draw.choose(("i32", "i32", "i64", "ui32"))
        types = [tensor_type((), counting), *(value.tensor for value in carried)]
        start = Constant.of(draw.integer(0 if counting == "ui32" else -1, 1), counting)
        condition, body = Block(types), Block(types)
        for block in (condition, body):
            self.known[block.arguments[0]] = np.asarray(start.array)
            for argument, value in zip(block.arguments[1:], carried, strict=True):
                self.known[argument] = self.known[value]
        rounds: Value = Constant.of(draw.integer(0, 5), counting)
        if draw.integer(0, 2) == 0:
            zero, most = Constant.of(0, counting), Constant.of(4, counting)
            rounds = Clamp(zero, self.adapt(draw.choose(values), types[0]), most)
        with Builder(condition):
            Return((Compare(condition.arguments[0], rounds, "LT"),))
        try:
            inside = self.fill(body, values, depth - 1, draw.integer(2, 7))
            with Builder(body):
                step = Add(body.arguments[0], Constant.of(draw.choose((1, 1, 2)), counting))
                news = [self.adapt(self.next_of(inside, type_), type_) for type_ in types[1:]]
                Return((step, *news))
        except BaseException:
            abandon(condition, body)
            raise
        return list(While(cond=Region(condition), body=Region(body), operands=(start, *carried)).results)

    def next_of(self, inside: list[Value], type_: TensorType) -> Value:
        """What is carried on: a new value of the same type, where there is one."""
        alike = [value for value in inside[-8:] if value.type is type_]
        return self.draw.choose(alike if alike and self.draw.integer(0, 3) else inside[-5:])

    def branches(self, values: list[Value], depth: int) -> list[Value]:
        draw = self.draw
        is_case = draw.boolean()
        chosen = self.adapt(draw.choose(values[-6:]), tensor_type((), "i32" if is_case else "i1"))
        types = [draw.choose(values[-6:]).tensor for _ in range(draw.integer(1, 2))]
        blocks = [Block() for _ in range(draw.integer(1, 3) if is_case else 2)]
        try:
            for block in blocks:
                inside = self.fill(block, values, depth - 1, draw.integer(0, 4))
                with Builder(block):
                    Return(tuple(self.adapt(self.next_of(inside, type_), type_) for type_ in types))
        except BaseException:
            abandon(*blocks)
            raise
        if is_case:
            return list(Case(index=chosen, branches=tuple(map(Region, blocks))).results)
        return list(If(pred=chosen, true_branch=Region(blocks[0]), false_branch=Region(blocks[1])).results)


def placed_after(block: Block, last: Op | None) -> Iterable[Op]:
    """The ops of a block behind one of them; all without one."""
    op = block.first if last is None else last.next
    while op is not None:
        following = op.next
        yield op
        op = following


def abandon(*blocks: Block) -> None:
    """Let what was written in blocks use nothing."""
    for block in blocks:
        for op in block.walk():
            op.drop_operands()


def in_order(root: Op) -> list[Op]:
    """The op and those that it is made of, each behind its operands."""
    found: dict[Op, None] = {}

    def visit(op: Op) -> None:
        if op in found:
            return
        wanted = [*op.operands, *(value for region in op.regions for value in captures(region))]
        for value in wanted:
            owner = value.owner if isinstance(value, Result) else value
            if isinstance(owner, Op):
                visit(owner)
        found[op] = None

    visit(root)
    return list(found)
