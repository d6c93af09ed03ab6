"""Random ops that a rule's pattern matches, made from the pattern and from what the op classes say of themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from windlass.facts.terms import evaluate_term, op_of
from windlass.ir import Block, Builder, Hole, Op, Region, TensorType, TypeFault, Value, tensor_type
from windlass.ir.values import Argument
from windlass.ops import BroadcastInDim, Composite, Constant, Slice
from windlass.ops.base import TensorOp
from windlass.ops.sampling import Draw, Unsuitable
from windlass.rewriting.pattern import Every, is_any, list_roots, parts_of
from windlass.rewriting.rule import Rule


class Mismatch(Exception):
    """The random choices do not fit together: choose again."""


def make_instance(rule: Rule, draw: Draw) -> Op:
    """A random op that is like the rule's pattern.

    Raises Mismatch where the choices made don't fit.
    """
    try:
        # What the sample never makes, the pattern may still match.
        if rule.sample is not None and draw.integer(0, 3):
            return rule.sample(draw)
        made = _build(rule.pattern, {}, draw)
    except (TypeFault, Unsuitable, NotImplementedError, ArithmeticError, LookupError, ValueError) as fault:
        # The last three: where operands that a pattern asks for have not the shapes that random fields are drawn for.
        raise Mismatch(str(fault)) from fault
    assert isinstance(made, Op)
    return made


def _is_drawn(op_class: type[Op]) -> bool:
    """Whether instances of a class are made: no tensor program holds ops that are expanded before."""
    return not op_class.region_names and not issubclass(op_class, Composite)


def _build(pattern: Op, bound: dict[str, Any], draw: Draw) -> Value:
    op_class = type(pattern)
    if is_any(pattern):
        op_class = draw.choose([each for each in list_roots(pattern) if _is_drawn(each)])
        if not parts_of(pattern):
            return _random_op(op_class, draw)
    assert issubclass(op_class, TensorOp)
    types = op_class.sample_operands(draw)
    parts = {field.name: Hole(f"{id(pattern)} {field.name}") for field in op_class.fields} | parts_of(pattern)
    operands = [parts[field.name] for field in op_class.fields if field.kind == "operand"]
    known = [operand for operand in operands if isinstance(operand, Op)]
    built = {id(operand): _build(operand, bound, draw) for operand in known}
    anchor = next(iter(built.values())).type if built else None
    if isinstance(anchor, TensorType):
        types = _types_near(anchor, types, draw)
    fields: dict[str, Any] = {}
    remaining = iter(types)
    for field in op_class.fields:
        wanted = parts[field.name]
        if field.kind == "operand":
            type_ = next(remaining, types[-1] if types else None)
            fields[field.name] = built.get(id(wanted)) or _fill(wanted, type_, bound, draw)
        elif field.kind == "variadic":
            if isinstance(wanted, Every):
                raise Mismatch("operands that are all alike are for the rule's own sample to make")
            holes = (Hole(f"{wanted!r}{position}") for position in range(len(types)))
            fields[field.name] = tuple(
                _fill(each, type_, bound, draw) for each, type_ in zip(holes, remaining, strict=False)
            )
    operand_types = [
        value.tensor for given in fields.values() for value in (given if isinstance(given, tuple) else (given,))
    ]
    sampled = op_class.sample(draw, *operand_types)
    for field in op_class.fields:
        if field.kind == "attribute":
            wanted = parts[field.name]
            drawn = sampled.get(field.name, field.default)
            fields[field.name] = bound.setdefault(wanted.name, drawn) if isinstance(wanted, Hole) else wanted
    return op_class(**fields)


def _types_near(anchor: TensorType, types: tuple[TensorType, ...], draw: Draw) -> tuple[TensorType, ...]:
    """Operand types as `types`, but with the anchor's element type, and its shape where they had the largest rank."""
    if len(types) == 1:
        return (anchor,)
    dtypes = [anchor.dtype if type_.dtype == types[-1].dtype else type_.dtype for type_ in types]
    shapes = [anchor.shape if type_.rank == max(t.rank for t in types) else type_.shape for type_ in types]
    return tuple(tensor_type(shape, dtype) for shape, dtype in zip(shapes, dtypes, strict=True))


def _fill(wanted: Any, type_: TensorType | None, bound: dict[str, Any], draw: Draw) -> Value:
    assert isinstance(wanted, Hole)
    if wanted.name in bound:
        return bound[wanted.name]
    assert type_ is not None
    if wanted.accepts is None:
        value = _random_leaf(type_, wanted.name, draw)
    else:
        numbers = (0, -0.0, 1, True, False, draw.integer(-4, 9))
        held = [number for number in numbers if number >= 0 or not type_.is_unsigned]
        made = [Constant.of(number, type_.dtype, type_.shape) for number in held]
        fitting = [constant for constant in made if wanted.accepts(constant)]
        if not fitting:
            raise Mismatch(f"no constant of {type_} suits {wanted}")
        value = draw.choose(fitting)
    bound[wanted.name] = value
    return value


def _random_leaf(type_: TensorType, name: str, draw: Draw) -> Value:
    """A free variable, mostly; at times what rules look for in operands: constants, broadcasts, slices."""
    kind = draw.integer(0, 7)
    if kind == 0:
        return Constant.of(draw.integer(0, 1), type_.dtype, type_.shape)
    if kind == 1:
        return BroadcastInDim(Argument(tensor_type((), type_.dtype), name="c"), type_.shape, ())
    if kind == 2:
        larger = tensor_type(tuple(size + 2 for size in type_.shape), type_.dtype)
        start = tuple(draw.integer(0, 2) for _ in type_.shape)
        limit = tuple(first + size for first, size in zip(start, type_.shape, strict=True))
        return Slice(Argument(larger, name=name), start, limit, (1,) * type_.rank)
    return Argument(type_, name=name)


def _random_op(op_class: type[Op], draw: Draw) -> Value:
    assert issubclass(op_class, TensorOp)
    types = op_class.sample_operands(draw)
    operands = [Argument(type_, name=f"x{index}") for index, type_ in enumerate(types)]
    fields: dict[str, Any] = {}
    remaining = iter(operands)
    for field in op_class.fields:
        if field.kind == "operand":
            fields[field.name] = next(remaining)
        elif field.kind == "variadic":
            fields[field.name] = tuple(remaining)
    return op_class(**fields, **op_class.sample(draw, *types))


def list_arguments(value: Value) -> list[Argument]:
    """The free variables of a term, in order of first appearance."""
    found: dict[Argument, None] = {}
    seen: set[int] = set()

    def visit(each: Value) -> None:
        if id(each) in seen:
            return
        seen.add(id(each))
        if isinstance(each, Argument):
            if each.block is None:
                found[each] = None
            return
        op = op_of(each)
        assert op is not None
        for operand in op.operands:
            visit(operand)
        for region in op.regions:
            for inner in region.walk():
                for operand in inner.operands:
                    visit(operand)

    visit(value)
    return list(found)


WIDE = {"f16": "f64", "bf16": "f64", "f32": "f64", "complex<f32>": "complex<f64>"}


def evaluate_wide(value: Value, known: dict[Value, np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """As `evaluate_term`, but with floats in double precision all the way."""
    wide: dict[Value, Value] = {}
    arrays: dict[Value, np.ndarray[Any, Any]] = {}

    def widen(each: Value) -> Value:
        if each in wide:
            return wide[each]
        if isinstance(each, Argument):
            dtype = WIDE.get(each.dtype, each.dtype)
            made: Value = Argument(tensor_type(each.shape, dtype), name=each.name)
            arrays[made] = known[each].astype(made.tensor.numpy_dtype)
        elif isinstance(each, Constant) and each.dtype in WIDE:
            made = Constant.of(each.value.array.astype(tensor_type((), WIDE[each.dtype]).numpy_dtype))
        else:
            op = op_of(each)
            assert op is not None
            fields = dict(op.field_values())
            if "dtype" in fields:
                fields["dtype"] = WIDE.get(fields["dtype"], fields["dtype"])
            if op.regions:
                regions = iter([_widen_region(region, widen) for region in op.regions])
                for name in op.region_names:
                    held = fields[name]
                    fields[name] = next(regions) if isinstance(held, Region) else tuple(next(regions) for _ in held)
            operands = iter([widen(operand) for operand in op.operands])
            for field in op.fields:
                if field.kind == "operand" or (field.kind == "optional" and fields[field.name] is not None):
                    fields[field.name] = next(operands)
                elif field.kind == "variadic":
                    fields[field.name] = tuple(next(operands) for _ in fields[field.name])
            made_op = type(op).from_fields(fields)
            made_op.extra = op.extra
            wide.update(zip(op.results, made_op.results, strict=True))
            return wide[each]
        wide[each] = made
        return made

    return evaluate_term(widen(value), arrays)


def _widen_region(region: Region, widen: Callable[[Value], Value]) -> Region:
    """The region on wide floats; `widen` gives what it uses from outside."""
    old = region.block
    new = Block([tensor_type(each.shape, WIDE.get(each.dtype, each.dtype)) for each in old.arguments])
    mapping: dict[Value, Value] = dict(zip(old.arguments, new.arguments, strict=True))

    def inside(value: Value) -> Value:
        return mapping[value] if value in mapping else widen(value)

    with Builder(new):
        for op in old:
            fields = dict(op.field_values())
            if isinstance(op, Constant):
                fields["value"] = Constant.of(op.value.array, WIDE.get(op.dtype, op.dtype), op.shape).value
            if "dtype" in fields:
                fields["dtype"] = WIDE.get(fields["dtype"], fields["dtype"])
            for field in op.fields:
                held: Any = fields[field.name]
                if field.kind == "operand":
                    fields[field.name] = inside(held)
                elif field.kind == "optional":
                    fields[field.name] = None if held is None else inside(held)
                elif field.kind == "variadic":
                    fields[field.name] = tuple(inside(value) for value in held)
                elif field.kind == "region":
                    fields[field.name] = _widen_region(held, inside)
                elif field.kind == "regions":
                    fields[field.name] = tuple(_widen_region(each, inside) for each in held)
            mapping.update(zip(op.results, type(op).from_fields(fields).results, strict=True))
    return Region(new)
