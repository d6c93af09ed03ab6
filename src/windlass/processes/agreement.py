"""What all processes of a program agree on. With one process nothing is asked of anybody."""

from __future__ import annotations

import jax
import numpy as np


def tell_all(*numbers: int) -> tuple[int, ...]:
    """The numbers that process 0 has, at all of them: below 2**63, not negative."""
    if jax.process_count() == 1:
        return numbers
    from jax.experimental import multihost_utils

    # JAX may have no 64 bits.
    halves = np.array([part for number in numbers for part in divmod(number, 1 << 32)], np.uint32)
    told = np.asarray(multihost_utils.broadcast_one_to_all(halves)).tolist()
    return tuple((high << 32) + low for high, low in zip(told[::2], told[1::2], strict=True))


def do_all(answer: bool) -> bool:
    """Whether all processes say yes."""
    if jax.process_count() == 1:
        return answer
    from jax.experimental import multihost_utils

    return bool(np.all(multihost_utils.process_allgather(np.array(answer, np.int32))))
