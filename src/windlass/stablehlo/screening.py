"""Refusing what would crash XLA, or keep it waiting, before XLA sees it.

XLA reports most bad programs itself. What it does not survive, in jaxlib 0.10: an op that no dialect has registered,
also at the top of the module; functions that call each other in a circle, be it through a composite's decomposition;
functions without a body; custom calls of unknown code, or with arrays that don't fit it; values and meshes whose sizes
overflow; transforms of other lengths than their operands. Ops of other dialects are refused here too, since XLA's own
message does not say where they came from.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import prod

from windlass.diagnostics import Diagnostic, Position, ProgramError
from windlass.ir.core import Op
from windlass.ir.program import Function, Module
from windlass.ir.types import TensorType, Type
from windlass.ir.values import Value
from windlass.ops import Call, Case, CustomCall, Fft, If, Opaque, While
from windlass.ops.base import TensorOp
from windlass.stablehlo.contexts import borrowed_context
from windlass.stablehlo.custom_calls import find_misfit
from windlass.stablehlo.private_jax import registered_targets

ACCEPTED_DIALECTS = frozenset({"stablehlo", "chlo", "mhlo", "sdy", "func"})
"""Dialects whose registered ops XLA translates."""

ACCEPTED_AT_THE_TOP = frozenset({"sdy.mesh"})
"""Ops beside functions that XLA translates."""

_GLOBAL_NAME = re.compile(r'"?([\w$.]+)"?')
_AXIS_SIZE = re.compile(r"\"\s*=\s*(\d+)")
_STRING = re.compile(r'(?<!@)"(?:[^"\\]|\\.)*"')
_SYMBOL = re.compile(r"@([\w$.]+)")


WAITING = frozenset({"stablehlo.infeed", "stablehlo.outfeed", "stablehlo.send", "stablehlo.recv"})
"""Ops that wait for a host or a device that has to do its part: a program that is run by itself would wait for ever."""

MOST_DEVICES = 2**20
"""How many devices a mesh may have: XLA does not survive where their number overflows."""

MOST_BYTES = 2**62
"""How large a value of a program may be: XLA counts in 64 bits, and does not survive where these don't suffice."""


def check_results(function: Function, declared: Sequence[Type]) -> None:
    """Refuse a function that ends with other values than it declares, which MLIR's verifier finds for `func.return`
    only.

    Raises ProgramError (WL0509).
    """
    terminator = function.body.terminator
    given = [value.type for value in terminator.operands]
    if given != list(declared):
        raise ProgramError(
            Diagnostic(
                "WL0509",
                f"@{function.name} is to give {_listed(declared)}, and ends with {_listed(given)}",
                terminator.source,
                help="return values of the types that the function declares, or declare those that it returns",
            )
        )


def _listed(types: Sequence[Type]) -> str:
    return ", ".join(map(str, types)) or "nothing"


def screen(module: Module, platform: str = "cpu") -> None:
    """Check that XLA can be given the module for a device of the platform without crashing or waiting for ever.

    Raises ProgramError: WL0505 for ops that are not known, WL0503 for ops of the loop level, WL0506 for functions that
    call themselves, WL0507 for functions without a body, WL0511 for custom calls that can't be made, WL0512 for ops
    that wait for others, WL0513 for values and meshes that are too large, WL0514 for transforms of other lengths. Each
    offender is named, with its position, up to ten.
    """
    found: list[Diagnostic] = []
    for diagnostic in _faults(module, platform):
        found.append(diagnostic)
        if len(found) == 10:
            break
    if found:
        raise ProgramError(*found)


def _faults(module: Module, platform: str) -> Iterator[Diagnostic]:
    known: dict[str, bool] = {}
    for text in module.globals:
        if declared := re.match(r"func\.func\b.*?@([\w$.]+)", text):
            yield Diagnostic("WL0507", f"function @{declared.group(1)} has no body", help="define it, or remove it")
        elif (found := _GLOBAL_NAME.match(text)) is None or found.group(1) not in ACCEPTED_AT_THE_TOP:
            name = text.split(None, 1)[0] if found is None else found.group(1)
            yield Diagnostic("WL0505", f"'{name}' at the top of the module is not an op that XLA knows")
        elif prod(int(size) for size in _AXIS_SIZE.findall(text)) > MOST_DEVICES:
            yield Diagnostic("WL0513", f"a mesh of more than {MOST_DEVICES:,} devices: {text[:80]}")
    registered: frozenset[str] | None = None
    for function in module.functions.values():
        yield from _too_large(function.arguments, function.source)
        for op in function.walk():
            yield from _too_large(op.results, op.source)
            name = op.operation if isinstance(op, Opaque) else op.name
            if name in WAITING:
                yield Diagnostic(
                    "WL0512",
                    f"{name} waits for data that nobody sends or takes here",
                    op.source,
                    help="pass what it reads as an argument of the function, and return what it writes",
                )
            elif isinstance(op, CustomCall):
                if registered is None and platform == "cpu":
                    registered = registered_targets(platform)
                if (reason := _misfit_of_call(op, registered, module)) is not None:
                    yield Diagnostic("WL0511", f"@{op.call_target_name} can't be called: {reason}", op.source)
            elif isinstance(op, Opaque):
                if name not in known:
                    known[name] = is_accepted(name)
                if name == Fft.name:
                    # MLIR's verifier lets them pass, and XLA does not survive them.
                    yield Diagnostic("WL0514", f"the lengths of {name} don't fit what it takes", op.source)
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


def _too_large(values: Sequence[Value], source: Position | None) -> Iterator[Diagnostic]:
    for value in values:
        if isinstance(value.type, TensorType) and value.type.bytes > MOST_BYTES:
            yield Diagnostic("WL0513", f"a value of type {value.type} is too large for any device", source)


def _misfit_of_call(call: CustomCall, registered: frozenset[str] | None, module: Module) -> str | None:
    """Why a custom call can't be made, if so."""
    if call.parent_op is not None and not isinstance(call.parent_op, While | If | Case):
        return f"{call.parent_op.name} takes computations of numbers only"
    for name in _SYMBOL.findall(call.called_computations or ""):
        if name not in module.functions:
            return f"there is no function @{name}, which it is to call"
    return find_misfit(call, registered)


def is_accepted(name: str) -> bool:
    """Whether XLA takes an op of this MLIR name.

    >>> is_accepted("chlo.erf"), is_accepted("my.op"), is_accepted("arith.addf"), is_accepted("stablehlo.nonsense")
    (True, False, False, False)
    """
    if name.partition(".")[0] not in ACCEPTED_DIALECTS:
        return False
    with borrowed_context(len(name)) as context:
        return bool(context.is_registered_operation(name))


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
