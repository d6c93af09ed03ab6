"""Structs: which arrays are taken for arrays of them, and which Python values for one by value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

import windlass as wl

SOURCE = """
#include <cuda_fp16.h>
#include <cuda_bf16.h>
struct Mixed { int count; float x; unsigned total; };
struct Integers { int a; unsigned b[2]; };
struct Tail { double by; int count; };
struct Nested { Tail tail; bool on[2]; __half scale; };
__global__ void add_counts(Mixed *m, int n) { int i = threadIdx.x; if (i < n) { m[i].x += m[i].count; m[i].total++; } }
__global__ void add_integers(Integers *m, int n) { int i = threadIdx.x; if (i < n) m[i].b[1] += m[i].a; }
__global__ void count_up(unsigned *x) { x[threadIdx.x]++; }
__global__ void swap(float2 *x) { float2 v = x[threadIdx.x]; x[threadIdx.x] = make_float2(v.y, v.x); }
__global__ void shift(float *x, Tail t) { int i = threadIdx.x; if (i < t.count) x[i] += t.by; }
__global__ void nest(float *x, Nested t) {
    int i = threadIdx.x;
    if (i < t.tail.count && t.on[i % 2]) x[i] += t.tail.by * __half2float(t.scale);
}
__global__ void keep(Nested *n) { n[0].on[0] = true; }
__global__ void scale(float *x, __half a, __nv_bfloat16 b) { x[threadIdx.x] *= __half2float(a) + __bfloat162float(b); }
__global__ void stretch(float *x, float2 by) { x[threadIdx.x] *= by.x + by.y; }
"""


@pytest.fixture(name="records", scope="module")
def records_() -> wl.cuda.Module:
    return wl.cuda.compile(SOURCE)


@pytest.fixture(autouse=True)
def no_fallback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDLASS_FALLBACK", "error")


def said_by(action: Callable[[], Any]) -> str:
    with pytest.raises(wl.LaunchError) as caught:
        action()
    return str(caught.value)


MIXED = np.dtype([("count", np.int32), ("x", np.float32), ("total", np.uint32)])


def mixed() -> Any:
    array = np.zeros(4, MIXED)
    array["count"], array["total"] = np.arange(4), 2**32 - 2
    return array


@pytest.mark.parametrize(
    "given",
    [MIXED, np.dtype([("a", np.uint32), ("b", np.float32), ("c", np.int32)]), np.dtype(np.uint8)],
    ids=["same", "other names and signs", "bytes"],
)
def test_arrays_of_one_layout_are_one(records: wl.cuda.Module, given: np.dtype) -> None:
    expected = mixed()
    expected["x"] += expected["count"]
    expected["total"] += 1
    array = mixed().view(given).copy()
    records["add_counts"][1, 4](array, 4)
    np.testing.assert_array_equal(array.view(MIXED), expected)


def test_floats_are_not_taken_for_integers(records: wl.cuda.Module) -> None:
    assert said_by(lambda: records["add_counts"][1, 4](mixed().view(np.int32), 4)) == (
        "error[WL0401]: add_counts: argument 'm' has the wrong dtype: the kernel takes Mixed *, which is "
        "[('count', '<i4'), ('x', '<f4'), ('total', '<u4')], but got int32\n"
        "  note: member 'x' is float32 at byte 4, the array has int32 at byte 4\n"
        "  help: make it an array of the struct, or say that its bytes are the struct's: "
        "m.view(add_counts.signature.parameters[0].dtype)"
    )
    other = np.dtype([("count", np.float32), ("x", np.float32), ("total", np.uint32)])
    assert "has the wrong dtype" in said_by(lambda: records["add_counts"][1, 4](mixed().view(other), 4))
    moved = np.dtype({"names": ["a", "b", "c"], "formats": ["i4", "f4", "u4"], "offsets": [0, 4, 12], "itemsize": 16})
    assert "has the wrong dtype" in said_by(lambda: records["add_counts"][1, 4](np.zeros(4, moved), 4))


def test_first_member_that_differs_is_named(records: wl.cuda.Module) -> None:
    def note(given: Any) -> str:
        return said_by(lambda: records["keep"][1, 1](np.zeros(2, given))).splitlines()[1]

    assert said_by(lambda: records["keep"][1, 1](np.zeros(2, np.float64))).startswith(
        "error[WL0401]: keep: argument 'n' has the wrong dtype: the kernel takes Nested *, which is a struct "
        "of 24 bytes, but got float64\n"
    )
    assert note(np.float64) == "  note: member 'tail.count' is int32 at byte 8, the array has float64 at byte 8"
    tail = np.dtype([("by", "f8"), ("count", "i4")], align=True)
    assert note([("tail", tail), ("on", "f2", 2), ("scale", "f2")]) == (
        "  note: member 'on[0]' is bool at byte 16, the array has float16 at byte 16"
    )
    assert note([("tail", tail), ("on", "?", 2), ("scale", "f2")]) == (
        "  note: the struct has 24 bytes and 5 numbers, the array's 20 bytes"
    )


@pytest.mark.parametrize("dtype", [np.int32, np.uint32])
@pytest.mark.parametrize("shape", [(12,), (4, 3), (2, 2, 3)])
def test_words_of_one_width_may_be_a_plain_array(records: wl.cuda.Module, dtype: Any, shape: tuple[int, ...]) -> None:
    array = np.arange(12, dtype=dtype).reshape(shape)
    records["add_integers"][1, 4](array, 4)
    expected = np.arange(12).reshape(4, 3)
    expected[:, 2] += expected[:, 0]
    np.testing.assert_array_equal(array.reshape(4, 3), expected)


def test_signs_do_not_matter_to_plain_arrays(records: wl.cuda.Module) -> None:
    array = np.array([-1, 5], np.int32)
    records["count_up"][1, 2](array)
    assert array.tolist() == [0, 6]


def test_vectors_as_flat_floats(records: wl.cuda.Module) -> None:
    array = np.arange(4, dtype=np.float32)
    records["swap"][1, 2](array)
    assert array.tolist() == [1, 0, 3, 2]
    assert said_by(lambda: records["swap"][1, 2](np.zeros((2, 2)))) == (
        "error[WL0401]: swap: argument 'x' has the wrong dtype: the kernel takes float2 *, which is "
        "[('x', '<f4'), ('y', '<f4')], but got float64\n"
        "  help: convert it: x = x.astype(numpy.float32)"
    )


@pytest.mark.parametrize(
    "record",
    [
        (0.5, 2),
        [0.5, 2],
        {"count": 2, "by": 0.5},
        (np.float32(0.5), np.int64(2)),
        np.array((0.5, 2), [("a", np.float64), ("b", np.uint32)])[()],
        np.array((0.5, 2), [("by", np.float64), ("count", np.int32)]),
    ],
    ids=["tuple", "list", "mapping", "numpy", "without padding", "array"],
)
def test_one_record_by_value(records: wl.cuda.Module, record: Any) -> None:
    x = np.zeros(4, np.float32)
    records["shift"][1, 4](x, record)
    assert x.tolist() == [0.5, 0.5, 0, 0]
    assert records["shift"].jax(1, 4)(x, record).tolist() == [1, 1, 0, 0]


def test_records_within_records(records: wl.cuda.Module) -> None:
    for record in (((1.5, 3), (True, False), 2), {"tail": {"by": 1.5, "count": 3}, "on": [1, 0], "scale": 2.0}):
        x = np.zeros(4, np.float32)
        records["nest"][1, 4](x, record)
        assert x.tolist() == [3, 0, 3, 0]


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (
            (0.5, 2.5),
            "error[WL0401]: shift: argument 't.count' must be a number of type int32, got 2.5 (float)\n"
            "  help: convert it: int(t.count)",
        ),
        (
            (0.5, 2**40),
            "error[WL0408]: shift: argument 't.count' is 1099511627776, which does not fit int32 "
            "(-2147483648 to 2147483647)",
        ),
        (("a", 2), "error[WL0407]: shift: argument 't.by' must be a number of type float64, got 'a' (str)"),
        ((0.5, (2,)), "error[WL0407]: shift: argument 't.count' must be a number of type int32, got (2,) (tuple)"),
        ((0.5,), "error[WL0407]: shift: argument 't' must be a Tail by value, got (0.5,) (tuple)"),
        ({"by": 0.5, "n": 2}, "error[WL0407]: shift: argument 't' must be a Tail by value, got {'by': 0.5, 'n': 2} (d"),
        (None, "error[WL0407]: shift: argument 't' must be a Tail by value, got None (NoneType)"),
        (np.zeros(2), "error[WL0407]: shift: argument 't' must be a Tail by value, got an array of float64 with shape"),
    ],
)
def test_what_is_no_such_record(records: wl.cuda.Module, record: Any, message: str) -> None:
    x = np.zeros(4, np.float32)
    assert said_by(lambda: records["shift"][1, 4](x, record)).startswith(message)
    assert said_by(lambda: records["shift"].jax(1, 4)(x, record)).startswith(message)


@pytest.mark.parametrize("kind", [float, np.float16, np.float32, np.float64, ml_dtypes.bfloat16, int, np.array])
def test_halves_by_value(records: wl.cuda.Module, kind: Callable[[float], Any]) -> None:
    x = np.ones(4, np.float32)
    for a, b in ((2.0, 1.0), (3.0, 8.0)):
        assert records["scale"].jax(1, 4)(x, kind(a), kind(b)).tolist() == [a + b] * 4
    records["scale"][1, 4](x, kind(2.0), kind(1.0))
    assert x.tolist() == [3] * 4


def test_halves_are_rounded_once_and_checked(records: wl.cuda.Module) -> None:
    x = np.ones(4, np.float32)
    records["scale"][1, 4](x, 0.1, 1 / 3)
    expected = np.float32(np.float16(0.1)) + np.float32(ml_dtypes.bfloat16(1 / 3))
    assert x.tolist() == [float(expected)] * 4
    assert said_by(lambda: records["scale"][1, 4](x, 1e6, 1.0)) == (
        "error[WL0408]: scale: argument 'a' is 1000000.0, which overflows __half"
    )


def test_jax_values_as_structs(records: wl.cuda.Module) -> None:
    stretch = records["stretch"].jax(1, 4)
    x = jnp.ones(4)
    for first in (1.0, 2.0):
        assert stretch(x, jnp.array([first, 2])).tolist() == [first + 2] * 4
        assert stretch(x, (jnp.float32(first), 2)).tolist() == [first + 2] * 4
        assert jax.jit(lambda a: stretch(x, (a, 2)))(first).tolist() == [first + 2] * 4
        assert jax.jit(lambda by: stretch(x, by))(jnp.array([first, 2])).tolist() == [first + 2] * 4


@pytest.mark.parametrize("given", [(1.0, 2.0), [1, 2], 1 + 2j, np.array([1, 2], np.float32), np.complex64(1 + 2j)])
def test_vectors_by_value(records: wl.cuda.Module, given: Any) -> None:
    x = np.ones(4, np.float32)
    records["stretch"][1, 4](x, given)
    assert x.tolist() == [3] * 4
