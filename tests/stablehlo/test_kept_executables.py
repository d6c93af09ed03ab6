"""Programs that XLA compiled are kept between processes; one that is not as it was is ignored and written anew."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import jax
import numpy as np
import pytest

from windlass.diagnostics import cache
from windlass.diagnostics.cache import keep, kept_files, read_kept
from windlass.stablehlo import import_text
from windlass.stablehlo.private_jax import is_of_arrays_alone
from windlass.stablehlo.program import TensorProgram

LOOP = """func.func @main(%a: tensor<4xf64>, %n: tensor<i32>) -> (tensor<4xf64>, tensor<i1>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %half = stablehlo.constant dense<0.5> : tensor<4xf64>
  %0:2 = stablehlo.while(%i = %n, %x = %a) : tensor<i32>, tensor<4xf64>
    cond { %1 = stablehlo.compare GT, %i, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
           stablehlo.return %1 : tensor<i1> }
    do { %one = stablehlo.constant dense<1> : tensor<i32>
         %1 = stablehlo.subtract %i, %one : tensor<i32>
         %2 = stablehlo.multiply %x, %half : tensor<4xf64>
         stablehlo.return %1, %2 : tensor<i32>, tensor<4xf64> }
  %3 = stablehlo.compare EQ, %0#0, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
  return %0#1, %3 : tensor<4xf64>, tensor<i1>
}"""
OTHER = LOOP.replace("0.5", "0.25")
X, N = np.array([1.0, 5e-324, np.inf, -3.0]), np.int32(2)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WINDLASS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "_instead", {})
    if len(jax.devices()) > 1:
        pytest.skip("nothing is kept where JAX has several devices")
    return tmp_path / "cache"


def run(text: str = LOOP, donate: tuple[int, ...] = ()) -> list[np.ndarray]:
    """What the program gives, made as by a process that knows nothing of it."""
    with jax.enable_x64(True):
        return [np.asarray(each) for each in TensorProgram(import_text(text), "loop").compile([X, N], donate)(X, N)]


def expect_right(found: list[np.ndarray], factor: float = 0.5) -> None:
    # Subnormal numbers are kept, as by a program that was just compiled.
    assert found[0].tolist() == (X * factor * factor).tolist()
    assert found[1].dtype == np.bool_
    assert found[1]


def the_file(folder: Path) -> Path:
    (found,) = folder.glob("xla-*")
    return found


def refuse_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TensorProgram, "_compile", lambda *_: pytest.fail("it was compiled"))


@pytest.mark.parametrize("donate", [(), (0,)])
def test_a_kept_program_is_not_compiled_again(donate: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    expect_right(run(donate=donate))
    refuse_compiling(monkeypatch)
    expect_right(run(donate=donate))


def test_other_programs_and_other_settings_are_others(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run()
    expect_right(run(OTHER), 0.25)
    run(donate=(0,))
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_min_max=false")
    run()
    assert len([*own_cache.glob("xla-*")]) == 4


def _tear(content: bytes) -> bytes:
    return content[: len(content) // 2]


def _flip_a_bit(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 4]) + content[middle + 1 :]


def _empty(content: bytes) -> bytes:
    return b""


@pytest.mark.parametrize("damage", [_tear, _flip_a_bit, _empty])
def test_a_damaged_program_is_written_anew(damage: Callable[[bytes], bytes], own_cache: Path) -> None:
    run()
    file = the_file(own_cache)
    file.write_bytes(damage(file.read_bytes()))
    assert read_kept(file.name) is None
    expect_right(run())
    assert read_kept(file.name) is not None


def test_the_program_of_another_name_is_written_anew(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run()
    file = the_file(own_cache)
    file.unlink()
    run(OTHER)
    the_file(own_cache).rename(file)
    expect_right(run())
    refuse_compiling(monkeypatch)
    expect_right(run())


@pytest.mark.parametrize("content", [b"", b"\0" * 64, b"no program of XLA's"])
def test_what_xla_does_not_take_for_a_program_is_written_anew(content: bytes, own_cache: Path) -> None:
    run()
    file = the_file(own_cache)
    keep(file.name, file.name.encode() + content)
    expect_right(run())
    assert len(read_kept(file.name) or b"") > len(file.name) + len(content)


def test_programs_are_not_kept_where_that_is_forbidden(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDLASS_KEEP_XLA", "0")
    expect_right(run())
    assert not [*own_cache.glob("xla-*")]


def test_kept_programs_are_of_a_kind_that_is_shown(own_cache: Path) -> None:
    run()
    assert [each.kind for each in kept_files()] == ["xla"]


def test_a_kept_program_refuses_what_the_compiled_one_refuses() -> None:
    for _ in range(2):
        with jax.enable_x64(True):
            function = TensorProgram(import_text(LOOP), "loop").compile([X, N])
            with pytest.raises(TypeError):
                function(X[:2], N)
            expect_right([np.asarray(each) for each in function(X, N)])


TWICE = r'''
import sys, threading
import numpy as np, jax
import windlass as wl
from windlass.stablehlo.program import TensorProgram
from windlass.stablehlo.underflow import pool_keeps_subnormals

compiled = []
usual = TensorProgram._compile
TensorProgram._compile = lambda self, *given: compiled.append(self.name) or usual(self, *given)
kernel = wl.cuda.compile("""__global__ void add(float *y, const float *x, const int *at, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[at[i]] + y[i];
}""")["add"]
ys = [np.ones(100, np.float32) for _ in range(4)]
x, at = np.arange(100, dtype=np.float32), np.arange(100, dtype=np.int32)[::-1].copy()
threads = [threading.Thread(target=kernel[1, 128], args=(y, x, at, 100)) for y in ys]

@wl.jit
def sums(a):
    for i in range(1, a.shape[0]):
        a[i] += a[i - 1]
    return np.linalg.solve(np.eye(3) * a[-1], np.ones(3))

threads.append(threading.Thread(target=sums, args=(np.ones(7),)))
for each in threads:
    each.start()
for each in threads:
    each.join()
a = np.ones(7)
solved = sums(a)
report = kernel.explain()
gradient = wl.grad(lambda v: sums(v * 1.0)[0])(np.ones(7))
told = "gather" in str(report).lower()
print({float(y[0]) for y in ys}, a[-1], solved[0], pool_keeps_subnormals(), told, gradient[0])
print(len(compiled), compiled, file=sys.stderr)
'''


def test_a_second_process_compiles_nothing_and_knows_as_much(own_cache: Path) -> None:
    environment = dict(os.environ, WINDLASS_NATIVE="0")
    first, second = (
        subprocess.run([sys.executable, "-c", TWICE], check=False, env=environment, capture_output=True, text=True)
        for _ in range(2)
    )
    assert first.returncode == 0, first.stderr
    assert first.stdout == second.stdout
    assert first.stdout.startswith("{100.0} 7.0 0.14285714285714285 True True"), first.stdout
    assert not first.stderr.startswith("0 ")
    assert second.stderr.startswith("0 "), second.stderr


def test_programs_that_xla_gives_fewer_arguments_are_not_kept() -> None:
    takes_all, drops_last, drops_all = (lambda x, y: x + y, lambda x, y: x + 1.0, lambda x, y: 1.0)
    found = [is_of_arrays_alone(jax.jit(each).lower(1.0, 2.0).compile()) for each in (takes_all, drops_last, drops_all)]
    assert found == [True, False, False]
