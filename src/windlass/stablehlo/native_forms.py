"""The native forms of programs that become parts of a traced one: by the names of the functions that they become.

A function is traced once, and read twice: with the tensor programs of its launches, of which derivatives, batches and
parts for several devices are made, and with native code in the place of those that run so on one CPU.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from windlass.ir import Module

_noted: ContextVar[dict[str, Module] | None] = ContextVar("windlass_native_forms", default=None)


@contextmanager
def noting_native_forms() -> Generator[dict[str, Module]]:
    """Within, parts that have native forms are entered into what this gives."""
    found: dict[str, Module] = {}
    token = _noted.set(found)
    try:
        yield found
    finally:
        _noted.reset(token)


def note_native_form(symbol: str, native: Module) -> None:
    """Note that a part, which becomes the function of this name, has a native form."""
    noted = _noted.get()
    if noted is not None:
        noted[symbol] = native


def take_native_forms(module: Module, natives: Mapping[str, Module]) -> None:
    """Put native forms in the place of the functions that have these names."""
    for symbol, native in natives.items():
        known = module.functions.get(symbol)
        if known is not None:
            function = native.main.clone()
            function.name, function.visibility = known.name, known.visibility
            module.functions[symbol] = function
