"""The native code of a launch: when it may run, what it is compiled for, errors of threads that leave an array."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from windlass.diagnostics import Diagnostic, EmulationError, RaisingError
from windlass.diagnostics.deferral import deferred
from windlass.loops.launch_specification import LaunchSpecification, PointerArgument, TracedScalar
from windlass.parallel.specialization import specialize
from windlass.raising import FAULTS, RACE
from windlass.runtime.call_key import overlaps
from windlass.runtime.memories import WIDEST_VECTOR, root_offset
from windlass.runtime.settings import (
    fallback_is_allowed,
    first_calls_are_checked,
    native_code_is_allowed,
    vector_functions_are_allowed,
)

if TYPE_CHECKING:
    import windlass.native as native_code
    import windlass.schedules.loops as schedules
    from windlass.ir import Function
    from windlass.launching.form import Request
    from windlass.launching.loaded_kernel import LoadedKernel
    from windlass.native import Fault, LaunchFacts, MemoryFacts, NativeCode
    from windlass.schedules import Schedule
else:
    native_code = deferred("windlass.native")
    schedules = deferred("windlass.schedules.loops")

Array: TypeAlias = NDArray[Any]

_DEFECT = "WL0417"


def may_replace_emulator(reason: RaisingError) -> bool:
    """Whether a launch that is not raised for this reason may run as native code: not where the emulator has something
    to tell of it, where users are told of a defect or race, or where they want it raised."""
    code = reason.diagnostics[0].code
    is_told = code in FAULTS or code in (RACE, _DEFECT)
    return not is_told and fallback_is_allowed() and native_code_is_allowed() and not first_calls_are_checked()


def with_native_reason(reason: RaisingError, other: native_code.NotNative) -> RaisingError:
    """Why a launch is not raised, and why it does not run as native code either."""
    first, *rest = reason.diagnostics
    where = f" at {other.position}" if other.position is not None else ""
    note = f"it does not run as native code either: {other.reason}{where}"
    found = RaisingError(replace(first, notes=(*first.notes, note)), *rest)
    found.__cause__ = reason.__cause__
    return found


def compile_launch(
    launch: Request,
    *,
    facts: LaunchFacts | None = None,
    is_independent: bool = False,
    schedule: Schedule | None = None,
) -> NativeCode:
    """The native code for a launch, for what is known of its memories; by default that of its NumPy arrays.

    Raises NotNative where there is none.
    """
    return compile_with_function(launch, facts=facts, is_independent=is_independent, schedule=schedule)[1]


def compile_with_function(
    launch: Request,
    *,
    facts: LaunchFacts | None = None,
    is_independent: bool = False,
    schedule: Schedule | None = None,
) -> tuple[Function, NativeCode]:
    """As `compile_launch`, with the function of the loop level that the code is made of."""
    kernel, shape = launch.kernel, launch.shape
    if kernel.texture_uses or kernel.has_textures_known:
        raise native_code.NotNative("it uses textures or surfaces", kernel.signature.position)
    known = known_integers(launch)
    uncounted: frozenset[str] = frozenset()
    _structured(kernel, uncounted)
    facts = facts or facts_of(launch)
    while True:
        special = specialize(_structured(kernel, uncounted), shape.grid, shape.block, known)
        if schedule is not None:
            special = schedules.schedule_loops(special, schedule, _specification_of(launch))
        try:
            # Code of blocks whose threads meet is made of pieces, into which it takes the function apart.
            return special, native_code.compile_kernel(special.clone(), facts, is_independent=is_independent)
        except native_code.UncountedLoop as loop:
            uncounted |= {loop.loop}
        except native_code.NotNative:
            raise
        except Exception as defect:  # ours, which must not take the user's result away
            raise native_code.NotNative(told_of_defect(defect), special.source) from defect


def told_of_defect(defect: Exception) -> str:
    """The reason why there is no native code where we failed."""
    try:
        told = (str(defect).splitlines() or [""])[0]
    except Exception:  # it holds an op that is gone, and can't be told
        told = ""
    return f"a defect of Windlass ({type(defect).__name__}: {told})"


def specialized(launch: Request) -> Function:
    """The kernel at the loop level with the numbers of a launch in it.

    Raises NotNative where it can't be brought to it.
    """
    shape = launch.shape
    return specialize(_structured(launch.kernel, frozenset()), shape.grid, shape.block, known_integers(launch))


def known_integers(launch: Request) -> dict[int, np.integer | np.bool_]:
    """The numbers that the code is made for, by position."""
    return {
        position: argument
        for position, (parameter, argument) in enumerate(
            zip(launch.kernel.signature.parameters, launch.arguments, strict=True)
        )
        if parameter.kind == "scalar" and position not in launch.traced and isinstance(argument, np.integer | np.bool_)
    }


def _structured(kernel: LoadedKernel, uncounted: frozenset[str]) -> Function:
    try:
        return kernel.structured(uncounted)
    except RaisingError as error:
        first = error.diagnostics[0]
        reason = f"it can't be brought to the loop level: {first.headline}"
        raise native_code.NotNative(reason, first.position) from None


def _arrays_of(launch: Request) -> dict[int, Array]:
    """The arrays of a launch, by position."""
    parameters = launch.kernel.signature.parameters
    return {
        position: cast("Array", argument)
        for position, (parameter, argument) in enumerate(zip(parameters, launch.arguments, strict=True))
        if parameter.kind == "pointer" and argument is not None
    }


def _specification_of(launch: Request) -> LaunchSpecification:
    """The launch as schedules ask for it: its size, and which pointers go into one memory."""
    parameters, shape = launch.kernel.signature.parameters, launch.shape
    arrays = _arrays_of(launch)
    places = overlaps(list(arrays.values())) or [(number, 0) for number in range(len(arrays))]
    pointers = dict(zip(arrays, itertools.starmap(PointerArgument, places), strict=True))
    unknown = TracedScalar("i32")
    arguments = tuple(pointers.get(position, unknown) for position in range(len(parameters)))
    return LaunchSpecification(shape.grid, shape.block, 0, arguments, ())


def facts_of(launch: Request) -> LaunchFacts:
    """What a launch on NumPy arrays tells of its memories."""
    kernel = launch.kernel
    parameters = kernel.signature.parameters
    variables = kernel.variables()
    arrays: dict[Any, Array] = {**_arrays_of(launch), **variables}
    places = overlaps(list(arrays.values()))
    groups: list[int | None] = [None] * len(arrays) if places is None else [group for group, _ in places]
    alone = {key: group is None or groups.count(group) == 1 for key, group in zip(arrays, groups, strict=True)}

    def memory_of(key: Any) -> MemoryFacts:
        array = arrays[key]
        # Views may begin anywhere; where no vectors are read the key of a launch does not say where.
        is_known = bool(array.flags.owndata) or kernel.alignment > 1
        alignment = WIDEST_VECTOR if is_known else array.dtype.itemsize & -array.dtype.itemsize
        return native_code.MemoryFacts(array.nbytes, alignment, root_offset(array) % alignment, alone[key])

    memories: list[MemoryFacts | None] = []
    for position, parameter in enumerate(parameters):
        if parameter.kind == "record":
            memories.append(native_code.MemoryFacts(parameter.size, WIDEST_VECTOR))
        elif parameter.kind == "pointer":
            memories.append(memory_of(position) if position in arrays else native_code.MemoryFacts(0, WIDEST_VECTOR))
        else:
            memories.append(None)
    shape = launch.shape
    return native_code.LaunchFacts(
        (*shape.grid, *shape.block),
        tuple(memories),
        tuple((name, memory_of(name)) for name in variables),
        is_exact=not vector_functions_are_allowed(),
        shared_bytes=shape.shared_bytes,
        names=tuple(f"'{parameter.name}'" for parameter in parameters),
    )


# -- faults -----------------------------------------------------------------------------------------------------------


def fault_error(
    kernel: LoadedKernel, fault: Fault, arguments: Sequence[Any], *, is_in_place: bool = True
) -> EmulationError:
    """The error for an access that left its memory, in the emulator's words; arrays that are worked on in place keep
    what was written."""
    site = fault.site
    access = f"{site.verb} of {site.size} byte{'s' if site.size != 1 else ''}"
    place = f"block {fault.block}, thread {fault.thread}"
    array = None if site.argument is None else arguments[site.argument]
    is_null = site.argument is not None and array is None
    code, headline = "WL0602", f"{access} out of bounds"
    if is_null:
        headline = f"{access} through a null pointer"
    elif fault.is_misaligned:
        code, headline = "WL0609", f"{access} at an address that is no multiple of {site.alignment}"
    if isinstance(array, np.ndarray) and array.dtype.itemsize:
        item = array.dtype.itemsize
        index = f"element {fault.byte // item}" + (f" (byte {fault.byte % item} of it)" if fault.byte % item else "")
        kind = f"records of {item} bytes" if array.dtype.names else f"elements of {array.dtype}"
        where = f"{index} of {site.memory}, which has {array.size} {kind}"
    elif is_null:
        where = f"{site.memory} is None"
    else:
        size = "" if site.memory_bytes is None else f", which has {site.memory_bytes} bytes"
        where = f"byte {fault.byte} of {site.memory}{size}"
    return EmulationError(
        kernel.with_source_lines(
            Diagnostic(
                code,
                headline,
                site.position,
                notes=(
                    f"in kernel {kernel.name}, {place}",
                    where,
                    "it ran as native code" + (", and arrays keep what was written until then" if is_in_place else ""),
                ),
            )
        )
    )
