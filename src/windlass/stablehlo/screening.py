"""Refusing what would crash XLA, before XLA sees it.

XLA reports most bad programs itself. What it does not survive, in jaxlib 0.10: an op that no dialect has registered
(segmentation fault), and functions that call each other in a circle (stack overflow). Ops of other dialects are refused
here too, since XLA's own message does not say where they came from.
"""

from __future__ import annotations

from collections.abc import Iterator

from windlass.diagnostics import Diagnostic, ProgramError
from windlass.ir.core import Module
from windlass.ops import Call, Opaque
from windlass.ops.base import TensorOp

ACCEPTED_DIALECTS = frozenset({"stablehlo", "chlo", "mhlo", "sdy", "func"})
"""Dialects whose registered ops XLA translates."""


def screen(module: Module) -> None:
    """Check that XLA can be given the module without crashing.

    Raises ProgramError: WL0505 for ops that are not known, WL0503 for ops of the loop level, WL0506 for functions that
    call themselves. Each offender is named, with its position, up to ten.
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


def _circles(module: Module) -> Iterator[Diagnostic]:
    """A diagnostic for each call that closes a circle, found by walking the calls depth first."""
    calls: dict[str, list[Call]] = {
        name: [op for op in function.walk() if isinstance(op, Call)] for name, function in module.functions.items()
    }
    state: dict[str, str] = {}
    for root in module.functions:
        if root in state:
            continue
        state[root] = "open"
        path: list[tuple[str, Iterator[Call]]] = [(root, iter(calls[root]))]
        while path:
            name, remaining = path[-1]
            call = next(remaining, None)
            if call is None:
                state[name] = "done"
                path.pop()
            elif state.get(call.callee) == "open":
                names = [each for each, _ in path]
                circle = [*names[names.index(call.callee) :], call.callee]
                yield Diagnostic(
                    "WL0506",
                    f"functions call each other in a circle: {' → '.join(f'@{each}' for each in circle)}",
                    call.source,
                    help="StableHLO programs have no recursion: use stablehlo.while",
                )
            elif call.callee in calls and call.callee not in state:
                state[call.callee] = "open"
                path.append((call.callee, iter(calls[call.callee])))
