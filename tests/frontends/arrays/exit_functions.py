"""Small functions that leave loops and themselves early, with arguments that take every way through them."""

# pyright: basic
# ruff: noqa: SIM110, RET508, B007, B905, PLW0120

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np

A = np.array([3.0, -1.0, 4.0, 1.5, -9.0, 2.0, 6.0])
K = np.array([4, 1, 0, 7, -2, 5])


def break_in_range(a, n, t):
    s = 0.0
    for i in range(n):
        if a[i] > t:
            break
        s += a[i]
    return s


def break_with_statements_before(a, n, t):
    s = 0.0
    for i in range(n):
        if a[i] > t:
            s += 100
            a[i] = 0
            break
        s += a[i]
    return s


def continue_in_range(a, n, t):
    s = 0.0
    for i in range(n):
        if a[i] < t:
            continue
        s += a[i]
        a[i] = -s
    return s


def continue_within_branches(a, n, t):
    s = 0.0
    for i in range(n):
        if a[i] < t:
            s += 1
            if a[i] < t - 3:
                continue
            s += 10
        s += 100
    return s


def break_within_branches(a, n, t):
    s = 0.0
    for i in range(n):
        if a[i] < t:
            s += 1
            if a[i] < t - 3:
                break
            s += 10
        else:
            s -= 1
        s += 100
    return s


def break_and_continue(a, n, t):
    s = 0.0
    for i in range(n):
        if a[i] < 0:
            continue
        if a[i] > t:
            break
        s += a[i]
    return s


def leaves_on_either_side(a, n, t):
    s = 0.0
    for i in range(n):
        if a[i] > t:
            s += 5
            break
        elif a[i] < 0:
            s -= 1
            continue
        else:
            s += a[i]
        s *= 2
    return s


def else_of_for(a, n, t):
    for i in range(n):
        if a[i] > t:
            found = i
            break
    else:
        found = -1
    return found


def else_of_while(a, t):
    i = 0
    while i < len(a):
        if a[i] > t:
            break
        i += 1
    else:
        i = -5
    return i


def else_without_break(a, n):
    s = 0.0
    for i in range(n):
        s += a[i]
    else:
        s *= 2
    return s


def else_that_breaks_the_outer(a, n, t):
    s = 0.0
    for i in range(n):
        for j in range(n):
            if a[j] > t + i:
                break
            s += 1
        else:
            s += 1000
            break
        s += 10
    return s


def return_in_for(a, n, t):
    for i in range(n):
        if a[i] > t:
            return i
    return -1


def return_in_while(a, t):
    i = 0
    while i < len(a):
        if a[i] > t:
            return i
        i += 1
    return -1


def return_in_nested(a, n, t):
    for i in range(n):
        for j in range(i, n):
            if a[i] + a[j] > t:
                return i * 10 + j
    return -1


def return_pairs(a, n, t):
    for i in range(n):
        if a[i] > t:
            return i, a[i]
    return -1, 0.0


def return_in_branches(a, t):
    if a[0] > t:
        return a[1]
    if a[1] > t:
        return a[2] * 2
    elif a[2] > t:
        a[0] = 7.0
        return a[0]
    a[1] = 8.0
    return a[3]


def return_arrays(a, t):
    if a[0] > t:
        return a * 2
    b = a + 1
    if b[1] > t:
        return b
    return a - b


def return_nothing(a, t):
    if a[0] > t:
        a[0] = 100.0
        return
    a[1] = 100.0


def return_nothing_in_a_loop(a, n, t):
    for i in range(n):
        if a[i] > t:
            a[i] = 100.0
            return
        a[i] = 0.0


def return_the_argument(a, t):
    if a[0] > t:
        a[0] = 1.0
        return a
    return a


def newton(x, rounds):
    y = x
    for _ in range(rounds):
        d = (y * y - x) / (2 * y)
        y = y - d
        if abs(d) < 1e-6:
            break
    return y


def endless_newton(x):
    y = x
    while True:
        d = (y * y - x) / (2 * y)
        if abs(d) < 1e-9:
            break
        y = y - d
    return y


def endless_with_return(a, t):
    i = 0
    while True:
        if i >= len(a):
            return -1
        if a[i] > t:
            return i
        i += 1


def endless_with_both(a, t):
    i = 0
    while True:
        if i == len(a):
            break
        if a[i] > t:
            return i * 2
        i += 1
    return -i


def endless_with_continue(k):
    n = 0
    while True:
        n += 1
        if n % 2 == 0:
            continue
        if n > k[0]:
            break
    return n


def collatz(n, most):
    count = 0
    while n != 1:
        if n % 2:
            n = 3 * n + 1
        else:
            n = n // 2
        count += 1
        if count >= most:
            break
    else:
        count = -count
    return count, n


def found_on_one_way(a, n, t):
    for i in range(n):
        if a[i] > t:
            best = a[i]
            break
    else:
        best = 0.0
    return best


def bound_in_the_endless_loop(a, t):
    i = 0
    while True:
        value = a[i]
        if value > t or i == 5:
            break
        i += 1
    return value, i


def counter_after_break(a, t):
    for i in range(6):
        if a[i] > t:
            break
    return i


def counter_of_nested(a, n, t):
    s = 0.0
    i = j = -1
    for i in range(n):
        for j in range(i + 1):
            if a[j] > t:
                break
        s += j
    return s, i, j


def breaks_at_once(a, n):
    s = 0.0
    for i in range(n):
        s += a[i]
        break
    return s


def breaks_both_loops(a, n, t):
    s = 0.0
    for i in range(n):
        done = False
        for j in range(n):
            s += 1
            if a[i] * a[j] > t:
                done = True
                break
        if done:
            break
    return s


def over_elements(a, t):
    s = 0.0
    for v in a:
        if v > t:
            break
        s += v
    return s


def over_rows(m, t):
    for row in m:
        if row.sum() > t:
            row *= 2
            break
        row += 1
    return m.sum()


def over_enumerated(a, t):
    for i, v in enumerate(a):
        if v > t:
            return i
    return -1


def over_enumerated_from(a, first):
    s = 0.0
    for i, v in enumerate(a, first):
        if v < 0:
            continue
        s += i * v
    return s


def over_zipped(a, b, t):
    s = 0.0
    for x, y in zip(a, b):
        if x > t:
            break
        s += x * y
    return s


def over_zipped_with_range(a, n):
    s = 0.0
    for i, x in zip(range(n), a):
        s += i * x
    return s


def over_reversed(a, n, t):
    for i in reversed(range(n)):
        if a[i] > t:
            return i
    return -1


def over_reversed_elements(a):
    s = 0.0
    for v in reversed(a):
        if v < 0:
            break
        s = s * 2 + v
    return s


def over_steps(a, first, last, step):
    s = 0.0
    for i in range(first, last, step):
        s = s * 2 + a[i]
    return s


def enumerates_zipped(a, b):
    s = 0.0
    for i, (x, y) in enumerate(zip(a, b)):
        if x > 5:
            continue
        s += i * x - y
    return s


def chained(a, n, low, high):
    count = 0
    for i in range(n):
        if low <= a[i] < high:
            count += 1
        elif not 0 <= i < 4:
            break
    return count


def boolean_operators(a, n, t):
    for i in range(n):
        if (a[i] > t and i > 1) or (a[i] < -5 and not a[0] > t):
            return i
    return 99


def among_constants(k, n):
    count = 0
    for i in range(n):
        if k[i] in (1, 5, 7):
            count += 1
        if k[i] not in (4, 1, 0, 7):
            break
    return count


def with_a_statement(a, n, t):
    s = 0.0
    for i in range(n):
        with contextlib.nullcontext():
            if a[i] > t:
                break
            s += a[i]
        s += 1
    return s


def returns_within_with(a, t):
    with np.errstate(all="ignore"):
        if a[0] > t:
            return a[0] / 2
        a[0] = 5.0
    return a[1]


def calls_an_inner_function(a, n, t):
    def clipped(v):
        if v > t:
            return t * 1.0
        if v < -t:
            return -t * 1.0
        return v

    s = 0.0
    for i in range(n):
        s += clipped(a[i])
    return s


def calls_a_lambda(a, n, t):
    sign = lambda v: 1.0 if v > t else -1.0 if v < -t else 0.0  # noqa: E731
    s = 0.0
    for i in range(n):
        s += sign(a[i])
    return s


def closure_sees_the_counter(a, n):
    scale = 1.0

    def scaled(v):
        return v * scale

    s = 0.0
    for i in range(n):
        scale = i + 1.0
        s += scaled(a[i])
        if s > 10:
            break
    return s, scaled(1.0)


class Machine:
    def __init__(self, limit):
        self.limit = limit

    def find(self, a, n, t):
        for i in range(n):
            if a[i] > t + self.limit:
                return i
        return -1


def calls_a_method(a, n, t):
    return Machine(1).find(a, n, t) + 0.5


def recursive(k, n):
    def power(depth):
        if depth == 0:
            return k[0] * 1
        return power(depth - 1) * 2

    return power(3) + n


def bubble_sort(a, n):
    for i in range(n):
        swapped = False
        for j in range(n - 1 - i):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = a[j + 1], a[j]
                swapped = True
        if not swapped:
            break


def binary_search(k, key):
    k.sort()
    low, high = 0, len(k) - 1
    while low <= high:
        middle = (low + high) // 2
        if k[middle] == key:
            return middle
        if k[middle] < key:
            low = middle + 1
        else:
            high = middle - 1
    return -1


def sieve(k, n):
    is_prime = np.ones(20, bool)
    is_prime[:2] = False
    for i in range(2, 20):
        if i * i >= 20:
            break
        if not is_prime[i]:
            continue
        for j in range(i * i, 20, i):
            is_prime[j] = False
    return is_prime.sum() + n


def greatest_divisor(a, b):
    while True:
        if b == 0:
            return a
        a, b = b, a % b


def bisection(low, high):
    for _ in range(60):
        middle = (low + high) / 2
        if high - low < 1e-9:
            break
        if middle * middle > 2:
            high = middle
            continue
        low = middle
    return middle


def jacobi(m, b, most):
    x = np.zeros(len(b))
    for k in range(most):
        new = (b - m @ x + np.diag(m) * x) / np.diag(m)
        if np.abs(new - x).max() < 1e-8:
            return new, k
        x = new
    return x, -1


def first_of_rows(m, t):
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            if m[i, j] > t:
                return i, j
    return -1, -1


def walrus(a, t):
    i = 0
    while (v := a[i]) < t:
        i += 1
        if i == 6:
            break
    return i, v


def test_that_changes(a, t):
    count = 0

    def step():
        a[0] += 1
        return a[0] < t

    while step():
        count += 1
        if count > 4:
            break
    return count


def remembers_the_last(a, n):
    last = 0.0
    for i in range(n):
        if a[i] < 0:
            continue
        last = a[i]
    return last


def known_break(a, limit):
    for i in range(20):
        if i == limit:
            break
        a += 1
    return a


def bound_in_some_rounds(a, n, t):
    s = 0.0
    for i in range(n):
        if a[i] > t:
            seen = a[i]
            s += seen
        if i > 3 and s > 0:
            s += seen
    return s


def tuple_of_state(n, most):
    state = (0, 1)
    for i in range(n):
        state = (state[1], state[0] + state[1])
        if state[1] > most:
            break
    return state


def assigned_in_else_only(a, n, t):
    for i in range(n):
        if a[i] > t:
            return i
    else:
        rest = a.sum()
    return int(rest)


def all_of(a, t):
    for v in a:
        if not v > t:
            return False
    return True


def any_of(a, t):
    for v in a:
        if v > t:
            return True
    return False


def converges(a, tol):
    u = a.copy()
    rounds = 0
    while True:
        new = u.copy()
        new[1:-1] = (u[:-2] + u[2:]) / 2
        change = np.abs(new - u).max()
        u[...] = new
        rounds += 1
        if change < tol or rounds >= 200:
            break
    return u, rounds


M = np.array([[4.0, 1, 0], [1, 5, 2], [0, 2, 6]])
LIMITS = [(A, n, t) for n in (0, 1, 4, 7) for t in (-20, 2.5, 5, 50)]


def returns_or_breaks_in_a_short_loop(a, t):
    for i, value in enumerate(a):
        if value > 5.0:
            return a
        if value <= a[i % 3] - t:
            break
        last = i
    return -a if t < 100 else last


CASES: list[tuple[Callable[..., Any], list[tuple[Any, ...]]]] = [
    *[
        (each, LIMITS)
        for each in (
            break_in_range, break_with_statements_before, continue_in_range, continue_within_branches,
            break_within_branches, break_and_continue, leaves_on_either_side, else_of_for, else_that_breaks_the_outer,
            return_in_for, return_in_nested, return_pairs, return_nothing_in_a_loop, found_on_one_way,
            breaks_both_loops, over_reversed, boolean_operators, with_a_statement, calls_an_inner_function,
            calls_a_lambda, calls_a_method, counter_of_nested, assigned_in_else_only,
        )
    ],
    *[
        (each, [(A, t) for t in (-20, -2, 2.5, 5, 50)])
        for each in (
            else_of_while, return_in_while, return_in_branches, return_arrays, return_nothing, return_the_argument,
            endless_with_return, endless_with_both, bound_in_the_endless_loop, counter_after_break, over_elements,
            over_enumerated, returns_within_with, test_that_changes, all_of, any_of,
        )
    ],
    *[
        (each, [(A, n) for n in (0, 1, 2, 7)])
        for each in (else_without_break, breaks_at_once, over_zipped_with_range, closure_sees_the_counter, bubble_sort,
                     remembers_the_last)
    ],
    (newton, [(2.0, 0), (2.0, 1), (2.0, 3), (2.0, 100), (1.0, 100)]),
    (endless_newton, [(2.0,), (1.0,), (900.0,)]),
    (endless_with_continue, [(K,), (K - 9,)]),
    (collatz, [(1, 10), (7, 5), (27, 1000), (6, 8)]),
    (over_rows, [(M, t) for t in (4, 7, 100)]),
    (over_enumerated_from, [(A, 0), (A, 5)]),
    (over_zipped, [(A, A[:4] * 2, 2), (A, A + 1, 5), (A[:3], A, 50)]),
    (over_reversed_elements, [(A,), (np.abs(A),)]),
    (over_steps, [(A, 0, 7, 1), (A, 6, -1, -2), (A, 1, 6, 2), (A, 3, 3, 1), (A, 5, 1, 1)]),
    (enumerates_zipped, [(A, A * 2), (A[:3], A)]),
    (chained, [(A, n, -2, 3) for n in (0, 3, 7)]),
    (among_constants, [(K, n) for n in (0, 3, 6)]),
    (recursive, [(K, 2)]),
    (binary_search, [(K, key) for key in (-2, 0, 7, 6, 100)]),
    (sieve, [(K, 1)]),
    (greatest_divisor, [(12, 18), (7, 0), (17, 5)]),
    (bisection, [(0.0, 2.0), (1.414, 1.415), (1.0, 1.0)]),
    (jacobi, [(M, np.ones(3), n) for n in (0, 1, 5, 100)]),
    (first_of_rows, [(M, t) for t in (-1, 3, 5, 50)]),
    (walrus, [(A, t) for t in (-20, 3.5, 50)]),
    (known_break, [(A, 0), (A, 7), (A, 30)]),
    (bound_in_some_rounds, [(A, 7, 2.5), (A, 3, 50), (A, 0, 0)]),
    (tuple_of_state, [(0, 5), (5, 1000), (100, 1000)]),
    (converges, [(A, 1e-3), (A, 1e9)]),
    (returns_or_breaks_in_a_short_loop, [(A, 0.0), (A, 1.0)]),
]  # fmt: skip
