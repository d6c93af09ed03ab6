"""How words become the arguments of commands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from windlass.command_line.declaring import Commands, option

commands = Commands("Does what its tests ask.", lambda: "1.2")
given: dict[str, Any] = {}


@commands.add(
    "build",
    option("files", type=Path, nargs="+"),
    option("--define", "-D", action="append", default=[]),
    option("--fast", action="store_true"),
    takes_rest=True,
)
def build(**arguments: Any) -> int:
    """Build it."""
    given.clear()
    given.update(arguments)
    return 5


def test_options_may_stand_anywhere() -> None:
    words = ["-DN=64", "a.cu", "--fast", "b.cu", "-D", "M", "c.cu", "--define=K=-1"]
    assert commands.run(["build", *words], ["1", "-D"]) == 5
    files = [Path(each) for each in ("a.cu", "b.cu", "c.cu")]
    assert given == {"files": files, "define": ["N=64", "M", "K=-1"], "fast": True, "rest": ["1", "-D"]}


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        (["--help"], 0, "build    Build it."),
        ([], 2, "build    Build it."),
        (["--version"], 0, "windlass 1.2"),
    ],
)
def test_help_is_printed(words: list[str], status: int, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.run(words) == status
    assert told in capsys.readouterr().out


@pytest.mark.parametrize(
    "words", [["bulid"], ["--fats"], ["build"], ["build", "--fa", "a.cu"], ["build", "-x", "a.cu"]]
)
def test_wrong_usage_is_told_and_runs_nothing(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    given.clear()
    with pytest.raises(SystemExit) as caught:
        commands.run(words)
    assert caught.value.code == 2
    assert "error: " in capsys.readouterr().err
    assert not given
