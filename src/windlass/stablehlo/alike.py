"""Whether all processes of a divided program compiled the same: told before it runs, as it would wait for ever.

Each process tells a digest of its program in the store that `jax.distributed` keeps for all. The first of them
compares, and tells the others. Texts are told where they differ only.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

import jax
from jax.core import Tracer

from windlass.diagnostics import Diagnostic, LaunchError
from windlass.diagnostics.warning import warn_caller
from windlass.stablehlo.private_jax import Store, process_store

PATIENCE_SECONDS = 60.0
"""After so long it is told for whom this process waits."""
SHOWN = 160
"""So many characters of a line are shown."""
ALIKE = "alike"
LOCATION = re.compile(r" loc\((#loc\d*|unknown|\"[^\"]*\"(\([^()]*\))?)\)")
REFERENCE = re.compile(r"#loc\d*")
FILE = re.compile(r'"([^"]+)":(\d+)')
OWN_SYMBOL = re.compile(r"@windlass_(\w+)_[0-9a-f]{16}\b")

_numbers: Counter[tuple[int, ...]] = Counter()
"""How many programs each group of processes has compiled."""


def processes_of(arguments: Sequence[Any]) -> tuple[int, ...]:
    """The processes among whose devices the arguments are divided."""
    arrays = [each for each in arguments if isinstance(each, jax.Array) and not isinstance(each, Tracer)]
    return tuple(sorted({device.process_index for each in arrays for device in each.sharding.device_set}))


def require_alike(name: str, processes: tuple[int, ...], lowered: Any) -> None:
    """Wait until all these processes are about to compile their next program, which is here what JAX has lowered.

    Raises LaunchError (WL0713), in each of them, where one has another program: it names the process and the first line
    that differs. Where one doesn't come, a warning tells of it (WL0714).
    """
    store = process_store()
    if store is None or len(processes) < 2:
        return
    mine, first = jax.process_index(), processes[0]
    group = hashlib.sha256(repr(processes).encode()).hexdigest()[:16]
    place = f"windlass/alike/{group}/{number_next(processes)}"
    _tell(store, f"{place}/{mine}", f"{hashlib.sha256(lowered.as_text().encode()).hexdigest()} {name}")
    if mine == first:
        found = {each: wait_for(store, f"{place}/{each}", name, each) for each in processes}
        _tell(store, f"{place}/verdict", _compare(found))
    verdict = wait_for(store, f"{place}/verdict", name, first)
    if verdict == ALIKE:
        return
    usual, other = map(int, verdict.split())
    if mine in (usual, other):
        _tell(store, f"{place}/name/{mine}", name)
        _tell(store, f"{place}/text/{mine}", lowered.as_text(debug_info=True))
    names, texts = (
        [wait_for(store, f"{place}/{kind}/{each}", name, each) for each in (usual, other)] for kind in ("name", "text")
    )
    raise LaunchError(_tell_difference((usual, other), names, texts))


def number_next(processes: tuple[int, ...]) -> int:
    """Which program that this group of processes compiles is the next one."""
    _numbers[processes] += 1
    return _numbers[processes]


def _compare(found: Mapping[int, str]) -> str:
    """Whether all have the same; if not, one of most, and the first that differs from these."""
    most, often = Counter(found.values()).most_common(1)[0]
    if often == len(found):
        return ALIKE
    usual = next(each for each, what in found.items() if what == most)
    return f"{usual} {next(each for each, what in found.items() if what != most)}"


def _tell_difference(ranks: Sequence[int], names: Sequence[str], texts: Sequence[str]) -> Diagnostic:
    usual, other = ranks
    if names[0] != names[1]:
        headline = f"rank {other} compiled '{names[1]}' where rank {usual} compiled '{names[0]}'"
    else:
        headline = f"rank {other} compiled another program of '{names[0]}' than rank {usual}"
    split = [text.splitlines() for text in texts]
    pairs = zip_longest(*split, fillvalue="(there is no such line)")
    differing = next((pair for pair in pairs if _as_compared(pair[0]) != _as_compared(pair[1])), ("", ""))
    shown = [
        f"rank {rank}: {_shortened(line)}{_position(line, lines)}"
        for rank, line, lines in zip(ranks, differing, split, strict=True)
    ]
    return Diagnostic(
        "WL0713",
        f"{headline}: they would wait for one another for ever",
        notes=("the first line that differs:", *shown),
        help="let nothing that is another in each process, such as jax.process_index(), the clock or the order of a "
        "set, decide what is compiled; what has another value only can be an argument",
    )


def _as_compared(line: str) -> str:
    """A line without where it is from, and without what names a program by its content."""
    return OWN_SYMBOL.sub(r"@\1", LOCATION.sub("", line))


def _shortened(line: str) -> str:
    line = _as_compared(line).strip()
    return line if len(line) <= SHOWN else f"{line[:SHOWN]}…"


def _position(line: str, lines: Sequence[str]) -> str:
    """The user's line that a line of the program is from, if that is known: its location names others below."""
    place = line
    while found := REFERENCE.search(place):
        place = next((each for each in lines if each.startswith(f"{found[0]} = ")), "").partition(" = ")[2]
    found = FILE.search(place)
    return f" ({found[1]}:{found[2]})" if found else ""


def _tell(store: Store, key: str, what: str) -> None:
    store.put(key, what.encode())


def wait_for(store: Store, key: str, name: str, rank: int) -> str:
    """What that process tells under this key, as soon as it does."""
    begun, is_told = time.monotonic(), False
    while (found := store.get(key, seconds=1.0)) is None:
        if not is_told and time.monotonic() - begun > PATIENCE_SECONDS:
            is_told = True
            warn_caller(
                Diagnostic(
                    "WL0714",
                    f"rank {jax.process_index()} has compiled '{name}', and waits for rank {rank} to do so, "
                    f"for {PATIENCE_SECONDS:g} s now",
                    help="all processes have to call it: look for calls within `if jax.process_index() == 0`",
                    severity="warning",
                )
            )
    return found.decode()
