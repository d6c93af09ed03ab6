"""Functions of C, serial and with loops of OpenMP and Cilk, are right against NumPy, and raised where they can be."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import windlass as wl
from windlass.loops import For
from windlass.loops.evaluation import evaluate_kernel
from windlass.loops.text import loop_text
from windlass.loops.verifier import verify_kernel
from windlass.parallel.loops_as_launches import loop_as_launch

FILE = Path(__file__).parent / "functions.c"
N = 40
RANDOM = np.random.default_rng(1)
X, Y = RANDOM.standard_normal((2, N))
K = RANDOM.integers(0, N, N).astype(np.int32)
ORDER = RANDOM.permutation(N).astype(np.int32)
A, B, C = (RANDOM.standard_normal(shape) for shape in ((5, 6), (6, 7), (5, 7)))
SINGLE = X.astype(np.float32)


class Case(NamedTuple):
    """A call, what it returns, and what is in the arguments afterwards, by position."""

    arguments: tuple[Any, ...]
    after: Mapping[int, Any] = {}
    returned: Any = None


def in_order() -> Any:
    found = Y.copy()
    for i in range(N):
        found[K[i]] = found[K[i]] * 0.5 + i
    return found


def in_chunks() -> Any:
    found = Y.copy()
    for i in range(N):
        if i % 4:
            found[i] += found[i - 1]
    return found


def scattered() -> Any:
    found = Y.copy()
    found[ORDER] = 2 * found[ORDER] + X
    return found


def in_one_slot() -> Any:
    total = 1.0
    for x in X:
        total = total * 0.5 + x
    return [total, 1]


def stepped() -> tuple[Any, Any]:
    u, v = X.copy(), Y.copy()
    for _ in range(5):
        v[1:-1] = u[1:-1] + 0.25 * (u[:-2] + u[2:] - 2 * u[1:-1])
        u[1:-1] = v[1:-1]
    return u, v


def binned() -> list[int]:
    found: list[int] = []
    for x in K:
        seen = [0, 0, 0, 0]
        for k in range(4):
            seen[(x + k) % 4] += k + 1
        found.append(seen[0] * 1000 + seen[1] * 100 + seen[2] * 10 + seen[3])
    return found


def shortest(distances: Any) -> Any:
    for k in range(len(distances)):
        distances = np.minimum(distances, distances[:, k : k + 1] + distances[k : k + 1])
    return distances


ROWS, COLUMNS = np.array([0, 2, 2, 5, 7], np.int32), np.array([0, 3, 1, 2, 3, 0, 3], np.int32)
VALUES = RANDOM.standard_normal(7)
DENSE = np.zeros((4, 4))
np.add.at(DENSE, (np.repeat(np.arange(4), np.diff(ROWS)), COLUMNS), VALUES)
DISTANCES = RANDOM.integers(1, 50, (4, 4)).astype(np.int32)
PAIR = np.array((2, 3), np.dtype([("a", "f8"), ("b", "i4")], align=True))
BIG = np.array(((1, 2, 3, 4), 3), np.dtype([("a", "f8", (4,)), ("n", "i4")], align=True))
SMOOTH = np.zeros(N, np.float32)
SMOOTH[1:-1] = 0.25 * SINGLE[:-2] + 0.5 * SINGLE[1:-1] + 0.25 * SINGLE[2:] + np.arange(1, N - 1) % 4 + 1
POSITIVE = np.zeros(N)
POSITIVE[: (X > 0).sum()] = X[X > 0]
U, V = stepped()

CASES: dict[str, Case] = {
    "dot": Case((N, X, Y), {}, X @ Y),
    "gemm_k_middle": Case((5, 7, 6, 1.5, A, B, C), {6: C + 1.5 * A @ B}),
    "vla": Case((5, 6, A, np.zeros((5, 6))), {3: A * 2 + np.arange(6)}),
    "spmv": Case((4, ROWS, COLUMNS, VALUES, X, np.zeros(4)), {5: DENSE @ X[:4]}),
    "private_array": Case((N, K, np.zeros(N, np.int32)), {2: binned()}),
    "region_private_array": Case((N, K, np.ones(8, np.int32)), {2: 1 + np.bincount(K & 7, minlength=8)}),
    "critical_order": Case((N, K, Y), {2: in_order()}),
    "ordered": Case((N, K, Y), {2: in_order()}),
    "locked": Case((N, K, Y), {2: in_order()}),
    "slot_of_thread": Case((N, X, np.ones(2)), {2: in_one_slot()}),
    "chunked": Case((N, Y), {1: in_chunks()}),
    "lastprivate": Case((N, K), {}, K[-1] * 2),
    "extremes": Case((N, X, np.zeros(1)), {2: X.min()}, X.max() + 1),
    "array_reduction": Case((N, K, np.zeros(8, np.int32)), {2: np.bincount(K & 7, np.arange(N), 8)}),
    "compact": Case((N, X, np.zeros(N)), {2: POSITIVE}, (X > 0).sum()),
    "scatter": Case((N, ORDER, X, Y), {3: scattered()}),
    "cilk_square": Case((N, X, np.zeros(N)), {2: X * X}),
    "steps": Case((N, 5, X, Y), {2: U, 3: V}),
    "find": Case((N, K, int(K[7])), {}, list(K).index(K[7])),
    "use_tables": Case((N, SINGLE, np.zeros(N, np.float32)), {2: SMOOTH}),
    "by_value": Case((PAIR, N, X), {}, 2 + 3 * X.sum()),
    "by_value_big": Case((BIG,), {}, 6),
    "all_positive": Case((N, SINGLE), {}, False),
    "flip": Case((200, -3, 77, True), {}, (200 ^ -3 ^ 77 ^ 1) & 255),
    "nested": Case((6, np.zeros(36)), {1: (np.arange(6)[:, None] * 10 + np.arange(6)).ravel()}),
    "sections": Case((N, X, Y), {1: X * 2, 2: Y + 3}),
    "simd": Case((N, X), {}, X @ X),
    "prefix": Case((N, X), {1: np.cumsum(X)}),
    "floyd": Case((4, DISTANCES), {1: shortest(DISTANCES)}),
    "target": Case((N, X), {1: X + 1}),
    "first_private": Case((N, 4, K), {2: 4 + np.arange(N)}, 4),
    "threads": Case((), {}, 2),
}


@cache
def functions() -> wl.c.CModule:
    return wl.c.compile(FILE)


def copied(arguments: tuple[Any, ...]) -> list[Any]:
    return [each.copy() if isinstance(each, np.ndarray) else each for each in arguments]


def check(call: Callable[..., Any], case: Case) -> None:
    arguments = copied(case.arguments)
    returned = call(*arguments)
    for position, expected in case.after.items():
        np.testing.assert_allclose(arguments[position], expected, rtol=1e-6)
    if case.returned is not None:
        np.testing.assert_allclose(returned, case.returned, rtol=1e-12)


def loops_of(name: str) -> list[For]:
    function = functions()[name].as_kernel.function
    verify_kernel(function)
    return [op for op in function.walk() if isinstance(op, For)]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", CASES)
def test_function_is_raised_and_right(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(functions()[name], CASES[name])


NATIVE = (
    *("dot", "gemm_k_middle", "spmv", "private_array", "critical_order", "scatter", "cilk_square", "find", "nested"),
    *("by_value", "extremes"),
)


@pytest.mark.parametrize("name", NATIVE)
def test_function_is_right_as_native_code(name: str) -> None:
    check(wl.native(functions()[name]), CASES[name])


def test_independent_loop_is_a_launch_where_it_is_all_there_is() -> None:
    launched = {name: loop_as_launch(functions()[name].as_kernel.function) for name in CASES}
    assert {name for name, each in launched.items() if each is not None} == {
        *("gemm_k_middle", "vla", "spmv", "scatter", "cilk_square", "use_tables", "nested", "target", "sections"),
    }
    for name, shape in (("scatter", ((1, 1, 1), (256, 1, 1))), ("spmv", ((1, 4, 1), (1, 1, 1)))):
        launch, case = launched[name], CASES[name]
        assert launch is not None
        assert launch.shape(case.arguments) == shape
        assert 0 in launch.shape((0, *case.arguments[1:]))[0]
        arguments = copied(case.arguments)
        evaluate_kernel(launch.function, *shape, arguments, order=np.random.default_rng(5))
        for position, expected in case.after.items():
            np.testing.assert_allclose(arguments[position], expected)


def test_functions_are_listed_in_the_order_of_the_source() -> None:
    assert set(functions()) == {*CASES, "fibonacci", "tasks", "count_call", "overlap"}
    assert functions().functions[:3] == ("dot", "gemm_k_middle", "vla")
    assert repr(functions()["dot"]) == "<windlass function dot(int n, const double * x, const double * y)>"


@pytest.mark.parametrize(
    ("name", "case"), [("fibonacci", Case((10,), {}, 55)), ("tasks", Case((N, X), {1: X * 2 + np.arange(N)}))]
)
def test_what_is_not_raised_is_emulated(name: str, case: Case) -> None:
    with pytest.warns(wl.WindlassWarning, match="runs in the emulator"):
        check(functions()[name], case)


def test_variables_keep_what_calls_leave_in_them() -> None:
    count, before = functions()["count_call"], int(functions().variables["calls"])
    assert (count(2), count(2)) == (before + 2, before + 4)
    assert functions().variables["calls"] == before + 4


def test_arrays_that_overlap_are_one_memory() -> None:
    x = X.copy()
    functions()["overlap"](N - 1, x[:-1], x[1:])
    np.testing.assert_allclose(x, X[0] + np.arange(N))


INDEPENDENT = (
    *(
        "dot",
        "gemm_k_middle",
        "vla",
        "spmv",
        "scatter",
        "cilk_square",
        "steps",
        "use_tables",
        "nested",
        "target",
        "sections",
    ),
    *("first_private", "floyd"),
)
ORDERED = (
    *("region_private_array", "critical_order", "ordered", "locked", "slot_of_thread", "chunked", "find", "prefix"),
    *("private_array", "simd"),
)


@pytest.mark.parametrize("name", INDEPENDENT)
def test_marked_loop_gives_the_same_in_any_order(name: str) -> None:
    assert any(loop.is_independent for loop in loops_of(name))
    kernel, case = functions()[name].as_kernel, CASES[name]
    variables = {mangled: each.tobytes() for mangled, each in functions().variables.storage.items()}
    constants = {"weights": np.array([0.25, 0.5, 0.25], np.float32).tobytes()}
    returned = [np.zeros(1)] * (len(kernel.signature.parameters) - len(case.arguments))
    arguments = [*copied(case.arguments), *returned]
    evaluate_kernel(kernel.function, (1,), (1,), arguments, {**variables, **constants}, order=np.random.default_rng(3))
    for position, expected in case.after.items():
        np.testing.assert_allclose(arguments[position], expected, rtol=1e-6)


@pytest.mark.parametrize("name", ORDERED)
def test_loop_keeps_its_order_where_it_has_one(name: str) -> None:
    assert not any(loop.is_independent for loop in loops_of(name))


def test_marked_scatter_is_one() -> None:
    report = functions()["scatter"].explain(*CASES["scatter"].arguments)
    assert report.ops["scatter"] == report.ops["gather"] == 1
    assert not report.ops["while"]


def test_loop_level_of_a_marked_loop_is_what_is_written() -> None:
    found = loop_text(functions()["spmv"].as_kernel.function)
    golden = FILE.parent / "golden" / "spmv.mlir"
    if os.environ.get("WINDLASS_WRITE_GOLDEN"):
        golden.write_text(found)
    assert found == golden.read_text()
