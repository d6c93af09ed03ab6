"""Which names loops and branches have to hand on: those that may be read after them, or in a later round.

A name that each round binds before it reads it, and that nobody reads after the loop, is the body's own. It is not
carried: nothing has to be found out of what it holds from round to round, which takes running the body on trial.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

from windlass.frontends.arrays.statements import EXIT_PREFIX, LOOKING_AT_FRAMES, targets_of

Names = frozenset[str]
NONE: Names = frozenset()


def mark_handed_on(body: Sequence[ast.stmt], end: Sequence[ast.stmt], cells: Collection[str]) -> None:
    """Mark each loop and branch with the names that it hands on (`handed_on`).

    `body` are a function's statements, which `end` follows; `cells` are names that functions within it see.
    """
    everything = [node for statement in (*body, *end) for node in ast.walk(statement)]
    if any(isinstance(node, ast.Name) and node.id in LOOKING_AT_FRAMES for node in everything):
        return
    flow = _Flow(frozenset(cells))
    flow.block(body, flow.block(end, NONE))


def handed_on(node: ast.For | ast.While | ast.If, names: Sequence[str]) -> list[str]:
    """Those of the names that a loop or branch has to hand on."""
    live: Names | None = getattr(node, "handed_on", None)
    return [name for name in names if live is None or name in live or name.startswith(EXIT_PREFIX)]


class _Flow:
    """Walks backwards: from the names that may be read after statements to those that may be read from them on."""

    def __init__(self, always: Names) -> None:
        self.always = always
        """Names that may be read after any statement: by functions within, and by handlers of exceptions."""
        self.after_break: list[Names] = []
        self.after_continue: list[Names] = []

    def block(self, body: Sequence[ast.stmt], live: Names) -> Names:
        for statement in reversed(body):
            live = self.statement(statement, live | self.always)
        return live | self.always

    def statement(self, statement: ast.stmt, live: Names) -> Names:
        match statement:
            case ast.Return() | ast.Raise():
                return _reads(statement)
            case ast.Break():
                return self.after_break[-1]
            case ast.Continue():
                return self.after_continue[-1]
            case ast.If():
                inside = self.block(statement.body, live) | self.block(statement.orelse, live)
                vars(statement)["handed_on"] = live | inside
                return _reads(statement.test) | inside
            case ast.For() | ast.AsyncFor():
                bound = {each.id for each in targets_of(statement.target) if isinstance(each, ast.Name)}
                ends = self.block(statement.orelse, live)
                begins = self._round(statement, live, ends, _reads(statement.target), frozenset(bound))
                return _reads(statement.iter) | begins
            case ast.While():
                return self._round(statement, live, self.block(statement.orelse, live), _reads(statement.test), NONE)
            case ast.With() | ast.AsyncWith():
                read = _reads(*(each.context_expr for each in statement.items))
                return read | self._guarded(statement.body, live, live)  # it may swallow an exception
            case ast.Try() | ast.TryStar():
                last = self.block(statement.finalbody, live)
                handled = last.union(*(self.block(each.body, last) for each in statement.handlers))
                handled = handled.union(*(_reads(each.type) for each in statement.handlers if each.type is not None))
                return self._guarded([*statement.body, *statement.orelse], last, handled)
            case ast.Match():
                ways = [self.block(case.body, live) | _reads(case.pattern) for case in statement.cases]
                guards = [_reads(case.guard) for case in statement.cases if case.guard is not None]
                return _reads(statement.subject).union(live, *ways, *guards)
            case ast.Assign():
                bound = {e.id for t in statement.targets for e in targets_of(t) if isinstance(e, ast.Name)}
                return (live - bound) | _reads(statement)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
                return (live - {name}) | _reads(statement)
            case ast.AugAssign(target=ast.Name(id=name)):
                return live | {name} | _reads(statement)
            case ast.Delete():
                return live | {each.id for each in statement.targets if isinstance(each, ast.Name)} | _reads(statement)
            case _:
                return live | _reads(statement)

    def _round(
        self, loop: ast.For | ast.AsyncFor | ast.While, live: Names, ends: Names, read: Names, bound: Names
    ) -> Names:
        """What may be read from a loop's head on, where a round begins by reading and binding names, or the loop ends.

        `live` may be read after it, `ends` where it ends by itself.
        """
        head = ends | read
        self.after_break.append(live)
        while True:
            self.after_continue.append(head)
            more = head | read | (self.block(loop.body, head) - bound)
            self.after_continue.pop()
            if more == head:
                break
            head = more
        self.after_break.pop()
        vars(loop)["handed_on"] = head | live
        return head

    def _guarded(self, body: Sequence[ast.stmt], live: Names, handled: Names) -> Names:
        """What may be read from statements on that may end anywhere, `handled` being read then."""
        before, self.always = self.always, self.always | handled
        try:
            return self.block(body, live)
        finally:
            self.always = before


def _reads(*nodes: ast.AST) -> Names:
    """The names that nodes may read, those of functions within included."""
    return frozenset(
        each.id
        for node in nodes
        for each in ast.walk(node)
        if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Store)
    )


__all__ = ["handed_on", "mark_handed_on"]
