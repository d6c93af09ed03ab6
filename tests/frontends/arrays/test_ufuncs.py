"""Every ufunc that NumPy has, at special values: the list is NumPy's own, so that none is left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import windlass as wl
from tests.frontends.arrays.running import whole
from tests.frontends.arrays.special_values import assert_same, pairs, special_values

UFUNCS = sorted({each for each in vars(np).values() if isinstance(each, np.ufunc)}, key=lambda each: each.__name__)
APPROXIMATE = frozenset({
    "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "cbrt", "cos", "cosh", "deg2rad",
    "degrees", "exp", "exp2", "expm1", "float_power", "hypot", "log", "log10", "log1p", "log2", "logaddexp",
    "logaddexp2", "power", "rad2deg", "radians", "sin", "sinh", "tan", "tanh",
})  # fmt: skip
"""What libraries compute by approximations, each by its own."""
ARITHMETIC = frozenset({
    "absolute", "add", "conjugate", "equal", "greater", "greater_equal", "isfinite", "isinf", "isnan", "less",
    "less_equal", "logical_and", "logical_not", "logical_or", "logical_xor", "maximum", "minimum", "fmax", "fmin",
    "negative", "not_equal", "positive", "reciprocal", "subtract", "divide",
})  # fmt: skip
"""What is right for complex numbers of which a part is infinite or NaN, too."""
WITHOUT_ORDER_OF_ZEROS = frozenset({"maximum", "minimum", "fmax", "fmin"})
"""NumPy gives either zero, as the processor has it."""
OF_MATRICES = [each for each in UFUNCS if each.signature is not None]


def evaluated(dtype: np.dtype) -> list[tuple[np.ufunc, tuple[Any, ...], Any]]:
    """The ufuncs that take the dtype, what they are given, and what NumPy gives."""
    found: list[tuple[np.ufunc, tuple[Any, ...], Any]] = []
    for ufunc in UFUNCS:
        given = pairs(dtype, dtype) if ufunc.nin == 2 else (special_values(dtype),) * ufunc.nin
        given = tuple(abs(each) for each in given) if ufunc is np.power and dtype.kind == "i" else given
        if ufunc is np.reciprocal and dtype.kind in "biu":
            given = (given[0][given[0] != 0],)  # NumPy converts an infinity
        if ufunc.signature is not None or (ufunc is np.power and dtype.kind == "i"):
            continue  # see below; and test_powers_are_numpys
        try:
            with np.errstate(all="ignore"):
                found.append((ufunc, given, ufunc(*given)))
        except TypeError:
            continue
    return found


@pytest.mark.one_in(2)
@pytest.mark.parametrize("code", [*"bQed", *(pytest.param(code, marks=pytest.mark.slow) for code in "?Bif")])
def test_every_ufunc_gives_what_numpy_gives(code: str) -> None:
    cases = evaluated(np.dtype(code))
    found = whole(lambda every: [case[0](*given) for case, given in zip(cases, every, strict=True)])(
        [tuple(map(np.copy, given)) for _, given, _ in cases]
    )
    assert len(cases) > 40
    for (ufunc, _, expected), result in zip(cases, found, strict=True):
        roundings = 16 if ufunc.__name__ in APPROXIMATE else 0
        zeros = ufunc.__name__ not in WITHOUT_ORDER_OF_ZEROS
        assert_same(result, expected, f"{ufunc.__name__} of {np.dtype(code).name}", roundings, zeros)


@pytest.mark.parametrize("code", ["D", pytest.param("F", marks=pytest.mark.slow)])
def test_every_ufunc_of_complex_numbers_gives_what_numpy_gives(code: str) -> None:
    dtype = np.dtype(code)
    ordinary = np.array([0, 1, -1, 1j, -2j, 0.5 + 2j, -1.5 - 0.25j, 3, -2, 2.5 - 1j, 0.1 + 7j], dtype)
    ordinary = np.concatenate([ordinary, ordinary.conj(), -ordinary])  # zeros of both signs, on branch cuts
    cases: list[tuple[np.ufunc, Any, Any]] = []
    for ufunc in UFUNCS:
        given = pairs(dtype, dtype) if ufunc.nin == 2 else (special_values(dtype),)
        if ufunc.__name__ not in ARITHMETIC:
            given = (ordinary[:, None], ordinary[None]) if ufunc.nin == 2 else (ordinary[ordinary != 0],)
        if ufunc.signature is None:
            try:
                with np.errstate(all="ignore"):
                    cases.append((ufunc, given, ufunc(*given)))
            except TypeError:
                continue
    found = whole(lambda every: [case[0](*given) for case, given in zip(cases, every, strict=True)])(
        [tuple(map(np.copy, given)) for _, given, _ in cases]
    )
    assert len(cases) > 40
    for (ufunc, _, expected), result in zip(cases, found, strict=True):
        if ufunc.__name__ in ARITHMETIC:
            assert_same(result, expected, ufunc.__name__, 4)
        else:
            np.testing.assert_allclose(result, expected, rtol=64 * np.finfo(dtype).eps, atol=64 * np.finfo(dtype).eps)


def test_ufuncs_of_matrices_are_numpys() -> None:
    a, v = np.arange(6.0).reshape(2, 3), np.arange(3.0)
    given = {"matmul": (a, a.T), "vecdot": (a, v), "matvec": (a, v), "vecmat": (v, a.T)}
    assert {each.__name__ for each in OF_MATRICES} == set(given)
    found = whole(lambda every: [each(*every[each.__name__]) for each in OF_MATRICES])(given)
    for ufunc, result in zip(OF_MATRICES, found, strict=True):
        assert_same(result, ufunc(*given[ufunc.__name__]), ufunc.__name__, 4)


def test_what_is_not_supported_says_so() -> None:
    with pytest.raises(wl.WindlassError, match=r"WL0909.*numpy.isnat is not supported(?s:.)*test_ufuncs.py:\d+"):
        whole(lambda a: np.isnat(a))(np.arange(3))  # noqa: PLW0108 (a ufunc is no function)
