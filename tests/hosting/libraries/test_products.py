"""cuBLAS's products of matrices against SciPy's BLAS and NumPy."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from scipy.linalg import blas, solve_triangular

from tests.hosting.libraries.device import Array, Device

KINDS: dict[str, Any] = {"S": np.float32, "D": np.float64, "C": np.complex64, "Z": np.complex128}
# Single real and double complex stand for the rest.
LETTERS: Any = ["S", "Z", *(pytest.param(each, marks=pytest.mark.slow) for each in "DC")]
TOLERANCE = {"S": 2e-5, "D": 1e-12, "C": 2e-5, "Z": 1e-12, "H": 2e-3}
N, T, C = 0, 1, 2
LOWER, UPPER = 0, 1


def random(seed: int, kind: Any, *shape: int) -> Array:
    generator = np.random.default_rng(seed)
    values: Array = generator.standard_normal(shape)
    if np.dtype(kind).kind == "c":
        values = values + 1j * generator.standard_normal(shape)
    return values.astype(kind)


def padded(matrix: Array, leading: int, filler: float = np.nan) -> Array:
    """The matrix with rows of NaN below it, which routines must neither read nor write."""
    whole = np.full((leading, matrix.shape[1]), filler, matrix.dtype)
    whole[: len(matrix)] = matrix
    return whole


def check(found: Array, leading: int, expected: Array, tolerance: float, filler: float = np.nan) -> None:
    """The memory holds what is expected, and its padding is as it was."""
    whole = found.reshape(leading, -1, order="F")
    np.testing.assert_array_equal(whole, padded(whole[: len(expected)], leading, filler))
    np.testing.assert_allclose(whole[: len(expected)], expected, rtol=tolerance, atol=tolerance * 10)


def op(operation: int, x: Array) -> Array:
    return {N: x, T: x.T, C: x.conj().T}[operation]


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("transa", [N, T, C])
@pytest.mark.parametrize("transb", [N, T, C])
def test_gemm_multiplies_with_padding_between_columns(device: Device, letter: str, transa: int, transb: int) -> None:
    kind = KINDS[letter]
    m, n, k = 5, 4, 3
    a = random(1, kind, *((m, k) if transa == N else (k, m)))
    b = random(2, kind, *((k, n) if transb == N else (n, k)))
    c = random(3, kind, m, n)
    alpha, beta = (kind(2.5), kind(-0.5)) if letter in "SD" else (kind(2 - 1j), kind(0.5 + 3j))
    handle = device.create("cublasCreate_v2")
    pa, pb = device.put(padded(a, 7))[0], device.put(padded(b, 6))[0]
    pc, found = device.put(padded(c, 8))
    status = device.call(
        f"cublas{letter}gemm_v2", handle, transa, transb, m, n, k, device.number(alpha, kind), pa, 7, pb, 6,
        device.number(beta, kind), pc, 8,
    )  # fmt: skip
    assert status == 0
    check(found, 8, alpha * op(transa, a) @ op(transb, b) + beta * c, TOLERANCE[letter])
    assert [call.name for call in device.calls] == [f"cublas{letter}gemm"]


def test_gemm_does_not_read_what_factors_of_zero_leave_out(device: Device) -> None:
    handle = device.create("cublasCreate_v2")
    nan = np.full((3, 3), np.nan, np.float32)
    one, zero = device.number(1, np.float32), device.number(0, np.float32)
    a, pn = device.put(np.eye(3, dtype=np.float32))[0], device.put(nan)[0]
    c, found = device.put(nan)
    assert device.call("cublasSgemm_v2", handle, N, N, 3, 3, 3, one, a, 3, a, 3, zero, c, 3) == 0
    np.testing.assert_array_equal(found.reshape(3, 3), np.eye(3))
    assert device.call("cublasSgemm_v2", handle, N, N, 3, 3, 3, zero, pn, 3, pn, 3, one, c, 3) == 0
    np.testing.assert_array_equal(found.reshape(3, 3), np.eye(3))
    assert device.call("cublasSgemm_v2", handle, N, N, 3, 3, 0, one, a, 3, a, 3, zero, c, 3) == 0
    assert not found.any()


def test_factors_on_the_device_are_read_there(device: Device) -> None:
    handle = device.create("cublasCreate_v2")
    assert device.call("cublasSetPointerMode_v2", handle, 1) == 0
    a, c = device.put(np.array([[3.0]]))[0], device.put(np.array([[1.0]]))
    two = device.put(np.array([2.0]))[0]
    assert device.call("cublasDgemm_v2", handle, N, N, 1, 1, 1, two, a, 1, a, 1, two, c[0], 1) == 0
    assert c[1][0] == 20.0


def test_wrong_arguments_give_a_status_and_a_message(device: Device, capfd: pytest.CaptureFixture[str]) -> None:
    handle = device.create("cublasCreate_v2")
    a, memory = device.put(np.ones((2, 2), np.float32))
    one = device.number(1, np.float32)

    def gemm(handle: int, m: int, ld: int, transa: int = N) -> tuple[int, str]:
        status = device.call("cublasSgemm_v2", handle, transa, N, m, 2, 2, one, a, ld, a, 2, one, a, ld)
        return status, capfd.readouterr().err

    assert gemm(99, 2, 2) == (1, "error[WL0420]: cublasSgemm: 0x63 is no handle that was created\n")
    status, message = gemm(handle, 2, 1)
    assert status == 7 and "columns of 'C' have 2 rows, but are 1 apart" in message
    status, message = gemm(handle, 3, 3)
    assert status == 13 and "'C' needs 24 bytes, and its allocation of 16 bytes has 16 there" in message
    status, message = gemm(handle, -1, 3)
    assert status == 7 and "'m' is -1" in message
    status, message = gemm(handle, 2, 2, 7)
    assert status == 7 and "7 is none of the values of Operation" in message
    np.testing.assert_array_equal(memory, np.ones(4))


@pytest.mark.parametrize("letter", "SZH")
def test_batches_multiply_each_by_each(device: Device, letter: str) -> None:
    kind = {**KINDS, "H": np.float16}[letter]
    a, b = random(1, kind, 3, 2, 3), random(2, kind, 3, 4, 3)
    handle = device.create("cublasCreate_v2")
    one, zero = device.number(1, kind), device.number(0, kind)
    wide = [each.astype(np.float32 if letter == "H" else kind) for each in (a, b)]
    expected = np.stack([x @ y.T for x, y in zip(*wide, strict=True)])
    each_a, each_b = [device.put(x)[0] for x in a], [device.put(x)[0] for x in b]
    each_c = [device.put(padded(np.full((2, 4), np.nan, kind), 3)) for _ in range(3)]
    pointers = [device.pointers(*group) for group in (each_a, each_b, [c for c, _ in each_c])]
    arguments = (handle, N, T, 2, 4, 3, one, pointers[0], 2, pointers[1], 4, zero, pointers[2], 3, 3)
    assert device.call(f"cublas{letter}gemmBatched", *arguments) == 0
    for place, (_, found) in enumerate(each_c):
        check(found, 3, expected[place], TOLERANCE[letter])
    all_a, all_b = (device.put(np.concatenate([x.ravel(order="F") for x in each]))[0] for each in (a, b))
    c, found = device.put(np.full(3 * 10, np.nan, kind))
    arguments = (handle, N, T, 2, 4, 3, one, all_a, 2, 6, all_b, 4, 12, zero, c, 2, 10, 3)
    assert device.call(f"cublas{letter}gemmStridedBatched", *arguments) == 0
    for place in range(3):
        check(found[10 * place :][:8], 2, expected[place], TOLERANCE[letter])
        assert np.isnan(found[10 * place + 8 : 10 * place + 10]).all()


def test_matrices_of_one_allocation_are_read_and_written_through_their_addresses(device: Device) -> None:
    handle = device.create("cublasCreate_v2")
    one, zero = device.number(1, np.float64), device.number(0, np.float64)
    whole = random(1, np.float64, 4, 60)
    memory, found = device.put(whole)
    before = found.copy()
    # Not in order, not evenly apart, and A and B share memory.
    places = {"A": (40, 0, 112), "B": (0, 40, 80), "C": (200, 160, 180)}
    pointers = [device.pointers(*(memory + 8 * place for place in group)) for group in places.values()]
    arguments = (handle, N, T, 2, 3, 3, one, pointers[0], 4, pointers[1], 4, zero, pointers[2], 4, 3)
    assert device.call("cublasDgemmBatched", *arguments) == 0
    expected = before.copy()
    for a, b, c in zip(*places.values(), strict=True):
        first, second = (before[place:][:12].reshape(4, 3, order="F") for place in (a, b))
        product = first[:2] @ second[:3].T
        for column in range(3):
            expected[c + 4 * column :][:2] = product[:, column]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    outside = device.pointers(memory, memory, memory + 8 * 235)
    assert device.call("cublasDgemmBatched", *arguments[:12], outside, 4, 3) == 13
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_mixed_precision_computes_in_the_wider_type(device: Device) -> None:
    handle = device.create("cublasCreate_v2")
    one, zero = device.number(1, np.float32), device.number(0, np.float32)
    for number, kind, tolerance in (
        (14, ml_dtypes.bfloat16, 1e-6),
        (2, np.float16, 1e-6),
        (28, ml_dtypes.float8_e4m3fn, 1e-6),
    ):
        a, b = random(1, kind, 4, 50), random(2, kind, 50, 3)
        c, found = device.put(np.full((4, 3), np.nan, np.float32))
        pa, pb = device.put(a)[0], device.put(b)[0]
        arguments = (handle, N, N, 4, 3, 50, one, pa, number, 4, pb, number, 50, zero, c, 0, 4, 68, -1)
        assert device.call("cublasGemmEx", *arguments) == 0
        check(found, 4, a.astype(np.float64) @ b.astype(np.float64), tolerance * 20)
    ia, ib = (np.random.default_rng(7).integers(-128, 128, shape, np.int8) for shape in ((4, 40), (40, 3)))
    c, found = device.put(np.zeros((4, 3), np.int32))
    whole, nothing = device.number(1, np.int32), device.number(0, np.int32)
    arguments = (
        handle,
        N,
        N,
        4,
        3,
        40,
        whole,
        device.put(ia)[0],
        3,
        4,
        device.put(ib)[0],
        3,
        40,
        nothing,
        c,
        10,
        4,
        72,
        0,
    )
    assert device.call("cublasGemmEx", *arguments) == 0
    np.testing.assert_array_equal(found.reshape(4, 3, order="F"), ia.astype(np.int64) @ ib.astype(np.int64))
    assert device.call("cublasGemmEx", *arguments[:7], arguments[7], 99, *arguments[9:]) == 15


@pytest.mark.one_in(2)
@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("uplo", [LOWER, UPPER])
@pytest.mark.parametrize("side", [0, 1])
def test_symmetric_and_triangular_products_and_solutions(device: Device, letter: str, uplo: int, side: int) -> None:
    kind = KINDS[letter]
    m, n, tolerance = 4, 3, TOLERANCE[letter]
    handle = device.create("cublasCreate_v2")
    order = m if side == 0 else n
    square = random(1, kind, order, order) + 3 * np.eye(order, dtype=kind)
    b, c = random(2, kind, m, n), random(3, kind, m, n)
    factor, other = (kind(1.5), kind(-2)) if letter in "SD" else (kind(1 + 2j), kind(3 - 1j))
    alpha, beta = device.number(factor, kind), device.number(other, kind)
    # The other triangle holds NaN, and must not be read.
    half = np.where((np.tri(order) if uplo == LOWER else np.tri(order).T) != 0, square, np.nan).astype(kind)
    triangle = np.tril(square) if uplo == LOWER else np.triu(square)
    pa, pb = device.put(padded(half, 6))[0], device.put(padded(b, 5))[0]
    for name in ("symm", *(["hemm"] if letter in "CZ" else [])):
        pc, found = device.put(padded(c, 7))
        arguments = (handle, side, uplo, m, n, alpha, pa, 6, pb, 5, beta, pc, 7)
        assert device.call(f"cublas{letter}{name}_v2", *arguments) == 0
        reference = getattr(blas, letter.lower() + name)
        check(found, 7, reference(factor, square, b, other, c, side=side, lower=1 - uplo), tolerance)
    for trans in (N, T, C):
        for diag in (0, 1):
            whole = triangle.copy()
            if diag:
                np.fill_diagonal(whole, 1)
            matrix = op(trans, whole)
            pc, found = device.put(padded(c, 7))
            arguments = (handle, side, uplo, trans, diag, m, n, alpha, pa, 6, pb, 5, pc, 7)
            assert device.call(f"cublas{letter}trmm_v2", *arguments) == 0
            check(found, 7, factor * (matrix @ b if side == 0 else b @ matrix), tolerance)
            pc, found = device.put(padded(b, 7))
            arguments = (handle, side, uplo, trans, diag, m, n, alpha, pa, 6, pc, 7)
            assert device.call(f"cublas{letter}trsm_v2", *arguments) == 0
            is_lower = (uplo == LOWER) == (trans == N)
            if side == 0:
                expected = solve_triangular(matrix, factor * b, lower=is_lower)
            else:
                expected = solve_triangular(matrix.T, (factor * b).T, lower=not is_lower).T
            check(found, 7, expected, tolerance * 10)
            several = [device.put(padded(b, 7)) for _ in range(2)]
            targets = device.pointers(*(pointer for pointer, _ in several))
            arguments = (handle, side, uplo, trans, diag, m, n, alpha, device.pointers(pa, pa), 6, targets, 7, 2)
            assert device.call(f"cublas{letter}trsmBatched", *arguments) == 0
            for _, found in several:
                check(found, 7, expected, tolerance * 10)


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("uplo", [LOWER, UPPER])
@pytest.mark.parametrize("is_turned", [False, True])
def test_products_with_themselves_write_one_triangle(device: Device, letter: str, uplo: int, is_turned: bool) -> None:
    kind = KINDS[letter]
    n, k = 4, 3
    handle = device.create("cublasCreate_v2")
    a, b = (random(seed, kind, *((k, n) if is_turned else (n, k))) for seed in (1, 2))
    c = random(3, kind, n, n)
    outside = np.triu(np.ones((n, n)), 1) if uplo == LOWER else np.tril(np.ones((n, n)), -1)
    pa, pb = device.put(padded(a, 5))[0], device.put(padded(b, 5))[0]
    real = np.dtype(kind).type(0).real.dtype
    for name in ("syrk", "syr2k", *(["herk", "her2k"] if letter in "CZ" else [])):
        is_hermitian = "her" in name
        trans = (C if is_hermitian else T) if is_turned else N
        x, y = (op(trans, each) for each in (a, b))
        second = (lambda z: z.conj().T) if is_hermitian else (lambda z: z.T)
        factor: Any = 1.5 if name == "herk" or letter in "SD" else 1 + 2j
        other: Any = -2 if is_hermitian or letter in "SD" else 3 - 1j
        alpha = device.number(factor, real if name == "herk" else kind)
        beta = device.number(other, real if is_hermitian else kind)
        pc, found = device.put(padded(c, 6))
        middle = (pa, 5, pb, 5) if name.endswith("2k") else (pa, 5)
        assert device.call(f"cublas{letter}{name}_v2", handle, uplo, trans, n, k, alpha, *middle, beta, pc, 6) == 0
        if name.endswith("2k"):
            product = factor * x @ second(y) + (np.conj(factor) if is_hermitian else factor) * y @ second(x)
        else:
            product = factor * x @ second(x)
        expected = product + other * c
        if is_hermitian:
            # The diagonal's imaginary parts are taken to be zero, and set to it.
            np.fill_diagonal(expected, np.real(np.diagonal(expected)))
        expected = np.where(outside, c, expected)
        check(found, 6, expected, TOLERANCE[letter] * 5)


@pytest.mark.parametrize("letter", LETTERS)
def test_geam_adds_and_dgmm_scales(device: Device, letter: str) -> None:
    kind = KINDS[letter]
    handle = device.create("cublasCreate_v2")
    a, b, x = random(1, kind, 3, 4), random(2, kind, 4, 3), random(4, kind, 12)
    two, three, zero = (device.number(each, kind) for each in (2, 3, 0))
    c, found = device.put(padded(np.full((3, 4), np.nan, kind), 5))
    pa, pb, px = device.put(a)[0], device.put(b)[0], device.put(x)[0]
    assert device.call(f"cublas{letter}geam", handle, N, C, 3, 4, two, pa, 3, three, pb, 4, c, 5) == 0
    check(found, 5, 2 * a + 3 * b.conj().T, TOLERANCE[letter])
    assert device.call(f"cublas{letter}geam", handle, N, T, 3, 4, zero, pb, 3, two, pb, 4, c, 5) == 0
    check(found, 5, 2 * b.T, TOLERANCE[letter])
    assert device.call(f"cublas{letter}dgmm", handle, 0, 3, 4, pa, 3, px, 2, c, 5) == 0
    check(found, 5, np.diag(x[:6:2]) @ a, TOLERANCE[letter])
    assert device.call(f"cublas{letter}dgmm", handle, 1, 3, 4, pa, 3, px, -3, c, 5) == 0
    check(found, 5, a @ np.diag(x[9::-3]), TOLERANCE[letter])


def test_calls_into_a_captured_stream_are_done_when_it_is_launched(device: Device) -> None:
    handle = device.create("cublasCreate_v2")
    assert device.call("cublasSetStream_v2", handle, 0x1234) == 0
    x, found = device.put(np.ones(3, np.float32))
    factor, place = np.full(1, 2.0, np.float32), device.number(2, np.float32)
    del factor
    device.delayed = []
    assert device.call("cublasSscal_v2", handle, 3, place, x, 1) == 0
    device.host[-1][:] = 0  # the factor was read when the call was made
    np.testing.assert_array_equal(found, 1)
    for _ in range(2):
        device.session.call_again(device.delayed[0])
    np.testing.assert_array_equal(found, 4)


def test_defect_of_a_routine_is_a_failure_to_the_program(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    handle = device.create("cublasCreate_v2")

    def fail(*arguments: Any) -> None:
        raise RuntimeError("a defect")

    monkeypatch.setattr("windlass.hosting.libraries.cublas.level3.put_product", fail)
    one, a = device.number(1, np.float32), device.put([1.0], np.float32)[0]
    words = [handle, 0, 0, 1, 1, 1, one.address, a.address, 1, a.address, 1, one.address, a.address, 1]
    result = np.zeros(16, np.uint8)
    with pytest.raises(RuntimeError, match="a defect"):
        device.session.call("cublasSgemm_v2", "iiiiiippipippi", words, result.ctypes.data)
    assert result[0] == 14
