"""Names of kernels, macros and functions that are none of ours: refused, in both modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import windlass as wl

KERNEL = "__global__ void k(int *x) { x[0] = 1; }"


@pytest.mark.parametrize("name", ["a b", "", "1", "a\n", "a=1", "a-b", "a(", 3, None, "a(x) 1\n#include"])
def test_a_macro_has_a_name(name: Any) -> None:
    with pytest.raises(wl.CompilationError, match=r"WL0427|WL0703"):
        wl.cuda.compile(KERNEL, define={name: 1})


@pytest.mark.parametrize("value", ["1\nint y;", "1\n", "1\rint y;"])
def test_a_macro_has_one_line(value: str) -> None:
    with pytest.raises(wl.CompilationError, match=r"WL0427.*'N' has a value of several lines"):
        wl.cuda.compile(KERNEL, define={"N": value})


def test_macros_with_parameters_and_none_are_defined() -> None:
    x = np.zeros(2, np.int32)
    source = "__global__ void k(int *x) { AT(x, 1) = N FLAG EMPTY; }"
    define = {"AT(a, i)": "a[i]", "N": 7, "FLAG": "- true", "EMPTY": None}
    wl.cuda.compile(source, define=define)["k"][1, 1](x)
    assert x.tolist() == [0, 6]


@pytest.mark.parametrize("name", ["k\n", " k", "k ", "k\t", "\0k", "k\0"])
def test_a_kernel_has_its_own_name_only(name: str) -> None:
    with pytest.raises(wl.CompilationError, match="WL0106"):
        wl.cuda.compile(KERNEL)[name]


STRANGERS = {
    "puts": ("int f(const char *)", 'f("a")'),
    "putchar": ("int f(int)", "f(65)"),
    "printf": ("int f(const char *, ...)", 'f("a%d", 3)'),
    "abort": ("void f()", "(f(), 1)"),
    "exit": ("void f(int)", "(f(3), 1)"),
    "_exit": ("void f(int)", "(f(3), 1)"),
    "getpid": ("int f()", "f()"),
    "rand": ("int f()", "f()"),
    "time": ("long f(long *)", "f(0)"),
    "getenv": ("char *f(const char *)", '(f("HOME") != 0)'),
    "system": ("int f(const char *)", 'f("true")'),
    "write": ("long f(int, const void *, unsigned long)", 'f(1, "a", 1)'),
    "atoi": ("int f(const char *)", 'f((char *)x)'),
    "strlen": ("unsigned long f(const char *)", "f((char *)x)"),
    "memcmp": ("int f(const void *, const void *, unsigned long)", "f(x, x + 1, x[3])"),
    "raise": ("int f(int)", "f(9)"),
    "perror": ("void f(const char *)", '(f("a"), 1)'),
    "kill_all_humans": ("int f(int)", "f(9)"),
}  # fmt: skip


@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", STRANGERS)
def test_a_function_of_the_host_is_never_raised(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDLASS_FALLBACK", "error")
    declaration, call = STRANGERS[name]
    source = (
        f'extern "C" __device__ {declaration} __asm__("{name}"); __global__ void k(int *x) {{ x[0] = (int){call}; }}'
    )
    kernel = wl.cuda.compile(source)["k"]
    with pytest.raises(wl.RaisingError):
        kernel[1, 1](np.zeros(4, np.int32))


def test_nan_has_a_payload_in_both_modes() -> None:
    source = """__global__ void k(unsigned *x, unsigned long long *y) {
        x[0] = __float_as_uint(nanf("")); x[1] = __float_as_uint(nanf("1")); x[2] = __float_as_uint(std::nanf("0x1F"));
        x[3] = __float_as_uint(nanf("no"));
        y[0] = __double_as_longlong(nan("")); y[1] = __double_as_longlong(nan("12"));
        y[2] = __double_as_longlong(std::nan("077")); y[3] = __double_as_longlong(__nan("1"));
    }"""
    kernel = wl.cuda.compile(source)["k"]
    for launched in (kernel, wl.emulate(kernel)):
        x, y = np.zeros(4, np.uint32), np.zeros(4, np.uint64)
        launched[1, 1](x, y)
        assert (x - 0x7FC00000).tolist() == [0, 1, 31, 0]
        assert (y - 0x7FF8000000000000).tolist() == [0, 12, 63, 1]


def test_printf_has_no_conversion_that_writes() -> None:
    kernel = wl.cuda.compile('__global__ void k(int *x) { printf("a%nb", x); }')["k"]
    with pytest.raises(wl.EmulationError, match=r"WL0619.*printf with %n"):
        wl.emulate(kernel)[1, 1](np.zeros(1, np.int32))


def test_memory_is_freed_once() -> None:
    body = "int *p = (int *)malloc(4); *p = 3; x[0] = (long)p; free((void *)x[0]); free((void *)x[0]);"
    kernel = wl.cuda.compile(f"__global__ void k(long *x) {{ {body} }}")["k"]
    with pytest.raises(wl.EmulationError, match="WL0616"):
        wl.emulate(kernel)[1, 1](np.zeros(1, np.int64))
