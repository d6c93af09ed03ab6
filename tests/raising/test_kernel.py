"""Kernels built by hand at the loop level, raised: single ops, memory, atomics, races."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.counting import count_calls, peak_bytes
from tests.raising.hand_built import (
    BUFFER,
    FLOAT,
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
    run_raised,
    specify,
    store,
    when,
)
from windlass import loops
from windlass.diagnostics import RaisingError
from windlass.ops.conversion import BitcastConvert, Convert
from windlass.ops.elementwise import Add, And, Divide, Multiply, Remainder, Select, ShiftRightLogical, Subtract
from windlass.parallel.specialization import specialize_for
from windlass.raising import raise_kernel


def saxpy(ids: Any, n: Any, a: Any, x: Any, y: Any):
    i = global_id(ids)
    when(compare(i, "LT", n), lambda: store(Add(Multiply(a, load(x, i)), load(y, i)), y, i))


SAXPY = kernel({"n": INT, "a": FLOAT, "x": BUFFER, "y": BUFFER}, saxpy)


@pytest.mark.parametrize("n", [1, 255, 256, 1000])
def test_saxpy_is_two_elementwise_ops(n: Any):
    raised = check(SAXPY, (4,), (256,), [n, np.float32(2.5), floats(1000), floats(1000)])
    assert "Gather" not in op_names(raised) and "Scatter" not in op_names(raised)


def test_one_array_passed_twice_is_one_memory():
    x = floats(100)
    check(SAXPY, (1,), (128,), [100, np.float32(3), x, x])


def test_raising_does_not_depend_on_the_size_of_arrays():
    def work(n: Any) -> tuple[int, int]:
        specification, _, _ = specify(
            ((n + 255) // 256,), (256,), [n, np.float32(1), np.empty(n, "f"), np.empty(n, "f")]
        )
        assert len(op_names(raise_kernel(specialize_for(SAXPY, specification), specification))) < 10
        calls = count_calls(lambda: raise_kernel(specialize_for(SAXPY, specification), specification))
        return calls, peak_bytes(lambda: raise_kernel(specialize_for(SAXPY, specification), specification))

    (small_calls, small_bytes), (large_calls, large_bytes) = work(1 << 10), work(1 << 24)
    assert large_calls < 1.1 * small_calls
    assert large_bytes < 1.1 * small_bytes + 10_000


def test_heat_step_is_slices_only():
    def heat(ids: Any, n: Any, new: Any, old: Any):
        i, j = global_id(ids, 1), global_id(ids, 0)
        last = Subtract(n, number(1))
        inside = And(
            And(compare(i, "GT", number(0)), compare(i, "LT", last)),
            And(compare(j, "GT", number(0)), compare(j, "LT", last)),
        )

        def body():
            def at(di: Any, dj: Any):
                return load(old, Add(Multiply(Add(i, number(di)), n), Add(j, number(dj))))

            total = Add(Add(at(-1, 0), at(1, 0)), Add(at(0, -1), at(0, 1)))
            store(Multiply(total, number(0.25, "f32")), new, Add(Multiply(i, n), j))

        when(inside, body)

    raised = check(
        kernel({"n": INT, "new": BUFFER, "old": BUFFER}, heat), (3, 3), (16, 16), [37, floats(37, 37), floats(37, 37)]
    )
    assert not {"Gather", "Scatter"} & set(op_names(raised))


def test_both_sides_of_a_branch_are_merged():
    def branches(ids: Any, n: Any, x: Any, y: Any):
        i = global_id(ids)

        def body():
            value = load(x, i)
            (chosen,) = when(
                compare(value, "GT", number(0.5, "f32")),
                lambda: [Multiply(value, number(2, "f32"))],
                lambda: [Subtract(number(0, "f32"), value)],
            )
            store(chosen, y, i)

        when(compare(i, "LT", n), body)

    check(kernel({"n": INT, "x": BUFFER, "y": BUFFER}, branches), (2,), (64,), [100, floats(100), floats(100)])


def test_a_store_before_a_load_is_seen_by_it():
    def twice(ids: Any, n: Any, x: Any, y: Any):
        i = global_id(ids)

        def body():
            store(Add(load(x, i), number(1, "f32")), x, i)
            store(load(x, i), y, i)

        when(compare(i, "LT", n), body)

    check(kernel({"n": INT, "x": BUFFER, "y": BUFFER}, twice), (2,), (64,), [100, floats(100), floats(100)])


def test_a_periodic_neighbour_is_no_gather():
    def periodic(ids: Any, n: Any, x: Any, y: Any):
        i = global_id(ids)

        def body():
            left = Select(compare(i, "EQ", number(0)), Subtract(n, number(1)), Subtract(i, number(1)))
            store(Subtract(load(x, i), load(x, left)), y, i)

        when(compare(i, "LT", n), body)

    raised = check(kernel({"n": INT, "x": BUFFER, "y": BUFFER}, periodic), (2,), (64,), [100, floats(100), floats(100)])
    assert "Gather" not in op_names(raised)


# -- integers ---------------------------------------------------------------------------------------------------------


def test_integers_wrap_around():
    def hash_of(ids: Any, n: Any, y: Any):
        i = global_id(ids)

        def body():
            mixed = Multiply(Add(i, number(12345)), number(1103515245))
            unsigned = BitcastConvert(mixed, "ui32")
            shifted = BitcastConvert(ShiftRightLogical(unsigned, number(7, "ui32")), "i32")
            store(Remainder(mixed, number(1000)), y, i)
            store(Add(shifted, Divide(mixed, number(-7))), y, Add(i, n))

        when(compare(i, "LT", n), body)

    check(kernel({"n": INT, "y": BUFFER}, hash_of), (4,), (64,), [200, integers(10, 400)])


def test_unsigned_comparison_of_a_negative_number():
    def guarded(ids: Any, n: Any, x: Any, y: Any):
        i = global_id(ids)
        left = Subtract(i, number(1))
        unsigned = compare(BitcastConvert(left, "ui32"), "LT", BitcastConvert(n, "ui32"))
        when(unsigned, lambda: store(load(x, left), y, i))

    raised = check(kernel({"n": INT, "x": BUFFER, "y": BUFFER}, guarded), (1,), (64,), [40, floats(64), floats(64)])
    assert "Gather" not in op_names(raised)


def test_traced_integers_are_right_for_all_values():
    def shifted(ids: Any, n: Any, x: Any, y: Any):
        i = global_id(ids)
        when(compare(i, "LT", n), lambda: store(load(x, Add(i, n)), y, i))

    function = kernel({"n": INT, "x": BUFFER, "y": BUFFER}, shifted)
    check(function, (1,), (64,), [np.int32(30), floats(64), floats(64)])


# -- local arrays -----------------------------------------------------------------------------------------------------


def test_a_local_array_with_constant_indices():
    def local(ids: Any, n: Any, x: Any, y: Any):
        i = global_id(ids)

        def body():
            array = loops.Allocate("local", 16)
            for place in range(4):
                store(load(x, Add(Multiply(i, number(4)), number(place))), array, number(place))
            when(
                compare(load(array, number(0)), "GT", number(0.5, "f32")),
                lambda: store(number(9, "f32"), array, number(1)),
            )
            store(Add(load(array, number(1)), load(array, number(3))), y, i)

        when(compare(i, "LT", n), body)

    raised = check(kernel({"n": INT, "x": BUFFER, "y": BUFFER}, local), (1,), (64,), [50, floats(200), floats(50)])
    assert "Gather" not in op_names(raised)


def test_a_local_array_with_indices_from_data():
    def local(ids: Any, n: Any, x: Any, y: Any):
        i = global_id(ids)

        def body():
            array = loops.Allocate("local", 16)
            repeat(number(4), [], lambda k: store(Convert(Multiply(k, i), "f32"), array, k) or [])
            store(load(array, load(x, i, "i32")), y, i)

        when(compare(i, "LT", n), body)

    check(kernel({"n": INT, "x": BUFFER, "y": BUFFER}, local), (1,), (64,), [50, integers(4, 50), floats(50)])


def test_sums_in_a_local_array():
    def sums(ids: Any, n: Any, m: Any, x: Any, y: Any):
        i = global_id(ids)

        def body():
            array = loops.Allocate("local", 8)
            store(number(0, "f32"), array, number(0))
            store(number(1, "f32"), array, number(1))

            def step(k: Any) -> Any:
                value = load(x, Add(Multiply(i, m), k))
                store(Add(load(array, number(0)), value), array, number(0))
                store(Add(load(array, number(1)), Multiply(value, value)), array, number(1))
                return []

            repeat(m, [], step)
            store(Multiply(load(array, number(0)), load(array, number(1))), y, i)

        when(compare(i, "LT", n), body)

    function = kernel({"n": INT, "m": INT, "x": BUFFER, "y": BUFFER}, sums)
    raised = check(function, (1,), (16,), [10, 50, floats(10, 50), floats(10)], 1e-4)
    assert "While" not in op_names(raised)


# -- atomics ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["add", "sub", "min", "max", "and", "or", "xor", "umin", "umax"])
def test_atomics_combine_duplicates(kind: Any):
    def combine(ids: Any, n: Any, x: Any, y: Any):
        i = global_id(ids)
        when(compare(i, "LT", n), lambda: atomic(kind, load(x, i, "i32"), y, Remainder(load(x, i, "i32"), number(5))))

    x = integers(1000, 100)
    check(kernel({"n": INT, "x": BUFFER, "y": BUFFER}, combine), (2,), (64,), [100, x, integers(1000, 5)])


def test_all_threads_add_to_one_place():
    def total(ids: Any, n: Any, x: Any, y: Any):
        i = global_id(ids)
        when(compare(i, "LT", n), lambda: atomic("fadd", load(x, i), y, number(0)))

    check(kernel({"n": INT, "x": BUFFER, "y": BUFFER}, total), (2,), (64,), [100, floats(100), floats(3)], 1e-4)


def test_the_result_of_an_atomic_is_refused():
    def ticket(ids: Any, n: Any, x: Any, y: Any):
        i = global_id(ids)
        loops.Barrier("block")
        place = loops.Atomic("xor", x, number(0, "i64"), number(1))
        store(i, y, place)

    function = kernel({"n": INT, "x": BUFFER, "y": BUFFER}, ticket)
    with pytest.raises(RaisingError, match="WL0302"):
        run_raised(function, (1,), (4,), [4, integers(1, 1), integers(9, 4)])


# -- shared memory ----------------------------------------------------------------------------------------------------


def test_a_block_reverses_its_part_in_shared_memory():
    def reverse(ids: Any, n: Any, x: Any, y: Any):
        i = global_id(ids)
        tile = loops.Allocate("shared", 64 * 4)
        store(load(x, i), tile, ids[3])
        loops.Barrier("block")
        store(load(tile, Subtract(number(63), ids[3])), y, i)

    function = kernel({"n": INT, "x": BUFFER, "y": BUFFER}, reverse)
    arrays = [floats(192), floats(192)]
    _, after = run_raised(function, (3,), (64,), [192, *arrays])
    np.testing.assert_array_equal(after[1], arrays[0].reshape(3, 64)[:, ::-1].reshape(-1))


def test_a_block_sums_its_part_in_a_tree():
    def tree(ids: Any, n: Any, x: Any, y: Any):
        tile = loops.Allocate("shared", 64 * 4)
        store(load(x, global_id(ids)), tile, ids[3])
        loops.Barrier("block")

        def step(s: Any):
            when(
                compare(ids[3], "LT", s),
                lambda: store(Add(load(tile, ids[3]), load(tile, Add(ids[3], s))), tile, ids[3]),
            )
            loops.Barrier("block")
            s = Divide(s, number(2))
            return compare(s, "GT", number(0)), [s]

        repeat_while([number(32)], step)
        when(compare(ids[3], "EQ", number(0)), lambda: store(load(tile, number(0)), y, ids[0]))

    function = kernel({"n": INT, "x": BUFFER, "y": BUFFER}, tree)
    _, after = run_raised(function, (3,), (64,), [192, x := floats(192), floats(3)])
    np.testing.assert_allclose(after[1], x.reshape(3, 64).sum(1), rtol=1e-5)


# -- races ------------------------------------------------------------------------------------------------------------


def test_threads_that_add_to_one_place_without_an_atomic_are_refused():
    def total(ids: Any, n: Any, x: Any, y: Any):
        i = global_id(ids)

        loops.Barrier("block")

        def body():
            (found,) = repeat(number(3), [load(y, number(0))], lambda k, found: [Add(found, load(x, i))])
            store(found, y, number(0))

        when(compare(i, "LT", n), body)

    function = kernel({"n": INT, "x": BUFFER, "y": BUFFER}, total)
    with pytest.raises(RaisingError, match="WL0309"):
        run_raised(function, (1,), (64,), [50, floats(50), floats(1)])


def test_one_thread_may_add_to_a_place():
    def total(ids: Any, n: Any, x: Any, y: Any):
        i = global_id(ids)
        when(compare(i, "EQ", number(3)), lambda: store(Add(load(y, number(0)), load(x, i)), y, number(0)))

    check(kernel({"n": INT, "x": BUFFER, "y": BUFFER}, total), (1,), (64,), [50, floats(50), floats(1)])
