"""Grid and block: what a launch's brackets hold, checked and brought to three extents."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias, cast

import numpy as np

from windlass.diagnostics import Diagnostic, LaunchError
from windlass.ir.signature import KernelSignature

Extents: TypeAlias = tuple[int, int, int]

LARGEST_GRID: Extents = (2**31 - 1, 65535, 65535)
LARGEST_BLOCK: Extents = (1024, 1024, 64)
MOST_THREADS = 1024
MOST_SHARED_BYTES = 232_448
"""What one block can have on the largest devices (227 KiB)."""


class LaunchShape(NamedTuple):
    """A checked launch configuration."""

    grid: Extents
    block: Extents
    shared_bytes: int = 0


def read_launch_shape(signature: KernelSignature, brackets: object) -> LaunchShape:
    """The launch shape from `kernel[grid, block]` or `kernel[grid, block, shared_bytes]`.

    Raises LaunchError (WL0403) for anything that CUDA would not launch.

    >>> saxpy = KernelSignature("saxpy", "saxpy", ())
    >>> read_launch_shape(saxpy, (4, (16, 8)))
    LaunchShape(grid=(4, 1, 1), block=(16, 8, 1), shared_bytes=0)
    """
    if isinstance(brackets, tuple) and len(brackets) == 4:
        raise _fault(
            signature,
            "a launch takes no stream: launches run in the order of the program",
            f"write {signature.name}[grid, block, shared_bytes](...)",
        )
    if not isinstance(brackets, tuple) or len(brackets) not in (2, 3):
        raise _fault(
            signature,
            "a launch needs a grid and a block in brackets",
            f"write {signature.name}[grid, block](...) or {signature.name}[grid, block, shared_bytes](...)",
        )
    grid = read_extents(signature, "grid", brackets[0], LARGEST_GRID)
    block = read_extents(signature, "block", brackets[1], LARGEST_BLOCK)
    _check_threads(signature, block)
    shared_bytes = _read_shared_bytes(signature, brackets[2]) if len(brackets) == 3 else 0
    return LaunchShape(grid, block, shared_bytes)


def _check_threads(signature: KernelSignature, block: Extents) -> None:
    threads = block[0] * block[1] * block[2]
    if threads > MOST_THREADS:
        raise _fault(
            signature,
            f"a block of {_product(block)} = {threads} threads is larger than {MOST_THREADS}",
            "use smaller blocks and a larger grid",
        )
    if signature.max_threads is not None and threads > signature.max_threads:
        raise _fault(
            signature,
            f"a block of {threads} threads exceeds the kernel's __launch_bounds__({signature.max_threads})",
            "use smaller blocks, or raise the bound in the source",
        )


def _read_shared_bytes(signature: KernelSignature, given: object) -> int:
    shared_bytes = _as_integer(signature, "shared_bytes", given)
    if not 0 <= shared_bytes <= MOST_SHARED_BYTES:
        raise _fault(
            signature,
            f"shared_bytes is {shared_bytes}; it can be 0 to {MOST_SHARED_BYTES}",
            "the third entry of the brackets is the size of dynamic shared memory, in bytes",
        )
    if shared_bytes + signature.shared_bytes > MOST_SHARED_BYTES:
        raise _fault(
            signature,
            f"shared_bytes is {shared_bytes}, and its __shared__ variables have {signature.shared_bytes}: "
            f"together they can be {MOST_SHARED_BYTES}",
            None,
        )
    return shared_bytes


def read_extents(signature: KernelSignature, what: str, value: object, largest: Extents) -> Extents:
    """One to three extents, filled up with ones; each at least 1 and at most CUDA's limit."""
    is_sequence = isinstance(value, tuple | list) or (isinstance(value, np.ndarray) and value.ndim == 1)
    given = tuple(cast("Sequence[object]", value)) if is_sequence else (value,)
    if not 1 <= len(given) <= 3:
        raise _fault(
            signature, f"the {what} has {len(given)} extents", f"give the {what} as an integer or as 1 to 3 integers"
        )
    extents = [_as_integer(signature, what, extent) for extent in given]
    extents += [1] * (3 - len(extents))
    x, y, z = extents
    for axis, extent, most in zip("xyz", extents, largest, strict=True):
        if extent == 0:
            raise _fault(
                signature,
                f"the {what} is empty: its {axis} extent is 0",
                "launch nothing where there is nothing to do, or use at least 1",
            )
        if extent < 0:
            raise _fault(signature, f"the {what}'s {axis} extent is negative: {extent}", "extents are at least 1")
        if extent > most:
            raise _fault(signature, f"the {what}'s {axis} extent is {extent}; the largest is {most}", None)
    return (x, y, z)


def _as_integer(signature: KernelSignature, what: str, value: object) -> int:
    try:
        if isinstance(value, bool):
            raise TypeError
        return operator.index(value)  # pyright: ignore[reportArgumentType]
    except TypeError:
        raise _fault(
            signature,
            f"the {what} must be made of integers, got {value!r} ({type(value).__name__})",
            "integer division is written //: (n + 255) // 256" if isinstance(value, float) else None,
        ) from None


def _product(extents: Extents) -> str:
    return "×".join(str(extent) for extent in extents)


def _fault(signature: KernelSignature, headline: str, help_: str | None) -> LaunchError:
    return LaunchError(Diagnostic("WL0403", f"{signature.name}: {headline}", help=help_))
