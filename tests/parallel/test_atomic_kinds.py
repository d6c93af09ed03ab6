"""Which updates of a place are atomic operations that there is a kind for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tests.frontends.llvm.running import imported, ops_of, run

from windlass.ir import Block, Builder, Value, tensor_type
from windlass.loops import Atomic
from windlass.ops.combiners import extreme_of_numbers
from windlass.ops.comparison import Compare
from windlass.ops.creation import Constant
from windlass.ops.elementwise import Add, And, Multiply, Or, Select, Subtract, Xor
from windlass.ops.extremes import Maximum, Minimum
from windlass.parallel.atomic_kinds import find_kind

KINDS: list[tuple[Callable[[Value, Value], Value], str, str | None]] = [
    (Add, "i32", "add"),
    (Add, "f32", "fadd"),
    (Subtract, "i32", "sub"),
    (Subtract, "f32", "fsub"),
    (And, "i32", "and"),
    (Or, "i32", "or"),
    (Xor, "i64", "xor"),
    (Maximum, "i32", "max"),
    (Minimum, "i32", "min"),
    (Maximum, "ui32", "umax"),
    (Minimum, "ui32", "umin"),
    (Maximum, "f32", None),
    (Multiply, "i32", None),
]


@pytest.mark.parametrize(("kind", "dtype", "wanted"), KINDS)
@pytest.mark.parametrize("is_swapped", [False, True])
def test_kinds_of_updates(
    kind: Callable[[Value, Value], Value], dtype: str, wanted: str | None, is_swapped: bool
) -> None:
    outside, body = Block([tensor_type((), dtype)]), Block([tensor_type((), dtype)])
    given, old = outside.arguments[0], body.arguments[0]
    with Builder(body):
        new = kind(given, old) if is_swapped else kind(old, given)
    if is_swapped and kind is Subtract:
        wanted = None
    found = find_kind(new, old, body)
    assert found == (None if wanted is None else (wanted, given))


def test_an_operand_that_the_body_makes_has_no_kind() -> None:
    body = Block([tensor_type((), "i32")])
    old = body.arguments[0]
    with Builder(body):
        assert find_kind(Add(old, Multiply(old, Constant.of(3, "i32"))), old, body) is None
        assert find_kind(Add(old, old), old, body) is None
    with Builder(Block()):
        constant = Constant.of(7, "i32")
    assert find_kind(constant, old, body) == ("exchange", constant)


def test_what_replaces_nan_by_something_else_is_no_extreme_of_numbers() -> None:
    outside, body = Block([tensor_type((), "f32")] * 2), Block([tensor_type((), "f32")])
    (given, other), (old,) = outside.arguments, body.arguments
    with Builder(body):
        found = extreme_of_numbers(Minimum, old, given)
        assert find_kind(found, old, body) == ("fmin", given)
        assert find_kind(Select(Compare(given, given, "NE"), other, found), old, body) is None


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("name", "kind"), [("fmaxf", "fmax"), ("fminf", "fmin")])
def test_extremes_of_numbers_are_one_atomic_operation(name: str, kind: str) -> None:
    source = f"""__global__ void kernel(unsigned *p, float x) {{
        unsigned old = *p, was;
        do {{ was = old; old = atomicCAS(p, was, __float_as_uint({name}(x, __uint_as_float(was)))); }}
        while (was != old);
    }}"""
    (atomic,) = ops_of(imported(source), Atomic)
    assert isinstance(atomic, Atomic)
    assert atomic.kind == kind
    for held in (1.0, 3.0, np.nan):
        place = np.array([held], np.float32)
        run(source, place.view(np.uint32), np.float32(2))
        assert place[0] == (np.fmax if kind == "fmax" else np.fmin)(np.float32(held), np.float32(2))
