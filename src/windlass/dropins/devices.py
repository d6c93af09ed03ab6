"""The one device there is, with its streams, events and contexts: it does everything when it is asked for.

Names in capitals are the CUDA driver's attributes.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple, Self

NAME = "Windlass (no GPU)"
COMPUTE_CAPABILITY = (7, 0)
THREADS = 128  # of a block, where a library and not its user chooses


class MemoryInfo(NamedTuple):
    """Free and total memory, in bytes."""

    free: int
    total: int


MEMORY = MemoryInfo(16 << 30, 16 << 30)  # none is ever reported as used


def is_available() -> bool:
    """Whether arrays and kernels can be used: always."""
    return True


def blocks_of(elements: int, threads: int = THREADS) -> int:
    """How many blocks have a thread for each element.

    >>> blocks_of(129)
    2
    """
    return -(-elements // threads)


class Done:
    """Something of the device's, which has done what it was asked for and may be entered."""

    @staticmethod
    def synchronize() -> None:
        """Wait for what was asked for: it is done."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None


class Device(Done):
    """The one device there is.

    Any number but 0 raises the error that the library has for it.

    >>> Device(1)
    Traceback (most recent call last):
    ValueError: there is one device, number 0; got 1
    """

    absent: type[Exception] = ValueError
    id = 0
    WARP_SIZE = 32
    MULTIPROCESSOR_COUNT = 80
    MAX_THREADS_PER_BLOCK = 1024
    MAX_THREADS_PER_MULTI_PROCESSOR = 2048
    MAX_BLOCK_DIM_X, MAX_BLOCK_DIM_Y, MAX_BLOCK_DIM_Z = 1024, 1024, 64
    MAX_GRID_DIM_X, MAX_GRID_DIM_Y, MAX_GRID_DIM_Z = 2**31 - 1, 65535, 65535
    MAX_SHARED_MEMORY_PER_BLOCK = 48 << 10
    MAX_REGISTERS_PER_BLOCK = 65536
    TOTAL_CONSTANT_MEMORY = 64 << 10
    CLOCK_RATE = 1_000_000
    CONCURRENT_KERNELS = COOPERATIVE_LAUNCH = UNIFIED_ADDRESSING = CAN_MAP_HOST_MEMORY = 1

    def __init__(self, number: int = 0) -> None:
        if int(number) != 0:
            raise self.absent(f"there is one device, number 0; got {number}")


class Context(Done):
    """The one context of a device."""

    def __init__(self, device: Device) -> None:
        self.device: Any = device

    def push(self) -> None:
        """Make it the current context, which it is."""

    @staticmethod
    def pop() -> None:
        """Make another context the current one: there is none."""


class Stream(Done):
    """A stream: what is asked for in it is done at once."""

    handle = 0


class Event:
    """A moment: the time when it was recorded."""

    unrecorded: type[Exception] = RuntimeError
    time: float | None = None

    def record(self, stream: object = None) -> Any:
        """Note the time."""
        self.time = time.perf_counter()

    def query(self) -> bool:
        """Whether it has happened."""
        return True

    def synchronize(self) -> Any:
        """Wait for it: it has happened."""

    def milliseconds_until(self, other: Event) -> float:
        """Milliseconds from this event to another.

        Raises the library's error where one was not recorded.
        """
        if self.time is None or other.time is None:
            raise self.unrecorded("an event was not recorded")
        return 1e3 * (other.time - self.time)
