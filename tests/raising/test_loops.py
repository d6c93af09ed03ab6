"""Kernels with loops, built by hand at the loop level, raised: reductions, recurrences, strides."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.raising.hand_built import (
    BUFFER,
    INT,
    atomic,
    check,
    compare,
    floats,
    global_id,
    integers,
    kernel,
    load,
    number,
    op_names,
    repeat,
    repeat_while,
    store,
    when,
)
from windlass import loops
from windlass.ops.elementwise import Add, And, Divide, Multiply, Select, Subtract


def matmul(ids: Any, n: Any, a: Any, b: Any, c: Any):
    i, j = global_id(ids, 1), global_id(ids, 0)

    def body():
        (total,) = repeat(
            n,
            [number(0, "f32")],
            lambda k, total: [Add(total, Multiply(load(a, Add(Multiply(i, n), k)), load(b, Add(Multiply(k, n), j))))],
        )
        store(total, c, Add(Multiply(i, n), j))

    when(And(compare(i, "LT", n), compare(j, "LT", n)), body)


def test_naive_matmul_is_one_contraction():
    function = kernel({"n": INT, "a": BUFFER, "b": BUFFER, "c": BUFFER}, matmul)
    raised = check(function, (2, 2), (8, 8), [13, floats(13, 13), floats(13, 13), floats(13, 13)])
    names = op_names(raised)
    assert names.count("DotGeneral") == 1 and not {"Reduce", "While", "Gather", "Multiply"} & set(names)


def test_a_row_sum_is_one_reduction():
    def row_sum(ids: Any, n: Any, m: Any, x: Any, y: Any):
        i = global_id(ids)

        def body():
            (total,) = repeat(m, [number(0, "f32")], lambda k, total: [Add(total, load(x, Add(Multiply(i, m), k)))])
            store(total, y, i)

        when(compare(i, "LT", n), body)

    function = kernel({"n": INT, "m": INT, "x": BUFFER, "y": BUFFER}, row_sum)
    raised = check(function, (1,), (32,), [20, 37, floats(20, 37), floats(20)])
    assert op_names(raised).count("Reduce") == 1 and "While" not in op_names(raised)


def test_a_guarded_sum_and_a_maximum():
    def both(ids: Any, n: Any, m: Any, x: Any, y: Any):
        i = global_id(ids)

        def body():
            def step(k: Any, total: Any, most: Any):
                value = load(x, Add(Multiply(i, m), k))
                (total,) = when(compare(value, "GT", number(0.5, "f32")), lambda: [Add(total, value)], lambda: [total])
                most = Select(compare(value, "GT", most), value, most)
                return [total, most]

            total, most = repeat(m, [number(1, "f32"), number(0.1, "f32")], step)
            store(Add(total, Multiply(most, number(100, "f32"))), y, i)

        when(compare(i, "LT", n), body)

    function = kernel({"n": INT, "m": INT, "x": BUFFER, "y": BUFFER}, both)
    raised = check(function, (1,), (32,), [20, 37, floats(20, 37), floats(20)])
    assert "While" not in op_names(raised)


def test_a_triangular_sum_is_masked():
    def triangle(ids: Any, n: Any, x: Any, y: Any):
        i = global_id(ids)

        def body():
            (total,) = repeat(i, [number(0, "f32")], lambda k, total: [Add(total, load(x, Add(Multiply(i, n), k)))])
            store(total, y, i)

        when(compare(i, "LT", n), body)

    raised = check(
        kernel({"n": INT, "x": BUFFER, "y": BUFFER}, triangle), (1,), (64,), [40, floats(40, 40), floats(40)]
    )
    assert "While" not in op_names(raised)


def test_a_recurrence_along_a_column_is_a_loop_of_rows():
    def scan(ids: Any, n: Any, m: Any, x: Any):
        j = global_id(ids)

        def body():
            def step(k: Any, carried: Any):
                place = Add(Multiply(k, m), j)
                carried = Add(Multiply(carried, number(0.5, "f32")), load(x, place))
                store(carried, x, place)
                return [carried]

            repeat(n, [number(0, "f32")], step)

        when(compare(j, "LT", m), body)

    function = kernel({"n": INT, "m": INT, "x": BUFFER}, scan)
    raised = check(function, (1,), (32,), [50, 20, floats(50, 20)])
    names = op_names(raised)
    assert names.count("While") == 1 and "Gather" not in names and "Scatter" not in names


def test_a_loop_that_stores_what_a_later_iteration_loads():
    def chain(ids: Any, n: Any, m: Any, x: Any):
        j = global_id(ids)

        def body():
            def step(k: Any) -> Any:
                here = Add(Multiply(j, m), k)
                store(Add(load(x, here), load(x, Add(here, number(1)))), x, Add(here, number(1)))
                return []

            repeat(Subtract(m, number(1)), [], step)

        when(compare(j, "LT", n), body)

    check(kernel({"n": INT, "m": INT, "x": BUFFER}, chain), (1,), (8,), [7, 40, floats(7, 40)])


def test_a_loop_that_loads_what_a_later_iteration_stores():
    def shift(ids: Any, n: Any, m: Any, x: Any):
        j = global_id(ids)

        def body():
            def step(k: Any) -> Any:
                here = Add(Multiply(j, m), k)
                store(Multiply(load(x, Add(here, number(1))), number(2, "f32")), x, here)
                return []

            repeat(Subtract(m, number(1)), [], step)

        when(compare(j, "LT", n), body)

    raised = check(kernel({"n": INT, "m": INT, "x": BUFFER}, shift), (1,), (8,), [7, 40, floats(7, 40)])
    assert "While" not in op_names(raised)


def test_the_last_iteration_stores_last():
    def overwrite(ids: Any, n: Any, m: Any, x: Any, y: Any):
        i = global_id(ids)

        def body():
            def step(k: Any) -> Any:
                store(load(x, Add(Multiply(i, m), k)), y, i)
                return []

            repeat(m, [], step)

        when(compare(i, "LT", n), body)

    function = kernel({"n": INT, "m": INT, "x": BUFFER, "y": BUFFER}, overwrite)
    check(function, (1,), (8,), [7, 40, floats(7, 40), floats(7)])


def test_a_sum_kept_in_memory():
    def accumulate(ids: Any, n: Any, m: Any, x: Any, y: Any):
        i = global_id(ids)

        def body():
            def step(k: Any) -> Any:
                store(Add(load(y, i), load(x, Add(Multiply(i, m), k))), y, i)
                return []

            repeat(m, [], step)

        when(compare(i, "LT", n), body)

    function = kernel({"n": INT, "m": INT, "x": BUFFER, "y": BUFFER}, accumulate)
    check(function, (1,), (8,), [7, 40, floats(7, 40), floats(7)])


def test_adding_at_a_place_that_depends_on_data():
    def histogram(ids: Any, n: Any, x: Any, y: Any):
        i = global_id(ids)

        def body():
            def step(k: Any) -> Any:
                place = load(x, k, "i32")
                store(Add(load(y, place), number(1, "f32")), y, place)
                return []

            repeat(n, [], step)

        when(compare(i, "EQ", number(0)), body)

    check(kernel({"n": INT, "x": BUFFER, "y": BUFFER}, histogram), (1,), (1,), [50, integers(8, 50), floats(8)])


def test_rows_of_a_sparse_matrix_have_as_many_iterations_as_data_say():
    def spmv(ids: Any, n: Any, rows: Any, columns: Any, values: Any, x: Any, y: Any):
        i = global_id(ids)

        def body():
            begin, end = load(rows, i, "i32"), load(rows, Add(i, number(1)), "i32")

            def step(k: Any, total: Any):
                place = Add(begin, k)
                return [Add(total, Multiply(load(values, place), load(x, load(columns, place, "i32"))))]

            (total,) = repeat(Subtract(end, begin), [number(0, "f32")], step)
            store(total, y, i)

        when(compare(i, "LT", n), body)

    rows = np.concatenate([[0], np.cumsum(integers(9, 30))]).astype(np.int32)
    names = ("n", "rows", "columns", "values", "x", "y")
    function = kernel({name: INT if name == "n" else BUFFER for name in names}, spmv)
    count = int(rows[-1])
    check(function, (1,), (32,), [30, rows, integers(25, count), floats(count), floats(25), floats(30)])


def test_escape_times():
    def mandelbrot(ids: Any, n: Any, x: Any, y: Any):
        i = global_id(ids)

        def body():
            c = load(x, i)

            def step(z: Any, count: Any):
                z = Add(Multiply(z, z), c)
                count = Add(count, number(1))
                goes_on = And(compare(z, "LT", number(4, "f32")), compare(count, "LT", number(50)))
                return goes_on, [z, count]

            _, count = repeat_while([number(0, "f32"), number(0)], step)
            store(count, y, i)

        when(compare(i, "LT", n), body)

    check(kernel({"n": INT, "x": BUFFER, "y": BUFFER}, mandelbrot), (1,), (64,), [50, floats(50), integers(5, 50)])


def test_a_halving_counter_is_unrolled():
    def halving(ids: Any, n: Any, x: Any, y: Any):
        i = global_id(ids)

        def body():
            def step(s: Any, total: Any):
                total = Add(total, load(x, Add(i, s)))
                s = Divide(s, number(2))
                return compare(s, "GT", number(0)), [s, total]

            _, total = repeat_while([number(16), number(0, "f32")], step)
            store(total, y, i)

        when(compare(i, "LT", n), body)

    raised = check(kernel({"n": INT, "x": BUFFER, "y": BUFFER}, halving), (1,), (64,), [50, floats(80), floats(50)])
    assert "While" not in op_names(raised) and "Gather" not in op_names(raised)


# -- grid-stride loops ------------------------------------------------------------------------------------------------


def grid_stride(n: Any, i: Any, total: Any):
    """ceil((n - i) / total)"""
    return Divide(Add(Subtract(n, i), Subtract(total, number(1))), total)


@pytest.mark.parametrize("n", [1000, 1024, 100, 129])
def test_a_grid_stride_loop_is_one_dimension(n: Any):
    def scale(ids: Any, n: Any, x: Any, y: Any):
        i = global_id(ids)
        total = Multiply(loops.LaunchSize("thread.x"), loops.LaunchSize("block.x"))

        def step(k: Any) -> Any:
            place = Add(i, Multiply(k, total))
            store(Multiply(load(x, place), number(2, "f32")), y, place)
            return []

        repeat(grid_stride(n, i, total), [], step)

    function = kernel({"n": INT, "x": BUFFER, "y": BUFFER}, scale)
    raised = check(function, (4,), (32,), [n, floats(1100), floats(1100)])
    assert not {"Gather", "Scatter", "While"} & set(op_names(raised))


def test_sums_of_a_grid_stride_loop():
    def dot(ids: Any, n: Any, x: Any, y: Any, out: Any):
        i = global_id(ids)
        total = Multiply(loops.LaunchSize("thread.x"), loops.LaunchSize("block.x"))

        def step(k: Any, place: Any, result: Any):
            result = Add(result, Multiply(load(x, place), load(y, place)))
            return [Add(place, total), result]

        _, result = repeat(grid_stride(n, i, total), [i, number(0, "f32")], step)
        atomic("fadd", result, out, number(0))
        store(result, out, Add(i, number(1)))

    function = kernel({"n": INT, "x": BUFFER, "y": BUFFER, "out": BUFFER}, dot)
    raised = check(function, (4,), (32,), [1000, floats(1100), floats(1100), floats(130)], 1e-4)
    assert not {"Gather", "While"} & set(op_names(raised))
