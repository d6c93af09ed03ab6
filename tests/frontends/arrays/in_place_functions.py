"""A hundred functions of NumPy that change arrays in place, as people write them, and arguments for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

F = np.array([5.0, 1.0, 4.0, 1.5, 9.0, 2.0, 6.0, 3.0])
F32 = F.astype(np.float32)
K = np.array([5, 1, 4, 1, 9, 2, 6, 3])
K32 = K.astype(np.int32)
M = np.array([[4.0, 1.0, 2.0, 0.5], [1.0, 5.0, 1.0, 2.0], [2.0, 1.0, 6.0, 1.0], [0.5, 2.0, 1.0, 7.0]])
N = np.arange(24).reshape(4, 6)
P = np.array([3, 0, 2, 1, 2], np.int32)
Z = np.arange(6) * (1 + 0.5j)
ZERO = np.array(3.0)

CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []


def case(*arguments: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def keep(function: Callable[..., Any]) -> Callable[..., Any]:
        CASES.append((function, arguments))
        return function

    return keep


# -- swaps and old values ---------------------------------------------------------------------------------------------


@case(F)
@case(K32)
def swaps_in_one_statement(a: Any) -> Any:
    a[0], a[1] = a[1], a[0]
    return a


@case(F)
def swaps_by_a_temporary(a: Any) -> None:
    t = a[0]
    a[0] = a[3]
    a[3] = t


@case(F)
def keeps_the_old_value(a: Any) -> Any:
    old = a[2]
    a[2] = 10
    return old


@case(F)
def adds_up_from_the_first(a: Any) -> Any:
    s = a[0]
    s += a[1]
    s *= 2
    return s


@case(F)
def adds_to_a_sum(a: Any) -> Any:
    s = a.sum()
    t = s
    s += 1
    return s, t


@case(M)
def swaps_rows_as_views(a: Any) -> None:
    a[0], a[1] = a[1], a[0]


@case(M)
def swaps_rows_by_copies(a: Any) -> None:
    a[0], a[1] = a[1].copy(), a[0].copy()


@case(M)
def swaps_rows_by_index(a: Any) -> None:
    a[[0, 2]] = a[[2, 0]]


@case(M, 1, 3)
def swaps_rows_at_arguments(a: Any, i: Any, j: Any) -> None:
    a[[i, j]] = a[[j, i]]


@case(F, 2, -1)
def swaps_at_arguments(a: Any, i: Any, j: Any) -> None:
    a[i], a[j] = a[j], a[i]


@case(K)
def rotates_three_elements(a: Any) -> None:
    a[0], a[1], a[2] = a[2], a[0], a[1]


@case(K, 3)
def counts_with_a_name(a: Any, n: Any) -> Any:
    m = n
    n += 2
    a[0] = n
    return m, n


# -- sorts ------------------------------------------------------------------------------------------------------------


@case(F)
@case(K32)
def bubble_sort(a: Any) -> None:
    n = a.shape[0]
    for i in range(n):
        for j in range(n - 1 - i):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = a[j + 1], a[j]


@case(F32)
def selection_sort(a: Any) -> None:
    n = len(a)
    for i in range(n):
        least = i
        for j in range(i + 1, n):
            if a[j] < a[least]:
                least = j
        a[i], a[least] = a[least], a[i]


@case(K)
def insertion_sort(a: Any) -> Any:
    for i in range(1, a.size):
        key = a[i]
        j = i
        while (j > 0) & (a[j - 1] > key):
            a[j] = a[j - 1]
            j -= 1
        a[j] = key
    return a


@case(F)
def comb_pass(a: Any) -> None:
    for i in range(a.size - 3):
        if a[i] > a[i + 3]:
            t = a[i]
            a[i] = a[i + 3]
            a[i + 3] = t


@case(K)
def odd_even_sort(a: Any) -> None:
    for k in range(a.size):
        for i in range(k % 2, a.size - 1, 2):
            if a[i] > a[i + 1]:
                a[i], a[i + 1] = a[i + 1], a[i]


@case(F)
def quicksort_partition(a: Any) -> Any:
    pivot = a[-1]
    i = 0
    for j in range(a.size - 1):
        if a[j] < pivot:
            a[i], a[j] = a[j], a[i]
            i += 1
    a[i], a[-1] = a[-1], a[i]
    return i


@case(K)
def heap_sort(a: Any) -> None:
    n = a.size
    for first in range(n // 2 - 1, -1, -1):
        sift_down(a, first, n)
    for end in range(n - 1, 0, -1):
        a[0], a[end] = a[end], a[0]
        sift_down(a, 0, end)


def sift_down(a: Any, root: Any, end: Any) -> None:
    going = True
    while going & (2 * root + 1 < end):
        child = 2 * root + 1
        right = np.minimum(child + 1, end - 1)
        if a[right] > a[child]:
            child = right
        if a[root] < a[child]:
            a[root], a[child] = a[child], a[root]
            root = child
        else:
            going = False


@case(P)
def counting_sort(a: Any) -> Any:
    counts = np.zeros(4, np.int64)
    for v in a:
        counts[v] += 1
    k = 0
    for v in range(4):
        for _ in range(counts[v]):
            a[k] = v
            k += 1
    return counts


@case(K, 5)
def binary_search(a: Any, wanted: Any) -> Any:
    a.sort()
    low, high = 0, a.size
    while low < high:
        middle = (low + high) // 2
        if a[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@case(K)
def reverses_in_place(a: Any) -> None:
    for i in range(a.size // 2):
        a[i], a[-1 - i] = a[-1 - i], a[i]


@case(F)
def sorts_a_slice(a: Any) -> None:
    a[2:6].sort()


@case(N)
def sorts_columns(a: Any) -> None:
    a[::-1].sort(axis=0)


# -- running values ---------------------------------------------------------------------------------------------------


@case(F)
def running_sum(a: Any) -> None:
    for i in range(1, a.size):
        a[i] += a[i - 1]


@case(F32)
def running_maximum(a: Any) -> Any:
    best = a[0]
    for i in range(a.size):
        if a[i] > best:  # noqa: PLR1730
            best = a[i]
        a[i] = best
    return best


@case(F)
def largest_and_its_place(a: Any) -> Any:
    best, place = a[0], 0
    for i in range(1, a.size):
        if a[i] > best:
            best, place = a[i], i
    a[place] = -1
    return best, place


@case(F)
def differences_with_the_last(a: Any) -> Any:
    last = a[0]
    for i in range(a.size):
        now = a[i]
        a[i] = now - last
        last = now
    return last


@case(10)
def fibonacci(n: Any) -> Any:
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


@case(F)
def sums_over_elements(x: Any) -> Any:
    total = 0.0
    for v in x:
        total += v
    return total


@case(F)
def exponential_average(x: Any) -> Any:
    s = x[0]
    for i in range(x.size):
        s = 0.5 * s + 0.5 * x[i]
        x[i] = s
    return s


@case(np.array([1.0, 2.0, 3.0]))
def unpacks(x: Any) -> Any:
    a, b, c = x
    x[:] = 0
    return a + 10 * b + 100 * c


@case(F, 0.25)
def horner(coefficients: Any, x: Any) -> Any:
    value = coefficients[0]
    for i in range(1, coefficients.size):
        value *= x
        value += coefficients[i]
    return value


@case(K)
def greatest_common_divisor(a: Any) -> Any:
    x, y = a[0], a[6]
    while y != 0:
        x, y = y, x % y
    return x


# -- stencils and solvers ---------------------------------------------------------------------------------------------


@case(F, 12)
def heat(u: Any, steps: Any) -> None:
    for _ in range(steps):
        u[1:-1] += 0.1 * (u[:-2] - 2 * u[1:-1] + u[2:])


@case(F)
def gauss_seidel_sweeps(u: Any) -> None:
    for _ in range(10):
        for i in range(1, u.size - 1):
            u[i] = 0.5 * (u[i - 1] + u[i + 1])


@case(M)
def red_black(u: Any) -> None:
    u[1:-1:2, 1:-1] = 0.5 * (u[:-2:2, 1:-1] + u[2::2, 1:-1])
    u[::2, 1:-1] *= 0.5


@case(M)
def lu_without_pivots(a: Any) -> None:
    n = a.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]


@case(M)
def cholesky(a: Any) -> None:
    for j in range(4):
        for k in range(j):
            a[j:, j] -= a[j:, k] * a[j, k]
        a[j:, j] /= np.sqrt(a[j, j])
        a[:j, j] = 0


@case(M, np.array([1.0, 2.0, 3.0, 4.0]))
def forward_substitution(a: Any, b: Any) -> None:
    for i in range(4):
        s = b[i]
        for j in range(i):
            s -= a[i, j] * b[j]
        b[i] = s / a[i, i]


@case(M, np.ones(4))
def jacobi(a: Any, x: Any) -> Any:
    d = np.diag(a).copy()
    for _ in range(9):
        x[...] = (1 - (a @ x - d * x)) / d
    return x


@case(M)
def gram_schmidt(a: Any) -> None:
    for i in range(4):
        for j in range(i):
            a[i] -= (a[i] @ a[j]) * a[j]
        a[i] /= np.sqrt(a[i] @ a[i])


@case(M)
def transposes_in_place(a: Any) -> None:
    for i in range(4):
        for j in range(i):
            a[i, j], a[j, i] = a[j, i], a[i, j]


@case(M)
def floyd_warshall(d: Any) -> None:
    for k in range(4):
        for i in range(4):
            for j in range(4):
                d[i, j] = np.minimum(d[i, j], d[i, k] + d[k, j])


@case(F, 20)
def logistic_map(x: Any, n: Any) -> None:
    x /= 10
    for _ in range(n):
        x[...] = 3.5 * x * (1 - x)


@case(2.0)
def newton(a: Any) -> Any:
    x = a
    error = 1.0
    while error > 1e-12:
        new = 0.5 * (x + a / x)
        error = np.abs(new - x)
        x = new
    return x


# -- tables, sieves, counts -------------------------------------------------------------------------------------------


@case(np.ones(30, bool))
def sieve(is_prime: Any) -> None:
    is_prime[:2] = False
    for i in range(2, 6):
        if is_prime[i]:
            for j in range(i * i, 30, i):
                is_prime[j] = False


@case(np.zeros(30, bool))
def sieve_by_slices(composite: Any) -> None:
    for i in range(2, 6):
        composite[i * i :: i] = True


@case(P)
def histogram(x: Any) -> Any:
    h = np.zeros(4, int)
    for i in range(x.size):
        h[x[i]] += 1
    return h


@case(P)
def histogram_at(x: Any) -> Any:
    h = np.zeros(4)
    np.add.at(h, x, 0.5)
    return h


@case(P)
def buffered_counts(x: Any) -> Any:
    h = np.zeros(4, int)
    h[x] += 1
    return h


@case(7)
def pascal(n: Any) -> Any:
    row = np.zeros(9, np.int64)
    row[0] = 1
    for _ in range(n):
        for j in range(8, 0, -1):
            row[j] += row[j - 1]
    return row


@case(np.array([2, 3, 1]), np.array([3, 4, 2]))
def knapsack(weights: Any, values: Any) -> Any:
    best = np.zeros(6, int)
    for i in range(3):
        for w in range(5, -1, -1):
            if w >= weights[i]:
                best[w] = np.maximum(best[w], best[w - weights[i]] + values[i])
    return best


@case(K[:4], K[2:7])
def edit_distance(a: Any, b: Any) -> Any:
    d = np.zeros((5, 6), int)
    d[:, 0] = np.arange(5)
    d[0] = np.arange(6)
    for i in range(1, 5):
        for j in range(1, 6):
            cost = np.where(a[i - 1] == b[j - 1], 0, 1)
            d[i, j] = np.minimum(np.minimum(d[i - 1, j] + 1, d[i, j - 1] + 1), d[i - 1, j - 1] + cost)
    return d[4, 5]


@case(P[:4])
def inverts_a_permutation(p: Any) -> Any:
    p[:] = np.argsort(p)
    q = np.empty(4, np.int32)
    q[p] = np.arange(4)
    return q


@case(np.zeros((5, 5), np.uint8))
def life(board: Any) -> None:
    board[1:4, 2] = 1
    for _ in range(3):
        n = sum(np.roll(board, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0))
        board[...] = (n == 3) | ((board == 1) & (n == 2))


@case(np.zeros(9))
def collatz(steps: Any) -> None:
    for i in range(1, 9):
        n = i
        while n != 1:
            n = np.where(n % 2 == 0, n // 2, 3 * n + 1)
            steps[i] += 1


# -- views and overlaps -----------------------------------------------------------------------------------------------


@case(F)
def shifts_by_overlapping_slices(a: Any) -> None:
    a[1:] = a[:-1]


@case(F)
def adds_overlapping_slices(a: Any) -> None:
    a[:-1] += a[1:]
    a[2:] -= a[:-2]


@case(F)
def writes_through_a_reversed_view(a: Any) -> Any:
    r = a[::-1]
    r[0] = 100
    r[1:3] += a[:2]
    return r


@case(F)
def flips_itself(a: Any) -> None:
    a[:] = a[::-1]


@case(N)
def writes_a_row_view(a: Any) -> Any:
    row = a[1]
    row += 5
    row[2] = 0
    return row.sum()


@case(N)
def writes_a_column_view(a: Any) -> None:
    column = a[:, 2]
    column[:] = column[::-1]
    column[0] -= 1


@case(N)
def writes_through_transposes(a: Any) -> None:
    t = a.T
    t[0, :] = t[1, :]
    t[2:4, 1] *= 10


@case(N)
def iterates_over_rows(a: Any) -> Any:
    for row in a:
        row[0] = row[1:].sum()
    return a[:, 0]


@case(N)
def writes_reshaped(a: Any) -> None:
    a.reshape(3, 8)[1] = -1
    a.ravel()[:2] = 7
    a.reshape(-1)[-1] = 5


@case(N)
def copies_of_transposed_memory(a: Any) -> Any:
    flat = a.T.ravel()
    flat[0] = 99
    return flat


@case(N)
def every_other(a: Any) -> None:
    b = a[::2, ::3]
    b[...] = b + b[::-1]


@case(N)
def splits_are_views(a: Any) -> None:
    upper, lower = np.split(a, 2)
    upper += lower
    left, _, right = np.array_split(a, 3, axis=1)
    left[...] = right


@case(F)
def windows_share_memory(a: Any) -> None:
    left, right = a[:4], a[2:6]
    left += 1
    right *= 2
    left -= right


@case(F, 3)
def view_at_an_argument(a: Any, i: Any) -> Any:
    cell = a[i, ...]
    cell[...] = 8
    return a[i]


@case(N, 2)
def row_at_an_argument(a: Any, i: Any) -> Any:
    row = a[i]
    row[1:] = row[:-1]
    a[i - 1, i] = 77
    return row[0]


@case(F)
def new_axes_are_views(a: Any) -> None:
    a[None, 2][:] = 3
    a[:, np.newaxis][4] += 1


@case(F)
def element_along_a_new_axis(a: Any) -> Any:
    b = a[np.newaxis, ...][0]
    b[1] = a[0]
    return b[1]


@case(Z)
def parts_of_complex_numbers(z: Any) -> Any:
    z.real[0] = 5
    z.imag *= -1
    first = z[1].real
    z[1] = 0
    return first


@case(N)
def diagonal_by_flat_steps(a: Any) -> Any:
    a.flat[::7] = -1
    a.T.flat[3] = 50
    first = a.flat[0]
    a[0, 0] = 4
    return first


@case(F, F32)
def two_arrays_exchange(a: Any, b: Any) -> None:
    for i in range(8):
        t = a[i]
        a[i] = b[7 - i]
        b[7 - i] = t


# -- out=, casts, augmented assignment --------------------------------------------------------------------------------


@case(F)
def out_of_ufuncs(a: Any) -> None:
    np.add(a, 1, out=a)
    np.multiply(a[:4], a[4:], out=a[:4])
    np.sqrt(a, out=a, where=a > 4)


@case(N)
def out_of_reductions(a: Any) -> None:
    np.sum(a[:, 1:], axis=1, out=a[:, 0])
    np.maximum(a[0], a[1], out=a[3])


@case(M, np.zeros((4, 4)))
def out_of_a_product(a: Any, c: Any) -> None:
    np.matmul(a, a, out=c)
    np.dot(c, a, out=a)


@case(K32)
def assigns_with_a_cast(a: Any) -> None:
    a[:] = np.linspace(0.0, 9.9, 8)
    a[2] = 7.9


@case(np.arange(250, 256).astype(np.uint8))
def wraps_bytes(a: Any) -> Any:
    a += 10
    a[0] -= 200
    b = a[1]
    b += np.uint8(250)
    return b


@case(K32)
def divides_in_place(a: Any) -> None:
    a //= 2
    a **= 2
    a %= 7
    a <<= 1
    a ^= 3


@case(K)
def bits_of_elements(a: Any) -> Any:
    parity = a[0] & 1
    for i in range(8):
        parity ^= a[i] & 1
        a[i] >>= 1
    return parity


@case(F)
def masked_number(a: Any) -> None:
    a[a > 4] = 0
    a[a == 0] = -1


@case(N)
def masked_rows(a: Any) -> None:
    a[a[:, 0] > 6] = np.arange(6)


@case(F, P)
def fancy_writes(a: Any, p: Any) -> None:
    a[p] = 5
    a[p + 1] += 1
    a[[0, -1]] = [1, 2]


@case(N, P[:4])
def fancy_rows_and_columns(a: Any, p: Any) -> Any:
    a[np.arange(4), p] = 100
    a[:, p[:2]] -= 1
    return a[p][:, 0]


@case(F, P)
def copies_by_index_are_copies(a: Any, p: Any) -> Any:
    b = a[p]
    b[:] = 0
    return b


@case(F, P)
def take_and_put(a: Any, p: Any) -> Any:
    taken = np.take(a, p) + a.take([0, -1])[0]
    np.put(a, [0, 1], [9, 8])
    np.putmask(a, a > 8, -a)
    np.copyto(a[4:], a[:4])
    return taken


@case(M)
def fills_diagonals(a: Any) -> None:
    np.fill_diagonal(a, 0)
    a[np.arange(3), np.arange(1, 4)] = 1
    a.T.fill(a[0, 1])


@case(N)
def along_axes(a: Any) -> Any:
    places = np.argmax(a % 5, axis=1)[:, None]
    found = np.take_along_axis(a, places, 1)
    np.put_along_axis(a, places, -1, 1)
    return found


# -- arrays without axes, strides, fresh arrays, dtypes ---------------------------------------------------------------


@case(ZERO)
def array_without_axes(a: Any) -> Any:
    old = a[()]
    a[...] = 5
    view = a[...]
    view += 1
    return old, a[()]


@case(ZERO, F)
def counts_in_an_array_without_axes(count: Any, x: Any) -> None:
    for i in range(x.size):
        if x[i] > 2:
            count += 1


@case(F[::-1])
@case(N.T[1:, ::2])
@case(np.asfortranarray(N))
def takes_any_strides(a: Any) -> Any:
    a[1:] += a[:-1]
    a[0] = 0
    return a.sum()


@case(F)
def fresh_arrays(x: Any) -> Any:
    y = np.zeros(8)
    z = np.full((2, 4), 3)
    row = z[1]
    for i in range(8):
        y[i] = x[-1 - i] * 2
        row[i % 4] += i
    y[:2] = [x[0], 1]
    return y, z


@case(F)
def makes_arrays_of_elements(x: Any) -> Any:
    v = np.array([x[0], x[1], 2.0])
    x[0] = 0
    v[1] += x[2]
    return v, np.array([[x[0], x[1]], [1, 2]]).sum(axis=0), np.full(2, x[3])


@case(np.arange(6, dtype=np.float16))
def half_floats(a: Any) -> Any:
    last = a[5]
    a *= a
    a[5] = last
    return a[1] + a[2]


@case(np.zeros(5, np.int8), 3)
def narrow_integers(a: Any, n: Any) -> None:
    for i in range(5):
        a[i] = i * n
    a -= 100


@case(F, K)
def converts_numbers(x: Any, k: Any) -> Any:
    place = int(x[1])
    x[place] = float(k[0]) / 2
    return x[place].item() + 1, k[1].item(), np.float32(x[2])


@case(F)
def stays_in_its_branch(x: Any) -> Any:
    if x[0] > 100:
        x[-1] = 1
        y = x[0]
    else:
        y = x[1]
        x[1] = 0
    return y


@case(F)
def moves_what_it_reads(x: Any) -> Any:
    i = 0
    while x[i] > 1:
        x[i] -= 1
        i = (i + 3) % 8
    return i


@case(F)
def while_that_binds(x: Any) -> Any:
    while (s := x.sum()) > 1:
        x *= 0.5
    return s


@case(F)
def condition_that_writes(x: Any) -> Any:
    def halve() -> Any:
        x[:] = x / 2
        return x.max()

    rounds = 0
    while halve() > 1:
        rounds += 1
    return rounds


@case(np.arange(12.0).reshape(3, 4), 1, np.int8(-2))
def any_integers_index(a: Any, i: Any, j: Any) -> Any:
    a[i, j] = -5
    a[-i, np.uint8(3)] += 1
    return a[i][j], a[..., j][i]
