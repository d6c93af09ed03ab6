"""Textures and surfaces from Python: arguments, references of a module, and what is said of wrong ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import windlass as wl
from windlass.diagnostics import LaunchError, WindlassError

pytestmark = pytest.mark.one_in(2)

SOURCE = """
texture<float> line;
static texture<uchar4, 2, cudaReadModeNormalizedFloat> image;
surface<void, 2> board;
__device__ int count = 3;
__global__ void add_line(float *out, int n) {
    int i = threadIdx.x;
    if (i < n) out[i] = tex1Dfetch(line, i) + tex1Dfetch(line, n - 1 - i) * count;
}
__global__ void greens(float *out, int n) {
    int i = threadIdx.x;
    if (i < n) out[i] = tex2D(image, i + 0.5f, 0.5f).y;
}
__global__ void mark(cudaSurfaceObject_t cells, int n) {
    int i = threadIdx.x;
    if (i >= n) return;
    surf2Dwrite(surf2Dread<int>(board, i * 4, 0) + 1, board, i * 4, 0);
    surf2Dwrite(i, cells, i * 4, 1);
}
__global__ void plain(float *out) { out[threadIdx.x] = 1; }
__global__ void sample(float *out, cudaTextureObject_t at, unsigned long long number) {
    out[threadIdx.x] = tex1D<float>(at, threadIdx.x + 1.0f) + number;
}
"""


@pytest.fixture
def module() -> wl.cuda.Module:
    return wl.cuda.compile(SOURCE)


def floats(count: int) -> np.ndarray:
    return np.arange(count, dtype=np.float32)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("is_emulated", [False, True])
def test_references_are_bound_by_name(module: wl.cuda.Module, is_emulated: bool) -> None:
    kernel: Any = wl.emulate(module["add_line"]) if is_emulated else module["add_line"]
    values, out = floats(6), floats(6)
    assert module.textures.declared == ("line", "image", "board")
    module.textures["line"] = wl.cuda.texture(values)
    kernel[1, 32](out, 6)
    assert out.tolist() == [15, 13, 11, 9, 7, 5]
    values *= 2
    kernel[1, 32](out, 6)
    assert out.tolist() == [30, 26, 22, 18, 14, 10], "a texture sees what its array holds at the launch"
    module.variables["count"] = 0
    kernel[1, 32](out, 6)
    assert out.tolist() == values.tolist()
    del module.textures["line"]
    with pytest.raises(LaunchError, match="texture reference 'line' is bound to nothing"):
        kernel[1, 32](out, 6)
    assert list(module.variables) == ["count"]


def test_a_reference_reads_as_it_is_declared(module: wl.cuda.Module) -> None:
    picture = np.random.default_rng(0).integers(0, 256, (2, 5, 4), dtype=np.uint8)
    module.textures["image"] = wl.cuda.texture(picture, channels=4)
    out = np.zeros(5, np.float32)
    module["greens"][1, 8](out, 5)
    np.testing.assert_array_equal(out, picture[0, :, 1].astype(np.float32) / np.float32(255))
    assert module["greens"].explain().is_raised


def test_surfaces_on_one_array_are_one_memory(module: wl.cuda.Module) -> None:
    for form in (module["mark"], wl.emulate(module["mark"])):
        cells = np.array([[5, 6, 7], [0, 0, 0]], np.int32)
        module.textures["board"] = wl.cuda.surface(cells)
        form[1, 4](wl.cuda.surface(cells), 3)
        assert cells.tolist() == [[6, 7, 8], [0, 1, 2]]
    with pytest.raises(LaunchError, match="overlaps another surface or texture in part"):
        module["mark"][1, 4](wl.cuda.surface(cells[:1]), 3)


def test_explanations_and_lowering_take_textures(module: wl.cuda.Module) -> None:
    texture = wl.cuda.texture(floats(8), filter_mode="linear")
    report = module["sample"].explain(1, 4, floats(4), texture, 0)
    assert report.is_raised and report.bytes_read == 32
    text = module["sample"].lower(1, 4, floats(4), texture, 0).text("tensor")
    assert "tensor<8xf32>" in text


def test_forms_of_textures_are_compiled_once_and_forgotten_in_turn(module: wl.cuda.Module) -> None:
    kernel, out = module["sample"], floats(2)
    for count in range(3, 23):
        kernel[1, 2](out, wl.cuda.texture(floats(count)), 0)
        assert out.tolist() == [1, 2]
    assert len(kernel.specialized) == 16
    assert sum(name.startswith("__windlass_texels_") for name in module.variables.storage) == 16
    before = list(kernel.specialized.values())
    kernel[1, 2](out, wl.cuda.texture(floats(22) + 1), 0)
    assert out.tolist() == [2, 3] and list(kernel.specialized.values()) == before


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: wl.cuda.texture(np.zeros(3)), "there are no textures of float64"),
        (lambda: wl.cuda.texture(np.zeros((2, 2, 2, 2), np.float32)), "one to three axes"),
        (lambda: wl.cuda.texture(np.zeros(0, np.float32)), "none of them empty"),
        (lambda: wl.cuda.texture(np.zeros((3, 3), np.float32), channels=4), "last axis has that length"),
        (lambda: wl.cuda.texture(np.zeros((3, 3), np.float32), channels=3), "1, 2 or 4 channels"),
        (lambda: wl.cuda.texture(np.zeros((3, 3), np.float32).T[:, 1:]), "not contiguous"),
        (lambda: wl.cuda.texture([1.0, 2.0]), "lies on a NumPy array, got list"),  # pyright: ignore[reportArgumentType]
        (lambda: wl.cuda.texture(floats(3), address_mode="repeat"), "'border'; got 'repeat'"),  # pyright: ignore[reportArgumentType]
        (lambda: wl.cuda.texture(floats(3), filter_mode="cubic"), "'linear'; got 'cubic'"),  # pyright: ignore[reportArgumentType]
        (lambda: wl.cuda.texture(floats(3), border=range(5)), "up to four numbers, got 5"),
        (lambda: wl.cuda.texture(np.zeros(3, np.int32), border=[1]), "have a border of 0"),
        (
            lambda: wl.cuda.texture(np.zeros(3, np.int32), filter_mode="linear", read_mode="normalized"),
            "a linear filter needs texels that are read as floats, not int32",
        ),
        (lambda: wl.cuda.surface(np.frombuffer(bytes(12), np.float32)), "read-only"),
        (lambda: wl.cuda.texture(floats(3), layered=True), "two or three axes, layers first"),
    ],
)
def test_arrays_and_modes_that_no_texture_has_are_refused(make: Any, said: str) -> None:
    with pytest.raises(LaunchError, match=said) as caught:
        make()
    assert caught.value.diagnostics[0].code == "WL0430"


def test_types_of_parameters_may_have_other_names() -> None:
    module = wl.cuda.compile("""
typedef cudaTextureObject_t image_t;
__global__ void copy(float *out, const image_t image) { out[threadIdx.x] = tex1D<float>(image, threadIdx.x); }
""")
    out = np.zeros(4, np.float32)
    module["copy"][1, 4](out, wl.cuda.texture(floats(4)))
    assert out.tolist() == [0, 1, 2, 3]


def test_functions_of_arrays_have_no_textures(module: wl.cuda.Module) -> None:
    texture = wl.cuda.texture(floats(4))

    @wl.jit(whole=True)
    def whole(out: Any) -> Any:
        module["sample"][1, 2](out, texture, 0)
        return out

    with pytest.raises(LaunchError, match="functions of arrays don't have"):
        whole(floats(2))


def test_arguments_of_other_kinds_are_refused(module: wl.cuda.Module) -> None:
    out, texture = floats(2), wl.cuda.texture(floats(4))
    cases: list[tuple[tuple[Any, ...], str]] = [
        ((out, floats(4), 0), r"argument 'at' is a texture \(cudaTextureObject_t\), got ndarray"),
        ((out, wl.cuda.surface(floats(4)), 0), "argument 'at' is a texture .*, got Surface"),
        ((out, texture, texture), "argument 'number' is a unsigned long long, got a texture"),
        ((out, wl.cuda.texture(np.zeros(3, np.int16), filter_mode="linear"), 0), "a linear filter needs"),
    ]
    for arguments, said in cases:
        with pytest.raises(LaunchError, match=said):
            module["sample"][1, 2](*arguments)
    with pytest.raises(LaunchError, match="functions of arrays don't have"):
        module["sample"].jax(1, 2)
    with pytest.raises(LaunchError):
        module["plain"][1, 2](texture)


def test_references_take_what_they_declare(module: wl.cuda.Module) -> None:
    refused: list[tuple[str, Any, str]] = [
        ("nowhere", wl.cuda.texture(floats(3)), "no texture or surface reference called 'nowhere'"),
        ("line", wl.cuda.surface(floats(3)), "texture reference 'line' is bound to a texture, got Surface"),
        ("line", floats(3), "got ndarray"),
        ("line", wl.cuda.texture(np.zeros(3, np.int32)), "has texels of float, got int32 with 1 channels"),
        ("image", wl.cuda.texture(np.zeros((2, 2), np.uint8)), "has texels of uchar4, got uint8 with 1 channels"),
        ("line", wl.cuda.texture(floats(3), read_mode="normalized"), "declared with read mode 'element'"),
    ]
    for name, value, said in refused:
        with pytest.raises(LaunchError, match=said):
            module.textures[name] = value


def test_access_outside_of_a_surface_is_an_error(module: wl.cuda.Module) -> None:
    cells = np.zeros((2, 3), np.int32)
    module.textures["board"] = wl.cuda.surface(cells)
    for form in (module["mark"], wl.emulate(module["mark"])):
        with pytest.raises(WindlassError, match="outside of a surface"):
            form[1, 8](wl.cuda.surface(cells), 5)


def test_a_fetch_at_threads_is_a_slice() -> None:
    module = wl.cuda.compile("""
__global__ void rows(cudaTextureObject_t image, float *out, int columns, int rows) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < columns && y < rows)
        out[y * columns + x] = tex2D<float>(image, x + 0.5f, y - 0.5f) + tex2D<float>(image, x, y);
}""")
    image, out = np.random.default_rng(0).random((9, 13), np.float32), np.zeros((9, 13), np.float32)
    module["rows"][(2, 2), (8, 8)](wl.cuda.texture(image), out, 13, 9)
    np.testing.assert_array_equal(out, image[np.maximum(np.arange(9) - 1, 0)] + image)
    report = module["rows"].explain()
    assert report.is_raised and "gather" not in report.ops, str(report)


def test_textures_that_are_chosen_as_the_kernel_runs_have_their_own_extents_in_each_launch() -> None:
    kernel = wl.cuda.compile(
        "__global__ void differ(cudaTextureObject_t a, cudaTextureObject_t b, bool swapped, int *out, int n) {\n"
        "    int i = threadIdx.x;\n"
        "    if (i >= n) return;\n"
        "    int p = tex1Dfetch<int>(swapped ? b : a, i), q = tex1Dfetch<int>(swapped ? a : b, n - 1 - i);\n"
        "    out[i] = p - 10 * q;\n"
        "}"
    )["differ"]
    for n in (1, 4):
        a, b, out = np.arange(1, n + 2, dtype=np.int32), np.arange(101, n + 104, dtype=np.int32), np.zeros(n, np.int32)
        kernel[1, 8](wl.cuda.texture(a), wl.cuda.texture(b), True, out, n)
        np.testing.assert_array_equal(out, b[:n] - 10 * a[:n][::-1])
