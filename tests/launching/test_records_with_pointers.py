"""Structs by value with pointers in them: how they are given from Python, and what whole programs pass."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import windlass as wl

SOURCE = """
struct Points { float *x; const float *y; int n; };
struct Level { Points points; double *sums[2]; float weight; };
struct Node { int value; Node *next; };
struct Chain { Node *first; };

__global__ void add(Points p, float a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < p.n) p.x[i] += a * p.y[i];
}
__device__ double at(const Level &level, int which, int i) { return level.sums[which][i]; }
__global__ void nested(int count, Level level, const float *more) {
    int i = threadIdx.x;
    if (i >= count) return;
    level.points.x[i] = level.weight * level.points.y[i] + more[i];
    if (level.sums[1]) level.sums[0][i] = 2 * at(level, 1, i); else level.sums[0][i] = -1;
}
__global__ void choose(Level level, int which) { level.sums[which][threadIdx.x] += 1; }
__global__ void walk(Chain chain, int *out) { out[0] = chain.first->next->value; }
"""


@pytest.fixture(scope="module")
def module() -> wl.cuda.Module:
    return wl.cuda.compile(SOURCE)


@pytest.fixture(autouse=True)
def no_fallback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDLASS_FALLBACK", "error")


@dataclass
class Points:
    x: Any
    y: Any
    n: int


class PointsTuple(NamedTuple):
    x: Any
    y: Any
    n: int


@pytest.mark.parametrize("form", ["dictionary", "tuple", "dataclass", "named tuple"])
@pytest.mark.parametrize("is_emulated", [False, True])
def test_members_are_arrays(module: wl.cuda.Module, form: str, is_emulated: bool) -> None:
    x, y = np.ones(8, np.float32), np.arange(8, dtype=np.float32)
    points = {
        "dictionary": {"x": x, "y": y, "n": 6},
        "tuple": (x, y, 6),
        "dataclass": Points(x, y, 6),
        "named tuple": PointsTuple(x, y, 6),
    }[form]
    kernel = wl.emulate(module["add"]) if is_emulated else module["add"]
    kernel[2, 4](points, a=2.0)
    assert x.tolist() == [1, 3, 5, 7, 9, 11, 1, 1]


def test_pointers_may_go_into_one_array(module: wl.cuda.Module) -> None:
    raised, emulated = (np.arange(20, dtype=np.float32) for _ in range(2))
    module["add"][1, 8]((raised[4:12], raised[4:12], 7), 1.0)
    wl.emulate(module["add"])[1, 8]((emulated[4:12], emulated[4:12], 7), 1.0)
    wanted = np.arange(20, dtype=np.float32)
    wanted[4:11] *= 2
    np.testing.assert_array_equal(raised, wanted)
    np.testing.assert_array_equal(emulated, wanted)


@pytest.mark.parametrize("has_second", [False, True])
@pytest.mark.parametrize("is_emulated", [False, True])
def test_structs_in_structs_and_arrays_of_pointers(module: wl.cuda.Module, has_second: bool, is_emulated: bool) -> None:
    x, y, more = np.zeros(6, np.float32), np.arange(6, dtype=np.float32), np.full(6, 10, np.float32)
    first, second = np.zeros(6), np.arange(6.0)
    level = {"points": (x, y, 0), "sums": [first, second if has_second else None], "weight": 3}
    kernel = wl.emulate(module["nested"]) if is_emulated else module["nested"]
    kernel[1, 8](5, level, more)
    assert x.tolist() == [10, 13, 16, 19, 22, 0]
    assert first.tolist() == ([0, 2, 4, 6, 8, 0] if has_second else [-1] * 5 + [0])


def test_functions_of_jax_and_of_jit_take_them(module: wl.cuda.Module) -> None:
    add = module["add"]
    run = jax.jit(lambda x, y: add.jax(1, 8)({"x": x, "y": y, "n": 5}, 3.0))
    assert run(jnp.zeros(8), jnp.arange(8.0)).tolist() == [0, 3, 6, 9, 12, 0, 0, 0]
    x, y = np.zeros(8, np.float32), np.arange(8, dtype=np.float32)
    step = wl.jit(whole=True)(lambda x, y: add[1, 8]((x, y, 8), 2.0))
    step(x, y)
    np.testing.assert_array_equal(x, 2 * y)


def test_explanations_name_the_members(module: wl.cuda.Module) -> None:
    points = {"x": np.zeros(8, np.float32), "y": np.zeros(8, np.float32), "n": 8}
    assert "load p.y: slice" in str(module["add"].explain(1, 8, points, 1.0))
    assert "stablehlo" in module["add"].lower(1, 8, points, 1.0).text("tensor")
    module["add"][1, 8](points, 1.0)
    assert module["add"].explain().is_raised


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (3, r"WL0407.*argument 'p' is a Points with pointers \('p.x', 'p.y'\), got int"),
        ((np.zeros(8, np.float32), 8), r"argument 'p' is a Points with pointers .* got tuple"),
        ({"x": np.zeros(8, np.float32), "n": 8}, "got dict"),
        (np.zeros((), [("x", "u8"), ("y", "u8"), ("n", "i4")])[()], "got void"),
        ((np.zeros(8), np.zeros(8, np.float32), 8), r"argument 'p.x' .*float64"),
        ((np.zeros(8, np.float32), np.zeros(8, np.float32), "many"), r"argument 'p.n' must be"),
        ({"x": np.zeros(8, np.float32), "y": np.zeros(8, np.float32), "m": 8}, r"argument 'p' must be a Points"),
    ],
)
def test_values_that_are_no_such_struct_are_refused(module: wl.cuda.Module, points: Any, message: str) -> None:
    for kernel in (module["add"], wl.emulate(module["add"])):
        with pytest.raises(wl.LaunchError, match=message):
            kernel[1, 8](points, 1.0)


def test_pointers_that_stay_in_memory_are_for_the_emulator(
    module: wl.cuda.Module, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = np.zeros(2, np.dtype([("value", "i4"), ("next", "u8")], align=True))
    with pytest.raises(wl.RaisingError, match=r"WL0206.*a pointer is kept in memory"):
        module["walk"][1, 1]((nodes,), np.zeros(1, np.int32))
    monkeypatch.delenv("WINDLASS_FALLBACK")
    sums = np.zeros(4), np.zeros(4)
    with pytest.warns(wl.WindlassWarning, match="choose runs in the emulator"):
        module["choose"][1, 4]({"points": (None, None, 0), "sums": sums, "weight": 0}, 1)
    assert [each.tolist() for each in sums] == [[0] * 4, [1] * 4]


PROGRAM = """
#include <cstdio>
struct Field { float *values; const int *places; int n; float scale; };
__device__ float bias = 0.5f;
__global__ void apply(Field f, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < f.n) out[i] = f.scale * f.values[f.places[i]] + bias;
}
int main() {
    const int n = 100;
    float *values, *out, host[n];
    int *places, where[n];
    cudaMalloc(&values, 2 * n * sizeof(float)); cudaMalloc(&out, n * sizeof(float));
    cudaMalloc(&places, n * sizeof(int));
    for (int i = 0; i < n; i++) { host[i] = i; where[i] = n - 1 - i; }
    cudaMemcpy(places, where, sizeof where, cudaMemcpyHostToDevice);
    for (int part = 0; part < 2; part++) {
        cudaMemcpy(values + part * n, host, sizeof host, cudaMemcpyHostToDevice);
        Field f{values + part * n, places, n - part, 2.0f};
        apply<<<2, 64>>>(f, out);
        cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
    }
    Field f{nullptr, places, 0, 1.0f};
    apply<<<2, 64>>>(f, nullptr);
    double sum = 0;
    for (int i = 0; i < n; i++) sum += i * host[i];
    printf("%.2f %d\\n", sum, (int)cudaDeviceSynchronize());
}
"""


@pytest.mark.one_in(2)
@pytest.mark.parametrize("mode", ["raised", "emulated"])
def test_programs_pass_them(tmp_path: Path, mode: wl.cuda.Mode, capfd: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "main.cu"
    source.write_text(PROGRAM)
    records: list[wl.cuda.LaunchRecord] = []
    assert wl.cuda.program(source, mode=mode).run(observe=records.append) == 0
    first = 2 * np.arange(100.0)[::-1] + 0.5
    second = first.copy()
    second[:99] = 2 * first[::-1][:99] + 0.5
    assert capfd.readouterr().out == f"{np.arange(100) @ second:.2f} 0\n"
    assert [each.how for each in records] == [mode] * 3
    assert records[0].arrays["f.values"] is not None and records[0].arrays["f.values"].size == 200
    assert records[1].arrays["f.values"] is not None and records[1].arrays["f.values"].size == 100
    assert records[2].arrays["f.values"] is None
