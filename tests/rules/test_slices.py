from windlass.ir.values import tensor
from windlass.ops import Constant, DynamicUpdateSlice, Slice
from windlass.rules.slices import slice_of_update


def test_slice_does_not_reach_for_an_older_version_of_an_array() -> None:
    updated = DynamicUpdateSlice(tensor("f32", 9), tensor("f32", 3, name="u"), (Constant.of(2, "i32"),))
    assert slice_of_update(Slice(updated, (6,), (8,), (1,))) is None
