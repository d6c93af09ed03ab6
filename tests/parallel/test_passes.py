"""Each pass of the loop level, before and after: its text, and what the kernel does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.frontends.llvm.running import checked, compiled

from windlass.frontends.cuda import find_kernel
from windlass.frontends.llvm import import_kernel, variable_contents
from windlass.ir import Function
from windlass.loops import evaluate_kernel
from windlass.loops.text import loop_text
from windlass.parallel.passes import LoopPass

KERNELS: dict[str, tuple[str, list[Any]]] = {
    "a product by compare and swap": (
        """__global__ void kernel(int *p, int n) {
            int old = *p, a;
            do { a = old; old = atomicCAS(p, a, a * 3); } while (a != old);
        }""",
        [np.array([7], np.int32), 4],
    ),
    "a loop behind a guard": (
        """__global__ void kernel(float *y, const float *x, int n) {
            float sum = 0;
            for (int i = threadIdx.x; i < n; i++) sum += x[i];
            y[threadIdx.x] = sum;
        }""",
        [np.zeros(4, np.float32), np.arange(9, dtype=np.float32), 9],
    ),
    "a half by compare and swap of its word": (
        """__global__ void kernel(unsigned *words, int n) {
            unsigned *place = words + threadIdx.x / 2, old = *place, a, half, word;
            unsigned shift = 16 * (threadIdx.x & 1);
            do {
                a = old;
                half = ((a >> shift) & 0xffff) + n;
                word = (a & ~(0xffffu << shift)) | ((half & 0xffff) << shift);
                old = atomicCAS(place, a, word);
            } while (a != old);
        }""",
        [np.array([3, 0x10002], np.uint32), 5],
    ),
}


def stages_of(source: str) -> list[tuple[str, Function]]:
    """The kernel as its control flow was structured, and after each pass."""
    code = compiled(source)
    stages: list[tuple[str, Function]] = []

    def note(each: LoopPass, function: Function) -> None:
        stages.append((each.name, checked(function).clone()))

    import_kernel(code, find_kernel(code, "kernel").mangled, watch=note)
    return stages


@pytest.mark.parametrize("name", KERNELS)
def test_passes_keep_what_a_kernel_does(name: str) -> None:
    source, arguments = KERNELS[name]
    stages = stages_of(source)
    assert [each for each, _ in stages] == [
        "as structured",
        "compare-and-swap loops",
        "dead code",
        "guards",
        "dead code",
    ]
    results: list[list[Any]] = []
    for _, function in stages:
        given = [each.copy() if isinstance(each, np.ndarray) else each for each in arguments]
        evaluate_kernel(function, (1,), (4,), given, variable_contents(compiled(source)))
        results.append(given)
    for found in results[1:]:
        for one, other in zip(results[0], found, strict=True):
            np.testing.assert_array_equal(one, other)
    assert loop_text(stages[0][1]) != loop_text(stages[-1][1])


def words_of(stages: list[tuple[str, Function]], place: int) -> list[str]:
    """The names of the kernel's ops at a stage, those of arithmetic left out."""
    text = loop_text(stages[place][1])
    names = ("scf.for", "scf.if", "scf.while", "windlass.compare_exchange", "windlass.atomic")
    return [name for line in text.splitlines() for name in names if name in line]


def test_each_pass_takes_its_own_away() -> None:
    swapping, guarded = (stages_of(KERNELS[name][0]) for name in list(KERNELS)[:2])
    assert any("while" in each for each in words_of(swapping, 0))
    assert not any("while" in each for each in words_of(swapping, 1))
    assert words_of(guarded, 2).count("scf.if") == 1 + words_of(guarded, 3).count("scf.if")
    assert words_of(guarded, 3).count("scf.for") == words_of(guarded, 2).count("scf.for") == 1
