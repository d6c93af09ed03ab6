"""How often a counted loop runs, and what its counters are in each iteration, as ops.

The loop runs its body, then tests X[k] = X[0] + k·step against the bound, and goes on while the test holds. With
exact arithmetic the first k at which it fails is a quotient; the trip count is one more. The arithmetic is exact where
the source's cannot wrap around: because LLVM says so (nsw, nuw), because the counter goes by ones, or, where neither
holds, because an `Assert` before the loop stops a program in which it would.
"""

from __future__ import annotations

from windlass.frontends.llvm.arithmetic import compare_integers
from windlass.frontends.llvm.induction import INVERSE, CountedLoop, Induction
from windlass.frontends.llvm.translator import Translator, container_of
from windlass.ir import Value
from windlass.llvm.syntax import Number, Operand
from windlass.loops import Assert
from windlass.ops.elementwise import Negate

WRAP_MESSAGE = "a loop counter wraps around"


class TripCount:
    """Emits a counted loop's trip count and counters; `entering` are the counters' values on entry."""

    def __init__(self, translator: Translator, plan: CountedLoop, entering: dict[str, Value]) -> None:
        self.translator = translator
        self.emit = translator.emit
        self.plan = plan
        self.entering = entering

    # -- counters -------------------------------------------------------------------------------------------------

    def induction_at(self, name: str, iteration: Value) -> Value:
        """A counter in the iteration of that number (an i64): start + iteration * step, modulo its width."""
        emit, induction = self.emit, self.plan.inductions[name]
        dtype = container_of(induction.bits)
        number = emit.extend_signed(iteration, dtype)
        value = emit.add(self.entering[name], emit.multiply(number, emit.constant(induction.constant, dtype)))
        for term in induction.terms:
            amount = self.term_value(term.operand, dtype, "sext")
            if term.factor == -1:
                value = emit.subtract(value, emit.multiply(number, amount))
            else:
                factor = emit.constant(term.factor, dtype)
                value = emit.add(value, emit.multiply(number, emit.multiply(amount, factor)))
        return value

    def term_value(self, operand: Operand, dtype: str, extension: str) -> Value:
        value = self.translator.scalar(operand)
        if extension == "zext":
            return self.emit.extend_unsigned(value, dtype)
        return self.emit.extend_signed(value, dtype)

    # -- trip count -----------------------------------------------------------------------------------------------

    def emit_trip_count(self) -> Value:
        """How often the loop runs (i64); see `is_countable` for which loops have such a number."""
        emit, test = self.emit, self.plan.test
        induction = test.induction
        if test.predicate == "eq":
            return self.count_of_equals()
        is_signed, is_exact = counting_domain(self.plan)
        extension = "sext" if is_signed else "zext"
        start = self.wide(self.entering[induction.name], extension)
        bound = self.bound(extension)
        first = emit.add(start, emit.constant(test.offset, "i64"))
        one = emit.constant(1, "i64")
        kind = test.predicate if test.predicate in ("eq", "ne") else test.predicate[1:]
        if kind == "ne" and not is_exact:
            return self.modular_count()
        if kind == "ne":
            step, is_negated = self.step(extension)
            distance = emit.subtract(first, bound) if is_negated else emit.subtract(bound, first)
            count = emit.divide(distance, step)
            return count if test.is_next else emit.add(count, one)
        ascending = kind in ("lt", "le")
        step, is_negated = self.step(extension)
        if is_negated == ascending:
            # The sign of the step is opposite to the usual one for this test: only a step of unknown sign.
            step = emit.apply(Negate, step)
        if kind == "le":
            bound = emit.add(bound, one)
        elif kind == "ge":
            bound = emit.subtract(bound, one)
        distance = emit.subtract(bound, first) if ascending else emit.subtract(first, bound)
        count = emit.divide(emit.add(distance, emit.subtract(step, one)), step)
        if test.is_guarded:
            pass
        elif induction.terms and is_signed:
            # With a step of the wrong sign the loop can only run once.
            goes_on = emit.compare(distance, step if test.is_next else emit.constant(0, "i64"), "GT")
            count = emit.select(goes_on, count if test.is_next else emit.add(count, one), one)
        elif test.is_next:
            count = emit.maximum(count, one)
        else:
            count = emit.add(emit.maximum(count, emit.constant(0, "i64")), one)
        if not is_exact:
            self.assert_no_wrap(count)
        return count

    def wide(self, value: Value, extension: str) -> Value:
        if extension == "zext":
            return self.emit.extend_unsigned(value, "i64")
        return self.emit.extend_signed(value, "i64")

    def bound(self, extension: str) -> Value:
        test = self.plan.test
        if test.induction.is_pointer:
            return self.translator.pointer(test.bound).offset
        return self.wide(self.translator.scalar(test.bound), extension)

    def step(self, extension: str) -> tuple[Value, bool]:
        """The size of the step (i64), and whether it is subtracted."""
        emit, induction = self.emit, self.plan.test.induction
        if not induction.terms:
            return emit.constant(abs(induction.constant), "i64"), induction.constant < 0
        if len(induction.terms) == 1 and induction.constant == 0 and induction.terms[0].factor == -1:
            return self.term_value(induction.terms[0].operand, "i64", extension), True
        total: Value = emit.constant(induction.constant, "i64")
        for term in induction.terms:
            amount = self.term_value(term.operand, "i64", extension)
            total = emit.add(total, emit.multiply(amount, emit.constant(term.factor, "i64")))
        return total, False

    def first_tested(self) -> Value:
        """What the first test compares with the bound, wrapped around."""
        test, induction = self.plan.test, self.plan.test.induction
        offset = test.offset + (induction.constant if test.is_next else 0)
        return self.emit.add(self.entering[induction.name], self.emit.constant(offset, container_of(induction.bits)))

    def count_of_equals(self) -> Value:
        """The count of a loop that goes on while a counter equals a number: once more, if it does so at first."""
        emit, test = self.emit, self.plan.test
        goes_on = emit.compare(self.first_tested(), self.translator.scalar(test.bound), "EQ")
        return emit.select(goes_on, emit.constant(2, "i64"), emit.constant(1, "i64"))

    def modular_count(self) -> Value:
        """The count of a loop that goes by ones until the counter equals the bound, perhaps wrapping around."""
        emit, test = self.emit, self.plan.test
        induction = test.induction
        first, bound = self.first_tested(), self.translator.scalar(test.bound)
        distance = emit.subtract(bound, first) if induction.constant == 1 else emit.subtract(first, bound)
        return emit.add(emit.extend_unsigned(distance, "i64"), emit.constant(1, "i64"))

    def assert_no_wrap(self, count: Value) -> None:
        """Stop a program whose counter wraps around before it passes the bound.

        As the counter does not wrap before its last step, the count is right if the source's own test fails there.
        """
        test = self.plan.test
        final = self.induction_at(test.induction.name, count)
        bound = self.translator.scalar(test.bound)
        ends = compare_integers(self.emit, final, bound, INVERSE[test.predicate], test.induction.bits)
        Assert(ends, WRAP_MESSAGE, counted_loop=self.plan.header)


def counting_domain(plan: CountedLoop) -> tuple[bool, bool]:
    """Whether the numbers are read as signed, and whether the counter can't wrap around in that reading."""
    test = plan.test
    induction = test.induction
    if induction.is_pointer:
        return True, True
    if test.extension:
        return test.extension == "sext", True
    has_signed, has_unsigned = "nsw" in test.words, "nuw" in test.words
    if test.predicate in ("eq", "ne"):
        return has_signed or not has_unsigned, has_signed or has_unsigned
    is_signed = test.predicate[0] == "s"
    by_ones = not induction.terms and abs(induction.constant) == 1 and test.offset == 0
    return is_signed, (has_signed if is_signed else has_unsigned) or by_ones or _stops_before_the_end(plan, is_signed)


def _stops_before_the_end(plan: CountedLoop, is_signed: bool) -> bool:
    """Whether one step from the last number that passes the test can't leave the type: `length > 12; length -= 12`."""
    test, induction = plan.test, plan.test.induction
    if induction.terms or not (test.is_guarded and test.is_next) or test.offset or not isinstance(test.bound, Number):
        return False
    half = 1 << (induction.bits - 1)
    least, most = (-half, half - 1) if is_signed else (0, 2 * half - 1)
    bound = (int(test.bound.value) - least) % (2 * half) + least
    match test.predicate[1:]:
        case "lt":
            return bound - 1 + induction.constant <= most
        case "le":
            return bound + induction.constant <= most
        case "gt":
            return bound + 1 + induction.constant >= least
        case "ge":
            return bound + induction.constant >= least
        case _:
            return False


def is_countable(plan: CountedLoop) -> bool:
    """Whether the trip count can be written down; else the loop stays a `DoWhile`."""
    test = plan.test
    induction = test.induction
    if not induction.terms and induction.constant == 0:
        return False
    if test.predicate == "eq":
        # Any step that is no multiple of the counter's period leads away from what it equals.
        is_whole = induction.bits in (8, 16, 32, 64) and not test.extension and not induction.is_pointer
        return is_whole and not induction.terms and induction.constant % (1 << induction.bits) != 0
    by_ones = not induction.terms and abs(induction.constant) == 1
    is_signed, is_exact = counting_domain(plan)
    if test.extension:
        needed = "nsw" if test.extension == "sext" else "nuw"
        if needed not in test.words or (test.predicate[0] == "u" and test.extension == "sext"):
            return False
        return _fits(test.predicate, induction, test.extension == "sext")
    if test.predicate == "ne":
        return is_exact or by_ones
    if not is_exact and (test.offset != 0 or len(induction.terms) > 1 or not test.is_next):
        return False
    return _fits(test.predicate, induction, is_signed)


def _fits(predicate: str, induction: Induction, is_signed: bool) -> bool:
    """Whether the step leads towards the bound, as far as its sign is known."""
    if predicate == "ne":
        return True
    ascending = predicate[1:] in ("lt", "le")
    if induction.is_pointer:
        return not induction.terms and (induction.constant > 0) == ascending
    if not induction.terms:
        return (induction.constant > 0) == ascending
    if not is_signed:
        # An unsigned step has the sign of the operation.
        return (induction.terms[0].factor > 0) == ascending
    return True
