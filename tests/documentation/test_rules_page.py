"""The page of the catalogue is the one that the rules make."""

from __future__ import annotations

import json
from pathlib import Path

from windlass.catalogue import catalogue
from windlass.command_line.catalogue import list_marks, make_page

FOLDER = Path(__file__).parents[2] / "docs" / "reference"
COUNTS = json.loads((FOLDER / "rule_counts.json").read_text())


def test_the_page_is_current() -> None:
    assert (FOLDER / "rules.md").read_text() == make_page(COUNTS), "run `make rules` (and `make rule-counts` at times)"


def test_the_page_tells_what_there_is_to_know_of_each_rule() -> None:
    page = make_page({"programs": 2, "rules": {"reverse_of_reverse": [5, 2]}})
    entry = page.partition("### reverse_of_reverse\n")[2].partition("###")[0]
    assert "reverse(reverse(x, d), e) = reverse(x, the axes in just one of d and e)" in entry
    assert ">>> reverse_of_reverse(" in entry
    assert "fires 5 times, in 2 programs" in entry
    for rule in catalogue:
        assert f"### {rule.name}\n" in page
        for mark in list_marks(rule):
            assert mark in page


def test_counts_are_of_rules_that_there_are() -> None:
    names = {each.name for each in (*catalogue, *catalogue.passes)}
    assert set(COUNTS["rules"]) <= names, "run `make rule-counts`"
