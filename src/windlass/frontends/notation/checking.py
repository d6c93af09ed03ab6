"""From syntax to procedures: what names stand for, ranks, element types. No sizes are known yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from windlass.frontends.notation.element_types import (
    BOOLEAN,
    INTEGER,
    NUMBER,
    SPELLED,
    TYPES,
    is_integer,
    is_weak,
    join,
    own_type,
)
from windlass.frontends.notation.functions import FUNCTIONS, SELECT
from windlass.frontends.notation.ranges import find_unknown
from windlass.frontends.notation.syntax import (
    Apply,
    Call,
    Declaration,
    Definition,
    Expression,
    Name,
    Number,
    Operator,
    Source,
    Span,
    Statement,
)
from windlass.frontends.notation.terms import (
    Declared,
    Entry,
    Index,
    Literal,
    Operation,
    Part,
    Procedure,
    Read,
    Size,
    Slot,
    Step,
    Update,
    indices_in,
    is_affine,
    is_constant,
)

MOST_STEPS = 2_000
"""How many statements a function may have, with those of the functions that it calls."""

COMPARISONS = ("<", ">", "<=", ">=", "==", "!=")
CONSTANTS = {"true": True, "false": False}


@dataclass(frozen=True)
class Tensor:
    """What a name stands for: `key` is its own among all tensors of the procedure."""

    key: str
    type: str
    rank: int
    is_set: bool = True


def check(source: Source, definitions: Sequence[Definition]) -> dict[str, Procedure]:
    """The procedures by name.

    Raises CompilationError: WL1502 for names, WL1503 for indices without a range, WL1505 for ranks, WL1506 for element
    types, WL1507 for statements that say too little, WL1508 where calls make it too long, WL1511 for what is not there
    yet.
    """
    known: dict[str, Definition] = {}
    procedures: dict[str, Procedure] = {}
    for definition in definitions:
        name = definition.name
        _refuse_taken(source, name, "a function")
        if name.name in known:
            raise source.fault("WL1502", name.span, f"'{name.name}' is defined twice")
        procedures[name.name] = _Checker(source, known).procedure(definition)
        known[name.name] = definition
    return procedures


def _refuse_taken(source: Source, name: Name, kind: str) -> None:
    for names, meaning in (
        (TYPES, "an element type"),
        (FUNCTIONS, "a function of numbers"),
        ((SELECT,), "a function of numbers"),
        (CONSTANTS, "a constant"),
    ):
        if name.name in names:
            raise source.fault("WL1502", name.span, f"{kind} can't be called '{name.name}', which is {meaning}")


class _Checker:
    """Checks one procedure. Functions that it calls are checked again at each call, for names of their own."""

    def __init__(self, source: Source, known: Mapping[str, Definition]) -> None:
        self.source = source
        self.known = known
        self.steps: list[Step] = []
        self.calls = 0

    def procedure(self, definition: Definition) -> Procedure:
        scope = _Scope(self, definition, "")
        scope.check_body()
        return Procedure(definition.name.name, scope.parameters, scope.results(), tuple(self.steps))

    def add(self, step: Step, span: Span) -> None:
        if len(self.steps) >= MOST_STEPS:
            raise self.source.fault(
                "WL1508", span, f"a function may have {MOST_STEPS} statements, with those of what it calls"
            )
        self.steps.append(step)


class _Scope:
    """The names of one definition. All that it enters begins with `prefix`."""

    def __init__(self, checker: _Checker, definition: Definition, prefix: str) -> None:
        self.checker, self.source, self.prefix = checker, checker.source, prefix
        self.definition = definition
        self.tensors: dict[str, Tensor] = {}
        self.sizes: dict[str, str] = {}
        self.indices: dict[str, Span] = {}
        for each in definition.parameters:
            for size in each.sizes:
                self._enter_size(size)
        self.parameters = tuple(self._slot(each) for each in definition.parameters)
        for each, slot in zip(definition.parameters, self.parameters, strict=True):
            self._refuse_again(each.name, "a parameter")
            self.tensors[each.name.name] = Tensor(slot.name, slot.type, len(slot.sizes or ()))
        self.read_only = set(self.tensors) - {each.name.name for each in definition.results}
        self.declared: list[Slot] = []
        self._enter_results()

    # -- declarations -------------------------------------------------------------------------------------------------

    def _enter_size(self, size: Expression) -> None:
        if isinstance(size, Name):
            _refuse_taken(self.source, size, "a size")
            self.sizes[size.name] = self.prefix + size.name
        elif not isinstance(size, Number) or not isinstance(size.value, int):
            raise self.source.fault(
                "WL1501", size.span, "the size of a parameter is a name or an integer", "compute with it in the body"
            )

    def _slot(self, each: Declaration) -> Slot:
        assert each.type is not None
        type_ = TYPES.get(each.type.name)
        if type_ is None:
            raise self.source.fault(
                "WL1502", each.type.span, f"there is no element type '{each.type.name}'", f"one of: {', '.join(TYPES)}"
            )
        sizes: list[Part] = []
        for size in each.sizes:
            part = self.part(size)
            if not is_constant(part):
                raise self.source.fault("WL1502", size.span, "a size is an integer, computed from sizes of parameters")
            sizes.append(part)
        return Slot(each.span, self.prefix + each.name.name, type_, tuple(sizes))

    def _refuse_again(self, name: Name, kind: str) -> None:
        _refuse_taken(self.source, name, kind)
        if name.name in self.tensors:
            raise self.source.fault("WL1502", name.span, f"'{name.name}' is declared twice")
        if name.name in self.sizes:
            raise self.source.fault("WL1502", name.span, f"'{name.name}' is a size already")

    def _enter_results(self) -> None:
        seen: set[str] = set()
        for each in self.definition.results:
            name = each.name.name
            if name in seen:
                raise self.source.fault("WL1502", each.name.span, f"'{name}' is a result twice")
            seen.add(name)
            if each.type is None:
                continue
            self._refuse_again(each.name, "a result")
            slot = self._slot(each)
            self.tensors[name] = Tensor(slot.name, slot.type, len(slot.sizes or ()), is_set=False)
            self.declared.append(slot)
        if not seen:
            raise self.source.fault("WL1502", self.definition.name.span, "the function has no result")

    def results(self) -> tuple[Slot, ...]:
        """The results.

        Raises CompilationError (WL1502) where one is never set.
        """
        slots: list[Slot] = []
        for each in self.definition.results:
            found = self.tensors.get(each.name.name)
            if found is None or not found.is_set:
                raise self.source.fault(
                    "WL1502", each.name.span, f"the result '{each.name.name}' is set by no statement"
                )
            slots.append(Slot(each.span, found.key, found.type, None))
        return tuple(slots)

    # -- statements ---------------------------------------------------------------------------------------------------

    def check_body(self) -> None:
        for slot in self.declared:
            self.checker.add(Declared(slot), slot.span)
        for statement in self.definition.body:
            call = statement if isinstance(statement, Call) else self._as_call(statement)
            if call is not None:
                self._call(call)
            elif isinstance(statement, Statement):
                self._update(statement)

    def _target(self, target: Name) -> Tensor | None:
        _refuse_taken(self.source, target, "a tensor")
        if target.name in self.sizes or target.name in self.indices:
            kind = "a size" if target.name in self.sizes else "an index"
            raise self.source.fault("WL1502", target.span, f"'{target.name}' is {kind}, and can't be written")
        if target.name in self.checker.known:
            raise self.source.fault("WL1502", target.span, f"'{target.name}' is a function, and can't be written")
        if target.name in self.read_only:
            raise self.source.fault(
                "WL1507",
                target.span,
                f"'{target.name}' is a parameter, and no result: what is written to it would be lost",
                f"name it among the results, -> ({target.name}), or write to another name",
            )
        return self.tensors.get(target.name)

    def _update(self, statement: Statement) -> None:
        target, source = statement.target, self.source
        there = self._target(target)
        combiner = statement.sign.rstrip("!").rstrip("=") or None
        begins_anew = statement.sign.endswith("!")
        if combiner and not begins_anew and (there is None or not there.is_set):
            raise source.fault(
                "WL1507",
                target.span,
                f"'{statement.sign}' goes on from what '{target.name}' holds, and nothing has set it",
                f"begin anew with {statement.sign}!, or make it a parameter as well",
            )
        value = self.part(statement.value)
        subscripts = tuple(self.part(each) for each in statement.subscripts)
        if there is not None and there.rank != len(subscripts):
            raise self._wrong_rank(target, there.rank, len(subscripts), statement.span)
        ranges = self._ranges(statement, (*subscripts, value))
        self._check_subscripts(subscripts)
        if combiner is None:
            self._refuse_lost_indices(statement, subscripts, value)
        type_ = self._target_type(statement, combiner, value, there)
        key = there.key if there is not None else self.prefix + target.name
        update = Update(
            statement.span,
            key,
            target.span,
            subscripts,
            combiner,
            begins_anew,
            there is not None and there.is_set,
            value,
            ranges,
            type_,
        )
        unknown = find_unknown(update, has_shape=there is not None)
        if unknown is not None:
            name, span = unknown
            raise source.fault(
                "WL1503",
                span,
                f"nothing says how far the index '{name}' runs",
                f"give its range: where {name} in 0:3",
                "an index gets its range from a tensor that is read at it, or at a sum in which all others are known",
            )
        self.tensors[target.name] = Tensor(key, type_, len(subscripts))
        self.checker.add(update, statement.span)

    def _check_subscripts(self, subscripts: Sequence[Part]) -> None:
        for each in subscripts:
            if not is_affine(each):
                raise self.source.fault(
                    "WL1511",
                    each.span,
                    "elements are written at sums of indices times numbers only",
                    "write where the index is, and read with the look-up",
                )

    def _refuse_lost_indices(self, statement: Statement, subscripts: Sequence[Part], value: Part) -> None:
        kept = {name for each in subscripts for name in indices_in(each)}
        for name, span in indices_in(value).items():
            if name not in kept:
                raise self.source.fault(
                    "WL1507",
                    span,
                    f"the index '{name}' stands on the right only, and '=' does not say what becomes of its elements",
                    f"add them up with +=!, or take the largest with max=!; or write to an element for each '{name}'",
                )

    def _target_type(self, statement: Statement, combiner: str | None, value: Part, there: Tensor | None) -> str:
        counts = value.type == BOOLEAN and combiner in ("+", "*")
        natural = "i32" if counts else own_type(value.type)
        if there is None:
            return natural
        fits = join(there.type, "i8" if counts else value.type) == there.type
        if not fits:
            raise self.source.fault(
                "WL1506",
                statement.value.span,
                f"the value is of type {SPELLED[natural]}, and '{statement.target.name}' of type {SPELLED[there.type]}",
                f"convert it: {SPELLED[there.type]}({self.source.spelled(statement.value.span)})",
            )
        return there.type

    def _ranges(self, statement: Statement, parts: Sequence[Part]) -> dict[str, tuple[Part, Part]]:
        used = {name for each in parts for name in indices_in(each)}
        found: dict[str, tuple[Part, Part]] = {}
        for each in statement.ranges:
            name = each.index.name
            if name not in used:
                raise self.source.fault("WL1502", each.index.span, f"the statement has no index '{name}'")
            if name in found:
                raise self.source.fault("WL1502", each.index.span, f"'{name}' is given two ranges")
            ends = self.part(each.low), self.part(each.high)
            for end in ends:
                if not is_constant(end):
                    raise self.source.fault(
                        "WL1511",
                        end.span,
                        "a range ends at integers and sizes: it can't depend on indices or on data",
                        f"let '{name}' run all the way, and choose: condition ? value : 0.0",
                    )
            found[name] = ends
        return found

    def _wrong_rank(self, name: Name, rank: int, count: int, span: Span) -> Exception:
        axes = "is a scalar" if rank == 0 else f"has {rank} {'axis' if rank == 1 else 'axes'}"
        return self.source.fault(
            "WL1505",
            name.span,
            f"'{name.name}' {axes}, and stands here with {count or 'no'} subscript{'s'[: count != 1]}",
        )

    # -- calls --------------------------------------------------------------------------------------------------------

    def _as_call(self, statement: Statement) -> Call | None:
        """`y = f(x)` as a call, where `f` is a function of tensors."""
        value = statement.value
        if not isinstance(value, Apply) or value.name.name not in self.checker.known or value.name.name in self.tensors:
            return None
        arguments = [each for each in value.arguments if isinstance(each, Name)]
        if statement.subscripts or statement.sign != "=" or statement.ranges or len(arguments) < len(value.arguments):
            return None
        return Call(statement.span, (statement.target,), value.name, tuple(arguments))

    def _call(self, call: Call) -> None:
        checker, source, name = self.checker, self.source, call.function
        definition = checker.known.get(name.name)
        if definition is None:
            raise source.fault(
                "WL1502",
                name.span,
                f"'{name.name}' is no function that is defined before this one",
                f"functions defined before: {', '.join(checker.known) or 'none'}",
            )
        for what, given, wanted in (
            ("takes", call.arguments, definition.parameters),
            ("gives", call.targets, definition.results),
        ):
            if len(given) != len(wanted):
                noun = "tensors" if len(wanted) != 1 else "tensor"
                raise source.fault("WL1505", name.span, f"'{name.name}' {what} {len(wanted)} {noun}, not {len(given)}")
        checker.calls += 1
        inner = _Scope(checker, definition, f"{self.prefix}{name.name}#{checker.calls}.")
        keys: list[str] = []
        for argument, slot in zip(call.arguments, inner.parameters, strict=True):
            found = self._tensor(argument)
            rank = len(slot.sizes or ())
            if found.rank != rank:
                raise self._wrong_rank(argument, found.rank, rank, call.span)
            if found.type != slot.type:
                raise source.fault(
                    "WL1506",
                    argument.span,
                    f"'{argument.name}' is of type {SPELLED[found.type]}, and '{name.name}' takes {SPELLED[slot.type]}",
                )
            keys.append(found.key)
        targets = [self._target(each) for each in call.targets]
        checker.add(Entry(call.span, inner.parameters, tuple(keys)), call.span)
        inner.check_body()
        for target, there, slot in zip(call.targets, targets, inner.results(), strict=True):
            if there is not None:
                raise source.fault(
                    "WL1511", target.span, f"'{target.name}' is there already, and a call gives new tensors only"
                )
            result = next(each for each in inner.tensors.values() if each.key == slot.name)
            self.tensors[target.name] = result

    # -- expressions --------------------------------------------------------------------------------------------------

    def _tensor(self, name: Name) -> Tensor:
        found = self.tensors.get(name.name)
        if found is None or not found.is_set:
            what = "is read before it is set" if found else "is no tensor here"
            raise self.source.fault(
                "WL1502", name.span, f"'{name.name}' {what}", f"tensors here: {', '.join(self._set()) or 'none'}"
            )
        return found

    def _set(self) -> list[str]:
        return [name for name, tensor in self.tensors.items() if tensor.is_set]

    def part(self, expression: Expression) -> Part:
        """The expression with its names known."""
        if isinstance(expression, Number):
            return Literal(expression.span, expression.value, INTEGER if isinstance(expression.value, int) else NUMBER)
        if isinstance(expression, Name):
            return self._name(expression)
        if isinstance(expression, Apply):
            return self._apply(expression)
        return self._operator(expression)

    def _name(self, name: Name) -> Part:
        if name.name in self.tensors:
            found = self._tensor(name)
            if found.rank:
                raise self._wrong_rank(name, found.rank, 0, name.span)
            return Read(name.span, found.key, (), found.type)
        if name.name in self.sizes:
            return Size(name.span, self.sizes[name.name])
        if name.name in CONSTANTS:
            return Literal(name.span, CONSTANTS[name.name], BOOLEAN)
        _refuse_taken(self.source, name, "an index")
        if name.name in self.checker.known:
            raise self.source.fault("WL1502", name.span, f"an index can't be called '{name.name}', which is a function")
        self.indices.setdefault(name.name, name.span)
        return Index(name.span, name.name)

    def _apply(self, apply: Apply) -> Part:
        name, source = apply.name, self.source
        if name.name in self.tensors:
            found = self._tensor(name)
            if found.rank != len(apply.arguments):
                raise self._wrong_rank(name, found.rank, len(apply.arguments), apply.span)
            subscripts = tuple(self.part(each) for each in apply.arguments)
            for each in subscripts:
                if not is_integer(each.type):
                    raise source.fault(
                        "WL1506", each.span, f"a subscript is an integer, and this is {SPELLED[each.type]}"
                    )
            return Read(apply.span, found.key, subscripts, found.type)
        if name.name in self.checker.known:
            raise source.fault(
                "WL1511",
                apply.span,
                f"'{name.name}' is a function of whole tensors, and can't be called within an expression",
                f"call it by a statement of its own: y = {name.name}(x)",
            )
        operands = tuple(self.part(each) for each in apply.arguments)
        if name.name in TYPES:
            self._expect_count(name, operands, 1)
            return Operation(apply.span, "cast", operands, TYPES[name.name])
        if name.name == SELECT:
            self._expect_count(name, operands, 3)
            return self._choose(apply.span, operands)
        if name.name in FUNCTIONS:
            return self._function(apply.span, name, operands)
        raise source.fault(
            "WL1502",
            name.span,
            f"'{name.name}' is neither a tensor nor a function",
            f"tensors here: {', '.join(self._set()) or 'none'}",
            f"functions: {', '.join(FUNCTIONS)}",
        )

    def _expect_count(self, name: Name, operands: Sequence[Part], count: int) -> None:
        if len(operands) != count:
            raise self.source.fault(
                "WL1505", name.span, f"'{name.name}' takes {count} number{'s'[: count != 1]}, not {len(operands)}"
            )

    def _function(self, span: Span, name: Name, operands: tuple[Part, ...]) -> Part:
        function = FUNCTIONS[name.name]
        self._expect_count(name, operands, function.count)
        self._refuse_booleans(operands, name.name)
        type_ = self._join(span, operands)
        if function.of_floats:
            if type_ == INTEGER:
                type_ = NUMBER
            elif is_integer(type_):
                each = operands[0]
                raise self.source.fault(
                    "WL1506",
                    each.span,
                    f"'{name.name}' takes floats, and this is {SPELLED[each.type]}",
                    f"convert it: float({self.source.spelled(each.span)})",
                )
        return Operation(span, name.name, operands, type_)

    def _operator(self, operator: Operator) -> Part:
        operands = tuple(self.part(each) for each in operator.operands)
        sign, span = operator.sign, operator.span
        if sign == "?:":
            return self._choose(span, operands)
        if sign in ("&&", "||", "!"):
            for each in operands:
                self._expect_boolean(each, f"'{sign}'")
            return Operation(span, sign, operands, BOOLEAN)
        if sign in COMPARISONS:
            self._join(span, operands)
            return Operation(span, sign, operands, BOOLEAN)
        if sign == "negate":
            self._refuse_booleans(operands, "-")
        type_ = self._join(span, operands)
        if type_ == BOOLEAN:
            type_ = "i32"
        left, right = operands[0], operands[-1]
        if sign in ("/", "%") and isinstance(right, Literal) and is_integer(type_):
            self._check_quotient(span, sign, left, right)
        return Operation(span, sign, operands, type_)

    def _check_quotient(self, span: Span, sign: str, left: Part, right: Literal) -> None:
        if right.value == 0:
            raise self.source.fault("WL1506", span, "this divides by zero")
        if sign == "/" and isinstance(left, Literal) and left.value % right.value:
            raise self.source.fault(
                "WL1506",
                span,
                f"a quotient of integers is an integer: this one is {int(left.value / right.value)}",
                f"write it with a point: {left.value}.0 / {right.value}.0",
            )

    def _choose(self, span: Span, operands: tuple[Part, ...]) -> Part:
        condition, *values = operands
        self._expect_boolean(condition, "a condition")
        return Operation(span, "?:", operands, self._join(span, values))

    def _expect_boolean(self, part: Part, what: str) -> None:
        if part.type != BOOLEAN:
            raise self.source.fault(
                "WL1506",
                part.span,
                f"{what} takes a boolean, and this is {SPELLED[part.type]}",
                f"compare it: {self.source.spelled(part.span)} != 0",
            )

    def _refuse_booleans(self, operands: Sequence[Part], name: str) -> None:
        for each in operands:
            if each.type == BOOLEAN:
                raise self.source.fault(
                    "WL1506",
                    each.span,
                    f"'{name}' takes numbers, and this is a boolean",
                    f"convert it: int({self.source.spelled(each.span)})",
                )

    def _join(self, span: Span, operands: Sequence[Part]) -> str:
        """The type in which the operands meet; what has an element type decides over what has none."""
        found: str | None = None
        for each in sorted(operands, key=lambda each: is_weak(each.type)):
            joined = each.type if found is None else join(found, each.type)
            if joined is None:
                raise self.source.fault(
                    "WL1506",
                    span,
                    f"no integer type holds both {SPELLED[str(found)]} and {SPELLED[each.type]}",
                    "convert one of them: int64(...)",
                )
            found = joined
        assert found is not None
        return found
