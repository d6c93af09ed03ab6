"""The cheapest choice of a graph, compared with all choices that there are."""

from __future__ import annotations

import itertools
import random

import pytest

from windlass.facts.cost import CPU, Price
from windlass.ir import Builder, Op, Value
from windlass.ir.values import tensor
from windlass.ops import Add, Exponential, Maximum, Multiply, Negate, Reshape, Tanh
from windlass.rewriting.equality.extraction import Choice, Extraction, goes_in_circles
from windlass.rewriting.equality.graph import EqualityGraph, Node


def cheapest_of_all(extraction: Extraction) -> float:
    """The price of the best choice, found by trying each."""
    graph = extraction.graph
    classes = [number for number, each in graph.classes.items() if each.given is None]
    options: list[list[Node]] = [[node for node, _ in graph.classes[number].members] for number in classes]
    best = float("inf")
    for nodes in itertools.product(*options):
        chosen = extraction.reached(dict(zip(classes, nodes, strict=True)))
        if not goes_in_circles(chosen):
            best = min(best, extraction.price(chosen))
    return best


def random_graph(seed: int) -> tuple[Extraction, EqualityGraph]:
    """Eight ops or so on two values, some of which are said to be equal, with random prices."""
    draw, graph = random.Random(seed), EqualityGraph()
    values: list[Value] = [tensor("f32", 4), tensor("f32", 4, name="y")]
    with Builder(graph.block):
        for _ in range(draw.randint(5, 9)):
            kind = draw.choice((Negate, Tanh, Exponential, Add, Multiply, Maximum, Reshape))
            operands = [draw.choice(values) for _ in range(2)]
            if kind is Reshape:
                made: Value = Reshape(Reshape(operands[0], (2, 2)), (4,))
            elif issubclass(kind, (Add, Multiply, Maximum)):
                made = kind(operands[0], operands[1])
            else:
                made = kind(operands[0])  # pyright: ignore[reportCallIssue]
            values.append(made)
    numbers = [graph.enter(value) for value in values]
    for _ in range(draw.randint(1, 4)):
        # Not with what is given, which would cost nothing.
        graph.unite(*draw.sample(numbers[2:], 2))
    graph.rebuild()
    extraction = Extraction(graph, draw.sample(numbers[2:], 2), CPU)
    for node, price in extraction.prices.items():
        if not node.op.is_free:
            extraction.prices[node] = Price(draw.randint(1, 9), draw.choice((0, 5)), draw.random() < 0.3)
        assert price.inside >= 0
    return extraction, graph


def test_linear_program_finds_the_best_of_all_choices() -> None:
    for seed in range(40):
        extraction, _ = random_graph(seed)
        trees = extraction.choose_trees()
        assert not goes_in_circles(trees)
        found = extraction.choose(trees)
        assert found is not None and not goes_in_circles(found)
        best = cheapest_of_all(extraction)
        assert extraction.price(found) == pytest.approx(best, rel=1.1e-2)


def test_what_is_shared_counts_once() -> None:
    """As trees, f(x) + g(x) and h(x) + h(x) cost the same; shared, the second is cheaper."""
    graph, x = EqualityGraph(), tensor("f32", 4)
    with Builder(graph.block):
        apart, shared = Add(Negate(x), Exponential(x)), Add(Tanh(x), Tanh(x))
    root = graph.enter(apart)
    graph.unite(root, graph.enter(shared))
    graph.rebuild()
    extraction = Extraction(graph, [root], CPU)
    prices: dict[type[Op], float] = {Negate: 4.0, Exponential: 4.0, Tanh: 5.0, Add: 1.0}
    for node in extraction.prices:
        extraction.prices[node] = Price(prices[type(node.op)], 0.0, False)
    trees = extraction.choose_trees()
    found = extraction.choose(trees)
    assert found is not None
    assert {type(node.op) for node in trees.values()} == {Add, Negate, Exponential}
    assert {type(node.op) for node in found.values()} == {Add, Tanh}


def test_choices_do_not_go_in_circles_though_that_would_be_cheapest() -> None:
    """x = f(y) and y = g(x) are cheap, but one of them has to be computed from what is given."""
    graph, given = EqualityGraph(), tensor("f32", 4)
    with Builder(graph.block):
        first, second = Exponential(given), Tanh(given)
        back, forth = Negate(second), Add(first, first)
    one, other = graph.enter(first), graph.enter(second)
    graph.unite(one, graph.enter(back))
    graph.unite(other, graph.enter(forth))
    graph.rebuild()
    extraction = Extraction(graph, [one, other], CPU)
    prices: dict[type[Op], float] = {Exponential: 10.0, Tanh: 12.0, Negate: 1.0, Add: 1.0}
    for node in extraction.prices:
        extraction.prices[node] = Price(prices[type(node.op)], 0.0, False)
    found = extraction.choose(extraction.choose_trees())
    assert found is not None
    assert sorted(type(node.op).__name__ for node in found.values()) == ["Add", "Exponential"]


def test_a_circle_is_seen() -> None:
    graph, given = EqualityGraph(), tensor("f32", 4)
    with Builder(graph.block):
        first, second = Exponential(given), Tanh(given)
        back, forth = Negate(second), Add(first, first)
    numbers = [graph.enter(value) for value in (first, second, back, forth)]
    graph.unite(numbers[0], numbers[2])
    graph.unite(numbers[1], numbers[3])
    graph.rebuild()
    nodes = {type(node.op): node for node in graph.nodes.values()}
    one, other = graph.find(numbers[0]), graph.find(numbers[1])
    circle: Choice = {one: nodes[Negate], other: nodes[Add]}
    assert goes_in_circles(circle) and not goes_in_circles({one: nodes[Exponential], other: nodes[Add]})
