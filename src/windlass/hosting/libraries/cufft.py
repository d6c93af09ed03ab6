"""cuFFT: transforms of one to three axes, in batches, with any layout. None of them is scaled.

    forward: X[k] = sum over j of x[j] exp(-2 pi i j k / n);  inverse: the same with +

A real array of which the last axis has n elements has n // 2 + 1 elements of its transform there. In the basic layout
in place, rows of real numbers are padded to the length of the complex ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from windlass.hosting.libraries.routines import Address, Failure, Library, LibraryError, Option, Result
from windlass.hosting.libraries.session import Call, Stateful, real_dtype
from windlass.hosting.libraries.tensor_programs import tensor_program

INVALID_TYPE, INVALID_SIZE = 3, 8
MOST_AXES = 3
VERSION = (11, 2, 6)
SIZE = np.dtype(np.uint64)
cufft = Library(
    "cuFFT",
    {
        Failure.uninitialized: 1,
        Failure.invalid: 4,
        Failure.illegal_access: 6,
        Failure.unsupported: 16,
        Failure.failed: 5,
    },
)


class TransformKind(Option):
    """From what to what is transformed."""

    R2C = 0x2A
    C2R = 0x2C
    C2C = 0x29
    D2Z = 0x6A
    Z2D = 0x6C
    Z2Z = 0x69

    @property
    def complex_dtype(self) -> np.dtype[Any]:
        """The dtype of the complex side."""
        return np.dtype(np.complex64 if self < TransformKind.Z2Z else np.complex128)

    @property
    def is_from_real(self) -> bool:
        """Whether real numbers are transformed."""
        return self in (TransformKind.R2C, TransformKind.D2Z)

    @property
    def is_to_real(self) -> bool:
        """Whether real numbers are the result."""
        return self in (TransformKind.C2R, TransformKind.Z2D)


@dataclass(frozen=True)
class TransformLayout:
    """Where elements lie: the extents of the array that the axes are embedded in, and steps between elements."""

    extents: tuple[int, ...]
    step: int
    distance: int


@dataclass
class Shape:
    """What a plan transforms."""

    kind: TransformKind
    extents: tuple[int, ...]
    count: int
    source: TransformLayout | None = None
    target: TransformLayout | None = None
    """None is the basic layout."""


class TransformPlan(Stateful):
    """What cufftCreate and the functions that plan make."""

    def __init__(self) -> None:
        self.shape: Shape | None = None


# -- as tensor programs -----------------------------------------------------------------------------------------------


@tensor_program("axes", "is_inverse")
def transform(x: Any, axes: int, is_inverse: bool) -> Any:
    """Complex to complex, over the last axes."""
    lengths = x.shape[-axes:]
    if is_inverse:
        # What XLA calls the inverse is scaled, which would round once more.
        return jnp.conj(lax.fft(jnp.conj(x), lax.FftType.FFT, lengths))
    return lax.fft(x, lax.FftType.FFT, lengths)


@tensor_program("axes")
def transform_real(x: Any, axes: int) -> Any:
    """Real to complex, over the last axes."""
    return lax.fft(x, lax.FftType.RFFT, x.shape[-axes:])


@tensor_program("lengths")
def transform_to_real(x: Any, lengths: tuple[int, ...]) -> Any:
    """Complex to real, over the last axes."""
    return lax.fft(x, lax.FftType.IRFFT, lengths) * math.prod(lengths)


# -- plans ------------------------------------------------------------------------------------------------------------


def make(call: Call, plan: TransformPlan, shape: Shape) -> None:
    """Set what a plan transforms."""
    if not 1 <= len(shape.extents) <= MOST_AXES or min(*shape.extents, shape.count) < 1:
        raise LibraryError(Failure.invalid, f"sizes {shape.extents}, {shape.count} times", INVALID_SIZE)
    plan.shape = shape


def create_plan(call: Call, place: Result, shape: Shape) -> None:
    """Make a plan and give its handle, an int."""
    plan = TransformPlan()
    make(call, plan, shape)
    call.put(place, call.session.keep(plan), np.dtype(np.int32))


def put_work_size(call: Call, place: Result) -> None:
    """There is no work area."""
    if place:
        call.put(place, 0, SIZE)


@cufft.routine("cufftCreate")
def create(call: Call, place: Result) -> None:
    call.put(place, call.session.keep(TransformPlan()), np.dtype(np.int32))


@cufft.routine("cufftDestroy")
def destroy(call: Call, plan: TransformPlan) -> None:
    call.session.drop(plan)


@cufft.routine("cufftPlan1d")
def plan_1d(call: Call, place: Result, n: int, kind: TransformKind, count: int) -> None:
    create_plan(call, place, Shape(kind, (n,), count))


@cufft.routine("cufftPlan2d")
def plan_2d(call: Call, place: Result, n0: int, n1: int, kind: TransformKind) -> None:
    create_plan(call, place, Shape(kind, (n0, n1), 1))


@cufft.routine("cufftPlan3d")
def plan_3d(call: Call, place: Result, n0: int, n1: int, n2: int, kind: TransformKind) -> None:
    create_plan(call, place, Shape(kind, (n0, n1, n2), 1))


@cufft.routine("cufftMakePlan1d")
def make_plan_1d(call: Call, plan: TransformPlan, n: int, kind: TransformKind, count: int, size: Result) -> None:
    make(call, plan, Shape(kind, (n,), count))
    put_work_size(call, size)


@cufft.routine("cufftMakePlan2d")
def make_plan_2d(call: Call, plan: TransformPlan, n0: int, n1: int, kind: TransformKind, size: Result) -> None:
    make(call, plan, Shape(kind, (n0, n1), 1))
    put_work_size(call, size)


@cufft.routine("cufftMakePlan3d")
def make_plan_3d(call: Call, plan: TransformPlan, n0: int, n1: int, n2: int, kind: TransformKind, size: Result) -> None:
    make(call, plan, Shape(kind, (n0, n1, n2), 1))
    put_work_size(call, size)


def read_shape(
    call: Call,
    rank: int,
    extents: Address,
    source: tuple[Address, int, int],
    target: tuple[Address, int, int],
    kind: TransformKind,
    count: int,
    dtype: Any = np.int32,
) -> Shape:
    """The shape that arrays on the host describe."""
    if not 1 <= rank <= MOST_AXES:
        raise LibraryError(Failure.invalid, f"{rank} axes", INVALID_SIZE)
    lengths = tuple(int(each) for each in call.host_array("n", extents, rank, dtype))
    layouts: list[TransformLayout | None] = []
    for name, (embedding, step, distance) in (("inembed", source), ("onembed", target)):
        if embedding:
            whole = tuple(int(each) for each in call.host_array(name, embedding, rank, dtype))
            layouts.append(TransformLayout(whole, step, distance))
        else:
            layouts.append(None)
    # One that is missing makes both basic.
    if None in layouts:
        layouts = [None, None]
    return Shape(kind, lengths, count, *layouts)


@cufft.routine("cufftPlanMany")
def plan_many(
    call: Call,
    place: Result,
    rank: int,
    extents: Address,
    embedding_in: Address,
    step_in: int,
    distance_in: int,
    embedding_out: Address,
    step_out: int,
    distance_out: int,
    kind: TransformKind,
    count: int,
) -> None:
    source, target = (embedding_in, step_in, distance_in), (embedding_out, step_out, distance_out)
    create_plan(call, place, read_shape(call, rank, extents, source, target, kind, count))


@cufft.routine("cufftMakePlanMany")
@cufft.routine("cufftMakePlanMany64")
def make_plan_many(
    call: Call,
    plan: TransformPlan,
    rank: int,
    extents: Address,
    embedding_in: Address,
    step_in: int,
    distance_in: int,
    embedding_out: Address,
    step_out: int,
    distance_out: int,
    kind: TransformKind,
    count: int,
    size: Result,
) -> None:
    source, target = (embedding_in, step_in, distance_in), (embedding_out, step_out, distance_out)
    dtype = np.int64 if call.routine.name.endswith("64") else np.int32
    make(call, plan, read_shape(call, rank, extents, source, target, kind, count, dtype))
    put_work_size(call, size)


XT_KINDS = {
    (0, 4): TransformKind.R2C,
    (4, 0): TransformKind.C2R,
    (4, 4): TransformKind.C2C,
    (1, 5): TransformKind.D2Z,
    (5, 1): TransformKind.Z2D,
    (5, 5): TransformKind.Z2Z,
}
"""By cudaDataType_t of input and output."""


@cufft.routine("cufftXtMakePlanMany")
def make_plan_many_of_types(
    call: Call,
    plan: TransformPlan,
    rank: int,
    extents: Address,
    embedding_in: Address,
    step_in: int,
    distance_in: int,
    type_in: int,
    embedding_out: Address,
    step_out: int,
    distance_out: int,
    type_out: int,
    count: int,
    size: Result,
    execution: int,
) -> None:
    if (type_in, type_out) not in XT_KINDS:
        raise call.refuse(f"transforms from cudaDataType {type_in} to {type_out} are not supported")
    source, target = (embedding_in, step_in, distance_in), (embedding_out, step_out, distance_out)
    kind = XT_KINDS[type_in, type_out]
    make(call, plan, read_shape(call, rank, extents, source, target, kind, count, np.int64))
    put_work_size(call, size)


@cufft.routine("cufftEstimate1d")
@cufft.routine("cufftEstimate2d")
def estimate(call: Call, first: int, second: int, third: int, size: Result) -> None:
    put_work_size(call, size)


@cufft.routine("cufftEstimate3d")
def estimate_3d(call: Call, n0: int, n1: int, n2: int, kind: TransformKind, size: Result) -> None:
    put_work_size(call, size)


@cufft.routine("cufftGetSize")
def get_size(call: Call, plan: TransformPlan, size: Result) -> None:
    put_work_size(call, size)


@cufft.routine("cufftSetStream")
def set_stream(call: Call, plan: TransformPlan, stream: int) -> None:
    plan.stream = stream


@cufft.routine("cufftSetWorkArea")
def set_work_area(call: Call, plan: TransformPlan, area: int) -> None:
    """There is no work area."""


@cufft.routine("cufftSetAutoAllocation")
def set_auto_allocation(call: Call, plan: TransformPlan, is_automatic: int) -> None:
    """There is nothing to allocate."""


@cufft.routine("cufftGetVersion")
def get_version(call: Call, place: Result) -> None:
    call.put(place, VERSION[0] * 1000 + VERSION[1] * 100 + VERSION[2], np.dtype(np.int32))


@cufft.routine("cufftGetProperty")
def get_property(call: Call, kind: int, place: Result) -> None:
    call.require(0 <= kind < len(VERSION), f"{kind} is no property")
    call.put(place, VERSION[kind], np.dtype(np.int32))


# -- transforms -------------------------------------------------------------------------------------------------------


def view_side(
    call: Call, name: str, address: Address, shape: Shape, layout: TransformLayout | None, is_real: bool, is_half: bool,
    is_padded: bool,
) -> Any:  # fmt: skip
    """One side of a transform: batch and axes."""
    *outer, last = shape.extents
    extents = (*outer, last // 2 + 1) if is_half else (*outer, last)
    if layout is None:
        row = 2 * (last // 2 + 1) if is_padded else extents[-1]
        whole = (*outer, row)
        layout = TransformLayout(whole, 1, math.prod(whole))
    steps = [layout.step]
    for extent in layout.extents[:0:-1]:
        steps.insert(0, steps[0] * extent)
    dtype = real_dtype(shape.kind.complex_dtype) if is_real else shape.kind.complex_dtype
    return call.view(name, address, (shape.count, *extents), (layout.distance, *steps), dtype)


def execute(
    call: Call, plan: TransformPlan, source: Address, target: Address, direction: int, wanted: tuple[TransformKind, ...]
) -> None:
    """Do what a plan says, if it is of one of the kinds that are wanted."""
    shape = plan.shape
    if shape is None:
        raise LibraryError(Failure.uninitialized, "the plan is not made yet")
    if shape.kind not in wanted:
        raise LibraryError(Failure.invalid, f"the plan is for {shape.kind.name}", INVALID_TYPE)
    kind, axes = shape.kind, len(shape.extents)
    is_in_place = source == target
    has_half = kind.is_from_real or kind.is_to_real
    sides = [
        view_side(call, name, address, shape, layout, is_real, has_half and not is_real, is_in_place and is_real)
        for name, address, layout, is_real in (
            ("idata", source, shape.source, kind.is_from_real),
            ("odata", target, shape.target, kind.is_to_real),
        )
    ]
    if kind.is_from_real:
        result = transform_real(sides[0], axes=axes)
    elif kind.is_to_real:
        result = transform_to_real(sides[0], lengths=shape.extents)
    else:
        call.require(direction in (-1, 1), f"{direction} is no direction")
        result = transform(sides[0], axes=axes, is_inverse=direction == 1)
    sides[1][...] = result


@cufft.routine("cufftExecC2C")
@cufft.routine("cufftExecZ2Z")
def execute_complex(call: Call, plan: TransformPlan, source: Address, target: Address, direction: int) -> None:
    execute(call, plan, source, target, direction, (TransformKind[call.routine.name[-3:]],))


@cufft.routine("cufftExecR2C")
@cufft.routine("cufftExecD2Z")
@cufft.routine("cufftExecC2R")
@cufft.routine("cufftExecZ2D")
def execute_real(call: Call, plan: TransformPlan, source: Address, target: Address) -> None:
    execute(call, plan, source, target, 0, (TransformKind[call.routine.name[-3:]],))


@cufft.routine("cufftXtExec")
def execute_any(call: Call, plan: TransformPlan, source: Address, target: Address, direction: int) -> None:
    execute(call, plan, source, target, direction, tuple(TransformKind))
