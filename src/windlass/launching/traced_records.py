"""Structs by value some of whose members are JAX values: `kernel.jax(grid, block)(x, {"a": a, "n": 3})`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import jax
import numpy as np
from jax.core import Tracer

from windlass.diagnostics import Diagnostic, LaunchError
from windlass.runtime.arguments import are_words_of, check_argument, leaves_of

if TYPE_CHECKING:
    from windlass.ir.signature import KernelSignature, Parameter


@dataclass(frozen=True)
class TracedRecord:
    """A struct: its value with zeros in the place of what is traced, and that, by the offset in bytes."""

    known: np.generic
    members: Mapping[int, Any]


def member_of(value: Any, offset: int) -> Any:
    """What is at an offset of an argument: a JAX value, if the argument is one or has one there; else the argument."""
    return value.members.get(offset, value.known) if isinstance(value, TracedRecord) else value


def holds_tracers(value: Any) -> bool:
    """Whether an argument is made of JAX values that are being traced."""
    return any(isinstance(each, Tracer) for each in jax.tree.leaves(value))


def traced_record(signature: KernelSignature, parameter: Parameter, value: Any) -> TracedRecord:
    """A struct given by its members, or by its numbers as one array.

    Raises LaunchError for what doesn't fit the struct, and (WL0401) for integers that are traced: they are compiled in.
    """
    dtype = parameter.dtype
    assert dtype is not None
    if isinstance(value, jax.Array):
        found = _numbers(signature, parameter, value)
        return TracedRecord(cast("np.generic", np.zeros((), dtype)[()]), found)
    known = jax.tree.map(lambda each: np.zeros(each.shape, each.dtype)[()] if isinstance(each, Tracer) else each, value)
    checked = check_argument(signature, parameter, known)
    assert isinstance(checked, np.generic)
    members: dict[int, Any] = {}
    for name, offset, kind, member in _members(value, dtype, 0, parameter.name):
        if isinstance(member, Tracer):
            _check_member(signature, name, kind, member)
            members[offset] = member
    assert len(members) == sum(isinstance(each, Tracer) for each in jax.tree.leaves(value)), "a member was overlooked"
    return TracedRecord(checked, members)


def _numbers(signature: KernelSignature, parameter: Parameter, value: Any) -> dict[int, Any]:
    """The members of a struct of equal numbers, given as an array of them."""
    dtype = parameter.dtype
    assert dtype is not None
    if not are_words_of(dtype, np.dtype(value.dtype)) or value.size * value.dtype.itemsize != dtype.itemsize:
        raise _refused(
            signature,
            f"argument '{parameter.name}' must be a {parameter.type_name} by value, got {value.dtype} with shape "
            f"{value.shape}",
            "pass a dictionary or a tuple of its members",
        )
    numbers = [*value.reshape(-1)]
    for (offset, kind), number in zip(leaves_of(dtype), numbers, strict=True):
        _check_member(signature, f"{parameter.name} (at byte {offset})", kind, number)
    return {offset: number for (offset, _), number in zip(leaves_of(dtype), numbers, strict=True)}


def _members(value: Any, dtype: np.dtype, offset: int, name: str) -> Iterator[tuple[str, int, np.dtype, Any]]:
    """The numbers that a struct is given by: name, offset, element type and value of each."""
    if dtype.subdtype is not None:
        base, (count, *rest) = dtype.subdtype
        inner = np.dtype((base, tuple(rest))) if rest else base
        for index in range(count):
            yield from _members(value[index], inner, offset + index * inner.itemsize, f"{name}[{index}]")
    elif dtype.names is None:
        yield name, offset, dtype, value
    elif isinstance(value, Mapping | tuple | list):
        fields = cast("Mapping[str, Any]", dtype.fields)
        named = cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else None
        for index, key in enumerate(dtype.names):
            member = named[key] if named is not None else cast("Sequence[Any]", value)[index]
            yield from _members(member, fields[key][0], offset + fields[key][1], f"{name}.{key}")


def _check_member(signature: KernelSignature, name: str, dtype: np.dtype, value: Any) -> None:
    if dtype.kind not in "fV":
        raise _refused(
            signature,
            f"member '{name}' is of type {dtype.name}, and such members are compiled in: it can't be traced",
            "pass a Python number, or let the kernel take it as a parameter of its own",
        )
    if value.shape != () or np.dtype(value.dtype).kind not in "fiuV":
        raise _refused(signature, f"member '{name}' must be a number of type {dtype.name}, got {value.aval}", None)


def _refused(signature: KernelSignature, what: str, help_: str | None) -> LaunchError:
    return LaunchError(Diagnostic("WL0401", f"{signature.name}: {what}", help=help_))
