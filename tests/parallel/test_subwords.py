"""Updates of a word that change a part of it only."""

from __future__ import annotations

import numpy as np
import pytest
from tests.frontends.llvm.running import imported, ops_of, run

from windlass.loops import Atomic, AtomicUpdate

LOOP = """__global__ void kernel(unsigned *word, unsigned n) {
    unsigned old = *word, was, part, next;
    do { was = old; %s old = atomicCAS(word, was, next); } while (was != old);
}"""

PARTS: dict[str, tuple[str, int]] = {
    "the lower half": ("part = (was + n) & 0xffff; next = (was & 0xffff0000) | part;", 2),
    "the upper half": ("part = min(was >> 16, n); next = (was & 0xffff) | (part << 16);", 2),
    "the second byte": ("part = min((was >> 8) & 0xff, n & 0xff); next = (was & 0xffff00ff) | (part << 8);", 1),
}
WHOLE = {
    "both halves": "next = ((was + n) & 0xffff) | ((was & 0xffff0000) + (n << 16));",
    "a half made of the other": "part = (was >> 16) + n; next = (was & 0xffff0000) | (part & 0xffff);",
    "twelve bits": "part = (was + n) & 0xfff; next = (was & 0xfffff000) | part;",
    "halves that change places": "next = (was >> 16) | (was << 16);",
}


def check(source: str) -> None:
    for held in (0, 0x12345678, 0xFFFF8001, 0x00FFFF00):
        for given in (0, 1, 0x90, 0xFFFF):
            place = np.array([held], np.uint32)
            run(source, place, given)
            assert place[0] == reference(source, held, given), hex(held)


def reference(source: str, was: int, n: int) -> int:
    """What the statements of the loop's body make of a word."""
    names = {"was": was, "n": n}
    body = source.split("was = old;")[1].split("old = ", maxsplit=1)[0]
    for statement in body.strip().rstrip(";").split(";"):
        name, value = statement.split(" = ")
        names[name.strip()] = eval(value, {}, dict(names)) & 0xFFFFFFFF
    return names["next"]


@pytest.mark.parametrize("name", PARTS)
def test_an_update_of_a_part_is_of_the_width_of_the_part(name: str) -> None:
    statements, width = PARTS[name]
    updates = ops_of(imported(LOOP % statements), Atomic, AtomicUpdate)
    assert [dtype_of(each) for each in updates] == [f"i{8 * width}"]
    check(LOOP % statements)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", WHOLE)
def test_what_is_no_part_is_updated_as_a_word(name: str) -> None:
    updates = ops_of(imported(LOOP % WHOLE[name]), Atomic, AtomicUpdate)
    assert [dtype_of(each) for each in updates] == ["i32"]
    check(LOOP % WHOLE[name])


def dtype_of(op: object) -> str:
    assert isinstance(op, Atomic | AtomicUpdate)
    return op.value.dtype if isinstance(op, Atomic) else op.body.block.arguments[0].dtype
