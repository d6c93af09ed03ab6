"""Names, parameters and positions of kernels, and device variables."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from windlass.diagnostics import Position
from windlass.frontends.cuda import compile_device, find_kernel
from windlass.ir.signature import DeviceCode, KernelSignature

SOURCE = """\
#include <cuda_fp16.h>
#include <cuda_bf16.h>
enum Color { RED, GREEN };
enum class Small : unsigned char { A };
typedef double real;
namespace ns {
struct Inner { short a; double b; };
struct Base { int id; };
struct Outer : Base { float x[3]; Inner inner; bool flag; Color color; float *data; unsigned bits : 3; };
__global__ void in_namespace(Outer by_value, const Outer *records) { records[0].inner.b; }
}
template <class T, int N> __global__ void axpy(int n, T a, const T *__restrict__ x, T *y) {
    for (int i = 0; i < N; ++i) y[i] += a * x[i];
}
template <class T> __global__ void never(T *x) { *x = 1; }
static __global__ void __launch_bounds__(128) hidden(float4 *v, uchar2 w, dim3 d) { v->x = w.x; }
namespace { __global__ void anonymous(real (*field)[4][3], real (&reference)[5]) { field[1][2][1] = reference[1]; } }
__global__ void numbers(char a, signed char b, unsigned char c, short d, unsigned short e, int f, unsigned g, long h,
                        unsigned long i, long long j, unsigned long long k, bool l, float m, double n, Color o,
                        Small p, __half q, __nv_bfloat16 r, half2 s, cudaTextureObject_t t, const int u) {}
__global__ void pointers(void *a, const char *b, float **c, __half *d, __nv_bfloat16 *e, __half2 *f, double2 *g,
                         volatile unsigned *h, float *const i, const float *j, bool *k) {}
__global__ void unnamed(int, float *) {}
__global__ void scale(float *x) { *x *= 2; }
__global__ void scale(double *x, int n) { *x *= n; }
__device__ float table[4][5];
__constant__ int limits[3] = {1, 2, 3};
__device__ ns::Inner state;
namespace ns { __constant__ float factor; }
static __device__ int counter;
__global__ void uses(int *out) { *out = atomicAdd(&counter, 1) + ns::factor; }
void host() { axpy<real, 4><<<1, 1>>>(1, 2.0, nullptr, nullptr); }
"""


@pytest.fixture(scope="module")
def code() -> DeviceCode:
    return compile_device(SOURCE, name="kernels.cu")


def kernel(code: DeviceCode, name: str) -> KernelSignature:
    return find_kernel(code, name)


def test_every_kernel_is_kept_and_named_readably(code: DeviceCode) -> None:
    assert [signature.name for signature in code.kernels] == [
        "ns::in_namespace",
        "axpy<double, 4>",
        "hidden",
        "anonymous",
        "numbers",
        "pointers",
        "unnamed",
        "scale",
        "scale",
        "uses",
    ]
    assert code.templates == ("never",)


def test_numbers_have_the_dtypes_of_c(code: DeviceCode) -> None:
    parameters = kernel(code, "numbers").parameters
    assert [p.dtype for p in parameters[:18]] == [
        np.dtype(kind)
        for kind in (
            "i1",
            "i1",
            "u1",
            "i2",
            "u2",
            "i4",
            "u4",
            "i8",
            "u8",
            "i8",
            "u8",
            "?",
            "f4",
            "f8",
            "u4",
            "u1",
            "f2",
        )
    ] + [np.dtype(ml_dtypes.bfloat16)]
    assert [p.kind for p in parameters] == ["scalar"] * 18 + ["record", "scalar", "scalar"]
    assert [p.size for p in parameters] == [1, 1, 1, 2, 2, 4, 4, 8, 8, 8, 8, 1, 4, 8, 4, 1, 2, 2, 4, 8, 4]
    assert parameters[18].dtype == np.dtype([("x", "f2"), ("y", "f2")])
    assert (parameters[20].type_name, parameters[20].is_const) == ("int", True)


def test_pointers_tell_what_they_point_to(code: DeviceCode) -> None:
    parameters = {p.name: p for p in kernel(code, "pointers").parameters}
    assert all((p.kind, p.size, p.alignment) == ("pointer", 8, 8) for p in parameters.values())
    assert parameters["a"].dtype is None
    assert parameters["c"].dtype is None
    assert parameters["b"].dtype == np.int8
    assert parameters["d"].dtype == np.float16
    assert parameters["e"].dtype == ml_dtypes.bfloat16
    assert parameters["f"].dtype == np.dtype([("x", "f2"), ("y", "f2")])
    assert parameters["g"].dtype == np.dtype([("x", "f8"), ("y", "f8")])
    assert parameters["h"].dtype == np.uint32
    assert parameters["k"].dtype == np.bool_
    assert [name for name, p in parameters.items() if p.is_const] == ["b", "j"]
    assert parameters["j"].type_name == "const float *"


def test_inner_extents_of_arrays_are_kept(code: DeviceCode) -> None:
    field, reference = kernel(code, "anonymous").parameters
    assert (field.type_name, field.dtype, field.shape) == ("real (*)[4][3]", np.float64, (4, 3))
    assert (reference.dtype, reference.shape) == (np.float64, (5,))


def test_structs_have_the_offsets_of_c(code: DeviceCode) -> None:
    by_value, records = kernel(code, "in_namespace").parameters
    assert (by_value.kind, by_value.type_name, by_value.size, by_value.alignment) == ("record", "ns::Outer", 56, 8)
    assert by_value.dtype is not None
    assert by_value.dtype == records.dtype
    assert records.is_const
    fields = by_value.dtype.fields
    assert fields is not None
    assert {name: (field[0], field[1]) for name, field in fields.items()} == {
        "id": (np.dtype("i4"), 0),
        "x": (np.dtype(("f4", (3,))), 4),
        "inner": (np.dtype({"names": ["a", "b"], "formats": ["i2", "f8"], "offsets": [0, 8], "itemsize": 16}), 16),
        "flag": (np.dtype("?"), 32),
        "color": (np.dtype("u4"), 36),
        "data": (np.dtype("u8"), 40),
    }
    assert by_value.dtype.itemsize == 56


def test_vector_types_are_structured(code: DeviceCode) -> None:
    v, w, d = kernel(code, "hidden").parameters
    assert v.dtype == np.dtype([(name, "f4") for name in "xyzw"])
    assert (w.kind, w.dtype, w.alignment) == ("record", np.dtype([("x", "u1"), ("y", "u1")]), 2)
    assert d.dtype == np.dtype([(name, "u4") for name in "xyz"])


def test_launch_bounds_are_read(code: DeviceCode) -> None:
    assert kernel(code, "hidden").max_threads == 128
    assert kernel(code, "numbers").max_threads is None


def test_unnamed_parameters_get_names(code: DeviceCode) -> None:
    assert [p.name for p in kernel(code, "unnamed").parameters] == ["argument1", "argument2"]


def test_positions_are_those_of_the_source(code: DeviceCode) -> None:
    lines = SOURCE.splitlines()
    position = kernel(code, "hidden").position
    assert position == Position("kernels.cu", 16, lines[15].index("hidden") + 1)
    assert code.source_text == {"kernels.cu": SOURCE}


def test_device_variables_are_listed(code: DeviceCode) -> None:
    found = {v.name: (v.mangled, v.dtype, v.shape, v.size, v.space) for v in code.variables}
    inner = np.dtype({"names": ["a", "b"], "formats": ["i2", "f8"], "offsets": [0, 8], "itemsize": 16})
    assert found == {
        "table": ("table", np.dtype("f4"), (4, 5), 80, "global"),
        "limits": ("limits", np.dtype("i4"), (3,), 12, "constant"),
        "state": ("state", inner, (), 16, "global"),
        "ns::factor": ("_ZN2ns6factorE", np.dtype("f4"), (), 4, "constant"),
        "counter": ("_ZL7counter", np.dtype("i4"), (), 4, "global"),
    }


def test_kernels_are_found_by_every_name(code: DeviceCode) -> None:
    assert kernel(code, "in_namespace").name == "ns::in_namespace"
    assert kernel(code, "ns::in_namespace(ns::Outer, const ns::Outer *)").name == "ns::in_namespace"
    assert kernel(code, "_Z5scalePf").parameters[0].dtype == np.float32
    assert kernel(code, "scale(double *, int)").parameters[0].dtype == np.float64
    assert kernel(code, "axpy").name == "axpy<double, 4>"
    assert kernel(code, "axpy<double,4>").name == "axpy<double, 4>"
    assert kernel(code, "axpy<double, 4u>").name == "axpy<double, 4>"


def test_template_instances_are_made_on_request() -> None:
    source = "typedef double real; template <class T> __global__ void twice(T *x) { *x *= 2; }\n"
    code = compile_device(source, instances=["twice<float>", "twice<real>"])
    assert find_kernel(code, "twice<float>").parameters[0].dtype == np.float32
    assert find_kernel(code, "twice<real>").mangled == find_kernel(code, "twice<double>").mangled
    assert code.templates == ()
