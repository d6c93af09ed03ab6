"""What it costs to send a message, by kind of machine."""

from __future__ import annotations

from typing import NamedTuple


class Machine(NamedTuple):
    """A machine of several devices: what a message takes beside its bytes, and how many bytes go in a second.

    >>> CPUS.cost(40_000, 1) == CPUS.cost(0, 2)
    True
    """

    name: str
    latency: float
    bandwidth: float

    def cost(self, bytes_: float, messages: float) -> float:
        """How many seconds so many messages take, of so many bytes together."""
        return messages * self.latency + bytes_ / self.bandwidth


CPUS = Machine("cpu", 20e-6, 2e9)
"""Processes of one computer: two copies, and waking the other one."""
GPUS = Machine("gpu", 8e-6, 50e9)
"""Between nodes: the latency of a small message of NCCL, 400 Gb/s of InfiniBand for each device."""
TPUS = Machine("tpu", 1e-6, 45e9)
"""One link of a torus of TPU v4 (Jouppi et al. 2023)."""


def machine_for(platform: str) -> Machine:
    """The figures for a platform, as JAX names it; those of GPUs for others."""
    return {machine.name: machine for machine in (CPUS, GPUS, TPUS)}.get(platform, GPUS)
