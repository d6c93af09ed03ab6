"""Imports that wait until what they give is used, so that a start takes what it needs and no more.

A module that costs much and that most runs don't need (JAX, the raising compiler, the catalogue) is deferred at the few
doors behind which it lies. Type checkers and the import linter see the import as any other:

    if TYPE_CHECKING:
        from windlass import pipeline
    else:
        pipeline = deferred("windlass.pipeline")
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def import_at_once(name: str) -> Any:
    """The module of that name; while it is imported, if it is, Python looks for no garbage.

    There is little among so much that is new, and looking takes a tenth of the time.
    """
    if name in sys.modules or not gc.isenabled():
        return import_module(name)
    gc.disable()
    try:
        return import_module(name)
    finally:
        gc.enable()


class DeferredModule:
    """Stands for a module, which is imported when one of its names is first asked for."""

    __slots__ = ("_module", "_name")

    def __init__(self, name: str) -> None:
        self._name = name
        self._module: Any = None

    def __getattr__(self, attribute: str) -> Any:
        if self._module is None:
            self._module = import_at_once(self._name)
        return getattr(self._module, attribute)

    def __repr__(self) -> str:
        return f"<deferred module {self._name}>"


def deferred(name: str) -> Any:
    """The module of that name, which is imported when it is first used.

    >>> json = deferred("json")
    >>> json
    <deferred module json>
    >>> json.loads("[1, 2]")
    [1, 2]
    """
    return DeferredModule(name)


def deferred_names(package: str, places: Mapping[str, str]) -> Callable[[str], Any]:
    """A package's `__getattr__`, which gives each of these names from its module; that is imported only then.

    >>> from_json = deferred_names("example", {"loads": "json"})
    >>> from_json("loads")("[1, 2]")
    [1, 2]
    >>> from_json("dumps")
    Traceback (most recent call last):
    AttributeError: module 'example' has no attribute 'dumps'
    """

    def give(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_at_once(places[name]), name)
        if package in sys.modules:  # where it is found the next time
            setattr(sys.modules[package], name, found)
        return found

    return give
