"""The ways in which divided arrays come to Windlass, on eight devices; `tests.communication.programs` runs them."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

import windlass as wl
from windlass.communication.counting import bytes_per_run, count_messages
from windlass.stablehlo.code import Code

SHAPE = (48, 32)
FACES = 4 * (2 * 16 + 2 * 12)
"""Bytes that a device must receive in a step, on four by two devices."""
SOURCE = """
__global__ void heat(float *out, const float *u, int rows, int columns) {
  int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > 0 && i < rows - 1 && j > 0 && j < columns - 1) {
    int k = i * columns + j;
    out[k] = 0.25f * (u[k - columns] + u[k + columns] + u[k - 1] + u[k + 1]);
  }
}
"""
WAYS: list[Callable[[], None]] = []


def way(function: Callable[[], None]) -> Callable[[], None]:
    WAYS.append(function)
    return function


def outcome(way: Callable[[], None]) -> str:
    try:
        way()
    except Exception:
        return traceback.format_exc()[-2000:]
    return "right"


def mesh() -> Mesh:
    return Mesh(np.array(jax.devices()).reshape(4, 2), ("x", "y"))


def field() -> Any:
    return np.random.default_rng(3).random(SHAPE).astype(np.float32)


def divided(names: tuple[str | None, ...] = ("x", "y")) -> NamedSharding:
    return NamedSharding(mesh(), PartitionSpec(*names))


def after(u: Any, steps: int) -> Any:
    """What NumPy gives."""
    for _ in range(steps):
        new = u.copy()
        new[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        u = new
    return u


def step(u: Any) -> Any:
    return u.at[1:-1, 1:-1].set(0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]))


def steps_in_place(u: Any, steps: Any) -> Any:
    for _ in range(steps):
        u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    return u


def check(found: Any, steps: int, names: tuple[str | None, ...] = ("x", "y")) -> None:
    np.testing.assert_allclose(np.asarray(found), after(field(), steps), rtol=1e-5, atol=1e-6)
    assert found.sharding.is_equivalent_to(divided(names), 2), found.sharding


def bytes_of(function: Callable[..., Any], *arguments: Any) -> float:
    return bytes_per_run(count_messages(jax.jit(function).lower(*arguments).compile().as_text() or ""))


@way
def jit_takes_and_gives_divided_arrays() -> None:
    u = jax.device_put(field(), divided())
    compiled = wl.jit(steps_in_place)
    check(compiled(u, 3), 3)
    assert "divided among devices with halos exchanged" in str(compiled.explain(u, 3))
    check(jax.jit(compiled)(u, 3), 3)
    report = wl.communication(compiled, mesh(), u, 3)
    assert all(each.kind == "collective-permute" for each in report.ours), report
    assert sum(each.bytes for each in report.ours) == FACES, report
    assert report.plain_bytes > 20 * report.bytes, report
    # Compiled before, and called with arrays that lie otherwise.
    check(compiled(jax.device_put(field(), divided(("y", None))), 3), 3, ("y", None))
    assert not isinstance(compiled(field(), 1), jax.Array)


@way
def programs_for_divided_arrays_are_not_compiled_for_one_device() -> None:
    u = jax.device_put(field(), divided())
    with patch.object(Code, "with_native_code", side_effect=AssertionError("native code is for one device")):
        check(wl.jit(steps_in_place)(u, 2), 2)


@way
def launches_exchange_halos() -> None:
    launch = wl.cuda.compile(SOURCE)["heat"].jax((4, 6), (8, 8))
    u = jax.device_put(field(), divided())
    check(launch(u, u, *SHAPE), 1)

    def steps(u: Any) -> Any:
        return jax.lax.fori_loop(0, 4, lambda _, u: launch(u, u, *SHAPE), u)

    check(jax.jit(steps)(u), 4)
    assert bytes_of(steps, u) == 4 * FACES


@way
def launches_within_jit_exchange_halos() -> None:
    kernel = wl.cuda.compile(SOURCE)["heat"]

    def steps(u: Any, count: Any) -> Any:
        new = u.copy()
        for _ in range(count):
            kernel[(4, 6), (8, 8)](new, u, *SHAPE)
            u[:] = new
        return u

    u = jax.device_put(field(), divided())
    compiled = wl.jit(steps)
    check(compiled(u, 4), 4)
    report = wl.communication(compiled, mesh(), u, 4)
    assert sum(each.bytes for each in report.ours) == FACES, report


@way
def shardings_of_the_program_around_are_kept() -> None:
    run = jax.jit(wl.optimize(step), in_shardings=divided(), out_shardings=divided(("y", None)))
    check(run(field()), 1, ("y", None))
    within = wl.optimize(lambda u: step(jax.lax.with_sharding_constraint(u, divided())))
    check(within(field()), 1)
    assert bytes_of(within, field()) == FACES


@way
def a_step_within_a_loop_of_another_program_exchanges_halos() -> None:
    optimized = wl.optimize(step)

    def steps(u: Any) -> Any:
        return jax.lax.fori_loop(0, 3, lambda _, u: optimized(u), u)

    u = jax.device_put(field(), divided())
    check(jax.jit(steps)(u), 3)
    assert bytes_of(steps, u) == 3 * FACES


@way
def several_programs_are_parts_of_one() -> None:
    def settled(u: Any) -> Any:
        new = step(u)
        return new, jnp.abs(new[1:-1, 1:-1] - u[1:-1, 1:-1]).max()

    first, second, third = wl.optimize(step), wl.optimize(settled), wl.optimize(lambda u: step(step(u)))
    u = jax.device_put(field(), divided())

    def run(u: Any) -> Any:
        u, change = second(first(u))
        return third(u), change

    found, change = jax.jit(run)(u)
    check(found, 4)
    np.testing.assert_allclose(change, np.abs(after(field(), 2) - after(field(), 1)).max(), rtol=1e-5)


@way
def gradients_are_right_on_a_mesh() -> None:
    u = jax.device_put(field(), divided())
    optimized = wl.optimize(step)
    found = jax.jit(jax.grad(lambda u: (optimized(u) ** 2).sum()))(u)
    expected = jax.grad(lambda u: (step(u) ** 2).sum())(jnp.asarray(field()))
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-5)


@way
def meshes_with_explicit_axes_are_taken() -> None:
    explicit = jax.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Explicit,) * 2)
    u = jax.device_put(field(), NamedSharding(explicit, PartitionSpec("x", "y")))
    check(wl.jit(steps_in_place)(u, 2), 2)
    check(wl.cuda.compile(SOURCE)["heat"].jax((4, 6), (8, 8))(u, u, *SHAPE), 1)


@way
def fields_may_be_divided_otherwise_or_not_at_all() -> None:
    def two(u: Any, v: Any) -> Any:
        return step(u) + jnp.roll(v, 1, 0), step(v)

    u, v = jax.device_put(field(), divided()), jax.device_put(field() + 1, divided(("y", "x")))
    for other in (v, field() + 1, jax.device_put(field() + 1, divided((None, None)))):
        for found, expected in zip(wl.optimize(two)(u, other), jax.jit(two)(field(), field() + 1), strict=True):
            np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-6)


@way
def folds_over_devices_keep_nan() -> None:
    numbers = field()
    numbers[17, 5] = np.nan
    u = jax.device_put(numbers, divided())
    for function in (jnp.max, jnp.min, lambda u: (u[1:] - u[:-1]).max(0)):
        np.testing.assert_array_equal(np.asarray(wl.optimize(function)(u)), np.asarray(function(jnp.asarray(numbers))))
    settled = jnp.stack([*map(jnp.asarray, wl.optimize(lambda u: (u.max(), u.min(), u.sum()))(u))])
    assert np.isnan(np.asarray(settled)).all()


@way
def folds_travel_together() -> None:
    u = jax.device_put(field(), divided())
    report = wl.communication(lambda u: (u.sum(), u.max(), u.min(), (u * u).sum()), mesh(), u)
    assert len(report.ours) == 2, report


@way
def what_a_mesh_does_not_divide_evenly_is_right() -> None:
    u = np.random.default_rng(5).random((50, 32)).astype(np.float32)
    placed = jax.device_put(u, NamedSharding(mesh(), PartitionSpec(None, "y")))
    np.testing.assert_allclose(np.asarray(wl.optimize(step)(placed)), after(u, 1), rtol=1e-5, atol=1e-6)


@way
def fields_that_a_mesh_does_not_divide_are_padded_within_loops() -> None:
    u = np.random.default_rng(5).random((45, 31)).astype(np.float32)

    def steps(u: Any, count: Any) -> Any:
        u = wl.shard(u, mesh(), "x", "y", uneven=True)
        for _ in range(count):
            u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        return u

    def steps_of_jax(u: Any) -> Any:
        u = wl.shard(u, mesh(), "x", "y", uneven=True)
        return jax.lax.fori_loop(0, 10, lambda _, u: step(u), u)

    placed = wl.shard(u, mesh(), "x", "y", uneven=True)
    for function, given in ((wl.jit(steps), (placed, 10)), (wl.optimize(steps_of_jax), (placed,))):
        np.testing.assert_allclose(np.asarray(function(*given)), after(u, 10), rtol=1e-5, atol=1e-6)
        report = wl.communication(function, mesh(), *given)
        in_rounds = sum(each.bytes for each in report.ours if each.rounds != 1)
        assert in_rounds == FACES, report


@way
def a_report_says_what_is_wrong_with_a_mesh() -> None:
    u = jax.device_put(field(), divided())
    for other in ("x", Mesh(np.array(jax.devices()), ("x",))):
        try:
            wl.communication(step, other, u)
        except wl.LaunchError as error:
            assert "WL0941" in str(error)
        else:
            raise AssertionError(f"{other} is taken")


@way
def checks_of_communication_name_the_lines_that_move_more() -> None:
    u = jax.device_put(field(), divided())
    report = wl.check_communication(step, mesh(), u, max_bytes=FACES, max_messages=4)
    assert report.lines[0].place.endswith(f"ways.py:{step.__code__.co_firstlineno + 1}"), report.lines
    along = sorted(str(each["along"]) for each in report.as_data()["ours"])
    assert along == ["{'x': -1}", "{'x': 1}", "{'y': -1}", "{'y': 1}"]
    page: str = getattr(report, "_repr_html_")()  # noqa: B009
    assert page.count("<line") == 2 * (3 * 2 + 4)
    try:
        wl.check_communication(step, mesh(), u, max_bytes=FACES - 4, max_messages=3)
    except AssertionError as error:
        assert "WL0942" in str(error)
        assert "receives 4 messages, 3 are allowed" in str(error)
        assert "ways.py" in str(error)
    else:
        raise AssertionError("it is taken")


@way
def explanation_says_which_form_was_taken_and_who_decided() -> None:
    u = jax.device_put(field(), divided())
    told = str(wl.optimize(lambda u, v: jnp.pad(u, 1)[2:, 2:] + jnp.sort(v, 0)).explain(u, u))
    assert "divided among devices with halos exchanged" in told, told
    assert "halos exchanged: each device receives" in told, told
    assert "left to XLA, as it was before the rules: each device receives" in told, told
    assert "axis 0 of argument 0, f32[48, 32], divides" in told, told
    assert "over 'x': 4 parts of 12" in told, told
    assert "left to XLA: sort at " in told, told
    turned = jax.device_put(field(), NamedSharding(mesh(), PartitionSpec("y")))
    told = str(wl.optimize(lambda u, v: jnp.roll(u, 1, 0) + v).explain(u, turned))
    assert "as those that divide them contradict: axis 0 of argument 0, f32[48, 32], over 'x', axis 0" in told, told
    kernel = wl.cuda.compile(SOURCE)["heat"]
    told = str(kernel.explain((2, 6), (16, 8), u, u, *SHAPE))
    assert "halos exchanged: each device receives 224 bytes in 4 messages" in told, told


@way
def outer_jit_says_of_ours_what_it_says_of_any_function() -> None:
    four = NamedSharding(Mesh(np.array(jax.devices()[:4]), ("x",)), PartitionSpec("x"))

    def cut(u: Any) -> Any:
        return u[1:] - u[:-1]

    def told(function: Callable[..., Any], given: Any, **settings: Any) -> str:
        try:
            jax.jit(function, **settings)(given)
        except ValueError as error:
            return str(error)
        raise AssertionError("nothing is told")

    whole, eight = field(), jax.device_put(field(), divided())
    for given, settings in (
        (whole[1:], {"in_shardings": divided(), "donate_argnums": 0}),
        (whole, {"out_shardings": divided(), "donate_argnums": 0}),
        (eight, {"in_shardings": four}),
        (eight, {"in_shardings": divided(("y", "x"))}),
        (eight, {"out_shardings": four}),
    ):
        expected = told(cut, given, **settings)
        assert told(wl.optimize(cut), given, **settings) == expected
        assert told(wl.jit(cut), given, **settings) == expected
