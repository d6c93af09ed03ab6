"""The register of library routines: names, the functions that do them, and how a call's words become their arguments.

    @cublas.routine("cublas{}gemv", "SDCZ")
    def gemv(call: Call, handle: Handle, transposition: Operation, m: int, ..., alpha: Factor, a: Address, ...): ...

declares cublasSgemv, cublasDgemv, cublasCgemv and cublasZgemv; the call knows which dtype is meant. What a routine
can't do it says by raising `LibraryError`: the program gets the library's status, and the user a message.
"""

from __future__ import annotations

import importlib
import inspect
import re
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from enum import Enum, IntEnum, auto
from functools import cached_property
from typing import Any, NewType, TypeGuard, TypeVar

import numpy as np

Function = TypeVar("Function", bound=Callable[..., Any])
Address = NewType("Address", int)
"""An address in device memory."""
Result = NewType("Result", int)
"""An address, on the host or the device, where a routine puts a number. Legacy interfaces return it instead."""

Stream = NewType("Stream", int)
"""The stream that a call goes into, where it is no handle's."""


@dataclass(frozen=True)
class Group:
    """Base of what routines take as several arguments in a row: one for each field, in the fields' order."""

    @classmethod
    def kinds(cls) -> dict[str, Any]:
        """The type of each field."""
        hints = typing.get_type_hints(cls)
        return {each.name: hints[each.name] for each in fields(cls)}


@dataclass(frozen=True)
class Columns(Group):
    """Where a matrix by columns begins in device memory, and how many elements its columns are apart."""

    address: Address
    leading: int


@dataclass(frozen=True)
class Elements(Group):
    """Where a vector begins in device memory, and how far its elements are apart."""

    address: Address
    step: int


def is_group(kind: Any) -> TypeGuard[type[Group]]:
    """Whether a parameter of that type stands for several arguments."""
    return isinstance(kind, type) and issubclass(kind, Group)


DTYPES: Mapping[str, np.dtype[Any]] = {
    "S": np.dtype(np.float32),
    "D": np.dtype(np.float64),
    "C": np.dtype(np.complex64),
    "Z": np.dtype(np.complex128),
    "H": np.dtype(np.float16),
}
LIBRARIES = ("cublas", "cufft", "cusparse", "cusolver", "curand")


class Option(IntEnum):
    """One of the choices of a library's enumeration; `letter` stands for it where options are letters."""

    @property
    def letter(self) -> str:
        """The first letter of the name."""
        return self.name[0]


class Failure(Enum):
    """Why a call fails, in words that all libraries have a status for."""

    uninitialized = auto()
    invalid = auto()
    illegal_access = auto()
    unsupported = auto()
    failed = auto()


class LibraryError(Exception):
    """A call that can't be done."""

    def __init__(self, failure: Failure, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.failure = failure
        self.message = message
        self.status = status


@dataclass(frozen=True)
class Factor:
    """A factor such as alpha: the bytes where the program's pointer points, or the address on the device."""

    content: bytes | None
    address: int


@dataclass(frozen=True)
class Routine:
    """A routine under one name, and the function that does it."""

    name: str
    library: Library
    function: Callable[..., Any]
    dtype: np.dtype[Any] | None
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The function's parameters after the call, with their types."""
    is_legacy: bool = False
    prefix: str = ""
    letters: str = ""
    """What stands in the name for the dtype, and what before it."""

    @cached_property
    def words(self) -> Mapping[str, Any]:
        """The arguments that a program passes, with their types: those of groups one by one."""
        return dict(_flatten(self.parameters))


def _flatten(parameters: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, kind in parameters.items():
        if is_group(kind):
            yield from _flatten({f"{name}.{part}": each for part, each in kind.kinds().items()})
        else:
            yield name, kind


@dataclass(frozen=True)
class Library:
    """A library: its name, and the numbers by which its functions say why they failed."""

    name: str
    statuses: Mapping[Failure, int]

    def routine(self, pattern: str, variants: str = "", legacy: bool = False) -> Callable[[Function], Function]:
        """Registers a function under the names that the pattern gives with each variant.

        A variant is a word whose last letter of S, D, C, Z and H names the dtype: "S D Sc Dz" for nrm2; without spaces
        each letter is one. `legacy` adds the form without a handle, with letters for options, factors by value, and
        results returned.
        """
        words = (variants.split() if " " in variants else list(variants)) or [""]

        def register(function: Function) -> Function:
            hints = typing.get_type_hints(function)
            names = list(inspect.signature(function).parameters)[1:]
            parameters = {name: hints[name] for name in names}
            for word in words:
                name = pattern.replace("{}", word)
                dtype = next((DTYPES[letter.upper()] for letter in reversed(word) if letter.upper() in DTYPES), None)
                prefix = pattern.partition("{}")[0]
                _ROUTINES[name] = Routine(name, self, function, dtype, parameters, prefix=prefix, letters=word)
                if legacy:
                    old = name.replace("cublas", "cublasLegacy", 1)
                    prefix = prefix.replace("cublas", "cublasLegacy", 1)
                    _ROUTINES[old] = Routine(name, self, function, dtype, parameters, True, prefix, word)
            return function

        return register


_ROUTINES: dict[str, Routine] = {}


def _load(library: str) -> None:
    """Enter a library's routines, and those of libraries that it uses."""
    importlib.import_module(f"windlass.hosting.libraries.{library}")


def routines() -> Mapping[str, Routine]:
    """All routines by name, without the forms with 64-bit sizes, which go by the same name."""
    for library in LIBRARIES:
        _load(library)
    return _ROUTINES


def find_routine(name: str) -> Routine | None:
    """The routine for a function of a library's interface.

    >>> find_routine("cublasSgemm_v2").name, find_routine("cublasSgemm_64").dtype, find_routine("cublasSmagic")
    ('cublasSgemm', dtype('float32'), None)
    """
    for library in LIBRARIES:
        if name.startswith(library):
            _load(library)
            return _ROUTINES.get(re.sub(r"(_v2)?(_64)?$", "", name))
    return None


def is_library_function(name: str) -> bool:
    """Whether there is such a routine."""
    return find_routine(name) is not None
