"""Every error that the CUDA front end gives, word for word."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from windlass.diagnostics import CompilationError
from windlass.frontends.cuda import compilation, compile_device, find_kernel

PAGES = Path(compilation.__file__).parents[2] / "diagnostics" / "pages"


def failure(action: Callable[[], object]) -> str:
    with pytest.raises(CompilationError) as caught:
        action()
    for diagnostic in caught.value.diagnostics:
        assert (PAGES / f"{diagnostic.code}.md").read_text().startswith(f"# {diagnostic.code}: ")
    return str(caught.value)


def test_syntax_and_semantic_errors_show_the_line() -> None:
    source = "__global__ void f(float *x) {\n\tx[0] = missing + 1\n    x[1] = twice(2);\n}\n"
    assert failure(lambda: compile_device(source, name="kernel.cu")) == (
        "error[WL0101]: use of undeclared identifier 'missing'\n"
        " --> kernel.cu:2:9\n"
        "   |\n"
        " 2 |     x[0] = missing + 1\n"
        "   |            ^^^^^^^"
    )


def test_errors_in_files_name_the_file(tmp_path: Path) -> None:
    file = tmp_path / "broken.cu"
    file.write_text("// größer\n__global__ void f(float *x) { /* ü */ x[0] = y; }\n", encoding="utf-8")
    assert failure(lambda: compile_device(file)) == (
        "error[WL0101]: use of undeclared identifier 'y'\n"
        f" --> {file}:2:46\n"
        "   |\n"
        " 2 | __global__ void f(float *x) { /* ü */ x[0] = y; }\n"
        "   |                                              ^"
    )


def test_notes_lead_to_the_cause() -> None:
    source = "template <class T> struct V { typename T::type x; };\n__global__ void f(int *x) { V<int> v; *x = v.x; }\n"
    assert failure(lambda: compile_device(source)) == (
        "error[WL0101]: type 'int' cannot be used prior to '::' because it has no members\n"
        " --> <source>:1:40\n"
        "   |\n"
        " 1 | template <class T> struct V { typename T::type x; };\n"
        "   |                                        ^\n"
        "  note: <source>:2:36: in instantiation of template class 'V<int>' requested here"
    )


def test_each_error_is_one_diagnostic_and_their_number_is_limited() -> None:
    lines = "\n".join(f"    x[{i}] = missing{i};" for i in range(50))
    with pytest.raises(CompilationError) as caught:
        compile_device(f"__global__ void f(float *x) {{\n{lines}\n}}\n")
    positions = [diagnostic.position for diagnostic in caught.value.diagnostics]
    assert [position.line for position in positions if position] == list(range(2, 22))


def test_host_functions_are_refused_in_kernels() -> None:
    source = "void host(float *);\n__global__ void f(float *x) { host(x); }\n"
    assert failure(lambda: compile_device(source)) == (
        "error[WL0101]: no matching function for call to 'host'\n"
        " --> <source>:2:31\n"
        "   |\n"
        " 2 | __global__ void f(float *x) { host(x); }\n"
        "   |                               ^^^^\n"
        "  note: <source>:1:6: candidate function not viable: call to __host__ function from __global__ function"
    )


def test_missing_includes_say_what_to_do() -> None:
    assert failure(lambda: compile_device('#include "ocean.h"\n__global__ void f() {}\n')) == (
        "error[WL0102]: can't find the included file 'ocean.h'\n"
        " --> <source>:1:10\n"
        "   |\n"
        ' 1 | #include "ocean.h"\n'
        "   |          ^^^^^^^^^\n"
        '  help: pass the folder that holds it: include=["path/to/folder"]'
    )


def test_missing_headers_of_libraries_name_what_there_is() -> None:
    message = failure(lambda: compile_device("#include <nvjpeg.h>\n__global__ void f() {}\n"))
    assert message.startswith(
        "error[WL0102]: can't find the included file 'nvjpeg.h'\n"
        " --> <source>:1:10\n"
        "   |\n"
        " 1 | #include <nvjpeg.h>\n"
        "   |          ^^^^^^^^^^\n"
        "  help: nvjpeg.h belongs to nvJPEG, which Windlass does not have: leave the parts that use it out. "
        "The libraries that it has (in part) are "
    )
    assert "CUB" in message and "OptiX" not in message
    message = failure(lambda: compile_device("#include <cub/warp/warp_sort.cuh>\n__global__ void f() {}\n"))
    assert "cub/warp/warp_sort.cuh is no part of CUB that Windlass has. Of that folder there are" in message
    assert "warp_reduce.cuh, warp_scan.cuh" in message


def test_files_that_cannot_be_read() -> None:
    assert failure(lambda: compile_device("no/such/file.cu")) == (
        "error[WL0103]: can't read 'no/such/file.cu': there is no such file\n"
        "  help: paths are relative to the current working directory"
    )


def test_folders_are_not_sources(tmp_path: Path) -> None:
    assert failure(lambda: compile_device(tmp_path)) == (
        f"error[WL0103]: can't read '{tmp_path}': it is a folder\n  help: name the .cu file in it"
    )


def test_binary_files_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "kernel.cu"
    file.write_bytes(b"first line\n\x7fELF\x02\x01\x01\x00\x00")
    assert failure(lambda: compile_device(file)) == (
        f"error[WL0104]: '{file}' is not a text file: byte 0x02 at column 5 of line 2\n"
        "  help: pass CUDA C++ source text, not a compiled or compressed file"
    )
    file.write_bytes(b"ok\n" + bytes(range(0x80, 0xFF)))
    assert failure(lambda: compile_device(file)) == (
        f"error[WL0104]: '{file}' is not a text file: line 2 is not valid UTF-8\n"
        "  help: pass CUDA C++ source text, not a compiled or compressed file"
    )


def test_old_encodings_in_comments_are_accepted(tmp_path: Path) -> None:
    file = tmp_path / "kernel.cu"
    file.write_bytes("// größer\n__global__ void f(float *x) { x[0] = 1; }\n".encode("latin-1"))
    assert compile_device(file).kernels[0].name == "f"


def test_sources_without_kernels() -> None:
    help_line = "  help: a kernel is a function marked __global__; is it hidden by an #if?"
    headline = "error[WL0105]: '<source>' holds no kernel\n"
    assert failure(lambda: compile_device("__device__ void f(float *x) {}\n")) == headline + help_line
    assert failure(lambda: compile_device("")) == headline + help_line


KERNELS = """
__global__ void scale(float *x) { *x = 1; }
__global__ void scale(double *x, const int n) { *x = n; }
template <class T> __global__ void axpy(T *x) { *x = 1; }
template <class T> __global__ void used(T *x) { *x = 1; }
namespace ns { __global__ void only(int *x) { *x = 1; } }
void host() { used<int><<<1, 1>>>(0); used<float><<<1, 1>>>(0); }
"""


def test_unknown_kernels_list_what_there_is() -> None:
    code = compile_device(KERNELS)
    assert failure(lambda: find_kernel(code, "scal")) == (
        "error[WL0106]: there is no kernel named 'scal'\n"
        "  note: kernels here: scale, used<float>, used<int>, ns::only, axpy\n"
        "  help: did you mean 'scale'?"
    )
    assert failure(lambda: find_kernel(code, "zzz")) == (
        "error[WL0106]: there is no kernel named 'zzz'\n"
        "  note: kernels here: scale, used<float>, used<int>, ns::only, axpy"
    )
    assert failure(lambda: find_kernel(code, "scale")) == (
        "error[WL0106]: 'scale' names 2 kernels\n"
        "  note: scale(float *) is _Z5scalePf\n"
        "  note: scale(double *, int) is _Z5scalePdi\n"
        "  help: name one with its namespace and parameter types, or by its mangled name"
    )


def test_templates_need_instances() -> None:
    code = compile_device(KERNELS)
    assert failure(lambda: find_kernel(code, "axpy")) == (
        "error[WL0107]: kernel 'axpy' is a template: name an instance of it\n"
        '  help: give template arguments, as in module["axpy<float>"]'
    )
    assert failure(lambda: find_kernel(code, "used")) == (
        "error[WL0107]: kernel 'used' is a template: name an instance of it\n"
        "  note: the file instantiates used<float>, used<int>\n"
        '  help: give template arguments, as in module["used<float>"]'
    )
    assert failure(lambda: find_kernel(code, "axpy<int>")) == (
        "error[WL0107]: 'axpy<int>' is an instance of a kernel template that is not compiled in\n"
        '  help: ask for it when compiling: instances=["axpy<int>"]'
    )
    assert failure(lambda: compile_device(KERNELS, instances=["axpy<flot>"])) == (
        "error[WL0107]: there is no kernel instance 'axpy<flot>': use of undeclared identifier 'flot'; "
        "did you mean 'float'?\n"
        '  help: name the template with arguments that it accepts, as in module["axpy<float>"]'
    )


def test_a_crash_of_clang_is_an_error_like_any_other() -> None:
    source = "#pragma clang __debug crash\n__global__ void f() {}\n"
    assert re.match(
        r"error\[WL0108\]: clang stopped on '<source>' without saying what is wrong \((exit status -|ended by SIG)",
        failure(lambda: compile_device(source)),
    )


def test_kernels_that_launch_kernels_are_told_what_to_do() -> None:
    source = "__global__ void child(int *x) {}\n__global__ void parent(int *x) {\n    child<<<1, 32>>>(x);\n}\n"
    assert failure(lambda: compile_device(source, name="nested.cu")) == (
        "error[WL0101]: a kernel launches a kernel, which Windlass does not do (dynamic parallelism)\n"
        " --> nested.cu:3:10\n"
        "   |\n"
        " 3 |     child<<<1, 32>>>(x);\n"
        "   |          ^\n"
        "  help: launch it from the host, or call what it does as a __device__ function"
    )
