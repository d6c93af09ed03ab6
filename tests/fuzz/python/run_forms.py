# pyright: basic
"""Runs functions of `forms.py` by Python and by `wl.jit`: `python -m tests.fuzz.python.run_forms` runs them all."""

from __future__ import annotations

import argparse
import collections
import contextlib
import io
import linecache
import sys
import time
import types
import warnings
import zlib
from typing import Any

import jax
import numpy as np

import windlass as wl
from tests.fuzz.python.forms import all_functions, function_text


def module_of(text: str) -> dict[str, Any]:
    """The module with this text, whose source can be had."""
    name = f"<captured {zlib.crc32(text.encode()):x}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    scope: dict[str, Any] = {"__name__": f"forms_{zlib.crc32(text.encode()):x}"}
    module = types.ModuleType(scope["__name__"])
    sys.modules[scope["__name__"]] = module
    exec(compile(text, name, "exec"), vars(module))
    return vars(module)


def inputs() -> list[tuple[Any, ...]]:
    """Arguments that take different ways."""
    return [
        (np.array([3.0, -1.0, 4.0, 1.5, first]), np.array([0.5, 2.0, -3.0, 1.0, 0.0]), np.array([n, m]), [])
        for first, n, m in ((2.0, 0, 0), (0.5, 1, 3), (-1.0, 3, 1), (6.0, 2, 2))
    ]


def called(function: Any, arguments: tuple[Any, ...]) -> tuple[Any, Any, str]:
    """What it gives, the kind of what it raises, and what it prints."""
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed), np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(*arguments), None, printed.getvalue()
    except Exception as error:
        return None, error, printed.getvalue()


def compare(form: str, context: str) -> tuple[str, str]:
    """ "same", "wrong" or "invalid" (Python can't compile it), and what is wrong, or how it was run."""
    text = function_text(form, context)
    try:
        plain, ours = module_of(text), module_of(text + "\n#")
    except SyntaxError as error:
        return "invalid", str(error)
    compiled = wl.jit(ours["program"])
    for again in range(2):
        for arguments in inputs():
            wanted_given, given = ([each.copy() for each in arguments] for _ in range(2))
            wanted, fault, said = called(plain["program"], tuple(wanted_given))
            found, error, told = called(compiled, tuple(given))
            where = f"on {arguments} ({'again' if again else 'first'})"
            if fault is not None or error is not None:
                if fault is None or not isinstance(error, _builtin_kind(fault)):
                    return "wrong", f"{where}: raised {error!r}, wanted {fault!r}; wanted {wanted}"
            elif difference := different(wanted, found):
                return "wrong", f"{where}: {difference}:\n  found {found}\n  wanted {wanted}"
            if difference := different(wanted_given, given):
                return "wrong", f"{where}: in place: {difference}:\n  found {given}\n  wanted {wanted_given}"
            if said != told or different(plain["total"], ours["total"]):
                return "wrong", f"{where}: printed {told!r}, wanted {said!r}; {ours['total']}, {plain['total']}"
    return "same", "whole" if "one program" in str(compiled.explain(*inputs()[0])) else "split"


def _builtin_kind(fault: Exception) -> type:
    """The kind of Python's own that it is."""
    return next(each for each in type(fault).__mro__ if each.__module__ == "builtins")


def different(wanted: Any, found: Any) -> str:
    """What is not alike, "" for nothing; numbers in their kinds."""
    if isinstance(wanted, float | np.floating) and isinstance(found, float | np.floating):
        is_kind = isinstance(wanted, np.generic) == isinstance(found, np.generic) or np.dtype(type(wanted)) == np.dtype(
            type(found)
        )
        is_kind = is_kind or np.dtype(type(wanted)) == np.dtype(type(found))
        return "" if is_kind and np.allclose(wanted, found, rtol=1e-12, equal_nan=True) else f"{found!r} for {wanted!r}"
    if isinstance(wanted, np.generic) or isinstance(found, np.generic):
        alike = np.asarray(wanted).dtype == np.asarray(found).dtype and np.allclose(wanted, found, rtol=1e-12)
        return "" if alike else f"{found!r} for {wanted!r}"
    if type(wanted) is not type(found) and type(wanted).__name__ != type(found).__name__:
        return f"{type(found).__name__} for {type(wanted).__name__}"
    if isinstance(wanted, np.ndarray):
        if (wanted.dtype, wanted.shape) != (found.dtype, found.shape):
            return f"{found.dtype}{found.shape} for {wanted.dtype}{wanted.shape}"
        return "" if np.allclose(wanted, found, rtol=1e-12, equal_nan=True) else "other numbers"
    if isinstance(wanted, tuple | list):
        if len(wanted) != len(found):
            return "another length"
        return next(filter(None, map(different, wanted, found)), "")
    if isinstance(wanted, dict):
        return different(list(wanted), list(found)) or different(list(wanted.values()), list(found.values()))
    return "" if wanted == found else f"{found!r} for {wanted!r}"


def main() -> None:
    """Write what is wrong, and how many of what there were."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", default="0/1", help="of so many parts this one")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    part, parts = map(int, options.part.split("/"))
    counts: collections.Counter[str] = collections.Counter()
    for number, (form, context) in enumerate(all_functions()):
        if number % parts != part or (options.only and not f"{form}-{context}".startswith(options.only)):
            continue
        begun = time.process_time()
        kind, detail = compare(form, context)
        seconds = time.process_time() - begun
        counts[f"{kind} {detail if kind == 'same' else ''}"] += 1
        if kind != "same" or seconds > 10:
            print(f"## {form}-{context}: {kind} ({seconds:.1f} s) {detail}", flush=True)
        if number % 40 == 39:
            jax.clear_caches()
    print(dict(counts))


if __name__ == "__main__":
    main()
