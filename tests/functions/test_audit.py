"""`wl.audit` names what is wrong with derivatives: planted mistakes, and points at which a derivative is a choice."""

# pyright: basic
from __future__ import annotations

import inspect
from dataclasses import replace as dataclass_replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import windlass as wl
from windlass.autodiff import reverse
from windlass.functions.audit import audit
from windlass.ops import Constant, DotGeneral, DynamicUpdateSlice, Multiply, Negate, Sine

MODULE = wl.cuda.compile("""
__global__ void pieces(const float *x, const float *table, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    if (v > 0.5f) y[i] = v * v;
    else y[i] = table[(int)(10 * v)];
}
__global__ void larger(const float *x, const float *y, float *z) {
    int i = threadIdx.x;
    z[i] = x[i] > y[i] ? x[i] : y[i];
}
__global__ void scatter(const float *x, const int *place, float *y) {
    y[place[threadIdx.x]] = x[threadIdx.x];
}
""")
X = np.array([0.3, 1.7, -0.9])


def found(report, hazard):
    """The one finding of this kind; the report says so, too."""
    (finding,) = [each for each in report.findings if each.hazard.value == hazard]
    assert hazard in str(report)
    return finding


def line(finding):
    assert finding.position is not None
    return finding.position.line


def line_of(function, text):
    lines, first = inspect.getsourcelines(function)
    return first + next(number for number, line in enumerate(lines) if text in line)


def test_what_is_right_agrees():
    def run(u, c, steps):
        for _ in range(steps):
            u[1:-1] += c * np.sin(u[:-2] - 2 * u[1:-1] + u[2:])
        return (u * u).sum()

    report = audit(run, np.linspace(0.1, 2, 9).astype(np.float32), 0.2, 7, directions=1)
    assert report.agrees and not report.findings, str(report)
    assert report.checked > 30 and report.unchecked == 0
    assert "agree" in str(report)


def test_long_loops_that_are_right_are_gone_through_for_some_rounds_alone():
    def march(x, y):
        for _ in range(300):
            x, y = np.sin(x) + y, y * 0.99
        return x

    report = audit(march, X, X, directions=1)
    assert report.agrees and report.shortened == 1 and report.checked < 60 and "first 8 rounds" in str(report)


def test_a_wrong_partial_is_named(monkeypatch):
    right = Sine.partial
    monkeypatch.setattr(Sine, "partial", lambda op, place: Multiply(right(op, place), Constant.splat(1.01, op.type)))

    def wrong(x):
        y = np.exp(x)
        return np.sin(y) * y

    report = audit(wrong, X, directions=1)
    fault = found(report, "wrong rule")
    assert not report.agrees and fault.is_fault and fault.op == "stablehlo.sine"
    assert line(fault) == line_of(wrong, "np.sin") and "np.sin(y) * y" in str(report)


def test_a_wrong_pullback_is_named(monkeypatch):
    right = DotGeneral.pullback
    monkeypatch.setattr(DotGeneral, "pullback", lambda op, given, place: Negate(right(op, given, place)))

    def wrong(x, y):
        return np.sin(x) @ y

    report = audit(wrong, np.arange(6.0).reshape(2, 3) + 1, X, directions=1)
    fault = found(report, "wrong rule")
    assert not report.agrees and fault.op == "stablehlo.dot_general" and "in reverse" in fault.what


def test_a_wrong_derivative_of_an_overwrite_is_named(monkeypatch):
    def forgetful(op, given, place):
        return given[0] if place == 0 else right(op, given, place)

    right = DynamicUpdateSlice.pullback
    monkeypatch.setattr(DynamicUpdateSlice, "pullback", forgetful)

    def wrong(u, v, place):
        u[place] = np.sin(v)
        return (u * u).sum()

    report = audit(wl.jit(whole=True)(wrong), X, 0.4, 1, directions=1)
    fault = found(report, "overwrite")
    assert not report.agrees and fault.op == "stablehlo.dynamic_update_slice"
    assert line(fault) == line_of(wrong, "u[place]")


def test_a_wrong_derivative_of_a_loop_is_named(monkeypatch):
    right = reverse.pull_back_loop

    def wrong(op, *arguments):
        return {
            value: dataclass_replace(each, value=Multiply(each.value, Constant.splat(2, each.value.type)))
            for value, each in right(op, *arguments).items()
        }

    monkeypatch.setattr(reverse, "pull_back_loop", wrong)

    def march(x):
        for _ in range(100):
            x = np.sin(x) + 0.1
        return x

    report = audit(march, X, directions=1)
    fault = found(report, "loop or branch")
    assert not report.agrees and fault.op == "stablehlo.while" and "in reverse" in fault.what


def test_a_wrong_custom_vjp_is_named():
    @jax.custom_vjp
    def cube(x):
        return x**3

    cube.defvjp(lambda x: (x**3, x), lambda x, given: (2 * x**2 * given,))
    report = audit(lambda x: np.sum(cube(x)), X, directions=1)
    assert not report.agrees and report.directions[0].forward is None
    fault = found(report, "custom rule")
    assert line(fault) == line_of(test_a_wrong_custom_vjp_is_named, "report = audit")


def test_a_wrong_custom_jvp_is_named():
    @jax.custom_jvp
    def cube(x):
        return x**3

    cube.defjvp(lambda x, moved: (x[0] ** 3, 2 * x[0] ** 2 * moved[0]))
    fault = found(audit(lambda x: np.sum(cube(x)), X, directions=1), "custom rule")
    assert fault.is_fault and "cube" in fault.op and "the rule gives" in fault.what


def test_a_stopped_gradient_is_named():
    report = audit(lambda x: jnp.sum(x * jax.lax.stop_gradient(x)), X, directions=1)
    assert not report.agrees and "stop_gradient" in found(report, "custom rule").op


def test_a_guard_and_an_integer_path_of_a_kernel_are_named():
    x, table = np.linspace(0, 1, 9).astype(np.float32), np.arange(16, dtype=np.float32) ** 2
    for function in (MODULE["pieces"][1, 16], MODULE["pieces"].jax(1, 16)):
        report = audit(function, x, table, np.zeros(9, np.float32), 9, directions=1)
        fault = found(report, "guard")
        assert not report.agrees and fault.is_fault and line(fault) == 6 and fault.place == (4,)
        assert line(found(report, "integer path")) == 7
    assert audit(MODULE["pieces"][1, 16], x + 0.02, table, np.zeros(9, np.float32), 9, directions=1).agrees


def test_ties_are_named():
    x, y = np.array([1, 2, 3], np.float32), np.array([3, 2, 1], np.float32)
    report = audit(MODULE["larger"][1, 3], x, y, np.zeros(3, np.float32), directions=1)
    assert not report.agrees and line(found(report, "tie")) == 11
    report = audit(lambda x, y: np.maximum(x, y) * 2, x, y, directions=1)  # half to each
    assert report.agrees and found(report, "tie").place == (1,)


def test_overwritten_values_are_named():
    x, place = np.array([1, 2, 3], np.float32), np.array([0, 1, 0], np.int32)
    report = audit(MODULE["scatter"][1, 3], x, place, np.zeros(2, np.float32), directions=1)
    assert report.agrees and line(found(report, "overwrite")) == 14


def test_kinks_jumps_and_poles_are_named():
    def pieces(x):
        return np.abs(x) + np.floor(x) + np.sqrt(np.abs(x))

    report = audit(pieces, np.array([1.5, 0.0]), directions=1)
    assert not report.agrees
    assert found(report, "non-smooth point").op == "stablehlo.abs" and found(report, "jump").op == "stablehlo.floor"
    assert found(report, "infinity").op == "stablehlo.sqrt" and found(report, "infinity").place == (1,)


def test_slopes_of_what_is_not_taken_are_no_fault():
    report = audit(lambda x: np.where(x > -1, np.cos(x), np.log(x + 1)), np.array([0.5, -0.0, 2]), directions=1)
    assert report.agrees and not report.findings, str(report)

    def guarded(x, k):
        return np.where(k > 0, np.sqrt(x), 0.0)

    report = audit(wl.jit(whole=True)(guarded), np.array([1.0, 0.0]), np.array([1, 0]), directions=1)
    assert report.agrees and not found(report, "unselected branch").is_fault


def test_what_is_infinite_or_lost_from_the_start_is_no_fault():
    def largest(x, y):
        y[1:] = np.maximum.accumulate(x)[1:]
        return np.max(x, initial=-np.inf)

    report = audit(largest, np.array([0.5, np.nan, 2]), np.array([np.inf, 1, 1]), directions=1)
    assert report.agrees, str(report)

    def cancelled(x, y):  # what is left has no digits that differences could show
        return ((x + y) - x) * 1e6

    assert audit(cancelled, X, X[::-1].copy(), directions=1).agrees

    def barely_left(x, y):  # what is left has few digits
        return ((x + 1e-12 * y) - x) * 1e12 + x / y

    assert audit(barely_left, X, X[::-1].copy(), directions=2).agrees


def test_lost_digits_are_named():
    def fine(x):
        return np.sin(x * np.float32(1e5))

    report = audit(fine, X.astype(np.float32) * np.float32(1.001), directions=1)
    assert not report.agrees and found(report, "rounding").is_fault


@pytest.mark.parametrize(
    ("function", "arguments", "told"),
    [(lambda k: k + 1, (np.arange(3),), "takes no floats"), (lambda x: x > 0, (X,), "gives no floats")],
)
def test_what_has_no_derivative_is_refused(function, arguments, told):
    with pytest.raises(wl.WindlassError, match=told) as failure:
        audit(function, *arguments)
    assert failure.value.diagnostics[0].code == "WL0931"
