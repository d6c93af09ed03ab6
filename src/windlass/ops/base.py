"""What every tensor op shares: element type classes, elementwise bases, and how attributes are spelled in MLIR."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from windlass.ir.core import Op
from windlass.ir.types import NUMPY_DTYPES, OpaqueType, TensorType, Type, tensor_type
from windlass.ir.values import TypeFault, Value
from windlass.ops.axes import Axes, axes_in_place
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
    needs_scope: ClassVar[bool] = False
    """`evaluate` takes a `scope` (see `windlass.ops.evaluation`): the op has regions or calls functions."""

    def operations_in_units(self, side: int) -> int:
        """As `flops`, on hardware that multiplies by squares of numbers of this side: what is left idle counts too."""
        return self.flops()

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
        from windlass.ops.control import captures

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


def widened(function: Callable[..., Any], *arrays: Array) -> Array:
    """`function` of the arrays; small floats are computed in f32 and rounded to their own type."""
    with np.errstate(all="ignore"):
        dtype = arrays[0].dtype
        if dtype.itemsize <= 2 and dtype.kind in "fV":
            return np.asarray(function(*(array.astype(np.float32) for array in arrays))).astype(dtype)
        result = np.asarray(function(*arrays))
        return result if result.dtype == dtype else result.astype(dtype)


class Elementwise(TensorOp):
    """Base of ops that work on each element by itself. `dtypes` are the element types that are accepted."""

    is_elementwise: ClassVar[bool] = True
    dtypes: ClassVar[frozenset[str]] = ANY
    effort: ClassVar[int] = 1
    """About how many additions take as long as doing this once."""
    spreads_nan: ClassVar[bool] = False
    """An element of the result is NaN where one of any operand is."""

    def flops(self) -> int:
        """So many for each element as one takes additions."""
        return self.effort * sum(result.type.size for result in self.results if isinstance(result.type, TensorType))

    @classmethod
    def sample_operands(cls, draw: Draw) -> tuple[TensorType, ...]:
        type_ = tensor_type(draw.shape(), draw.dtype(cls.dtypes))
        return (type_,) * sum(field.kind == "operand" for field in cls.fields)

    def axes(self) -> Axes:
        return axes_in_place(self)

    def batch(self, operands: tuple[Value, ...], is_batched: tuple[bool, ...], size: int) -> tuple[Value, ...] | None:
        from windlass.ops.movement import BroadcastInDim

        shape = (size, *self.tensor.shape)
        full: list[Value] = []
        for value, own, batched in zip(operands, self._operands, is_batched, strict=True):
            # Limits and conditions may be single numbers for all elements.
            is_single = not own.tensor.shape and len(shape) > 1
            if batched and is_single:
                full.append(BroadcastInDim(value, shape, (0,)))
            else:
                full.append(value if batched or is_single else repeated(value, size))
        return (self.with_operands(tuple(full)),)


def repeated(value: Value, size: int) -> Value:
    """The value `size` times along a new first axis."""
    from windlass.ops.movement import BroadcastInDim

    type_ = value.tensor
    return BroadcastInDim(value, (size, *type_.shape), tuple(range(1, type_.rank + 1)))


def all_batched(operands: tuple[Value, ...], is_batched: tuple[bool, ...], size: int) -> tuple[Value, ...]:
    """The operands of `batch` with the new axis on all of them."""
    return tuple(
        value if batched else repeated(value, size) for value, batched in zip(operands, is_batched, strict=True)
    )


class Unary(Elementwise):
    """One operand; the result has its type."""

    operand: Value

    def infer(self) -> Type:
        type_ = self._operands[0].type
        if not isinstance(type_, TensorType) or type_.dtype not in self.dtypes:
            self.fault("I1", f"does not take {type_}")
        return type_


class Binary(Elementwise):
    """Two operands of one type, which the result has too."""

    lhs: Value
    rhs: Value

    def infer(self) -> Type:
        lhs, rhs = self._operands
        type_ = lhs.type
        if rhs.type is not type_:
            self.fault("C1", f"operand types differ: {type_} and {rhs.type}")
        if not isinstance(type_, TensorType) or type_.dtype not in self.dtypes:
            self.fault("I1", f"does not take {type_}")
        return type_


class Predicate(Elementwise):
    """One operand; the result is a boolean of its shape."""

    operand: Value

    def infer(self) -> Type:
        type_ = self._operands[0].type
        if not isinstance(type_, TensorType) or type_.dtype not in self.dtypes:
            self.fault("I1", f"does not take {type_}")
        return tensor_type(type_.shape, "i1")
