"""Building the runtime library, reading device code, speed, use from several threads."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from windlass.diagnostics import EmulationError
from windlass.emulator import Emulator, library
from windlass.ir.signature import DeviceCode, KernelSignature, Parameter

Emulate = Callable[[str], Emulator]

WITHOUT_DEBUG_POSITIONS = """
define ptx_kernel void @store(ptr %x, i32 %at) {
  %1 = sext i32 %at to i64
  %2 = getelementptr i32, ptr %x, i64 %1
  store i32 7, ptr %2, align 4
  ret void
}
"""


def signature_of_store() -> KernelSignature:
    pointer = Parameter("x", "int *", "pointer", np.dtype(np.int32), 8, 8)
    return KernelSignature("store", "store", (pointer, Parameter("at", "int", "scalar", np.dtype(np.int32), 4, 4)))


def test_device_code_without_debug_positions() -> None:
    emulator = Emulator(DeviceCode(WITHOUT_DEBUG_POSITIONS, (signature_of_store(),)))
    x = np.zeros(4, np.int32)
    emulator.launch("store", 1, 1, (x, 2))
    assert x.tolist() == [0, 0, 7, 0]
    with pytest.raises(EmulationError) as caught:
        emulator.launch("store", 1, 1, (x, 4))
    assert str(caught.value) == (
        "error[WL0602]: write of 4 bytes out of bounds\n"
        "  note: in kernel store, block (0, 0, 0), thread (0, 0, 0)\n"
        "  note: element 4 of 'x', which has 4 elements of int32"
    )


@pytest.mark.parametrize(
    "damage",
    [
        ("store i32 7, ptr %2, align 4", "store i32 %none, ptr %2, align 4"),
        ("store i32 7", "store %unknown 7"),
        ("ret void", "invoke void @f() to label %a unwind label %b"),
    ],
)
def test_device_code_that_can_not_be_read(damage: tuple[str, str]) -> None:
    text = WITHOUT_DEBUG_POSITIONS.replace(*damage)
    with pytest.raises(EmulationError) as caught:
        Emulator(DeviceCode(text, (signature_of_store(),))).launch("store", 1, 1, (np.zeros(4, np.int32), 0))
    assert str(caught.value).startswith("error[WL0611]: the device code can't be emulated\n")


def test_missing_compiler_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "find_spec", lambda name: None)  # pyright: ignore[reportUnknownLambdaType]
    with pytest.raises(EmulationError) as caught:
        library.load_library.__wrapped__()
    assert str(caught.value) == ("error[WL0615]: the package `ziglang` is missing\n  help: pip install ziglang==0.17.0")


@pytest.mark.slow
def test_processes_may_build_the_library_at_the_same_time(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "from windlass.emulator.library import load_library; print(load_library().run)"]
    sources = str(Path(library.__file__).parents[2])
    environment = {**os.environ, "WINDLASS_CACHE": str(tmp_path), "PYTHONPATH": sources}
    processes = [subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) for _ in range(3)]
    assert [process.wait() for process in processes] == [0, 0, 0]
    assert [path.suffix for path in tmp_path.iterdir()] == [".so"]


def test_emulator_may_be_used_from_several_threads(emulate: Emulate) -> None:
    emulator = emulate("""
        __global__ void rotate(int *x) {
            int v = x[threadIdx.x];
            __syncthreads();
            x[(threadIdx.x + 1) % blockDim.x] = v;
        }""")
    emulator.launch("rotate", 1, 4, (np.zeros(4, np.int32),))
    arrays = [np.arange(64, dtype=np.int32) * factor for factor in range(4)]

    def rotate(x: np.ndarray) -> None:
        for _ in range(10):
            emulator.launch("rotate", 1, 64, (x,))

    threads = [threading.Thread(target=rotate, args=(x,)) for x in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for factor, x in enumerate(arrays):
        np.testing.assert_array_equal(x, np.roll(np.arange(64) * factor, 10))


def test_block_reduction_over_16384_threads(emulate: Emulate) -> None:
    emulator = emulate("""
        __global__ void sum(const float *x, float *out) {
            __shared__ float part[256];
            int t = threadIdx.x;
            part[t] = x[blockIdx.x * 256 + t];
            __syncthreads();
            for (int k = 128; k > 0; k >>= 1) {
                if (t < k) part[t] += part[t + k];
                __syncthreads();
            }
            if (t == 0) out[blockIdx.x] = part[0];
        }""")
    x, out = np.ones(16384, np.float32), np.zeros(64, np.float32)
    emulator.launch("sum", 64, 256, (x, out))
    assert (out == 256).all()


def test_keyboard_interrupt_stops_an_endless_kernel(emulate: Emulate) -> None:
    import _thread

    emulator = emulate("__global__ void run(volatile int *x) { while (x[0] == 0) ; }")
    # Jobs in the background of a shell begin with interrupts ignored.
    earlier = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.2, _thread.interrupt_main)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            emulator.launch("run", 1, 1, (np.zeros(1, np.int32),))
    finally:
        signal.signal(signal.SIGINT, earlier)
    emulator.launch("run", 1, 1, (np.ones(1, np.int32),))
