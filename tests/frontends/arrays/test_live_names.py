"""Names that loops and branches hand on: those that somebody reads later, and no others; found in few trials."""

from __future__ import annotations

import ast
import textwrap
from typing import Any

import numpy as np
import pytest

import windlass as wl
from windlass.frontends.arrays import branches, carrying
from windlass.frontends.arrays.live_names import handed_on, mark_handed_on
from windlass.frontends.arrays.statements import assigned

CASES = {
    "own": ("for i in r:\n    t = i * 2\n    x[i] = t", {1: ""}),
    "read after": ("for i in r:\n    t = i * 2\nx[0] = t", {1: "t"}),
    "read in the next round": ("for i in r:\n    x[i] = t\n    t = i", {1: "t"}),
    "changed": ("for i in r:\n    t += i", {1: "t"}),
    "bound on one way": ("for i in r:\n    if c:\n        t = i\n    x[i] = t", {1: "t", 2: "t"}),
    "bound on both ways":
        ("for i in r:\n    if c:\n        t = 1\n    else:\n        t = 2\n    x[i] = t", {1: "", 2: "t"}),
    "a branch's own": ("for i in r:\n    if c:\n        t = i\n        x[i] = t", {1: "", 2: ""}),
    "read by an outer round": ("for i in r:\n    x[i] = t\n    for j in r:\n        t = j", {1: "t", 3: "t"}),
    "bound by an outer round":
        ("for i in r:\n    t = 0\n    for j in r:\n        t += j\n    x[i] = t", {1: "", 3: "t"}),
    "left early": ("for i in r:\n    t = i\n    if c:\n        break\n    t = 0\nx[0] = t", {1: "t", 3: ""}),
    "skipped": ("for i in r:\n    if c:\n        continue\n    t = i\n    x[i] = t", {1: "", 2: ""}),
    "no break": ("for i in r:\n    t = i\nelse:\n    x[0] = t", {1: "t"}),
    "while": ("while t > 0:\n    t = f(u)\n    u = t\n    v = u", {1: "t u"}),
    "bound by the test": ("while (n := f()) > 0:\n    x[0] = n", {1: "n"}),
    "the target": ("for i in r:\n    pass\nx[0] = i", {1: "i"}),
    "seen by a function within": ("for i in r:\n    t = i\n    f(lambda: s)\n    s = t", {1: "s"}),
    "seen by a handler": ("try:\n    for i in r:\n        t = i\nexcept E:\n    x[0] = t", {2: "t"}),
    "seen after a handler": ("try:\n    for i in r:\n        t = i\nexcept E:\n    pass\nx[0] = t", {2: "t"}),
    "swallowed": ("with f():\n    for i in r:\n        t = i\n    t = 0\nx[0] = t", {2: "t"}),
    "looked at": ("for i in r:\n    t = i\nf(locals())", {1: "i t"}),
    "deleted": ("for i in r:\n    t = i\ndel t", {1: "t"}),
    "matched": ("for i in r:\n    t = i\nmatch i:\n    case 1:\n        x[0] = t", {1: "i t"}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_names_that_may_be_read_later_are_handed_on(name: str) -> None:
    source, wanted = CASES[name]
    body = ast.parse(textwrap.dedent(source)).body
    mark_handed_on(body, (), {"s"})
    found = {
        node.lineno: set(handed_on(node, assigned([node])))
        for statement in body
        for node in ast.walk(statement)
        if isinstance(node, ast.For | ast.While | ast.If)
    }
    assert found == {line: set(names.split()) for line, names in wanted.items()}


def test_what_follows_the_statements_reads_names() -> None:
    body, end = ast.parse("for i in r:\n    t = i").body, ast.parse("f(t)").body
    mark_handed_on(body, end, ())
    assert isinstance(body[0], ast.For)
    assert handed_on(body[0], ["i", "t"]) == ["t"]


def test_nest_of_loops_with_a_branch_is_traced_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    def nest(x: Any, y: Any) -> None:
        for a in range(9):
            for b in range(9):
                for c in range(9):
                    for d in range(9):
                        if a >= b:
                            t = y[c] * y[d]
                            u = t + a
                            x[a, b] += u

    met: list[Any] = []
    run_on_trial = branches.run_on_trial

    def counted(*arguments: Any) -> Any:
        met.append(arguments)
        return run_on_trial(*arguments)

    monkeypatch.setattr(branches, "run_on_trial", counted)
    x, y = np.zeros((9, 9)), np.arange(9.0)
    wanted = x.copy()
    nest(wanted, y)
    wl.jit(nest)(x, y)
    np.testing.assert_allclose(x, wanted)
    assert 0 < len(met) < 20  # both sides of the branch, once for each loop around it, and at last


def test_first_values_of_names_have_the_type_that_a_round_gives_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def steps(x: Any, least: Any) -> Any:
        change, count = 1, 0
        while change > least:
            x *= 0.5
            change = x.sum()
            count += 1
        return change, count

    met: list[Any] = []
    settle = carrying.settled

    def counted(carried: Any, index: Any, body: Any, *is_sure_to_run: bool) -> Any:
        def advance(*arguments: Any) -> Any:
            met.append(arguments)
            return body(*arguments)

        return settle(carried, index, advance, *is_sure_to_run)

    monkeypatch.setattr("windlass.frontends.arrays.loops.settled", counted)
    x = np.ones(4)
    change, count = wl.jit(steps)(x, 0.1)
    assert (float(change), int(count)) == (0.0625, 6)
    assert len(met) == 1
