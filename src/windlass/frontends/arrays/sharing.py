"""Memories that may be one: the rule for names which a loop or branch leaves as one of several arrays.

    z = y                       # y and z are one array,
    for i in range(n):
        y = y * 2               # and two once a round has run
    y[0] = 9                    # does z see it?

What such a name holds afterwards is a memory of its own, with the elements of whichever array it stands for. To read
it is right until one of those that it may be is written: then it is in *doubt* what the others hold, and reading
them is refused (WL0908). Nobody asks who may still read which: what nobody reads is not refused. A caller reads
its arrays later, where we can't tell it; so what may be a caller's array is not written at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from windlass.diagnostics import Diagnostic, Position, WindlassError
from windlass.frontends.arrays.tracing import Storage, live_storages, position_now

HELP = "let every way bind a new array: u = u.copy()"


class Doubt(NamedTuple):
    """The user's line that wrote what may be the same memory."""

    position: Position | None


class Met(NamedTuple):
    """A memory made where ways met, and the memory that it stands for on each of them; None where it is none."""

    storage: Storage
    ways: Sequence[Storage | None]


def relate(met: Sequence[Met]) -> None:
    """Note what the memories that were made where ways met may be: those of each way, and one another where they stand
    for one on some way."""
    reached = [[() if each is None else (each, *each.may_be) for each in ways] for _, ways in met]
    links: list[tuple[Storage, Storage]] = []
    for number, (storage, ways) in enumerate(met):
        links += [(storage, other) for group in reached[number] for other in group]
        for earlier, groups in zip(met[:number], reached, strict=False):
            if any(way is not None and way in group for way, group in zip(ways, groups, strict=True)):
                links.append((storage, earlier.storage))
    for one, other in links:
        relate_two(one, other)


def relate_two(one: Storage, other: Storage) -> None:
    """Note that the two may be one memory."""
    if one is not other:
        one.may_be[other] = None
        other.may_be[one] = None


def expect_known(storage: Storage) -> None:
    """Raises WindlassError (WL0908) where it is in doubt what the memory holds."""
    if storage.doubt is not None:
        written = storage.doubt.position
        line = "" if written is None else f" (line {written.line})"
        raise WindlassError(
            Diagnostic(
                "WL0908",
                f"it is not known which memory is written{line}: this array may be the one, or not",
                notes=("a loop or branch left a name as one of several arrays; which, is known as the program runs",),
                help=HELP,
            )
        )


def write(storage: Storage, value: Any, is_whole: bool) -> None:
    """Let the memory hold the value, of which all is new if `is_whole`; what may be the same memory is in doubt.

    Raises WindlassError (WL0908) where the memory may be a caller's array, and where part of it is written that is in
    doubt itself.
    """
    if not is_whole:
        expect_known(storage)
    if storage.may_be:
        position, length = position_now()
        if any(each.is_callers for each in storage.may_be):
            raise WindlassError(
                Diagnostic(
                    "WL0908",
                    "it is not known which memory is written: this may be an array of the caller's, or not",
                    position,
                    length,
                    notes=("a loop or branch left the name as one of several arrays; which, is known as it runs",),
                    help=HELP,
                )
            )
        for each in storage.may_be:
            each.doubt = Doubt(position)
    storage.doubt = None
    storage.value = value


# -- doubts along the ways of loops and branches ----------------------------------------------------------------------


def doubts_now() -> list[tuple[Storage, Any]]:
    """All memories, and what is in doubt of them."""
    return [(storage, storage.doubt) for storage in live_storages()]


def put_back(doubts: Iterable[tuple[Storage, Any]]) -> None:
    """Let these memories be in doubt as they were."""
    for storage, doubt in doubts:
        storage.doubt = doubt


def add_doubts(doubts: Iterable[tuple[Storage, Any]]) -> bool:
    """Let these memories be in doubt, too; whether some were not."""
    is_new = False
    for storage, doubt in doubts:
        if doubt is not None and storage.doubt is None:
            storage.doubt, is_new = doubt, True
    return is_new
