"""Kernels that go wrong, and what has to be said of them. The line that is at fault ends in `//!`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

NUMBERS = np.arange(32, dtype=np.int32)


def ints(count: int) -> Any:
    return np.arange(count, dtype=np.int32)


def but(place: int, value: int, numbers: Any = NUMBERS) -> Any:
    """The numbers, with another one at a place."""
    changed = numbers.copy()
    changed[place] = value
    return changed


@dataclass(frozen=True)
class Case:
    """A kernel `k`, its launch, and what is said of it.

    `code` is that of wl.emulate and native code, "" where nothing is wrong; `thread` and `memory` what they have to
    name. `shows` says when other launches see it: at the "launch", in the "data" as it runs (which is looked at where
    WINDLASS_CHECK=1 asks for it, or always: "checked"), or "never" before it is emulated. `native` says what native
    code does: "runs", or is "refused".
    """

    parameters: str
    body: str
    arguments: Callable[[], tuple[Any, ...]]
    code: str = ""
    memory: str = ""
    thread: str = "thread (17, 0, 0)"
    shows: str = "launch"
    native: str = "runs"
    grid: Any = 1
    block: Any = 32
    shared_bytes: int = 0
    before: str = ""
    results: Callable[[], tuple[Any, ...]] | None = None
    """What the arrays hold afterwards, where nothing is wrong."""

    @property
    def source(self) -> str:
        return f"{self.before}\n__global__ void k({self.parameters}) {{\n{self.body}\n}}\n"

    @property
    def line(self) -> int:
        """The line at fault, 0 for none."""
        lines = self.source.splitlines()
        return next((number for number, each in enumerate(lines, 1) if each.endswith("//!")), 0)


FIRST, LAST = "thread (0, 0, 0)", "thread (31, 0, 0)"
AT = "x[at[threadIdx.x]] = 1; //!"
SHARED = """__shared__ int t[32];
t[threadIdx.x] = 0; __syncthreads();
t[x[threadIdx.x]] = 1; //!
__syncthreads();
x[threadIdx.x] = t[threadIdx.x];"""
LOCAL = """int a[8] = {0};
a[at[threadIdx.x]] = 5; //!
x[threadIdx.x] = a[0] + a[7] + a[at[threadIdx.x] & 7];"""
OUTSIDE, MISALIGNED = "WL0602", "WL0609"

MEMORY: dict[str, Case] = {
    "reads behind the end": Case(
        "const int *x, int *y", "int i = blockIdx.x * blockDim.x + threadIdx.x;\ny[i] = x[i + 1]; //!",
        lambda: (ints(64), ints(64)), OUTSIDE, "element 64 of 'x', which has 64", f"block (1, 0, 0), {LAST}", grid=2,
    ),
    "writes behind the end": Case(
        "int *x", "x[threadIdx.x + blockIdx.x * blockDim.x] = 1; //!",
        lambda: (ints(40),), OUTSIDE, "element 40 of 'x', which has 40", "block (1, 0, 0), thread (8, 0, 0)", grid=2,
    ),
    "reads before the beginning": Case(
        "int *x, int *y", "y[threadIdx.x] = x[(int)threadIdx.x - 1]; //!",
        lambda: (ints(64), ints(64)), OUTSIDE, "element -1 of 'x'", FIRST,
    ),
    "strides too far": Case(
        "int *x", "x[threadIdx.x * 100000000] = 1; //!",
        lambda: (ints(64),), OUTSIDE, "element 100000000 of 'x'", "thread (1, 0, 0)", "data",
    ),
    "an index that wraps around 32 bits": Case(
        "int *x, int n", "x[n * threadIdx.x] = 1; //!",
        lambda: (ints(64), 2**30), OUTSIDE, "element 1073741824 of 'x'", "thread (1, 0, 0)", "data",
    ),
    "an index near the least of 64 bits": Case(
        "int *x, long long n", "x[n + threadIdx.x] = 1; //!",
        lambda: (ints(64), 2**63 - 8), OUTSIDE, "element -8 of 'x'", FIRST,
    ),
    "a remainder behind the end": Case(
        "int *x", "x[threadIdx.x % 16 + 50] = 1; //!",
        lambda: (ints(64),), OUTSIDE, "element 64 of 'x'", "thread (14, 0, 0)",
    ),
    "a place that the data tell": Case(
        "int *x, const int *at", AT, lambda: (ints(64), but(17, 1000)), OUTSIDE, "element 1000 of 'x'", shows="data",
    ),
    "a negative place that the data tell": Case(
        "int *x, const int *at", AT, lambda: (ints(64), but(17, -1)), OUTSIDE, "element -1 of 'x'", shows="data",
    ),
    "a read where the data tell": Case(
        "int *x, const int *at", "int s = x[at[threadIdx.x]]; //!\nx[threadIdx.x + 32] = s;",
        lambda: (ints(64), but(17, 1000)), OUTSIDE, "element 1000 of 'x'", shows="data",
    ),
    "an atomic where the data tell": Case(
        "int *x, const int *at", "atomicAdd(&x[at[threadIdx.x]], 1); //!",
        lambda: (ints(64), but(17, 64)), OUTSIDE, "element 64 of 'x'", shows="data",
    ),
    "an atomic of floats where the data tell": Case(
        "float *x, const int *at", "atomicAdd(&x[at[threadIdx.x]], 1.0f); //!",
        lambda: (np.zeros(64, np.float32), but(17, -5)), OUTSIDE, "element -5 of 'x'", shows="data",
    ),
    "a compare and swap where the data tell": Case(
        "int *x, const int *at", "atomicCAS(&x[at[threadIdx.x]], 1, 2); //!",
        lambda: (ints(64), but(17, 1000)), OUTSIDE, "element 1000 of 'x'", shows="data",
    ),
    "an index that wraps around to its array": Case(
        "int *x, long long n", "x[(long long)(threadIdx.x + 1) * n + 5] = 7;",
        lambda: (ints(64), 2**62), results=lambda: (but(5, 7, ints(64)),), block=1,
    ),
    "a vector at a bad multiple": Case(
        "int *x", "*(int4 *)(x + 4 * threadIdx.x + 1) = make_int4(1, 2, 3, 4); //!",
        lambda: (ints(256),), MISALIGNED, "element 1 of 'x'", FIRST,
    ),
    "a vector where the data tell": Case(
        "int *x, const int *at",
        "int i = at[threadIdx.x];\n*(int4 *)(x + 4 * i + i / 100) = make_int4(1, 2, 3, 4); //!",
        lambda: (ints(512), but(17, 101)), MISALIGNED, "element 405 of 'x'", shows="checked",
    ),
    "an int among bytes": Case(
        "char *x", "*(int *)(x + threadIdx.x) = 1; //!",
        lambda: (np.zeros(256, np.int8),), MISALIGNED, "element 1 of 'x'", "thread (1, 0, 0)",
    ),
    "a double among floats": Case(
        "float *x", "*(double *)(x + threadIdx.x) = 1; //!",
        lambda: (np.zeros(256, np.float32),), MISALIGNED, "element 1 of 'x'", "thread (1, 0, 0)",
    ),
    "a vector that ends behind the end": Case(
        "int *x", "((int4 *)x)[threadIdx.x] = make_int4(1, 2, 3, 4); //!",
        lambda: (ints(126),), OUTSIDE, "element 126 of 'x'", LAST,
    ),
    "a null pointer written": Case(
        "int *x, int *y", "x[threadIdx.x] = y[threadIdx.x]; //!",
        lambda: (None, ints(32)), OUTSIDE, "null pointer", FIRST, "null",
    ),
    "a null pointer read": Case(
        "int *x, int *y", "y[threadIdx.x] = x[threadIdx.x]; //!",
        lambda: (None, ints(32)), OUTSIDE, "null pointer", FIRST, "null",
    ),
    "a null pointer that is asked about": Case(
        "int *x, int *y", "if (x) x[threadIdx.x] = 1; else y[threadIdx.x] = 2;",
        lambda: (None, ints(32)), results=lambda: (None, np.full(32, 2, np.int32)),
    ),
    "an empty array": Case(
        "int *x, int *y", "y[threadIdx.x] = x[threadIdx.x]; //!",
        lambda: (ints(0), ints(32)), OUTSIDE, "element 0 of 'x', which has 0", FIRST,
    ),
    "an empty array that nobody touches": Case(
        "int *x, int *y, int n", "if (threadIdx.x < n) y[threadIdx.x] = x[threadIdx.x];",
        lambda: (ints(0), ints(32), 0), results=lambda: (ints(0), ints(32)),
    ),
    "a shared array overrun": Case(
        "int *x", "__shared__ int t[32];\nt[threadIdx.x + 1] = x[threadIdx.x]; //!\n__syncthreads();\n"
        "x[threadIdx.x] = t[threadIdx.x];",
        lambda: (ints(32),), OUTSIDE, "byte 128 of 't', which has 128 bytes", LAST,
    ),
    "a shared array overrun where the data tell": Case(
        "int *x", SHARED, lambda: (but(17, 32),), OUTSIDE, "byte 128 of 't', which has 128 bytes", shows="data",
    ),
    "a shared array underrun": Case(
        "int *x", SHARED, lambda: (but(17, -2),), OUTSIDE, "byte -8 of 't'", shows="data",
    ),
    "more dynamic shared memory than there is": Case(
        "int *x", "extern __shared__ int t[];\nt[threadIdx.x] = x[threadIdx.x]; //!\n__syncthreads();\n"
        "x[threadIdx.x] = t[31 - threadIdx.x];",
        lambda: (ints(32),), OUTSIDE, "byte 100 of 't', which has 100 bytes", "thread (25, 0, 0)", shared_bytes=100,
    ),
    "a local array overrun": Case(
        "int *x, int n", "int a[8];\nfor (int j = 0; j < n; j++)\na[j] = j * x[threadIdx.x]; //!\nint s = 0;\n"
        "for (int j = 0; j < 8; j++) s += a[j];\nx[threadIdx.x] = s;",
        lambda: (ints(32), 9), OUTSIDE, "byte 32 of local variable 'a', which has 32 bytes", FIRST,
    ),
    "a local array overrun where the data tell": Case(
        "int *x, const int *at", LOCAL, lambda: (ints(32), but(17, 8, ints(32) % 8)), OUTSIDE,
        "byte 32 of local variable 'a', which has 32 bytes", shows="data",
    ),
    "constants overrun": Case(
        "int *x", "x[threadIdx.x] = table[threadIdx.x + x[0] + 1]; //!",
        lambda: (ints(32),), OUTSIDE, "byte 128 of 'table', which has 128 bytes", LAST, "data",
        before="__constant__ int table[32];",
    ),
    "initial values overrun": Case(
        "int *x", "const int table[4] = {1, 2, 3, 4};\nx[threadIdx.x] = table[x[threadIdx.x]]; //!",
        lambda: (ints(32),), OUTSIDE, "byte 16 of 'table', which has 16 bytes", "thread (4, 0, 0)", "data",
    ),
    "a chosen array overrun": Case(
        "int *x, int *y, int n", "int *p = n > 3 ? x : y;\np[threadIdx.x] = 1; //!",
        lambda: (ints(20), ints(32), 5), OUTSIDE, "20", "thread (20, 0, 0)",
    ),
    "a pointer made of a number": Case(
        "int *x, long long p", "int *q = (int *)(p + x[0]);\nq[threadIdx.x] = 1; //!",
        lambda: (ints(32), 0x1234), OUTSIDE, "address 0x1234 is in no array", FIRST, "emulated", "refused",
    ),
    "memory after it was freed": Case(
        "int *x", "int *p = (int *)malloc(16); p[0] = threadIdx.x;\nfree(p);\nx[threadIdx.x] = p[0]; //!",
        lambda: (ints(32),), OUTSIDE, "is in no array", FIRST, "emulated", "refused",
    ),
    "a copy behind the end": Case(
        "int *x, int *y, int n", "memcpy(y + threadIdx.x, x + threadIdx.x, n + x[0]); //!",
        lambda: (ints(32), ints(32), 16), OUTSIDE, "element 29 of 'x'", "thread (29, 0, 0)", "checked", "refused",
    ),
    "an assertion that fails": Case(
        "int *x", "assert(x[threadIdx.x] != 17); //!\nx[threadIdx.x] = 1;",
        lambda: (ints(32),), "WL0607", "x[threadIdx.x] != 17", shows="stops", native="refused",
        before="#include <assert.h>",
    ),
    "a trap": Case(
        "int *x", "if (x[threadIdx.x] == 17)\n__trap(); //!\nx[threadIdx.x] = 1;",
        lambda: (ints(32),), "WL0608", "the kernel trapped", shows="stops", native="refused",
    ),
    "endless recursion": Case(
        "int *x", "x[threadIdx.x] = down(x[threadIdx.x] + 1);", lambda: (ints(32),), "WL0612", "stack overflow", FIRST,
        "emulated", "refused", before="__device__ int down(int n) { return n == 0 ? 0 : 1 + down(n + 1) * 2; } //!",
    ),
    "a table of functions overrun": Case(
        "int *x", "F all[2] = {up, down};\nx[threadIdx.x] = all[x[threadIdx.x]](3); //!",
        lambda: (ints(32),), OUTSIDE, "byte 16 of 'all', which has 16 bytes", "thread (2, 0, 0)", "emulated", "refused",
        before="typedef int (*F)(int); __device__ int up(int n) { return n + 1; } "
        "__device__ int down(int n) { return n - 1; }",
    ),
}  # fmt: skip
"""Accesses that must not be, and what is near to them."""

LEAST = -(2**31)
SPECIAL = np.array([np.nan, np.inf, -np.inf, 3e9, -3e9, 2147483648.0, 0.5, -1.5] * 4, np.float32)
HELD = np.array([0, 2**31 - 1, LEAST, 2**31 - 1, LEAST, 2**31 - 1, 0, -1] * 4, np.int32)

ARITHMETIC: dict[str, Case] = {
    "division by zero": Case(
        "int *x, int *y", "y[threadIdx.x] = 100 / x[threadIdx.x];",
        lambda: (ints(32), ints(32)), results=lambda: (None, np.append(-1, 100 // np.arange(1, 32)).astype(np.int32)),
    ),
    "a remainder by zero": Case(
        "int *x, int *y", "y[threadIdx.x] = 100 % x[threadIdx.x];",
        lambda: (ints(32), ints(32)), results=lambda: (None, np.append(100, 100 % np.arange(1, 32)).astype(np.int32)),
    ),
    "division of the least by -1": Case(
        "int *x, int *y", "y[threadIdx.x] = x[threadIdx.x] / y[threadIdx.x] + x[threadIdx.x] % y[threadIdx.x];",
        lambda: (np.full(32, LEAST, np.int32), np.full(32, -1, np.int32)),
        results=lambda: (None, np.full(32, LEAST, np.int32)),
    ),
    "shifts by the width and more": Case(
        "int *x, int *y", "y[threadIdx.x] = (1 << x[threadIdx.x]) + (-8 >> x[threadIdx.x]);",
        lambda: (ints(32) * 3, ints(32)),
        results=lambda: (None, np.array([(1 << n if n < 32 else 0) + (-8 >> n) for n in range(0, 96, 3)], np.int32)),
    ),
    "floats that no integer holds": Case(
        "float *x, int *y", "y[threadIdx.x] = (int)x[threadIdx.x];",
        lambda: (SPECIAL, ints(32)), results=lambda: (None, HELD),
    ),
    "a shuffle from lanes that are not": Case(
        "int *x", "x[threadIdx.x] = __shfl_sync(0xffffffff, x[threadIdx.x], x[threadIdx.x] * 1001);",
        lambda: (ints(32),), results=lambda: (NUMBERS * 1001 % 32,),
    ),
}  # fmt: skip
"""What CUDA leaves open or says in the small print, which is the same everywhere."""

SHAPES: dict[str, tuple[Any, Any, str]] = {
    "an empty grid": (0, 32, "the grid is empty"),
    "an empty block": (1, 0, "the block is empty"),
    "a negative grid": (-1, 32, "the grid's x extent is negative: -1"),
    "a block that is too large": (1, 2048, "the block's x extent is 2048; the largest is 1024"),
    "a grid that is too large": (2**31, 32, "the grid's x extent is 2147483648"),
    "a grid that is too large along y": ((1, 70000), 32, "the grid's y extent is 70000; the largest is 65535"),
}
"""Grids and blocks that no device takes, and what is said (WL0403)."""


def read_only() -> Any:
    array = ints(32)
    array.flags.writeable = False
    return array


ARRAYS: dict[str, tuple[Callable[[], tuple[Any, ...]], str, str]] = {
    "a read-only array": (lambda: (read_only(), ints(32)), "WL0406|WL0601", "'x'.* read-only"),
    "a read-only array that is read": (lambda: (ints(32), read_only()), "", ""),
    "every second element": (lambda: (ints(64)[::2], ints(32)), "WL0405", "'x' is not contiguous"),
    "every second element that is read": (lambda: (ints(32), ints(64)[::2]), "WL0405", "'y' is not contiguous"),
    "a negative stride": (lambda: (ints(32)[::-1], ints(32)), "WL0405", "'x' is not contiguous"),
    "a column first": (lambda: (np.zeros((8, 4), np.int32, order="F"), ints(32)), "WL0405", "'x' is not contiguous"),
    "one number for all": (lambda: (ints(32), np.broadcast_to(np.int32(1), (32,))), "WL0405", "'y' is not contiguous"),
    "bytes in another order": (lambda: (ints(32).astype(">i4"), ints(32)), "WL0410", "'x' has dtype >i4"),
    "an address that is odd": (
        lambda: (np.frombuffer(bytearray(129), np.int32, 32, 1), ints(32)), "WL0405", "'x' is not aligned",
    ),
    "elements of another width": (lambda: (np.zeros(32, np.int64), ints(32)), "WL0401", "'x' .*int32, but got int64"),
    "floats for integers": (lambda: (ints(32), np.zeros(32, np.float32)), "WL0401", "'y' .*int32, but got float32"),
    "objects": (lambda: (np.zeros(32, object), ints(32)), "WL0401", "'x' has dtype object"),
    "a list": (lambda: ([0] * 32, ints(32)), "WL0407", "'x' must be a NumPy array"),
    "a number for an array": (lambda: (3, ints(32)), "WL0407", "'x' must be a NumPy array"),
    "a masked array": (lambda: (np.ma.zeros(32, np.int32), ints(32)), "WL0407", "'x' is a masked array"),
    "an array of no axis": (lambda: (np.array(5, np.int32), ints(32)), "WL0404|WL0602", "'x'"),
    "too few arguments": (lambda: (ints(32),), "WL0402", "'y' missing"),
    "too many arguments": (lambda: (ints(32),) * 3, "WL0402", "takes 2 arguments, got 3"),
    "one array twice": (lambda: (ints(32),) * 2, "", ""),
}  # fmt: skip
"""Arguments of `x[i] = y[i] + 1`, the code of what is said ("" for nothing), and what is said."""
