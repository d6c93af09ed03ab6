"""What was compiled goes with those who could ask for it, and there is a bound for all of it."""

from __future__ import annotations

import gc
import threading
import weakref

import jax
import numpy as np
import pytest

import windlass as wl
from windlass.runtime import compiled_store
from windlass.runtime.compiled_store import CompiledStore
from windlass.runtime.staging import ALIGNMENT, LARGE, address_of
from windlass.stablehlo.code import Code

SOURCE = """__global__ void k(float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] = 2 * x[i] + FACTOR; }"""


def count_executables() -> int:
    """How many programs XLA holds."""
    gc.collect()
    return len(jax.devices()[0].client.live_executables())  # pyright: ignore[reportUnknownArgumentType]


def count_codes() -> int:
    """How many programs are held in a form that JAX can lower, by JAX's own caches too."""
    return sum(type(each) is Code for each in gc.get_objects())


def compile_kernel(factor: int) -> wl.cuda.Kernel:
    return wl.cuda.compile(SOURCE, define={"FACTOR": str(factor)})["k"]


def launch(kernel: wl.cuda.Kernel, size: int) -> None:
    kernel[-(-size // 32), 32](np.ones(size, np.float32), size)


@pytest.fixture(scope="module", autouse=True)
def what_is_compiled_once() -> None:
    """JAX and the cost model compile some small programs of their own, once."""
    compile_kernel(7).jax(2, 32)(np.ones(64, np.float32), 64)
    launch(compile_kernel(7), 64)
    wl.optimize(lambda x: x + 1)(np.ones(3, np.float32))


def test_a_dropped_module_is_freed_with_all_that_was_compiled_of_it() -> None:
    before = count_executables()
    kernel = compile_kernel(1)
    for size in (40, 50, 60):
        launch(kernel, size)
    wl.emulate(kernel)[2, 32](np.ones(64, np.float32), 64)
    kernel.jax(2, 32)(np.ones(64, np.float32), 64)
    assert count_executables() > before
    module = weakref.ref(kernel.module)
    codes = count_codes()
    del kernel
    gc.collect()
    assert module() is None
    assert count_codes() <= codes - 4
    assert count_executables() <= before


def test_a_dropped_function_is_freed_with_all_that_was_compiled_of_it() -> None:
    before = count_executables()
    function = wl.jit(lambda x: x * 2 + 1)
    for size in (3, 4, 5):
        function(np.ones(size, np.float32))
    dropped = weakref.ref(function)
    assert count_executables() >= before + 3
    del function
    gc.collect()
    assert dropped() is None
    assert count_executables() <= before


def test_a_program_that_was_run_is_freed() -> None:
    text = """func.func @main(%a: tensor<7xf32>) -> tensor<7xf32> {
      %0 = stablehlo.sine %a : tensor<7xf32>
      return %0 : tensor<7xf32>
    }"""
    before = count_executables()
    wl.stablehlo.run(text, np.ones(7, np.float32))
    assert count_executables() <= before


def test_launches_for_many_shapes_are_bounded_in_the_whole_process(monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = [compile_kernel(2), compile_kernel(3)]
    launch(kernels[0], 30)
    before = count_executables()
    monkeypatch.setattr(compiled_store, "MOST_COMPILED", 8)
    for size in range(31, 43):
        for kernel in kernels:
            launch(kernel, size)
    assert count_executables() <= before + 4
    x = np.ones(31, np.float32)
    kernels[1][1, 32](x, 31)  # compiled anew
    assert x.tolist() == [5.0] * 31


@pytest.mark.slow
def test_programs_for_places_in_cache_lines_count(monkeypatch: pytest.MonkeyPatch) -> None:
    source = """__global__ void f(float *y, const float *x) {
        int i = blockIdx.x * 256 + threadIdx.x; y[i] = FACTOR * x[i]; }"""
    before = count_executables()
    monkeypatch.setattr(compiled_store, "MOST_COMPILED", 6)
    lines = np.ones(LARGE, np.float32)
    start = -address_of(lines) % ALIGNMENT // 4
    y = np.zeros(LARGE // 2, np.float32)
    kernels = [wl.cuda.compile(source.replace("FACTOR", str(factor)))["f"] for factor in (2, 3, 4, 5)]
    for _ in range(2):
        for factor, kernel in enumerate(kernels, 2):
            for offset in (4, 8, 0):
                x = lines[start + offset :][: len(y)]
                kernel[len(y) // 256, 256](y, x)
                assert (y == factor).all()
            assert count_executables() <= before + 4
    # With four entries for each, one kernel and half of another are kept.


def test_the_oldest_goes_and_what_is_replaced_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled_store, "MOST_COMPILED", 4)
    one: CompiledStore[int, str] = CompiledStore()
    other: CompiledStore[int, str] = CompiledStore()
    one.keep(1, "a")
    other.keep(1, "b")
    for number in (2, 3, 4):
        one.keep(number, "c")
    assert 1 not in one
    assert sorted([*one, *other]) == [1, 2, 3, 4]
    del other
    gc.collect()
    one.keep(5, "d")
    assert sorted(one) == [2, 3, 4, 5]


def test_stores_of_many_threads_stay_within_the_bound() -> None:
    stores: list[CompiledStore[int, int]] = [CompiledStore() for _ in range(8)]

    def fill(store: CompiledStore[int, int]) -> None:
        for number in range(500):
            store.keep(number, number)

    threads = [threading.Thread(target=fill, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(map(len, stores)) <= compiled_store.MOST_COMPILED
