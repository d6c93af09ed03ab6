"""Rules ask one place who else uses a value, which has no answer yet where sharing is left open."""

from __future__ import annotations

import re
from pathlib import Path

import windlass.rules
from windlass.ir import Block, Builder, tensor_type
from windlass.ir.values import tensor
from windlass.ops import Add, Negate, Slice
from windlass.rewriting.sharing import is_alone, is_needed, is_used_once, left_open, users_of
from windlass.rules.slices import is_worth_slicing
from windlass.rules.sorts import sort_by, sort_with_unused_results


def test_value_used_twice_by_one_op_is_alone_but_not_used_once() -> None:
    x = Negate(tensor("f32", 3))
    total = Add(x, x)
    assert is_alone(x) and not is_used_once(x) and not is_alone(x, total)
    assert list(users_of(x)) == [total]
    Negate(x)
    assert not is_alone(x)
    with left_open():
        assert is_alone(x) and is_used_once(x) and is_alone(x, total) and not users_of(x)


def test_what_stands_in_another_block_is_not_alone_even_where_sharing_is_open() -> None:
    outer, inner = Block([tensor_type((3,), "f32")]), Block()
    with Builder(outer):
        x = Negate(outer.arguments[0])
    with Builder(inner):
        user = Negate(x)
    with left_open():
        assert not is_alone(x, user)


def test_results_that_are_not_used_yet_stay_needed_where_sharing_is_open() -> None:
    both = sort_by((tensor("f32", 9), tensor("f32", 9, name="y")), 0)
    Negate(both.results[0])
    assert sort_with_unused_results(both) is not None
    with left_open():
        assert all(map(is_needed, both.results)) and sort_with_unused_results(both) is None


def test_slices_of_a_shared_value_are_worth_it_where_sharing_is_open() -> None:
    x = Negate(tensor("f32", 9))
    Slice(x, (0,), (8,), (1,))
    Add(x, x)
    assert not is_worth_slicing(x)
    with left_open():
        assert is_worth_slicing(x)


def test_rules_look_at_uses_of_the_arguments_of_their_own_regions_only() -> None:
    for file in Path(windlass.rules.__file__).parent.glob("*.py"):
        for line in file.read_text().splitlines():
            assert re.search(r"\.uses\b", line) is None or re.search(r"block\.arguments\[[^]]*\]\.uses", line), line
