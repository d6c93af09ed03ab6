"""Kernel arguments in checked memory: each array in a piece of its own, arrays that overlap in one common piece."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from windlass.diagnostics import Diagnostic, EmulationError
from windlass.emulator.library import EmulatorLibrary
from windlass.emulator.module import ARGUMENT, CONSTANT, VARIABLE, MemoryPiece, as_pointer
from windlass.ir.signature import KernelSignature, Parameter

_GUARD = 16 << 30


@dataclass
class BoundArguments:
    """What a launch passes, and what has to be copied back and freed after it."""

    values: list[bytes] = field(default_factory=list[bytes])
    memories: list[MemoryPiece] = field(default_factory=list[MemoryPiece])
    arrays: dict[str, tuple[np.ndarray, int]] = field(default_factory=dict[str, tuple[np.ndarray, int]])
    """By parameter: the caller's array and the address of its copy."""
    pieces: list[tuple[int, int, int]] = field(default_factory=list[tuple[int, int, int]])
    """Address, size and guard of what is freed after the launch."""
    variables: set[int] = field(default_factory=set[int])
    """Addresses of the device variables that arrays lie in: also constant ones are ordinary memory then."""

    def pointers(self) -> tuple[Any, list[Any]]:
        """An array of pointers to the values, and what must be kept alive while it is used."""
        buffers = [ctypes.create_string_buffer(value, max(len(value), 16)) for value in self.values]
        return (ctypes.c_void_p * max(1, len(buffers)))(*map(ctypes.addressof, buffers)), buffers

    def copy_back(self, written: set[int]) -> None:
        """Puts the contents of memories that the kernel wrote (given by address) into the caller's arrays."""
        for array, address in self.arrays.values():
            memory = next(memory for memory in self.memories if 0 <= address - memory.address <= memory.size)
            if memory.address in written and array.nbytes:
                ctypes.memmove(as_pointer(array), address, array.nbytes)

    def free(self, library: EmulatorLibrary) -> None:
        for start, size, guard in self.pieces:
            library.free(start, size, guard)
        self.pieces = []


def bind_arguments(
    library: EmulatorLibrary,
    signature: KernelSignature,
    arguments: Sequence[object],
    variables: Sequence[MemoryPiece] = (),
) -> BoundArguments:
    """Copies arrays to checked memory and packs scalars and records as C would.

    Arrays that lie in the memory of device variables stay where they are.

    Raises EmulationError (WL0601) where an argument does not fit its parameter.
    """
    parameters = signature.parameters
    if len(arguments) != len(parameters):
        names = ", ".join(parameter.name for parameter in parameters)
        raise _misfit(
            signature,
            f"{signature.name} takes {len(parameters)} arguments, {len(arguments)} were given",
            f"it takes ({names})",
        )
    bound = BoundArguments()
    arrays: list[tuple[Parameter, np.ndarray]] = []
    for parameter, argument in zip(parameters, arguments, strict=True):
        if parameter.kind == "pointer" and argument is not None:
            arrays.append((parameter, _as_array(signature, parameter, argument)))
    in_place: dict[str, int] = {}
    for parameter, array in arrays:
        home = _variable_of(array, variables)
        if home is not None:
            in_place[parameter.name] = as_pointer(array)
            bound.variables.add(home.address)
    _place_arrays(library, bound, [entry for entry in arrays if entry[0].name not in in_place])
    addresses = in_place | {name: address for name, (_, address) in bound.arrays.items()}
    for parameter, argument in zip(parameters, arguments, strict=True):
        if parameter.kind == "pointer":
            address = addresses[parameter.name] if argument is not None else 0
            bound.values.append(address.to_bytes(8, "little"))
        else:
            bound.values.append(_pack(signature, parameter, argument))
    return bound


def _variable_of(array: np.ndarray, variables: Sequence[MemoryPiece]) -> MemoryPiece | None:
    """The device variable that an array is, or is a view into."""
    start = as_pointer(array)
    for each in variables:
        is_inside = each.address <= start and start + array.nbytes <= each.address + each.size
        if is_inside and array.nbytes and each.kind in (VARIABLE, CONSTANT):
            return each
    return None


def _misfit(signature: KernelSignature, headline: str, *notes: str) -> EmulationError:
    return EmulationError(Diagnostic("WL0601", headline, signature.position, notes=notes))


def _as_array(signature: KernelSignature, parameter: Parameter, argument: object) -> np.ndarray:
    if not isinstance(argument, np.ndarray):
        raise _misfit(
            signature, f"parameter '{parameter.name}' of {signature.name} is a pointer: it takes a NumPy array or None"
        )
    if not argument.flags.c_contiguous:
        raise _misfit(
            signature,
            f"the array for parameter '{parameter.name}' of {signature.name} is not contiguous",
            "device memory has no strides; pass a contiguous copy",
        )
    if not argument.flags.writeable and not parameter.is_const:
        raise _misfit(signature, f"the array for parameter '{parameter.name}' of {signature.name} is read-only")
    return argument


def _root_offset(array: np.ndarray) -> int:
    """How far an array begins from the buffer that it is a view of: that is what its alignment depends on."""
    root = array
    while isinstance(root.base, np.ndarray):
        root = root.base
    return as_pointer(array) - as_pointer(root)


def _granule_shift(arrays: Sequence[np.ndarray]) -> int:
    """log2 of the largest power of two, at most 8 bytes, that divides all element sizes and distances."""
    first = as_pointer(arrays[0])
    bits = 8
    for array in arrays:
        bits |= array.dtype.itemsize | (as_pointer(array) - first)
    return (bits & -bits).bit_length() - 1


def _place_arrays(
    library: EmulatorLibrary, bound: BoundArguments, arrays: Sequence[tuple[Parameter, np.ndarray]]
) -> None:
    ordered = sorted(arrays, key=lambda entry: as_pointer(entry[1]))
    groups: list[list[tuple[Parameter, np.ndarray]]] = []
    end = 0
    for entry in ordered:
        start = as_pointer(entry[1])
        if groups and start < end and entry[1].nbytes:
            groups[-1].append(entry)
        else:
            groups.append([entry])
        end = max(end, start + entry[1].nbytes)
    for group in groups:
        start = as_pointer(group[0][1])
        size = max(as_pointer(array) + array.nbytes for _, array in group) - start
        shift = _root_offset(group[0][1]) % 256
        piece, guard = library.place(size + shift, _GUARD)
        bound.pieces.append((piece, size + shift, guard))
        names = " and ".join(f"'{parameter.name}'" for parameter, _ in group)
        shift_of_granule = _granule_shift([array for _, array in group])
        bound.memories.append(MemoryPiece(names, piece + shift, size, ARGUMENT, shift_of_granule))
        for parameter, array in group:
            address = piece + shift + as_pointer(array) - start
            bound.arrays[parameter.name] = (array, address)
            if array.nbytes:
                ctypes.memmove(address, as_pointer(array), array.nbytes)


def _pack(signature: KernelSignature, parameter: Parameter, argument: object) -> bytes:
    if isinstance(argument, np.ndarray) and argument.shape:
        raise _misfit(
            signature, f"parameter '{parameter.name}' of {signature.name} is passed by value: it takes no array"
        )
    try:
        if parameter.dtype is None or (parameter.kind == "record" and isinstance(argument, np.void | np.ndarray)):
            packed = np.asarray(argument).tobytes()
        else:
            packed = np.asarray(argument, parameter.dtype).tobytes()
    except (TypeError, ValueError, OverflowError) as error:
        raise _misfit(
            signature,
            f"the value for parameter '{parameter.name}' of {signature.name} is no {parameter.type_name}",
            str(error),
        ) from error
    if len(packed) != parameter.size:
        raise _misfit(
            signature,
            f"the value for parameter '{parameter.name}' of {signature.name} has {len(packed)} bytes, "
            f"{parameter.type_name} has {parameter.size}",
        )
    return packed
