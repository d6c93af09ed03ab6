"""The syntax tree of a function's definition, read from its source text and held to the code that Python runs."""

from __future__ import annotations
import __future__

import ast
import copy
import functools
import linecache
from collections.abc import Collection
from types import CodeType

FUTURE = sum({getattr(__future__, name).compiler_flag for name in __future__.all_feature_names})
REWRITTEN = "@pytest_ar"
"""A name in code of which pytest has rewritten the assertions."""


def definition_of(code: CodeType, ours: str) -> ast.FunctionDef | None:
    """The definition that the code was compiled from, by `def` or `lambda`, with the positions that it has in its file.

    None where the text can't be had (at the interactive prompt, by `exec`) or has been changed since. Names that begin
    with `ours` are not of the text: they are in code that was compiled from a changed tree.

    >>> ast.unparse(definition_of((lambda x: x + 1).__code__, "_").body[0])
    'return x + 1'
    """
    tree = tree_of(code.co_filename)
    if tree is None:
        return None
    is_changed = REWRITTEN in code.co_names or any(
        name.startswith(ours) for name in (*code.co_freevars, *code.co_names, *code.co_varnames)
    )
    if not is_changed and not any(_are_same(each, code) for each in _codes_of(code)):
        return None
    found = copy.deepcopy(_lambda_of(code, tree) if code.co_name == "<lambda>" else _function_of(code, tree))
    if found is None or _mangles(found, code):
        return None
    if isinstance(found, ast.Lambda):
        bare = ast.parse("def f(): pass").body[0]
        assert isinstance(bare, ast.FunctionDef)
        bare.args, bare.body = without_defaults(found.args), [ast.copy_location(ast.Return(found.body), found.body)]
        return ast.copy_location(bare, found)
    found.decorator_list, found.returns, found.args = [], None, without_defaults(found.args)
    return found


def code_within(definition: ast.FunctionDef, names: Collection[str], code: CodeType) -> CodeType:
    """The code of the definition within a function that has `names` as locals, so that they are free in it.

    It has the file of `code`, and what that imports: how a name is called depends on whether the file imports it, and
    functions within are known by their code.
    """
    maker = ast.parse(f"def maker({', '.join(names)}):\n    pass\n").body[0]
    assert isinstance(maker, ast.FunctionDef)
    maker.body = [definition, ast.Return(ast.Name(definition.name, ast.Load()))]
    imports = [ast.Import([ast.alias(name)]) for name in sorted(_imported(_text_of(code.co_filename)))]
    module = ast.fix_missing_locations(ast.Module([*imports, maker], []))
    made = compile(module, code.co_filename, "exec", flags=code.co_flags & FUTURE, dont_inherit=True)
    (outer,) = _codes_in(made)
    return next(each for each in _codes_in(outer) if each.co_name == definition.name)


@functools.lru_cache(maxsize=16)
def _imported(text: str) -> frozenset[str]:
    """The names that a file imports outside of its functions and classes."""
    tree = _parsed(text)
    found: set[str] = set()
    waiting: list[ast.AST] = [] if tree is None else [*tree.body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            found |= {each.asname or each.name.partition(".")[0] for each in node.names}
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.expr):
            waiting += ast.iter_child_nodes(node)
    return frozenset(found - {"*"})


def without_defaults(arguments: ast.arguments) -> ast.arguments:
    """The parameters alone: default values and annotations were computed when the function was defined."""
    bare = copy.deepcopy(arguments)
    bare.defaults = [ast.Constant(None) for _ in bare.defaults]
    bare.kw_defaults = [None if each is None else ast.Constant(None) for each in bare.kw_defaults]
    for argument in (*bare.posonlyargs, *bare.args, *bare.kwonlyargs, bare.vararg, bare.kwarg):
        if argument is not None:
            argument.annotation = None
    return bare


def tree_of(file: str) -> ast.Module | None:
    """The syntax tree of a file, or of a notebook's cell, as it is now; None where there is none. Not to be changed."""
    return _parsed(_text_of(file))


def _text_of(file: str) -> str:
    linecache.checkcache(file)
    return "".join(linecache.getlines(file))


@functools.lru_cache(maxsize=16)
def _parsed(text: str) -> ast.Module | None:
    try:
        return ast.parse(text) if text else None
    except (SyntaxError, ValueError):
        return None


def _codes_of(code: CodeType) -> list[CodeType]:
    """What the text of the code's file is compiled to, as far as it begins where the code does.

    The file as a whole: how a name is called depends on whether the file imports it.
    """
    compiled = _compiled(_text_of(code.co_filename), code.co_filename, code.co_flags & FUTURE)
    return compiled.get((code.co_name, code.co_firstlineno), [])


@functools.lru_cache(maxsize=16)
def _compiled(text: str, file: str, flags: int) -> dict[tuple[str, int], list[CodeType]]:
    waiting = [compile(text, file, "exec", flags=flags, dont_inherit=True)]
    found: dict[tuple[str, int], list[CodeType]] = {}
    while waiting:
        code = waiting.pop()
        found.setdefault((code.co_name, code.co_firstlineno), []).append(code)
        waiting += _codes_in(code)
    return found


def _function_of(code: CodeType, tree: ast.Module) -> ast.FunctionDef | None:
    """The definition by `def` that begins, with its decorators, in the line in which the code does."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            first = min((node.lineno, *(each.lineno for each in node.decorator_list)))
            if first == code.co_firstlineno:
                return node
    return None


def _lambda_of(code: CodeType, tree: ast.Module) -> ast.Lambda | None:
    """The lambda, of perhaps several in a line, in which all instructions of the code stand: the innermost one."""
    places = [
        ((line, column), (last, end))
        for line, last, column, end in code.co_positions()
        if line is not None and last is not None and column is not None and end is not None
        if (line, column) != (last, end)
    ]
    found: ast.Lambda | None = None
    for node in ast.walk(tree):  # outer ones come first
        if isinstance(node, ast.Lambda) and node.lineno == code.co_firstlineno:
            start, stop = _span(node.body)
            if all(start <= first and last <= stop for first, last in places):
                found = node
    return found


def _span(node: ast.expr) -> tuple[tuple[int, int], tuple[int, int]]:
    line, column = node.end_lineno, node.end_col_offset
    assert line is not None and column is not None
    return (node.lineno, node.col_offset), (line, column)


def _mangles(definition: ast.AST, code: CodeType) -> bool:
    """Whether names may mean others, as `self.__x` does within a class."""
    names = [node.attr for node in ast.walk(definition) if isinstance(node, ast.Attribute)]
    names += [node.id for node in ast.walk(definition) if isinstance(node, ast.Name)]
    return "." in code.co_qualname and any(name.startswith("__") and not name.endswith("__") for name in names)


def _codes_in(code: CodeType) -> list[CodeType]:
    return [each for each in code.co_consts if isinstance(each, CodeType)]


def _are_same(one: CodeType, other: CodeType) -> bool:
    """Whether two codes do the same, instruction by instruction."""
    return (
        one.co_code == other.co_code
        and one.co_names == other.co_names
        and one.co_varnames == other.co_varnames
        and len(one.co_consts) == len(other.co_consts)
        and all(map(_are_same_constants, one.co_consts, other.co_consts))
    )


def _are_same_constants(one: object, other: object) -> bool:
    if isinstance(one, CodeType) and isinstance(other, CodeType):
        return _are_same(one, other)
    if isinstance(one, frozenset):
        return one == other
    return type(one) is type(other) and repr(one) == repr(other)
