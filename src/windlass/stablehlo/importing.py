"""From StableHLO to the tensor level: jaxlib parses, this walks the parsed module once.

What the vocabulary has a class for becomes that class; anything else, and anything whose type is not a plain tensor of
known shape where the class needs one, is kept whole as `Opaque`.
"""

from __future__ import annotations

import gc
import re
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from windlass.diagnostics import Diagnostic, Position, ProgramError
from windlass.ir.builder import Builder
from windlass.ir.core import NO_TYPE, Block, Function, Module, Op, Region, TypeFault, Value
from windlass.ir.types import NUMPY_DTYPES, OpaqueType, TensorType, Type, tensor_type
from windlass.ops import Constant, ConstantValue, Opaque, OpaqueTerminator
from windlass.ops.base import TensorOp
from windlass.ops.spelling import unquote
from windlass.stablehlo.diagnosing import diagnose_parsing, first_message
from windlass.stablehlo.private_jax import make_context

_PLAIN_TENSOR = re.compile(r"tensor<((?:\d+x)*)([^<>]+|complex<f\d+>)>$")
_FUNCTION_OWN = frozenset({"sym_name", "function_type", "sym_visibility", "arg_attrs", "res_attrs"})


def import_text(text: str, file: str = "<stablehlo>") -> Module:
    """The module that StableHLO text describes; `file` is the name that its positions get.

    Raises ProgramError (WL0501), with line and column, where the text is no valid program.
    """
    context = make_context()
    context.allow_unregistered_dialects = True
    with context, ir.Location.unknown(context):
        try:
            parsed = ir.Module.parse(text, context)
        except ir.MLIRError as error:
            raise ProgramError(diagnose_parsing(error, text, file)) from None
        return import_module(parsed, file)


def import_bytecode(data: bytes) -> Module:
    """The module in MLIR bytecode, or in a portable StableHLO artifact as `jax.export` writes them.

    Raises ProgramError (WL0501) where the bytes are neither.
    """
    context = make_context()
    context.allow_unregistered_dialects = True
    with context, ir.Location.unknown(context):
        try:
            if not data.startswith(b"ML\xefR"):
                raise ValueError("the data does not begin as MLIR bytecode does")
            if b"StableHLO_v" in data[:64]:
                from jaxlib.mlir.dialects import stablehlo

                parsed = stablehlo.deserialize_portable_artifact(context, data)
            else:
                parsed = ir.Module.parse(data, context)
        except (ir.MLIRError, ValueError) as error:
            reason = first_message(error) if isinstance(error, ir.MLIRError) else str(error)
            raise ProgramError(Diagnostic("WL0501", f"this is not StableHLO bytecode: {reason}")) from None
        return import_module(parsed, "<bytecode>")


def import_module(parsed: Any, file: str = "<stablehlo>") -> Module:
    """The module that a `jaxlib.mlir.ir.Module` holds; the argument is not changed.

    Raises ProgramError (WL0502) for control flow between blocks, which StableHLO does not have.
    """
    # Everything made here is kept, so a collection in between would only cost time.
    collects = gc.isenabled()
    gc.disable()
    try:
        with parsed.context:
            return _Importer(file).module(parsed)
    finally:
        if collects:
            gc.enable()


class _Importer:
    """Walks one parsed module. Types, attributes and positions are converted once each."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.values: dict[Any, Value] = {}
        self.types: dict[Any, Type] = {}
        self.plans: dict[Any, _Plan] = {}
        self.constants: dict[Any, ConstantValue] = {}
        self.positions: dict[tuple[str, int, int], Position] = {}

    # -- structure ------------------------------------------------------------------------------------------------

    def module(self, parsed: Any) -> Module:
        operation = parsed.operation
        attributes = {name: str(operation.attributes[name]) for name in operation.attributes}
        name = attributes.pop("sym_name", None)
        result = Module(name=None if name is None else unquote(name))
        result.attributes = attributes
        for view in parsed.body.operations:
            inner = view.operation
            if inner.name == "func.func" and len(inner.regions[0].blocks):
                function = self.function(inner)
                result.functions[function.name] = function
            else:
                result.globals.append(str(inner))
        return result

    def function(self, operation: Any) -> Function:
        attributes = {name: operation.attributes[name] for name in operation.attributes}
        body = self.region_blocks(operation, 0)[0]
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
        return function

    def region_blocks(self, operation: Any, index: int) -> list[Block]:
        blocks = list(operation.regions[index].blocks)
        if len(blocks) > 1:
            raise ProgramError(
                Diagnostic(
                    "WL0502",
                    f"{operation.name} holds control flow between blocks, which StableHLO programs do not have",
                    self.position(operation.location),
                    help="use stablehlo.while, stablehlo.case or stablehlo.if",
                )
            )
        return [self.block(each) for each in blocks]

    def block(self, parsed: Any) -> Block:
        values, plans, position = self.values, self.plans, self.position
        known_types, type_of = self.types, self.type
        arguments = list(parsed.arguments)
        block = Block([type_of(argument.type) for argument in arguments])
        values.update(zip(arguments, block.arguments, strict=True))
        with Builder(block) as builder:
            for view in parsed.operations:
                operation = view.operation
                results = operation.results
                types = tuple([known_types.get(kind := result.type) or type_of(kind) for result in results])
                builder.source = position(operation.location)
                name = operation.name
                if name == "stablehlo.constant" and type(types[0]) is TensorType:
                    op: Op = self.constant(operation, types[0])
                else:
                    attributes = operation.attributes
                    pairs = tuple([(key, attributes[key]) for key in attributes]) if len(attributes) else ()
                    key = (name, pairs, types)
                    plan = plans.get(key)
                    if plan is None:
                        plan = plans[key] = _Plan(Op.by_name.get(name), name, pairs, types)
                    op = plan.make(
                        [values[operand] for operand in operation.operands],
                        self.regions(operation) if plan.may_have_regions else [],
                        block,
                    )
                if len(types) == 1:
                    values[results[0]] = op if op.type is types[0] else op.results[0]
                elif types:
                    values.update(zip(results, op.results, strict=True))
        return block

    def regions(self, operation: Any) -> list[Region]:
        return [Region(*self.region_blocks(operation, index)) for index in range(len(operation.regions))]

    # -- leaves ---------------------------------------------------------------------------------------------------

    def constant(self, operation: Any, type_: TensorType) -> Op:
        attributes = operation.attributes
        try:
            attribute = attributes["value"]
        except TypeError:
            # The bindings have no class for dense attributes of complex numbers, only their text.
            text = str(operation.get_asm(print_generic_op_form=True))
            return Constant(ConstantValue(dense_from_text(text[text.index("dense<") :], type_), type_))
        value = self.constants.get(attribute)
        if value is None:
            value = self.constants[attribute] = self.dense(attribute, type_)
        op = Constant(value)
        if len(attributes) > 1:
            op.extra = {key: str(attributes[key]) for key in attributes if key != "value"}
        return op

    def dense(self, attribute: Any, type_: TensorType) -> ConstantValue:
        if isinstance(attribute, ir.DenseElementsAttr):
            if attribute.is_splat:
                text = str(attribute)
                return ConstantValue(dense_from_text(text, type_), type_)
            if type_.dtype in _BUFFERED:
                array = np.array(attribute)
                return ConstantValue(array.reshape(type_.shape), type_)
        return ConstantValue(dense_from_text(str(attribute), type_), type_)

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
        key = (place.filename, place.start_line, place.start_col)
        known = self.positions.get(key)
        if known is None:
            file = self.file if key[0] == "-" else key[0]
            known = self.positions[key] = Position(file, key[1], key[2])
        return known


class _Plan:
    """How to make all ops of one name, attributes and result types."""

    __slots__ = (
        "attribute_fields",
        "cls",
        "count",
        "extra",
        "made",
        "may_have_regions",
        "name",
        "pairs",
        "tail",
        "types",
    )

    def __init__(self, cls: type[Op] | None, name: str, pairs: tuple[Any, ...], types: tuple[Type, ...]) -> None:
        self.name, self.pairs, self.types = name, pairs, types
        self.cls: type[TensorOp] | None = None
        self.attribute_fields: dict[str, Any] = {}
        self.extra: dict[str, str] | None = None
        self.count = 0
        self.made: dict[tuple[Type, ...], Op] = {}
        # One op for each list of operand types: others are made like it.
        self.may_have_regions = cls is None or bool(cls.region_names)
        self.tail: tuple[Any, ...] | None = None
        if cls is None or not issubclass(cls, TensorOp):
            return
        texts = {key: str(attribute) for key, attribute in pairs}
        try:
            fields = cls.fields_from_mlir(texts, types)
        except (KeyError, ValueError, AssertionError):
            return
        attributes = [field for field in cls.fields if field.kind == "attribute"]
        if any(field.is_required and field.name not in fields for field in attributes):
            return
        self.cls, self.attribute_fields = cls, fields
        own = cls.mlir_attribute_names()
        self.extra = {key: text for key, text in texts.items() if key not in own} or None
        kinds = [field.kind for field in cls.fields]
        self.count = kinds.count("operand")
        if kinds == ["operand"] * self.count + ["attribute"] * (len(kinds) - self.count):
            # The constructor takes operands, then attributes, by position.
            self.tail = tuple([fields.get(field.name, field.default) for field in attributes])

    def make(self, operands: list[Value], regions: list[Region], block: Block) -> Op:
        """The op, placed by the active builder."""
        cls, types = self.cls, self.types
        if cls is not None:
            taken = tuple([operand.type for operand in operands])
            if (made := self.made.get(taken)) is not None:
                return made.repeat(operands)
            previous = block.last
            try:
                if self.tail is not None and len(operands) == self.count:
                    op = cls(*operands, *self.tail)
                else:
                    op = cls(**_split_operands(cls, operands), **_split_regions(cls, regions), **self.attribute_fields)
            except (TypeFault, ValueError):
                assert block.last is previous
            else:
                if op.type is types[0] if len(types) == 1 and op.type is not NO_TYPE else _has_types(op, types):
                    if self.extra is not None:
                        op.extra = dict(self.extra)
                    if not regions:
                        self.made[taken] = op
                    return op
                # A type that MLIR accepts and the class does not express: keep what MLIR has.
                op.drop_operands()
                block.unlink(op)
        texts = tuple((key, str(attribute)) for key, attribute in self.pairs)
        kind = OpaqueTerminator if not types and self.name.endswith(".return") else Opaque
        return kind(self.name, tuple(operands), types, texts, tuple(regions))


def _has_types(op: Op, types: tuple[Type, ...]) -> bool:
    found = op.results
    return len(found) == len(types) and all(result.type is type_ for result, type_ in zip(found, types, strict=True))


def _split_operands(cls: type[Op], operands: list[Value]) -> dict[str, Any]:
    """Give each operand field its share: single ones take one, variadic ones divide what is left evenly."""
    fields = [field for field in cls.fields if field.kind in ("operand", "variadic")]
    singles = sum(field.kind == "operand" for field in fields)
    variadics = len(fields) - singles
    share, rest = divmod(len(operands) - singles, variadics) if variadics else (0, len(operands) - singles)
    if rest or share < 0:
        raise ValueError("the operands do not divide into the fields")
    shares: dict[str, Any] = {}
    position = 0
    for field in fields:
        if field.kind == "operand":
            shares[field.name] = operands[position]
            position += 1
        else:
            shares[field.name] = tuple(operands[position : position + share])
            position += share
    return shares


def _split_regions(cls: type[Op], regions: list[Region]) -> dict[str, Any]:
    fields = [field for field in cls.fields if field.kind in ("region", "regions")]
    if len(fields) == 1 and fields[0].kind == "regions":
        return {fields[0].name: tuple(regions)}
    return {field.name: region for field, region in zip(fields, regions, strict=True)}


def type_from_text(text: str) -> Type:
    """A type from its MLIR text; what is no plain tensor of known shape and element type is opaque.

    >>> type_from_text("tensor<2x3xcomplex<f32>>").shape
    (2, 3)
    >>> type(type_from_text("tensor<?x3xf32>")).__name__
    'OpaqueType'
    """
    found = _PLAIN_TENSOR.match(text)
    if found is None or found.group(2) not in NUMPY_DTYPES:
        return OpaqueType.of(text)
    return tensor_type(tuple(int(size) for size in found.group(1).split("x")[:-1]), found.group(2))


_BUFFERED = frozenset({"i1", "i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64", "f16", "f32", "f64"})
"""Element types whose dense attributes the bindings give to NumPy."""


def dense_from_text(text: str, type_: TensorType) -> np.ndarray[Any, Any]:
    """The elements of `dense<...> : type`; of a splat the one element, as a rank-0 array.

    >>> dense_from_text("dense<[1.0, 0x7FC0]> : tensor<2xbf16>", tensor_type((2,), "bf16")).astype(float)
    array([ 1., nan])
    """
    dtype = NUMPY_DTYPES[type_.dtype]
    body = text[text.index("<") + 1 :]
    if body.startswith('"0x'):
        raw = bytes.fromhex(body[3 : body.index('"', 3)])
        if type_.dtype == "i1":
            bits = np.unpackbits(np.frombuffer(raw, np.uint8), bitorder="little")[: type_.size]
            return bits.astype(bool).reshape(type_.shape)
        array = np.frombuffer(raw, dtype)
        return array.reshape(()) if array.size == 1 and type_.size != 1 else array.reshape(type_.shape)
    body = body[: body.rindex("> : tensor")] if "> : tensor" in body else body.rstrip("> ")
    words = re.findall(r"[^\s\[\](),<>]+", body)
    numbers = _parse_words(words, type_.dtype)
    if type_.is_complex:
        numbers = np.ascontiguousarray(numbers).view(dtype)
    is_splat = not body.lstrip().startswith("[") and bool(words)
    return numbers.reshape(()) if is_splat else numbers.reshape(type_.shape)


def _parse_words(words: list[str], dtype: str) -> np.ndarray[Any, Any]:
    target = NUMPY_DTYPES[dtype[8:-1] if dtype.startswith("complex") else dtype]
    if dtype == "i1":
        return np.array([word == "true" for word in words], bool)
    if target.kind in "iu" or dtype in ("i4", "ui4"):
        return np.array([int(word) for word in words], dtype=np.int64 if dtype != "ui64" else np.uint64).astype(target)
    unsigned = np.dtype(f"u{target.itemsize}")
    array = np.empty(len(words), target)
    bits = array.view(unsigned)
    for index, word in enumerate(words):
        if word.startswith("0x"):
            bits[index] = int(word, 16)
        else:
            array[index] = float(word)
    return array
