"""The house in numbers: lines by room, cycles, imports inside functions, long functions, names, rules.

    python -m benchmarks.house            # this checkout
    python -m benchmarks.house ../before . # two of them, side by side

A module is in a cycle if it reaches itself by any import: within functions and for types alone, too.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

LONG = 50
"""Lines above which a function is counted."""

RULES = """
from importlib.util import find_spec
from windlass.ir import Op
from windlass.rewriting.rule import catalogue
__import__("windlass.catalogue" if find_spec("windlass.catalogue") else "windlass.rules")
def count(pattern):
    if isinstance(pattern, tuple | dict):
        return sum(map(count, pattern.values() if isinstance(pattern, dict) else pattern))
    if type(pattern).__name__ == "Every":
        return count(pattern.pattern)
    if not isinstance(pattern, Op):
        return 0
    values = pattern.__dict__ if "is_any" in pattern.__dict__ else pattern.field_values()
    return 1 + sum(map(count, values.values()))
is_data = {rule.name: count(rule.pattern) > 1 for rule in catalogue.rules}
identities = [rule.name for rule in catalogue.rules if rule.__module__.split(".")[1] == "rules"]
print(len(is_data), sum(is_data.values()), len(identities), sum(is_data[name] for name in identities))
"""


class House:
    """The modules of a checkout's src/windlass: their trees, their rooms, what they import."""

    def __init__(self, checkout: Path) -> None:
        self.checkout = checkout
        source = checkout / "src"
        self.texts = {self._name(path.relative_to(source)): path.read_text() for path in source.rglob("*.py")}
        self.trees = {name: ast.parse(text) for name, text in self.texts.items()}
        self.packages = {self._name(path.relative_to(source)) for path in source.rglob("__init__.py")}

    @staticmethod
    def _name(path: Path) -> str:
        parts = path.with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def lines(self, room: str = "") -> int:
        return sum(text.count("\n") for name, text in self.texts.items() if not room or room_of(name) == room)

    def functions(self) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        for tree in self.trees.values():
            for node in ast.walk(tree):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield node

    def imported(self, name: str, node: ast.AST) -> Iterator[str]:
        """The modules of the house that a statement of a module imports."""
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in self.trees)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = name.split(".")[: None if name in self.packages else -1]
                base = ".".join(parts[: len(parts) - node.level + 1] + ([base] if base else []))
            for alias in node.names:
                found = f"{base}.{alias.name}"
                if found in self.trees:
                    yield found
                elif base in self.trees:
                    yield base

    def imports_inside_functions(self) -> int:
        nodes = {
            inner: name
            for name, tree in self.trees.items()
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            for inner in ast.walk(node)
        }
        return sum(any(self.imported(name, node)) for node, name in nodes.items())

    def cycles(self) -> list[set[str]]:
        """The sets of modules that reach each other, the largest first."""
        graph = {
            name: {found for node in ast.walk(tree) for found in self.imported(name, node)} - {name}
            for name, tree in self.trees.items()
        }
        return sorted((each for each in strongly_connected(graph) if len(each) > 1), key=len, reverse=True)

    def state_fields(self) -> int:
        """The fields of the raiser's state, however they are declared."""
        for name, tree in self.trees.items():
            if not name.startswith("windlass.raising"):
                continue
            for node in ast.walk(tree):
                if isinstance(node, ast.ClassDef) and node.name == "RaisingState":
                    return len(
                        {
                            each.target.id
                            for each in node.body
                            if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
                        }
                        | {
                            each.attr
                            for each in ast.walk(node)
                            if isinstance(each, ast.Attribute)
                            and isinstance(each.ctx, ast.Store)
                            and isinstance(each.value, ast.Name)
                            and each.value.id == "self"
                        }
                    )
        return 0

    def rules(self) -> tuple[int, int, int, int]:
        """How many rules there are, and of how many the pattern names two ops or more; the same of those in rules/.

        The others are searches (passes/) and what XLA wants (lowering/): patterns seldom say what those look for. In a
        checkout without these rooms all stand in rules/.
        """
        environment = {**os.environ, "PYTHONPATH": str(self.checkout / "src")}
        told = subprocess.run(
            [sys.executable, "-c", RULES], env=environment, capture_output=True, text=True, check=True
        )
        every, data, identities, data_there = map(int, told.stdout.split())
        return every, data, identities, data_there


def room_of(name: str) -> str:
    return name.split(".")[1] if "." in name else "windlass"


def strongly_connected(graph: dict[str, set[str]]) -> list[set[str]]:
    """The strongly connected components of a graph (Kosaraju and Sharir)."""
    order: list[str] = []
    seen: set[str] = set()
    for start, first in graph.items():
        stack = [(start, iter(first))] if start not in seen else []
        seen.add(start)
        while stack:
            node, targets = stack[-1]
            following = next((each for each in targets if each not in seen), None)
            if following is None:
                order.append(node)
                stack.pop()
            else:
                seen.add(following)
                stack.append((following, iter(graph[following])))
    back: dict[str, set[str]] = {name: set() for name in graph}
    for name, targets in graph.items():
        for target in targets:
            back[target].add(name)
    found: list[set[str]] = []
    seen = set()
    for start in reversed(order):
        if start in seen:
            continue
        component, waiting = {start}, [start]
        while waiting:
            for each in back[waiting.pop()] - seen - component:
                component.add(each)
                waiting.append(each)
        seen |= component
        found.append(component)
    return found


def measure(checkout: Path) -> dict[str, str]:
    house = House(checkout)
    cycles = house.cycles()
    every, data, identities, data_there = house.rules()
    names = Counter(
        node.name for tree in house.trees.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)
    )
    lengths = [(node.end_lineno or node.lineno) - node.lineno + 1 for node in house.functions()]
    found = {
        "lines of Python": f"{house.lines()}",
        "files in cycles": f"{sum(map(len, cycles))} ({', '.join(str(len(each)) for each in cycles[:6])})",
        "imports inside functions": f"{house.imports_inside_functions()}",
        f"functions above {LONG} lines": f"{sum(each > LONG for each in lengths)} of {len(lengths)}",
        "class names that occur twice": f"{sum(count > 1 for count in names.values())}",
        "rules": f"{every}",
        "rules whose pattern is data": f"{data / every:.0%}",
        "rules in rules/": f"{identities}",
        "lines of rules/ for each": f"{house.lines('rules') / identities:.1f}",
        "those whose pattern is data": f"{data_there / identities:.0%}",
        "fields of the raiser's state": f"{house.state_fields()}",
    }
    rooms = sorted({room_of(name) for name in house.trees})
    found |= {f"{room}/": f"{house.lines(room)}" for room in rooms}
    return found


def main(checkouts: list[str]) -> None:
    columns = [measure(Path(each).resolve()) for each in checkouts or ["."]]
    names = list(dict.fromkeys(name for column in columns for name in column))
    for name in sorted(names, key=lambda name: name.endswith("/")):
        print(f"| {name} | " + " | ".join(column.get(name, "") for column in columns) + " |")


if __name__ == "__main__":
    main(sys.argv[1:])
