"""The emulator behind kernels: `wl.emulate`, the fallback of launches, and the check mode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias, cast, overload

import numpy as np
from numpy.typing import NDArray

from windlass.diagnostics import Diagnostic, LaunchError, WindlassError
from windlass.launching.loaded_kernel import LoadedKernel
from windlass.launching.records import takes_pointers_in_records, with_pointers_apart
from windlass.launching.texture_forms import EmulatedTextures, read_textures, textures_in_memory
from windlass.runtime.arguments import check_argument, leaves_of, order_arguments
from windlass.runtime.launch_shape import LaunchShape, read_launch_shape
from windlass.runtime.memories import bytes_of, overlap

Array: TypeAlias = NDArray[Any]

RELATIVE_TOLERANCE = {2: 2e-2, 4: 2e-4, 8: 1e-9}
"""By size of float: a reduction's order may differ, operations may not."""


class Emulable(Protocol):
    """What knows itself how it is run in the emulator: a function of C."""

    def emulated(self, *arguments: Any, **named: Any) -> Any:
        """The call in the emulator."""


class EmulatedKernel:
    """A kernel in the emulator: `wl.emulate(kernel)[grid, block](*arguments)`, NumPy arrays updated in place."""

    def __init__(self, kernel: LoadedKernel) -> None:
        self.kernel = kernel

    def __getitem__(self, brackets: Any) -> Callable[..., None]:
        shape = read_launch_shape(self.kernel.signature, brackets)

        def launch(*arguments: Any, **named: Any) -> None:
            emulate_launch(self.kernel, shape, order_arguments(self.kernel.signature, arguments, named))

        return launch

    def __repr__(self) -> str:
        return f"<{self.kernel!r} emulated>"


@overload
def emulate(kernel: LoadedKernel) -> EmulatedKernel: ...
@overload
def emulate(kernel: Emulable) -> Callable[..., Any]: ...
def emulate(kernel: LoadedKernel | Emulable) -> EmulatedKernel | Callable[..., Any]:
    """The kernel run thread by thread: the reference, which also finds races and accesses out of bounds.

    A function of C is called as it is itself: `wl.emulate(function)(*arguments)`.
    """
    if not hasattr(kernel, "signature"):
        raise LaunchError(
            Diagnostic("WL0407", f"wl.emulate takes a kernel, got {kernel!r}", help="write wl.emulate(module['name'])")
        )
    return EmulatedKernel(kernel) if isinstance(kernel, LoadedKernel) else kernel.emulated


def emulate_launch(
    kernel: LoadedKernel, shape: LaunchShape, arguments: Sequence[Any], *, finds_races: bool = True
) -> None:
    """Run one launch in the emulator.

    With `finds_races`, races and uninitialized reads are errors; without, the threads of a block simply take turns, as
    on a device that happens to run them in order.

    Raises EmulationError where the kernel itself is wrong.
    """
    if takes_pointers_in_records(kernel) and not kernel.texture_uses:
        kernel, arguments = with_pointers_apart(kernel, arguments)
    signature = kernel.signature
    variables = kernel.module.variables
    textures = EmulatedTextures({}, [], [])
    if kernel.texture_uses:
        textures = textures_in_memory(kernel, read_textures(kernel, arguments))
        arguments = [textures.values.get(position, argument) for position, argument in enumerate(arguments)]
        for reference, value in textures.values.items():
            if isinstance(reference, str):
                variables.storage[reference][...] = value
    checked = [
        check_argument(signature, parameter, argument)
        for parameter, argument in zip(signature.parameters, arguments, strict=True)
    ]
    kernel.module.emulator.launch(
        signature,
        shape.grid,
        shape.block,
        checked,
        shape.shared_bytes,
        detect_races=finds_races,
        detect_uninitialized=finds_races,
        memories=textures.memories,
    )


def compare_with_emulator(
    kernel: LoadedKernel, shape: LaunchShape, arguments: Sequence[Any], run: Callable[[Sequence[Any]], None]
) -> None:
    """Run a compiled form on the arguments, and the emulator on copies; they have to agree.

    Raises WindlassError (WL0414) that names the array, the place and both values.
    """
    difference = run_both(kernel, arguments, run, lambda copies: emulate_launch(kernel, shape, copies))
    if difference is not None:
        name, (place, got, wanted) = difference
        raise WindlassError(
            Diagnostic(
                "WL0414",
                f"{kernel.name}: the compiled form and the emulator differ in '{name}' at {place}: {got}, "
                f"the emulator has {wanted}",
                kernel.signature.position,
                notes=(f"launched with grid {shape.grid} and block {shape.block}",),
                help="does the kernel have a race? then both are right; else this is a defect of Windlass",
            )
        )


def run_both(
    kernel: LoadedKernel,
    arguments: Sequence[Any],
    run: Callable[[Sequence[Any]], None],
    other: Callable[[Sequence[Any]], None],
) -> tuple[str, tuple[int, Any, Any]] | None:
    """Run a launch on the arguments, and in another way on copies; gives the first array that differs, and where."""
    copies, copied_variables = copy_overlapping(kernel, arguments), _copied(kernel)
    run(arguments)
    results = dict(_named_arrays(kernel, arguments))
    after = _copied(kernel)
    _restore(kernel, copied_variables)
    other(copies)
    expected = dict(_named_arrays(kernel, copies))
    expected.update(_copied(kernel))
    results.update(after)
    _restore(kernel, after)
    for name, array in results.items():
        difference = first_difference(array, expected[name])
        if difference is not None:
            return name, difference
    return None


def first_difference(got: Array, wanted: Array) -> tuple[int, Any, Any] | None:
    """The first place (flat, in numbers) where two arrays differ by more than a change of summation order explains."""
    offset = 0
    itemsize = got.dtype.itemsize
    count = got.size
    for offset, dtype in leaves_of(got.dtype):
        first = _column(got, offset, dtype, itemsize, count)
        second = _column(wanted, offset, dtype, itemsize, count)
        if dtype.kind in "fcV":
            wide = np.complex128 if dtype.kind == "c" else np.float64
            a, b = first.astype(wide), second.astype(wide)
            tolerance = RELATIVE_TOLERANCE.get(dtype.itemsize // (2 if dtype.kind == "c" else 1), 1e-1)
            with np.errstate(all="ignore"):
                scale = np.max(np.abs(b[np.isfinite(b)]), initial=0.0)
                close = np.abs(a - b) <= tolerance * np.abs(b) + tolerance * 1e-2 * scale
            same = close | (a == b) | (np.isnan(a) & np.isnan(b))
        else:
            same = first == second
        if not same.all():
            place = int(np.argmin(same))
            return place, first[place], second[place]
    return None


def _column(array: Array, offset: int, dtype: np.dtype, itemsize: int, count: int) -> Array:
    raw = bytes_of(np.ascontiguousarray(array)).reshape(count, itemsize)
    return np.ascontiguousarray(raw[:, offset : offset + dtype.itemsize]).view(dtype).reshape(-1)


def _named_arrays(kernel: LoadedKernel, arguments: Sequence[Any]) -> list[tuple[str, Array]]:
    return [
        (parameter.name, cast("Array", argument))
        for parameter, argument in zip(kernel.signature.parameters, arguments, strict=True)
        if parameter.kind == "pointer" and argument is not None and not lies_in_variable(kernel, argument)
    ]


def lies_in_variable(kernel: LoadedKernel, argument: Any) -> bool:
    """Whether an array lies in a device variable: variables are copied, restored and compared by themselves."""
    return (
        isinstance(argument, np.ndarray)
        and not argument.flags.owndata
        and any(overlap(argument, variable) for variable in kernel.module.variables.storage.values())
    )


def copy_overlapping(kernel: LoadedKernel, arguments: Sequence[Any]) -> list[Any]:
    """Copies that overlap as the originals do: views into copies of the spans of memory that they cover.

    Arrays in device variables are no copies.
    """
    kept = {index for index, each in enumerate(arguments) if lies_in_variable(kernel, each)}
    arrays = [
        (index, each)
        for index, each in enumerate(arguments)
        if isinstance(each, np.ndarray) and each.nbytes and index not in kept
    ]
    copies = [
        each.copy() if isinstance(each, np.ndarray) and index not in kept else each
        for index, each in enumerate(arguments)
    ]
    spans = sorted(
        (array.__array_interface__["data"][0], array.nbytes, index, cast("Array", array)) for index, array in arrays
    )
    group: list[tuple[int, int, int, Array]] = []
    end = -1
    for span in [*spans, (2**64, 0, -1, np.empty(0))]:
        if group and span[0] >= end:
            start = group[0][0]
            buffer = np.empty(end - start, np.uint8)
            for address, size, _, array in group:
                buffer[address - start : address - start + size] = bytes_of(array)
            for address, size, index, array in group:
                if len(group) > 1:
                    piece = buffer[address - start : address - start + size]
                    copies[index] = piece.view(array.dtype).reshape(array.shape)
            group = []
        group.append(span)
        end = max(end, span[0] + span[1]) if len(group) > 1 else span[0] + span[1]
    return copies


def _copied(kernel: LoadedKernel) -> dict[str, Array]:
    return {name: array.copy() for name, array in kernel.module.variables.storage.items()}


def _restore(kernel: LoadedKernel, values: dict[str, Array]) -> None:
    for name, array in kernel.module.variables.storage.items():
        array[...] = values[name]
