"""The texts of the tour, made anew: `python -m tests.documentation.walk` writes them into the page.

A text follows a comment in the page that names it, in the next fenced block.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs" / "tour.md"
SHOWN = re.compile(r"^<!-- (\w+) -->\n(```\w*\n)(.*?)^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def fill_page(page: str) -> str:
    """The page with each of its texts as the compiler gives it for the page's own kernel."""
    names: dict[str, Any] = {}
    for block in CODE.findall(page):
        exec(block, names)
    texts = make_texts(names["lowered"], names["report"])
    assert {found[1] for found in SHOWN.finditer(page)} == set(texts), "the page lacks a text"
    return SHOWN.sub(lambda found: f"<!-- {found[1]} -->\n{found[2]}{texts[found[1]]}\n```", page)


def make_texts(lowered: Any, report: Any) -> Mapping[str, str]:
    """What the page shows, by name."""
    return {
        "llvm": cut_llvm(lowered.text("llvm")),
        "loops": cut_between(lowered.text("loops"), "gpu.launch", "gpu.terminator"),
        "tensor": cut_between(lowered.text("tensor"), "func.func", "return"),
        "optimized": cut_between(lowered.text("optimized"), "func.func", "return"),
        "accesses": "\n".join(str(each) for each in report.accesses),
        "rewrites": "\n".join(f"{each.rule:25} at {each.source}" for each in report.rewrites),
        "hlo": cut_hlo(lowered.text("hlo")),
    }


def cut_between(text: str, first: str, last: str) -> str:
    """The lines from the one that holds `first` to the one that begins with `last`, moved to the left."""
    lines = text.splitlines()
    start = next(number for number, line in enumerate(lines) if first in line)
    end = next(number for number, line in enumerate(lines) if number > start and line.lstrip().startswith(last))
    indent = len(lines[start]) - len(lines[start].lstrip())
    return "\n".join(line[indent:] for line in lines[start : end + 2])


def cut_llvm(text: str) -> str:
    """The kernel's first two blocks and its last three, without metadata."""
    body = text[text.index("define") :].partition("\n}")[0] + "\n}"
    blocks = re.sub(r", !\w+ !\d+| #\d+| +; preds = .*| !dbg !\d+", "", body).split("\n\n")
    return "\n\n".join((*blocks[:2], "...", *blocks[-3:]))


def cut_hlo(text: str) -> str:
    """The first computation, without metadata."""
    body = text[text.index("%fused_computation") :].partition("\n}")[0] + "\n}"
    return re.sub(r", metadata=\{[^}]*\}", "", body)


if __name__ == "__main__":
    PAGE.write_text(fill_page(PAGE.read_text()))
