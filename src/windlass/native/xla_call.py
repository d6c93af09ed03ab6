"""Native code that XLA calls: what the handler (xla_handler.py) is told of each code, and the errors that it gives.

What is entered here stays for good, with its machine code: nobody can tell when the last program of XLA's that calls it
is gone.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from windlass.diagnostics import Diagnostic, EmulationError
from windlass.ir import TensorType, Value
from windlass.native.machine import compile_text
from windlass.native.plan import NativeCode
from windlass.native.pool import pool
from windlass.native.running import Fault, Runner
from windlass.native.xla_handler import POOL_ASKS, POOL_RUN, POOL_THREADS, handler_text
from windlass.native.xla_rows import Kind, SlotWord, Word
from windlass.ops.custom_call import CustomCall
from windlass.ops.native_call import NATIVE_TARGET, NativeMeaning, native_code_of, native_meanings
from windlass.stablehlo import interrupting, typed_ffi

_TAG = re.compile(r"\[windlass ([0-9a-f]{16})/(\d+)((?:/-?\d+){7})\]")
LITTLE_TEXT = 512
"""Names are cut to this in messages, which have a bound."""


@dataclass(frozen=True)
class Slot:
    """What fills a slot of a launch: how, from which operand, for which result, and what the operand has in one launch.

    `alignment` is of what its address has to be a multiple.
    """

    kind: Kind
    operand: int = 0
    result: int = 0
    elements: int = 0
    bytes: int = 0
    alignment: int = 1


NULL_SLOT = Slot(Kind.NULL)
NUMBERS = {
    Kind.F32_TO_F64: ("f4", "f8"),
    Kind.I32_TO_I64: ("i4", "i8"),
    Kind.U32_TO_I64: ("u4", "i8"),
    Kind.I32_TO_F64: ("i4", "f8"),
    Kind.U32_TO_F64: ("u4", "f8"),
}
"""Element types between which numbers are converted."""


@dataclass(frozen=True)
class XlaCall:
    """A code that XLA can call, by the attribute `code` of a call of `NATIVE_TARGET`."""

    kernel: str
    code: NativeCode
    slots: tuple[Slot, ...]
    number: int

    @property
    def attribute(self) -> int:
        """The number as a signed one, as attributes are."""
        return self.number - (1 << 64) if self.number >> 63 else self.number

    @property
    def can_be_batched(self) -> bool:
        """Whether launches on neighbouring parts of larger arrays keep the addresses that the code asks for."""
        return all(slot.bytes % slot.alignment == 0 for slot in self.slots)

    def on(
        self,
        inputs: tuple[Value, ...],
        types: tuple[TensorType, ...],
        aliased: Mapping[int, int],
        operand_layouts: str | None = None,
        result_layouts: str | None = None,
    ) -> CustomCall:
        """The op that calls it; `aliased` says of inputs, by position, which results they are afterwards."""
        aliases = ", ".join(
            f"#stablehlo.output_operand_alias<output_tuple_indices = [{result if len(types) > 1 else ''}], "
            f"operand_index = {operand}, operand_tuple_indices = []>"
            for operand, result in aliased.items()
        )
        made = CustomCall(
            inputs,
            NATIVE_TARGET,
            types,
            backend_config='""',
            operand_layouts=operand_layouts,
            result_layouts=result_layouts,
            output_operand_aliases=f"[{aliases}]",
        )
        made.extra = {"mhlo.backend_config": f'{{code = {self.attribute} : i64, kernel = "{self.kernel}"}}'}
        return made


def enter(kernel: str, code: NativeCode, slots: Sequence[Slot], flops: int) -> XlaCall:
    """Make a code known to XLA, and to programs of ours that call it, by a number that is made of what it does.

    The same code always has the same number.
    """
    given = tuple(slots)
    about = (kernel, code.machine.digest, code.sites, code.most_parts, given)
    digest = hashlib.sha256(repr(about).encode()).digest()
    call = XlaCall(kernel, code, given, int.from_bytes(digest[:8], "little"))
    known = _handler().enter(call)
    native_meanings[known.attribute] = NativeMeaning(kernel, partial(evaluate, known), flops)
    return known


def evaluate(call: XlaCall, *operands: Any) -> tuple[Any, ...]:
    """What a call gives for NumPy arrays, of a batch or not.

    Raises EmulationError where a thread leaves an array.
    """
    filled = [slot for slot in call.slots if slot.kind not in (Kind.NULL, Kind.ROOM)]
    lengths = [operands[slot.operand].size // slot.elements for slot in filled if slot.elements]
    length = max(lengths, default=1)
    arrays = {slot.operand: np.array(operands[slot.operand], order="C") for slot in filled}
    rooms = {slot.result: np.empty((length, slot.bytes), np.uint8) for slot in call.slots if slot.kind is Kind.ROOM}
    runner = Runner(call.code)
    for launch in range(length):
        given = [
            0 if slot.kind is Kind.NULL
            else rooms[slot.result][launch].ctypes.data if slot.kind is Kind.ROOM
            else _bits(slot, arrays[slot.operand], launch)
            for slot in call.slots
        ]  # fmt: skip
        fault = runner.run(given)
        if fault is not None:
            place = call.code.sites.index(fault.site)
            said = message_of(call, place, is_misaligned=fault.is_misaligned).partition(", by block")[0]
            code = "WL0609" if fault.is_misaligned else "WL0602"
            raise EmulationError(Diagnostic(code, said.replace("%%", "%"), fault.site.position))
    written = {slot.result: arrays[slot.operand] for slot in filled if slot.kind is Kind.WRITTEN} | rooms
    return tuple(written[place] for place in sorted(written))


def _bits(slot: Slot, array: Any, launch: int) -> int:
    """What a slot is filled with for one launch of a batch."""
    offset = 0 if array.size == slot.elements else launch * slot.bytes
    if slot.kind in (Kind.READ, Kind.WRITTEN):
        return int(array.__array_interface__["data"][0]) + offset
    piece = array.tobytes()[offset : offset + slot.bytes]
    if slot.kind is not Kind.BITS:
        source, target = NUMBERS[slot.kind]
        piece = np.frombuffer(piece, source).astype(target).tobytes()
    return int.from_bytes(piece, "little")


def entered_call(op: CustomCall) -> XlaCall | None:
    """The code that an op calls, if it is one that was entered in this process."""
    attribute = native_code_of(op.call_target_name, (op.extra or {}).get("mhlo.backend_config", ""))
    return None if attribute is None else _handler().calls.get(attribute % (1 << 64))


def fault_of(text: str) -> tuple[XlaCall, Fault] | None:
    """The code that went wrong, and how, where the text of an error tells of one."""
    found = _TAG.search(text)
    if found is None:
        return None
    call = _handler().calls.get(int(found[1], 16))
    if call is None:
        return None
    gx, gy, gz, bx, by, bz, byte = map(int, found[3].split("/")[1:])
    return call, Fault(call.code.sites[int(found[2])], (gx, gy, gz), (bx, by, bz), byte)


class _Handler:
    """The handler of this process, and all that it knows."""

    def __init__(self) -> None:
        here = pool()
        # Helpers that were forked off are not there, so a child process does without.
        self._table = (ctypes.c_int64 * 3)()
        self._table[POOL_THREADS] = here.threads
        self._table[POOL_RUN] = here.run_parts
        self._table[POOL_ASKS] = interrupting.register().asks
        self.pool_table = ctypes.addressof(self._table)
        self._machine = compile_text(handler_text(self.pool_table), is_kept=False)
        self._add: Any = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self._machine.address("windlass_add"))
        typed_ffi.register(NATIVE_TARGET, self._machine.address(NATIVE_TARGET))
        self._kept: list[Any] = [here]
        self._lock = threading.Lock()
        self.calls: dict[int, XlaCall] = {}
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._begin_in_child)

    def _begin_in_child(self) -> None:
        self._table[POOL_THREADS] = 1

    def enter(self, call: XlaCall) -> XlaCall:
        with self._lock:
            known = self.calls.get(call.number)
            if known is not None:
                return known
            row = self._row_of(call)
            self._kept.append(row)
            self._add(ctypes.addressof(row))
            self.calls[call.number] = call
            return call

    def _row_of(self, call: XlaCall) -> Any:
        slots = (ctypes.c_int64 * (len(SlotWord) * max(1, len(call.slots))))()
        for place, slot in enumerate(call.slots):
            start = place * len(SlotWord)
            slots[start : start + len(SlotWord)] = [
                slot.kind, slot.operand, slot.result, slot.elements, slot.bytes, slot.alignment - 1,
            ]  # fmt: skip
        sites = call.code.sites
        texts = [message_of(call, n, is_misaligned=kind).encode() for n in range(len(sites)) for kind in (False, True)]
        messages = (ctypes.c_char_p * max(1, len(texts)))(*texts)
        last_bytes = (ctypes.c_int64 * max(1, len(sites)))(*(site.last_byte for site in sites))
        self._kept += [slots, messages, last_bytes]
        row = (ctypes.c_int64 * len(Word))()
        row[Word.CODE] = call.attribute
        row[Word.PART] = call.code.entry
        row[Word.MOST_PARTS] = call.code.most_parts
        row[Word.SLOTS] = len(call.slots)
        row[Word.OPERANDS] = sum(slot.kind not in (Kind.NULL, Kind.ROOM) for slot in call.slots)
        row[Word.RESULTS] = sum(slot.kind in (Kind.WRITTEN, Kind.ROOM) for slot in call.slots)
        row[Word.SLOT_ROWS] = ctypes.addressof(slots)
        row[Word.MESSAGES] = ctypes.addressof(messages)
        row[Word.LAST_BYTES] = ctypes.addressof(last_bytes)
        return row


def message_of(call: XlaCall, place: int, *, is_misaligned: bool) -> str:
    """What is said where an access goes wrong: a format of C that takes six ids and the byte."""
    site = call.code.sites[place]
    where = "" if site.position is None else f" at {site.position}"
    size = "" if site.memory_bytes is None else f", which has {site.memory_bytes} bytes"
    plural = "s" if site.size != 1 else ""
    is_null = site.argument is not None and call.slots[site.argument].kind is Kind.NULL
    wrong = f"lies at no multiple of {site.alignment} in" if is_misaligned else "goes beyond"
    wrong, size = ("goes through a null pointer,", "") if is_null else (wrong, size)
    said = (
        f"kernel {call.kernel[:LITTLE_TEXT]}{where[:LITTLE_TEXT]}: {site.verb} of {site.size} byte{plural} {wrong} "
        f"{site.memory[:LITTLE_TEXT]}{size}"
    ).replace("%", "%%")
    tag = f"[windlass {call.number:016x}/{place}/%1$lld/%2$lld/%3$lld/%4$lld/%5$lld/%6$lld/%7$lld]"
    return f"{said}, by block (%1$lld, %2$lld, %3$lld), thread (%4$lld, %5$lld, %6$lld) at byte %7$lld {tag}"


@typed_ffi.made_once
def _handler() -> _Handler:
    return _Handler()


def pool_table() -> int:
    """The address of the words that say what there is in this process (`windlass.native.xla_handler.POOL_THREADS`)."""
    return _handler().pool_table


def is_supported() -> bool:
    """Whether XLA's interface here is one that native code knows."""
    return typed_ffi.is_supported()
