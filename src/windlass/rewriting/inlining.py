"""Calls replaced by what the called function does, so that rules see through them."""

from __future__ import annotations

import re

from windlass.ir import Block, Builder, Function, Module, Op, Value
from windlass.ops import Call, CustomCall, Opaque

MOST_OPS = 200_000
"""A program that is larger than this is not made larger still."""

_NAMELESS = re.compile(r"module\s*(attributes\b|\{)")


def inline(function: Function, mapping: dict[Value, Value]) -> tuple[Value, ...]:
    """Copy the function's ops to where the active builder is; `mapping` gives its arguments. Returns its results."""
    terminator = function.body.terminator
    for op in function.body:
        if op is not terminator:
            op.clone(mapping)
    return tuple(mapping.get(result, result) for result in terminator.operands)


def inline_calls(block: Block, module: Module, through_settling: bool = False, most_ops: int = MOST_OPS) -> None:
    """Replace each call in the block, and in those within it, by what the called function does.

    Calls that carry attributes of their own (which say how they are to be compiled) stay, and so do those of functions
    that call themselves, or whose results carry attributes. With `through_settling`, calls of functions that give their
    arguments back go nevertheless: they are there to keep values apart, which the caller does anew.
    """
    closed = _list_inlinable(module)
    size = sum(1 for _ in block.walk())
    calls = [op for op in block.walk() if isinstance(op, Call)]
    while calls:
        call = calls.pop()
        callee = module.functions.get(str(call.callee))
        if callee is None or callee.name not in closed:
            continue
        if call.extra and not (through_settling and callee.body.first is callee.body.last):
            continue
        size += sum(1 for _ in callee.walk())
        if size > most_ops:
            return
        home = call.block
        assert home is not None
        before = call.previous
        with Builder(home, before=call):
            results = inline(callee, dict(zip(callee.arguments, call.operands, strict=True)))
        for old, new in zip(call.results, results, strict=True):
            old.replace_all_uses_with(new)
        # What came in may hold calls itself, and where it has no position of its own it gets that of the call.
        op = home.first if before is None else before.next
        while op is not None and op is not call:
            for inner in (op, *(inner for region in op.regions for inner in region.walk())):
                inner.source = inner.source or call.source
                if isinstance(inner, Call):
                    calls.append(inner)
            op = op.next
        call.erase()


def remove_unused_functions(module: Module) -> int:
    """Remove the private functions that nothing refers to; gives how many."""
    wanted = [function for function in module.functions.values() if function.visibility == "public"]
    if not wanted:
        return 0
    used = {function.name for function in wanted}
    while wanted:
        for op in wanted.pop().walk():
            for name in _mentioned(op, module):
                if name not in used:
                    used.add(name)
                    wanted.append(module.functions[name])
    for text in module.globals:
        used.update(name for name in module.functions if f"@{name}" in text)
    unused = [name for name in module.functions if name not in used]
    for name in unused:
        del module.functions[name]
    return len(unused)


def remove_unreachable_modules(module: Module) -> int:
    """Remove the modules inside the module that have no name, so that nothing can refer to what they hold; how many.

    A module without functions of its own is left as it is.

    >>> module = Module([Function("main", Block([]))])
    >>> module.globals = ["module {\\n}", "module @kept {\\n}"]
    >>> remove_unreachable_modules(module), module.globals
    (1, ['module @kept {\\n}'])
    """
    if not module.functions:
        return 0
    kept = [text for text in module.globals if not _NAMELESS.match(text)]
    removed = len(module.globals) - len(kept)
    module.globals[:] = kept
    return removed


def _mentioned(op: Op, module: Module) -> list[str]:
    """Functions that the op refers to; for ops whose attributes are MLIR text, any that the text names."""
    if isinstance(op, Call):
        return [str(op.callee)] if op.callee in module.functions else []
    texts = list((op.extra or {}).values())
    if isinstance(op, Opaque | CustomCall):
        texts += list(op.mlir_attributes().values())
    return [name for name in module.functions if any(f"@{name}" in text for text in texts)] if texts else []


def _list_inlinable(module: Module) -> set[str]:
    """Functions that don't call themselves, be it through others, and whose parameters and results are plain."""
    called = {
        name: {str(op.callee) for op in function.walk() if isinstance(op, Call)}
        for name, function in module.functions.items()
    }
    found: set[str] = set()
    changed = True
    while changed:
        changed = False
        for name, callees in called.items():
            if name not in found and callees & set(called) <= found:
                found.add(name)
                changed = True
    return {name for name in found if not _changes_meaning(module.functions[name])}


def _changes_meaning(function: Function) -> bool:
    """Whether results carry attributes (shardings, layouts) that would be lost. Names from JAX don't count."""
    return any(not name.startswith("jax.") for entries in function.result_attributes for name in entries)
