"""Reading instructions and whole functions from LLVM's text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

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
    read = _READERS.get(opcode)
    if read is None:
        raise UnknownSyntax(f"the instruction {opcode!r}")
    instruction = read(opcode, name, reader)
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


def _read_typed(reader: Reader) -> tuple[Operand, ...]:
    """Operands with their types, between commas."""
    operands = [reader.read_typed()]
    while reader.accept(","):
        operands.append(reader.read_typed())
    return tuple(operands)


def _read_pair(reader: Reader) -> tuple[Operand, Operand]:
    first = reader.read_typed()
    reader.expect(",")
    return first, reader.read_typed()


def _read_label(reader: Reader) -> str:
    reader.expect("label")
    return name_of(reader.next())


# -- each instruction -------------------------------------------------------------------------------------------------


def _read_binary(opcode: str, name: str, reader: Reader) -> Instruction:
    words = _read_words(reader)
    left = reader.read_typed()
    reader.expect(",")
    return Instruction(opcode, name, left.type, (left, reader.read_value(left.type)), words)


def _read_comparison(opcode: str, name: str, reader: Reader) -> Instruction:
    found = _read_binary(opcode, name, reader)
    type_ = found.type
    found.type = VectorType(f"<{type_.count} x i1>", type_.count, I1) if isinstance(type_, VectorType) else I1
    return found


def _read_cast(opcode: str, name: str, reader: Reader) -> Instruction:
    words = _read_words(reader)
    source = reader.read_typed()
    reader.expect("to")
    return Instruction(opcode, name, reader.read_type(), (source,), words)


def _read_address(opcode: str, name: str, reader: Reader) -> Instruction:
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


def _read_load(opcode: str, name: str, reader: Reader) -> Instruction:
    words = _read_words(reader)
    type_ = reader.read_type()
    reader.expect(",")
    place = reader.read_typed()
    return Instruction(opcode, name, type_, (place,), words + _read_alignment(reader), type_)


def _read_store(opcode: str, name: str, reader: Reader) -> Instruction:
    words = _read_words(reader)
    value, place = _read_pair(reader)
    return Instruction(opcode, name, VOID, (value, place), words + _read_alignment(reader), value.type)


def _read_phi(opcode: str, name: str, reader: Reader) -> Instruction:
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
            return Instruction(opcode, name, type_, tuple(values), words, labels=tuple(labels))


def _read_branch(opcode: str, name: str, reader: Reader) -> Instruction:
    if reader.accept("label"):
        return Instruction(opcode, name, VOID, labels=(name_of(reader.next()),))
    condition = reader.read_typed()
    labels: list[str] = []
    while reader.accept(","):
        labels.append(_read_label(reader))
    return Instruction(opcode, name, VOID, (condition,), labels=tuple(labels))


def _read_switch(opcode: str, name: str, reader: Reader) -> Instruction:
    values: list[Operand] = []
    labels: list[str] = []
    while not reader.accept("]"):
        values.append(reader.read_typed())
        reader.expect(",")
        labels.append(_read_label(reader))
        if len(labels) == 1:
            reader.expect("[")
    return Instruction(opcode, name, VOID, tuple(values), labels=tuple(labels))


def _read_return(opcode: str, name: str, reader: Reader) -> Instruction:
    operands = () if reader.peek == "void" else (reader.read_typed(),)
    return Instruction(opcode, name, VOID, operands)


def _read_nothing(opcode: str, name: str, reader: Reader) -> Instruction:
    return Instruction(opcode, name, VOID)


def _read_select(opcode: str, name: str, reader: Reader) -> Instruction:
    words = _read_words(reader)
    operands = _read_typed(reader)
    return Instruction(opcode, name, operands[1].type, operands, words)


def _read_unary(opcode: str, name: str, reader: Reader) -> Instruction:
    words = _read_words(reader)
    operand = reader.read_typed()
    return Instruction(opcode, name, operand.type, (operand,), words)


def _read_alloca(opcode: str, name: str, reader: Reader) -> Instruction:
    words = _read_words(reader)
    element = reader.read_type()
    operands: list[Operand] = []
    while reader.accept(","):
        if reader.accept("align"):
            reader.next()
        elif reader.accept("addrspace"):
            reader.skip_balanced()
        else:
            operands.append(reader.read_typed())
    return Instruction(opcode, name, PointerType("ptr", 0), tuple(operands), words, element)


def _read_member(opcode: str, name: str, reader: Reader) -> Instruction:
    aggregate = reader.read_typed()
    indices = _read_indices(reader)
    return Instruction(opcode, name, _member_type(aggregate.type, indices), (aggregate,), indices=indices)


def _read_inserted_member(opcode: str, name: str, reader: Reader) -> Instruction:
    aggregate, value = _read_pair(reader)
    return Instruction(opcode, name, aggregate.type, (aggregate, value), indices=_read_indices(reader))


def _read_element(opcode: str, name: str, reader: Reader) -> Instruction:
    vector, index = _read_pair(reader)
    assert isinstance(vector.type, VectorType)
    return Instruction(opcode, name, vector.type.element, (vector, index))


def _read_inserted_element(opcode: str, name: str, reader: Reader) -> Instruction:
    operands = _read_typed(reader)
    return Instruction(opcode, name, operands[0].type, operands)


def _read_shuffle(opcode: str, name: str, reader: Reader) -> Instruction:
    first, second, mask = _read_typed(reader)
    type_, source = mask.type, first.type
    assert isinstance(type_, VectorType) and isinstance(source, VectorType)
    if isinstance(mask, Members):
        indices = tuple(int(each.value) if isinstance(each, Number) else -1 for each in mask.members)
    else:
        indices = (0 if isinstance(mask, Zero) else -1,) * type_.count
    result = VectorType(f"<{type_.count} x {source.element.text}>", type_.count, source.element)
    return Instruction(opcode, name, result, (first, second), indices=indices)


def _read_atomic(opcode: str, name: str, reader: Reader) -> Instruction:
    reader.accept("volatile")
    words = (reader.next(),)
    pointer, value = _read_pair(reader)
    return Instruction(opcode, name, value.type, (pointer, value), words)


def _read_exchange(opcode: str, name: str, reader: Reader) -> Instruction:
    words = _read_words(reader)
    operands = [reader.read_typed()]
    while reader.accept(",") and len(operands) < 3:
        operands.append(reader.read_typed())
    type_ = StructType(f"{{ {operands[1].type.text}, i1 }}", (operands[1].type, I1), False)
    return Instruction(opcode, name, type_, tuple(operands), words)


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


def _read_call(opcode: str, name: str, reader: Reader) -> Instruction:
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
        return Instruction(opcode, name, type_, (), tuple(assembly))
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
    return Instruction(opcode, name, type_, tuple(operands), words, callee=callee)


_READERS: dict[str, Callable[[str, str, Reader], Instruction]] = {
    **dict.fromkeys(_BINARY, _read_binary),
    **dict.fromkeys(_CASTS, _read_cast),
    **dict.fromkeys(("icmp", "fcmp"), _read_comparison),
    **dict.fromkeys(("freeze", "fneg"), _read_unary),
    **dict.fromkeys(("unreachable", "fence"), _read_nothing),
    "getelementptr": _read_address,
    "load": _read_load,
    "store": _read_store,
    "phi": _read_phi,
    "br": _read_branch,
    "switch": _read_switch,
    "ret": _read_return,
    "select": _read_select,
    "call": _read_call,
    "alloca": _read_alloca,
    "extractvalue": _read_member,
    "insertvalue": _read_inserted_member,
    "extractelement": _read_element,
    "insertelement": _read_inserted_element,
    "shufflevector": _read_shuffle,
    "atomicrmw": _read_atomic,
    "cmpxchg": _read_exchange,
}
"""How what stands behind an opcode is read."""


# -- functions --------------------------------------------------------------------------------------------------------


_DEFINE = re.compile(r'^define .*?@([-\w$.]+|"[^"]*")\(')


def read_function(text: str, types: TypeTable) -> FunctionText:
    """A function from its text, `define ... }`. Debug records are left out.

    Raises UnknownSyntax where the text does not follow the grammar.
    """
    head, *lines = text.split("\n")
    found = _DEFINE.match(head)
    assert found is not None
    parameters = _read_parameters(Reader(head[found.end() - 1 :], types))
    location = _LOCATION.search(head)
    function = FunctionText(found.group(1).strip('"'), parameters, {}, int(location.group(1)) if location else -1)
    block: BasicBlock | None = None
    for order, (label, statement) in enumerate(_statements(lines)):
        if label or block is None:
            # An entry without a label has the first number that the parameters leave free.
            block = BasicBlock(label or str(sum(parameter[0].isdigit() for parameter in parameters)))
            function.blocks[block.name] = block
        instruction = read_instruction(statement, types)
        instruction.block, instruction.order = block.name, order
        block.instructions.append(instruction)
    return function


def _read_parameters(reader: Reader) -> list[tuple[str, LLVMType, str]]:
    parameters: list[tuple[str, LLVMType, str]] = []
    reader.expect("(")
    while not reader.accept(")"):
        if parameters:
            reader.expect(",")
        if reader.accept("..."):
            continue
        type_ = reader.read_type()
        attributes = reader.skip_attributes()
        parameters.append((name_of(reader.next()), type_, attributes))
    return parameters


def _statements(lines: list[str]) -> Iterator[tuple[str, str]]:
    """Each instruction on one line, with the label before it, if it is the first of a block."""
    label = ""
    rest = iter(lines)
    for line in rest:
        if not line or line[0] == "}":
            continue
        if line[0] != " ":
            found = line.split(";", 1)[0].rstrip()
            if found.endswith(":"):
                label = found[:-1].strip('"')
            continue
        statement = line.strip()
        if statement.startswith("#dbg"):
            continue
        if statement.startswith("switch"):
            while not statement.endswith("]") and not line.lstrip().startswith("]"):
                line = next(rest)
                statement += " " + line.strip()
        yield label, statement
        label = ""
