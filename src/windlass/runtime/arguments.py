"""A launch's arguments against the kernel's signature: every mismatch is one clear error that names the parameter."""

from __future__ import annotations

import numbers
import operator
from array import array as ArrayOfNumbers  # noqa: N812
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from windlass.diagnostics import Diagnostic, LaunchError
from windlass.ir.signature import KernelSignature, Parameter

Array: TypeAlias = NDArray[Any]
Checked: TypeAlias = "Array | np.generic | None"
"""A checked argument: an array (pointers), a NumPy scalar of the parameter's dtype (numbers, records), None (null)."""

LONGEST_DTYPE = 160
"""Dtypes that take more characters are not spelled out in messages."""


def order_arguments(
    signature: KernelSignature, positional: Sequence[object], named: Mapping[str, object]
) -> tuple[object, ...]:
    """One value per parameter, from positional and keyword arguments.

    Raises LaunchError (WL0402) for missing, extra, unknown and repeated arguments.
    """
    parameters = signature.parameters
    if not named and len(positional) == len(parameters):
        return tuple(positional)
    listed = ", ".join(f"{parameter.type_name} {parameter.name}" for parameter in parameters)
    takes = f"{signature.name}({listed})"
    if len(positional) > len(parameters):
        raise _fault(
            "WL0402",
            signature,
            f"takes {_count(len(parameters), 'argument')}, got {len(positional)}",
            notes=(f"the kernel is {takes}",),
            help_="leave out what is too much",
        )
    values: dict[str, object] = {
        parameter.name: value for parameter, value in zip(parameters, positional, strict=False)
    }
    for name, value in named.items():
        if name in values:
            raise _fault("WL0402", signature, f"parameter '{name}' is given twice", notes=(f"the kernel is {takes}",))
        if name not in {parameter.name for parameter in parameters}:
            raise _fault("WL0402", signature, f"has no parameter called '{name}'", notes=(f"the kernel is {takes}",))
        values[name] = value
    missing = [parameter.name for parameter in parameters if parameter.name not in values]
    if missing:
        names = ", ".join(f"'{name}'" for name in missing)
        raise _fault(
            "WL0402",
            signature,
            f"takes {_count(len(parameters), 'argument')}, got {len(values)}: {names} missing",
            notes=(f"the kernel is {takes}",),
        )
    return tuple(values[parameter.name] for parameter in parameters)


def check_argument(signature: KernelSignature, parameter: Parameter, value: object) -> Checked:
    """The argument as the launcher takes it, after all checks that need no knowledge of the kernel's body."""
    if parameter.kind == "pointer":
        return check_array(signature, parameter, value)
    if _is_jax_value(value):
        value = _concrete(signature, parameter, value)
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = cast("object", value[()])
    if parameter.kind == "record":
        return _check_record(signature, parameter, value)
    return _check_scalar(signature, parameter, value)


# -- pointers ---------------------------------------------------------------------------------------------------------


def check_array(signature: KernelSignature, parameter: Parameter, value: object) -> Array | None:
    """The array that a pointer parameter is given, or None for a null pointer."""
    if value is None:
        return None
    name = parameter.name
    if not isinstance(value, np.ndarray):
        if _is_jax_value(value):
            raise _fault(
                "WL0409",
                signature,
                f"argument '{name}' is a JAX array, which can't be updated in place",
                help_=f"use {signature.name}.jax(grid, block)(...), which returns the new values, "
                f"or pass numpy.array({name})",
            )
        raise _fault(
            "WL0407",
            signature,
            f"argument '{name}' must be a NumPy array ({parameter.type_name}), got {_describe(value)}",
            help_=_as_array_help(parameter, value),
        )
    if isinstance(value, np.ma.MaskedArray):
        raise _fault(
            "WL0407",
            signature,
            f"argument '{name}' is a masked array, and a kernel sees no mask",
            help_=f"pass {name}.data, or {name}.filled(value)",
        )
    array = cast("Array", value)
    check_dtype(signature, parameter, array.dtype, array.shape)
    if not array.flags.c_contiguous:
        raise _fault(
            "WL0405",
            signature,
            f"argument '{name}' is not contiguous: shape {array.shape}, strides {array.strides} bytes",
            notes=("a kernel sees memory as one run of elements, last axis fastest",),
            help_=f"make a contiguous copy: {name} = numpy.ascontiguousarray({name})",
        )
    if not array.flags.aligned:
        raise _fault(
            "WL0405",
            signature,
            f"argument '{name}' is not aligned to its elements",
            help_=f"make an aligned copy: {name} = {name}.copy()",
        )
    return array


def check_written(signature: KernelSignature, parameter: Parameter, array: Array) -> None:
    """That an array which the kernel writes may be written."""
    if not array.flags.writeable:
        raise _fault(
            "WL0406",
            signature,
            f"argument '{parameter.name}' is read-only, and the kernel writes to it",
            help_=f"pass a writable array: {parameter.name} = {parameter.name}.copy()",
        )


def check_dtype(signature: KernelSignature, parameter: Parameter, dtype: np.dtype, shape: tuple[int, ...]) -> None:
    """That the elements of an array are what the pointer points to."""
    name, expected = parameter.name, parameter.dtype
    if dtype.hasobject or dtype.kind in "OUMm":
        raise _fault("WL0401", signature, f"argument '{name}' has dtype {dtype}, which is not device data")
    if not is_native(dtype):
        raise _fault(
            "WL0410",
            signature,
            f"argument '{name}' has dtype {dtype.str}, which is not in this machine's byte order",
            help_=f"convert it: {name} = {name}.astype({name}.dtype.newbyteorder('='))",
        )
    if expected is None or dtypes_agree(expected, dtype) or are_words_of(expected, dtype):
        return
    kinds = {leaf for _, leaf in leaves_of(expected)}
    if len(kinds) == 1:
        notes: tuple[str, ...] = ()
        help_ = f"convert it: {name} = {name}.astype({_dtype_name(kinds.pop())})"
    else:
        notes = (_first_difference(expected, dtype),)
        place = f"parameters[{signature.parameters.index(parameter)}].dtype"
        help_ = "make it an array of the struct"
        if name.isidentifier():  # no pointer in a struct by value
            help_ += f", or say that its bytes are the struct's: {name}.view({signature.name}.signature.{place})"
    raise _fault(
        "WL0401",
        signature,
        f"argument '{name}' has the wrong dtype: the kernel takes {parameter.type_name}, which is {_plain(expected)}, "
        f"but got {_plain(dtype)}",
        notes=notes,
        help_=help_,
    )


def are_words_of(expected: np.dtype, given: np.dtype) -> bool:
    """Whether structs of dtype `expected` are made of numbers like `given`, and of nothing else; bytes always are.

    So `float2` and a struct of an int and an unsigned int may come as plain arrays. A struct of an int and a float may
    come as bytes only: as integers its float would be misread.

    >>> are_words_of(np.dtype([("x", "f4"), ("y", "f4")]), np.dtype("f4"))
    True
    >>> mixed = np.dtype([("n", "i4"), ("x", "f4")])
    >>> are_words_of(mixed, np.dtype("i4")), are_words_of(mixed, np.dtype("u1"))
    (False, True)
    """
    if expected.names is None and expected.subdtype is None:
        return False
    if given == np.uint8:
        return True
    leaves = leaves_of(expected)
    return expected.itemsize == given.itemsize * len(leaves) and all(
        offset == index * given.itemsize and numbers_agree(leaf, given) for index, (offset, leaf) in enumerate(leaves)
    )


def is_native(dtype: np.dtype) -> bool:
    """Whether every number in `dtype` is in this machine's byte order."""
    if dtype.names is None:
        return dtype.base.isnative
    return all(is_native(leaf) for _, leaf in leaves_of(dtype))


def dtypes_agree(expected: np.dtype, given: np.dtype) -> bool:
    """Whether memory of dtype `given` may be read as `expected`: the same numbers at the same offsets.

    >>> dtypes_agree(np.dtype([("x", "f4"), ("y", "f4")]), np.dtype("c8"))
    True
    >>> dtypes_agree(np.dtype("f4"), np.dtype("f8"))
    False
    """
    if expected == given:
        return True
    return expected.itemsize == given.itemsize and members_agree(expected, given)


def members_agree(expected: np.dtype, given: np.dtype) -> bool:
    """Whether the same numbers lie at the same offsets, whatever padding follows the last one.

    >>> members_agree(np.dtype([("x", "f8"), ("n", "i4")], align=True), np.dtype([("x", "f8"), ("n", "u4")]))
    True
    """
    if given.kind == "c" and expected.names is not None:
        part = np.dtype(f"f{given.itemsize // 2}")
        return [leaf for _, leaf in leaves_of(expected)] == [part, part]
    wanted, found = leaves_of(expected), leaves_of(given)
    return len(wanted) == len(found) and all(
        place == other_place and numbers_agree(leaf, other)
        for (place, leaf), (other_place, other) in zip(wanted, found, strict=True)
    )


def numbers_agree(expected: np.dtype, given: np.dtype) -> bool:
    """Whether the bits of a number of dtype `given` may be taken for one of dtype `expected`.

    Integers of one width may, whatever their sign; 16-bit floats may come as integers, which is how they travel where
    NumPy has no name for them; booleans and characters are bytes.

    >>> numbers_agree(np.dtype("u4"), np.dtype("i4")), numbers_agree(np.dtype("f4"), np.dtype("i4"))
    (True, False)
    """
    if expected == given:
        return True
    if expected.itemsize != given.itemsize:
        return False
    if expected.kind in "iu":
        return given.kind in ("iubS" if expected.itemsize == 1 else "iu")
    if expected.kind == "b":
        return given.kind in "iu"
    return expected.itemsize <= 2 and given.kind in "iu"


def leaves_of(dtype: np.dtype, offset: int = 0) -> list[tuple[int, np.dtype]]:
    """The numbers that an element is made of, with their byte offsets.

    >>> leaves_of(np.dtype([("x", "f4"), ("n", "i4", (2,))]))
    [(0, dtype('float32')), (4, dtype('int32')), (8, dtype('int32'))]
    """
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        count = int(np.prod(shape))
        return [leaf for i in range(count) for leaf in leaves_of(base, offset + i * base.itemsize)]
    if dtype.names is None or dtype.fields is None:
        return [(offset, dtype)]
    leaves: list[tuple[int, np.dtype]] = []
    for name in dtype.names:
        field = cast("Any", dtype.fields)[name]
        leaves += leaves_of(field[0], offset + field[1])
    return sorted(leaves, key=lambda leaf: leaf[0])


# -- values -----------------------------------------------------------------------------------------------------------


def _check_scalar(signature: KernelSignature, parameter: Parameter, value: object) -> np.generic:
    name, dtype = parameter.name, parameter.dtype
    if dtype is None:
        raise _fault(
            "WL0407", signature, f"parameter '{name}' has type {parameter.type_name}, which can't be passed from Python"
        )
    if dtype.kind == "b":
        if isinstance(value, bool | np.bool_) or (isinstance(value, int | np.integer) and value in (0, 1)):
            return np.bool_(value)
        raise _wrong_scalar(signature, parameter, value, f"bool({name})")
    if dtype.kind in "iu":
        if isinstance(value, float | np.floating | bool | np.bool_ | str | bytes):
            if isinstance(value, bool | np.bool_):
                return dtype.type(int(value))
            raise _wrong_scalar(signature, parameter, value, f"int({name})" if not isinstance(value, str) else None)
        try:
            number = operator.index(value)  # pyright: ignore[reportArgumentType]
        except TypeError:
            raise _wrong_scalar(signature, parameter, value, None) from None
        limits = np.iinfo(dtype)
        if not limits.min <= number <= limits.max:
            raise _fault(
                "WL0408",
                signature,
                f"argument '{name}' is {number}, which does not fit {parameter.type_name} "
                f"({limits.min} to {limits.max})",
            )
        return cast("np.generic", dtype.type(number))
    if not isinstance(value, int | float | np.integer | np.floating) and not _is_small_float(value):
        conversion = f"float({name})" if isinstance(value, numbers.Real | Decimal) else None
        raise _wrong_scalar(signature, parameter, value, conversion)
    try:
        number = float(value)  # pyright: ignore[reportArgumentType]
    except OverflowError:
        raise _fault(
            "WL0408", signature, f"argument '{name}' is {_shown(value)}, which overflows {parameter.type_name}"
        ) from None
    with np.errstate(over="ignore"):
        rounded = cast("np.generic", dtype.type(number))
    if np.isinf(np.float64(rounded)) and not np.isinf(number):  # pyright: ignore[reportArgumentType]
        raise _fault("WL0408", signature, f"argument '{name}' is {number}, which overflows {parameter.type_name}")
    return rounded


def _is_small_float(value: object) -> bool:
    """Whether it is a scalar of one of ml_dtypes' floats, which NumPy does not count as floating."""
    return isinstance(value, np.generic) and value.dtype.kind == "V" and value.dtype.names is None


def _check_record(signature: KernelSignature, parameter: Parameter, value: object) -> np.generic:
    name, dtype = parameter.name, parameter.dtype
    if dtype is None:
        raise _fault(
            "WL0407", signature, f"parameter '{name}' has type {parameter.type_name}, which can't be passed from Python"
        )
    record = np.zeros((), dtype)
    if isinstance(value, complex):
        value = np.array(value, f"c{dtype.itemsize}")[()] if dtype.itemsize in (8, 16) else value
    if isinstance(value, np.void | np.complexfloating):
        if members_agree(dtype, value.dtype):
            raw = value.tobytes()[: dtype.itemsize]
            return cast("np.generic", np.frombuffer(raw.ljust(dtype.itemsize, b"\0"), dtype)[0])
    elif isinstance(value, np.ndarray):
        array = cast("Array", value)
        if are_words_of(dtype, array.dtype) and array.nbytes == dtype.itemsize:
            return cast("np.generic", np.frombuffer(array.tobytes(), dtype)[0])
    elif isinstance(value, tuple | list | Mapping) and _fill(signature, parameter, record, value):
        return cast("np.generic", record[()])
    raise _fault(
        "WL0407",
        signature,
        f"argument '{name}' must be a {parameter.type_name} by value, got {_describe(value)}",
        notes=(f"its NumPy dtype is {dtype}",),
        help_=f"pass numpy.array((...), dtype)[()] with that dtype, or a tuple of its {len(dtype.names or ())} members",
    )


def _fill(signature: KernelSignature, parameter: Parameter, place: Array, value: Any) -> bool:
    """Put members into a zero-dimensional record or an array member; False where their number or names don't fit.

    Raises LaunchError for a number that does not fit its member.
    """
    names = place.dtype.names
    if names is None and not place.ndim:
        leaf = replace(parameter, kind="scalar", dtype=place.dtype, type_name=place.dtype.name)
        place[...] = check_argument(signature, leaf, value)
        return True
    keys: Sequence[Any] = range(len(place)) if place.ndim else cast("Sequence[Any]", names)
    if isinstance(value, Mapping) and not place.ndim:
        given = cast("Mapping[Any, Any]", value)
        if set(given) != set(keys):
            return False
        values = [given[key] for key in keys]
    elif isinstance(value, tuple | list | np.ndarray | np.void):
        values = list(cast("Sequence[Any]", value))
        if len(values) != len(keys):
            return False
    else:
        return False
    label = "{}[{}]" if place.ndim else "{}.{}"
    return all(
        _fill(
            signature,
            replace(parameter, name=label.format(parameter.name, key)),
            place[key, ...] if place.ndim else place[key],
            each,
        )
        for key, each in zip(keys, values, strict=True)
    )


def _wrong_scalar(
    signature: KernelSignature, parameter: Parameter, value: object, conversion: str | None
) -> LaunchError:
    return _fault(
        "WL0401" if isinstance(value, np.generic | int | float) else "WL0407",
        signature,
        f"argument '{parameter.name}' must be a number of type {parameter.type_name}, got {_describe(value)}",
        help_=None if conversion is None else f"convert it: {conversion}",
    )


def _as_array_help(parameter: Parameter, value: object) -> str | None:
    """How to make an array of what was given for a pointer, where there is a way."""
    dtype = _dtype_name(parameter.dtype)
    if isinstance(value, int | float | list | tuple) and parameter.dtype is not None:
        return f"make it an array: numpy.array({_shown(value)}, dtype={dtype})"
    if isinstance(value, bytes | bytearray | memoryview | ArrayOfNumbers):
        return f"see its memory as an array: numpy.frombuffer({parameter.name}, dtype={dtype})"
    if hasattr(value, "__array__") and not isinstance(value, np.generic):
        return f"make it an array: numpy.asarray({parameter.name})"
    return None


def _is_jax_value(value: object) -> bool:
    return type(value).__module__.startswith(("jax", "jaxlib"))


def _concrete(signature: KernelSignature, parameter: Parameter, value: Any) -> object:
    """The NumPy array that a JAX array is.

    Raises LaunchError (WL0409) for one that has no value yet, since JAX is tracing.
    """
    try:
        return np.asarray(value)
    except TypeError:
        raise _fault(
            "WL0409",
            signature,
            f"argument '{parameter.name}' is being traced by JAX and has no value yet; a launch on NumPy arrays "
            "runs at once",
            help_=f"use {signature.name}.jax(grid, block)(...), which becomes part of what is traced",
        ) from None


# -- wording ----------------------------------------------------------------------------------------------------------


def _fault(
    code: str, signature: KernelSignature, headline: str, notes: tuple[str, ...] = (), help_: str | None = None
) -> LaunchError:
    separator = " " if headline.startswith(("takes", "has no")) else ": "
    return LaunchError(Diagnostic(code, f"{signature.name}{separator}{headline}", notes=notes, help=help_))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _plain(dtype: np.dtype) -> str:
    if dtype.names is None:
        return dtype.name
    text = str(dtype)
    return text if len(text) <= LONGEST_DTYPE else f"a struct of {dtype.itemsize} bytes"


def _first_difference(expected: np.dtype, given: np.dtype) -> str:
    """Where memory of dtype `given` first is not what the struct `expected` has there."""
    wanted = leaves_of(expected)
    found = leaves_of(given) if given.names else [(i * given.itemsize, given) for i in range(len(wanted))]
    for (offset, leaf), (other_offset, other) in zip(wanted, found, strict=False):
        if offset != other_offset or not numbers_agree(leaf, other):
            return (
                f"member '{_member_at(expected, offset)}' is {leaf.name} at byte {offset}, "
                f"the array has {other.name} at byte {other_offset}"
            )
    return f"the struct has {expected.itemsize} bytes and {len(wanted)} numbers, the array's {given.itemsize} bytes"


def _member_at(dtype: np.dtype, offset: int) -> str:
    """The name of the number at a byte offset of a struct: `inner.weights[2]`."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        place = np.unravel_index(offset // base.itemsize, shape)
        rest = _member_at(base, offset % base.itemsize)
        return "".join(f"[{index}]" for index in place) + rest
    if dtype.names is None or dtype.fields is None:
        return ""
    fields = {name: cast("Any", dtype.fields)[name][:2] for name in dtype.names}
    name = max((each for each in fields if fields[each][1] <= offset), key=lambda each: fields[each][1])
    rest = _member_at(fields[name][0], offset - fields[name][1])
    return name + ("." if rest and not rest.startswith("[") else "") + rest


def _dtype_name(dtype: np.dtype | None) -> str:
    """How the dtype is written in Python."""
    if dtype is None:
        return "..."
    if dtype.kind == "V" and dtype.names is None:
        return f"ml_dtypes.{dtype.name}"
    return f"numpy.{dtype.name}" if dtype.names is None else str(dtype)


def _describe(value: object) -> str:
    if isinstance(value, np.ndarray):
        array = cast("Array", value)
        return f"an array of {array.dtype} with shape {array.shape}"
    if isinstance(value, np.generic):
        return f"{value} ({value.dtype})"
    return f"{_shown(value)} ({type(value).__name__})"


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
