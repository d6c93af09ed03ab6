"""cuBLASLt: one product of matrices with layouts, types, scales, and something done to the result (an epilogue)."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from windlass.hosting.libraries.cublas.level1 import INT, LONG
from windlass.hosting.libraries.cublas.level3 import apply, contract, dtype_of, precision, round_to
from windlass.hosting.libraries.cublas.state import VERSION, Handle, Operation, cublas
from windlass.hosting.libraries.memory import Array
from windlass.hosting.libraries.routines import Address, Factor, Result, Stream
from windlass.hosting.libraries.session import Call, Stateful
from windlass.hosting.libraries.tensor_programs import is_zero, tensor_program

SIZE = np.dtype(np.uint64)
SINGLE = np.dtype(np.float32)

# Attributes of an operation (cublasLtMatmulDescAttributes_t).
POINTER_MODE, TRANSPOSE_A, TRANSPOSE_B, TRANSPOSE_C = 2, 3, 4, 5
EPILOGUE, BIAS, BIAS_STRIDE, AUXILIARY, AUXILIARY_LEADING, AUXILIARY_STRIDE = 7, 8, 10, 11, 12, 13
SCALE_A, SCALE_B, SCALE_C, SCALE_D, LARGEST_D, BIAS_TYPE = 17, 18, 19, 20, 21, 26
IGNORED = {6, 15, 25}
"""The fill mode, a number of processors, and fast sums, which change no more than rounding."""

# Attributes of a layout (cublasLtMatrixLayoutAttribute_t).
TYPE, ORDER, ROWS, COLUMNS, LEADING, COUNT, STRIDE = range(7)
BY_COLUMNS, BY_ROWS = 0, 1

# Epilogues are sums of these.
RELU, WITH_BIAS, GELU, WITH_AUXILIARY = 2, 4, 32, 128
RESULT_SIZE = 96
"""Bytes of a cublasLtMatmulHeuristicResult_t."""


@dataclass
class MatmulDescription(Stateful):
    """What cublasLtMatmulDescCreate makes: the types, and attributes as the bytes that were set."""

    compute: int
    scale: int
    attributes: dict[int, bytes] = field(default_factory=dict[int, bytes])

    def number(self, attribute: int, default: int = 0) -> int:
        """An attribute that is an integer or an address."""
        content = self.attributes.get(attribute)
        return default if content is None else int.from_bytes(content, "little", signed=len(content) < SIZE.itemsize)


@dataclass
class MatrixLayout(Stateful):
    """What cublasLtMatrixLayoutCreate makes."""

    type: int
    rows: int
    columns: int
    leading: int
    order: int = BY_COLUMNS
    count: int = 1
    stride: int = 0

    def view(self, call: Call, name: str, address: int) -> Array:
        """The matrices at an address: batch, rows, columns."""
        if self.order not in (BY_COLUMNS, BY_ROWS):
            raise call.refuse(f"'{name}' has an order of elements that is not supported")
        is_by_rows = self.order == BY_ROWS
        call.require(self.leading >= (self.columns if is_by_rows else self.rows), f"lines of '{name}' overlap")
        steps = (self.leading, 1) if is_by_rows else (1, self.leading)
        shape = (self.count, self.rows, self.columns)
        return call.view(name, address, shape, (self.stride, *steps), dtype_of(call, self.type))


class Preference(Stateful):
    """What cublasLtMatmulPreferenceCreate makes: wishes that change nothing here."""


@tensor_program("operation_a", "operation_b", "compute", "epilogue")
def multiply(
    alpha: Any,
    a: Any,
    b: Any,
    beta: Any,
    c: Any,
    bias: Any,
    operation_a: Operation,
    operation_b: Operation,
    compute: Any,
    epilogue: int,
) -> Any:
    """epilogue(alpha op(A) op(B) + beta C + bias), and what goes into the activation."""
    product = contract(apply(operation_a, a.astype(compute)), apply(operation_b, b.astype(compute)))
    result = alpha * product
    if c is not None:
        result = result + beta * c.astype(compute)
    if bias is not None:
        result = result + bias.astype(compute)[..., None]
    before = result
    if epilogue & RELU:
        result = jnp.maximum(result, 0)
    if epilogue & GELU:
        result = jax.nn.gelu(result, approximate=True)
    return result, before


@cublas.routine("cublasLtCreate")
def create(call: Call, place: Result) -> None:
    call.give(place, Handle())


@cublas.routine("cublasLtDestroy")
def destroy(call: Call, handle: Handle) -> None:
    call.session.drop(handle)


@cublas.routine("cublasLtGetVersion")
def get_version(call: Call) -> int:
    return VERSION[0] * 10000 + VERSION[1] * 100 + VERSION[2]


# -- descriptions -----------------------------------------------------------------------------------------------------


@cublas.routine("cublasLtMatmulDescCreate")
def create_description(call: Call, place: Result, compute: int, scale: int) -> None:
    call.give(place, MatmulDescription(compute, scale))


@cublas.routine("cublasLtMatmulDescInit")
def initialize_description(call: Call, place: int, compute: int, scale: int) -> None:
    call.session.keep(MatmulDescription(compute, scale), place)


@cublas.routine("cublasLtMatmulDescDestroy")
def destroy_description(call: Call, description: MatmulDescription) -> None:
    call.session.drop(description)


@cublas.routine("cublasLtMatmulDescSetAttribute")
def set_description(call: Call, description: MatmulDescription, attribute: int, value: Address, size: int) -> None:
    description.attributes[attribute] = call.host_array("buf", value, size, np.uint8).tobytes()


@cublas.routine("cublasLtMatmulDescGetAttribute")
def get_description(
    call: Call, description: MatmulDescription, attribute: int, value: Result, size: int, written: Result
) -> None:
    content = description.attributes.get(attribute, bytes(size))[:size]
    ctypes.memmove(value, content, len(content))
    if written:
        call.put(written, len(content), SIZE)


@cublas.routine("cublasLtMatrixLayoutCreate")
def create_layout(call: Call, place: Result, kind: int, rows: int, columns: int, leading: int) -> None:
    call.give(place, MatrixLayout(kind, rows, columns, leading))


@cublas.routine("cublasLtMatrixLayoutInit")
def initialize_layout(call: Call, place: int, kind: int, rows: int, columns: int, leading: int) -> None:
    call.session.keep(MatrixLayout(kind, rows, columns, leading), place)


@cublas.routine("cublasLtMatrixLayoutDestroy")
def destroy_layout(call: Call, layout: MatrixLayout) -> None:
    call.session.drop(layout)


LAYOUT_FIELDS = {
    TYPE: "type",
    ORDER: "order",
    ROWS: "rows",
    COLUMNS: "columns",
    LEADING: "leading",
    COUNT: "count",
    STRIDE: "stride",
}


@cublas.routine("cublasLtMatrixLayoutSetAttribute")
def set_layout(call: Call, layout: MatrixLayout, attribute: int, value: Address, size: int) -> None:
    if attribute not in LAYOUT_FIELDS:
        raise call.refuse(f"attribute {attribute} of a layout is not supported")
    content = call.host_array("buf", value, size, np.uint8).tobytes()
    setattr(layout, LAYOUT_FIELDS[attribute], int.from_bytes(content, "little", signed=True))


@cublas.routine("cublasLtMatrixLayoutGetAttribute")
def get_layout(call: Call, layout: MatrixLayout, attribute: int, value: Result, size: int, written: Result) -> None:
    if attribute not in LAYOUT_FIELDS:
        raise call.refuse(f"attribute {attribute} of a layout is not supported")
    call.put(value, getattr(layout, LAYOUT_FIELDS[attribute]), INT if size == INT.itemsize else LONG)
    if written:
        call.put(written, size, SIZE)


@cublas.routine("cublasLtMatmulPreferenceCreate")
def create_preference(call: Call, place: Result) -> None:
    call.give(place, Preference())


@cublas.routine("cublasLtMatmulPreferenceInit")
def initialize_preference(call: Call, place: int) -> None:
    call.session.keep(Preference(), place)


@cublas.routine("cublasLtMatmulPreferenceDestroy")
def destroy_preference(call: Call, preference: Preference) -> None:
    call.session.drop(preference)


@cublas.routine("cublasLtMatmulPreferenceSetAttribute")
def set_preference(call: Call, preference: Preference, attribute: int, value: Address, size: int) -> None:
    call.require(value != 0, "'buf' is a null pointer")


@cublas.routine("cublasLtMatmulAlgoGetHeuristic")
def get_heuristic(
    call: Call,
    handle: Handle,
    description: MatmulDescription,
    a: MatrixLayout,
    b: MatrixLayout,
    c: MatrixLayout,
    d: MatrixLayout,
    preference: Preference,
    wanted: int,
    results: Result,
    count: Result,
) -> None:
    call.require(wanted > 0, f"{wanted} algorithms are asked for")
    check(call, description, a, b, c, d)
    # One algorithm, which needs no workspace; its status is zero, as is the rest.
    ctypes.memset(results, 0, RESULT_SIZE)
    call.put(count, 1, INT)


def check(
    call: Call, description: MatmulDescription, a: MatrixLayout, b: MatrixLayout, c: MatrixLayout, d: MatrixLayout
) -> None:
    """Raises LibraryError where shapes don't fit, or something is asked for that is not there."""
    first = shape_of(a, operation(call, description, TRANSPOSE_A))
    second = shape_of(b, operation(call, description, TRANSPOSE_B))
    result = (first[0], second[1])
    is_fitting = first[1] == second[0] and (c.rows, c.columns) == result == (d.rows, d.columns)
    call.require(is_fitting, f"op(A) is {first}, op(B) {second}, C {(c.rows, c.columns)}, D {(d.rows, d.columns)}")
    call.require({a.count, b.count, c.count} <= {1, d.count}, "the numbers of matrices in batches differ")
    epilogue = description.number(EPILOGUE, 1)
    if epilogue & ~(1 | RELU | WITH_BIAS | GELU | WITH_AUXILIARY) or (
        epilogue & WITH_AUXILIARY and not epilogue & GELU
    ):
        raise call.refuse(f"the epilogue {epilogue} is not supported")
    if description.number(POINTER_MODE) > 1 or operation(call, description, TRANSPOSE_C) != Operation.N:
        raise call.refuse("vectors of factors, and C transposed, are not supported")
    known = {POINTER_MODE, TRANSPOSE_A, TRANSPOSE_B, TRANSPOSE_C, EPILOGUE, BIAS, BIAS_STRIDE, BIAS_TYPE, *IGNORED}
    known |= {AUXILIARY, AUXILIARY_LEADING, AUXILIARY_STRIDE, SCALE_A, SCALE_B, SCALE_C, SCALE_D, LARGEST_D}
    unknown = sorted(set(description.attributes) - known)
    if unknown:
        raise call.refuse(f"attribute {unknown[0]} of a product is not supported")


def operation(call: Call, description: MatmulDescription, attribute: int) -> Operation:
    """What is done to a matrix."""
    number = description.number(attribute)
    call.require(number in tuple(Operation), f"{number} is none of the values of Operation")
    return Operation(number)


def shape_of(layout: MatrixLayout, kind: Operation) -> tuple[int, int]:
    """Rows and columns of op of a matrix."""
    return (layout.rows, layout.columns) if kind == Operation.N else (layout.columns, layout.rows)


def scale_at(call: Call, description: MatmulDescription, attribute: int) -> Any:
    """A scale in device memory; one where there is none."""
    address = description.number(attribute)
    return call.view("a scale", address, (1,), (1,), SINGLE)[0].copy() if address else np.float32(1)


@cublas.routine("cublasLtMatmul")
def matmul(
    call: Call,
    handle: Handle,
    description: MatmulDescription,
    alpha: Factor,
    a: Address,
    layout_a: MatrixLayout,
    b: Address,
    layout_b: MatrixLayout,
    beta: Factor,
    c: Address,
    layout_c: MatrixLayout,
    d: Address,
    layout_d: MatrixLayout,
    algorithm: Address,
    workspace: Address,
    workspace_size: int,
    stream: Stream,
) -> None:
    check(call, description, layout_a, layout_b, layout_c, layout_d)
    compute, _ = precision(call, description.compute, dtype_of(call, layout_a.type))
    factor = dtype_of(call, description.scale)
    alpha_value = call.scalar(alpha, factor).astype(compute)
    beta_value = call.scalar(beta, factor).astype(compute)
    epilogue = description.number(EPILOGUE, 1)
    target = layout_d.view(call, "D", d)
    has_addend = not is_zero(beta_value)
    # Scales that are not set are ones, and change nothing.
    scales = {key: scale_at(call, description, key).astype(compute) for key in (SCALE_A, SCALE_B, SCALE_C, SCALE_D)}
    views = layout_a.view(call, "A", a), layout_b.view(call, "B", b)
    addend = layout_c.view(call, "C", c) if has_addend else None
    result, before = multiply(
        alpha_value * scales[SCALE_A] * scales[SCALE_B],
        *views,
        beta_value * scales[SCALE_C],
        addend,
        view_bias(call, description, layout_d) if epilogue & WITH_BIAS else None,
        operation_a=operation(call, description, TRANSPOSE_A),
        operation_b=operation(call, description, TRANSPOSE_B),
        compute=compute,
        epilogue=epilogue & (RELU | GELU),
    )
    put_beside(call, description, layout_d, before, result, target.dtype)
    target[...] = round_to(result * scales[SCALE_D], target.dtype)


def put_beside(
    call: Call, description: MatmulDescription, layout: MatrixLayout, before: Any, result: Any, dtype: np.dtype[Any]
) -> None:
    """What the description asks for beside D: what the epilogue's function was applied to, and the largest number."""
    if description.number(EPILOGUE, 1) & WITH_AUXILIARY:
        shape, leading = (layout.count, layout.rows, layout.columns), description.number(AUXILIARY_LEADING)
        steps = (description.number(AUXILIARY_STRIDE), 1, leading)
        auxiliary = call.view("aux", description.number(AUXILIARY), shape, steps, dtype)
        auxiliary[...] = round_to(before, auxiliary.dtype)
    largest = description.number(LARGEST_D)
    if largest:
        call.view("amax", largest, (1,), (1,), SINGLE)[0] = np.max(np.abs(result))


def view_bias(call: Call, description: MatmulDescription, layout: MatrixLayout) -> Array:
    """A number for each row of the result."""
    kind = dtype_of(call, description.number(BIAS_TYPE, layout.type))
    step = description.number(BIAS_STRIDE)
    return call.view("bias", description.number(BIAS), (layout.count, layout.rows), (step, 1), kind)
