"""What common accesses become: no gather where a slice will do."""

from __future__ import annotations

from collections import Counter

import numpy as np

from tests.raising.lanes_by_hand import Program
from tests.raising.test_access import check_load, check_store
from windlass.affine.dimensions import EVERYWHERE, Box, Dimension
from windlass.affine.index import Data, Index, RuntimeScalar
from windlass.affine.predicate import TRUE, Predicate
from windlass.ops.elementwise import Add
from windlass.raising.access import load, scatter_combine, store
from windlass.raising.lanes import Lanes, condition_of

ROWS, COLUMNS = 6, 10
y, x = Dimension("y", ROWS, 0), Dimension("x", COLUMNS, 1)
inner = Box().restrict(y, 1, ROWS - 1).restrict(x, 1, COLUMNS - 1)
row, column = Index.of(y), Index.of(x)


def ops(program: Program) -> dict[str, int]:
    """How many ops of each kind, without constants and counting."""
    return dict(Counter(name for name in program.op_names() if name not in ("Constant", "Iota", "Compare")))


def loaded(index: Index, box: Box = EVERYWHERE, mask: Predicate = TRUE, size: int = ROWS * COLUMNS) -> dict[str, int]:
    return ops(check_load([y, x], index, box, mask, size, (COLUMNS,)))


def stored(index: Index, box: Box = EVERYWHERE, mask: Predicate = TRUE, size: int = ROWS * COLUMNS) -> dict[str, int]:
    return ops(check_store([y, x], index, box, mask, size, (COLUMNS,)))


# -- loads ------------------------------------------------------------------------------------------------------------


def test_a_whole_array_is_a_reshape() -> None:
    assert loaded(row.scale(COLUMNS) + column) == {"Reshape": 1}


def test_stencil_neighbours_are_slices_of_one_reshape() -> None:
    for down in (-1, 0, 1):
        for right in (-1, 0, 1):
            index = (row + down).scale(COLUMNS) + column + right
            assert loaded(index, inner) == {"Reshape": 1, "Slice": 1}


def test_a_guard_makes_the_same_slices_as_a_box() -> None:
    guard = Predicate.compare("GT", column, Index(0)) & Predicate.compare("GT", row, Index(0))
    assert loaded((row - 1).scale(COLUMNS) + column - 1, EVERYWHERE, guard) == {"Reshape": 1, "Slice": 1, "Pad": 1}


def test_clamped_neighbours_are_pads_and_selects() -> None:
    up = (row - 1).maximum(Index(0))
    counts = loaded(up.scale(COLUMNS) + column)
    assert set(counts) == {"Reshape", "Slice", "Pad", "BroadcastInDim", "Select"}
    assert counts["Select"] == 1
    right = Index.choose(Index(COLUMNS - 2) - column, column + 1, column)
    counts = loaded(row.scale(COLUMNS) + right)
    assert counts["Select"] == 1
    assert "Gather" not in counts and "Concatenate" not in counts


def test_periodic_neighbours_are_two_slices_selected() -> None:
    left = (column + COLUMNS - 1).modulo(COLUMNS)
    counts = loaded(row.scale(COLUMNS) + left)
    assert "Gather" not in counts
    wrapped = Index.choose(column - (COLUMNS - 1), Index(0), column + 1)
    assert "Gather" not in loaded(row.scale(COLUMNS) + wrapped)
    far = (column + 4).modulo(COLUMNS)
    assert loaded(row.scale(COLUMNS) + far) == {"Reshape": 1, "Slice": 2, "Pad": 2, "Select": 1}


def test_fields_of_records_are_strided_slices() -> None:
    counts = loaded((row.scale(COLUMNS) + column).scale(3) + 1, size=3 * ROWS * COLUMNS)
    assert counts["Slice"] == 1 and set(counts) == {"Slice", "Reshape"}


def test_transposed_and_mirrored_loads() -> None:
    assert loaded(column.scale(ROWS) + row) == {"Reshape": 1, "Transpose": 1}
    assert loaded(row.scale(COLUMNS) + Index(COLUMNS - 1) - column) == {"Reshape": 1, "Reverse": 1}


def test_a_row_for_all_lanes_lacks_the_other_dimension() -> None:
    program = Program()
    memory = program.argument(np.arange(COLUMNS, dtype=np.float32))
    with program.building():
        lanes = load(memory, column, EVERYWHERE, TRUE)
    assert lanes.dims == (x,) and lanes.value is memory


def test_the_diagonal_is_one_strided_slice() -> None:
    box = Box().restrict(x, 0, ROWS)
    assert loaded(column.scale(COLUMNS + 1), box) == {"Slice": 1}


def test_flat_ids_that_are_taken_apart_need_no_gather() -> None:
    flat = Dimension("flat", ROWS * COLUMNS, 0)
    g = Index.of(flat)
    up = (g.floor_divide(COLUMNS) - 1).maximum(Index(0)).scale(COLUMNS) + g.modulo(COLUMNS)
    assert "Gather" not in ops(check_load([flat], up, EVERYWHERE, TRUE, ROWS * COLUMNS))
    swapped = g.modulo(COLUMNS).scale(ROWS) + g.floor_divide(COLUMNS)
    assert "Gather" not in ops(check_load([flat], swapped, EVERYWHERE, TRUE, ROWS * COLUMNS))
    assert "Scatter" not in ops(check_store([flat], swapped, EVERYWHERE, TRUE, ROWS * COLUMNS))
    ragged = Box().restrict(flat, 3, 44)
    assert "Gather" not in ops(check_load([flat], swapped, ragged, TRUE, ROWS * COLUMNS))
    assert "Scatter" not in ops(check_store([flat], swapped, ragged, TRUE, ROWS * COLUMNS))


def test_block_and_thread_ids_are_fused_where_a_quotient_needs_it() -> None:
    block, thread = Dimension("block", 15, 0), Dimension("thread", 4, 1)
    g = Index.of(block).scale(4) + Index.of(thread)
    assert ops(check_load([block, thread], g, EVERYWHERE, TRUE, 60)) == {"Reshape": 1}
    swapped = g.modulo(COLUMNS).scale(ROWS) + g.floor_divide(COLUMNS)
    assert "Gather" not in ops(check_load([block, thread], swapped, EVERYWHERE, TRUE, 60))
    assert "Scatter" not in ops(check_store([block, thread], swapped, EVERYWHERE, TRUE, 60))


def test_upsampling_repeats_and_tiling_tiles() -> None:
    long = Dimension("long", 60, 0)
    g = Index.of(long)
    assert "Gather" not in ops(check_load([long], g.floor_divide(2), EVERYWHERE, TRUE, 30))
    assert "Gather" not in ops(check_load([long], g.modulo(7), EVERYWHERE, TRUE, 7))
    assert "Gather" not in ops(check_load([long], (g + 3).floor_divide(4), EVERYWHERE, TRUE, 16))


def test_skewed_indices_gather() -> None:
    one, other = Dimension("one", 20, 0), Dimension("other", 20, 1)
    index = Index.of(one) + Index.of(other)
    assert "Gather" in ops(check_load([one, other], index, EVERYWHERE, TRUE, 40))


def test_short_windows_are_shifted_slices() -> None:
    long, tap = Dimension("long", 20, 0), Dimension("tap", 3, 1)
    counts = ops(check_load([long, tap], Index.of(long) + Index.of(tap), EVERYWHERE, TRUE, 22))
    assert counts["Slice"] == 3 and counts["Select"] == 2 and "Gather" not in counts


def test_colours_of_a_chessboard_are_strided_slices() -> None:
    half = Dimension("half", 5, 1)
    index = row.scale(COLUMNS) + Index.of(half).scale(2) + row.modulo(2)
    assert "Gather" not in ops(check_load([y, half], index, EVERYWHERE, TRUE, ROWS * COLUMNS, (COLUMNS,)))
    assert "Scatter" not in ops(check_store([y, half], index, EVERYWHERE, TRUE, ROWS * COLUMNS, (COLUMNS,)))


def test_a_guard_on_a_flat_place_needs_no_scatter() -> None:
    block, thread = Dimension("block", 8, 0), Dimension("thread", 16, 1)
    place = Index.of(block).scale(16) + Index.of(thread)
    guard = Predicate.compare("LT", place, Index(100))
    counts = ops(check_store([block, thread], place, EVERYWHERE, guard, 103))
    assert "Scatter" not in counts


def test_bytes_chosen_before_division_are_words_chosen() -> None:
    chosen = Index.choose(column - 1, Index(0), Index(4)).floor_divide(4)
    assert chosen == Index.choose(column - 1, Index(0), Index(1))
    assert "Gather" not in loaded(row.scale(COLUMNS) + column + chosen, Box().restrict(x, 0, COLUMNS - 1))


def test_rows_picked_by_data_are_gathered_whole() -> None:
    program = Program()
    content = np.arange(ROWS * COLUMNS, dtype=np.float32).reshape(ROWS, COLUMNS)
    memory = program.argument(content.reshape(-1))
    picked = np.array([3, 0, 5, 5, 1, 2], np.int32)
    with program.building():
        which = Index.of(Data(Lanes(program.argument(picked), (y,)), 0, ROWS - 1))
        lanes = load(memory, which.scale(COLUMNS) + column, EVERYWHERE, TRUE)
    (gather,) = [op for op in program.block if type(op).__name__ == "Gather"]
    assert gather.attributes["slice_sizes"] == (1, COLUMNS)
    assert program.run(lanes.value).tolist() == content[picked].tolist()


# -- run-time numbers -------------------------------------------------------------------------------------------------


def test_a_row_chosen_at_run_time_is_a_dynamic_slice() -> None:
    for at in (0, 3, ROWS - 1):
        program = Program()
        content = np.arange(ROWS * COLUMNS, dtype=np.float32)
        memory = program.argument(content)
        chosen = program.argument(np.array(at, np.int32))
        index = Index.of(RuntimeScalar(chosen, 0, ROWS - 1)).scale(COLUMNS) + column
        with program.building():
            lanes = load(memory, index, EVERYWHERE, TRUE, (COLUMNS,))
            after = store(memory, index, Lanes(program.argument(np.float32(7))), EVERYWHERE, TRUE, (COLUMNS,))
        assert program.run(lanes.value).tolist() == content[at * COLUMNS : (at + 1) * COLUMNS].tolist()
        expected = content.copy()
        expected[at * COLUMNS : (at + 1) * COLUMNS] = 7
        # The store writes one value for all of x: lanes lack no dimension that the index has.
        assert program.run(after).tolist() == expected.tolist()
        assert {"DynamicSlice", "DynamicUpdateSlice"} <= set(program.op_names())
        assert not {"Gather", "Scatter"} & set(program.op_names())


def test_a_window_that_may_stick_out_is_gathered() -> None:
    program = Program()
    content = np.arange(20, dtype=np.float32)
    memory = program.argument(content)
    start = program.argument(np.array(-3, np.int32))
    index = Index.of(RuntimeScalar(start, -5, 15)) + column
    guard = Predicate.compare("GE", index, Index(0))
    with program.building():
        lanes = load(memory, index, EVERYWHERE, guard)
        after = store(memory, index, Lanes(program.argument(np.float32(-1))), EVERYWHERE, guard)
    assert program.run(lanes.value)[3:].tolist() == content[: COLUMNS - 3].tolist()
    assert program.run(after).tolist() == [-1.0] * (COLUMNS - 3) + content[COLUMNS - 3 :].tolist()


def test_an_unbounded_start_is_trusted_where_all_lanes_are_active() -> None:
    program = Program()
    content = np.arange(200, dtype=np.float32)
    memory = program.argument(content)
    start = program.argument(np.array(57, np.int32))
    index = Index.of(RuntimeScalar(start, -(2**31), 2**31 - 1)) + column
    with program.building():
        lanes = load(memory, index, EVERYWHERE, TRUE)
    assert program.run(lanes.value).tolist() == content[57 : 57 + COLUMNS].tolist()
    assert "Gather" not in program.op_names()


# -- stores -----------------------------------------------------------------------------------------------------------


def test_full_coverage_is_a_reshape() -> None:
    assert stored(row.scale(COLUMNS) + column) == {"Reshape": 1}


def test_an_interior_is_updated_in_place() -> None:
    assert stored(row.scale(COLUMNS) + column, inner) == {"Reshape": 2, "DynamicUpdateSlice": 1}


def test_a_small_window_is_updated_in_place() -> None:
    one_row = Box().restrict(y, 2, 3)
    assert stored(row.scale(COLUMNS) + column, one_row) == {"Reshape": 1, "DynamicUpdateSlice": 1}


def test_a_residual_mask_selects_with_the_old_values() -> None:
    guard = Predicate.compare("LE", column, row)
    counts = stored(row.scale(COLUMNS) + column, EVERYWHERE, guard)
    assert counts["Select"] == 1
    assert "Scatter" not in counts


def test_fields_of_records_are_one_column() -> None:
    counts = stored((row.scale(COLUMNS) + column).scale(3) + 2, size=3 * ROWS * COLUMNS)
    assert counts == {"Reshape": 3, "DynamicUpdateSlice": 1}
    counts = stored((row.scale(COLUMNS) + column).scale(9) + 2, size=9 * ROWS * COLUMNS)
    assert counts == {"Reshape": 3, "DynamicUpdateSlice": 1}


def test_transposed_and_mirrored_stores() -> None:
    assert stored(column.scale(ROWS) + row) == {"Reshape": 1, "Transpose": 1}
    assert stored(row.scale(COLUMNS) + Index(COLUMNS - 1) - column) == {"Reshape": 1, "Reverse": 1}


def test_periodic_stores_are_two_stores() -> None:
    counts = stored(row.scale(COLUMNS) + (column + 3).modulo(COLUMNS))
    assert counts["DynamicUpdateSlice"] == 2
    assert "Scatter" not in counts


def test_lanes_whose_activity_is_data_may_stick_out() -> None:
    program = Program()
    memory = program.argument(np.arange(COLUMNS, dtype=np.float32))
    inside = Lanes(program.argument(np.arange(COLUMNS) >= 3), (x,))
    with program.building():
        lanes = load(memory, column - 3, EVERYWHERE, condition_of(inside))
    assert program.run(lanes.value)[3:].tolist() == list(range(COLUMNS - 3))


def test_a_store_of_one_place_takes_one_writer() -> None:
    counts = stored(Index(5))
    assert "Scatter" not in counts
    guard = Predicate.compare("GE", column + row, Index(9))
    check_store([y, x], Index(5), EVERYWHERE, guard, 9)


def test_sums_into_one_place_are_a_reduction() -> None:
    program = Program()
    memory = program.argument(np.zeros(3, np.float32))
    value = Lanes(program.argument(np.arange(COLUMNS, dtype=np.float32)), (x,))
    with program.building():
        after = scatter_combine(memory, Index(1), value, EVERYWHERE, TRUE, Add, (y, x))
    assert program.run(after).tolist() == [0, ROWS * 45, 0]
    assert "Reduce" in program.op_names() and "Scatter" not in program.op_names()


def test_rows_picked_by_data_are_scattered_whole() -> None:
    program = Program()
    memory = program.argument(np.zeros(ROWS * COLUMNS, np.float32))
    picked = np.array([3, 0, 5, 4, 1, 2], np.int32)
    active = np.array([True, True, False, True, True, False])
    lanes = np.arange(ROWS * 4, dtype=np.float32).reshape(ROWS, 4)
    part = Box().restrict(x, 2, 6)
    with program.building():
        which = Index.of(Data(Lanes(program.argument(picked), (y,)), 0, ROWS - 1))
        mask = condition_of(Lanes(program.argument(active), (y,)))
        value = Lanes(program.argument(lanes), (y, x), (0, 2))
        after = store(memory, which.scale(COLUMNS) + column, value, part, mask)
    (scatter,) = [op for op in program.block if type(op).__name__ == "Scatter"]
    assert scatter.attributes["update_window_dims"] == (1,)
    expected = np.zeros((ROWS, COLUMNS), np.float32)
    expected[picked[active], 2:6] = lanes[active]
    assert program.run(after).tolist() == expected.reshape(-1).tolist()


# -- size -------------------------------------------------------------------------------------------------------------


def test_nothing_emitted_grows_with_memory() -> None:
    for size in (2**10, 2**24):
        program = Program()
        long = Dimension("long", size, 0)
        memory = program.argument(np.broadcast_to(np.float32(1), (size,)))
        index = Index.of(long)
        with program.building():
            lanes = load(memory, (index + 1).minimum(Index(size - 1)), EVERYWHERE, TRUE)
            store(memory, index, lanes, EVERYWHERE, Predicate.compare("NE", index.modulo(3), Index(0)))
            load(memory, index.floor_divide(2), EVERYWHERE, TRUE)
        assert len(program.op_names()) < 40
        for op in program.block:
            if type(op).__name__ == "Constant":
                assert op.attributes["value"].data.size == 1
