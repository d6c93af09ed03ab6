"""From StableHLO to the tensor level: jaxlib parses, this walks the parsed module once.

What the vocabulary has a class for becomes that class; anything else, and anything whose type is not a plain tensor of
known shape where the class needs one, is kept whole as `Opaque`.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np
from jaxlib.mlir import ir

from windlass.diagnostics import Diagnostic, Position, ProgramError
from windlass.ir.builder import Builder
from windlass.ir.core import Block, Op, Region
from windlass.ir.program import Function, Module
from windlass.ir.types import OpaqueType, TensorType, Type
from windlass.ir.values import Value
from windlass.ops import ConstantValue
from windlass.ops.spelling import unquote
from windlass.rewriting.collecting import without_collections
from windlass.stablehlo.bytecode import (
    HAS_ATTRIBUTES,
    HAS_OPERANDS,
    HAS_PROPERTIES,
    HAS_REGIONS,
    HAS_RESULTS,
    HAS_SUCCESSORS,
    HAS_USE_ORDERS,
    WIDTHS,
    BytecodeError,
    encode,
    enter_regions,
    has_only_text,
    ir_start,
    read_number,
    skip_header,
    skip_operation,
    skip_use_orders,
)
from windlass.stablehlo.contexts import borrowed_context
from windlass.stablehlo.diagnosing import Complaint, check_names, check_text, diagnose_parsing, heard
from windlass.stablehlo.literals import blob_from_text, dense_from_text, type_from_text
from windlass.stablehlo.plans import Plan
from windlass.stablehlo.reading_apart import read_apart
from windlass.stablehlo.screening import check_results

_FUNCTION_OWN = frozenset({"sym_name", "function_type", "sym_visibility", "arg_attrs", "res_attrs"})


class _Undefined(Value):
    """What a value is before the op that defines it."""

    def __init__(self) -> None:
        self.type = OpaqueType.of("(undefined)")


_UNDEFINED = _Undefined()
_UNREAD: Any = object()
_CONSTANTS = frozenset({"stablehlo.constant", "sdy.constant"})
"""Shardy's constants are those that are not shared, so that each may be sharded by itself: XLA makes them anew."""
DEEPEST = 100
"""How deep regions may be nested: everything that walks over a program recurs into them."""
_NO_REGIONS: dict[str, Any] = {}


def expect(is_so: bool) -> None:
    """Stop where bytecode and bindings disagree: what was read would be wrong."""
    if not is_so:
        raise BytecodeError("the bytecode does not hold the ops that the bindings show")


def import_text(text: str, file: str = "<stablehlo>") -> Module:
    """The module that StableHLO text describes; `file` is the name that its positions get.

    Raises ProgramError (WL0501), with line and column, where the text is no valid program.
    """
    check_text(text, file)
    # Resources stay in a context under their names.
    has_resources = "dense_resource" in text or "{-#" in text
    with reading(len(text), has_resources) as (context, complaints):
        try:
            parsed = ir.Module.parse(text, context)
        except (ir.MLIRError, MemoryError) as error:
            raise ProgramError(diagnose_parsing(complaints, error, text, file)) from None
        return import_module(parsed, file)


def import_bytecode(data: bytes) -> Module:
    """The module in MLIR bytecode, or in a portable StableHLO artifact as `jax.export` writes them.

    Another process reads the bytes first, since MLIR's reader may not survive those that were changed: see
    `reading_apart`.

    Raises ProgramError (WL0501) where the bytes are neither.
    """
    if not data.startswith(b"ML\xefR"):
        reason = "the data does not begin as MLIR bytecode does"
        raise ProgramError(Diagnostic("WL0501", f"this is not StableHLO bytecode: {reason}"))
    data = read_apart(data)
    with reading(len(data), is_private=True) as (context, complaints):
        try:
            parsed = ir.Module.parse(data, context)
        except (ir.MLIRError, ValueError, MemoryError) as error:
            reason = complaints[0].message if complaints else str(error)
            raise ProgramError(Diagnostic("WL0501", f"this is not StableHLO bytecode: {reason}")) from None
        return import_module(parsed, "<bytecode>")


@contextmanager
def reading(size: int, is_private: bool) -> Generator[tuple[Any, list[Complaint]]]:
    """A context to parse in, and what MLIR complains of meanwhile; see `borrowed_context`."""
    with (
        borrowed_context(size, is_private) as context,
        context,
        ir.Location.unknown(context),
        heard(context) as complaints,
    ):
        yield context, complaints


def import_module(parsed: Any, file: str = "<stablehlo>") -> Module:
    """The module that a `jaxlib.mlir.ir.Module` holds; the argument is not changed.

    Raises ProgramError: WL0502 for control flow between blocks, which StableHLO does not have, WL0509 for functions
    that end with other values than they declare.
    """
    with parsed.context, without_collections():
        data = encode(parsed.operation)
        if not has_only_text(data):
            check_names(parsed.operation)
        try:
            return _Importer(file, data).module(parsed)
        except (RuntimeError, UnicodeError) as error:
            # What the bindings raise for names that are not UTF-8.
            if "conversion error" not in str(error) and not isinstance(error, UnicodeError):
                raise
            raise ProgramError(Diagnostic("WL0501", "the program has names that are not UTF-8")) from None


class _Importer:
    """Walks one module, as the bindings hold it and as bytecode, side by side.

    Numbers in the bytecode that were met before stand for what was made then: a plan for ops of some name, attributes
    and result types, a type, a position. Only for new ones the bindings are asked.
    """

    def __init__(self, file: str, data: bytes) -> None:
        self.file = file
        self.data = data
        self.at = ir_start(data)
        self.types: dict[Any, Type] = {}
        self.types_by_number: dict[int, Type] = {}
        self.plans: dict[bytes, Plan] = {}
        self.constants: dict[Any, ConstantValue] = {}
        self.depth = 0
        self.resources: str | None = None
        """The module as text, where its blobs stand; asked for only if there are any."""
        self.sources: dict[int, Position | None] = {}

    # -- structure ------------------------------------------------------------------------------------------------

    def module(self, parsed: Any) -> Module:
        operation = parsed.operation
        attributes = {name: str(operation.attributes[name]) for name in operation.attributes}
        name = attributes.pop("sym_name", None)
        result = Module(name=None if name is None else unquote(name))
        result.attributes = attributes
        self.parsed = parsed
        data = self.data
        _, at = read_number(data, self.at)  # the block that holds the module
        at, _ = skip_header(data, at)
        _, _, at = enter_regions(data, at)
        _, at = read_number(data, at)  # one region of one block without parameters,
        _, at = read_number(data, at)  # which defines no values
        count, self.at = read_number(data, at)
        inner = list(parsed.body.operations)
        expect(count == 2 * len(inner))
        for view in inner:
            operation = view.operation
            if operation.name == "func.func" and len(operation.regions[0].blocks):
                function = self.function(operation)
                result.functions[function.name] = function
            else:
                self.at = skip_operation(data, self.at)
                if operation.name.startswith("vhlo."):
                    # Printing one of these at the top of a module, the bindings never come back.
                    raise ProgramError(
                        Diagnostic("WL0501", f"{operation.name} stands for another version of StableHLO")
                    )
                result.globals.append(str(operation))
        return result

    def function(self, operation: Any) -> Function:
        self.at, _ = skip_header(self.data, self.at)
        attributes = {name: operation.attributes[name] for name in operation.attributes}
        (region,) = self.regions(operation, [])
        body = region.block
        body.parent = None
        visibility = attributes.get("sym_visibility")
        function = Function(
            unquote(str(attributes["sym_name"])), body, "public" if visibility is None else unquote(str(visibility))
        )
        function.attributes = {name: str(each) for name, each in attributes.items() if name not in _FUNCTION_OWN}
        for name, target in (
            ("arg_attrs", function.argument_attributes),
            ("res_attrs", function.result_attributes),
        ):
            if name in attributes:
                target[:] = [{each.name: str(each.attr) for each in entries} for entries in attributes[name]]
        function.source = self.position(operation.location)
        declared = ir.FunctionType(ir.TypeAttr(attributes["function_type"]).value).results
        check_results(function, [self.type(each) for each in declared])
        return function

    def regions(self, operation: Any, scope: list[Any]) -> list[Region]:
        """The regions of an op, whose values follow those of `scope` unless they are isolated from them."""
        data = self.data
        count, is_isolated, self.at = enter_regions(data, self.at)
        if is_isolated:
            scope = []
        regions: list[Region] = []
        self.depth += 1
        if self.depth > DEEPEST:
            raise ProgramError(
                Diagnostic(
                    "WL0502",
                    f"{operation.name} is nested in more than {DEEPEST} others",
                    self.position(operation.location),
                    help="put what is inside into functions of its own",
                )
            )
        first = len(scope)
        for index in range(count):
            blocks, self.at = read_number(data, self.at)
            if blocks > 1:
                self.refuse_branches(operation)
            if not blocks:
                regions.append(Region())
                continue
            values, self.at = read_number(data, self.at)
            scope += [_UNDEFINED] * values
            (parsed,) = operation.regions[index].blocks
            regions.append(Region(self.block(parsed, scope, first)))
            del scope[first:]
        self.depth -= 1
        return regions

    def refuse_branches(self, operation: Any) -> NoReturn:
        raise ProgramError(
            Diagnostic(
                "WL0502",
                f"{operation.name} holds control flow between blocks, which StableHLO programs do not have",
                self.position(operation.location),
                help="use stablehlo.while, stablehlo.case or stablehlo.if",
            )
        )

    def block_with_arguments(self, parsed: Any, scope: list[Any], first: int) -> Block:
        """A new block, its parameters entered into `scope` from `first` on."""
        data = self.data
        count, at = read_number(data, self.at)
        arguments: list[Any] | None = None
        types: list[Type] = []
        for index in range(count):
            number, at = read_number(data, at)
            type_ = self.types_by_number.get(number >> 1)
            if type_ is None:
                arguments = arguments or list(parsed.arguments)
                type_ = self.types_by_number[number >> 1] = self.type(arguments[index].type)
            types.append(type_)
            if number & 1:
                at += WIDTHS[data[at]]
        self.at = at + 1
        if data[at]:
            self.at = skip_use_orders(data, self.at, count)
        block = Block(types)
        scope[first : first + count] = block.arguments
        return block

    def block(self, parsed: Any, scope: list[Any], first: int) -> Block:
        """One block; its values are those of `scope` from `first` on.

        This is the inner loop of reading a program, so short numbers are read in place.
        """
        data, plans, sources, widths = self.data, self.plans, self.sources, WIDTHS
        number, self.at = read_number(data, self.at)
        block = self.block_with_arguments(parsed, scope, first) if number & 1 else Block()
        defined = first + len(block.arguments)
        remaining = number >> 1
        at = self.at
        with Builder(block):
            for view in parsed.operations:
                remaining -= 1
                start = at
                at += widths[data[at]]
                parts = data[at]
                at += 1
                head = data[start:at]
                byte = data[at]
                if byte & 3 == 2:
                    number, at = (byte | data[at + 1] << 8) >> 2, at + 2
                else:
                    number, at = read_number(data, at)
                source = sources.get(number, _UNREAD)
                if source is _UNREAD:
                    source = sources[number] = self.position(view.operation.location)
                start = at
                if parts & HAS_ATTRIBUTES:
                    at += widths[data[at]]
                if parts & HAS_PROPERTIES:
                    at += widths[data[at]]
                results = 0
                if parts & HAS_RESULTS:
                    byte = data[at]
                    if byte & 1:
                        results, at = byte >> 1, at + 1
                    else:
                        results, at = read_number(data, at)
                    for _ in range(results):
                        at += widths[data[at]]
                key = head + data[start:at]
                operands: list[Value] = []
                if parts & HAS_OPERANDS:
                    byte = data[at]
                    if byte & 1:
                        count, at = byte >> 1, at + 1
                    else:
                        count, at = read_number(data, at)
                    for _ in range(count):
                        byte = data[at]
                        if byte & 1:
                            operands.append(scope[byte >> 1])
                            at += 1
                        elif byte & 2:
                            operands.append(scope[(byte | data[at + 1] << 8) >> 2])
                            at += 2
                        else:
                            number, at = read_number(data, at)
                            operands.append(scope[number])
                if parts & HAS_SUCCESSORS:
                    self.refuse_branches(view.operation)
                if parts & HAS_USE_ORDERS:
                    at = skip_use_orders(data, at, results)
                plan = plans.get(key)
                if plan is None:
                    plan = plans[key] = self.plan(view.operation)
                    expect(len(plan.types) == results)
                if parts & HAS_REGIONS:
                    self.at = at
                    op = self.make(plan, operands, self.regions(view.operation, scope), block, view)
                    at = self.at
                elif (made := plan.made.get(tuple([operand.type for operand in operands]))) is not None:
                    op = made.repeat(operands, _NO_REGIONS, block)
                else:
                    op = self.make(plan, operands, [], block, view)
                op.source = source
                if results == 1 and op.type is plan.types[0]:
                    scope[defined] = op
                    defined += 1
                elif results:
                    scope[defined : defined + results] = op.results
                    defined += results
        expect(remaining == 0)
        self.at = at
        return block

    def make(self, plan: Plan, operands: list[Value], regions: list[Region], block: Block, view: Any) -> Op:
        """An op unlike those made before: of other operand types, or with regions."""
        if _UNDEFINED in operands:
            raise ProgramError(
                Diagnostic(
                    "WL0502",
                    f"{plan.name} takes a value that is not defined before it",
                    self.position(view.operation.location),
                    help="put the ops of the block in an order in which each value is defined before it is used",
                )
            )
        return plan.make(operands, regions, block)

    # -- leaves ---------------------------------------------------------------------------------------------------

    def plan(self, operation: Any) -> Plan:
        name = operation.name
        types = tuple([self.type(result.type) for result in operation.results])
        attributes = operation.attributes
        if name in _CONSTANTS and type(types[0]) is TensorType:
            value = self.constant(operation, types[0])
            texts = {key: str(attributes[key]) for key in attributes if key != "value"}
            return Plan("stablehlo.constant", texts, types, {"value": value})
        return Plan(name, {key: str(attributes[key]) for key in attributes}, types)

    def constant(self, operation: Any, type_: TensorType) -> ConstantValue:
        try:
            attribute = operation.attributes["value"]
        except TypeError:
            # The bindings have no class for dense attributes of complex numbers, only their text.
            text = str(operation.get_asm(print_generic_op_form=True))
            return ConstantValue(dense_from_text(text[text.index("dense<") :], type_), type_)
        value = self.constants.get(attribute)
        if value is None:
            value = self.constants[attribute] = self.dense(attribute, type_)
        return value

    def dense(self, attribute: Any, type_: TensorType) -> ConstantValue:
        if isinstance(attribute, ir.DenseElementsAttr):
            if attribute.is_splat:
                text = str(attribute)
                return ConstantValue(dense_from_text(text, type_), type_)
            if type_.dtype in _BUFFERED:
                array = np.array(attribute)
                return ConstantValue(array.reshape(type_.shape), type_)
        text = str(attribute)
        if text.startswith("dense_resource<"):
            return ConstantValue(self.blob(text, type_), type_)
        return ConstantValue(dense_from_text(text, type_), type_)

    def blob(self, attribute: str, type_: TensorType) -> Any:
        """The elements of a constant that stand apart from it, at the end of the module's text."""
        if self.resources is None:
            self.resources = str(self.parsed.operation.get_asm())
        array = blob_from_text(attribute, self.resources, type_)
        if array is None:
            raise ProgramError(Diagnostic("WL0501", f"the elements of a constant are not there: {attribute}"))
        return array

    def type(self, parsed: Any) -> Type:
        known = self.types.get(parsed)
        if known is None:
            known = self.types[parsed] = type_from_text(str(parsed))
        return known

    def position(self, location: Any) -> Position | None:
        while (kind := type(location)) is not ir.FileLineColLoc:
            if kind is ir.NameLoc:
                location = location.child_loc
            elif kind is ir.CallSiteLoc:
                location = location.callee
            elif kind is ir.FusedLoc:
                location = location.locations[0] if len(location.locations) else None
            else:
                return None
        place: Any = location
        file = place.filename
        return Position(self.file if file == "-" else file, place.start_line, place.start_col)


_BUFFERED = frozenset({"i1", "i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64", "f16", "f32", "f64"})
"""Element types whose dense attributes the bindings give to NumPy."""
