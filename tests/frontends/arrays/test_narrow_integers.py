"""Functions of integers of fewer than 64 bits: NumPy computes in them or in doubles, never in floats of 32 bits."""

# pyright: basic
from __future__ import annotations

import warnings

import jax
import numpy as np
import pytest

import windlass as wl

X = np.array([3, 1, 250, 7, 0, 2])
Y = np.array([1, 200, 3])


def convolutions(x, y):
    modes = ("full", "same", "valid")
    found = [np.convolve(x, y, mode) for mode in modes] + [np.convolve(y, x[:2], mode) for mode in modes]
    return found + [np.correlate(x, y, mode) for mode in modes] + [np.correlate(y, x, mode) for mode in modes]


def histograms(x, y):
    return np.histogram(x, 4), np.histogram2d(x, x, 3), np.histogram_bin_edges(x, 5), np.histogram(x, [0, 2, 300])


def special_functions(x, y):
    return np.i0(x % 9), np.sinc(x), np.polyval(x.astype(np.float32), 2.0)


def areas(x, y):
    return np.trapezoid(x), np.trapezoid(x, dx=2), np.trapezoid(x.reshape(2, 3), axis=0)


def areas_at_places(x, y):
    return np.trapezoid(x, x), np.unwrap(x)


@pytest.mark.parametrize("dtype", [np.int16, np.uint8, np.int32, np.int64, np.bool_])
def test_results_have_numpys_types_and_bits(dtype):
    x, y = X.astype(dtype), Y.astype(dtype)
    for function in (convolutions, histograms, special_functions, areas, areas_at_places):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                wanted = function(x, y)
            except TypeError:
                continue
            found = wl.jit(function)(x, y)
        for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
            one, other = np.asarray(one), np.asarray(other)
            assert (one.dtype, one.shape) == (other.dtype, other.shape), (function.__name__, dtype)
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=0, err_msg=function.__name__)
