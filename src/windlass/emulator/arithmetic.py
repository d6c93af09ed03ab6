"""Arithmetic that LLVM leaves undefined for some operands, made total as it is on the GPU."""

from __future__ import annotations

import re
from collections.abc import Callable

from windlass.llvm.text import split_at_commas, take_type

_FLOAT_SUFFIX = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64"}


def divide(result: str, opcode: str, rest: str, fresh: Callable[[], str]) -> list[str]:
    """Integer division for all operands: x / 0 is all ones, x % 0 is x, and the lowest number divided by -1 itself."""
    kind, operands = take_type(rest.removeprefix("exact "))
    left, right = split_at_commas(operands)
    if re.fullmatch(r"\d+", right) and right != "0":
        return [f"  {result} = {opcode} {rest}"]
    scalar = re.sub(r"^<\d+ x |>$", "", kind)
    flag = kind.replace(scalar, "i1")

    def constant(value: int) -> str:
        return f"splat ({scalar} {value})" if kind != scalar else str(value)

    is_zero, safe, value = fresh(), fresh(), fresh()
    lines = [f"  {is_zero} = icmp eq {kind} {right}, {constant(0)}"]
    unsafe = is_zero
    if opcode[0] == "s":
        lowest = -(1 << (int(scalar[1:]) - 1))
        is_minus_one, is_lowest, overflows, unsafe = fresh(), fresh(), fresh(), fresh()
        lines += [
            f"  {is_minus_one} = icmp eq {kind} {right}, {constant(-1)}",
            f"  {is_lowest} = icmp eq {kind} {left}, {constant(lowest)}",
            f"  {overflows} = and {flag} {is_minus_one}, {is_lowest}",
            f"  {unsafe} = or {flag} {is_zero}, {overflows}",
        ]
    by_zero = constant(-1) if opcode.endswith("div") else left
    return [
        *lines,
        f"  {safe} = select {flag} {unsafe}, {kind} {constant(1)}, {kind} {right}",
        f"  {value} = {opcode} {kind} {left}, {safe}",
        f"  {result} = select {flag} {is_zero}, {kind} {by_zero}, {kind} {value}",
    ]


def shift(result: str, opcode: str, rest: str, fresh: Callable[[], str]) -> list[str]:
    """A shift for all amounts: by the width or more only the sign of `ashr` is left (PTX ISA, shl and shr)."""
    kind, operands = take_type(re.sub(r"^((nuw|nsw|exact) )*", "", rest))
    left, right = split_at_commas(operands)
    scalar = re.sub(r"^<\d+ x |>$", "", kind)
    width = int(scalar[1:])
    if re.fullmatch(r"\d+", right) and int(right) < width:
        return [f"  {result} = {opcode} {rest}"]
    flag = kind.replace(scalar, "i1")

    def constant(value: int) -> str:
        return f"splat ({scalar} {value})" if kind != scalar else str(value)

    fits, amount, value = fresh(), fresh(), fresh()
    beyond = width - 1 if opcode == "ashr" else 0
    lines = [
        f"  {fits} = icmp ult {kind} {right}, {constant(width)}",
        f"  {amount} = select {flag} {fits}, {kind} {right}, {kind} {constant(beyond)}",
    ]
    if opcode == "ashr":
        return [*lines, f"  {result} = ashr {kind} {left}, {amount}"]
    return [
        *lines,
        f"  {value} = {opcode} {kind} {left}, {amount}",
        f"  {result} = select {flag} {fits}, {kind} {value}, {kind} {constant(0)}",
    ]


def convert_to_integer(result: str, opcode: str, rest: str) -> tuple[list[str], str | None]:
    """Float to integer with saturation, NaN to 0; and the declaration that this needs."""
    source, _, target = rest.rpartition(" to ")
    source_type, value = take_type(source)
    suffix = _FLOAT_SUFFIX.get(source_type)
    if suffix is None or not re.fullmatch(r"i(8|16|32|64)", target):
        return [f"  {result} = {opcode} {rest}"], None
    intrinsic = f"@llvm.{opcode}.sat.{target}.{suffix}"
    return (
        [f"  {result} = call {target} {intrinsic}({source_type} {value})"],
        f"declare {target} {intrinsic}({source_type})",
    )
