"""Regions of programs are saturated, and what comes out is cheaper and means the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from windlass.catalogue import catalogue
from windlass.diagnostics.deadline import ending_at
from windlass.facts.cost import CPU, estimate_cost
from windlass.ir import Block, Builder, Function, Module, Region, tensor_type
from windlass.ir.verifier import verify
from windlass.ops import Add, Return
from windlass.ops.contraction import matmul
from windlass.ops.evaluation import evaluate_function
from windlass.rewriting.equalities import equalities
from windlass.rewriting.equality.matching import Limits
from windlass.rewriting.equality.regions import SATURATION, EqualRegion, list_equal_programs, list_regions, saturating
from windlass.rewriting.rule import RuleSet
from windlass.rules.convolutions import convolve
from windlass.stablehlo import import_text
from windlass.stablehlo.bisecting import bisect
from windlass.stablehlo.optimizing import Choices, Report, count_ops, optimize_module

Program = Callable[..., Any]


def optimized(program: Program, shapes: Sequence[tuple[int, ...]], **choices: Any) -> tuple[Module, Report]:
    """What becomes of a program on floats of these shapes, checked to mean the same."""
    text = jax.jit(program).lower(*(jax.ShapeDtypeStruct(shape, np.float32) for shape in shapes)).as_text()
    module = import_text(text)
    report = optimize_module(module, Choices.make(device="cpu", **choices), estimates=True)
    verify(module)
    return module, report


def same_meaning(program: Program, shapes: Sequence[tuple[int, ...]], module: Module) -> None:
    draw = np.random.default_rng(0)
    arrays = [draw.standard_normal(shape).astype(np.float32) for shape in shapes]
    expected = jax.tree.leaves(program(*arrays))
    for one, other in zip(expected, evaluate_function(module.main, *arrays, module=module), strict=True):
        np.testing.assert_allclose(other, one, rtol=2e-4, atol=2e-4 * float(np.abs(one).max(initial=0.0)))


def multiplied_out(a: Any, b: Any, x: Any, y: Any) -> Any:
    return (a @ x + b @ y) + (a @ y + b @ x)


def shared_middle(a: Any, b: Any, c: Any, d: Any) -> Any:
    return (a @ b) @ c, b @ (c @ d)


def chain_and_factor(x: Any, a: Any, b: Any, c: Any, v: Any) -> Any:
    return x @ (a @ v) + x @ (b @ v) + (x @ c) @ v


def two_convolutions(x: Any, k: Any, m: Any) -> Any:
    def convolve(kernel: Any) -> Any:
        return jax.lax.conv_general_dilated(
            jnp.tanh(x), kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )

    return jnp.concatenate([convolve(k), convolve(m)], -1)


def diagonal_matmul_gradient(d: Any, x: Any) -> Any:
    def scaled(d: Any, x: Any) -> Any:
        places = jnp.arange(d.shape[0])
        return jnp.sum(jnp.sin(jnp.zeros((d.shape[0],) * 2).at[places, places].set(d) @ x))

    return jax.grad(scaled, (0, 1))(d, x)


N, K = 64, 60
EXAMPLES: dict[str, tuple[Program, list[tuple[int, ...]], dict[str, int]]] = {
    "multiplied_out": (multiplied_out, [(N, N)] * 4, {"dot_general": 1, "add": 2}),
    "shared_middle": (shared_middle, [(N, N), (N, K), (K, N), (N, N)], {"dot_general": 3}),
    "two_convolutions": (two_convolutions, [(1, 28, 28, 32), (3, 3, 32, 8), (3, 3, 32, 8)], {"convolution": 1}),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_region_becomes_what_greedy_rewriting_does_not_find(name: str) -> None:
    program, shapes, expected = EXAMPLES[name]
    greedy, before = optimized(program, shapes)
    module, after = optimized(program, shapes, saturate=True)
    assert before.cost_after is not None and after.cost_after is not None
    assert after.cost_after.seconds < before.cost_after.seconds
    assert SATURATION in after.count_by_rule() and SATURATION not in before.count_by_rule()
    counts = count_ops(module)
    assert {op: counts[op] for op in expected} == expected != {op: count_ops(greedy)[op] for op in expected}
    same_meaning(program, shapes, module)


@pytest.mark.parametrize(
    ("program", "shapes"),
    [(chain_and_factor, [(N, N)] * 4 + [(N, 8)]), (diagonal_matmul_gradient, [(N,), (N, N)])],
)
def test_result_is_never_dearer_than_what_greedy_rewriting_finds(
    program: Program, shapes: list[tuple[int, ...]]
) -> None:
    _, before = optimized(program, shapes)
    module, after = optimized(program, shapes, saturate=True)
    assert before.cost_after is not None and after.cost_after is not None
    assert after.cost_after.seconds <= before.cost_after.seconds
    same_meaning(program, shapes, module)


def test_region_that_is_cheaper_by_itself_but_not_where_it_stands_stays() -> None:
    def correlation(data: Any) -> Any:
        deviation = jnp.std(data, 0)
        deviation = jnp.where(deviation <= 0.1, 1.0, deviation)
        scaled = (data - jnp.mean(data, 0)) / (jnp.sqrt(data.shape[0]) * deviation)
        return scaled.T @ scaled

    (_, before), (_, after) = (optimized(correlation, [(1000, 800)], saturate=each) for each in (False, True))
    assert before.cost_after is not None and after.cost_after is not None
    assert after.cost_after.seconds <= before.cost_after.seconds


def test_rewriting_can_be_replayed_step_by_step() -> None:
    program, shapes, _ = EXAMPLES["multiplied_out"]
    text = jax.jit(program).lower(*(jax.ShapeDtypeStruct(shape, np.float32) for shape in shapes)).as_text()
    choices = Choices.make(device="cpu", saturate=True)
    runs = [import_text(text) for _ in range(3)]
    whole = optimize_module(runs[0], choices)
    assert [entry.rule for entry in optimize_module(runs[1], choices).rewrites] == [e.rule for e in whole.rewrites]
    place = [entry.rule for entry in whole.rewrites].index(SATURATION)
    before = optimize_module(runs[2], choices, steps=place)
    assert SATURATION not in before.count_by_rule() and count_ops(runs[2])["dot_general"] == 4
    made_by = {name for op in runs[0].main.walk() for name in op.made_by}
    assert SATURATION in made_by and made_by - {SATURATION} <= {rule.name for rule in choices.rule_set()}


@pytest.mark.slow
def test_bisection_finds_the_region_at_fault() -> None:
    program, shapes, _ = EXAMPLES["multiplied_out"]
    text = jax.jit(program).lower(*(jax.ShapeDtypeStruct(shape, np.float32) for shape in shapes)).as_text()
    fault = bisect(text, lambda each: each.count("dot_general") > 1, Choices.make(device="cpu", saturate=True))
    assert fault is not None and fault.rule is not None and fault.rule.name == SATURATION
    assert fault.before.count("dot_general") == 4 and fault.after.count("dot_general") == 1


def test_equalities_are_left_out_where_sums_keep_their_order() -> None:
    program, shapes, _ = EXAMPLES["multiplied_out"]
    module, _ = optimized(program, shapes, saturate=True, exact=True)
    assert count_ops(module)["dot_general"] == 4


def test_one_equality_or_the_whole_pass_can_be_left_out_by_name() -> None:
    program, shapes, _ = EXAMPLES["shared_middle"]
    for name in ("associated_products", SATURATION):
        module, _ = optimized(program, shapes, saturate=True, without=name)
        assert count_ops(module)["dot_general"] == 4


def test_nothing_is_saturated_when_time_is_over() -> None:
    module = import_text(jax.jit(multiplied_out).lower(*[jax.ShapeDtypeStruct((N, N), np.float32)] * 4).as_text())
    with ending_at(0.0):
        report = optimize_module(module, Choices.make(device="cpu", saturate=True))
    assert SATURATION not in report.count_by_rule() and count_ops(module)["dot_general"] == 4


def test_products_within_loops_and_around_them_are_saturated_and_loops_stay() -> None:
    def program(a: Any, b: Any, x: Any, y: Any) -> Any:
        def step(_: Any, carried: Any) -> Any:
            return 0.01 * multiplied_out(a, b, carried, y)

        start = multiplied_out(a, b, x, y)
        return jax.lax.fori_loop(0, 5, step, start) @ a

    shapes = [(N, N)] * 4
    module, report = optimized(program, shapes, saturate=True)
    assert report.count_by_rule()[SATURATION] >= 2
    counts = count_ops(module)
    assert counts["while"] == 1 and counts["dot_general"] <= 4
    same_meaning(program, shapes, module)


# -- which ops make a region ------------------------------------------------------------------------------------------


def test_region_does_not_depend_on_itself_through_what_is_outside() -> None:
    """a = x·x, b = (a + x)·a, with the sum outside by a note on it: a and b are in two regions."""
    type_ = tensor_type((4, 4), "f32")
    block = Block([type_])
    x = block.arguments[0]
    with Builder(block):
        a = matmul(x, x)
        twice = matmul(a, a)
        outside = Add(a, x)
        outside.extra = {"mhlo.sharding": '"{replicated}"'}
        b = matmul(outside, a)
        last = matmul(b, b)
        Return((twice, last))
    regions = list(list_regions(block))
    assert [set(region.ops) for region in regions] == [{a, twice}, {b, last}]
    assert outside in regions[1].inputs and a in regions[1].inputs


def test_region_lists_what_it_takes_and_what_is_taken_from_it() -> None:
    block = Block([tensor_type((4, 4), "f32")] * 2)
    x, y = block.arguments
    with Builder(block):
        first = matmul(x, y)
        second = matmul(first, y)
        Return((second,))
    region = EqualRegion.of([first, second])
    assert region.inputs == (x, y) and region.results == (second,)
    assert region.cost(CPU).kernels == estimate_cost([second], {x, y}, CPU).kernels == 2


def test_limits_stop_the_graph_and_leave_the_program_right() -> None:
    rules = RuleSet(catalogue)
    for limits in (Limits(nodes=5), Limits(rounds=1), Limits(steps=3), Limits(unions=1)):
        block = Block([tensor_type((8, 8), "f32")] * 4)
        a, b, x, y = block.arguments
        with Builder(block):
            Return((matmul(matmul(a, b), matmul(x, y)), matmul(a, matmul(b, x))))
        function = Function("main", block)
        arrays = [np.random.default_rng(seed).standard_normal((8, 8)).astype("f4") for seed in range(4)]
        expected = evaluate_function(function, *arrays)
        list(saturating(rules, limits=limits).body(block, CPU))
        verify(function)
        for one, other in zip(expected, evaluate_function(function, *arrays), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


def test_what_takes_the_place_of_a_region_in_a_loop_costs_what_it_costs_there() -> None:
    """Convolutions in the layout NCHW, which XLA:CPU is slow in within loops."""
    block = Block([tensor_type((1, 2, 6, 6), "f32"), *[tensor_type((2, 2, 3, 3), "f32")] * 2])
    x, *kernels = block.arguments
    with Builder(block):
        Return(tuple(convolve(x, kernel) for kernel in kernels))
    whole = Region(block)
    (region,) = list_regions(block)
    within = list_equal_programs(region, block, RuleSet(), equalities, CPU)
    block.parent = None
    outside = list_equal_programs(region, block, RuleSet(), equalities, CPU)
    block.parent = whole
    assert [program.cost(CPU).kernels for program in within] == [program.cost(CPU).kernels for program in outside]
    assert all(one.cost(CPU).seconds != other.cost(CPU).seconds for one, other in zip(within, outside, strict=True))
