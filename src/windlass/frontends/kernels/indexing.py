"""Elements, views and fields of arrays, records and tuples."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

import numpy as np

from windlass.frontends.kernels.arithmetic import Arithmetic
from windlass.frontends.kernels.records import field_name, fields_of
from windlass.frontends.kernels.types import (
    KernelArray,
    KernelNumber,
    Known,
    NoneType,
    Record,
    Tuple,
    complex64,
    float32,
    float64,
    int64,
)
from windlass.frontends.kernels.values import (
    UNKNOWN,
    HeldValue,
    Unusable,
    constant_number,
    convert_number,
    known,
    tuple_of,
    unified,
)

EXTENT_BITS = 47
"""No array has 2**47 elements."""


class Indexing(Arithmetic):
    """Subscripts and attributes."""

    # -- reading ------------------------------------------------------------------------------------------------------

    def subscript(self, node: ast.Subscript) -> HeldValue:
        """`value[index]`."""
        container = self.expression(node.value)
        match container.type:
            case KernelArray():
                return self._read(node, container, self.indices(node.slice))
            case Tuple():
                return self._item(node, container, self.expression(node.slice))
            case Record() as record:
                return self.field(node, container, self._field_name(node.slice, record))
            case Known() if isinstance(container.constant, KernelNumber | Record):
                return known(self._array_type(node, container.constant))
            case _:
                raise self.mistyped(node, f"{container.type} has no elements")

    def _array_type(self, node: ast.Subscript, number: Any) -> Any:
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        steps = [isinstance(part, ast.Slice) and part.step is not None for part in parts]
        return KernelArray(number, len(parts), "C" if steps[-1] else "F" if steps[0] else "A")

    def indices(self, node: ast.expr) -> list[tuple[ast.expr, Any]]:
        """The indices of a subscript, one for each axis: values, or slices as three values."""
        parts = node.elts if isinstance(node, ast.Tuple) else [node]
        found: list[tuple[ast.expr, Any]] = []
        for part in parts:
            if isinstance(part, ast.Slice):
                bounds = (part.lower, part.upper, part.step)
                found.append((part, tuple(None if each is None else self.expression(each) for each in bounds)))
                continue
            value = self.expression(part)
            for each in value.parts() if isinstance(value.type, Tuple) else [value]:
                found.append((part, self._bounds_outside(part, each) or each))
        return found

    def _bounds_outside(self, node: ast.expr, value: HeldValue) -> tuple[HeldValue | None, ...] | None:
        """The bounds and the step of a slice from outside of the kernel; None for other values."""
        if not (isinstance(value.type, Known) and isinstance(value.constant, slice)):
            return None
        found: slice[Any, Any, Any] = value.constant
        bounds = (found.start, found.stop, found.step)
        return tuple(None if each is None else self.frozen(node, each) for each in bounds)

    def _read(self, node: ast.Subscript, array: HeldValue, indices: Sequence[tuple[ast.AST, Any]]) -> HeldValue:
        if len(indices) == 1 and isinstance(indices[0][1], HeldValue):
            only = indices[0][1]
            if isinstance(only.type, Known) and isinstance(only.constant, str):
                return self.field_of_all(node, array, only.constant)
        indices = self._without_ellipsis(array, indices)
        is_element = len(indices) == array.array.ndim and all(isinstance(index, HeldValue) for _, index in indices)
        if not is_element:
            return self.view(node, array, indices)
        place = self.element(node, array, indices)
        if isinstance(array.array.dtype, Record):
            return self.compute(node, array.array.dtype, f"&{place}")
        return self.compute(node, array.array.dtype, place)

    def _without_ellipsis(
        self, array: HeldValue, indices: Sequence[tuple[ast.AST, Any]]
    ) -> Sequence[tuple[ast.AST, Any]]:
        def is_ellipsis(index: Any) -> bool:
            return isinstance(index, HeldValue) and isinstance(index.type, Known) and index.constant is Ellipsis

        for position, (part, index) in enumerate(indices):
            if is_ellipsis(index):
                missing = array.array.ndim - (len(indices) - 1)
                return [*indices[:position], *[(part, (None, None, None))] * missing, *indices[position + 1 :]]
        return indices

    def element(self, node: ast.AST, array: HeldValue, indices: Sequence[tuple[ast.AST, Any]]) -> str:
        """The C++ expression of one element."""
        return f"{array.pointer}[{self._offset(node, array, indices)}]"

    def _offset(self, node: ast.AST, array: HeldValue, indices: Sequence[tuple[ast.AST, Any]]) -> str:
        if len(indices) > array.array.ndim:
            raise self.mistyped(node, f"{len(indices)} indices for an array with {array.array.ndim} axes")
        terms: list[str] = []
        for (part, index), extent, stride in zip(indices, array.extents, array.strides, strict=False):
            text = self._place(part, index, extent)
            terms.append(text if stride == "1LL" else f"{text} * {stride}")
        return " + ".join(terms) or "0"

    def _place(self, node: ast.AST, index: Any, extent: str) -> str:
        """An index, from the start of its axis."""
        if not isinstance(index, HeldValue):
            raise self.refuse(node, "a slice can't stand here")
        number = self.integer(node, index).number
        text = convert_number(index, int64)
        if index.is_nonnegative or number.kind in "bu":
            return text
        if index.is_constant and int(index.constant) < 0:
            return f"({extent} - {-int(index.constant)}LL)"
        return f"windlass_wrap({text}, {extent})"

    def view(self, node: ast.AST, array: HeldValue, indices: Sequence[tuple[ast.AST, Any]]) -> HeldValue:
        """A part of an array that shares its memory."""
        if len(indices) > array.array.ndim:
            raise self.mistyped(node, f"{len(indices)} indices for an array with {array.array.ndim} axes")
        starts: list[str] = []
        extents: list[str] = []
        strides: list[str] = []
        is_whole_behind_first = True
        for axis, (extent, stride) in enumerate(zip(array.extents, array.strides, strict=True)):
            part, index = indices[axis] if axis < len(indices) else (None, (None, None, None))
            if isinstance(index, HeldValue):
                assert part is not None
                if isinstance(index.type, NoneType):
                    raise self.refuse(
                        node, "None as an index is not there in kernels", "index with all axes that there are"
                    )
                text = self._place(part, index, extent)
                starts.append(f"{text} * {stride}")
                is_whole_behind_first = is_whole_behind_first and not extents
                continue
            start, length, step = self._bounds(node, index, extent)
            if extents and index != (None, None, None):
                is_whole_behind_first = False
            if step != "1LL":
                is_whole_behind_first = False
            starts.append(f"{start} * {stride}")
            extents.append(length)
            strides.append(stride if step == "1LL" else f"({stride} * {step})")
        # What is cut from the front of an array in C order is in C order itself.
        layout = "C" if array.array.layout == "C" and is_whole_behind_first else "A"
        type_ = KernelArray(array.array.dtype, len(extents), layout)
        leaves = [f"&{array.pointer}[{' + '.join(starts) or '0'}]", *extents, *(strides if layout == "A" else [])]
        names: list[str] = []
        for cpp, text in zip(type_.leaves(), leaves, strict=True):
            name = self.out.declare(cpp, "view")
            self.write(node, f"{text};", f"{name} =")
            names.append(name)
        return HeldValue(type_, tuple(names))

    def _bounds(self, node: ast.AST, index: tuple[HeldValue | None, ...], extent: str) -> tuple[str, str, str]:
        """Start, length and step of a slice."""
        lower, upper, step = index
        if step is not None and isinstance(step.type, NoneType):
            step = None
        if step is not None and self.integer(node, step).is_constant and step.constant == 0:
            raise self.refuse(node, "the step of a slice can't be zero")
        is_down = step is not None and step.is_constant and int(step.constant) < 0
        clip = "windlass_clip_down" if is_down else "windlass_clip"
        if lower is None and upper is None and step is None:
            return "0LL", extent, "1LL"

        def bound(value: HeldValue | None, default: str) -> str:
            if value is None or isinstance(value.type, NoneType):
                return default
            return f"{clip}({convert_number(self.integer(node, value), int64)}, {extent})"

        if step is None or (step.is_constant and step.constant == 1):
            start = self.compute(node, int64, bound(lower, "0LL")).text
            stop = self.compute(node, int64, bound(upper, extent)).text
            length = self.compute(node, int64, f"{stop} > {start} ? {stop} - {start} : 0LL").text
            return start, length, "1LL"
        if not step.is_constant:
            raise self.refuse(node, "the step of a slice has to be a known number")
        by = int(step.constant)
        start = self.compute(node, int64, bound(lower, "0LL" if by > 0 else f"({extent} - 1LL)")).text
        stop = bound(upper, extent if by > 0 else "-1LL")
        length = self.compute(node, int64, f"windlass_extent({start}, {stop}, {by}LL)").text
        return start, length, f"({by}LL)"

    def _item(self, node: ast.Subscript, container: HeldValue, index: HeldValue) -> HeldValue:
        """An element of a tuple."""
        parts = container.parts()
        if index.is_constant and isinstance(index.constant, int):
            if not -len(parts) <= index.constant < len(parts):
                raise self.mistyped(node, f"there is no element {index.constant} of a tuple of {len(parts)}")
            return parts[index.constant]
        self.integer(node.slice, index)
        if any(part.type != parts[0].type for part in parts) or not parts:
            raise self.refuse(node, "elements of different types have to be taken with a known index")
        text = self._place(node.slice, index, f"{len(parts)}LL")
        names: list[str] = []
        for leaf, cpp in enumerate(parts[0].type.leaves()):
            choice = parts[-1].leaves[leaf]
            for position in range(len(parts) - 2, -1, -1):
                choice = f"({text} == {position} ? {parts[position].leaves[leaf]} : {choice})"
            name = self.out.declare(cpp)
            self.write(node, f"{choice};", f"{name} =")
            names.append(name)
        return HeldValue(parts[0].type, tuple(names))

    # -- records ------------------------------------------------------------------------------------------------------

    def _field_name(self, node: ast.expr, record: Record | None = None) -> str:
        value = self.expression(node)
        if isinstance(value.constant, str):
            return value.constant
        if record is not None and value.is_constant and isinstance(value.constant, int):
            names = list(fields_of(record))
            if -len(names) <= value.constant < len(names):
                return names[value.constant]
        raise self.mistyped(node, "a field of a record is named by a text")

    def _field_place(self, node: ast.AST, record: HeldValue, name: str) -> tuple[np.dtype[Any], str]:
        assert isinstance(record.type, Record)
        fields = fields_of(record.type)
        if name not in fields:
            raise self.mistyped(node, f"the record has no field '{name}'", f"its fields are {', '.join(fields)}")
        return fields[name][0], f"{record.text}->{field_name(name)}"

    def field(self, node: ast.AST, record: HeldValue, name: str) -> HeldValue:
        """A field of a record: its value, or a view where it is an array."""
        dtype, place = self._field_place(node, record, name)
        self.unit.note_type(record.type)
        if dtype.subdtype is not None:
            element, shape = dtype.subdtype
            assert isinstance(record.type, Record)
            size = element.alignment
            if fields_of(record.type)[name][1] % size or record.type.dtype.itemsize % size:
                raise self.refuse(
                    node,
                    f"the array '{name}' of a record does not lie at a multiple of {size} bytes",
                    "make the records' dtype with numpy.dtype(..., align=True)",
                )
            type_ = KernelArray(self.number_of_dtype(node, element), len(shape), "C")
            pointer = self.out.declare(type_.leaves()[0], "view")
            self.write(node, f"({type_.leaves()[0]}){place};", f"{pointer} =")
            return HeldValue(type_, (pointer, *(f"{extent}LL" for extent in shape)))
        type_ = self.number_of_dtype(node, dtype)
        return self.compute(node, type_, f"&{place}" if isinstance(type_, Record) else place)

    def field_of_all(self, node: ast.AST, array: HeldValue, name: str) -> HeldValue:
        """One field of all records of an array, as an array."""
        record = array.array.dtype
        if not isinstance(record, Record) or name not in fields_of(record):
            raise self.mistyped(node, f"the elements of {array.type} have no field '{name}'")
        dtype = fields_of(record)[name][0]
        if dtype.subdtype is not None or record.dtype.itemsize % dtype.itemsize:
            raise self.refuse(
                node, f"the field '{name}' of all records at once", f"take an element first: array[i]['{name}']"
            )
        self.unit.note_record(record)
        element = self.number_of_dtype(node, dtype)
        type_ = KernelArray(element, array.array.ndim, "A")
        pointer = self.out.declare(type_.leaves()[0], "view")
        self.write(node, f"&{array.pointer}->{field_name(name)};", f"{pointer} =")
        by = record.dtype.itemsize // dtype.itemsize
        return HeldValue(type_, (pointer, *array.extents, *(f"({stride} * {by}LL)" for stride in array.strides)))

    # -- attributes ---------------------------------------------------------------------------------------------------

    def attribute(self, node: ast.Attribute) -> HeldValue:
        """`value.name`."""
        value = self.expression(node.value)
        name = node.attr
        match value.type:
            case Known():
                if not hasattr(value.constant, name):
                    raise self.mistyped(node, f"{value.type} has no '{name}'")
                found = getattr(value.constant, name)
                return self.frozen(node, found, name)
            case KernelArray():
                return self._array_attribute(node, value, name)
            case Record():
                return self.field(node, value, name)
            case KernelNumber() as number:
                return self._number_attribute(node, value, number, name)
            case Tuple(names=names) if name in names:
                return value.parts()[names.index(name)]
            case _:
                raise self.mistyped(node, f"{value.type} has no '{name}'")

    def _array_attribute(self, node: ast.Attribute, value: HeldValue, name: str) -> HeldValue:
        array = value.array
        extents = [self._extent(text) for text in value.extents]
        match name:
            case "shape":
                return tuple_of(extents)
            case "ndim":
                return constant_number(array.ndim, int64)
            case "size":
                text = " * ".join(value.extents) or "1LL"
                return self.compute(node, int64, f"({text})", is_nonnegative=True, bits=EXTENT_BITS)
            case "strides":
                by = array.dtype.dtype.itemsize
                return tuple_of([HeldValue(int64, (f"({stride} * {by}LL)",)) for stride in value.strides])
            case "itemsize":
                return constant_number(array.dtype.dtype.itemsize, int64)
            case "dtype":
                return known(array.dtype)
            case "T":
                if array.ndim < 2:
                    return value
                layout = {"C": "F", "F": "C", "A": "A"}[array.layout]
                strides = tuple(reversed(value.strides)) if layout == "A" else ()
                extents_ = tuple(reversed(value.extents))
                return HeldValue(KernelArray(array.dtype, array.ndim, layout), (value.pointer, *extents_, *strides))
            case "real" | "imag" if isinstance(array.dtype, KernelNumber) and array.dtype.kind == "c":
                element = float32 if array.dtype == complex64 else float64
                pointer = self.compute_pointer(
                    node, f"({element.cpp} *){value.pointer} + {int(name == 'imag')}", element
                )
                strides = tuple(f"({stride} * 2LL)" for stride in value.strides)
                return HeldValue(KernelArray(element, array.ndim, "A"), (pointer, *value.extents, *strides))
            case _ if isinstance(array.dtype, Record) and name in (array.dtype.dtype.fields or {}):
                return self.field_of_all(node, value, name)
            case _:
                return known(ArrayMethod(value, name))

    def compute_pointer(self, node: ast.AST, text: str, element: KernelNumber) -> str:
        """A pointer to numbers, in a new variable."""
        name = self.out.declare(f"{element.cpp} *", "view")
        self.write(node, f"{text};", f"{name} =")
        return name

    def _extent(self, text: str) -> HeldValue:
        if text.endswith("LL") and text[:-2].isdigit():
            return constant_number(int(text[:-2]), int64)
        return HeldValue(int64, (text,), UNKNOWN, True, EXTENT_BITS)

    def _number_attribute(self, node: ast.Attribute, value: HeldValue, number: KernelNumber, name: str) -> HeldValue:
        if number.kind == "c":
            part = float32 if number == complex64 else float64
            if name in ("real", "imag"):
                return HeldValue(part, (f"{value.text}.{'x' if name == 'real' else 'y'}",))
            if name == "conjugate":
                return known(ArrayMethod(value, name))
        elif name == "real":
            return value
        elif name == "imag":
            return constant_number(0, number)
        raise self.mistyped(node, f"{number} has no '{name}'")

    # -- writing ------------------------------------------------------------------------------------------------------

    def store(self, node: ast.Subscript | ast.Attribute, value: HeldValue) -> None:
        """`container[index] = value`, `record.field = value`."""
        container = self.expression(node.value)
        if isinstance(container.type, Record):
            name = node.attr if isinstance(node, ast.Attribute) else self._field_name(node.slice, container.type)
            dtype, place = self._field_place(node, container, name)
            self.unit.note_record(container.type)
            if dtype.subdtype is not None:
                self._fill(node, self.field(node, container, name), value)
                return
            self.assign_place(node, place, self.number_of_dtype(node, dtype), value)
            return
        if isinstance(node, ast.Attribute) or not isinstance(container.type, KernelArray):
            raise self.mistyped(node, f"nothing can be assigned to a part of {container.type}")
        indices = self._without_ellipsis(container, self.indices(node.slice))
        if len(indices) == 1 and isinstance(indices[0][1], HeldValue) and isinstance(indices[0][1].constant, str):
            raise self.refuse(node, "a field of all records at once can't be assigned", "loop over the records")
        if len(indices) == container.array.ndim and all(isinstance(index, HeldValue) for _, index in indices):
            place = self.element(node, container, indices)
            self.assign_place(node, place, container.array.dtype, value)
        else:
            self._fill(node, self.view(node, container, indices), value)

    def assign_place(self, node: ast.AST, place: str, type_: KernelNumber | Record, value: HeldValue) -> None:
        """Store a value where a C++ expression says."""
        if isinstance(type_, Record):
            if value.type != type_:
                raise self.mistyped(node, f"{value.type} can't be stored where {type_} lies")
            self.write(node, f"= *{value.text};", place)
            return
        if not isinstance(value.type, KernelNumber) or (value.number.kind == "c" and type_.kind != "c"):
            raise self.mistyped(node, f"{value.type} can't be stored where {type_} lies")
        self.write(node, f"= {convert_number(value, type_)};", place)

    def _fill(self, node: ast.AST, view: HeldValue, value: HeldValue) -> None:
        """Assign to all elements of a view: one number, or those of another array of as many axes."""
        counters = [self.out.fresh("k") for _ in view.extents]
        for counter, extent in zip(counters, view.extents, strict=True):
            self.out.plain(f"for (long long {counter} = 0; {counter} < {extent}; {counter}++)")
        offset = " + ".join(f"{counter} * {stride}" for counter, stride in zip(counters, view.strides, strict=True))
        place = f"{view.pointer}[{offset}]"
        if isinstance(value.type, KernelArray):
            if value.array.ndim != view.array.ndim or isinstance(
                unified(value.array.dtype, view.array.dtype), Unusable
            ):
                raise self.mistyped(node, f"{value.type} can't be assigned to {view.type}")
            source = " + ".join(
                f"{counter} * {stride}" for counter, stride in zip(counters, value.strides, strict=True)
            )
            dtype = value.array.dtype
            element = HeldValue(dtype, (f"{value.pointer}[{source}]",))
            self.assign_place(node, place, view.array.dtype, element)
        else:
            self.assign_place(node, place, view.array.dtype, value)


class ArrayMethod:
    """A method of an array or a number, to be called."""

    def __init__(self, value: HeldValue, name: str) -> None:
        self.value = value
        self.name = name
