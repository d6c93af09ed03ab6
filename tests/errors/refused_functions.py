"""Functions of which `wl.jit(whole=True)` says why each is no program: one for each kind of reason."""

# pyright: basic
# ruff: noqa
from __future__ import annotations

import time

import numpy as np

TABLE = np.zeros(3)
SEEN = []
COUNT = 0
GENERATOR = np.random.default_rng(0)


class Box:
    def __init__(self, value):
        self.value = value


def size_of_data(x):
    return np.zeros(int(x[0]))


def reshaped_part(x):
    return x[x > 0].reshape(-1, 1)


def printed(x):
    print(x.sum())
    return x


def noted(x):
    SEEN.append(x.sum())
    return x


def counted_outside(x):
    global COUNT
    COUNT += 1
    return x


def wrote_a_table(x):
    TABLE[0] = x[0]
    return x


def drew(x):
    return x + np.random.rand(3)


def drew_of_a_generator(x):
    return x + GENERATOR.normal(size=3)


def timed(x):
    return x * time.time()


def two_shapes(x):
    if x[0] > 0:
        y = x
    else:
        y = x[:2]
    return y


def number_or_array(x):
    y = 0.0
    if x[0] > 0:
        y = x * 2
    return y


def truth_or_number(x):
    k = True
    if x[0] > 0:
        k = 2
    return k


def none_or_array(x):
    y = None
    if x[0] > 0:
        y = x * 2
    return y


def returns_two(x):
    if x[0] > 0:
        return x
    return x, x


def returns_two_shapes(x):
    for v in x:
        if v > 0:
            return x
    return x[:2]


def grows(x):
    for _ in range(int(x[0])):
        x = np.concatenate((x, x))
    return x


def appended_in_a_branch(x):
    items = []
    if x[0] > 0:
        items.append(x)
    return len(items)


def appended_in_a_loop(x):
    items = []
    for v in x:
        if v > 0:
            items.append(v)
    return len(items)


def key_in_a_branch(x):
    table = {"u": 1.0}
    if x[0] > 0:
        table["v"] = 2.0
    return table


def attribute_in_a_branch(x):
    box = Box(x)
    if x[0] > 0:
        box.value = None
    return box.value


def argument_list(x, items):
    items.append(1)
    return x


def tried(x):
    for v in x:
        try:
            if v > 2:
                raise ValueError("big")
        except ValueError:
            return v
    return x[0]


def caught(x):
    s = 0.0
    if x[0] > 0:
        try:
            s = 1.0
        finally:
            s = 2.0
    return s


def raised_with_more(x):
    if x[0] > 2:
        x[0] = 1
        raise ValueError("big")
    return x


def text_of_data(x):
    return f"{x[0]:.2f}"


def list_element(x):
    return [1.0, 2.0, 3.0][int(x[0])]


def key_of_data(x):
    return {1: x}[int(x[0])]


def one_of_two_arrays(x, y):
    a = x if x[0] > 0 else y
    a[0] = 9.0
    return x


def texts(x):
    return np.array(["a", "b"])[int(x[0] > 0)]


def dates(x):
    return np.datetime64("2020-01-01") + int(x[0])


def resized(x):
    x.resize(2)
    return x


def address(x):
    return x.ctypes.data


def vectorized(x):
    return np.vectorize(lambda v: v + 1)(x)


def set_of_data(x):
    return len({v for v in x})


def sorted_list(x):
    return sorted(x)


def written_view(x):
    np.broadcast_to(x, (2, 3))[0] = 1
    return x


def saved(x):
    np.save("x.npy", x)
    return x


def bytes_of(x):
    return x.tobytes()


def nonlocal_in_a_branch(x):
    s = 0.0

    def add():
        nonlocal s
        s = s + 1.0

    if x[0] > 0:
        add()
    return s


def deleted_in_a_branch(x):
    s = 1.0
    if x[0] > 0:
        del s
    return s


def bincounted(x):
    return np.bincount(x.astype(int))


def is_one(x, y):
    a = x if x[0] > 0 else y
    return a is x


def split_by_data(x):
    return np.split(x, [int(x[0])])


def zipped(x):
    return dict(zip(x, x))


def int64s(x):
    return 2**70 * int(x[0])


def complex_order(x):
    return np.sort(x.astype(object))
