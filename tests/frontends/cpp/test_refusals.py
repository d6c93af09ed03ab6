"""What the front end of C says of mistakes, and of what it can't take, word for word."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import windlass as wl
from windlass.diagnostics import CompilationError


def refusal(source: str, name: str | None = None, **options: object) -> str:
    with pytest.raises(CompilationError) as caught:
        module = wl.c.compile(source, **options)  # type: ignore[arg-type]
        module[name or "f"]
    return str(caught.value)


def test_errors_show_the_users_line() -> None:
    assert refusal("void f(int n, double *x) {\n    x[0] = y;\n}\n") == (
        "error[WL0101]: use of undeclared identifier 'y'\n"
        " --> <source>:2:12\n"
        "   |\n"
        " 2 |     x[0] = y;\n"
        "   |            ^"
    )
    assert refusal("void f(double *x) { g(x); }").startswith("error[WL0101]: call to undeclared function 'g'")
    assert refusal("void f(int n, int *x) {\n#pragma omp parallel for\n    for (int i = 0; x[i];) i++;\n}").startswith(
        "error[WL0101]: condition of OpenMP for loop must be a relational comparison"
    )


def test_missing_includes_ask_for_their_folder(tmp_path: Path) -> None:
    source = '#include "grid.h"\nint f(void) { return SIZE; }\n'
    assert refusal(source).startswith("error[WL0102]: can't find the included file 'grid.h'")
    (tmp_path / "grid.h").write_text("#define SIZE 7\n")
    assert wl.c.compile(source, include=tmp_path)["f"]() == 7
    assert wl.c.compile("int f(void) { return SIZE; }", define={"SIZE": 8})["f"]() == 8


def test_no_pipe_is_included(tmp_path: Path) -> None:
    source = '#include "/dev/zero"\nint f(void) { return 0; }\n'
    assert refusal(source).startswith("error[WL0114]: can't include '/dev/zero': it is a device, not a regular file")


def test_functions_that_can_not_be_called_say_why() -> None:
    source = """
struct pair { double a, b; };
struct pair two(void) { struct pair p = {1, 2}; return p; }
double *second(double *x) { return x + 1; }
int any(int n, ...) { return n; }
int apply(int (*g)(int), int n) { return g(n); }
extern int elsewhere;
int outside(void) { return elsewhere; }
long double wide(long double x) { return x; }
static int hidden(void) { return 1; }
void loop(int n, double *x) {
#pragma omp taskloop
    for (int i = 0; i < n; i++) x[i] = 1;
}
int right(void) { return 1; }
"""
    module = wl.c.compile(source)
    assert module.functions == ("right",)
    told: dict[str, str] = {}
    for name in ("two", "second", "any", "apply", "outside", "wide", "loop", "hidden"):
        with pytest.raises(CompilationError) as caught:
            module[name]
        told[name] = str(caught.value).splitlines()[0]
    assert told == {
        "two": "error[WL0121]: 'two' can't be called: it returns a struct",
        "second": "error[WL0121]: 'second' can't be called: it returns a pointer",
        "any": "error[WL0121]: 'any' can't be called: it takes any number of arguments",
        "apply": "error[WL0121]: 'apply' can't be called: it takes a function, g",
        "outside": "error[WL0121]: 'outside' can't be called: it uses 'elsewhere', which this source only declares",
        "wide": "error[WL0121]: 'wide' can't be called: it returns long double",
        "loop": "error[WL0121]: 'loop' can't be called: it uses what Windlass has not of OpenMP: taskloop",
        "hidden": "error[WL0106]: there is no function named 'hidden'",
    }
    assert refusal("static int f(void) { return 1; }").startswith("error[WL0105]: '<source>' holds no function to call")


def test_language_is_c_or_cpp() -> None:
    assert wl.c.compile("template <class T> T t(T x) { return x; } int f(int x) { return t(x); }", "c++")["f"](3) == 3
    with pytest.raises(CompilationError, match='`language` is "c" or "c\\+\\+", got \'fortran\''):
        wl.c.compile("", "fortran")  # type: ignore[arg-type]


def test_what_writes_or_allocates_says_why() -> None:
    source = """
#include <stdio.h>
#include <stdlib.h>
void prints(double *x) { printf("%f", x[0]); }
void allocates(int n, double *x) {
    double *t = malloc(n * sizeof(double));
    for (int i = 0; i < n; i++) t[i] = x[n - 1 - i];
    for (int i = 0; i < n; i++) x[i] = t[i];
    free(t);
}
"""
    module = wl.c.compile(source)
    assert "it calls 'printf', of which only the name is known" in str(module["prints"].explain(np.ones(3)).error)
    error = module["allocates"].explain(3, np.ones(3)).error
    assert str(error).startswith("error[WL0204]: memory is allocated within a kernel\n --> <source>:6:17\n")


def test_pointers_kept_in_memory_and_recursion_say_why() -> None:
    source = """
void rows(int n, double **x) { for (int i = 0; i < n; i++) x[i][0] = 1; }
static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
int fibonacci(int n) { return fib(n); }
"""
    module = wl.c.compile(source)
    pointers = np.zeros(3, np.uint64)
    assert str(module["rows"].explain(3, pointers).error).startswith("error[WL0206]: a pointer is kept in memory\n")
    assert str(module["fibonacci"].explain(3).error).startswith("error[WL0202]: the function fib calls itself\n")
    with pytest.raises(wl.LaunchError, match="array 'x' is too small: the kernel writes element 3, and it has 3"):
        wl.c.compile("void f(int n, double *x) { x[n] = 1; }")["f"](3, np.ones(3))
