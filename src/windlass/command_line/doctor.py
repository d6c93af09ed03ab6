"""`windlass doctor`: what is installed, what it runs on, what it keeps, and whether the whole way works."""

from __future__ import annotations

import math
import platform
import shutil
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from importlib import metadata
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

import windlass as wl
from windlass.diagnostics.cache import cache_directory
from windlass.diagnostics.limits import address_limit
from windlass.facts.cost import CPU
from windlass.reports.words import spell_size
from windlass.stablehlo import calibrating, calibrating_messages

PACKAGES = ("jax", "jaxlib", "llvmlite", "ziglang", "numpy", "ml_dtypes")
PROBE = """\
__global__ void probe(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 0 && i < n - 1) y[i] = 0.5f * (x[i - 1] + x[i + 1]);
}
"""


def version_of(package: str) -> str:
    """A package's version, or "not installed".

    >>> version_of("no-such-package")
    'not installed'
    """
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def examine(calibrate: bool = False) -> bool:
    """Prints the report; whether every check passed. With `calibrate`, the CPU's costs are measured anew before."""
    console = Console(highlight=False)
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row("python", f"{platform.python_version()} on {platform.system()} {platform.machine()}")
    table.add_row("windlass", wl.__version__)
    for package in PACKAGES:
        table.add_row(package, version_of(package))
    for title, text in (*_devices(), *_caches(), *_costs(calibrate), *_messages(calibrate)):
        table.add_row(title, text)
    console.print(table)
    return _run_checks(console)


def _has_devices() -> bool:
    return _devices()[0][1].partition(":")[0] != "none"


def _devices() -> list[tuple[str, str]]:
    import jax

    try:
        return [("device", f"{device.platform}: {device.device_kind}") for device in jax.devices()]
    except RuntimeError as error:
        return [("device", f"none: {error}")]


def _caches() -> list[tuple[str, str]]:
    import jax

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        directory = cache_directory()
    lines = [("cache", f"{directory}, {spell_size(_size_of(directory))}")]
    lines += [("", str(each.message)) for each in caught]
    try:
        free = shutil.disk_usage(tempfile.gettempdir()).free
        lines.append(("temporary files", f"{tempfile.gettempdir()}, {spell_size(free)} free"))
    except OSError as error:
        lines.append(("temporary files", f"none: {error.strerror or error}"))
    limit = address_limit()
    if limit is not None:
        lines.append(("address space", f"{spell_size(limit)} (ulimit -v)"))
    compilation = getattr(jax.config, "jax_compilation_cache_dir")  # noqa: B009 (no type has it)
    if compilation:
        lines.append(("xla cache", f"{compilation}, {spell_size(_size_of(Path(compilation)))}"))
    return lines


COSTS = {
    "launch": ("kernel", "s"),
    "launch_in_loop": ("in a loop", "s"),
    "launch_in_short_round": ("in a short round", "s"),
    "arithmetic": ("arithmetic", "/s"),
    "bandwidth": ("memory", "B/s"),
    "cache_bandwidth": ("cache", "B/s"),
    "f32": ("products of f32", "/s"),
    "f64": ("of f64", "/s"),
}
"""What the constants of the cost model are called, and their units."""


def _costs(calibrate: bool) -> list[tuple[str, str]]:
    """The constants of the CPU's cost model: those in use, and which they are."""
    if calibrate:
        calibrating.calibrated_cpu(anew=True)
    measured = calibrate or calibrating.is_calibrated()
    device = calibrating.calibrated_cpu() if measured else CPU
    numbers = calibrating.constants_of(device)
    text = ", ".join(f"{title} {numbers[name]:.2g} {unit}" for name, (title, unit) in COSTS.items())
    lines = [("costs", f"{text} ({'measured here' if measured else 'as they come'})")]
    if calibrate and not calibrating.is_calibrated():
        lines.append(("", f"used with {calibrating.VARIABLE}=on in the environment"))
    return lines


def _messages(calibrate: bool) -> list[tuple[str, str]]:
    """What a message between devices costs, for the CPU and for other devices where there are several."""
    import jax

    lines: list[tuple[str, str]] = []
    counts = Counter(device.platform for device in jax.devices()) if _has_devices() else Counter[str]()
    for kind in ("cpu", *(kind for kind, count in counts.items() if kind != "cpu" and count > 1)):
        found = calibrating_messages.calibrate(kind) if calibrate else None
        machine = found or calibrating_messages.machine_at(kind, 2)
        copies = "" if machine.copies == math.inf else f", copies {machine.copies:.2g} B/s"
        origin = "measured here" if machine == calibrating_messages.measured_machine(kind) else "as they come"
        text = f"{kind}: {1e6 * machine.latency:.2g} µs, {machine.bandwidth:.2g} B/s{copies} ({origin})"
        lines.append(("" if lines else "messages", text))
        if calibrate and found is None:
            lines.append(("", f"messages between devices of {kind} can't be measured here"))
    return lines


def _size_of(folder: Path) -> int:
    total = 0
    for file in folder.rglob("*"):
        with suppress(OSError):  # others may be at work in it
            total += file.stat().st_size if file.is_file() else 0
    return total


def _run_checks(console: Console) -> bool:
    """Each step of the way from source to result; a step that fails ends it."""
    for title, check in _checks():
        start = time.perf_counter()
        try:
            found = check()
        except Exception as error:
            line = Text("✗ ", style="bold red")
            line.append(f"{title}: {error}", style="default")
            console.print(line, soft_wrap=True)
            return False
        line = Text("✓ ", style="bold green")
        line.append(f"{title}{found}, {1000 * (time.perf_counter() - start):.0f} ms", style="default")
        console.print(line, soft_wrap=True)
    return True


def _checks() -> list[tuple[str, Callable[[], str]]]:
    import numpy as np

    modules: list[wl.cuda.Module] = []
    x = np.arange(100, dtype=np.float32) ** 2
    emulated, raised = np.zeros_like(x), np.zeros_like(x)

    def compile_probe() -> str:
        modules.append(wl.cuda.compile(PROBE))
        return ""

    def emulate_probe() -> str:
        wl.emulate(modules[0]["probe"])[1, 128](x, emulated, 100)
        return ""

    def run_probe() -> str:
        modules[0]["probe"][1, 128](x, raised, 100)
        report = modules[0]["probe"].explain()
        if not report.is_raised:
            raise RuntimeError(report.reason)
        return ""

    def compare() -> str:
        if not (np.array_equal(emulated, raised) and raised[1:-1].all()):
            raise RuntimeError("they differ")
        return ""

    return [
        ("clang (ziglang) compiles a kernel", compile_probe),
        ("llvmlite runs it thread by thread", emulate_probe),
        ("XLA runs it as tensors", run_probe),
        ("both give the same numbers", compare),
    ]
