"""Python's objects that a loop or branch of the program may reach are to be as they were when its body has run.

What captured code changes is seen as it does (`containers.py`). Code that Python calls by itself is not captured:
properties, special methods, generators, and what functions of libraries call. So what a body reaches is compared.
"""

from __future__ import annotations

import collections
import copy
import functools
import sys
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import BuiltinMethodType, CodeType, FunctionType, MethodType
from typing import Any, cast

from windlass.frontends.arrays.containers import CONTAINERS, are_alike
from windlass.frontends.arrays.states import NotCapturable
from windlass.frontends.arrays.tracing import is_of_users_file

MOST_OBJECTS = 10_000
"""So many are looked at."""
MOST_ELEMENTS = 1_000
"""A container of more is compared, but what its elements hold is not."""


@contextmanager
def keeping_objects(functions: Sequence[Callable[..., Any]], values: Sequence[Any]) -> Generator[None]:
    """While bodies run, of these functions and with these values of names: puts back what they change of Python's.

    Raises NotCapturable if that is anything.
    """
    before = [(each, copy.copy(each)) for each in _reached((*functions, *values))]
    try:
        yield
    except BaseException:
        for each, held in before:
            _put_back(each, held)
        raise
    changed = [each for each, held in before if _put_back(each, held)]
    if changed:
        raise NotCapturable(
            f"an object of {type(changed[0]).__name__} is changed within it, by code that is not captured: a property, "
            "a special method, a generator, a function that is handed on"
        )


def _put_back(container: Any, held: Any) -> bool:
    """Let a container hold what it held; gives whether it held something else."""
    if are_alike(container, held):
        return False
    container.clear()
    (container.update if isinstance(container, dict | set) else container.extend)(held)
    return True


def _reached(roots: Sequence[Any]) -> Iterator[Any]:
    """The containers, and the attributes of objects of the user's classes, that can be reached from some objects."""
    seen: set[int] = set()
    waiting = list(roots)
    while waiting and len(seen) < MOST_OBJECTS:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if isinstance(each, CONTAINERS):
            yield each
        waiting += _held_by(each)
        attributes = getattr(each, "__dict__", None)
        if isinstance(attributes, dict) and _is_of_users_class(type(each)):
            yield attributes
            waiting += [*attributes.values(), *_containers_of(type(each))]


def _held_by(value: Any) -> list[Any]:
    match value:
        case list() | tuple() | set() | collections.deque():
            items = cast("Any", value)
            return list(items) if len(items) <= MOST_ELEMENTS else []
        case dict():
            items = cast("Any", value)
            return list(items.values()) if len(items) <= MOST_ELEMENTS else []
        case FunctionType():
            return _read_by(value)
        case MethodType():
            return [value.__self__, value.__func__]
        case BuiltinMethodType():
            return [value.__self__]
        case functools.partial():
            partial = cast("functools.partial[Any]", value)
            return [partial.func, *partial.args, *partial.keywords.values()]
        case _:
            return []


def _read_by(function: FunctionType) -> list[Any]:
    """What a function sees from around it: of functions that are not the user's, nothing but what they close over."""
    found: list[Any] = []
    for cell in function.__closure__ or ():
        try:
            found.append(cell.cell_contents)
        except ValueError:
            continue  # unbound as yet
    if is_of_users_file(function.__code__.co_filename):
        names = _names_of(function.__code__)
        found += [function.__globals__[name] for name in names if name in function.__globals__]
        found += function.__defaults__ or ()
    return found


@functools.cache
def _names_of(code: CodeType) -> tuple[str, ...]:
    inner = (each for each in code.co_consts if isinstance(each, CodeType))
    return (*code.co_names, *(name for each in inner for name in _names_of(each)))


@functools.cache
def _is_of_users_class(kind: type) -> bool:
    module = sys.modules.get(kind.__module__)
    file = getattr(module, "__file__", None)
    return kind.__module__ != "builtins" and (is_of_users_file(file) if file else kind.__module__ == "__main__")


def _containers_of(kind: type) -> list[Any]:
    """The containers that a class holds for all its objects."""
    attributes: Mapping[str, Any] = vars(kind)
    return [each for each in attributes.values() if isinstance(each, CONTAINERS)]
