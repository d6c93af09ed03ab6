"""Large matrices times vectors under `wl.jit`, on NumPy arrays as they come, beside NumPy.

python -m benchmarks.matrix_vector [--rows 4000] [--columns 5000] [--rounds 9]
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from functools import partial
from typing import Any

for setting in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
    os.environ.pop(setting, None)  # NumPy's own choice of kernels is the fastest

import numpy as np  # noqa: E402
from benchmarks.measuring import Result, compare, show  # noqa: E402
from rich.console import Console  # noqa: E402

import windlass as wl  # noqa: E402


def there_and_back(a: Any, x: Any) -> Any:
    return a.T @ (a @ x)


def both_sides(a: Any, x: Any, y: Any) -> Any:
    return y @ a, a @ x


def updates(a: Any, x: Any, y: Any, u: Any, v: Any) -> None:
    u += a @ x
    v += a.T @ y


def combination(a: Any, b: Any, x: Any) -> Any:
    return 1.5 * a @ x + 1.2 * b @ x


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--columns", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    draw = np.random.default_rng(0)
    a, b = draw.random((2, options.rows, options.columns))
    x, v = draw.random((2, options.columns))
    y, u = draw.random((2, options.rows))
    cases: dict[Callable[..., Any], tuple[Any, ...]] = {
        there_and_back: (a, x),
        both_sides: (a, x, y),
        updates: (a, x, y, u, v),
        combination: (a, b, x),
    }
    results: list[Result] = []
    for function, arguments in cases.items():
        compiled = wl.jit(function)
        theirs = {"NumPy": partial(function, *arguments)}
        name = function.__name__.replace("_", " ")
        results.append(compare(name, partial(compiled, *arguments), theirs, options.rounds, goal=1.0))
    show(results, Console())


if __name__ == "__main__":
    main()
