"""How long launches took in each form where that was tried: remembered by this process, and in the cache folder.

A launch is told apart by all that its forms are made for: the kernel's code, grid and block, shapes and dtypes, known
integers, the versions of the compilers, and the machine with as many threads as may be used.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import llvmlite
from jaxlib import version as jaxlib_version

from windlass.diagnostics.cache import keep, read_kept
from windlass.diagnostics.machine import describe_machine
from windlass.native.pool import thread_count
from windlass.runtime.settings import vector_functions_are_allowed

if TYPE_CHECKING:
    from windlass.launching.loaded_kernel import LoadedKernel
    from windlass.runtime.binding import Binding

MOST_REMEMBERED = 4096
_remembered: dict[str, Measurement] = {}


@dataclass(frozen=True)
class Measurement:
    """Seconds by form. `are_same` says whether all forms gave the same bits, `is_wanted` whether the user asked which
    form is fastest, whatever the last bits are."""

    seconds: Mapping[str, float]
    are_same: bool
    is_wanted: bool = False

    def fastest(self) -> str:
        """The form that took least."""
        return min(self.seconds, key=lambda each: self.seconds[each])


def digest_of(kernel: LoadedKernel, binding: Binding) -> str:
    """What tells a launch apart from others."""
    code = hashlib.sha256(kernel.module.code.llvm_ir.encode()).hexdigest()
    known = (_versions(), code, kernel.signature.mangled, binding, thread_count(), vector_functions_are_allowed())
    return hashlib.sha256(repr(known).encode()).hexdigest()


def remember(digest: str, measurement: Measurement) -> None:
    """Keep what was measured, for this process and others."""
    if len(_remembered) >= MOST_REMEMBERED:
        _remembered.clear()
    _remembered[digest] = measurement
    fields = {
        "seconds": dict(measurement.seconds),
        "are_same": measurement.are_same,
        "is_wanted": measurement.is_wanted,
    }
    keep(_name(digest), json.dumps(fields).encode())


def recall(digest: str) -> Measurement | None:
    """What was measured of the launch, by this process or another one; None where nothing is known."""
    found = _remembered.get(digest)
    if found is None and (content := read_kept(_name(digest))) is not None:
        found = _parse(content)
        if found is not None:
            _remembered[digest] = found
    return found


def forget() -> None:
    """Forget what this process remembers; what is in the cache folder stays."""
    _remembered.clear()


def _name(digest: str) -> str:
    return f"choice-{digest}.kept"


def _parse(content: bytes) -> Measurement | None:
    """A measurement as it was kept; None for anything else."""
    try:
        fields: Any = json.loads(content)
        seconds = {str(form): float(each) for form, each in fields["seconds"].items()}
        found = Measurement(seconds, fields["are_same"] is True, fields["is_wanted"] is True)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    return found if seconds and all(math.isfinite(each) and each > 0 for each in seconds.values()) else None


@cache
def _versions() -> tuple[str, ...]:
    return (version("windlass"), jaxlib_version.__version__, llvmlite.__version__, describe_machine())
