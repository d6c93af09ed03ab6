"""`wl.autodiff`: arrays and their shadows are changed in place, as Enzyme does it, against differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import windlass as wl

MODULE = wl.cuda.compile("""
__global__ void heat(const double *now, double *next, double c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 0 && i < n - 1) next[i] = now[i] + c * now[i] * (now[i - 1] - 2 * now[i] + now[i + 1]);
}
__global__ void square(double *x, int *count) { x[threadIdx.x] *= x[threadIdx.x]; count[threadIdx.x] += 1; }
""")
HEAT, SQUARE = MODULE["heat"][1, 8], MODULE["square"][1, 8]
N = 8
U, V, SEED = np.sin(np.arange(N)) + 1.2, np.cos(np.arange(N)), np.arange(N) / N + 0.3


@wl.jit(whole=True)
def march(u: Any, scratch: Any, c: Any, steps: int) -> Any:
    for _ in range(steps):
        HEAT(u, scratch, c, N)
        u[:] = scratch
    return (u * u).sum()


def reads_and_overwrites(x: Any, y: Any, s: Any) -> Any:
    """x is read, y wholly overwritten with what was in it and in x."""
    y[:] = np.sin(y) * x + s
    return (x * x).sum() * s


def returns_nothing(x: Any, y: Any) -> None:
    y += x * x
    x *= 2


def derivatives(f: Callable[..., Any], arrays: list[Any], weights: list[Any], step: float = 1e-6) -> list[Any]:
    """By differences: of the returned number, and of the arrays as they are left times weights, by each element."""

    def loss(*given: Any) -> float:
        given = tuple(np.array(each) for each in given)
        returned = f(*[each if each.ndim else float(each) for each in given])
        return (returned or 0.0) + sum((each * weight).sum() for each, weight in zip(given, weights, strict=True))

    found: list[Any] = []
    for place, array in enumerate(arrays):
        along = [each.reshape(np.shape(array)) for each in np.eye(np.size(array))]
        moved = [
            [[*arrays[:place], array + sign * step * each, *arrays[place + 1 :]] for sign in (1, -1)] for each in along
        ]
        slopes = [(loss(*up) - loss(*down)) / (2 * step) for up, down in moved]
        found.append(np.reshape(slopes, np.shape(array)))
    return found


@pytest.mark.parametrize("steps", [0, 1, 5])
def test_shadows_go_from_last_to_first(steps: int) -> None:
    u, v, du, dv = U.copy(), V.copy(), SEED.copy(), SEED[::-1].copy()
    found = wl.autodiff(
        wl.ReverseWithPrimal, march, wl.Duplicated(u, du), wl.Duplicated(v, dv), wl.Active(0.2), wl.Const(steps)
    )
    (by_u, by_v, by_c, by_steps), primal = found

    def run(u: Any, v: Any, c: Any) -> Any:
        return march(u, v, c, steps)

    expected = derivatives(run, [U, V, np.array(0.2)], [SEED, SEED[::-1], 0])
    for one, other in zip((du, dv, by_c), expected, strict=True):
        np.testing.assert_allclose(one, other, 1e-6, 1e-8)
    last, scratch = U.copy(), V.copy()
    assert primal == march(last, scratch, 0.2, steps) and (u == last).all() and (v == scratch).all()
    assert by_u is by_v is by_steps is None and type(by_c) is np.float64


def test_arrays_that_are_read_are_added_to_and_those_overwritten_begin_anew() -> None:
    x, y, dx, dy = U.copy(), V.copy(), SEED.copy(), SEED.copy()
    *_, by_s = wl.autodiff(wl.Reverse, reads_and_overwrites, wl.Duplicated(x, dx), wl.Duplicated(y, dy), wl.Active(1.5))
    expected = derivatives(reads_and_overwrites, [U, V, np.array(1.5)], [SEED, SEED, 0])
    for one, other in zip((dx, dy, by_s), expected, strict=True):
        np.testing.assert_allclose(one, other, 1e-6, 1e-8)
    assert (x == U).all() and (y == np.sin(V) * U + 1.5).all()


def test_a_constant_array_may_hold_what_varies() -> None:
    """Enzyme would lose what goes through it; its last contents have no part in the derivative."""
    u, v, du = U.copy(), V.copy(), np.zeros(N)
    wl.autodiff(wl.Reverse, march, wl.Duplicated(u, du), wl.Const(v), wl.Const(0.2), wl.Const(3))
    (expected,) = derivatives(lambda u: march(u, V.copy(), 0.2, 3), [U], [0])
    np.testing.assert_allclose(du, expected, 1e-6, 1e-8)
    assert (v != V).any()


def test_what_a_launch_writes_is_differentiated_in_place() -> None:
    u, v, du, dv = U.copy(), V.copy(), np.zeros(N), SEED.copy()
    *_, by_c, by_n = wl.autodiff(
        wl.Reverse, HEAT, wl.Duplicated(u, du), wl.Duplicated(v, dv), wl.Active(0.2), wl.Const(N)
    )
    expected = derivatives(lambda u, v, c: HEAT(u, v, c, N), [U, V, np.array(0.2)], [0, SEED, 0])
    for one, other in zip((du, dv, by_c), expected, strict=True):
        np.testing.assert_allclose(one, other, 1e-6, 1e-8)
    assert by_n is None
    count = np.zeros(N, np.int32)
    x, dx = U.copy(), np.ones(N)
    assert wl.autodiff(wl.Forward, SQUARE, wl.Duplicated(x, dx), wl.Const(count)) is None
    np.testing.assert_allclose(dx, 2 * U)
    assert (x == U * U).all() and (count == 1).all()
    wl.autodiff(wl.Reverse, SQUARE, wl.Duplicated(x, dx), wl.Const(count))
    np.testing.assert_allclose(dx, 4 * U**3)


def test_forward_mode_moves_arrays_and_results() -> None:
    u, v, du, dv = U.copy(), V.copy(), SEED.copy(), V.copy()
    change, value = wl.autodiff(
        wl.ForwardWithPrimal, march, wl.Duplicated(u, du), wl.Duplicated(v, dv), wl.Duplicated(0.2, 0.5), wl.Const(3)
    )
    h = 1e-6
    up, down = ([U + sign * h * SEED, V + sign * h * V] for sign in (1, -1))
    values = [march(*each, 0.2 + sign * h * 0.5, 3) for each, sign in ((up, 1), (down, -1))]
    np.testing.assert_allclose(change, (values[0] - values[1]) / (2 * h), 1e-6)
    np.testing.assert_allclose(du, (up[0] - down[0]) / (2 * h), 1e-6, 1e-8)
    np.testing.assert_allclose(dv, (up[1] - down[1]) / (2 * h), 1e-6, 1e-8)
    assert value == march(U.copy(), V.copy(), 0.2, 3)


def test_several_tangents_go_at_once() -> None:
    shadows = (SEED.copy(), V.copy())
    others = (np.zeros(N), np.zeros(N))
    changes = wl.autodiff(
        wl.Forward,
        march,
        wl.BatchDuplicated(U.copy(), shadows),
        wl.BatchDuplicated(V.copy(), others),
        wl.Const(0.2),
        wl.Const(2),
    )
    for shadow, seed, change in zip(shadows, (SEED, V), changes, strict=True):
        alone = seed.copy()
        expected = wl.autodiff(
            wl.Forward,
            march,
            wl.Duplicated(U.copy(), alone),
            wl.Duplicated(V.copy(), alone * 0),
            wl.Const(0.2),
            wl.Const(2),
        )
        np.testing.assert_allclose(change, expected, 1e-13)
        np.testing.assert_allclose(shadow, alone, 1e-13)


def test_several_cotangents_go_at_once() -> None:
    shadows, others = (SEED.copy(), V.copy()), (np.zeros(N), np.ones(N))
    u = U.copy()
    (*_, by_c, none), loss = wl.autodiff(
        wl.ReverseWithPrimal,
        march,
        wl.BatchDuplicated(u, shadows),
        wl.BatchDuplicated(V.copy(), others),
        wl.Active(0.2),
        wl.Const(2),
    )
    given = [(SEED.copy(), np.zeros(N)), (V.copy(), np.ones(N))]
    for (du, dv), shadow, other, gradient in zip(given, shadows, others, by_c, strict=True):
        again = U.copy()
        (*_, expected, _), value = wl.autodiff(
            wl.ReverseWithPrimal,
            march,
            wl.Duplicated(again, du),
            wl.Duplicated(V.copy(), dv),
            wl.Active(0.2),
            wl.Const(2),
        )
        np.testing.assert_allclose(shadow, du, 1e-13)
        np.testing.assert_allclose(other, dv, 1e-13)
        np.testing.assert_allclose(gradient, expected, 1e-13)
        assert value == loss and none is None and (again == u).all()


def test_what_is_not_wanted_stays() -> None:
    x, y, dx, dy = U.copy(), V.copy(), np.zeros(N), SEED.copy()
    wl.autodiff(wl.Reverse, returns_nothing, wl.DuplicatedNoNeed(x, dx), wl.Duplicated(y, dy))
    expected = derivatives(returns_nothing, [U, V], [0, SEED])
    np.testing.assert_allclose(dx, expected[0], 1e-6, 1e-8)
    np.testing.assert_allclose(dy, expected[1], 1e-6, 1e-8)
    assert (x == U).all() and (y == V + U * U).all()


def test_one_array_given_twice_is_one_memory() -> None:
    x, dx = U.copy(), np.ones(N)
    wl.autodiff(wl.Reverse, returns_nothing, wl.Duplicated(x, dx), wl.Duplicated(x, dx))
    np.testing.assert_allclose(dx, 2 * (1 + 2 * U), 1e-14)
    assert (x == 2 * (U + U * U)).all()


def test_the_returned_value_may_be_constant() -> None:
    def give(x: Any) -> Any:
        x *= 3
        return x + 1

    x, dx = U.copy(), np.ones(N)
    (by_x,), returned = wl.autodiff(wl.ReverseWithPrimal, give, wl.Const, wl.Duplicated(x, dx))
    assert by_x is None and (dx == 3).all() and (returned == 3 * U + 1).all()


X, DX = np.ones(3), np.zeros(3)
REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: wl.autodiff(wl.Reverse, returns_nothing, X, X), "argument 0 is ndarray without an activity"),
    (lambda: wl.autodiff(wl.Reverse, np.sum, wl.Active(X)), "argument 0, Active of an array .* has no shadow"),
    (lambda: wl.autodiff(wl.Forward, np.sin, wl.Active(0.5)), "argument 0, Active of float, is for reverse mode"),
    (lambda: wl.autodiff(wl.Reverse, np.sin, wl.Duplicated(0.5, 1.0)), "argument 0, Duplicated of float, is a number"),
    (lambda: wl.autodiff(wl.Reverse, np.sum, wl.Duplicated(X, X)), "the shadow of argument 0 shares memory"),
    (lambda: wl.autodiff(wl.Reverse, np.sum, wl.Duplicated(X, DX[:2])), "has a shadow that is an array of float64"),
    (
        lambda: wl.autodiff(wl.Reverse, returns_nothing, wl.BatchDuplicated(X, (DX,)), wl.Duplicated(X + 1, DX + 1)),
        "different numbers of shadows",
    ),
    (
        lambda: wl.autodiff(wl.Reverse, np.sum, wl.Duplicated(np.arange(3), DX)),
        "an array of int64 .* can't vary",
    ),
    (lambda: wl.autodiff(wl.Reverse, np.sum, wl.Const(X)), "no argument varies"),
    (lambda: wl.autodiff(wl.Reverse, np.sin, wl.Duplicated(X, DX)), "it returns more than one real number"),
    (lambda: wl.autodiff(wl.Reverse, MODULE["heat"], wl.Const(1)), "a kernel is launched"),
    (
        lambda: wl.autodiff(wl.Forward, np.add, wl.BatchDuplicated(X, (DX,)), wl.Duplicated(1.0, 1.0)),
        "different numbers of shadows",
    ),
    (
        lambda: wl.autodiff(wl.Reverse, returns_nothing, wl.Duplicated(X, DX), wl.Duplicated(X, DX.copy())),
        "argument 1 is the same array as another",
    ),
]


@pytest.mark.parametrize(("ask", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_activities_that_do_not_fit_are_refused(ask: Callable[[], Any], message: str) -> None:
    with pytest.raises(wl.WindlassError, match=f"WL0932.*{message}"):
        ask()
    assert (X == 1).all() and (DX == 0).all()
