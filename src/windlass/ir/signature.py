"""What a kernel takes: the facts that the front end, the emulator and the launcher share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from windlass.diagnostics import Position


@dataclass(frozen=True)
class Parameter:
    """One parameter of a kernel, as the source declares it.

    `kind` is "pointer" (device memory), "scalar" (a number by value) or "record" (a struct by value).
    `dtype` is the NumPy dtype of the scalar or record, or of what the pointer points to (structured for structs and
    vector types, with the C offsets and padding); None for `void *` and for types that NumPy can't hold.
    `size` and `alignment` are those of the parameter itself, in bytes: 8 for a pointer.
    `shape` are the fixed inner extents of a pointer to arrays: `double (*)[4][3]` has (4, 3).
    `pointers` are the pointers in a struct by value.
    """

    name: str
    type_name: str
    kind: Literal["pointer", "scalar", "record"]
    dtype: np.dtype | None
    size: int
    alignment: int
    is_const: bool = False
    shape: tuple[int, ...] = ()
    pointers: tuple[PointerMember, ...] = ()


@dataclass(frozen=True)
class PointerMember:
    """A pointer in a struct by value: the way to it (names of members, places in arrays), and its byte offset.

    `parameter` describes it as if the kernel took it by itself; its name is the way as C writes it: "mesh.sides[1]".
    """

    path: tuple[str | int, ...]
    offset: int
    parameter: Parameter


@dataclass(frozen=True)
class KernelSignature:
    """A kernel's names and parameters. `name` is readable ("axpy<float>"), `mangled` is the linker's name."""

    name: str
    mangled: str
    parameters: tuple[Parameter, ...]
    position: Position | None = None
    max_threads: int | None = None
    """From `__launch_bounds__`, where the source has it."""
    shared_bytes: int = 0
    """What its `__shared__` variables take, without what the launch gives."""


@dataclass(frozen=True)
class DeviceVariable:
    """A `__device__` or `__constant__` variable at namespace scope, or a texture or surface reference.

    The value of a reference is the object that it is bound to; `type_name` says what it gives.
    """

    name: str
    mangled: str
    dtype: np.dtype | None
    shape: tuple[int, ...]
    size: int
    space: Literal["global", "shared", "constant", "texture", "surface"]
    position: Position | None = None
    type_name: str = ""


@dataclass(frozen=True)
class DeviceCode:
    """A translation unit's device side: LLVM IR text (LLVM 22, nvptx64, debug positions) and what it holds."""

    llvm_ir: str
    kernels: tuple[KernelSignature, ...]
    variables: tuple[DeviceVariable, ...] = ()
    source_text: dict[str, str] = field(default_factory=dict[str, str])
    """Text of source files that are not on disk (source given as a string), by the name in debug positions."""
    templates: tuple[str, ...] = ()
    """Names of kernel templates without an instance."""

    def source_line(self, position: Position | None) -> str | None:
        """The text of a line of a source that was given as text; None for files, which are read from disk.

        >>> code = DeviceCode("", (), source_text={"wave.cu": "// a wave\\nint x;"})
        >>> code.source_line(Position("wave.cu", 2))
        'int x;'
        """
        text = None if position is None else self.source_text.get(position.file)
        if position is None or text is None:
            return None
        lines = text.splitlines()
        return lines[position.line - 1] if 0 < position.line <= len(lines) else None
