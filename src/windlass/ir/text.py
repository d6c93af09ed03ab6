"""Functions as text, at any level: one op a line, regions indented."""

from __future__ import annotations

from collections.abc import Iterator

from windlass.ir.core import Block, Function, Op, Terminator, Value


def function_text(function: Function) -> str:
    """The function in a form for reading. Values are numbered in order; attributes stand in braces.

    >>> from windlass.ir import tensor_type
    >>> print(function_text(Function("f", Block([tensor_type((), "f32")], ["x"]))))
    func @f(%x: tensor<f32>) {
    }
    """
    names = _Names()
    arguments = ", ".join(f"{names.of(each)}: {each.type}" for each in function.arguments)
    lines = [f"func @{function.name}({arguments}) {{", *_block_lines(function.body, names, "  "), "}"]
    return "\n".join(lines)


class _Names:
    """A name for each value, made when it is first printed."""

    def __init__(self) -> None:
        self.known: dict[Value, str] = {}
        self.taken: set[str] = set()

    def of(self, value: Value) -> str:
        found = self.known.get(value)
        if found is None:
            wish = getattr(value, "name", None) if not isinstance(value, Op) else None
            found = f"%{wish}" if wish else f"%{len(self.known)}"
            while found in self.taken:
                found += "_"
            self.taken.add(found)
            self.known[value] = found
        return found


def _block_lines(block: Block, names: _Names, indent: str) -> Iterator[str]:
    for op in block:
        yield from _op_lines(op, names, indent)


def _op_lines(op: Op, names: _Names, indent: str) -> Iterator[str]:
    operands = ", ".join(names.of(operand) for operand in op.operands)
    attributes = {name: value for name, value in op.attributes.items() if value is not None}
    shown = ", ".join(f"{name} = {value!r}" for name, value in attributes.items())
    results = ", ".join(names.of(result) for result in op.results)
    text = indent
    if results and not isinstance(op, Terminator):
        text += f"{results} = "
    text += op.name or type(op).__name__
    text += f" {operands}" if operands else ""
    text += f" {{{shown}}}" if shown else ""
    types = ", ".join(str(result.type) for result in op.results)
    text += f" : {types}" if types and not isinstance(op, Terminator) else ""
    text += f"  // {op.source}" if op.source is not None else ""
    if not op.regions:
        yield text
        return
    yield f"{text} {{"
    for number, region in enumerate(op.regions):
        if number:
            yield f"{indent}}}, {{"
        for block in region.blocks:
            if block.arguments:
                parameters = ", ".join(f"{names.of(each)}: {each.type}" for each in block.arguments)
                yield f"{indent}^({parameters}):"
            yield from _block_lines(block, names, indent + "  ")
    yield f"{indent}}}"
