"""Reading LLVM's text: types, operands and instructions.

llvmlite's objects hide flags, predicates and element types, which are only in their text; taking the text of one
instruction at a time is slow. So a function's text is read as a whole, by the grammar of the one LLVM version that
llvmlite is pinned to.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, field

import numpy as np

from windlass.llvm.layout import (
    FLOAT_DTYPES,
    I1,
    VOID,
    ArrayType,
    FloatType,
    IntegerType,
    LLVMType,
    OtherType,
    PointerType,
    StructType,
    VectorType,
)

# -- operands ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Operand:
    """Something that an instruction takes."""

    type: LLVMType


@dataclass(frozen=True, slots=True)
class Local(Operand):
    """A parameter or the result of an instruction."""

    name: str


@dataclass(frozen=True, slots=True)
class Number(Operand):
    """An integer or float constant; integers are unsigned, modulo 2**bits."""

    value: int | float


@dataclass(frozen=True, slots=True)
class Null(Operand):
    """The null pointer."""


@dataclass(frozen=True, slots=True)
class Undef(Operand):
    """undef or poison."""


@dataclass(frozen=True, slots=True)
class Zero(Operand):
    """zeroinitializer: all members of an aggregate are zero."""


@dataclass(frozen=True, slots=True)
class Members(Operand):
    """A constant array, vector or struct."""

    members: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Text(Operand):
    """A constant array of bytes."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Global(Operand):
    """The address of a global variable or function."""

    name: str


@dataclass(frozen=True, slots=True)
class Expression(Operand):
    """A constant expression: `opcode` as in instructions; `element` is the type that a getelementptr steps over."""

    opcode: str
    operands: tuple[Operand, ...]
    element: LLVMType = VOID


@dataclass(slots=True)
class Instruction:
    """One instruction: `name` is its result's ("" where it has none), `type` its result's type.

    `words` holds what else the opcode is written with: predicates, flags, orderings, atomic operations; for a call the
    alignments that its arguments promise. `element` is the type that a load reads, an alloca allots or a getelementptr
    steps over. `labels` are the blocks named by a terminator or by a phi (one per operand). `indices` are those of
    extractvalue, insertvalue and shufflevector.
    """

    opcode: str
    name: str
    type: LLVMType
    operands: tuple[Operand, ...] = ()
    words: tuple[str, ...] = ()
    element: LLVMType = VOID
    labels: tuple[str, ...] = ()
    indices: tuple[int, ...] = ()
    callee: str = ""
    location: int = -1
    block: str = ""
    order: int = 0


@dataclass(slots=True)
class BasicBlock:
    """A label and its instructions; the last is the terminator."""

    name: str
    instructions: list[Instruction] = field(default_factory=list[Instruction])

    @property
    def terminator(self) -> Instruction:
        return self.instructions[-1]


@dataclass(slots=True)
class FunctionText:
    """A function as read: parameters with their names, types and attribute text, and blocks in order."""

    name: str
    parameters: list[tuple[str, LLVMType, str]]
    blocks: dict[str, BasicBlock]
    location: int = -1


class UnknownSyntax(Exception):
    """A construct that the reader has no word for; the text says which."""


_TOKEN = re.compile(
    r"""[%@](?:[-\w$.]+|"[^"]*")"""  # names
    r"""|c?"[^"]*\""""  # strings
    r"""|![-\w$.]*|\#\d+"""  # metadata, attribute groups
    r"""|-?\d+\.\d+(?:e[-+]?\d+)?|0x[KLMHR]?[0-9A-Fa-f]+|-?\d+"""  # numbers
    r"""|[A-Za-z_][\w.$]*|\.\.\.|[()\[\]{}<>,=*:|]""",
    re.VERBOSE,
)
_VALUE_WORDS = frozenset({
    "true", "false", "null", "undef", "poison", "zeroinitializer", "none", "getelementptr", "addrspacecast", "bitcast",
    "ptrtoint", "ptrtoaddr", "inttoptr", "add", "sub", "xor", "trunc", "splat", "blockaddress", "dso_local_equivalent",
    "no_cfi", "asm", "insertelement", "extractelement", "shufflevector",
})  # fmt: skip
STARTS_OF_TYPES = re.compile(
    r"i\d+$|half$|bfloat$|float$|double$|ptr$|void$|[%\[{<]|x86_fp80$|fp128$|ppc_fp128$|label$"
)


def name_of(token: str) -> str:
    """The name without sigil and quotes."""
    return token[2:-1] if token[1:2] == '"' else token[1:]


class TypeTable:
    """The types of a module, by their text; named structs are resolved on first use."""

    def __init__(self, definitions: dict[str, str]) -> None:
        self.definitions = definitions
        self.known: dict[str, LLVMType] = {"void": VOID}

    def integer(self, text: str) -> IntegerType:
        known = self.known.get(text)
        if known is None:
            known = self.known[text] = IntegerType(text, int(text[1:]))
        assert isinstance(known, IntegerType)
        return known

    def named(self, token: str) -> LLVMType:
        known = self.known.get(token)
        if known is None:
            definition = self.definitions.get(token)
            if definition is None or definition == "opaque":
                known = OtherType(token)
            else:
                body = Reader(definition, self).read_type()
                known = StructType(token, body.fields, body.is_packed) if isinstance(body, StructType) else body
            self.known[token] = known
        return known


class Reader:
    """Reads from the tokens of one piece of text.

    Raises UnknownSyntax where the text does not follow the grammar.
    """

    __slots__ = ("alignments", "at", "tokens", "types")

    def __init__(self, text: str, types: TypeTable) -> None:
        self.tokens: list[str] = _TOKEN.findall(text)
        self.tokens.append("")
        self.at = 0
        self.types = types
        self.alignments: list[int] = []
        """Those that the arguments of a call promise."""

    def next(self) -> str:
        token = self.tokens[self.at]
        self.at += 1
        return token

    @property
    def peek(self) -> str:
        return self.tokens[self.at]

    def accept(self, token: str) -> bool:
        if self.tokens[self.at] == token:
            self.at += 1
            return True
        return False

    def expect(self, token: str) -> None:
        if not self.accept(token):
            near = " ".join(self.tokens[max(0, self.at - 6) : self.at + 6])
            raise UnknownSyntax(f"expected {token!r} near '{near}'")

    def skip_balanced(self) -> None:
        """Skip a parenthesis and all within."""
        depth = 0
        while True:
            token = self.next()
            if token == "(":
                depth += 1
            elif token == ")":
                depth -= 1
                if depth == 0:
                    return
            elif token == "":
                raise UnknownSyntax("unbalanced parenthesis")

    # -- types ----------------------------------------------------------------------------------------------------

    def read_type(self) -> LLVMType:
        token = self.next()
        known = self.types.known.get(token)
        if known is not None and token not in ("ptr", "["):
            return self.maybe_function(known)
        if token[0] == "i" and token[1:].isdigit():
            return self.maybe_function(self.types.integer(token))
        if token in FLOAT_DTYPES:
            known = self.types.known[token] = FloatType(token)
            return self.maybe_function(known)
        if token == "ptr":
            space = 0
            if self.accept("addrspace"):
                self.expect("(")
                space = int(self.next())
                self.expect(")")
            text = f"ptr addrspace({space})" if space else "ptr"
            pointer = self.types.known.get(text)
            if pointer is None:
                pointer = self.types.known[text] = PointerType(text, space)
            return self.maybe_function(pointer)
        if token[0] == "%":
            return self.types.named(token)
        if token == "[":
            count = int(self.next())
            self.expect("x")
            element = self.read_type()
            self.expect("]")
            return ArrayType(f"[{count} x {element.text}]", count, element)
        if token == "<":
            if self.accept("{"):
                fields = self.read_fields()
                self.expect(">")
                return StructType(f"<{{ {', '.join(each.text for each in fields)} }}>", fields, True)
            count = int(self.next())
            self.expect("x")
            element = self.read_type()
            self.expect(">")
            return VectorType(f"<{count} x {element.text}>", count, element)
        if token == "{":
            fields = self.read_fields()
            return StructType(f"{{ {', '.join(each.text for each in fields)} }}", fields, False)
        return OtherType(token)

    def maybe_function(self, result: LLVMType) -> LLVMType:
        """`i32 (ptr, ...)` in a call: the type of a function, of which only the result matters."""
        if (self.peek == "(" and self.tokens[self.at + 1] in ("...", ")", "ptr", "void")) or (
            self.peek == "("
            and STARTS_OF_TYPES.match(self.tokens[self.at + 1]) is not None
            and self.tokens[self.at + 2] in (",", ")")
        ):
            self.skip_balanced()
        return result

    def read_fields(self) -> tuple[LLVMType, ...]:
        fields: list[LLVMType] = []
        if self.accept("}"):
            return ()
        while True:
            fields.append(self.read_type())
            if self.accept("}"):
                return tuple(fields)
            self.expect(",")

    # -- operands -------------------------------------------------------------------------------------------------

    def read_typed(self) -> Operand:
        return self.read_value(self.read_type())

    def read_value(self, type_: LLVMType) -> Operand:
        token = self.next()
        first = token[:1]
        if first == "%":
            return Local(type_, name_of(token))
        if first == "@":
            return Global(type_, name_of(token))
        if isinstance(type_, IntegerType) and (first.isdigit() or first == "-"):
            return Number(type_, int(token) % (1 << type_.bits))
        if isinstance(type_, FloatType):
            number = parse_float(token, type_)
            if number is not None:
                return Number(type_, number)
        match token:
            case "true" | "false":
                return Number(I1, int(token == "true"))
            case "null":
                return Null(type_)
            case "undef" | "poison":
                return Undef(type_)
            case "zeroinitializer" | "none":
                return Zero(type_)
            case "{" | "[":
                return Members(type_, self.read_members("}" if token == "{" else "]"))
            case "<":
                if self.accept("{"):
                    members = self.read_members("}")
                    self.expect(">")
                    return Members(type_, members)
                return Members(type_, self.read_members(">"))
            case "splat":
                self.expect("(")
                one = self.read_typed()
                self.expect(")")
                assert isinstance(type_, VectorType)
                return Members(type_, (one,) * type_.count)
            case _:
                pass
        if first == "c" and token[1:2] == '"':
            return Text(type_, unescape(token[2:-1]))
        if token in _VALUE_WORDS:
            return self.read_expression(token, type_)
        raise UnknownSyntax(f"no operand begins with {token!r}")

    def read_members(self, close: str) -> tuple[Operand, ...]:
        members: list[Operand] = []
        if self.accept(close):
            return ()
        while True:
            members.append(self.read_typed())
            if self.accept(close):
                return tuple(members)
            self.expect(",")

    def read_expression(self, opcode: str, type_: LLVMType) -> Operand:
        while self.peek not in ("(", ""):
            self.next()
            if self.peek == "(" and self.tokens[self.at - 1] == "inrange":
                self.skip_balanced()
        self.expect("(")
        element: LLVMType = VOID
        if opcode == "getelementptr":
            element = self.read_type()
            self.expect(",")
        operands = [self.read_typed()]
        while self.accept(","):
            operands.append(self.read_typed())
        if self.accept("to"):
            type_ = self.read_type()
        self.expect(")")
        return Expression(type_, opcode, tuple(operands), element)

    def read_argument(self) -> Operand | None:
        """An argument of a call with its attributes; None for metadata."""
        if self.peek == "metadata":
            self.next()
            while self.tokens[self.at] not in (",", ")"):
                if self.tokens[self.at] == "(":
                    self.skip_balanced()
                else:
                    self.at += 1
            return None
        type_ = self.read_type()
        attributes = self.skip_attributes()
        if "align " in attributes:
            self.alignments.append(int(attributes.partition("align ")[2].split()[0]))
        return self.read_value(type_)

    def skip_attributes(self) -> str:
        """Skip parameter attributes; gives their text."""
        begin = self.at
        while True:
            token = self.peek
            if not (token[:1].isalpha() or token[:1] in '"') or token in _VALUE_WORDS or token[:2] == 'c"':
                break
            self.next()
            if token == "align" and self.peek.isdigit():
                self.next()
            elif self.peek == "(":
                self.skip_balanced()
        return " ".join(self.tokens[begin : self.at])


def parse_float(token: str, type_: FloatType) -> float | None:
    """The number that a token stands for; LLVM writes hexadecimal floats with the bits of a double."""
    if token[:3] == "0xH":
        return float(np.frombuffer(int(token[3:], 16).to_bytes(2, "little"), np.float16)[0])
    if token[:3] == "0xR":
        return struct.unpack("<f", (int(token[3:], 16) << 16).to_bytes(4, "little"))[0]
    if token[:2] == "0x":
        return struct.unpack("<d", int(token[2:], 16).to_bytes(8, "little"))[0]
    if token[:1].isdigit() or token[:1] == "-":
        return float(token)
    return None


def unescape(text: str) -> bytes:
    r"""The bytes of a string in LLVM's notation.

    >>> unescape(r"a\0A")
    b'a\n'
    """
    pieces = re.split(r"\\([0-9A-Fa-f]{2})", text.replace("\\\\", "\\5C"))
    return b"".join(
        bytes([int(piece, 16)]) if index % 2 else piece.encode("latin-1", "replace")
        for index, piece in enumerate(pieces)
    )
