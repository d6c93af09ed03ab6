"""The array of a device variable as an argument is that variable's memory, as cudaGetSymbolAddress gives it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import windlass as wl
import windlass.cupy as cp
from windlass.pycuda.compiler import SourceModule

SOURCE = """
struct Pair { float *p; int n; };
__device__ float v[8];
__constant__ float c[4] = {0, 1, 2, 3};
__global__ void both(float *a) {
    a[threadIdx.x] = v[threadIdx.x] + 1;
    __syncthreads();
    v[threadIdx.x] += 10;
}
__global__ void in_struct(Pair pair) {
    pair.p[threadIdx.x] = v[threadIdx.x] + 1;
    __syncthreads();
    v[threadIdx.x] += 10;
}
__global__ void only_emulated(float *a) {
    if (a[0] > 1e9f) free(malloc(4));
    a[threadIdx.x] = v[threadIdx.x] + 1;
    __syncthreads();
    v[threadIdx.x] += 10;
}
__global__ void add_constants(const float *a, float *b) { b[threadIdx.x] = a[threadIdx.x] + c[threadIdx.x]; }
"""

Mode = Callable[[Any], Any]


def as_it_is(kernel: Any) -> Any:
    return kernel


@pytest.fixture(params=["launched", "emulated", "checked"])
def mode(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Mode:
    """How kernels run: as usual, in the emulator, as usual and compared with the emulator."""
    if request.param == "checked":
        monkeypatch.setenv("WINDLASS_CHECK", "1")
    return wl.emulate if request.param == "emulated" else as_it_is


@pytest.fixture(scope="module")
def compiled() -> wl.cuda.Module:
    return wl.cuda.compile(SOURCE)


@pytest.fixture
def module(compiled: wl.cuda.Module) -> wl.cuda.Module:
    compiled.reset_variables()
    return compiled


def test_a_variable_as_an_argument_is_the_variable(mode: Mode, module: wl.cuda.Module) -> None:
    v = module.variables["v"]
    for argument in (v, v.reshape(2, 4), v[:]):
        v[...] = 0
        mode(module["both"])[1, 8](argument)
        assert v.tolist() == [11] * 8


def test_part_of_a_variable_as_an_argument_is_part_of_the_variable(mode: Mode, module: wl.cuda.Module) -> None:
    v = module.variables["v"]
    mode(module["both"])[1, 2](v[4:6])
    assert v.tolist() == [10, 10, 0, 0, 1, 1, 0, 0]


def test_launches_with_the_variable_and_with_other_arrays_take_turns(mode: Mode, module: wl.cuda.Module) -> None:
    v, other = module.variables["v"], np.zeros(8, np.float32)
    for argument in (other, v, other, v):
        mode(module["both"])[1, 8](argument)
    assert v.tolist() == [42] * 8
    assert other.tolist() == [22] * 8


def test_a_variable_where_a_struct_has_a_pointer_is_the_variable(mode: Mode, module: wl.cuda.Module) -> None:
    mode(module["in_struct"])[1, 8]({"p": module.variables["v"], "n": 8})
    assert module.variables["v"].tolist() == [11] * 8


@pytest.mark.filterwarnings("ignore::windlass.WindlassWarning")
def test_a_variable_in_a_kernel_that_is_only_emulated_is_the_variable(mode: Mode, module: wl.cuda.Module) -> None:
    mode(module["only_emulated"])[1, 8](module.variables["v"])
    assert module.variables["v"].tolist() == [11] * 8


def test_a_constant_variable_is_written_through_its_address(mode: Mode, module: wl.cuda.Module) -> None:
    c = module.variables["c"]
    mode(module["add_constants"])[1, 4](c, c)
    assert c.tolist() == [0, 2, 4, 6]


def test_another_modules_variable_is_another_memory(mode: Mode, module: wl.cuda.Module) -> None:
    other = wl.cuda.compile(SOURCE)
    mode(module["both"])[1, 8](other.variables["v"])
    assert module.variables["v"].tolist() == [10] * 8
    assert other.variables["v"].tolist() == [1] * 8


def test_a_read_only_view_beside_the_variable_is_no_hindrance(mode: Mode, module: wl.cuda.Module) -> None:
    c = module.variables["c"]
    view = c[:]
    view.flags.writeable = False
    mode(module["add_constants"])[1, 4](view, c)
    assert c.tolist() == [0, 2, 4, 6]


def test_pure_functions_refuse_the_variable_that_they_use(module: wl.cuda.Module) -> None:
    v, c = module.variables["v"], module.variables["c"]
    with pytest.raises(wl.LaunchError, match=r"WL0912.*argument 'a' is the memory of a device variable"):
        module["both"].jax(1, 8)(v)
    function = module["add_constants"].jax(1, 4)
    assert function(c.copy(), np.zeros(4, np.float32)).tolist() == [0, 2, 4, 6]
    with pytest.raises(wl.LaunchError, match="WL0912"):
        function(c, np.zeros(4, np.float32))


def test_compiled_functions_refuse_the_variable_where_it_is_written(module: wl.cuda.Module) -> None:
    @wl.jit(whole=True)
    def add(a: Any, b: Any) -> None:
        module["add_constants"][1, 4](a, b)

    c, other = module.variables["c"], np.zeros(4, np.float32)
    add(c, other)
    assert other.tolist() == [0, 2, 4, 6]
    with pytest.raises(wl.LaunchError, match=r"WL0912.*argument 'b'"):
        add(other, c)
    with pytest.raises(wl.LaunchError, match="WL0912"):
        add(c, c)


def test_compiled_functions_make_no_constant_of_a_variable(module: wl.cuda.Module) -> None:
    @wl.jit(whole=True)
    def add(b: Any) -> None:
        module["add_constants"][1, 4](module.variables["c"], b)

    with pytest.raises(wl.LaunchError, match=r"WL0907.*would be a constant"):
        add(np.zeros(4, np.float32))


def test_drop_ins_give_the_variable() -> None:
    module = cp.RawModule(code=f'extern "C" {{ {SOURCE} }}')
    v = module.get_global("v")
    module.get_function("both")((1,), (8,), (v,))
    assert v.tolist() == [11] * 8
    other = SourceModule(SOURCE)
    pointer, size = other.get_global("v")
    assert size == 32
    other.get_function("both")(pointer, block=(8, 1, 1))
    assert other.module.variables["v"].tolist() == [11] * 8
