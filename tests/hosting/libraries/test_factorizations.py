"""cuSOLVER's and cuBLAS's factorizations against NumPy, by what they multiply to and what they solve."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from tests.hosting.libraries.device import Array, Device, Pointer
from tests.hosting.libraries.test_products import KINDS, LETTERS, LOWER, UPPER, C, N, T, check, op, padded, random

NULL = Pointer(0)
TOLERANCE = {"S": 2e-4, "D": 1e-11, "C": 2e-4, "Z": 1e-11}


def real(kind: Any) -> Any:
    return np.real(np.zeros(1, kind)).dtype


def info(device: Device) -> tuple[Pointer, Array]:
    return device.put([77], np.int32)


def split(factors: Array) -> tuple[Array, Array]:
    count = min(factors.shape)
    lower = np.tril(factors[:, :count], -1) + np.eye(len(factors), count)
    return lower, np.triu(factors[:count])


def permuted(matrix: Array, pivots: Array) -> Array:
    found = matrix.copy()
    for row, pivot in enumerate(pivots):
        found[[row, pivot - 1]] = found[[pivot - 1, row]]
    return found


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("uplo", [LOWER, UPPER])
def test_cholesky(device: Device, letter: str, uplo: int) -> None:
    kind, tolerance = KINDS[letter], TOLERANCE[letter]
    handle = device.create("cusolverDnCreate")
    x = random(1, kind, 4, 4)
    matrix = (x @ x.conj().T + 4 * np.eye(4)).astype(kind)
    outside = np.triu(np.ones((4, 4)), 1) if uplo == LOWER else np.tril(np.ones((4, 4)), -1)
    a, found = device.put(padded(matrix, 6))
    place, size = device.place(np.int32)
    mark, said = info(device)
    assert device.call(f"cusolverDn{letter}potrf_bufferSize", handle, uplo, 4, a, 6, place) == 0 and size[0] > 0
    assert device.call(f"cusolverDn{letter}potrf", handle, uplo, 4, a, 6, NULL, 0, mark) == 0 and said[0] == 0
    factor = np.linalg.cholesky(matrix)
    check(found, 6, np.where(outside, matrix, factor if uplo == LOWER else factor.conj().T), tolerance)
    b = random(2, kind, 4, 2)
    right, solution = device.put(padded(b, 5))
    assert device.call(f"cusolverDn{letter}potrs", handle, uplo, 4, 2, a, 6, right, 5, mark) == 0
    check(solution, 5, np.linalg.solve(matrix, b), tolerance)
    assert device.call(f"cusolverDn{letter}potri", handle, uplo, 4, a, 6, NULL, 0, mark) == 0
    check(found, 6, np.where(outside, matrix, np.linalg.inv(matrix)), tolerance)
    # The leading minor of order 3 is not positive.
    matrix[2, 2] = -1
    several = [device.put(padded(each, 6))[0] for each in (matrix, np.eye(4, dtype=kind))]
    marks, said = device.put([7, 7], np.int32)
    assert device.call(f"cusolverDn{letter}potrfBatched", handle, uplo, 4, device.pointers(*several), 6, marks, 2) == 0
    np.testing.assert_array_equal(said, [3, 0])


@pytest.mark.parametrize("letter", LETTERS)
def test_lu_of_one_matrix(device: Device, letter: str) -> None:
    kind, tolerance = KINDS[letter], TOLERANCE[letter]
    handle = device.create("cusolverDnCreate")
    for shape in ((4, 4), (5, 3), (3, 5)):
        matrix = random(1, kind, *shape)
        a, found = device.put(padded(matrix, 6))
        pivots, places = device.put(np.zeros(min(shape)), np.int32)
        mark, said = info(device)
        assert device.call(f"cusolverDn{letter}getrf", handle, *shape, a, 6, NULL, pivots, mark) == 0 and said[0] == 0
        lower, upper = split(found.reshape(6, -1, order="F")[: shape[0]])
        np.testing.assert_allclose(lower @ upper, permuted(matrix, places), rtol=tolerance, atol=tolerance)
        assert (np.abs(lower) <= 1.5).all()
        if shape == (4, 4):
            for trans in (N, T, C):
                b = random(2, kind, 4, 3)
                right, solution = device.put(padded(b, 5))
                arguments = (handle, trans, 4, 3, a, 6, pivots, right, 5, mark)
                assert device.call(f"cusolverDn{letter}getrs", *arguments) == 0
                check(solution, 5, np.linalg.solve(op(trans, matrix), b), tolerance * 10)
    singular = np.ones((3, 3), kind)
    a, _ = device.put(singular)
    assert device.call(f"cusolverDn{letter}getrf", handle, 3, 3, a, 3, NULL, pivots, mark) == 0 and said[0] == 2
    matrix = random(1, kind, 4, 4) + 5 * np.eye(4, dtype=kind)
    a, found = device.put(padded(matrix, 6))
    assert device.call(f"cusolverDn{letter}getrf", handle, 4, 4, a, 6, NULL, NULL, mark) == 0
    lower, upper = split(found.reshape(6, 4, order="F")[:4])
    np.testing.assert_allclose(lower @ upper, matrix, rtol=tolerance, atol=tolerance)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("has_pivots", [True, False])
def test_lu_of_batches(device: Device, letter: str, has_pivots: bool) -> None:
    kind, tolerance, n = KINDS[letter], TOLERANCE[letter] * 10, 4
    handle = device.create("cublasCreate_v2")
    matrices = [random(seed, kind, n, n) + (0 if has_pivots else 5) * np.eye(n, dtype=kind) for seed in (1, 2)]
    memory = [device.put(padded(each, 6)) for each in [*matrices, np.ones((n, n), kind)]]
    a = device.pointers(*(pointer for pointer, _ in memory))
    pivots, places = device.put(np.zeros(3 * n), np.int32)
    chosen = pivots if has_pivots else NULL
    infos, said = device.put([7, 7, 7], np.int32)
    assert device.call(f"cublas{letter}getrfBatched", handle, n, a, 6, chosen, infos, 3) == 0
    np.testing.assert_array_equal(said, [0, 0, 2])
    for place, matrix in enumerate(matrices):
        lower, upper = split(memory[place][1].reshape(6, n, order="F")[:n])
        expected = permuted(matrix, places[n * place :][:n]) if has_pivots else matrix
        np.testing.assert_allclose(lower @ upper, expected, rtol=tolerance, atol=tolerance)
        assert np.isnan(memory[place][1].reshape(6, n, order="F")[n:]).all()
    inverses = [device.put(padded(np.zeros((n, n), kind), 5)) for _ in range(3)]
    c = device.pointers(*(pointer for pointer, _ in inverses))
    assert device.call(f"cublas{letter}getriBatched", handle, n, a, 6, chosen, c, 5, infos, 3) == 0
    np.testing.assert_array_equal(said, [0, 0, 2])
    for (_, found), matrix in zip(inverses, matrices, strict=False):
        check(found, 5, np.linalg.inv(matrix), tolerance)
    for trans in (N, T, C):
        b = random(3, kind, n, 2)
        rights = [device.put(padded(b, 7)) for _ in range(2)]
        pointers = device.pointers(*(pointer for pointer, _ in rights))
        status, zero = device.place(np.int32)
        arguments = (handle, trans, n, 2, a, 6, chosen, pointers, 7, status, 2)
        assert device.call(f"cublas{letter}getrsBatched", *arguments) == 0 and zero[0] == 0
        for (_, found), matrix in zip(rights, matrices, strict=True):
            check(found, 7, np.linalg.solve(op(trans, matrix), b), tolerance)
    originals = device.pointers(*(device.put(padded(each, 6))[0] for each in matrices))
    assert device.call(f"cublas{letter}matinvBatched", handle, n, originals, 6, c, 5, infos, 2) == 0
    for (_, found), matrix in zip(inverses, matrices, strict=False):
        check(found, 5, np.linalg.inv(matrix), tolerance)


@pytest.mark.parametrize("letter", LETTERS)
def test_qr_and_least_squares(device: Device, letter: str) -> None:
    kind, tolerance, m, n = KINDS[letter], TOLERANCE[letter], 5, 3
    handle = device.create("cusolverDnCreate")
    prefix = "un" if letter in "CZ" else "or"
    matrix = random(1, kind, m, n)
    a, found = device.put(padded(matrix, 6))
    tau, _ = device.put(np.zeros(n), kind)
    mark, said = info(device)
    assert device.call(f"cusolverDn{letter}geqrf", handle, m, n, a, 6, tau, NULL, 0, mark) == 0 and said[0] == 0
    upper = np.triu(found.reshape(6, n, order="F")[:n])
    for side, trans in ((0, N), (0, C if letter in "CZ" else T), (1, N)):
        c = random(2, kind, m, m)
        target, product = device.put(padded(c, 7))
        arguments = (handle, side, trans, m, m, n, a, 6, tau, target, 7, NULL, 0, mark)
        assert device.call(f"cusolverDn{letter}{prefix}mqr", *arguments) == 0
        whole, memory = device.put(padded(np.eye(m, dtype=kind), 7))
        assert device.call(f"cusolverDn{letter}{prefix}mqr", *arguments[:9], whole, 7, NULL, 0, mark) == 0
        q = memory.reshape(7, m, order="F")[:m]
        check(product, 7, q @ c if side == 0 else c @ q, tolerance)
        np.testing.assert_allclose(q @ q.conj().T, np.eye(m), atol=tolerance)
    assert device.call(f"cusolverDn{letter}{prefix}gqr", handle, m, n, n, a, 6, tau, NULL, 0, mark) == 0
    np.testing.assert_allclose(found.reshape(6, n, order="F")[:m] @ upper, matrix, rtol=tolerance, atol=tolerance)
    # Least squares of batches.
    blas = device.create("cublasCreate_v2")
    b = random(3, kind, m, 2)
    left, (right, solution) = device.put(padded(matrix, 6))[0], device.put(padded(b, 8))
    status, zero = device.place(np.int32)
    pointers = device.pointers(left), device.pointers(right)
    arguments = (blas, N, m, n, 2, pointers[0], 6, pointers[1], 8, status, mark, 1)
    assert device.call(f"cublas{letter}gelsBatched", *arguments) == 0 and zero[0] == said[0] == 0
    expected = np.linalg.lstsq(matrix, b, rcond=None)[0]
    np.testing.assert_allclose(solution.reshape(8, 2, order="F")[:n], expected, rtol=tolerance * 10, atol=tolerance)


@pytest.mark.parametrize("letter", LETTERS)
def test_singular_values(device: Device, letter: str) -> None:
    kind, tolerance, m, n = KINDS[letter], TOLERANCE[letter], 5, 3
    handle = device.create("cusolverDnCreate")
    matrix = random(1, kind, m, n)
    values = np.linalg.svd(matrix, compute_uv=False)
    mark, said = info(device)
    for jobu, columns in (("A", m), ("S", n)):
        a, _ = device.put(padded(matrix, 6))
        s, found = device.put(np.zeros(n), real(kind))
        u, left = device.put(padded(np.zeros((m, columns), kind), 7))
        vt, right = device.put(padded(np.zeros((n, n), kind), 4))
        arguments = (handle, ord(jobu), ord("A"), m, n, a, 6, s, u, 7, vt, 4, NULL, 0, NULL, mark)
        assert device.call(f"cusolverDn{letter}gesvd", *arguments) == 0 and said[0] == 0
        np.testing.assert_allclose(found, values, rtol=tolerance)
        parts = left.reshape(7, -1, order="F")[:m], right.reshape(4, -1, order="F")[:n]
        np.testing.assert_allclose(parts[0][:, :n] * found @ parts[1], matrix, rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(parts[0].conj().T @ parts[0], np.eye(columns), atol=tolerance)
    parameters = device.create("cusolverDnCreateGesvdjInfo")
    v, right = device.put(padded(np.zeros((n, n), kind), 4))
    arguments = (handle, 1, 1, m, n, device.put(padded(matrix, 6))[0], 6, s, u, 7, v, 4, NULL, 0, mark, parameters)
    assert device.call(f"cusolverDn{letter}gesvdj", *arguments) == 0
    parts = left.reshape(7, -1, order="F")[:m, :n], right.reshape(4, -1, order="F")[:n]
    np.testing.assert_allclose(parts[0] * found @ parts[1].conj().T, matrix, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("uplo", [LOWER, UPPER])
def test_eigenvalues(device: Device, letter: str, uplo: int) -> None:
    kind, tolerance, n = KINDS[letter], TOLERANCE[letter], 4
    handle = device.create("cusolverDnCreate")
    x = random(1, kind, n, n)
    matrix = x + x.conj().T
    half = np.where((np.tri(n) if uplo == LOWER else np.tri(n).T) != 0, matrix, 99).astype(kind)
    name = "heev" if letter in "CZ" else "syev"
    mark, said = info(device)
    parameters = device.create("cusolverDnCreateSyevjInfo")
    for suffix, rest in (("d", ()), ("j", (parameters,))):
        for mode in (0, 1):
            a, memory = device.put(padded(half, 5))
            w, found = device.put(np.zeros(n), real(kind))
            arguments = (handle, mode, uplo, n, a, 5, w, NULL, 0, mark, *rest)
            assert device.call(f"cusolverDn{letter}{name}{suffix}", *arguments) == 0 and said[0] == 0
            np.testing.assert_allclose(found, np.linalg.eigvalsh(matrix), rtol=tolerance, atol=tolerance)
        vectors = memory.reshape(5, n, order="F")[:n]
        np.testing.assert_allclose(matrix @ vectors, vectors * found, atol=tolerance * 10)
        np.testing.assert_allclose(vectors.conj().T @ vectors, np.eye(n), atol=tolerance)


@pytest.mark.parametrize("letter", LETTERS)
def test_sparse_systems(device: Device, letter: str) -> None:
    kind, tolerance = KINDS[letter], TOLERANCE[letter]
    handle, description = device.create("cusolverSpCreate"), device.create("cusparseCreateMatDescr")
    matrix = random(1, kind, 5, 5) * (np.random.default_rng(3).random((5, 5)) < 0.4) + 4 * np.eye(5, dtype=kind)
    whole: Any = sparse.csr_array(matrix.astype(kind))
    b = random(2, kind, 5)
    pointers = [device.put(each)[0] for each in (whole.data, whole.indptr, whole.indices, b)]
    x, found = device.put(np.zeros(5), kind)
    place, singular = device.place(np.int32)
    limit = np.float32(1e-6) if letter in "SC" else 1e-12
    arguments = (handle, 5, whole.nnz, description, *pointers, limit, 0, x, place)
    assert device.call(f"cusolverSp{letter}csrlsvqr", *arguments) == 0 and singular[0] == -1
    np.testing.assert_allclose(found, np.linalg.solve(matrix, b), rtol=tolerance, atol=tolerance)
