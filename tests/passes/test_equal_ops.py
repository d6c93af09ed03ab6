"""What is computed at once, and what is left as it is."""

from __future__ import annotations

from itertools import islice

import pytest

from windlass.facts.cost import GPU
from windlass.ir import Block, Builder, tensor_type
from windlass.ops import Add, Concatenate, Convert, Exponential, Reshape, Return, Slice
from windlass.ops.reduction import reduce_with
from windlass.passes.equal_ops import Packing, pack_block


def test_slices_of_one_value_are_not_stacked_another_way_round() -> None:
    # Stacked from the other side they are slices again, which went to and fro without end.
    block = Block([tensor_type((8,), "i8")])
    with Builder(block):
        whole = Convert(block.arguments[0], "f32")
        windows = [Reshape(Slice(whole, (first,), (first + 2,), (1,)), (2, 1)) for first in (3, 4, 5, 6)]
        Return((Concatenate(tuple(windows), 1),))
    assert not list(islice(pack_block(block, GPU), 9))


def test_equal_computations_side_by_side_are_one() -> None:
    block = Block([tensor_type((8,), "f32")])
    with Builder(block):
        parts = [Slice(block.arguments[0], (first,), (first + 2,), (1,)) for first in (0, 2, 4, 6)]
        Return((Concatenate(tuple(Exponential(part) for part in parts), 0),))
    assert len(list(pack_block(block, GPU))) == 1
    assert [type(op) for op in block].count(Exponential) == 1


def test_ops_that_say_only_what_a_new_axis_changes_are_done_at_once() -> None:
    block = Block([tensor_type((3, 4), "f32")] * 2)
    with Builder(block):
        parts = [Reshape(Convert(each, "f64"), (1, 3, 4)) for each in block.arguments]
        Return((Concatenate(tuple(parts), 0),))
    assert len(list(pack_block(block, GPU))) == 1
    assert [type(op) for op in block].count(Convert) == 1


def test_an_attempt_that_is_given_up_leaves_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    # What is summed would have to be written side by side first, however much the model thinks that saves.
    monkeypatch.setattr(Packing, "_saving", lambda *_: 1.0)
    block = Block([tensor_type((4,), "f32")] * 4)
    with Builder(block):
        Return(tuple(reduce_with(Add, Exponential(each), (0,)) for each in block.arguments))
    before = list(block)
    assert not list(islice(pack_block(block, GPU), 9))
    assert list(block) == before
