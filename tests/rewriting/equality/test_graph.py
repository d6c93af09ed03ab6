"""Graphs of equalities: what is equal stays equal, and what follows by congruence becomes so."""

from __future__ import annotations

import itertools
import random

import pytest

from windlass.ir import Builder, TypeFault, Value
from windlass.ir.values import tensor
from windlass.ops import Add, Constant, Multiply, Negate, Subtract, Transpose
from windlass.rewriting.equality.graph import EqualityGraph
from windlass.rules.sorts import sort_by

X, Y, Z = (tensor("f32", 2, 2, name=name) for name in "xyz")


def test_ops_of_equal_operands_become_equal_all_the_way_up() -> None:
    graph = EqualityGraph()
    with Builder(graph.block):
        towers = [Negate(Negate(Transpose(each, (1, 0)))) for each in (X, Y)]
    first, second = map(graph.enter, towers)
    assert graph.find(first) != graph.find(second)
    graph.unite(graph.number(X), graph.number(Y))
    graph.rebuild()
    assert graph.find(first) == graph.find(second)
    assert len(graph.nodes) == 3


def test_operands_of_commutative_ops_may_change_places_and_those_of_others_not() -> None:
    graph = EqualityGraph()
    with Builder(graph.block):
        numbers = [graph.enter(each) for each in (Add(X, Y), Add(Y, X), Subtract(X, Y), Subtract(Y, X))]
    assert numbers[0] == numbers[1] and numbers[2] != numbers[3]


def test_unions_make_an_equivalence() -> None:
    """As sets that are merged by hand, for random pairs."""
    values: list[Value] = [tensor("f32", 3) for _ in range(12)]
    graph, draw = EqualityGraph(), random.Random(0)
    numbers = list(map(graph.enter, values))
    groups = [{place} for place in range(12)]
    for _ in range(8):
        one, other = draw.sample(range(12), 2)
        graph.unite(numbers[one], numbers[other])
        joined = groups[one] | groups[other]
        for place in joined:
            groups[place] = joined
        graph.rebuild()
        for a, b in itertools.combinations(range(12), 2):
            assert (graph.find(numbers[a]) == graph.find(numbers[b])) == (b in groups[a])


def test_results_of_one_op_stay_apart_until_they_are_said_to_be_equal() -> None:
    graph = EqualityGraph()
    with graph.build():
        first, second = (sort_by((each, Y), 0) for each in (X, Z))
    numbers = [graph.enter(result) for op in (first, second) for result in op.results]
    assert len(set(numbers)) == 4
    graph.unite(graph.number(X), graph.number(Z))
    graph.rebuild()
    found = list(map(graph.find, numbers))
    assert found[0] == found[2] != found[1] == found[3]


def test_a_value_may_be_made_of_itself() -> None:
    graph = EqualityGraph()
    with Builder(graph.block):
        product = Multiply(X, Constant.of(1, "f32", (2, 2)))
    graph.unite(graph.enter(product), graph.number(X))
    graph.rebuild()
    (node,) = [each for each in graph.nodes.values() if isinstance(each.op, Multiply)]
    assert node.homes[0] in node.operands


def test_constants_represent_their_classes() -> None:
    graph = EqualityGraph()
    with Builder(graph.block):
        total, one = Add(X, Y), Constant.of(1, "f32", (2, 2))
        user = Negate(total)
    number = graph.enter(user)
    graph.unite(graph.enter(total), graph.enter(one))
    graph.rebuild()
    (node,) = [each for each, _ in graph.classes[graph.find(number)].members]
    assert isinstance(node.op.operands[0], Constant)


def test_values_of_different_types_are_never_equal() -> None:
    graph = EqualityGraph()
    with pytest.raises(TypeFault, match="were said to be equal"):
        graph.unite(graph.enter(X), graph.enter(tensor("f64", 2, 2)))


def test_closed_graphs_use_nothing_of_the_program() -> None:
    x, y = tensor("f32", 2, 2), tensor("f32", 2, 2)
    graph = EqualityGraph()
    with graph.build() as builder:
        kept, lost = Add(x, y), Negate(x)
        graph.enter(kept)
        assert builder.placed == [kept, lost]
    graph.discard([lost])
    assert list(x.uses) == [kept]
    graph.close()
    assert not x.uses and not y.uses
