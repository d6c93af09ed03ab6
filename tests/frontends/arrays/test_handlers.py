"""Handlers of the user's code see what Python would have raised, and never that something can't be compiled."""

# pyright: basic
from __future__ import annotations

import numpy as np
import pytest

import windlass as wl

X = np.array([1.0, 2.0, 3.0])


class Swallowing:
    def __init__(self, *kinds):
        self.kinds = kinds

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        return kind is not None and issubclass(kind, self.kinds)


def text_for_bins(x):
    try:
        return np.histogram(x, bins="auto")[0].sum()
    except TypeError:
        return -1


def objects(x):
    try:
        return x.astype(object).sum()
    except TypeError:
        return -1.0


def made_of_objects(x):
    try:
        return len(np.array([x, None], dtype=object))
    except Exception:
        return -1


def key(x):
    try:
        return {1.0: 5, 3.0: 7}[x[0]]
    except TypeError:
        return -1


def shapes(x):
    try:
        y = x + np.ones(4)
    except TypeError:
        y = x
    except ValueError:
        y = x * 2
    return y


def method_of_python(x):
    try:
        return float.hex(x[0])
    except TypeError:
        return ""


def large(x):
    try:
        return 2**70 * int(x[0])
    except OverflowError:
        return -1


def swallowed_size(x):
    y = x * 1
    with Swallowing(Exception):
        y = np.unique(x)[:1]
    return y + 0


def swallowed_objects(x):
    y = x * 1
    with Swallowing(TypeError):
        y = x.astype(object).sum()
    return y + 0


def swallowed_index(x):
    y = x * 1
    with Swallowing(IndexError) as outer, Swallowing(KeyError):
        y[7] = 1
        y = y + 1
    return y, outer.kinds == (IndexError,)


FUNCTIONS = [
    text_for_bins, objects, made_of_objects, key, shapes, method_of_python, large,
    swallowed_size, swallowed_objects, swallowed_index,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=[each.__name__ for each in FUNCTIONS])
def test_handlers_see_what_python_raises(function):
    found, wanted = wl.jit(function)(X.copy()), function(X.copy())
    assert repr(found) == repr(wanted)


@pytest.mark.parametrize(
    "write",
    [
        lambda y, z: np.sum(y, out=z), lambda y, z: np.cumsum(y[:1], out=z),
        lambda y, z: np.max(y, 0, z), lambda y, z: np.dot(y, y, out=z),
        lambda y, z: np.add.reduce(y, 0, None, z), lambda y, z: np.take(y, [0], out=z),
        lambda y, z: y[:1].round(0, z), lambda y, z: np.add.accumulate(y[:1], out=z),
        lambda y, z: np.compress([True], y, out=z),
    ],
)  # fmt: skip
def test_out_has_the_shape_of_what_is_written(write):
    z = np.zeros(3)
    with pytest.raises(ValueError):
        wl.jit(write)(X, z)
    assert not z.any()


def test_elementwise_functions_repeat_what_they_write_to_out():
    found, wanted = np.zeros(3), np.zeros(3)
    wl.jit(whole=True)(lambda y, z: np.clip(np.add(y, 1, out=z)[:1], 0, 9, out=z))(X[:1], found)
    np.clip(np.add(X[:1], 1, out=wanted)[:1], 0, 9, out=wanted)
    assert found.tolist() == wanted.tolist()
