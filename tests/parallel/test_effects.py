"""What a kernel may write, and how far its vectors have to be aligned, as its loop level tells."""

from __future__ import annotations

import pytest
from tests.frontends.llvm.running import imported

from windlass.parallel.effects import variables_used, widest_alignment, written_parameters

WRITTEN = {
    "a[0] = b[0];": {0},
    "b[0] += 1;": {1},
    "atomicAdd(a, 1);": {0},
    "atomicCAS(b, 1, n);": {1},
    "int old = *a, was; do { was = old; old = atomicCAS(a, was, was * 3); } while (was != old);": {0},
    "int *one = n ? a : b; one[1] = 2;": {0, 1},
    "for (int i = 0; i < n; i++) { int *other = a; a = b; b = other; } a[0] = 1;": {0, 1},
    "int kept[4]; for (int i = 0; i < 4; i++) kept[(i * n) & 3] = a[i]; if (kept[n & 3] > 9) b[1] = 0;": {1},
    "if (a[0] > b[0]) __syncthreads();": set[int](),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("body", WRITTEN)
def test_written_parameters_are_those_that_a_store_may_reach(body: str) -> None:
    function = imported(f"__global__ void kernel(int *a, int *b, int n) {{ {body} }}")
    assert written_parameters(function) == WRITTEN[body]


def test_widest_alignment_is_that_of_the_widest_vector() -> None:
    for body, wanted in (("a[0] = 1;", 1), ("*(int2 *)a = make_int2(n, n);", 8), ("*(int4 *)a = *(int4 *)b;", 16)):
        assert widest_alignment(imported(f"__global__ void kernel(int *a, int *b, int n) {{ {body} }}")) == wanted


def test_variables_used_are_named_once() -> None:
    source = """__device__ int first, second, third;
    __global__ void kernel(int *a) { first += a[0]; a[1] = first + second; }"""
    assert sorted(variables_used(imported(source))) == ["first", "second"]
