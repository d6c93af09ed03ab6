"""Running a program with regions of local code on imagined devices: each op by its `evaluate`, device by device."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from windlass.communication.halo_exchange import FIRST_FOR_FOLDS
from windlass.communication.propagation import CONSTRAINT
from windlass.ir import Block, Function, Value
from windlass.ops import (
    Add,
    AllReduce,
    AllToAll,
    And,
    Case,
    CollectivePermute,
    If,
    Maximum,
    Minimum,
    Multiply,
    Opaque,
    Or,
    PartitionId,
    While,
)
from windlass.ops.evaluation import Scope
from windlass.ops.shardings import MANUAL, Sharding, sharding_of

FOLDS: dict[Any, Any] = {
    Add: np.add,
    Multiply: np.multiply,
    Maximum: np.maximum,
    Minimum: np.minimum,
    And: np.bitwise_and,
    Or: np.bitwise_or,
}
POISON = 1e30
"""What stands in halos where there is no neighbour: if it reached a result, it would be seen."""


def evaluate(function: Function, arrays: list[Any]) -> list[Any]:
    """What the function gives; its loops may hold regions, too."""
    return _run(function.body, arrays, {})


def _run(block: Block, arrays: Sequence[Any], outside: Mapping[Value, Any]) -> list[Any]:
    known: dict[Value, Any] = {**outside, **dict(zip(block.arguments, arrays, strict=True))}
    for op in block:
        operands = [known[operand] for operand in op.operands]
        if op is block.terminator:
            return operands
        if isinstance(op, Opaque) and op.operation == MANUAL:
            results = _run_region(op, operands)
        elif isinstance(op, Opaque) and op.operation == CONSTRAINT:
            results = operands
        elif isinstance(op, While):
            results = operands
            while _run(op.cond.block, results, known)[0]:
                results = _run(op.body.block, results, known)
        elif isinstance(op, If | Case):
            number = int(operands[0])
            branches = op.branches if isinstance(op, Case) else (op.false_branch, op.true_branch)
            results = _run(branches[number if 0 <= number < len(branches) else -1].block, [], known)
        else:
            found = op.evaluate(*operands, **({"scope": Scope(known)} if getattr(op, "needs_scope", False) else {}))
            results = found if isinstance(found, tuple) else (found,)
        known.update(zip(op.results, results, strict=True))
    raise AssertionError("the block ends with no values")


def _shardings(op: Opaque, name: str, values: tuple[Value, ...]) -> list[Sharding]:
    text = dict(op.attribute_texts)[name]
    found = re.findall(r"<mesh<\[.*?\]>, \[[^\]]*\]>", text)
    shardings = [sharding_of(each, value.tensor.rank) for each, value in zip(found, values, strict=True)]
    return [each for each in shardings if each is not None]


def _run_region(op: Opaque, operands: list[Any]) -> list[Any]:
    inputs, outputs = (
        _shardings(op, name, values) for name, values in (("in_shardings", op.operands), ("out_shardings", op.results))
    )
    mesh = (inputs or outputs)[0].mesh
    block = op.bodies[0].block
    devices = [dict(zip([name for name, _ in mesh.axes], place, strict=True)) for place in _places(mesh.axes)]
    local: list[dict[Value, Any]] = [
        dict(zip(block.arguments, [_part(a, s, d) for a, s in zip(operands, inputs, strict=True)], strict=True))
        for d in devices
    ]
    given = _run_together(block, local)
    results: list[Any] = []
    for index, (value, sharding) in enumerate(zip(op.results, outputs, strict=True)):
        whole = np.zeros(value.shape, value.tensor.numpy_dtype)
        for device, parts in zip(devices, given, strict=True):
            whole[_slices(value.shape, sharding, device)] = parts[index]
        results.append(whole)
    return results


def _run_together(block: Block, local: list[dict[Value, Any]]) -> list[list[Any]]:
    for op in block:
        if op is block.terminator:
            return [[values[operand] for operand in op.operands] for values in local]
        if isinstance(op, CollectivePermute):
            sent = [values[op.operand] for values in local]
            sources = {target: source for source, target in op.source_target_pairs}
            for number, values in enumerate(local):
                is_face = op.channel_handle is not None and op.channel_handle[0] < FIRST_FOR_FOLDS
                kind = sent[number].dtype.kind
                poison = 99 if kind in "biu" else POISON
                nothing = np.full_like(sent[number], poison if is_face else 0)
                values[op] = sent[sources[number]] if number in sources else nothing
            continue
        if isinstance(op, AllReduce):
            fold = FOLDS[op.combiner]
            for group in op.replica_groups:
                found = functools.reduce(fold, [local[number][op.inputs[0]] for number in group])
                for number in group:
                    local[number][op.results[0]] = np.asarray(found)
            continue
        if isinstance(op, AllToAll):
            for group in op.replica_groups:
                sent = [np.split(local[number][op.inputs[0]], op.split_count, op.split_dimension) for number in group]
                for place, number in enumerate(group):
                    local[number][op.results[0]] = np.concatenate([each[place] for each in sent], op.concat_dimension)
            continue
        for number, values in enumerate(local):
            if isinstance(op, PartitionId):
                values[op] = np.array(number, np.uint32)
                continue
            operands = [values[operand] for operand in op.operands]
            found = op.evaluate(*operands, **({"scope": Scope(values)} if getattr(op, "needs_scope", False) else {}))
            values.update(zip(op.results, found if isinstance(found, tuple) else (found,), strict=True))
    raise AssertionError("the region ends with no values")


def _places(axes: tuple[tuple[str, int], ...]) -> list[tuple[int, ...]]:
    return list(itertools.product(*(range(size) for _, size in axes)))


def _slices(shape: tuple[int, ...], sharding: Sharding, device: dict[str, int]) -> tuple[slice, ...]:
    sizes = dict(sharding.mesh.axes)
    found: list[slice] = []
    for size, names in zip(shape, sharding.axes, strict=True):
        part, parts = 0, 1
        for name in names:
            part, parts = part * sizes[name] + device[name], parts * sizes[name]
        found.append(slice(part * (size // parts), (part + 1) * (size // parts)))
    return tuple(found)


def _part(array: Any, sharding: Sharding, device: dict[str, int]) -> Any:
    return np.asarray(array)[_slices(np.shape(array), sharding, device)]
