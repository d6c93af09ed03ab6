"""Loops of compare-and-swaps that update memory in one step, in disguise.

    do { assumed = old; old = atomicCAS(place, assumed, f(assumed)); } while (assumed != old);

applies f to what memory holds, whatever other threads do meanwhile: the last round finds what it assumed and stores f
of it, and the rounds before change nothing. So do loops that leave without storing once f is not wanted any more:

    while (wants(old)) { assumed = old; old = atomicCAS(place, assumed, f(assumed)); if (old == assumed) break; }

Both become an `AtomicUpdate`, of old to f(old), or to old where no f is wanted; or an `Atomic` where that is one of
the operations that there is a kind for. The first guess does not matter: a wrong one takes one round more.

What the loop loads but from that place is loaded once before it. A program whose result depends on when has a race.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from windlass.ir import Argument, Block, Builder, Op, Region, Terminator, Value, tensor_type
from windlass.ir.values import Result
from windlass.loops import Atomic, AtomicUpdate, CompareExchange, Condition, DoWhile, If, Load, Undefined, Yield
from windlass.ops.combiners import bits_of
from windlass.ops.comparison import Compare
from windlass.ops.conversion import BitcastConvert
from windlass.ops.creation import Constant
from windlass.ops.elementwise import Add, And, Not, Or, Select
from windlass.parallel.atomic_kinds import find_kind
from windlass.parallel.subwords import find_part

Sides = dict[Op, int]
"""Branches, and which of their regions is run: 0 is the one where the condition holds."""


def replace_compare_and_swap_loops(block: Block) -> None:
    """Replace every such loop in the block and in the regions of its ops."""
    for op in tuple(block):
        for region in op.regions:
            replace_compare_and_swap_loops(region.block)
        if isinstance(op, DoWhile):
            retry = _find_retry(op)
            if retry is not None:
                _Rewriting(retry).run()
        elif isinstance(op, If):
            _drop_early_exit(op)


# -- is it such a loop? -----------------------------------------------------------------------------------------------


@dataclass
class _Retry:
    """A loop that tries until memory holds what it assumes."""

    loop: DoWhile
    exchange: CompareExchange
    path: list[tuple[If, int]]
    """The branches around the exchange, outermost first, and the side that it is on."""
    assumed: Value
    """What the exchange expects, from whose bits it makes what it stores."""
    inner: set[Value] = field(default_factory=set[Value])
    """All that the loop computes, and its arguments."""

    @property
    def end(self) -> Condition:
        end = self.loop.body.block.terminator
        assert isinstance(end, Condition)
        return end

    @property
    def sides(self) -> Sides:
        return dict(self.path)

    def other_ways(self) -> Iterator[Sides]:
        """The ways through the body that do not pass the exchange."""
        before: Sides = {}
        for branch, side in self.path:
            yield {**before, branch: 1 - side}
            before[branch] = side

    def is_inner(self, value: Value) -> bool:
        return value in self.inner

    def is_there(self, value: Value) -> bool:
        """Whether the value is loaded from the place of the exchange."""
        place, wanted = self.exchange, self.exchange.expected.tensor
        return (
            isinstance(value, Load)
            and value.buffer is place.buffer
            and _is_same(value.offset, place.offset)
            and value.tensor.bytes == wanted.bytes
        )

    def is_old(self, value: Value) -> bool:
        """Whether the value is, in the round that stores, what memory holds just before."""
        value = bits_of(value)
        if value is self.assumed or (self.is_inner(value) and self.is_there(value)):
            return True
        if isinstance(value, Argument) and isinstance(self.assumed, Argument) and self.is_inner(value):
            loop, end = self.loop, self.end
            first, following = (
                [bits_of(values[each.index]) for each in (value, self.assumed)] for values in (loop.initial, end.values)
            )
            return first[0] is first[1] and following[0] is following[1]
        return False

    def outcome(self, value: Value, sides: Sides, succeeds: bool | None) -> Value | bool:
        """What a value is on a way through the body, if the exchange succeeds or fails; booleans as far as known."""
        if isinstance(value, Constant) and value.dtype == "i1":
            return bool(value.number)
        if isinstance(value, Result) and isinstance(value.owner, If):
            branch = value.owner
            side = sides.get(branch)
            if side is None:
                taken = self.outcome(branch.condition, sides, succeeds)
                if not isinstance(taken, bool):
                    return value
                side = 0 if taken else 1
            return self.outcome(branch.regions[side].block.terminator.operands[value.index], sides, succeeds)
        match value:
            case Not():
                inner = self.outcome(value.operand, sides, succeeds)
                return not inner if isinstance(inner, bool) else value
            case And() | Or() if value.dtype == "i1":
                left, right = (self.outcome(each, sides, succeeds) for each in (value.lhs, value.rhs))
                absorbing = isinstance(value, Or)
                if left is absorbing or right is absorbing:
                    return absorbing
                if isinstance(left, bool):
                    return right
                return left if isinstance(right, bool) else value
            case Select():
                taken = self.outcome(value.pred, sides, succeeds)
                if isinstance(taken, bool):
                    return self.outcome(value.on_true if taken else value.on_false, sides, succeeds)
            case Compare() if succeeds is not None and self._compares_with_assumed(value):
                return succeeds == (value.direction == "EQ")
            case _:
                pass
        return value

    def _compares_with_assumed(self, test: Compare) -> bool:
        """Whether a comparison asks if the exchange found what it expected."""
        if test.direction not in ("EQ", "NE") or {bits_of(test.lhs), bits_of(test.rhs)} != {
            self.assumed,
            self.exchange,
        }:
            return False
        # 0.0 == -0.0, though the exchange fails: only a guess that was never loaded can differ from memory like that.
        return not test.lhs.tensor.is_float or self.is_guess_loaded()

    def is_guess_loaded(self) -> bool:
        """Whether what the first round assumes was loaded from the place."""
        if not isinstance(self.assumed, Argument):
            return True
        return self.is_there(bits_of(self.loop.initial[self.assumed.index]))


def _find_retry(loop: DoWhile) -> _Retry | None:
    """The loop as one that tries again and again to update a place, if it is nothing else."""
    exchanges = [op for op in loop.body.walk() if isinstance(op, CompareExchange)]
    others = (op for op in loop.body.walk() if not isinstance(op, CompareExchange))
    if len(exchanges) != 1 or not all(
        op.is_pure or isinstance(op, Load | If | Terminator | Undefined) for op in others
    ):
        return None
    (exchange,) = exchanges
    path = _path_to(exchange, loop)
    if path is None:
        return None
    retry = _Retry(loop, exchange, path, bits_of(exchange.expected))
    retry.inner.update(loop.body.block.arguments)
    for op in loop.body.walk():
        retry.inner.update(op.results)
    return retry if _tries_again(retry) and _can_be_made(retry) else None


def _path_to(exchange: Op, loop: Op) -> list[tuple[If, int]] | None:
    path: list[tuple[If, int]] = []
    op = exchange
    while op.parent_op is not loop:
        region = op.block.parent if op.block is not None else None
        branch = op.parent_op
        if not isinstance(branch, If) or region is None:
            return None
        path.append((branch, 0 if branch.then is region else 1))
        op = branch
    return path[::-1]


def _tries_again(retry: _Retry) -> bool:
    """Whether the loop goes on just while the exchange fails, and then assumes what memory holds."""
    continues, sides = retry.end.continues, retry.sides
    if retry.outcome(continues, sides, True) is not False or retry.outcome(continues, sides, False) is not True:
        return False
    if any(retry.outcome(continues, other, None) is not False for other in retry.other_ways()):
        return False
    assumed = retry.assumed
    if not isinstance(assumed, Argument):
        return retry.is_inner(assumed) and retry.is_there(assumed)
    if not retry.is_inner(assumed):
        return False
    following = retry.outcome(retry.end.values[assumed.index], sides, False)
    if isinstance(following, bool):
        return False
    following = bits_of(following)
    return following is retry.exchange or (retry.is_inner(following) and retry.is_there(following))


def _can_be_made(retry: _Retry) -> bool:
    """Whether all that is wanted of the loop can be made from the old value and from what is known before it."""
    exchange = retry.exchange
    wanted = [exchange.desired, *(branch.condition for branch, _ in retry.path)]
    if not all(_is_known_before(retry, value) for value in (exchange.buffer, exchange.offset)):
        return False
    if not all(_is_made_of_old(retry, value) for value in wanted):
        return False
    results = zip(retry.loop.results, retry.end.values, strict=True)
    return all(_has_result(retry, final) for result, final in results if result.uses)


def _has_result(retry: _Retry, value: Value) -> bool:
    """Whether what the loop hands on last can be made from the old value."""
    found = retry.outcome(value, retry.sides, True)
    if isinstance(found, bool):
        return False
    others = [retry.outcome(value, other, None) for other in retry.other_ways()]
    if any(isinstance(other, bool) for other in others):
        return False
    if retry.is_old(found) or bits_of(found) is retry.exchange:
        return all(isinstance(each, Undefined) or (isinstance(each, Value) and retry.is_old(each)) for each in others)
    return _is_made_of_old(retry, found) and all(isinstance(each, Undefined) for each in others)


def _is_known_before(retry: _Retry, value: Value) -> bool:
    """Whether the value is the same in each round, and can be had before the first."""
    if not retry.is_inner(value):
        return True
    if isinstance(value, Argument):
        return retry.end.values[value.index] is value
    if isinstance(value, Result) and isinstance(value.owner, If):
        branch, index = value.owner, value.index
        values = [branch.condition, *(region.block.terminator.operands[index] for region in branch.regions)]
        return all(_is_known_before(retry, each) for each in values)
    if isinstance(value, Load):
        is_elsewhere = value.buffer is not retry.exchange.buffer and not value.is_volatile
        return is_elsewhere and all(_is_known_before(retry, each) for each in value.operands)
    if not isinstance(value, Op) or not value.is_pure or value.regions:
        return False
    return all(_is_known_before(retry, each) for each in value.operands)


def _is_made_of_old(retry: _Retry, value: Value) -> bool:
    """Whether the value can be computed from the old value and from what is known before."""
    if retry.is_old(value) or _is_known_before(retry, value):
        return True
    if isinstance(value, Result) and isinstance(value.owner, If):
        branch, index = value.owner, value.index
        values = [branch.condition, *(region.block.terminator.operands[index] for region in branch.regions)]
        return all(_is_made_of_old(retry, each) for each in values)
    if not isinstance(value, Op) or not value.is_pure or value.regions:
        return False
    return all(_is_made_of_old(retry, each) for each in value.operands)


def _is_same(one: Value, other: Value) -> bool:
    """Whether two values are the same, computed anew perhaps."""
    if one is other:
        return True
    if not isinstance(one, Op) or not isinstance(other, Op) or type(one) is not type(other):
        return False
    is_repeatable = (one.is_pure and not one.regions) or (isinstance(one, Load) and not one.is_volatile)
    return (
        is_repeatable
        and one.attributes == other.attributes
        and one.type is other.type
        and all(_is_same(*pair) for pair in zip(one.operands, other.operands, strict=True))
    )


# -- what it becomes --------------------------------------------------------------------------------------------------


class _Rewriting:
    """Puts the update in the place of the loop."""

    def __init__(self, retry: _Retry) -> None:
        self.retry = retry
        self.word = retry.exchange.expected.dtype
        block = retry.loop.block
        assert block is not None
        self.before = Builder(block, before=retry.loop, source=retry.exchange.source)
        self.dtype = self._float_type() or self.word
        self.body = Block([tensor_type((), self.dtype)], ["old"])
        self.hoisted: dict[Value, Value] = {}

    def run(self) -> None:
        retry, exchange = self.retry, self.retry.exchange
        buffer, offset = (self._made_before(value) for value in (exchange.buffer, exchange.offset))
        (old,) = self.body.arguments
        copies: dict[Value, Value] = {}
        with Builder(self.body, source=exchange.source):
            new = self._as_kept(exchange.desired, old, copies)
            for branch, side in retry.path:
                takes = self._made_of(branch.condition, old, copies)
                new = Select(takes, *((new, old) if side == 0 else (old, new)))
        part = None
        if not any(each.uses for each in retry.loop.results):
            part = find_part(new, old, self.body, self.before)
        if part is not None:
            for op in tuple(self.body):
                op.drop_operands()
            with self.before:
                begin = part.place()
                offset = offset if begin is None else Add(offset, begin)
            self.body, new = part.body, part.new
            (old,) = self.body.arguments
        found = find_kind(new, old, self.body)
        if found is not None:
            kind, value = found
            with self.before:
                result: Value = Atomic(kind, buffer, offset, value)
            for op in tuple(self.body):
                op.drop_operands()
        else:
            with Builder(self.body, source=exchange.source):
                Yield((new,))
            with self.before:
                result = AtomicUpdate(buffer, offset, Region(self.body))
        copies = {}
        with self.before:
            if part is None and result.dtype != self.dtype:
                result = BitcastConvert(result, self.dtype)
            for each, value in zip(retry.loop.results, retry.end.values, strict=True):
                if each.uses:
                    final = retry.outcome(value, retry.sides, True)
                    assert isinstance(final, Value)
                    each.replace_all_uses_with(self._made_of(final, result, copies))
        retry.loop.erase()

    def _float_type(self) -> str | None:
        """The float type that the loop sees the word as, if it does."""
        retry = self.retry
        for value in retry.loop.body.walk():
            if isinstance(value, BitcastConvert) and value.tensor.is_float and retry.is_old(value):
                return value.dtype
        return None

    def _made_before(self, value: Value) -> Value:
        """What is known before the loop, made there."""
        retry = self.retry
        if not retry.is_inner(value):
            return value
        if value not in self.hoisted:
            if isinstance(value, Argument):
                made = retry.loop.initial[value.index]
            elif isinstance(value, Result):
                made = self._selected(value, self._made_before, self.before)
            else:
                assert isinstance(value, Op)
                operands = {operand: self._made_before(operand) for operand in value.operands}
                with self.before:
                    made = value.clone(operands)
            self.hoisted[value] = made
        return self.hoisted[value]

    def _selected(self, value: Result, make: Callable[[Value], Value], builder: Builder | None = None) -> Value:
        """The result of a branch without effects as a choice."""
        branch = value.owner
        assert isinstance(branch, If)
        sides = [region.block.terminator.operands[value.index] for region in branch.regions]
        made = [make(each) for each in (branch.condition, *sides)]
        if builder is None:
            return Select(*made)
        with builder:
            return Select(*made)

    def _made_of(self, value: Value, old: Value, copies: dict[Value, Value]) -> Value:
        """The value as made from the old one, by ops that go where the builder puts them."""
        retry = self.retry
        if value in copies:
            return copies[value]
        if retry.is_old(value) or bits_of(value) is retry.exchange:
            made = old if value.dtype == old.dtype else BitcastConvert(old, value.dtype)
        elif _is_known_before(retry, value):
            made = self._made_before(value)
        elif isinstance(value, Result):
            made = self._selected(value, lambda each: self._made_of(each, old, copies))
        else:
            assert isinstance(value, Op)
            made = value.clone({operand: self._made_of(operand, old, copies) for operand in value.operands})
        copies[value] = made
        return made

    def _as_kept(self, value: Value, old: Value, copies: dict[Value, Value]) -> Value:
        """The value in the type that the update keeps."""
        retry = self.retry
        if value.dtype == self.dtype or retry.is_old(value):
            return self._made_of(value, old, copies) if value.dtype == self.dtype else old
        if isinstance(value, BitcastConvert):
            return self._as_kept(value.operand, old, copies)
        if not _is_known_before(retry, value):
            choices: tuple[Value, Value, Value] | None = None
            if isinstance(value, Select):
                choices = (value.pred, value.on_true, value.on_false)
            elif isinstance(value, Result) and isinstance(value.owner, If):
                sides = [region.block.terminator.operands[value.index] for region in value.owner.regions]
                choices = (value.owner.condition, sides[0], sides[1])
            if choices is not None:
                takes = self._made_of(choices[0], old, copies)
                return Select(takes, *(self._as_kept(each, old, copies) for each in choices[1:]))
            return BitcastConvert(self._made_of(value, old, copies), self.dtype)
        known = self._made_before(value)
        if isinstance(known, BitcastConvert) and known.operand.dtype == self.dtype:
            return known.operand
        with self.before:
            return BitcastConvert(known, self.dtype)


# -- early exits ------------------------------------------------------------------------------------------------------


def _drop_early_exit(branch: If) -> None:
    """`if (wants(*place)) { update }`, where the update itself does nothing but where it wants to, needs no test.

    For each thread there may be an update by another one, or none, between the test and its own update: that none
    comes between is one of the orders that the threads may run in.
    """
    for side in (0, 1):
        inner, other = branch.regions[side].block, branch.regions[1 - side].block
        if branch.results or other.first is not other.last:
            continue
        *ops, end = inner
        effects = [op for op in ops if not op.is_pure and not isinstance(op, Load)]
        if len(effects) != 1 or not isinstance(effects[0], AtomicUpdate) or effects[0].uses:
            continue
        if not _does_only_if(effects[0], branch.condition, side == 0):
            continue
        assert branch.block is not None
        end.erase()
        for op in ops:
            inner.unlink(op)
            branch.block.insert_before(op, branch)
        branch.erase()
        return


def _does_only_if(update: AtomicUpdate, condition: Value, holds: bool) -> bool:
    """Whether the update keeps the old value unless the condition holds (or not) of it, as loaded before."""
    (old,) = update.body.block.arguments
    (new,) = update.body.block.terminator.operands
    while isinstance(new, Select):
        condition, holds = _positive(condition, holds)
        test, takes = _positive(new.pred, True)
        if new.on_true is old:
            new, takes = new.on_false, not takes
        elif new.on_false is old:
            new = new.on_true
        else:
            return False
        if takes == holds and _asks_the_same(condition, test, update, old):
            return True
    return False


def _positive(condition: Value, holds: bool) -> tuple[Value, bool]:
    while isinstance(condition, Not):
        condition, holds = condition.operand, not holds
    return condition, holds


def _asks_the_same(one: Value, other: Value, update: AtomicUpdate, old: Value) -> bool:
    """Whether one value is made of a load of the place as the other one is of what the update finds."""
    left, right = bits_of(one), bits_of(other)
    if right is old:
        return (
            isinstance(left, Load)
            and not left.is_volatile
            and left.buffer is update.buffer
            and _is_same(left.offset, update.offset)
            and left.tensor.bytes == old.tensor.bytes
            and one.type is other.type
        )
    if one is other:
        return True
    if not isinstance(one, Op) or not isinstance(other, Op) or type(one) is not type(other) or one.regions:
        return False
    return (
        one.is_pure
        and one.attributes == other.attributes
        and one.type is other.type
        and all(_asks_the_same(*pair, update, old) for pair in zip(one.operands, other.operands, strict=True))
    )
