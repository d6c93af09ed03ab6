"""What led to an obstacle: the lines of the kernel that made the value in the way, and the loops around it.

Where what happens afterwards is in the way (the result of an atomic operation that is used), the trail goes forward,
else back to the loads and to what loops carry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from windlass import loops
from windlass.diagnostics import Position, Step
from windlass.ir import Argument, Block, Op, Result, Value
from windlass.loops.variable_names import readable
from windlass.ops.creation import Constant
from windlass.raising.codes import MISALIGNED, OUTSIDE, RACE, RESULT_OF_ATOMIC

MOST_STEPS = 8
MOST_VISITED = 400
MOST_CAUSES = 3
"""So many loads and the like are followed up to; what is further away matters less."""

FORMS = {
    "vectorize": "all iterations at once",
    "unroll": "one iteration after the other",
    "while": "a loop of tensor operations",
}
"""The forms of loops, as users read of them."""

COMPUTES = "computes it"


@dataclass(frozen=True)
class Attempt:
    """A form of a loop that did not work, and why; `reason` is empty for the one in which an obstacle ended all."""

    loop: Op
    form: str
    reason: str = ""


class Blocked(Protocol):
    """What a trail leads to, as `Obstacle` says it."""

    op: Op | None
    value: Value | None
    code: str
    position: Position | None
    attempts: tuple[Attempt, ...]


Neighbours = Callable[[Value], Iterable[Value]]


def find_trail(obstacle: Blocked) -> tuple[Step, ...]:
    """The lines that led to an obstacle, in the program's order, each once."""
    op = obstacle.op
    if op is None:
        return ()
    said: dict[Op, list[str]] = {}
    for attempt in obstacle.attempts:
        form = FORMS.get(attempt.form, attempt.form)
        why = f"not {form}: {attempt.reason}" if attempt.reason else f"as {form}"
        said.setdefault(attempt.loop, []).append(why)
    if obstacle.code == RESULT_OF_ATOMIC:
        found = _walk([op], _users, _is_end)
    else:
        start = _beginning(obstacle, op)
        found = _walk(start, _sources, _is_cause) or _nearest(start, _sources)
    for value in found:
        for holder, what in _describe(value):
            texts = said.setdefault(holder, [])
            if what not in texts:
                texts.append(what)
    return _in_order(obstacle, op, said)


def _beginning(obstacle: Blocked, op: Op) -> list[Value]:
    """The values in the way, as far as is known."""
    if obstacle.value is not None:
        return [obstacle.value]
    if obstacle.code in (OUTSIDE, MISALIGNED) and isinstance(op, loops.Load | loops.Store | loops.Atomic):
        return [op.offset]
    if obstacle.code == RACE and isinstance(op, loops.Store):
        return [op.value]
    return list(op.operands)


def _walk(start: list[Value], neighbours: Neighbours, is_wanted: Callable[[Value], bool]) -> list[Value]:
    """The values on the shortest ways to the nearest that are wanted."""
    before: dict[Value, Value | None] = dict.fromkeys(start)
    waiting, wanted = list(start), list[Value]()
    while waiting and len(before) < MOST_VISITED and len(wanted) < MOST_CAUSES:
        value = waiting.pop(0)
        if is_wanted(value):
            wanted.append(value)
        for each in neighbours(value):
            if each not in before:
                before[each] = value
                waiting.append(each)
    found: dict[Value, None] = {}
    for value in wanted:
        step: Value | None = value
        while step is not None:
            found[step] = None
            step = before[step]
    return list(found)


def _nearest(start: list[Value], neighbours: Neighbours) -> list[Value]:
    """What values are made of, where none of it was loaded or carried."""
    found = dict.fromkeys(start)
    for value in list(start):
        found.update(dict.fromkeys(neighbours(value)))
    return list(found)


# -- what depends on what ---------------------------------------------------------------------------------------------


def _sources(value: Value) -> Iterable[Value]:
    """What a value of the kernel is made of; for what a loop carries also what the next iteration gets."""
    match value:
        case Result() if isinstance(value.owner, loops.If):
            op = value.owner
            sides = [region.block.terminator.operands[value.index] for region in (op.then, op.otherwise)]
            return [*sides, op.condition]
        case Result() if isinstance(value.owner, loops.For | loops.DoWhile):
            return [_yielded(value.owner, value.index), value.owner.initial[value.index]]
        case Result():
            return value.owner.operands
        case Argument():
            loop = _loop_of(value)
            number = _number(value)
            return [] if loop is None or number < 0 else [_yielded(loop, number), loop.initial[number]]
        case loops.Load():
            return [value.offset, value.buffer]
        case Op():
            return value.operands
        case _:
            return []


def _users(value: Value) -> Iterable[Value]:
    """What is made of a value: ops, and what loops and branches hand on."""
    found: list[Value] = []
    values = value.results if isinstance(value, Op) and not isinstance(value, loops.If) else (value,)
    for each in values:
        for user in each.uses:
            parent = user.parent_op
            if isinstance(user, loops.Yield | loops.Condition) and isinstance(parent, Op) and parent.results:
                handed_on = user.values
                places = [place for place, given in enumerate(handed_on) if given is each]
                found += [parent.results[place] for place in places]
                if isinstance(parent, loops.For | loops.DoWhile):
                    found += [parent.body.block.arguments[place + _lead(parent)] for place in places]
            found.append(user)
    return found


def _is_cause(value: Value) -> bool:
    """Whether a trail that goes back may end here."""
    if isinstance(value, Argument):
        return _loop_of(value) is not None and _number(value) >= 0
    effects = (loops.Load, loops.Atomic, loops.CompareExchange, loops.AtomicUpdate, loops.Collective)
    return isinstance(value, effects) or (isinstance(value, Result) and isinstance(value.owner, effects))


def _is_end(value: Value) -> bool:
    """Whether a trail that goes forward may end here: something is done, or decided."""
    return isinstance(value, loops.Store | loops.If | loops.For | loops.Condition)


def _yielded(loop: loops.For | loops.DoWhile, number: int) -> Value:
    last = loop.body.block.terminator
    assert isinstance(last, loops.Yield | loops.Condition)
    return last.values[number]


def _lead(loop: loops.For | loops.DoWhile) -> int:
    """How many arguments of the body come before those that are carried."""
    return 1 if isinstance(loop, loops.For) else 0


def _loop_of(argument: Argument) -> loops.For | loops.DoWhile | None:
    region = None if argument.block is None else argument.block.parent
    loop = None if region is None else region.parent
    return loop if isinstance(loop, loops.For | loops.DoWhile) else None


def _number(argument: Argument) -> int:
    """Which of the carried values an argument of a loop's body is; -1 for the iteration number."""
    loop = _loop_of(argument)
    return argument.index - (0 if loop is None else _lead(loop))


# -- words ------------------------------------------------------------------------------------------------------------


def _describe(value: Value) -> Iterable[tuple[Op, str]]:
    """At which op something is to be said of a value, and what."""
    match value:
        case Argument():
            loop = _loop_of(value)
            return [] if loop is None else [(loop, "carries it from one iteration to the next")]
        case loops.Load():
            return [(value, f"loads from '{_memory_name(value.buffer)}'")]
        case loops.Store():
            return [(value, f"decides what is stored to '{_memory_name(value.buffer)}'")]
        case loops.Atomic() | loops.CompareExchange() | loops.AtomicUpdate():
            return [(value, f"an atomic operation on '{_memory_name(value.buffer)}'")]
        case Result() if isinstance(value.owner, loops.Atomic | loops.CompareExchange | loops.AtomicUpdate):
            return _describe(value.owner)
        case Result() if isinstance(value.owner, loops.Collective):
            return [(value.owner, "threads of a warp exchange it")]
        case loops.Collective():
            return [(value, "threads of a warp exchange it")]
        case loops.If():
            return [(value, "decides what is done")]
        case loops.For() | loops.Condition():
            return [(value, "decides how often the loop runs")]
        case loops.SelectBuffer():
            return [(value, "chooses between pointers")]
        case Op() if not isinstance(value, Constant | loops.LoopOp):
            return [(value, COMPUTES)]
        case _:
            return []


def _memory_name(buffer: Value) -> str:
    """The name of the memory that a pointer goes into."""
    for _ in range(MOST_VISITED):
        match buffer:
            case loops.ViewBuffer():
                buffer = buffer.buffer
            case loops.SelectBuffer():
                buffer = buffer.on_true
            case loops.Allocate() | loops.DeviceVariableBuffer():
                return readable(buffer.variable) or "local array"
            case Argument():
                loop = _loop_of(buffer)
                if loop is None:
                    return buffer.name or "memory"
                buffer = loop.initial[_number(buffer)]
            case Result():
                sources = list(_sources(buffer))
                if not sources:
                    return "memory"
                buffer = sources[-1] if isinstance(buffer.owner, loops.For | loops.DoWhile) else sources[0]
            case _:
                return "memory"
    return "memory"


def _in_order(obstacle: Blocked, op: Op, said: dict[Op, list[str]]) -> tuple[Step, ...]:
    """One step for each line, in the order of the program; those that say most, where there are many."""
    lines: dict[tuple[str, int], tuple[Position, list[str]]] = {}
    for each in _outermost(op).walk():
        if each in said and each.source is not None and each.source.line:
            _, texts = lines.setdefault((each.source.file, each.source.line), (each.source, []))
            texts += [text for text in said[each] if text not in texts]
    steps: list[Step] = []
    for position, texts in lines.values():
        telling = [text for text in texts if text != COMPUTES]
        steps.append(Step(position, "; ".join(telling or texts)))
    if len({step.position.file for step in steps}) == 1:
        # Compilers move what is computed to where it is used.
        steps.sort(key=lambda step: step.position.line)
    while len(steps) > MOST_STEPS:
        steps.remove(next((step for step in steps if step.what == COMPUTES), steps[-1]))
    own = obstacle.position
    if own is not None and [(step.position.file, step.position.line) for step in steps] == [(own.file, own.line)]:
        # A single step at the obstacle itself has to tell more than one thing, to tell anything.
        return tuple(step for step in steps if "; " in step.what)
    return tuple(steps)


def _outermost(op: Op) -> Block:
    parent = op.parent_op
    while parent is not None:
        op, parent = parent, parent.parent_op
    assert op.block is not None
    return op.block
