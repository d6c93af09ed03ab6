"""Which loads the optimizer has moved to where their result may go unused.

`if (t == 0) v = tile[0];` becomes a load by every thread and a select. The program has no such access in the other
threads: it must not count as a race, nor as a read of what is uninitialized. Only memory at fixed places is treated so
(the optimizer must know that the access is in bounds).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from windlass.llvm.names import NAME
from windlass.llvm.text import split_at_commas, take_operand, take_type

_LOAD = re.compile(rf"^\s+(%{NAME}) = load (?!volatile|atomic)(.*)$")
_ALLOCA = re.compile(rf"^\s+(%{NAME}) = alloca ")
_RESULT = re.compile(rf"^\s+(%{NAME}) = (?:tail call )?([a-z]+) ?(.*)$")
_LOCAL = re.compile(rf"%{NAME}")
_PURE = frozenset(
    {
        "fadd",
        "fsub",
        "fmul",
        "fneg",
        "fcmp",
        "add",
        "sub",
        "mul",
        "and",
        "or",
        "xor",
        "shl",
        "lshr",
        "ashr",
        "icmp",
        "trunc",
        "zext",
        "sext",
        "fptrunc",
        "fpext",
        "sitofp",
        "uitofp",
        "bitcast",
        "freeze",
    }
)
_DEEPEST = 4


@dataclass(frozen=True)
class SpeculatedChoice:
    """The select that decides whether a load counts: after which line, by which condition, on which side."""

    line: int
    condition: str
    if_true: bool


def speculated_loads(body: list[str]) -> dict[str, SpeculatedChoice | None]:
    """The speculated loads of a function's body, by the name of their result.

    The value is the one select that picks the result, or None where several do.
    """
    fixed = {match.group(1) for line in body if (match := _ALLOCA.match(line))}
    candidates: list[str] = []
    for line in body:
        match = _LOAD.match(line) if " = load " in line else None
        if match is not None:
            pointer = take_operand(take_type(split_at_commas(match.group(2))[1])[1])[0]
            if (pointer[0] != "%" and "%" not in pointer) or pointer in fixed:
                candidates.append(match.group(1))
    if not candidates:
        return {}
    uses: dict[str, list[int]] = {}
    for number, line in enumerate(body):
        match = _RESULT.match(line)
        for name in set(_LOCAL.findall(match.group(3) if match else line)):
            uses.setdefault(name, []).append(number)
    found: dict[str, SpeculatedChoice | None] = {}
    for name in candidates:
        choices = _choices(name, body, uses, 0)
        if choices:
            found[name] = choices[0] if len(choices) == 1 else None
    return found


def _choices(name: str, body: list[str], uses: dict[str, list[int]], depth: int) -> list[SpeculatedChoice] | None:
    """The selects that all uses of a value end in; None where it is used for anything else."""
    choices: list[SpeculatedChoice] = []
    for number in uses.get(name, ()):
        match = _RESULT.match(body[number])
        if match is None or depth == _DEEPEST:
            return None
        result, opcode, rest = match.groups()
        if opcode == "select":
            choice = _choice(name, rest, number)
            if choice is None:
                return None
            choices.append(choice)
        elif opcode in _PURE:
            further = _choices(result, body, uses, depth + 1)
            if not further:
                return None
            choices += further
        else:
            return None
    return choices


def _choice(name: str, rest: str, number: int) -> SpeculatedChoice | None:
    flags = re.match(r"(?:(?:fast|nnan|ninf|nsz|arcp|contract|afn|reassoc) )*", rest)
    parts = split_at_commas(rest[flags.end() if flags else 0 :])
    values = [take_operand(take_type(part)[1])[0] for part in parts[:3]]
    if values[0] == name or values[1] == values[2] or not parts[0].startswith("i1 "):
        return None
    return SpeculatedChoice(number, values[0], values[1] == name)
