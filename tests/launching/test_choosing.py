"""The forms of a launch, timed against each other: what is remembered, told, and left alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import windlass as wl
from windlass.launching import choosing, measurements, trials
from windlass.launching.choosing import Choice
from windlass.launching.form import PreparedLaunch, Request
from windlass.launching.measurements import Measurement
from windlass.runtime.launch_shape import LaunchShape

SOURCE = """
__global__ void grow(float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = 3 * x[i] + 1;
}
__device__ int seen;
__global__ void note(int *x) { seen = x[0]; }
__global__ void say(int *x) { printf("%d", x[0]); }
"""
SHAPE = LaunchShape((2, 1, 1), (32, 1, 1), 0)


@pytest.fixture(name="grow")
def grow_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[wl.cuda.Kernel]:
    """A kernel of which nothing is remembered, and a cache of its own."""
    kernel = wl.cuda.compile(SOURCE)["grow"]
    monkeypatch.setenv("WINDLASS_CACHE", str(tmp_path))
    monkeypatch.setenv("WINDLASS_NATIVE", "1")
    measurements.forget()
    yield kernel
    measurements.forget()


def array() -> Any:
    return np.arange(64, dtype=np.float32)


def choice(grow: wl.cuda.Kernel) -> Choice:
    return choosing.choose(Request.of(grow, SHAPE, [array(), np.int32(64)]))


def form_after(
    grow: wl.cuda.Kernel, seconds: dict[str, float], *, are_same: bool = True, is_wanted: bool = False
) -> str:
    """The form of the next launch once these times are known."""
    measurements.remember(choice(grow).digest, Measurement(seconds, are_same, is_wanted))
    return choice(grow).best


def test_tuning_leaves_arrays_alone_and_tells_of_all_forms(grow: wl.cuda.Kernel) -> None:
    x = array()
    launch = grow[2, 32]
    launch(array(), 64)
    report = wl.tune(grow)[2, 32](x, n=64)
    assert (x == array()).all()
    measured = {each.form: each.measured for each in report.candidates if each.measured is not None}
    assert set(measured) == {"raised", "native"}
    assert report.form == report.candidates[0].form == min(measured, key=lambda each: measured[each])
    assert "since it was the fastest when it was tuned" in str(report)
    launch(x, 64)
    assert grow.explain().form == report.form
    assert (x == 3 * array() + 1).all()


def test_what_was_measured_decides(grow: wl.cuda.Kernel) -> None:
    assert choice(grow).decision == ("native", "it takes less by estimate")
    assert form_after(grow, {"raised": 2.0, "native": 1.0}, is_wanted=True) == "native"
    assert form_after(grow, {"raised": 1.0, "native": 2.0}, is_wanted=True) == "raised"


def test_trials_that_gave_other_bits_leave_the_estimate(grow: wl.cuda.Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDLASS_TRIALS", "1")
    assert form_after(grow, {"raised": 1.0, "native": 2.0}) == "raised"
    assert form_after(grow, {"raised": 1.0, "native": 2.0}, are_same=False) == "native"
    monkeypatch.setenv("WINDLASS_TRIALS", "0")
    assert form_after(grow, {"raised": 1.0, "native": 2.0}) == "native"


@pytest.mark.parametrize("change", ["cut", "changed", "foreign"])
def test_measurements_are_kept_whole_or_not_at_all(change: str, grow: wl.cuda.Kernel, tmp_path: Path) -> None:
    assert form_after(grow, {"raised": 1.0, "native": 2.0}, is_wanted=True) == "raised"
    measurements.forget()
    assert choice(grow).best == "raised"
    (file,) = tmp_path.glob("choice-*.kept")
    whole = file.read_bytes()
    if change == "foreign":
        from windlass.diagnostics.cache import keep

        keep(file.name, b'{"seconds": {"raised": "soon"}}')
    else:
        file.write_bytes(whole[:-1] if change == "cut" else whole.replace(b"2.0", b"0.1"))
    measurements.forget()
    assert choice(grow).best == "native"


def test_long_launches_are_tried_on_copies_and_settle(grow: wl.cuda.Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDLASS_TRIALS", "1")
    monkeypatch.setattr(choosing, "SECONDS_BEFORE_TRIAL", 0.0)
    tried: list[set[str]] = []

    def time_forms(kernel: Any, arguments: Any, forms: dict[str, PreparedLaunch]) -> Measurement:
        found = trials.time_forms(kernel, arguments, forms)
        tried.append(set(forms))
        assert found.are_same
        return Measurement({"raised": 1.0, "native": 2.0}, found.are_same)

    monkeypatch.setattr(choosing, "time_forms", time_forms)
    x, wanted = array(), array()
    launch = grow[2, 32]
    for _ in range(5):
        launch(x, 64)
        wanted = 3 * wanted + 1
    assert tried == [{"raised", "native"}]
    assert (x == wanted).all()
    assert grow.explain().form == "raised"


@pytest.mark.parametrize(("name", "reason"), [("note", "it writes device variables"), ("say", "it prints")])
def test_what_would_be_noticed_is_not_tried(name: str, reason: str) -> None:
    with pytest.raises(wl.LaunchError, match=f"WL0441.*{reason}"):
        wl.tune(wl.cuda.compile(SOURCE)[name])[1, 1](np.zeros(1, np.int32))
