"""Statements: assignments, branches, loops.

Variables of Python may change their types; those of C++ don't. So each assignment makes a new C++ variable, and where
ways meet, one more is made for each name that differs, with a type that both fit into. A loop is translated with the
types that its names have before it; where those that come around don't fit, once more with wider ones.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from windlass.diagnostics import CompilationError
from windlass.frontends.kernels.arithmetic import SYMBOLS
from windlass.frontends.kernels.functions import lookup
from windlass.frontends.kernels.leaving import Leaving
from windlass.frontends.kernels.types import (
    KernelArray,
    KernelNumber,
    Known,
    NoneType,
    Tuple,
    boolean,
    int32,
    int64,
    uint64,
)
from windlass.frontends.kernels.values import (
    NONE,
    UNKNOWN,
    HeldValue,
    Unusable,
    constant_number,
    convert_number,
    converted,
    known,
    tuple_of,
    unified,
)

MOST_ROUNDS = 12


_NOT_IN_KERNELS: dict[type[ast.stmt], str] = {
    ast.Try: "'try'",
    ast.With: "'with'",
    ast.FunctionDef: "a function inside of a function",
    ast.ClassDef: "'class'",
    ast.Import: "'import'",
    ast.ImportFrom: "'import'",
    ast.Global: "'global'",
    ast.Nonlocal: "'nonlocal'",
    ast.Match: "'match'",
}


@dataclass
class LoopStatement:
    """A loop in translation: what its names are at its head, and the ways around and out of it."""

    heads: dict[str, HeldValue]
    around: list[tuple[list[Any], dict[str, HeldValue]]] = field(default_factory=list[Any])
    out: list[tuple[list[Any], dict[str, HeldValue]]] = field(default_factory=list[Any])


class FunctionTranslator(Leaving):
    """Translates one function, for one set of argument types."""

    def setup(self) -> None:
        """Make ready for a translation."""
        self._loops: list[LoopStatement] = []
        self._pending: list[dict[str, HeldValue]] = []
        self.returned = []

    def translate(self) -> None:
        """Translate the whole body."""
        self.setup()
        self.block(self.source.body)

    def block(self, statements: list[ast.stmt]) -> None:
        """Translate statements, up to where no way leads on."""
        for statement in statements:
            if self.names is None:
                return
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        """Translate one statement."""
        match node:
            case ast.Expr(value=ast.Constant()) | ast.Pass() | ast.Delete():
                return
            case ast.Expr():
                self.expression(node.value)
            case ast.Assign():
                self.hint = node.targets[0].id if isinstance(node.targets[0], ast.Name) else ""
                value = self.expression(node.value)
                self.hint = ""
                for target in node.targets:
                    self.assign(target, value)
            case ast.AnnAssign():
                if node.value is not None:
                    self.assign(node.target, self.expression(node.value))
            case ast.AugAssign():
                self._update(node)
            case ast.If():
                self._branch(node)
            case ast.While():
                self._while(node)
            case ast.For():
                self._for(node)
            case ast.Return():
                self.leave(node)
            case ast.Break():
                self._loops[-1].out.append((self.out.blank(), dict(self.names or {})))
                self.out.plain("break;")
                self.names = None
            case ast.Continue():
                self._loops[-1].around.append((self.out.blank(), dict(self.names or {})))
                self.out.plain("continue;")
                self.names = None
            case ast.Raise():
                self.raise_exception(node)
            case ast.Assert():
                self.check_assertion(node)
            case _:
                raise self._refuse_statement(node)

    def _refuse_statement(self, node: ast.stmt) -> CompilationError:
        what = _NOT_IN_KERNELS.get(type(node), f"'{type(node).__name__}'")
        help_ = "write it outside, with cuda.jit(device=True)" if isinstance(node, ast.FunctionDef) else None
        return self.refuse(node, f"kernels can't have {what}", help_)

    # -- expressions --------------------------------------------------------------------------------------------------

    def expression(self, node: ast.expr) -> HeldValue:
        match node:
            case ast.Constant(value=value):
                return known(value, "text") if isinstance(value, str) else self.frozen(node, value)
            case ast.Name():
                return self.look_up(node)
            case ast.BinOp():
                left = self.expression(node.left)
                return self.operate(node, SYMBOLS[type(node.op)], left, self.expression(node.right))
            case ast.UnaryOp():
                return self.unary(node)
            case ast.BoolOp():
                return self.boolean_operation(node)
            case ast.Compare():
                return self.compare_all(node)
            case ast.IfExp():
                condition = self.truth(node, self.expression(node.test))
                return self.choose(
                    node, condition, lambda: self.expression(node.body), lambda: self.expression(node.orelse)
                )
            case ast.Call():
                return self.call(node)
            case ast.Attribute():
                return self.attribute(node)
            case ast.Subscript():
                return self.subscript(node)
            case ast.Tuple() | ast.List():
                return tuple_of([self.expression(each) for each in node.elts])
            case ast.NamedExpr():
                value = self.expression(node.value)
                self.assign(node.target, value)
                return value
            case _:
                words: dict[type[ast.expr], str] = {
                    ast.JoinedStr: "texts with values in them",
                    ast.ListComp: "list comprehensions",
                    ast.DictComp: "dictionaries",
                    ast.Dict: "dictionaries",
                    ast.Set: "sets",
                    ast.SetComp: "sets",
                    ast.GeneratorExp: "generators",
                    ast.Lambda: "lambdas",
                    ast.Yield: "generators",
                    ast.Await: "await",
                }
                what = words.get(type(node), type(node).__name__)
                raise self.refuse(node, f"kernels can't have {what}")

    # -- assignments --------------------------------------------------------------------------------------------------

    def assign(self, target: ast.expr, value: HeldValue) -> None:
        """Assign a value to what stands left of the equals sign."""
        match target:
            case ast.Name():
                if self.names is not None:
                    self.names[target.id] = value
            case ast.Tuple() | ast.List():
                parts = self._unpacked(target, value)
                if any(isinstance(each, ast.Starred) for each in target.elts) or len(parts) != len(target.elts):
                    raise self.mistyped(target, f"{len(target.elts)} names for {len(parts)} values")
                for each, part in zip(target.elts, parts, strict=True):
                    self.assign(each, part)
            case ast.Subscript() | ast.Attribute():
                self.store(target, value)
            case _:
                raise self.refuse(target, "nothing can be assigned to this")

    def _unpacked(self, node: ast.expr, value: HeldValue) -> list[HeldValue]:
        if isinstance(value.type, Tuple):
            return value.parts()
        raise self.mistyped(node, f"{value.type} can't be taken apart: it is no tuple")

    def _update(self, node: ast.AugAssign) -> None:
        target = node.target
        reading = ast.copy_location(_as_load(target), target)
        left = self.expression(reading)
        value = self.operate(node, SYMBOLS[type(node.op)], left, self.expression(node.value))
        self.assign(target, value)

    # -- branches -----------------------------------------------------------------------------------------------------

    def _branch(self, node: ast.If) -> None:
        condition = self.truth(node.test, self.expression(node.test))
        if condition.is_constant:
            self.block(node.body if condition.constant else node.orelse)
            return
        before = dict(self.names or {})
        self.write(node, f"if ({condition.text}) {{")
        self.block(node.body)
        first = (self.out.blank(), self.names)
        self.names = dict(before)
        self.out.plain("} else {")
        self.block(node.orelse)
        second = (self.out.blank(), self.names)
        self.out.plain("}")
        self.names = self._meet([(place, names) for place, names in (first, second) if names is not None])

    def _meet(self, ways: list[tuple[list[Any], dict[str, HeldValue]]]) -> dict[str, HeldValue] | None:
        """What names stand for where several ways meet."""
        if not ways:
            return None
        if len(ways) == 1:
            return ways[0][1]
        met: dict[str, HeldValue] = {}
        for name in dict.fromkeys(name for _, names in ways for name in names):
            values = [names.get(name) for _, names in ways]
            present = [value for value in values if value is not None]
            if len(present) < len(values):
                self._wait_for(name)
            type_ = present[0].type
            for value in present[1:]:
                type_ = unified(type_, value.type)
            met[name] = (
                HeldValue(type_)
                if isinstance(type_, Unusable)
                else self.merge(type_, [(place, names.get(name)) for place, names in ways], name)
            )
        return met

    # -- loops --------------------------------------------------------------------------------------------------------

    def undefined(self, node: ast.Name) -> HeldValue:
        if self._wait_for(node.id):
            return HeldValue(boolean, ("false",))
        return super().undefined(node)

    def _wait_for(self, name: str) -> bool:
        """Note that a name may come from an earlier round of a loop; what it is then, this round will tell."""
        waiting = [pending for pending in self._pending if name in pending]
        for pending in waiting:
            pending[name] = replace(pending[name], constant="used")
        return bool(waiting)

    def _loop(
        self,
        node: ast.While | ast.For,
        seeds: dict[str, HeldValue],
        write: Callable[[LoopStatement], None],
    ) -> None:
        """Translate a loop: `write` writes it with names as they are at its head."""
        assert self.names is not None
        before = dict(self.names)
        stored = _stored_names(node)
        elsewhere = _names_read_outside(self.source.tree, node)
        carried = {name: as_changing(before[name]) for name in stored if name in before}
        fresh = {name for name in stored if name not in before and name in elsewhere}
        types: dict[str, HeldValue] = dict(carried)
        types |= {name: seeds[name] for name in fresh if name in seeds}
        mark = self.out.mark()
        returned = len(self.returned)
        for _ in range(MOST_ROUNDS):
            self.names = dict(before)
            entry = self.out.blank()
            heads: dict[str, HeldValue] = {}
            for name, kind in types.items():
                if isinstance(kind.type, Known | NoneType | Unusable):
                    heads[name] = kind
                    continue
                variables = tuple(self.out.declare(leaf, name) for leaf in kind.type.leaves())
                heads[name] = HeldValue(kind.type, variables, UNKNOWN, kind.is_nonnegative, kind.bits)
                if name in before:
                    entry.extend(self._assignments(heads[name], before[name]))
            self.names |= heads
            loop = LoopStatement(heads)
            pending = {name: NONE for name in stored if name not in before and name not in types}
            self._loops.append(loop)
            self._pending.append(pending)
            write(loop)
            self._pending.pop()
            self._loops.pop()
            wider = self._widened(types, before, fresh, pending, loop)
            if wider == types:
                for place, names in loop.around:
                    place.extend(self._around(heads, names))
                self.names = self._meet(loop.out)
                return
            types = wider
            self.out.back_to(mark)
            del self.returned[returned:]
        raise self.mistyped(node, "the types of this loop's variables don't settle")

    def _assignments(self, head: HeldValue, value: HeldValue) -> list[str]:
        return [f"{name} = {text};" for name, text in zip(head.leaves, converted(value, head.type), strict=True)]

    def _around(self, heads: dict[str, HeldValue], names: dict[str, HeldValue]) -> list[str]:
        """All names at once: they may stand for one another."""
        pairs: list[tuple[str, str, str]] = []
        for name, head in heads.items():
            value = names.get(name)
            if value is None or isinstance(head.type, Unusable) or not head.leaves or value.leaves == head.leaves:
                continue
            pairs += zip(head.type.leaves(), head.leaves, converted(value, head.type), strict=True)
        if len(pairs) == 1:
            return [f"{pairs[0][1]} = {pairs[0][2]};"]
        lines = ["{"]
        lines += [f"{cpp} next_{place} = {text};" for place, (cpp, _, text) in enumerate(pairs)]
        lines += [f"{variable} = next_{place};" for place, (_, variable, _) in enumerate(pairs)]
        return [*lines, "}"] if pairs else []

    def _widened(
        self,
        types: dict[str, HeldValue],
        before: dict[str, HeldValue],
        fresh: set[str],
        pending: dict[str, HeldValue],
        loop: LoopStatement,
    ) -> dict[str, HeldValue]:
        """The types at the loop's head, so that what comes around fits."""
        wider = dict(types)
        fresh = fresh | {name for name, value in pending.items() if value.constant == "used"}
        for _, names in loop.around:
            for name in {**types, **dict.fromkeys(fresh)}:
                value = names.get(name)
                if value is None:
                    continue
                have = wider.get(name)
                if have is None:
                    wider[name] = as_changing(value)
                    continue
                if isinstance(have.type, Known) and have.constant is not value.constant:
                    wider[name] = HeldValue(Unusable("it is one thing at first and another later"))
                    continue
                type_ = unified(have.type, value.type)
                is_nonnegative = have.is_nonnegative and value.is_nonnegative
                if type_ != have.type or is_nonnegative != have.is_nonnegative:
                    bits = 64 if not isinstance(type_, KernelNumber) else have.bits
                    wider[name] = HeldValue(type_, (), have.constant, is_nonnegative, bits)
                    if isinstance(type_, KernelNumber):
                        wider[name] = as_changing(wider[name])
        return wider

    def _while(self, node: ast.While) -> None:
        if node.orelse:
            raise self.refuse(
                node.orelse[0], "kernels can't have 'else' of a loop", "use a variable that says how it ended"
            )

        def write(loop: LoopStatement) -> None:
            self.out.plain("while (true) {")
            condition = self.truth(node.test, self.expression(node.test))
            if not (condition.is_constant and condition.constant):
                self.write(node.test, f"if (!{condition.text}) {{")
                loop.out.append((self.out.blank(), dict(self.names or {})))
                self.out.plain("break; }")
            self._loop_body(node.body, loop)

        self._loop(node, {}, write)

    def _loop_body(self, body: list[ast.stmt], loop: LoopStatement) -> None:
        self.block(body)
        if self.names is not None:
            loop.around.append((self.out.blank(), self.names))
        self.out.plain("}")

    def _for(self, node: ast.For) -> None:
        if node.orelse:
            raise self.refuse(
                node.orelse[0], "kernels can't have 'else' of a loop", "use a variable that says how it ended"
            )
        if isinstance(node.iter, ast.Call):
            callee = self.expression(node.iter.func)
            found = lookup(callee.constant) if isinstance(callee.type, Known) else None
            if found is not None and found[0] == "range":
                self._for_range(node, node.iter)
                return
        length, element = self._iterated(node, node.iter)
        self._count(node, length, element)

    def _iterated(self, node: ast.For, iterated: ast.expr) -> tuple[HeldValue, Callable[[HeldValue], HeldValue]]:
        """How many elements there are to loop over, and each by its number."""
        if isinstance(iterated, ast.Call):
            callee = self.expression(iterated.func)
            if isinstance(callee.type, Known) and callee.constant in (enumerate, zip):
                return self._pairs(node, iterated, callee.constant)
            if isinstance(callee.type, Known) and callee.constant is range:
                raise self.refuse(
                    iterated, "a range among others that are looped over", "count with the loop's variable"
                )
        return self._elements(node, self.expression(iterated))

    def _elements(self, node: ast.For, container: HeldValue) -> tuple[HeldValue, Callable[[HeldValue], HeldValue]]:
        """How many elements there are to loop over, and each by its number."""
        reading = ast.copy_location(ast.Subscript(node.iter, node.iter, ast.Load()), node.iter)
        if isinstance(container.type, Tuple):
            count = len(container.type.types)
            return constant_number(count, int64), lambda place: self._item(reading, container, place)
        if isinstance(container.type, KernelArray) and container.array.ndim:
            length = self._extent(container.extents[0])
            return length, lambda place: self._read(reading, container, [(node.iter, place)])
        raise self.mistyped(node.iter, f"kernels can't loop over {container.type}")

    def _pairs(
        self, node: ast.For, call: ast.Call, function: Any
    ) -> tuple[HeldValue, Callable[[HeldValue], HeldValue]]:
        """The elements of `zip(...)` and `enumerate(...)`."""
        parts = [self._iterated(node, argument) for argument in call.args[: 1 if function is enumerate else None]]
        first = constant_number(0, int64)
        if function is enumerate:
            given = [*call.args[1:], *(each.value for each in call.keywords)]
            first = self.integer(call, self.expression(given[0])) if given else first
        if not parts:
            raise self.refuse(call, "a loop over nothing")
        length = parts[0][0]
        for other, _ in parts[1:]:
            length = self.extreme(node, True, [length, other])

        def element(place: HeldValue) -> HeldValue:
            values = [read(place) for _, read in parts]
            if function is zip:
                return tuple_of(values)
            number = place if first.constant == 0 else self.operate(node, "+", first, place)
            return tuple_of([number, *values])

        return length, element

    def _count(self, node: ast.For, length: HeldValue, element: Callable[[HeldValue], HeldValue]) -> None:
        """A loop over 0, 1, ... length − 1."""

        def write(loop: LoopStatement) -> None:
            counter = self.out.declare("long long", "counter")
            self._head(node, loop, f"{counter} = 0", f"{counter} < {length.text}", f"{counter}++")
            self.assign(node.target, element(HeldValue(int64, (counter,), UNKNOWN, True, 47)))
            self._loop_body(node.body, loop)

        self._loop(node, {}, write)

    def _head(self, node: ast.For, loop: LoopStatement, start: str, condition: str, step: str) -> None:
        if _breaks(node):
            self.write(node, f"for ({start};; {step}) {{")
            self.out.plain(f"if (!({condition})) {{")
            loop.out.append((self.out.blank(), dict(self.names or {})))
            self.out.plain("break; }")
        else:
            self.write(node, f"for ({start}; {condition}; {step}) {{")
            loop.out.append(([], dict(self.names or {})))

    def _for_range(self, node: ast.For, call: ast.Call) -> None:
        values = [self.integer(argument, self.expression(argument)) for argument in call.args]
        if not 1 <= len(values) <= 3 or call.keywords:
            raise self.mistyped(call, "range takes one to three integers")
        number = _range_type([value.number for value in values])
        start = values[0] if len(values) > 1 else constant_number(0, int64)
        stop = values[1] if len(values) > 1 else values[0]
        step = values[2] if len(values) > 2 else constant_number(1, int64)
        first, last, by = (self._held(call, convert_number(each, number), number, each) for each in (start, stop, step))
        is_up = step.is_nonnegative
        is_nonnegative = start.is_nonnegative and (is_up or (stop.is_nonnegative or stop.constant == -1))
        bits = max(start.bits, stop.bits)

        def write(loop: LoopStatement) -> None:
            counter = self.out.declare(number.cpp, "counter")
            if step.is_constant and step.constant == 0:
                raise self.mistyped(call, "the step of a range can't be zero")
            if is_up:
                increment = f"{counter}++" if step.constant == 1 else f"{counter} += {by}"
                self._head(node, loop, f"{counter} = {first}", f"{counter} < {last}", increment)
            elif step.is_constant:
                self._head(node, loop, f"{counter} = {first}", f"{counter} > {last}", f"{counter} += {by}")
            else:
                condition = f"{by} > 0 ? {counter} < {last} : {by} < 0 && {counter} > {last}"
                self._head(node, loop, f"{counter} = {first}", condition, f"{counter} += {by}")
            self.assign(node.target, HeldValue(number, (counter,), UNKNOWN, is_nonnegative, bits))
            self._loop_body(node.body, loop)

        seeds = {}
        if isinstance(node.target, ast.Name):
            seeds[node.target.id] = as_changing(HeldValue(number, (), UNKNOWN, is_nonnegative, bits))
        self._loop(node, seeds, write)

    def _held(self, node: ast.AST, text: str, number: KernelNumber, value: HeldValue) -> str:
        """A bound of a loop, which assignments in the loop don't change."""
        if value.is_constant:
            return text
        return self.compute(node, number, text).text


def as_changing(value: HeldValue) -> HeldValue:
    """What is known of a variable that changes: its type, and whether it stays at or above zero."""
    if isinstance(value.type, Known | NoneType | Unusable):
        return HeldValue(value.type, (), value.constant)
    number = value.type
    bits = 64
    if isinstance(number, KernelNumber) and number.is_integral:
        bits = number.bits - (number.kind == "i")
    return HeldValue(value.type, (), UNKNOWN, value.is_nonnegative, bits)


def _as_load(target: ast.expr) -> ast.expr:
    match target:
        case ast.Name(id=name):
            return ast.Name(name, ast.Load())
        case ast.Subscript():
            return ast.Subscript(target.value, target.slice, ast.Load())
        case ast.Attribute():
            return ast.Attribute(target.value, target.attr, ast.Load())
        case _:
            return target


def _range_type(numbers: list[KernelNumber]) -> KernelNumber:
    """Numba's types of ranges: 32 bits if all of its numbers fit, else 64."""
    if all(
        number.kind == "b"
        or (number.kind == "i" and number.bits <= 32)
        or number.kind + str(number.bits) in ("u8", "u16")
        for number in numbers
    ):
        return int32
    return uint64 if all(number.kind == "u" for number in numbers) else int64


@lru_cache(maxsize=4096)
def _stored_names(node: ast.AST) -> tuple[str, ...]:
    """The names that are assigned inside of a loop, in order."""
    names = [each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)]
    return tuple(dict.fromkeys(names))


@lru_cache(maxsize=4096)
def _names_read_outside(tree: ast.AST, node: ast.AST) -> frozenset[str]:
    """The names that are read in a function but outside of one of its loops."""
    inside = {id(each) for each in ast.walk(node)}
    return frozenset(
        each.id
        for each in ast.walk(tree)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load) and id(each) not in inside
    ) | frozenset(
        each.target.id
        for each in ast.walk(tree)
        if isinstance(each, ast.AugAssign) and isinstance(each.target, ast.Name) and id(each) not in inside
    )


def _breaks(node: ast.For | ast.While) -> bool:
    """Whether a loop is left by break."""

    def search(statements: list[ast.stmt]) -> bool:
        for each in statements:
            if isinstance(each, ast.Break):
                return True
            if isinstance(each, ast.If) and (search(each.body) or search(each.orelse)):
                return True
        return False

    return search(node.body)
