"""What a boolean mask picks, written and reduced, where the mask is known only as the program runs."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

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


def test_writing_to_what_a_mask_picks_is_one_select() -> None:
    def function(x: Any) -> None:
        x[x > 0.5] *= 2

    text = whole(function).lower(X.copy()).text("tensor")
    operations = re.findall(r"stablehlo\.(\w+)", text)
    assert sorted(each for each in operations if each not in ("constant", "broadcast_in_dim", "convert")) == [
        "compare",
        "multiply",
        "select",
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


def test_masks_that_differ_are_told() -> None:
    def function(x: Any, y: Any) -> None:
        x[x > 0] = y[y > 0]

    whole(function)(X.copy(), X + 0)
    given = X.copy()
    with pytest.raises(ValueError, match=r"WL0922.*two masks pick different elements"):
        whole(function)(given, Y.copy())
    assert (given == X).all()


def test_masks_of_the_same_comparison_are_compared_by_no_operation() -> None:
    def function(x: Any, y: Any) -> None:
        x[x > 0] = y[x > 0] * 2

    assert "reduce" not in whole(function).lower(X.copy(), Y.copy()).text("hlo")


# -- what is refused --------------------------------------------------------------------------------------------------


def returns_it(x: Any, y: Any) -> Any:
    return x[x > 1]


def asks_for_a_place(x: Any, y: Any) -> Any:
    return x[x > 1][0]


def sorts_it(x: Any, y: Any) -> Any:
    return np.sort(x[x > 1])


def finds_the_place(x: Any, y: Any) -> Any:
    return x[x > 1].argmax()


def stands_beside_another(x: Any, y: Any) -> Any:
    return (x[x > 1] + y).sum()


def writes_a_list(x: Any, y: Any) -> None:
    x[x > 1] = [1.0, 2.0, 3.0]


def goes_over_it(x: Any, y: Any) -> Any:
    s = 0.0
    for v in x[x > 1]:
        s += v
    return s


def makes_zeros(x: Any, y: Any) -> Any:
    return np.zeros(len(x[x > 1]))


def uses_it_as_an_index(x: Any, y: Any) -> Any:
    return y[x[x > 1].astype(int)]


@pytest.mark.parametrize(
    ("function", "note"),
    [
        (returns_it, "the shape of what is returned"),
        (asks_for_a_place, "which of its elements are asked for"),
        (sorts_it, "what numpy.sort gives"),
        (finds_the_place, "'argmax'"),
        (stands_beside_another, "what stands beside it"),
        (writes_a_list, "how many numbers are to be written"),
        (goes_over_it, "how often a loop over it runs"),
        (uses_it_as_an_index, "which elements it is an index of"),
    ],
)
def test_what_needs_the_number_of_elements_is_refused(function: Callable[..., Any], note: str) -> None:
    with pytest.raises(wl.WindlassError) as caught:
        whole(function)(X.copy(), Y.copy())
    first = caught.value.diagnostics[0]
    assert first.code == "WL0904"
    assert first.headline == "how many elements a mask picks is not known while the function is compiled"
    assert first.notes == (f"{note} would depend on it",)
    assert first.help is not None
    assert "numpy.where(mask, a, b)" in first.help
    assert first.position is not None
    assert first.position.file == __file__


def test_shapes_from_the_number_of_elements_are_refused() -> None:
    with pytest.raises(wl.WindlassError, match=r"WL0904.*the shape of what numpy.zeros makes is not known"):
        whole(makes_zeros)(X.copy(), Y.copy())


def test_integers_apart_from_a_mask_are_refused() -> None:
    with pytest.raises(wl.WindlassError, match=r"WL0904.*an integer that stands apart from a mask"):
        whole(lambda a, m: a[0, :, m].sum())(np.ones((2, 3, 4)), COLUMNS)
