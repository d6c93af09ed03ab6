"""Which machine this is, as far as times depend on it."""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from pathlib import Path


def describe_machine() -> str:
    """Another text for another host, processor, and number of processors to run on."""
    model = platform.processor() or platform.machine()
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
        model += next((line for line in lines if line.startswith("model name")), "")
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return "\0".join((platform.node(), model, str(usable)))
