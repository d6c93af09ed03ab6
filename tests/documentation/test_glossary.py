"""The words of the glossary are in the files that it names, or are their names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| \*\*(.+?)\*\* \| `(.+?)` \| (.+?) \| (.+?) \|$", re.MULTILINE)
ROWS = ROW.findall((ROOT / "docs" / "glossary.md").read_text())


@pytest.mark.parametrize(("term", "name"), [row[:2] for row in ROWS], ids=[row[0] for row in ROWS])
def test_file_of_a_term_holds_it(term: str, name: str) -> None:
    folder = ROOT / ("docs" if name.endswith(".md") else "src/windlass")
    texts = [f"{file.stem} {' '.join(file.read_text().lower().split())}" for file in folder.rglob(name)]
    assert texts, f"there is no {name}"
    words = [re.sub(r"[ _-]", "[ _-]?", word) for word in term.lower().split(", ")]
    assert any(all(re.search(word, text) for word in words) for text in texts), f"{name} doesn't say '{term}'"


def test_each_row_is_read_and_no_term_twice() -> None:
    page = (ROOT / "docs" / "glossary.md").read_text()
    assert len(ROWS) == page.count("| **") > 50
    assert len({row[0] for row in ROWS}) == len(ROWS)
