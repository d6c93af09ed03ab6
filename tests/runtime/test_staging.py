"""Aligned copies of large arrays."""

from __future__ import annotations

import numpy as np

from windlass.runtime.staging import ALIGNMENT, BufferPool, address_of


def test_copies_are_aligned_and_memory_is_used_again() -> None:
    pool = BufferPool()
    array = np.arange(1000, dtype=np.float32).reshape(10, 100)
    first = pool.copy_of(array)
    second = pool.copy_of(array + 1)
    assert address_of(first) % ALIGNMENT == address_of(second) % ALIGNMENT == 0
    np.testing.assert_array_equal(first, array)
    np.testing.assert_array_equal(second, array + 1)
    place = address_of(first)
    pool.give_back(first)
    assert address_of(pool.copy_of(array.astype(np.int32))) == place


def test_what_is_kept_is_bounded() -> None:
    pool = BufferPool(most_kept=4000)
    copies = [pool.copy_of(np.zeros(500, np.float32)) for _ in range(3)]
    for copy in copies:
        pool.give_back(copy)
    places = {address_of(copy) for copy in copies[:2]}
    assert {address_of(pool.copy_of(np.zeros(500, np.float32))) for _ in range(2)} == places
