"""The documentation as a site of plain HTML: `python docs/build_site.py FOLDER` (`make docs` writes build/site).

Each page is Markdown that reads well in the tree, too. Here links between files become links between pages, headings
get anchors as GitHub gives them, code gets colours, and each folder a page that lists what is in it. A reader's browser
fetches nothing but the page itself, its picture and one style sheet.
"""

from __future__ import annotations

import html
import os
import re
import shutil
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token
from pygments import highlight
from pygments.formatters.html import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

ROOT = Path(__file__).parents[1]
ERRORS = ROOT / "src" / "windlass" / "diagnostics" / "pages"
NAMES = {"README.md": "index.html", "CHANGELOG.md": "changes.html", "CONTRIBUTING.md": "contributing.html"}
"""Where pages go that are not in docs."""
PARTS = {
    "Start": ("README.md", "docs/guides"),
    "Look up": (*(f"docs/reference/{name}.md" for name in ("api", "families", "rules", "xla")), "errors"),
    "How it works": ("docs/tour.md", "docs/from-nothing.md", "docs/glossary.md", "docs/decisions"),
    "Carry on": ("CONTRIBUTING.md", "docs/reference/laws.md", "docs/benchmarks", "CHANGELOG.md"),
}
"""What stands in the margin of each page: files, and folders with all that is in them."""

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} · Windlass</title>
<link rel="stylesheet" href="{style}">
</head>
<body>
<nav>
{margin}
</nav>
<main>
{body}
</main>
</body>
</html>
"""


def build(folder: Path) -> list[Path]:
    """Write the site into a folder; gives its pages."""
    folder.mkdir(parents=True, exist_ok=True)
    style: str = HtmlFormatter(style="default").get_style_defs("pre")
    (folder / "style.css").write_text(f"{(ROOT / 'docs' / 'site.css').read_text()}\n{style}\n")
    sources = list_sources()
    titles = {address(source): title_of(source.read_text()) for source in sources}
    folders = sorted({place.rpartition("/")[0] for place in titles if "/" in place})
    titles |= {f"{name}/index.html": name.capitalize() for name in folders}
    for source in sources:
        write_page(folder, address(source), titles, render(source))
    for name in folders:
        inside = [place for place in titles if place.startswith(f"{name}/") and not place.endswith("/index.html")]
        items = "\n".join(f"<li>{anchor(place, f'{name}/index.html', titles)}</li>" for place in inside)
        write_page(folder, f"{name}/index.html", titles, f"<h1>{name.capitalize()}</h1>\n<ul>\n{items}\n</ul>")
    for picture in (ROOT / "docs").glob("*.jpg"):
        shutil.copy(picture, folder / picture.name)
    return [folder / place for place in titles]


def list_sources() -> list[Path]:
    """The Markdown files of the site."""
    return [*(ROOT / name for name in NAMES), *sorted((ROOT / "docs").rglob("*.md")), *sorted(ERRORS.glob("*.md"))]


def address(source: Path) -> str:
    """Where a file's page is, from the site's root; a folder's is the list of what is in it.

    >>> address(ROOT / "docs" / "guides" / "tiles.md"), address(ROOT / "docs" / "decisions")
    ('guides/tiles.html', 'decisions/index.html')
    """
    if source.is_relative_to(ERRORS):
        place = "errors" / source.relative_to(ERRORS)
    elif source.is_relative_to(ROOT / "docs"):
        place = source.relative_to(ROOT / "docs")
    else:
        place = source.relative_to(ROOT)
    name = NAMES.get(str(place), str(place))
    return name.replace(".md", ".html") if Path(name).suffix else f"{name}/index.html"


def title_of(text: str) -> str:
    """The first heading, without marks."""
    return re.sub(r"[`*]", "", text.partition("\n")[0].lstrip("# "))


def write_page(folder: Path, place: str, titles: dict[str, str], body: str) -> None:
    """Put a page around what was rendered."""
    margin: list[str] = []
    for part, names in PARTS.items():
        wanted = ["errors/index.html" if name == "errors" else address(ROOT / name) for name in names]
        links = "\n".join(f"<li>{anchor(each, place, titles)}</li>" for each in wanted)
        margin.append(f"<h2>{part}</h2>\n<ul>\n{links}\n</ul>")
    file = folder / place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(
        PAGE.format(
            title=html.escape(titles[place]), style=between("style.css", place), margin="\n".join(margin), body=body
        )
    )


def anchor(target: str, place: str, titles: dict[str, str]) -> str:
    """A link from the page at `place` to another one."""
    here = ' aria-current="page"' if target == place else ""
    return f'<a href="{between(target, place)}"{here}>{html.escape(titles[target])}</a>'


def between(target: str, place: str) -> str:
    """The way from one page of the site to another.

    >>> between("style.css", "guides/tiles.html")
    '../style.css'
    """
    return Path(os.path.relpath(target, Path(place).parent)).as_posix()


def render(source: Path) -> str:
    """A file's Markdown as HTML, with links as the site has them."""
    parser = MarkdownIt("commonmark", {"highlight": colour}).enable("table")
    tokens = parser.parse(source.read_text())
    name_headings(tokens)
    for token in tokens:
        for child in token.children or ():
            for key in ("href", "src"):
                link = child.attrGet(key)
                if isinstance(link, str):
                    child.attrSet(key, resolve(link, source))
    rendered: str = parser.renderer.render(tokens, parser.options, {})
    return rendered


def name_headings(tokens: Sequence[Token]) -> None:
    """Give headings the anchors that GitHub gives them."""
    seen: dict[str, int] = {}
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            name = re.sub(r"[^\w\- ]", "", inline.content.lower()).replace(" ", "-")
            number = seen[name] = seen.get(name, -1) + 1
            opening.attrSet("id", f"{name}-{number}" if number else name)


def resolve(link: str, source: Path) -> str:
    """A link of a file as a link of its page."""
    if link.startswith(("http:", "https:", "#")):
        return link
    path, mark, part = link.partition("#")
    target = (source.parent / path).resolve()
    place = target.name if target.suffix == ".jpg" else address(target)
    return between(place, address(source)) + mark + part


def colour(code: str, language: str, _attributes: str) -> str:
    """The code with colours, if the language is known."""
    try:
        lexer = get_lexer_by_name({"mlir": "llvm"}.get(language, language))
    except ClassNotFound:
        return html.escape(code)
    coloured: str = highlight(code, lexer, HtmlFormatter(nowrap=True))
    return coloured


if __name__ == "__main__":
    print(f"{len(build(Path(sys.argv[1])))} pages in {sys.argv[1]}")
