"""What NumPy code does with slices whose bounds its loops compute."""

# pyright: basic

from __future__ import annotations

import numpy as np


def lu(A):
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] -= A[i, :j] @ A[:j, j]
            A[i, j] /= A[j, j]
        for j in range(i, A.shape[0]):
            A[i, j] -= A[i, :i] @ A[:i, j]


def solve_forwards(L, x, b):
    for i in range(x.shape[0]):
        x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]


def solve_backwards(A, x, y):
    for i in range(A.shape[0] - 1, -1, -1):
        x[i] = (y[i] - A[i, i + 1 :] @ x[i + 1 :]) / A[i, i]


def durbin(r):
    y = np.empty_like(r)
    alpha = -r[0]
    beta = 1.0
    y[0] = -r[0]
    for k in range(1, r.shape[0]):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return y


def correlation(data, M):
    c = np.eye(M)
    for i in range(M - 1):
        c[i + 1 : M, i] = c[i, i + 1 : M] = data[:, i] @ data[:, i + 1 : M]
    return c


def eliminate(A):
    n = A.shape[0]
    for k in range(n - 1):
        A[k + 1 :, k] /= A[k, k]
        A[k + 1 :, k + 1 :] -= np.outer(A[k + 1 :, k], A[k, k + 1 :])


def spmv(row, col, val, x):
    y = np.empty(row.size - 1, val.dtype)
    for i in range(row.size - 1):
        cols = col[row[i] : row[i + 1]]
        vals = val[row[i] : row[i + 1]]
        y[i] = vals @ x[cols]
    return y


def moving_means(x):
    y = np.zeros_like(x)
    for i in range(x.size):
        y[i] = x[max(i - 3, 0) : i + 2].mean() + x[: i + 1].max() - x[i:].min()
    return y


def shifts(x):
    for i in range(x.size):
        x[i:] = x[: x.size - i] * 0.5 + x[i:]
    return x


def negative_bounds(x):
    s = np.zeros(x.size)
    for i in range(1, x.size):
        s[i] = x[-i:].sum() + x[:-i].sum() * 2 + x[i::2].sum() + x[i::-1].sum() + x[-1:i:-2].sum()
    return s


def running_sums(x):
    t = 0.0
    for i in range(x.size):
        v = x[i // 2 : i]
        t += np.cumsum(v).sum() + len(x[:3]) * v.size
    return t


def views(x):
    for i in range(1, x.size):
        v = x[:i]
        v += 1
        v[0] = i
        x[i:][::-1][:1] -= 3
        w = v[1:]
        w *= 0.5
    return x


def two_axes(x):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            x[i:, j] += x[i, j:].sum()
            x[:i, :j] *= 0.9
    return x


def steps(x):
    for i in range(x.size):
        x[i::3] += i
        x[:i:2] = x[:i:2][::-1]
        x[i:2:-1] *= 1.01
    return x


def leaves_early(x):
    for i in range(x.size):
        if x[:i].sum() > 3:
            break
        x[i : i + 2] = x[i : i + 2].sum()
    return x, i


def selection_sort(x):
    p = np.zeros(x.size, np.int64)
    for i in range(x.size):
        k = i + np.argmax(x[i:])
        p[i] = k
        t = x[i]
        x[i] = x[k]
        x[k] = t
    return x, p


def sorts(x):
    for i in range(x.size - 1):
        x[i:] = np.sort(x[i:])
        x[i] -= 100
    return x


def roots_and_squares(x, y):
    for i in range(x.size):
        x[:i] = np.where(x[:i] > 0.5, x[:i], np.sqrt(y[:i]))
        y[i:] = np.maximum(y[i:], 0.3) ** 2
    return x


def goes_through(x):
    t = 0.0
    for i in range(x.size):
        for v in x[i // 2 : i]:
            t += v * i
    return t


def fixed_lengths(x):
    y = np.zeros_like(x)
    for i in range(2, x.size - 2):
        y[i] = (x[i - 2 : i + 3] * np.array([1.0, 2, 3, 2, 1])).sum()
        y[i - 1 : i + 1] += x[i : i + 2]
    return y


def rows(x):
    n = x.shape[0]
    out = np.zeros((n, 3))
    for i in range(1, n):
        out[i] = x[:i, :3].mean(axis=0)
        out[i] += x[:i].std(axis=0)[:3] + x[:i, 1:].sum()
    return out


def sets_numbers(x):
    for i in range(x.size):
        x[:i] = 0.5 * i
        x[i:] -= x[i]
    return x


def householder(A):
    for k in range(A.shape[1]):
        v = A[k:, k].copy()
        v[0] += np.copysign(np.linalg.norm(v), v[0])
        v /= np.linalg.norm(v)
        A[k:, k:] -= 2.0 * np.outer(v, v @ A[k:, k:])
    A[:] = np.round(A, 9)
    return A


def gathers_and_scatters(x, y, numbers):
    for i in range(x.size):
        x[numbers[: i + 1]] += y[: i + 1]
        y[numbers[i:]] = x[numbers[i:]] * 0.5
    return x


def copies(x, y):
    for i in range(1, x.size):
        old = x[:i].copy()
        x[:i] = y[:i]
        y[:i] = old + 1
    return x


def bisects(x, y):
    places = np.zeros(y.size, np.int64)
    for i in range(y.size):
        low, high = 0, x.size
        while low < high:
            middle = (low + high) // 2
            if x[low : middle + 1].max() < y[i]:
                low = middle + 1
            else:
                high = middle
        places[i] = low
    return places
