"""What threads find at counters that others come to as well: all at once where no other access comes between."""

from __future__ import annotations

import re

import numpy as np
import pytest

import windlass as wl
from windlass.launching.emulation import emulate_launch
from windlass.runtime.launch_shape import LaunchShape

THREADS = 32
AT_ONCE = {
    "a barrier before": "if (t == 0) *shared = 5; __syncthreads(); out[i] = atomicAdd(shared, x[i]);",
    "a barrier after": "if (t == 0) *shared = 0; __syncthreads(); out[i] = atomicAdd(shared, 1); __syncthreads(); "
    "if (t == 0) other[blockIdx.x] = *shared;",
    "another place": "__syncthreads(); out[i] = atomicAdd(&p[0], 2) - atomicSub(&p[1], x[i]); other[i] = p[i + 2];",
    "some threads": "__syncthreads(); if (x[i] > 3) out[i] = atomicAdd(p, 1); else if (t == 0) out[i] = -1;",
    "one thread of each block": "__syncthreads(); if (t == 7) out[i] = atomicAdd(p, x[i]);",
    "twice with a barrier": "if (t == 0) *shared = 5; __syncthreads(); out[i] = atomicAdd(shared, 1); "
    "__syncthreads(); other[i] = atomicAdd(shared, 2);",
}
REFUSED = {
    "twice": "if (t == 0) *shared = 5; __syncthreads(); out[i] = atomicAdd(shared, 1); "
    "other[i] = atomicAdd(shared, 2);",
    "a look without a barrier": "if (t == 0) *shared = 5; __syncthreads(); out[i] = atomicAdd(shared, 1); "
    "if (*shared > 9) other[i] = 1;",
    "a look before": "if (t == 0) *shared = 5; __syncthreads(); if (*shared < 9) out[i] = atomicAdd(shared, 1);",
    "a store": "if (t == 0) *shared = 5; __syncthreads(); out[i] = atomicAdd(shared, 1); if (t == 3) *shared = 0;",
    "a barrier of some threads": "if (t == 0) *shared = 5; __syncthreads(); out[i] = atomicAdd(shared, 1); "
    "if (x[0] > 0) __syncthreads(); other[i] = *shared;",
    "a loop": "if (t == 0) *shared = 5; __syncthreads(); "
    "for (int k = 0; k < x[i]; ++k) out[i] += atomicAdd(shared, 1);",
    "a loop of few": "if (t == 0) *shared = 5; __syncthreads(); "
    "for (int k = 0; k < 3; ++k) out[i] += atomicAdd(shared, 1);",
    "floats": "float *q = (float *)p; __syncthreads(); out[i] = atomicAdd(q, 0.1f);",
}


def arguments() -> list[np.ndarray]:
    x = (np.arange(3 * THREADS, dtype=np.int32) * 7) % 11
    return [x, np.full(x.size, 4, np.int32), np.zeros(x.size, np.int32), np.arange(x.size + 2, dtype=np.int32)]


def compiled(body: str) -> wl.cuda.Kernel:
    head = "__global__ void kernel(const int *x, int *out, int *other, int *p) { __shared__ int place[1]; "
    ids = "int *shared = place, t = threadIdx.x, i = blockIdx.x * blockDim.x + t; "
    return wl.cuda.compile(head + ids + body + " }")["kernel"]


@pytest.fixture(autouse=True)
def no_fallback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDLASS_FALLBACK", "error")


@pytest.mark.one_in(4)
@pytest.mark.parametrize("blocks", [1, 3])
@pytest.mark.parametrize("name", AT_ONCE)
def test_threads_find_what_they_find_in_the_emulator(name: str, blocks: int) -> None:
    kernel = compiled(AT_ONCE[name])
    raised, emulated = arguments(), arguments()
    kernel[blocks, THREADS](*raised)
    emulate_launch(kernel, LaunchShape((blocks, 1, 1), (THREADS, 1, 1)), emulated, finds_races=False)
    for one, other in zip(raised, emulated, strict=True):
        np.testing.assert_array_equal(one, other)
    assert "one after another" not in str(kernel.explain())
    assert not np.array_equal(raised[1], arguments()[1])


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", REFUSED)
def test_counters_that_others_come_to_meanwhile_are_refused(name: str) -> None:
    with pytest.raises(wl.RaisingError) as caught:
        compiled(REFUSED[name])[2, THREADS](*arguments())
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "WL0302"
    assert re.search(r"the result of an atomic operation \(f?add\) is used", diagnostic.headline)


def test_blocks_take_turns_at_a_counter_of_the_grid_that_they_look_at() -> None:
    kernel = compiled("out[i] = atomicAdd(p, 1); __syncthreads(); other[i] = *p;")
    raised, emulated = arguments(), arguments()
    kernel[3, THREADS](*raised)
    emulate_launch(kernel, LaunchShape((3, 1, 1), (THREADS, 1, 1)), emulated, finds_races=False)
    np.testing.assert_array_equal(raised[2], emulated[2])
    assert raised[2].tolist() == sorted([THREADS, 2 * THREADS, 3 * THREADS] * THREADS)
    assert "its blocks run one after another" in str(kernel.explain())


def test_sums_wrap_around() -> None:
    counter = np.array([2**31 - 3], np.int32)
    kernel = wl.cuda.compile("__global__ void f(int *c, int *o) { __syncthreads(); o[threadIdx.x] = atomicAdd(c, 1); }")
    out = np.zeros(5, np.int32)
    kernel["f"][1, 5](counter, out)
    assert out.tolist() == [2**31 - 3, 2**31 - 2, 2**31 - 1, -(2**31), -(2**31) + 1]
    assert counter[0] == -(2**31) + 2
