"""Functions and modules: what programs are made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from windlass.diagnostics import Diagnostic, ProgramError

if TYPE_CHECKING:
    from windlass.diagnostics import Position
    from windlass.ir.core import Block, Op
    from windlass.ir.values import Argument, Value


class Function:
    """A named block of ops that ends in a return. `attributes` and those of arguments and results are MLIR text."""

    __slots__ = ("argument_attributes", "attributes", "body", "name", "result_attributes", "source", "visibility")

    def __init__(self, name: str, body: Block, visibility: str = "public") -> None:
        self.name = name
        self.body = body
        self.visibility = visibility
        self.attributes: dict[str, str] = {}
        self.argument_attributes: list[dict[str, str]] = [{} for _ in body.arguments]
        self.result_attributes: list[dict[str, str]] = []
        self.source: Position | None = None

    @property
    def arguments(self) -> list[Argument]:
        return self.body.arguments

    @property
    def results(self) -> tuple[Value, ...]:
        """What the function returns: its terminator's operands."""
        return self.body.terminator.operands

    def walk(self) -> Iterator[Op]:
        return self.body.walk()

    def inline(self, mapping: dict[Value, Value]) -> tuple[Value, ...]:
        """Copy the ops to where the active builder is; `mapping` gives the arguments. Returns the results."""
        terminator = self.body.terminator
        for op in self.body:
            if op is not terminator:
                op.clone(mapping)
        return tuple(mapping.get(result, result) for result in terminator.operands)

    def clone(self) -> Function:
        copy = Function(self.name, self.body.clone({}), self.visibility)
        copy.attributes = dict(self.attributes)
        copy.argument_attributes = [dict(each) for each in self.argument_attributes]
        copy.result_attributes = [dict(each) for each in self.result_attributes]
        copy.source = self.source
        return copy


class Module:
    """Functions by name, and what else stands at the top level (`globals`: MLIR text, such as sdy meshes)."""

    __slots__ = ("attributes", "functions", "globals", "name")

    def __init__(self, functions: Iterable[Function] = (), name: str | None = None) -> None:
        self.functions = {function.name: function for function in functions}
        self.name = name
        self.attributes: dict[str, str] = {}
        self.globals: list[str] = []

    def clone(self) -> Module:
        copy = Module([function.clone() for function in self.functions.values()], self.name)
        copy.attributes, copy.globals = dict(self.attributes), list(self.globals)
        return copy

    @property
    def main(self) -> Function:
        """The entry point: `main`, or the first public function.

        Raises ProgramError (WL0520) where there is none.
        """
        if "main" in self.functions:
            return self.functions["main"]
        for function in self.functions.values():
            if function.visibility == "public":
                return function
        raise ProgramError(Diagnostic("WL0520", "the program has no public function that could be run"))
