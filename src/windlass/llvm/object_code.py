"""Object code of this machine: which symbols it needs from outside."""

from __future__ import annotations

import struct

_SYMBOL_TABLE = 2
_SYMBOL = struct.Struct("<IBBHQQ")


def undefined_symbols(code: bytes) -> set[str]:
    """The names that an object file (ELF, 64 bits) refers to and does not define.

    Raises ValueError for anything else.
    """
    if code[:6] != b"\x7fELF\x02\x01":
        raise ValueError("object code that is not ELF of 64 bits")
    (table,) = struct.unpack_from("<Q", code, 0x28)
    size, count = struct.unpack_from("<HH", code, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", code, table + size * number) for number in range(count)]
    found: set[str] = set()
    for _, kind, _, _, offset, length, link, _, _, _ in sections:
        if kind != _SYMBOL_TABLE:
            continue
        names = sections[link][4]
        for place in range(offset + _SYMBOL.size, offset + length, _SYMBOL.size):
            name, _, _, section, _, _ = _SYMBOL.unpack_from(code, place)
            if section == 0:
                found.add(code[names + name : code.index(b"\0", names + name)].decode())
    return found
