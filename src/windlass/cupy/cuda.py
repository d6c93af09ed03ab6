"""`cupy.cuda`: the device, its streams and events, with CuPy's names and parameters."""

from __future__ import annotations

from typing import Any

from windlass.dropins import devices

is_available = devices.is_available


class Device(devices.Device):
    """The one device there is."""

    compute_capability = "".join(map(str, devices.COMPUTE_CAPABILITY))

    def __init__(self, device: int = 0) -> None:
        super().__init__(device)

    def use(self) -> None:
        """Make it the current device, which it is."""

    def __repr__(self) -> str:
        return "<CUDA Device 0>"


class Stream(devices.Stream):
    """A stream: what is asked for in it is done at once."""

    null: Stream
    ptr = 0
    done = True

    def __init__(self, null: bool = False, non_blocking: bool = False, ptds: bool = False, priority: int = 0) -> None:
        super().__init__()

    def use(self) -> Stream:
        return self

    def record(self, event: Event | None = None) -> Event:
        """An event that stands for now."""
        event = event or Event()
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Wait for an event: it has happened."""


Stream.null = Stream(null=True)


class Event(devices.Event):
    """A moment."""

    unrecorded = ValueError
    done = True

    def __init__(self, block: bool = False, disable_timing: bool = False, interprocess: bool = False) -> None:
        super().__init__()


def get_elapsed_time(start_event: Event, end_event: Event) -> float:
    """Milliseconds between two events.

    Raises ValueError where one was not recorded.
    """
    return start_event.milliseconds_until(end_event)


def get_current_stream() -> Stream:
    """The stream that is used where none is named."""
    return Stream.null


class runtime:  # noqa: N801
    """The functions of `cupy.cuda.runtime` that programs ask about the device with."""

    deviceSynchronize = staticmethod(Device.synchronize)  # noqa: N815

    @staticmethod
    def getDeviceCount() -> int:  # noqa: N802
        return 1

    @staticmethod
    def getDevice() -> int:  # noqa: N802
        return Device.id

    @staticmethod
    def getDeviceProperties(device: int) -> dict[str, Any]:  # noqa: N802
        return {
            "name": devices.NAME.encode(),
            "totalGlobalMem": devices.MEMORY.total,
            "sharedMemPerBlock": Device.MAX_SHARED_MEMORY_PER_BLOCK,
            "warpSize": Device.WARP_SIZE,
            "maxThreadsPerBlock": Device.MAX_THREADS_PER_BLOCK,
            "multiProcessorCount": Device.MULTIPROCESSOR_COUNT,
            "major": devices.COMPUTE_CAPABILITY[0],
            "minor": devices.COMPUTE_CAPABILITY[1],
        }


class MemoryPool:
    """A memory pool that keeps nothing."""

    def used_bytes(self) -> int:
        return 0

    def total_bytes(self) -> int:
        return 0

    def free_all_blocks(self) -> None:
        return None
