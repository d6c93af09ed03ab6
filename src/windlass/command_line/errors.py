"""`windlass errors`: the pages of the error codes."""

from __future__ import annotations

from importlib import resources

from rich.console import Console
from rich.markdown import Markdown

from windlass.diagnostics import Diagnostic, WindlassError


def _pages() -> dict[str, str]:
    folder = resources.files("windlass.diagnostics") / "pages"
    return {page.name[:-3]: page.read_text("utf-8") for page in folder.iterdir() if page.name.endswith(".md")}


def list_errors() -> None:
    """Prints each code with its title."""
    for _, text in sorted(_pages().items()):
        print(text.partition("\n")[0].removeprefix("# "))


def show_error(code: str) -> None:
    """Prints the page of a code, which may be given as WL0101, wl101 or 101.

    Raises WindlassError (WL0702) for codes that there are not.
    """
    pages = _pages()
    digits = code.upper().removeprefix("WL")
    text = pages.get(f"WL{digits:0>4}")
    if text is None:
        raise WindlassError(
            Diagnostic("WL0702", f"there is no error code '{code}'", help="`windlass errors` lists them all")
        )
    Console().print(Markdown(text))
