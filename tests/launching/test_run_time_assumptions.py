"""Kernels that are raised on an assumption about their data: right where it holds, and emulated where it does not."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import windlass as wl

ADD_AT = """
__global__ void add_at(float *sums, const int *place, const float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) sums[place[i]] += x[i];
}"""


def add_at(places: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], wl.cuda.Module]:
    """What the kernel makes of sums at these places, what it should, and its module."""
    draw = np.random.default_rng(len(places))
    module = wl.cuda.compile(ADD_AT)
    sums, x = draw.random(1000, np.float32), draw.random(len(places), np.float32)
    expected = sums.copy()
    np.add.at(expected, places, x)
    module["add_at"][8, 128](sums, places.astype(np.int32), x, len(places))
    return sums, expected, module


def test_threads_with_places_of_their_own_are_raised() -> None:
    sums, expected, module = add_at(np.random.default_rng(0).permutation(1000)[:900])
    np.testing.assert_array_equal(sums, expected)
    report = module["add_at"].explain()
    assert report.is_raised
    assert "<source>:4:31: emulated if several threads add to the same place of sums" in str(report)


def test_threads_that_share_a_place_are_emulated() -> None:
    with pytest.warns(wl.WindlassWarning) as caught:
        sums, expected, module = add_at(np.random.default_rng(0).integers(0, 50, 900))
    np.testing.assert_array_equal(sums, expected)
    assert str(caught[0].message) == (
        "warning[WL0413]: add_at runs in the emulator, which is slow: kernel 'add_at' can't be raised: "
        "several threads add to the same place of sums without an atomic operation\n"
        " --> <source>:4:31\n"
        "   |\n"
        " 4 |     if (i < n) sums[place[i]] += x[i];\n"
        "   |                               ^\n"
        "  note: that depends on the data: it was seen as the kernel ran\n"
        "  help: use atomicAdd, or let one thread do it"
    )
    # The next launch has other data: it is not held against it.
    draw = np.random.default_rng(1)
    places, x = draw.permutation(1000)[:900], draw.random(900, np.float32)
    expected = sums.copy()
    np.add.at(expected, places, x)
    module["add_at"][8, 128](sums, places.astype(np.int32), x, 900)
    np.testing.assert_array_equal(sums, expected)


def test_one_shared_place_is_enough() -> None:
    places = np.arange(900)
    places[899] = 0
    with pytest.warns(wl.WindlassWarning, match="WL0413"):
        sums, expected, _ = add_at(places)
    np.testing.assert_array_equal(sums, expected)


def test_without_the_emulator_it_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDLASS_FALLBACK", "error")
    with pytest.raises(wl.RaisingError, match="WL0309"):
        add_at(np.zeros(900, np.int64))


def test_threads_that_share_a_place_in_a_loop_are_emulated() -> None:
    module = wl.cuda.compile("""
    __global__ void walk(float *sums, const int *starts, const float *x, const int *counts) {
        int row = starts[blockIdx.x];
        for (int k = 0; k < counts[blockIdx.x]; k++)
            sums[row + threadIdx.x] += x[(blockIdx.x * 8 + k) * 32 + threadIdx.x];
    }""")
    draw = np.random.default_rng(3)
    x, counts = draw.random(3 * 8 * 32, np.float32), np.array([5, 8, 2], np.int32)
    for starts, is_raised in (([64, 0, 32], True), ([16, 0, 96], False)):
        sums = draw.random(128, np.float32)
        expected = sums.copy()
        for block, start in enumerate(starts):
            for k in range(counts[block]):
                expected[start : start + 32] += x[(block * 8 + k) * 32 :][:32]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module["walk"][3, 32](sums, np.array(starts, np.int32), x, counts)
        np.testing.assert_allclose(sums, expected, rtol=1e-6)
        assert module["walk"].explain().is_raised is is_raised


def test_several_threads_with_one_state_take_turns() -> None:
    kernel = wl.cuda.compile("""
    __global__ void advance(unsigned *state, int width) {
        int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
        int own = y * width / 4 + x;
        state[own] = state[own] * 1664525u + 1013904223u;
    }""")["advance"]
    for width, takes_turns in ((128, False), (7, True)):
        state = np.arange(32 * 32, dtype=np.uint32)
        expected = state.copy()
        for y in range(32):
            for x in range(32):
                own = y * width // 4 + x
                expected[own] = (int(expected[own]) * 1664525 + 1013904223) % 2**32
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            kernel[(1, 4), (32, 8)](state, width)
        np.testing.assert_array_equal(state, expected)
        assert (
            any("several threads add to the same place of state" in str(each.message) for each in caught) == takes_turns
        )


def test_vectors_at_places_that_data_tells_have_to_be_aligned() -> None:
    module = wl.cuda.compile("""
    __global__ void take(double *out, const float *x, const int *first) {
        out[threadIdx.x] = *(const double *)(x + first[threadIdx.x]);
    }""")
    x = np.random.default_rng(0).random(64)
    first = np.random.default_rng(1).integers(0, 64, 32).astype(np.int32) * 2
    out = np.zeros(32)
    module["take"][1, 32](out, x.view(np.float32), first)
    np.testing.assert_array_equal(out, x[first // 2])
    assert module["take"].explain().is_raised
    first[7] = 5
    with pytest.raises(wl.EmulationError, match="WL0609") as caught:
        module["take"][1, 32](out, x.view(np.float32), first)
    assert "thread (7, 0, 0)" in str(caught.value)


def test_vectors_between_two_places_are_an_error() -> None:
    module = wl.cuda.compile("""
    __global__ void take(double *out, const float *x, int stride) {
        out[threadIdx.x] = *(const double *)(x + threadIdx.x * stride);
    }""")
    x, out = np.random.default_rng(0).random(64), np.zeros(32)
    module["take"][1, 32](out, x.view(np.float32), 4)
    np.testing.assert_array_equal(out, x[::2])
    with pytest.raises(wl.EmulationError, match="no multiple of 8"):
        module["take"][1, 32](out, x.view(np.float32), 3)


def test_in_larger_programs_the_assumption_is_taken_for_granted() -> None:
    import jax
    import jax.numpy as jnp

    kernel = wl.cuda.compile(ADD_AT)["add_at"]
    draw = np.random.default_rng(5)
    places, x, sums = draw.permutation(1000)[:900].astype(np.int32), draw.random(900, np.float32), np.zeros(1000, "f4")
    expected = sums.copy()
    np.add.at(expected, places, x)
    launch = jax.jit(lambda sums: kernel.jax((8,), (128,))(sums, places, x, 900))
    np.testing.assert_array_equal(launch(jnp.asarray(sums)), expected)

    @wl.jit(whole=True)
    def twice(sums: Any, places: Any, x: Any) -> Any:
        kernel[8, 128](sums, places, x, 900)
        kernel[8, 128](sums, places, x, 900)
        return sums

    np.testing.assert_array_equal(twice(sums, places, x), 2 * expected)
