"""The Python code in the README and the guides runs, block after block, as a reader would paste it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`|^ {4}[^\n]*$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
RUN = [page for page in PAGES if page.name != "CONTRIBUTING.md"]
"""Those whose code is for a reader's own file; what belongs into the tree is tried in test_recipes.py."""


@pytest.mark.parametrize("page", [page for page in RUN if BLOCK.search(page.read_text())], ids=lambda page: page.name)
def test_code_of_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WINDLASS_NATIVE")
    text = page.read_text()
    # One file with every other line blank, so that lines are the page's and wl.jit finds its function's source.
    lines = [""] * len(text.splitlines())
    for block in BLOCK.finditer(text):
        first = text[: block.start(1)].count("\n")
        for offset, line in enumerate(block[1].splitlines()):
            lines[first + offset] = line
    script = tmp_path / f"{page.stem.replace('-', '_')}.py"
    script.write_text("\n".join(lines) + "\n")
    names: dict[str, Any] = {"__name__": "page", "__file__": str(script)}
    exec(compile(script.read_text(), str(script), "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_of_page_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(CODE.sub("", page.read_text())):
        assert (page.parent / target).exists(), target
