"""Arrays that behave as NumPy's do: views, writes in place, result types."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windlass as wl
from tests.frontends.arrays.running import assert_as_numpy, whole

X = np.arange(24, dtype=np.float32).reshape(4, 6)
I = np.arange(6, dtype=np.int32)  # noqa: E741
U8 = np.arange(250, 256, dtype=np.uint8)


def writes_through_views(a: Any) -> Any:
    a[1:-1] += 1
    a.T[2] = 5
    b = a[::2]
    b *= 2
    a.ravel()[3] = 7
    a[:, ::-1][0] = [1, 2, 3, 4, 5, 6]
    a.reshape(2, 12)[1, :] = 1
    a.swapaxes(0, 1)[0] -= 2
    a[..., 0] = a[..., 1]
    a[None, 1] = 9
    np.transpose(a)[1:3] *= 3
    return a.sum(0)


def copies_are_no_views(a: Any) -> Any:
    a.reshape(-1, order="F")[0] = 100
    a.T.ravel()[0] = 100
    a.copy()[...] = 0
    a.flatten()[:] = 0
    a[[0, 1]][...] = 0
    a.astype(np.float32)[...] = 0
    return a


def writes_at_traced_places(a: Any, i: Any) -> Any:
    a[i[2]] = 3
    a[:, i[1]] -= 1
    a[i[0], i[1]] = 8
    a[-i[1]] = 6
    row = a[i[3]]
    row[1:3] = 5
    return a[i[2], 1:4], a[i[1]][i[2]]


def advanced_indices(a: Any, i: Any) -> Any:
    a[1, i] = a[0, i] * 2
    np.add.at(a, (0, i * 0), 1)
    a[a > 5] = 0
    a[[0, 2]] = a[[2, 0]]
    a[a[:, 0] > 1] = 4
    return a[:, [1, 3]], a[i[:2]]


def outputs(a: Any) -> Any:
    np.add(a, 1, out=a)
    np.multiply(a[0], 2, out=a[1])
    np.sum(a, axis=0, out=a[2])
    np.copyto(a[3], 7)
    np.sqrt(a, out=a, where=a > 10)
    a.fill(a[0, 0])
    return a


def result_types(a: Any, i: Any) -> Any:
    return (
        i.mean(), i.sum(), i / 2, i**2 + True, a * i, a * 2.5, np.float64(1) + a, i + np.int8(3), a > 1, ~i, i % 4,
        np.concatenate([a[0], i]), np.where(a > 2, a, 1), np.dot(a, a.T), a @ a.T, np.cumsum(i), np.prod(i), i.std(),
        np.sqrt(i), np.arctan2(a[0], i), np.full_like(i, 3.7), np.zeros_like(a), np.linalg.norm(a), np.maximum(a, 3),
        np.stack([i, a[0]]), np.floor_divide(i, 2), a.argmax(), a.max(axis=1, keepdims=True), np.clip(i, 1, 3), abs(-a),
        np.add.reduce(a, axis=1), np.multiply.outer(a[0], i), np.einsum("ij,kj->ik", a, a), np.median(i),
        np.round(a, 1), np.linspace(0.0, 1.0, 5) * a[0, 1],
        divmod(i, 4), np.moveaxis(a[None], 0, -1), np.expand_dims(a, 1),
    )  # fmt: skip


def wraps_around(u: Any) -> Any:
    u += 10
    return u * u, u - 255, u + 1, -u, u.sum(), u.mean()


def shapes(a: Any) -> Any:
    assert (a.shape, a.ndim, a.size, a.dtype, len(a)) == ((4, 6), 2, 24, np.float32, 4)
    assert a.nbytes == 96 and a.T.strides == (4, 24)
    assert np.shape(a) == (4, 6) and np.ndim(a) == 2
    return [row.sum() for row in a], np.flip(a, 0), a.squeeze(), a.item if False else a[0, 0]


def complex_parts(z: Any) -> Any:
    z.real[1:] = 5
    z.imag += 1
    return np.abs(z), z.conj(), z * 2


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (writes_through_views, (X,)),
        (copies_are_no_views, (X,)),
        (writes_at_traced_places, (X, I)),
        (advanced_indices, (X, I)),
        (outputs, (X,)),
        (result_types, (X, I)),
        (wraps_around, (U8,)),
        (shapes, (X,)),
        (complex_parts, (np.arange(4) + 1j,)),
    ],
)
def test_behaves_as_numpy(function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    assert_as_numpy(function, *arguments)


indices = st.one_of(
    st.integers(-3, 2),
    st.builds(slice, *[st.one_of(st.none(), st.integers(-4, 4))] * 2, st.sampled_from([None, 1, 2, -1, -2])),
    st.just(Ellipsis),
    st.none(),
)


@settings(max_examples=25, deadline=None)
@given(st.lists(indices, min_size=1, max_size=3).filter(lambda each: each.count(Ellipsis) <= 1), st.booleans())
def test_any_view_of_a_view_is_read_and_written_as_in_numpy(entries: list[Any], is_transposed: bool) -> None:
    base = np.arange(3 * 3 * 3, dtype=np.float32).reshape(3, 3, 3)
    index = tuple(entries)

    def write(a: Any) -> Any:
        view = (a.T if is_transposed else a)[index]
        result = view * 1
        if np.ndim(view):
            view[...] = -view
            view[..., :1] += 100
        return result

    plain = base.copy()
    try:
        wanted = write(plain)
    except IndexError:
        return
    with jax.disable_jit():
        array = wl.Array(base)
        found = write(array)
    np.testing.assert_array_equal(np.asarray(array), plain)
    np.testing.assert_array_equal(np.asarray(found), wanted)


def test_jax_functions_take_arrays() -> None:
    def function(a: Any) -> Any:
        a[0] = 1
        return jnp.tanh(a).sum(), jax.nn.relu(a.value), jnp.dot(a, a.T)

    total, rectified, product = whole(function)(X.copy())
    y = X.copy()
    y[0] = 1
    np.testing.assert_allclose(total, np.tanh(y).sum(), rtol=1e-6)
    np.testing.assert_allclose(rectified, y)
    np.testing.assert_allclose(product, y @ y.T)


def test_values_can_not_be_asked_for_while_compiling() -> None:
    def function(a: Any) -> Any:
        return math.frexp(a[0])

    with pytest.raises(wl.WindlassError, match=r"WL0904.*its value as a Python float is not known"):
        whole(function)(I.copy())


def test_slice_bounds_are_known_or_computed() -> None:
    assert whole(lambda a, n: a[: n[0]])(I.copy(), np.array([3])).tolist() == [0, 1, 2]
    assert whole(lambda a, n: a[:n] * 1)(I.copy(), 3).tolist() == [0, 1, 2]
    assert whole(static="n")(lambda a, n: a[:n] * 1)(I.copy(), 3).tolist() == [0, 1, 2]


def test_writing_into_outside_arrays_is_refused() -> None:
    outside = np.zeros(6)
    with pytest.raises(wl.WindlassError, match=r"WL0907.*out= is an array from outside"):
        whole(lambda a: np.add(a, 1, out=outside))(I.copy())


def test_index_errors_are_pythons() -> None:
    with pytest.raises(IndexError, match="index 9 is out of bounds for axis 0 with size 6"):
        whole(lambda a: a[9])(I.copy())
    with pytest.raises(IndexError, match="too many indices"):
        whole(lambda a: a[0, 0])(I.copy())


def test_casting_rules_are_numpys() -> None:
    def function(i: Any) -> None:
        i += 0.5

    with pytest.raises(TypeError, match="Cannot cast ufunc output"):
        whole(function)(I.copy())


def test_the_least_and_the_greatest_of_numbers_are_numbers():
    @wl.jit(whole=True)
    def ends(x: Any) -> Any:
        least = greatest = x[0]
        for i in range(x.size):
            least, greatest = min(least, x[i]), max(greatest, x[i])
        return least, greatest, min(x[0], 2.0)

    found = ends(np.arange(20.0))
    assert found == (0.0, 19.0, 0.0) and all(isinstance(each, np.float64) for each in found)
