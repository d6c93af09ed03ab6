"""Ways out of loops and functions, told by names: `break`, `continue`, `return` and the `else` of loops.

What leaves a loop early binds a name (`__exits_broke_1`) instead, what follows is put under the condition that the name
is unbound, and the loop ends where it is bound. So a body has one way out, and can become a function; and whether a way
was taken may be known only as the program runs:

    for i in range(n):                 for i in range(n):          # until broke is bound
        if a[i] > t:                       if a[i] > t:
            break             becomes          broke = None
        s += a[i]                          else:
    else:                                      s += a[i]
        s = 0                          if not left(broke):
                                           s = 0

Only where it is needed: what can't become a function (with `try`, `yield` and the like) stays as it is, to be run by
Python, and so do its ways out.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from windlass.frontends.arrays.statements import (
    EXIT_PREFIX,
    FUNCTIONS,
    call_of,
    can_stand_alone,
    getters_of,
    placed,
    reset,
)

RESULT = f"{EXIT_PREFIX}result"
"""What the function returns, once it has returned."""


class CannotLower(Exception):
    """A way out that has to stay as it is: Python's own."""


def lower_exits(definition: ast.FunctionDef, names: Collection[str]) -> None:
    """Let the ways out of the function's loops, and its returns within statements, be told by names.

    `names` are the function's locals. A loop whose ways out were lowered says so: its `stops` are the names at which it
    ends.
    """
    lowering = _Lowering(names)
    body = definition.body
    if _has_inner_return(body):
        last = body[-1]
        whole = body
        if not _always_leaves(body):
            end = ast.copy_location(ast.Return(ast.Constant(None)), last)
            whole = [*body, *placed(last, [end])]
        # What stands first may have to stay as it is, as `if n < 0: raise ValueError` does.
        for first in range(len(body)):
            if not _has_inner_return(body[first:]):
                break
            try:
                lowered = lowering.block(copy.deepcopy(whole[first:]), _Context())
            except CannotLower:
                continue
            returned = ast.Return(call_of("result_of", getters_of([RESULT])))
            definition.body = [*lowering.raw_block(body[:first]), *lowered, *placed(last, [returned])]
            return
    definition.body = lowering.raw_block(body)


@dataclass
class _Context:
    """The names that `break` and `continue` bind where a statement stands; the function's returns bind `RESULT`."""

    broke: str | None = None
    skipped: str | None = None


class _Lowering:
    def __init__(self, names: Collection[str]) -> None:
        self.names = names
        self.count = 0

    # -- statements that become parts of functions --------------------------------------------------------------------

    def block(self, body: Sequence[ast.stmt], context: _Context) -> list[ast.stmt]:
        """The statements, their ways out told by names.

        Raises CannotLower.
        """
        found: list[ast.stmt] = []
        for number, statement in enumerate(body):
            exits = _exits(statement)
            is_last = _always_leaves([statement])
            rest = body[number + 1 :]
            if not exits:
                found += self.raw(statement)
                continue
            match statement:
                case ast.Return():
                    value = statement.value or ast.copy_location(ast.Constant(None), statement)
                    told = ast.copy_location(call_of("returning", value), statement)
                    returned = ast.Assign([ast.Name(RESULT, ast.Store())], told)
                    return [*found, *placed(statement, [returned])]
                case ast.Break():
                    return [*found, *_bind(context.broke, statement)]
                case ast.Continue():
                    return [*found, *_bind(context.skipped, statement)]
                case ast.If():
                    return [*found, *self._branch(statement, rest, exits, context)]
                case ast.With():
                    statement.body = self.block(statement.body, context)
                    found.append(statement)
                case ast.For() | ast.While():
                    found += self.loop(statement, context)
                case _:
                    raise CannotLower
            if is_last:
                return [*found, *placed(statement, [_certain_result()])] if exits == {"return"} else found
            return [*found, *self._guarded(rest, statement, exits, context)]
        return found

    def loop(self, loop: ast.For | ast.While, context: _Context) -> list[ast.stmt]:
        """The loop with names at which it ends, and what stands in its `else` after it.

        Raises CannotLower.
        """
        self._expect_movable(loop.body)
        exits = {each for statement in loop.body for each in _exits(statement)}
        self.count += 1
        inner = _Context(f"{EXIT_PREFIX}broke_{self.count}", f"{EXIT_PREFIX}skipped_{self.count}")
        assert inner.broke is not None and inner.skipped is not None
        loop.body = self.block(loop.body, inner) or [ast.copy_location(ast.Pass(), loop)]
        if "continue" in exits:
            loop.body = [*placed(loop, [reset(inner.skipped)]), *loop.body]
        stops = [inner.broke] if "break" in exits else []
        found: list[ast.stmt] = placed(loop, [reset(name) for name in stops])
        stops += [RESULT] if "return" in exits else []
        vars(loop)["stops"] = stops
        orelse, loop.orelse = loop.orelse, []
        found.append(loop)
        if not orelse:
            return found
        lowered = self.block(orelse, context)
        if not stops:
            return [*found, *lowered]
        self._expect_movable(orelse, in_branch=True)
        return [*found, *_unless_left(stops, lowered, orelse[0])]

    def _branch(self, branch: ast.If, rest: Sequence[ast.stmt], exits: set[str], context: _Context) -> list[ast.stmt]:
        """An `if` that leaves in some case: what follows belongs to the side that goes on."""
        for side in (branch.body, branch.orelse):
            self._expect_movable(side, in_branch=True)
        sides: tuple[Sequence[ast.stmt], Sequence[ast.stmt]] = branch.body, branch.orelse
        does_rest_follow = False
        if _always_leaves(branch.body):
            sides = branch.body, [*branch.orelse, *rest]
        elif branch.orelse and _always_leaves(branch.orelse):
            sides = [*branch.body, *rest], branch.orelse
        else:
            does_rest_follow = True
        if not does_rest_follow:
            self._expect_movable(rest, in_branch=True)
        then, otherwise = (self.block(side, context) for side in sides)
        branch.body, branch.orelse = then or [ast.copy_location(ast.Pass(), branch)], otherwise
        return [branch, *self._guarded(rest, branch, exits, context)] if does_rest_follow else [branch]

    def _guarded(
        self, rest: Sequence[ast.stmt], statement: ast.stmt, exits: set[str], context: _Context
    ) -> list[ast.stmt]:
        """What follows a statement, for the case that it did not leave."""
        if not rest:
            return []
        self._expect_movable(rest, in_branch=True)
        names = {"break": context.broke, "continue": context.skipped, "return": RESULT}
        stops = [name for kind, name in names.items() if kind in exits and name is not None]
        return _unless_left(stops, self.block(rest, context), statement)

    def _expect_movable(self, body: Sequence[ast.stmt], in_branch: bool = False) -> None:
        """Raises CannotLower where the statements, ways out aside, can't become a function."""
        bare = [_WithoutExits().visit(copy.deepcopy(each)) for each in body]
        if not can_stand_alone(bare, self.names, loops=in_branch):
            raise CannotLower

    # -- statements that Python runs ----------------------------------------------------------------------------------

    def raw_block(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """The statements, in which the loops that can be are lowered, and nothing else."""
        return [each for statement in body for each in self.raw(statement)]

    def raw(self, statement: ast.stmt) -> list[ast.stmt]:
        """The statement, whose ways out to the outside stay."""
        if isinstance(statement, ast.For | ast.While) and not _exits(statement):
            try:
                return self.loop(copy.deepcopy(statement), _Context())
            except CannotLower:
                pass
        if isinstance(statement, FUNCTIONS):
            return [statement]
        for field in ("body", "orelse", "finalbody"):
            inner: list[ast.stmt] = getattr(statement, field, [])
            if inner:
                setattr(statement, field, self.raw_block(inner))
        parts: list[ast.ExceptHandler | ast.match_case] = [
            *getattr(statement, "handlers", []),
            *getattr(statement, "cases", []),
        ]
        for part in parts:
            part.body = self.raw_block(part.body)
        return [statement]


def _bind(name: str | None, statement: ast.stmt) -> list[ast.stmt]:
    if name is None:
        raise CannotLower
    return placed(statement, [ast.Assign([ast.Name(name, ast.Store())], ast.Constant(None))])


def _certain_result() -> ast.stmt:
    return ast.Assign([ast.Name(RESULT, ast.Store())], call_of("certain", ast.Name(RESULT, ast.Load())))


def _unless_left(stops: list[str], body: list[ast.stmt], statement: ast.stmt) -> list[ast.stmt]:
    # Where the function has returned its result is bound, so that it is bound after both sides.
    then = _certain_result() if stops == [RESULT] else ast.Pass()
    return placed(statement, [ast.If(call_of("has_left", getters_of(stops)), [then], body)])


class _WithoutExits(ast.NodeTransformer):
    """Leaves out what leaves."""

    def visit_Return(self, node: ast.Return) -> ast.stmt:
        return ast.Pass() if node.value is None else ast.copy_location(ast.Expr(node.value), node)

    def visit_Break(self, node: ast.Break) -> ast.stmt:
        return ast.Pass()

    def visit_Continue(self, node: ast.Continue) -> ast.stmt:
        return ast.Pass()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        return node


def _exits(statement: ast.AST) -> set[str]:
    """The ways out of the statement: "break", "continue" and "return", those that stay within its loops left out."""
    match statement:
        case ast.Return():
            return {"return"}
        case ast.Break():
            return {"break"}
        case ast.Continue():
            return {"continue"}
        case ast.For() | ast.While() | ast.AsyncFor():
            inner = {each for inner in statement.body for each in _exits(inner)} & {"return"}
            return inner | {each for inner in statement.orelse for each in _exits(inner)}
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda() | ast.ClassDef():
            return set()
        case _:
            return {each for inner in ast.iter_child_nodes(statement) for each in _exits(inner)}


def _always_leaves(body: Sequence[ast.stmt]) -> bool:
    """Whether nothing that follows the statements is reached."""
    for statement in body:
        match statement:
            case ast.Return() | ast.Break() | ast.Continue():
                return True
            case ast.If() if statement.orelse and _always_leaves(statement.body) and _always_leaves(statement.orelse):
                return True
            case ast.While(test=ast.Constant(value=True | 1)):
                if not any("break" in _exits(each) for each in statement.body):
                    return True
            case _:
                pass
    return False


def _has_inner_return(body: Sequence[ast.stmt]) -> bool:
    return any("return" in _exits(each) and not isinstance(each, ast.Return) for each in body)
