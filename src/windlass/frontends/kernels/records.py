"""Records (NumPy's structured dtypes) as structures of C++."""

from __future__ import annotations

from typing import Any

import numpy as np

from windlass.frontends.kernels.types import Record, from_dtype


def fields_of(record: Record) -> dict[str, tuple[np.dtype[Any], int]]:
    """The fields of a record: dtype and offset of each."""
    return {name: (found[0], found[1]) for name, found in (record.dtype.fields or {}).items()}


def field_name(name: str) -> str:
    """A field's name in C++.

    >>> field_name("x"), field_name("a b")
    ('x', 'a_b')
    """
    return "".join(letter if letter.isalnum() else "_" for letter in name)


def record_text(record: Record) -> str:
    """The C++ structure of a record: its fields at their places, and bytes between them."""
    lines: list[str] = []
    at = 0
    fields = sorted(fields_of(record).items(), key=lambda item: item[1][1])
    for name, (dtype, offset) in fields:
        if offset > at:
            lines.append(f"    unsigned char gap_{at}[{offset - at}];")
        base, shape = dtype.subdtype if dtype.subdtype is not None else (dtype, ())
        axes = "".join(f"[{extent}]" for extent in shape)
        lines.append(f"    {from_dtype(base).cpp} {field_name(name)}{axes};")
        at = offset + dtype.itemsize
    if record.dtype.itemsize > at:
        lines.append(f"    unsigned char gap_{at}[{record.dtype.itemsize - at}];")
    is_aligned = (
        all(offset % (dtype.base.alignment or 1) == 0 for _, (dtype, offset) in fields)
        and record.dtype.itemsize % max((dtype.base.alignment for _, (dtype, _) in fields), default=1) == 0
    )
    packed = "" if is_aligned else "__attribute__((packed)) "
    return "\n".join([f"struct {packed}{record.cpp} {{", *lines, "};"])
