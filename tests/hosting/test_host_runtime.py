"""CUDA's runtime as host programs use it, one program per part: copies, memory, streams and events, graphs."""

from __future__ import annotations

from pathlib import Path

import pytest

import windlass as wl

START = r"""
#include <cstdio>
#include <cstring>
#include <unistd.h>
#define SHOW(...) printf(__VA_ARGS__)
#define NAME(call) cudaGetErrorName(call)
static void show(const char *name, const int *x, int n) {
    printf("%s:", name);
    for (int i = 0; i < n; i++) printf(" %d", x[i]);
    printf("\n");
}
__global__ void add(int *x, int n, int by) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += by;
}
__global__ void scale(int *x, int n, int by) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= by;
}
"""


def printed_by(body: str, folder: Path, capfd: pytest.CaptureFixture[str]) -> list[str]:
    """What a program prints, whose text follows on `START`."""
    source = folder / "main.cu"
    source.write_text(START + body)
    assert wl.cuda.program(source).run() == 0
    return capfd.readouterr().out.splitlines()


def test_copies_and_fills_of_rows_slices_and_symbols(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    lines = printed_by(
        r"""
__device__ int table[6] = {10, 11, 12, 13, 14, 15};
__constant__ int fixed[3];
__global__ void read(int *x) { x[threadIdx.x] = table[threadIdx.x] + (threadIdx.x < 3 ? fixed[threadIdx.x] : 0); }
int main() {
    int h[24], back[24], *d, *x;
    for (int i = 0; i < 24; i++) h[i] = i;
    size_t pitch, size;
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    cudaMallocPitch(&d, &pitch, 4 * sizeof(int), 6);
    SHOW("pitch %d\n", pitch >= 16 && pitch % 16 == 0);
    cudaMemset2D(d, pitch, 255, 16, 6);
    cudaMemcpy2D((char *)d + pitch + 4, pitch, h, 16, 8, 3, cudaMemcpyHostToDevice);
    cudaMemset2DAsync((char *)d + 5 * pitch, pitch, 0, 4, 1, stream);
    cudaMemcpy2DAsync(back, 16, d, pitch, 16, 6, cudaMemcpyDeviceToHost, stream);
    show("rows", back, 24);
    SHOW("%s ", NAME(cudaMemcpy2D(back, 8, d, pitch, 16, 2, cudaMemcpyDeviceToHost)));
    SHOW("%s\n", NAME(cudaMemcpy2D(back, 16, d, pitch, 16, 7, cudaMemcpyDeviceToHost)));

    cudaPitchedPtr volume;
    cudaExtent extent = make_cudaExtent(4 * sizeof(int), 3, 2);
    cudaMalloc3D(&volume, extent);
    cudaMemset3D(volume, 1, extent);
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(h, 16, 4, 3);
    copy.dstPtr = volume;
    copy.srcPos = make_cudaPos(4, 1, 0);
    copy.dstPos = make_cudaPos(0, 0, 1);
    copy.extent = make_cudaExtent(8, 2, 1);
    copy.kind = cudaMemcpyHostToDevice;
    cudaMemcpy3D(&copy);
    memset(back, 0, sizeof back);
    cudaMemcpy3DParms out = {};
    out.srcPtr = volume;
    out.dstPtr = make_cudaPitchedPtr(back, 16, 4, 3);
    out.extent = extent;
    out.kind = cudaMemcpyDeviceToHost;
    cudaMemcpy3DAsync(&out, stream);
    show("volume", back, 24);

    cudaMemcpyToSymbol(table, h + 1, 8, 16);
    cudaMemcpyToSymbolAsync(fixed, h + 20, 12, 0, cudaMemcpyHostToDevice, stream);
    cudaMalloc(&x, 24);
    read<<<1, 6, 0, stream>>>(x);
    cudaMemcpyAsync(back, x, 24, cudaMemcpyDeviceToHost, stream);
    cudaMemcpyFromSymbolAsync(back + 6, table, 8, 12, cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);
    show("symbols", back, 8);
    cudaGetSymbolSize(&size, table);
    SHOW("%d bytes, %s\n", (int)size, NAME(cudaMemcpyToSymbol(table, h, 16, 12)));
    cudaMemsetAsync(x, 1, 24, stream);
    cudaMemcpy(x + 1, x, 4, cudaMemcpyDeviceToDevice);
    cudaMemcpy(back, x, 8, cudaMemcpyDefault);
    show("bytes", back, 2);
}
""",
        tmp_path,
        capfd,
    )
    row, ones = "-1 -1 -1 -1", 0x01010101
    assert lines == [
        "pitch 1",
        f"rows: {row} -1 0 1 -1 -1 4 5 -1 -1 8 9 -1 {row} 0 -1 -1 -1",
        "cudaErrorInvalidPitchValue cudaErrorInvalidValue",
        f"volume: {' '.join([str(ones)] * 12)} 5 6 {ones} {ones} 9 10 {' '.join([str(ones)] * 6)}",
        "symbols: 30 32 34 13 1 2 13 1",
        "24 bytes, cudaErrorInvalidValue",
        f"bytes: {ones} {ones}",
    ]


def test_memory_of_all_kinds(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    lines = printed_by(
        r"""
static const char *kind(void *p) {
    cudaPointerAttributes a;
    cudaPointerGetAttributes(&a, p);
    const char *names[] = {"unregistered", "host", "device", "managed"};
    return names[a.type];
}
int main() {
    int *device, *mapped, *on_device, *managed, *pooled, own[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    size_t before, during, after, all;
    cudaMemGetInfo(&before, &all);
    cudaMalloc(&device, 1 << 20);
    cudaMemGetInfo(&during, &all);
    SHOW("%d, ", (int)(before - during));

    cudaHostAlloc(&mapped, 32, cudaHostAllocMapped);
    for (int i = 0; i < 8; i++) mapped[i] = i;
    cudaHostGetDevicePointer(&on_device, mapped, 0);
    add<<<1, 8>>>(on_device, 8, 100);
    cudaDeviceSynchronize();
    SHOW("%d %d, ", mapped[0], mapped[7]);

    cudaHostRegister(own, sizeof own, cudaHostRegisterMapped);
    scale<<<1, 8>>>(own, 8, 2);
    cudaDeviceSynchronize();
    SHOW("%d, %s", own[7], kind(own));
    cudaHostUnregister(own);
    SHOW(" %s\n", kind(own));

    cudaMallocManaged(&managed, 32);
    for (int i = 0; i < 8; i++) managed[i] = i;
    cudaMemAdvise(managed, 32, cudaMemAdviseSetReadMostly, 0);
    cudaMemPrefetchAsync(managed, 32, 0, 0);
    add<<<1, 8>>>(managed, 8, 1);
    cudaDeviceSynchronize();
    managed[3] = 50;
    scale<<<1, 8>>>(managed + 2, 3, 3);
    cudaDeviceSynchronize();
    show("managed", managed, 8);

    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaMallocAsync(&pooled, 16, stream);
    cudaMemsetAsync(pooled, 0, 16, stream);
    add<<<1, 4, 0, stream>>>(pooled, 4, 9);
    cudaMemcpyAsync(own, pooled, 16, cudaMemcpyDeviceToHost, stream);
    cudaFreeAsync(pooled, stream);
    cudaStreamSynchronize(stream);
    SHOW("%d %d, %s %s %s %s\n", own[0], own[3], kind(device), kind(mapped), kind(managed), kind(&all));

    SHOW("%s, ", NAME(cudaFree(pooled)));
    int *huge;
    SHOW("%s, ", NAME(cudaMalloc(&huge, (size_t)1 << 50)));
    SHOW("%s ", NAME(cudaPeekAtLastError()));
    SHOW("%s ", NAME(cudaGetLastError()));
    SHOW("%s, ", NAME(cudaGetLastError()));
    cudaFree(device), cudaFreeHost(mapped), cudaFree(managed);
    cudaMemGetInfo(&after, &all);
    SHOW("%d\n", (int)(before - after));
    add<<<1, 4>>>(pooled, 4, 1);
    SHOW("%s ", NAME(cudaDeviceSynchronize()));
    cudaGetLastError();
    SHOW("%s\n", NAME(cudaGetLastError()));
}
""",
        tmp_path,
        capfd,
    )
    assert lines == [
        "1048576, 100 107, 16, host unregistered",
        "managed: 1 2 9 150 15 6 7 8",
        "9 9, device host managed unregistered",
        "cudaErrorInvalidValue, cudaErrorMemoryAllocation, cudaErrorMemoryAllocation cudaErrorMemoryAllocation "
        "cudaSuccess, 0",
        "cudaErrorIllegalAddress cudaErrorIllegalAddress",
    ]


def test_streams_keep_order_and_events_tell_time(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    lines = printed_by(
        r"""
#include <chrono>
static void note(void *what) { SHOW("%s ", (const char *)what); }
static void note_stream(cudaStream_t, cudaError_t status, void *what) { SHOW("%s %d ", (const char *)what, status); }
int main() {
    cudaStream_t one, other;
    int priority, least, greatest;
    unsigned flags;
    cudaStreamCreate(&one);
    cudaDeviceGetStreamPriorityRange(&least, &greatest);
    cudaStreamCreateWithPriority(&other, cudaStreamNonBlocking, greatest);
    cudaStreamGetPriority(other, &priority);
    cudaStreamGetFlags(other, &flags);
    SHOW("%d %d\n", priority == greatest, flags == cudaStreamNonBlocking);

    cudaEvent_t start, middle, stop, untimed, never;
    cudaEventCreate(&start), cudaEventCreate(&middle), cudaEventCreate(&stop), cudaEventCreate(&never);
    cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming);
    int *x, h[1000];
    cudaMalloc(&x, 4000);
    cudaMemset(x, 0, 4000);
    auto begin = std::chrono::steady_clock::now();
    cudaEventRecord(start, one);
    add<<<8, 128, 0, one>>>(x, 1000, 1);
    usleep(30000);
    cudaEventRecord(middle, one);
    cudaStreamWaitEvent(other, middle, 0);
    scale<<<8, 128, 0, other>>>(x, 1000, 5);
    usleep(10000);
    cudaEventRecord(stop, other);
    cudaEventRecord(untimed, other);
    cudaEventSynchronize(stop);
    float wall = std::chrono::duration<float, std::milli>(std::chrono::steady_clock::now() - begin).count();
    float first = -1, second = -1, whole = -1, none = -1;
    cudaEventElapsedTime(&first, start, middle);
    cudaEventElapsedTime(&second, middle, stop);
    cudaEventElapsedTime(&whole, start, stop);
    SHOW("%d %d %d %d\n", first >= 30 && first < wall, second >= 10, whole <= wall,
         first + second - whole < 1e-2 && whole - first - second < 1e-2);
    SHOW("%s ", NAME(cudaEventElapsedTime(&none, start, never)));
    SHOW("%s ", NAME(cudaEventElapsedTime(&none, start, untimed)));
    SHOW("%s %s\n", NAME(cudaEventQuery(stop)), NAME(cudaStreamQuery(other)));
    cudaMemcpy(h, x, 4000, cudaMemcpyDeviceToHost);
    SHOW("%d %d\n", h[0], h[999]);

    cudaLaunchHostFunc(one, note, (void *)"a");
    cudaStreamAddCallback(one, note_stream, (void *)"b", 0);
    cudaLaunchHostFunc(one, note, (void *)"c");
    cudaStreamSynchronize(one);
    cudaEventDestroy(stop);
    cudaStreamDestroy(other);
    SHOW("\n%s ", NAME(cudaEventRecord(stop)));
    SHOW("%s\n", NAME(cudaStreamSynchronize(other)));

    cudaLaunchConfig_t configuration = {};
    configuration.gridDim = 8, configuration.blockDim = 128, configuration.stream = one;
    cudaLaunchKernelEx(&configuration, add, x, 'd', 2.0);
    cudaMemcpyAsync(h, x, 4000, cudaMemcpyDeviceToHost, one);
    cudaStreamSynchronize(one);
    SHOW("%d %d\n", h[99], h[100]);
}
""",
        tmp_path,
        capfd,
    )
    assert lines == [
        "1 1",
        "1 1 1 1",
        "cudaErrorInvalidResourceHandle cudaErrorInvalidResourceHandle cudaSuccess cudaSuccess",
        "5 5",
        "a b 0 c ",
        "cudaErrorInvalidResourceHandle cudaErrorInvalidResourceHandle",
        "7 5",
    ]


def test_graphs_that_are_built_and_graphs_that_are_captured(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    lines = printed_by(
        r"""
static void count(void *n) { ++*(int *)n; }
int main() {
    int *x, *y, h[4] = {1, 2, 3, 4}, back[4], n = 4, by = 10, calls = 0;
    cudaMalloc(&x, 16), cudaMalloc(&y, 16);
    cudaMemset(y, 0, 16);
    cudaGraph_t graph, child, captured, clone;
    cudaGraphExec_t executable;
    cudaStream_t one, other;
    cudaStreamCreate(&one), cudaStreamCreate(&other);

    cudaGraphCreate(&child, 0);
    cudaGraphNode_t inner, to, kernel, nothing, from, host, part;
    void *scaled[] = {&x, &n, &by};
    cudaKernelNodeParams launch = {(void *)scale, dim3(1), dim3(4), 0, scaled, nullptr};
    cudaGraphAddKernelNode(&inner, child, nullptr, 0, &launch);
    cudaGraphCreate(&graph, 0);
    cudaGraphAddMemcpyNode1D(&to, graph, nullptr, 0, x, h, 16, cudaMemcpyHostToDevice);
    launch.func = (void *)add;
    cudaGraphAddKernelNode(&kernel, graph, &to, 1, &launch);
    by = 1000;  // the nodes have copies
    cudaGraphAddChildGraphNode(&part, graph, &kernel, 1, child);
    cudaGraphAddEmptyNode(&nothing, graph, &part, 1);
    cudaMemsetParams fill = {x + 3, 0, 7, 4, 1, 1};
    cudaGraphNode_t filled;
    cudaGraphAddMemsetNode(&filled, graph, &nothing, 1, &fill);
    cudaGraphAddMemcpyNode1D(&from, graph, &filled, 1, back, x, 16, cudaMemcpyDeviceToHost);
    cudaHostNodeParams call = {count, &calls};
    cudaGraphAddHostNode(&host, graph, &from, 1, &call);
    size_t nodes = 0;
    cudaGraphGetNodes(graph, nullptr, &nodes);
    cudaGraphInstantiate(&executable, graph, nullptr, nullptr, 0);
    for (int i = 0; i < 3; i++) cudaGraphLaunch(executable, one);
    cudaStreamSynchronize(one);
    SHOW("%d nodes, %d calls, ", (int)nodes, calls);
    show("built", back, 4);
    by = 2;
    cudaGraphExecKernelNodeSetParams(executable, kernel, &launch);
    cudaGraphLaunch(executable, one);
    cudaStreamSynchronize(one);
    show("changed", back, 4);

    cudaEvent_t forked, joined;
    cudaEventCreate(&forked), cudaEventCreate(&joined);
    cudaStreamCaptureStatus during, within, after;
    cudaStreamBeginCapture(one, cudaStreamCaptureModeGlobal);
    cudaMemcpyAsync(x, h, 16, cudaMemcpyHostToDevice, one);
    cudaEventRecord(forked, one);
    cudaStreamWaitEvent(other, forked, 0);
    add<<<1, 4, 0, one>>>(x, 4, 1);
    add<<<1, 4, 0, other>>>(y, 4, 5);
    cudaEventRecord(joined, other);
    cudaStreamWaitEvent(one, joined, 0);
    cudaMemcpyAsync(back, y, 16, cudaMemcpyDeviceToHost, one);
    cudaStreamIsCapturing(one, &during), cudaStreamIsCapturing(other, &within);
    SHOW("%s ", NAME(cudaStreamEndCapture(other, &captured)));
    cudaStreamEndCapture(one, &captured);
    cudaStreamIsCapturing(other, &after);
    SHOW("%d %d %d\n", during, within, after);
    cudaMemcpy(back, y, 16, cudaMemcpyDeviceToHost);
    show("before", back, 4);
    cudaGraphClone(&clone, captured);
    cudaGraphDestroy(captured);
    SHOW("%s\n", NAME(cudaGraphExecUpdate(executable, clone, nullptr)));
    cudaGraphLaunch(executable, one);
    cudaGraphLaunch(executable, other);
    cudaStreamSynchronize(other);
    show("captured", back, 4);
    add<<<1, 4, 0, other>>>(y, 4, 100);
    cudaMemcpy(back, y, 16, cudaMemcpyDeviceToHost);
    show("outside", back, 4);
    SHOW("%s\n", NAME(cudaGraphLaunch((cudaGraphExec_t)captured, one)));
}
""",
        tmp_path,
        capfd,
    )
    assert lines == [
        "7 nodes, 3 calls, built: 110 120 130 7",
        "changed: 30 40 50 7",
        "cudaErrorStreamCaptureUnmatched 1 1 0",
        "before: 0 0 0 0",
        "cudaSuccess",
        "captured: 10 10 10 10",
        "outside: 110 110 110 110",
        "cudaErrorInvalidValue",
    ]
