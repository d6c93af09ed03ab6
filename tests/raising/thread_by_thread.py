"""A bound launch of a loop-level kernel evaluated: what raised kernels are compared with."""

from __future__ import annotations

from typing import Any

import numpy as np

from windlass.ir import Function
from windlass.ir.types import NUMPY_DTYPES
from windlass.loops import Buffer, evaluate_kernel
from windlass.loops.launch_specification import (
    KnownScalar,
    LaunchSpecification,
    PointerArgument,
    RecordArgument,
    TracedScalar,
)


def run_launch(
    kernel: Function, specification: LaunchSpecification, arrays: list[np.ndarray], traced: list[Any]
) -> list[np.ndarray]:
    """The arrays after the launch; the given ones are left alone."""
    memories = [np.frombuffer(array.tobytes(), np.uint8).copy() for array in arrays]
    numbers = iter(traced)
    given: list[Any] = []
    for argument, each in zip(kernel.arguments, specification.arguments, strict=True):
        match each:
            case PointerArgument():
                given.append(Buffer(memories[each.memory], each.byte_offset) if each.memory >= 0 else None)
            case KnownScalar():
                given.append(each.value)
            case TracedScalar():
                given.append(np.asarray(next(numbers)).view(argument.tensor.numpy_dtype))
            case RecordArgument():
                data = np.zeros(each.size, np.uint8)
                for offset, leaf in each.leaves:
                    value = leaf.value if isinstance(leaf, KnownScalar) else next(numbers)
                    scalar = np.asarray(value, NUMPY_DTYPES[leaf.dtype])
                    data[offset : offset + scalar.itemsize] = np.frombuffer(scalar.tobytes(), np.uint8)
                given.append(data)
    evaluate_kernel(kernel, specification.grid, specification.block, given, shared_bytes=specification.shared_bytes)
    return [memory.view(array.dtype).reshape(array.shape) for memory, array in zip(memories, arrays, strict=True)]
