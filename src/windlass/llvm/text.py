"""Reading pieces of LLVM IR text: types, operands, argument lists; and the sizes of types on a 64-bit machine."""

from __future__ import annotations

import re

from windlass.llvm.names import NAME

_SIMPLE_TYPE = re.compile(rf"ptr(?: addrspace\(\d+\))?|%{NAME}|[a-z]\w*")
_SIMPLE_OPERAND = re.compile(rf"[%@]{NAME}|[-+]?[\w.]+(?:e[-+]\d+)?(?![\w. ]*\()")
_OPENING = "([{<"
_CLOSING = ")]}>"
_ATTRIBUTE = re.compile(
    r"(?:noundef|nonnull|zeroext|signext|inreg|readonly|writeonly|readnone|nocapture|noalias|nofree|immarg|returned|"
    r"nest|writable|swiftself|dead_on_unwind|dead_on_return|noext|inalloca|allocptr|allocalign|"
    r"align \d+|(?:alignstack|captures|dereferenceable|dereferenceable_or_null|nofpclass|range)\([^)]*\)) ?"
)
_TYPED_ATTRIBUTE = re.compile(r"(byval|sret|byref|preallocated|elementtype|initializes)\(")


def balanced_end(text: str, start: int) -> int:
    """The index after the bracket that closes the one at `start`; quoted text is passed over."""
    depth = 0
    position = start
    while position < len(text):
        character = text[position]
        if character == '"':
            position = text.index('"', position + 1)
        elif character in _OPENING:
            depth += 1
        elif character in _CLOSING:
            depth -= 1
            if depth == 0:
                return position + 1
        position += 1
    raise ValueError(f"unbalanced brackets: {text[start : start + 80]}")


def split_at_commas(text: str) -> list[str]:
    """The parts between commas that no bracket or quote encloses.

    >>> split_at_commas("i32 %a, { i32, i64 } %b")
    ['i32 %a', '{ i32, i64 } %b']
    """
    if not any(character in text for character in '([{<"'):
        return [part.strip() for part in text.split(",")] if text.strip() else []
    parts: list[str] = []
    depth = 0
    start = position = 0
    while position < len(text):
        character = text[position]
        if character == '"':
            position = text.index('"', position + 1)
        elif character in _OPENING:
            depth += 1
        elif character in _CLOSING:
            depth -= 1
        elif character == "," and depth == 0:
            parts.append(text[start:position].strip())
            start = position + 1
        position += 1
    parts.append(text[start:].strip())
    return [part for part in parts if part]


def take_type(text: str) -> tuple[str, str]:
    """A type at the start of the text, and what follows it.

    >>> take_type("ptr addrspace(3) @tile, align 4")
    ('ptr addrspace(3)', '@tile, align 4')
    """
    text = text.lstrip()
    if text[0] in "[{<":
        end = balanced_end(text, 0)
    else:
        match = _SIMPLE_TYPE.match(text)
        if match is None:
            raise ValueError(f"not a type: {text[:80]}")
        end = match.end()
    if text[end : end + 2] == " (":  # a function type, as in calls of variadic functions
        close = balanced_end(text, end + 1)
        if text[close : close + 2] in (" @", " %"):
            end = close
    return text[:end], text[end:].lstrip()


def take_operand(text: str) -> tuple[str, str]:
    """A value at the start of the text (a name, a number, a constant expression), and what follows it.

    >>> take_operand("addrspacecast (ptr addrspace(3) @t to ptr), align 4")
    ('addrspacecast (ptr addrspace(3) @t to ptr)', ', align 4')
    """
    text = text.lstrip()
    match = _SIMPLE_OPERAND.match(text)
    if match is not None:
        return text[: match.end()], text[match.end() :]
    opening = min((place for place in map(text.find, _OPENING) if place >= 0), default=-1)
    if opening < 0:
        return text, ""
    end = balanced_end(text, opening)
    return text[:end], text[end:]


def take_argument(text: str) -> tuple[str, str, dict[str, str]]:
    """Type, value and the attributes that name a type (byval, sret) of one parameter or call argument.

    >>> take_argument("ptr noundef byval(%struct.P) align 8 %p")
    ('ptr', '%p', {'byval': '%struct.P'})
    """
    kind, rest = take_type(text)
    attributes: dict[str, str] = {}
    while rest:
        match = _ATTRIBUTE.match(rest)
        if match is not None:
            if not rest[match.end() :] or match.group(0)[-1] == " " or rest[match.end()] == " ":
                rest = rest[match.end() :]
                continue
            break
        match = _TYPED_ATTRIBUTE.match(rest)
        if match is None:
            break
        end = balanced_end(rest, match.end() - 1)
        attributes[match.group(1)] = rest[match.end() : end - 1]
        rest = rest[end:].lstrip()
    return kind, rest.strip(), attributes


class Layouts:
    """Sizes and alignments of types, given the named structs of a module."""

    def __init__(self) -> None:
        self.named: dict[str, str] = {}
        self._known: dict[str, tuple[int, int]] = {}

    def of(self, kind: str) -> tuple[int, int]:
        """Size (with padding at the end) and alignment in bytes.

        >>> Layouts().of("{ i8, double, i16 }")
        (24, 8)
        """
        found = self._known.get(kind)
        if found is None:
            found = self._known[kind] = self._compute(kind)
        return found

    def store_size(self, kind: str) -> int:
        """Bytes that a load or store of the type touches: less than its size for `<3 x float>`."""
        match = re.fullmatch(r"<(\d+) x (.+)>", kind)
        if match is None:
            return self.of(kind)[0]
        return (int(match.group(1)) * self._bits(match.group(2)) + 7) // 8

    def _bits(self, kind: str) -> int:
        match = re.fullmatch(r"i(\d+)", kind)
        return int(match.group(1)) if match else 8 * self.of(kind)[0]

    def _compute(self, kind: str) -> tuple[int, int]:
        scalar = {"half": 2, "bfloat": 2, "float": 4, "double": 8, "fp128": 16}.get(kind)
        if kind.startswith("ptr"):
            scalar = 8
        if scalar is not None:
            return scalar, scalar
        match = re.fullmatch(r"i(\d+)", kind)
        if match:
            size = 1
            while size * 8 < int(match.group(1)):
                size *= 2
            return size, min(size, 16)
        if kind.startswith("%"):
            if kind not in self.named:
                raise ValueError(f"type without a definition: {kind}")
            return self.of(self.named[kind])
        match = re.fullmatch(r"\[(\d+) x (.+)\]", kind)
        if match:
            size, alignment = self.of(match.group(2))
            return int(match.group(1)) * size, alignment
        match = re.fullmatch(r"<(\d+) x (.+)>", kind)
        if match:
            size = 1
            while size < (int(match.group(1)) * self._bits(match.group(2)) + 7) // 8:
                size *= 2
            return size, size
        packed = kind.startswith("<{")
        if packed or kind.startswith("{"):
            return self._struct(split_at_commas(kind[2:-2] if packed else kind[1:-1]), packed)
        raise ValueError(f"type of unknown size: {kind}")

    def _struct(self, fields: list[str], packed: bool) -> tuple[int, int]:
        offset, most = 0, 1
        for field in fields:
            size, alignment = self.of(field)
            if packed:
                alignment = 1
            offset = -(-offset // alignment) * alignment + size
            most = max(most, alignment)
        return -(-offset // most) * most, most


__all__ = [
    "Layouts",
    "balanced_end",
    "split_at_commas",
    "take_argument",
    "take_operand",
    "take_type",
]
