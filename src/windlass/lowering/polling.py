"""Loops that may run for ever ask, every few milliseconds, whether they are to stop.

XLA can't be stopped from outside while it computes. So a loop that may take long calls a function, `POLL`, which fails
once the user has pressed Ctrl-C, and with it the whole program. (The function is `windlass.stablehlo.interrupting`'s.)
A call keeps XLA:CPU from compiling a small loop as one piece of machine code, in which a round takes a nanosecond, and
takes a twentieth of a microsecond itself. Hence a loop of short rounds becomes two: the inner one has no call and ends
after as many rounds as take some milliseconds by estimate.

    while (c(x)) x = f(x)   →   while (c(x)) { poll(); i = 0; while (i < n && c(x)) { x = f(x); i += 1 } }

Of a round that does next to nothing counting takes a good part. There each of the inner rounds is four of the loop's:
x = c(x) ? f(x) : x, four times.

Measured (time with questions over time without): random numbers until one comes up 0.79 (1.51 if each round is
counted), with four threads 0.76 (13 if each round asks), 30 million random numbers 0.40, Mandelbrot's iteration 0.93,
with 32 threads 1.03, looking for a number 0.95, greatest common divisors 1.04.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from windlass.ir import Block, Builder, Function, Module, Op, Region, TensorType, Value, tensor_type
from windlass.ops import Add, And, Call, Compare, Constant, CustomCall, Opaque, Return, Select, While
from windlass.ops.control import Branching, work_of
from windlass.ops.counting import find_counter

POLL = "windlass_poll"
"""What the function is registered as with XLA."""
SHORT = 5e7
"""Operations on elements that never take long: a loop that is known to do no more doesn't ask."""
STRIP = 1e7
"""So many are done between two questions: 0.5 to 20 ms."""
LIGHT = 1e5
"""Entering a loop that asks takes as long as so many operations, or rather less."""
ROUND = 4
"""Operations that a round is worth beyond what it does."""
MOST_ROUNDS = 1 << 20
LIGHT_OPS = 32
"""A round of no more ops..."""
LIGHT_SIZE = 64
"""... that changes no more elements is so short that counting it takes a good part of it."""
WEIGHTY = (While, Branching, Call, CustomCall, Opaque)
"""Ops of which two are not like one."""
AT_ONCE = 4
"""So many light rounds are counted as one."""


def add_polls(module: Module) -> int:
    """Let each loop that may take long ask whether it is to stop; gives how many do. Changes the module."""
    work = _Work(module)
    return sum(_add_to_block(function.body, work, False) for function in list(module.functions.values()))


def calls_native_code(module: Module) -> bool:
    """Whether the program calls native code, which asks by itself."""
    ops = (op for function in module.functions.values() for op in function.walk())
    return any(isinstance(op, CustomCall) and op.calls_native_code for op in ops)


def is_brief(function: Function) -> bool:
    """Whether the function is known to be done within some milliseconds.

    >>> from windlass.ir.values import tensor_type
    >>> block = Block([tensor_type((1000,), "f32")])
    >>> with Builder(block):
    ...     _ = Return((Add(block.arguments[0], block.arguments[0]),))
    >>> is_brief(Function("f", block))
    True
    """
    work = _Work(Module([function]))
    loops = (op for op in function.walk() if isinstance(op, While))
    return all(find_counter(loop) is not None for loop in loops) and work.of_block(function.body) <= STRIP


def _add_to_block(block: Block, work: _Work, is_repeated: bool) -> int:
    count = 0
    for op in list(block):
        is_loop = isinstance(op, While)
        # A loop within a condition would be there twice; one that takes long is for the body to answer.
        regions = (op.body,) if isinstance(op, While) else op.regions
        asks = isinstance(op, While) and work.may_take_long(op, is_repeated)
        for region in regions:
            count += sum(_add_to_block(inner, work, is_repeated or is_loop) for inner in region.blocks)
        if isinstance(op, While) and asks:
            _add_to_loop(op, work.of_round(op))
            count += 1
    return count


class _Work:
    """What loops do, in operations on elements."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._called: dict[str, float] = {}

    def may_take_long(self, loop: While, is_repeated: bool) -> bool:
        """Whether the loop has to ask. Within another loop, one whose usual rounds take less than asking doesn't: the
        other one does."""
        counter = find_counter(loop)
        each = self.of_round(loop)
        if counter is not None:
            return counter.rounds * each > SHORT
        return not is_repeated or While.USUAL_ROUNDS * each > LIGHT

    def of_round(self, loop: While) -> float:
        """A round's; a loop inside of which the rounds aren't known counts as one round."""
        return ROUND + sum(self._of_region(region) for region in (loop.cond, loop.body))

    def of_block(self, block: Block) -> float:
        return sum(map(self._of_op, block))

    def _of_region(self, region: Region) -> float:
        return sum(map(self.of_block, region.blocks))

    def _of_op(self, op: Op) -> float:
        if isinstance(op, While):
            counter = find_counter(op)
            return self.of_round(op) * (1 if counter is None else max(counter.rounds, 1))
        if isinstance(op, Call):
            return self._of_function(str(op.callee))
        if isinstance(op, Opaque | CustomCall):
            return 0 if isinstance(op, CustomCall) and op.call_target_name == POLL else STRIP
        if isinstance(op, Branching):
            return max((self._of_region(region) for region in op.regions), default=0)
        return work_of(op)

    def _of_function(self, name: str) -> float:
        if name not in self._called:
            self._called[name] = 0
            function = self._module.functions.get(name)
            if function is not None:
                self._called[name] = self.of_block(function.body)
        return self._called[name]


def _add_to_loop(loop: While, work_of_round: float) -> None:
    rounds = math.floor(min(STRIP / work_of_round, MOST_ROUNDS))
    body = loop.body.block
    if rounds < 2 or not _can_be_asked_twice(loop):
        with Builder(body, before=body.first, source=loop.source):
            _poll()
        return
    _strip(loop, rounds)


def _poll() -> None:
    CustomCall((), POLL, (), has_side_effect=True, backend_config="{}", api_version=4)


def _can_be_asked_twice(loop: While) -> bool:
    """Whether the condition may be copied: it is short, and asking has no effect."""
    if len(loop.cond.blocks) != 1:
        return False
    block = loop.cond.block
    return all(op is block.terminator or (op.is_pure and not isinstance(op, WEIGHTY)) for op in block)


def _strip(loop: While, rounds: int) -> None:
    """Divide the loop: the old body goes into an inner loop of at most so many rounds."""
    types = tuple(value.type for value in loop.operands)
    number = tensor_type((), "i32")
    is_light = _is_light(loop)
    count = max(rounds // AT_ONCE, 1) if is_light else rounds
    assert loop.block is not None
    cond, body = Block([number, *types]), Block([number, *types])
    with Builder(cond, source=loop.source):
        (asked,) = _copy(loop.cond.block, cond.arguments[1:])
        is_within = Compare(cond.arguments[0], Constant.of(count, "i32"), "LT")
        Return((And(is_within, asked),))
    with Builder(body, source=loop.source):
        given = tuple[Value, ...](body.arguments[1:])
        # The first round takes place. Without a choice, though, XLA may draw together what two rounds do to a float.
        is_first_chosen = is_light and any(
            isinstance(each, TensorType) and (each.is_float or each.is_complex) for each in types
        )
        if not is_first_chosen:
            given = _copy(loop.body.block, given)
        for _ in range(AT_ONCE - 1 + is_first_chosen if is_light else 0):
            given = _copy_chosen(loop, given)
        Return((Add(body.arguments[0], Constant.of(1, "i32")), *given))
    outer = Block(types)
    with Builder(outer, source=loop.source):
        _poll()
        inner = While(Region(cond), Region(body), (Constant.of(0, "i32"), *outer.arguments))
        Return(tuple(inner.results[1:]))
    asking = Block(types)
    with Builder(asking, source=loop.source):
        Return(_copy(loop.cond.block, asking.arguments))
    with Builder(loop.block, before=loop, source=loop.source):
        stripped = While(Region(asking), Region(outer), tuple(loop.operands))
        stripped.extra = loop.extra
    for old, new in zip(loop.results, stripped.results, strict=True):
        old.replace_all_uses_with(new)
    loop.erase()


def _is_light(loop: While) -> bool:
    """Whether a round is so short that counting takes a good part of it, and may be done without an effect."""
    blocks = (loop.cond.block, loop.body.block)
    ops = [op for block in blocks for op in block if op is not block.terminator]
    if len(ops) > LIGHT_OPS or any(not op.is_pure or isinstance(op, WEIGHTY) for op in ops):
        return False
    pairs = zip(loop.body.block.arguments, loop.body.block.terminator.operands, strict=True)
    sizes = [new.type.size if isinstance(new.type, TensorType) else math.inf for old, new in pairs if old is not new]
    return sum(sizes) <= LIGHT_SIZE


def _copy_chosen(loop: While, given: tuple[Value, ...]) -> tuple[Value, ...]:
    """A round where the active builder is, after which values are what they were if the loop had ended before."""
    (asked,) = _copy(loop.cond.block, given)
    after = _copy(loop.body.block, given)
    return tuple(new if new is old else Select(asked, new, old) for new, old in zip(after, given, strict=True))


def _copy(block: Block, arguments: Sequence[Value]) -> tuple[Value, ...]:
    """The block's ops where the active builder is, for these arguments; gives what it returns."""
    mapping: dict[Value, Value] = dict(zip(block.arguments, arguments, strict=True))
    terminator = block.terminator
    for op in block:
        if op is not terminator:
            op.clone(mapping)
    return tuple(mapping.get(result, result) for result in terminator.operands)
