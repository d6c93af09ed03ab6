"""What NumPy code does with boolean masks: reads, writes and reductions of what they pick."""

# pyright: basic

from __future__ import annotations

import numpy as np


def scales(x, y, m):
    x[x > 0.5] *= 2
    x[x < -1] += 10


def sets(x, y, m):
    x[m] = -3
    y[x > 0] = x[0]


def adds_others(x, y, m):
    x[m] += y[m]
    y[m] = x[m] * y[m] - 1


def copies_where_comparisons_are_equal(x, y, m):
    x[y > 0] = y[y > 0] * 2


def inverts(x, y, m):
    x[~m] = 0
    x[m & (y > 0)] -= y[m & (y > 0)]
    return x[m | (y < 0)].sum()


def clips_and_takes_roots(x, y, m):
    x[m] = np.sqrt(np.abs(x[m])) + np.clip(y[m], -1, 1)


def reduces(x, y, m):
    p = x[m]
    return p.sum(), p.mean(), p.max(), p.min(), p.any(), p.all(), p.prod(), p.std(), p.var(), np.ptp(p)


def reduces_by_functions(x, y, m):
    p = x[m]
    return (np.sum(p), np.mean(p * 2 + 1), np.max(np.abs(p)), np.var(p, ddof=1), np.count_nonzero(p > 0),
            np.linalg.norm(p), np.average(p), np.average(p, weights=np.abs(y[m]) + 1))  # fmt: skip


def counts(x, y, m):
    return len(x[m]), x[m].size, x[m].shape[0] + 1, np.size(x[m]), m.sum(), x[m].ndim


def multiplies(x, y, m):
    return x[m] @ y[m], x[m].dot(y[m]), np.dot(x[m], y[m] * 2), np.vdot(x[m], y[m])


def compares(x, y, m):
    return (x[m] > y[m]).sum(), np.all(x[m] < 100), (x[m] == 3.0).any(), ((x[m] > 0) & (y[m] > 0)).mean()


def picks_twice(x, y, m):
    p = x[m]
    return p[p > 0].sum(), p[p < y[m]].sum()


def is_a_copy(x, y, m):
    p = x[m]
    x[...] = 0
    p += 1
    return p.sum()


def centers(x, y, m):
    x[m] = (x[m] - x[m].mean()) / x[m].std()


def loops(x, y, m):
    total = 0.0
    for k in range(12):
        p = x[x > k * 0.1]
        total += p.sum()
        x[x > 1] *= 0.9
    return total


def branches(x, y, m):
    if x[m].sum() > 0:
        p = x[m]
        x[m] = -p
    else:
        x[m] = 1
    return x.sum()


def stops(x, y, m):
    rounds = 0
    while True:
        big = np.abs(x) > 1
        if not big.any():
            break
        x[big] /= 2
        rounds += 1
    return rounds


def functions_with_masks(x, y, m):
    np.putmask(x, m, 7)
    np.place(y, m, [1, 2, 3])
    np.copyto(x, y, where=y > 0)
    np.putmask(y, y < 0, x)
    return np.sum(x, where=m), np.where(m, x, y)


def casts(x, y, m):
    return (
        x[m].astype(np.float32).sum(),
        x[m].astype(int).sum(),
        np.round(x[m], 1).sum(),
        np.where(x[m] > 0, 1, 2).sum(),
    )


def divides_where_it_can(x, y, m):
    z = np.zeros_like(x)
    z[y != 0] = x[y != 0] / y[y != 0]
    return z


def sums_no_elements(x, y, m):
    none = x > 1e9
    return x[none].sum(), x[none].prod(), x[none].any(), x[none].all(), np.max(x[none], initial=-5.0), len(x[none])


def rows(a, m, n):
    a[m] *= 2
    a[m, :] += 1
    a[:, n] -= 3
    a[m, 0] = 9
    a[1, n] = 8
    return a[m].sum(), a[m].sum(axis=0), a[m].mean(axis=0), a[:, n].max(), a[:, n].sum(axis=1), a[m, 1].sum()


def rows_with_rows(a, m, n):
    a[m] = a[0]
    a[:, n] = a[:, :1]
    a[..., n] += np.arange(3.0)[:, None]
    a[m] -= a[m].mean(axis=0)
    return a[m].sum(axis=1).max(), (a[m] @ np.arange(4.0)).sum(), a[m][:, 1].sum(), a[m].std(axis=0, keepdims=True)


def planes(a, m, n):
    b = a > a.mean()
    a[b] = a[b] ** 2
    c = np.stack([a, a + 1], axis=2)
    c[b] += 1
    c[b, 1] = 0
    return (
        c,
        c[b].sum(),
        c[b].sum(axis=0),
        c[:, n].sum(),
        c[:, n, 0].max(),
        (c[b] * np.array([1.0, 2.0])).sum(axis=1).min(),
    )


def integers(k, m, n):
    k[k % 2 == 0] //= 2
    k[k > 3] = 1
    return k[k > 0].sum(), k[k > 0].max(), k[k > 0].min(), k[k > 0].mean(), k[k > 0].dtype.kind == "i"
