"""What is divided among processes of one machine is compiled by one of them."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from tests.processes.test_alike import Shared
from tests.processes.test_launch import launch
from windlass.stablehlo import compiled_once

SCRIPT = Path(__file__).with_name("counting_compilations.py")


def test_ranks_take_the_code_of_divided_programs_from_the_one_that_compiled_it() -> None:
    done = launch("-n", "2", SCRIPT, seconds=100)
    assert done.returncode == 0, done.stderr
    asked, different, compiled, *of_rank_1 = map(int, done.stdout.split())
    assert asked == different == of_rank_1[0] == of_rank_1[1] > 0
    assert compiled + of_rank_1[2] == asked


def test_the_first_that_comes_compiles_and_others_take_its_code() -> None:
    store: Any = Shared()
    compiled: list[int] = []
    taken: list[bytes] = []

    def take(number: int) -> None:
        def compile_here() -> bytes:
            compiled.append(number)
            return b"code"

        taken.append(compiled_once.obtain(store, "digest", compile_here))

    threads = [threading.Thread(target=take, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(compiled) == 1 and taken == [b"code"] * 4


def test_where_compiling_fails_each_finds_out_why() -> None:
    store: Any = Shared()

    def fail() -> bytes:
        raise ValueError("what a program")

    for _ in range(2):
        with pytest.raises(ValueError, match="what a program"):
            compiled_once.obtain(store, "digest", fail)
