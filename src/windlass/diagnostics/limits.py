"""Limits of the process that the libraries underneath do not survive, looked at before they are met."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

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


def available_memory() -> int | None:
    """The bytes that the process can still have: what is free, within its limits; None where that can't be told."""
    found = [_free_memory(), address_limit(), _group_limit()]
    return min((each for each in found if each is not None), default=None)


def _free_memory() -> int | None:
    """What the machine has left, with what it can write out; where the system doesn't say, all that is built in."""
    with suppress(OSError, ValueError, KeyError):
        lines = (line.split() for line in Path("/proc/meminfo").read_text("ascii").splitlines())
        kibibytes = {name.rstrip(":"): int(number) for name, number, *_ in lines}
        return (kibibytes["MemAvailable"] + kibibytes.get("SwapFree", 0)) << 10
    with suppress(OSError, ValueError, AttributeError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return None


def _group_limit() -> int | None:
    """The least limit of the control groups that the process is in, of either version."""
    limits: list[int] = []
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text("utf-8").splitlines():
            _, kinds, group = line.split(":", 2)
            if kinds and "memory" not in kinds.split(","):
                continue
            root, name = ("memory", "memory.limit_in_bytes") if kinds else ("", "memory.max")
            # Within a container the group's own path may not be there, but its files are then at the top.
            for folder in (*Path(group).parents, Path(group)):
                with suppress(OSError, ValueError):
                    limits.append(int(Path("/sys/fs/cgroup", root, str(folder).lstrip("/"), name).read_text("ascii")))
    return min(limits, default=None)


def out_of_memory(what: str, *notes: str) -> MemoryLimitError:
    """The error for memory that can't be had. `what` says for what, and how much."""
    limit = address_limit()
    if limit is not None:
        notes = (*notes, f"`ulimit -v` leaves {limit >> 20} MiB of address space to the process")
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
