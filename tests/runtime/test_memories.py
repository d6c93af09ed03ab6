"""Arrays as memories: words, strides, overlap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.runtime.memories import form_of, plan_memories


@pytest.mark.parametrize(
    ("dtype", "word", "words"),
    [
        (np.float32, "f32", 1),
        (np.uint64, "i64", 1),
        (np.bool_, "i8", 1),
        (np.complex128, "f64", 2),
        ([("x", "f4"), ("y", "f4"), ("z", "f4")], "f32", 3),
        ([("x", "f4"), ("n", "i4")], "i32", 2),
        (np.dtype([("x", "f8"), ("n", "i2")], align=True), "i16", 8),
        ([("flag", "i1"), ("x", "f4")], "i8", 5),
        ("S1", "i8", 1),
    ],
)
def test_words_of_an_element(dtype: Any, word: str, words: int) -> None:
    form = form_of(np.dtype(dtype), (6,))
    assert form.word_dtype == word
    assert form.size_bytes == 6 * np.dtype(dtype).itemsize
    assert int(np.prod(form.shape)) == 6 * words


def test_declared_inner_extents_are_row_strides() -> None:
    assert form_of(np.dtype("f8"), (24,), (4, 3)).row_strides == (12, 3)
    assert form_of(np.dtype("f4"), (5, 6, 7)).row_strides == (42, 7)


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=1, max_size=5))
def test_gathered_memory_shows_every_member_and_goes_back_to_it(pieces: list[tuple[int, int]]) -> None:
    base = np.arange(32, dtype=np.float32)
    views = [base[start : start + length] for start, length in pieces]
    plans, places = plan_memories(views, {})
    before = base.copy()
    for plan in plans:
        memory = plan.gather(views).reshape(-1)
        for position, offset in plan.members:
            assert places[position][1] == offset
            view = views[position].reshape(-1)
            np.testing.assert_array_equal(memory[offset // 4 : offset // 4 + view.size], view)
        plan.write_back(views, memory + 100)
    covered = np.zeros(32, bool)
    for start, length in pieces:
        covered[start : start + length] = True
    np.testing.assert_array_equal(base, np.where(covered, before + 100, before))


def test_overlapping_views_of_different_dtypes() -> None:
    base = np.zeros(16, np.uint8)
    views = [base[0:8].view(np.float32), base[4:12].view(np.int16)]
    plans, places = plan_memories(views, {})
    assert len(plans) == 1 and plans[0].is_staged
    assert (places[0], places[1]) == ((0, 0), (0, 4))
    assert plans[0].form.word_dtype == "i8"


def test_neighbours_do_not_overlap() -> None:
    base = np.zeros(8, np.float32)
    plans, _ = plan_memories([base[:4], base[4:]], {})
    assert [plan.is_plain for plan in plans] == [True, True]
