"""Loops of compare-and-swaps: which become atomic updates, and which must not."""

from __future__ import annotations

import jax._src.interpreters.mlir as jax_mlir
import numpy as np
import pytest
from jaxlib.mlir import ir as mlir
from tests.frontends.llvm.running import imported, ops_of, run

from windlass import loops
from windlass.loops.text import loop_text

UPDATES = {
    "guess of zero": "int old = 0, a; do { a = old; old = atomicCAS(p, a, a * x[1] + 1); } while (a != old);",
    "loaded anew": "int a; do { a = *(volatile int *)p; } while (atomicCAS(p, a, a * x[1] + 1) != a);",
    "break inside": """int old = *p;
        while (true) { int a = old; old = atomicCAS(p, a, a * x[1] + 1); if (old == a) break; }""",
    "may not want to": """int old = *p;
        while (old < 9) { int a = old; old = atomicCAS(p, a, a * x[1] + 1); if (old == a) break; }""",
    "nested tests": """int old = *p, a;
        do { a = old; if (a < 0) break; if (a > 100) break; old = atomicCAS(p, a, a * x[1] + 1); } while (a != old);""",
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", UPDATES)
def test_a_loop_that_tries_again_is_one_update(name: str) -> None:
    source = f"__global__ void kernel(int *p, const int *x) {{ {UPDATES[name]} }}"
    function = imported(source)
    assert not ops_of(function, loops.DoWhile, loops.CompareExchange, loops.If)
    assert len(ops_of(function, loops.AtomicUpdate)) == 1
    for first in (5, 9, 200, -3):
        place = np.array([first], np.int32)
        run(source, place, np.array([0, 3], np.int32))
        wants = {"may not want to": first < 9, "nested tests": 0 <= first <= 100}
        assert place[0] == (first * 3 + 1 if wants.get(name, True) else first)


def test_an_early_exit_is_part_of_the_update() -> None:
    source = """__global__ void kernel(float *p, const float *x) {
        unsigned *bits = (unsigned *)p, old = *bits, a;
        float v = *x;
        if (__uint_as_float(old) >= v) return;
        do {
            a = old;
            if (__uint_as_float(a) >= v) break;
            old = atomicCAS(bits, a, __float_as_uint(v));
        } while (a != old);
    }"""
    function = imported(source)
    assert not ops_of(function, loops.DoWhile, loops.If)
    assert len(ops_of(function, loops.Load, loops.AtomicUpdate)) == 2
    for first, value in ((1, 2), (2, 1), (1, np.nan), (np.nan, 1)):
        place = np.array([first], np.float32)
        run(source, place, np.array([value], np.float32))
        assert np.array_equal(place, [first if first >= value else value], equal_nan=True)


def test_what_the_loop_hands_on_is_made_of_the_old_value() -> None:
    source = """__global__ void kernel(int *p, int *out) {
        int old = *p, a, next;
        do { a = old; next = a * 3 + 1; old = atomicCAS(p, a, next); } while (a != old);
        out[0] = old; out[1] = next;
    }"""
    assert not ops_of(imported(source), loops.DoWhile)
    place, out = np.array([5], np.int32), np.zeros(2, np.int32)
    run(source, place, out)
    assert (place.tolist(), out.tolist()) == ([16], [5, 16])


KEPT = {
    "a lock": "while (atomicCAS(p, 0, 1) != 0) {}",
    "the guess stays": "int a = *p; while (atomicCAS(p, a, a + 1) != a) {}",
    "it counts guesses": "int a = 0; while (atomicCAS(p, a, a * 3 + 1) != a) a++;",
    "it counts its rounds": """int old = *p, a, k = 0;
        do { a = old; old = atomicCAS(p, a, a + k); k++; } while (a != old);""",
    "it stores": "int old = *p, a; do { a = old; x[0]++; old = atomicCAS(p, a, a + 1); } while (a != old);",
    "it waits": """int old = *p, a;
        do { a = old; if (a < 0) { old = *p; a = 1 - old; continue; } old = atomicCAS(p, a, a + 1); }
        while (a != old);""",
    "another place": "int i = 0, prev; do { prev = atomicCAS(p + i, 0, 1); i++; } while (prev != 0);",
    "it reads the array": "int old = *p, a; do { a = old; old = atomicCAS(p, a, a + p[*x]); } while (a != old);",
    "it reads a flag": """int old = *p, a;
        do { a = old; old = atomicCAS(p, a, a + *(volatile int *)x); } while (a != old);""",
    "zeros are equal": """int old = 0, a;
        do { a = old; old = atomicCAS(p, a, __float_as_int(__int_as_float(a) + 1.0f)); }
        while (__int_as_float(a) != __int_as_float(old));""",
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", KEPT)
def test_other_loops_are_left_alone(name: str) -> None:
    function = imported(f"__global__ void kernel(int *p, int *x) {{ {KEPT[name]} }}")
    assert ops_of(function, loops.CompareExchange)
    assert not ops_of(function, loops.AtomicUpdate, loops.Atomic)


PART = """__global__ void kernel(unsigned *words, int which, unsigned short v) {{
    unsigned *word = words + which / 2, old = *word, a, shift = (which & 1) * 16;
    do {{ a = old; unsigned short part = a >> shift; part {change};
         old = atomicCAS(word, a, {kept} | ((unsigned)part << shift)); }} while (a != old);
}}"""


@pytest.mark.one_in(2)
@pytest.mark.parametrize("which", range(4))
@pytest.mark.parametrize("change", ["+= v", "= part * 3 ^ v", "= part / 3 + v", "= part > v ? part : v", "^= v"])
def test_an_update_of_half_a_word_is_one_of_that_half(change: str, which: int) -> None:
    source = PART.format(change=change, kept="(a & ~(0xffffu << shift))")
    updates = ops_of(imported(source), loops.Atomic, loops.AtomicUpdate)
    assert [op.tensor.dtype for op in updates] == ["i16"]
    words = np.array([0x1234FFF0, 0x8000C001], np.uint32)
    halves = words.view(np.uint16).copy()
    run(source, words, np.int32(which), np.uint16(0x9005))
    part, v = int(halves[which]), 0x9005
    made = {"+= v": part + v, "= part * 3 ^ v": part * 3 ^ v, "= part / 3 + v": part // 3 + v, "^= v": part ^ v}
    halves[which] = made.get(change, max(part, v)) & 0xFFFF
    assert words.view(np.uint16).tolist() == halves.tolist()


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kept", ["(a & 0xffff0000u)", "a", "((a + 0x10000u) & ~(0xffffu << shift))"])
def test_an_update_that_changes_more_is_one_of_the_word(kept: str) -> None:
    updates = ops_of(imported(PART.format(change="+= v", kept=kept)), loops.Atomic, loops.AtomicUpdate)
    assert [op.tensor.dtype for op in updates] == ["i32"]


def test_halves_that_are_updated_differently_are_parts_of_the_word() -> None:
    source = PART.format(change="= shift ? part + v : part ^ v", kept="(a & ~(0xffffu << shift))")
    assert [op.tensor.dtype for op in ops_of(imported(source), loops.Atomic, loops.AtomicUpdate)] == ["i32"]


def test_a_half_that_moves_is_changed() -> None:
    source = """__global__ void kernel(unsigned *p, unsigned short v) {
        unsigned old = *p, a;
        do { a = old; old = atomicCAS(p, a, (a << 16) | (unsigned short)(a + v)); } while (a != old);
    }"""
    assert [op.tensor.dtype for op in ops_of(imported(source), loops.AtomicUpdate)] == ["i32"]
    word = np.array([0x12345678], np.uint32)
    run(source, word, np.uint16(1))
    assert word[0] == 0x56785679


def test_a_test_for_the_opposite_is_no_early_exit() -> None:
    source = """__global__ void kernel(float *p, float v) {
        unsigned *bits = (unsigned *)p, old = *bits, a;
        if (__uint_as_float(old) >= v) {
            do {
                a = old;
                if (__uint_as_float(a) >= v) break;
                old = atomicCAS(bits, a, __float_as_uint(v));
            } while (a != old);
        }
    }"""
    for first in (1, 3):
        place = np.array([first], np.float32)
        run(source, place, np.float32(2))
        assert place[0] == first


def test_the_text_of_an_update_is_read_by_the_parser() -> None:
    body = "int old = *p, a; do { a = old; old = atomicCAS(p, a, a * x[1] + 1); } while (a != old);"
    for used in ("", "x[2] = old;"):
        text = loop_text(imported(f"__global__ void kernel(int *p, int *x) {{ {body} {used} }}"))
        assert "memref.generic_atomic_rmw" in text
        with jax_mlir.make_ir_context():
            assert mlir.Module.parse(text).operation.verify()
