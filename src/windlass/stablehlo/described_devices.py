"""Devices that there are none of: XLA compiles for them, and so it is seen what a program would communicate there.

XLA's client of CPUs takes part in programs of several processes, each of which tells the others what devices it has.
Here one process tells for all: it has one device, and describes the others, in processes that don't exist. What is
compiled for them never runs.
"""

from __future__ import annotations

import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

import jax
import numpy as np

from windlass.stablehlo.private_jax import make_cpu_client

MOST_PER_PROCESS = 2048
"""XLA numbers the devices of a process with eleven bits."""
ORDINAL, NUMBER, KIND = 1, 4, 8
"""The fields of a device in XLA's message."""
PROCESS, BOOT, DEVICE = 1, 2, 3
"""The fields of a process in it."""


def place_mesh(mesh: Any) -> jax.sharding.Mesh:
    """The mesh on devices: those that it has, or described ones where it is an `AbstractMesh`."""
    if isinstance(mesh, jax.sharding.Mesh):
        return mesh
    devices = np.array(describe_devices(mesh.size)).reshape(mesh.axis_sizes)
    return jax.sharding.Mesh(devices, mesh.axis_names, axis_types=mesh.axis_types)


def describe_devices(count: int) -> list[Any]:
    """So many devices of a CPU, to compile for."""
    return _client(1 << (count - 1).bit_length()).devices()[:count]


@lru_cache
def _client(count: int) -> Any:
    processes: list[bytes] = []
    left = count - 1  # the first process has its own
    while left:
        here = min(left, MOST_PER_PROCESS)
        processes.append(_describe_process(len(processes) + 1, here))
        left -= here
    with tempfile.TemporaryDirectory(prefix="windlass-") as folder:
        return make_cpu_client(f"unix:{Path(folder) / 'devices'}", processes)


def _describe_process(process: int, count: int) -> bytes:
    """XLA's message for a process and its devices.

    >>> _describe_process(1, 1)
    b'\\x08\\x01\\x12\\x01-\\x1a\\n\\x08\\x00 \\x80\\x10B\\x03cpu'
    """
    devices = [
        _number_field(ORDINAL, place)
        + _number_field(NUMBER, process * MOST_PER_PROCESS + place)
        + _bytes_field(KIND, b"cpu")
        for place in range(count)
    ]
    return (
        _number_field(PROCESS, process)
        + _bytes_field(BOOT, b"-")
        + b"".join(_bytes_field(DEVICE, each) for each in devices)
    )


def _number_field(field: int, number: int) -> bytes:
    """A number in a message of protocol buffers."""
    return _spell(field << 3) + _spell(number)


def _bytes_field(field: int, content: bytes) -> bytes:
    return _spell(field << 3 | 2) + _spell(len(content)) + content


def _spell(number: int) -> bytes:
    """Seven bits at a time, the lowest first; all but the last with the eighth bit."""
    spelled = bytearray()
    while number >= 128:
        spelled.append(number & 127 | 128)
        number >>= 7
    return bytes((*spelled, number))
