"""Python's loops and branches, captured from a function's syntax tree.

`for name in range(...)`, `while` and `if` become calls to `loops` and `branches`, with their bodies as functions of the
names that they assign; so do `and`, `or`, `not`, chains of comparisons and `a if b else c`, with their sides. There it
is decided, each time, whether they run as plain Python (bounds and conditions known) or become one operation of the
compiled program. Bodies that a function can't stand for (with `return`, `break`, `yield`, changes of lists and the
like) are left alone.
"""

from __future__ import annotations

import ast
import copy
import functools
import inspect
import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any, cast

import numpy as np

from windlass.frontends.arrays import assertions, branches, containers, handlers, loops, rounds, states, unsure
from windlass.frontends.arrays.assertions import Refusal, find_refusals, lowered_assertion
from windlass.frontends.arrays.bound_names import DOUBTFUL, mark_reads
from windlass.frontends.arrays.calls import call_foreign
from windlass.frontends.arrays.definitions import code_within, definition_of
from windlass.frontends.arrays.exits import lower_exits
from windlass.frontends.arrays.live_names import handed_on, mark_handed_on
from windlass.frontends.arrays.statements import (
    LOOKING_AT_FRAMES,
    LOOP_BODY,
    PREFIX,
    assign,
    assigned,
    call_of,
    can_stand_alone,
    can_wait,
    function_of,
    getters_of,
    is_path,
    later,
    name_of_ours,
    placed,
    targets_of,
    undefine,
)
from windlass.frontends.arrays.tracing import current_tracing, is_users_own

TAKING_FUNCTIONS: tuple[Any, ...] = (
    map, filter, sorted, min, max, functools.reduce, functools.partial, itertools.accumulate, itertools.starmap,
    itertools.takewhile, itertools.dropwhile, itertools.filterfalse, np.apply_along_axis, np.apply_over_axes,
    np.fromfunction, np.piecewise,
)  # fmt: skip
"""Functions of Python and NumPy that call what they are given."""
COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne",
}  # fmt: skip


def captured(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, method or object that can be called with its loops and branches captured.

    It itself, where its source text can't be had.
    """
    if isinstance(function, MethodType):
        return MethodType(captured(function.__func__), function.__self__)
    if isinstance(function, functools.partial):
        partial = cast("functools.partial[Any]", function)
        return functools.partial(captured(partial.func), *partial.args, **partial.keywords)
    if not isinstance(function, FunctionType):
        called = _own_call(function)
        return function if called is None else MethodType(captured(called), function)
    code = _captured_code(function.__code__, function.__code__.co_filename)
    if code is None:
        return function
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    made = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, closed_over(code, cells))
    made.__kwdefaults__ = function.__kwdefaults__
    made.__dict__.update(function.__dict__)
    return made


def _own_call(function: Any) -> FunctionType | None:
    """What the user's own class says that calling its object does."""
    called = inspect.getattr_static(type(function), "__call__", None)
    return called if isinstance(called, FunctionType) and is_users_own(called.__code__) else None


def _ours() -> dict[str, Any]:
    """What captured functions call, by the names that they have there."""
    return {
        f"{PREFIX}{name}": getattr(home, name)
        for home in (assertions, branches, containers, handlers, loops, rounds, states, unsure)
        for name in home.ENTRY_POINTS
    } | {f"{PREFIX}call": call}


def call(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """`function(*arguments, **named)` within a captured function: the user's own functions are captured in turn."""
    tracing = current_tracing()
    if tracing is None:
        return function(*arguments, **named)
    if isinstance(function, MethodType) and isinstance(function.__func__, FunctionType):
        return call(function.__func__, function.__self__, *arguments, **named)
    if isinstance(function, functools.partial):
        partial = cast("functools.partial[Any]", function)
        return call(partial.func, *partial.args, *arguments, **{**partial.keywords, **named})
    if isinstance(function, FunctionType) and is_users_own(function.__code__):
        containers.expect_own_names(tracing, function.__code__)
        return (captured(function) if _is_plain(function) else function)(*arguments, **named)
    called = _own_call(function)
    if called is not None:
        return call(called, function, *arguments, **named)
    if any(function is each for each in TAKING_FUNCTIONS):
        arguments = tuple(map(_captured_where_own, arguments))
        named = {name: _captured_where_own(each) for name, each in named.items()}
    run = functools.partial(call_foreign, tracing, function, arguments, named)
    return containers.call_watched(tracing, function, arguments, named, run)


def _captured_where_own(given: Any) -> Any:
    """A function of the user's that is handed to one that will call it."""
    function = given.__func__ if isinstance(given, MethodType) else given
    is_own = isinstance(function, FunctionType) and is_users_own(function.__code__) and _is_plain(function)
    return captured(given) if is_own else given


def _is_plain(function: FunctionType) -> bool:
    return not inspect.isgeneratorfunction(function) and not inspect.iscoroutinefunction(function)


@functools.cache
def _captured_code(code: CodeType, _file: str) -> CodeType | None:
    """The code of a function with its loops and branches captured; None where its source text can't be had.

    The file is a part of the cache's key: codes of two files may be equal.
    """
    definition = definition_of(code, PREFIX)
    if definition is None:
        return None
    free = [name for name in code.co_freevars if not name.startswith(PREFIX)]
    return _captured_definition(definition, code, code, free, [])


def captured_code_of(
    definition: ast.FunctionDef, home: CodeType, free: Sequence[str], end: Sequence[ast.stmt]
) -> CodeType:
    """The code of a definition that is a part of another's, `home`, with its loops and branches captured; `end` stands
    after it as it is.

    `free` are the names that it has from around it.
    """
    return _captured_definition(definition, code_within(copy.deepcopy(definition), free, home), home, free, end)


def closed_over(code: CodeType, cells: Mapping[str, CellType]) -> tuple[CellType, ...]:
    """The closure of captured code: the cells that it has by name, and ours."""
    ours = {name: CellType(value) for name, value in _ours().items()}
    return tuple(ours[name] if name in ours else cells[name] for name in code.co_freevars)


def _captured_definition(
    definition: ast.FunctionDef, code: CodeType, home: CodeType, free: Sequence[str], end: Sequence[ast.stmt]
) -> CodeType:
    find_refusals(definition)
    locals_ = {*code.co_varnames, *code.co_cellvars}
    doubtful = {*mark_reads(definition, locals_), *free}
    lower_exits(definition, locals_)
    mark_handed_on(definition.body, end, code.co_cellvars)
    visitor = _Capturing(locals_, frozenset(code.co_cellvars), doubtful)
    definition.body = [*visitor.capture(definition.body), *end]
    # A name of its own: within, the function's name stands for what it stands for in the user's code.
    definition.name = f"{PREFIX}function"
    made = code_within(definition, (*free, *_ours()), home)
    return made.replace(co_name=home.co_name, co_qualname=home.co_qualname)


class _Capturing(ast.NodeTransformer):
    """Replaces loops and branches, inner ones first."""

    def __init__(self, names: Collection[str], cells: Collection[str], doubtful: Collection[str]) -> None:
        self.doubtful = doubtful
        """Those that may be an `Unsure` where another function reads them: some ways don't bind them, or other
        functions do."""
        self.names = names
        """Those that are the function's own; others are from outside."""
        self.cells = cells
        """Those of them that functions within it see."""
        self.count = 0
        self.conditions: set[int] = set()
        """Nodes of which only the truth is asked for."""

    def visit_Name(self, node: ast.Name) -> Any:
        kind = getattr(node, "read", DOUBTFUL if node.id in self.doubtful and node.id not in self.names else None)
        if kind is None or not isinstance(node.ctx, ast.Load):
            return node
        return ast.copy_location(_read(node, kind), node)

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in LOOKING_AT_FRAMES:
            return node
        through = call_of("call", node.func, *node.args)
        through.keywords = node.keywords
        ast.copy_location(through.func, node.func)
        return ast.copy_location(through, node)

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        is_condition = id(node) in self.conditions
        if is_condition:
            self.conditions |= {id(each) for each in node.values}
        is_movable = all(can_wait(each) for each in node.values[1:])
        self.generic_visit(node)
        if not is_movable:
            return node
        *first, found = node.values
        for left in reversed(first):
            name = "both" if isinstance(node.op, ast.And) else "either"
            found = ast.copy_location(call_of(name, left, later(found), ast.Constant(is_condition)), node)
        return found

    def visit_List(self, node: ast.List) -> Any:
        self.generic_visit(node)
        return _made(node) if isinstance(node.ctx, ast.Load) else node

    def visit_Dict(self, node: ast.Dict) -> Any:
        self.generic_visit(node)
        return _made(node)

    def visit_Set(self, node: ast.Set) -> Any:
        self.generic_visit(node)
        return _made(node)

    def visit_ListComp(self, node: ast.ListComp) -> Any:
        self.generic_visit(node)
        return _made(node)

    def visit_SetComp(self, node: ast.SetComp) -> Any:
        self.generic_visit(node)
        return _made(node)

    def visit_DictComp(self, node: ast.DictComp) -> Any:
        self.generic_visit(node)
        return _made(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        if not isinstance(node.op, ast.Not):
            return self.generic_visit(node)
        self.conditions.add(id(node.operand))
        self.generic_visit(node)
        return ast.copy_location(call_of("negated", node.operand), node)

    def visit_Compare(self, node: ast.Compare) -> Any:
        is_movable = all(can_wait(each) for each in node.comparators)
        self.generic_visit(node)
        if len(node.ops) == 1 and isinstance(node.ops[0], ast.In | ast.NotIn):
            found = ast.copy_location(call_of("among", node.left, *node.comparators), node)
            return ast.copy_location(call_of("negated", found), node) if isinstance(node.ops[0], ast.NotIn) else found
        if len(node.ops) == 1 and isinstance(node.ops[0], ast.Is | ast.IsNot):
            if any(isinstance(each, ast.Constant) for each in (node.left, *node.comparators)):
                return node
            found = ast.copy_location(call_of("is_same", node.left, *node.comparators), node)
            return (
                ast.copy_location(ast.UnaryOp(ast.Not(), found), node) if isinstance(node.ops[0], ast.IsNot) else found
            )
        names = [COMPARISONS.get(type(each)) for each in node.ops]
        if len(names) == 1 or None in names or not is_movable:
            return node
        operands = [node.left, *map(later, node.comparators)]
        return ast.copy_location(
            call_of("compared", ast.Tuple([ast.Constant(each) for each in names], ast.Load()), *operands), node
        )

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        self.conditions.add(id(node.test))
        is_movable = can_wait(node.body) and can_wait(node.orelse)
        self.generic_visit(node)
        if not is_movable:
            return node
        return ast.copy_location(call_of("choose", node.test, later(node.body), later(node.orelse)), node)

    def visit_Assert(self, node: ast.Assert) -> Any:
        text = ast.unparse(node.test)
        self.conditions.add(id(node.test))
        self.generic_visit(node)
        return lowered_assertion(node, text)

    def visit_Refusal(self, node: Refusal) -> Any:
        return self.visit_Assert(node)

    def visit_Assign(self, node: ast.Assign) -> Any:
        return self._with_changes(node, node.targets)

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        if not isinstance(node.target, ast.Name):
            return self._with_changes(node, [node.target])
        kind = getattr(node.target, "read", None)
        name: ast.expr = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        value = call_of("changing_in_place", name if kind is None else _read(name, kind))
        word = ast.Assign([ast.copy_location(ast.Name(node.target.id, ast.Store()), node.target)], value)
        ast.copy_location(value, node.target)
        self.generic_visit(node)
        return placed(node, [word, node])

    def visit_Delete(self, node: ast.Delete) -> Any:
        return self._with_changes(node, node.targets)

    def _with_changes(self, node: ast.Assign | ast.AugAssign | ast.Delete, targets: list[Any]) -> Any:
        """The statement, after a word about each object whose elements or attributes it writes."""
        owners = [
            copy.deepcopy(each.value)
            for target in targets
            for each in targets_of(target)
            if isinstance(each, ast.Subscript | ast.Attribute) and is_path(each.value)
        ]
        self.generic_visit(node)
        if not owners:
            return node
        words: list[ast.stmt] = []
        for owner in owners:
            for each in ast.walk(owner):
                if isinstance(each, ast.Name | ast.Attribute | ast.Subscript | ast.Starred | ast.List | ast.Tuple):
                    each.ctx = ast.Load()
            base: Any = owner
            while isinstance(base, ast.Attribute | ast.Subscript):
                base = base.value
            is_outside = isinstance(base, ast.Name) and base.id not in self.names
            words.append(ast.Expr(call_of("changing", self.visit(owner), ast.Constant(is_outside))))
        return placed(node, [*words, node])

    def visit_Try(self, node: ast.Try) -> Any:
        cells = self.cells
        # What the names hold where an exception arises is seen by the handlers: they are set as Python sets them.
        self.cells = {*cells, *assigned(node.body)}
        node.body = self.capture(node.body)
        self.cells = cells
        for handler in node.handlers:
            self.generic_visit(handler)
        node.orelse, node.finalbody = self.capture(node.orelse), self.capture(node.finalbody)
        if node.handlers:
            passed_on = placed(node.handlers[0], [ast.Raise()])
            first = ast.ExceptHandler(call_of("fault_kind"), None, passed_on)
            node.handlers.insert(0, ast.copy_location(first, node.handlers[0]))
            node.body = [*placed(node, [ast.Expr(call_of("handling"))]), *node.body]
        return node

    def visit_With(self, node: ast.With) -> Any:
        self.generic_visit(node)
        # What it enters may swallow errors, and is not to swallow that something can't be compiled.
        node.items.append(ast.withitem(call_of("watching")))
        return placed(node, [node, ast.Expr(call_of("expect_no_refusal"))])

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        # A function of its own: its loops are captured when it is called, if it can be.
        return _WithDoubtfulReads(self.doubtful).visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        return node

    def visit_For(self, node: ast.For) -> Any:
        names = handed_on(node, assigned([node.target, *node.body]))
        blocked = not can_stand_alone([node.target, *node.body], self.names) or bool(node.orelse)
        if blocked:
            return self.generic_visit(node)
        node.iter = self._rounds(node.iter)
        node.target = self.visit(node.target)
        node.body = self.capture(node.body)
        number = self._number()
        first = ast.Assign([node.target], ast.Name(f"{PREFIX}index", ast.Load()))
        body = function_of(
            f"{LOOP_BODY}{number}", [f"{PREFIX}index", *names], [*placed(node, [first]), *node.body], names, self.cells
        )
        entry = call_of(
            "run_for", node.iter, name_of_ours(f"{LOOP_BODY}{number}"), getters_of(names), _stops(node, names)
        )
        return placed(node, [body, assign(names, entry), *undefine(names)])

    def _rounds(self, node: ast.expr) -> ast.expr:
        """What a loop goes over, with `range` and its kin as what can be asked for a round of any number."""
        if (
            not isinstance(node, ast.Call)
            or not isinstance(node.func, ast.Name | ast.Attribute)
            or (node.func.id if isinstance(node.func, ast.Name) else node.func.attr) not in rounds.NAMES
            or any(isinstance(each, ast.Starred) for each in node.args)
        ):
            return self.visit(node)
        through = call_of(
            "over", name_of_ours("call"), self.visit(node.func), *(self._rounds(each) for each in node.args)
        )
        through.keywords = [ast.keyword(each.arg, self.visit(each.value)) for each in node.keywords]
        return ast.copy_location(through, node)

    def visit_While(self, node: ast.While) -> Any:
        names = handed_on(node, assigned([node.test, *node.body]))
        blocked = not can_stand_alone([node.test, *node.body], self.names) or bool(node.orelse)
        self.conditions.add(id(node.test))
        self.generic_visit(node)
        if blocked:
            return node
        number = self._number()
        test = function_of(f"test_{number}", names, [], names, self.cells)
        result = test.body.pop()
        assert isinstance(result, ast.Return) and result.value is not None
        test.body.append(ast.Return(ast.Tuple([node.test, result.value], ast.Load())))
        body = function_of(f"{LOOP_BODY}{number}", names, node.body, names, self.cells)
        functions = name_of_ours(f"test_{number}"), name_of_ours(f"{LOOP_BODY}{number}")
        entry = call_of("run_while", *functions, getters_of(names), _stops(node, names))
        return placed(node, [test, body, assign(names, entry), *undefine(names)])

    def visit_If(self, node: ast.If) -> Any:
        names = handed_on(node, assigned([*node.body, *node.orelse]))
        blocked = not can_stand_alone([*node.body, *node.orelse], self.names, loops=True)
        self.conditions.add(id(node.test))
        self.generic_visit(node)
        if blocked:
            return node
        number = self._number()
        then = function_of(f"then_{number}", names, node.body, names, self.cells)
        otherwise = function_of(f"else_{number}", names, node.orelse, names, self.cells)
        functions = name_of_ours(f"then_{number}"), name_of_ours(f"else_{number}")
        entry = call_of("run_if", node.test, *functions, getters_of(names))
        return placed(node, [then, otherwise, assign(names, entry), *undefine(names)])

    def capture(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The statements, captured."""
        return [piece for statement in body for piece in _as_list(self.visit(statement))]

    def _number(self) -> int:
        self.count += 1
        return self.count


class _WithDoubtfulReads(ast.NodeTransformer):
    """Looks at each name that an inner function reads of the function around it."""

    def __init__(self, names: Collection[str]) -> None:
        self.names = names

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        outer = self.names
        given = {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}
        self.names = {*outer} - given - set(assigned(node.body))
        node.body = [self.visit(each) for each in node.body]
        self.names = outer
        return node

    def visit_Name(self, node: ast.Name) -> Any:
        return _read(node, DOUBTFUL) if node.id in self.names and isinstance(node.ctx, ast.Load) else node


def _made(node: ast.expr) -> ast.expr:
    return ast.copy_location(call_of("made", node), node)


def _as_list(found: Any) -> list[ast.stmt]:
    return cast("list[ast.stmt]", found) if isinstance(found, list) else [found]


def _read(name: ast.expr, kind: str) -> ast.expr:
    """The read of a name that may hold an `Unsure`."""
    told = [ast.Constant(name.id)] if kind == DOUBTFUL and isinstance(name, ast.Name) else []
    return ast.copy_location(call_of(kind, name, *told), name)


def _stops(loop: ast.For | ast.While, names: list[str]) -> ast.expr:
    """Where among the names those are at which the loop ends."""
    stops: list[str] = getattr(loop, "stops", [])
    return ast.Tuple([ast.Constant(names.index(each)) for each in stops if each in names], ast.Load())
