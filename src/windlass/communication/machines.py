"""What it costs to send a message, by kind of machine."""

from __future__ import annotations

import math
from typing import NamedTuple


class Machine(NamedTuple):
    """A machine of several devices: what a message takes beside its bytes, and how many bytes go in a second.

    >>> CPUS.cost(40_000, 1) == CPUS.cost(0, 2)
    True
    """

    name: str
    latency: float
    bandwidth: float
    copies: float = math.inf
    """How many bytes a device copies in a second, to put a message together and to take it apart."""

    def cost(self, bytes_: float, messages: float) -> float:
        """How many seconds so many messages take, of so many bytes together."""
        return messages * self.latency + bytes_ / self.bandwidth + 2 * bytes_ / self.copies


CPUS = Machine("cpu", 20e-6, 2e9)
"""Processes of one computer: two copies, and waking the other one."""
NVLINK = Machine("gpu", 7.2e-6, 450e9, 3.35e12)
"""GPUs of one computer: NCCL's own estimate for a small message (6.6 + 0.6 µs, its src/graph/tuning.cc), NVLink 4 one
way and the memory of an H100 (NVIDIA's data sheet)."""
INFINIBAND = Machine("gpu", 9.3e-6, 50e9, 3.35e12)
"""GPUs of several: NCCL's estimate over a network (6.6 + 2.7 µs), 400 Gb/s of InfiniBand NDR for each."""
TPUS = Machine("tpu", 1e-6, 45e9, 1.2e12)
"""One link of a torus of TPU v4, and its memory (Jouppi et al. 2023)."""


def machine_for(platform: str, is_one_computer: bool = False) -> Machine:
    """The figures for a platform, as JAX names it; those of GPUs for others.

    >>> machine_for("gpu", is_one_computer=True) is NVLINK
    True
    """
    if platform == "gpu" and is_one_computer:
        return NVLINK
    return {machine.name: machine for machine in (CPUS, INFINIBAND, TPUS)}.get(platform, INFINIBAND)
