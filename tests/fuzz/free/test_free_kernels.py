"""Random kernels of any values give as native code what they give emulated, to the bit, on one thread and on all.

`python -m tests.fuzz.sweep --free` runs many more.
"""

from __future__ import annotations

import pytest

from tests.fuzz.free.author import write_free_kernel
from tests.fuzz.shrinking import count_outcomes

BATCH = 8


@pytest.mark.one_in(3)
@pytest.mark.parametrize("first", range(0, 24, BATCH))
def test_native_kernels_agree_with_the_emulator(first: int) -> None:
    counts = count_outcomes([write_free_kernel(seed) for seed in range(first, first + BATCH)])
    assert counts["same"] >= 0.6 * BATCH, f"few kernels were compared: {counts}"


def test_kernels_are_varied() -> None:
    """What native code has words for is written: each of these stands in a good part of the kernels."""
    texts = [write_free_kernel(seed).text() for seed in range(300)]
    words = {
        "for (": 0.4, "if (": 0.5, "break": 0.05, "continue": 0.05, "own": 0.3, "__syncthreads": 0.2, "__shfl": 0.1,
        "__ballot": 0.02, "atomic": 0.4, "tile[": 0.2, " << ": 0.2, " >> ": 0.2, " / ": 0.4, " % ": 0.3, "fma": 0.2,
        "double": 0.5, "signed char": 0.5, "unsigned short": 0.4, "size_t": 0.5, "__int_as_float": 0.2, "popc": 0.05,
        "return;": 0.1,
    }  # fmt: skip
    rare = {word for word, part in words.items() if sum(word in text for text in texts) < part * len(texts)}
    assert not rare


def test_same_seed_writes_the_same_kernel() -> None:
    assert write_free_kernel(7).describe() == write_free_kernel(7).describe()
