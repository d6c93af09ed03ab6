"""What a user sees for a launch that does not fit, word for word."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import windlass as wl

FLOATS = np.zeros(8, np.float32)


def said_by(action: Callable[[], Any]) -> str:
    with pytest.raises(wl.WindlassError) as caught:
        action()
    return str(caught.value)


@pytest.fixture(name="saxpy")
def saxpy_(module: wl.cuda.Module) -> wl.cuda.Kernel:
    return module["saxpy"]


def test_wrong_dtype(saxpy: wl.cuda.Kernel) -> None:
    assert said_by(lambda: saxpy[1, 8](8, 1.0, np.zeros(8), FLOATS)) == (
        "error[WL0401]: saxpy: argument 'x' has the wrong dtype: the kernel takes const float *, which is float32, "
        "but got float64\n"
        "  help: convert it: x = x.astype(numpy.float32)"
    )


def test_too_few_arguments(saxpy: wl.cuda.Kernel) -> None:
    assert said_by(lambda: saxpy[1, 8](8, 1.0, FLOATS)) == (
        "error[WL0402]: saxpy takes 4 arguments, got 3: 'y' missing\n"
        "  note: the kernel is saxpy(int n, float a, const float * x, float * y)"
    )


def test_too_many_arguments(saxpy: wl.cuda.Kernel) -> None:
    assert said_by(lambda: saxpy[1, 8](8, 1.0, FLOATS, FLOATS, FLOATS)) == (
        "error[WL0402]: saxpy takes 4 arguments, got 5\n"
        "  note: the kernel is saxpy(int n, float a, const float * x, float * y)\n"
        "  help: leave out what is too much"
    )


def test_unknown_and_repeated_names(saxpy: wl.cuda.Kernel) -> None:
    assert said_by(lambda: saxpy[1, 8](8, 1.0, FLOATS, z=FLOATS)) == (
        "error[WL0402]: saxpy has no parameter called 'z'\n"
        "  note: the kernel is saxpy(int n, float a, const float * x, float * y)"
    )
    assert said_by(lambda: saxpy[1, 8](8, 1.0, FLOATS, n=3)).startswith(
        "error[WL0402]: saxpy: parameter 'n' is given twice"
    )


def test_grid_of_zero(saxpy: wl.cuda.Kernel) -> None:
    assert said_by(lambda: saxpy[0, 8]) == (
        "error[WL0403]: saxpy: the grid is empty: its x extent is 0\n"
        "  help: launch nothing where there is nothing to do, or use at least 1"
    )


@pytest.mark.parametrize(
    ("brackets", "headline"),
    [
        ((1, -3), "the block's x extent is negative: -3"),
        ((1, 2048), "the block's x extent is 2048; the largest is 1024"),
        ((1, (32, 64)), "a block of 32×64×1 = 2048 threads is larger than 1024"),
        ((1.5, 8), "the grid must be made of integers, got 1.5 (float)"),
        (((1, 1, 1, 1), 8), "the grid has 4 extents"),
        (((1, 70000), 8), "the grid's y extent is 70000; the largest is 65535"),
        ((1, 8, -4), "shared_bytes is -4; it can be 0 to 232448"),
        (7, "a launch needs a grid and a block in brackets"),
    ],
)
def test_launch_shapes_that_cuda_refuses(saxpy: wl.cuda.Kernel, brackets: Any, headline: str) -> None:
    assert said_by(lambda: saxpy[brackets]).splitlines()[0] == f"error[WL0403]: saxpy: {headline}"


def test_launch_bounds(module: wl.cuda.Module) -> None:
    assert said_by(lambda: module["small_blocks"][1, 128]) == (
        "error[WL0403]: small_blocks: a block of 128 threads exceeds the kernel's __launch_bounds__(64)\n"
        "  help: use smaller blocks, or raise the bound in the source"
    )


def test_call_without_brackets(saxpy: wl.cuda.Kernel) -> None:
    assert said_by(lambda: saxpy(8, 1.0, FLOATS, FLOATS)) == (
        "error[WL0403]: saxpy: a launch needs a grid and a block in brackets\n"
        "  help: write saxpy[grid, block](...) or saxpy[grid, block, shared_bytes](...)"
    )


def test_too_small_an_array(saxpy: wl.cuda.Kernel) -> None:
    assert said_by(lambda: saxpy[1, 8](8, 1.0, FLOATS, np.zeros(6, np.float32))) == (
        "error[WL0404]: saxpy: array 'y' is too small: the kernel reads element 6, and it has 6\n"
        " --> <source>:8:34\n"
        "   |\n"
        " 8 |     if (i < n) y[i] = a * x[i] + y[i];\n"
        "   |                                  ^\n"
        "  note: launched with grid (1, 1, 1) and block (8, 1, 1)\n"
        "  help: pass a larger array, or guard the access in the kernel"
    )


def test_empty_array(saxpy: wl.cuda.Kernel) -> None:
    said = said_by(lambda: saxpy[1, 8](8, 1.0, FLOATS, FLOATS[:0].copy()))
    assert said.startswith("error[WL0404]: saxpy: array 'y' is too small: the kernel reads element 0, and it has 0\n")


def test_not_contiguous(saxpy: wl.cuda.Kernel) -> None:
    assert said_by(lambda: saxpy[1, 4](4, 1.0, FLOATS[::2], FLOATS)) == (
        "error[WL0405]: saxpy: argument 'x' is not contiguous: shape (4,), strides (8,) bytes\n"
        "  note: a kernel sees memory as one run of elements, last axis fastest\n"
        "  help: make a contiguous copy: x = numpy.ascontiguousarray(x)"
    )


def test_read_only(saxpy: wl.cuda.Kernel) -> None:
    frozen = FLOATS.copy()
    frozen.flags.writeable = False
    saxpy[1, 8](8, 1.0, frozen, FLOATS.copy())  # reading it is fine
    assert said_by(lambda: saxpy[1, 8](8, 1.0, FLOATS, frozen)) == (
        "error[WL0406]: saxpy: argument 'y' is read-only, and the kernel writes to it\n"
        "  help: pass a writable array: y = y.copy()"
    )


def test_no_array(saxpy: wl.cuda.Kernel) -> None:
    assert said_by(lambda: saxpy[1, 8](8, 1.0, [1.0, 2.0], FLOATS)) == (
        "error[WL0407]: saxpy: argument 'x' must be a NumPy array (const float *), got [1.0, 2.0] (list)\n"
        "  help: make it an array: numpy.array([1.0, 2.0], dtype=numpy.float32)"
    )


def test_number_out_of_range(saxpy: wl.cuda.Kernel) -> None:
    assert said_by(lambda: saxpy[1, 8](2**31, 1.0, FLOATS, FLOATS)) == (
        "error[WL0408]: saxpy: argument 'n' is 2147483648, which does not fit int (-2147483648 to 2147483647)"
    )
    saxpy[1, 8](8, 1.0, FLOATS, FLOATS.copy())
    assert said_by(lambda: saxpy[1, 8](8, 1e300, FLOATS, FLOATS.copy())) == (
        "error[WL0408]: saxpy: argument 'a' is 1e+300, which overflows float"
    )


def test_float_for_an_integer(saxpy: wl.cuda.Kernel) -> None:
    assert said_by(lambda: saxpy[1, 8](8.0, 1.0, FLOATS, FLOATS)) == (
        "error[WL0401]: saxpy: argument 'n' must be a number of type int, got 8.0 (float)\n  help: convert it: int(n)"
    )


def test_string_for_a_float(saxpy: wl.cuda.Kernel) -> None:
    assert said_by(lambda: saxpy[1, 8](8, "1", FLOATS, FLOATS)) == (
        "error[WL0407]: saxpy: argument 'a' must be a number of type float, got '1' (str)"
    )


def test_jax_array_in_place(saxpy: wl.cuda.Kernel) -> None:
    assert said_by(lambda: saxpy[1, 8](8, 1.0, FLOATS, jnp.zeros(8))) == (
        "error[WL0409]: saxpy: argument 'y' is a JAX array, which can't be updated in place\n"
        "  help: use saxpy.jax(grid, block)(...), which returns the new values, or pass numpy.array(y)"
    )


def test_foreign_byte_order(saxpy: wl.cuda.Kernel) -> None:
    foreign = FLOATS.astype(FLOATS.dtype.newbyteorder("S"))
    assert said_by(lambda: saxpy[1, 8](8, 1.0, foreign, FLOATS)) == (
        f"error[WL0410]: saxpy: argument 'x' has dtype {foreign.dtype.str}, which is not in this machine's byte order\n"
        "  help: convert it: x = x.astype(x.dtype.newbyteorder('='))"
    )


def test_unknown_variable(module: wl.cuda.Module) -> None:
    assert said_by(lambda: module.variables["weight"]) == (
        "error[WL0411]: there is no device variable called 'weight'\n  note: declared: visits, weights"
    )


def test_variable_of_wrong_size_and_dtype(module: wl.cuda.Module) -> None:
    def set_to(value: Any) -> Callable[[], None]:
        return lambda: module.variables.__setitem__("weights", value)

    assert "device variable 'weights' is float32 with shape (3,)" in said_by(set_to(np.zeros(4, np.float32)))
    assert "got float64 with shape (3,)" in said_by(set_to(np.zeros(3)))
    assert "device variable 'weights' is float32 with shape (3,)" in said_by(set_to([1, 2]))


def test_record_given_as_number(module: wl.cuda.Module) -> None:
    said = said_by(lambda: module["ripple"][1, 8](FLOATS, 3.0))
    assert said.startswith("error[WL0407]: ripple: argument 'wave' must be a Wave by value, got 3.0 (float)\n")


def test_unknown_kernel(module: wl.cuda.Module) -> None:
    assert said_by(lambda: module["saxpi"]).startswith("error[WL0106]: there is no kernel named 'saxpi'\n")


def test_errors_do_not_disturb_later_launches(saxpy: wl.cuda.Kernel) -> None:
    y = np.ones(8, np.float32)
    said_by(lambda: saxpy[1, 8](8, 1.0, np.zeros(8), y))
    saxpy[1, 8](8, 1.0, np.ones(8, np.float32), y)
    assert y.tolist() == [2] * 8
