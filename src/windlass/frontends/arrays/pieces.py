"""A function divided into pieces: its statements, each of which Python can run, and runs of them that can be compiled.

Where a statement can't be in a compiled program, the function runs as Python's own, but for the statements around that
one. For this its code asks before each statement whether from there on several were run as a program:

    y = x * 2                 if at == 0:
    u = np.unique(y)              found = run.attempt(0, 0, locals())
    return u + 1                  if found is None:
                                      y = x * 2
                                      at = 1
                                  else:
                                      y, u = found.values; at = found.next; ...
                              if at == 1: ...

Lists of statements within loops and branches are divided in the same way. A loop stands there as it was written, too:
it is run so where the questions have led to nothing for a while. Statements keep their places in the source, so that
what they raise has the lines that it has without us.
"""

from __future__ import annotations

import ast
import copy
import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import CodeType

from windlass.frontends.arrays.capture import captured_code_of
from windlass.frontends.arrays.definitions import code_within, definition_of
from windlass.frontends.arrays.statements import (
    LOOKING_AT_FRAMES,
    PREFIX,
    assign,
    assigned,
    call_of,
    getters_of,
    name_of_ours,
    own_nodes,
    placed,
    targets_of,
    undefine,
)

OURS = ("run", "locals", "UNDEFINED")
"""What the divided code calls, by the names that it has there."""
WORKING = (ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.Call, ast.AugAssign)
"""Something is computed, rather than named or handed on."""
STAYING = (
    ast.Yield, ast.YieldFrom, ast.Await, ast.Global, ast.Nonlocal, ast.Import, ast.ImportFrom, ast.AsyncFor,
    ast.AsyncWith, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Delete, ast.TryStar,
)  # fmt: skip
"""Statements that are Python's own, whatever their operands are."""


@dataclass
class Piece:
    """One statement of a list."""

    node: ast.stmt
    reads: frozenset[str]
    """Names that it may read or leave as they are."""
    own_reads: frozenset[str]
    """Names that it reads whichever way it takes."""
    binds: tuple[str, ...]
    always_binds: frozenset[str]
    reason: str | None
    """Why it always runs in Python; None where that depends."""
    has_work: bool
    returns: bool
    """Whether it is a `return`."""
    may_return: bool

    @property
    def can_be_within(self) -> bool:
        """Whether it may be one of several that are compiled, as far as its text tells."""
        return self.reason is None or (self.reason == "" and not isinstance(self.node, ast.Break | ast.Continue))

    @property
    def first_inner_line(self) -> int | None:
        """Where the statements within it begin."""
        body = getattr(self.node, "body", None)
        return body[0].lineno if isinstance(body, list) else None

    @property
    def line(self) -> int:
        return self.node.lineno

    def holds(self, place: tuple[int, int]) -> bool:
        """Whether the line and column, from 1 on, are of this statement."""
        last, end = self.node.end_lineno or self.node.lineno, self.node.end_col_offset or 0
        return (self.node.lineno, self.node.col_offset + 1) <= place <= (last, end + 1)


@dataclass
class PieceList:
    """Statements that follow one another."""

    pieces: list[Piece]
    is_function: bool
    """Whether these are the function's own statements, after which it ends."""
    last: int = 0
    """The last list within these statements: those after this one up to it are."""


@dataclass
class Divided:
    """A function's code in pieces."""

    code: CodeType
    definition: ast.FunctionDef
    original: CodeType
    names: frozenset[str]
    """The function's locals."""
    cells: frozenset[str]
    """Those of them that functions within it see."""
    lists: list[PieceList] = field(default_factory=list)

    def live_in(self, number: int, start: int, stop: int) -> tuple[str, ...]:
        """The names whose values the statements from `start` to before `stop` may need, in order."""
        bound: set[str] = set()
        found: dict[str, None] = {}
        for piece in self.lists[number].pieces[start:stop]:
            for name in sorted(piece.reads - bound):
                found[name] = None
            bound |= piece.always_binds
        return tuple(found)

    def bound_in(self, number: int, start: int, stop: int) -> tuple[str, ...]:
        """The names that these statements may bind."""
        return tuple(dict.fromkeys(name for each in self.lists[number].pieces[start:stop] for name in each.binds))

    def segment_code(
        self, number: int, start: int, stop: int, parameters: Sequence[str], results: Sequence[str] | None
    ) -> CodeType:
        """The statements as a captured function of these names, which gives the values that `results` have after them;
        what they return, if that is None."""
        body = [copy.deepcopy(each.node) for each in self.lists[number].pieces[start:stop]]
        bare = ast.parse("def f(): pass").body[0]
        assert isinstance(bare, ast.FunctionDef)
        bare.args.args = [ast.arg(name) for name in parameters]
        bare.body, bare.name = body, f"{PREFIX}segment"
        placed(body[0], [bare])
        ast.copy_location(bare, body[0])
        for each in bare.args.args:
            ast.copy_location(each, body[0])
        end: list[ast.stmt] = []
        if results is not None:
            end = placed(body[-1], [ast.Return(call_of("values_of", getters_of(results)))])
        free = tuple(name for name in self.original.co_freevars if name not in parameters)
        return captured_code_of(bare, self.original, free, end)


@functools.cache
def divided(code: CodeType, _file: str) -> Divided | None:
    """The function of this code in pieces; None where its source text can't be had.

    The file is a part of the cache's key: codes of two files may be equal.
    """
    definition = definition_of(code, PREFIX)
    if definition is None:
        return None
    found = Divided(
        code, definition, code, frozenset((*code.co_varnames, *code.co_cellvars)), frozenset(code.co_cellvars)
    )
    declared = [each for each in own_nodes(definition.body) if isinstance(each, ast.Global | ast.Nonlocal)]
    outer = frozenset(name for each in declared for name in each.names)
    dividing = _Dividing(found, outer)
    made = copy.deepcopy(definition)
    body = dividing.block(definition.body, True)
    first = definition.body[0]
    made.body = [*(copy.deepcopy(each) for each in declared), *body] or [ast.copy_location(ast.Pass(), first)]
    made.name = f"{PREFIX}function"
    free = [name for name in code.co_freevars if not name.startswith(PREFIX)]
    compiled = code_within(made, (*free, *(f"{PREFIX}{name}" for name in OURS)), code)
    found.code = compiled.replace(co_name=code.co_name, co_qualname=code.co_qualname)
    return found


class _Dividing:
    def __init__(self, divided: Divided, outer: frozenset[str]) -> None:
        self.divided = divided
        self.outer = outer
        """Names that the function binds outside of itself."""

    def block(self, body: Sequence[ast.stmt], is_function: bool = False) -> list[ast.stmt]:
        """The statements, each after the question whether it was run with others."""
        kept = [each for each in body if not isinstance(each, ast.Global | ast.Nonlocal)]
        if not kept:
            return [ast.copy_location(ast.Pass(), body[0])] if body else []
        number = len(self.divided.lists)
        pieces = [self.piece(each) for each in kept]
        these = PieceList(pieces, is_function)
        self.divided.lists.append(these)
        at = f"{PREFIX}at_{number}"
        found: list[ast.stmt] = placed(kept[0], [_set(at, ast.Constant(0))])
        for start, (piece, node) in enumerate(zip(pieces, kept, strict=True)):
            plain = [*self.asked_within(node, number, start), *placed(node, [_set(at, ast.Constant(start + 1))])]
            if piece.reason is not None:
                asked = [ast.Expr(_asked("plain", number, start)), *plain]
            else:
                stop = next((each for each in range(start, len(pieces)) if not pieces[each].can_be_within), len(pieces))
                names = self.divided.bound_in(number, start, stop)
                asked = [
                    _set(f"{PREFIX}found", _asked("attempt", number, start, with_names=True)),
                    ast.If(
                        ast.Compare(ast.Name(f"{PREFIX}found", ast.Load()), [ast.Is()], [ast.Constant(None)]),
                        plain,
                        self.landing(at, names, is_function or any(e.returns or e.may_return for e in pieces[start:])),
                    ),
                ]
            here = ast.Compare(ast.Name(at, ast.Load()), [ast.Eq()], [ast.Constant(start)])
            found += placed(node, [ast.If(here, asked, [])])
        if not isinstance(kept[-1], ast.Return | ast.Raise | ast.Break | ast.Continue):
            found += placed(kept[-1], [ast.Expr(_asked("end", number, len(pieces), with_names=True))])
        these.last = len(self.divided.lists) - 1
        return found

    def landing(self, at: str, names: Sequence[str], may_return: bool) -> list[ast.stmt]:
        """What follows where statements were run as a program."""
        given = ast.Name(f"{PREFIX}found", ast.Load())
        found: list[ast.stmt] = []
        if may_return:
            returned = ast.Return(ast.Attribute(given, "value", ast.Load()))
            found.append(ast.If(ast.Attribute(given, "returns", ast.Load()), [returned], []))
        values = ast.Call(
            ast.Attribute(given, "values_of", ast.Load()),
            [ast.Tuple([ast.Constant(name) for name in names], ast.Load()), ast.Call(name_of_ours("locals"), [], [])],
            [],
        )
        if names:
            found += [assign(names, values), *undefine(names)]
        return [*found, _set(at, ast.Attribute(given, "next", ast.Load()))]

    def asked_within(self, node: ast.stmt, number: int, start: int) -> list[ast.stmt]:
        """The statement for Python to run; a loop as it was written where it rests."""
        made = self.within(node)
        if not isinstance(node, ast.For | ast.While):
            return [made]
        left = placed(node, [ast.Expr(_asked("leave_loop", number, start))])
        return placed(node, [ast.If(_asked("rests", number, start), [copy.deepcopy(node)], [made, *left])])

    def within(self, node: ast.stmt) -> ast.stmt:
        """The statement, with the lists of statements within it divided."""
        node = copy.deepcopy(node)
        match node:
            case ast.For() | ast.While():
                node.body, node.orelse = self.block(node.body), self.block(node.orelse)
            case ast.If():
                node.body, node.orelse = self.block(node.body), self.block(node.orelse)
            case ast.With():
                node.body = self.block(node.body)
            case ast.Try():
                node.body, node.orelse = self.block(node.body), self.block(node.orelse)
                node.finalbody = self.block(node.finalbody)
                for handler in node.handlers:
                    handler.body = self.block(handler.body)
            case ast.Match():
                for case in node.cases:
                    case.body = self.block(case.body)
            case _:
                pass
        return node

    def piece(self, node: ast.stmt) -> Piece:
        inner = list(ast.walk(node))
        loads = {each.id for each in inner if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)}
        binds = tuple(assigned([node]))
        match node:
            case ast.Assign():
                always = {e.id for t in node.targets for e in targets_of(t) if isinstance(e, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
                always = {name}
            case ast.AugAssign(target=ast.Name(id=name)):
                always, loads = {name}, loads | {name}
            case _:
                always = set[str]()
        if isinstance(node, ast.For):
            own = _loads([node.iter])
        elif isinstance(node, ast.If | ast.While):
            own = _loads([node.test])
        else:
            own = loads
        returns = isinstance(node, ast.Return)
        return Piece(
            node,
            frozenset(loads | (set(binds) - always)),
            frozenset(own),
            binds,
            frozenset(always),
            self.reason(node, binds),
            any(isinstance(each, WORKING) for each in inner) or _writes_elements(inner),
            returns,
            not returns and any(isinstance(each, ast.Return) for each in own_nodes([node])),
        )

    def reason(self, node: ast.stmt, binds: Sequence[str]) -> str | None:
        """Why the statement always runs in Python."""
        for each in own_nodes([node]):
            if isinstance(each, STAYING):
                return f"`{_word_of(each)}` is Python's own"
            if isinstance(each, ast.Name) and each.id in LOOKING_AT_FRAMES:
                return f"`{each.id}` looks at the function's frame"
        if isinstance(node, ast.Pass | ast.Break | ast.Continue):
            return ""
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return ""
        outer = self.outer.intersection(binds)
        if outer:
            return f"'{min(outer)}' is bound outside of the function"
        shared = self.divided.cells.intersection(binds)
        if shared:
            return f"'{min(shared)}' is seen by a function within"
        if _leaves_loop(node):
            return "it leaves a loop that Python runs"
        return None


def _leaves_loop(node: ast.stmt) -> bool:
    """Whether the statement holds a `break` or `continue` of a loop around it."""
    without_returns = copy.deepcopy(node)
    leaving = [each for each in own_nodes([without_returns]) if isinstance(each, ast.Break | ast.Continue)]
    return bool(leaving) and any(not _is_in_loop_of(without_returns, each) for each in leaving)


def _is_in_loop_of(node: ast.stmt, wanted: ast.AST) -> bool:
    return any(
        isinstance(each, ast.For | ast.While)
        and any(inner is wanted for statement in each.body for inner in ast.walk(statement))
        for each in own_nodes([node])
    )


def _loads(nodes: Sequence[ast.AST]) -> set[str]:
    return {
        each.id
        for node in nodes
        for each in ast.walk(node)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)
    }


def _writes_elements(nodes: Sequence[ast.AST]) -> bool:
    return any(isinstance(each, ast.Subscript) and isinstance(each.ctx, ast.Store) for each in nodes)


def _word_of(node: ast.AST) -> str:
    words: dict[type[ast.AST], str] = {
        ast.FunctionDef: "def", ast.AsyncFunctionDef: "async def", ast.ClassDef: "class", ast.Delete: "del",
        ast.Import: "import", ast.ImportFrom: "import", ast.Yield: "yield", ast.YieldFrom: "yield from",
    }  # fmt: skip
    return words.get(type(node), type(node).__name__.lower())


def _set(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _asked(question: str, number: int, start: int, *, with_names: bool = False) -> ast.expr:
    names = [ast.Call(name_of_ours("locals"), [], [])] if with_names else []
    asked = ast.Attribute(name_of_ours("run"), question, ast.Load())
    return ast.Call(asked, [ast.Constant(number), ast.Constant(start), *names], [])
