"""`make bench`: how fast Windlass is, as ratios measured in one run on this machine.

Each line compares two ways to the same result. Their runs are interleaved, so that what else the machine does hits both
alike; a time is the least over the rounds, taken until the result is ready. A ratio below 1 means that Windlass is
faster. Where a line compares with the best of several forms, all of them are timed and named.

    python benchmarks/run.py [--only REGEX] [--rounds 30]
"""

from __future__ import annotations

import argparse
import platform
import re
from typing import Any

import jax
from accelerator import measure_accelerator
from cases import CASES
from measuring import Result, show
from rich.console import Console


def main() -> None:
    """Runs the benchmarks whose names match, and prints one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="a regular expression for names")
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args()
    console = Console(highlight=False, width=150)

    devices: Any = jax.devices()
    console.print(
        f"{platform.machine()}, {platform.processor() or 'unknown processor'}, jax {jax.__version__}, {devices}"
    )
    results: list[Result] = []
    for name, case in CASES.items():
        if re.search(options.only, name):
            console.print(f"  {name} ...", style="dim")
            results += case(options.rounds)
    if re.search(options.only, "gpu"):
        results += measure_accelerator(console, options.rounds)
    show(results, console)


if __name__ == "__main__":
    main()
