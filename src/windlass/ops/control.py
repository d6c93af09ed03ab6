"""Control flow: branches, loops, calls, and what ends a block."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from windlass.ir.captures import captures
from windlass.ir.core import Op, Region, Terminator
from windlass.ir.types import TensorType, Type, tensor_type
from windlass.ir.values import Value
from windlass.ops.axes import Axes, axes_in_place, axes_one_by_one
from windlass.ops.base import Array, OnNewAxis, TensorOp, first_and_later
from windlass.ops.comparison import Compare
from windlass.ops.counting import find_counter
from windlass.ops.creation import Constant
from windlass.ops.elementwise import Add, Multiply, Negate, Subtract
from windlass.ops.evaluation import Scope, evaluate_block, run_pointwise
from windlass.ops.ranges import Range, RangeOf, joined
from windlass.ops.regions import make_region
from windlass.ops.sampling import Draw
from windlass.ops.spelling import Symbol


class While(TensorOp):
    """Runs `body` on the carried values as long as `cond` gives true for them."""

    name = "stablehlo.while"
    limbs: ClassVar[str] = "while"
    cond: Region
    body: Region
    operands: tuple[Value, ...]  # pyright: ignore[reportIncompatibleVariableOverride, reportIncompatibleMethodOverride]
    needs_scope: ClassVar[bool] = True

    def infer(self) -> tuple[Type, ...]:
        types = tuple(value.type for value in self.operands)
        for region, constraint in ((self.cond, "C1"), (self.body, "C2")):
            taken = tuple(argument.type for argument in region.block.arguments)
            if taken != types:
                self.fault(constraint, f"a region takes {taken}, the loop carries {types}")
        tested = tuple(value.type for value in self.cond.block.terminator.operands)
        if tested != (tensor_type((), "i1"),):
            self.fault("C1", f"the condition gives {tested}, not one boolean")
        given = tuple(value.type for value in self.body.block.terminator.operands)
        if given != types:
            self.fault("C2", f"the body gives {given}, the loop carries {types}")
        return types

    @property
    def is_pure(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether nothing that it holds has an effect."""
        return regions_are_pure(self)

    @property
    def is_removable(self) -> bool:
        return self.is_pure or _regions_are_removable(self)

    USUAL_ROUNDS: ClassVar[int] = 8
    """How often a loop is taken to go round where that is not known."""
    OVERHEAD: ClassVar[int] = 64
    """Operations that going round once is worth, beyond what is done."""

    def repetitions(self) -> float:

        counter = find_counter(self)
        return self.USUAL_ROUNDS if counter is None else counter.rounds

    def flops(self) -> int:
        """What all rounds do; elements that are moved count as operations."""
        each = sum(work_of(op) for region in (self.cond, self.body) for block in region.blocks for op in block)
        return round(self.repetitions()) * (each + self.OVERHEAD)

    def evaluate(self, *arrays: Array, scope: Scope | None = None) -> tuple[Array, ...]:
        scope = scope or Scope()
        values = tuple(arrays)
        while scope.run(self.cond, *values)[0]:
            values = scope.run(self.body, *values)
        return values

    @classmethod
    def sample_operands(cls, draw: Draw) -> tuple[TensorType, ...]:
        return (tensor_type((), "i32"), tensor_type(draw.shape(), draw.dtype(("f32", "i32", "bf16", "f64"))))

    @classmethod
    def sample(cls, draw: Draw, *operand_types: TensorType) -> dict[str, Any]:

        limit = draw.integer(-1, 3)

        def test(*values: Value) -> Value:
            return Compare(values[0], Constant.of(limit, values[0].dtype), "LT")

        def step(*values: Value) -> tuple[Value, ...]:
            return (Add(values[0], Constant.of(1, values[0].dtype)), *(Negate(value) for value in values[1:]))

        return {"cond": make_region(operand_types, test), "body": make_region(operand_types, step)}

    def sample_array(self, draw: Draw, position: int) -> Array:
        return np.array(0, np.int32) if position == 0 else super().sample_array(draw, position)


class Branching(TensorOp):
    """Base of the ops that run one of several regions without parameters."""

    limbs: ClassVar[str] = "branches"
    needs_scope: ClassVar[bool] = True

    def infer_branches(self, branches: tuple[Region, ...]) -> tuple[Type, ...]:
        """What all branches give."""
        if not branches:
            self.fault("C1", "there are no branches")
        types = [tuple(value.type for value in branch.block.terminator.operands) for branch in branches]
        if not all(not branch.block.arguments for branch in branches):
            self.fault("C2", "a branch takes parameters")
        if not all(each == types[0] for each in types):
            self.fault("C2", f"the branches differ: {types}")
        return types[0]

    def repetitions(self) -> float:
        return 1 / max(len(self.regions), 1)

    def flops(self) -> int:
        """What the longest branch does; elements that are moved count as operations, and values in and out a little."""
        values = 8 * len(self.results) + sum(len(captures(branch)) for branch in self.regions)
        return max(sum(work_of(op) for op in branch.block) for branch in self.regions) + values + self.OVERHEAD

    OVERHEAD: ClassVar[int] = 64
    """Operations that choosing is worth."""

    @property
    def is_pure(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether nothing that it holds has an effect."""
        return regions_are_pure(self)

    @property
    def is_removable(self) -> bool:
        return self.is_pure or _regions_are_removable(self)


class Case(Branching):
    """Runs the branch of that number; the last one where the index is out of range."""

    name = "stablehlo.case"
    index: Value
    branches: tuple[Region, ...]
    OVERHEAD: ClassVar[int] = 96

    def infer(self) -> tuple[Type, ...]:
        if self.index.type is not tensor_type((), "i32"):
            self.fault("I1", f"the index is {self.index.type}")
        return self.infer_branches(self.branches)

    def find_range(self, of: RangeOf) -> tuple[Range, ...]:
        given = [branch.block.terminator.operands for branch in self.branches]
        return tuple(joined(of(each) for each in choices) for choices in zip(*given, strict=True))

    def evaluate(self, index: Array, scope: Scope | None = None) -> tuple[Array, ...]:
        number = int(index)
        inside = 0 <= number < len(self.branches)
        return (scope or Scope()).run(self.branches[number if inside else -1])

    @classmethod
    def sample_operands(cls, draw: Draw) -> tuple[TensorType, ...]:
        return (tensor_type((), "i32"),)

    @classmethod
    def sample(cls, draw: Draw, *operand_types: TensorType) -> dict[str, Any]:
        count = draw.integer(1, 3)
        type_ = tensor_type(draw.shape(), draw.dtype(("f32", "i32", "f64")))
        return {"branches": tuple(sample_branch(number, type_) for number in range(count))}

    def sample_array(self, draw: Draw, position: int) -> Array:
        return np.array(draw.integer(-1, len(self.branches)), np.int32)


class If(Branching):
    """Runs true_branch or false_branch."""

    name = "stablehlo.if"
    pred: Value
    true_branch: Region
    false_branch: Region

    def infer(self) -> tuple[Type, ...]:
        if self.pred.type is not tensor_type((), "i1"):
            self.fault("I1", f"the condition is {self.pred.type}")
        return self.infer_branches((self.true_branch, self.false_branch))

    def find_range(self, of: RangeOf) -> tuple[Range, ...]:
        given = (self.true_branch.block.terminator.operands, self.false_branch.block.terminator.operands)
        return tuple(of(yes).join(of(no)) for yes, no in zip(*given, strict=True))

    def evaluate(self, pred: Array, scope: Scope | None = None) -> tuple[Array, ...]:
        return (scope or Scope()).run(self.true_branch if pred else self.false_branch)

    @classmethod
    def sample_operands(cls, draw: Draw) -> tuple[TensorType, ...]:
        return (tensor_type((), "i1"),)

    @classmethod
    def sample(cls, draw: Draw, *operand_types: TensorType) -> dict[str, Any]:
        type_ = tensor_type(draw.shape(), draw.dtype(("f32", "i32", "f64")))
        return {"true_branch": sample_branch(1, type_), "false_branch": sample_branch(2, type_)}


def sample_branch(number: int, type_: TensorType) -> Region:
    """A branch that gives `number` everywhere."""

    return make_region((), lambda: Constant.of(number, type_.dtype, type_.shape))


def regions_are_pure(op: Op) -> bool:
    """Whether every op in the regions, save for what ends them, is pure. Each answers for the regions that it has."""
    return all(region.remember(_is_pure) for region in op.regions)


def _regions_are_removable(op: Op) -> bool:
    ops = (inner for region in op.regions for block in region.blocks for inner in block)
    return all(inner.is_removable or isinstance(inner, Terminator) for inner in ops)


def _is_pure(region: Region) -> bool:
    return all(inner.is_pure or isinstance(inner, Terminator) for block in region.blocks for inner in block)


def work_of(op: Op) -> int:
    """Operations that an op does, and the elements that it moves; updates are taken to be in place."""
    if op.is_free or isinstance(op, Terminator):
        return 0
    return op.flops() + (op.elements_written() if isinstance(op, TensorOp) and not op.is_elementwise else 0)


class Map(TensorOp):
    """`computation` (of scalars) at each place of the inputs."""

    name = "stablehlo.map"
    inputs: tuple[Value, ...]
    dimensions: tuple[int, ...]
    computation: Region
    needs_scope: ClassVar[bool] = True
    on_new_axis: ClassVar[OnNewAxis] = {"dimensions": first_and_later}

    def infer(self) -> Type:
        types = [value.tensor for value in self.inputs]
        if not types:
            self.fault("I1", "there are no inputs")
        if not all(type_.shape == types[0].shape for type_ in types):
            self.fault("C1", f"the shapes differ: {types}")
        if self.dimensions != tuple(range(types[0].rank)):
            self.fault("C3", f"dimensions are {self.dimensions}")
        block = self.computation.block
        taken = [argument.type for argument in block.arguments]
        if taken != [tensor_type((), type_.dtype) for type_ in types]:
            self.fault("C4", f"the body takes {taken}")
        (value,) = block.terminator.operands
        return tensor_type(types[0].shape, value.dtype)

    @property
    def is_pure(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether nothing that it holds has an effect."""
        return regions_are_pure(self)

    @property
    def is_removable(self) -> bool:
        return self.is_pure or _regions_are_removable(self)

    def axes(self) -> Axes:
        return axes_in_place(self)

    def evaluate(self, *arrays: Array, scope: Scope | None = None) -> Array:
        return run_pointwise(self.computation, scope or Scope(), *arrays)[0]

    def flops(self) -> int:
        """Each op of the computation at each place."""
        return sum(1 for _ in self.computation.walk()) * self.tensor.size

    @classmethod
    def sample_operands(cls, draw: Draw) -> tuple[TensorType, ...]:
        type_ = tensor_type(draw.shape(), draw.dtype(("f32", "i32", "f64")))
        return (type_, type_)

    @classmethod
    def sample(cls, draw: Draw, *operand_types: TensorType) -> dict[str, Any]:

        def computation(left: Value, right: Value) -> Value:
            return Multiply(Subtract(left, right), left)

        scalars = [tensor_type((), type_.dtype) for type_ in operand_types]
        return {
            "dimensions": tuple(range(operand_types[0].rank)),
            "computation": make_region(scalars, computation),
        }


class OptimizationBarrier(TensorOp):
    """Its operands; nothing moves across it."""

    name = "stablehlo.optimization_barrier"
    limbs: ClassVar[str] = "each"
    linear_in: ClassVar[tuple[frozenset[str], ...]] = (frozenset({"operands"}),)
    operands: tuple[Value, ...]  # pyright: ignore[reportIncompatibleVariableOverride, reportIncompatibleMethodOverride]
    on_new_axis: ClassVar[OnNewAxis] = {}

    def pullback(self, cotangents: tuple[Value, ...], position: int) -> Value:
        return cotangents[position]

    def infer(self) -> tuple[Type, ...]:
        return tuple(value.type for value in self.operands)

    def find_range(self, of: RangeOf) -> tuple[Range, ...]:
        return tuple(of(each) for each in self.operands)

    def axes(self) -> Axes:
        return axes_one_by_one(self)

    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        return arrays

    @classmethod
    def sample_operands(cls, draw: Draw) -> tuple[TensorType, ...]:
        return tuple(tensor_type(draw.shape(), draw.dtype(draw.common_dtypes)) for _ in range(draw.integer(1, 3)))


class Call(TensorOp):
    """Calls another function of the module. `result_types` are that function's."""

    name = "func.call"
    callee: Symbol
    operands: tuple[Value, ...]  # pyright: ignore[reportIncompatibleVariableOverride, reportIncompatibleMethodOverride]
    result_types: tuple[Type, ...]
    is_pure: ClassVar[bool] = False
    """What the function does is not known here."""
    needs_scope: ClassVar[bool] = True
    has_result_attributes: ClassVar[frozenset[str]] = frozenset({"result_types"})

    def infer(self) -> tuple[Type, ...]:
        return self.result_types

    def evaluate(self, *arrays: Array, scope: Scope | None = None) -> tuple[Array, ...]:
        if scope is None or scope.module is None:
            raise NotImplementedError(f"the module that holds @{self.callee} is not known")
        return evaluate_block(scope.module.functions[self.callee].body, arrays, {}, scope.module)
