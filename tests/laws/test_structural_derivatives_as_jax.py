"""Derivatives of ops that move, fold and factorize are JAX's, also of ties, repeated places and empty axes."""

# pyright: basic
from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import jax
import numpy as np
import pytest
from jax import lax

from tests.laws.xla import run_through_xla
from windlass.autodiff import NoDerivative, pullback_function, tangent_function
from windlass.ir import Function, Module
from windlass.ops import evaluate_function
from windlass.stablehlo import import_text

Array = np.ndarray[Any, Any]


def some(*shape: int, dtype: Any = np.float64, seed: int = 0) -> Array:
    """Numbers of which no two are the same."""
    generator = np.random.default_rng(seed + 17 * len(shape))
    real = generator.uniform(-2, 2, shape)
    return np.asarray(real + 1j * generator.uniform(-2, 2, shape) if np.dtype(dtype).kind == "c" else real).astype(
        dtype
    )


def tied(*shape: int, dtype: Any = np.float64) -> Array:
    """Few different numbers, of which each comes often, zero among them."""
    return np.random.default_rng(len(shape)).integers(-1, 2, shape).astype(dtype)


def results_of(function: Function, arrays: list[Array]) -> list[Array]:
    """What the function gives, as it is evaluated here; XLA has to give the same."""
    renamed = Function("main", function.body)
    expected = [np.asarray(each) for each in evaluate_function(renamed, *arrays)]
    for one, other in zip(expected, run_through_xla(Module([renamed]), arrays), strict=True):
        np.testing.assert_allclose(one, other, 1e-9, 1e-9)
    return expected


def assert_as_jax(function: Callable[..., Any], *arrays: Array) -> None:
    """Both modes, by all arguments that are floats or complex numbers; of all results that are."""
    with jax.enable_x64(True):
        traced = jax.jit(function, keep_unused=True).trace(*arrays)
        # On the CPU some would be calls of libraries.
        main = import_text(traced.lower(lowering_platforms=("tpu",)).as_text()).main
        active = [place for place, array in enumerate(arrays) if array.dtype.kind in "fc"]

        def of_active(*chosen: Any) -> list[Any]:
            given = dict(zip(active, chosen, strict=True))
            found = function(*(given.get(place, array) for place, array in enumerate(arrays)))
            return [each for each in jax.tree.leaves(found) if each.dtype.kind in "fc"]

        primals = [jax.numpy.asarray(arrays[place]) for place in active]
        tangents = [some(*each.shape, dtype=each.dtype, seed=1) for each in primals]
        values, expected = jax.jvp(of_active, primals, tangents)
        found = results_of(tangent_function(main, active), [*arrays, *tangents])
        for one, other in zip(expected, found, strict=True):
            np.testing.assert_allclose(other, np.asarray(one), 1e-8, 1e-9)
        cotangents = [some(*each.shape, dtype=each.dtype, seed=2) for each in values]
        pulled = jax.vjp(of_active, *primals)[1]([jax.numpy.asarray(each) for each in cotangents])
        found = results_of(pullback_function(main, active), [*arrays, *cotangents])
        for one, other in zip(pulled, found, strict=True):
            np.testing.assert_allclose(other, np.asarray(one), 1e-8, 1e-9)


C = np.complex128
INDICES = np.array([[0], [2], [0], [9], [-4], [2]], np.int32)
PAIRS = np.array([[0, 1], [1, 2], [0, 1], [3, 0]], np.int32)
ROWS = lax.GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,))
PLACES = lax.GatherDimensionNumbers(offset_dims=(), collapsed_slice_dims=(0, 1), start_index_map=(0, 1))
BATCHED = lax.GatherDimensionNumbers((1,), (1,), (1,), (0,), (0,))
INTO_ROWS = lax.ScatterDimensionNumbers((1,), (0,), (0,))
INTO_PLACES = lax.ScatterDimensionNumbers((), (0, 1), (0, 1))
INTO_BATCHED = lax.ScatterDimensionNumbers((1,), (1,), (1,), (0,), (0,))


def scattering(by: Any, unique: bool = False, to: Any = INTO_ROWS) -> Callable[..., Any]:
    """A scatter that leaves out what does not fit."""
    return lambda x, i, u: by(x, i, u, to, unique_indices=unique, mode=lax.GatherScatterMode.FILL_OR_DROP)


def pooling(
    by: Any, start: float, window: Any, strides: Any, padding: Any, base: Any = None, dilation: Any = None
) -> Any:
    ones = (1,) * len(window)
    return lambda x: lax.reduce_window(x, start, by, window, strides, padding, base or ones, dilation or ones)


def convolving(**fields: Any) -> Callable[..., Any]:
    return lambda x, k: lax.conv_general_dilated(x, k, **fields)


def transforming(kind: lax.FftType, lengths: tuple[int, ...]) -> Callable[..., Any]:
    # lax.fft is a function of its own, which is called.
    return lambda x: lax.fft_p.bind(x, fft_type=kind, fft_lengths=lengths)


def solving(**fields: Any) -> Callable[..., Any]:
    return lambda a, b: lax.linalg.triangular_solve(a, b, **fields)


def larger(left: Any, right: Any) -> Any:
    """The larger number with its index, NaN before all; of equal ones the first."""
    better = lax.bitwise_or(lax.gt(left[0], right[0]), lax.ne(left[0], left[0]))
    is_left = lax.bitwise_or(better, lax.bitwise_and(lax.eq(left[0], right[0]), lax.lt(left[1], right[1])))
    return lax.select(is_left, left[0], right[0]), lax.select(is_left, left[1], right[1])


SQUARES = some(2, 3, 3) + 4 * np.eye(3)
COMPLEX_SQUARES = some(2, 3, 3, dtype=C) + 4 * np.eye(3)

Case: TypeAlias = "tuple[Callable[..., Any], tuple[Array, ...]]"

CASES: dict[str, Case] = {
    "slice with strides": (lambda x: lax.slice(x, (1, 0), (4, 5), (2, 3)), (some(5, 6),)),
    "empty slice": (lambda x: lax.slice(x, (2, 0), (2, 5), (1, 2)), (some(5, 5),)),
    "pad": (lambda x, p: lax.pad(x, p, ((1, 2, 0), (0, 1, 2))), (some(3, 2), some())),
    "pad that cuts": (lambda x, p: lax.pad(x, p, ((-1, 2, 1), (-2, -1, 0))), (some(4, 5), some())),
    "pad that cuts between elements": (lambda x, p: lax.pad(x, p, ((-4, -3, 2),)), (some(6), some())),
    "pad that cuts all": (lambda x, p: lax.pad(x, p, ((-4, 1, 1),)), (some(2), some())),
    "pad of nothing": (lambda x, p: lax.pad(x, p, ((1, 2, 3),)), (some(0), some())),
    "pad of a number": (lambda x, p: lax.pad(x, p, ()), (some(), some())),
    "pad of complex numbers": (lambda x, p: lax.pad(x, p, ((1, -1, 1),)), (some(3, dtype=C), some(dtype=C))),
    "concatenate": (lambda x, y, z: lax.concatenate((x, y, z), 1), (some(2, 3), some(2, 0), some(2, 1))),
    "reshape": (lambda x: lax.reshape(x, (3, 1, 2)), (some(2, 3),)),
    "reverse": (lambda x: lax.rev(x, (0, 2)), (some(2, 1, 3),)),
    "dynamic slice that is moved": (
        lambda x, i, j: lax.dynamic_slice_p.bind(x, i, j, slice_sizes=(2, 3)),
        (some(4, 5), np.array(9), np.array(-3)),
    ),
    "dynamic update that is moved": (
        lax.dynamic_update_slice_p.bind,
        (some(4, 5), some(2, 1), np.array(-9), np.array(7)),
    ),
    "matrix product": (
        lambda x, y: lax.dot_general(x, y, (((3, 1), (0, 1)), ((0,), (3,)))),
        (some(2, 3, 5, 4), some(4, 3, 7, 2)),
    ),
    "matrix product of complex numbers": (
        lambda x, y: lax.dot_general(x, y, (((1,), (1,)), ((), ()))),
        (some(2, 3, dtype=C), some(4, 3, dtype=C)),
    ),
    "matrix product over nothing": (
        lambda x, y: lax.dot_general(x, y, (((1,), (0,)), ((), ()))),
        (some(2, 0), some(0, 3)),
    ),
    "sum": (lambda x: lax.reduce_sum(x, (0, 2)), (some(2, 3, 4),)),
    "maximum with ties": (lambda x: lax.reduce_max(x, (1,)), (tied(4, 5),)),
    "minimum with ties over all": (lambda x: lax.reduce_min(x, (0, 1)), (tied(4, 5),)),
    "product with zeros": (lambda x: lax.reduce_prod(x, (0, 2)), (tied(2, 3, 5),)),
    "product of complex numbers": (lambda x: lax.reduce_prod(x, (1,)), (some(2, 7, dtype=C),)),
    "product of one": (lambda x: lax.reduce_prod(x, (1,)), (some(2, 1),)),
    "gather of repeated, moved rows": (
        lambda x, i: lax.gather(x, i, ROWS, (1, 3), mode=lax.GatherScatterMode.CLIP),
        (some(4, 3), INDICES),
    ),
    "gather of single places": (
        lambda x, i: lax.gather(x, i, PLACES, (1, 1), mode=lax.GatherScatterMode.CLIP),
        (some(3, 3, dtype=C), PAIRS),
    ),
    "gather of batches": (
        lambda x, i: lax.gather(x, i, BATCHED, (1, 1, 3), mode=lax.GatherScatterMode.CLIP),
        (some(2, 4, 3), np.array([[9], [1]], np.int32)),
    ),
    "scatter sums": (scattering(lax.scatter_add), (some(4, 3), INDICES, some(6, 3))),
    "scatter sums of narrow windows": (scattering(lax.scatter_add), (some(4, 3), INDICES, some(6, 2))),
    "scatter complex sums": (
        scattering(lax.scatter_add, to=INTO_PLACES),
        (some(3, 3, dtype=C), PAIRS, some(4, dtype=C)),
    ),
    "scatter sums in batches": (
        scattering(lax.scatter_add, to=INTO_BATCHED),
        (some(2, 4, 3), np.array([[9], [1]], np.int32), some(2, 3)),
    ),
    "scatter over repeated places": (scattering(lax.scatter), (some(4, 3), INDICES, some(6, 3))),
    "scatter over single places": (scattering(lax.scatter, to=INTO_PLACES), (some(3, 3), PAIRS, some(4))),
    "scatter over places of their own": (
        scattering(lax.scatter, unique=True),
        (some(4, 3), np.array([[3], [1], [7]], np.int32), some(3, 3)),
    ),
    "scatter over one place": (scattering(lax.scatter), (some(4, 3), np.array([[2]], np.int32), some(1, 3))),
    "scatter maxima with ties": (scattering(lax.scatter_max), (tied(4, 3), INDICES, tied(6, 3))),
    "scatter minima": (scattering(lax.scatter_min), (some(4, 3), INDICES, some(6, 3))),
    "scatter products": (
        scattering(lax.scatter_mul, unique=True),
        (some(4, 3), np.array([[3], [1], [7]], np.int32), tied(3, 3)),
    ),
    "pooled maxima with ties": (
        pooling(lax.max, -np.inf, (2, 3), (2, 1), ((0, 1), (1, 2))),
        (tied(5, 6),),
    ),
    "pooled minima of dilated images": (
        pooling(lax.min, np.inf, (2, 3), (1, 2), ((1, 1), (0, 1)), (1, 2)),
        (some(5, 6),),
    ),
    "running maxima": (pooling(lax.max, -np.inf, (7,), (1,), ((6, 0),)), (some(7),)),
    "pooled sums": (
        pooling(lax.add, 0.0, (2, 3), (2, 1), ((0, 3), (1, 2)), (2, 1), (1, 2)),
        (some(5, 6),),
    ),
    "pooled sums of what is far out": (pooling(lax.add, 0.0, (2,), (2,), ((5, 3),)), (some(4),)),
    "running sums": (pooling(lax.add, 0.0, (7,), (1,), ((6, 0),)), (some(7, dtype=C),)),
    "running sums from the end": (pooling(lax.add, 0.0, (1, 7), (1, 1), ((0, 0), (0, 6))), (some(2, 7),)),
    "convolution": (
        convolving(window_strides=(2, 1), padding=((1, 2), (0, 1)), lhs_dilation=(1, 2), rhs_dilation=(2, 1)),
        (some(2, 3, 7, 6), some(4, 3, 2, 3)),
    ),
    "convolution of groups of features": (
        convolving(window_strides=(1,), padding=((1, 0),), feature_group_count=3),
        (some(2, 6, 5), some(9, 2, 3)),
    ),
    "convolution of groups of samples": (
        convolving(window_strides=(2,), padding=((1, 1),), batch_group_count=2),
        (some(4, 3, 5), some(6, 3, 2)),
    ),
    "convolution with axes in another order": (
        convolving(window_strides=(1, 2), padding=((1, 1), (0, 0)), dimension_numbers=("NHWC", "HWIO", "NHWC")),
        (some(2, 5, 6, 3), some(3, 2, 3, 4)),
    ),
    "convolution that cuts": (
        convolving(window_strides=(2,), padding=((-1, -1),)),
        (some(1, 2, 8), some(3, 2, 2)),
    ),
    "sort with ties": (lambda x: lax.sort(x, dimension=0), (tied(5, 2),)),
    "sort of several": (
        lambda x, y, z: lax.sort((x, y, z), dimension=1, num_keys=2),
        (tied(2, 6), some(2, 6), tied(2, 6)),
    ),
    "sort of nothing": (lambda x: lax.sort(x, dimension=0), (some(0, 2),)),
    "largest with ties": (lambda x: lax.top_k(x, 3), (tied(2, 6),)),
    "fourier": (transforming(lax.FftType.FFT, (3, 4)), (some(2, 3, 4, dtype=C),)),
    "inverse fourier": (transforming(lax.FftType.IFFT, (5,)), (some(2, 5, dtype=C),)),
    "real fourier of an even length": (transforming(lax.FftType.RFFT, (3, 6)), (some(3, 6),)),
    "real fourier of an odd length": (transforming(lax.FftType.RFFT, (5,)), (some(2, 5),)),
    "real fourier of one": (transforming(lax.FftType.RFFT, (1,)), (some(2, 1),)),
    "inverse real fourier of an even length": (transforming(lax.FftType.IRFFT, (3, 6)), (some(3, 4, dtype=C),)),
    "inverse real fourier of an odd length": (transforming(lax.FftType.IRFFT, (5,)), (some(2, 3, dtype=C),)),
    "inverse real fourier of two": (transforming(lax.FftType.IRFFT, (2,)), (some(2, 2, dtype=C),)),
    "solution from the left": (solving(left_side=True, lower=True), (SQUARES, some(2, 3, 4))),
    "solution from the right, turned": (solving(lower=False, transpose_a=True), (SQUARES, some(2, 4, 3))),
    "solution with ones": (solving(left_side=True, lower=True, unit_diagonal=True), (SQUARES, some(2, 3, 1))),
    "cholesky": (
        lambda x: lax.linalg.cholesky(lax.dot_general(x, x, (((2,), (2,)), ((0,), (0,)))), symmetrize_input=False),
        (SQUARES,),
    ),
}

COMPLEX_CASES: dict[str, Case] = {
    "complex solution": (
        solving(left_side=True, lower=True, transpose_a=True, conjugate_a=True),
        (COMPLEX_SQUARES, some(2, 3, 2, dtype=C)),
    ),
    "complex solution from the right": (
        solving(lower=False, transpose_a=True, conjugate_a=True),
        (COMPLEX_SQUARES, some(2, 2, 3, dtype=C)),
    ),
    "complex cholesky": (
        lambda x: lax.linalg.cholesky(
            lax.dot_general(x, lax.conj(x), (((2,), (2,)), ((0,), (0,)))), symmetrize_input=False
        ),
        (COMPLEX_SQUARES,),
    ),
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", [*CASES, *COMPLEX_CASES])
def test_derivative_is_that_of_jax(name: str) -> None:
    function, arrays = (CASES | COMPLEX_CASES)[name]
    assert_as_jax(function, *arrays)


def derive(function: Callable[..., Any], *arrays: Array, by: tuple[int, ...]) -> Function:
    """Forward mode of what JAX makes of a function."""
    with jax.enable_x64(True):
        main = import_text(jax.jit(function, keep_unused=True).lower(*arrays).as_text()).main
    return tangent_function(main, by)


def test_tangent_of_the_largest_is_that_of_the_place_that_is_given_too() -> None:
    def largest(x: Array) -> Any:
        return lax.reduce((x, lax.broadcasted_iota(np.int32, x.shape, 1)), (-np.inf, np.int32(0)), larger, (1,))

    x, tangent = tied(3, 6), some(3, 6)
    (found,) = results_of(derive(largest, x, by=(0,)), [x, tangent])
    np.testing.assert_array_equal(found, tangent[np.arange(3), x.argmax(1)])


def test_products_scattered_to_repeated_places_have_no_derivative() -> None:
    function, arrays = scattering(lax.scatter_mul), (some(4, 3), INDICES, some(6, 3))
    assert derive(function, *arrays, by=(0,))
    with pytest.raises(NoDerivative, match="meet at one place are combined"):
        derive(function, *arrays, by=(2,))


def test_beginnings_of_folds_have_no_derivative() -> None:
    function = lambda x, start: lax.reduce(x, start, lambda left, right: left + right, (0,))  # noqa: E731
    assert derive(function, some(4), some(), by=(0,))
    with pytest.raises(NoDerivative, match="reduce has no"):
        derive(function, some(4), some(), by=(0, 1))


def test_folds_that_are_no_combiner_have_no_derivative() -> None:
    function = lambda x: lax.reduce(x, 0.0, lambda left, right: left + right * right, (0,))  # noqa: E731
    with pytest.raises(NoDerivative, match="reduce has no"):
        derive(function, some(4), by=(0,))
