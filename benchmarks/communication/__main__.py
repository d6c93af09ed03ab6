"""What programs communicate on eight devices: Windlass, XLA alone, and what they must.

    python -m benchmarks.communication [name …] [--count]

Bytes that each device receives in a step, and messages, counted in what XLA's compiler gives. Then both run on eight
devices of this machine's CPU, in turn, and what comes out is compared with one device; `--count` leaves that out.
Speed is XLA's least time over ours. Where enzyme_ad is installed (`pip install --no-deps enzyme_ad==0.0.16 absl-py`),
what its passes make of the program is counted, too; it is told of by a dash where XLA does not take that, or it ends.
"""

from __future__ import annotations

import os
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import numpy as np
from benchmarks.communication.case import AXES, Case, Field
from benchmarks.communication.gradients import GRADIENTS
from benchmarks.communication.kernels import KERNELS
from benchmarks.communication.others import OTHERS
from benchmarks.communication.peer import count_by_peer
from benchmarks.communication.stencils import FACTS, STENCILS
from benchmarks.measuring import time_interleaved
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from rich.console import Console
from rich.table import Table

import windlass as wl
from windlass.ops.shardings import Mesh as MeshOfAxes
from windlass.ops.shardings import Sharding

ROUNDS = 15
"""Each form runs so many times, in turn; the least time counts, as what else the machine does only adds to it."""
SHORTEST = 0.005
"""Seconds for which a form runs at a time: of shorter ones several calls."""
SLOWEST = 0.95
"""A form is slower if it has less than this of XLA's speed."""
GROUPS: dict[str, tuple[Case, ...]] = {
    "as in FACTS": FACTS, "stencils": STENCILS, "others": OTHERS, "gradients": GRADIENTS, "kernels": KERNELS,
}  # fmt: skip


def spell(number: float) -> str:
    return f"{number / 1000:.3g}" if number < 1e6 else f"{number / 1000:,.0f}"


def ratio(bytes_: float, ideal: float) -> str:
    """So many times the ideal; where nothing is to be moved, so many kB."""
    return f"{bytes_ / ideal:,.2f}" if ideal else f"{spell(bytes_)} kB"


def measure(case: Case, runs: bool) -> tuple[list[str], str]:
    """The row of a program in the table, and what is wrong with it."""
    mesh = Mesh(np.array(jax.devices()).reshape(case.mesh), AXES[: len(case.mesh)])
    random = np.random.default_rng(1)
    function = case.function

    def sharding(field: Field) -> NamedSharding:
        return NamedSharding(mesh, PartitionSpec(*field.names))

    types = [jax.ShapeDtypeStruct(each.shape, each.dtype, sharding=sharding(each)) for each in case.fields]
    report = wl.communication(function, mesh, *types)
    ours, plain = report.bytes / case.steps, report.plain_bytes / case.steps
    counts = [sum(each.rounds or 1 for each in side) / case.steps for side in (report.ours, report.plain)]
    row = [case.name, spell(case.ideal), f"{case.messages}"]
    row += [ratio(ours, case.ideal), f"{counts[0]:g}", ratio(plain, case.ideal), f"{counts[1]:g}"]
    axes = tuple(zip(AXES, case.mesh, strict=False))
    shardings = [Sharding(MeshOfAxes(axes), tuple((n,) if n else () for n in each.names)) for each in case.fields]
    peer = count_by_peer(jax.jit(function).lower(*types).as_text(), shardings)
    row += ["-", "-"] if peer is None else [ratio(peer[0] / case.steps, case.ideal), f"{peer[1] / case.steps:g}"]
    wrong = [f"moves {ours / plain:.2f} of XLA's bytes"] if ours > plain else []
    if runs:
        arrays = [random.random(each.shape).astype(each.dtype) / 2 + 0.5 for each in case.fields]
        placed = [jax.device_put(array, sharding(each)) for array, each in zip(arrays, case.fields, strict=True)]
        alone = jax.tree.leaves(jax.jit(function)(*arrays))
        optimized, divided = jax.jit(wl.optimize(function)), jax.jit(function)
        for found, expected in zip(jax.tree.leaves(optimized(*placed)), alone, strict=True):
            scale = np.max(np.abs(expected)) or 1.0
            error = np.max(np.abs(np.asarray(found) - np.asarray(expected))) / scale
            if not error <= case.tolerance:
                wrong.append(f"differs by {error:.1e}")
        forms = {
            "ours": lambda: jax.block_until_ready(optimized(*placed)),
            "XLA": lambda: jax.block_until_ready(divided(*placed)),
        }
        try:
            forms["XLA"]()
        except jax.errors.JaxRuntimeError as error:  # XLA 0.10: transforms along an axis that isn't the last in memory
            del forms["XLA"]
            wrong.append(f"XLA alone: {str(error).split(':')[0]}")
        once = min(time_interleaved(forms, 1).values())
        times = time_interleaved(forms, ROUNDS, max(1, int(SHORTEST / once)))
        row += [f"{1000 * times[name]:.1f}" if name in times else "-" for name in ("ours", "XLA")]
        speed = times["XLA"] / times["ours"] if "XLA" in times else None
        row += ["-" if speed is None else f"{speed:.2f}"]
        if speed is not None and speed < SLOWEST:
            wrong.append("slower")
    return row, ", ".join(wrong)


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    wanted = [argument for argument in sys.argv[1:] if argument != "--count"]
    runs = "--count" not in sys.argv[1:]
    console = Console(width=130)
    columns = [
        "program",
        "ideal kB",
        "messages",
        "Windlass / ideal",
        "messages",
        "XLA / ideal",
        "messages",
        "enzyme_ad / ideal",
        "messages",
    ]
    table = Table(*columns, *(["Windlass ms", "XLA ms", "speed"] if runs else []), "wrong")
    for group in GROUPS.values():
        for case in group:
            if not wanted or any(each in case.name for each in wanted):
                row, wrong = measure(case, runs)
                table.add_row(*row, wrong)
                print(*row, wrong, sep=" | ", file=sys.stderr, flush=True)
        table.add_section()
    console.print(table)


if __name__ == "__main__":
    main()
