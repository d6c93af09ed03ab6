"""Threads that store different things to one place: the last one's stays, block by block and thread by thread."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import windlass as wl
from windlass.launching.emulation import emulate_launch

BODIES = {
    "everyone": "x[0] = t;",
    "rows": "x[t % 3] = t;",
    "neighbours": "x[t / 3] = t * 2;",
    "backwards": "x[(31 - t) / 2] = t;",
    "first_five": "if (t < 5) x[1] = t;",
    "later_ones": "if (t > 2) x[1] = t;",
    "even_ones": "if (t % 2 == 0) x[1] = t + 1;",
    "chosen_by_data": "if (y[t] > 0) x[1] = t + 1;",
    "placed_by_data": "x[y[t] & 3] = t;",
    "twice": "x[0] = t; x[0] = t + 10;",
    "one_more": "x[0] = t; if (t == 2) x[0] = 100;",
    "in_a_loop": "for (int i = 0; i < 4; i++) x[0] = t * 10 + i;",
    "along_a_loop": "for (int i = 0; i < 4; i++) x[t & 1] = y[i] + t;",
    "in_a_loop_by_data": "for (int i = 0; i < (y[t] & 3) + 1; i++) x[i] = t * 10 + i;",
    "shared": "__shared__ int s[4]; s[t & 1] = t; __syncthreads(); x[t & 7] = s[t & 1];",
    "all_but_one": "if (t == 3) return; x[0] = t;",
    "bytes": "((char *)x)[t % 2] = t;",
    "vectors": "((int2 *)x)[t / 4] = make_int2(t, -t);",
    "either": "x[t < 3 ? 0 : 1] = t;",
    "exchanged": "atomicExch(x, t);",
    "byte_of_a_word_that_is_read": "__shared__ int s[2]; s[0] = 0; __syncthreads();"
    " ((char *)s)[1] = t; x[t & 7] = s[0];",
    "half_of_a_word_that_is_read": "__shared__ int s[2]; s[0] = 0; __syncthreads();"
    " ((short *)s)[1] = t; x[t & 7] = s[0];",
    "word_of_which_a_byte_is_read": "__shared__ int s[2]; s[t & 1] = t << 8;"
    " x[t & 7] = ((volatile char *)s)[1 + y[t] % 1];",
    "in_two_dimensions": "x[0] = t + 100 * threadIdx.y; x[1 + threadIdx.y] = threadIdx.x;"
    " x[8 + threadIdx.x] = threadIdx.y + t; x[20 + blockIdx.x] = threadIdx.y * 10 + threadIdx.x;",
}
LAUNCHES = (((1, 8), (4, 4)), ((1, (2, 3)), ((2, 2), (2, 2))))


@pytest.fixture(scope="module")
def module() -> Any:
    start = "int t = blockIdx.x * blockDim.x + threadIdx.x;"
    return wl.cuda.compile(
        "\n".join(f"__global__ void {name}(int *x, const int *y) {{ {start} {body} }}" for name, body in BODIES.items())
    )


@pytest.mark.one_in(6)
@pytest.mark.filterwarnings("ignore::windlass.WindlassWarning")
@pytest.mark.parametrize("name", BODIES)
def test_the_last_writer_wins(module: Any, name: str) -> None:
    y = np.array([3, -2, 5, 1, 0, -7, 9, 2, 4, 4, -1, 6, 8, -3, 2, 7], np.int32)
    kernel = module[name]
    for grid, block in LAUNCHES[name == "in_two_dimensions"]:
        raised, emulated = np.full(32, -5, np.int32), np.full(32, -5, np.int32)
        kernel[grid, block](raised, y)
        emulate_launch(kernel, kernel[grid, block].shape, [emulated, y], finds_races=False)
        np.testing.assert_array_equal(raised, emulated, err_msg=f"{name}[{grid}, {block}]")
