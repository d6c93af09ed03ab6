"""Elementwise ops on moved operands: the movement is done once, after them, or not at all."""

from __future__ import annotations

from collections.abc import Callable

from windlass.ir import Op, Value
from windlass.ir.values import tensor
from windlass.ops import (
    Add,
    BroadcastInDim,
    Concatenate,
    Constant,
    Elementwise,
    Exponential,
    Multiply,
    Reshape,
    Reverse,
    Select,
    Transpose,
)
from windlass.ops.sampling import Draw
from windlass.rewriting.pattern import any_op, hole
from windlass.rewriting.rule import rewrite
from windlass.rewriting.sharing import is_alone, users_of
from windlass.rules.axes import Sizes, pick, places_after_reshape

__all__ = ["Constant"]


def same_everywhere(value: Value, shape: Sizes) -> Value | None:
    """The value in another shape, if it is one number for all elements; else None. Numbers of rank 0 stay so."""
    if isinstance(value, Constant) and value.is_splat:
        return Constant.of(value.number, value.dtype, shape) if value.shape else value
    if not value.shape:
        return value
    if isinstance(value, BroadcastInDim) and not value.operand.shape:
        return BroadcastInDim(value.operand, shape, ())
    return None


def operands_before(
    op: Op,
    kind: type[Op],
    fits: Callable[[Op], bool],
    shape: Sizes,
    undo: Callable[[BroadcastInDim], Value | None] = lambda _: None,
) -> tuple[Value, ...] | None:
    """What the op's operands were before a movement that all of them went through, and nothing else uses the result.

    Operands that are one number for all elements have gone through any movement; broadcasts through what `undo` says.
    """
    before: list[Value] = []
    for operand in op.operands:
        if isinstance(operand, kind):
            if not fits(operand) or not is_alone(operand):
                return None
            before.append(operand.operands[0])
        else:
            number = same_everywhere(operand, shape)
            if number is None and isinstance(operand, BroadcastInDim):
                number = undo(operand)
            if number is None:
                return None
            before.append(number)
    return tuple(before)


def first_moved(op: Op, kind: type[Op]) -> Op | None:
    """The first operand that is of a class."""
    for operand in op.operands:
        if operand.__class__ is kind:
            return operand  # pyright: ignore[reportReturnType]
    return None


def sample_moved_operands(kind: type[Op]) -> Callable[[Draw], Elementwise]:
    """A sampler of elementwise ops on operands that went through a movement of this class."""

    def sample(draw: Draw) -> Elementwise:
        x, y = (tensor("f32", 2, 3, 4, name=name) for name in "xy")

        def move(value: Value) -> Value:
            if kind is Transpose:
                return Transpose(value, (2, 0, 1))
            if kind is Reverse:
                return Reverse(value, (0, 2))
            return Reshape(value, (6, 4))

        moved = move(x)
        rows = BroadcastInDim(tensor("f32", moved.shape[-1]), moved.shape, (len(moved.shape) - 1,))
        number = BroadcastInDim(tensor("f32"), moved.shape, ())
        others = (move(y), Constant.of(2, "f32", moved.shape), number, rows)
        other = draw.choose(others)
        return Exponential(moved) if draw.boolean() else draw.choose((Add, Multiply))(moved, other)

    return sample


@rewrite(any_op(Elementwise, takes=(Transpose,)), sample=sample_moved_operands(Transpose))
def elementwise_of_transposes(op: Elementwise) -> Value | None:
    """f(transpose(x, p), transpose(y, p)) = transpose(f(x, y), p), if nothing else uses the transposes

    Broadcasts join in: they may be of any axes.

    >>> elementwise_of_transposes(Exponential(Transpose(tensor("f32", 2, 3), (1, 0))))
    Transpose(Exponential(x), permutation=(1, 0))
    """
    first = first_moved(op, Transpose)
    if not isinstance(first, Transpose) or first.shape != op.shape:
        return None
    p = first.permutation

    def undo(operand: BroadcastInDim) -> Value:
        return BroadcastInDim(operand.operand, shape, pick(p, operand.broadcast_dimensions))

    shape = first.operand.shape
    before = operands_before(
        op, Transpose, lambda each: isinstance(each, Transpose) and each.permutation == p, shape, undo
    )
    return None if before is None else Transpose(op.with_operands(before), p)


def sample_transpose_of_spread(draw: Draw) -> Transpose:
    """The transpose of what is computed of broadcasts."""
    shape = (2, 3, 4)
    first = BroadcastInDim(tensor("f32", 3), shape, (1,))
    second = BroadcastInDim(tensor("f32", 4, name="y"), shape, (2,))
    made = draw.choose((Add, Multiply))(first, draw.choose((second, Constant.of(2, "f32", shape))))
    return Transpose(Exponential(made) if draw.boolean() else made, draw.permutation(3))


@rewrite(Transpose(any_op(Elementwise), hole("p")), single_use=True, sample=sample_transpose_of_spread)
def transpose_of_elementwise_of_broadcasts(op: Transpose, p: Sizes) -> Value | None:
    """transpose(f(broadcast(x), broadcast(y)), p) = f(broadcast(x), broadcast(y)), both along other axes

    >>> rows = BroadcastInDim(tensor("f32", 3), (2, 3), (1,))
    >>> transpose_of_elementwise_of_broadcasts(Transpose(Exponential(rows), (1, 0)))
    Exponential(BroadcastInDim(x, shape=(3, 2), broadcast_dimensions=(0,)))
    """
    return None if p == tuple(range(len(p))) else _turned(op.operand, op.shape, p, DEEPEST)


DEEPEST = 4
"""How many elementwise ops up broadcasts are looked for."""


@rewrite(any_op(Elementwise, takes=(Reverse,)), sample=sample_moved_operands(Reverse))
def elementwise_of_reverses(op: Elementwise) -> Value | None:
    """f(reverse(x), reverse(y)) = reverse(f(x, y)), if nothing else uses the reversed arrays

    >>> elementwise_of_reverses(Exponential(Reverse(tensor("f32", 3), (0,))))
    Reverse(Exponential(x), dimensions=(0,))
    """
    first = first_moved(op, Reverse)
    if not isinstance(first, Reverse) or first.shape != op.shape:
        return None
    axes = first.dimensions
    before = operands_before(
        op, Reverse, lambda each: isinstance(each, Reverse) and set(each.dimensions) == set(axes), op.shape
    )
    return None if before is None else Reverse(op.with_operands(before), axes)


@rewrite(any_op(Elementwise, takes=(Reshape,)), sample=sample_moved_operands(Reshape))
def elementwise_of_reshapes(op: Elementwise) -> Value | None:
    """f(reshape(x), reshape(y)) = reshape(f(x, y)), if x and y have one shape and nothing else uses the reshapes

    Broadcasts join in, if they are broadcasts in x's shape too.

    >>> elementwise_of_reshapes(Exponential(Reshape(tensor("f32", 2, 3), (6,))))
    Reshape(Exponential(x), shape=(6,))
    """
    first = first_moved(op, Reshape)
    if first is None or first.shape != op.shape:
        return None
    shape = first.operands[0].shape
    if not shape or not op.shape:
        # Numbers of rank 0 may stand for all elements of a select or clamp: their shape tells how they are used.
        return None

    def undo(operand: BroadcastInDim) -> Value | None:
        places = places_after_reshape(operand.operand.shape, op.shape, operand.broadcast_dimensions, shape)
        return None if places is None else BroadcastInDim(operand.operand, shape, places)

    before = operands_before(op, Reshape, lambda each: each.operands[0].shape == shape, shape, undo)
    return None if before is None else Reshape(op.with_operands(before), op.shape)


def sample_concatenated_operands(draw: Draw) -> Elementwise:
    """An elementwise op on arrays that are concatenated from parts of the same sizes, or choices among such arrays."""
    a, b, c, d = (tensor("f32", size, 2, name=name) for name, size in (("a", 2), ("b", 1), ("c", 2), ("d", 1)))
    first, second = Concatenate((a, b), 0), Concatenate((c, d), 0)
    if draw.integer(0, 3) == 0:
        p, q = tensor("i1", 2, 2, name="p"), tensor("i1", 1, 2, name="q")
        single = tensor("i1", name="p")
        return Select(draw.choose((Concatenate((p, q), 0), BroadcastInDim(single, (3, 2), ()), single)), first, second)
    return draw.choose((Add, Multiply))(first, second)


@rewrite(any_op(Elementwise, takes=(Concatenate,)), sample=sample_concatenated_operands)
def elementwise_of_concatenates(op: Elementwise) -> Value | None:
    """f(concatenate(a, b), concatenate(c, d)) = concatenate(f(a, c), f(b, d)), if the parts have the same sizes

    >>> parts = [tensor("f32", 2, name=name) for name in "abcd"]
    >>> elementwise_of_concatenates(Add(Concatenate(tuple(parts[:2]), 0), Concatenate(tuple(parts[2:]), 0)))
    Concatenate((Add(a, c), Add(b, d)), dimension=0)
    """
    joined = [operand for operand in op.operands if isinstance(operand, Concatenate)]
    if len(joined) < 2 or len({id(each) for each in joined}) < 2 or joined[0].shape != op.shape:
        return None
    axis = joined[0].dimension
    sizes = [part.shape[axis] for part in joined[0].inputs]
    for each in joined:
        if each.dimension != axis or [part.shape[axis] for part in each.inputs] != sizes or not is_alone(each):
            return None
    if any(not isinstance(operand, Concatenate) and same_everywhere(operand, ()) is None for operand in op.operands):
        return None
    parts: list[Value] = []
    for index, part in enumerate(joined[0].inputs):
        own = [
            operand.inputs[index] if isinstance(operand, Concatenate) else same_everywhere(operand, part.shape)
            for operand in op.operands
        ]
        parts.append(op.with_operands(tuple(each for each in own if each is not None)))
    return Concatenate(tuple(parts), axis)


def _turned(value: Value, shape: Sizes, p: Sizes, depth: int) -> Value | None:
    """The transpose of a value that is made of broadcasts alone, without one."""
    number = same_everywhere(value, shape)
    if number is not None:
        return number
    if isinstance(value, BroadcastInDim):
        return BroadcastInDim(value.operand, shape, tuple(p.index(axis) for axis in value.broadcast_dimensions))
    if not isinstance(value, Elementwise) or depth == 0 or len(users_of(value)) > 1:
        return None
    operands = [_turned(operand, shape, p, depth - 1) for operand in value.operands]
    found = tuple(operand for operand in operands if operand is not None)
    return value.with_operands(found) if len(found) == len(operands) else None
