"""The recipes of CONTRIBUTING.md, followed to the letter on a copy of the tree."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
RECIPES: dict[str, str] = dict(re.findall(r"^##+ ([^\n]*)\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL))
"""The text below each title of the page."""
BLOCK = re.compile(r"^```(\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PLACE = re.compile(
    r"`(?P<file>[\w/.]+)`,\s(?:(?P<end>at\sthe\send)|(?P<new>a\snew\sfile)|below\s`(?P<above>[^`]+)`"
    r"|in\splace\sof\s`(?P<old>[^`]+)`):\s*\Z"
)
MAKE_RULES = "-m windlass rules --page docs/reference/rules.md --counts docs/reference/rule_counts.json"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """What the recipes touch, and what their commands need: one copy, as somebody has who follows them all."""
    copy = tmp_path_factory.mktemp("tree")
    for name in ("src", "tests", "docs"):
        shutil.copytree(ROOT / name, copy / name)
    for name in ("pyproject.toml", "conftest.py"):
        shutil.copy(ROOT / name, copy)
    yield copy
    shutil.rmtree(copy)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("title", [title for title, text in RECIPES.items() if "```sh" in text])
def test_recipe_works_as_it_is_written(title: str, tree: Path) -> None:
    text = RECIPES[title]
    commands: list[str] = []
    files: set[Path] = set()
    for block in BLOCK.finditer(text):
        if block[1] == "sh":
            commands += block[2].splitlines()
        else:
            files.add(write(tree, text[: block.start()], block[2]))
    for command in commands:
        run(tree, command)
    linted = shlex.join(str(file) for file in files if file.suffix == ".py")
    if linted:
        run(tree, f".venv/bin/python -m ruff check {linted}")
        run(tree, f".venv/bin/python -m ruff format --check {linted}")


def write(tree: Path, before: str, code: str) -> Path:
    """Put the code where the words before it say; gives the file."""
    place = PLACE.search(before)
    assert place, f"it isn't said where this goes:\n{code}"
    file = tree / place["file"]
    assert file.exists() != bool(place["new"]), file
    text = "" if place["new"] else file.read_text()
    if place["new"]:
        text = code
    elif place["end"]:
        text = f"{text}\n\n{code}"
    else:
        line = " ".join((place["above"] or place["old"]).split()) + "\n"
        assert text.count(line) == 1, line
        text = text.replace(line, f"{line}{code}" if place["above"] else code)
    file.write_text(text)
    return file


def run(tree: Path, command: str) -> None:
    """Run a command of the page, with this Python."""
    assert command == "make rules" or command.startswith(".venv/bin/python "), command
    arguments = shlex.split(MAKE_RULES if command == "make rules" else command.partition(" ")[2])
    environment = {**os.environ, "PYTHONPATH": f"{tree / 'src'}{os.pathsep}{tree}"}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=tree,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=3600,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
