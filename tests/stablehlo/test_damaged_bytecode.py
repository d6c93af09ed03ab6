"""Bytes that were changed never end the process: another one reads them, since MLIR's reader does not survive all."""

from __future__ import annotations

import os
import random
from typing import Any

import jax
import jax.export
import jax.numpy as jnp
import pytest

import windlass as wl
from windlass.stablehlo import export_bytecode, export_text, import_bytecode, reading_apart


@pytest.fixture(scope="module", name="programs")
def programs_() -> list[bytes]:
    """A portable artifact, and the same as plain bytecode."""

    def step(x: Any) -> Any:
        return jnp.sin(x) @ x.T + jax.lax.fori_loop(0, 3, lambda _, y: y * 2, x).sum()

    shape = jax.ShapeDtypeStruct((3, 4), jnp.float32)
    artifact = jax.export.export(jax.jit(step))(shape).mlir_module_serialized
    return [bytes(artifact), export_bytecode(import_bytecode(artifact))]


def damaged(program: bytes, seed: int) -> bytes:
    draw = random.Random(seed)
    data = bytearray(program)
    for _ in range(draw.choice([1, 1, 1, 2, 4])):
        data[draw.randrange(8, len(data))] = draw.randrange(256)
    if draw.random() < 0.2:
        place = draw.randrange(8, len(data))
        data[place : place + draw.randrange(3)] = draw.randbytes(draw.randrange(4))
    return bytes(data)


@pytest.mark.parametrize("part", range(4))
def test_damaged_bytecode_is_read_or_refused(programs: list[bytes], part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading_apart, "SECONDS", 2.0)
    for seed in range(50 * part, 50 * part + 50):
        try:
            import_bytecode(damaged(programs[seed % 2], seed))
        except wl.ProgramError as error:
            assert error.diagnostics[0].code in ("WL0501", "WL0502", "WL0509"), f"seed {seed}: {error}"


def test_what_is_read_apart_is_what_was_written(programs: list[bytes]) -> None:
    module = import_bytecode(programs[1])
    assert export_text(import_bytecode(programs[0])) == export_text(module)
    assert reading_apart.read_apart(programs[1]) == programs[1]


def test_reading_that_takes_too_long_is_ended(programs: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading_apart, "SECONDS", 0.0)
    monkeypatch.setattr(reading_apart, "SECONDS_PER_BYTE", 0.0)
    with pytest.raises(wl.ProgramError, match=r"WL0501.*reading it takes too long"):
        import_bytecode(programs[1])
    monkeypatch.undo()
    import_bytecode(programs[1])


def test_a_reader_that_ended_is_started_anew(programs: list[bytes]) -> None:
    import_bytecode(programs[1])
    process: Any = reading_apart._reader._process  # pyright: ignore[reportPrivateUsage]
    process.stdin.close()  # it ends as it does for want of work
    process.wait()
    import_bytecode(programs[1])
    process = reading_apart._reader._process  # pyright: ignore[reportPrivateUsage]
    os.kill(process.pid, 9)
    process.wait()
    import_bytecode(programs[1])
