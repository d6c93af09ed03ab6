"""How attribute values are written in MLIR, by the annotation of the field that holds them.

Annotations that are plain Python types have the obvious spelling; enumerations and other special ones are named here.
"""

from __future__ import annotations

import re
from typing import Any, TypeAlias

import numpy as np

Int32: TypeAlias = int
"""An attribute of type i32."""
MLIRText: TypeAlias = "str | None"
"""An attribute that is kept as MLIR text, absent where None."""
Matrix: TypeAlias = "tuple[tuple[int, ...], ...]"
"""A dense attribute of rank 2 (padding, replica groups, source and target pairs); absent where empty."""
Symbol: TypeAlias = str
"""The name of a function."""
QuotedText: TypeAlias = str
ComparisonDirection: TypeAlias = str
"""EQ, NE, LT, LE, GT or GE."""
ComparisonType: TypeAlias = "str | None"
"""FLOAT, TOTALORDER, SIGNED, UNSIGNED, or None: by the element type."""
PrecisionConfig: TypeAlias = "tuple[str, ...]"
"""DEFAULT, HIGH or HIGHEST for each operand; empty: default."""
FFTType: TypeAlias = str
"""FFT, IFFT, RFFT or IRFFT."""
Transposition: TypeAlias = str
"""NO_TRANSPOSE, TRANSPOSE or ADJOINT."""
RngDistribution: TypeAlias = str
"""UNIFORM or NORMAL."""
RngAlgorithm: TypeAlias = str
"""DEFAULT, THREE_FRY or PHILOX."""
ChannelHandle: TypeAlias = "tuple[int, int] | None"
"""Handle and type of a channel."""

_ENUMERATIONS = {
    "ComparisonDirection": "comparison_direction",
    "ComparisonType": "comparison_type",
    "FFTType": "fft_type",
    "Transposition": "transpose",
    "RngDistribution": "rng_distribution",
    "RngAlgorithm": "rng_algorithm",
}


def encode(annotation: str, value: Any) -> str | None:
    """MLIR text of an attribute's value; None where the attribute is to be left out.

    >>> encode("tuple[int, ...]", (1, 2))
    'array<i64: 1, 2>'
    >>> encode("ComparisonDirection", "LT")
    '#stablehlo<comparison_direction LT>'
    """
    if value is None:
        return None
    if annotation in _ENUMERATIONS:
        return f"#stablehlo<{_ENUMERATIONS[annotation]} {value}>"
    match annotation:
        case "int" | "int | None":
            return f"{value} : i64"
        case "Int32":
            return f"{value} : i32"
        case "bool" | "bool | None":
            return "true" if value else "false"
        case "tuple[int, ...]":
            return f"array<i64{': ' if value else ''}{', '.join(map(str, value))}>"
        case "tuple[bool, ...]":
            return f"array<i1{': ' if value else ''}{', '.join('true' if each else 'false' for each in value)}>"
        case "Matrix":
            if not value:
                return None
            rows = ", ".join(f"[{', '.join(map(str, row))}]" for row in value)
            width = len(value[0])
            return f"dense<{f'[{rows}]' if width else ''}> : tensor<{len(value)}x{width}xi64>"
        case "Symbol":
            return "@" + (value if re.fullmatch(r"[A-Za-z_][\w$.]*", value) else quote(value))
        case "QuotedText":
            return quote(value)
        case "PrecisionConfig":
            return f"[{', '.join(f'#stablehlo<precision {each}>' for each in value)}]" if value else None
        case "ChannelHandle":
            return f"#stablehlo.channel_handle<handle = {value[0]}, type = {value[1]}>"
        case "MLIRText":
            return value
        case _:
            raise TypeError(f"a field annotated {annotation} has no MLIR spelling: encode and decode need one")


def decode(annotation: str, text: str) -> Any:
    """The value of an attribute from its MLIR text: the inverse of `encode`.

    >>> decode("tuple[bool, ...]", "array<i1: true, false>")
    (True, False)
    >>> decode("Matrix", "dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>")
    ((0, 1), (2, 3))
    """
    if annotation in _ENUMERATIONS:
        return text.rstrip(">").split()[-1]
    match annotation:
        case "int" | "int | None" | "Int32":
            return int(text.split(":", maxsplit=1)[0])
        case "bool" | "bool | None":
            return text.startswith(("true", "dense<true", "unit"))
        case "tuple[int, ...]":
            return tuple(int(item) for item in re.findall(r"-?\d+", text.partition(":")[2]))
        case "tuple[bool, ...]":
            return tuple(item == "true" for item in re.findall(r"true|false", text))
        case "Matrix":
            return _decode_matrix(text)
        case "Symbol":
            return unquote(text[1:]) if text.startswith('@"') else text[1:]
        case "QuotedText":
            return unquote(text)
        case "PrecisionConfig":
            return tuple(re.findall(r"precision (\w+)", text))
        case "ChannelHandle":
            handle, kind = re.findall(r"-?\d+", text)
            return (int(handle), int(kind))
        case "MLIRText":
            return text
        case _:
            raise TypeError(f"no MLIR spelling for a field of type {annotation}")


def _decode_matrix(text: str) -> tuple[tuple[int, ...], ...]:
    body, _, type_ = text.rpartition(":")
    shape = re.search(r"tensor<(\d+)x(\d+)xi64>", type_)
    if shape is None:
        raise ValueError(f"expected a dense attribute of rank 2, got {text}")
    rows, columns = int(shape.group(1)), int(shape.group(2))
    if found := re.search(r'"0x([0-9A-Fa-f]*)"', body):
        numbers = np.frombuffer(bytes.fromhex(found.group(1)), "<i8").tolist()
    else:
        numbers = [int(item) for item in re.findall(r"-?\d+", body)]
    if len(numbers) == 1 and rows * columns != 1:
        numbers *= rows * columns
    return tuple(tuple(numbers[row * columns : (row + 1) * columns]) for row in range(rows))


def quote(text: str) -> str:
    """A string literal of MLIR.

    >>> quote('say "hi"')
    '"say \\\\22hi\\\\22"'
    """
    pieces: list[str] = []
    for byte in text.encode("utf-8", "surrogateescape"):
        character = chr(byte)
        plain = 32 <= byte < 127 and character not in '"\\'
        pieces.append(character if plain else f"\\{byte:02X}")
    return f'"{"".join(pieces)}"'


def unquote(text: str) -> str:
    """The inverse of `quote`.

    >>> unquote('"a\\\\22b"')
    'a"b'
    """
    data = bytearray()
    index, inner = 0, text.strip()[1:-1].encode("utf-8", "surrogateescape")
    while index < len(inner):
        if inner[index] != ord("\\"):
            data.append(inner[index])
            index += 1
        elif inner[index + 1 : index + 2] in (b"\\", b'"'):
            data.append(inner[index + 1])
            index += 2
        elif inner[index + 1 : index + 2] in (b"n", b"t"):
            data.append({ord("n"): 10, ord("t"): 9}[inner[index + 1]])
            index += 2
        else:
            data.append(int(inner[index + 1 : index + 3], 16))
            index += 3
    return data.decode("utf-8", "surrogateescape")
