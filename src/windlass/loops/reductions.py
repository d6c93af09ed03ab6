"""Which of the values that a loop carries are reductions: the value before the loop, combined with terms by one op.

    for (...) { if (x[i] > 0) sum += x[i]; best = max(best, y[i]); last = x[i]; }        sum by fadd, best by max

A term may not depend on what was combined before. So everything that uses the carried value, or what was made of it,
has to be a step towards the next one: the op itself, a choice between such values, or an inner loop that goes on with
the same reduction (the definition of a reduction variable in OpenMP, and of LLVM's RecurrenceDescriptor).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from windlass.ir import Op, Result, Value
from windlass.loops.control import Condition, DoWhile, For, If, Yield
from windlass.ops.combiners import Combiner, read_step, the_kind
from windlass.ops.conversion import BitcastConvert
from windlass.ops.creation import Constant
from windlass.ops.elementwise import Add, And, Or, Select, Subtract, Xor


def find_reductions(loop: For) -> tuple[str, ...]:
    """For each carried value the name of the operation by which it is a reduction, as `FoldKind.name` says; "" if it
    is none.

    >>> from windlass.ir import Block, Builder, Region, tensor_type
    >>> from windlass.ops import Add, Constant
    >>> body = Block([tensor_type((), each) for each in ("i64", "f32", "i32")])
    >>> with Builder(Block()):
    ...     with Builder(body):
    ...         end = Yield((Add(body.arguments[1], Constant.of(2.0, "f32")), Constant.of(7, "i32")))
    ...     starts = Constant.of(0.0, "f32"), Constant.of(0, "i32")
    ...     find_reductions(For(Constant.of(9, "i64"), starts, Region(body)))
    ('fadd', '')
    """
    return tuple(_Proof(loop, place).name for place in range(len(loop.initial)))


class _Proof:
    """How a loop makes the next carried value of the one before; `name` is empty where that is no reduction.

    Each value of `combined` is the other that it tells of, a carried value, combined with terms. `steps` says how
    often an op takes such a value in order to combine it: if it is taken in any other way, nothing is proved.
    """

    def __init__(self, loop: For, place: int) -> None:
        self.name = ""
        self.steps: Counter[tuple[Op, Value]] = Counter()
        self.combined: dict[Value, Value] = {}
        block = loop.body.block
        self.dependents = _dependents(block.arguments[1 + place], loop)
        if not self._leads(block.terminator, block.terminator.operands[place], block.arguments[1 + place]) or any(
            self.steps[user, value] != count for value in self.combined for user, count in value.uses.items()
        ):
            self.name = ""

    def _leads(self, user: Op, value: Value, old: Value) -> bool:
        """Whether what an op takes is the old value combined with terms."""
        self.steps[user, value] += 1
        if value in self.combined:
            return self.combined[value] is old
        if value not in self.dependents:
            return False
        self.combined[value] = old
        if value is old:
            return True
        match value.owner if isinstance(value, Result) else value:
            case BitcastConvert() as op:
                return self._leads(op, op.operand, old)
            case If() as op:
                ends = [region.block.terminator for region in op.regions]
                return all(self._leads(end, end.operands[op.results.index(value)], old) for end in ends)
            case For() | DoWhile() as op:
                return self._leads_round(op, op.results.index(value), old)
            case Op() as op if op is value:
                return self._leads_by_step(op, old)
            case _:
                return False

    def _leads_round(self, loop: For | DoWhile, place: int, old: Value) -> bool:
        """Whether an inner loop begins with what was combined, and goes on combining."""
        block = loop.body.block
        first = 1 if isinstance(loop, For) else 0
        following = block.terminator.operands[place + 1 - first]
        goes_on = self._leads(block.terminator, following, block.arguments[first + place])
        return goes_on and self._leads(loop, loop.initial[place], old)

    def _leads_by_step(self, op: Op, old: Value) -> bool:
        if isinstance(op, Subtract):
            return self._is_named(Add, op.dtype) and self._leads(op, op.lhs, old)
        if op.tensor.is_boolean and isinstance(op, And | Or | Xor):
            return self._is_named(type(op), "i1") and self._takes_one(op, op.operands, old)
        step = read_step(op)
        if step is not None:
            kind, *both = step
            return self._is_named(kind.combiner, kind.dtype, kind.prefers_numbers) and self._takes_one(op, both, old)
        if not isinstance(op, Select):
            return False
        truth = _read_truth(op)
        if truth is not None:
            return self._is_named(truth[0], "i1") and self._takes_one(op, truth[1:], old)
        return all(self._leads(op, each, old) for each in (op.on_true, op.on_false))

    def _is_named(self, combiner: Combiner, dtype: str, prefers_numbers: bool = False) -> bool:
        """Whether all steps before were by this op, too."""
        name = the_kind(combiner, dtype, prefers_numbers).name
        is_first, self.name = not self.name, self.name or name
        return is_first or self.name == name

    def _takes_one(self, op: Op, both: Sequence[Value], old: Value) -> bool:
        """Whether one of the two that an op combines is what was combined before, and the other a term."""
        combined = [value for value in both if value in self.dependents]
        if len(combined) != 1:
            return False
        spelled = [op]
        for each in spelled:
            for operand in each.operands:
                if operand is combined[0]:
                    if not self._leads(each, operand, old):
                        return False
                elif operand in self.dependents:
                    assert isinstance(operand, Op)
                    if operand not in self.combined:
                        spelled.append(operand)
                    self.combined[operand] = old
                    self.steps[each, operand] += 1
        return True


def _read_truth(op: Select) -> tuple[Combiner, Value, Value] | None:
    """`found ? true : x` is `found or x`, and `all ? x : false` is `all and x`."""
    if op.tensor.is_boolean:
        if isinstance(op.on_true, Constant) and op.on_true.number:
            return Or, op.pred, op.on_false
        if isinstance(op.on_false, Constant) and not op.on_false.number:
            return And, op.pred, op.on_true
    return None


def _dependents(old: Value, loop: For) -> set[Value]:
    """All values of one iteration that depend on the carried one."""
    found, open_values = {old}, [old]
    while open_values:
        value = open_values.pop()
        for user in value.uses:
            for dependent in _taken_by(user, value, loop):
                if dependent not in found:
                    found.add(dependent)
                    open_values.append(dependent)
    return found


def _taken_by(user: Op, value: Value, loop: For) -> Iterator[Value]:
    """What depends on a value because an op takes it."""
    around = user.parent_op
    places = [place for place, operand in enumerate(user.operands) if operand is value]
    match user:
        case For() | DoWhile():
            for place in places:
                yield from _carried(user, place - 1 if isinstance(user, For) else place)
        case Yield() if around is not loop and isinstance(around, For):
            for place in places:
                yield from _carried(around, place)
        case Yield() if isinstance(around, If):
            for place in places:
                yield around.results[place]
        case Condition() if isinstance(around, DoWhile):
            for place in places:
                yield from _carried(around, place - 1)
        case _:
            yield from user.results


def _carried(loop: For | DoWhile, place: int) -> Iterator[Value]:
    """A carried value within and after the loop; all that are, where it is asked for the number of iterations."""
    carried = loop.body.block.arguments[1 if isinstance(loop, For) else 0 :]
    if place < 0:
        yield from (*carried, *loop.results)
    else:
        yield from (carried[place], loop.results[place])
