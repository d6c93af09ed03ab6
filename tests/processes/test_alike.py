"""Processes that compiled different programs are told so, where they would wait for one another for ever."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from tests.processes.test_launch import launch
from windlass.diagnostics import LaunchError, WindlassWarning
from windlass.stablehlo import alike

SCRIPT = Path(__file__).with_name("other_programs.py")


def test_a_rank_that_compiles_another_constant_is_named_with_the_line() -> None:
    done = launch("-n", "2", SCRIPT, "constant", seconds=100)
    assert done.returncode == 1
    assert "error[WL0713]: rank 1 compiled another program of 'smooth' than rank 0" in done.stderr
    for rank, number in ((0, "2.500000e-01"), (1, "5.000000e-01")):
        assert f"note: rank {rank}: %cst_0 = stablehlo.constant dense<{number}> : tensor<14xf32> (" in done.stderr
    assert "other_programs.py:18)" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("how", ["alike", "alone"])
def test_ranks_that_compile_the_same_go_on_whatever_each_does_for_itself(how: str) -> None:
    done = launch("-n", "2", SCRIPT, how, seconds=100)
    assert (done.returncode, done.stdout) == (0, "120.0\n"), done.stderr


class Shared:
    """A store as the processes of a program have it."""

    def __init__(self) -> None:
        self.told: dict[str, bytes] = {}
        self.news = threading.Condition()

    def put(self, key: str, value: bytes) -> None:
        with self.news:
            assert key not in self.told
            self.told[key] = value
            self.news.notify_all()

    def get(self, key: str, seconds: float) -> bytes | None:
        with self.news:
            self.news.wait_for(lambda: key in self.told, seconds)
            return self.told.get(key)

    def claim(self, key: str) -> bool:
        with self.news:
            is_first = key not in self.told
            self.told[key] = b""
            return is_first


def compare(monkeypatch: pytest.MonkeyPatch, *programs: tuple[str, Any]) -> list[str]:
    """What each of so many processes, here threads, is told of its program."""
    own, store = threading.local(), Shared()
    told = [""] * len(programs)
    monkeypatch.setattr(jax, "process_index", lambda: own.rank)
    monkeypatch.setattr(alike, "process_store", lambda: store)
    monkeypatch.setattr(alike, "number_next", lambda _: 1)

    def run(rank: int) -> None:
        own.rank = rank
        name, lowered = programs[rank]
        try:
            alike.require_alike(name, tuple(range(len(programs))), lowered)
        except LaunchError as error:
            told[rank] = str(error)

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(len(programs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return told


def lowered(scale: float) -> Any:
    return jax.jit(lambda x: jnp.sin(x) * scale).lower(jnp.ones(3))


def test_of_several_ranks_the_one_that_differs_from_most_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    usual, other = ("f", lowered(2)), ("f", lowered(3))
    assert compare(monkeypatch, usual, usual, usual) == ["", "", ""]
    for place in range(3):
        programs = [usual] * 3
        programs[place] = other
        told = compare(monkeypatch, *programs)
        assert (
            len(set(told)) == 1 and f"rank {place} compiled another program of 'f' than rank {place == 0:d}" in told[0]
        )
        assert "dense<3.000000e+00> : tensor<f32> (" in told[0] and "test_alike.py:" in told[0]


def test_ranks_that_compile_other_functions_are_told_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    told = compare(monkeypatch, ("f", lowered(2)), ("g", lowered(2)))
    assert "rank 1 compiled 'g' where rank 0 compiled 'f'" in told[0] == told[1]


def test_after_a_while_it_is_told_for_whom_a_rank_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alike, "PATIENCE_SECONDS", 0)
    store: Any = Shared()
    threading.Timer(2.5, store.put, ("key", b"value")).start()
    with pytest.warns(WindlassWarning, match="rank 0 has compiled 'f', and waits for rank 3") as told:
        assert alike.wait_for(store, "key", "f", 3) == "value"
    assert len(told) == 1
