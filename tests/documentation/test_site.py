"""The site is built of every page, and its links lead somewhere: to pages that exist, and headings that they have."""

from __future__ import annotations

import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

ROOT = Path(__file__).parents[2]


class Links(HTMLParser):
    """What a page links to, and what can be linked to on it."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.targets: set[str] = set()
        self.names: set[str] = set()
        self.feed(page.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.targets.add(value)
            elif name == "id" and value:
                self.names.add(value)


def test_links_of_the_site_lead_somewhere(tmp_path: Path) -> None:
    subprocess.run([sys.executable, ROOT / "docs" / "build_site.py", tmp_path], check=True, capture_output=True)
    pages = {page: Links(page) for page in tmp_path.rglob("*.html")}
    sources = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "src" / "windlass" / "diagnostics" / "pages").glob("*.md")]
    assert len(pages) > len(sources) > 150
    for page, links in pages.items():
        for target in links.targets:
            if target.startswith(("http:", "https:")):
                continue
            path, _, name = target.partition("#")
            file = (page.parent / path).resolve() if path else page
            assert file.is_file(), f"{page.relative_to(tmp_path)} links to {target}"
            assert not name or name in pages[file].names, f"{page.relative_to(tmp_path)} links to {target}"
