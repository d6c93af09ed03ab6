from __future__ import annotations

from windlass.ir import Value
from windlass.ir.values import tensor
from windlass.ops import Add, Slice
from windlass.passes.spelled_folds import sum_of_tree


def test_chains_longer_than_the_stack_is_deep_are_looked_at() -> None:
    x = tensor("f32", 4)
    parts = [Slice(x, (place,), (place + 1,), (1,)) for place in range(4)]
    total: Value = parts[0]
    for count in range(1, 5000):
        total = Add(total, parts[count % 4])
    assert isinstance(total, Add)
    sum_of_tree(total)
