from __future__ import annotations

import numpy as np

from windlass.ir.values import tensor
from windlass.passes.batcher import pick_blocks


def test_blocks_that_hold_nothing_are_not_picked() -> None:
    assert pick_blocks(tensor("f32", 8, 3), 0, np.array([0, 2, 4]), 0) is None
