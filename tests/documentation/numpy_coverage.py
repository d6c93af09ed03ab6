"""Which of NumPy's functions `wl.jit` compiles, and which Python runs: `python -m tests.documentation.numpy_coverage`.

Each function has an example of a call. It is compiled as one program, and where that is refused it is split; what comes
out is compared with NumPy's.
"""

# pyright: basic
from __future__ import annotations

import linecache
import re
import sys
import types
import warnings
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import windlass as wl

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "numpy.md"
HEAD = """# NumPy's functions inside `wl.jit`

Made by `python -m tests.documentation.numpy_coverage`, which runs an example of each and compares it with NumPy's.
*Compiled* is what is part of one program; *by a split* is what Python runs, between programs
([splits](../guides/splits.md)), with the code of the reason (`windlass errors WL0904`). Other arguments than the
example's may be refused in one program, and are split then.
"""
EXAMPLES: dict[str, str] = dict(
    line.split(": ", 1) for line in (Path(__file__).parent / "numpy_examples.txt").read_text().splitlines()
)
"""Calls of functions that take more than arrays, or give what is not the same everywhere."""
FORMS = (
    "{}(x)",
    "{}(x, y)",
    "{}(n)",
    "{}(n, n)",
    "{}(m)",
    "{}(m, m)",
    "{}(c)",
    "{}(b)",
    "{}(b, b)",
    "{}([x, y])",
    "{}(x, 2)",
    "{}(m, 1)",
    "{}((2, 3))",
    "{}('ab')",
    "{}()",
)
"""Calls of others: the first that NumPy takes."""
METHODS = ("x.{}()", "m.{}()", "x.{}(y)", "x.{}(2)")
DRAWS = (
    "g.{}(size=3)",
    "g.{}(2.0, size=3)",
    "g.{}(2.0, 3.0, size=3)",
    "g.{}(5, 0.3, size=3)",
    "g.{}(5, 4, 3, size=3)",
    "g.{}(x)",
    "g.{}(1.0, 2.0, 3.0, size=3)",
    "g.{}([0.2, 0.8])",
    "g.{}(5, [0.2, 0.8])",
    "g.{}([3, 4], 3)",
    "g.{}(4)",
    "g.{}([0.0, 1.0], [[1.0, 0.0], [0.0, 1.0]])",
)
NOT_OF_ARRAYS = frozenset(
    {
        "numpy.save",
        "numpy.savez",
        "numpy.savez_compressed",
        "numpy.savetxt",
        "numpy.load",
        "numpy.fromfile",
        "numpy.fromregex",
        "numpy.show_config",
        "numpy.show_runtime",
        "numpy.info",
        "numpy.test",
        "numpy.get_include",
        "numpy.set_printoptions",
        "numpy.get_printoptions",
        "numpy.printoptions",
        "numpy.seterr",
        "numpy.geterr",
        "numpy.seterrcall",
        "numpy.geterrcall",
        "numpy.setbufsize",
        "numpy.getbufsize",
        "numpy.errstate",
        "numpy.linalg.test",
        "numpy.fft.test",
        "numpy.ndarray.dump",
        "numpy.ndarray.tofile",
        "numpy.get_array_wrap",
        "numpy.nested_iters",
        "numpy.Generator.spawn",
    }
)
"""Functions of files, settings and messages, which are not run here."""

WORDS = {
    "compiled": "compiled",
    "split": "by a split",
    "none": "not known",
    "wrong": "wrong",
    "other": "of files, settings or messages",
}


@dataclass(frozen=True)
class Row:
    """What becomes of a function, by the words of `WORDS`."""

    name: str
    how: str
    example: str = ""
    note: str = ""


def names() -> list[str]:
    """All public functions and methods."""
    found = [f"numpy.{name}" for name in dir(np) if name in np.__all__ and _is_function(getattr(np, name))]
    for home, label in ((np.linalg, "numpy.linalg"), (np.fft, "numpy.fft")):
        found += [f"{label}.{name}" for name in home.__all__ if _is_function(getattr(home, name))]
    found += [f"numpy.ndarray.{name}" for name in dir(np.ndarray) if _is_method(np.ndarray, name)]
    found += [f"numpy.Generator.{name}" for name in dir(np.random.Generator) if _is_method(np.random.Generator, name)]
    return sorted(found)


def _is_function(value: Any) -> bool:
    kinds = (types.FunctionType, types.BuiltinFunctionType, np.ufunc, type(np.sum))
    others = (np.vectorize, np.nditer, np.ndindex, np.ndenumerate, np.broadcast, np.errstate)
    return isinstance(value, kinds) or any(value is each for each in others)


def _is_method(kind: type, name: str) -> bool:
    return not name.startswith("_") and callable(getattr(kind, name))


def inputs() -> dict[str, Any]:
    return {
        "x": np.array([3.0, 1.0, 2.5, -1.0, 0.5, 2.0]),
        "y": np.array([0.5, 2.0, 1.5, 4.0, 1.0, 3.0]),
        "n": np.array([3, 1, 4, 1, 5, 2]),
        "m": np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]]),
        "c": np.array([1 + 2j, 3 - 1j, 0.5j, 2.0, -1j, 1.0]),
        "b": np.array([True, False, True, True, False, True]),
        "g": np.random.default_rng(5),
    }


def function_of(example: str) -> Callable[..., Any]:
    """A function that does the call, whose source can be had."""
    text = f"def call(x, y, n, m, c, b, g):\n    return {example}\n"
    name = f"<captured {zlib.crc32(text.encode()):x}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    scope: dict[str, Any] = {"np": np}
    exec(compile(text, name, "exec"), scope)
    return scope["call"]


def outcome(function: Callable[..., Any]) -> tuple[Any, list[Any]]:
    given = inputs()
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = function(**given)
    return found, [given[each] for each in "xynmcb"]


def example_of(name: str) -> str:
    """A call that NumPy takes; nothing where there is none."""
    if name in EXAMPLES:
        return EXAMPLES[name]
    home, _, last = name.rpartition(".")
    forms = METHODS if home == "numpy.ndarray" else DRAWS if home == "numpy.Generator" else FORMS
    short = last if forms is not FORMS else name.replace("numpy.", "np.", 1)
    for form in forms:
        example = form.format(short)
        try:
            outcome(function_of(example))
        except Exception:
            continue
        return example
    return ""


def row_of(name: str) -> Row:
    """What becomes of a function."""
    if name in NOT_OF_ARRAYS:
        return Row(name, "other")
    example = example_of(name)
    if not example:
        return Row(name, "none", "", "no example")
    function = function_of(example)
    wanted = outcome(function)
    try:
        found = outcome(wl.jit(whole=True)(function))
        how, note = "compiled", ""
    except Exception as error:
        how = "split"
        note = error.diagnostics[0].code if isinstance(error, wl.WindlassError) else type(error).__name__
        found = outcome(wl.jit(function))
    fault = difference(found, wanted)
    return Row(name, how, example, note) if not fault else Row(name, "wrong", example, fault)


def difference(found: Any, wanted: Any) -> str:
    """What is not alike; nothing where all is."""
    if isinstance(wanted, list | tuple):
        if not isinstance(found, list | tuple) or len(found) != len(wanted):
            return f"{found} instead of {wanted}"
        return next(filter(None, map(difference, found, wanted)), "")
    if isinstance(wanted, np.ndarray | np.generic | int | float | complex):
        one, other = np.asarray(found), np.asarray(wanted)
        is_one = one.dtype == other.dtype and one.shape == other.shape
        if other.dtype.kind in "OSUMm":
            return "" if is_one and one.tolist() == other.tolist() else f"{found!r} instead of {wanted!r}"
        is_one = is_one and np.allclose(one, other, rtol=1e-6, atol=1e-9, equal_nan=True)
        return "" if is_one else f"{found!r} instead of {wanted!r}"
    return "" if found == wanted or type(found) is type(wanted) else f"{found!r} instead of {wanted!r}"


def page_of(rows: list[Row]) -> str:
    """The page."""
    counts = {how: sum(each.how == how for each in rows) for how in WORDS}
    lines = [
        HEAD,
        f"Of {len(rows) - counts['other']} public functions and methods of NumPy {np.__version__} that take or give "
        f"arrays, {counts['compiled']} are compiled, {counts['split']} are run by a split, "
        f"{counts['none']} have no example, "
        f"{counts['wrong']} are wrong. {counts['other']} others are of files, settings and messages.",
        "",
        "| Function | | Example |",
        "|---|---|---|",
    ]
    for each in rows:
        note = f" ({each.note})" if each.note else ""
        example = f"`{each.example}`".replace("|", "\\|") if each.example else ""
        lines.append(f"| `{each.name}` | {WORDS[each.how]}{note} | {example} |")
    return "\n".join([*lines, ""])


def rows_of_page() -> list[Row]:
    """What the page says now."""
    found: list[Row] = []
    hows = {word: how for how, word in WORDS.items()}
    pattern = r"^\| `([\w.]+)` \| ([^(|]*?)(?: \((.*?)\))? \| (?:`(.*)`)? ?\|$"
    for name, word, note, example in re.findall(pattern, PAGE.read_text(), re.MULTILINE):
        found.append(Row(name, hows[word], example.replace("\\|", "|"), note))
    return found


def main(chosen: Sequence[str]) -> None:
    """Write the page; of the chosen functions anew, if some are."""
    known = {each.name: each for each in rows_of_page()} if chosen else {}
    rows: list[Row] = []
    for name in names():
        rows.append(row_of(name) if name in chosen or name not in known else known[name])
        if rows[-1].how in ("wrong", "none"):
            print(rows[-1], file=sys.stderr, flush=True)
    PAGE.write_text(page_of(rows))


if __name__ == "__main__":
    main(sys.argv[1:])
