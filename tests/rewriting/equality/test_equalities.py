"""The laws of each equality that is declared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from windlass.catalogue import catalogue
from windlass.facts.terms import evaluate_term
from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import Convert
from windlass.ops.contraction import matmul
from windlass.rewriting.equalities import Equality, equalities
from windlass.rewriting.equality.graph import EqualityGraph
from windlass.rewriting.equality.laws import find_breach
from windlass.rules.convolutions import convolve
from windlass.rules.equalities_of_products import convolutions_of_one_input, products_of_one_operand


@pytest.mark.parametrize("equality", equalities, ids=lambda each: each.name)
def test_equality_keeps_meaning_and_type_and_finds_pairs(equality: Equality) -> None:
    breach = find_breach(equality)
    assert breach is None, str(breach)


def test_names_of_equalities_are_those_of_no_rule() -> None:
    names = [each.name for each in (*catalogue, *catalogue.passes, *equalities)]
    assert len(names) == len(set(names))


def test_joined_products_do_not_meet_each_others_special_values() -> None:
    x, y, z = tensor("f32", 2, 3), tensor("f32", 3, 2, name="y"), tensor("f32", 3, 1, name="z")
    graph = EqualityGraph()
    with graph.build():
        for value in (matmul(x, y), matmul(x, z)):
            graph.enter(value)
        pairs = list(products_of_one_operand.body(graph))
    known: dict[Value, Any] = {
        x: np.ones((2, 3), "f4"),
        y: np.array([[np.nan, 1], [np.inf, 2], [1, 3]], "f4"),
        z: np.ones((3, 1), "f4"),
    }
    assert len(pairs) == 2
    for old, new in pairs:
        np.testing.assert_array_equal(evaluate_term(old, dict(known)), evaluate_term(new, dict(known)))


@pytest.mark.parametrize(("is_finite", "found"), [(True, 2), (False, 0)])
def test_kernels_are_padded_only_where_no_infinity_meets_the_zeros(is_finite: bool, found: int) -> None:
    kernels = tensor("f32", 1, 2, 3, 3, name="k"), tensor("f32", 1, 2, 1, 1, name="l")
    graph = EqualityGraph()
    with graph.build():
        x = Convert(tensor("i8", 1, 2, 4, 4), "f32") if is_finite else tensor("f32", 1, 2, 4, 4)
        for kernel, edge in zip(kernels, (1, 0), strict=True):
            graph.enter(convolve(x, kernel, padding=((edge, edge),) * 2))
        assert len(list(convolutions_of_one_input.body(graph))) == found
