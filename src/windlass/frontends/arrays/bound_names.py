"""Which names may be unbound where they are read: the flow of a function's statements, as Python runs them.

A name that a loop or branch binds on some ways only is, where that is not known while the function is compiled, an
`Unsure` (see `unsure.py`). So that nobody meets one unawares, each read of such a name is marked: as `certain` where
every way to it binds the name, else as `doubtful`, to be checked as the program runs.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

from windlass.frontends.arrays.statements import FUNCTIONS, assigned, targets_of

CERTAIN, DOUBTFUL = "certain", "bound"
"""How reads are marked, which is what is called for them in captured code."""
Bound = frozenset[str]


def mark_reads(definition: ast.FunctionDef, names: Collection[str]) -> frozenset[str]:
    """Mark the reads of the function's locals that a loop or branch may leave unbound; gives these names."""
    arguments = definition.args
    given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    start = frozenset(each.arg for each in given if each is not None)
    flow = _Flow(frozenset(names))
    flow.block(definition.body, start)
    for node, kind in flow.reads:
        if node.id in flow.unsure:
            vars(node)["read"] = kind
    return frozenset(flow.unsure)


class _Flow:
    """`None` stands for what is not reached."""

    def __init__(self, names: Bound) -> None:
        self.names = names
        self.unsure: set[str] = set()
        """Names that some loop or branch binds which were not bound before it."""
        self.reads: list[tuple[ast.Name, str]] = []
        self.broken: list[list[Bound]] = []
        """What is bound at each `break` of the loops around."""
        self.continued: list[list[Bound]] = []

    def block(self, body: Sequence[ast.stmt], bound: Bound | None) -> Bound | None:
        for statement in body:
            # What is not reached is read as if all were bound.
            after = self.statement(statement, self.names if bound is None else bound)
            bound = None if bound is None else after
        return bound

    def statement(self, statement: ast.stmt, bound: Bound) -> Bound | None:
        if isinstance(statement, ast.For | ast.While | ast.If):
            self.unsure |= {name for name in assigned([statement]) if name in self.names} - bound
        match statement:
            case ast.Return() | ast.Raise():
                self.children(statement, bound)
                return None
            case ast.Break():
                self.broken[-1].append(bound)
                return None
            case ast.Continue():
                self.continued[-1].append(bound)
                return None
            case ast.If():
                bound = self.expression(statement.test, bound)
                return _meet(self.block(statement.body, bound), self.block(statement.orelse, bound))
            case ast.While():
                return self._while(statement, bound)
            case ast.For() | ast.AsyncFor():
                bound = self.expression(statement.iter, bound)
                inside = self.target(statement.target, bound)
                _, broken = self._body(statement.body, inside)
                return _meet(self.block(statement.orelse, bound), *broken)
            case ast.With() | ast.AsyncWith():
                for item in statement.items:
                    bound = self.expression(item.context_expr, bound)
                    if item.optional_vars is not None:
                        bound = self.target(item.optional_vars, bound)
                return self.block(statement.body, bound)
            case ast.Try() | ast.TryStar():
                return self._try(statement, bound)
            case ast.Match():
                bound = self.expression(statement.subject, bound)
                ends: list[Bound | None] = [bound]
                for case in statement.cases:
                    inside = bound | frozenset(_captures(case.pattern))
                    if case.guard is not None:
                        inside = self.expression(case.guard, inside)
                    ends.append(self.block(case.body, inside))
                return _meet(*ends)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                return bound | {statement.name}
            case ast.Delete():
                return bound - {each.id for each in statement.targets if isinstance(each, ast.Name)}
            case ast.Import() | ast.ImportFrom():
                return bound | {(each.asname or each.name).split(".")[0] for each in statement.names}
            case ast.Assign():
                bound = self.expression(statement.value, bound)
                for target in statement.targets:
                    bound = self.target(target, bound)
                return bound
            case ast.AugAssign():
                if isinstance(statement.target, ast.Name):
                    self._read(statement.target, bound)
                bound = self.expression(statement.value, bound)
                return self.target(statement.target, bound)
            case ast.AnnAssign():
                if statement.value is None:
                    return bound
                return self.target(statement.target, self.expression(statement.value, bound))
            case _:
                return self.children(statement, bound)

    def _while(self, loop: ast.While, bound: Bound) -> Bound | None:
        after_test = self.expression(loop.test, bound)
        _, broken = self._body(loop.body, after_test)
        is_endless = isinstance(loop.test, ast.Constant) and bool(loop.test.value)
        ends = None if is_endless else self.block(loop.orelse, after_test)
        return _meet(ends, *broken)

    def _body(self, body: Sequence[ast.stmt], bound: Bound) -> tuple[Bound | None, list[Bound]]:
        self.broken.append([])
        self.continued.append([])
        end = self.block(body, bound)
        return _meet(end, *self.continued.pop()), self.broken.pop()

    def _try(self, statement: ast.Try | ast.TryStar, bound: Bound) -> Bound | None:
        end = self.block(statement.body, bound)
        end = None if end is None else self.block(statement.orelse, end)
        ends = [end]
        for handler in statement.handlers:
            ends.append(self.block(handler.body, bound | ({handler.name} if handler.name else set())))
        after = _meet(*ends)
        final = self.block(statement.finalbody, bound)
        return None if after is None or final is None else after | final

    def children(self, statement: ast.stmt, bound: Bound) -> Bound:
        for node in ast.iter_child_nodes(statement):
            if isinstance(node, ast.expr):
                bound = self.expression(node, bound)
        return bound

    def target(self, target: ast.expr, bound: Bound) -> Bound:
        for each in targets_of(target):
            if isinstance(each, ast.Name):
                bound |= {each.id}
            else:
                bound = self.expression(each, bound)
        return bound

    def expression(self, node: ast.AST, bound: Bound, hidden: Bound = frozenset(), is_later: bool = False) -> Bound:
        """Note what is read; gives what is bound afterwards in any case.

        `hidden` are names that mean others here, `is_later` says that it is not known when this is evaluated.
        """
        match node:
            case ast.Name(ctx=ast.Load()):
                if node.id not in hidden:
                    self._read(node, frozenset() if is_later else bound)
                return bound
            case ast.NamedExpr():
                return self.expression(node.value, bound, hidden, is_later) | {node.target.id}
            case ast.BoolOp() | ast.IfExp():
                first, *rest = node.values if isinstance(node, ast.BoolOp) else (node.test, node.body, node.orelse)
                bound = self.expression(first, bound, hidden, is_later)
                for each in rest:
                    self.expression(each, bound, hidden, is_later)
                return bound
            case ast.Lambda():
                arguments = node.args
                own = {each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
                own |= {each.arg for each in (arguments.vararg, arguments.kwarg) if each is not None}
                for default in (*arguments.defaults, *arguments.kw_defaults):
                    if default is not None:
                        self.expression(default, bound, hidden, is_later)
                self.expression(node.body, bound, hidden | own, True)
                return bound
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                own = {
                    each.id
                    for generator in node.generators
                    for each in ast.walk(generator.target)
                    if isinstance(each, ast.Name)
                }
                for child in ast.iter_child_nodes(node):
                    self.expression(child, bound, hidden | own, is_later)
                return bound
            case _ if isinstance(node, FUNCTIONS):
                return bound
            case _:
                for child in ast.iter_child_nodes(node):
                    bound = self.expression(child, bound, hidden, is_later)
                return bound

    def _read(self, node: ast.Name, bound: Bound) -> None:
        if node.id in self.names:
            self.reads.append((node, CERTAIN if node.id in bound else DOUBTFUL))


def _meet(*ways: Bound | None) -> Bound | None:
    """What is bound whichever way was taken."""
    reached = [way for way in ways if way is not None]
    if not reached:
        return None
    first, *rest = reached
    return first.intersection(*rest)


def _captures(pattern: ast.pattern) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(pattern):
        name = getattr(node, "name", None) or getattr(node, "rest", None)
        if isinstance(name, str):
            found.add(name)
    return found
