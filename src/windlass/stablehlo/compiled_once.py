"""Programs that are divided among the processes of one machine: one of them has XLA compile, the others take its code.

Without that each process would compile the same program, beside the others on the same cores. The first that comes to a
program claims it in the store that `jax.distributed` keeps for all; the others wait for its code. It waits for nobody,
and a program that only one process compiles is compiled by that one. On GPUs, whose compiler has the processes share
their work already, and on several machines, which may have other processors, each compiles for itself.
"""

from __future__ import annotations

from collections.abc import Callable

from windlass.stablehlo.private_jax import Store, compile_divided_by, process_store

FAILED = b""
"""What a process tells that could not compile a program: each finds out for itself why."""


def compile_once() -> None:
    """From now on, what this process would compile of programs for CPUs of several processes, one of these compiles.

    All of them have to run on processors of one kind, and to be connected.
    """
    store = process_store()
    if store is not None:
        compile_divided_by(lambda digest, compile_here: obtain(store, digest, compile_here))


def obtain(store: Store, digest: str, compile_here: Callable[[], bytes]) -> bytes:
    """The code of a program: as another process has compiled it, or is about to; else as it is compiled here."""
    place = f"windlass/compiled/{digest}"
    if store.claim(f"{place}/claimed"):
        content = FAILED
        try:
            content = compile_here()
        finally:
            store.put(f"{place}/content", content)
        return content
    while (found := store.get(f"{place}/content", seconds=1.0)) is None:
        pass
    return found or compile_here()
