"""Copies of structs keep the types of their fields."""

from __future__ import annotations

import re

import llvmlite.binding as llvm
import numpy as np
import pytest

from tests.frontends.cuda.native import load_kernel
from windlass.frontends.cuda import compile_device
from windlass.ir.signature import DeviceCode

SOURCE = """
#include <cuda_fp16.h>
struct Particle { float3 place; double mass; int *link; short kind; bool alive; };
union Word { float f; int i; };
struct Mixed { Word word; int next; };
__device__ float2 swapped(float2 v) { return make_float2(v.y, v.x); }
__global__ void pairs(float2 *a, float2 *b) { float2 v = a[0]; b[0] = swapped(v); a[1] = b[1]; }
__global__ void quads(float4 *a, int4 *b) { a[0] = a[1]; b[1] = b[0]; }
__global__ void halves(half2 *a) { half2 v = a[0]; a[1] = __hadd2(v, a[2]); }
__global__ void records(Particle *p) { p[1] = p[0]; }
__global__ void unions(Mixed *m) { m[1] = m[0]; }
"""


@pytest.fixture(scope="module")
def code() -> DeviceCode:
    return compile_device(SOURCE)


def accesses(code: DeviceCode, name: str) -> set[str]:
    mangled = next(kernel.mangled for kernel in code.kernels if kernel.name == name)
    match = re.search(rf"^define [^\n]*@{mangled}\(.*?^\}}", code.llvm_ir, re.MULTILINE | re.DOTALL)
    assert match is not None
    assert "@llvm.mem" not in match[0]
    return set(re.findall(r"(?:= load|store) (\w+)[ ,]", match[0]))


def test_fields_are_copied_with_their_types(code: DeviceCode) -> None:
    assert accesses(code, "pairs") == {"float"}
    assert accesses(code, "quads") == {"float", "i32"}
    assert accesses(code, "halves") == {"half"}
    assert accesses(code, "records") == {"float", "double", "ptr", "i16", "i8"}


def test_helper_functions_vanish(code: DeviceCode) -> None:
    module = llvm.parse_assembly(code.llvm_ir)
    assert [f.name for f in module.functions if not f.is_declaration] == [kernel.mangled for kernel in code.kernels]


def test_copies_are_right(code: DeviceCode) -> None:
    kernel = next(kernel for kernel in code.kernels if kernel.name == "records")
    dtype = kernel.parameters[0].dtype
    assert dtype is not None
    assert dtype.itemsize == 40
    records = np.zeros(2, dtype)
    records[0] = ((1.5, 2.5, 3.5), 4.5, 12345, -7, True)
    load_kernel(code, "records")(records)
    assert records[1] == records[0]
    a = np.array([(1, 2), (3, 4)], np.dtype([("x", "f4"), ("y", "f4")]))
    b = np.array([(5, 6), (7, 8)], a.dtype)
    load_kernel(code, "pairs")(a, b)
    assert (a[1].tolist(), b[0].tolist()) == ((7, 8), (2, 1))
    words = np.arange(4, dtype=np.int32)
    load_kernel(code, "unions")(words)
    assert words.tolist() == [0, 1, 0, 1]
