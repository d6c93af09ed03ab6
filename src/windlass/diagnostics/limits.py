"""Limits of the process that the libraries underneath do not survive, looked at before they are met."""

from __future__ import annotations

import os
from contextlib import suppress

from windlass.diagnostics.message import Diagnostic, WindlassError

_LEAST_BYTES = 1_800_000_000
_BYTES_PER_PROCESSOR = 64 << 20


class MemoryLimitError(WindlassError, MemoryError):
    """There is not enough memory, or not enough of it may be used."""


def address_limit() -> int | None:
    """The bytes of address space that `ulimit -v` leaves to the process; None where there is no limit."""
    with suppress(ImportError):
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        return None if limit == resource.RLIM_INFINITY else limit
    return None


def out_of_memory(what: str) -> MemoryLimitError:
    """The error for memory that can't be had. `what` says for what, and how much."""
    limit = address_limit()
    notes = () if limit is None else (f"`ulimit -v` leaves {limit >> 20} MiB of address space to the process",)
    return MemoryLimitError(
        Diagnostic(
            "WL0624",
            f"there is no memory for {what}",
            notes=notes,
            help="raise the limit (ulimit -v unlimited), or give the kernel less to work on",
        )
    )


def require_address_space() -> None:
    """Check that JAX and LLVM can be loaded: where they can't have their address space, they end the process.

    Raises MemoryLimitError (WL0624).
    """
    limit = address_limit()
    least = _LEAST_BYTES + (os.cpu_count() or 1) * _BYTES_PER_PROCESSOR
    if limit is not None and limit < least:
        raise out_of_memory(f"JAX and LLVM, which reserve {least >> 20} MiB of address space")
