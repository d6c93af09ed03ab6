"""Each error code that the source names has a page, and each page a code that the source names."""

from __future__ import annotations

import re
from pathlib import Path

import windlass

SOURCE = Path(windlass.__file__).parent
PAGES = {page.stem: page for page in (SOURCE / "diagnostics" / "pages").glob("*.md")}


def list_codes_in_source() -> set[str]:
    files = [file for file in SOURCE.rglob("*.py") if file.name != "message.py"]
    return {code for file in files for code in re.findall(r'"(WL\d{4})"', file.read_text())}


def test_every_code_has_a_page() -> None:
    assert sorted(list_codes_in_source() - set(PAGES)) == []


def test_every_page_has_a_code() -> None:
    assert sorted(set(PAGES) - list_codes_in_source()) == []


def test_pages_begin_with_code_and_title_and_say_what_to_do() -> None:
    for code, page in PAGES.items():
        lines = page.read_text().splitlines()
        assert re.fullmatch(rf"# {code}: .+", lines[0]), page
        assert len(lines) > 3, page
