"""Statements of a function's syntax tree: what they bind, whether they may become functions of their own, and the
pieces that such functions and the calls of them are written with.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from typing import Any, cast

PREFIX = "__windlass_"
"""What the names of our functions begin with in captured code."""
LOOP_BODY = "body_"
"""What the names of our functions go on with that are bodies of loops."""
EXIT_PREFIX = "__exits_"
"""What the names begin with that tell which way a loop or function was left (see `exits.py`); they are carried."""
LOOKING_AT_FRAMES = frozenset({"super", "locals", "globals", "vars", "dir", "eval", "exec"})
"""Functions that look at the frame which calls them."""
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
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
UNMOVABLE = (
    ast.Return, ast.Yield, ast.YieldFrom, ast.Await, ast.Global, ast.Nonlocal, ast.Delete, ast.Import, ast.ImportFrom,
    ast.AsyncFor, ast.AsyncWith, ast.Raise, ast.Try, ast.TryStar,
)  # fmt: skip
"""What means something else in a function of its own, or must not run where it is not reached."""

# -- questions --------------------------------------------------------------------------------------------------------


def can_stand_alone(body: Sequence[ast.AST], names: Collection[str], loops: bool = False) -> bool:
    """Whether the statements may become a function: no way out, nothing that the names don't show.

    `names` are the locals of the function that they are in; with `loops` they may change containers.
    """
    for node in own_nodes(body):
        if isinstance(node, UNMOVABLE):
            return False
        if isinstance(node, ast.Break | ast.Continue) and not _is_within_loop(body, node):
            return False
        if isinstance(node, ast.Name) and (
            node.id in LOOKING_AT_FRAMES
            or (isinstance(node.ctx, ast.Store) and node.id not in names and not node.id.startswith("__"))
        ):
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


def can_wait(node: ast.expr) -> bool:
    """Whether the expression may become a function without arguments: it binds no name and looks at no frame."""
    return not any(
        isinstance(each, ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom)
        or (isinstance(each, ast.Name) and each.id in LOOKING_AT_FRAMES)
        for each in ast.walk(node)
    )


def is_path(owner: ast.expr) -> bool:
    """Whether it may be evaluated twice: names, attributes, and elements at names or constants."""
    if isinstance(owner, ast.Name):
        return True
    if isinstance(owner, ast.Attribute):
        return is_path(owner.value)
    return (
        isinstance(owner, ast.Subscript) and isinstance(owner.slice, ast.Name | ast.Constant) and is_path(owner.value)
    )


def targets_of(target: ast.expr) -> list[ast.expr]:
    """The single targets that a target of an assignment is made of."""
    if isinstance(target, ast.Tuple | ast.List):
        return [each for element in target.elts for each in targets_of(element)]
    return targets_of(target.value) if isinstance(target, ast.Starred) else [target]


def _is_within_loop(body: Sequence[ast.AST], wanted: ast.AST) -> bool:
    return any(
        isinstance(node, ast.For | ast.While)
        and any(inner is wanted for statement in node.body for inner in ast.walk(statement))
        for node in own_nodes(body)
    )


def own_nodes(body: Sequence[ast.AST]) -> list[ast.AST]:
    """All nodes, those of functions and classes within left out."""
    found: list[ast.AST] = []
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        found.append(node)
        if not isinstance(node, FUNCTIONS):
            waiting += ast.iter_child_nodes(node)
    return found


def assigned(nodes: Sequence[ast.AST]) -> list[str]:
    """The names that the nodes bind, in order of their first appearance in the source, ours left out.

    Of those that tell how loops are left only what is of use outside: what the nodes themselves unbind is not.
    """
    names: list[tuple[int, int, str]] = []
    comprehensions = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    inside: set[int] = set()
    own: set[str] = set()
    for node in own_nodes(nodes):
        if isinstance(node, comprehensions):
            inside |= {id(each) for generator in node.generators for each in ast.walk(generator.target)}
        elif isinstance(node, ast.Assign) and is_reset(node):
            own.add(cast("ast.Name", node.targets[0]).id)
    for node in own_nodes(nodes):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in inside:
            names.append((getattr(node, "lineno", 0), getattr(node, "col_offset", 0), node.id))
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.append((node.lineno, node.col_offset, node.name))
    ordered = dict.fromkeys(name for _, _, name in sorted(names))
    return [name for name in ordered if not name.startswith(PREFIX) and name not in own]


# -- pieces of captured code ------------------------------------------------------------------------------------------


def name_of_ours(name: str) -> ast.Name:
    """One of our functions or values, by its name."""
    return ast.Name(PREFIX + name, ast.Load())


def call_of(name: str, *arguments: ast.expr) -> ast.Call:
    """A call of one of our functions."""
    return ast.Call(name_of_ours(name), list(arguments), [])


def function_of(
    name: str, parameters: Sequence[str], body: Sequence[ast.stmt], results: Sequence[str], cells: Collection[str]
) -> ast.FunctionDef:
    """A function of the names, which gives them back (the getters tell which are bound).

    What inner functions see of the names (`cells`) has to be the user's own variables: they are set, not shadowed.
    """
    shared = [each for each in parameters if each in cells]
    arguments = ast.arguments(
        [], [ast.arg(f"{PREFIX}given_{each}" if each in cells else each) for each in parameters], None, [], [], None, []
    )
    first: list[ast.stmt] = []
    if shared:
        first.append(ast.Nonlocal(shared))
        first += [
            ast.Assign([ast.Name(each, ast.Store())], ast.Name(f"{PREFIX}given_{each}", ast.Load())) for each in shared
        ]
    returned = ast.Return(call_of("values_of", getters_of(results)))
    return ast.FunctionDef(PREFIX + name, arguments, [*first, *undefine(parameters), *body, returned], [])


def getters_of(names: Sequence[str]) -> ast.expr:
    """A tuple of functions that give the names' values."""
    return ast.Tuple([later(ast.Name(name, ast.Load())) for name in names], ast.Load())


def later(value: ast.expr) -> ast.expr:
    """A function without arguments that gives the value."""
    made = ast.Lambda(ast.arguments([], [], None, [], [], None, []), value)
    return ast.copy_location(made, value) if hasattr(value, "lineno") else made


def assign(names: Sequence[str], value: ast.expr) -> ast.stmt:
    """`names = value`, or the value alone where there are no names."""
    if not names:
        return ast.Expr(value)
    return ast.Assign([ast.Tuple([ast.Name(name, ast.Store()) for name in names], ast.Store())], value)


def undefine(names: Sequence[str]) -> list[ast.stmt]:
    """`if name is UNDEFINED: del name`, so that using it is the error that it would be without us."""
    return [
        ast.If(
            ast.Compare(ast.Name(name, ast.Load()), [ast.Is()], [name_of_ours("UNDEFINED")]),
            [ast.Delete([ast.Name(name, ast.Del())])],
            [],
        )
        for name in names
        if not name.startswith(PREFIX)
    ]


def reset(name: str) -> ast.Assign:
    """`name = UNDEFINED`: from here on the name tells nothing."""
    return ast.Assign([ast.Name(name, ast.Store())], name_of_ours("UNDEFINED"))


def is_reset(node: ast.Assign) -> bool:
    """Whether the statement is one of `reset`."""
    return isinstance(node.value, ast.Name) and node.value.id == f"{PREFIX}UNDEFINED"


def placed(node: ast.AST, statements: list[ast.stmt]) -> list[ast.stmt]:
    """The statements, with the source position of the one they stand for where they have none of their own."""
    place: Any = node
    for statement in statements:
        for each in ast.walk(statement):
            if isinstance(each, ast.stmt | ast.expr | ast.arg) and not hasattr(each, "lineno"):
                each.lineno, each.col_offset = place.lineno, place.col_offset
                each.end_lineno, each.end_col_offset = place.lineno, place.col_offset
    return statements
