"""Programs are optimized by the costs of the devices that run them, and finished for their compilers."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import windlass as wl
from windlass import pipeline
from windlass.facts import cost
from windlass.facts.cost import CPU, GPU, TPU, Device
from windlass.ir import Function, Module
from windlass.lowering.finishing import finish
from windlass.lowering.settling import is_settling
from windlass.stablehlo import export_text, import_text, platforms
from windlass.stablehlo.optimizing import inline_module
from windlass.stablehlo.program import TensorProgram

SMOOTH = """
__global__ void smooth(float *out, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 0.5f * x[i] + 0.25f * (x[i] + 1.0f);
}
"""


def updated(x: Any, indices: Any) -> Any:
    return lax.dynamic_update_slice(x.reshape(64, 4), x[indices].reshape(64, 1), (0, 1))


def smoothed(u: Any) -> Any:
    for _ in range(9):
        inner = 0.5 * u[1:-1, 1:-1] + 0.125 * (u[1:-1, :-2] + u[1:-1, 2:] + u[:-2, 1:-1] + u[2:, 1:-1])
        u = jnp.pad(inner, 1)
    return u


PROGRAMS = {
    "updated": jax.jit(updated).lower(np.zeros(256, "f4"), np.arange(64)).as_text(),
    "smoothed": jax.jit(smoothed).lower(jax.ShapeDtypeStruct((2048, 2048), "float32")).as_text(),
}


def finished(name: str, device: Device, **known: bool) -> tuple[bool, bool]:
    """Whether updates were settled and loops divided."""
    module: Module = import_text(PROGRAMS[name])
    inline_module(module)
    finish(module, device, **known)
    text = export_text(module)
    settles = any(is_settling(op) for function in module.functions.values() for op in function.walk())
    return settles, "optimization_barrier" in text


def test_each_device_gets_what_its_compiler_wants() -> None:
    assert finished("updated", CPU) == (True, False)
    assert finished("updated", CPU, is_partitioned=True) == (False, False)
    assert finished("updated", GPU) == (False, False)
    assert finished("smoothed", GPU) == (False, True)
    assert finished("smoothed", TPU) == (False, False)


def test_platforms_have_their_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jax, "default_backend", lambda: "cuda")
    with jax_platforms("cpu"):
        assert platforms.device_that_runs() is CPU
    with jax_platforms("cuda,cpu"):
        assert platforms.device_that_runs() is GPU
    with jax_platforms(None):
        monkeypatch.setattr(platforms, "is_started", lambda: False)
        monkeypatch.setattr(platforms, "_has_other_platforms", lambda: False)
        assert platforms.device_that_runs() is CPU  # XLA is not even started
        monkeypatch.setattr(platforms, "_has_other_platforms", lambda: True)
        assert platforms.device_that_runs() is GPU


class jax_platforms:  # noqa: N801
    """`JAX_PLATFORMS` as it would be."""

    def __init__(self, names: str | None) -> None:
        self.names = names

    def __enter__(self) -> None:
        self.before = getattr(jax.config, "jax_platforms", None)
        jax.config.update("jax_platforms", self.names)

    def __exit__(self, *_: object) -> None:
        jax.config.update("jax_platforms", self.before)


@pytest.mark.parametrize("device", [CPU, GPU])
def test_programs_are_optimized_for_the_usual_device_and_finished_for_the_one_that_runs_them(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, Device]] = []
    optimize, to_program = pipeline.optimize_and_note, finish

    def note_costs(function: Function, of: Device) -> Any:
        seen.append(("costs", of))
        return optimize(function, of)

    def note_compiler(module: Module, of: Device, *rest: Any, **known: Any) -> None:
        seen.append(("compiler", of))
        to_program(module, of, *rest, **known)

    monkeypatch.setattr("windlass.pipeline.device_that_runs", lambda: device)
    monkeypatch.setattr("windlass.functions.compiled_call.device_that_runs", lambda: device)
    monkeypatch.setattr(pipeline, "optimize_and_note", note_costs)
    monkeypatch.setattr("windlass.stablehlo.code.finish", note_compiler)
    x = np.arange(1000, dtype=np.float32)
    out = np.zeros_like(x)
    wl.cuda.compile(SMOOTH)["smooth"][4, 256](out, x, 1000)
    np.testing.assert_array_equal(out, np.float32(0.5) * x + np.float32(0.25) * (x + 1))
    np.testing.assert_array_equal(wl.jit(lambda x: x[::-1][::-1] + 1)(x), x + 1)
    assert {each for stage, each in seen if stage == "costs"} == {device}
    assert {each for stage, each in seen if stage == "compiler"} == {CPU}


@pytest.mark.parametrize("device", [CPU, GPU, TPU])
def test_programs_for_other_devices_are_right_on_cpus_too(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("windlass.functions.compiled_call.device_that_runs", lambda: device)
    x, indices = np.arange(256, dtype=np.float32), np.random.default_rng(0).permutation(256)[:64]
    wanted = x.reshape(64, 4).copy()
    wanted[:, 1] = x[indices]

    def update(x: Any, indices: Any) -> Any:
        return updated(jnp.asarray(x), jnp.asarray(indices))

    np.testing.assert_array_equal(wl.jit(update)(jnp.asarray(x), jnp.asarray(indices)), wanted)


def test_one_program_is_finished_for_each_platform_that_it_is_lowered_for() -> None:
    all_platforms = ("cuda",), ("cpu",), ("cuda", "cpu"), ("tpu",), ("cuda",)

    def lowered(name: str) -> list[str]:
        module = import_text(PROGRAMS[name])
        inline_module(module)
        program = TensorProgram(module, name)
        traced = jax.jit(program.bind).trace(*program.abstract_arguments())
        return [traced.lower(lowering_platforms=platforms).as_text() for platforms in all_platforms]

    settled = ["inlineable" in text for text in lowered("updated")]
    assert settled == [False, True, True, False, False]
    divided = ["optimization_barrier" in text for text in lowered("smoothed")]
    assert divided == [True, False, False, False, True]


def test_every_kind_of_platform_has_a_model() -> None:
    assert set(platforms.KINDS.values()) <= set(cost.DEVICES)
