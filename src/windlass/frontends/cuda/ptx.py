"""The parts of PTX statements as parts of CUDA C++ statements.

Registers become variables, predicates conditions, labels labels. `ptx_instructions` says what instructions become.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


class UnknownPTX(Exception):
    """An instruction, or a form of one, that has no translation here."""


@dataclass(frozen=True)
class Statement:
    """`@guard opcode.modifiers operands;` with the text of each operand."""

    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[str, ...]
    guard: str = ""


TYPES = {
    "pred": "bool", "b8": "unsigned char", "u8": "unsigned char", "s8": "signed char", "b16": "unsigned short",
    "u16": "unsigned short", "s16": "short", "b32": "unsigned", "u32": "unsigned", "s32": "int",
    "b64": "unsigned long long", "u64": "unsigned long long", "s64": "long long", "f16": "_Float16", "bf16": "__bf16",
    "f16x2": "half2", "f32": "float", "f64": "double",
}  # fmt: skip
_REGISTERS = TYPES | {"f16": "unsigned short", "bf16": "unsigned short", "f16x2": "unsigned", "bf16x2": "unsigned"}
WIDER = {"u16": "unsigned", "s16": "int", "u32": "unsigned long long", "s32": "long long"}

_SPECIAL_REGISTERS = {
    "laneid": "__nvvm_read_ptx_sreg_laneid()",
    "warpid": "__nvvm_read_ptx_sreg_warpid()",
    "nwarpid": "__nvvm_read_ptx_sreg_nwarpid()",
    "smid": "__nvvm_read_ptx_sreg_smid()",
    "nsmid": "__nvvm_read_ptx_sreg_nsmid()",
    "gridid": "__nvvm_read_ptx_sreg_gridid()",
    "clock": "__nvvm_read_ptx_sreg_clock()",
    "clock64": "__nvvm_read_ptx_sreg_clock64()",
    "globaltimer": "__nvvm_read_ptx_sreg_globaltimer()",
    "globaltimer_lo": "(unsigned)__nvvm_read_ptx_sreg_globaltimer()",
    "globaltimer_hi": "(unsigned)(__nvvm_read_ptx_sreg_globaltimer() >> 32)",
    **{f"lanemask_{kind}": f"__nvvm_read_ptx_sreg_lanemask_{kind}()" for kind in ("eq", "lt", "le", "gt", "ge")},
    **{
        f"{name}.{axis}": f"__nvvm_read_ptx_sreg_{name}_{axis}()"
        for name in ("tid", "ntid", "ctaid", "nctaid")
        for axis in "xyz"
    },
}

Rule = Callable[["Translation", Statement], str]
RULES: dict[str, Rule] = {}

PLACE = "place_"
"""How the C++ variables of an asm statement's operands begin."""


def instruction(*opcodes: str) -> Callable[[Rule], Rule]:
    """The function says what these instructions are in C++."""

    def register(rule: Rule) -> Rule:
        for opcode in opcodes:
            RULES[opcode] = rule
        return rule

    return register


# -- reading ----------------------------------------------------------------------------------------------------------

_STATEMENT = re.compile(r"(?:@(!?)([\w$%]+)\s+)?([a-z][a-z0-9_]*)((?:\.[\w:]+)*)\s*(.*)", re.DOTALL)
_LABEL = re.compile(r"([A-Za-z$_][\w$]*)\s*:(?!:)\s*")
_OPENING, _CLOSING = "{[(", "}])"


def split_statements(text: str) -> list[str]:
    """Statements, labels, and braces of scopes."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)
    found: list[str] = []
    rest = text.strip()
    while rest:
        if rest[0] in "{};":
            found += [rest[0]] if rest[0] != ";" else []
            rest = rest[1:].lstrip()
        elif label := _LABEL.match(rest):
            found.append(f"{label[1]}:")
            rest = rest[label.end() :]
        else:
            statement, _, rest = rest.partition(";")
            found.append(" ".join(statement.split()))
            rest = rest.lstrip()
    return found


def _operands(text: str) -> tuple[str, ...]:
    """What stands between commas outside of brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in _OPENING) - (character in _CLOSING)
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return tuple(part.strip() for part in parts if part.strip())


# -- writing ----------------------------------------------------------------------------------------------------------


class Translation:
    """One piece of assembly: what its names are in C++."""

    def __init__(self, places: Mapping[str, str], rules: Mapping[str, Rule]) -> None:
        self.scopes: list[dict[str, str]] = [dict(places)]
        self.rules = rules

    def translate(self, text: str) -> str:
        """One statement, label or brace."""
        if text == "{":
            self.scopes.append({})
            return "{"
        if text == "}":
            if len(self.scopes) == 1:
                raise UnknownPTX("a brace too many")
            self.scopes.pop()
            return "}"
        if text.endswith(":"):
            return f"{label_of(text[:-1])}: ;"
        if text.startswith(".reg"):
            return self._declare(text)
        match = _STATEMENT.fullmatch(text)
        if match is None:
            raise UnknownPTX(text)
        negation, guard, opcode, modifiers, operands = match.groups()
        statement = Statement(opcode, tuple(modifiers.split(".")[1:]), _operands(operands), guard or "")
        rule = self.rules.get(opcode)
        if rule is None:
            raise UnknownPTX(opcode)
        written = rule(self, statement)
        return f"if ({negation or ''}{self.name(guard)}) {{ {written} }}" if guard else written

    def _declare(self, text: str) -> str:
        match = re.fullmatch(r"\.reg\s*\.(\w+)\s+(.*)", text)
        if match is None or match[1] not in _REGISTERS:
            raise UnknownPTX(text)
        declared: list[str] = []
        for name in match[2].split(","):
            counted = re.fullmatch(r"\s*([\w$%]+)<(\d+)>\s*", name)
            names = [f"{counted[1]}{place}" for place in range(int(counted[2]))] if counted else [name.strip()]
            for each in names:
                self.scopes[-1][each] = "ptx_" + re.sub(r"\W", "_", each)
                declared.append(f"{self.scopes[-1][each]} = 0")
        return f"{_REGISTERS[match[1]]} {', '.join(declared)};"

    def name(self, operand: str) -> str:
        """The C++ variable of a register."""
        for scope in reversed(self.scopes):
            if operand in scope:
                return scope[operand]
        raise UnknownPTX(operand)

    def read(self, operand: str, type_: str) -> str:
        """The operand as a C++ value of the type."""
        return f"as<{type_}>({self.value(operand, type_)})"

    def value(self, operand: str, type_: str) -> str:
        if operand.startswith("$"):
            operand = self.name(operand)
        if operand.startswith("%") and operand[1:] in _SPECIAL_REGISTERS:
            return _SPECIAL_REGISTERS[operand[1:]]
        if operand == "WARP_SZ":
            return "32"
        if float_bits := re.fullmatch(r"0[fF]([0-9a-fA-F]{8})|0[dD]([0-9a-fA-F]{16})", operand):
            return f"as<float>(0x{float_bits[1]}u)" if float_bits[1] else f"as<double>(0x{float_bits[2]}ull)"
        if re.fullmatch(r"-?(?:0[xX][0-9a-fA-F]+|\d+)U?", operand):
            return f"({type_}){operand.rstrip('U')}{'ll' if 'long long' in type_ else ''}"
        if re.fullmatch(r"-?\d+\.\d*(?:[eE][-+]?\d+)?", operand):
            return f"({type_}){operand}"
        if operand.startswith("!"):
            return f"!{self.name(operand[1:].strip())}"
        return operand if operand.startswith(PLACE) else self.name(operand)

    def number(self, operand: str) -> int:
        """The number that an operand must be."""
        text = self.name(operand) if operand.startswith("$") else operand
        if not re.fullmatch(r"-?(?:0[xX][0-9a-fA-F]+|\d+)", text):
            raise UnknownPTX(operand)
        return int(text, 0)

    def put(self, operand: str, value: str) -> str:
        """A result given to a register, or dropped."""
        return f"(void)({value});" if operand == "_" else f"put({self.name(operand)}, {value});"

    def place(self, operand: str, type_: str, space: str) -> str:
        """A pointer for `[base+offset]`."""
        match = re.fullmatch(r"\[\s*([^\s+\]]+)\s*(?:\+\s*([^\s\]]+)\s*)?\]", operand)
        if match is None:
            raise UnknownPTX(operand)
        offset = "0" if match[2] is None else self.value(match[2], "int")
        address = self.name(match[1])
        if space != "shared":
            address = f"as<unsigned long long>({address})"
        return f"place<{type_}>({address}, {offset})"


def label_of(name: str) -> str:
    return "ptx_label_" + re.sub(r"\W", "_", name)


def type_of(statement: Statement, place: int = -1) -> str:
    """The C++ type of the modifier at that place."""
    if not statement.modifiers or statement.modifiers[place] not in TYPES:
        raise UnknownPTX(spell(statement))
    return TYPES[statement.modifiers[place]]


def spell(statement: Statement) -> str:
    return ".".join((statement.opcode, *statement.modifiers))


def require(
    statement: Statement, modifiers: Sequence[str], allowed: Sequence[str], operands: int | None = None
) -> None:
    """Raise unless only allowed modifiers are left, and there are so many operands."""
    if any(each not in allowed for each in modifiers):
        raise UnknownPTX(spell(statement))
    if operands is not None and len(statement.operands) != operands:
        raise UnknownPTX(f"{spell(statement)} with {len(statement.operands)} operands")
