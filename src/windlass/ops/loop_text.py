"""The loop level as MLIR text of the scf, memref, arith, math and gpu dialects, for people and other tools to read.

A buffer is a memref of bytes; a scalar is read and written through a `memref.view` at its byte offset. The kernel's
`Parallel` is a `gpu.launch` whose sizes are the function's first six arguments. Integers are signless: what
is unsigned shows in the operation (`arith.divui`). Operations that these dialects lack are calls of functions that bear
the operation's name.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from windlass.ir import Block, BufferType, Function, Op, TensorType, Type, Value
from windlass.ops import loops
from windlass.ops.comparison import Compare
from windlass.ops.control import Return
from windlass.ops.conversion import BitcastConvert, Convert, bit_width
from windlass.ops.creation import Constant
from windlass.ops.elementwise import Clamp, IsFinite, Not, Select

SPACES = {"global": "", "parameter": "", "constant": ", 4", "shared": ", 3", "local": ", 5"}
"""The memory spaces as NVPTX numbers them."""

_INTEGER = {
    "add": "addi", "subtract": "subi", "multiply": "muli", "and": "andi", "or": "ori", "xor": "xori",
    "shift_left": "shli", "shift_right_logical": "shrui", "shift_right_arithmetic": "shrsi",
}  # fmt: skip
_SIGNED = {"divide": "div{}i", "remainder": "rem{}i", "maximum": "max{}i", "minimum": "min{}i"}
_FLOAT = {
    "add": "arith.addf", "subtract": "arith.subf", "multiply": "arith.mulf", "divide": "arith.divf",
    "remainder": "arith.remf", "maximum": "arith.maximumf", "minimum": "arith.minimumf", "negate": "arith.negf",
    "power": "math.powf", "abs": "math.absf", "sqrt": "math.sqrt", "rsqrt": "math.rsqrt", "cbrt": "math.cbrt",
    "exponential": "math.exp", "exponential_minus_one": "math.expm1", "log": "math.log", "log_plus_one": "math.log1p",
    "sine": "math.sin", "cosine": "math.cos", "tan": "math.tan", "tanh": "math.tanh", "atan2": "math.atan2",
    "floor": "math.floor", "ceil": "math.ceil", "round_nearest_even": "math.roundeven",
    "round_nearest_afz": "math.round", "erf": "math.erf", "erfc": "math.erfc", "acos": "math.acos",
    "asin": "math.asin", "atan": "math.atan", "acosh": "math.acosh", "asinh": "math.asinh", "atanh": "math.atanh",
    "sinh": "math.sinh", "cosh": "math.cosh",
}  # fmt: skip
_BITS = {"abs": "math.absi", "popcnt": "math.ctpop", "count_leading_zeros": "math.ctlz"}
_ATOMIC = {
    "add": "addi", "and": "andi", "or": "ori", "exchange": "assign", "min": "mins", "max": "maxs", "umin": "minu",
    "umax": "maxu", "fadd": "addf", "fmin": "minnumf", "fmax": "maxnumf",
}  # fmt: skip


def loop_text(function: Function) -> str:
    """The kernel as the text of an MLIR module, which jaxlib's parser reads.

    Raises TypeError for functions that are not of the loop level.
    """
    return _Writer(function).text()


def type_text(type_: Type) -> str:
    """A type's MLIR spelling: element types for scalars, memrefs of bytes for buffers."""
    if isinstance(type_, BufferType):
        return f"memref<{'?' if type_.size is None else type_.size}xi8{SPACES.get(type_.space, '')}>"
    if isinstance(type_, TensorType) and type_.rank == 0:
        return signless(type_.dtype)
    raise TypeError(f"a value of type {type_} at the loop level")


def signless(dtype: str) -> str:
    return dtype.removeprefix("u")


class _Writer:
    def __init__(self, function: Function) -> None:
        self.function = function
        self.names: dict[Value, str] = {}
        self.count = 0
        self.lines: list[str] = []
        self.indent = "  "
        self.declarations: dict[str, str] = {}

    def text(self) -> str:
        function = self.function
        sizes = [dimension.replace("block", "grid").replace("thread", "block") for dimension in loops.LAUNCH_DIMENSIONS]
        parameters = [f"%{size.replace('.', '_')}: index" for size in sizes]
        taken = {f"{name}{axis}" for name in ("grid_", "block_", "bid_", "tid_", "g", "b") for axis in "xyz"}
        for index, argument in enumerate(function.arguments):
            name = "".join(each if each.isalnum() else "_" for each in argument.name or "arg")
            if name in taken or not name[0].isalpha():
                name = f"{name if name[0].isalpha() else 'arg'}_{index}"
            taken.add(name)
            self.names[argument] = f"%{name}"
            parameters.append(f"{self.names[argument]}: {type_text(argument.type)}")
        self.indent = "    "
        self.write_block(function.body)
        body = "\n".join(self.lines)
        head = f'  func.func @"{function.name}"({", ".join(parameters)}) {{'
        declared = [f"  {line}" for _, line in sorted(self.declarations.items())]
        return "\n".join(["module {", *declared, head, body, "  }", "}", ""])

    # -- lines ----------------------------------------------------------------------------------------------------

    def line(self, text: str) -> None:
        self.lines.append(self.indent + text)

    def fresh(self) -> str:
        self.count += 1
        return f"%{self.count - 1}"

    def define(self, value: Value, text: str) -> None:
        self.names[value] = self.fresh()
        self.line(f"{self.names[value]} = {text}")

    def temporary(self, text: str) -> str:
        name = self.fresh()
        self.line(f"{name} = {text}")
        return name

    def use(self, value: Value) -> str:
        return self.names[value]

    def listed(self, values: tuple[Value, ...]) -> str:
        return ", ".join(self.use(value) for value in values)

    def types(self, values: tuple[Value, ...]) -> str:
        return ", ".join(type_text(value.type) for value in values)

    def write_inner(self, block: Block) -> None:
        outer, self.indent = self.indent, self.indent + "  "
        self.write_block(block)
        self.indent = outer

    def write_block(self, block: Block) -> None:
        for op in block:
            self.write(op)

    def open_results(self, op: Op) -> str:
        """`%3:2 = ` for an op with two results, whose names it notes."""
        results = op.results
        if not results:
            return ""
        name = self.fresh()
        for index, result in enumerate(results):
            self.names[result] = name if len(results) == 1 else f"{name}#{index}"
        return f"{name} = " if len(results) == 1 else f"{name}:{len(results)} = "

    def call(self, op: Op, name: str, operands: tuple[Value, ...]) -> None:
        """A call of a function with the operation's name."""
        given = ", ".join(type_text(operand.type) for operand in operands)
        results = ", ".join(type_text(result.type) for result in op.results)
        symbol = f'@"{name}({given})"'
        self.declarations[symbol] = f"func.func private {symbol}({given}) -> ({results})"
        prefix = self.open_results(op)
        self.line(f"{prefix}func.call {symbol}({self.listed(operands)}) : ({given}) -> ({results})")

    # -- ops ------------------------------------------------------------------------------------------------------

    def write(self, op: Op) -> None:
        match op:
            case loops.LaunchSize():
                name = op.dimension.replace("block", "grid").replace("thread", "block").replace(".", "_")
                self.define(op, f"arith.index_cast %{name} : index to i32")
            case loops.Parallel():
                self.write_parallel(op)
            case loops.If():
                self.write_if(op)
            case loops.For():
                self.write_for(op)
            case loops.DoWhile():
                self.write_do_while(op)
            case loops.Yield():
                if isinstance(op.parent_op, loops.Parallel):
                    self.line("gpu.terminator")
                elif isinstance(op.parent_op, loops.AtomicUpdate):
                    self.line(f"memref.atomic_yield {self.listed(op.values)} : {self.types(op.values)}")
                elif op.values:
                    self.line(f"scf.yield {self.listed(op.values)} : {self.types(op.values)}")
                else:
                    self.line("scf.yield")
            case loops.Condition():
                values = f" {self.listed(op.values)} : {self.types(op.values)}" if op.values else ""
                self.line(f"scf.condition({self.use(op.continues)}){values}")
            case Return():
                self.line("return")
            case Constant():
                self.define(op, f"arith.constant {literal(op)}")
            case _:
                if (
                    isinstance(op.type, TensorType)
                    and op.is_pure
                    and not isinstance(op, loops.SameBuffer | loops.BufferDistance | loops.Undefined)
                ):
                    self.write_scalar(op)
                else:
                    self.write_memory(op)

    def write_parallel(self, op: loops.Parallel) -> None:
        axes = ("x", "y", "z")
        blocks, threads = ([f"%{kind}_{axis}" for axis in axes] for kind in ("bid", "tid"))
        grid = ", ".join(f"%g{axis} = %grid_{axis}" for axis in axes)
        block = ", ".join(f"%b{axis} = %block_{axis}" for axis in axes)
        self.line(f"gpu.launch blocks({', '.join(blocks)}) in ({grid})")
        self.line(f"           threads({', '.join(threads)}) in ({block}) {{")
        outer, self.indent = self.indent, self.indent + "  "
        for argument, name in zip(op.body.block.arguments, (*blocks, *threads), strict=True):
            self.define(argument, f"arith.index_cast {name} : index to i32")
        self.indent = outer
        self.write_inner(op.body.block)
        self.line("}")

    def write_if(self, op: loops.If) -> None:
        prefix = self.open_results(op)
        types = f" -> ({self.types(op.results)})" if op.results else ""
        self.line(f"{prefix}scf.if {self.use(op.condition)}{types} {{")
        self.write_inner(op.then.block)
        if op.results or op.otherwise.block.first is not op.otherwise.block.last:
            self.line("} else {")
            self.write_inner(op.otherwise.block)
        self.line("}")

    def write_for(self, op: loops.For) -> None:
        low, step = self.temporary("arith.constant 0 : i64"), self.temporary("arith.constant 1 : i64")
        prefix = self.open_results(op)
        block = op.body.block
        for argument in block.arguments:
            self.names[argument] = self.fresh()
        pairs = zip(block.arguments[1:], op.initial, strict=True)
        carried = ", ".join(f"{self.use(argument)} = {self.use(first)}" for argument, first in pairs)
        carried = f" iter_args({carried}) -> ({self.types(op.results)})" if op.initial else ""
        head = f"scf.for {self.use(block.arguments[0])} = {low} to {self.use(op.trip_count)} step {step}"
        self.line(f"{prefix}{head}{carried} : i64 {{")
        self.write_inner(block)
        self.line("}")

    def write_do_while(self, op: loops.DoWhile) -> None:
        prefix = self.open_results(op)
        block = op.body.block
        for argument in block.arguments:
            self.names[argument] = self.fresh()
        pairs = zip(block.arguments, op.initial, strict=True)
        carried = ", ".join(f"{self.use(argument)} = {self.use(first)}" for argument, first in pairs)
        types = self.types(op.initial)
        carried = f" ({carried})" if op.initial else ""
        self.line(f"{prefix}scf.while{carried} : ({types}) -> ({types}) {{")
        self.write_inner(block)
        self.line("} do {")
        names = [self.fresh() for _ in op.initial]
        if names:
            given = ", ".join(f"{name}: {type_text(value.type)}" for name, value in zip(names, op.initial, strict=True))
            self.line(f"^bb0({given}):")
        self.line(f"  scf.yield {', '.join(names)} : {types}" if names else "  scf.yield")
        self.line("}")

    def write_update(self, op: loops.AtomicUpdate) -> None:
        place, type_ = self.view(op.buffer, op.offset, op.dtype)
        (old,) = op.body.block.arguments
        # MLIR's op gives the new value: nothing can stand for the old one but a load before it.
        if op.uses:
            self.define(op, f"memref.load {place}[] : {type_}")
        self.line(f"{self.fresh()} = memref.generic_atomic_rmw {place}[] : {type_} {{")
        self.names[old] = self.fresh()
        self.line(f"^bb0({self.use(old)}: {type_text(old.type)}):")
        self.write_inner(op.body.block)
        self.line("}")

    # -- memory ---------------------------------------------------------------------------------------------------

    def view(self, buffer: Value, offset: Value, dtype: str) -> tuple[str, str]:
        """A scalar's place in memory, and its type."""
        place = self.temporary(f"arith.index_cast {self.use(offset)} : i64 to index")
        source = type_text(buffer.type)
        space = SPACES.get(buffer.type.space, "") if isinstance(buffer.type, BufferType) else ""
        target = f"memref<{signless(dtype)}{space}>"
        return self.temporary(f"memref.view {self.use(buffer)}[{place}][] : {source} to {target}"), target

    def write_memory(self, op: Op) -> None:
        match op:
            case loops.Load():
                place, type_ = self.view(op.buffer, op.offset, op.dtype_read)
                self.define(op, f"memref.load {place}[] : {type_}")
            case loops.Store():
                place, type_ = self.view(op.buffer, op.offset, op.value.dtype)
                self.line(f"memref.store {self.use(op.value)}, {place}[] : {type_}")
            case loops.Atomic() if op.kind in _ATOMIC:
                place, type_ = self.view(op.buffer, op.offset, op.value.dtype)
                value = f"{self.use(op.value)}, {place}[] : ({type_text(op.value.type)}, {type_})"
                kind = "assign" if op.kind == "exchange" else _ATOMIC[op.kind]
                self.define(op, f"memref.atomic_rmw {kind} {value} -> {type_text(op.type)}")
            case loops.AtomicUpdate():
                self.write_update(op)
            case loops.Allocate():
                if op.size < 0:
                    size = self.temporary("gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>")
                    self.define(
                        op,
                        f"memref.memory_space_cast {size} : memref<?xi8, #gpu.address_space<workgroup>>"
                        f" to {type_text(op.type)}",
                    )
                else:
                    self.define(op, f"memref.alloca() : {type_text(op.type)}")
            case loops.DeviceVariableBuffer():
                symbol, type_ = f'@"{op.variable}"', type_text(op.type)
                self.declarations[symbol] = f'memref.global "private" {symbol} : {type_}'
                self.define(op, f"memref.get_global {symbol} : {type_}")
            case loops.NullBuffer():
                self.define(op, f"memref.alloca() : {type_text(op.type)}")
            case loops.ViewBuffer():
                self.names[op] = self.cast(self.use(op.buffer), op.buffer.type, op.type)
            case loops.SelectBuffer():
                left = self.cast(self.use(op.on_true), op.on_true.type, op.type)
                right = self.cast(self.use(op.on_false), op.on_false.type, op.type)
                self.define(op, f"arith.select {self.use(op.condition)}, {left}, {right} : {type_text(op.type)}")
            case loops.SameBuffer():
                sides = [self.address(side) for side in (op.lhs, op.rhs)]
                self.define(op, f"arith.cmpi eq, {sides[0]}, {sides[1]} : index")
            case loops.BufferDistance():
                sides = [self.address(side) for side in (op.lhs, op.rhs)]
                distance = self.temporary(f"arith.subi {sides[0]}, {sides[1]} : index")
                self.define(op, f"arith.index_cast {distance} : index to i64")
            case loops.Undefined() if isinstance(op.type, BufferType):
                static = self.temporary("memref.alloca() : memref<0xi8>")
                self.names[op] = self.cast(static, BufferType.of("global", None, 0), op.type)
            case loops.Undefined():
                self.define(op, f"ub.poison : {type_text(op.type)}")
            case loops.Barrier() if op.scope == "block":
                self.line("gpu.barrier")
            case loops.Assert():
                self.line(f"cf.assert {self.use(op.condition)}, {quoted(op.message)}")
            case loops.Print():
                inputs = f", {self.listed(op.inputs)} : {self.types(op.inputs)}" if op.inputs else ""
                self.line(f"gpu.printf {quoted(op.format)}{inputs}")
            case loops.Barrier():
                self.call(op, f"barrier.{op.scope}", ())
            case loops.Atomic():
                self.call(op, f"atomic.{op.kind}", op.operands)
            case loops.Collective():
                self.call(op, op.kind, op.operands)
            case loops.DeviceCall():
                self.call(op, op.callee, op.operands)
            case _:
                self.call(op, op.name, op.operands)

    def address(self, buffer: Value) -> str:
        """Where a buffer begins, as an index."""
        return self.temporary(
            f"memref.extract_aligned_pointer_as_index {self.use(buffer)} : {type_text(buffer.type)} -> index"
        )

    def cast(self, name: str, source: Type, target: Type) -> str:
        """A buffer under another type."""
        assert isinstance(source, BufferType) and isinstance(target, BufferType)
        if SPACES.get(source.space) != SPACES.get(target.space):
            middle = BufferType.of(target.space, None, source.size)
            name = self.temporary(f"memref.memory_space_cast {name} : {type_text(source)} to {type_text(middle)}")
            source = middle
        if type_text(source) == type_text(target):
            return name
        return self.temporary(f"memref.cast {name} : {type_text(source)} to {type_text(target)}")

    # -- scalars --------------------------------------------------------------------------------------------------

    def write_scalar(self, op: Op) -> None:
        operands = op.operands
        source = operands[0].dtype if operands else op.dtype
        type_ = signless(source)
        short = op.name.partition(".")[2]
        is_float, is_unsigned = operands[0].tensor.is_float, source.startswith("u")
        match op:
            case Compare():
                self.define(op, f"{comparison(op, is_float, is_unsigned)}, {self.listed(operands)} : {type_}")
            case Select():
                self.define(op, f"arith.select {self.listed(operands)} : {type_text(op.type)}")
            case Not():
                ones = self.temporary(f"arith.constant {'true' if source == 'i1' else f'-1 : {type_}'}")
                self.define(op, f"arith.xori {self.use(operands[0])}, {ones} : {type_}")
            case Convert():
                self.write_conversion(op, source)
            case BitcastConvert() if signless(op.dtype) == type_:
                self.names[op] = self.use(operands[0])
            case BitcastConvert():
                self.define(op, f"arith.bitcast {self.use(operands[0])} : {type_} to {signless(op.dtype)}")
            case IsFinite():
                self.define(op, f"math.isfinite {self.use(operands[0])} : {type_}")
            case Clamp() if not is_float:
                sign = "u" if is_unsigned else "s"
                low = self.temporary(f"arith.max{sign}i {self.use(op.operand)}, {self.use(op.min)} : {type_}")
                self.define(op, f"arith.min{sign}i {low}, {self.use(op.max)} : {type_}")
            case _:
                name = self.mnemonic(short, is_float, is_unsigned)
                if short == "negate" and not is_float:
                    zero = self.temporary(f"arith.constant 0 : {type_}")
                    self.define(op, f"arith.subi {zero}, {self.use(operands[0])} : {type_}")
                elif name is None:
                    self.call(op, op.name, operands)
                else:
                    self.define(op, f"{name} {self.listed(operands)} : {type_}")

    @staticmethod
    def mnemonic(short: str, is_float: bool, is_unsigned: bool) -> str | None:
        if is_float:
            return _FLOAT.get(short)
        if short in _SIGNED:
            return "arith." + _SIGNED[short].format("u" if is_unsigned else "s")
        if short in _INTEGER:
            return "arith." + _INTEGER[short]
        return _BITS.get(short)

    def write_conversion(self, op: Convert, source: str) -> None:
        operand, target = self.use(op.operand), op.dtype
        given, wanted = signless(source), signless(target)
        from_float, to_float = op.operand.tensor.is_float, op.tensor.is_float
        if given == wanted:
            self.names[op] = operand
        elif target == "i1":
            zero = self.temporary(f"arith.constant {'0.0' if from_float else '0'} : {given}")
            compare = "arith.cmpf une" if from_float else "arith.cmpi ne"
            self.define(op, f"{compare}, {operand}, {zero} : {given}")
        else:
            if from_float and to_float:
                narrower = bit_width(target) < bit_width(source)
                name = "truncf" if narrower else "extf"
                if bit_width(target) == bit_width(source):
                    operand, given, name = self.temporary(f"arith.extf {operand} : {given} to f32"), "f32", "truncf"
            elif from_float:
                name = "fptoui" if target.startswith("u") else "fptosi"
            elif to_float:
                name = "uitofp" if source.startswith("u") or source == "i1" else "sitofp"
            elif bit_width(target) < bit_width(source):
                name = "trunci"
            else:
                name = "extui" if source.startswith("u") or source == "i1" else "extsi"
            self.define(op, f"arith.{name} {operand} : {given} to {wanted}")


def comparison(op: Compare, is_float: bool, is_unsigned: bool) -> str:
    direction = op.direction.lower()
    if is_float:
        return f"arith.cmpf {'une' if direction == 'ne' else 'o' + direction}"
    if direction in ("eq", "ne"):
        return f"arith.cmpi {direction}"
    return f"arith.cmpi {'u' if is_unsigned else 's'}{direction}"


def literal(op: Constant) -> str:
    """A scalar constant with its type."""
    dtype, number = signless(op.dtype), op.number
    if dtype == "i1":
        return "true" if number else "false"
    if op.tensor.is_integer:
        return f"{int(number)} : {dtype}"
    value = float(number)
    spelled = repr(value)
    if math.isfinite(value) and "." in spelled:
        return f"{spelled} : {dtype}"
    return f"{hexadecimal(op)} : {dtype}"


def hexadecimal(op: Constant) -> str:
    """The bits of a float."""
    data = op.array.tobytes()[::-1]
    return "0x" + data.hex().upper()


def quoted(text: str) -> str:
    """A string literal of MLIR."""
    return '"' + "".join(escaped(text)) + '"'


def escaped(text: str) -> Iterator[str]:
    for byte in text.encode():
        is_plain = 32 <= byte < 127 and byte not in (34, 92)
        yield chr(byte) if is_plain else f"\\{byte:02X}"
