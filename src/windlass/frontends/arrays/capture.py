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
import textwrap
from collections.abc import Callable, Collection
from types import CellType, CodeType, FunctionType
from typing import Any, cast

from windlass.frontends.arrays import branches, loops, states
from windlass.frontends.arrays.calls import call_foreign
from windlass.frontends.arrays.tracing import current_tracing, is_users_own

PREFIX = "__windlass_"
NOT_CALLED_THROUGH = frozenset({"range", "super", "locals", "globals", "vars", "dir", "eval", "exec"})
"""Functions that look at the frame which calls them, and `range`, which loops are known by."""
CHANGING_METHODS = frozenset(
    {
        "append",
        "extend",
        "insert",
        "pop",
        "remove",
        "clear",
        "add",
        "discard",
        "update",
        "setdefault",
        "popitem",
        "write",
    }
)
"""Methods that change Python's containers: a body that calls one is never run just once for all iterations."""
COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne",
}  # fmt: skip


def captured(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with its loops and branches captured; itself, where its source text can't be had."""
    if not isinstance(function, FunctionType):
        return function
    code = _captured_code(function.__code__)
    if code is None:
        return function
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    cells.update({name: CellType(value) for name, value in _ours().items()})
    closure = tuple(cells[name] for name in code.co_freevars)
    made = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, closure)
    made.__kwdefaults__ = function.__kwdefaults__
    made.__dict__.update(function.__dict__)
    return made


def _ours() -> dict[str, Any]:
    """What captured functions call, by the names that they have there."""
    return {
        f"{PREFIX}{name}": getattr(home, name) for home in (branches, loops, states) for name in home.ENTRY_POINTS
    } | {f"{PREFIX}call": call}


def call(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """`function(*arguments, **named)` within a captured function: the user's own functions are captured in turn."""
    tracing = current_tracing()
    if tracing is None:
        return function(*arguments, **named)
    if isinstance(function, FunctionType) and is_users_own(function.__code__):
        is_plain = not inspect.isgeneratorfunction(function) and not inspect.iscoroutinefunction(function)
        return (captured(function) if is_plain else function)(*arguments, **named)
    return call_foreign(tracing, function, arguments, named)


@functools.cache
def _captured_code(code: CodeType) -> CodeType | None:
    """The code of a function with its loops and branches captured; None where its source text can't be had."""
    try:
        lines, first = inspect.getsourcelines(code)
        text = textwrap.dedent("".join(lines))
        tree = ast.parse(text)
    except (OSError, TypeError, SyntaxError, IndentationError):
        return None
    definition = tree.body[0]
    if not isinstance(definition, ast.FunctionDef) or definition.name != code.co_name or _mangles(definition, code):
        return None
    indentation = len(lines[0]) - len(text.splitlines(keepends=True)[0])
    ast.increment_lineno(tree, first - 1)
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt | ast.expr | ast.arg) and node.end_col_offset is not None:
            node.col_offset += indentation
            node.end_col_offset += indentation
    definition.decorator_list = []
    definition.returns = None
    locals_ = {*code.co_varnames, *code.co_cellvars}
    visitor = _Capturing(locals_)
    definition.body = [piece for statement in definition.body for piece in _as_list(visitor.visit(statement))]
    definition.args = _without_defaults(definition.args)
    # A name of its own: within, the function's name stands for what it stands for in the user's code.
    name, definition.name = definition.name, f"{PREFIX}function"
    # Within a function that has the free variables as locals, so that the compiler makes them free here too.
    maker = ast.parse(f"def {PREFIX}maker({', '.join((*code.co_freevars, *_ours()))}):\n    pass\n").body[0]
    assert isinstance(maker, ast.FunctionDef)
    maker.body = [definition, ast.Return(ast.Name(definition.name, ast.Load()))]
    module = ast.fix_missing_locations(ast.Module([maker], []))
    made = _code_of(compile(module, code.co_filename, "exec", dont_inherit=True), definition.name)
    return made.replace(co_name=name, co_qualname=code.co_qualname)


def _mangles(definition: ast.FunctionDef, code: CodeType) -> bool:
    """Whether names may mean others, as `self.__x` does within a class."""
    names = [node.attr for node in ast.walk(definition) if isinstance(node, ast.Attribute)]
    names += [node.id for node in ast.walk(definition) if isinstance(node, ast.Name)]
    return "." in code.co_qualname and any(name.startswith("__") and not name.endswith("__") for name in names)


def _code_of(code: CodeType, name: str) -> CodeType:
    (maker,) = (each for each in code.co_consts if isinstance(each, CodeType))
    return next(each for each in maker.co_consts if isinstance(each, CodeType) and each.co_name == name)


def _without_defaults(arguments: ast.arguments) -> ast.arguments:
    """The parameters alone: default values and annotations were computed when the function was defined."""
    bare = copy.deepcopy(arguments)
    bare.defaults = [ast.Constant(None) for _ in bare.defaults]
    bare.kw_defaults = [None if each is None else ast.Constant(None) for each in bare.kw_defaults]
    for argument in (*bare.posonlyargs, *bare.args, *bare.kwonlyargs, bare.vararg, bare.kwarg):
        if argument is not None:
            argument.annotation = None
    return bare


class _Capturing(ast.NodeTransformer):
    """Replaces loops and branches, inner ones first."""

    def __init__(self, names: Collection[str]) -> None:
        self.names = names
        """Those that are the function's own; others are from outside."""
        self.count = 0
        self.conditions: set[int] = set()
        """Nodes of which only the truth is asked for."""

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in NOT_CALLED_THROUGH:
            return node
        through = _call("call", node.func, *node.args)
        assert isinstance(through, ast.Call)
        through.keywords = node.keywords
        ast.copy_location(through.func, node.func)
        return ast.copy_location(through, node)

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        is_condition = id(node) in self.conditions
        if is_condition:
            self.conditions |= {id(each) for each in node.values}
        can_wait = all(_can_wait(each) for each in node.values[1:])
        self.generic_visit(node)
        if not can_wait:
            return node
        *first, found = node.values
        for left in reversed(first):
            name = "both" if isinstance(node.op, ast.And) else "either"
            found = ast.copy_location(_call(name, left, _later(found), ast.Constant(is_condition)), node)
        return found

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        if not isinstance(node.op, ast.Not):
            return self.generic_visit(node)
        self.conditions.add(id(node.operand))
        self.generic_visit(node)
        return ast.copy_location(_call("negated", node.operand), node)

    def visit_Compare(self, node: ast.Compare) -> Any:
        can_wait = all(_can_wait(each) for each in node.comparators)
        self.generic_visit(node)
        names = [COMPARISONS.get(type(each)) for each in node.ops]
        if len(names) == 1 or None in names or not can_wait:
            return node
        operands = [node.left, *map(_later, node.comparators)]
        return ast.copy_location(
            _call("compared", ast.Tuple([ast.Constant(each) for each in names], ast.Load()), *operands), node
        )

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        self.conditions.add(id(node.test))
        can_wait = _can_wait(node.body) and _can_wait(node.orelse)
        self.generic_visit(node)
        if not can_wait:
            return node
        return ast.copy_location(_call("choose", node.test, _later(node.body), _later(node.orelse)), node)

    def visit_Assign(self, node: ast.Assign) -> Any:
        return self._with_changes(node, node.targets)

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        return self._with_changes(node, [node.target])

    def _with_changes(self, node: ast.Assign | ast.AugAssign, targets: list[Any]) -> Any:
        """The statement, after a word about each object whose elements or attributes it writes."""
        owners = [
            copy.deepcopy(each.value)
            for target in targets
            for each in _targets(target)
            if isinstance(each, ast.Subscript | ast.Attribute) and _is_path(each.value)
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
            words.append(ast.Expr(_call("changing", owner, ast.Constant(is_outside))))
        return _placed(node, [*words, node])

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        return node  # a function of its own: its loops are left alone

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        return node

    def visit_For(self, node: ast.For) -> Any:
        names = _assigned([node.target, *node.body])
        blocked = not _can_stand_alone(node.body) or bool(node.orelse)
        self.generic_visit(node)
        call = node.iter
        if (
            blocked
            or not isinstance(node.target, ast.Name)
            or not isinstance(call, ast.Call)
            or not isinstance(call.func, ast.Name)
            or call.func.id != "range"
            or call.keywords
            or any(isinstance(argument, ast.Starred) for argument in call.args)
        ):
            return node
        number = self._number()
        body = _function(f"body_{number}", [f"{PREFIX}index", *names], node.body, names)
        first = ast.Assign([ast.Name(node.target.id, ast.Store())], ast.Name(f"{PREFIX}index", ast.Load()))
        body.body.insert(0, first)
        entry = _call("run_for", call.func, ast.Tuple(call.args, ast.Load()), _name(body.name), _getters(names))
        return _placed(node, [body, _assign(names, entry), *_undefine(names)])

    def visit_While(self, node: ast.While) -> Any:
        names = _assigned([node.test, *node.body])
        blocked = not _can_stand_alone(node.body) or bool(node.orelse)
        self.conditions.add(id(node.test))
        self.generic_visit(node)
        if blocked:
            return node
        number = self._number()
        test = _function(f"test_{number}", names, [], names)
        bound = _call("values_of", _getters(names))
        test.body = [*_undefine(names), ast.Return(ast.Tuple([node.test, bound], ast.Load()))]
        body = _function(f"body_{number}", names, node.body, names)
        entry = _call("run_while", _name(test.name), _name(body.name), _getters(names))
        return _placed(node, [test, body, _assign(names, entry), *_undefine(names)])

    def visit_If(self, node: ast.If) -> Any:
        names = _assigned([*node.body, *node.orelse])
        blocked = not _can_stand_alone(node.body, loops=True) or not _can_stand_alone(node.orelse, loops=True)
        self.conditions.add(id(node.test))
        self.generic_visit(node)
        if blocked:
            return node
        number = self._number()
        then = _function(f"then_{number}", names, node.body, names)
        otherwise = _function(f"else_{number}", names, node.orelse, names)
        entry = _call("run_if", node.test, _name(then.name), _name(otherwise.name), _getters(names))
        return _placed(node, [then, otherwise, _assign(names, entry), *_undefine(names)])

    def _number(self) -> int:
        self.count += 1
        return self.count


def _targets(target: ast.expr) -> list[ast.expr]:
    if isinstance(target, ast.Tuple | ast.List):
        return [each for element in target.elts for each in _targets(element)]
    return _targets(target.value) if isinstance(target, ast.Starred) else [target]


def _is_path(owner: ast.expr) -> bool:
    """Whether it may be evaluated twice: names, attributes, and elements at names or constants."""
    if isinstance(owner, ast.Name):
        return True
    if isinstance(owner, ast.Attribute):
        return _is_path(owner.value)
    return (
        isinstance(owner, ast.Subscript) and isinstance(owner.slice, ast.Name | ast.Constant) and _is_path(owner.value)
    )


def _can_stand_alone(body: list[ast.stmt], loops: bool = False) -> bool:
    """Whether the statements may become a function of their own: no way out, nothing that the names don't show."""
    for node in _own_nodes(body):
        if isinstance(
            node,
            ast.Return
            | ast.Yield
            | ast.YieldFrom
            | ast.Await
            | ast.Global
            | ast.Nonlocal
            | ast.Delete
            | ast.Import
            | ast.ImportFrom
            | ast.AsyncFor
            | ast.AsyncWith
            | ast.Raise
            | ast.Try,
        ):
            return False
        if isinstance(node, ast.Break | ast.Continue) and not _is_within_loop(body, node):
            return False
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in CHANGING_METHODS
            and isinstance(node.func.value, ast.Name)
            and not loops
        ):
            return False
    return True


def _can_wait(node: ast.expr) -> bool:
    """Whether the expression may become a function without arguments: it binds no name and looks at no frame."""
    return not any(
        isinstance(each, ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom)
        or (isinstance(each, ast.Name) and each.id in NOT_CALLED_THROUGH - {"range"})
        for each in ast.walk(node)
    )


def _is_within_loop(body: list[ast.stmt], wanted: ast.AST) -> bool:
    return any(
        isinstance(node, ast.For | ast.While) and any(inner is wanted for inner in ast.walk(node))
        for node in _own_nodes(body)
    )


def _own_nodes(body: list[ast.stmt]) -> list[ast.AST]:
    """All nodes, those of functions and classes within left out."""
    found: list[ast.AST] = []
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        found.append(node)
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            waiting += ast.iter_child_nodes(node)
    return found


def _assigned(nodes: list[Any]) -> list[str]:
    """The names that the nodes bind, in order of their first appearance in the source, ours left out."""
    names: list[tuple[int, int, str]] = []
    comprehensions = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    inside: set[int] = set()
    for node in _own_nodes(nodes):
        if isinstance(node, comprehensions):
            inside |= {id(each) for generator in node.generators for each in ast.walk(generator.target)}
    for node in _own_nodes(nodes):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in inside:
            names.append((node.lineno, node.col_offset, node.id))
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.append((node.lineno, node.col_offset, node.name))
    ordered = dict.fromkeys(name for _, _, name in sorted(names))
    return [name for name in ordered if not name.startswith(PREFIX)]


def _function(name: str, parameters: list[str], body: list[ast.stmt], results: list[str]) -> ast.FunctionDef:
    """A function of the names, which gives them back (the getters tell which are bound)."""
    arguments = ast.arguments([], [ast.arg(each) for each in parameters], None, [], [], None, [])
    returned = ast.Return(_call("values_of", _getters(results)))
    return ast.FunctionDef(PREFIX + name, arguments, [*_undefine(parameters), *body, returned], [])


def _getters(names: list[str]) -> ast.expr:
    return ast.Tuple([_later(ast.Name(name, ast.Load())) for name in names], ast.Load())


def _later(value: ast.expr) -> ast.expr:
    """A function without arguments that gives the value."""
    made = ast.Lambda(ast.arguments([], [], None, [], [], None, []), value)
    return ast.copy_location(made, value) if hasattr(value, "lineno") else made


def _assign(names: list[str], value: ast.expr) -> ast.stmt:
    if not names:
        return ast.Expr(value)
    return ast.Assign([ast.Tuple([ast.Name(name, ast.Store()) for name in names], ast.Store())], value)


def _undefine(names: list[str]) -> list[ast.stmt]:
    """`if name is UNDEFINED: del name`, so that using it is the error that it would be without us."""
    return [
        ast.If(
            ast.Compare(ast.Name(name, ast.Load()), [ast.Is()], [_name(f"{PREFIX}UNDEFINED")]),
            [ast.Delete([ast.Name(name, ast.Del())])],
            [],
        )
        for name in names
        if not name.startswith(PREFIX)
    ]


def _call(name: str, *arguments: ast.expr) -> ast.expr:
    return ast.Call(_name(PREFIX + name), list(arguments), [])


def _name(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _placed(node: ast.stmt, statements: list[ast.stmt]) -> list[ast.stmt]:
    """The statements, with the source position of the one they stand for where they have none of their own."""
    for statement in statements:
        for each in ast.walk(statement):
            if isinstance(each, ast.stmt | ast.expr | ast.arg) and not hasattr(each, "lineno"):
                each.lineno, each.col_offset = node.lineno, node.col_offset
                each.end_lineno, each.end_col_offset = node.lineno, node.col_offset
    return statements


def _as_list(found: Any) -> list[ast.stmt]:
    return cast("list[ast.stmt]", found) if isinstance(found, list) else [found]
