"""Bad StableHLO gives one clear diagnostic, word for word."""

from __future__ import annotations

from pathlib import Path

import pytest

from windlass.diagnostics import ProgramError
from windlass.ir import Block, Builder, Function, Module, tensor_type
from windlass.loops import LaunchSize
from windlass.ops import Call, Return
from windlass.stablehlo import export_module, export_text, import_bytecode, import_text, screen

PAGES = Path(__file__).parents[2] / "src" / "windlass" / "diagnostics" / "pages"


def program(*lines: str) -> str:
    body = "\n".join(f"  {line}" for line in lines)
    return f"func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {{\n{body}\n  return %0 : tensor<2xf32>\n}}\n"


def message_of(text: str) -> str:
    with pytest.raises(ProgramError) as caught:
        screen(import_text(text, "bad.mlir"))
    return str(caught.value)


def test_an_unknown_op_of_stablehlo() -> None:
    assert message_of(program("%0 = stablehlo.nonsense %x : tensor<2xf32>")) == "\n".join(
        [
            "error[WL0501]: this is not a StableHLO program: custom op 'stablehlo.nonsense' is unknown",
            " --> bad.mlir:2:8",
            "   |",
            " 2 |   %0 = stablehlo.nonsense %x : tensor<2xf32>",
            "   |        ^",
        ]
    )


def test_an_undefined_value() -> None:
    assert message_of(program("%0 = stablehlo.add %x, %y : tensor<2xf32>")) == "\n".join(
        [
            "error[WL0501]: this is not a StableHLO program: use of undeclared SSA value name",
            " --> bad.mlir:2:26",
            "   |",
            " 2 |   %0 = stablehlo.add %x, %y : tensor<2xf32>",
            "   |                          ^",
        ]
    )


def test_attributes_that_do_not_fit() -> None:
    text = program('%0 = "stablehlo.transpose"(%x) {permutation = array<i64: 1>} : (tensor<2xf32>) -> tensor<2xf32>')
    assert message_of(text) == "\n".join(
        [
            "error[WL0501]: this is not a StableHLO program: "
            "attribute permutation must be a permutation of [0] but got 1",
            " --> bad.mlir:2:8",
            "   |",
            ' 2 |   %0 = "stablehlo.transpose"(%x) {permutation = array<i64: 1>} : (tensor<2xf32>) -> tensor<2xf32>',
            "   |        ^",
        ]
    )


def test_an_op_of_an_unknown_dialect_is_refused_before_it_crashes_xla() -> None:
    assert message_of(program('%0 = "my.op"(%x) : (tensor<2xf32>) -> tensor<2xf32>')) == "\n".join(
        [
            "error[WL0505]: 'my.op' in @main is not an op that XLA knows",
            " --> bad.mlir:2:8",
            "  help: express it in StableHLO, or as a stablehlo.custom_call",
        ]
    )


def test_an_op_of_another_dialect_is_refused() -> None:
    assert message_of(program("%0 = arith.addf %x, %x : tensor<2xf32>")).startswith(
        "error[WL0505]: 'arith.addf' in @main is not an op that XLA knows\n --> bad.mlir:2:8\n"
    )


def test_recursion_is_refused_before_it_crashes_xla() -> None:
    assert message_of(program("%0 = func.call @main(%x) : (tensor<2xf32>) -> tensor<2xf32>")) == "\n".join(
        [
            "error[WL0506]: functions call each other in a circle: @main → @main",
            " --> bad.mlir:2:8",
            "  help: StableHLO programs have no recursion: use stablehlo.while",
        ]
    )


def test_recursion_through_a_composite_is_refused() -> None:
    text = program('%0 = stablehlo.composite "a.b" %x {decomposition = @main} : (tensor<2xf32>) -> tensor<2xf32>')
    assert message_of(text).startswith("error[WL0506]: functions call each other in a circle: @main → @main\n")


def test_a_function_without_a_body_is_refused_before_it_crashes_xla() -> None:
    text = program("%0 = func.call @g(%x) : (tensor<2xf32>) -> tensor<2xf32>")
    declaration = "func.func private @g(tensor<2xf32>) -> tensor<2xf32>\n"
    assert message_of(text + declaration) == "\n".join(
        ["error[WL0507]: function @g has no body", "  help: define it, or remove it"]
    )


def test_an_unknown_op_at_the_top_is_refused_before_it_crashes_xla() -> None:
    text = '"my.global"() : () -> ()\n' + program("%0 = stablehlo.negate %x : tensor<2xf32>")
    assert message_of(text) == "error[WL0505]: 'my.global' at the top of the module is not an op that XLA knows"


def test_a_mesh_at_the_top_is_accepted() -> None:
    text = 'sdy.mesh @mesh = <["x"=2]>\n' + program("%0 = stablehlo.negate %x : tensor<2xf32>")
    screen(import_text(text))


def test_branches_between_blocks() -> None:
    text = (
        "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n  cf.br ^next\n^next:\n  return %x : tensor<2xf32>\n}\n"
    )
    assert message_of(text) == "\n".join(
        [
            "error[WL0502]: func.func holds control flow between blocks, which StableHLO programs do not have",
            " --> bad.mlir:1:1",
            "  help: use stablehlo.while, stablehlo.case or stablehlo.if",
        ]
    )


def test_a_binary_file_given_as_text() -> None:
    assert message_of("\x00\x01ELF").startswith(
        "error[WL0501]: this is not a StableHLO program: unexpected character\n --> bad.mlir:1:"
    )


@pytest.mark.parametrize("data", [b"", b"\x7fELF\x02\x01", b"ML\xefR\x06broken"])
def test_broken_bytecode(data: bytes) -> None:
    with pytest.raises(ProgramError) as caught:
        import_bytecode(data)
    assert str(caught.value).startswith("error[WL0501]: this is not StableHLO bytecode: ")


def test_an_op_of_the_loop_level_has_no_stablehlo() -> None:
    block = Block([tensor_type((), "i32")])
    with Builder(block):
        Return((LaunchSize("block.x"),))
    module = Module([Function("main", block)])
    for check in (export_module, screen):
        with pytest.raises(ProgramError, match=r"WL0503.*windlass\.launch_size is an op of the loop level"):
            check(module)


def test_a_call_of_no_function_is_found_by_the_verifier() -> None:
    block = Block([tensor_type((), "i32")])
    with Builder(block):
        Return(Call("missing", (block.arguments[0],), (tensor_type((), "i32"),)).results)
    with pytest.raises(ProgramError) as caught:
        export_text(Module([Function("main", block)]))
    assert str(caught.value) == (
        "error[WL0504]: the program is not valid StableHLO: "
        "'func.call' op 'missing' does not reference a valid function"
    )


@pytest.mark.parametrize("code", ["WL0501", "WL0502", "WL0503", "WL0504", "WL0505", "WL0506", "WL0507"])
def test_each_code_has_a_page(code: str) -> None:
    assert (PAGES / f"{code}.md").read_text().startswith(f"# {code}: ")
