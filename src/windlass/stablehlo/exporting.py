"""From the tensor level to StableHLO: built directly through jaxlib's MLIR bindings, op by op."""

from __future__ import annotations

import io
import re
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from windlass.diagnostics import Diagnostic, Position, ProgramError
from windlass.ir.core import Block, Op
from windlass.ir.program import Function, Module
from windlass.ir.types import Type
from windlass.ir.values import Value
from windlass.ops import Constant, ConstantValue, DynamicSlice, Opaque, Return
from windlass.ops.base import TensorOp
from windlass.ops.spelling import quote
from windlass.rewriting.collecting import without_collections
from windlass.stablehlo.contexts import borrowed_context, make_context
from windlass.stablehlo.diagnosing import diagnose_verification, heard


def export_module(module: Module, context: Any = None) -> Any:
    """The module as a `jaxlib.mlir.ir.Module`, in a context of its own unless one is given.

    Raises ProgramError (WL0503) for ops that are not of the tensor level, and (WL0504) where MLIR finds that the
    result is no valid program.
    """
    if context is None:
        context = make_context()
    context.allow_unregistered_dialects = True
    return _build(module, context, locations=True)


def _build(module: Module, context: Any, locations: bool, within_calls: bool = False) -> Any:
    with context, ir.Location.unknown(context), heard(context) as complaints, without_collections():
        try:
            exported = _Exporter(context, locations, within_calls).module(module)
            exported.operation.verify()
        except ir.MLIRError as error:
            if not locations:
                # Only to say where the fault is.
                return export_module(module)
            raise ProgramError(diagnose_verification(complaints, error)) from None
    return exported


def export_text(module: Module, locations: bool = False) -> str:
    """The module as StableHLO text; with `locations`, source positions are printed too.

    Raises ProgramError as `export_module` does.
    """
    with _context_for(module) as context:
        exported = _build(module, context, locations)
        return str(exported.operation.get_asm(enable_debug_info=locations, assume_verified=True))


def export_bytecode(module: Module, within_calls: bool = False) -> bytes:
    """The module as MLIR bytecode; with `within_calls`, XLA keeps its source positions where another program calls it.

    Raises ProgramError as `export_module` does.
    """
    buffer = io.BytesIO()
    with _context_for(module) as context:
        _build(module, context, True, within_calls).operation.write_bytecode(buffer)
    return buffer.getvalue()


def _context_for(module: Module) -> AbstractContextManager[Any]:
    """A context in which the module can be made and written."""
    ops = (op for function in module.functions.values() for op in function.walk())
    return borrowed_context(sum(op.value.data.nbytes if isinstance(op, Constant) else 100 for op in ops))


def function_text(function: Function) -> str:
    """One function as StableHLO text, for debugging: calls to other functions are not checked.

    Raises ProgramError (WL0503) for ops that are not of the tensor level.
    """
    with borrowed_context(100) as context, context, ir.Location.unknown(context):
        exported = _Exporter(context, locations=False).module(Module([function]))
        return str(exported.operation.get_asm(assume_verified=True))


class _Exporter:
    """Builds one module; MLIR types, attributes and locations are made once each."""

    def __init__(self, context: Any, locations: bool, within_calls: bool = False) -> None:
        self.context = context
        self.names_lines = within_calls
        self.has_locations = locations
        self.values: dict[Value, Any] = {}
        self.types: dict[Type, Any] = {}
        self.names: dict[type[Op], str] = {}
        self.constants: dict[ConstantValue, dict[str, Any]] = {}
        self.attributes: dict[Any, dict[str, Any]] = {}
        self.parsed: dict[str, Any] = {}
        self.unknown = ir.Location.unknown(context)
        self.locations: dict[int, Any] = {}
        """By the identity of the position: positions are many, and rarely equal where they are not the same."""

    def module(self, module: Module) -> Any:
        result = ir.Module.create(self.unknown)
        operation = result.operation
        if module.name is not None:
            operation.attributes["sym_name"] = self.parse(quote(module.name))
        for name, text in module.attributes.items():
            operation.attributes[name] = self.parse(text)
        point = ir.InsertionPoint(result.body)
        for text in module.globals:
            point.insert(ir.Operation.parse(text, context=self.context))
        for function in module.functions.values():
            self.function(function, point)
        return result

    def function(self, function: Function, point: Any) -> None:
        inputs = [self.type(argument.type) for argument in function.arguments]
        outputs = [self.type(value.type) for value in function.results]
        attributes = {name: self.parse(text) for name, text in function.attributes.items()}
        attributes["sym_name"] = self.parse(quote(function.name))
        attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, outputs))
        attributes["sym_visibility"] = self.parse(quote(function.visibility))
        for name, each in (("arg_attrs", function.argument_attributes), ("res_attrs", function.result_attributes)):
            if any(each):
                attributes[name] = self.parse(f"[{', '.join(map(dictionary_text, each))}]")
        operation = ir.Operation.create(
            "func.func", attributes=attributes, regions=1, loc=self.location(function.source), ip=point
        )
        self.block(function.body, operation.regions[0])

    def block(self, block: Block, region: Any) -> None:
        types = [self.type(argument.type) for argument in block.arguments]
        target = region.blocks.append(*types)
        self.values.update(zip(block.arguments, target.arguments, strict=True))
        point = ir.InsertionPoint(target)
        create, values, names, location = ir.Operation.create, self.values, self.names, self.location
        known_types, attributes_of, has_locations, unknown = (
            self.types,
            self.attributes_of,
            self.has_locations,
            self.unknown,
        )
        op = block.first
        while op is not None:
            if type(op) is DynamicSlice and not op.slice_sizes:
                # A slice of a scalar: what MLIR prints of it, its parser refuses.
                values[op] = values[op.operand]
                op = op.next
                continue
            inner = op._results  # pyright: ignore[reportPrivateUsage]
            results = (op,) if inner is None else inner
            operation = create(
                names.get(type(op)) or self.name_of(op),
                [known_types.get(result.type) or self.type(result.type) for result in results],
                [values[operand] for operand in op._operands],  # pyright: ignore[reportPrivateUsage]
                attributes_of(op),
                None,
                len(op.regions) if op.region_names else 0,
                location(op.source) if has_locations else unknown,
                point,
            )
            if len(results) == 1:
                values[results[0]] = operation.result
            elif results:
                values.update(zip(results, operation.results, strict=True))
            if op.region_names:
                for region_, made in zip(op.regions, operation.regions, strict=True):
                    for each in region_.blocks:
                        self.block(each, made)
            op = op.next

    def name_of(self, op: Op) -> str:
        if isinstance(op, Opaque):
            return op.operation
        if isinstance(op, Return):
            return "func.return" if op.block is None or op.block.parent is None else "stablehlo.return"
        if op.name.startswith("windlass.") or not op.name:
            name = op.name or type(op).__name__
            raise ProgramError(
                Diagnostic(
                    "WL0503", f"{name} is an op of the loop level and has no place in a tensor program", op.source
                )
            )
        self.names[type(op)] = op.name
        return op.name

    def attributes_of(self, op: Op) -> dict[str, Any] | None:
        known: dict[str, Any] | None
        if type(op) is Constant:
            known = self.constants.get(op.value)
            if known is None:
                known = self.constants[op.value] = {"value": self.dense(op.value)}
        elif not op.attribute_names:
            known = None
        else:
            fields = op.__dict__
            key = (type(op), *[fields[name] for name in op.attribute_names])
            known = self.attributes.get(key)
            if known is None:
                assert isinstance(op, TensorOp)
                texts = op.mlir_attributes()
                known = self.attributes[key] = {name: self.parse(text) for name, text in texts.items()}
        if op.extra:
            known = dict(known or ())
            known.update((name, self.parse(text)) for name, text in op.extra.items())
        return known

    def parse(self, text: str) -> Any:
        known = self.parsed.get(text)
        if known is None:
            known = self.parsed[text] = ir.Attribute.parse(text, self.context)
        return known

    def type(self, type_: Type) -> Any:
        known = self.types.get(type_)
        if known is None:
            known = self.types[type_] = ir.Type.parse(type_.text, self.context)
        return known

    def location(self, source: Position | None) -> Any:
        if source is None or not self.has_locations:
            return self.unknown
        known = self.locations.get(id(source))
        if known is None:
            known = ir.Location.file(source.file, source.line, source.column, self.context)
            if self.names_lines:
                # XLA takes a line from within a call only if it has a name.
                known = ir.Location.name("line", known, self.context)
            self.locations[id(source)] = known
        return known

    def dense(self, value: ConstantValue) -> Any:
        """The elements as a dense attribute, copied from memory."""
        type_ = value.type
        array: Any = value.data
        if type_.is_complex:
            # The bindings can't parse these, and have no splats of them.
            element = ir.Type.parse(type_.dtype, self.context)
            full: Any = np.ascontiguousarray(value.array)
            return ir.DenseElementsAttr.get(full, type=element, shape=list(type_.shape))
        if value.is_splat or array.size <= 64 or type_.dtype in ("i1", "i4", "ui4"):
            texts = Constant(value).mlir_attributes()
            return ir.Attribute.parse(texts["value"], self.context)
        element = ir.Type.parse(type_.dtype, self.context)
        if array.dtype.kind not in "fiu" or array.dtype.name.startswith(("bfloat", "float8")):
            array = array.view(np.dtype(f"u{array.dtype.itemsize}"))
        return ir.DenseElementsAttr.get(array, type=element, shape=list(type_.shape))


def dictionary_text(entries: dict[str, str]) -> str:
    """A dictionary attribute as MLIR text.

    >>> dictionary_text({"tf.aliasing_output": "0 : i32", "a-b": "unit"})
    '{tf.aliasing_output = 0 : i32, "a-b" = unit}'
    """
    pairs: list[str] = []
    for name, text in entries.items():
        key = name if re.fullmatch(r"[A-Za-z_][\w$.]*", name) else quote(name)
        pairs.append(f"{key} = {text}")
    return f"{{{', '.join(pairs)}}}"
