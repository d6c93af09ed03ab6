"""What a loop leaves in shared memory is what the same loop finds when a loop around it comes to it again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import windlass as wl
from windlass.launching.emulation import emulate_launch

BODIES = {
    # Some threads store; all read what they, or the time before, or the beginning left.
    "stored_by_some": "if ((t + o) % 3 == 0) b[7 - t] = x[t + o]; v += b[7 - t];",
    "read_first": "v += b[7 - t]; __syncthreads(); if ((t + o) % 3 == 0) b[7 - t] = x[t + o];",
    "read_from_a_neighbour": "if ((t + o) % 3 == 0) b[t] = x[t + o]; __syncthreads(); v += b[(t + 1) % 8];",
    "stored_by_all": "b[7 - t] = x[t + o]; __syncthreads(); v += b[t];",
    "stored_at_times": "if (o == 1) b[t] = x[t]; __syncthreads(); v += b[7 - t];",
    "added_up": "if ((t + o) % 2) b[t] += x[t]; v += b[t];",
    "another_each_time": "if (t == i + o) b[t] = x[i]; __syncthreads(); v += b[(t + 3) % 8];",
}
LOOPS = {
    "unrolled": "for (int o = 0; o < 3; o++)",
    "counted": "for (int o = 0; o < n; o++)",
    "until": "for (int o = 0; x[o] < 104; o++)",
    "twofold": "for (int p = 0; p < 2; p++) for (int o = p; o < 3; o++)",
}


@pytest.fixture(scope="module")
def module() -> Any:
    return wl.cuda.compile(
        "\n".join(
            f"""__global__ void {loop}_{name}(const float *x, float *y, int n) {{
                __shared__ float b[8]; int t = threadIdx.x; float v = 0; b[t] = t; __syncthreads();
                {head} for (int i = 0; i < 2; i++) {{ __syncthreads(); {body} }}
                y[t] = v;
            }}"""
            for loop, head in LOOPS.items()
            for name, body in BODIES.items()
        )
    )


@pytest.mark.one_in(6)
@pytest.mark.filterwarnings("ignore::windlass.WindlassWarning")
@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("loop", LOOPS)
def test_what_a_loop_leaves_is_found_when_it_comes_again(module: Any, loop: str, name: str) -> None:
    kernel = module[f"{loop}_{name}"]
    x = np.arange(100, 120, dtype=np.float32)
    raised, emulated = np.zeros(8, np.float32), np.zeros(8, np.float32)
    kernel[1, 8](x, raised, 4)
    emulate_launch(kernel, kernel[1, 8].shape, [x, emulated, 4], finds_races=False)
    np.testing.assert_array_equal(raised, emulated)
