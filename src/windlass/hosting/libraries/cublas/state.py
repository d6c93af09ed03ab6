"""cuBLAS's handles, options and statuses, and its copies between host and device."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from windlass.hosting.libraries.routines import Address, Failure, Library, Option, Result
from windlass.hosting.libraries.session import Call, Stateful

STATUS_TEXTS = {
    0: ("CUBLAS_STATUS_SUCCESS", "success"),
    1: ("CUBLAS_STATUS_NOT_INITIALIZED", "the library was not initialized"),
    3: ("CUBLAS_STATUS_ALLOC_FAILED", "the resource allocation failed"),
    7: ("CUBLAS_STATUS_INVALID_VALUE", "an invalid value was used as an argument"),
    8: ("CUBLAS_STATUS_ARCH_MISMATCH", "an absent device architectural feature is required"),
    11: ("CUBLAS_STATUS_MAPPING_ERROR", "an access to GPU memory space failed"),
    13: ("CUBLAS_STATUS_EXECUTION_FAILED", "the function failed to launch on the GPU"),
    14: ("CUBLAS_STATUS_INTERNAL_ERROR", "an internal operation failed"),
    15: ("CUBLAS_STATUS_NOT_SUPPORTED", "the functionality is not supported"),
    16: ("CUBLAS_STATUS_LICENSE_ERROR", "a license error was detected"),
}
cublas = Library(
    "cuBLAS",
    {
        Failure.uninitialized: 1,
        Failure.invalid: 7,
        Failure.illegal_access: 13,
        Failure.unsupported: 15,
        Failure.failed: 14,
    },
)
VERSION = (12, 6, 0)


class Operation(Option):
    """What is done to a matrix before it is used."""

    N = 0
    T = 1
    C = 2


class Fill(Option):
    """Which triangle of a matrix is used."""

    LOWER = 0
    UPPER = 1
    FULL = 2


class DiagonalType(Option):
    """Whether a triangular matrix has ones on its diagonal, whatever is stored there."""

    NON_UNIT = 0
    UNIT = 1


class Side(Option):
    """On which side of the other a matrix stands in a product."""

    LEFT = 0
    RIGHT = 1


class Handle(Stateful):
    """What cublasCreate makes."""

    def __init__(self) -> None:
        self.pointer_mode = 0
        self.math_mode = 0
        self.atomics_mode = 0


@cublas.routine("cublasCreate")
def create(call: Call, place: Result) -> None:
    call.give(place, Handle())


@cublas.routine("cublasDestroy")
def destroy(call: Call, handle: Handle) -> None:
    call.session.drop(handle)


@cublas.routine("cublasSetStream")
def set_stream(call: Call, handle: Handle, stream: int) -> None:
    # The handle must not be bound to its stream before this call is through.
    handle.stream = stream


@cublas.routine("cublasGetStream")
def get_stream(call: Call, handle: Handle, place: Result) -> None:
    call.put(place, handle.stream, np.dtype(np.uint64))


@cublas.routine("cublasSetWorkspace")
def set_workspace(call: Call, handle: Handle, workspace: Address, size: int) -> None:
    call.require(size >= 0, "the workspace's size is negative")


@cublas.routine("cublasSetPointerMode")
def set_pointer_mode(call: Call, handle: Handle, mode: int) -> None:
    call.require(mode in (0, 1), f"{mode} is no pointer mode")
    handle.pointer_mode = mode


@cublas.routine("cublasGetPointerMode")
def get_pointer_mode(call: Call, handle: Handle, place: Result) -> None:
    call.put(place, handle.pointer_mode, np.dtype(np.int32))


@cublas.routine("cublasSetMathMode")
def set_math_mode(call: Call, handle: Handle, mode: int) -> None:
    # All modes are allowed to compute more precisely than they ask for.
    handle.math_mode = mode


@cublas.routine("cublasGetMathMode")
def get_math_mode(call: Call, handle: Handle, place: Result) -> None:
    call.put(place, handle.math_mode, np.dtype(np.int32))


@cublas.routine("cublasSetAtomicsMode")
def set_atomics_mode(call: Call, handle: Handle, mode: int) -> None:
    handle.atomics_mode = mode


@cublas.routine("cublasGetAtomicsMode")
def get_atomics_mode(call: Call, handle: Handle, place: Result) -> None:
    call.put(place, handle.atomics_mode, np.dtype(np.int32))


@cublas.routine("cublasGetVersion")
def get_version(call: Call, handle: Handle, place: Result) -> None:
    call.put(place, VERSION[0] * 10000 + VERSION[1] * 100 + VERSION[2], np.dtype(np.int32))


@cublas.routine("cublasGetProperty")
def get_property(call: Call, kind: int, place: Result) -> None:
    call.require(0 <= kind < len(VERSION), f"{kind} is no property")
    call.put(place, VERSION[kind], np.dtype(np.int32))


@cublas.routine("cublasGetStatusName")
def get_status_name(call: Call, status: int) -> str:
    return STATUS_TEXTS.get(status, ("CUBLAS_STATUS_UNKNOWN", ""))[0]


@cublas.routine("cublasGetStatusString")
def get_status_string(call: Call, status: int) -> str:
    return STATUS_TEXTS.get(status, ("", "unknown status"))[1]


@cublas.routine("cublasLegacyInit")
@cublas.routine("cublasLegacyShutdown")
def initialize(call: Call) -> None:
    call.session.legacy_handle = call.session.legacy_handle or Handle()


@cublas.routine("cublasLegacyGetError")
def get_error(call: Call) -> int:
    handle = call.session.legacy_handle
    status = 0 if handle is None else handle.status
    if handle is not None:
        handle.status = 0
    return status


@cublas.routine("cublasLegacySetKernelStream")
def set_kernel_stream(call: Call, stream: int) -> None:
    handle = call.session.legacy_handle or Handle()
    call.session.legacy_handle = handle
    handle.stream = stream


@cublas.routine("cublasLegacyAlloc")
def allocate(call: Call, count: int, size: int, place: Address) -> int:
    return call.session.memory.allocate(count * size, place)


@cublas.routine("cublasLegacyFree")
def free(call: Call, address: Address) -> int:
    return call.session.memory.free(address)


def _copy(
    call: Call,
    target: tuple[int, int],
    source: tuple[int, int],
    rows: int,
    columns: int,
    size: int,
    steps: Any = (1, 1),
) -> None:
    """Copy elements of `size` bytes; target and source are an address and a leading dimension."""
    call.require(rows >= 0 and columns >= 0 and size > 0, "a size is negative")
    call.require(min(target[1], source[1]) >= 1, "a leading dimension or a step is below one")
    if rows == 0 or columns == 0:
        return
    if call.session.memory.is_traced:
        for column in range(columns):
            begins = [address + column * leading * size for address, leading in (target, source)]
            if steps == (1, 1):
                call.session.memory.move(begins[0], begins[1], rows * size)
                continue
            for row in range(rows):
                into, out_of = (begin + row * step * size for begin, step in zip(begins, steps, strict=True))
                call.session.memory.move(into, out_of, size)
        return
    views: list[Any] = []
    dtype = np.dtype((np.void, size))
    for name, (address, leading), step in (("target", target, steps[0]), ("source", source, steps[1])):
        strides = (step, leading)
        if call.session.memory.allocation(address) is not None:
            views.append(call.view(name, address, (rows, columns), strides, dtype))
        else:
            call.require(address != 0, f"the {name} is a null pointer")
            count = (rows - 1) * step + (columns - 1) * leading + 1
            buffer = (ctypes.c_ubyte * (count * size)).from_address(address)
            views.append(np.ndarray((rows, columns), dtype, buffer, 0, tuple(each * size for each in strides)))
    views[0][...] = views[1]


@cublas.routine("cublasSetVector")
@cublas.routine("cublasGetVector")
def set_vector(call: Call, n: int, size: int, x: Address, step_x: int, y: Address, step_y: int) -> None:
    _copy(call, (y, max(n * step_y, 1)), (x, max(n * step_x, 1)), n, 1, size, (step_y, step_x))


@cublas.routine("cublasSetVectorAsync")
@cublas.routine("cublasGetVectorAsync")
def set_vector_later(
    call: Call, n: int, size: int, x: Address, step_x: int, y: Address, step_y: int, stream: int
) -> None:
    set_vector(call, n, size, x, step_x, y, step_y)


@cublas.routine("cublasSetMatrix")
@cublas.routine("cublasGetMatrix")
def set_matrix(
    call: Call, rows: int, columns: int, size: int, a: Address, leading_a: int, b: Address, leading_b: int
) -> None:
    call.require(min(leading_a, leading_b) >= rows, "columns overlap")
    _copy(call, (b, leading_b), (a, leading_a), rows, columns, size)


@cublas.routine("cublasSetMatrixAsync")
@cublas.routine("cublasGetMatrixAsync")
def set_matrix_later(
    call: Call, rows: int, columns: int, size: int, a: Address, leading_a: int, b: Address, leading_b: int, stream: int
) -> None:
    set_matrix(call, rows, columns, size, a, leading_a, b, leading_b)
