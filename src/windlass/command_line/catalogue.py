"""`windlass rules`: the catalogue of rewrites, on the terminal or as a page."""

from __future__ import annotations

import doctest
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from windlass.command_line.extras import find_extras, reason_of
from windlass.command_line.optimize import write_text
from windlass.diagnostics import Diagnostic, WindlassError
from windlass.rewriting import Rule
from windlass.rewriting.equalities import equalities

ROOMS = ("rules", "passes", "lowering")

HEAD = """\
# The catalogue of rewrites

Made by `make rules`; don't edit.

{count} rules, by family: identities first, then searches (*passes*) and what XLA wants (*lowering*). For each: its
equation, an example (the op as it is found, and what takes its place), what it takes for granted, and how often it
fires on the {programs} programs that were counted. What every rule keeps is said in
[the guide to the optimizer](../guides/optimizing.md). Marks:

* **reassociates**: changes the order of float sums or products, and holds for finite values only; left out with
  `exact=True`.
* **by cost**: applied where the cost model estimates that time is saved on the device at hand.
* **last**: applied when no other rule applies any more.
* **single use**: applied where the inner ops have no other user.
* **assumes ...**: applied only if the user grants it.

{extras} of them are [extras](#extras) and stand apart at the end.
"""

EXTRAS = """\
# Extras

Rules like all others, and applied as they are. But of the programs that were counted they fire in none, or only in
those that were made for rules. Most of them stand for a pattern of another optimizer ([families](families.md)); where
one does not, its family says why it stays.
"""


EQUALITIES = """\
## Equalities

These hold both ways, or see several ops at once. They are used with `saturate=True` only, beside the rules, and
extraction says which of the equal programs is taken ([guide](../guides/saturation.md)).
"""


def list_rules(names: list[str]) -> None:
    """Prints the rules whose names, equations or ops hold one of the words, with examples; all in short without words.

    Raises WindlassError (WL0702) if there are none.
    """
    console = Console(highlight=False)
    found = [rule for rule in _catalogue() if not names or any(_speaks_of(rule, name) for name in names)]
    if not found:
        raise WindlassError(
            Diagnostic("WL0702", f"no rule speaks of '{names[0]}'", help="`windlass rules` lists them all")
        )
    for rule in found:
        title = Text(rule.name, style="cyan")
        marks = ", ".join(list_marks(rule))
        title.append(f"  {marks}" if marks else "", style="dim")
        console.print(title, soft_wrap=True)
        console.print(Text(f"    {rule.equation}"), soft_wrap=True)
        if names:
            for line in _example_lines(rule):
                console.print(Text(f"    {line}", style="dim"), soft_wrap=True)


def write_page(counts: Path | None, output: Path) -> None:
    """Writes the page of all rules; `counts` is what `benchmarks/count_rules.py` wrote.

    Raises ProgramError (WL0701) for files that can't be read or written.
    """
    counted: dict[str, Any] = json.loads(counts.read_text("utf-8")) if counts is not None and counts.exists() else {}
    write_text(output, make_page(counted))


def make_page(counted: Mapping[str, Any]) -> str:
    """The page as Markdown. `counted` is what `benchmarks/count_rules.py` writes."""
    from windlass.catalogue import catalogue

    rules = _catalogue()
    fired: dict[str, list[int]] = counted.get("rules", {})
    extras = find_extras(rules, counted)
    passes = sorted(catalogue.passes, key=lambda each: each.name)
    lines = [HEAD.format(count=len(rules), programs=counted.get("programs", 0), extras=len(extras))]
    for family, title, members in _families(rule for rule in rules if rule.name not in extras):
        lines += [f"## {title}\n", f"{(sys.modules[family].__doc__ or '').strip()}\n"]
        for rule in members:
            lines += _entry(rule, fired.get(rule.name))
    if passes:
        lines.append("## Passes over blocks\n")
        lines.append("These look at a whole block at once.\n")
    for each in passes:
        lines += [f"### {each.name}\n", f"    {each.equation}\n"]
        marks = ["**reassociates**"] if each.reassociates else []
        marks += _spell_fired(fired.get(each.name))
        lines += ["; ".join(marks) + "\n"] if marks else []
    lines.append(EQUALITIES)
    for each in equalities:
        lines += [f"### {each.name}\n", f"    {each.equation}\n"]
        lines += ["**reassociates**\n"] if each.reassociates else []
    if extras:
        lines.append(EXTRAS)
    for family, title, members in _families(rule for rule in rules if rule.name in extras):
        lines += [f"## Extras: {title[0].lower()}{title[1:]}\n", f"{reason_of(family)}\n"]
        for rule in members:
            lines += _entry(rule, fired.get(rule.name))
    return "\n".join(lines).rstrip("\n") + "\n"


def _families(rules: Iterable[Rule]) -> Iterator[tuple[str, str, list[Rule]]]:
    """Families in the order of the rooms: the name of each one's file, its title, the rules."""
    families: dict[str, list[Rule]] = {}
    for rule in rules:
        families.setdefault(rule.__module__, []).append(rule)
    for family, members in sorted(families.items(), key=lambda each: (ROOMS.index(each[0].split(".")[1]), each[0])):
        room, _, title = family.removeprefix("windlass.").replace("_", " ").partition(".")
        yield family, title.capitalize() if room == "rules" else f"{room.capitalize()}: {title}", members


def _entry(rule: Rule, fired: list[int] | None) -> Iterator[str]:
    yield f"### {rule.name}\n"
    yield f"    {rule.equation}\n"
    marks = [f"**{mark}**" for mark in list_marks(rule)]
    marks += _spell_fired(fired)
    if marks:
        yield "; ".join(marks) + "\n"
    example = list(_example_lines(rule))
    if example:
        yield "\n".join(["```pycon", *example, "```", ""])


def _spell_fired(fired: list[int] | None) -> list[str]:
    if fired is None:
        return []
    times, programs, _ = fired
    if times == 1:
        return ["fires once"]
    return [f"fires {times} times, in {programs} program{'s' if programs > 1 else ''}"]


def list_marks(rule: Rule) -> list[str]:
    """What a reader should know of a rule besides its equation.

    >>> from windlass.catalogue import catalogue
    >>> [list_marks(rule) for rule in catalogue if rule.name == "reverse_of_reverse"]
    [[]]
    """
    marks = ["reassociates"] if rule.reassociates else []
    marks += ["by cost"] if rule.by_cost else []
    marks += ["last"] if rule.last else []
    marks += ["single use"] if rule.single_use else []
    return marks + [f"assumes {each}" for each in rule.assumes]


def _speaks_of(rule: Rule, word: str) -> bool:
    """Whether a word is in a rule's name or equation, or names an op that the rule begins at."""
    return word in rule.name or word in rule.equation or any(word == root.__name__ for root in rule.roots)


def _example_lines(rule: Rule) -> Iterator[str]:
    for example in doctest.DocTestParser().get_examples(rule.__doc__ or ""):
        first, *rest = example.source.rstrip("\n").split("\n")
        yield f">>> {first}"
        yield from (f"... {line}" for line in rest)
        yield from example.want.rstrip("\n").split("\n") if example.want else ()


def _catalogue() -> list[Rule]:
    from windlass.catalogue import catalogue

    return sorted(catalogue, key=lambda rule: rule.name)
