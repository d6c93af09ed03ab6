"""CUDA programs with arrays, textures and surfaces: what the host calls do, and what kernels then see."""

from __future__ import annotations

from pathlib import Path

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
