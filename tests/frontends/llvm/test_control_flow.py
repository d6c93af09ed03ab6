"""Random kernels: what the loop level does is what the emulator does."""

from __future__ import annotations

import numpy as np
import pytest

from windlass import loops
from windlass.emulator import Emulator
from windlass.frontends.cuda import compile_device
from windlass.frontends.llvm import import_kernel, variable_contents
from windlass.loops import evaluate_kernel

from .random_kernels import KernelWriter
from .running import checked, imported, ops_of, run

COUNT = 12


@pytest.mark.parametrize("first", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(COUNT, 240, COUNT))])
def test_random_control_flow_keeps_its_meaning(first: int) -> None:
    source = "\n".join(KernelWriter(seed).write(f"k{seed}") for seed in range(first, first + COUNT))
    code = compile_device(source)
    emulator = Emulator(code)
    given = np.random.default_rng(first).integers(-20, 50, 16).astype(np.int32)
    for kernel in code.kernels:
        wanted, found = np.zeros(32, np.int32), np.zeros(32, np.int32)
        emulator.launch(kernel, 1, 8, [9, given.copy(), wanted], detect_races=False, detect_uninitialized=False)
        function = checked(import_kernel(code, kernel.mangled))
        evaluate_kernel(function, (1,), (8,), [9, given.copy(), found], variable_contents(code))
        assert found.tolist() == wanted.tolist(), kernel.name


SHORT_CIRCUITS = """__global__ void kernel(const int *a, int *out) {
    int i = threadIdx.x;
    int x = a[i];
    if ((x > 3 && x < 9) || x == 20 || (x & 1 && x < 0)) out[i] = 1; else out[i] = 2;
}"""


def test_short_circuits_do_not_duplicate_code() -> None:
    function = imported(SHORT_CIRCUITS)
    assert len(ops_of(function, loops.Store)) <= 2
    a = np.arange(-16, 16, dtype=np.int32)
    out = np.zeros_like(a)
    run(SHORT_CIRCUITS, a, out, block=(32,))
    assert out.tolist() == [1 if 3 < x < 9 or x == 20 or (x % 2 and x < 0) else 2 for x in a.tolist()]


MERGE = """if (a[I] > 0) { if (a[I + 1] > 0) goto label_I; s += out[I]; }
else { s += I; out[I] = s; label_I: s *= 3; }
"""
MANY_MERGES = "".join((
    "__global__ void kernel(const int *a, int *out) { int s = 0;",
    *(MERGE.replace("I", str(i)) for i in range(20)),
    "out[30] = s; }",
))  # fmt: skip


def test_shared_blocks_are_emitted_once() -> None:
    assert len(ops_of(imported(MANY_MERGES), loops.Store)) == 21
    random = np.random.default_rng(0)
    a, out = random.integers(-2, 3, 32).astype(np.int32), random.integers(0, 9, 32).astype(np.int32)
    wanted, s = out.tolist(), 0
    for i in range(20):
        if a[i] > 0 and not a[i + 1] > 0:
            s += wanted[i]
            continue
        if a[i] <= 0:
            s += i
            wanted[i] = s
        s *= 3
    wanted[30] = int(np.int64(s).astype(np.int32))
    run(MANY_MERGES, a, out)
    assert out[30] == wanted[30]


def test_code_after_a_trap_is_not_a_branch_of_the_rest() -> None:
    source = """__global__ void kernel(const int *a, int *out, int n) {
        for (int i = 0; i < n; i++) { if (a[i] < 0) __trap(); out[i] = a[i]; }
    }"""
    (loop,) = ops_of(imported(source), loops.For, loops.DoWhile)
    assert isinstance(loop, loops.For)


def test_endless_loops_are_left_by_return() -> None:
    source = """__global__ void kernel(int *a) {
        int i = 0;
        while (true) { if (a[i] == 0) { a[i] = 7; return; } if (a[i] < 0) break; i++; }
        a[i] = 9;
    }"""
    for end, wanted in ((0, 7), (-1, 9)):
        a = np.array([3, 2, 1, end], np.int32)
        run(source, a)
        assert a.tolist() == [3, 2, 1, wanted]
