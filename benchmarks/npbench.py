"""NPBench's programs by `wl.jit`, unchanged, beside NumPy and, where NPBench has a version for it, Numba.

    git clone https://github.com/spcl/npbench
    python -m benchmarks.npbench npbench --preset S --numba --drop-in

Each program runs in a process of its own: NumPy, `wl.jit` (the first call, then as many as `wl.jit` takes to find who
is faster), Numba, and the version for Numba by `windlass.numba` in its place (`--drop-in`), take turns on fresh copies
of the arguments, and the least time of each counts.
"""

from __future__ import annotations

import argparse
import copy
import importlib.util
import json
import math
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

ROUNDS = 10
"""Turns, the first of `wl.jit` and Numba not counted: more than `wl.jit` takes to try Python."""
SECONDS = 10.0
"""No more turns after so long."""
NUMBA = ("npr", "np", "n")
"""NPBench's versions for Numba: parallel with `prange`, parallel, and plain."""


def load(folder: Path, name: str) -> ModuleType:
    """One of NPBench's files as a module."""
    spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def data_of(folder: Path, info: Mapping[str, Any], preset: str) -> list[Any]:
    """The arguments of a program."""
    data = dict(info["parameters"][preset])
    init = info.get("init")
    if init:
        made = getattr(load(folder, info["module_name"]), init["func_name"])(
            *[data[each] for each in init["input_args"]]
        )
        names = init["output_args"]
        data.update(zip(names, made if isinstance(made, tuple) else (made,), strict=True))
    return [data[each] for each in info["input_args"]]


def timed(function: Callable[..., Any], arguments: list[Any]) -> tuple[float, float, list[Any]]:
    """Seconds by the clock and of the processors, and all that the function gives and writes."""
    import jax

    given = copy.deepcopy(arguments)
    clock, processors = time.perf_counter(), time.process_time()
    result = jax.block_until_ready(function(*given))
    took = time.perf_counter() - clock, time.process_time() - processors
    written = [each for each in given if isinstance(each, np.ndarray)]
    return *took, [*map(np.asarray, jax.tree.leaves(result)), *written]


def is_right(wanted: list[Any], found: list[Any]) -> bool:
    """Whether arrays are alike but for rounding."""
    if len(wanted) != len(found):
        return False
    for one, other in zip(wanted, found, strict=True):
        if one.shape != other.shape:
            return False
        if one.dtype.kind in "biu":
            if not np.array_equal(one, other):
                return False
        elif not np.allclose(one, other, rtol=1e-4, atol=1e-5 * float(np.abs(one).max(initial=0)), equal_nan=True):
            return False
    return True


def measure(path: Path, name: str, preset: str, with_numba: bool, with_drop_in: bool) -> dict[str, Any]:
    """What one program takes."""
    import windlass as wl

    info = json.loads((path / "bench_info" / f"{name}.json").read_text())["benchmark"]
    folder = path / "npbench" / "benchmarks" / info["relative_path"]
    arguments = data_of(folder, info, preset)
    plain = getattr(load(folder, f"{info['module_name']}_numpy"), info["func_name"])
    compiled = wl.jit(plain)
    best: dict[str, float] = {}
    found: dict[str, Any] = {"name": name}
    with np.errstate(all="ignore"):
        best["numpy"], _, wanted = timed(plain, arguments)
        _, found["first"], given = timed(compiled, arguments)
        found["is_right"] = is_right(wanted, given)
        runs: dict[str, Callable[..., Any]] = {"numpy": plain, "windlass": compiled}
        if with_numba:
            runs |= numba_of(folder, info, arguments, wanted)
        if with_drop_in:
            drop_in = drop_in_of(folder, info)
            if drop_in is not None:
                begun = time.process_time()
                found["drop_in"] = told_of(drop_in, arguments, wanted)
                found["drop_in_first"] = time.process_time() - begun
                if found["drop_in"] == "right":
                    runs["drop_in"] = drop_in
        begun = time.perf_counter()
        for _ in range(ROUNDS):
            for key, run in runs.items():
                if key == "numpy" and best["numpy"] > 1:
                    continue
                best[key] = min(best.get(key, math.inf), timed(run, arguments)[0])
            if time.perf_counter() - begun > SECONDS and len(best) == len(runs):
                break
        found["is_left_to_python"] = "Python runs it" in str(compiled.explain(*copy.deepcopy(arguments)))
    return found | {"seconds": best}


def numba_of(
    folder: Path, info: Mapping[str, Any], arguments: list[Any], wanted: list[Any]
) -> dict[str, Callable[..., Any]]:
    """The first of NPBench's versions for Numba that is there and right."""
    for kind in NUMBA:
        name = f"{info['module_name']}_numba_{kind}"
        if (folder / f"{name}.py").exists():
            try:
                function = getattr(load(folder, name), info["func_name"])
                if is_right(wanted, timed(function, arguments)[2]):
                    return {"numba": function}
            except Exception as error:
                print(f"{name}: {type(error).__name__}", file=sys.stderr)
    return {}


def drop_in_of(folder: Path, info: Mapping[str, Any]) -> Callable[..., Any] | None:
    """The first of NPBench's versions for Numba, with `windlass.numba` in the place of Numba."""
    for kind in NUMBA:
        name = f"{info['module_name']}_numba_{kind}"
        if (folder / f"{name}.py").exists():
            real = sys.modules.get("numba")
            sys.modules["numba"] = importlib.import_module("windlass.numba")
            try:
                return getattr(load(folder, name), info["func_name"])
            finally:
                del sys.modules["numba"]
                if real is not None:
                    sys.modules["numba"] = real
    return None


def told_of(function: Callable[..., Any], arguments: list[Any], wanted: list[Any]) -> str:
    """Whether a function is right, or how it fails."""
    try:
        found = timed(function, arguments)[2]
        return (
            "right" if is_right(wanted[-len(found) :], found) else "**wrong**"
        )  # it may return less, and write the same
    except Exception as error:
        return f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"


def row_of(found: Mapping[str, Any]) -> str:
    """A line of the table."""
    if "error" in found:
        return f"| {found['name']} | {found['error']} | | | | | | |"
    seconds = found["seconds"]
    numba = seconds.get("numba")
    cells = [
        found["name"],
        f"{1e3 * seconds['numpy']:.3g}",
        f"{1e3 * seconds['windlass']:.3g}" + (" (Python)" if found["is_left_to_python"] else ""),
        f"{seconds['numpy'] / seconds['windlass']:.2f}" + ("" if found["is_right"] else " **wrong**"),
        "" if numba is None else f"{1e3 * numba:.3g}",
        f"{found['first']:.1f}",
        f"{1e3 * seconds['drop_in']:.3g}" if "drop_in" in seconds else found.get("drop_in", ""),
        f"{found['drop_in_first']:.1f}" if "drop_in" in seconds else "",
    ]
    return f"| {' | '.join(cells)} |"


def mean_of(ratios: list[float]) -> float:
    """The geometric mean."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path, help="where NPBench lies")
    parser.add_argument("names", nargs="*", help="some of its programs; all without")
    parser.add_argument("--preset", default="S")
    parser.add_argument("--numba", action="store_true", help="run Numba's versions, too")
    parser.add_argument("--drop-in", action="store_true", help="run Numba's versions by windlass.numba, too")
    parser.add_argument("--limit", type=float, default=300, help="seconds for a program")
    parser.add_argument("--alone", action="store_true", help="measure one program in this process")
    options = parser.parse_args()
    names = options.names or sorted(each.stem for each in (options.path / "bench_info").glob("*.json"))
    if options.alone:
        print("FOUND " + json.dumps(measure(options.path, names[0], options.preset, options.numba, options.drop_in)))
        return
    print(
        "| program | NumPy, ms | wl.jit, ms | NumPy / wl.jit | Numba, ms | first call, s | drop-in, ms | its first, s |"
    )
    print("|---|---|---|---|---|---|---|---|")
    right: list[Mapping[str, Any]] = []
    for name in names:
        command = [sys.executable, "-m", "benchmarks.npbench", str(options.path), name, "--alone"]
        command += ["--preset", options.preset, *(["--numba"] if options.numba else [])]
        command += ["--drop-in"] if options.drop_in else []
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=options.limit, check=False)
            lines = [line for line in done.stdout.splitlines() if line.startswith("FOUND ")]
            found: dict[str, Any] = {"name": name, "error": " ".join(done.stderr.split())[-200:]}
            if lines:
                found = json.loads(lines[0][6:])
        except subprocess.TimeoutExpired:
            found = {"name": name, "error": f"not done in {options.limit:g} s"}
        print(row_of(found), flush=True)
        if "error" not in found and found["is_right"]:
            right.append(found["seconds"])
    ratios = [each["numpy"] / each["windlass"] for each in right]
    beside = [each["numba"] / each["windlass"] for each in right if "numba" in each]
    print(f"\n{len(right)} of {len(names)} right; NumPy's time over wl.jit's: {mean_of(ratios):.2f} (geometric mean)")
    if beside:
        print(f"Numba's time over wl.jit's, {len(beside)} programs: {mean_of(beside):.2f}")
    dropped = [each["numba"] / each["drop_in"] for each in right if "numba" in each and "drop_in" in each]
    if dropped:
        print(f"Numba's time over windlass.numba's, {len(dropped)} programs: {mean_of(dropped):.2f}")


if __name__ == "__main__":
    main()
