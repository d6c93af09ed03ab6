"""Devices, streams and events of `numba.cuda`: one device, which does everything when it is asked for."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, NamedTuple


class Stream:
    """A stream: what is asked for in it is done at once."""

    handle = 0
    external = False

    def synchronize(self) -> None:
        """Wait for what was asked for: it is done."""

    @contextmanager
    def auto_synchronize(self) -> Generator[Stream]:
        """A block at whose end the stream has done what was asked for."""
        yield self

    def add_callback(self, callback: Callable[..., Any], arg: Any = None) -> None:
        """Call a function when all that was asked for is done: now."""
        callback(self, 0, arg)

    def __int__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "<CUDA stream>"


class Event:
    """A moment."""

    def __init__(self, timing: bool = True) -> None:
        self.timing = timing
        self.time: float | None = None

    def record(self, stream: object = 0) -> None:
        """Note the time."""
        self.time = time.perf_counter()

    def query(self) -> bool:
        """Whether it has happened."""
        return True

    def synchronize(self) -> None:
        """Wait for it: it has happened."""

    def wait(self, stream: object = 0) -> None:
        """Let a stream wait for it: it has happened."""

    def elapsed_time(self, evtend: Event) -> float:
        """Milliseconds from this event to another.

        Raises RuntimeError where one was not recorded.
        """
        if self.time is None or evtend.time is None:
            raise RuntimeError("an event was not recorded")
        return 1e3 * (evtend.time - self.time)


class MemoryInfo(NamedTuple):
    """Free and total memory, in bytes."""

    free: int
    total: int


class Device:
    """The one device there is."""

    id = 0
    name = b"Windlass (no GPU)"
    compute_capability = (7, 0)
    uuid = "GPU-00000000-0000-0000-0000-000000000000"
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
    CONCURRENT_KERNELS = 1
    COOPERATIVE_LAUNCH = 1
    UNIFIED_ADDRESSING = 1
    CAN_MAP_HOST_MEMORY = 1

    def get_primary_context(self) -> Context:
        """The one context there is."""
        return _context

    def reset(self) -> None:
        """Let go of all memory: arrays keep theirs while they are used."""

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def __repr__(self) -> str:
        return "<CUDA device 0 'Windlass (no GPU)'>"


class Context:
    """The one context there is."""

    device = Device()

    def get_memory_info(self) -> MemoryInfo:
        """How much memory there is; none is ever reported as used."""
        return MemoryInfo(16 << 30, 16 << 30)

    def synchronize(self) -> None:
        """Wait for what was asked for: it is done."""

    def reset(self) -> None:
        """Let go of all memory: arrays keep theirs while they are used."""

    def push(self) -> None:
        """Make it the current context, which it is."""

    def pop(self) -> None:
        """Make another context the current one: there is none."""

    def create_stream(self) -> Stream:
        """A new stream."""
        return Stream()

    def create_event(self, timing: bool = True) -> Event:
        """A new event."""
        return Event(timing)

    def get_default_stream(self) -> Stream:
        """The stream that is used where none is named."""
        return Stream()


class DeviceList:
    """`cuda.gpus`: all devices, and the current one."""

    @property
    def lst(self) -> list[Device]:
        return [_context.device]

    @property
    def current(self) -> Device:
        return _context.device

    def __getitem__(self, index: int) -> Device:
        return self.lst[index]

    def __iter__(self) -> Any:
        return iter(self.lst)

    def __len__(self) -> int:
        return 1


class Runtime:
    """`cuda.runtime`: the version that this stands for."""

    def get_version(self) -> tuple[int, int]:
        """The version of CUDA."""
        return (12, 0)

    def is_supported_version(self) -> bool:
        """Whether it is one that Numba supports."""
        return True


_context = Context()
gpus = DeviceList()
runtime = Runtime()


def stream() -> Stream:
    """A new stream."""
    return Stream()


def default_stream() -> Stream:
    """The stream that is used where none is named."""
    return Stream()


legacy_default_stream = per_thread_default_stream = default_stream


def external_stream(ptr: int) -> Stream:
    """A stream of another library's."""
    return Stream()


def event(timing: bool = True) -> Event:
    """A new event."""
    return Event(timing)


def event_elapsed_time(evtstart: Event, evtend: Event) -> float:
    """Milliseconds between two events."""
    return evtstart.elapsed_time(evtend)


def synchronize() -> None:
    """Wait for what was asked for: it is done."""


def get_current_device() -> Device:
    """The one device there is."""
    return _context.device


def list_devices() -> DeviceList:
    """All devices."""
    return gpus


def select_device(device_id: int) -> Context:
    """Make a device the current one.

    Raises IndexError for any but number 0.
    """
    if device_id != 0:
        raise IndexError(f"there is one device, number 0; got {device_id}")
    return _context


def current_context(devnum: int | None = None) -> Context:
    """The one context there is."""
    return _context


def close() -> None:
    """End the use of devices: nothing has to be done."""


def detect() -> bool:
    """Print which devices there are."""
    print("Found 1 CUDA devices")
    print(f"id 0    {Device.name!r}                              [SUPPORTED]")
    print("                      Compute Capability: 7.0")
    print("                           PCI Device ID: 0")
    print("                              PCI Bus ID: 0")
    print(f"                                    UUID: {Device.uuid}")
    print("Summary:\n\t1/1 devices are supported")
    return True


def is_available() -> bool:
    """Whether kernels can be used: always."""
    return True


def is_supported_version() -> bool:
    """Whether the CUDA version is supported: always."""
    return True


def is_float16_supported() -> bool:
    """Whether kernels may use float16: not here."""
    return False


def cuda_error() -> None:
    """What went wrong at the start: nothing."""


def profile_start() -> None:
    """Start profiling: nothing is profiled."""


def profile_stop() -> None:
    """Stop profiling."""


@contextmanager
def profiling() -> Generator[None]:
    """A block that is profiled: nothing is."""
    yield


@contextmanager
def defer_cleanup() -> Generator[None]:
    """A block in which no memory is given back."""
    yield


@contextmanager
def pinned(*arylist: Any) -> Generator[None]:
    """A block in which arrays are pinned: they all are."""
    yield


@contextmanager
def mapped(*arylist: Any, **_: Any) -> Generator[Any]:
    """A block in which the device shares arrays with the host; gives them."""
    yield arylist[0] if len(arylist) == 1 else arylist
