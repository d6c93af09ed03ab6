"""What is known of native code that programs call: entered by those who compile it, asked by the op that calls it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

NATIVE_TARGET = "windlass_native"
"""What the one function is registered as with XLA through which native code is called."""
_CODE = re.compile(r"\bcode = (-?\d+)\b")


@dataclass(frozen=True)
class NativeMeaning:
    """A kernel's native code: its name, what it computes of NumPy arrays, and about how many operations that takes."""

    kernel: str
    evaluate: Callable[..., tuple[Any, ...]]
    flops: int


native_meanings: dict[int, NativeMeaning] = {}
"""By the attribute `code` of the calls."""


def find_native(target: str, config: str) -> NativeMeaning | None:
    """The native code that a call with this configuration runs, if it is one and was entered in this process.

    >>> native_meanings[-7] = NativeMeaning("twice", lambda x: (2 * x,), 1)
    >>> found = find_native("windlass_native", '{code = -7 : i64, kernel = "twice"}')
    >>> found.kernel, found.evaluate(3)
    ('twice', (6,))
    """
    code = native_code_of(target, config)
    return None if code is None else native_meanings.get(code)


def native_code_of(target: str, config: str) -> int | None:
    """The attribute `code` of a call with this configuration, if it is one of native code.

    >>> native_code_of("windlass_native", '{code = -7 : i64, kernel = "twice"}')
    -7
    """
    found = _CODE.search(config) if target == NATIVE_TARGET else None
    return None if found is None else int(found[1])
