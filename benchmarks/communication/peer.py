"""enzyme_ad's optimizations of programs that are divided among devices, where it is installed.

Its Python package does not offer them; they are a pass of the library that comes with it. Run are its whole
pipeline, and then that pass with all of its options.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from benchmarks.tensor.ways import NOTES
from jaxlib.mlir import ir
from jaxlib.mlir.passmanager import PassManager

from windlass.ops.shardings import Sharding
from windlass.stablehlo import import_text
from windlass.stablehlo.contexts import make_context
from windlass.stablehlo.measuring import measure_traffic

OPTIONS = (
    "periodic_concat", "rotate_comm", "rotate_to_pad_comm", "wrap_comm", "wrap_to_pad_comm", "extend_comm",
    "extend_to_pad_comm", "concat_two_operands_comm", "concat_to_pad_comm", "dus_to_pad_comm",
    "dus_to_pad_manual_comp_comm", "concat_two_dus_like", "extend_dus_like",
)  # fmt: skip


def load_peer() -> Sequence[Callable[[str], str]]:
    """From a program's text to its text, with shardings told early or late; none where enzyme_ad isn't installed."""
    try:
        library: Any = importlib.import_module("enzyme_ad.jax.enzyme_call")
        pipelines: Any = importlib.import_module("enzyme_ad.jax.primitives")
    except ImportError:
        return ()
    first = pipelines.full_optimization_pass_pipeline()
    then = f"optimize-communication{{{' '.join(f'{option}=1' for option in OPTIONS)}}}"

    def run(text: str, passes: str) -> str:
        return NOTES.sub("", library.run_pass_pipeline([], text, passes)[1]).replace("{, ", "{")

    return lambda text: run(run(_propagate(text), first), then), lambda text: run(_propagate(run(text, first)), then)


def _propagate(text: str) -> str:
    """With the sharding of each value, which the pass wants to know: by Shardy, which the package has not."""
    with make_context():
        module = ir.Module.parse(text.replace("func.func private @main", "func.func public @main"))
        PassManager.parse("builtin.module(sdy-propagation-pipeline)").run(module.operation)
        return str(module)


def count_by_peer(text: str, shardings: Sequence[Sharding | None]) -> tuple[float, float] | None:
    """Bytes that each device receives in a run, and messages, by the better way; None where XLA takes neither."""
    found: list[tuple[float, float]] = []
    for way in load_peer():
        # What it can't do, it says by errors of many kinds.
        with suppress(Exception):
            found.append(measure_traffic(import_text(way(text)), shardings, "cpu"))
    best = min(found, default=None)
    return None if best is None or math.isinf(best[0]) else best
