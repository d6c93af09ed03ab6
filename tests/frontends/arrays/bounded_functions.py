"""What NumPy code does with arrays of as many elements as data decide; `x` is a vector, `m` a mask of it."""

# pyright: basic

from __future__ import annotations

import numpy as np


def returns_it(x, m):
    return x[m]


def computes_before_it_returns_it(x, m):
    return x[m] * 2 + 1, -x[m], x[m] == x[m]


def counts(x, m):
    p = x[m]
    return p.size, p.shape[0] * 2, np.size(p) + len(p), m.sum() == len(p)


def sums(x, m):
    return x[m].sum(), x[m].mean(), x[m].prod(), np.sum(x[m] * x[m])


def asks_for_places(x, m):
    return x[m][0], x[m][-1]


def slices(x, m):
    p = x[m]
    return p[1:], p[:-1], p[::-1], p[::2], p[-2:], p[len(p) // 2 :]


def nonzeros(x, m):
    return np.nonzero(m)[0], np.where(m)[0], np.flatnonzero(x), m.nonzero()[0], np.nonzero(x[m])[0]


def writes_at_places(x, m):
    i = np.nonzero(m)[0]
    x[i] *= 2
    x[i] += x[i[::-1]]
    return i


def adds_at_places(x, m):
    i = np.flatnonzero(m)
    np.add.at(x, i // 2, x[i])


def compresses(x, m):
    return np.compress(m, x), np.extract(m, x), np.delete(x, m), np.delete(x, np.flatnonzero(m)), np.compress(m[:3], x)


def goes_over_places(x, m):
    total = x[:1].sum() * 0 + np.zeros(1)[0]
    for i in np.nonzero(m)[0]:
        total = total + i * x[i]
    return total


def goes_over_elements(x, m):
    s = x[:1].sum() * 0
    for v in x[m]:
        s = s + v * v
    return s


def goes_over_both(x, m):
    s = 0
    for k, i in enumerate(np.flatnonzero(m)):
        x[i] = k
        s += k * i
    return s


def concatenates(x, m):
    return np.concatenate([x[m], x[~m]]), np.concatenate([x, x[m], x[:2]]), np.hstack([x[m], x[m]]), np.append(x[m], x)


def stacks(x, m):
    return np.stack([x[m], x[m] + x[m]]), np.vstack([x[m], x[m]]), np.column_stack([x[m], x[m]])


def runs(x, m):
    return np.cumsum(x[m]), np.cumprod(x[m]), np.diff(x[m])


def multiplies(x, m):
    return x[m] @ x[m], np.dot(x[m], x[m]), np.outer(x[m], x[m]), x[m][:, None] * x[None, :]


def masks_again(x, m):
    p = x[m]
    return p[p != p[:1].sum()], p[np.arange(len(p)) % 2 == 0], p[p == x[m]]


def writes_to_it(x, m):
    p = x[m]
    p[...] = p + 1
    p[p == 2] = 7
    p[np.arange(len(p))] += 1
    return p


def writes_to_a_part(x, m):
    p = x[m].copy()
    p[1:] = 3
    p[:1] += 1
    return p


def writes_to_one(x, m):
    p = x[m]
    p[0] = 3
    p[-1] = 4
    return p


def writes_what_is_computed(x, m):
    y = np.zeros_like(x)
    y[m] = x[m][::-1]
    y[~m] = np.cumsum(x[~m])
    return y


def writes_other_elements(x, m):
    x[m] = x[~m]


def adds_other_elements(x, m):
    return x[m] + x[~m]


def stands_beside_known_ones(x, m):
    return x[m] + x[:4]


def makes_arrays(x, m):
    n = len(x[m])
    z = np.zeros(n)
    z[:] = np.arange(n)
    return z, np.ones(n, int), np.full((2, n), 3.0), np.zeros_like(x[m])


def takes(x, m):
    i = np.flatnonzero(m)
    return x.take(i), np.take(x, i), x[i], x[i][i * 0], i[i > 2]


def is_equal(x, m):
    return np.array_equal(x[m], x[m]), np.array_equal(x[m], x[~m]), np.isin(x, x[m]), np.isin(x[m], x[~m])


def branches(x, m):
    p = x[m]
    if len(p) > 2:
        y = p.sum()
    else:
        y = x.sum()
    return y


def transposes(x, m):
    a = np.stack([x, x * 2, x + 1])
    return a[:, m], a[:, m].T, a[:, m].sum(axis=1), a.T[m], a.T[m].sum(axis=0), a.T[m][:, 1], a.T[m].ravel()


def two_axes(x, m):
    a = np.outer(x, x)
    b = np.outer(m, m)
    i, j = np.nonzero(b)
    a[i, j] = 1
    return a[b], i, j, a[i, j], np.argwhere(b), a, i * 10 + j


def chooses(x, m):
    return np.where(x[m] == 1, x[m], 0), np.where(m, x, 0)[m]


EVERYWHERE = [each for each in list(globals().values()) if callable(each)]
"""For elements of any dtype."""


def extremes(x, m):
    return x[m].max(), np.min(x[m])


def places_of_extremes(x, m):
    return x[m].argmax(), np.argmin(x[m])


def deviates(x, m):
    return x[m].std(), np.var(x[m]), np.ptp(x[m])


def tests(x, m):
    return x[m].any(), np.all(x[m]), (x[m] > 0).any(), np.count_nonzero(x[m])


def sorts(x, m):
    p = x[m]
    p.sort()
    return np.sort(x[m]), np.argsort(x[m], kind="stable"), p, np.sort(x[m])[::-1]


def finds_medians(x, m):
    return np.median(x[m]), np.percentile(x[m], 30), np.quantile(x[m], np.array([0.1, 0.5]))


def finds_different_ones(x, m):
    return np.unique(x), np.unique(x[m]), np.unique(x[m]).size


def finds_different_ones_and_places(x, m):
    u, first, back, count = np.unique(x[m], return_index=True, return_inverse=True, return_counts=True)
    return u, first, back, count, u[back], np.unique(x, return_counts=True), np.unique(x, return_inverse=True)


def finds_common_ones(x, m):
    return np.intersect1d(x, x[m]), np.union1d(x[m], x[~m]), np.setdiff1d(x, x[m])


def finds_places(x, m):
    return np.searchsorted(np.sort(x), x[m]), np.digitize(x[m], np.array([0, 1, 2]))


OF_ORDERED = [each for each in list(globals().values()) if callable(each) and each not in EVERYWHERE]
"""For elements that have an order."""


def takes_roots(x, m):
    return np.sqrt(x[x > 0]), np.log(x[x > 0]).sum(), 1 / x[x != 0], np.floor(x[np.isfinite(x)]).astype(int)


def interpolates(x, m):
    return np.interp(x[m], np.array([0.0, 1, 5]), np.array([0.0, 2, 3])), np.clip(x[m], 0, 1), np.round(x[m], 1)


def norms(x, m):
    return np.linalg.norm(x[m]), np.average(x[m], weights=np.abs(x[m])), np.isnan(x[m]).sum(), np.isfinite(x[m])


OF_FLOATS = [each for each in list(globals().values()) if callable(each) and each not in (*EVERYWHERE, *OF_ORDERED)]
"""For floats."""


def shrinks(x, m):
    p = x[m]
    while len(p) > 1:
        p = p[1:]
    return p


def shrinks_from_a_known_length(x, m):
    p = x.copy()
    s = 0.0
    for i in range(20):
        p = p[p > 0.1 * i]
        s += p.sum()
    return p, s


def diverges(x, m):
    z = x.copy()
    c = x * 0.5
    n = np.zeros(x.size, int)
    k = np.arange(x.size)
    for i in range(20):
        if not len(z):
            break
        z *= z
        z += c
        far = np.abs(z) > 2
        n[k[far]] = i + 1
        far = ~far
        z, c, k = z[far], c[far], k[far]
    return n, z, k


def is_one_of_two(x, m):
    if x.sum() > 0:
        p = x[m]
    else:
        p = np.sort(x[~m])
    if p.sum() > 1:
        p = p[1:]
    return p, p.sum()


def empties_a_list_of_places(x, m):
    todo = np.flatnonzero(m)
    n = 0
    while todo.size:
        n += todo.sum()
        todo = todo[1:]
    return n


def halves_until_all_are_small(x, m):
    while True:
        k = np.flatnonzero(x > 2)
        if len(k) == 0:
            break
        x[k] /= 2


OF_LOOPS = [shrinks, shrinks_from_a_known_length, diverges, is_one_of_two, empties_a_list_of_places,
            halves_until_all_are_small]  # fmt: skip
"""That go round, or meet where ways do."""


def may_be_the_callers(x, m):
    if x.sum() > 0:
        x = x[m]
    x += 1
    return x


def may_be_another(x, m):
    q = x[m]
    p = q
    for _ in range(10):
        p += 1
        p = p[p < 5]
    return p, q
