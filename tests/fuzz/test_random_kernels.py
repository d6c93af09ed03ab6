"""Random kernels give the same bits raised and emulated. `python -m tests.fuzz.sweep` runs many more."""

from __future__ import annotations

import pytest

from tests.fuzz.frames import write_kernel
from tests.fuzz.kernels import Kernel
from tests.fuzz.running import Outcome, run_all
from tests.fuzz.shrinking import candidates, count_outcomes, shrink

BATCH = 20


@pytest.mark.one_in(3)
@pytest.mark.parametrize("first", range(0, 3 * BATCH, BATCH))
def test_raised_kernels_agree_with_the_emulator(first: int) -> None:
    counts = count_outcomes([write_kernel(seed) for seed in range(first, first + BATCH)])
    assert counts["same"] >= 0.8 * BATCH, f"few kernels wrote something and were compared: {counts}"


@pytest.mark.slow
@pytest.mark.parametrize("first", range(100_000, 102_000, BATCH))
def test_many_raised_kernels_agree_with_the_emulator(first: int) -> None:
    count_outcomes([write_kernel(seed) for seed in range(first, first + BATCH)])


def test_kernels_are_varied() -> None:
    """What people write is written: each of these stands in a good part of the kernels."""
    texts = [write_kernel(seed).whole_text() for seed in range(400)]
    words = {
        "if (": 0.5, "for (": 0.5, "while (": 0.04, "switch (": 0.04, "else": 0.1, "break;": 0.1, "continue": 0.01,
        "return;": 0.2, " % ": 0.4, " ? ": 0.3, "min(": 0.3, " >> ": 0.05, "&&": 0.2, "||": 0.1, "__shared__": 0.2,
        "__syncthreads": 0.2, "__shfl": 0.01, "atomic": 0.1, "local": 0.1, "size_t": 0.2, "unsigned": 0.4,
        "order": 0.05, "float2": 0.03, "__constant__": 0.01, "helper": 0.05, "*(": 0.05, "double": 0.1, "+= ": 0.2,
    }  # fmt: skip
    rare = {word for word, part in words.items() if sum(word in text for text in texts) < part * len(texts)}
    assert not rare


def test_same_seed_writes_the_same_kernel() -> None:
    assert write_kernel(7).describe() == write_kernel(7).describe()


@pytest.mark.slow
def test_a_difference_is_found_and_made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Subtractions that are raised to sums are noticed, and few lines are left of the kernel."""
    from windlass.ops.elementwise import Add, Subtract
    from windlass.raising import arithmetic

    honest = arithmetic.run_scalar_op

    def broken(state: object, op: object, items: object) -> object:
        if isinstance(op, Subtract) and op.dtype == "f32":
            op = Add(op.lhs, op.rhs)
        return honest(state, op, items)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr("windlass.raising.interpreter.run_scalar_op", broken)
    found: tuple[Kernel, Outcome] | None = None
    for first in range(0, 100, BATCH):
        outcomes = run_all([write_kernel(seed) for seed in range(first, first + BATCH)])
        found = next((each for each in outcomes if each[1].kind == "wrong"), None)
        if found:
            break
    assert found
    small = shrink(*found)
    assert len(small.text().splitlines()) <= 12
    assert " - " in small.text()
    assert next(candidates(small), None)
