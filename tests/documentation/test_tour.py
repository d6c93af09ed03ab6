"""The tour shows what the compiler gives, at each door."""

from __future__ import annotations

import re

from tests.documentation.walk import PAGE, fill_page


def test_texts_of_the_tour_are_what_the_compiler_gives() -> None:
    page = PAGE.read_text()
    assert page == fill_page(page), "run `make tour`"


def test_rooms_of_the_tour_exist() -> None:
    source = PAGE.parents[1] / "src" / "windlass"
    rows = re.findall(r"^\| (`[^|]+`) \| .* \| `(\w+\.py)` \|$", PAGE.read_text(), re.MULTILINE)
    assert len(rows) > 12
    for names, start in rows:
        for name in re.findall(r"`([^`]+)`", names):
            assert (source / name / start).exists(), (name, start)
