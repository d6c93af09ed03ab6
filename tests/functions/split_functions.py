"""Functions that can't be one program, with arguments: each does something that only Python can."""

# pyright: basic
# ruff: noqa: PLW0603
from __future__ import annotations

import bisect
import collections
import copy
import dataclasses
import io
import json
import logging
import math
import string
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

Case = tuple[Callable[..., Any], tuple[Any, ...]]
CASES: list[Case] = []


def case(*arguments: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def note(function: Callable[..., Any]) -> Callable[..., Any]:
        CASES.append((function, arguments))
        return function

    return note


X = np.array([3.0, 1.0, 2.0, 1.0, 7.0, -2.0])
N = np.array([3, 1, 4, 1, 5, 9])
GRID = np.arange(12.0).reshape(3, 4) % 5

# -- shapes that data decide ------------------------------------------------------------------------------------------


@case(X)
def unique_between(x):
    y = x * 2 + 1
    u = np.unique(y)
    z = u * 3 + y.sum()
    z[0] = 5.0
    return z - 1


@case(X)
def unique_in_a_loop(x):
    total = 0.0
    for i in range(4):
        x = np.sin(x) + i
        total += np.unique(np.round(x, 1)).size * x.sum()
    return total, x


@case(X)
def counts_of_values(x):
    values, counts = np.unique(np.round(x), return_counts=True)
    weights = counts / counts.sum()
    return values, (values * weights).sum()


@case(X)
def reshaped_selection(x):
    y = x * 2
    z = y[y > 3]
    return z.reshape(-1, 1) * np.ones(3), z.shape


@case(GRID)
def rows_that_are_kept(g):
    h = g * 2 - 1
    kept = h[h.sum(axis=1) > 6]
    return kept @ kept.T, kept.shape[0]


@case(X)
def places_of_peaks(x):
    up = np.diff(x) > 0
    places = np.flatnonzero(up[:-1] & ~up[1:]) + 1
    out = np.zeros(x.size)
    out[places] = x[places] ** 2
    return out, places


@case(GRID)
def pairs_of_places(g):
    h = np.cos(g)
    places = np.argwhere(h > 0)
    return places, h[places[:, 0], places[:, 1]].mean()


@case(X)
def compressed(x):
    y = np.compress(x > 0, x) * 2
    return y - y.mean(), np.extract(x < 2, x)


@case(X, np.array([1.0, 3.0, 8.0]))
def sets(x, y):
    x = x * 1.0
    both = np.intersect1d(x, y)
    rest = np.setdiff1d(x, y)
    return both.sum() + 1, np.union1d(rest, y) * 2


@case(N)
def histogram_by_bincount(n):
    m = n * 2 % 7
    counts = np.bincount(m)
    return counts / counts.sum(), np.arange(counts.size) @ counts


@case(X)
def number_of_rounds_by_data(x):
    k = int(np.abs(x).max())
    out = np.zeros((k, x.size))
    for i in range(k):
        out[i] = x * i
    return out.sum(axis=1)


@case(X)
def ends_cut_off(x):
    y = np.where(x > 1, x, 0.0)
    return np.trim_zeros(np.concatenate([np.zeros(2), y, np.zeros(2)])) + 1


@case(np.array([2.0, -3.0, 1.0]))
def roots_of_a_polynomial(p):
    found = np.roots(p * 2)
    return np.sort(found.real) + 1, found.size


@case(X)
def slices_by_data(x):
    k = int(x.argmax())
    left, right = x[:k], x[k:]
    left *= 2
    return left.sum(), right.sum(), x


@case(X)
def repeated_by_data(x):
    times = np.clip(x, 0, 3).astype(int)
    return np.repeat(x * 2, times) - 1


@case(X)
def split_where_it_falls(x):
    y = x + 0.5
    parts = np.split(y, np.flatnonzero(np.diff(y) < 0) + 1)
    return [part.sum() * 2 for part in parts], y


# -- Python's own things ----------------------------------------------------------------------------------------------


@case([], X)
def appends_to_what_it_is_given(items, x):
    y = np.sin(x) * 2
    items.append(y.sum())
    return y + len(items)


@case(collections.OrderedDict(), X)
def fills_a_table(table, x):
    y = x * 2
    table["n"] = y.size
    table["y"] = y
    y += 1
    return table["y"].sum()


@case(X)
def prints(x):
    y = np.cos(x) + x
    print("sum", float(np.round(y.sum(), 6)))
    return y * 2


@case(X)
def writes_a_file(x):
    file = io.StringIO()
    y = x * 2
    np.savetxt(file, y)
    z = y + 1
    file.write(f"{z.sum():.3f}")
    return z, file.getvalue()


@case(X)
def logs(x):
    y = x * 3
    logging.getLogger("splits").debug("y %s", y)
    return y - 1


@case(X)
def sorts_in_python(x):
    y = x * 2
    return np.array(sorted(y, key=lambda each: -each)) + 1


@case(X)
def texts(x):
    y = np.sqrt(np.abs(x))
    return ",".join(f"{each:.2f}" for each in y), y.sum() * 2


@case(np.array(["a", "b"]), X)
def strings(names, x):
    y = np.sin(x) * 2
    return np.char.upper(names), y + 1


@case(np.array([1, "b", None], dtype=object), X)
def objects(things, x):
    y = x * 2 - 1
    return [type(each).__name__ for each in things], y.sum()


@case(np.array(["2024-01-01", "2024-03-01"], dtype="datetime64[D]"), X)
def days(dates, x):
    y = x * 2
    return (dates[1] - dates[0]).astype(int) * y, dates + 1


@case(X)
def large_integers(x):
    y = x * 2
    big = 2**80 + int(y[0])
    return big, y.sum() + float(big % 7)


@case(X)
def fractions(x):
    y = np.round(x * 2)
    total = sum(Fraction(int(each), 3) for each in y)
    return total, y + float(total)


@case(X)
def as_json(x):
    y = x * 2
    return json.dumps({"y": y.tolist(), "n": len(y)}), y + 1


@case(X)
def binary_search(x):
    y = np.sort(x * 2)
    place = bisect.bisect_left(y.tolist(), 4.0)
    return place, y * place


@case(X)
def counted(x):
    y = np.round(x * 2)
    most = collections.Counter(y.tolist()).most_common(1)[0]
    return most, y - most[0]


@case(X)
def in_a_set(x):
    y = np.round(x)
    seen = set()
    out = np.zeros_like(y)
    for i, each in enumerate(y):
        out[i] = each in seen
        seen.add(float(each))
    return out * 2, len(seen)


@case(X)
def translated(x):
    y = np.abs(x).astype(int)
    return "".join(string.ascii_letters[each] for each in y), y.sum() * 2


# -- objects, closures, globals ---------------------------------------------------------------------------------------


@dataclasses.dataclass
class State:
    position: Any
    count: int = 0

    def step(self, x):
        self.count += 1
        self.position = self.position + np.sin(x)
        return self.position


class Pair(NamedTuple):
    first: Any
    second: Any


@case(State(X * 1.0), X)
def changes_an_object(state, x):
    y = x * 2
    state.count += 1
    state.position[:] = np.cos(state.position) + y
    return y.sum() + state.count


@case(State(X * 1.0), X)
def calls_a_method_that_changes(state, x):
    y = x * 2
    z = state.step(y)
    return z * 2 + y


@case(Pair(X, X * 2), X)
def of_a_named_tuple(pair, x):
    y = pair.first + pair.second * x
    u = np.unique(y)
    return Pair(u * 2, y)


COUNT = 0
SEEN: list[float] = []


@case(X)
def counts_its_calls(x):
    global COUNT
    y = x * 2
    COUNT += 1
    return y + 1


@case(X)
def notes_in_a_global(x):
    y = x * 2
    SEEN.append(float(y[0]))
    return y + 1


@case(X)
def with_a_closure(x):
    k = 3

    def scaled(a):
        return a * k

    y = scaled(x) + 1
    k = 4
    u = np.unique(scaled(y))
    return u + 1, scaled(u)


def smallest_gap(a):
    return np.diff(np.unique(a)).min()


@case(X)
def calls_what_splits(x):
    y = np.sin(x) + 1
    gap = smallest_gap(y)
    return y / gap, gap


@case({"w": X * 0.1, "b": 2.0}, X)
def with_parameters(p, x):
    h = np.tanh(x * p["w"] + p["b"])
    levels = np.unique(np.round(h, 2))
    p["n"] = levels.size
    return {"h": h * 2, "levels": levels * 2}


@case(np.random.default_rng(3), X)
def draws(generator, x):
    y = x * 2
    z = y + generator.normal(size=x.shape)
    return np.sin(z) + 1


@case(X)
def draws_within(x):
    generator = np.random.default_rng(7)
    for _ in range(3):
        x = x + generator.integers(0, 5, x.size)
        x = x * 0.5 - 1
    return x


@case(X)
def by_a_vectorized_function(x):
    pick = np.vectorize(lambda a: a + 1 if a > 2 else a - 1)
    y = x * 3
    return pick(y) * 2


@case(GRID)
def along_an_axis(g):
    h = g + 0.5
    return np.apply_along_axis(lambda row: sorted(row)[1], 1, h) * 2


# -- ways through -----------------------------------------------------------------------------------------------------


@case(X)
def leaves_a_loop(x):
    out = []
    for i in range(6):
        x = np.sin(x) + i
        u = np.unique(np.round(x))
        if u.size > 3:
            continue
        if u[0] > 3.5:
            break
        out.append(u * 2 + x[0])
    else:
        out.append(x)
    return out


@case(X)
def returns_from_a_loop(x):
    for i in range(10):
        x = x * 1.5 + 1
        k = np.flatnonzero(x > 20)
        if k.size > 2:
            return i, k, x
    return -1, None, x


@case(X)
def until_settled(x):
    n = 0
    while np.unique(np.round(x, 1)).size > 1:
        x = x * 0.5
        x = x + 0.001 * np.sin(x)
        n += 1
    return n, x


@case(X)
def binds_in_a_test(x):
    if (u := np.unique(x)).size > 3:
        x = x * 2
        x = x - u[0]
    else:
        x = x * 3
    return x, u


@case(X)
def handles_an_error(x):
    y = x * 2
    try:
        z = np.unique(y)
        z[10] = 1
    except IndexError:
        z = y - 1
    finally:
        y += 1
    return z, y


@case(X)
def raises_after_writing(x):
    x[0] = 9
    x *= 2
    if np.unique(x).size > 2:
        raise ValueError("too many")
    return x


@case(X)
def fails_in_numpy(x):
    x += 1
    y = np.unique(x)
    return y + np.ones(9)


@case(X, 77)
def reaches_outside(x, i):
    x[0] = 5
    u = np.unique(x)
    x[1] = x[i] * 2
    return x, u


@case(X)
def asserts(x):
    y = x * 2
    assert y.sum() > 0
    y[0] = 100.0
    u = np.unique(y)
    assert u[-1] < 50, "too large"
    return u


@case(X)
def reads_what_is_unbound(x):
    for each in np.unique(x):
        if each > 100:
            found = each
    y = x * 2
    return y + found


@case(X)
def returns_in_several_ways(x):
    y = x * 2
    if y[0] > 3:
        return y, "large"
    return "small"


@case(X)
def within_a_context(x):
    with np.errstate(divide="ignore"):
        y = 1 / (x - 1)
        u = np.unique(y)
        z = u[:2] * 2
    return z + 1


@case(X)
def chooses_by_match(x):
    y = x * 2
    match np.unique(y).tolist():
        case [first, *_, last] if last > first:
            return y * first
        case _:
            return y


@case([X * 1.0, X[:2] * 1.0, X[:4] * 2.0])
def over_a_list_of_many_shapes(parts):
    out = []
    for part in parts:
        y = np.sin(part) * 2
        y -= y.mean()
        out.append(np.unique(y).size + y.sum())
    return out


# -- names of one array -----------------------------------------------------------------------------------------------


@case(X)
def writes_through_views(x):
    v = x[1:4]
    w = v[::-1]
    v *= 2
    u = np.unique(v)
    w += u[0]
    t = x.reshape(6, 1)
    t[0] = 100
    return v, w, t, x, v.T


@case(GRID)
def writes_through_columns(g):
    column, row = g[:, 1], g[1]
    column *= 2
    seen = np.unique(g)
    row += column.sum()
    g.T[0] = seen[0]
    return g, column, row


@case(X)
def one_array_or_another(x):
    y = x * 1.0
    z = y
    for _ in range(int(x[1])):
        y = y * 2
    y[0] = 9.0
    return z, y


@case([X * 1.0, X * 2.0])
def elements_of_a_list(arrays):
    a, b = arrays
    a += b
    arrays.append(a)
    u = np.unique(a)
    arrays[0] = u * 2
    a[0] = -1.0
    return arrays, a


@case(X)
def copies_and_names(x):
    y = z = x * 2
    c = copy.copy(y)
    u = np.unique(y)
    y[0] = u[-1]
    return y, z, c, y is z


@case(X)
def kinds_of_numbers(x):
    n = len(np.unique(x)) + 1
    half, large = n / 2, x.sum() > 3
    return n, half, large, float(x[0]), bool(x[0] > 1), round(float(x[0]) * 1.5), math.floor(half)
