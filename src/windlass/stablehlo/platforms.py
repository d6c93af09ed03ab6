"""The kinds of devices that JAX runs programs on: whose costs count, and whose compiler a program is finished for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.metadata import entry_points
from importlib.util import find_spec

from windlass.facts.cost import CPU, DEVICES, Device
from windlass.stablehlo.private_jax import is_started

KINDS = {"cuda": "gpu", "rocm": "gpu", "metal": "gpu"}
"""What JAX calls devices of a kind that has a cost model under another name."""


def device_of(platform: str) -> Device:
    """The model of a platform's devices; of one that has none, that of CPUs.

    >>> device_of("cuda").name, device_of("tpu").name, device_of("neuron").name
    ('gpu', 'tpu', 'cpu')
    """
    return DEVICES.get(KINDS.get(platform, platform), CPU)


def device_for(platforms: Sequence[str]) -> Device:
    """The device that a program for all these platforms is finished for: the first's, or CPUs where they are among
    them, since only there what is not finished may be wrong (updates that XLA makes in place).

    >>> device_for(("cuda",)).name, device_for(("cuda", "cpu")).name
    ('gpu', 'cpu')
    """
    return device_of("cpu" if "cpu" in platforms else platforms[0])


def device_that_runs() -> Device:
    """That of the platform on which JAX runs programs by default. XLA is started only where there may be several."""
    import jax

    chosen = str(getattr(jax.config, "jax_platforms", None) or "")
    if chosen == "cpu" or not (chosen or is_started() or _has_other_platforms()):
        return CPU
    return device_of(jax.default_backend())


@cache
def _has_other_platforms() -> bool:
    """Whether a plugin for other devices than CPUs is installed."""
    return any(entry_points(group="jax_plugins")) or any(map(find_spec, ("jax_plugins", "libtpu")))
