"""From a Python function and the types of its arguments to CUDA C++ text."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from windlass.diagnostics import CompilationError, Diagnostic, Position
from windlass.frontends.kernels.body import Body
from windlass.frontends.kernels.indexing import record_text
from windlass.frontends.kernels.names import cpp_name
from windlass.frontends.kernels.source import FunctionSource, read_function
from windlass.frontends.kernels.statements import FunctionTranslator
from windlass.frontends.kernels.types import (
    Array,
    Known,
    NoneType,
    Number,
    Record,
    Signature,
    Tuple,
    Type,
    from_dtype,
    none,
)
from windlass.frontends.kernels.values import NONE, UNKNOWN, Unusable, Value, convert_number, literal

INCLUDE_FOLDER = Path(__file__).parent / "include"
DEEPEST = 60


@dataclass(frozen=True)
class RaisedException:
    """An exception that a kernel may raise: its class, arguments, and where."""

    exception: Any
    arguments: tuple[Any, ...]
    position: Position


@dataclass(frozen=True)
class CompiledFunction:
    """A Python function as C++: the text, and what the launch has to add to the arguments.

    With `takes_shared_bytes` one more parameter is the size of dynamic shared memory; with `exceptions` one more is an
    array of seven integers for the exception that was raised: its number among them, from 1, thread and block.
    """

    name: str
    text: str
    takes_shared_bytes: bool
    prints: bool
    exceptions: tuple[RaisedException, ...]
    files: tuple[str, ...]
    """The Python files that its functions stand in."""


@dataclass
class _Function:
    name: str
    result: Type
    can_fail: bool


@dataclass
class Unit:
    """The functions, records and constants that one kernel needs."""

    is_debugged: bool
    parts: list[str] = field(default_factory=list[str])
    uses_dynamic_shared: bool = False
    uses_grid_sync: bool = False
    prints: bool = False
    files: list[str] = field(default_factory=list[str])
    exceptions: list[RaisedException] = field(default_factory=list[RaisedException])
    _functions: dict[Any, _Function] = field(default_factory=dict[Any, _Function])
    _records: dict[Record, str] = field(default_factory=dict[Record, str])
    _constants: dict[tuple[Any, ...], str] = field(default_factory=dict[tuple[Any, ...], str])
    _stack: list[tuple[Any, str]] = field(default_factory=list[tuple[Any, str]])
    _kept: list[Any] = field(default_factory=list[Any])

    def notes(self) -> tuple[str, ...]:
        """Through which calls the function in translation is reached."""
        return tuple(note for _, note in reversed(self._stack[1:]) if note)

    def enter(self, key: tuple[Any, ...], note: str) -> None:
        """Begin with a function; what it calls is translated before it ends."""
        self._stack.append((key, note))

    def note_record(self, record: Record) -> None:
        """A record that is used: its structure is part of the text."""
        if record in self._records:
            return
        for dtype, *_ in (record.dtype.fields or {}).values():
            inner = from_dtype(dtype.base if dtype.subdtype is not None else dtype)
            if isinstance(inner, Record):
                self.note_record(inner)
        self._records[record] = record_text(record)

    def note_type(self, type_: Type) -> None:
        """All records that a type has in it."""
        match type_:
            case Record():
                self.note_record(type_)
            case Array(dtype=Record() as record):
                self.note_record(record)
            case Tuple(types):
                for each in types:
                    self.note_type(each)
            case _:
                return

    def constant(self, array: np.ndarray[Any, Any], name: str) -> str:
        """The name of a constant array."""
        contiguous = np.ascontiguousarray(array)
        key = (contiguous.dtype.str, contiguous.shape, contiguous.tobytes())
        if key not in self._constants:
            number = from_dtype(array.dtype)
            self._constants[key] = found = (
                f"{cpp_name(name) if name.isidentifier() else 'constant'}_{len(self._constants)}"
            )
            if isinstance(number, Record):
                self.note_record(number)
                octets = ", ".join(map(str, contiguous.tobytes())) or "0"
                size = max(contiguous.nbytes, 1)
                self.parts.append(f"__constant__ __align__(16) unsigned char {found}_data[{size}] = {{{octets}}};")
                return f"(({number.cpp} *){found}_data)"
            values = ", ".join(literal(value, number) for value in contiguous.reshape(-1).tolist()) or "0"
            if number.kind == "c":
                pairs = contiguous.reshape(-1).tolist()
                part = from_dtype(np.float32 if number.bits == 64 else np.float64)
                assert isinstance(part, Number)
                values = ", ".join(f"{{{literal(each.real, part)}, {literal(each.imag, part)}}}" for each in pairs)
            self.parts.append(f"__constant__ {number.cpp} {found}_data[{max(array.size, 1)}] = {{{values}}};")
        return f"(({from_dtype(array.dtype).cpp} *){self._constants[key]}_data)"

    def exception(self, exception: Any, arguments: tuple[Any, ...], position: Position) -> int:
        """The number that stands for an exception."""
        entry = RaisedException(exception, arguments, position)
        if entry not in self.exceptions:
            self.exceptions.append(entry)
        return self.exceptions.index(entry) + 1

    # -- functions ----------------------------------------------------------------------------------------------------

    def function(
        self, caller: Body, node: ast.Call, function: Any, positional: list[Value], named: dict[str, Value]
    ) -> tuple[str, list[str], Type, bool]:
        """Make a call of a function ready: its name, its arguments, its result's type, and whether it may raise."""
        source = read_function(function)
        values = _bind(caller, node, source, positional, named)
        wanted = _signature_of(function, values)
        if wanted is not None:
            values = [
                _as_declared(caller, node, value, type_) for value, type_ in zip(values, wanted.arguments, strict=True)
            ]
        key = (
            source.function.__code__,
            tuple(map(id, source.closure.values())),
            tuple((value.type, _key_of(value), value.is_nonnegative) for value in values),
            None if wanted is None else wanted.result,
        )
        if any(key == running or running[0] is key[0] for running, _ in self._stack):
            raise caller.refuse(node, f"'{source.name}' calls itself", "write the recursion as a loop")
        if len(self._stack) > DEEPEST:
            raise caller.refuse(node, f"calls are nested more than {DEEPEST} deep")
        found = self._functions.get(key)
        if found is None:
            self._kept.append(function)
            self.enter(key, f"called at {caller.source.position(node)}")
            found = self._functions[key] = self._compile(source, values, None if wanted is None else wanted.result)
            self._stack.pop()
        arguments = [text for value in values for text in value.leaves]
        if found.can_fail:
            arguments.append("windlass_failed")
            if self.is_debugged:
                arguments.append("windlass_error")
        return found.name, arguments, found.result, found.can_fail

    def _compile(self, source: FunctionSource, values: list[Value], declared: Type | None) -> _Function:
        name = f"{cpp_name(source.name)}_{len(self._functions)}_{len(self.parts)}"
        self.files.append(source.file)
        translator = FunctionTranslator(self, source)
        parameters: list[str] = []
        for parameter, value in zip(source.parameters, values, strict=True):
            self.note_type(value.type)
            leaves = value.type.leaves()
            names = tuple(f"{cpp_name(parameter.arg)}_p{place}" for place in range(len(leaves)))
            parameters += [f"{cpp} {leaf}" for cpp, leaf in zip(leaves, names, strict=True)]
            translator.out.names |= dict.fromkeys(names, source)
            inside = value if isinstance(value.type, Known | NoneType) else replace(value, leaves=names)
            if isinstance(value.type, Number) and not value.is_constant:
                inside = replace(inside, bits=_full_bits(value.type))
            assert translator.names is not None
            translator.names[parameter.arg] = inside
        translator.translate()
        result = translator.result()
        if isinstance(declared, Number) and isinstance(result, Number) and (declared.kind == "c" or result.kind != "c"):
            result = declared
        if isinstance(result, Unusable | Known) or (isinstance(result, Tuple) and not result.leaves()):
            raise translator.mistyped(
                source.tree, f"what '{source.name}' returns can't be used: it is {_reason(result)}"
            )
        translator.finish_returns(result)
        can_fail = translator.can_fail
        if can_fail:
            parameters.append("bool &windlass_failed")
            if self.is_debugged:
                parameters.append("long long *windlass_error")
        leaves = result.leaves()
        returned = "void" if not leaves else leaves[0] if len(leaves) == 1 else f"{name}_result"
        text: list[str] = []
        if len(leaves) > 1:
            members = " ".join(f"{cpp} v{place};" for place, cpp in enumerate(leaves))
            text.append(f"struct {name}_result {{ {members} }};")
        text.append(f'#line {source.tree.lineno} "{translator.out.file}"')
        text.append(f"WINDLASS_PYTHON {returned} {name}({', '.join(parameters)}) {{")
        body = translator.out.text()
        text.append(body.replace("return windlass_nothing;", "return {};" if leaves else "return;"))
        text.append("}")
        self.parts.append("\n".join(text))
        return _Function(name, result, can_fail)

    def head(self) -> str:
        """What comes before all functions."""
        lines = ['#include "windlass_python.h"']
        if self.uses_grid_sync:
            lines.append("#include <cooperative_groups.h>")
        if self.uses_dynamic_shared:
            lines.append("extern __shared__ __align__(16) unsigned char windlass_dynamic_shared[];")
        lines += self._records.values()
        return "\n".join(lines)


def _signature_of(function: Any, values: list[Value]) -> Signature | None:
    """The signature that a function was declared with and that these arguments fit best."""
    declared = [each for each in getattr(function, "signatures", ()) if isinstance(each, Signature)]
    fitting: list[tuple[int, Signature]] = []
    for each in declared:
        if len(each.arguments) == len(values):
            costs = [_cost(value.type, type_) for value, type_ in zip(values, each.arguments, strict=True)]
            if None not in costs:
                fitting.append((sum(cost for cost in costs if cost is not None), each))
    return min(fitting, key=lambda pair: pair[0])[1] if fitting else declared[0] if declared else None


def _cost(have: Type, want: Type) -> int | None:
    match have, want:
        case Number(), Number() if want.kind == "c" or have.kind != "c":
            return 0 if have == want else 1 if np.can_cast(have.dtype, want.dtype) else 10
        case Array(), Array():
            return 0 if have.dtype == want.dtype and have.ndim == want.ndim else None
        case _:
            return 0 if have == want else None


def _as_declared(caller: Body, node: ast.Call, value: Value, type_: Type) -> Value:
    if isinstance(type_, Array) and _cost(value.type, type_) == 0:
        return value
    if _cost(value.type, type_) is None:
        raise caller.mistyped(node, f"the function is declared for {type_}, and gets {value.type}")
    if isinstance(type_, Number) and value.type != type_:
        return caller.compute(node, type_, convert_number(value, type_))
    return value


def _reason(type_: Type) -> str:
    return type_.reason if isinstance(type_, Unusable) else str(type_)


def _key_of(value: Value) -> Any:
    """Functions are compiled for each set of known integers that they are called with: these may be shapes in them."""
    return id(value.constant) if isinstance(value.type, Known) else repr(value.constant)


def _full_bits(number: Number) -> int:
    return number.bits - (number.kind == "i") if number.is_integral else 64


def _bind(
    caller: Body, node: ast.Call, source: FunctionSource, positional: list[Value], named: dict[str, Value]
) -> list[Value]:
    """The arguments of a call, one for each parameter."""
    names = [parameter.arg for parameter in source.parameters]
    if len(positional) > len(names):
        raise caller.mistyped(node, f"'{source.name}' takes {len(names)} arguments, got {len(positional)}")
    given = dict(zip(names, positional, strict=False))
    for name, value in named.items():
        if name not in names or name in given:
            raise caller.mistyped(node, f"'{source.name}' has no free parameter '{name}'")
        given[name] = value
    defaults = {
        name: each.default
        for name, each in inspect.signature(source.function).parameters.items()
        if each.default is not inspect.Parameter.empty
    }
    for name in names:
        if name not in given:
            if name not in defaults:
                raise caller.mistyped(node, f"'{source.name}' is called without its argument '{name}'")
            given[name] = caller.frozen(node, defaults[name], name)
    return [given[name] for name in names]


def compile_function(
    function: Callable[..., Any], types: Sequence[Type], *, is_debugged: bool = False
) -> CompiledFunction:
    """The CUDA C++ text of a kernel written in Python, for arguments of these types.

    Parameters of the C++ kernel are the arguments' leaves: for an array its pointer, then its extents, then the strides
    in elements unless it is in C or F order. With `is_debugged` exceptions that the kernel raises are noted.

    Raises CompilationError (WL0110 to WL0113) with the Python file's line and column.
    """
    source = read_function(function)
    if len(types) != len(source.parameters):
        raise CompilationError(
            Diagnostic(
                "WL0113",
                f"'{source.name}' takes {len(source.parameters)} arguments, got {len(types)}",
                source.position(source.tree),
            )
        )
    unit = Unit(is_debugged)
    unit.enter((source.function.__code__,), "")
    translator = FunctionTranslator(unit, source)
    translator.is_kernel = True
    name = cpp_name(source.name)
    parameters: list[str] = []
    assert translator.names is not None
    for parameter, type_ in zip(source.parameters, types, strict=True):
        unit.note_type(type_)
        names = parameter_names(cpp_name(parameter.arg), type_)
        parameters += [f"{cpp} {leaf}" for cpp, leaf in zip(type_.leaves(), names, strict=True)]
        translator.out.names |= dict.fromkeys(names, source)
        if isinstance(type_, NoneType):
            translator.names[parameter.arg] = NONE
        else:
            bits = _full_bits(type_) if isinstance(type_, Number) else 64
            is_nonnegative = isinstance(type_, Number) and type_.kind in "bu"
            translator.names[parameter.arg] = Value(type_, names, UNKNOWN, is_nonnegative, bits)
    translator.translate()
    translator.finish_returns(none)
    if unit.uses_dynamic_shared:
        parameters.append("long long windlass_shared_bytes")
    if unit.exceptions:
        parameters.append("long long *windlass_error")
    text = [
        unit.head(),
        *unit.parts,
        f'#line {source.tree.lineno} "{translator.out.file}"',
        "__global__ void",
        f'#line {source.tree.lineno} "{translator.out.file}"',
        f"{name}({', '.join(parameters)}) {{",
        "bool windlass_failed = false;" if translator.can_fail else "",
        translator.out.text(),
        "}",
    ]
    return CompiledFunction(
        name,
        "\n".join(text) + "\n",
        unit.uses_dynamic_shared,
        unit.prints,
        tuple(unit.exceptions),
        tuple(dict.fromkeys([source.file, *unit.files])),
    )


def parameter_names(name: str, type_: Type) -> tuple[str, ...]:
    """The names of the C++ parameters of an argument.

    >>> from windlass.frontends.kernels.types import float32
    >>> parameter_names("a", float32[:, ::1]), parameter_names("n", float32)
    (('a', 'a_shape0', 'a_shape1'), ('n',))
    """
    if isinstance(type_, Array):
        strides = [f"{name}_stride{axis}" for axis in range(type_.ndim)] if type_.layout == "A" else []
        return (name, *(f"{name}_shape{axis}" for axis in range(type_.ndim)), *strides)
    if isinstance(type_, Tuple):
        return tuple(
            leaf for place, each in enumerate(type_.types) for leaf in parameter_names(f"{name}_{place}", each)
        )
    return (name,) * len(type_.leaves())
