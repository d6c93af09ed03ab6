# pyright: basic
"""What of Python kernels may use, against Python itself: tuples, loops, slices, records, complex functions, types."""

from __future__ import annotations

import cmath
import math
import operator
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

from windlass.numba import cuda, float32, int32, types
from windlass.numba.cuda.generated import function_of


@cuda.jit("float32(float32, int32)", device=True)
def declared(x, n):
    return x / 3 + n


@cuda.jit
def calls_declared(out):
    out[0] = declared(1.0, 2.9)
    out[1] = declared(0.1, -1)


def test_declared_functions_convert_arguments_and_results():
    out = np.zeros(2)
    calls_declared[1, 1](out)
    first = np.float32(np.float64(np.float32(1)) / 3 + 2)
    second = np.float32(np.float64(np.float32(0.1)) / 3 - 1)
    np.testing.assert_array_equal(out, [first, second])


Point = namedtuple("Point", ("x", "y"))


@cuda.jit
def named(point, out):
    moved = Point(point.x + 1, y=point.y * 2)
    out[0] = moved.x
    out[1] = moved[1] + len(moved)


def test_named_tuples():
    out = np.zeros(2)
    named[1, 1](Point(1, 2.5), out)
    assert out.tolist() == [2, 7]


@cuda.jit
def pairs(a, b, out):
    total = 0.0
    for i, (x, y) in enumerate(zip(a, b, strict=False)):
        total += i * x * y
    for n, value in enumerate((3, 5), 1):
        total += n * value
    out[0] = total


def test_enumerate_and_zip():
    a, b = np.arange(5.0), np.arange(6.0) + 1
    out = np.zeros(1)
    pairs[1, 1](a, b, out)
    assert out[0] == sum(i * x * y for i, (x, y) in enumerate(zip(a, b, strict=False))) + 13


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    "slice_text", ["::-1", "7:2:-2", "-2::-3", ":3:-1", "1:", ":-3", "-4:-1", "20:", "::4", "5:2", "2:100:3", "-100:2"]
)
def test_slices_are_pythons(slice_text: str):
    text = (
        "def take(a, out):\n"
        f"    part = a[{slice_text}]\n"
        "    out[0] = part.size\n"
        "    for i in range(part.size):\n"
        "        out[1 + i] = part[i]\n"
    )
    kernel = cuda.jit(function_of(text, "take", {}))
    a, out = np.arange(10.0) + 1, np.zeros(12)
    kernel[1, 1].emulate(a, out)
    expected = eval(f"a[{slice_text}]", {"a": a})
    assert out[0] == expected.size
    np.testing.assert_array_equal(out[1 : 1 + expected.size], expected)


CELL = np.dtype([("id", np.int16), ("z", np.complex64), ("gap", np.int16), ("m", np.float32, (2, 2))])


@cuda.jit
def with_records(cells, one):
    i = cuda.grid(1)
    if i < cells.size:
        cells[i].z = cells[i].z * 1j
        cells[i].id = i
        for r in range(2):
            cells[i].m[r, 1 - r] = r + one.id
        if i > 0:
            cells[i].m[0] = cells[i].m[1]
    cuda.syncthreads()
    if i == 0:
        one.id += 5


def test_records_with_complex_numbers_and_arrays():
    cells = np.zeros(4, CELL)
    cells["z"] = np.arange(4) + 1j
    one = np.zeros(1, CELL)
    one["id"] = 7
    expected = cells.copy()
    expected["z"] *= 1j
    expected["id"] = np.arange(4)
    expected["m"][:, 0, 1], expected["m"][:, 1, 0] = 7, 8
    expected["m"][1:, 0] = expected["m"][1:, 1]
    with_records[1, 4].emulate(cells, one[0])
    np.testing.assert_array_equal(cells, expected)
    assert one["id"][0] == 12


FUNCTIONS = "sqrt exp log log10 sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh phase"


def test_functions_of_complex_numbers():
    parts = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 1e-3, math.inf, -math.inf]
    values = np.array([complex(a, b) for a in parts for b in parts])
    names = FUNCTIONS.split()
    body = "".join(f"        out[i, {place}] = cmath.{name}(z[i])\n" for place, name in enumerate(names))
    text = f"def functions(z, out):\n    i = cuda.grid(1)\n    if i < z.size:\n{body}"
    kernel = cuda.jit(function_of(text, "functions", {"cuda": cuda, "cmath": cmath}))
    out = np.zeros((values.size, len(names)), np.complex128)
    kernel[1, 128].emulate(values, out)
    for value, row in zip(values, out, strict=True):
        for name, got in zip(names, row, strict=True):
            try:
                wanted = complex(getattr(cmath, name)(complex(value)))
            except (ValueError, OverflowError):
                continue
            for a, b in ((got.real, wanted.real), (got.imag, wanted.imag)):
                assert (math.isnan(a) and math.isnan(b)) or a == b or abs(a - b) < 1e-12 * max(1, abs(b)), (name, value)


ALL_TYPES = [np.bool_, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]
ALL_TYPES += [np.float32, np.float64, np.complex64, np.complex128]


def numbas_type(operation: Any, first: Any, second: Any) -> str:
    """The type that Numba gives an operator's result."""
    registry = pytest.importorskip("numba.core.registry")
    context = registry.cpu_target.typing_context
    context.refresh()
    numbas = [context.resolve_value_type(each(1)) for each in (first, second)]
    return str(context.resolve_function_type(operation, numbas, {}).return_type)


def test_arrays_in_packed_records_have_to_be_aligned():
    packed = np.dtype([("id", np.int16), ("m", np.float32, (2,))])

    @cuda.jit
    def misaligned(cells):
        cells[0].m[0] = 1

    with pytest.raises(Exception, match="align=True"):
        misaligned[1, 1](np.zeros(1, packed))


@pytest.mark.parametrize("first", ALL_TYPES)
def test_operators_give_the_types_that_numba_gives(first: Any):
    from windlass.frontends.kernels import promotion

    for second in ALL_TYPES:
        one, other = types.from_dtype(first), types.from_dtype(second)
        assert isinstance(one, types.Number) and isinstance(other, types.Number)
        assert str(promotion.operated(one, other)) == numbas_type(operator.add, first, second), second
        assert str(promotion.divided(one, other)) == numbas_type(operator.truediv, first, second), second


def test_real_numbas_types_may_be_named():
    numba = pytest.importorskip("numba")

    @cuda.jit(numba.void(numba.float32[:], numba.int32))
    def filled(x, n):
        buffer = cuda.local.array(2, numba.float32)
        buffer[0] = numba.int8(n)
        x[0] = buffer[0]

    x = np.zeros(1, np.float32)
    filled[1, 1](x, 300)
    assert x[0] == 44
    assert (float32, int32) == (types.float32, types.int32)


def test_exec_made_functions_say_that_they_have_no_source():
    scope: dict[str, Any] = {}
    exec("def nameless(x):\n    x[0] = 1\n", scope)
    with pytest.raises(Exception, match="WL0111"):
        cuda.jit(scope["nameless"])[1, 1](np.zeros(1))


@cuda.jit
def with_ufuncs(r, x, s):
    np.sin(x, r)
    np.add(r, s, r)


def test_numpys_functions_work_on_arrays_with_a_place_for_results():
    x, r = np.arange(6.0).reshape(2, 3), np.zeros((2, 3))
    with_ufuncs[1, 1](r, x, 2.0)
    np.testing.assert_allclose(r, np.sin(x) + 2)


@cuda.jit
def named_arrays(x):
    tile = cuda.shared.array(4, float32)
    tile[cuda.threadIdx.x + 1] = x[0]
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        x[0] = tile[1] + tile[2]


def test_messages_name_shared_arrays_as_the_source_does():
    with pytest.raises(Exception, match="byte 16 of 'tile', which has 16 bytes"):
        named_arrays[1, 4].emulate(np.zeros(1, np.float32))
