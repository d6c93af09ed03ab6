"""`numba.cuda.random`: xoroshiro128+ generators, one for each thread, 2**64 steps apart.

The algorithms are the public ones of David Blackman and Sebastiano Vigna: the first state comes from a seed by
SplitMix64, each other one from its neighbour by the jump of 2**64 steps. A jump is linear over the field of two
elements, so a whole array of states is made by doubling: the jump by 1, 2, 4, ... generators as a matrix of bits.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from windlass.frontends.kernels.intrinsics import (
    xoroshiro128p_next,
    xoroshiro128p_normal_float32,
    xoroshiro128p_normal_float64,
    xoroshiro128p_uniform_float32,
    xoroshiro128p_uniform_float64,
)
from windlass.frontends.kernels.types import from_dtype
from windlass.numba.cuda.device_array import DeviceNDArray, data_of, device_array

Words: TypeAlias = NDArray[np.uint64]

xoroshiro128p_dtype = np.dtype([("s0", np.uint64), ("s1", np.uint64)], align=True)
xoroshiro128p_type = from_dtype(xoroshiro128p_dtype)

__all__ = [
    "create_xoroshiro128p_states",
    "init_xoroshiro128p_states",
    "xoroshiro128p_dtype",
    "xoroshiro128p_next",
    "xoroshiro128p_normal_float32",
    "xoroshiro128p_normal_float64",
    "xoroshiro128p_type",
    "xoroshiro128p_uniform_float32",
    "xoroshiro128p_uniform_float64",
]

_JUMP = (0xBEAC0467EBA5FACB, 0xD86B048B86AA9922)
_MASK = 2**64 - 1


def _first_state(seed: int) -> int:
    """SplitMix64's first value."""
    z = (seed + 0x9E3779B97F4A7C15) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)


def _rotated(x: Words, by: int) -> Words:
    return (x << np.uint64(by)) | (x >> np.uint64(64 - by))


def _jumped(s0: Words, s1: Words) -> tuple[Words, Words]:
    """States 2**64 steps on."""
    sum0, sum1 = np.zeros_like(s0), np.zeros_like(s1)
    for word in _JUMP:
        for bit in range(64):
            if word >> bit & 1:
                sum0, sum1 = sum0 ^ s0, sum1 ^ s1
            mixed = s1 ^ s0
            s0, s1 = _rotated(s0, 55) ^ mixed ^ (mixed << np.uint64(14)), _rotated(mixed, 36)
    return sum0, sum1


def _applied(matrix: Words, states: Words) -> Words:
    """A matrix of bits, a row of two words for each bit of a state, on states."""
    result = np.zeros_like(states)
    for word in range(2):
        for bit in range(64):
            chosen = (states[:, word] >> np.uint64(bit) & np.uint64(1)).astype(bool)
            result[chosen] ^= matrix[64 * word + bit]
    return result


def _jump_matrix() -> Words:
    units = np.zeros((128, 2), np.uint64)
    for bit in range(128):
        units[bit, bit // 64] = np.uint64(1) << np.uint64(bit % 64)
    return np.stack(_jumped(units[:, 0], units[:, 1]), axis=1)


def initial_states(count: int, seed: int, subsequence_start: int = 0) -> Any:
    """The states of `count` generators.

    >>> initial_states(2, 1)["s0"].tolist()
    [10451216379200822465, 8341117667364343960]
    """
    states = np.zeros((count, 2), np.uint64)
    if count:
        states[0] = _first_state(int(seed) & _MASK)
        matrix = _jump_matrix()
        done, remaining = 1, int(subsequence_start)
        power = matrix
        while remaining:
            if remaining & 1:
                states[:1] = _applied(power, states[:1])
            power = _applied(power, power)
            remaining >>= 1
        while done < count:
            states[done : 2 * done] = _applied(matrix, states[: min(done, count - done)])
            matrix = _applied(matrix, matrix)
            done *= 2
    return states.reshape(-1).view(xoroshiro128p_dtype)


def init_xoroshiro128p_states(states: Any, seed: int, subsequence_start: int = 0, stream: object = 0) -> None:
    """Give generators their first states."""
    memory = data_of(states)
    memory[...] = initial_states(memory.size, seed, subsequence_start)


def create_xoroshiro128p_states(n: int, seed: int, subsequence_start: int = 0, stream: object = 0) -> DeviceNDArray:
    """An array of generators that give independent numbers."""
    states = device_array(n, dtype=xoroshiro128p_dtype)
    init_xoroshiro128p_states(states, seed, subsequence_start)
    return states
