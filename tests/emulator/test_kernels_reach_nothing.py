"""Whatever a kernel declares, calls, casts or prints: it computes, and reaches nothing else of the process it runs in.

The cases are tried one after another in one process of their own, emulated and launched (a launch falls back to the
emulator by itself); had one of them its way, that process would crash, end, or show it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from windlass.diagnostics import EmulationError
from windlass.emulator import Emulator
from windlass.emulator.audit import Unchecked, audit
from windlass.frontends.cuda import compile_device
from windlass.ir.signature import DeviceCode

PRELUDE = """
typedef unsigned long word;
#define BY_LABEL(label) __asm__(label)
extern "C" {
__device__ int system_(word) BY_LABEL("system");
__device__ int getpid_() BY_LABEL("getpid");
__device__ int raise_(int) BY_LABEL("raise");
__device__ void exit_(int) BY_LABEL("_exit");
__device__ int kill_(int, int) BY_LABEL("kill");
__device__ word mempcpy_(word, word, word) BY_LABEL("mempcpy");
__device__ word dlopen_(word, int) BY_LABEL("dlopen");
__device__ word syscall_(word, word) BY_LABEL("syscall");
__device__ int puts_(const char *) BY_LABEL("puts");
__device__ int rand_() BY_LABEL("rand");
__device__ double reentrant(double) BY_LABEL("lgamma_r");
__device__ double of_an_address(double, word) BY_LABEL("frexp");
__device__ double of_an_integer(word) BY_LABEL("sin");
__device__ word wide_division(__int128, __int128) BY_LABEL("__divti3");
__device__ void unmap(word, word, word) BY_LABEL("wl_free");
__device__ void run() BY_LABEL("wl_run");
__device__ word allocate(word, word) BY_LABEL("wl_allocate");
__device__ int print_of_one(const char *) BY_LABEL("vprintf");
__device__ int print_of_doubles(double, double) BY_LABEL("vprintf");
__device__ void open_of_one(void *) BY_LABEL("__windlass_barrier_open");
__device__ void free_of_double(double) BY_LABEL("free");
__device__ word texels(word) BY_LABEL("__windlass_texels");
__device__ float fetched(word, int, int, int, float, float, float) BY_LABEL("__windlass_texture_float");
__device__ word relative(void *, word) BY_LABEL("llvm.load.relative.i64");
__device__ word timestamp() BY_LABEL("llvm.x86.rdtsc");
__device__ void undefined_instruction(unsigned char) BY_LABEL("llvm.ubsantrap");
__device__ void set_rounding(int) BY_LABEL("llvm.set.rounding");
__device__ int odd_name(int) BY_LABEL("a\\"b\\nc");
}
struct Large { long values[24]; };
__device__ __noinline__ long element(Large large, int i) { return large.values[i]; }
__device__ char command[] = "touch reached";
__device__ int memcpy_data BY_LABEL("memcpy");
"""

REFUSED = {
    "system": "x[0] = system_((word)command);",
    "getpid": "x[0] = getpid_();",
    "raise": "x[0] = raise_(11);",
    "exit": "exit_(3);",
    "kill": "x[0] = kill_(getpid_(), 9);",
    "copy by integers": "x[0] = mempcpy_(4096, (word)x, 8);",
    "dlopen": "x[0] = dlopen_(0, 1);",
    "syscall": "x[0] = syscall_(60, 3);",
    "rand": "x[0] = rand_();",
    "mathematics of no list": "x[0] = reentrant(1.0);",
    "mathematics with an address as integer": "x[0] = of_an_address(1.0, 4096);",
    "mathematics with another type": "x[0] = of_an_integer(4096);",
    "compiler's library": "x[0] = wide_division(1, 0);",
    "emulator's own function": "unmap((word)x & ~4095ul, 4096, 0);",
    "emulator's entry": "run();",
    "emulator's memory": "x[0] = allocate(1 << 20, 0);",
    "printing with too few arguments": 'x[0] = print_of_one("%d %s %n");',
    "printing with other types": "x[0] = print_of_doubles(1.0, 2.0);",
    "barrier with too few arguments": "open_of_one(x);",
    "free of a double": "free_of_double(1.0);",
    "forged texture": """x[0] = 0x5845542d4c445757l; x[1] = (long)x; x[2] = 8; x[3] = 2; x[4] = 32; x[5] = 1;
        x[6] = 1l << 30; x[7] = x[8] = 1; for (int i = 9; i < 21; i++) x[i] = 0;
        x[30] = fetched((word)x, 0, 0, 1 << 29, 0, 0, 0);""",
    "forged texture without bytes": """x[0] = 0x5845542d4c445757l; x[1] = 4096; x[3] = 2; x[4] = 32; x[5] = 1;
        x[2] = 0; x[6] = x[7] = x[8] = 1; for (int i = 9; i < 21; i++) x[i] = 0;
        x[30] = fetched((word)x, 0, 0, 0, 0, 0, 0);""",
    "forged texture's channel": """x[0] = 0x5845542d4c445757l; x[1] = (long)x; x[2] = 8; x[3] = 2; x[4] = 32;
        x[5] = x[6] = x[7] = x[8] = 1; for (int i = 9; i < 21; i++) x[i] = 0;
        x[30] = fetched((word)x, 0, -1000000000, 0, 0, 0, 0);""",
    "texels of a number": "x[0] = texels(4096);",
    "clock of the host": "x[0] = timestamp();",
    "undefined instruction": "undefined_instruction(1);",
    "host's rounding": "set_rounding(0);",
    "return address": "x[0] = (long)__builtin_return_address(0);",
    "stack": "x[0] = (long)__builtin_frame_address(0); *(long *)(x[0] + 8) = 0;",
    "instruction cache": "__builtin___clear_cache((char *)0, (char *)4096); x[0] = 1;",
    "instruction of the host": 'asm volatile("syscall" ::: "memory"); x[0] = 1;',
    "name with quotes": "x[0] = odd_name(1);",
    "wild read": "x[0] = *(long *)(x[1] + 4096);",
    "wild write": "*(long *)(x[1] + 4096) = 1;",
    "wild atomic": "atomicAdd((int *)(x[1] + 4096), 1);",
    "wild copy": "memcpy((void *)(x[1] + 4096), x, 64);",
    "wild fill": "memset((void *)(x[1] + 4096), 1, 64);",
    "wild struct by value": "x[0] = element(*(Large *)(x[1] + 4096), (int)x[2]);",
    "endless fill of a local array": """char a[16]; for (int i = 0; i < 16; i++) a[i] = x[i & 3];
        memset(a, 0, x[1] - 8); x[1] = a[x[2]];""",
    "wild string": 'printf("%s", (const char *)(x[1] + 4096));',
    "call of a number": "((void (*)(int))x[1])(3);",
    "call into data": "((void (*)(int))(word)x)(3);",
    "call of a kernel": "((void (*)(word))(word)&other)(4096);",
}
"""Each with what the kernel tries; none of them may come to its end."""

REFUSED_AS_A_WHOLE = {
    "load that is an intrinsic": "x[0] = relative((void *)4096, 8);",
    "segment register": "x[0] = *(long __attribute__((address_space(257))) *)(word)x;",
    "short pointer": "x[0] = *(long __attribute__((address_space(270))) *)(word)x;",
}
"""What no kernel of the same source is emulated beside."""

HARMLESS = {
    "format with many flags": 'printf("%' + "h" * 5000 + 'd\\n", 3); x[0] = 1;',
    "format of endless width": 'printf("%2147483648d|%2147483647d|%.2147483647f\\n", 3, 4, 5.0); x[0] = 1;',
    "assembly of the module": "x[0] = 1;",
    "variable that is called as a function of the host": "memset(x, 0, 64); memcpy_data = 7; x[0] = memcpy_data - 6;",
    "variable of the host": "x[0] = environ == nullptr;",
    "wide integers to half": "__int128 a = x[1]; x[0] = 1 + (long)(__int128)(_Float16)a;",
}
"""What does no harm and gives x[0] = 1."""

_CHILD = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
import numpy as np
import windlass as wl
prelude, cases, together = json.load(sys.stdin)
source = lambda names: prelude + "__global__ void other(long *x) { x[0] = 7; }" + "".join(
    f"\\n__global__ void k{list(cases).index(name)}(long *x) {{ {cases[name]} }}" for name in names
)
whole = wl.cuda.compile(source(cases)) if together else None
for number, name in enumerate(cases):
    for mode in ("emulated", "launched"):
        x = np.zeros(64, np.int64)
        try:
            kernel = (whole or wl.cuda.compile(source([name])))[f"k{number}"]
            (wl.emulate(kernel) if mode == "emulated" else kernel)[1, 1](x)
            told = int(x[0])
        except wl.WindlassError as error:
            told = error.diagnostics[0].code
        print(json.dumps(["case", name, mode, told]), flush=True)
"""


def _try_out(
    cases: dict[str, str], folder: Path, prelude: str = PRELUDE, *, together: bool = True
) -> dict[tuple[str, str], object]:
    done = subprocess.run(
        [sys.executable, "-c", _CHILD],
        input=json.dumps([prelude, cases, together]),
        capture_output=True,
        text=True,
        cwd=folder,
        check=False,
        timeout=3600,
    )
    found: dict[tuple[str, str], object] = {}
    for line in done.stdout.splitlines():
        if line.startswith('["case"'):
            _, name, mode, told = json.loads(line)
            found[name, mode] = told
    last = list(found)[-1:] or ["the beginning"]
    assert done.returncode == 0, f"ended with {done.returncode} after {last[0]}: {done.stderr[-800:]}"
    return found


def test_what_reaches_for_the_host_is_refused(tmp_path: Path) -> None:
    found = _try_out(REFUSED, tmp_path) | _try_out(REFUSED_AS_A_WHOLE, tmp_path, together=False)
    assert not list(tmp_path.iterdir())
    assert {name for name, _ in found} == {*REFUSED, *REFUSED_AS_A_WHOLE}
    # What a launch raises has no host to reach: there the wild places are dropped or read as something.
    codes = {name: str(code) for (name, mode), code in found.items() if mode == "emulated"}
    assert not {name: code for name, code in codes.items() if not code.startswith(("WL06", "WL02", "WL01"))}


def test_what_looks_dangerous_and_is_not_runs(tmp_path: Path) -> None:
    prelude = 'asm(".globl x\\nx: syscall");\nextern "C" __device__ char **environ;\n' + PRELUDE
    found = _try_out(HARMLESS, tmp_path, prelude)
    assert set(found.values()) == {1}, found


@pytest.mark.parametrize(
    "line",
    [
        "  %v = load i32, ptr %p, align 4",
        "  store i32 1, ptr %p, align 4",
        "  call void @wl_load(ptr %q, i32 1)\n  %v = load i32, ptr %p, align 4",
        "  call void @wl_load(ptr %p, i32 1)\n  %w = add i32 1, 2\n  %v = load i32, ptr %p, align 4",
        "  %v = atomicrmw add ptr %p, i32 1 seq_cst, align 4",
        "  call void @llvm.memcpy.p0.p0.i64(ptr %p, ptr %p, i64 8, i1 false)",
        "  call void @wl_copy(ptr %p, ptr %p, i64 4, i32 1)\n"
        "  call void @llvm.memcpy.p0.p0.i64(ptr %p, ptr %p, i64 8, i1 false)",
        '  call void asm sideeffect "syscall", ""()',
        "  call void %p()",
        "  call void @kernel()",
        "  call void @unknown()",
        "  %v = call double @frexp(double 1.0, ptr %p)",
        "  %v = alloca i32, align 4",
        "  %v = va_arg ptr %p, i32",
        "  indirectbr ptr %p, [label %next]",
    ],
)
def test_code_without_its_check_is_not_compiled(line: str) -> None:
    text = f"declare void @wl_load()\n\ndefine void @f(ptr %p, ptr %q) {{\n{line}\n  ret void\n}}\n"
    with pytest.raises(Unchecked):
        audit(text, ["wl_load", "wl_copy"], ["kernel"])


def test_code_with_its_checks_is_compiled() -> None:
    audit(
        "define void @f(ptr %p) {\n  call void @wl_load(ptr %p, i32 1)\n  %v = load i32, ptr %p, align 4\n"
        "  %w = zext i32 %v to i64\n  call void @wl_fill(ptr %p, i64 %w, i32 2)\n"
        "  call void @llvm.memset.p0.i32(ptr %p, i8 0, i32 %v, i1 false)\n  ret void\n}\n",
        ["wl_load", "wl_fill"],
        [],
    )


def test_mathematics_by_label_with_its_own_types_is_done() -> None:
    code = compile_device(
        'extern "C" __device__ double s(double) __asm__("sin"); __global__ void k(double *x) { x[0] = s(x[0]); }'
    )
    x = np.array([0.5])
    Emulator(code).launch("k", 1, 1, [x])
    assert x[0] == np.sin(0.5)


def test_the_message_names_the_function_and_the_line() -> None:
    code = compile_device(
        'extern "C" __device__ int g() __asm__("getpid");\n__global__ void k(int *x) {\n    x[0] = g();\n}\n',
        name="a.cu",
    )
    with pytest.raises(EmulationError, match=r"WL0611.*`getpid`") as caught:
        Emulator(code).launch("k", 1, 1, [np.zeros(1, np.int32)])
    assert caught.value.diagnostics[0].position is not None
    assert caught.value.diagnostics[0].position.line == 3


def test_a_function_whose_values_would_pass_over_the_end_of_its_stack_is_not_run() -> None:
    loads = "\n".join(f"  %v{number} = load <1024 x i64>, ptr %p, align 8192" for number in range(120))
    stores = "\n".join(f"  store <1024 x i64> %v{number}, ptr %p, align 8192" for number in range(120))
    text = f"define ptx_kernel void @k(ptr %p) {{\n{loads}\n{stores}\n  ret void\n}}\n"
    signature = compile_device("__global__ void k(long *p) { *p = 1; }").kernels[0]
    code = DeviceCode(text, (replace(signature, mangled="k"),))
    with pytest.raises(EmulationError, match=r"WL0611(.|\n)*KiB of a stack"):
        Emulator(code).launch(code.kernels[0], 1, 1, [np.zeros(2048, np.int64)])
