"""The page of what users call, from its docstrings: `python -m tests.documentation.reference` writes it anew."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import windlass
from windlass import cuda, stablehlo

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "api.md"
PAGES_OF_CODES = "../../src/windlass/diagnostics/pages"
HEAD = """\
# What users call

Made from the docstrings by `make api`; don't edit. Their examples run as tests. What an error's code means is on its
page, which `windlass errors CODE` shows, too.
"""
MODULES: dict[str, ModuleType] = {"windlass": windlass, "windlass.cuda": cuda, "windlass.stablehlo": stablehlo}


def make_page() -> str:
    """The page as Markdown."""
    return "\n".join((HEAD, *(line for name, module in MODULES.items() for line in tell_module(name, module))))


def tell_module(title: str, module: ModuleType) -> Iterator[str]:
    """All that a module's `__all__` names but other modules, by name."""
    yield f"## {title}\n"
    for name in sorted(module.__all__, key=str.lower):
        thing = getattr(module, name)
        if isinstance(thing, type):
            yield from tell_class(name, thing)
        elif inspect.isfunction(thing):
            yield from tell(f"### {name}", f"{name}{spell_signature(thing)}", thing.__doc__)


def tell_class(name: str, thing: type) -> Iterator[str]:
    """A class, with the methods and properties of its own that have docstrings."""
    makes = thing.__dict__.get("__init__")
    called = spell_signature(makes) if inspect.isfunction(makes) else ""
    yield from tell(f"### {name}", f"class {name}{called}", thing.__doc__)
    for each, member in vars(thing).items():
        if isinstance(member, property | cached_property):
            text = member.fget.__doc__ if isinstance(member, property) else member.func.__doc__
            if text and not each.startswith("_"):
                yield from tell(f"#### {name}.{each}", "", text)
            continue
        function = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        is_shown = not each.startswith("_") or each in ("__call__", "__getitem__")
        if inspect.isfunction(function) and is_shown and function.__doc__:
            yield from tell(f"#### {name}.{each}", f"{each}{spell_signature(function)}", function.__doc__)


def tell(title: str, signature: str, text: str | None) -> Iterator[str]:
    """One entry."""
    yield f"{title}\n"
    if signature:
        yield f"```py\n{signature}\n```\n"
    if text:
        yield f"{spell_text(inspect.cleandoc(text))}\n"


def spell_signature(function: Any) -> str:
    """The parameters as they are declared, without `self`; private defaults are left open."""
    parts: list[str] = []
    kind = None
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in ("self", "cls"):
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and kind not in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL):
            parts.append("*")
        kind = parameter.kind
        stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(kind, "")
        annotation = "" if parameter.annotation is parameter.empty else f": {parameter.annotation}"
        default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
        parts.append(f"{stars}{parameter.name}{annotation}{re.sub(r'<.*>', '...', default)}")
    result = inspect.signature(function).return_annotation
    given = "" if result is inspect.Signature.empty else f" -> {result}"
    short = f"({', '.join(parts)}){given}"
    return short if len(short) < 100 else "(\n" + "".join(f"    {part},\n" for part in parts) + f"){given}"


def spell_text(text: str) -> str:
    """A docstring with its examples fenced and its codes linked."""
    blocks: list[str] = []
    for block in re.split(r"\n\n+", text):
        if block.startswith(">>>"):
            blocks.append(f"```pycon\n{block}\n```")
        elif block.startswith("    "):
            blocks.append(block)
        else:
            blocks.append(re.sub(r"\b(WL\d{4})\b", rf"[\1]({PAGES_OF_CODES}/\1.md)", block))
    return "\n\n".join(blocks)


if __name__ == "__main__":
    PAGE.write_text(make_page())
