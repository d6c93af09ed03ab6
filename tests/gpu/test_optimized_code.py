"""What PTX is made of does what the kernel does: linked with the library and optimized, it is emulated as that is.

Nothing but the selection of instructions comes after it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import windlass as wl
from tests.programs.program import PROGRAMS, Array, Launch, Program
from tests.programs.test_programs import arrays_of, assert_same, compiled
from windlass.gpu.ptx import optimized_code
from windlass.launching.emulation import emulate_launch
from windlass.launching.loaded_kernel import LoadedKernel
from windlass.runtime.launch_shape import read_launch_shape

ULPS = 8 * 2.0**-23
"""How far results may be apart, relative to the largest, where the kernel calls functions."""


def is_small(launch: Launch) -> bool:
    return not launch.slow and launch.threads <= 4096


def run(kernel: LoadedKernel, program: Program, launch: Launch) -> dict[str, Array]:
    """What a launch in the emulator changes."""
    variables = kernel.module.variables
    for name, value in program.draw_variables().items():
        variables[name] = value
    arguments = program.draw_arguments(launch)
    shape = read_launch_shape(kernel.signature, (launch.grid, launch.block, launch.shared_bytes))
    emulate_launch(kernel, shape, arguments, finds_races=False)
    return arrays_of(arguments) | {name: variables[name].copy() for name in program.observed}


@pytest.mark.one_in(40)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_optimized_code_is_emulated_as_the_kernel_is(program: Any) -> None:
    kernel = compiled(program.source)[program.kernel]
    if kernel.texture_uses:
        return
    launch = next((each for each in program.launches if is_small(each)), program.launches[0])
    code = optimized_code(kernel.module.code, [kernel.signature])
    made = LoadedKernel(kernel.module.with_code(code), kernel.signature)
    wanted = run(kernel, program, launch)
    tolerance = max(program.tolerance, ULPS) if program.tolerance else 0
    assert_same(run(made, program, launch), wanted, tolerance, "the kernel")


def test_numbers_of_eight_bits_are_those_of_the_emulator() -> None:
    source = """
    #include <cuda_fp8.h>
    __global__ void there_and_back(const float *x, float *y, unsigned char *bits) {
        int i = threadIdx.x;
        bits[i] = __nv_cvt_float_to_fp8(x[i], __NV_SATFINITE, __NV_E4M3);
        y[i] = (float)__nv_fp8_e5m2(x[i]);
    }"""
    module = wl.cuda.compile(source)
    kernel = module["there_and_back"]
    code = optimized_code(module.code, [kernel.signature])
    made = LoadedKernel(module.with_code(code), kernel.signature)
    x = np.random.default_rng(0).normal(0, 300, 256).astype(np.float32)
    x[:8] = [0, -0.0, np.inf, -np.inf, 1e-9, 448, 1e9, 2**-9]
    shape = read_launch_shape(kernel.signature, (1, 256))
    results = [(np.zeros_like(x), np.zeros(256, np.uint8)) for _ in range(2)]
    for each, result in zip((kernel, made), results, strict=True):
        emulate_launch(each, shape, [x, *result], finds_races=False)
    assert results[0][1].any()
    for got, wanted in zip(results[1], results[0], strict=True):
        assert got.tobytes() == wanted.tobytes()
