# pyright: basic
# ruff: noqa: E501
"""Functions over every form of statement and expression of Python: each form by itself, in a branch, in loops, in
`try`, in a function within.

A form is a few lines that take the arrays `x`, `y` and `a` (a copy of `x`), the integers `n` and `m`, and the number
`t`, and bind `r`.
"""

from __future__ import annotations

import textwrap

PRELUDE = """
import contextlib
import dataclasses
import functools
import itertools
import math
import operator
from collections import Counter, defaultdict, deque, namedtuple
from dataclasses import dataclass

import numpy as np

Pair = namedtuple("Pair", "first second")
LIMIT = 3.0
seen = []
total = 0.0


@dataclass
class Point:
    place: object
    speed: object = 0.5

    def moved(self, by):
        return Point(self.place + by * self.speed, self.speed)

    @property
    def doubled(self):
        return self.place * 2

    @staticmethod
    def origin():
        return Point(0.0)

    @classmethod
    def of(cls, *parts):
        return cls(*parts)

    def __add__(self, other):
        return Point(self.place + other.place, self.speed)

    def __getitem__(self, index):
        return self.place[index]

    def __call__(self, value):
        return self.place + value


class Guard:
    def __init__(self, swallows=()):
        self.swallows, self.left = tuple(swallows), 0

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.left += 1
        return kind is not None and issubclass(kind, self.swallows)


def twice(function):
    @functools.wraps(function)
    def run(*given, **named):
        return function(*given, **named) * 2
    return run


@twice
def scaled(v, by=2.0, *more, offset=0.0, **rest):
    return v * by + offset + sum(more) + rest.get("last", 0.0)


def powers(v, count):
    for k in range(count):
        yield v ** k


def halves(v):
    yield from (v / 2, v / 4)


def factorial(k):
    return 1 if k <= 1 else k * factorial(k - 1)


def pairwise_sum(v):
    if v.size <= 2:
        return v.sum()
    half = v.size // 2
    return pairwise_sum(v[:half]) + pairwise_sum(v[half:])


def writes(v, at=0, value=7.0):
    v[at] = value
    return v


def gives_several(v):
    return v + 1, v.sum(), {"least": v.min()}
"""

FORMS: dict[str, str] = {
    # -- assignments and targets
    "chained_assignment": "r = b = x + 1\nb[0] = 9.0",
    "starred_target": "first, *rest = x\nr = first + sum(rest)",
    "starred_in_the_middle": "head, *inner, last = a\nr = head, last, len(inner), inner[0]",
    "nested_targets": "(b, (c, d)), e = (x, (y, t)), n\nr = b + c * d + e",
    "swapped_elements": "a[0], a[1] = a[1], a[0]\nr = a",
    "swapped_slices": "a[:2], a[3:] = a[3:].copy(), a[:2].copy()\nr = a",
    "annotated": "r: object = x * 2\nb: float\n",
    "walrus": "r = (b := x + 1) * b[0]",
    "walrus_in_a_test": "if (s := x.sum()) > 2.0:\n    r = s\nelse:\n    r = -s",
    "walrus_in_a_comprehension": "r = [w := v * 2 for v in (t, t + 1)] + [w]",
    "slice_target": "a[1:4] = y[:3]\nr = a",
    "strided_target": "a[::2] = 1.5\na[1::2] *= -1\nr = a",
    "backward_target": "a[::-1] = x\nr = a",
    "moving_slice_target": "a[n:n + 2] = 8.0\nr = a",
    "moving_slice": "r = x[m:].sum() + x[:n].sum() + x[n:n + 2].max()",
    "slice_objects": "w = slice(1, 4)\nr = x[w] - y[w]",
    "ellipsis": "g = np.stack((x, y))\ng[..., 0] = 3.0\nr = g[..., 1:], g[0, ...]",
    "new_axes": "r = x[:, None] * y[None, :]",
    "fancy_index": "r = x[[0, 2, 4]] + y[np.array([1, 1, 3])]",
    "fancy_target": "a[[0, 3]] = y[[1, 2]]\nr = a",
    "fancy_add": "a[[0, 0, 1]] += 1.0\nr = a",
    "add_at": "np.add.at(a, [0, 0, 1], 2.0)\nr = a",
    "mask_target": "a[a > 1.0] = 0.0\nr = a",
    "mask_update": "a[a > 1.0] *= 2.0\nr = a",
    "mask_read": "r = x[x > 0.0].sum()",
    "mask_values": "r = x[x > t]",
    "two_masks": "a[(x > 0.0) & (y > 0.0)] += y[(x > 0.0) & (y > 0.0)]\nr = a",
    "traced_index": "r = x[n] + x[-1 - m] + y[(n + m) % 5]",
    "traced_index_target": "a[n] = t\na[-1] += a[m]\nr = a",
    "outside": "r = x[n + 4]",
    "two_axes": "g = np.outer(x, y)\ng[n, 1:] = 0.0\nr = g[m] + g[:, n]",
    # -- augmented assignment
    "augmented_number": "s = 0.0\ns += t\ns -= 2\ns *= 3\ns /= 4\ns **= 2\nr = s",
    "augmented_integer": "k = 7\nk += n\nk //= 2\nk %= 5\nk <<= 2\nk |= 1\nk &= 13\nk ^= 3\nk >>= 1\nr = k",
    "augmented_array": "a += y\na -= 1\na *= 2.0\na /= 4\na **= 2\nr = a",
    "augmented_view": "v = a[1:4]\nv += 10\nv *= y[:3]\nr = a",
    "augmented_matrix_product": "g = np.outer(x, y)\ng @= np.eye(5) * 2\nr = g",
    "augmented_of_integers": "k = np.arange(5)\nk //= 2\nk %= 3\nk |= 4\nk ^= n\nr = k",
    "augmented_attribute": "p = Point(a)\np.place += 1.0\np.speed *= t\nr = a, p.speed",
    "augmented_item": "d = {'u': t, 'v': a}\nd['u'] += 1\nd['v'] *= 2\nr = d['u'], a",
    "augmented_list_item": "w = [t, a]\nw[0] -= 1\nw[1] += y\nw += [n]\nr = w",
    "integer_divided_in_place": "k = np.arange(5)\nk /= 2\nr = k",
    # -- del
    "del_name": "b = x + 1\nr = b.sum()\ndel b",
    "del_item": "w = [t, n, a]\ndel w[1]\nr = w",
    "del_slice": "w = [t, n, a, m]\ndel w[1:3]\nr = w",
    "del_key": "d = {'u': t, 'v': a}\ndel d['u']\nr = d",
    "del_attribute": "p = Point(a)\np.more = t\ndel p.more\nr = hasattr(p, 'more')",
    "read_after_del": "b = t\ndel b\nr = b",
    # -- conditions
    "ternary": "r = x if t > 0.0 else y",
    "ternary_of_numbers": "r = (t if n > m else -t) + (1 if n else 0)",
    "elif_chain": "if n == 0:\n    r = x\nelif n == 1:\n    r = y\nelif t > 1.0:\n    r = x + y\nelse:\n    r = x - y",
    "chained_comparison": "r = 0.0 < t < 3.0, n <= m < 4 != 5, (x[0] > x[1] > x[2])",
    "boolean_operators": "r = (t > 0.0 and n or m), not n, (n == 0 or x[n] > 0.0)",
    "short_circuit": "r = n != 0 and 10 // n > 3",
    "truth_of_arrays": "r = 1 if x else 0",
    "any_all": "r = any(v > 3.0 for v in x), all([n < 5, m < 5]), x.any(), (x > -9.0).all()",
    "is_none": "b = None\nif t > 0.0:\n    b = x\nr = y if b is None else b + 1",
    "membership": "r = n in (0, 1), n in range(2), 'u' in {'u': t}, n not in [5]",
    "membership_in_an_array": "r = t in x",
    "match_of_numbers": "match n:\n    case 0:\n        r = x\n    case 1 | 2:\n        r = x + 1\n    case _:\n        r = y",
    "match_with_guards": "match (n, m):\n    case (k, j) if k > j:\n        r = k * x\n    case (0, j):\n        r = j + y\n"
    "    case _:\n        r = x - y",
    "match_of_classes": "match Point(x, t):\n    case Point(place=b, speed=s):\n        r = b * s",
    "match_of_mappings": "match {'kind': 'sum', 'of': x}:\n    case {'kind': 'sum', 'of': b, **rest}:\n        r = b.sum()\n"
    "    case _:\n        r = 0.0",
    "match_of_sequences": "match [t, n, m]:\n    case [first, *others]:\n        r = first + sum(others)",
    "no_match": "r = -1.0\nmatch n:\n    case 17:\n        r = t",
    # -- loops
    "range_of_three": "r = 0\nfor k in range(n, 5, m + 1):\n    r += k",
    "range_down": "r = 0.0\nfor k in range(4, n - 1, -1):\n    r = r * 2 + x[k]",
    "range_by_a_traced_step": "r = 0.0\nfor k in range(0, 5, n - 4 if n else 2):\n    r += x[k]",
    "range_of_step_zero": "r = 0\nfor k in range(0, 4, n):\n    r += 1\n    if r > 9:\n        break",
    "for_else": "r = t\nfor k in range(n):\n    if x[k] > 3.5:\n        r = k\n        break\nelse:\n    r = -1",
    "while_else": "k = 0\nwhile k < n:\n    if x[k] < 0.0:\n        break\n    k += 1\nelse:\n    k = 10\nr = k",
    "continue_": "r = 0.0\nfor v in x:\n    if v < 0.0:\n        continue\n    r += v",
    "break_of_two": "r = 0\nfor k in range(4):\n    for j in range(4):\n        if x[k] > y[j] + n:\n            break\n"
    "        r += 1\n    if r > 5:\n        break",
    "while_true": "k, r = 0, t\nwhile True:\n    r = r * 0.5 + 1\n    k += 1\n    if k > n or r > 4.0:\n        break",
    "newton": "r = abs(t) + 1\nwhile abs(r * r - 2.0) > 1e-9:\n    r = 0.5 * (r + 2.0 / r)",
    "over_an_array": "r = 0.0\nfor v in a:\n    r = r * 0.5 + v",
    "over_rows": "r = x * 0\nfor row in np.stack((x, y, x + y)):\n    r = r * 0.5 + row",
    "enumerate_": "r = 0.0\nfor k, v in enumerate(x, n):\n    r += k * v",
    "zip_": "r = 0.0\nfor u, v in zip(x, y[1:]):\n    r += u * v",
    "zip_strict": "r = 0.0\nfor u, v in zip(x, y[n:], strict=True):\n    r += u * v",
    "reversed_": "r = 0.0\nfor v in reversed(x):\n    r = r * 0.5 + v",
    "reversed_range": "r = 0\nfor k in reversed(range(n + 3)):\n    r = r * 3 + k",
    "enumerate_of_zip": "r = 0.0\nfor k, (u, v) in enumerate(zip(x, y)):\n    r += k * u - v",
    "over_a_tuple": "r = x\nfor v in (t, 2.0, y):\n    r = r + v",
    "over_a_dict": "r = 0.0\nfor key, v in {'u': t, 'v': x.sum()}.items():\n    r += v * len(key)",
    "over_a_string": "r = t\nfor letter in 'abca':\n    r = r * 2 if letter == 'a' else r - 1",
    "over_a_set": "r = 0\nfor k in {3, 1, 2}:\n    r += k * n",
    "over_products": "r = 0.0\nfor k, j in itertools.product(range(2), range(3)):\n    r += x[k] * y[j]",
    "over_nditer": "r = 0.0\nfor v in np.nditer(x):\n    r += v",
    "over_ndindex": "r = 0.0\nfor k, j in np.ndindex(2, 3):\n    r += x[k] * y[j]",
    "over_flat": "g = np.outer(x, y)\nr = 0.0\nfor v in g.flat:\n    r = r * 0.5 + v",
    "target_is_an_item": "w = [0]\nfor w[0] in range(n):\n    pass\nr = w",
    "target_after_a_loop": "k = -1\nfor k in range(n):\n    pass\nr = k",
    "unbound_after_a_loop": "for kk in range(n):\n    pass\nr = kk",
    "changes_what_it_goes_over": "for k, v in enumerate(a):\n    a[-1 - k] = v * 2\nr = a",
    "names_first_bound_within": "for k in range(n + 1):\n    late = x * k\nr = late",
    "shape_changes_in_a_loop": "r = x\nfor k in range(2):\n    r = np.append(r, t)",
    "type_changes_in_a_loop": "r = 0\nfor k in range(n):\n    r = r + x[k]",
    "fibonacci": "r, nxt = 0, 1\nfor _ in range(n + m):\n    r, nxt = nxt, r + nxt",
    "bisection": "low, high = 0.0, 4.0\nwhile high - low > 1e-6:\n    mid = (low + high) / 2\n"
    "    if mid * mid > abs(t):\n        high = mid\n    else:\n        low = mid\nr = low",
    "insertion_sort": "for k in range(1, 5):\n    v, j = a[k], k - 1\n    while j >= 0 and a[j] > v:\n"
    "        a[j + 1] = a[j]\n        j -= 1\n    a[j + 1] = v\nr = a",
    "collatz": "k, r = n + 6, 0\nwhile k != 1:\n    k = k // 2 if k % 2 == 0 else 3 * k + 1\n    r += 1",
    # -- comprehensions and generators
    "list_comprehension": "r = [v * 2 for v in x]",
    "list_with_a_test": "r = [k for k in range(5) if k % 2 == 0]",
    "list_with_a_test_of_data": "r = [v for v in x if v > 0.0]",
    "nested_comprehension": "r = [[u * v for u in x[:2]] for v in y[:3]]",
    "array_of_a_comprehension": "r = np.array([v * k for k, v in enumerate(x)])",
    "dict_comprehension": "r = {str(k): x[k] for k in range(3)}",
    "set_comprehension": "r = len({k % 2 for k in range(5)}) * t",
    "generator_expression": "r = sum(v * v for v in x)",
    "generator_of_data": "r = sum(1 for v in x if v > t)",
    "generator_function": "r = sum(powers(t, 4))",
    "generator_in_a_loop": "r = x\nfor v in powers(x, 3):\n    r = r + v",
    "yield_from": "b, c = halves(x)\nr = b - c",
    "next_of_a_generator": "g = powers(t, 5)\nnext(g)\nr = next(g) + next(g)",
    "next_with_default": "r = next((k for k in range(5) if x[k] > 3.5), -1)",
    "map_and_filter": "r = list(map(lambda v: v + 1, [t, n])), list(filter(None, [0, 3, 5]))",
    "reduce_": "r = functools.reduce(lambda u, v: u * 2 + v, x, 0.0)",
    "accumulate_": "r = list(itertools.accumulate([t, n, m]))",
    "sorted_": "r = sorted(x)",
    "sorted_by_key": "r = sorted([t, float(n), float(m)], key=lambda v: -v)",
    "min_max": "r = max(x), min(t, n, m), max([t, 1.0]), min(x, key=abs)",
    # -- functions
    "lambda_": "double = lambda v, by=2: v * by\nr = double(x) + double(y, by=3)",
    "inner_function": "def inner(v):\n    return v * t\nr = inner(x) - inner(y)",
    "closure_that_writes": "def bump():\n    a[0] += 1\nbump()\nbump()\nr = a",
    "nonlocal_": "count = 0\ndef bump(v):\n    nonlocal count\n    count = count + v\nbump(t)\nbump(n)\nr = count",
    "functions_as_values": "table = {'sum': np.sum, 'double': lambda v: v * 2}\nr = table['sum'](x) + table['double'](t)",
    "late_closures": "fs = [lambda v, k=k: v + k for k in range(3)]\nr = fs[0](t) + fs[2](t)",
    "recursion": "r = factorial(4) * t",
    "recursion_on_arrays": "r = pairwise_sum(x)",
    "recursion_on_data": "r = factorial(n)",
    "default_arguments": "r = scaled(x) + scaled(x, 3.0)",
    "star_arguments": "w = (2.0, t)\nr = scaled(x, *w, n, offset=1.0, **{'last': m})",
    "keyword_only": "def f(v, /, *, by):\n    return v * by\nr = f(x, by=t)",
    "wrong_arguments": "r = writes(a, 0, 1.0, 2.0)",
    "several_results": "b, s, d = gives_several(x)\nr = b * s - d['least']",
    "writes_its_argument": "r = writes(a, n, t), a",
    "partial": "f = functools.partial(scaled, by=t)\nr = f(x)",
    "operators_as_functions": "r = operator.add(x, 1), operator.itemgetter(1)((t, n)), operator.mul(t, n)",
    "decorated_inner": "@twice\ndef f(v):\n    return v + n\nr = f(x)",
    "early_return_in_inner": "def f(v):\n    for u in v:\n        if u < 0.0:\n            return u\n    return 0.0\nr = f(x)",
    "return_from_finally": "def f(v):\n    try:\n        return v + 1\n    finally:\n        v[0] = 5.0\nr = f(a), a",
    # -- classes and containers
    "dataclass_": "p = Point(x, t)\nr = p.moved(2.0).place + p.doubled",
    "dataclass_replaced": "p = dataclasses.replace(Point(x, t), speed=n)\nr = p.place * p.speed",
    "attribute_set": "p = Point(x)\np.place = y\np.speed = p.speed + t\nr = p.place * p.speed",
    "attribute_in_a_loop": "p = Point(x, 0.0)\nfor k in range(n + 9):\n    p = p.moved(k)\n    p.speed = p.speed + 0.5\n"
    "r = p.place",
    "operators_of_a_class": "p = Point(x) + Point(y)\nr = p[n] + p(t)[0]",
    "static_and_class_methods": "r = Point.origin().place + t, Point.of(x, t).speed",
    "named_tuple": "p = Pair(x, t)\nfirst, second = p\nr = p.first * p.second, p._replace(second=n)",
    "local_class": "class Box:\n    size = 3\n    def __init__(self, v):\n        self.v = v\nb = Box(x)\nr = b.v * b.size",
    "tuple_of_arrays": "w = (x, y, t)\nr = w[0] + w[-1], w[:2], len(w), w + (n,)",
    "list_of_arrays": "w = [x + 1, y]\nw.append(x * y)\nw[0] = w[1] - 1\nr = w[0] + w.pop(), len(w)",
    "list_methods": "w = [n, m]\nw.extend([3, 4])\nw.insert(0, t)\nw.reverse()\nr = w, w.count(3), w.index(4)",
    "list_filled_in_a_loop": "w = []\nfor k in range(3):\n    w.append(x[k] * t)\nr = np.array(w)",
    "list_filled_by_data": "w = []\nfor v in x:\n    if v > 0.0:\n        w.append(v)\nr = len(w), sum(w)",
    "dict_of_arrays": "d = {'u': x, 'v': y}\nd['w'] = d['u'] * 2\nd.update(u=t)\nr = d['w'] + d.get('z', 1), sorted(d)",
    "dict_merged": "r = {'u': t, **{'v': n}} | {'u': m}",
    "dict_in_a_loop": "d = {'s': 0.0, 'k': 0}\nfor v in x:\n    d['s'] += v\n    d['k'] += 1\nr = d['s'] / d['k']",
    "missing_key": "r = {'u': t}['v']",
    "list_out_of_range": "r = [t, n][2]",
    "counter_and_deque": "w = deque([t, n], maxlen=2)\nw.append(m)\nr = list(w), Counter('aab')['a'] * t",
    "default_dict": "d = defaultdict(float)\nd['u'] += t\nd['u'] += n\nr = d['u']",
    "aliases": "b = a\nc = a[1:]\nb[1] = 7.0\nc[1] = 8.0\nr = a, b is a, np.shares_memory(c, a)",
    "alias_chosen_by_data": "b = a if t > 0.0 else y\nb[0] = 77.0\nr = a",
    "copies": "b = a.copy()\nb[0] = 1.0\nc = np.array(a)\nc += 1\nr = a, b, c",
    "views": "g = np.arange(10.0).reshape(2, 5)\ng.T[1] = t\ng.ravel()[0] = -1.0\ng[:, ::-1][0, 0] = x[0]\nr = g",
    "multiplied_list": "w = [t] * 3\nw[0] = n\nr = w, [x] * 2",
    # -- exceptions
    "try_that_holds": "try:\n    r = x + 1\nexcept ValueError:\n    r = y",
    "try_that_catches": "try:\n    r = x[n + 4]\nexcept IndexError:\n    r = -1.0",
    "try_else_finally": "w = []\ntry:\n    r = x * 2\nexcept ValueError:\n    r = y\nelse:\n    r = r + 1\nfinally:\n"
    "    w.append(1)\nr = r * len(w)",
    "except_as": "try:\n    raise ValueError('no', n)\nexcept (KeyError, ValueError) as error:\n    r = error.args[0]",
    "raised_by_data": "if t > 3.0:\n    raise ValueError('too much')\nr = t",
    "raised_in_a_loop": "r = 0.0\nfor v in x:\n    if v > 3.5:\n        raise ArithmeticError('big')\n    r += v",
    "raised_and_caught": "r = 0.0\ntry:\n    for v in x:\n        if v > 3.5:\n            raise StopIteration\n        r += v\n"
    "except StopIteration:\n    r = -r",
    "raise_from": "try:\n    try:\n        r = {}['u']\n    except KeyError as error:\n        raise RuntimeError('m') from error\n"
    "except RuntimeError as error:\n    r = type(error.__cause__).__name__",
    "reraised": "try:\n    r = 1 // n\nexcept ZeroDivisionError:\n    if m > 2:\n        raise\n    r = -1",
    "finally_that_writes": "try:\n    a[0] = 1.0\n    r = a[n + 3]\nfinally:\n    a[1] = 2.0",
    "writes_before_it_fails": "a[0] = 5.0\nx[1] = 6.0\nr = x[n + 4]",
    "assert_holds": "assert n >= 0, 'negative'\nr = x",
    "assert_fails_by_data": "assert t < 3.0, f'{n} is too much'\nr = x * 2",
    "exception_groups": "try:\n    raise ExceptionGroup('g', [ValueError('a')])\nexcept* ValueError as group:\n    r = 1.0",
    "suppressed": "r = t\nwith contextlib.suppress(IndexError):\n    r = x[n + 4]",
    "with_": "with Guard() as g:\n    r = x * 2\nr = r + g.left",
    "with_that_swallows": "r = y\nwith Guard([ZeroDivisionError]) as g:\n    r = x\n    r = x * (1 // 0)\nr = r + g.left",
    "two_contexts": "with Guard() as g, Guard() as h:\n    r = x - 1\nr = r * g.left * h.left",
    "errstate": "with np.errstate(all='ignore'):\n    r = x / (y - y)",
    # -- expressions
    "f_string": "r = f'{len(x)} of {n:d}'",
    "f_string_of_data": "r = f'{t:.3f}', f'{x[0]!r}'",
    "texts": "r = 'a,b'.split(','), '-'.join(['u', str(int(n))])",
    "integer_arithmetic": "r = n // 2, n % 3, -n // 2, n ** 2, divmod(n + 7, 3), n << 2, ~n, n ^ m, abs(-n)",
    "float_arithmetic": "r = t // 2, t % 3, -t % 3, t ** 2, divmod(t, 0.75), abs(t), round(t, 1), int(t), float(n)",
    "python_numbers": "k = int(n)\nr = k / 2, k * 1.5, k ** 3, k - 10 ** 3, bool(k), complex(k, t)",
    "division_by_zero": "r = 10 // int(n)",
    "float_division_by_zero": "r = float(t) / float(n)",
    "large_integers": "r = (int(n) + 3) ** 50",
    "mathematics": "r = math.sqrt(abs(t)), math.floor(t), math.hypot(t, 2.0), math.pi * t, math.exp(-t)",
    "domain": "r = math.sqrt(t)",
    "conversions": "r = x.astype(np.float32), np.float32(t), np.int64(n) + 1, int(x.sum()), float(x[0]), bool(n)",
    "mixed_types": "r = np.float32(0.5) * t, np.float32(0.5) * 2, x.astype(np.float32) * 2.0, np.arange(3) / 2",
    "matrix_product": "g = np.outer(x, y)\nr = g @ x, x @ y, x @ g @ y",
    "slices_of_steps": "r = x[::-1], x[1:4:2], x[-2:], x[:-1], x[3:0:-1]",
    "array_methods": "r = x.reshape(5, 1).T, x.cumsum(), x.argmax(), x.clip(0.0, 2.0), x.tolist(), x.mean(), x.std()",
    "made_arrays": "r = np.zeros(3), np.full(2, t), np.arange(4), np.linspace(0, t, 3), np.eye(2) * n",
    "size_by_data": "r = np.zeros(n + 1)",
    "arange_by_data": "r = np.arange(n), np.arange(m, 5)",
    "repeated": "r = np.repeat(x, n)",
    "unique_": "r = np.unique(np.round(x)).size * t",
    "nonzero_": "r = np.nonzero(x > 0.0)[0]",
    "where_of_one": "r = np.where(x > t)[0].sum()",
    "flatnonzero_": "r = x[np.flatnonzero(x > 0.0)].mean()",
    "argwhere_": "r = len(np.argwhere(x > 0.0))",
    "compress_": "r = np.compress(x > 0.0, y).sum(), np.extract(x > 0.0, y).size",
    "concatenated": "r = np.concatenate((x[:2], [t], y)), np.stack([x, y]), np.hstack((x, y[:1]))",
    "isinstance_": "r = isinstance(x, np.ndarray), isinstance(n, (int, np.integer)), type(t).__name__, callable(x)",
    "shape_and_size": "r = x.shape, x.ndim, len(x), x.size, x.dtype.name, x.strides",
    "identity": "r = a is a, a is x, None is None, (n is None)",
    "global_read": "r = t * LIMIT",
    "star_in_displays": "r = [*x[:2], *range(2)], (*[t], n), {**{'u': 1}}",
    "conditional_call": "r = (np.sin if n > 0 else np.cos)(x)",
    "subscript_of_a_call": "r = gives_several(x)[0][n], gives_several(x)[2]['least']",
    "bits_of_arrays": "k = np.arange(5)\nr = k & 1, k | n, k << 1, ~k, (k > 1) ^ (k < 3)",
    "comparisons_of_arrays": "r = x < y, x == x, (x >= 0.0) | (y < 0.0), np.array_equal(x, y)",
    "pass_and_docstring": "'text'\npass\n...\nr = t",
    "semicolons": "b = x; c = y; r = b * c",
    "import_within": "import math as mathematics\nr = mathematics.floor(2.5) * t",
    "print_": "print('n', int(n))\nr = t",
    "global_written": "global total\ntotal = t\nr = total + 1",
    "list_of_the_caller": "notes.append(t)\nr = len(notes)",
    "nested_lists": "w = [[t, n], [x]]\nw[0][1] += 1\nw[1].append(y)\nr = w",
    "tuple_compared": "r = (n, m) < (m, n), (1, t) == (1, t), [n] == [m]",
    "sum_of_arrays": "r = sum([x, y, x * y])",
    "getattr_": "r = getattr(x, 'sum')(), getattr(Point(x), 'missing', t)",
    "iter_next": "it = iter([t, n])\nr = next(it) * 2, next(it)",
    "zip_to_dict": "r = dict(zip(('u', 'v'), (t, n)))",
    "slice_assign_list": "w = [0, 1, 2, 3]\nw[1:3] = [t]\nr = w",
    "complex_numbers": "z = t + 2j\nr = z * z, abs(z), z.real, z.conjugate(), x * 1j",
    "vander": "r = np.poly1d([1.0, t])(2.0), np.polyval([1.0, t], n)",
    "out_of_ufuncs": "np.add(x, y, out=a)\nnp.multiply(a, 2.0, out=a, where=x > 0.0)\nr = a",
    "views_in_a_loop": "for k in range(3):\n    v = a[k:k + 2]\n    v *= 2.0\nr = a",
    "triangular_loop": "g = np.zeros((5, 5))\nfor k in range(5):\n    for j in range(k + 1):\n        g[k, j] = x[k] * y[j]\nr = g",
    "power_of_two_loop": "k, r = 1, 0.0\nwhile k < 5:\n    r += x[k]\n    k *= 2",
    "string_keys_by_data": "r = {'up' if t > 0.0 else 'down': x}",
}  # fmt: skip

INDENT = "    "
CONTEXTS: dict[str, str] = {
    "alone": "{body}\nreturn r, x, y, a",
    "in_a_branch": "r = None\nif t > 0.0:\n    a = a + 1\n{within}\nelse:\n    a = y * 2\nreturn r, x, y, a",
    "in_a_loop": "r = 0.0\nfor i in range(m + 1):\n    a[i % 5] += 1.0\n{within}\nreturn r, x, y, a",
    "in_a_while_loop": "r, i = t, 0\nwhile True:\n    i += 1\n{within}\n    if i > n:\n        break\nreturn r, x, y, a",
    "after_a_split": "count = np.unique(np.round(y)).size\na = a * count\n{body}\nreturn r, x, y, a",
    "in_a_try": "try:\n{within}\nexcept (ValueError, ZeroDivisionError):\n    a[0] = -1.0\n    r = t\nreturn r, x, y, a",
    "in_a_function": "def within(x, y, a, n, m, t, notes):\n{within}\n    return r\nr = within(x, y, a, n, m, t, notes)\n"
    "return r, x, y, a",
}
"""Where the form stands: `{{body}}` is it, `{{within}}` the same a level deeper."""
OTHERWISE: dict[str, str] = {
    "for_else": "a number that is a float on one way is one on all",
    "type_changes_in_a_loop": "a number that is a float on one way is one on all",
    "division_by_zero": "Python's numbers are divided as NumPy's are",
    "float_division_by_zero": "Python's numbers are divided as NumPy's are",
    "large_integers": "Python's integers have 64 bits",
    "writes_before_it_fails": "nothing is written where an index turns out to be outside",
    "finally_that_writes": "nothing is written where an index turns out to be outside",
}
"""Forms that one program has another meaning for, as the guides say."""


def function_text(form: str, context: str) -> str:
    """The module that has the function `program` with the form in the context."""
    body = FORMS[form]
    text = CONTEXTS[context].replace("{body}", body).replace("{within}", textwrap.indent(body, INDENT))
    head = ["def program(x, y, q, notes):", f"{INDENT}n, m, t = q[0], q[1], x[4]", f"{INDENT}a = x.copy()"]
    return "\n".join([PRELUDE, "", *head, textwrap.indent(text, INDENT), ""])


def all_functions() -> list[tuple[str, str]]:
    """All forms in all contexts, but for those that mean something else in one program."""
    return [(form, context) for form in FORMS if form not in OTHERWISE for context in CONTEXTS]
