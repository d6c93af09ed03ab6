"""What a compiled program communicates, counted in its text.

XLA's text of a program that is divided among devices is that of one device: each collective in it is one message that
every device sends and receives. A collective inside a loop counts once for each round.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from windlass.diagnostics import Position

KINDS = (
    "collective-permute", "all-gather", "all-reduce", "reduce-scatter", "all-to-all", "ragged-all-to-all",
    "collective-broadcast",
)  # fmt: skip
USUAL_ROUNDS = 8
WIDTHS = {"pred": 8, "token": 0}
_INSTRUCTION = re.compile(r"^\s*(?:ROOT )?%?[\w.\-]+ = (.*?) ([a-z][a-z\-]*)\((.*)$")
_COMPUTATION = re.compile(r"^(ENTRY )?%?([\w.\-]+) \(.*\{\s*$")
_CALLED = re.compile(r"\b(?:calls|to_apply|true_computation|false_computation)=%?([\w.\-]+)")


@dataclass(frozen=True)
class Message:
    """One collective of a program: its kind, the bytes that each device receives from others, and how often it runs."""

    kind: str
    bytes: int
    rounds: int | None
    """How often it is done each time that the program runs; None where that is not known."""
    depth: int = 0
    """Within how many loops it is."""
    source: Position | None = None
    pair: tuple[int, int] | None = None
    """Of a permutation the first pair of devices: from which to which."""


@dataclass
class _Computation:
    messages: list[Message] = field(default_factory=list[Message])
    called: list[tuple[str, int | None, int]] = field(default_factory=list["tuple[str, int | None, int]"])
    """Computations that it calls, how often each time, and whether in a loop."""


def count_messages(text: str) -> list[Message]:
    """The collectives of a compiled program, given XLA's text of it.

    >>> count_messages('''
    ... ENTRY %main (x: f32[8]) -> f32[8] {
    ...   %x = f32[8]{0} parameter(0)
    ...   ROOT %y = f32[8]{0} collective-permute(%x), source_target_pairs={{0,1},{1,0}}
    ... }''')
    [Message(kind='collective-permute', bytes=32, rounds=1, depth=0, source=None, pair=(0, 1))]
    """
    frames = _Frames(text)
    counts = re.search(r"^HloModule .*?\bnum_partitions=(\d+)", text)
    devices = int(counts[1]) if counts else 1
    computations: dict[str, _Computation] = {}
    entry, current = "", _Computation()
    for line in text.splitlines():
        header = _COMPUTATION.match(line)
        if header is not None:
            current = computations[header[2]] = _Computation()
            entry = header[2] if header[1] else entry
            continue
        instruction = _INSTRUCTION.match(line)
        if instruction is None:
            continue
        type_, op, rest = instruction.groups()
        kind = op.removesuffix("-start")
        if kind in KINDS:
            size = _bytes_received(kind, op != kind, type_, _group_size(rest, devices))
            pair = re.search(r"source_target_pairs=\{\{(\d+),(\d+)\}", rest)
            ends = None if pair is None else (int(pair[1]), int(pair[2]))
            current.messages.append(Message(kind, size, 1, 0, frames.of(rest), ends))
        elif op == "while":
            known = re.search(r'"known_trip_count":\{"n":"(\d+)"\}', rest)
            rounds = None if known is None else int(known[1])
            for name in re.findall(r"\b(?:body|condition)=%?([\w.\-]+)", rest):
                current.called.append((name, rounds, 1))
        elif op == "conditional":
            branches = re.search(r"branch_computations=\{([^}]*)\}", rest)
            names = re.findall(r"[\w.\-]+", branches[1]) if branches else _CALLED.findall(rest)
            current.called += [(name, 1, 0) for name in names]
        else:
            current.called += [(name, 1, 0) for name in _CALLED.findall(rest)]
    return _gather(computations, entry, 1, 0) if entry else []


def bytes_per_run(messages: Iterable[Message]) -> float:
    """How much each device receives in a run; of loops of unknown length it is taken that they go round some times."""
    return totals_per_run(messages)[0]


def totals_per_run(messages: Iterable[Message]) -> tuple[float, float]:
    """How many bytes each device receives in a run, and in how many messages."""
    counted = [(each, USUAL_ROUNDS**each.depth if each.rounds is None else each.rounds) for each in messages]
    return sum(each.bytes * rounds for each, rounds in counted), sum(rounds for each, rounds in counted if each.bytes)


def _gather(computations: Mapping[str, _Computation], name: str, rounds: int | None, depth: int) -> list[Message]:
    found = computations.get(name, _Computation())
    messages = [replace(each, rounds=rounds, depth=depth) for each in found.messages]
    for called, times, deeper in found.called:
        inner = None if rounds is None or times is None else rounds * times
        messages += _gather(computations, called, inner, depth + deeper)
    return messages


def _bytes_received(kind: str, is_start: bool, type_: str, group: int) -> int:
    """How much each device receives from others, of a collective of a group whose result is of a type."""
    types = re.findall(r"\b([a-z]\w*)\[([\d,]*)\]", type_)
    if is_start and len(types) > 1:
        # What was given comes first, then what is to come, then numbers of the runtime's.
        types = [each for each in types if each != ("u32", "")]
        types = types[len(types) // 2 :]
    size = sum(_bytes_of(dtype, shape) for dtype, shape in types)
    if group <= 1 and kind not in ("collective-permute", "collective-broadcast"):
        return 0
    match kind:
        case "all-gather" | "all-to-all" | "ragged-all-to-all":
            return size * (group - 1) // group
        case "all-reduce":
            return 2 * size * (group - 1) // group
        case "reduce-scatter":
            return size * (group - 1)
        case _:
            return size


def _bytes_of(dtype: str, shape: str) -> int:
    digits = re.search(r"\d+", dtype)
    bits = WIDTHS[dtype] if dtype in WIDTHS else int(digits[0]) if digits else 0
    return math.prod(int(size) for size in shape.split(",") if size) * bits // 8


def _group_size(rest: str, devices: int) -> int:
    """How many devices take part in each group of a collective; all of them where that can't be read.

    >>> _group_size("replica_groups=mesh['x'=4,'y'=8], device_ids=([2,16]T(1,0)) {'x','y':(2)4}", 32)
    16
    """
    found = re.search(r"replica_groups=mesh\[([^\]]*)\](?:, device_ids=\(.*?\))?\s*\{([^}]*)\}", rest)
    if found is not None:
        sizes = {name: int(size) for name, size in re.findall(r"'?([\w.\-]+)'?=(\d+)", found[1])}
        # Of an axis that is split a part may be named: what is before it, and its own size.
        parts = re.findall(r"'?([\w.\-]+)'?(?::\(\d+\)(\d+))?(?:,|$)", found[2].replace(" ", ""))
        return math.prod(int(part) if part else sizes.get(name, devices) for name, part in parts)
    found = re.search(r"replica_groups=\[\d+,(\d+)\]", rest)
    if found is not None:
        return int(found[1])
    found = re.search(r"replica_groups=\{\{([\d,]*)\}", rest)
    return len(found[1].split(",")) if found is not None else devices


class _Frames:
    """The source lines that a program's text names."""

    def __init__(self, text: str) -> None:
        self._files = self._table(text, "FileNames", r'(\d+) "(.*)"')
        self._locations = self._table(text, "FileLocations", r"(\d+) \{(.*)\}")
        self._frames = self._table(text, "StackFrames", r"(\d+) \{(.*)\}")

    def of(self, instruction: str) -> Position | None:
        plain = re.search(r'source_file="([^"]*)" source_line=(\d+)', instruction)
        if plain is not None:
            return Position(plain[1], int(plain[2]))
        frame = re.search(r"stack_frame_id=(\d+)", instruction)
        location = re.search(r"file_location_id=(\d+)", self._frames.get(frame[1], "") if frame else "")
        where = self._locations.get(location[1], "") if location else ""
        numbers = dict(re.findall(r"(\w+)=(\d+)", where))
        file = self._files.get(numbers.get("file_name_id", ""))
        return None if file is None else Position(file, int(numbers["line"]), int(numbers.get("column", 0)))

    @staticmethod
    def _table(text: str, name: str, row: str) -> dict[str, str]:
        begin = text.find(f"\n{name}\n")
        if begin < 0:
            return {}
        rows: dict[str, str] = {}
        for line in text[begin + len(name) + 2 :].splitlines():
            found = re.fullmatch(row, line.strip())
            if found is None:
                break
            rows[found[1]] = found[2]
        return rows
