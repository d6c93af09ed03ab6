"""Host programs beyond CUDA's runtime: the driver API's plain part, POSIX files, what old compilers let pass."""

from __future__ import annotations

from pathlib import Path

import pytest

import windlass as wl


def test_driver_api_shares_memory_with_kernels(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "driver.cu"
    source.write_text(r"""
#include <cuda.h>
#include <cstdio>
__global__ void twice(int *x) { x[threadIdx.x] *= 2; }
int main() {
    CUdevice device;
    CUcontext context;
    CUdeviceptr memory;
    char name[64];
    size_t all, left;
    int h[4] = {1, 2, 3, 4}, multiprocessors;
    cuInit(0);
    cuDeviceGet(&device, 0);
    cuDeviceGetName(name, sizeof name, device);
    cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
    cuCtxCreate(&context, 0, device);
    cuMemAlloc(&memory, sizeof h);
    cuMemcpyHtoD(memory, h, sizeof h);
    twice<<<1, 4>>>((int *)memory);
    cuCtxSynchronize();
    cuMemcpyDtoH(h, memory, sizeof h);
    cuMemGetInfo(&left, &all);
    CUresult beyond = cuMemsetD32(memory, 7, 5);
    printf("%d %d, %d bytes used, %d, %d, ", h[0], h[3], (int)(all - left), multiprocessors, beyond);
    cuMemsetD32(memory, 7, 4);
    cuMemcpyDtoH(h, memory, sizeof h);
    printf("%d %d, %d %s\n", h[0], h[3], cuMemFree(memory), name);
}
""")
    assert wl.cuda.program(source, mode="emulated").run() == 0
    assert capfd.readouterr().out == "2 8, 16 bytes used, 80, 1, 7 7, 0 Windlass (no GPU)\n"


def test_old_programs_read_files_and_ask_whether_this_is_null(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "text").write_text("abc")
    source = tmp_path / "old.cu"
    source.write_text(r"""
#include <fcntl.h>
#include <cstdio>
struct Node {
    int number;
    Node *parent;
    int id() const { return this ? number : -1; }
};
__global__ void nothing() {}
int main(int count, char **arguments) {
    char text[8] = "";
    int file = open(arguments[1], O_RDONLY);
    int bytes = (int)read(file, text, sizeof text - 1);
    close(file);
    Node root{5, nullptr};
    Node *volatile parent = root.parent;
    printf("%d %s %d %d\n", bytes, text, root.id(), parent->id());
}
""")
    assert wl.cuda.program(source).run([str(tmp_path / "text")]) == 0
    assert capfd.readouterr().out == "3 abc 5 -1\n"
