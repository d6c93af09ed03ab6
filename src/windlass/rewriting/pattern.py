"""Patterns are ops with holes in them; here they become plain Python tests.

`Transpose(Transpose(x, p), q)` with holes x, p, q compiles to

    def attempt(op):
        v1 = op._operands[0]
        if not (v1.__class__ is Transpose): return None
        return body(v1._operands[0], v1.permutation, op.permutation)

where `body` is the rule's function of x, p and q. An abstract op class in a pattern (`Elementwise`, `Op`) stands for
all its subclasses. A commutative op matches with its operands in either order.

`any_op` is for ops of many fields, of which few matter, and for one of several classes: a product of negated operands
is `any_op(DotGeneral, lhs=Negate(x), rhs=Negate(y))`, a sum or difference `any_op(Binary, only=(Add, Subtract))`.

Where an op gives its values as results (a sort, say), a pattern of it below the root stands for its one result:
`Reverse(any_op(Sort, inputs=(x,)), d)`. `every` is for operands of which there may be any number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product, takewhile
from typing import Any

from windlass.ir import Hole, Op, Result, Value

KNOWN_PLACES = 3
"""Operands whose classes rules are looked up by; of further ones only which classes there are."""


def hole(name: str, accepts: Callable[[Any], bool] | None = None) -> Any:
    """A hole for a pattern; with `accepts` it stands only for what that function says yes to."""
    return Hole(name, accepts)


def any_op(
    op_class: type[Op],
    *,
    only: tuple[type[Op], ...] = (),
    takes: tuple[type[Value], ...] = (),
    bind: str = "",
    **parts: Any,
) -> Any:
    """A pattern for every op of a class, whatever its fields: `any_op(Elementwise)`.

    With `only` the classes below it that are meant; with `takes`, one of the op's operands is of one of these classes.
    `parts` are patterns for those of its fields (or properties) that matter, and for which the others may be anything:
    `any_op(Reduce, inputs=(Negate(x),))`. By the name `bind` bodies get the op, as if it stood in a hole.
    """
    pattern = object.__new__(op_class)
    pattern.__dict__.update(is_pattern=True, is_any=True, only=only, takes=takes, bind=bind, parts=parts)
    return pattern


@dataclass(frozen=True, eq=False, repr=False)
class Every:
    """See `every`."""

    pattern: Op


def every(pattern: Op) -> Any:
    """A pattern for a variadic field of `any_op`: two or more operands, each of which is like `pattern`.

    Its fields are holes. Those for operands stand for the operands of all, as a tuple; so does what `any_op` binds.
    Other fields are the same for all: parts of transposes by one permutation are
    `any_op(Concatenate, inputs=every(Transpose(x, p)))`.
    """
    return Every(pattern)


@cache
def gives_results(op_class: type[Op]) -> bool:
    """Whether the ops of a class have their values in `results`, as they infer a tuple of types."""
    return str(op_class.infer.__annotations__.get("return")).startswith("tuple")


def parts_of(pattern: Op) -> dict[str, Any]:
    """The fields of a pattern that it says something of, by name."""
    return pattern.__dict__["parts"] if is_any(pattern) else pattern.field_values()


def is_concrete(op_class: type[Op]) -> bool:
    return bool(op_class.__dict__.get("name"))


def is_any(pattern: Op) -> bool:
    return "is_any" in pattern.__dict__


def list_roots(pattern: Op) -> tuple[type[Op], ...]:
    """The op classes that a pattern's root stands for."""
    only: tuple[type[Op], ...] = pattern.__dict__.get("only", ())
    return tuple(each for each in list_concrete_classes(type(pattern)) if not only or issubclass(each, only))


def list_concrete_classes(op_class: type[Op]) -> Iterator[type[Op]]:
    """The op classes that a pattern's class stands for: itself if it is one, else all below it."""
    if is_concrete(op_class):
        yield op_class
    for subclass in op_class.__subclasses__():
        yield from list_concrete_classes(subclass)


def list_holes(pattern: Any) -> list[str]:
    """Names of the holes, in order of first appearance."""
    if isinstance(pattern, Hole):
        return [pattern.name]
    found: list[str] = []
    if isinstance(pattern, Every):
        return list_holes(pattern.pattern)
    if isinstance(pattern, Op):
        if is_any(pattern) and pattern.__dict__["bind"]:
            found.append(pattern.__dict__["bind"])
        for value in parts_of(pattern).values():
            found += [name for name in list_holes(value) if name not in found]
    elif isinstance(pattern, tuple):
        for value in pattern:
            found += [name for name in list_holes(value) if name not in found]
    return found


def list_inner_ops(pattern: Op) -> list[Op]:
    """The ops of a pattern below its root, outer first."""
    inner: list[Op] = []
    for value in parts_of(pattern).values():
        for each in value if isinstance(value, tuple) else (value,):
            below = each.pattern if isinstance(each, Every) else each
            if isinstance(below, Op):
                inner += [below, *list_inner_ops(below)]
    return inner


class Matcher:
    """A pattern with the operands of commutative ops in one order, and what is done where an op is like it."""

    def __init__(
        self, pattern: Op, swapped: set[int], single_use: bool, body: Callable[..., Any], parameters: tuple[str, ...]
    ) -> None:
        self.pattern = pattern
        self.swapped = swapped
        self.single_use = single_use
        self.body = body
        self.parameters = parameters
        self.needs = _list_needs(pattern, id(pattern) in swapped)
        self.takes: tuple[type[Value], ...] = pattern.__dict__.get("takes", ())

    @cached_property
    def apply(self) -> Callable[[Op], Any]:
        """What `body` gives for the holes' contents, or None if an op (of the root's class) is not like the pattern.

        With `single_use`, the ops below the root must have no other use, so that replacing the root frees them.
        """
        if self.parameters == ("op",) and is_any(self.pattern) and not parts_of(self.pattern):
            return self.body
        writer = _Writer(self.swapped, self.single_use)
        writer.test_fields(self.pattern, "op")
        given = ", ".join("op" if name == "op" else writer.bound[name] for name in self.parameters)
        text = "\n".join(["def attempt(op):", *writer.lines, f"    return body({given})"])
        writer.scope["body"] = self.body
        exec(text, writer.scope)
        return writer.scope["attempt"]

    def may_match(self, operands: Sequence[type]) -> bool:
        """Whether an op whose operands are of these classes may be like the pattern."""
        if self.takes and not any(issubclass(each, self.takes) for each in operands):
            return False
        return all(
            position >= len(operands) or issubclass(operands[position], wanted) for position, wanted in self.needs
        )


def list_attempts(
    pattern: Op, single_use: bool, body: Callable[..., Any], parameters: tuple[str, ...]
) -> tuple[Matcher, ...]:
    """The attempts for a pattern: one for each order of operands that makes a difference."""
    ops = (pattern, *list_inner_ops(pattern))
    holes = Counter(each.name for op in ops if not is_any(op) for each in _list_operand_holes(op))
    swappable = [op for op in ops if type(op).is_commutative and not is_any(op) and _is_asymmetric(op, holes)]
    return tuple(
        Matcher(
            pattern, {id(op) for op, swap in zip(swappable, swaps, strict=True) if swap}, single_use, body, parameters
        )
        for swaps in product((False, True), repeat=len(swappable))
    )


def _list_operand_holes(op: Op) -> list[Hole]:
    return [operand for operand in op.operands if isinstance(operand, Hole)]


def _is_asymmetric(op: Op, holes: Counter[str]) -> bool:
    """Swapping the operands gives another pattern: they are not both plain holes used nowhere else."""
    own = _list_operand_holes(op)
    if all(map(_is_bare, op.operands)) and len({list_roots(each) for each in op.operands if isinstance(each, Op)}) == 1:
        return False
    if len(own) < len(op.operands) or any(operand.accepts for operand in own):
        return True
    names = Counter(operand.name for operand in own)
    return len(names) > 1 and any(holes[name] > count for name, count in names.items())


def _is_bare(operand: Value) -> bool:
    """Whether a pattern says nothing but the class of the op."""
    return isinstance(operand, Op) and is_any(operand) and not parts_of(operand) and not operand.__dict__["bind"]


class _Writer:
    """Writes the statements of one matcher."""

    def __init__(self, swapped: set[int], single_use: bool) -> None:
        self.swapped = swapped
        self.single_use = single_use
        self.lines: list[str] = []
        self.scope: dict[str, Any] = {}
        self.bound: dict[str, str] = {}
        self.count = 0

    def fresh(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def constant(self, value: Any) -> str:
        name = f"c{len(self.scope)}"
        self.scope[name] = value
        return name

    def require(self, condition: str) -> None:
        self.lines.append(f"    if not ({condition}): return None")

    def test(self, pattern: Any, expression: str, by_identity: bool) -> None:
        """Write the tests that the thing called `expression` is like `pattern`."""
        if isinstance(pattern, Hole):
            if pattern.accepts is not None:
                self.require(f"{self.constant(pattern.accepts)}({expression})")
            known = self.bound.setdefault(pattern.name, expression)
            if known != expression:
                self.require(f"{known} is {expression}" if by_identity else f"{known} == {expression}")
        elif isinstance(pattern, Op):
            name = self.fresh()
            self.lines.append(f"    {name} = {expression}")
            self.test_fields(pattern, self.test_class(pattern, name))
        else:
            self.require(f"{expression} == {self.constant(pattern)}")

    def test_class(self, pattern: Op, name: str) -> str:
        """Write the tests that the value called `name` is of the pattern's class; gives what the op is called."""
        if self.single_use:
            self.require(f"len({name}.uses) == 1")
        is_exact = is_concrete(type(pattern)) and not is_any(pattern)
        classes = (type(pattern),) if is_exact else list_roots(pattern)
        if all(map(gives_results, classes)):
            self.require(f"{name}.__class__ is {self.constant(Result)} and len({name}.owner.results) == 1")
            name = f"{name}.owner"
        if len(classes) == 1:
            self.require(f"{name}.__class__ is {self.constant(classes[0])}")
        else:
            self.require(f"{name}.__class__ in {self.constant(frozenset(classes))}")
        return name

    def test_every(self, pattern: Op, access: str) -> None:
        """Write the tests that the values called `access` are two or more, each like the pattern."""
        self.require(f"len({access}) > 1")
        name, outside, self.lines = self.fresh(), self.lines, []
        op = self.test_class(pattern, name)
        collected: dict[str, str] = {}
        if is_any(pattern) and pattern.__dict__["bind"]:
            collected[pattern.__dict__["bind"]] = op
        for field, wanted in parts_of(pattern).items():
            assert isinstance(wanted, Hole)
            if _is_operand(type(pattern), field):
                collected[wanted.name] = f"{op}.{field}"
            else:
                self.test(wanted, f"{op.replace(name, f'{access}[0]')}.{field}", by_identity=False)
                self.test(wanted, f"{op}.{field}", by_identity=False)
        for hole_name, expression in collected.items():
            values = self.fresh()
            outside.append(f"    {values} = []")
            self.lines.append(f"    {values}.append({expression})")
            self.bound[hole_name] = f"tuple({values})"
        outside.append(f"    for {name} in {access}:")
        self.lines = [*outside, *(f"    {line}" for line in self.lines)]

    def test_fields(self, pattern: Op, name: str) -> None:
        if is_any(pattern):
            self.test_parts(pattern, name)
            return
        operands = [field for field in pattern.fields if field.kind in ("operand", "optional", "variadic")]
        plain = all(field.kind == "operand" for field in operands)
        order = list(range(len(operands)))
        if id(pattern) in self.swapped:
            order.reverse()
        for field, position in zip(operands, order, strict=True):
            access = f"{name}._operands[{position}]" if plain else f"{name}.{field.name}"
            wanted = getattr(pattern, field.name)
            if field.kind == "variadic" and not (len(wanted) == 1 and isinstance(wanted[0], Hole)):
                self.require(f"len({access}) == {len(wanted)}")
                for index, each in enumerate(wanted):
                    self.test(each, f"{access}[{index}]", by_identity=True)
            elif field.kind == "variadic":
                self.test(wanted[0], access, by_identity=False)
            else:
                self.test(wanted, access, by_identity=True)
        for field in pattern.fields:
            if field.kind == "attribute":
                self.test(getattr(pattern, field.name), f"{name}.{field.name}", by_identity=False)

    def test_parts(self, pattern: Op, name: str) -> None:
        """As `test_fields`, for the fields that `any_op` is given."""
        bind = pattern.__dict__["bind"]
        if bind:
            self.test(Hole(bind), name, by_identity=True)
        for field, wanted in parts_of(pattern).items():
            access = f"{name}.{field}"
            if isinstance(wanted, Every):
                self.test_every(wanted.pattern, access)
            elif isinstance(wanted, tuple):
                self.require(f"len({access}) == {len(wanted)}")
                for index, each in enumerate(wanted):
                    self.test(each, f"{access}[{index}]", by_identity=True)
            else:
                self.test(wanted, access, by_identity=_is_operand(type(pattern), field))


def _is_operand(op_class: type[Op], name: str) -> bool:
    return any(field.name == name and field.kind == "operand" for field in op_class.fields)


def _list_needs(pattern: Op, is_swapped: bool) -> tuple[tuple[int, Any], ...]:
    """Which classes the root's operands must have, by position: what rules are looked up by."""
    operands = [field for field in pattern.fields if field.kind in ("operand", "optional", "variadic")]
    if is_any(pattern):
        parts = parts_of(pattern)
        first = parts.get(operands[0].name) if operands else None
        if isinstance(first, Every):
            return tuple((place, _class_of(first.pattern)) for place in range(2))
        if isinstance(first, tuple):
            # The operands of a variadic field that comes first.
            return tuple((place, _class_of(each)) for place, each in enumerate(first) if isinstance(each, Op))[:1]
        plain = takewhile(lambda field: field.kind == "operand", operands[:KNOWN_PLACES])
        asked = [(place, parts.get(field.name)) for place, field in enumerate(plain)]
        return tuple((place, _class_of(each)) for place, each in asked if isinstance(each, Op))
    if not all(field.kind == "operand" for field in operands):
        return ()
    wanted = [getattr(pattern, field.name) for field in operands]
    if is_swapped:
        wanted.reverse()
    known = enumerate(wanted[:KNOWN_PLACES])
    return tuple((position, _class_of(each)) for position, each in known if isinstance(each, Op))


def _class_of(pattern: Op) -> Any:
    """The class, or classes, that `issubclass` takes, of what is like a pattern."""
    if any(map(gives_results, list_roots(pattern))):
        return (Result, type(pattern))
    only = is_any(pattern) and pattern.__dict__["only"]
    return only or type(pattern)
