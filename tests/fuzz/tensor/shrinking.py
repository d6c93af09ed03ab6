"""Makes a failing program small, and finds the rules without which it does not fail."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from tests.fuzz.tensor.author import Program, copy_module
from tests.fuzz.tensor.meaning import Meaning
from tests.fuzz.tensor.trial import Outcome, Way, run
from windlass.ir import Block, Builder, Function, Module, Op, TensorType, TypeFault, Value
from windlass.ops import Constant, Return
from windlass.rewriting.driver import remove_dead_code
from windlass.stablehlo import export_text
from windlass.stablehlo.optimizing import inline_module


def shrink(program: Program, way: Way, outcome: Outcome, seconds: float = 60.0) -> tuple[Program, Way, Outcome]:
    """The smallest program found in that time that fails alike, the rules it needs for that, and its outcome."""
    end = time.monotonic() + seconds
    for simpler in _plainer_ways(way):
        found = run(program, simpler)
        if found.is_like(outcome):
            way, outcome = simpler, found
    program = _inlined(program)
    is_smaller = True
    while is_smaller and time.monotonic() < end:
        is_smaller = False
        place = 0
        while time.monotonic() < end:
            # After a success go on with what comes next: what was tried before would mostly fail again.
            make = next(islice(candidates(program), place, None), None)
            if make is None:
                break
            smaller = _try(make, program)
            found = None if smaller is None else run(smaller, way)
            if smaller is not None and found is not None and found.is_like(outcome):
                program, outcome, is_smaller = smaller, found, True
            else:
                place += 1
    return program, *_fewer_rules(program, way, outcome, end)


def _try(make: Callable[[], Program], program: Program) -> Program | None:
    """A smaller program, where there is one."""
    try:
        smaller = make()
    except (TypeFault, ValueError, NotImplementedError, KeyError):
        return None
    return smaller if size_of(smaller) < size_of(program) else None


def _plainer_ways(way: Way) -> Iterator[Way]:
    if way.is_text:
        yield replace(way, is_text=False)
    if way.settles:
        yield replace(way, is_text=False, settles=False)


def _fewer_rules(program: Program, way: Way, outcome: Outcome, end: float) -> tuple[Way, Outcome]:
    """Leave out the rules without which the program fails too."""
    is_fewer = True
    tried: set[str] = set()
    while is_fewer and time.monotonic() < end + 20:
        is_fewer = False
        for name in reversed(outcome.rules):
            if name in tried:
                continue
            tried.add(name)
            fewer = replace(way, without=way.without | {name})
            found = run(program, fewer)
            if found.is_like(outcome):
                way, outcome, is_fewer = fewer, found, True
                break
    return way, outcome


def size_of(program: Program) -> tuple[int, int, int, int]:
    """Ops, values that they use, results and elements of arguments."""
    main = program.module.main
    used = sum(len(set(op.operands)) for op in main.walk())
    elements = sum(each.tensor.size for each in main.arguments)
    return (sum(1 for _ in main.walk()), used, len(main.results), elements)


def describe(program: Program, way: Way, outcome: Outcome) -> str:
    """The program, its arguments and the rules at fault, to be read."""
    main = program.module.main
    with np.printoptions(threshold=40, linewidth=140):
        values = [
            f"  %arg{number} = {np.asarray(array).tolist() if array.size < 13 else '...'}"
            for number, array in enumerate(program.arrays)
        ]
    shown = replace(way, without=frozenset())
    text = [line for line in export_text(Module([main.clone()])).splitlines()[1:-1] if line.strip() not in ("", "}")]
    last = [
        f"  {outcome.kind}: {outcome.message[:500]}",
        f"  {shown}",
        f"  rules: {', '.join(outcome.rules) or 'none'}",
    ]
    return "\n".join([*text, *values, *last])


def _inlined(program: Program) -> Program:
    module = copy_module(program.module)
    inline_module(module)
    return Program(Module([module.main]), program.arrays, program.is_exact)


# -- smaller programs -------------------------------------------------------------------------------------------------


def candidates(program: Program) -> Iterator[Callable[[], Program]]:
    """Ways to make the program smaller, those that take most first."""
    main = program.module.main
    results = len(main.results)
    if results > 1:
        for number in range(results):
            yield lambda number=number: _edited(program, lambda function, _: _keep_result(function, number))
    ops = [op for op in main.body if op is not main.body.last]
    size = len(ops)
    step = size // 2
    while step >= 1:
        for first in range(0, size, step):
            yield lambda first=first, step=step: _edited(
                program, lambda function, values: _cut(function, range(first, first + step), values)
            )
        step //= 2
    for number, op in enumerate(ops):
        for index, place in _bypasses(op):
            yield lambda number=number, index=index, place=place: _edited(
                program, lambda function, _: _bypass(_op_at(function, number), index, place)
            )
    inner = [op for op in main.walk() if op.block is not main.body]
    for number, op in enumerate(inner):
        if op.block is None or op is op.block.last or not op.results:
            continue
        for index, place in _bypasses(op):
            yield lambda number=number, index=index, place=place: _edited(
                program, lambda function, _: _bypass(_inner_at(function, number), index, place)
            )
        if not isinstance(op, Constant):
            yield lambda number=number: _edited(program, lambda function, _: _fill_in(_inner_at(function, number)))


def _bypasses(op: Op) -> Iterator[tuple[int, int]]:
    """Which results could be which operands, by type."""
    for index, result in enumerate(op.results):
        for place, operand in enumerate(op.operands):
            if operand.type is result.type and result.uses:
                yield index, place


Edit = Callable[[Function, dict[Value, Any]], None]


def _edited(program: Program, edit: Edit) -> Program:
    """The program after a change; `edit` gets its values, and may enter those of new arguments."""
    function = program.module.main.clone()
    values: dict[Value, Any] = dict(zip(function.arguments, program.arrays, strict=True))
    with np.errstate(all="ignore"):
        meaning = Meaning()
        for op in function.body:
            if op is not function.body.last:
                meaning.run(op, values)
    edit(function, values)
    remove_dead_code(function.body)
    return _without_idle_arguments(function, values, program.is_exact)


def _without_idle_arguments(function: Function, values: dict[Value, Any], is_exact: bool) -> Program:
    kept = [argument for argument in function.arguments if argument.uses]
    body = Block([argument.type for argument in kept])
    mapping: dict[Value, Value] = dict(zip(kept, body.arguments, strict=True))
    with Builder(body):
        for op in function.body:
            op.clone(mapping)
    arrays = tuple(np.asarray(values[argument]) for argument in kept)
    return Program(Module([Function("main", body)]), arrays, is_exact)


def _op_at(function: Function, number: int) -> Op:
    return list(function.body)[number]


def _inner_at(function: Function, number: int) -> Op:
    return [op for op in function.walk() if op.block is not function.body][number]


def _keep_result(function: Function, number: int) -> None:
    last = function.body.terminator
    kept = last.operands[number]
    last.erase()
    with Builder(function.body):
        Return((kept,))


def _cut(function: Function, numbers: range, values: dict[Value, Any]) -> None:
    """Take what some ops give for arguments."""
    ops = list(function.body)
    for number in numbers:
        if number >= len(ops) - 1 or isinstance(ops[number], Constant):
            continue
        for result in ops[number].results:
            if result.uses and isinstance(result.type, TensorType):
                argument = function.body.add_argument(result.type)
                function.argument_attributes.append({})
                values[argument] = values[result]
                result.replace_all_uses_with(argument)


def _bypass(op: Op, index: int, place: int) -> None:
    op.results[index].replace_all_uses_with(op.operands[place])


def _fill_in(op: Op) -> None:
    """Put a constant in an op's place."""
    assert op.block is not None
    with Builder(op.block, before=op):
        for result in op.results:
            result.replace_all_uses_with(Constant.of(1, result.tensor.dtype, result.tensor.shape))
