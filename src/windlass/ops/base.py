"""What every tensor op shares: element type classes, how attributes are spelled in MLIR, and how it is done many times
at once, for which values are repeated."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from windlass.ir.captures import captures
from windlass.ir.core import Op
from windlass.ir.types import NUMPY_DTYPES, OpaqueType, TensorType, Type, tensor_type
from windlass.ir.values import TypeFault, Value
from windlass.ops.axes import Axes, axes_of
from windlass.ops.loop_writer import LoopNames, LoopWriter
from windlass.ops.ranges import Range, RangeOf, everything
from windlass.ops.spelling import decode, encode

if TYPE_CHECKING:
    from windlass.ops.sampling import Draw

Array: TypeAlias = NDArray[Any]

BOOLEAN = frozenset({"i1"})
SIGNED = frozenset({"i4", "i8", "i16", "i32", "i64"})
UNSIGNED = frozenset({"ui4", "ui8", "ui16", "ui32", "ui64"})
INTEGER = SIGNED | UNSIGNED
FLOAT = frozenset(name for name in NUMPY_DTYPES if name.startswith(("f", "bf")))
COMPLEX = frozenset({"complex<f32>", "complex<f64>"})
ANY = frozenset(NUMPY_DTYPES)

SMALL_FLOATS = FLOAT - {"f32", "f64"}
"""Arithmetic on these is done in f32 and rounded once per op, as XLA does."""

PART_OF_COMPLEX = {"complex<f32>": "f32", "complex<f64>": "f64"}
COMPLEX_OF_PART = {part: whole for whole, part in PART_OF_COMPLEX.items()}

TOKEN = OpaqueType.of("!stablehlo.token")


Change: TypeAlias = Callable[[Any, int], Any]
"""An attribute of an op, and the size of a new first axis, to that attribute of the op that has that axis."""
OnNewAxis: TypeAlias = Mapping[str, Change] | None


def later(axes: Any, size: int) -> Any:
    """The number of an axis, or of several, behind a new first one."""
    return tuple(axis + 1 for axis in axes) if isinstance(axes, tuple) else axes + 1  # pyright: ignore[reportUnknownVariableType]


def first_and_later(axes: tuple[int, ...], size: int) -> tuple[int, ...]:
    """The new first axis, and the others behind it."""
    return (0, *later(axes, size))


def sized(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    """A shape with the new first axis."""
    return (size, *shape)


def beginning_with(entry: Any) -> Change:
    """A list of something for each axis; `entry` is that of the new one."""
    return lambda entries, size: (entry, *entries)


_SYMBOLS = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "remainder": "%", "negate": "-", "not": "~",
    "and": "&", "or": "|", "xor": "^", "shift_left": "<<", "shift_right_logical": ">>", "shift_right_arithmetic": ">>",
    "convert": "a conversion", "bitcast_convert": "a conversion of bits",
}  # fmt: skip
"""What C and Python call an operation, by the name that it has here."""


def told(op: Op) -> str:
    """What an op is called in messages: as programs call it, rather than as StableHLO does."""
    name = (op.name or type(op).__name__).rpartition(".")[2]
    return _SYMBOLS.get(name, name.replace("_", " "))


class NoDerivative(Exception):
    """An op on the way from active arguments to results has no derivative: why not, and where it is."""

    def __init__(self, op: Op) -> None:
        self.reason = op.no_derivative_because if isinstance(op, TensorOp) else f"{told(op)} has no derivative"
        super().__init__(self.reason)
        self.source = op.source


class TensorOp(Op):
    """Base of the ops on tensors.

    `attribute_groups` names MLIR attributes that are structures of several fields: the MLIR name, the structure's own
    name, and the fields in order.
    """

    disorder: ClassVar[int] = 0
    """How much rules want this op near the leaves of a program (slices, pads, ...), for the measure; below 0, how much
    they want it far from them (reshapes, ...)."""
    attribute_groups: ClassVar[dict[str, tuple[str, tuple[str, ...]]]] = {}
    mlir_names: ClassVar[dict[str, str]] = {}
    """The MLIR names of those attributes that are called otherwise in MLIR."""
    has_result_attributes: ClassVar[frozenset[str]] = frozenset()
    """Attributes that only say what the result type is: MLIR has the type instead.

    `result_types` stands for all types, any other name for that property of the only one.
    """
    loop_names: ClassVar[LoopNames] = LoopNames()
    """What it is called at the loop level, on scalars."""
    limbs: ClassVar[str] = ""
    """How it is computed on floats of several limbs: the name of a form of `windlass.precision`, "each" where it does
    to each limb what it does to the whole. Empty where there is none."""
    needs_scope: ClassVar[bool] = False
    """`evaluate` takes a `scope` (see `windlass.ops.evaluation`): the op has regions or calls functions."""

    def operations_in_units(self, side: int) -> int:
        """As `flops`, on hardware that multiplies by squares of numbers of this side: what is left idle counts too."""
        return self.flops()

    def elements_written(self) -> int:
        """How many elements of its results are not what an operand has at the same place."""
        return sum(result.type.size for result in self.results if isinstance(result.type, TensorType))

    def fault(self, constraint: str, message: str) -> NoReturn:
        """Raise a TypeFault that names the op and the constraint of StableHLO's specification that is broken."""
        label = f" ({constraint})" if constraint else ""
        raise TypeFault(f"{self.name or type(self).__name__}{label}: {message}")

    # -- MLIR spelling --------------------------------------------------------------------------------------------

    def mlir_attributes(self) -> dict[str, str]:
        """The op's attributes as MLIR text, by MLIR name."""
        grouped = {field for _, fields in self.attribute_groups.values() for field in fields}
        texts: dict[str, str] = {}
        for field in self.fields:
            if field.kind != "attribute" or field.name in grouped or field.name in self.has_result_attributes:
                continue
            text = encode(field.annotation, getattr(self, field.name))
            if text is not None:
                texts[self.mlir_names.get(field.name, field.name)] = text
        for name, (structure, fields) in self.attribute_groups.items():
            items = [(field, getattr(self, field)) for field in fields]
            shown = [
                f"{field} = {value if isinstance(value, int) else list(value)}" for field, value in items if value != ()
            ]
            texts[name] = f"{structure}<{', '.join(shown)}>"
        return texts

    @classmethod
    def fields_from_mlir(cls, texts: Mapping[str, str], result_types: tuple[Type, ...]) -> dict[str, Any]:
        """The attribute fields from MLIR text by MLIR name; names that are no field are left out.

        `result_types` are there for the ops whose attributes are told by their type.
        """
        fields: dict[str, Any] = {}
        for field in cls.fields:
            if field.kind == "attribute":
                text = texts.get(cls.mlir_names.get(field.name, field.name))
                if text is not None:
                    fields[field.name] = decode(field.annotation, text)
        for name, (_, members) in cls.attribute_groups.items():
            if name in texts:
                fields.update(decode_structure(texts[name], members, cls.annotation_of))
        for name in cls.has_result_attributes:
            if name == "result_types":
                fields[name] = result_types
            else:
                (result,) = result_types
                assert isinstance(result, TensorType)
                fields[name] = getattr(result, name)
        return fields

    @classmethod
    def annotation_of(cls, name: str) -> str:
        """The annotation of a declared field."""
        return next(field.annotation for field in cls.fields if field.name == name)

    @classmethod
    def mlir_attribute_names(cls) -> frozenset[str]:
        """The MLIR attributes that become fields; others are kept in `extra`."""
        own = {cls.mlir_names.get(name, name) for name in cls.attribute_names}
        return frozenset(own | set(cls.attribute_groups))

    def find_range(self, of: RangeOf) -> Range | tuple[Range, ...]:
        """What holds for the elements of each result, asking `of` about operands and values in regions."""
        if self._results is None:
            return everything(self.type)
        return tuple(everything(result.type) for result in self._results)

    def write_loop(self, writer: LoopWriter) -> None:
        """Write the op, on scalars, as loop-level text."""
        writer.write_scalar(self, self.loop_names)

    # -- axes -----------------------------------------------------------------------------------------------------

    on_new_axis: ClassVar[OnNewAxis] = None
    """What becomes of attributes when all operands and results get a new first axis; those not named stay as they are.

    None: that alone doesn't make it the op done many times.
    """
    shared_operands: ClassVar[frozenset[str]] = frozenset()
    """Operands that have to be the same all times that the op is done at once: they get no new axis."""

    def axes(self) -> Axes | None:
        """By letters, which axes of the results come from which axes of the operands; None where nothing is known."""
        return None

    def batch(self, operands: tuple[Value, ...], is_batched: tuple[bool, ...], size: int) -> tuple[Value, ...] | None:
        """The op done `size` times at once: one result for each of its own, with a new first axis of that size.

        The operands that are batched have that axis too, one at least; the others are the same each time. None where
        there is no such op.
        """
        shared = [
            field.name in self.shared_operands
            for field in self.fields
            if field.kind in ("operand", "variadic")
            for _ in (getattr(self, field.name) if field.kind == "variadic" else (None,))
        ]
        is_free = any(captures(region) for region in self.regions)
        if self.on_new_axis is None or is_free or any(map(operator.and_, shared, is_batched)):
            return None
        full = all_batched(operands, tuple(map(operator.or_, shared, is_batched)), size)
        fields: dict[str, Any] = {name: change(getattr(self, name), size) for name, change in self.on_new_axis.items()}
        fields |= {name: getattr(self, name).clone({}) for name in self.region_names}
        return self.with_fields(full, **fields).results

    @classmethod
    def has_batch(cls) -> bool:
        """Whether ops of the class can be done several times at once, as a rule."""
        return cls.on_new_axis is not None or cls.batch is not TensorOp.batch

    # -- derivatives ----------------------------------------------------------------------------------------------

    linear_in: ClassVar[tuple[frozenset[str], ...]] = ()
    """Sets of operands, by the names of their fields: in those of each set together, with all other operands as they
    are, the op is linear. Its tangent is the op again, but for ops with `tangents` of their own; `pullback` gives the
    cotangents."""
    follows_letters: ClassVar[bool] = False
    """The op does no more than its `axes` say: it repeats, permutes and sums. Its pullback follows from them."""

    def unreplaced(self, position: int) -> Value | None:
        """Where the elements of an operand are not replaced by others: a condition of its shape; None if none can be.

        What is replaced has no part in a result, so it has none in a derivative, however large a slope before it is.
        """
        return None

    def adds_elements(self) -> bool:
        """Whether its results are elements of those operands that it is linear in, sums of them, and zeros."""
        return self.follows_letters

    def linear_positions(self) -> tuple[frozenset[int], ...]:
        """The sets of operands that it is linear in, by their places; by `linear_in`, where its form is no matter."""
        if not self.linear_in:
            return ()
        places: dict[str, list[int]] = {}
        following = 0
        for field in self.fields:
            if field.kind in ("operand", "variadic"):
                count = len(getattr(self, field.name)) if field.kind == "variadic" else 1
                places[field.name] = list(range(following, following + count))
                following += count
        return tuple(frozenset(place for name in names for place in places[name]) for names in self.linear_in)

    def partial(self, position: int) -> Value | float | None:
        """Of ops that work on each element by itself: by what factor the result changes with the operand at `position`.

        At each element, for real and complex numbers: f(x + t) = f(x) + partial * t, to first order. None where the
        result does not change with the operand, at almost every point; a number where it is the same at all points.
        """
        raise NotImplementedError(f"{type(self).__name__} has no partial derivatives")

    def tangents(self, given: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
        """What the results change by, to first order, as operands change by what is given; None is zero.

        It is made of ops that are linear in what is given. Of ops that are not linear in all operands, and have no
        `partial`. Raises NoDerivative.
        """
        raise NoDerivative(self)

    @property
    def no_derivative_because(self) -> str:
        """What is said of the op where a derivative is asked for that it doesn't have."""
        return f"{told(self)} has no derivative"

    def pullback(self, cotangents: tuple[Value, ...], position: int) -> Value:
        """The cotangent of the operand at `position`, in which the op is linear, from those of all results.

        The transpose of the linear map, without conjugation, as JAX has it. Of a single number: its sum, or all terms.
        """
        raise NotImplementedError(f"{type(self).__name__} has no pullback")

    def pullbacks(self, cotangents: tuple[Value, ...], positions: Sequence[int]) -> Sequence[Value]:
        """The cotangents of the operands at these positions: what `pullback` gives for each, or all at once."""
        return [self.pullback(cotangents, position) for position in positions]

    @classmethod
    def extra_from_mlir(cls, texts: Mapping[str, str]) -> dict[str, str]:
        """The MLIR attributes that no field says, kept as they are."""
        own = cls.mlir_attribute_names()
        return {name: text for name, text in texts.items() if name not in own}

    # -- for the laws ---------------------------------------------------------------------------------------------

    @classmethod
    def sample_operands(cls, draw: Draw) -> tuple[TensorType, ...]:
        """Types of operands that the op accepts, in the order of its fields."""
        raise NotImplementedError(f"{cls.__name__} can't be sampled")

    @classmethod
    def sample(cls, draw: Draw, *operand_types: TensorType) -> dict[str, Any]:
        """Random valid values of the fields that are not operands, for operands of these types."""
        return {}

    def sample_array(self, draw: Draw, position: int) -> Array:
        """A random value for the operand at `position`; special values included."""
        type_ = self._operands[position].type
        assert isinstance(type_, TensorType)
        return draw.array(type_)


def decode_structure(text: str, members: tuple[str, ...], annotation_of: Callable[[str], str]) -> dict[str, Any]:
    """The members of an MLIR structure attribute, `#stablehlo.gather<offset_dims = [1], ...>`."""
    import re

    fields: dict[str, Any] = {}
    for member in members:
        is_list = annotation_of(member).startswith("tuple")
        found = re.search(rf"\b{member} = (\[[^\]]*\]|-?\d+)", text)
        if found is None:
            fields[member] = () if is_list else 0
        elif is_list:
            fields[member] = tuple(int(item) for item in re.findall(r"-?\d+", found.group(1)))
        else:
            fields[member] = int(found.group(1))
    return fields


# -- elementwise ------------------------------------------------------------------------------------------------------


# -- repeating --------------------------------------------------------------------------------------------------------


class BroadcastInDim(TensorOp):
    """Axis i of the operand becomes axis broadcast_dimensions[i] of the result; the rest repeats."""

    name = "stablehlo.broadcast_in_dim"
    limbs: ClassVar[str] = "each"
    disorder: ClassVar[int] = 1
    is_free: ClassVar[bool] = True
    linear_in: ClassVar[tuple[frozenset[str], ...]] = (frozenset({"operand"}),)
    follows_letters: ClassVar[bool] = True
    operand: Value
    shape: tuple[int, ...]  # pyright: ignore[reportIncompatibleMethodOverride]
    broadcast_dimensions: tuple[int, ...]
    has_result_attributes: ClassVar[frozenset[str]] = frozenset({"shape"})
    on_new_axis: ClassVar[OnNewAxis] = {"shape": sized, "broadcast_dimensions": first_and_later}

    def infer(self) -> Type:
        type_ = self._operands[0].tensor
        shape, dimensions = self.shape, self.broadcast_dimensions
        rank = len(shape)
        if len(dimensions) != len(type_.shape):
            self.fault("C2", f"{len(dimensions)} dimensions for rank {type_.rank}")
        if len(dimensions) > 1 and len(set(dimensions)) != len(dimensions):
            self.fault("C4", f"{dimensions} repeats a dimension")
        for size, dimension in zip(type_.shape, dimensions, strict=True):
            if not 0 <= dimension < rank:
                self.fault("C3", f"dimension {dimension} of rank {rank}")
            if size != 1 and size != shape[dimension]:
                self.fault("C5", f"size {size} does not broadcast to {shape[dimension]}")
        return tensor_type(shape, type_.dtype)

    def find_range(self, of: RangeOf) -> Range:
        return of(self.operand)

    def axes(self) -> Axes:
        pairs = zip(self.operand.shape, self.broadcast_dimensions, strict=True)
        letters = [() if size != self.shape[axis] else axis for size, axis in pairs]
        return axes_of(self, [letters], [range(len(self.shape))])

    def evaluate(self, operand: Array) -> Array:
        order = sorted(range(operand.ndim), key=lambda axis: self.broadcast_dimensions[axis])
        fitted = [1] * len(self.shape)
        for axis in order:
            fitted[self.broadcast_dimensions[axis]] = operand.shape[axis]
        return np.broadcast_to(operand.transpose(order).reshape(fitted), self.shape)

    @classmethod
    def sample_operands(cls, draw: Draw) -> tuple[TensorType, ...]:
        return (tensor_type(draw.shape(most_rank=2), draw.dtype(ANY)),)

    @classmethod
    def sample(cls, draw: Draw, *operand_types: TensorType) -> dict[str, Any]:
        (type_,) = operand_types
        rank = draw.integer(type_.rank, type_.rank + 2)
        dimensions = draw.permutation(rank)[: type_.rank]
        shape = [draw.integer(0, 3) for _ in range(rank)]
        for size, dimension in zip(type_.shape, dimensions, strict=True):
            if size != 1 or draw.boolean():
                shape[dimension] = size
        return {"shape": tuple(shape), "broadcast_dimensions": dimensions}


def repeated(value: Value, size: int) -> Value:
    """The value `size` times along a new first axis."""
    type_ = value.tensor
    return BroadcastInDim(value, (size, *type_.shape), tuple(range(1, type_.rank + 1)))


def all_batched(operands: tuple[Value, ...], is_batched: tuple[bool, ...], size: int) -> tuple[Value, ...]:
    """The operands of `batch` with the new axis on all of them."""
    return tuple(
        value if batched else repeated(value, size) for value, batched in zip(operands, is_batched, strict=True)
    )
