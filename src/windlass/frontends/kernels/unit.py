"""What the text of one kernel has beside its own body: functions, records, constants and exceptions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from windlass.diagnostics import Position
from windlass.frontends.kernels.names import cpp_name
from windlass.frontends.kernels.records import record_text
from windlass.frontends.kernels.types import HeldType, KernelArray, KernelNumber, Record, Tuple, from_dtype
from windlass.frontends.kernels.values import literal


@dataclass(frozen=True)
class RaisedException:
    """An exception that a kernel may raise: its class, arguments, and where."""

    exception: Any
    arguments: tuple[Any, ...]
    position: Position


@dataclass
class CalledFunction:
    """A Python function that is part of the text, for one choice of types."""

    name: str
    result: HeldType
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
    functions: dict[Any, CalledFunction] = field(default_factory=dict[Any, CalledFunction])
    _records: dict[Record, str] = field(default_factory=dict[Record, str])
    _constants: dict[tuple[Any, ...], str] = field(default_factory=dict[tuple[Any, ...], str])
    calls: list[tuple[Any, str]] = field(default_factory=list[tuple[Any, str]])
    kept: list[Any] = field(default_factory=list[Any])

    def notes(self) -> tuple[str, ...]:
        """Through which calls the function in translation is reached."""
        return tuple(note for _, note in reversed(self.calls[1:]) if note)

    def enter(self, key: tuple[Any, ...], note: str) -> None:
        """Begin with a function; what it calls is translated before it ends."""
        self.calls.append((key, note))

    def note_record(self, record: Record) -> None:
        """A record that is used: its structure is part of the text."""
        if record in self._records:
            return
        for dtype, *_ in (record.dtype.fields or {}).values():
            inner = from_dtype(dtype.base if dtype.subdtype is not None else dtype)
            if isinstance(inner, Record):
                self.note_record(inner)
        self._records[record] = record_text(record)

    def note_type(self, type_: HeldType) -> None:
        """All records that a type has in it."""
        match type_:
            case Record():
                self.note_record(type_)
            case KernelArray(dtype=Record() as record):
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
                assert isinstance(part, KernelNumber)
                values = ", ".join(f"{{{literal(each.real, part)}, {literal(each.imag, part)}}}" for each in pairs)
            self.parts.append(f"__constant__ {number.cpp} {found}_data[{max(array.size, 1)}] = {{{values}}};")
        return f"(({from_dtype(array.dtype).cpp} *){self._constants[key]}_data)"

    def exception(self, exception: Any, arguments: tuple[Any, ...], position: Position) -> int:
        """The number that stands for an exception."""
        entry = RaisedException(exception, arguments, position)
        if entry not in self.exceptions:
            self.exceptions.append(entry)
        return self.exceptions.index(entry) + 1

    def head(self) -> str:
        """What comes before all functions."""
        lines = ['#include "windlass_python.h"']
        if self.uses_grid_sync:
            lines.append("#include <cooperative_groups.h>")
        if self.uses_dynamic_shared:
            lines.append("extern __shared__ __align__(16) unsigned char windlass_dynamic_shared[];")
        lines += self._records.values()
        return "\n".join(lines)
