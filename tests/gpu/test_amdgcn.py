"""Kernels for AMD's GPUs: what the runtime reads, warps of 32 lanes in waves of 64, what is refused, code objects."""

from __future__ import annotations

import re
from typing import Any

import pytest

import windlass as wl
from tests.programs.program import PROGRAMS
from tests.programs.test_programs import compiled

SOURCE = """
struct Scale { double factor; short shift; };
__constant__ float weights[4];
extern "C" __global__ void __launch_bounds__(128) scale(const float *x, float *y, Scale scale, int n) {
    __shared__ float tile[128];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = i < n ? x[i] : 0;
    scale.shift += 1;
    __syncthreads();
    float other = __shfl_down_sync(0xffffffff, tile[127 - threadIdx.x], 1);
    if (i < n) y[i] = expf(other) * weights[i % 4] * (float)scale.factor + scale.shift;
}
extern "C" __global__ void tell(int *x) { printf("%d", x[0]); }
"""


def test_assembly_has_what_the_runtime_reads() -> None:
    text = wl.cuda.compile(SOURCE)["scale"].amdgcn(gfx="gfx90a")
    assert '.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"' in text and ".amdhsa_code_object_version 5" in text
    # The tile, and nothing of other kernels.
    assert ".amdhsa_group_segment_fixed_size 512" in text and text.count(".amdhsa_kernel ") == 1
    arguments = re.findall(r"\.offset: +(\d+)\s+\.size: +(\d+)\s+\.value_kind: +(\w+)", text)
    assert arguments[:4] == [
        ("0", "8", "global_buffer"), ("8", "8", "global_buffer"), ("16", "16", "by_value"), ("32", "4", "by_value")
    ]  # fmt: skip
    assert any(kind == "hidden_group_size_x" for _, _, kind in arguments)
    assert ".max_flat_workgroup_size: 128" in text and ".wavefront_size: 64" in text
    # Lanes exchange values within their half of a wave; mathematics is not the fast instruction alone.
    assert "ds_bpermute_b32" in text and "s_barrier" in text and "v_fma_f32" in text and "weights" in text


def test_waves_have_32_lanes_on_newer_gpus() -> None:
    text = wl.cuda.compile(SOURCE)["scale"].amdgcn(gfx="gfx1100")
    assert ".wavefront_size: 32" in text and "ds_bpermute_b32" in text


def test_code_objects_are_linked() -> None:
    code = wl.cuda.compile(SOURCE)["scale"].code_object("gfx942")
    assert code[:4] == b"\x7fELF" and b"scale.kd" in code and code[16] == 3  # a shared object


def test_what_amds_gpus_do_not_get_is_refused_with_its_line() -> None:
    module = wl.cuda.compile(SOURCE)
    with pytest.raises(wl.WindlassError, match=r"(?s)WL1601.*'tell' can't become AMDGCN: it prints.*:13:\d"):
        module["tell"].amdgcn()
    with pytest.raises(wl.WindlassError, match=r"(?s)WL1602.*gfx is one of gfx900"):
        module["scale"].amdgcn("gfx9999")


@pytest.mark.one_in(160)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_programs_become_code_objects(program: Any) -> None:
    kernel = compiled(program.source)[program.kernel]
    if kernel.texture_uses or program.source.stem == "groups":
        return
    assert kernel.code_object("gfx942")[:4] == b"\x7fELF"
