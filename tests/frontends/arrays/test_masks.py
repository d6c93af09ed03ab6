"""What a boolean mask picks, written and reduced, where the mask is known only as the program runs."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import windlass as wl
from tests.frontends.arrays import mask_functions
from tests.frontends.arrays.running import assert_as_numpy, whole

X = np.array([1.5, -2.0, 3.0, 0.25, -0.5, 0.75, 4.0])
Y = np.array([0.0, 1.0, -1.0, 2.0, 0.5, -3.0, 0.0])
M = np.array([True, False, True, True, False, True, False])
A = np.arange(12.0).reshape(3, 4) - 4
ROWS, COLUMNS = np.array([True, False, True]), np.array([False, True, True, False])
OF_VECTORS = [
    each
    for each in vars(mask_functions).values()
    if callable(each) and each.__module__ == mask_functions.__name__ and "x" in each.__code__.co_varnames[:1]
]
OF_MATRICES = [mask_functions.rows, mask_functions.rows_with_rows, mask_functions.planes]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("function", OF_VECTORS)
def test_masked_elements_are_numpys(function: Callable[..., Any]) -> None:
    assert_as_numpy(function, X, Y, M)


@pytest.mark.parametrize("function", OF_MATRICES)
def test_masked_rows_and_columns_are_numpys(function: Callable[..., Any]) -> None:
    assert_as_numpy(function, A, ROWS, COLUMNS)


def test_masked_integers_are_numpys() -> None:
    assert_as_numpy(mask_functions.integers, np.array([5, -2, 4, 8, 1]), ROWS, COLUMNS)


def test_writing_to_what_a_mask_picks_is_elementwise() -> None:
    def function(x: Any) -> None:
        x[x > 0.5] *= 2

    text = whole(function).lower(X.copy()).text("tensor")
    operations = re.findall(r"stablehlo\.(\w+)", text)
    assert sorted(each for each in operations if each not in ("constant", "broadcast_in_dim", "convert")) == [
        "compare",
        "multiply",
        "select",
        "select",  # so that no derivative of what is computed elsewhere reaches the elements
    ]


# -- what the program finds out ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "word"), [("max", "maximum"), ("min", "minimum")])
def test_extremes_of_nothing_are_refused_as_by_numpy(name: str, word: str) -> None:
    def function(x: Any, t: Any) -> Any:
        return getattr(x[x > t], name)()

    compiled = whole(function)
    assert compiled(X.copy(), 1.0) == function(X, 1.0)
    message = f"zero-size array to reduction operation {word} which has no identity"
    with pytest.raises(ValueError, match=message):
        function(X, 100.0)
    with pytest.raises(ValueError, match=message):
        compiled(X.copy(), 100.0)


def test_mean_of_nothing_is_nan_as_in_numpy() -> None:
    assert np.isnan(whole(lambda x: x[x > 100].mean())(X.copy()))


def test_masks_that_pick_different_elements_stand_side_by_side() -> None:
    def function(x: Any, y: Any) -> None:
        x[x > 0] = y[y > 0]

    assert_as_numpy(function, X, X[::-1].copy())
    given = X.copy()
    with pytest.raises(ValueError, match="could not be broadcast together"):
        whole(function)(given, np.where(X > 2, X, 0))
    assert (given == X).all()


def test_masks_of_the_same_comparison_are_compared_by_no_operation() -> None:
    def function(x: Any, y: Any) -> None:
        x[x > 0] = y[x > 0] * 2

    assert "reduce" not in whole(function).lower(X.copy(), Y.copy()).text("hlo")


# -- what is refused --------------------------------------------------------------------------------------------------


def test_what_has_no_bound_is_refused_at_its_line() -> None:
    def function(x: Any) -> Any:
        return np.split(x, np.flatnonzero(x > 1))

    with pytest.raises(wl.WindlassError) as caught:
        whole(function)(X.copy())
    first = caught.value.diagnostics[0]
    assert first.code == "WL0904"
    assert first.headline == "how many elements a slice has is not known while the function is compiled"
    assert first.notes == ("what numpy.split gives would depend on it",)
    assert first.position is not None
    assert first.position.file == __file__


def test_integers_apart_from_a_mask_are_refused() -> None:
    with pytest.raises(wl.WindlassError, match=r"WL0904.*an integer that stands apart from a mask"):
        whole(lambda a, m: a[0, :, m].sum())(np.ones((2, 3, 4)), COLUMNS)


def test_derivatives_of_what_has_no_known_length_are_refused() -> None:
    def function(x: Any) -> Any:
        return x[x > 1] * 2

    with pytest.raises(wl.WindlassError, match=r"(?s)WL0904.*the shape of what is returned"):
        wl.vjp(function, X.copy())


# -- derivatives ------------------------------------------------------------------------------------------------------


def test_derivatives_are_zero_where_a_mask_picks_nothing() -> None:
    def roots(x: Any, s: Any) -> Any:
        return np.sqrt(x[x > s] - s).sum()

    found = wl.grad(roots, (0, 1))(X.copy(), 2.0)
    each = np.where(X > 2, 0.5 / np.sqrt(np.where(X > 2, X - 2, 1)), 0)
    np.testing.assert_allclose(found[0], each)
    np.testing.assert_allclose(found[1], -each.sum())


def test_batches_are_those_of_each_row() -> None:
    def function(x: Any) -> Any:
        y = np.zeros_like(x)
        y[x > 0] = np.cumsum(np.sort(x[x > 0]))
        for i in np.flatnonzero(x > 1):
            y[i] += i
        return y

    rows = np.stack([X, -X, X[::-1], X * 0])
    with jax.enable_x64(True):
        found = jax.vmap(wl.jit(function))(jnp.asarray(rows))
        np.testing.assert_allclose(found, [function(row) for row in rows])
        with pytest.raises(wl.WindlassError, match=r"(?s)WL0904.*the shape of what is returned"):
            jax.vmap(wl.jit(lambda x: x[x > 0]))(jnp.asarray(rows))


def test_derivatives_reach_elements_in_a_row() -> None:
    def function(x: Any) -> Any:
        p = np.sort(x[x > 0])
        return p[0] * p[-1] + np.cumsum(p)[1] + np.concatenate([p, p[:1]]).max()

    # The least is .25, the next .75, the greatest 4.
    np.testing.assert_allclose(wl.grad(function)(X.copy()), [0, 0, 0, 5, 0, 1, 1.25])
