"""Programs that call LAPACK run in a process that has lowered nothing, and only with arrays that fit."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.linalg as scipy
import numpy as np
import pytest

import windlass as wl

CALLS: dict[str, Any] = {
    "cholesky": jnp.linalg.cholesky,
    "qr": jnp.linalg.qr,
    "pivoted qr": lambda a: scipy.qr(a, pivoting=True),
    "svd": jnp.linalg.svd,
    "thin svd": lambda a: jnp.linalg.svd(a[:2], full_matrices=False),
    "eigh": jnp.linalg.eigh,
    "eig": jnp.linalg.eig,
    "complex eig": lambda a: jnp.linalg.eig(a.astype(jnp.complex64)),
    "schur": scipy.schur,
    "complex schur": lambda a: scipy.schur(a.astype(jnp.complex64)),
    "hessenberg": scipy.hessenberg,
    "solve": lambda a: jnp.linalg.solve(a, a),
    "batched solve from the right": lambda a: jax.lax.linalg.triangular_solve(
        jnp.stack([a, a]), jnp.ones((2, 4, 3)), left_side=False
    ),
    "tridiagonal": jax.lax.linalg.tridiagonal,
    "complex tridiagonal": lambda a: jax.lax.linalg.tridiagonal(a.astype(jnp.complex64)),
    "tridiagonal solve": lambda a: jax.lax.linalg.tridiagonal_solve(a[0], a[1] + 1, a[2], a),
    "householder": lambda a: jax.lax.linalg.householder_product(a, a[0]),
}
A = np.array([[4, 1, 0], [1, 3, 1], [0, 1, 5]], np.float32)


def text_of(name: str) -> str:
    return jax.jit(CALLS[name]).lower(A).as_text()


def test_lapack_is_found_in_a_fresh_process(tmp_path: Path) -> None:
    for name in ("cholesky", "pivoted qr"):
        (tmp_path / f"{name}.mlir").write_text(text_of(name))
    script = (
        "import sys, numpy, windlass as wl\n"
        "for name in sys.argv[1:]: wl.stablehlo.run(open(name).read(), 2 * numpy.eye(3, dtype=numpy.float32))"
    )
    command = [sys.executable, "-c", script, *map(str, tmp_path.glob("*.mlir"))]
    found = subprocess.run(command, capture_output=True, text=True, timeout=3600, check=False)
    assert found.returncode == 0, found.stderr


@pytest.mark.parametrize("name", CALLS)
def test_programs_with_lapack_give_what_jax_gives(name: str) -> None:
    expected = jax.tree.leaves(jax.jit(CALLS[name])(A))
    for result, wanted in zip(wl.stablehlo.run(text_of(name), A), expected, strict=True):
        np.testing.assert_allclose(result, np.asarray(wanted), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["cholesky", "qr", "svd", "eigh", "eig", "schur", "tridiagonal", "hessenberg"])
def test_a_result_of_another_size_is_refused_before_it_is_written(name: str) -> None:
    text = text_of(name)
    call = next(line for line in text.splitlines() if "custom_call @lapack" in line)
    taken, given = call.rsplit(" : ", 1)[1].split(" -> ")
    smaller = given.replace("3x", "2x").replace("complex", "complex")
    bare = re.sub(r"\{.*\}", "{api_version = 4 : i32}", call.split(" = ", 1)[1].rsplit(" : ", 1)[0])
    bare = re.sub(r"@(\w+)\(.*?\)", r"@\1(%a)", bare)
    count = given.count("tensor")
    results = smaller.strip("()").split(", ")
    program = (
        f"func.func @main(%a: {taken.strip('()')}) -> {results[0]} {{\n"
        f"  %0:{count} = {bare} : {taken} -> {smaller}\n  return %0#0 : {results[0]}\n}}"
    )
    with pytest.raises(wl.ProgramError, match=r"WL0511.*can't be called"):
        wl.stablehlo.run(program, A)
