"""The page of the families names rules that there are."""

from __future__ import annotations

import re
from pathlib import Path

from windlass.catalogue import catalogue

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "families.md").read_text()


def test_rules_on_the_page_of_families_exist() -> None:
    named = set(re.findall(r"`([a-z][a-z0-9_]+)`", PAGE))
    known = {each.name for each in (*catalogue, *catalogue.passes)}
    assert len(named) > 300
    assert named <= known, sorted(named - known)
