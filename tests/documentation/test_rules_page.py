"""The page of the catalogue is the one that the rules make."""

from __future__ import annotations

import json
import re
from pathlib import Path

from windlass.catalogue import catalogue
from windlass.command_line.catalogue import list_marks, make_page
from windlass.command_line.extras import REASONS, find_extras

FOLDER = Path(__file__).parents[2] / "docs" / "reference"
COUNTS = json.loads((FOLDER / "rule_counts.json").read_text())


def test_the_page_is_current() -> None:
    assert (FOLDER / "rules.md").read_text() == make_page(COUNTS), "run `make rules` (and `make rule-counts` at times)"


def test_the_page_tells_what_there_is_to_know_of_each_rule() -> None:
    page = make_page({"programs": 2, "rules": {"reverse_of_reverse": [5, 2, 1]}, "elsewhere": []})
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
    assert {*COUNTS["rules"], *COUNTS["elsewhere"]} <= names, "run `make rule-counts`"


def test_extras_have_a_reason() -> None:
    extras = find_extras(catalogue, COUNTS)
    of_others = set(re.findall(r"`(\w+)`", (FOLDER / "families.md").read_text()))
    of_others |= {rule.dual.name for rule in catalogue if rule.dual is not None and rule.name in of_others}
    alone = [rule for rule in catalogue if rule.name in extras - of_others]
    families = {rule.__module__.removeprefix("windlass.") for rule in alone}
    without = [f"{rule.name} ({rule.__module__})" for rule in alone if rule.__module__[9:] not in REASONS]
    assert not without, (
        f"fire in no program that was counted: {', '.join(without)}. If a program has them, run `make rule-counts`; if "
        "another optimizer does, name them in docs/reference/families.md; else say why their file's stay, in "
        "command_line/extras.py, or let them go"
    )
    assert families == set(REASONS), "what fires needs no reason"


def test_a_rule_that_fires_is_no_extra_nor_is_its_dual() -> None:
    names = find_extras(
        catalogue, {"programs": 1, "rules": {"and_absorbs_or": [3, 1, 1]}, "elsewhere": ["abs_of_negate"]}
    )
    assert names.isdisjoint({"and_absorbs_or", "or_absorbs_and", "abs_of_negate"})
    made_for = find_extras(catalogue, {"programs": 1, "rules": {"and_absorbs_or": [3, 1, 0]}, "elsewhere": []})
    assert {"and_absorbs_or", "or_absorbs_and"} <= made_for
