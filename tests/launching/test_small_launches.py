"""Launches that are over soon do little besides their work, and tell what is different from call to call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import windlass as wl
from windlass.launching.raised_form import RaisedForm
from windlass.runtime.call_key import CallKeys
from windlass.runtime.staging import LARGE
from windlass.stablehlo.waiting import Waiter

SOURCE = """
__global__ void saxpy(int n, float a, const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
__global__ void fill(float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = i;
}
__global__ void climb(const unsigned *x, unsigned *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned v = x[i], steps = 0;
    for (; v != 1; steps++) v = v & 1 ? 3 * v + 1 : v / 2;
    y[i] = steps;
}
"""


@pytest.fixture(scope="module")
def module() -> Any:
    return wl.cuda.compile(SOURCE)


def form_of(launch: Any) -> RaisedForm:
    (form,) = launch._forms.values()  # pyright: ignore[reportPrivateUsage]
    assert isinstance(form, RaisedForm)
    return form


def test_nobody_waits_for_a_launch_that_is_known_to_be_short(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    n = 1 << 17
    x, y = np.arange(n, dtype=np.float32), np.ones(n, np.float32)
    launch = module["saxpy"][n // 256, 256]
    launch(n, 2.0, x, y)  # compiled here

    def fail(*_: object) -> None:
        raise AssertionError("another thread waits")

    monkeypatch.setattr(Waiter, "begin", fail)
    for _ in range(20):
        launch(n, 2.0, x, y)
    np.testing.assert_array_equal(y, 42 * x + 1)


@pytest.mark.parametrize(("name", "is_brief"), [("saxpy", True), ("fill", True), ("climb", False)])
def test_a_loop_of_unknown_length_is_not_known_to_be_short(module: Any, name: str, is_brief: bool) -> None:
    x, y = np.arange(1, 9, dtype=np.float32), np.zeros(8, np.float32)
    words = x.astype(np.uint32), y.astype(np.uint32)
    launch = module[name][1, 8]
    launch(*{"saxpy": (8, 2.0, x, y), "fill": (y, 8), "climb": (*words, 8)}[name])
    assert form_of(launch)._is_brief == is_brief  # pyright: ignore[reportPrivateUsage]


def test_large_results_are_waited_for_where_nothing_large_is_read(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDLASS_NATIVE", "0")
    y = np.zeros(LARGE, np.float32)
    launch = module["fill"][LARGE // 256, 256]
    launch(y, LARGE)
    np.testing.assert_array_equal(y, np.arange(LARGE))
    form = form_of(launch)
    assert not form._large and not form._is_small  # pyright: ignore[reportPrivateUsage]


def test_calls_that_need_other_forms_have_other_keys(module: Any) -> None:
    keys = CallKeys(module["saxpy"].signature, takes_values=False)
    x, y = np.zeros((2, 8), np.float32)
    mine, other = x.copy(), y.copy()
    read_only = x.copy()
    read_only.flags.writeable = False
    mapped: Any = np.zeros(8, np.float32).view(np.memmap)
    calls = (
        (8, 2.0, mine, other),
        (7, 2.0, mine, other),
        (8, np.float32(2), mine, other),
        (np.int32(8), 2.0, mine, other),
        (np.int64(8), 2.0, mine, other),
        (np.uint8(8), 2.0, mine, other),
        (8, 2.0, mine, mine),
        (8, 2.0, x, y),
        (8, 2.0, x, x),
        (8, 2.0, x[:4], x[2:6]),
        (8, 2.0, x[:4], x[3:7]),
        (8, 2.0, mine[:4], other),
        (8, 2.0, mine, read_only),
        (8, 2.0, mine.astype(np.float64), other),
        (8, 2.0, mine.reshape(2, 4), other),
        (8, 2.0, mapped, other),
        (8, 2.0, None, other),
        (True, 2.0, mine, other),
        (1, 2.0, mine, other),
        (8, 2.0, 3, other),
    )
    found = [keys.key(arguments) for arguments in calls]
    assert len(set(found)) == len(calls)
    again = [keys.key(arguments) for arguments in calls]
    assert found == again
    assert keys.key((8, 3.0, other, mine)) == found[0]  # neither the float nor the places matter


def test_an_array_given_twice_after_two_arrays_is_one_memory(module: Any) -> None:
    x, y = np.arange(8, dtype=np.float32), np.ones(8, np.float32)
    launch = module["saxpy"][1, 8]
    launch(8, 2.0, x, y)
    launch(8, 2.0, x, x)
    launch(8, 2.0, x, y)
    np.testing.assert_array_equal(x, 3 * np.arange(8))
    np.testing.assert_array_equal(y, 1 + 8 * np.arange(8))
