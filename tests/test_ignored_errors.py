"""Errors of types that lines are excused from: none may hide that a name is not there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
HIDING = re.compile(
    r"pyright: ignore(?!\[)|pyright: ignore\[[^]]*report(AttributeAccess|FunctionMemberAccess|OptionalMemberAccess"
    r"|UndefinedVariable|CallIssue|GeneralTypeIssues|MissingImports|MissingModuleSource)"
)


def test_no_excuse_hides_that_a_name_is_not_there() -> None:
    found = [
        f"{file.relative_to(ROOT)}:{number}"
        for file in sorted((ROOT / "src").rglob("*.py"))
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if HIDING.search(line)
    ]
    assert not found
