"""`cupy.cuda`: devices, streams and events of a device that does everything when it is asked for."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any


class Device:
    """The one device there is."""

    def __init__(self, device: int = 0) -> None:
        if int(device) != 0:
            raise ValueError(f"there is one device, number 0; got {device}")
        self.id = 0
        self.compute_capability = "70"

    def use(self) -> None:
        """Make it the current device, which it is."""

    def synchronize(self) -> None:
        """Wait for what was asked for: it is done."""

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def __repr__(self) -> str:
        return "<CUDA Device 0>"


class Stream:
    """A stream: what is asked for in it is done at once."""

    null: Stream

    def __init__(self, null: bool = False, non_blocking: bool = False, ptds: bool = False, priority: int = 0) -> None:
        self.ptr = 0

    @property
    def done(self) -> bool:
        return True

    def use(self) -> Stream:
        return self

    def synchronize(self) -> None:
        """Wait for what was asked for: it is done."""

    def record(self, event: Event | None = None) -> Event:
        """An event that stands for now."""
        event = event or Event()
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Wait for an event: it has happened."""

    def __enter__(self) -> Stream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        return None


Stream.null = Stream(null=True)


class Event:
    """A moment."""

    def __init__(self, block: bool = False, disable_timing: bool = False, interprocess: bool = False) -> None:
        self.time: float | None = None

    @property
    def done(self) -> bool:
        return True

    def record(self, stream: Stream | None = None) -> None:
        self.time = time.perf_counter()

    def synchronize(self) -> None:
        """Wait for the event: it has happened."""


def get_elapsed_time(start_event: Event, end_event: Event) -> float:
    """Milliseconds between two events.

    Raises ValueError where one was not recorded.
    """
    if start_event.time is None or end_event.time is None:
        raise ValueError("an event was not recorded")
    return 1e3 * (end_event.time - start_event.time)


def get_current_stream() -> Stream:
    """The stream that is used where none is named."""
    return Stream.null


def is_available() -> bool:
    """Whether kernels can be used: always."""
    return True


class runtime:  # noqa: N801
    """The functions of `cupy.cuda.runtime` that programs ask about the device with."""

    @staticmethod
    def getDeviceCount() -> int:  # noqa: N802
        return 1

    @staticmethod
    def getDevice() -> int:  # noqa: N802
        return 0

    @staticmethod
    def deviceSynchronize() -> None:  # noqa: N802
        return None

    @staticmethod
    def getDeviceProperties(device: int) -> dict[str, Any]:  # noqa: N802
        return {
            "name": b"Windlass (no GPU)",
            "totalGlobalMem": 16 << 30,
            "sharedMemPerBlock": 48 << 10,
            "warpSize": 32,
            "maxThreadsPerBlock": 1024,
            "multiProcessorCount": 80,
            "major": 7,
            "minor": 0,
        }


class MemoryPool:
    """A memory pool that keeps nothing."""

    def used_bytes(self) -> int:
        return 0

    def total_bytes(self) -> int:
        return 0

    def free_all_blocks(self) -> None:
        return None
