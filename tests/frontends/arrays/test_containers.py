"""Lists, dictionaries, objects and exceptions where the program branches: as in Python, or refused, never otherwise."""

# pyright: basic
# ruff: noqa: RUF034

from __future__ import annotations

import numpy as np
import pytest

import windlass as wl
from tests.frontends.arrays.running import whole


def a_list_from_before_is_shared(x, q):
    items = [x * 1.0]
    others = items
    for _ in range(q[0]):
        items = [items[0] * 2]
    items[0] = x * 7
    return others[0]


def a_list_grows_in_a_branch(x, q):
    items = [x]
    if q[0] > 1:
        items.append(x * 2)
    return len(items)


def a_list_is_added_to_in_a_branch(x, q):
    items = [x]
    if q[0] > 1:
        items += [x * 2]
    return len(items)


def a_list_is_sorted_in_a_branch(x, q):
    items = [3, 1, 2]
    if q[0] > 1:
        items.sort()
    return items[0]


def a_list_grows_by_a_function(x, q):
    items = [1.0]

    def grow():
        list.append(items, 2.0)

    if q[0] > 1:
        grow()
    return len(items)


def an_element_is_deleted_in_a_branch(x, q):
    items = {"a": 1, "b": 2}
    if q[0] > 1:
        del items["a"]
    return len(items)


def a_dictionary_of_either_side(x, q):
    items = {"a": x * 1.0}
    others = items
    if q[0] > 1:
        items = {"a": items["a"] * 2}
    items["a"] = x * 9
    return others["a"]


def names_are_compared(x, q):
    y = x * 1.0
    z = y
    for _ in range(q[0]):
        y = y * 2
    return 1.0 if y is z else 0.0


def an_attribute_is_set_in_a_branch(x, q):
    class Held:
        value = 1.0

    held = Held()
    if q[0] > 1:
        setattr(held, "value", 2.0)  # noqa: B010
    return held.value


def an_iterator_goes_on_in_a_branch(x, q):
    numbers = iter([1.0, 2.0, 3.0])
    if q[0] > 1:
        next(numbers)
    return next(numbers)


def a_name_around_is_bound_in_a_loop(x, q):
    s = 0.0

    def add():
        nonlocal s
        s = s + 1.0

    for _ in range(q[0]):
        add()
    return s


def raised_on_one_side(x, q):
    y = 0.0
    try:
        if q[0] > 1:
            y = 1.0
            _refuse_three(3)
    except ValueError:
        return y + 10.0
    return y


def refusals_are_not_handled(x, q):
    try:
        for _ in range(q[0]):
            x = np.concatenate([x, x])
        return 1.0
    except Exception:
        return 2.0


class Log:
    """Whose special methods and properties change it."""

    entries = [0.0]  # noqa: RUF012

    def __init__(self):
        self.items = [1.0]
        self.count = 0

    def __add__(self, other):
        self.items.append(other)
        return self

    def __getitem__(self, index):
        self.count += 1
        return index

    def __enter__(self):
        self.entries.append(1.0)
        return self

    def __exit__(self, *_):
        return False

    @property
    def grown(self):
        self.items.append(2.0)
        return 1.0


def by_an_operator(x, q):
    log = Log()
    if q[0] > 1:
        log + 1.0  # pyright: ignore[reportUnusedExpression]
    return len(log.items)


def by_a_property(x, q):
    log = Log()
    if q[0] > 1:
        log.grown  # pyright: ignore[reportUnusedExpression]
    return len(log.items)


def by_a_special_method(x, q):
    log = Log()
    if q[0] > 1:
        log[3]  # pyright: ignore[reportUnusedExpression]
    return log.count


def by_a_with_statement(x, q):
    log = Log()
    if q[0] > 1:
        with log:
            pass
    return len(log.entries)


def by_a_generator(x, q):
    items = [1.0]

    def numbers():
        items.append(2.0)
        yield 1

    while q[0] > 1:
        sum(numbers())
        q = q - 1
    return len(items)


def by_a_method_that_is_handed_on(x, q):
    items = [1.0]
    if q[0] > 1:
        list(map(items.append, [1, 2]))
    return len(items)


@pytest.mark.parametrize(
    "function",
    [
        a_list_from_before_is_shared,
        a_list_grows_in_a_branch,
        a_list_is_added_to_in_a_branch,
        a_list_is_sorted_in_a_branch,
        a_list_grows_by_a_function,
        an_element_is_deleted_in_a_branch,
        a_dictionary_of_either_side,
        names_are_compared,
        an_attribute_is_set_in_a_branch,
        an_iterator_goes_on_in_a_branch,
        a_name_around_is_bound_in_a_loop,
        raised_on_one_side,
        refusals_are_not_handled,
        by_an_operator,
        by_a_property,
        by_a_special_method,
        by_a_with_statement,
        by_a_generator,
        by_a_method_that_is_handed_on,
    ],
)
def test_what_only_python_could_undo_is_refused(function):
    with pytest.raises(wl.WindlassError, match=r"WL0904|WL0908|WL0910"):
        whole(function)(np.arange(5.0), np.array([0]))


# -- as in Python -----------------------------------------------------------------------------------------------------


def a_list_of_the_branch(x, q):
    s = 0.0
    if q[0] > 1:
        items = [x[0], x[1]]
        items.append(x[2])
        items[0] = x[3]
        s = items[0] + items[2]
    return s


def a_list_outside_of_branches(x, q):
    items = []
    for i in range(3):
        items.append(x[i] * 2)
        if q[0] > 1:
            x[i] = 0.0
    return items[2] + len(items)


def names_until_an_exception(x, q):
    y = 0.0
    try:
        for i in range(5):
            y = _refuse_three(i)
    except ValueError:
        return y + x[0]
    return 10.0


def branches_until_an_exception(x, q):
    y = x[0]
    try:
        if len(x) > 3:
            y = x[1]
            _refuse_three(3)
    except ValueError:
        return y
    return 10.0


def nothing_raised(x, q):
    y = 0.0
    try:
        if q[0] > 1:
            y = x[1]
        for i in range(q[0]):
            y = y + i
    except ValueError:
        return x[0]
    return y


def the_last_word(x, q):
    s = x[0]
    try:
        for i in range(3):
            s = s + x[i]
    finally:
        s = s * 2
    return s


def read_by_a_function(x, q):
    for i in range(q[0] + 1):
        v = x * i

    def second():
        return v[1]

    return second()


def read_by_a_generator(x, q):
    if q[0] > -1:
        v = x[2]

    def twice():
        yield v * 2

    return sum(twice())


def both_sides_the_same(x, q):
    y = x * 2
    b = y if q[0] > 1 else y
    if x[1] > 0.5:
        c = y
    else:
        c = y
    return b + c


@pytest.mark.one_in(2)
@pytest.mark.parametrize("n", [0, 1, 3])
@pytest.mark.parametrize(
    "function",
    [
        a_list_of_the_branch,
        a_list_outside_of_branches,
        names_until_an_exception,
        branches_until_an_exception,
        nothing_raised,
        the_last_word,
        read_by_a_function,
        read_by_a_generator,
        both_sides_the_same,
    ],
)
def test_behaves_as_python(function, n):
    x, given = np.arange(5.0), np.arange(5.0)
    wanted = function(x, np.array([n]))
    np.testing.assert_array_equal(whole(function)(given, np.array([n])), wanted)
    np.testing.assert_array_equal(given, x)


def test_a_function_is_told_of_a_name_around_it_that_is_unbound():
    def function(x, q):
        for i in range(q[0]):
            v = x * i

        def first():
            return v[0]

        return first()

    with pytest.raises(UnboundLocalError, match="'v' is read, and no statement that binds it has run"):
        whole(function)(np.arange(5.0), np.array([0]))


def _refuse_three(i):
    if i == 3:
        raise ValueError("three")
    return i * 1.0
