"""Marks of loops are taken where they stand as a front end has put them, and dropped where anything speaks against."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from windlass.ir import Block, BufferType, Builder, Function, Region, Value, tensor_type
from windlass.llvm.names import ENTER, IN_ORDER, ITERATION, OWN_THREAD
from windlass.loops import Allocate, For, If, Load, Mark, Store, Yield
from windlass.ops import Constant, Multiply, Return
from windlass.parallel.independence import take_marks

I64 = tensor_type((), "i64")
Body = Callable[[Value], object]


def loop(body: Body) -> For:
    block = Block([I64])
    with Builder(block):
        body(block.arguments[0])
        Yield(())
    return For(Constant.of(4, "i64"), (), Region(block))


def function(build: Body) -> Function:
    built = Function("f", Block([BufferType.of("global")]))
    with Builder(built.body):
        build(built.arguments[0])
        Return(())
    return built


def independent_depths(build: Body) -> list[int]:
    """How deep in other loops the loops stand that are independent once the marks are taken."""
    built = function(build)
    take_marks(built.body)
    assert not any(isinstance(op, Mark) for op in built.walk())
    found: list[int] = []
    for op in built.walk():
        if isinstance(op, For) and op.is_independent:
            depth, around = 0, op.parent_op
            while around is not None:
                depth, around = depth + isinstance(around, For), around.parent_op
            found.append(depth)
    return found


def mark() -> Mark:
    return Mark(ITERATION, 3)


def within_branch(build: Callable[[], object]) -> None:
    blocks = Block(), Block()
    for number, block in enumerate(blocks):
        with Builder(block):
            if number == 0:
                build()
            Yield(())
    If(Constant.of(True, "i1"), Region(blocks[0]), Region(blocks[1]))


def stores_to(buffer: Value, iteration: Value) -> None:
    mark()
    Store(iteration, buffer, Multiply(iteration, Constant.of(8, "i64")))


def left_its_loop(iteration: Value) -> None:
    Mark(ENTER, 3)
    mark()


CASES: dict[str, tuple[Body, list[int]]] = {
    "in a loop": (lambda x: (Mark(ENTER, 3), loop(lambda i: stores_to(x, i))), [0]),
    "in a branch in a loop": (lambda x: loop(lambda i: within_branch(mark)), [0]),
    "twice in a loop": (lambda x: loop(lambda i: (mark(), mark())), [0]),
    "in the inner loop": (lambda x: loop(lambda i: (Mark(ENTER, 3), loop(lambda j: mark()))), [1]),
    "in both loops": (lambda x: loop(lambda i: (Mark(ITERATION, 0), Mark(ENTER, 3), loop(lambda j: mark()))), [0, 1]),
    "outside of loops": (lambda x: mark(), []),
    "beside the entry": (lambda x: loop(left_its_loop), []),
    "beside an unknown entry": (lambda x: loop(lambda i: (Mark(ENTER), mark())), []),
    "of no number": (lambda x: loop(lambda i: Mark(ITERATION)), []),
    "in order": (lambda x: loop(lambda i: (mark(), Mark(IN_ORDER))), []),
    "in order further in": (lambda x: loop(lambda i: (mark(), loop(lambda j: Mark(IN_ORDER)))), []),
    "in order elsewhere": (lambda x: (loop(lambda i: mark()), loop(lambda i: Mark(IN_ORDER))), [0]),
    "with a thread's own memory": (lambda x: (Mark(OWN_THREAD), loop(lambda i: mark())), []),
}


@pytest.mark.parametrize("name", CASES)
def test_mark_is_taken_where_it_stands(name: str) -> None:
    build, expected = CASES[name]
    assert independent_depths(build) == expected


def test_loop_that_stores_to_memory_of_its_own_keeps_its_order() -> None:
    def stores(parameter: Value) -> None:
        own = Allocate("local", 32)
        loop(lambda i: stores_to(own, i))

    def loads(parameter: Value) -> None:
        own = Allocate("local", 32)
        loop(lambda i: (Load(own, i, "i64"), stores_to(parameter, i)))

    assert independent_depths(stores) == []
    assert independent_depths(loads) == [0]
