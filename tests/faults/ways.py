"""The ways in which a kernel is launched, and what has to come of each."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import windlass as wl
from tests.faults.cases import Case

Results = Sequence[Any]


def _places(arguments: Sequence[Any]) -> list[int]:
    return [place for place, each in enumerate(arguments) if isinstance(each, np.ndarray)]


def _in_place(launched: Callable[..., Any], arguments: Sequence[Any]) -> Results:
    launched(*arguments)
    return arguments


def _as_values(function: Callable[..., Any], arguments: Sequence[Any], kernel: Any, batch: int = 0) -> Results:
    """The arrays after a pure function of them, which gives those that the kernel writes."""
    places = _places(arguments)

    def run(*arrays: Any) -> Any:
        given = list(arguments)
        for place, array in zip(places, arrays, strict=True):
            given[place] = array
        return function(*given)

    arrays = [jnp.asarray(arguments[place]) for place in places]
    if batch:
        run, arrays = jax.vmap(run), [jnp.stack([each] * batch) for each in arrays]
    found = jax.block_until_ready(jax.jit(run)(*arrays))
    results = list(arguments)
    written = [place for place in sorted(kernel.written) if arguments[place] is not None]
    for place, new in zip(written, found if isinstance(found, tuple) else (found,), strict=True):
        results[place] = np.asarray(new)[batch - 1] if batch else np.asarray(new)
    return results


def _checked(kernel: Any, case: Case, arguments: Sequence[Any]) -> Results:
    os.environ["WINDLASS_CHECK"] = "1"
    try:
        return _in_place(kernel[case.grid, case.block, case.shared_bytes], arguments)
    finally:
        del os.environ["WINDLASS_CHECK"]


def _jitted(kernel: Any, case: Case, arguments: Sequence[Any]) -> Results:
    places = _places(arguments)

    @wl.jit
    def run(*arrays: Any) -> None:
        given = list(arguments)
        for place, array in zip(places, arrays, strict=True):
            given[place] = array
        kernel[case.grid, case.block, case.shared_bytes](*given)

    run(*(arguments[place] for place in places))
    return arguments


def _native_values(kernel: Any, case: Case, arguments: Sequence[Any], batch: int = 0) -> Results:
    function = wl.native(kernel).jax(case.grid, case.block, case.shared_bytes)
    return _as_values(function, arguments, kernel, batch)


WAYS: dict[str, Callable[[Any, Case, Sequence[Any]], Results]] = {
    "wl.emulate": lambda k, case, given: _in_place(wl.emulate(k)[case.grid, case.block, case.shared_bytes], given),
    "wl.native": lambda k, case, given: _in_place(wl.native(k)[case.grid, case.block, case.shared_bytes], given),
    "native in jax.jit": _native_values,
    "native under vmap": lambda k, case, given: _native_values(k, case, given, 2),
    "launch": lambda k, case, given: _in_place(k[case.grid, case.block, case.shared_bytes], given),
    "launch with checks": _checked,
    "in jax.jit": lambda k, case, given: _as_values(k.jax(case.grid, case.block, case.shared_bytes), given, k),
    "in wl.jit": _jitted,
}


def outcome(case: Case, way: str) -> dict[str, Any]:
    """What came of a launch: `error`, its type, and `text`; or whether the arrays are `right`, where that is known."""
    kernel = wl.cuda.compile(case.source)["k"]
    arguments = [each.copy() if isinstance(each, np.ndarray) else each for each in case.arguments()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = WAYS[way](kernel, case, arguments)
        except Exception as error:
            return {"error": type(error).__name__, "text": str(error)}
    if case.results is None:
        return {"error": "", "text": ""}
    pairs = zip(found, case.results(), strict=False)
    wrong = [f"{got} for {wanted}" for got, wanted in pairs if wanted is not None and not np.array_equal(got, wanted)]
    return {"error": "", "text": "; ".join(wrong)}


def complaint(case: Case, way: str, found: dict[str, Any]) -> str:
    """What is missing in what was said; nothing where all is as it should be."""
    text, is_native = found["text"], way in ("wl.native", "native in jax.jit", "native under vmap")
    if not case.code:
        return f"{found['error']} {text}" if found["error"] or text else ""
    if is_native and case.native == "refused":
        return _missing(f"{found['error']} {text}", "RaisingError", "error[WL0", "<source>:")
    if found["error"] not in ("EmulationError", "LaunchError", "RaisingError", "JaxRuntimeError", ""):
        return f"{found['error']}: {text}"
    where = f":{case.line}"
    if way in ("wl.emulate", "wl.native"):
        return _missing(text, case.code, where, case.thread, "'x' is None" if is_null(case, way) else case.memory)
    if case.shows == "null" and not text and ("jit" in way or "vmap" in way):
        return ""  # nothing depends on a launch that writes nothing
    if is_native:
        return _missing(text, where, case.thread)
    if case.shows == "data":  # looked for where that is asked for
        return _missing(text, case.code, where, case.thread) if way == "launch with checks" else ""
    if way == "in jax.jit" and case.shows in ("checked", "stops"):
        return ""  # a program of JAX's can't stop
    if case.shows == "launch" and way.startswith("launch"):
        return _missing(text, where)
    return _missing(text, where, *([case.code] if case.shows == "emulated" else []))


def is_null(case: Case, way: str) -> bool:
    return case.shows == "null" and way == "wl.native"


def _missing(text: str, *wanted: str) -> str:
    lacking = [each for each in wanted if each not in text]
    return f"no {lacking} in {text or 'nothing'!r}" if lacking else ""
