"""Reading instructions and whole functions from LLVM's text."""

from __future__ import annotations

import re

from windlass.llvm.layout import (
    I1,
    VOID,
    ArrayType,
    LLVMType,
    PointerType,
    StructType,
    VectorType,
)
from windlass.llvm.syntax import (
    STARTS_OF_TYPES,
    BasicBlock,
    FunctionText,
    Instruction,
    Local,
    Members,
    Number,
    Operand,
    Reader,
    TypeTable,
    UnknownSyntax,
    Zero,
    name_of,
)

_METADATA_TAIL = re.compile(r"(?:, ![\w.]+ (?:![\w.]+|!\{[^}]*\}))+$")
_LOCATION = re.compile(r"!dbg !(\d+)")
_CASTS = frozenset({
    "trunc", "zext", "sext", "fptrunc", "fpext", "fptoui", "fptosi", "uitofp", "sitofp", "ptrtoint", "ptrtoaddr",
    "inttoptr", "bitcast", "addrspacecast",
})  # fmt: skip
_BINARY = frozenset({
    "add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "shl", "lshr", "ashr", "and", "or", "xor", "fadd", "fsub",
    "fmul", "fdiv", "frem",
})  # fmt: skip


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


def _read_alignment(reader: Reader) -> tuple[str, ...]:
    """The multiple that a load or store promises its address to be, as calls have it: `align 16`."""
    while reader.peek not in ("", ",") and reader.peek != "align":
        reader.next()  # the order of an atomic access
    if reader.peek == ",":
        reader.next()
    return (f"align {reader.next()}",) if reader.accept("align") else ()


def _read_words(reader: Reader) -> tuple[str, ...]:
    """Flags and predicates before a type."""
    words: list[str] = []
    while STARTS_OF_TYPES.match(reader.peek) is None:
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
            while STARTS_OF_TYPES.match(reader.peek) is None:
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
            place = reader.read_typed()
            return Instruction(opcode, name, type_, (place,), words + _read_alignment(reader), type_)
        case "store":
            words = _read_words(reader)
            value = reader.read_typed()
            reader.expect(",")
            place = reader.read_typed()
            return Instruction(opcode, name, VOID, (value, place), words + _read_alignment(reader), value.type)
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
    while STARTS_OF_TYPES.match(reader.peek) is None:
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
