"""Refusing what would crash XLA, before XLA sees it.

XLA reports most bad programs itself. What it does not survive, in jaxlib 0.10: an op that no dialect has registered,
also at the top of the module; functions that call each other in a circle, be it through a composite's decomposition;
and functions without a body. Ops of other dialects are refused here too, since XLA's own message does not say where
they came from.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from windlass.diagnostics import Diagnostic, ProgramError
from windlass.ir.core import Op
from windlass.ir.program import Module
from windlass.ops import Call, CustomCall, Opaque
from windlass.ops.base import TensorOp

ACCEPTED_DIALECTS = frozenset({"stablehlo", "chlo", "mhlo", "sdy", "func"})
"""Dialects whose registered ops XLA translates."""

_GLOBAL_NAME = re.compile(r'"?([\w$.]+)"?')
_STRING = re.compile(r'(?<!@)"(?:[^"\\]|\\.)*"')
_SYMBOL = re.compile(r"@([\w$.]+)")


def screen(module: Module) -> None:
    """Check that XLA can be given the module without crashing.

    Raises ProgramError: WL0505 for ops that are not known, WL0503 for ops of the loop level, WL0506 for functions that
    call themselves, WL0507 for functions without a body. Each offender is named, with its position, up to ten.
    """
    found: list[Diagnostic] = []
    for diagnostic in _faults(module):
        found.append(diagnostic)
        if len(found) == 10:
            break
    if found:
        raise ProgramError(*found)


def _faults(module: Module) -> Iterator[Diagnostic]:
    known: dict[str, bool] = {}
    for text in module.globals:
        if declared := re.match(r"func\.func\b.*?@([\w$.]+)", text):
            yield Diagnostic("WL0507", f"function @{declared.group(1)} has no body", help="define it, or remove it")
        elif (found := _GLOBAL_NAME.match(text)) and not is_accepted(found.group(1)):
            yield Diagnostic("WL0505", f"'{found.group(1)}' at the top of the module is not an op that XLA knows")
    for function in module.functions.values():
        for op in function.walk():
            if isinstance(op, Opaque):
                name = op.operation
                if name not in known:
                    known[name] = is_accepted(name)
                if not known[name]:
                    yield Diagnostic(
                        "WL0505",
                        f"'{name}' in @{function.name} is not an op that XLA knows",
                        op.source,
                        help="express it in StableHLO, or as a stablehlo.custom_call",
                    )
            elif not isinstance(op, TensorOp):
                yield Diagnostic(
                    "WL0503",
                    f"{op.name or type(op).__name__} is an op of the loop level and has no place in a tensor program",
                    op.source,
                )
    yield from _circles(module)


def is_accepted(name: str) -> bool:
    """Whether XLA takes an op of this MLIR name.

    >>> is_accepted("chlo.erf"), is_accepted("my.op"), is_accepted("arith.addf"), is_accepted("stablehlo.nonsense")
    (True, False, False, False)
    """
    from windlass.stablehlo.private_jax import make_context

    if name.partition(".")[0] not in ACCEPTED_DIALECTS:
        return False
    return bool(make_context().is_registered_operation(name))


def _references(op: Op, module: Module) -> Iterator[str]:
    """The functions of the module that the op names."""
    if isinstance(op, Call):
        yield op.callee
    elif isinstance(op, Opaque | CustomCall):
        for text in op.mlir_attributes().values():
            names = _SYMBOL.findall(_STRING.sub("", text))
            yield from (name for name in names if name in module.functions)


def _circles(module: Module) -> Iterator[Diagnostic]:
    """A diagnostic for each reference that closes a circle, found by walking the references depth first."""
    edges = {
        name: [(op, callee) for op in function.walk() for callee in _references(op, module)]
        for name, function in module.functions.items()
    }
    state: dict[str, str] = {}
    for root in module.functions:
        if root in state:
            continue
        state[root] = "open"
        path = [(root, iter(edges[root]))]
        while path:
            name, remaining = path[-1]
            op, callee = next(remaining, (None, ""))
            if op is None:
                state[name] = "done"
                path.pop()
            elif state.get(callee) == "open":
                names = [each for each, _ in path]
                circle = [*names[names.index(callee) :], callee]
                yield Diagnostic(
                    "WL0506",
                    f"functions call each other in a circle: {' → '.join(f'@{each}' for each in circle)}",
                    op.source,
                    help="StableHLO programs have no recursion: use stablehlo.while",
                )
            elif callee in edges and callee not in state:
                state[callee] = "open"
                path.append((callee, iter(edges[callee])))
