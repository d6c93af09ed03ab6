"""Errors of raising say which lines led there, in the program's order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import windlass as wl
from windlass.diagnostics import Step
from windlass.reports.report import Report

N = 32

QUEUE = """\
__global__ void queue(const int *x, int *out, float *count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; __syncthreads();
    if (x[i] > 0) {
        int place = atomicAdd(count, 1.0f);
        int where = place * 2;
        if (place < n)
            out[where] = i * 10;
    }
}
"""

POINTERS = """\
__global__ void follow(float *a, float *b, const int *next, float *y) {
    float *p = a;
    int i = next[threadIdx.x];
    float s = 0;
    while (i != -1) {
        s += p[i];
        p = (i & 1) ? a : b;
        i = next[i];
    }
    y[threadIdx.x] = s;
}
"""

WIDTH = """\
__global__ void shift(const float *x, float *y, const int *w) {
    int width = w[0];
    float v = x[threadIdx.x];
    v += __shfl_down_sync(0xffffffffu, v, 1, width);
    y[threadIdx.x] = v;
}
"""

RACE = """\
__global__ void total(const float *x, float *sum, const float *weights) {
    float weight = weights[3]; __syncthreads();
    float now = sum[0] * 0.5f;
    sum[0] = now + weight * x[threadIdx.x];
}
"""

EXCHANGE = """\
__device__ int claim(int *owner, int place) {
    return atomicCAS(&owner[place], place, 7);
}
__global__ void take(int *owner, const int *slots, int *mine) { __syncthreads();
    int before = claim(owner, slots[threadIdx.x]);
    mine[threadIdx.x] = before;
}
"""

BEYOND = """\
__global__ void beyond(const float *x, float *y) {
    __shared__ float tile[8];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = tile[0];
}
"""


def explain(source: str, *arguments: Any) -> Report:
    (kernel,) = (wl.cuda.compile(source)[name] for name in wl.cuda.compile(source).kernels)
    return kernel.explain(1, N, *arguments)


def spell(trail: Sequence[Step]) -> dict[int, str]:
    return {step.position.line: step.what for step in trail}


def integers() -> Any:
    return np.zeros(N, np.int32)


def floats() -> Any:
    return np.zeros(N, np.float32)


def test_what_is_done_with_the_result_of_an_atomic_operation_is_followed() -> None:
    report = explain(QUEUE, integers(), integers(), floats(), N)
    found = spell(report.trail)
    assert list(found) == [4, 5, 6, 7]
    assert found[4] == "an atomic operation on 'count'"
    assert found[6] == "decides what is done"
    assert found[7] == "decides what is stored to 'out'"
    assert [step.text for step in report.trail][1] == "int where = place * 2;"
    assert "    7 | out[where] = i * 10;                 <- decides what is stored to 'out'\n" in str(report)


def test_a_value_is_followed_to_its_load_and_round_the_loop() -> None:
    report = explain(POINTERS, floats(), floats(), integers(), floats())
    found = spell(report.trail)
    assert "carries it from one iteration to the next" in found[5]
    assert "not one iteration after the other: how often the loop runs is known at run time only" in found[5]
    assert found[7] == "chooses between pointers"


def test_a_number_that_has_to_be_known_is_followed_to_its_load() -> None:
    report = explain(WIDTH, floats(), floats(), integers())
    found = spell(report.trail)
    assert found[2] == "loads from 'w'"
    assert 3 not in found, "what is shifted is not in the way"


def test_a_race_names_the_load_before_the_store() -> None:
    report = explain(RACE, floats(), floats(), floats())
    assert report.error is not None and report.error.diagnostics[0].code == "WL0309"
    assert spell(report.trail)[3] == "loads from 'sum'"


def test_a_trail_goes_through_functions() -> None:
    report = explain(EXCHANGE, integers(), integers(), integers())
    found = spell(report.trail)
    assert found[2] == "an atomic operation on 'owner'"
    assert found[6] == "decides what is stored to 'mine'"


def test_what_needs_no_trail_has_none() -> None:
    report = explain(BEYOND, floats(), floats())
    assert report.error is not None and report.error.diagnostics[0].code == "WL0310"
    assert report.trail == ()
    assert "how it comes to this" not in str(report)


@pytest.mark.parametrize("source", [QUEUE, POINTERS, WIDTH, RACE, EXCHANGE, BEYOND])
def test_something_would_help(source: str) -> None:
    parameters = wl.cuda.compile(source)
    kernel = parameters[parameters.kernels[0]]
    given = [N if each.kind == "scalar" else np.zeros(N, each.dtype) for each in kernel.signature.parameters]
    error = kernel.explain(1, N, *given).error
    assert error is not None and error.diagnostics[0].help


IRREGULAR = """\
__global__ void steps(const float *x, float *y) {
    float s = x[threadIdx.x];
    for (int k = 0; k < 12; k++) {
        if (s > k)
            s = sinf(s);
        else
            s = s * 0.5f + k;
    }
    y[threadIdx.x] = s;
}
"""


def test_loops_around_what_needs_too_many_operations_say_why_they_were_repeated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("windlass.raising.state.MOST_OPS", 12)
    report = explain(IRREGULAR, floats(), floats())
    assert report.error is not None and report.error.diagnostics[0].code == "WL0303"
    loop = spell(report.trail)[3]
    assert loop.startswith("not all iterations at once: ")
    assert "; as one iteration after the other" in loop
