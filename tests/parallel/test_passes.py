"""Each pass of the loop level, before and after: its text, and what the kernel does."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.frontends.llvm.running import checked, compiled

from windlass.frontends.cuda import find_kernel
from windlass.frontends.llvm import import_kernel, variable_contents
from windlass.ir import Function
from windlass.ir.signature import DeviceCode
from windlass.loops import evaluate_kernel
from windlass.loops.text import loop_text
from windlass.parallel.passes import AS_STRUCTURED, PASSES_OF_TILES, LoopPass, passes_of_import, run_passes

GOLDEN = Path(__file__).with_name("golden")
PASSES = tuple({each.name: each for each in (*passes_of_import({}), *PASSES_OF_TILES)}.values())

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
    return stages_of_kernel(code, find_kernel(code, "kernel").mangled)


def stages_of_kernel(code: DeviceCode, mangled: str) -> list[tuple[str, Function]]:
    stages: list[tuple[str, Function]] = []

    def note(each: LoopPass, function: Function) -> None:
        stages.append((each.name, checked(function).clone()))

    run_passes(import_kernel(code, mangled, watch=note), PASSES_OF_TILES, note)
    return stages


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", KERNELS)
def test_passes_keep_what_a_kernel_does(name: str) -> None:
    source, arguments = KERNELS[name]
    stages = stages_of(source)
    expected = [AS_STRUCTURED, *passes_of_import({}), *PASSES_OF_TILES]
    assert [each for each, _ in stages] == [each.name for each in expected]
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


@pytest.mark.one_in(2)
@pytest.mark.parametrize("each", PASSES, ids=lambda each: each.name)
def test_each_pass_makes_of_its_example_what_is_written(each: LoopPass) -> None:
    source = f"__global__ void kernel(int *p, int n) {{{each.example}}}"
    stages = stages_of(source)
    place = next(
        place
        for place, (name, function) in enumerate(stages)
        if name == each.name and loop_text(function) != loop_text(stages[place - 1][1])
    )
    before, after = stages[place - 1][1], stages[place][1]
    found = f"// before: {each.name}\n{loop_text(before)}// after\n{loop_text(after)}"
    golden = GOLDEN / f"{each.name.replace(' ', '_')}.mlir"
    if os.environ.get("WINDLASS_WRITE_GOLDEN"):
        golden.write_text(found)
    assert found == golden.read_text()
    results: list[Any] = []
    for function in (before, after):
        p = np.arange(3, 67, dtype=np.int32)
        evaluate_kernel(function, (1,), (1,), [p, 5], {})
        results.append(p)
    assert np.array_equal(*results)
    assert not np.array_equal(results[0], np.arange(3, 67))
