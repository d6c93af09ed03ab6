"""Slices whose bounds are computed in loops: read, written and reduced as by NumPy, in a loop that stays one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import windlass as wl
from tests.frontends.arrays import span_programs
from tests.frontends.arrays.running import assert_as_numpy, whole

RANDOM = np.random.default_rng(7)
COUNT = 13
VECTORS = tuple(RANDOM.random(COUNT) for _ in range(3))
MATRIX = RANDOM.random((COUNT, COUNT))
DEFINITE = MATRIX @ MATRIX.T + COUNT * np.eye(COUNT)
STARTS = np.concatenate([[0], np.cumsum(RANDOM.integers(0, 6, COUNT))]).astype(np.int32)
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "lu": (DEFINITE,),
    "solve_forwards": (DEFINITE, *VECTORS[:2]),
    "solve_backwards": (DEFINITE, *VECTORS[:2]),
    "durbin": VECTORS[:1],
    "correlation": (MATRIX[:, :11], 11),
    "eliminate": (DEFINITE,),
    "spmv": (STARTS, RANDOM.integers(0, COUNT, STARTS[-1]), RANDOM.random(STARTS[-1]), VECTORS[0]),
    "moving_means": VECTORS[:1],
    "shifts": VECTORS[:1],
    "negative_bounds": VECTORS[:1],
    "running_sums": VECTORS[:1],
    "views": VECTORS[:1],
    "two_axes": (MATRIX[:12, :11],),
    "steps": VECTORS[:1],
    "leaves_early": VECTORS[:1],
    "selection_sort": VECTORS[:1],
    "sorts": VECTORS[:1],
    "roots_and_squares": VECTORS[:2],
    "goes_through": VECTORS[:1],
    "fixed_lengths": VECTORS[:1],
    "rows": (MATRIX[:, :5],),
    "sets_numbers": VECTORS[:1],
    "householder": (MATRIX[:, :10],),
    "gathers_and_scatters": (*VECTORS[:2], RANDOM.permutation(COUNT)),
    "copies": VECTORS[:2],
    "bisects": (np.sort(VECTORS[0]), VECTORS[1]),
}
"""What each program is tried with; loops have more rounds than are run one by one."""


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", ARGUMENTS)
def test_slices_with_computed_bounds_are_numpys(name: str) -> None:
    assert_as_numpy(getattr(span_programs, name), *ARGUMENTS[name], rtol=1e-9)


@pytest.mark.parametrize("name", ["durbin", "correlation", "eliminate", "shifts", "fixed_lengths"])
def test_loop_of_slices_stays_a_loop(name: str) -> None:
    text = wl.jit(getattr(span_programs, name)).lower(*ARGUMENTS[name]).text()
    assert text.count("stablehlo.while") == 1


def test_a_counter_known_to_be_inside_is_not_checked() -> None:
    def run(x: Any) -> Any:
        for i in range(x.size - 2):
            x[i + 2] = np.sin(x[i]) * x[i + 1]
        return x

    # Checks compare without signs.
    assert "ui64" not in wl.jit(run).lower(VECTORS[0]).text("tensor")
    assert_as_numpy(run, VECTORS[0])


@pytest.mark.parametrize("offset", [-1, 3, 4])
def test_an_index_beyond_the_end_is_said(offset: int) -> None:
    def run(x: Any) -> Any:
        total = 0.0
        for i in range(x.size - 3):
            total += x[i + offset]
        return total

    if offset == 4:
        with pytest.raises(IndexError, match="index 13 is out of bounds for axis 0 with size 13"):
            wl.jit(run)(VECTORS[0])
    else:
        assert_as_numpy(run, VECTORS[0])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("x[:i] + x[: i + 1]", "different numbers of elements"),
        ("x[:i].max()", "zero-size array to reduction operation maximum which has no identity"),
        ("x[:i][i]", "out of bounds for axis 0 of a slice"),
        ("x[:i] + x[:3]", "different numbers of elements"),
    ],
)
def test_what_numpy_refuses_is_an_error_as_the_program_runs(body: str, message: str, tmp_path: Any) -> None:
    names: dict[str, Any] = {}
    path = tmp_path / "program.py"
    path.write_text(
        f"def run(x):\n    t = 0.0\n    for i in range(x.size):\n        t += ({body}).sum()\n    return t\n"
    )
    exec(compile(path.read_text(), str(path), "exec"), names)
    with pytest.raises((ValueError, IndexError)):
        names["run"](VECTORS[0])
    with pytest.raises((ValueError, IndexError), match=message) as caught:
        whole(names["run"])(VECTORS[0])
    assert "program.py:4" in str(caught.value)


def test_gradients_find_no_poles_where_there_are_no_elements() -> None:
    @wl.jit
    def run(x: Any) -> Any:
        total = 0.0
        for i in range(1, x.size):
            total += np.sqrt(x[:i]).sum() + np.log(x[: i - 1]).sum() + (1 / x[:i]).sum()
        return total

    x = np.linspace(1.0, 2.0, 12)
    x[-1] = -1.0
    counts = np.arange(11, -1, -1)
    inner = np.append(counts[1:], 0)
    x = np.where(x < 0, 0.0, x)
    with np.errstate(all="ignore"):
        wanted = np.where(counts > 0, counts * (0.5 / np.sqrt(x) - 1 / x**2), 0) + np.where(inner > 0, inner / x, 0)
    np.testing.assert_allclose(wl.grad(run)(x), wanted, rtol=1e-9)
    assert np.isfinite(jax.jit(jax.grad(run))(x)).all()


def test_gradient_of_a_solve_is_that_of_differences() -> None:
    def solve(a: Any, b: Any) -> Any:
        x = np.zeros_like(b)
        for i in range(b.size):
            x[i] = (b[i] - a[i, :i] @ x[:i]) / a[i, i]
        return (x * x).sum()

    found = wl.grad(wl.jit(solve))(DEFINITE, VECTORS[0])
    step = 1e-6
    for place in [(0, 0), (7, 3), (12, 12), (3, 7)]:
        moved = [DEFINITE.copy(), DEFINITE.copy()]
        moved[0][place] += step
        moved[1][place] -= step
        wanted = (solve(moved[0], VECTORS[0]) - solve(moved[1], VECTORS[0])) / (2 * step)
        np.testing.assert_allclose(found[place], wanted, rtol=1e-6, atol=1e-8)


def test_a_slice_of_unknown_length_is_returned() -> None:
    def run(x: Any, n: Any) -> Any:
        while x[:n].sum() > 1:
            n = n - 1
        return x[:n]

    assert_as_numpy(run, VECTORS[0], np.asarray(COUNT))


def test_an_argument_that_bounds_a_slice_is_compiled_in() -> None:
    assert_as_numpy(lambda x, n: x[:n] * 2, VECTORS[0], 4)


def test_products_of_slices_are_numpys() -> None:
    def run(a: Any, b: Any) -> Any:
        total = np.zeros((3, 3))
        for i in range(1, a.shape[0]):
            total += a[:3, :i] @ b[:i, :3] + np.outer(a[:i, 0], b[:i, 1]).sum()
            total[0] += np.dot(a[:i, :3].T, b[:i, 2]) + np.inner(b[:3, :i], a[1, :i])
            total[1] += np.vdot(a[:i, 0], b[:i, 0]) + np.linalg.norm(a[:i, 2])
        return total

    assert_as_numpy(run, MATRIX, DEFINITE, rtol=1e-9)


def test_slices_of_slices_and_their_elements_are_numpys() -> None:
    def run(x: Any, y: Any) -> Any:
        for i in range(3, x.size):
            part = x[i // 2 : i]
            part[0] += 1
            part[-1] *= 2
            part[1:][::-1][:1] -= y[i]
            y[i] = part[::-1][0] + part[:-1].sum() + np.diff(part).sum() + part.ndim
            fresh = part * 2
            fresh[:1] = 5
            fresh += part
            y[0] += fresh.mean() + part.astype(np.float32).sum() + float(part.size)
        return x

    assert_as_numpy(run, *VECTORS[:2], rtol=1e-6)


def test_integers_and_booleans_in_slices_are_numpys() -> None:
    def run(x: Any, flags: Any) -> Any:
        total = 0
        for i in range(x.size):
            total += x[:i].sum() + (x[i:] // 2).max() + np.count_nonzero(flags[:i]) + np.argmin(x[i:])
            flags[i:] = x[i:] > total
            total += flags[:i].any() + flags[i:].all() + np.ptp(x[i:])
        return total

    values = RANDOM.integers(0, 9, COUNT)
    assert_as_numpy(run, values, values > 4)


@pytest.mark.parametrize("function", [np.cumsum, np.cumprod, np.flip, np.sort, np.exp, np.square, np.zeros_like])
def test_functions_of_slices_are_numpys(function: Callable[..., Any]) -> None:
    def run(x: Any) -> Any:
        y = np.zeros_like(x)
        for i in range(x.size):
            y[i:] += function(x[i:])
        return y

    assert_as_numpy(run, VECTORS[0], rtol=1e-9)


def test_jax_does_not_take_slices_and_selections_apart() -> None:
    """It sees neither the array behind them nor elements that they have not."""

    def of_slices(x: Any) -> Any:
        total = 0.0
        for i in range(1, x.size):
            total += jax.tree.leaves(x[:i])[0].sum()
        return total

    def of_mask(x: Any) -> Any:
        return jax.tree.map(np.sum, x[x > 0.5])

    assert_as_numpy(of_slices, VECTORS[0])
    with pytest.raises(wl.WindlassError, match="how many elements a mask picks is not known"):
        whole(of_mask)(VECTORS[0])
