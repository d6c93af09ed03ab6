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

from windlass.frontends.llvm.layout import (
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
_METADATA_TAIL = re.compile(r"(?:, ![\w.]+ (?:![\w.]+|!\{[^}]*\}))+$")
_LOCATION = re.compile(r"!dbg !(\d+)")
_VALUE_WORDS = frozenset({
    "true", "false", "null", "undef", "poison", "zeroinitializer", "none", "getelementptr", "addrspacecast", "bitcast",
    "ptrtoint", "ptrtoaddr", "inttoptr", "add", "sub", "xor", "trunc", "splat", "blockaddress", "dso_local_equivalent",
    "no_cfi", "asm", "insertelement", "extractelement", "shufflevector",
})  # fmt: skip
_CASTS = frozenset({
    "trunc", "zext", "sext", "fptrunc", "fpext", "fptoui", "fptosi", "uitofp", "sitofp", "ptrtoint", "ptrtoaddr",
    "inttoptr", "bitcast", "addrspacecast",
})  # fmt: skip
_BINARY = frozenset({
    "add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "shl", "lshr", "ashr", "and", "or", "xor", "fadd", "fsub",
    "fmul", "fdiv", "frem",
})  # fmt: skip
_STARTS_OF_TYPES = re.compile(
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
            and _STARTS_OF_TYPES.match(self.tokens[self.at + 1]) is not None
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


# -- instructions -----------------------------------------------------------------------------------------------------


def read_instruction(text: str, types: TypeTable) -> Instruction:
    """One instruction from its text (a switch with its cases on one line).

    Raises UnknownSyntax where the text does not follow the grammar.
    """
    location = -1
    if "!dbg" in text:
        found = _LOCATION.search(text)
        if found is not None:
            location = int(found.group(1))
    reader = Reader(_METADATA_TAIL.sub("", text), types)
    name = ""
    if reader.peek[:1] == "%" and reader.tokens[1] == "=":
        name = name_of(reader.next())
        reader.next()
    opcode = reader.next()
    if opcode in ("tail", "musttail", "notail"):
        opcode = reader.next()
    instruction = _read_body(opcode, name, reader)
    instruction.location = location
    return instruction


def _read_words(reader: Reader) -> tuple[str, ...]:
    """Flags and predicates before a type."""
    words: list[str] = []
    while _STARTS_OF_TYPES.match(reader.peek) is None:
        if reader.peek == "":
            raise UnknownSyntax("an instruction ends early")
        words.append(reader.next())
    return tuple(words)


def _read_body(opcode: str, name: str, reader: Reader) -> Instruction:
    if opcode in _BINARY or opcode in ("icmp", "fcmp"):
        words = _read_words(reader)
        left = reader.read_typed()
        reader.expect(",")
        right = reader.read_value(left.type)
        type_ = left.type
        if opcode in ("icmp", "fcmp"):
            type_ = VectorType(f"<{type_.count} x i1>", type_.count, I1) if isinstance(type_, VectorType) else I1
        return Instruction(opcode, name, type_, (left, right), words)
    if opcode in _CASTS:
        words = _read_words(reader)
        source = reader.read_typed()
        reader.expect("to")
        return Instruction(opcode, name, reader.read_type(), (source,), words)
    match opcode:
        case "getelementptr":
            words: tuple[str, ...] = ()
            while _STARTS_OF_TYPES.match(reader.peek) is None:
                words += (reader.next(),)
                if reader.peek == "(":
                    reader.skip_balanced()
            element = reader.read_type()
            operands: list[Operand] = []
            while reader.accept(","):
                operands.append(reader.read_typed())
            return Instruction(opcode, name, operands[0].type, tuple(operands), words, element)
        case "load":
            words = _read_words(reader)
            type_ = reader.read_type()
            reader.expect(",")
            return Instruction(opcode, name, type_, (reader.read_typed(),), words, type_)
        case "store":
            words = _read_words(reader)
            value = reader.read_typed()
            reader.expect(",")
            return Instruction(opcode, name, VOID, (value, reader.read_typed()), words, value.type)
        case "phi":
            words = _read_words(reader)
            type_ = reader.read_type()
            values: list[Operand] = []
            labels: list[str] = []
            while True:
                reader.expect("[")
                values.append(reader.read_value(type_))
                reader.expect(",")
                labels.append(name_of(reader.next()))
                reader.expect("]")
                if not reader.accept(","):
                    break
            return Instruction(opcode, name, type_, tuple(values), words, labels=tuple(labels))
        case "br":
            if reader.accept("label"):
                return Instruction(opcode, name, VOID, labels=(name_of(reader.next()),))
            condition = reader.read_typed()
            labels = []
            while reader.accept(","):
                reader.expect("label")
                labels.append(name_of(reader.next()))
            return Instruction(opcode, name, VOID, (condition,), labels=tuple(labels))
        case "switch":
            values = [reader.read_typed()]
            reader.expect(",")
            reader.expect("label")
            labels = [name_of(reader.next())]
            reader.expect("[")
            while not reader.accept("]"):
                values.append(reader.read_typed())
                reader.expect(",")
                reader.expect("label")
                labels.append(name_of(reader.next()))
            return Instruction(opcode, name, VOID, tuple(values), labels=tuple(labels))
        case "ret":
            if reader.peek == "void":
                return Instruction(opcode, name, VOID)
            return Instruction(opcode, name, VOID, (reader.read_typed(),))
        case "unreachable":
            return Instruction(opcode, name, VOID)
        case "select":
            words = _read_words(reader)
            operands = [reader.read_typed()]
            while reader.accept(","):
                operands.append(reader.read_typed())
            return Instruction(opcode, name, operands[1].type, tuple(operands), words)
        case "freeze" | "fneg":
            words = _read_words(reader)
            operand = reader.read_typed()
            return Instruction(opcode, name, operand.type, (operand,), words)
        case "call":
            return _read_call(name, reader)
        case "alloca":
            words = _read_words(reader)
            element = reader.read_type()
            operands = []
            while reader.accept(","):
                if reader.peek == "align":
                    reader.next()
                    reader.next()
                elif reader.peek == "addrspace":
                    reader.next()
                    reader.skip_balanced()
                else:
                    operands.append(reader.read_typed())
            return Instruction(opcode, name, PointerType("ptr", 0), tuple(operands), words, element)
        case "extractvalue":
            aggregate = reader.read_typed()
            indices = _read_indices(reader)
            return Instruction(opcode, name, _member_type(aggregate.type, indices), (aggregate,), indices=indices)
        case "insertvalue":
            aggregate = reader.read_typed()
            reader.expect(",")
            value = reader.read_typed()
            indices = _read_indices(reader)
            return Instruction(opcode, name, aggregate.type, (aggregate, value), indices=indices)
        case "extractelement":
            vector = reader.read_typed()
            reader.expect(",")
            index = reader.read_typed()
            assert isinstance(vector.type, VectorType)
            return Instruction(opcode, name, vector.type.element, (vector, index))
        case "insertelement":
            operands = [reader.read_typed()]
            while reader.accept(","):
                operands.append(reader.read_typed())
            return Instruction(opcode, name, operands[0].type, tuple(operands))
        case "shufflevector":
            operands = [reader.read_typed()]
            while reader.accept(","):
                operands.append(reader.read_typed())
            return _shuffle(name, operands)
        case "atomicrmw":
            words = (reader.next(),)
            if words == ("volatile",):
                words = (reader.next(),)
            pointer = reader.read_typed()
            reader.expect(",")
            value = reader.read_typed()
            return Instruction(opcode, name, value.type, (pointer, value), words)
        case "cmpxchg":
            words = _read_words(reader)
            operands = [reader.read_typed()]
            while reader.accept(",") and len(operands) < 3:
                operands.append(reader.read_typed())
            type_ = StructType(f"{{ {operands[1].type.text}, i1 }}", (operands[1].type, I1), False)
            return Instruction(opcode, name, type_, tuple(operands[:3]), words)
        case "fence":
            return Instruction(opcode, name, VOID)
        case _:
            raise UnknownSyntax(f"the instruction {opcode!r}")


def _read_indices(reader: Reader) -> tuple[int, ...]:
    indices: list[int] = []
    while reader.accept(","):
        indices.append(int(reader.next()))
    return tuple(indices)


def _member_type(type_: LLVMType, indices: tuple[int, ...]) -> LLVMType:
    for index in indices:
        if isinstance(type_, StructType):
            type_ = type_.fields[index]
        else:
            assert isinstance(type_, ArrayType)
            type_ = type_.element
    return type_


def _shuffle(name: str, operands: list[Operand]) -> Instruction:
    mask = operands[2]
    type_ = mask.type
    source = operands[0].type
    assert isinstance(type_, VectorType) and isinstance(source, VectorType)
    if isinstance(mask, Members):
        indices = tuple(int(each.value) if isinstance(each, Number) else -1 for each in mask.members)
    else:
        indices = (0 if isinstance(mask, Zero) else -1,) * type_.count
    result = VectorType(f"<{type_.count} x {source.element.text}>", type_.count, source.element)
    return Instruction("shufflevector", name, result, tuple(operands[:2]), indices=indices)


def _read_call(name: str, reader: Reader) -> Instruction:
    """`call [flags] [calling convention] [attributes] type callee(arguments)`."""
    while _STARTS_OF_TYPES.match(reader.peek) is None:
        reader.next()
        if reader.peek == "(":
            reader.skip_balanced()
        elif reader.tokens[reader.at - 1] == "align":
            reader.next()
    type_ = reader.read_type()
    token = reader.next()
    operands: list[Operand] = []
    callee = ""
    if token == "asm":
        assembly: list[str] = ["asm"]
        while reader.peek != "(":
            assembly.append(reader.next())
        return Instruction("call", name, type_, (), tuple(assembly))
    if token[0] == "@":
        callee = name_of(token)
    elif token[0] == "%":
        operands.append(Local(PointerType("ptr", 0), name_of(token)))
    else:
        raise UnknownSyntax(f"a call of {token!r}")
    reader.expect("(")
    if not reader.accept(")"):
        while True:
            argument = reader.read_argument()
            if argument is not None:
                operands.append(argument)
            if reader.accept(")"):
                break
            reader.expect(",")
    words = tuple(f"align {alignment}" for alignment in reader.alignments)
    return Instruction("call", name, type_, tuple(operands), words, callee=callee)


_DEFINE = re.compile(r'^define .*?@([-\w$.]+|"[^"]*")\(')


def read_function(text: str, types: TypeTable) -> FunctionText:
    """A function from its text, `define ... }`. Debug records are left out.

    Raises UnknownSyntax where the text does not follow the grammar.
    """
    lines = text.split("\n")
    head = lines[0]
    found = _DEFINE.match(head)
    assert found is not None
    reader = Reader(head[found.end() - 1 :], types)
    parameters: list[tuple[str, LLVMType, str]] = []
    reader.expect("(")
    if not reader.accept(")"):
        while True:
            if reader.peek == "...":
                reader.next()
            else:
                type_ = reader.read_type()
                attributes = reader.skip_attributes()
                parameters.append((name_of(reader.next()), type_, attributes))
            if reader.accept(")"):
                break
            reader.expect(",")
    location = _LOCATION.search(head)
    function = FunctionText(found.group(1).strip('"'), parameters, {}, int(location.group(1)) if location else -1)
    block: BasicBlock | None = None
    order = 0
    index = 1
    while index < len(lines):
        line = lines[index]
        index += 1
        if not line or line[0] == "}":
            continue
        if line[0] != " ":
            label = line.split(";", 1)[0].rstrip()
            if label.endswith(":"):
                block = BasicBlock(label[:-1].strip('"'))
                function.blocks[block.name] = block
            continue
        stripped = line.strip()
        if stripped.startswith("#dbg"):
            continue
        if stripped.startswith("switch"):
            while not lines[index - 1].lstrip().startswith("]") and not stripped.endswith("]"):
                stripped += " " + lines[index].strip()
                index += 1
        if block is None:
            # An entry without a label has the first number that the parameters leave free.
            block = BasicBlock(str(sum(parameter[0].isdigit() for parameter in parameters)))
            function.blocks[block.name] = block
        instruction = read_instruction(stripped, types)
        instruction.block, instruction.order = block.name, order
        order += 1
        block.instructions.append(instruction)
    return function
