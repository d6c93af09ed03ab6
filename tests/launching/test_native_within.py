"""Launches on JAX values that are raised, and run as native code where XLA compiles them for this process's CPU."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import windlass as wl
from windlass.launching import native_within

MODULE = wl.cuda.compile("""
__constant__ float start[1] = {0.25f};
__global__ void orbit(const float *c, float *out, int n, int limit, float most) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = start[0];
    for (int k = 0; k < limit; k++) { if (x * x > most) break; x = x * x + c[i]; }
    out[i] += x;
}
__global__ void twice(float *x) { x[blockIdx.x * blockDim.x + threadIdx.x] *= 2; }
__global__ void pick(const int *where, const float *x, float *y, int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, at = where[i];
    float sum = 0;
    while (rounds-- > 0) { sum = sum * 0.5f + x[at]; if (sum > 1e6f) break; }
    y[i] = sum;
}
__global__ void turn(float2 *z, double by) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; z[i].x * z[i].x < by && k < 100; k++) z[i].x = z[i].x * 1.5f + z[i].y;
}
""")
GRID, BLOCK, N = 8, 128, 1000
TARGET = "windlass_native"


@pytest.fixture(autouse=True)
def as_it_is_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDLASS_NATIVE", "1")


def given() -> tuple[Any, Any]:
    return jnp.linspace(-1.5, 0.2, N, dtype=jnp.float32), jnp.ones(N, jnp.float32)


def run(c: Any, out: Any) -> Any:
    return MODULE["orbit"].jax(GRID, BLOCK)(c, out, N, 50, 4.0)


def wanted() -> Any:
    c, out = (np.array(each) for each in given())
    wl.emulate(MODULE["orbit"])[GRID, BLOCK](c, out, N, 50, 4.0)
    return out


def calls_native_code(function: Any, *arguments: Any) -> bool:
    return TARGET in jax.jit(function).lower(*arguments).as_text()


def test_a_launch_that_costs_clearly_less_as_native_code_runs_so() -> None:
    c, out = given()
    assert (np.asarray(run(c, out)) == wanted()).all()
    report = MODULE["orbit"].explain()
    assert (report.form, report.is_raised, report.candidates[0].form) == ("native", True, "native")
    assert "it takes less than 1 / 1.5 by estimate" in str(report)
    assert calls_native_code(run, c, out)
    assert (np.asarray(out) == 1).all()


def test_it_runs_in_loops_and_among_other_ops() -> None:
    c, out = given()
    found = jax.jit(lambda c, out: jax.lax.fori_loop(0, 3, lambda _, out: run(c, out), out.T * 1.0))(c, out)
    expected = out
    for _ in range(3):
        expected = run(c, expected)
    assert (np.asarray(found) == np.asarray(expected)).all()


def test_a_launch_that_xla_may_fuse_stays_a_tensor_program() -> None:
    launch = MODULE["twice"].jax(4, 32)
    assert launch(jnp.ones(128)).tolist() == [2.0] * 128
    report = MODULE["twice"].explain()
    assert (report.form, report.choice_reason) == (
        "raised",
        "native code would not take less than 1 / 1.5 of it by estimate",
    )
    assert not calls_native_code(launch, jnp.ones(128))


def test_derivatives_and_batches_are_those_of_the_tensor_program(monkeypatch: pytest.MonkeyPatch) -> None:
    c, out = given()

    def found() -> list[Any]:
        def loss(c: Any) -> Any:
            return jnp.tanh(run(c, out)).sum()

        both = jnp.stack([c, c + 0.01])
        return [
            jax.grad(loss)(c),
            jax.jvp(jax.grad(loss), (c,), (out,))[1],
            jax.jit(jax.vmap(lambda c: run(c, out)))(both),
            jax.vmap(jax.grad(loss))(both),
        ]

    chosen = found()
    monkeypatch.setenv("WINDLASS_NATIVE", "0")
    for ours, raised in zip(chosen, found(), strict=True):
        np.testing.assert_allclose(ours, raised, rtol=1e-5)


def test_programs_for_other_processes_and_devices_are_raised() -> None:
    c, out = given()
    exported = jax.export.export(jax.jit(run), platforms=("cpu", "cuda"))(c, out)
    assert TARGET not in exported.mlir_module()
    mesh = jax.make_mesh((1,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
    spec = jax.sharding.PartitionSpec()
    divided = jax.shard_map(run, mesh=mesh, in_specs=(spec, spec), out_specs=spec, check_vma=False)
    assert not calls_native_code(divided, c, out)
    assert (np.asarray(jax.jit(divided)(c, out)) == wanted()).all()


def test_an_access_that_leaves_its_array_is_an_error() -> None:
    where = jnp.full(1024, 7, jnp.int32).at[100].set(5000)
    with pytest.raises(wl.EmulationError, match="element 5000 of 'x', which has 16 elements"):
        MODULE["pick"].jax(8, 128)(where, jnp.ones(16), jnp.zeros(1024), 40)


@pytest.mark.parametrize("kernel", ["turn"])
def test_what_enters_xla_in_another_form_is_raised(kernel: str) -> None:
    z = jnp.ones((128, 2), jnp.float32)
    found = MODULE[kernel].jax(1, 128)(z, 100.0)
    expected = np.ones((128, 2), np.float32)
    wl.emulate(MODULE[kernel])[1, 128](expected, 100.0)
    assert (np.asarray(found) == expected).all()


def test_every_gain_is_clear_where_none_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_within, "CLEAR_GAIN", 0.0)
    kernel = wl.cuda.compile("__global__ void thrice(float *x) { x[threadIdx.x] *= 3; }")["thrice"]
    assert kernel.jax(1, 32)(jnp.ones(32)).tolist() == [3.0] * 32
    assert calls_native_code(kernel.jax(1, 32), jnp.ones(32))


def steps(c: Any, out: Any) -> Any:
    out = out.copy()
    for _ in range(2):
        MODULE["orbit"][GRID, BLOCK](c, out, N, 50, 4.0)
    return out * 2


def test_launches_within_functions_choose_too_and_derive_as_tensor_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    c, out = (np.array(each) for each in given())

    def found() -> tuple[bool, list[Any]]:
        function = wl.jit(steps)

        def loss(c: Any) -> Any:
            return jnp.tanh(function(c, out)).sum()

        both = jnp.stack([c, c + np.float32(0.01)])
        results = [function(c, out), jax.grad(loss)(c), jax.vmap(lambda c: function(c, out))(both)]
        return calls_native_code(function, c, out), results

    calls, chosen = found()
    assert calls
    assert MODULE["orbit"].explain().form == "native"
    exported = jax.export.export(jax.jit(wl.jit(steps)))(c, out)
    assert TARGET not in exported.mlir_module()
    monkeypatch.setenv("WINDLASS_NATIVE", "0")
    calls, raised = found()
    assert not calls
    for ours, theirs in zip(chosen, raised, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)


def test_launches_on_parts_of_arrays_within_functions_are_raised() -> None:
    @wl.jit
    def halves(c: Any, out: Any) -> Any:
        MODULE["orbit"][GRID // 2, BLOCK](c[: N // 2], out[N // 2 :], N // 2, 50, 4.0)
        return out

    c, out = (np.array(each) for each in given())
    expected = out.copy()
    wl.emulate(MODULE["orbit"])[GRID // 2, BLOCK](c[: N // 2], expected[N // 2 :], N // 2, 50, 4.0)
    assert (np.asarray(halves(c, out)) == expected).all()


def test_an_access_that_leaves_its_array_is_an_error_of_functions_too() -> None:
    @wl.jit
    def picked(where: Any, x: Any) -> Any:
        y = np.zeros(1024, np.float32)
        MODULE["pick"][8, 128](where, x, y, 40)
        return y

    where = np.full(1024, 7, np.int32)
    assert np.asarray(picked(where, np.ones(16, np.float32)))[0] == 2.0
    assert MODULE["pick"].explain().form == "native"
    where[100] = 5000
    with pytest.raises(wl.EmulationError, match="read of 4 bytes out of bounds"):
        picked(where, np.ones(16, np.float32))
