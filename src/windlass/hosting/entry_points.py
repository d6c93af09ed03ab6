"""What calls the host functions of a program by name: code that takes the arguments from words, and what they are.

For each function that a unit defines, and whose types are numbers and addresses, an entry point is added to the unit,
the other way round than in `library_calls.py`: it reads the arguments from words of 64 bits, one after another, calls
the function, and stores what that returns. A text in the program lists the functions, from which `read_entries` knows
what there is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from windlass.hosting.library_calls import INTEGERS, KINDS, RESULTS, split_parameters, type_of

LIST = "windlass_entries"
PREFIX = "windlass_entry_"
# Nor those of headers, which every unit may define.
_DEFINITION = re.compile(
    r"^define (?!internal |private |linkonce)([^@\n]*)@([A-Za-z_]\w*)\((.*)\)[^)\n]*\{$", re.MULTILINE
)
_BUILTINS = {
    "v": "void", "b": "bool", "c": "char", "a": "signed char", "h": "unsigned char", "s": "short",
    "t": "unsigned short", "i": "int", "j": "unsigned int", "l": "long", "m": "unsigned long", "x": "long long",
    "y": "unsigned long long", "f": "float", "d": "double",
}  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """A host function that can be called: its name in the source, the linker's, and what it takes and returns.

    `kinds` has a character for each argument: i an integer, p an address, f a float, d a double. `bits` are those of
    the integers. `types` are the arguments' types as the source has them, "" where that is not known; `result` is
    the LLVM type of what is returned.
    """

    name: str
    symbol: str
    kinds: str
    bits: tuple[int, ...]
    result: str
    types: tuple[str, ...]

    @property
    def shown(self) -> str:
        """The function as messages show it.

        >>> read_entry("_Z4stepPfPKfi|ppi|64,64,32|void").shown
        'step(float *, const float *, int)'
        """
        return f"{self.name}({', '.join(each or '?' for each in self.types)})"


def with_entry_points(units: Sequence[str]) -> list[str]:
    """The units (LLVM IR) with entry points for the functions that they define, and one more that lists them.

    >>> unit, listed = with_entry_points(["define void @step(ptr noundef %x, i32 noundef %n) {"])
    >>> [line for line in unit.splitlines() if PREFIX in line], "step|pi|64,32|void" in listed
    (['define void @windlass_entry_step(ptr %words, ptr %result) {'], True)
    """
    found, lines = list[str](), dict[str, str]()
    for unit in units:
        added = list[str]()
        for match in _DEFINITION.finditer(unit):
            prefix, symbol, text = match.groups()
            if symbol in lines or "device_stub" in symbol or symbol == "main" or "..." in text or "sret" in text:
                continue
            parameters = split_parameters(text)
            result = type_of(prefix, RESULTS)
            types = [each for each in (type_of(text, (*KINDS, *INTEGERS)) for text in parameters) if each is not None]
            if result is None or len(types) < len(parameters) or "<2 x float>" in types:
                continue
            added.append(_entry_point(symbol, result, types, parameters))
            kinds = "".join(KINDS.get(each, "i") for each in types)
            bits = ",".join(each[1:] if each in INTEGERS else "64" for each in types)
            lines[symbol] = f"{symbol}|{kinds}|{bits}|{result}"
        found.append("\n".join([unit, *added]))
    content = "\n".join(lines.values())
    listed = content.replace("\n", "\\0A")
    return [*found, f'@{LIST} = constant [{len(content) + 1} x i8] c"{listed}\\00"']


def _entry_point(symbol: str, result: str, types: Sequence[str], parameters: Sequence[str]) -> str:
    """The entry point's definition."""
    body, arguments = list[str](), list[str]()
    for place, (type_, parameter) in enumerate(zip(types, parameters, strict=True)):
        attribute = next((f" {word}" for word in ("zeroext", "signext") if word in parameter), "")
        body.append(f"  %w{place} = getelementptr i64, ptr %words, i64 {place}")
        body.append(f"  %a{place} = load {type_}, ptr %w{place}, align 8")
        arguments.append(f"{type_}{attribute} %a{place}")
    call = f"call {result} @{symbol}({', '.join(arguments)})"
    if result == "void":
        body.append(f"  {call}")
    else:
        body += [f"  %value = {call}", f"  store {result} %value, ptr %result, align 8"]
    return "\n".join([f"define void @{PREFIX}{symbol}(ptr %words, ptr %result) {{", *body, "  ret void", "}"])


def read_entries(listed: str) -> Mapping[str, list[Entry]]:
    """The functions that a program lists, by their names in the source; there may be several of one name."""
    found: dict[str, list[Entry]] = {}
    for line in listed.splitlines():
        entry = read_entry(line)
        found.setdefault(entry.name, []).append(entry)
    return found


def read_entry(line: str) -> Entry:
    """The function that a line of the list tells of."""
    symbol, kinds, bits, result = line.split("|")
    widths = tuple(int(each) for each in bits.split(",") if each)
    name, rest = _read_name(symbol)
    types = _read_types(rest, len(kinds))
    return Entry(name, symbol, kinds, widths, result, types)


def _read_name(symbol: str) -> tuple[str, str]:
    """A function's name in the source, and what the linker's name says of its parameters: "" for C's.

    >>> _read_name("_Z4stepPfi"), _read_name("_ZN5ocean4stepEPf"), _read_name("step")
    (('step', 'Pfi'), ('ocean::step', 'Pf'), ('step', ''))
    """
    if not symbol.startswith("_Z"):
        return symbol, ""
    rest = symbol[2:]
    is_nested = rest.startswith("N")
    rest = rest[1:] if is_nested else rest
    parts = list[str]()
    while match := re.match(r"(\d+)", rest):
        length = int(match[1])
        parts.append(rest[match.end() : match.end() + length])
        rest = rest[match.end() + length :]
        if not is_nested:
            break
    if is_nested:
        if not rest.startswith("E"):
            return symbol, ""
        rest = rest[1:]
    return ("::".join(parts), rest) if parts else (symbol, "")


def _read_types(text: str, count: int) -> tuple[str, ...]:
    """The parameters' types as the linker's name has them; "" from the first on that isn't understood.

    >>> _read_types("PfPKfS1_i", 4)
    ('float *', 'const float *', 'const float *', 'int')
    """
    reader = _TypeReader(text)
    found = list[str]()
    while len(found) < count:
        each = reader.read()
        if each is None:
            break
        if each != "void":
            found.append(each)
        elif not reader.rest:
            break
    return (*found, *("",) * (count - len(found)))


class _TypeReader:
    """Reads types of the Itanium C++ ABI, of which those are understood that libraries' interfaces are made of."""

    def __init__(self, rest: str) -> None:
        self.rest = rest
        self.known: list[str] = []

    def read(self) -> str | None:
        """The next type; None where it isn't understood."""
        rest = self.rest
        if not rest:
            return None
        if rest[0] in _BUILTINS:
            self.rest = rest[1:]
            return _BUILTINS[rest[0]]
        if match := re.match(r"S([0-9A-Z]*)_", rest):
            self.rest = rest[match.end() :]
            place = int(match[1], 36) + 1 if match[1] else 0
            return self.known[place] if place < len(self.known) else None
        if rest[0] in "PRK":
            self.rest = rest[1:]
            inner = self.read()
            if inner is None:
                return None
            found = f"const {inner}" if rest[0] == "K" else f"{inner} {'*' if rest[0] == 'P' else '&'}"
        elif match := re.match(r"\d+", rest):
            end = match.end() + int(match[0])
            found, self.rest = rest[match.end() : end], rest[end:]
        else:
            return None
        self.known.append(found)
        return found
