"""How fast gradients are, in one process: beside `jax.grad` of the best form by hand, and beside the primal.

    python -m benchmarks.derivatives [--only REGEX] [--rounds 9] [--sample] [--enzyme]

`gradient` is ours over the fastest of `jax.grad` by hand, so below 1 is faster, and so is `primal`; `its primals` is
our gradient over our primal, beside the same by hand. All are compiled by `jax.jit` and called in turn; times are
medians. Gradients are compared with one another before that. With `--enzyme` there is a column for `enzyme_ad`, which
pip has for some versions of Python and JAX (`pip install enzyme_ad`): ours over the fastest of its gradients by hand.
"""

from __future__ import annotations

import argparse
import re
import statistics
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import numpy as np
from benchmarks.derivatives import adbench, kernels, loops, stencils
from benchmarks.derivatives.case import CASES, Case, Function
from benchmarks.measuring import Run, spell_time, time_interleaved
from rich.console import Console
from rich.table import Table

FILES = stencils, kernels, loops, adbench
"""They fill CASES."""

SAMPLE = ("heat", "hotspot 8 launches", "softmax", "sparse by slots")
SHORTEST = 2e-3
"""Seconds in which calls are timed together."""
LEAST_MEAN, LEAST = 1.3, 0.9
"""The goals for the speed against `jax.grad`: the geometric mean, and each."""


@dataclass(frozen=True)
class Line:
    """What came out for a case: medians of times in seconds, and the names of the best forms by hand."""

    name: str
    primal: float
    gradient: float
    primal_by_hand: float
    gradient_by_hand: float
    enzyme: float | None
    best: str
    most_primals: float

    @property
    def speed(self) -> float:
        """How many times as fast as the best `jax.grad`."""
        return self.gradient_by_hand / self.gradient


def measure(name: str, case: Case, rounds: int, enzyme: Callable[[Function], Function] | None) -> Line:
    """Time a case. Raises AssertionError where gradients differ."""
    arguments = [each if isinstance(each, int) else jax.numpy.asarray(each) for each in case.arguments]
    fixed = [place for place, each in enumerate(arguments) if isinstance(each, int)]
    primals: dict[str, Function] = {"ours": jax.jit(case.ours)}
    gradients: dict[str, Function] = {"ours": jax.jit(jax.grad(case.ours, case.by))}
    for form, function in case.by_hand.items():
        primals[form] = jax.jit(function, static_argnums=fixed)
        gradients[form] = jax.jit(jax.grad(function, case.by), static_argnums=fixed)
        if enzyme is not None and not fixed:
            gradients[f"enzyme of {form}"] = jax.jit(jax.grad(enzyme(function), case.by))
    first, *others = (gradient(*arguments) for gradient in gradients.values())
    for other in others:
        for one, another in zip(first, other, strict=True):
            largest = float(np.abs(another).max())
            np.testing.assert_allclose(one, another, 2e-3, 2e-3 * largest)
    runs: dict[str, Run] = {}
    for kind, functions in (("primal", primals), ("gradient", gradients)):
        for form, function in functions.items():
            runs[f"{kind} {form}"] = partial(_run, function, arguments)
    once = min(time_interleaved(runs, 2).values())
    times = time_interleaved(runs, rounds, max(1, int(SHORTEST / once)), statistics.median)
    forms = list(case.by_hand)
    best = min(forms, key=lambda form: times[f"gradient {form}"])
    by_enzyme = [times[f"gradient {form}"] for form in gradients if form.startswith("enzyme of ")]
    return Line(
        name,
        times["primal ours"],
        times["gradient ours"],
        min(times[f"primal {form}"] for form in forms),
        times[f"gradient {best}"],
        min(by_enzyme, default=None),
        best,
        case.most_primals,
    )


def _run(function: Function, arguments: list[Any]) -> Any:
    return jax.block_until_ready(function(*arguments))


def show(lines: list[Line], console: Console) -> None:
    """The table, and the geometric mean."""
    table = Table(
        *("", "gradient", "jax.grad by hand", "gradient", "primal", "its primals", "by hand", "enzyme", ""),
        box=None,
        header_style="bold",
        pad_edge=False,
    )
    for line in lines:
        primals = line.gradient / line.primal
        missed = [
            *(["slow"] if line.speed < LEAST else []),
            *([f"> {line.most_primals:g} primals"] if primals > line.most_primals else []),
        ]
        table.add_row(
            line.name,
            spell_time(line.gradient),
            f"{spell_time(line.gradient_by_hand)} ({line.best})",
            f"{1 / line.speed:.2f}",
            f"{line.primal / line.primal_by_hand:.2f}",
            f"{primals:.1f}",
            f"{line.gradient_by_hand / line.primal_by_hand:.1f}",
            "" if line.enzyme is None else f"{line.gradient / line.enzyme:.2f}",
            f"[red]{', '.join(missed)}[/]" if missed else "[green]met[/]",
        )
    console.print(table)
    mean = statistics.geometric_mean(line.speed for line in lines)
    console.print(f"{len(lines)} gradients, {mean:.2f} times as fast in the geometric mean (goal {LEAST_MEAN:g})")


def _enzyme() -> Callable[[Function], Function]:
    from enzyme_ad.jax import enzyme_jax_ir  # pyright: ignore[reportMissingImports]

    return enzyme_jax_ir()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="a regular expression for names")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--sample", action="store_true", help=f"only {', '.join(SAMPLE)}")
    parser.add_argument("--enzyme", action="store_true")
    options = parser.parse_args()
    console = Console(highlight=False, width=150)
    enzyme = _enzyme() if options.enzyme else None
    lines: list[Line] = []
    for name, make in CASES.items():
        if (options.sample and name not in SAMPLE) or not re.search(options.only, name):
            continue
        console.print(f"  {name} ...", style="dim")
        try:
            lines.append(measure(name, make(), options.rounds, enzyme))
        except Exception:
            traceback.print_exc()
            console.print(f"  {name} FAILED", style="red")
    if lines:
        show(lines, console)


if __name__ == "__main__":
    main()
