"""Ops of the loop level at which threads meet: barriers, and what lanes exchange."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import numpy as np

from windlass.ir import Type, Value, tensor_type
from windlass.ir.types import NUMPY_DTYPES
from windlass.loops.base import LoopOp
from windlass.loops.threads import WARP, Fibre, Meeting, Results, Thread
from windlass.ops.loop_writer import LoopWriter


class Barrier(LoopOp):
    """Waits for the threads of `scope` ("block", "warp", "grid"); memory before is seen after."""

    name = "windlass.barrier"
    is_pure: ClassVar[bool] = False
    scope: str

    def infer(self) -> tuple[Type, ...]:
        return ()

    def evaluate(self, thread: Thread, *operands: Any) -> Fibre:
        return (yield Meeting(self))

    def exchange(self, number: int, here: Mapping[int, Results]) -> Results:
        """What a thread of that number in its block receives: nothing."""
        return ()

    def write_loop(self, writer: LoopWriter) -> None:
        if self.scope == "block":
            writer.line("gpu.barrier")
        else:
            writer.call(self, f"barrier.{self.scope}", ())


class Collective(LoopOp):
    """A warp or block operation in which lanes exchange values: shuffles, votes, matches, barrier reductions.

    `kind` is what `collective_name` makes of the callee's name ("shfl.sync.down.i32", "vote.ballot.sync"), `inputs`
    its operands in order; the results have the dtypes `result_dtypes`.
    """

    name = "windlass.collective"
    is_pure: ClassVar[bool] = False
    kind: str
    inputs: tuple[Value, ...]
    result_dtypes: tuple[str, ...]

    def infer(self) -> tuple[Type, ...]:
        return tuple(tensor_type((), dtype) for dtype in self.result_dtypes)

    @property
    def scope(self) -> str:
        """Who meets: "block" or "warp"."""
        return "block" if self.kind.startswith("barrier") else "warp"

    def evaluate(self, thread: Thread, *operands: Any) -> Fibre:
        return (yield Meeting(self, operands))

    def exchange(self, number: int, here: Mapping[int, Results]) -> Results:
        """What a thread of that number in its block receives from those that are `here`, by what each has given.

        Raises NotImplementedError for exchanges that the loop level has no word for.
        """
        given = {other % WARP: inputs for other, inputs in here.items() if other // WARP == number // WARP}
        own, lane = here[number], number % WARP
        match self.kind.split("."):
            case ["shfl", "sync", way, _]:
                return (*_shuffle(way, lane, own, given),)[: len(self.result_dtypes)]
            case ["vote", way, "sync"]:
                return (_vote(way, {other: bool(each[1]) for other, each in given.items() if _names(own[0], other)}),)
            case ["activemask"]:
                return (_mask(given),)
            case ["match", way, "sync", _]:
                named = {other: each[1] for other, each in given.items() if _names(own[0], other)}
                same = [other for other, value in named.items() if value == own[1]]
                if way == "any":
                    return (_mask(same),)
                is_same = len(same) == len(named)
                return (_mask(named if is_same else ()), np.asarray(is_same))[: len(self.result_dtypes)]
            case ["redux", "sync", way] if way in REDUCTIONS:
                return (_reduce(way, [each[0] for other, each in given.items() if _names(own[1], other)]),)
            case ["barrier_object", "wait"]:
                return ()
            case ["barrier0" | "barrier", *_, "popc" | "and" | "or"] | ["barrier", "cta", "red", _, *_]:
                return (self._count(here),)
            case _:
                raise NotImplementedError(f"threads exchange values by {self.kind}")

    def _count(self, here: Mapping[int, Results]) -> Any:
        held = [bool(inputs[-1]) for inputs in here.values()]
        parts = self.kind.split(".")
        found = sum(held) if "popc" in parts else all(held) if "and" in parts else any(held)
        return np.asarray(found).astype(NUMPY_DTYPES[self.result_dtypes[0]])

    def write_loop(self, writer: LoopWriter) -> None:
        writer.call(self, self.kind, self.operands)


REDUCTIONS = {
    "add": np.add, "min": np.minimum, "umin": np.minimum, "max": np.maximum, "umax": np.maximum,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
}  # fmt: skip


def _names(mask: Any, lane: int) -> bool:
    return bool(int(mask) >> lane & 1)


def _mask(lanes: Iterable[int]) -> Any:
    return np.asarray(sum(1 << lane for lane in lanes), np.uint32).view(np.int32)


def _reduce(way: str, values: list[Any]) -> Any:
    whole = np.asarray(values)
    return REDUCTIONS[way].reduce(whole.view(np.uint32) if way.startswith("u") else whole, dtype=None).astype(np.int32)


def _vote(way: str, votes: Mapping[int, bool]) -> Any:
    if way == "ballot":
        return _mask(lane for lane, vote in votes.items() if vote)
    held = list(votes.values())
    return np.asarray({"any": any(held), "all": all(held), "uni": all(held) or not any(held)}[way])


def _shuffle(way: str, lane: int, own: Results, given: Mapping[int, Results]) -> Results:
    """The value of another lane, and whether there is one in range: its own where there is none (PTX, shfl.sync)."""
    _, value, amount, packed = own
    clamp, width = int(packed) & 31, 32 - ((int(packed) >> 8) & 31)
    segment = lane // width * width
    last = segment | clamp & (width - 1)
    amount = int(amount)
    source, is_inside = {
        "idx": (segment | amount & (width - 1), True),
        "up": (lane - amount, lane - amount >= segment),
        "down": (lane + amount, lane + amount <= last),
        "bfly": (lane ^ amount, (lane ^ amount) <= last),
    }[way]
    return given[source][1] if is_inside and source in given else value, np.asarray(is_inside)
