"""Parameters of CuPy's elementwise and reduction kernels: as they are declared, and as C++ has them in one call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from windlass.diagnostics import Diagnostic, LaunchError
from windlass.dropins.arrays import Array
from windlass.dropins.templates import c_type

INDEX = "ptrdiff_t"
_OWN_TYPES = {"float16": "float16", "complex64": "complex<float>", "complex128": "complex<double>"}
"""What CuPy calls numbers that C++ has no word for."""
_PASSED_AS = {"float16": "__half"}


def cupy_type(dtype: np.dtype[Any]) -> str:
    """What CuPy's kernels call the numbers of a dtype.

    >>> cupy_type(np.dtype(np.complex64)), cupy_type(np.dtype(np.int8))
    ('complex<float>', 'signed char')
    """
    return _OWN_TYPES.get(dtype.name) or c_type(dtype)


@dataclass(frozen=True)
class Declared:
    """A parameter as CuPy spells it: `raw T x`. One letter is a dtype that the arguments decide."""

    type_name: str
    name: str
    is_raw: bool

    @property
    def is_generic(self) -> bool:
        return len(self.type_name) == 1


def read_parameters(text: str) -> tuple[Declared, ...]:
    """The parameters of a list such as "raw T x, float32 y".

    Raises LaunchError (WL0407) for what is no parameter, and for the name `i`, which is the number of the element.

    >>> [each.name for each in read_parameters("raw T x, float32 y")]
    ['x', 'y']
    """
    found: list[Declared] = []
    for part in filter(None, (each.strip() for each in text.split(","))):
        words = [word for word in part.split() if word != "_non_const"]
        is_raw = words[:1] == ["raw"]
        if len(words) != 2 + is_raw or not words[-1].isidentifier():
            raise LaunchError(
                Diagnostic(
                    "WL0407", f"'{part}' is no parameter", help='write a type and a name: "T x", "raw float32 y"'
                )
            )
        if words[-1] == "i":
            raise LaunchError(Diagnostic("WL0407", "no parameter may be called i, which is the number of the element"))
        found.append(Declared(words[-2], words[-1], is_raw))
    return tuple(found)


@dataclass
class Types:
    """What the letters stand for in one call."""

    known: dict[str, np.dtype[Any]] = field(default_factory=dict[str, np.dtype[Any]])

    @classmethod
    def of(cls, parameters: Iterable[Declared], arguments: Iterable[Any]) -> Types:
        """What the arguments tell, in their order.

        Raises LaunchError (WL0401) where an array has another type than its parameter.
        """
        types = cls()
        for declared, value in zip(parameters, arguments, strict=False):
            types._learn(declared, value)
        return types

    def _learn(self, declared: Declared, value: Any) -> None:
        if not isinstance(value, np.ndarray | np.generic):
            return
        if declared.is_generic:
            found = self.known.setdefault(declared.type_name, value.dtype)
        elif isinstance(value, np.ndarray):
            found = np.dtype(declared.type_name)
        else:
            return
        if found != value.dtype:
            already = f", but {declared.type_name} is {found} already" if declared.is_generic else f", not {found}"
            raise LaunchError(
                Diagnostic(
                    "WL0401",
                    f"{declared.name} is {value.dtype}{already}",
                    help=f"give {declared.name}.astype('{found}')",
                )
            )

    def dtype(self, declared: Declared) -> np.dtype[Any]:
        """The dtype of a parameter."""
        if not declared.is_generic:
            return np.dtype(declared.type_name)
        if declared.type_name not in self.known:
            raise LaunchError(
                Diagnostic(
                    "WL0401",
                    f"nothing says what {declared.type_name} is: {declared.name} has no dtype",
                    help="give an array or a NumPy number",
                )
            )
        return self.known[declared.type_name]

    def head(self, texts: Iterable[str], *, others: Iterable[np.dtype[Any]]) -> str:
        """The begin of a source that speaks of these types and of others."""
        names = {dtype.name for dtype in (*self.known.values(), *others)}
        includes = "#include <cupy/carray.cuh>\n"
        if names & {"complex64", "complex128"} or any("complex" in text for text in texts):
            includes += "#include <cupy/complex.cuh>\n"
        if "float16" in names or any("half" in text for text in texts):
            includes += "#include <cuda_fp16.h>\n"
        return includes + "".join(
            f"typedef {cupy_type(dtype)} {letter};\n" for letter, dtype in sorted(self.known.items())
        )


@dataclass
class Arguments:
    """What a kernel is given, and the lines of C++ that make the user's names of it."""

    parameters: list[str] = field(default_factory=list[str])
    values: list[Any] = field(default_factory=list[Any])
    before: list[str] = field(default_factory=list[str])
    """At the kernel's begin."""

    @property
    def text(self) -> str:
        return ", ".join(self.parameters)

    def _give(self, type_name: str, name: str, value: Any) -> str:
        self.parameters.append(f"{type_name}{name}")
        self.values.append(value)
        return name

    def add_number(self, name: str, value: Array) -> None:
        """A number, by value."""
        type_name = cupy_type(value.dtype)
        passed = self._give(f"const {_PASSED_AS.get(value.dtype.name, type_name)} ", f"_raw_{name}", value[()])
        self.before.append(f"const {type_name} {name}({passed});")

    def add_array(self, name: str, values: Array, *, is_const: bool) -> str:
        """An array in C order, as a pointer; the C++ that is the pointer to its numbers."""
        type_name = cupy_type(values.dtype)
        passed_as = _PASSED_AS.get(values.dtype.name, type_name)
        passed = self._give(f"{'const ' if is_const else ''}{passed_as} *", f"_raw_{name}", values.view(np.ndarray))
        return passed if passed_as == type_name else f"(({'const ' if is_const else ''}{type_name} *){passed})"

    def add_raw_array(self, name: str, values: Array, *, is_const: bool) -> None:
        """A raw array, as a `CArray`."""
        pointer = self.add_array(name, values, is_const=is_const)
        type_name = cupy_type(values.dtype)
        extents = self._extents(name, values.shape)
        self.before.append(
            f"{'const ' if is_const else ''}CArray<{type_name}, {values.ndim}> "
            f"{name}({', '.join((f'({type_name} *){pointer}', *extents))});"
        )

    def add_indexer(self, name: str, shape: Sequence[int]) -> None:
        """What gives the indices of an element."""
        extents = self._extents(name, shape)
        self.before.append(f"CIndexer<{len(shape)}> {name}{'(' + ', '.join(extents) + ')' if extents else ''};")

    def _extents(self, name: str, shape: Sequence[int]) -> list[str]:
        return [self._give(f"{INDEX} ", f"_{name}_{axis}", extent) for axis, extent in enumerate(shape)]


def element_of(declared: Declared, pointer: str, dtype: np.dtype[Any], place: str, *, is_const: bool) -> str:
    """The user's name for one element: a value that is read, or a reference."""
    type_name = cupy_type(dtype)
    if is_const:
        return f"const {type_name} {declared.name}({pointer}[{place}]);"
    return f"{type_name} &{declared.name} = {pointer}[{place}];"


def with_few_axes(shape: tuple[int, ...], arrays: Sequence[Array]) -> tuple[int, ...]:
    """The shape with axes made one wherever they are that in all arrays, which have been broadcast to it.

    So does CuPy with `reduce_dims=True`: indices of elements have that many axes.

    >>> x = np.ones((2, 3, 4))
    >>> with_few_axes((2, 3, 4), [x, x]), with_few_axes((2, 3, 4), [x.transpose(2, 0, 1).transpose(1, 2, 0), x])
    ((24,), (24,))
    >>> with_few_axes((2, 3), [np.ones((3, 2)).T])
    (2, 3)
    """
    if len(shape) <= 1:
        return shape
    if all(array.flags.c_contiguous for array in arrays):
        return (int(np.prod(shape, dtype=np.int64)),)
    extents, kept, last = list(shape), list[int](), -1
    for axis in range(len(shape)):
        if extents[axis] == 1:
            continue
        if last >= 0:
            if all(array.strides[axis] * extents[axis] == array.strides[last] for array in arrays):
                extents[axis] *= extents[last]
            else:
                kept.append(last)
        last = axis
    if last >= 0:
        kept.append(last)
    return tuple(extents[axis] for axis in kept)
