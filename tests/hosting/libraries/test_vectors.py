"""cuBLAS's routines on vectors, and on a matrix and vectors, against SciPy's BLAS and NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.linalg import blas as scipy_blas
from scipy.linalg import solve_triangular

from tests.hosting.libraries.device import Array, Device
from tests.hosting.libraries.test_products import (
    KINDS,
    LETTERS,
    LOWER,
    TOLERANCE,
    UPPER,
    C,
    N,
    T,
    check,
    op,
    padded,
    random,
)

blas: Any = scipy_blas


def real(kind: Any) -> Any:
    return np.dtype(kind).type(0).real.dtype


def factors(letter: str) -> tuple[Any, Any]:
    return (1.5, -2.0) if letter in "SD" else (1.5 + 2j, 3 - 1j)


def spread(values: Array, step: int) -> Array:
    """The values in memory with a step between them, as BLAS has it, and NaN between."""
    whole = np.full(1 + (len(values) - 1) * abs(step), np.nan, values.dtype)
    whole[:: abs(step)] = values if step > 0 else values[::-1]
    return whole


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("step", [1, 3, -2])
def test_sums_of_vectors(device: Device, letter: str, step: int) -> None:
    kind, n, tolerance = KINDS[letter], 6, TOLERANCE[letter]
    handle = device.create("cublasCreate_v2")
    x, y = random(1, kind, n), random(2, kind, n)
    pointers = device.put(spread(x, step))[0], device.put(spread(y, 2))[0]
    place, found = device.place(kind)
    for name in {"S": ["dot"], "D": ["dot"]}.get(letter, ["dotu", "dotc"]):
        assert device.call(f"cublas{letter}{name}_v2", handle, n, pointers[0], step, pointers[1], 2, place) == 0
        np.testing.assert_allclose(found[0], (x.conj() if name == "dotc" else x) @ y, rtol=tolerance)
    prefix = {"C": "Sc", "Z": "Dz"}.get(letter, letter)
    place, found = device.place(real(kind))
    for name, expected in (("nrm2", np.linalg.norm(x)), ("asum", (abs(np.real(x)) + abs(np.imag(x))).sum())):
        assert device.call(f"cublas{prefix}{name}_v2", handle, n, pointers[0], step, place) == 0
        np.testing.assert_allclose(found[0], expected if step > 0 else 0, rtol=tolerance)
    sizes = abs(np.real(x)) + abs(np.imag(x))
    place, found = device.place(np.int32)
    for name, expected in (("amax", sizes.argmax()), ("amin", sizes.argmin())):
        assert device.call(f"cublasI{letter.lower()}{name}_v2", handle, n, pointers[0], step, place) == 0
        assert found[0] == (expected + 1 if step > 0 else 0)
    place, found = device.place(np.int64)
    assert device.call(f"cublasI{letter.lower()}amax_v2_64", handle, n, device.put(x)[0], 1, place) == 0
    assert found[0] == sizes.argmax() + 1


def test_norms_of_large_numbers_do_not_overflow_and_ties_go_to_the_first(device: Device) -> None:
    handle = device.create("cublasCreate_v2")
    place, found = device.place(np.float32)
    for values, expected in (([3e30, 4e30], 5e30), ([3e-30, 4e-30], 5e-30), ([0.0, 0], 0), ([np.inf, 1], np.inf)):
        assert device.call("cublasSnrm2_v2", handle, 2, device.put(values, np.float32)[0], 1, place) == 0
        np.testing.assert_allclose(found[0], expected, rtol=1e-6)
    place, found = device.place(np.int32)
    assert device.call("cublasIsamax_v2", handle, 4, device.put([1, -7, 7, 0], np.float32)[0], 1, place) == 0
    assert found[0] == 2
    assert device.call("cublasIsamax_v2", handle, 0, device.put([1.0], np.float32)[0], 1, place) == 0
    assert found[0] == 0


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("step", [1, 3, -2])
def test_vectors_are_changed_in_place(device: Device, letter: str, step: int) -> None:
    kind, n, tolerance = KINDS[letter], 5, TOLERANCE[letter]
    handle = device.create("cublasCreate_v2")
    x, y = random(1, kind, n), random(2, kind, n)
    factor = factors(letter)[0]
    alpha = device.number(factor, kind)

    def fresh() -> tuple[Any, Array, Any, Array]:
        return *device.put(spread(x, step)), *device.put(spread(y, 2))

    px, _, py, found = fresh()
    assert device.call(f"cublas{letter}axpy_v2", handle, n, alpha, px, step, py, 2) == 0
    np.testing.assert_allclose(found, spread(factor * x + y, 2).astype(kind), rtol=tolerance, atol=tolerance)
    px, first, py, found = fresh()
    assert device.call(f"cublas{letter}copy_v2", handle, n, px, step, py, 2) == 0
    np.testing.assert_array_equal(found, spread(x, 2))
    px, first, py, found = fresh()
    assert device.call(f"cublas{letter}swap_v2", handle, n, px, step, py, 2) == 0
    np.testing.assert_array_equal(found, spread(x, 2))
    np.testing.assert_array_equal(first, spread(y, step))
    px, first, py, found = fresh()
    c, s = device.number(0.6, real(kind)), device.number(0.8 if letter in "SD" else 0.48 + 0.64j, kind)
    assert device.call(f"cublas{letter}rot_v2", handle, n, px, step, py, 2, c, s) == 0
    sine = 0.8 if letter in "SD" else 0.48 + 0.64j
    np.testing.assert_allclose(
        first, spread((0.6 * x + sine * y).astype(kind), step), rtol=tolerance * 10, atol=tolerance
    )
    np.testing.assert_allclose(
        found, spread((0.6 * y - np.conj(sine) * x).astype(kind), 2), rtol=tolerance * 10, atol=tolerance
    )
    px, first, py, found = fresh()
    assert device.call(f"cublas{letter}scal_v2", handle, n, alpha, px, abs(step)) == 0
    np.testing.assert_allclose(first, spread((factor * x).astype(kind), step), rtol=tolerance)
    if letter in "CZ":
        name = {"C": "Cs", "Z": "Zd"}[letter]
        px, first, py, found = fresh()
        assert device.call(f"cublas{name}scal_v2", handle, n, device.number(2.5, real(kind)), px, abs(step)) == 0
        np.testing.assert_allclose(first, spread((2.5 * x).astype(kind), step), rtol=tolerance)


@pytest.mark.parametrize("letter", LETTERS)
def test_rotations_are_made(device: Device, letter: str) -> None:
    kind, tolerance = KINDS[letter], TOLERANCE[letter] * 10
    handle = device.create("cublasCreate_v2")
    x, y = random(5, kind, 1)[0], random(6, kind, 1)[0]
    places = [device.put([value], dtype) for value, dtype in ((x, kind), (y, kind), (0, real(kind)), (0, kind))]
    assert device.call(f"cublas{letter}rotg_v2", handle, *(pointer for pointer, _ in places)) == 0
    r, _, c, s = (found[0] for _, found in places)
    np.testing.assert_allclose(c * x + s * y, r, rtol=tolerance)
    np.testing.assert_allclose(c * y - np.conj(s) * x, 0, atol=tolerance)
    np.testing.assert_allclose(c**2 + abs(s) ** 2, 1, rtol=tolerance)


@pytest.mark.parametrize("values", [(2, 3, 1.5, -2), (3, 0.5, 4, 1), (-1, 2, 3, 1), (1e-9, 2e-10, 1, 2), (2, 1, 3, 0)])
def test_modified_rotations_are_made_and_applied(device: Device, values: tuple[float, ...]) -> None:
    handle = device.create("cublasCreate_v2")
    places = [device.put([float(value)]) for value in values]
    parameters, kept = device.put(np.zeros(5))
    assert device.call("cublasDrotmg_v2", handle, *(pointer for pointer, _ in places), parameters) == 0
    d1, d2, x1, _ = values
    flag = kept[0]
    assert flag == blas.drotmg(*values)[0]
    x, y = device.put([float(values[2])]), device.put([float(values[3])])
    assert device.call("cublasDrotm_v2", handle, 1, x[0], 1, y[0], 1, parameters) == 0
    if flag == -2:
        assert (x[1][0], y[1][0]) == (values[2], values[3])
        return
    if values[0] < 0:
        assert flag == -1 and not kept[1:].any() and places[0][1][0] == places[2][1][0] == 0
        return
    np.testing.assert_allclose(x[1][0], places[2][1][0], rtol=1e-12)
    np.testing.assert_allclose(y[1][0], 0, atol=1e-12)
    # What is measured by the weights stays.
    before = d1 * x1**2 + d2 * values[3] ** 2
    np.testing.assert_allclose(places[0][1][0] * x[1][0] ** 2, before, rtol=1e-12)


def test_numbers_in_half_precision_are_summed_in_single(device: Device) -> None:
    handle = device.create("cublasCreate_v2")
    x, y = random(1, np.float16, 300), random(2, np.float16, 300)
    px, py = device.put(x)[0], device.put(y)[0]
    place, found = device.place(np.float32)
    assert device.call("cublasDotEx", handle, 300, px, 2, 1, py, 2, 1, place, 0, 0) == 0
    np.testing.assert_allclose(found[0], x.astype(float) @ y.astype(float), rtol=1e-4)
    assert device.call("cublasNrm2Ex", handle, 300, px, 2, 1, place, 0, 0) == 0
    np.testing.assert_allclose(found[0], np.linalg.norm(x.astype(float)), rtol=1e-5)
    px, changed = device.put(x)
    two = device.number(2, np.float32)
    assert device.call("cublasAxpyEx", handle, 300, two, 0, py, 2, 1, px, 2, 1, 0) == 0
    np.testing.assert_array_equal(changed, (2 * y.astype(np.float32) + x.astype(np.float32)).astype(np.float16))
    assert device.call("cublasScalEx", handle, 300, two, 0, py, 2, 1, 0) == 0


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("trans", [N, T, C])
def test_matrix_times_vector(device: Device, letter: str, trans: int) -> None:
    kind, m, n, tolerance = KINDS[letter], 5, 4, TOLERANCE[letter] * 5
    handle = device.create("cublasCreate_v2")
    a = random(1, kind, m, n)
    rows, columns = (m, n) if trans == N else (n, m)
    x, y = random(2, kind, columns), random(3, kind, rows)
    first, second = factors(letter)
    alpha, beta = device.number(first, kind), device.number(second, kind)
    px = device.put(spread(x, -2))[0]
    py, found = device.put(spread(y, 3))
    assert device.call(
        f"cublas{letter}gemv_v2", handle, trans, m, n, alpha, device.put(padded(a, 7))[0], 7, px, -2, beta, py, 3
    ) == 0  # fmt: skip
    np.testing.assert_allclose(
        found, spread((first * op(trans, a) @ x + second * y).astype(kind), 3), rtol=tolerance, atol=tolerance
    )
    banded = np.triu(np.tril(a, 1), -2)
    stored = np.full((5, n), np.nan, kind)
    for i in range(m):
        for j in range(n):
            if -2 <= j - i <= 1:
                stored[1 + i - j, j] = a[i, j]
    py, found = device.put(spread(y, 3))
    assert device.call(
        f"cublas{letter}gbmv_v2", handle, trans, m, n, 2, 1, alpha, device.put(stored)[0], 5, px, -2, beta, py, 3
    ) == 0  # fmt: skip
    np.testing.assert_allclose(
        found, spread((first * op(trans, banded) @ x + second * y).astype(kind), 3), rtol=tolerance, atol=tolerance
    )


def pack(a: Array, uplo: int) -> Array:
    n = len(a)
    return np.concatenate([a[j:, j] if uplo == LOWER else a[: j + 1, j] for j in range(n)])


def pack_band(a: Array, uplo: int, k: int) -> Array:
    n = len(a)
    stored = np.full((k + 1, n), np.nan, a.dtype)
    for j in range(n):
        for i in range(n):
            if uplo == LOWER and 0 <= i - j <= k:
                stored[i - j, j] = a[i, j]
            if uplo == UPPER and 0 <= j - i <= k:
                stored[k + i - j, j] = a[i, j]
    return stored


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("uplo", [LOWER, UPPER])
def test_symmetric_matrix_times_vector(device: Device, letter: str, uplo: int) -> None:
    kind, n, k, tolerance = KINDS[letter], 5, 2, TOLERANCE[letter] * 5
    handle = device.create("cublasCreate_v2")
    x, y = random(2, kind, n), random(3, kind, n)
    first, second = factors(letter)
    alpha, beta = device.number(first, kind), device.number(second, kind)
    names = [("symv", "sbmv", "spmv")] if letter in "SD" else [("symv", "", ""), ("hemv", "hbmv", "hpmv")]
    for full, banded, packed in names:
        a = random(1, kind, n, n)
        a = a + (a.conj().T if full == "hemv" else a.T)
        half = np.where((np.tri(n) if uplo == LOWER else np.tri(n).T) != 0, a, np.nan).astype(kind)
        band = np.tril(np.triu(a, -k), k)
        for name, matrix, stored in (
            (full, a, (device.put(padded(half, 6))[0], 6)),
            (packed, a, (device.put(pack(a, uplo))[0],)),
            (banded, band, (device.put(pack_band(a, uplo, k))[0], k + 1)),
        ):
            if not name:
                continue
            py, found = device.put(spread(y, 2))
            sizes = (n, k) if name == banded else (n,)
            arguments = (handle, uplo, *sizes, alpha, *stored, device.put(x)[0], 1, beta, py, 2)
            assert device.call(f"cublas{letter}{name}_v2", *arguments) == 0
            expected = spread((first * matrix @ x + second * y).astype(kind), 2)
            np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("uplo", [LOWER, UPPER])
@pytest.mark.parametrize("trans", [N, T, C])
def test_triangular_matrix_and_vector(device: Device, letter: str, uplo: int, trans: int) -> None:
    kind, n, k, tolerance = KINDS[letter], 5, 2, TOLERANCE[letter] * 20
    handle = device.create("cublasCreate_v2")
    x = random(2, kind, n)
    a = random(1, kind, n, n) + 4 * np.eye(n, dtype=kind)
    half = np.where((np.tri(n) if uplo == LOWER else np.tri(n).T) != 0, a, np.nan).astype(kind)
    for diag in (0, 1):
        triangle = np.tril(a) if uplo == LOWER else np.triu(a)
        if diag:
            np.fill_diagonal(triangle, 1)
        band = np.tril(np.triu(triangle, -k), k)
        for letters, matrix, sizes, stored in (
            ("tr", triangle, (n,), (device.put(padded(half, 6))[0], 6)),
            ("tp", triangle, (n,), (device.put(pack(a, uplo))[0],)),
            ("tb", band, (n, k), (device.put(pack_band(a, uplo, k))[0], k + 1)),
        ):
            px, found = device.put(spread(x, -2))
            assert device.call(f"cublas{letter}{letters}mv_v2", handle, uplo, trans, diag, *sizes, *stored, px, -2) == 0
            np.testing.assert_allclose(
                found, spread((op(trans, matrix) @ x).astype(kind), -2), rtol=tolerance, atol=tolerance
            )
            px, found = device.put(spread(x, 2))
            assert device.call(f"cublas{letter}{letters}sv_v2", handle, uplo, trans, diag, *sizes, *stored, px, 2) == 0
            expected = solve_triangular(op(trans, matrix), x, lower=(uplo == LOWER) == (trans == N))
            np.testing.assert_allclose(found, spread(expected.astype(kind), 2), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("uplo", [LOWER, UPPER])
def test_outer_products_are_added(device: Device, letter: str, uplo: int) -> None:
    kind, n, tolerance = KINDS[letter], 4, TOLERANCE[letter] * 5
    handle = device.create("cublasCreate_v2")
    x, y = random(1, kind, n), random(2, kind, n)
    first, _ = factors(letter)
    alpha = device.number(first, kind)
    px, py = device.put(spread(x, 2))[0], device.put(spread(y, -1))[0]
    wide = random(3, kind, 3, n)
    for name in ["ger"] if letter in "SD" else ["geru", "gerc"]:
        pa, found = device.put(padded(wide, 5))
        assert device.call(f"cublas{letter}{name}_v2", handle, 3, n, alpha, px, 2, py, -1, pa, 5) == 0
        check(found, 5, wide + first * np.outer(x[:3], y.conj() if name == "gerc" else y), tolerance)
    for name in ("syr", "syr2", *(("spr", "spr2") if letter in "SD" else ("her", "her2", "hpr", "hpr2"))):
        is_hermitian, is_twice, is_packed = name[0] == "h", name[-1] == "2", name[1] == "p"
        a = random(4, kind, n, n)
        if is_hermitian:
            a = a + a.conj().T
        factor: Any = 1.5 if is_hermitian and not is_twice else first
        number = device.number(factor, real(kind) if is_hermitian and not is_twice else kind)
        product = np.outer(x, (y if is_twice else x).conj() if is_hermitian else (y if is_twice else x))
        expected = a + factor * product
        if is_twice:
            expected = expected + (np.conj(factor) * product.conj().T if is_hermitian else factor * product.T)
        inside = (np.tri(n) if uplo == LOWER else np.tri(n).T) != 0
        vectors = (px, 2, py, -1) if is_twice else (px, 2)
        if is_packed:
            pa, found = device.put(pack(a, uplo))
            assert device.call(f"cublas{letter}{name}_v2", handle, uplo, n, number, *vectors, pa) == 0
            np.testing.assert_allclose(found, pack(expected, uplo), rtol=tolerance, atol=tolerance)
        else:
            pa, found = device.put(padded(a, 6))
            assert device.call(f"cublas{letter}{name}_v2", handle, uplo, n, number, *vectors, pa, 6) == 0
            check(found, 6, np.where(inside, expected, a), tolerance)
