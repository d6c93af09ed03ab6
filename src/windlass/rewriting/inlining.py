"""Calls replaced by what the called function does, so that rules see through them."""

from __future__ import annotations

import re
from collections import Counter

from windlass.diagnostics.deadline import is_late
from windlass.ir import Block, Builder, Function, Module, Op
from windlass.ops import Call, CustomCall, CustomDerivative, Opaque

MOST_OPS = 200_000
"""A program that is larger than this is not made larger still."""
ALWAYS, GROWTH = 20_000, 4
"""All calls go if a program has no more ops then, or has grown no more than so many times..."""
SHARED = 2_000
"""... else functions of more ops than this, with what they call, stay functions if there are several calls of them."""

_NAMELESS = re.compile(r"module\s*(attributes\b|\{)")


def inline_calls(block: Block, module: Module, through_settling: bool = False, most_ops: int = MOST_OPS) -> None:
    """Replace each call in the block, and in those within it, by what the called function does.

    Calls that carry attributes of their own (which say how they are to be compiled) stay, and so do those of functions
    that call themselves, or whose results carry attributes. So do some where functions call one another so often that
    the program would become far larger than it is, and those that are left when the time is over. With
    `through_settling`, calls of functions that give their arguments back go nevertheless: they are there to keep values
    apart, which the caller does anew.
    """
    closed = _list_worthwhile(module)
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
        if size > most_ops or is_late():
            return
        home = call.block
        assert home is not None
        before = call.previous
        with Builder(home, before=call):
            results = callee.inline(dict(zip(callee.arguments, call.operands, strict=True)))
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


def inline_custom_derivatives(block: Block) -> None:
    """Replace functions with derivative rules of their own by what they do, in the block and in those within it.

    What has no meaning by itself stays.
    """
    for op in list(block):
        for region in op.regions:
            for inner in region.blocks:
                inline_custom_derivatives(inner)
        if isinstance(op, CustomDerivative) and op.rule.primal is not None:
            with Builder(block, before=op, source=op.source):
                results = op.rule.primal.inline(dict(zip(op.rule.primal.arguments, op.operands, strict=True)))
            for old, new in zip(op.results, results, strict=True):
                old.replace_all_uses_with(new)
            op.erase()


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
    is_configured = isinstance(op, Opaque | CustomCall)
    if not op.extra and not is_configured:
        return []
    texts = list((op.extra or {}).values())
    if is_configured:
        texts += list(op.mlir_attributes().values())
    return [name for name in module.functions if any(f"@{name}" in text for text in texts)] if texts else []


def list_shared(module: Module) -> set[str]:
    """Functions that stay functions since the program would become too large without them."""
    return _list_inlinable(module).keys() - _list_worthwhile(module)


def _list_worthwhile(module: Module) -> set[str]:
    """Functions whose calls are to go."""
    inlinable = _list_inlinable(module)
    plain = {name for name in inlinable if not _changes_meaning(module.functions[name])}
    sizes = {name: sum(1 for _ in function.walk()) for name, function in module.functions.items()}
    called = {name: _count_calls(function) for name, function in module.functions.items()}
    uses: Counter[str] = Counter()
    for counts in called.values():
        uses.update(counts)
    most = max(ALWAYS, GROWTH * sum(sizes.values()))
    full = dict(sizes)
    for name in inlinable:  # callees come first
        full[name] = min(
            sizes[name] + sum(n * full[each] for each, n in called[name].items() if each in plain), most + 1
        )
    rest = (name for name in module.functions if name not in inlinable)
    if max((full[name] for name in inlinable), default=0) <= most and not any(
        sizes[name] + sum(n * full[each] for each, n in called[name].items() if each in plain) > most for name in rest
    ):
        return plain
    within = dict(sizes)
    chosen: set[str] = set()
    for name in inlinable:
        within[name] = sizes[name] + sum(n * within[each] for each, n in called[name].items() if each in chosen)
        if name in plain and (within[name] <= SHARED or uses[name] == 1):
            chosen.add(name)
    return chosen


def _count_calls(function: Function) -> Counter[str]:
    return Counter(str(op.callee) for op in function.walk() if isinstance(op, Call))


def _list_inlinable(module: Module) -> dict[str, None]:
    """Functions that don't call themselves, be it through others: after those that they call."""
    waits = {
        name: {callee for callee in _count_calls(function) if callee in module.functions}
        for name, function in module.functions.items()
    }
    callers: dict[str, list[str]] = {}
    for name, callees in waits.items():
        for callee in callees:
            callers.setdefault(callee, []).append(name)
    ready = [name for name, callees in waits.items() if not callees]
    found: dict[str, None] = {}
    while ready:
        name = ready.pop()
        found[name] = None
        for caller in callers.get(name, ()):
            waits[caller].discard(name)
            if not waits[caller]:
                ready.append(caller)
    return found


def _changes_meaning(function: Function) -> bool:
    """Whether results carry attributes (shardings, layouts) that would be lost. Names from JAX don't count."""
    return any(not name.startswith("jax.") for entries in function.result_attributes for name in entries)
