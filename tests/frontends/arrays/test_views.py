"""What is a view in NumPy is a view inside `wl.jit`, and what is a copy is a copy: both ends are written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import windlass as wl
from tests.frontends.arrays.running import assert_as_numpy, whole

Make = Callable[[Any], Any]
SQUARE = np.arange(9.0).reshape(3, 3)
BOX = np.arange(24.0).reshape(2, 3, 4)

OF_SQUARES: list[Make] = [
    lambda x: np.einsum("ii->i", x),
    lambda x: np.einsum("ij->ji", x),
    lambda x: np.einsum("ij", x),
    lambda x: np.einsum("ji", x),
    lambda x: np.einsum("i...->...i", x),
    lambda x: np.einsum(x, [1, 0], [0, 1]),
    lambda x: np.einsum("ii", x),
    lambda x: np.einsum("ij->i", x),
    lambda x: np.einsum("iji->ij", x[:, :, None] + np.zeros(3)),
    lambda x: np.einsum("iij->ij", np.broadcast_to(x, (3, 3, 3)).copy()),
    np.rot90,
    lambda x: np.rot90(x, 2),
    lambda x: np.rot90(x, -1),
    lambda x: np.rot90(x, 0),
    lambda x: np.rot90(x, 1, (1, 0)),
    np.diagonal,
    lambda x: x.diagonal(1),
    lambda x: x.diagonal(-2, 1, 0),
    lambda x: np.linalg.diagonal(x, offset=-1),
    np.diag,
    lambda x: np.diag(x, k=1),
    lambda x: np.diag(x[0]),
    lambda x: x.astype(np.float64, copy=False),
    lambda x: x.astype(np.float64),
    lambda x: x.astype(np.float64, order="F", copy=False),
    lambda x: x.T.astype(float, "A", copy=False),
    lambda x: x[::2].astype(float, "K", copy=False),
    lambda x: x[::2].astype(float, "A", copy=False),
    lambda x: np.broadcast_to(x, (2, 3, 3)),
    lambda x: np.broadcast_to(x[:, :1], (3, 4)),
    lambda x: np.broadcast_to(x, (3, 3)),
]
"""Of a matrix that is C-contiguous."""


def in_all_orders(make: Callable[[Any, Any], Any]) -> list[Make]:
    return [lambda x, order=order: make(x, order) for order in "CFAK"]


OF_LAYOUTS: list[Make] = [
    *in_all_orders(lambda x, order: x.ravel(order)),
    *in_all_orders(lambda x, order: np.ravel(x, order=order)),
    *in_all_orders(lambda x, order: x.flatten(order)),
    *in_all_orders(lambda x, order: x.reshape(-1, order=order))[:3],
    *in_all_orders(lambda x, order: np.reshape(x, (x.shape[0], -1), order=order))[:3],
    *in_all_orders(lambda x, order: x.reshape(-1, x.shape[-1], order=order))[:3],
    *in_all_orders(lambda x, order: x.copy(order).ravel("A")),
    *in_all_orders(lambda x, order: x.copy(order).ravel("K")),
    *in_all_orders(lambda x, order: x.copy(order).reshape(-1, x.shape[-1])),
    *in_all_orders(lambda x, order: x.astype(float, order).reshape(-1, x.shape[-1])),
    *in_all_orders(lambda x, order: x.astype(float, order, copy=False)),
    lambda x: x.reshape(-1, copy=True),
]
"""Of arrays that lie in memory in all ways."""

LAYOUTS: list[Make] = [
    lambda x: x,
    lambda x: x.T,
    lambda x: x.transpose(1, 0, 2),
    lambda x: x.transpose(2, 0, 1),
    lambda x: x[::2],
    lambda x: x[:, ::2],
    lambda x: x[..., ::2],
    lambda x: x[::-1],
    lambda x: x[..., ::-1],
    lambda x: x[::-1, ::-1, ::-1].T,
    lambda x: x[:, 1],
    lambda x: x[..., 1].T,
    lambda x: x[:, :1],
    lambda x: x[:, 1:2].T,
    lambda x: x.T[1:3],
    lambda x: x[None, 1],
    lambda x: x.T.copy(order="K"),
    lambda x: x.diagonal(),
    lambda x: np.broadcast_to(x[:, :1], (2, 3, 4)),
]


def facts_of(made: Any, x: Any) -> tuple[Any, ...]:
    """What NumPy says of an array that was made of `x`; strides count where there is more than one element."""
    strides = [stride for stride, extent in zip(made.strides, made.shape, strict=True) if extent > 1 and made.size]
    return np.shares_memory(made, x), made.shape, made.dtype, made.flags.writeable, strides


def both_ends_written(make: Make, x: Any, is_writeable: bool) -> list[Any]:
    """Both ends, after what was made of `x` is read, `x` written, it read again, and then written where that may be."""
    made = make(x)
    x += 0.5
    before = made * 1
    if is_writeable and made.ndim:
        made[..., :1] = 100.0
        made[:1] += 1
    return [before, made * 1, x * 1]


def assert_lies_as_in_numpy(make: Make, x: Any) -> None:
    """Whether it is a view, what it holds, and its strides, without compiling: by arrays whose elements are known."""
    plain, array = x.copy(), wl.Array(x)
    wanted = facts_of(make(plain), plain)
    with jax.enable_x64(True):
        assert facts_of(make(array), array) == wanted
        found = both_ends_written(make, array, wanted[3])
    for each, expected in zip(found, both_ends_written(make, plain, wanted[3]), strict=True):
        np.testing.assert_array_equal(np.asarray(each), expected)


def test_compiled_functions_see_writes_to_both_ends_of_views() -> None:
    known = [make(SQUARE).flags.writeable for make in OF_SQUARES]

    def write(xs: Any) -> Any:
        return [both_ends_written(make, xs[number], known[number]) for number, make in enumerate(OF_SQUARES)]

    assert_as_numpy(write, np.stack([SQUARE] * len(OF_SQUARES)))


@pytest.mark.parametrize("source", LAYOUTS[:1])
def test_functions_of_matrices_give_the_views_that_numpy_gives(source: Make) -> None:
    for make in OF_SQUARES:
        assert_lies_as_in_numpy(lambda x, make=make: make(source(x)), SQUARE)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("source", LAYOUTS)
def test_memory_orders_decide_what_is_a_view_as_in_numpy(source: Make) -> None:
    for make in OF_LAYOUTS:
        assert_lies_as_in_numpy(lambda x, make=make: make(source(x)), BOX)


@pytest.mark.parametrize(
    "write",
    [
        lambda x: np.diagonal(x).__setitem__(0, 1),
        lambda x: np.diag(x)[1:].fill(0),
        lambda x: np.add(x[0], 1, out=np.broadcast_to(x[1], (3, 3))[0]),
        lambda x: np.copyto(np.broadcast_to(x, (2, 3, 3)), 1),
        lambda x: np.linalg.diagonal(x).__iadd__(1),
        lambda x: x.diagonal().T[[0, 1]].__class__ and x.diagonal().__setitem__([0, 1], 1),
    ],
)
def test_views_that_numpy_makes_read_only_can_not_be_written(write: Make) -> None:
    with pytest.raises(ValueError, match="read-only"):
        write(SQUARE.copy())
    with pytest.raises(ValueError, match=r"WL0919.*an array is written that is read-only") as caught:
        whole(write)(SQUARE.copy())
    assert isinstance(caught.value, wl.WindlassError)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.position is not None and diagnostic.position.file == __file__


def raveled(x: Any) -> Any:
    first, second = x.ravel(), x.ravel("K")
    first[..., :1] = 100
    second[1:2] = 50
    return first * 1, second * 1, (x + 1).ravel("A")


@pytest.mark.parametrize(
    "take", [lambda x: x.T, lambda x: x[::2], lambda x: x[:, ::-1], lambda x: x.transpose(1, 0, 2), lambda x: x[..., 1]]
)
def test_arguments_lie_as_the_callers_arrays_do(take: Make) -> None:
    plain, compiled = BOX.copy(), BOX.copy()
    wanted, found = raveled(take(plain)), whole(raveled)(take(compiled))
    np.testing.assert_array_equal(compiled, plain)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


def writes_the_first(a: Any, b: Any) -> Any:
    a[0] = 100
    return b * 1


def test_arguments_that_overlap_in_strides_are_refused_where_one_is_written() -> None:
    x = np.arange(6.0)
    with pytest.raises(wl.WindlassError, match=r"WL0912.*overlap without being the same array"):
        whole(writes_the_first)(x[::2], x)
    with pytest.raises(wl.WindlassError, match="WL0912"):
        whole(writes_the_first)(SQUARE.T, SQUARE)
    assert whole(writes_the_first)(x[::2], x[1::2]).tolist() == [1, 3, 5]
    np.testing.assert_array_equal(whole(lambda a, b: a @ b)(SQUARE.T, SQUARE), SQUARE.T @ SQUARE)
    assert x[0] == 100 and SQUARE[0, 0] == 0


def carries_in_its_own_order(a: Any, n: Any) -> Any:
    x = a.T + 1
    for _ in range(n):
        x = x * 2
    r = x.ravel()
    r[0] = 100
    f = x.ravel("F")
    f[1] = 50
    if n > 1:
        y = a.T * 3
    else:
        y = a.T * 5
    k = y.ravel("K")
    k[0] = 7
    return r, f, x, y


def test_loops_and_branches_keep_the_order_of_what_they_bind() -> None:
    assert_as_numpy(carries_in_its_own_order, SQUARE, 2)


def binds_one_of_two_orders(a: Any, how: str) -> Any:
    x = a.T + 1 if a[0, 0] > 0 else a + 1
    flat = x.ravel(how)
    if how == "F":
        flat[0] = 1
        flat[1] = x[0, 0]
    return flat


def test_orders_that_are_not_known_are_not_guessed() -> None:
    compiled = whole(static="how")(binds_one_of_two_orders)
    np.testing.assert_array_equal(compiled(SQUARE, "C"), (SQUARE + 1).ravel())
    with pytest.raises(wl.WindlassError, match=r"WL0908.*not known which memory is written"):
        compiled(SQUARE, "F")
    with pytest.raises(wl.WindlassError, match=r"WL0908.*not known in which order"):
        compiled(SQUARE, "K")


def test_read_only_arguments_are_read_only_inside() -> None:
    x = np.arange(3.0)
    x.flags.writeable = False
    assert whole(lambda a: (a.flags.writeable, a[1:].flags.writeable))(x) == (False, False)
    with pytest.raises(ValueError, match="WL0919") as caught:
        whole(lambda a: a[1:].fill(0))(x)
    assert isinstance(caught.value, wl.WindlassError) and caught.value.diagnostics[0].position is not None
    assert x.tolist() == [0, 1, 2]
