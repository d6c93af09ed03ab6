"""Launches by NVIDIA's driver, on a driver that emulates the kernel: what is copied where, what stays away from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import windlass as wl
from windlass.gpu import driver as drivers
from windlass.launching import driver_form
from windlass.launching.emulation import emulate_launch
from windlass.runtime.launch_shape import LaunchShape
from windlass.stablehlo.platforms import device_of

# One thread after another: no tensor form.
SOURCE = """
__constant__ int steps[2];
__device__ int turns;
__global__ void queue(int *lock, const int *x, int *order, short n) {
    if (threadIdx.x >= n) return;
    int mine = atomicAdd(lock, steps[1]);
    while (atomicCAS(lock + 1, 0, 1)) {}
    order[mine] = x[threadIdx.x];
    turns += 1;
    atomicExch(lock + 1, 0);
}
__global__ void twice(float *x) { x[threadIdx.x] *= 2; }
"""


class EmulatedDriver:
    """A device whose memory is here, and whose kernels the emulator runs."""

    architecture = 91

    def __init__(self, module: wl.cuda.Module) -> None:
        self.module = module
        self.memories: dict[int, np.ndarray] = {}
        self.calls: list[str] = []

    def load(self, ptx: str, entry: str) -> EmulatedKernel:
        assert ".target sm_90" in ptx and f".entry {entry}(" in ptx
        return EmulatedKernel(self, entry)

    def allocate(self, size: int) -> int:
        address = 0x7000_0000_0000 + 0x1000 * len(self.calls)
        self.calls.append(f"allocate {size}")
        self.memories[address] = np.full(size, 0xAA, np.uint8)
        return address

    def free(self, address: int) -> None:
        del self.memories[address]

    def copy_in(self, address: int, array: Any) -> None:
        self.memories[address][:] = np.frombuffer(array.tobytes(), np.uint8)

    def copy_out(self, array: Any, address: int) -> None:
        array[...] = self.memories[address].view(array.dtype).reshape(array.shape)


class EmulatedKernel:
    def __init__(self, driver: EmulatedDriver, entry: str) -> None:
        self.driver = driver
        self.kernel = driver.module[entry]
        # On the device variables have memories of their own.
        storage = self.kernel.module.variables.storage
        self.variables = {name: 0x1000 * (place + 1) for place, name in enumerate(storage)}
        for name, address in self.variables.items():
            driver.memories[address] = np.zeros(storage[name].nbytes, np.uint8)

    def variable(self, name: str) -> int:
        return self.variables[name]

    def run(self, grid: Any, block: Any, shared_bytes: int, is_cooperative: bool, words: Sequence[bytes]) -> None:
        storage = self.kernel.module.variables.storage
        for name, address in self.variables.items():
            storage[name][...] = self.driver.memories[address].view(storage[name].dtype).reshape(storage[name].shape)
        arguments = [self.argument(*each) for each in zip(self.kernel.signature.parameters, words, strict=True)]
        emulate_launch(self.kernel, LaunchShape(grid, block, shared_bytes), arguments, finds_races=False)
        for name, address in self.variables.items():
            self.driver.memories[address][:] = np.frombuffer(storage[name].tobytes(), np.uint8)

    def argument(self, parameter: Any, word: bytes) -> Any:
        if parameter.kind != "pointer":
            return np.frombuffer(word, parameter.dtype)[0]
        address = int.from_bytes(word, "little")
        start = max(each for each in self.driver.memories if each <= address)
        return self.driver.memories[start][address - start :].view(parameter.dtype)


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> EmulatedDriver:
    made = EmulatedDriver(wl.cuda.compile(SOURCE))
    monkeypatch.setenv("WINDLASS_DRIVER", "1")
    monkeypatch.setattr(drivers, "find_driver", lambda: made)
    monkeypatch.setattr(driver_form, "device_that_runs", lambda: device_of("gpu"))
    return made


def test_kernels_without_tensor_form_run_by_the_driver(driver: EmulatedDriver) -> None:
    module = wl.cuda.compile(SOURCE)
    module.variables["steps"] = [0, 1]
    memory = np.arange(20, dtype=np.int32)
    lock, x, order = np.zeros(2, np.int32), memory[4:12], memory[12:]
    module["queue"][1, 8](lock, x, order, 8)
    assert sorted(order.tolist()) == list(range(4, 12)) and memory[:12].tolist() == list(range(12))
    assert lock.tolist() == [8, 0] and int(module.variables["turns"]) == 8
    # Two views of one memory are one memory there, too.
    assert driver.calls == ["allocate 8", "allocate 80"]
    # All of the launch's memory is given back.
    assert all(address < 0x7000_0000_0000 for address in driver.memories)
    x = np.ones(4, np.float32)
    module["twice"][1, 4](x)  # is raised
    assert x.tolist() == [2] * 4 and len(driver.calls) == 2


def test_nothing_asks_for_a_driver_where_jax_sees_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDLASS_DRIVER", "1")
    monkeypatch.setattr(drivers, "find_driver", lambda: pytest.fail("it was asked for"))
    module = wl.cuda.compile(SOURCE)
    module.variables["steps"] = [0, 1]
    lock, order = np.zeros(2, np.int32), np.zeros(8, np.int32)
    with pytest.warns(wl.WindlassWarning, match="emulator"):
        module["queue"][1, 8](lock, np.arange(8, dtype=np.int32), order, 8)
    assert sorted(order.tolist()) == list(range(8))


class FailingLibrary:
    """A libcuda all of whose functions fail."""

    def __getitem__(self, name: str) -> Any:
        return lambda *_: 100

    def cuGetErrorString(self, status: int, place: Any) -> None:
        place._obj.value = b"no device"


def test_what_the_driver_says_is_told() -> None:
    with pytest.raises(wl.WindlassError, match=r"WL1604.*driver failed in cuInit: no device \(100\)"):
        drivers.CUDADriver(FailingLibrary())
