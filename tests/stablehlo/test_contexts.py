"""MLIR contexts are used again, by one at a time, and not for ever."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import windlass as wl
from windlass.diagnostics import ProgramError
from windlass.stablehlo import contexts, export_text, import_text
from windlass.stablehlo.contexts import MOST_BYTES, MOST_SPARE, MOST_USES, borrowed_context

TEXT = """func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.negate %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}"""
RESOURCE = """func.func @main() -> tensor<4xf32> {
  %0 = stablehlo.constant dense_resource<foo> : tensor<4xf32>
  return %0 : tensor<4xf32>
}"""
BLOB = '{-# dialect_resources: { builtin: { foo: "0x040000000000803F000000400000404000008040" } } #-}'


@pytest.fixture(autouse=True)
def no_spare_contexts() -> None:
    contexts._spare.clear()  # pyright: ignore[reportPrivateUsage]


def test_many_programs_share_a_context(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    make = contexts.make_context

    def counted() -> object:
        made.append(None)
        return make()

    monkeypatch.setattr(contexts, "make_context", counted)
    for _ in range(20):
        export_text(import_text(TEXT))
    assert len(made) == 1


def test_a_context_is_given_up_after_many_uses_or_bytes() -> None:
    with borrowed_context(1) as first:
        pass
    for _ in range(MOST_USES - 1):
        with borrowed_context(1) as last:
            assert last is first
    with borrowed_context(MOST_BYTES) as second:
        assert second is not first
    with borrowed_context(1) as third:
        assert third is not second


def test_a_context_with_an_error_is_given_up_and_the_next_program_is_read() -> None:
    with borrowed_context(1) as first:
        pass
    with pytest.raises(ProgramError, match="WL0501"):
        import_text("nonsense")
    with borrowed_context(1) as second:
        assert second is not first
    assert "negate" in export_text(import_text(TEXT))


def test_constants_that_stand_apart_are_not_found_by_the_next_program() -> None:
    np.testing.assert_array_equal(wl.stablehlo.run(RESOURCE + BLOB)[0], [1, 2, 3, 4])
    with pytest.raises(ProgramError, match="WL0501"):
        wl.stablehlo.run(RESOURCE)
    np.testing.assert_array_equal(wl.stablehlo.run(RESOURCE + BLOB)[0], [1, 2, 3, 4])


def test_threads_hear_of_their_own_errors_only() -> None:
    wrong: list[object] = []

    def read(number: int) -> None:
        for _ in range(20):
            try:
                import_text(f"func.func @main() {{ {'x' * number}.y }}" if number % 2 else TEXT)
                fine = number % 2 == 0
            except ProgramError as error:
                fine = bool(number % 2) and f"{'x' * number}.y" in str(error)
            if not fine:
                wrong.append(number)

    threads = [threading.Thread(target=read, args=(number,)) for number in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(contexts._spare) <= MOST_SPARE  # pyright: ignore[reportPrivateUsage]
