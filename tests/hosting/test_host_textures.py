"""CUDA programs with arrays, textures and surfaces: what the host calls do, and what kernels then see."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import windlass as wl

BINDINGS = r"""
#include <cstdio>
texture<float, 1, cudaReadModeElementType> line;
static texture<uchar4, 2, cudaReadModeNormalizedFloat> image;
surface<void, 2> board;
__global__ void fetch(float *out, cudaTextureObject_t object, int n) {
    int i = threadIdx.x;
    if (i < n) out[i] = tex1Dfetch(line, i) + 10 * tex1Dfetch<float>(object, i) + 1000 * tex2D(image, (float)i, 0.5f).y;
}
__global__ void step(cudaSurfaceObject_t object, int n) {
    int i = threadIdx.x;
    if (i < n) surf2Dwrite(i + surf2Dread<int>(board, i * 4, 0), object, i * 4, 1);
}
int main() {
    float values[4] = {1, 2, 3, 4}, *device, *out, back[6];
    cudaMalloc(&device, 16);
    cudaMalloc(&out, 24);
    cudaMemcpy(device, values, 16, cudaMemcpyHostToDevice);
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear = {device, cudaCreateChannelDesc<float>(), 16};
    cudaTextureDesc description = {};
    cudaTextureObject_t object;
    cudaCreateTextureObject(&object, &resource, &description, 0);
    size_t offset = 99;
    cudaBindTexture(&offset, line, device, 12);
    cudaArray_t pixels, cells;
    cudaChannelFormatDesc bytes = cudaCreateChannelDesc<uchar4>(), ints = cudaCreateChannelDesc<int>(), found;
    cudaMallocArray(&pixels, &bytes, 3, 2);
    unsigned char picture[24];
    for (int i = 0; i < 24; i++) picture[i] = i * 10;
    cudaMemcpy2DToArray(pixels, 0, 0, picture, 12, 12, 2, cudaMemcpyHostToDevice);
    cudaBindTextureToArray(image, pixels, bytes);
    fetch<<<1, 32>>>(out, object, 6);
    cudaMemcpy(back, out, 24, cudaMemcpyDeviceToHost);
    printf("%d:", (int)offset);
    for (float x : back) printf(" %.2f", x);
    cudaMallocArray(&cells, &ints, 4, 2, cudaArraySurfaceLoadStore);
    int numbers[8] = {5, 6, 7, 8};
    cudaMemcpyToArray(cells, 0, 0, numbers, 32, cudaMemcpyHostToDevice);
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = cells;
    cudaSurfaceObject_t surface;
    cudaCreateSurfaceObject(&surface, &resource);
    cudaBindSurfaceToArray(board, cells);
    step<<<1, 4>>>(surface, 4);
    cudaMemcpyFromArray(numbers, cells, 0, 1, 16, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 4; i++) printf(" %d", numbers[i]);
    cudaGetChannelDesc(&found, cells);
    printf(" %d %d %s", found.x, found.y, cudaGetErrorName(cudaDeviceSynchronize()));
    step<<<1, 8>>>(surface, 5);
    printf(" %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
"""


@pytest.mark.one_in(2)
@pytest.mark.parametrize("mode", ["auto", "raised", "emulated"])
def test_references_objects_and_surfaces_give_what_the_host_put_there(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], mode: wl.cuda.Mode
) -> None:
    source = tmp_path / "bindings.cu"
    source.write_text(BINDINGS)
    assert wl.cuda.program(source, mode=mode).run() == 0
    out, err = capfd.readouterr()
    # The line has three texels, the object four; the image's second channel is 10, 50, 90 of 255, then the last again.
    second = [each / 255 for each in (10, 50, 90, 90, 90, 90)]
    expected = [x + 10 * y + 1000 * z for x, y, z in zip((1, 2, 3, 0, 0, 0), (1, 2, 3, 4, 0, 0), second, strict=True)]
    numbers = " ".join(f"{each:.2f}" for each in expected)
    assert out == f"0: {numbers} 5 7 9 11 32 0 cudaSuccess cudaErrorIllegalAddress\n"
    assert "access outside of a surface" in err and "4 bytes at byte 16 of row 0" in err and "bindings.cu:12" in err


COPIES = r"""
#include <cstdio>
#include <cstring>
#define CHECK(call) if (cudaError_t error = (call)) printf("%s: %s\n", #call, cudaGetErrorName(error))
__global__ void read(cudaTextureObject_t t, int *out, int w, int h, int d) {
    int i = threadIdx.x;
    if (i < w * h * d) out[i] = tex3D<int>(t, i % w + 0.5f, i / w % h + 0.5f, i / (w * h) + 0.5f);
}
__global__ void read_layer(cudaTextureObject_t t, int *out, int w, int h) {
    int i = threadIdx.x;
    if (i < w * h) out[i] = tex2DLayered<short4>(t, i % w, i / w, 1).z;
}
__global__ void read_rows(cudaTextureObject_t t, float *out, int w, int h) {
    int i = threadIdx.x;
    if (i < w * h) out[i] = tex2D<float>(t, (i % w + 0.5f) / w, (i / w + 0.5f) / h);
}
texture<int, 2> plain;
__global__ void read_reference(int *out, int w, int h) {
    int i = threadIdx.x;
    if (i < w * h) out[i] = tex2D(plain, i % w, i / w);
}
template <class T> static void print(const char *name, const T *x, int n) {
    printf("%s:", name);
    for (int i = 0; i < n; i++) printf(" %g", (double)x[i]);
    puts("");
}
int main() {
    int *out, h[64], back[64];
    CHECK(cudaMalloc(&out, sizeof h));
    for (int i = 0; i < 64; i++) h[i] = i;
    cudaChannelFormatDesc ints = cudaCreateChannelDesc<int>(), shorts = cudaCreateChannelDesc<short4>();
    // A volume of 4 x 3 x 2, from the middle of host memory of 5 x 4 x 3.
    cudaArray_t volume;
    CHECK(cudaMalloc3DArray(&volume, &ints, make_cudaExtent(4, 3, 2)));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(h, 5 * 4, 5, 4);
    copy.srcPos = make_cudaPos(4, 1, 1);
    copy.dstArray = volume;
    copy.extent = make_cudaExtent(4, 3, 2);
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = volume;
    cudaTextureDesc description = {};
    cudaTextureObject_t texture, layers, rows;
    CHECK(cudaCreateTextureObject(&texture, &resource, &description, 0));
    read<<<1, 32>>>(texture, out, 4, 3, 2);
    CHECK(cudaMemcpy(back, out, 24 * 4, cudaMemcpyDeviceToHost));
    print("volume", back, 24);
    // Back to the host: its second slice, without the first column.
    cudaMemcpy3DParms home = {};
    home.srcArray = volume;
    home.srcPos = make_cudaPos(1, 0, 1);
    home.dstPtr = make_cudaPitchedPtr(back, 12, 3, 3);
    home.extent = make_cudaExtent(3, 3, 1);
    home.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaMemcpy3D(&home));
    print("slice", back, 9);
    // Layers of short4, one layer copied alone.
    cudaArray_t stack;
    CHECK(cudaMalloc3DArray(&stack, &shorts, make_cudaExtent(3, 2, 2), cudaArrayLayered));
    short texels[24];
    for (int i = 0; i < 24; i++) texels[i] = 100 + i;
    cudaMemcpy3DParms layer = {};
    layer.srcPtr = make_cudaPitchedPtr(texels, 3 * 8, 3, 2);
    layer.dstArray = stack;
    layer.dstPos = make_cudaPos(0, 0, 1);
    layer.extent = make_cudaExtent(3, 2, 1);
    layer.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&layer));
    resource.res.array.array = stack;
    CHECK(cudaCreateTextureObject(&layers, &resource, &description, 0));
    read_layer<<<1, 32>>>(layers, out, 3, 2);
    CHECK(cudaMemcpy(back, out, 24, cudaMemcpyDeviceToHost));
    print("layer", back, 6);
    // Pitched memory with normalized coordinates.
    float *pitched, line[6] = {1, 2, 3, 4, 5, 6};
    size_t pitch;
    CHECK(cudaMallocPitch(&pitched, &pitch, 3 * sizeof(float), 2));
    CHECK(cudaMemcpy2D(pitched, pitch, line, 12, 12, 2, cudaMemcpyHostToDevice));
    resource = {};
    resource.resType = cudaResourceTypePitch2D;
    resource.res.pitch2D = {pitched, cudaCreateChannelDesc<float>(), 3, 2, pitch};
    description.normalizedCoords = 1;
    CHECK(cudaCreateTextureObject(&rows, &resource, &description, 0));
    read_rows<<<1, 32>>>(rows, (float *)out, 3, 2);
    CHECK(cudaMemcpy(line, out, 24, cudaMemcpyDeviceToHost));
    print("pitched", line, 6);
    // Parts of planes, between arrays and in runs; a reference bound to memory and to an array.
    cudaArray_t from, to;
    CHECK(cudaMallocArray(&from, &ints, 4, 3));
    CHECK(cudaMallocArray(&to, &ints, 4, 3));
    CHECK(cudaMemcpy2DToArray(from, 4, 1, h + 10, 16, 12, 2, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpyToArray(from, 8, 0, h + 50, 12, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy2DArrayToArray(to, 0, 0, from, 4, 0, 12, 3));
    CHECK(cudaBindTextureToArray(plain, to));
    read_reference<<<1, 32>>>(out, 4, 3);
    CHECK(cudaMemcpy(back, out, 48, cudaMemcpyDeviceToHost));
    print("plane", back, 12);
    CHECK(cudaMemcpy2DFromArray(back, 8, from, 8, 1, 8, 2, cudaMemcpyDeviceToHost));
    print("part", back, 4);
    int *memory;
    CHECK(cudaMalloc(&memory, 512));
    CHECK(cudaMemcpy(memory, h, sizeof h, cudaMemcpyHostToDevice));
    const textureReference *reference;
    CHECK(cudaGetTextureReference(&reference, &plain));
    CHECK(cudaBindTexture2D(0, reference, memory, &ints, 3, 2, 32));
    read_reference<<<1, 32>>>(out, 3, 2);
    CHECK(cudaMemcpy(back, out, 24, cudaMemcpyDeviceToHost));
    print("bound", back, 6);
    CHECK(cudaUnbindTexture(plain));
    // What is wrong.
    cudaChannelFormatDesc odd = {8, 16, 0, 0, cudaChannelFormatKindSigned};
    CHECK(cudaMallocArray(&from, &odd, 4, 4));
    CHECK(cudaMemcpy2DToArray(to, 4, 0, h, 16, 16, 1, cudaMemcpyHostToDevice));
    description.filterMode = cudaFilterModeLinear;
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = to;
    CHECK(cudaCreateTextureObject(&rows, &resource, &description, 0));
    CHECK(cudaDestroyTextureObject(texture));
    CHECK(cudaDestroyTextureObject(texture));
    CHECK(cudaFreeArray(volume));
    cudaMipmappedArray_t levels;
    CHECK(cudaMallocMipmappedArray(&levels, &ints, make_cudaExtent(4, 4, 0), 2));
    read_reference<<<1, 32>>>(out, 3, 2);
    puts(cudaGetErrorName(cudaDeviceSynchronize()));
}
"""


@pytest.mark.one_in(2)
@pytest.mark.parametrize("mode", ["raised", "emulated"])
def test_copies_of_all_forms_and_what_they_refuse(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], mode: wl.cuda.Mode
) -> None:
    source = tmp_path / "copies.cu"
    source.write_text(COPIES)
    how: dict[str, str] = {}
    program = wl.cuda.program(source, mode=mode)

    def note(launch: wl.cuda.LaunchRecord) -> None:
        how.setdefault(launch.kernel, launch.how)

    program.run(observe=note)
    out, err = capfd.readouterr()
    h = np.arange(60).reshape(3, 4, 5)
    # A position in memory counts bytes along x: 4 of them are one number.
    volume = h[1:3, 1:4, 1:5]
    plane = np.zeros((3, 4), np.int64)
    plane[1, 1:], plane[2, 1:] = [10, 11, 12], [14, 15, 16]
    plane[0, 2:], plane[1, 0] = [50, 51], 52
    moved = np.zeros((3, 4), np.int64)
    moved[:, :3] = plane[:, 1:]
    wanted = {
        "volume": volume,
        "slice": volume[1, :, 1:],
        "layer": [102, 106, 110, 114, 118, 122],
        "pitched": [1, 2, 3, 4, 5, 6],
        "plane": moved,
        "part": plane[1:, 2:],
        "bound": [0, 1, 2, 8, 9, 10],
    }
    for name, numbers in wanted.items():
        assert f"{name}: {' '.join(map(str, np.ravel(numbers)))}\n" in out
    assert out.splitlines()[len(wanted) :] == [
        "cudaMallocArray(&from, &odd, 4, 4): cudaErrorInvalidChannelDescriptor",
        "cudaMemcpy2DToArray(to, 4, 0, h, 16, 16, 1, cudaMemcpyHostToDevice): cudaErrorInvalidValue",
        "cudaCreateTextureObject(&rows, &resource, &description, 0): cudaErrorInvalidFilterSetting",
        "cudaDestroyTextureObject(texture): cudaErrorInvalidValue",
        "cudaMallocMipmappedArray(&levels, &ints, make_cudaExtent(4, 4, 0), 2): cudaErrorNotSupported",
        "cudaErrorIllegalAddress",
    ]
    assert "a linear filter needs texels that are read as floats" in err and "no mipmapped arrays here" in err
    assert "error[WL0617]: the texture reference is bound to nothing" in err and "copies.cu:20" in err
    assert how == dict.fromkeys(("read", "read_layer", "read_rows", "read_reference"), mode)
