"""The device, its streams and events, with Numba's names and parameters."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from windlass.dropins import devices


class Stream(devices.Stream):
    """A stream: what is asked for in it is done at once."""

    external = False

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


class Event(devices.Event):
    """A moment."""

    def __init__(self, timing: bool = True) -> None:
        self.timing = timing

    def wait(self, stream: object = 0) -> None:
        """Let a stream wait for it: it has happened."""

    def elapsed_time(self, evtend: Event) -> float:
        """Milliseconds from this event to another.

        Raises RuntimeError where one was not recorded.
        """
        return self.milliseconds_until(evtend)


class Device(devices.Device):
    """The one device there is."""

    name = devices.NAME.encode()
    compute_capability = devices.COMPUTE_CAPABILITY
    uuid = "GPU-00000000-0000-0000-0000-000000000000"

    def get_primary_context(self) -> Context:
        """The one context there is."""
        return _context

    def reset(self) -> None:
        """Let go of all memory: arrays keep theirs while they are used."""

    def __repr__(self) -> str:
        return f"<CUDA device 0 '{devices.NAME}'>"


class Context(devices.Context):
    """The one context there is."""

    def __init__(self) -> None:
        super().__init__(Device())

    def get_memory_info(self) -> devices.MemoryInfo:
        """How much memory there is; none is ever reported as used."""
        return devices.MEMORY

    def reset(self) -> None:
        """Let go of all memory: arrays keep theirs while they are used."""

    create_stream = get_default_stream = Stream
    create_event = Event


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
synchronize = devices.Device.synchronize
runtime = Runtime()


stream = default_stream = legacy_default_stream = per_thread_default_stream = Stream
event = Event


def external_stream(ptr: int) -> Stream:
    """A stream of another library's."""
    return Stream()


def event_elapsed_time(evtstart: Event, evtend: Event) -> float:
    """Milliseconds between two events."""
    return evtstart.elapsed_time(evtend)


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
