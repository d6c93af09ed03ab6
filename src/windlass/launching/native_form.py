"""Launches on NumPy arrays as native code: in place, nothing copied, on this machine's threads and vectors."""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from windlass.diagnostics import Diagnostic, RaisingError
from windlass.diagnostics.deferral import deferred
from windlass.launching.emulated_time import native_code_ends
from windlass.launching.form import Form, PreparedFunction, PreparedLaunch, Request
from windlass.launching.native_launch import (
    compile_launch,
    fault_error,
    known_integers,
    may_replace_emulator,
    with_native_reason,
)
from windlass.runtime.addresses import address_of
from windlass.runtime.arguments import check_argument, check_written

if TYPE_CHECKING:
    import windlass.native as native_code
    from windlass.ir.signature import KernelSignature, Parameter
    from windlass.launching import native_values
    from windlass.launching.loaded_kernel import LoadedKernel
    from windlass.launching.traced_launch import TracedLaunch
    from windlass.native import NativeCode
    from windlass.reports import report
    from windlass.runtime.launch_shape import LaunchShape
    from windlass.schedules import Schedule
else:
    native_code = deferred("windlass.native")
    native_values = deferred("windlass.launching.native_values")
    report = deferred("windlass.reports.report")

Array: TypeAlias = NDArray[Any]

NATIVE = "native"
_FLOATS = {
    np.dtype(np.float32): (struct.Struct("<f"), struct.Struct("<I")),
    np.dtype(np.float64): (struct.Struct("<d"), struct.Struct("<Q")),
}
"""How floats, and integers of their bits, are written."""


class NativeForm(Form, PreparedLaunch):
    """A kernel's native code, and where its arguments go. `known` are positions of numbers that stand in the code."""

    name = NATIVE

    __slots__ = ("_has_records", "_kernel", "_readers", "_runner", "_shape", "_variables")

    def __init__(self, kernel: LoadedKernel, shape: LaunchShape, code: NativeCode, known: Collection[int] = ()) -> None:
        self._kernel = kernel
        self._shape = shape
        self._runner = native_code.Runner(code)
        self._readers = tuple(
            _nothing_of if position in known else _reader_of(kernel.signature, parameter)
            for position, parameter in enumerate(kernel.signature.parameters)
        )
        self._has_records = any(each.kind == "record" for each in kernel.signature.parameters)
        self._variables = tuple(address_of(each) for each in kernel.variables().values())

    @property
    def code(self) -> NativeCode:
        return self._runner.code

    @classmethod
    def on_arrays(cls, launch: Request, reason: RaisingError | None) -> PreparedLaunch:
        kernel, shape = launch.kernel, launch.shape
        if reason is None:  # by the user's wish
            return _prepare_by_wish(launch)
        if not may_replace_emulator(reason) or not native_code_ends(shape, reason):
            raise reason
        try:
            prepared = prepare(launch)
        except native_code.NotNative as other:
            raise with_native_reason(reason, other) from None
        kernel.note_native(shape, reason)
        return prepared

    @classmethod
    def on_values(cls, launch: Request, reason: RaisingError | None) -> PreparedFunction:
        return native_values.prepare_on_values(launch, reason)

    @classmethod
    def on_traced(cls, launch: TracedLaunch, reason: RaisingError | None) -> None:
        native_values.launch_traced(launch, reason)

    def run(self, arguments: Sequence[Any]) -> None:
        given = [read(argument) for read, argument in zip(self._readers, arguments, strict=True)]
        # Structs lie in memory of their own, which lives as long as this list.
        words = (
            [address_of(each) if isinstance(each, np.ndarray) else each for each in given]
            if self._has_records
            else given
        )
        fault = self._runner.run((*words, *self._variables))
        if fault is not None:
            raise fault_error(self._kernel, fault, arguments)


def _prepare_by_wish(launch: Request) -> NativeForm:
    kernel = launch.kernel
    try:
        prepared = prepare(launch)
    except native_code.NotNative as reason:
        raise kernel.with_source(reason.as_error(kernel.name)) from None
    kernel.note_native(launch.shape)
    return prepared


def raised_instead() -> RaisingError:
    """Why a launch that could run as native code does not: nobody is told."""
    return RaisingError(Diagnostic("WL0301", "it runs faster, or as fast, as a tensor program"))


def examine(launch: Request, reason: RaisingError) -> report.Report:
    """The report on a launch that is not raised: whether it runs as native code, and if not why."""
    kernel, shape = launch.kernel, launch.shape
    if not may_replace_emulator(reason):
        return report.Report(kernel.name, shape, reason)
    try:
        compile_launch(launch)
    except native_code.NotNative as other:
        return report.Report(kernel.name, shape, with_native_reason(reason, other))
    return report.Report(kernel.name, shape, reason, is_native=True)


def prepare(launch: Request, *, is_independent: bool = False, schedule: Schedule | None = None) -> NativeForm:
    """The native form of a launch, its loops as the schedule says. `is_independent` says that its threads may run in
    any order.

    Raises NotNative where there is none, LaunchError for an array that is written and may not be, WindlassError
    (WL0807) for a schedule that would change what the kernel does.
    """
    kernel = launch.kernel
    code = compile_launch(launch, is_independent=is_independent, schedule=schedule)
    signature = kernel.signature
    for position in sorted(kernel.written):
        array = launch.arguments[position]
        if isinstance(array, np.ndarray):
            check_written(signature, signature.parameters[position], cast("Array", array))
    return NativeForm(kernel, launch.shape, code, known_integers(launch))


# -- arguments --------------------------------------------------------------------------------------------------------

Read: TypeAlias = Callable[[Any], Any]
"""Gives what the code takes of an argument: the bits of a number, an address, or the bytes of a struct as an array."""


def _nothing_of(_: Any) -> int:
    """Of an integer that the code is made for, which it does not read."""
    return 0


def _address_of_argument(argument: Array | None) -> int:
    return 0 if argument is None else address_of(argument)


def _reader_of(signature: KernelSignature, parameter: Parameter) -> Read:
    if parameter.kind == "pointer":
        return _address_of_argument
    if parameter.kind == "record":
        return lambda argument: np.frombuffer(_bytes_of(signature, parameter, argument), np.uint8)
    dtype = parameter.dtype
    if dtype is None or dtype not in _FLOATS:
        return lambda argument: int.from_bytes(_bytes_of(signature, parameter, argument), "little")
    floats, words = _FLOATS[dtype]
    pack, unpack, plain = floats.pack, words.unpack, (float, dtype.type)

    def read_float(argument: Any) -> int:
        if type(argument) in plain:
            try:
                return unpack(pack(argument))[0]
            except OverflowError:
                pass  # the check below says so in more words
        return int.from_bytes(_bytes_of(signature, parameter, argument), "little")

    return read_float


def _bytes_of(signature: KernelSignature, parameter: Parameter, argument: Any) -> bytes:
    return bytes(cast("np.generic", check_argument(signature, parameter, argument)).tobytes())
