"""Each door asks the forms in their order; a new form is a class and a line."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NoReturn

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import windlass as wl
from windlass.diagnostics import Diagnostic, RaisingError
from windlass.launching import forms, tiering
from windlass.launching.emulated_form import EmulatedForm
from windlass.launching.form import Form, PreparedFunction, PreparedLaunch
from windlass.launching.raised_form import RaisedForm
from windlass.launching.tiering import Tier
from windlass.runtime.launch_shape import LaunchShape

SOURCE = "__global__ void twice(float *x, int n) { int i = threadIdx.x; if (i < n) x[i] = 2 * x[i]; }"
TOLD: list[str] = []
HOW: list[str] = []


class HundredForm(Form, PreparedLaunch, PreparedFunction):
    """Writes hundreds, where there are at least four numbers."""

    name = "hundreds"
    is_kept = False

    @classmethod
    def on_arrays(cls, launch: Any, reason: Any) -> HundredForm:
        return cls._of(launch.arguments[0].size)

    @classmethod
    def on_values(cls, launch: Any, reason: Any) -> HundredForm:
        return cls._of(launch.arguments[0].size)

    @classmethod
    def on_traced(cls, launch: Any, reason: Any) -> None:
        cls._of(launch.values[0].size)
        launch.arguments[0][...] = 100

    @classmethod
    def _of(cls, size: int) -> HundredForm:
        if size < 4:
            raise RaisingError(Diagnostic("WL0303", "too few numbers"))
        return cls()

    def run(self, arguments: Sequence[Any]) -> None:
        arguments[0][...] = 100

    def inputs(self, arguments: Sequence[Any]) -> Sequence[Any]:
        return arguments

    def apply(self, *inputs: Any) -> Any:
        return jnp.full_like(inputs[0], 100)


class NoForm(RaisedForm):
    """Has nothing, and notes what it is told."""

    @classmethod
    def on_arrays(cls, launch: Any, reason: Any) -> NoReturn:
        TOLD.append(reason.diagnostics[0].headline)
        raise RaisingError(Diagnostic("WL0303", "nothing at all"))


def through_each_door(kernel: wl.cuda.Kernel, size: int) -> list[float]:
    """What a launch on ones writes: on an array, on a value, on a traced array, and where launches are watched."""
    launch = kernel[1, 32]
    array, watched = np.ones(size, np.float32), np.ones(size, np.float32)
    launch(array, size)
    value = kernel.jax(1, 32)(jnp.ones(size, jnp.float32), size)
    traced = wl.jit(whole=True)(lambda x: (launch(x, size), x)[1])(jnp.ones(size, jnp.float32))
    tiering.policy.choose("raised", lambda each: HOW.append(each.how))
    try:
        launch(watched, size)
    finally:
        tiering.policy.choose("raised", None)
    return [float(each[0]) for each in (array, value, traced, watched)]


def test_a_form_is_a_class_and_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forms, "FORMS", (HundredForm, *forms.FORMS))
    kernel = wl.cuda.compile(SOURCE)["twice"]
    assert through_each_door(kernel, 4) == [100] * 4
    assert through_each_door(kernel, 3) == [2] * 4
    assert HOW == ["hundreds", "raised"]


def test_each_form_is_told_why_those_before_have_not_the_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forms, "FORMS", (HundredForm, NoForm, EmulatedForm))
    kernel = wl.cuda.compile(SOURCE)["twice"]
    x = np.ones(3, np.float32)
    with pytest.warns(wl.WindlassWarning, match="runs in the emulator, which is slow: nothing at all") as caught:
        kernel[1, 32](x, 3)
    assert caught[0].filename == __file__
    assert TOLD == ["too few numbers"]
    assert x.tolist() == [2] * 3
    report = kernel.explain()
    assert (report.form, report.reason) == ("emulated", "nothing at all")


@pytest.mark.parametrize("door", ["array", "value", "traced"])
def test_the_emulator_is_forbidden_at_each_door(door: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = wl.cuda.compile("__global__ void f(int *a) { while (atomicExch(a, 1)) {} atomicExch(a, 0); }")["f"]
    monkeypatch.setenv("WINDLASS_FALLBACK", "error")
    a = np.zeros(1, np.int32)
    with pytest.raises(wl.RaisingError):
        if door == "array":
            kernel[1, 4](a)
        elif door == "value":
            kernel.jax(1, 4)(a)
        else:
            wl.jit(whole=True)(lambda a: kernel[1, 4](a=a))(jax.numpy.asarray(a))


@pytest.mark.parametrize("door", ["array", "value", "traced"])
def test_what_would_take_the_emulator_hours_is_refused_at_each_door(door: str) -> None:
    kernel = wl.cuda.compile("__global__ void f(int *a) { while (atomicExch(a, 1)) {} atomicExch(a, 0); }")["f"]
    grid = (2**31 - 1, 1000, 1)
    a = np.zeros(1, np.int32)
    with pytest.raises(wl.LaunchError, match="WL0419"):
        if door == "array":
            kernel[grid, 1](a)
        elif door == "value":
            kernel.jax(grid, 1)(a)
        else:
            wl.jit(whole=True)(lambda a: kernel[grid, 1](a=a))(jax.numpy.asarray(a))


def test_least_seconds_of_the_emulator_decide_where_a_tier_begins() -> None:
    kernel = wl.cuda.compile(SOURCE)["twice"]
    small, large = (LaunchShape((blocks, 1, 1), (1024, 1, 1), 0) for blocks in (1, 2**20))
    ran: list[str] = []
    for shape in (small, large):
        ran.append(Tier(kernel, shape, "auto").run(lambda: "hundreds", lambda: None)[0])
    assert ran == ["emulated", "hundreds"]


def test_tiers_leave_native_code_that_is_made_anew_for_each_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiering, "SECONDS_BEFORE_NATIVE", 0.0)
    now = 0.0
    monkeypatch.setattr(tiering.time, "process_time", lambda: now)

    def spend(seconds: float) -> None:
        nonlocal now
        now += seconds

    def run_natively(seconds: float) -> str:
        spend(seconds)
        return "native"

    kernel = wl.cuda.compile(SOURCE)["twice"]
    ran: dict[float, list[str]] = {}
    for seconds in (0.01, 0.001):
        tier = Tier(kernel, LaunchShape((1, 1, 1), (1, 1, 1), 0), "auto")
        tier._emulated_seconds, tier._emulated_launches = 0.2, 50  # pyright: ignore[reportPrivateUsage]
        ran[seconds] = [tier.run(partial(run_natively, seconds), partial(spend, 0.004))[0] for _ in range(7)]
    assert ran == {0.01: ["native"] * 5 + ["emulated"] * 2, 0.001: ["native"] * 7}
