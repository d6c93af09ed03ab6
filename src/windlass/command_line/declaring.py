"""Commands as functions: the options of each stand before it, and what its parameters are called."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

PROGRAM = "windlass"
WRONG_USAGE = 2

Function = Callable[..., int]


@dataclass(frozen=True)
class Option:
    """An argument or option as `ArgumentParser.add_argument` takes it."""

    names: tuple[str, ...]
    settings: dict[str, Any]


def option(*names: str, **settings: Any) -> Option:
    """An argument (a name) or an option (names with dashes) of a command."""
    return Option(names, settings)


@dataclass(frozen=True)
class _Command:
    function: Function
    options: Sequence[Option]
    takes_rest: bool

    @property
    def help(self) -> str:
        return self.function.__doc__ or ""

    def parse(self, name: str, words: Sequence[str]) -> dict[str, Any]:
        """The function's arguments, by name. Ends with SystemExit for wrong options, and where help was asked for."""
        parser = argparse.ArgumentParser(f"{PROGRAM} {name}", description=self.help, allow_abbrev=False)
        for each in self.options:
            parser.add_argument(*each.names, **each.settings)
        return vars(parser.parse_intermixed_args(words))


class Commands:
    """The commands of the program by name."""

    def __init__(self, description: str, version: Callable[[], str]) -> None:
        self._description = description
        self._version = version
        self._known: dict[str, _Command] = {}

    def add(self, name: str, *options: Option, takes_rest: bool = False) -> Callable[[Function], Function]:
        """Makes a function a command; its docstring is the help.

        With `takes_rest` it also gets, as `rest`, the words that are not for Windlass.
        """

        def declare(function: Function) -> Function:
            self._known[name] = _Command(function, options, takes_rest)
            return function

        return declare

    def run(self, words: Sequence[str], rest: Sequence[str] = ()) -> int:
        """Run the command that the words name, and give its status.

        Ends with SystemExit for wrong usage, and where help was asked for.
        """
        if not words or words[0] in ("-h", "--help"):
            print(self._help())
            return 0 if words else WRONG_USAGE
        if words[0] == "--version":
            print(f"{PROGRAM} {self._version()}")
            return 0
        command = self._known.get(words[0])
        if command is None:
            kind = "option" if words[0].startswith("-") else "command"
            argparse.ArgumentParser(PROGRAM, usage=f"{PROGRAM} COMMAND ...").error(f"there is no {kind} {words[0]!r}")
        arguments = command.parse(words[0], words[1:])
        if command.takes_rest:
            arguments["rest"] = rest
        return command.function(**arguments)

    def _help(self) -> str:
        lines = [f"usage: {PROGRAM} [-h] [--version] COMMAND ...", "", self._description, "", "commands:"]
        lines += [f"  {name:8} {command.help.splitlines()[0]}" for name, command in self._known.items()]
        return "\n".join([*lines, "", f"`{PROGRAM} COMMAND --help` lists a command's options."])
