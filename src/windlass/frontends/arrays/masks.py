"""Indices of which one is a traced mask: which view the mask picks from, and along which axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jax.core import Tracer

from windlass.diagnostics import Diagnostic, WindlassError
from windlass.frontends.arrays.indexing import MASK_HELP, expect_mask_fits, is_basic, is_integer, is_mask, plain


@dataclass(frozen=True)
class Pick:
    """What `a[..., mask, ...]` picks: elements of the view `a[entries]`, by the mask of the axes from `axis` on."""

    entries: tuple[Any, ...]
    mask: Any
    axis: int


def pick_of(index: Any, shape: Sequence[int]) -> Pick | None:
    """What the index picks, if one traced mask is in it and all else are integers and slices; None otherwise.

    Raises IndexError for a mask of another shape, WindlassError (WL0904) where the picked elements would not stay in
    their places among the axes.
    """
    given = index if isinstance(index, tuple) else (index,)
    masks = [number for number, each in enumerate(given) if _is_traced_mask(each)]
    if len(masks) != 1 or not all(number in masks or is_basic(each) for number, each in enumerate(given)):
        return None
    mask = plain(given[masks[0]])
    used = mask.ndim + sum(each is not None and each is not Ellipsis for each in given) - 1
    if used > len(shape):
        raise IndexError(f"too many indices for array: array is {len(shape)}-dimensional, but {used} were indexed")
    entries: list[Any] = []
    is_integer_at: list[bool] = []
    start = axis = place = 0
    for number, each in enumerate(given):
        if number in masks:
            expect_mask_fits(mask, shape, axis)
            start, place = len(entries), sum(not flag for flag in is_integer_at)
            entries += [slice(None)] * mask.ndim
            is_integer_at += [False] * mask.ndim
            axis += mask.ndim
        elif each is Ellipsis:
            entries += [slice(None)] * (len(shape) - used)
            is_integer_at += [False] * (len(shape) - used)
            axis += len(shape) - used
        else:
            entries.append(each)
            is_integer_at.append(each is not None and not isinstance(each, slice) and is_integer(each))
            axis += each is not None
    before, after = is_integer_at[:start], is_integer_at[start + mask.ndim :]
    if _are_apart(before[::-1]) or _are_apart(after):
        raise WindlassError(
            Diagnostic(
                "WL0904",
                "an integer that stands apart from a mask moves the axis that the mask picks along to the front",
                help=f"take the integer first: a[0][:, mask]. Otherwise: {MASK_HELP}",
            )
        )
    return Pick(tuple(entries), mask, place)


def _are_apart(flags: Sequence[bool]) -> bool:
    """Whether an integer comes after something else, seen from the mask."""
    first = next((number for number, flag in enumerate(flags) if not flag), len(flags))
    return any(flags[first:])


def _is_traced_mask(entry: Any) -> bool:
    value = plain(entry)
    return isinstance(value, Tracer) and is_mask(value) and value.ndim > 0
