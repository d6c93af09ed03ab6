"""Rare but valid programs come out as they went in; broken ones give a diagnostic. Nothing ends the process."""

from __future__ import annotations

import io

import jax
import jax.numpy as jnp
import pytest
from jaxlib.mlir import ir

from windlass.diagnostics import ProgramError
from windlass.ir.verifier import verify
from windlass.stablehlo import export_text, import_bytecode, import_text, optimize
from windlass.stablehlo.private_jax import make_context


def function(body: str, argument: str = "tensor<2xf32>", result: str = "tensor<2xf32>", value: str = "%0") -> str:
    return f"func.func public @main(%x: {argument}) -> {result} {{\n{body}\n  return {value} : {result}\n}}\n"


def printed(text: str) -> str:
    """The program as MLIR prints it, without Windlass."""
    context = make_context()
    context.allow_unregistered_dialects = True
    with context, ir.Location.unknown(context):
        return str(ir.Module.parse(text, context).operation.get_asm(assume_verified=True))


def added(type_: str) -> str:
    constant = f"%c = stablehlo.constant dense<[1, 0, 1]> : {type_}"
    if "i" not in type_:
        constant = constant.replace("[1, 0, 1]", "[1.0, 0.5, 2.0]")
    return function(f"{constant}\n%0 = stablehlo.add %c, %x : {type_}", type_, type_)


def constant(elements: str, type_: str) -> str:
    return function(f"%0 = stablehlo.constant dense<{elements}> : {type_}", result=type_)


def same_typed(type_: str) -> str:
    return function(f"%0 = stablehlo.add %x, %x : {type_}", type_, type_)


ODD = {
    "huge": function(
        "%0 = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> tensor<1000000000000x1000000xf32>",
        "tensor<f32>",
        "tensor<1000000000000x1000000xf32>",
    ),
    "more elements than 64 bits count": same_typed("tensor<9223372036854775807x9223372036854775807xf32>"),
    "no elements": function(
        "%0 = stablehlo.slice %x [0:0, 1:3] : (tensor<0x3xf32>) -> tensor<0x2xf32>",
        "tensor<0x3xf32>",
        "tensor<0x2xf32>",
    ),
    "empty constant": constant("", "tensor<0x3xf32>"),
    "empty boolean constant": constant("", "tensor<0xi1>"),
    "empty complex constant": constant("", "tensor<0xcomplex<f32>>"),
    "splat of no elements": constant("1.0", "tensor<0x3xf32>"),
    "dynamic": same_typed("tensor<?x3xf32>"),
    "bounded": same_typed("tensor<?x3xf32, #stablehlo.bounds<4, ?>>"),
    "unranked": function('%0 = "foo.bar"(%x) : (tensor<*xf32>) -> tensor<*xf32>', "tensor<*xf32>", "tensor<*xf32>"),
    "encoding": same_typed('tensor<2xf32, "csr">'),
    "complex": constant("[(1.0,-2.0),(0x7FC00000,-0.0)]", "tensor<2xcomplex<f32>>"),
    "complex splat": constant("(1.0,2.0)", "tensor<2x2xcomplex<f64>>"),
    **{
        f"element {dtype}": added(f"tensor<3x{dtype}>")
        for dtype in (
            *("f8E4M3FN", "f8E5M2", "f8E4M3", "f8E3M4", "f8E8M0FNU", "f8E4M3B11FNUZ", "f4E2M1FN", "f6E2M3FN"),
            *("bf16", "i1", "i2", "ui2", "i4", "ui4", "ui64"),
        )
    },
    "4-bit numbers": constant("[-8, 7, -1, 0, 3]", "tensor<5xi4>"),
    "largest number": constant("[18446744073709551615, 0]", "tensor<2xui64>"),
    "bits of NaN": constant("[0x7FA00001, 0xFFC12345, 0xFF800000]", "tensor<3xf32>"),
    "bits of a NaN splat": constant("0x7FA00001", "tensor<3xf32>"),
    "token": (
        "func.func public @main(%t: !stablehlo.token, %x: tensor<2xf32>) -> !stablehlo.token {\n"
        '  %0 = "stablehlo.outfeed"(%x, %t) <{outfeed_config = "a\\22\\00\\FF"}>'
        " : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token\n"
        "  %1 = stablehlo.after_all %0, %t : !stablehlo.token\n"
        "  return %1 : !stablehlo.token\n}"
    ),
    "tuple": function(
        "%t = stablehlo.get_tuple_element %x[1] : (tuple<tensor<2xf32>, tuple<tensor<i32>>>) -> tuple<tensor<i32>>\n"
        "%0 = stablehlo.get_tuple_element %t[0] : (tuple<tensor<i32>>) -> tensor<i32>",
        "tuple<tensor<2xf32>, tuple<tensor<i32>>>",
        "tensor<i32>",
    ),
    "custom call": function(
        "%0 = stablehlo.custom_call @foo(%x) {api_version = 4 : i32, has_side_effect = true, backend_config = "
        '{a = 1 : i64, "b-c" = "x\\22y", d = [1.0 : f32, dense<1> : tensor<2xi32>], e}, '
        'mhlo.frontend_attributes = {k = "v"}} : (tensor<2xf32>) -> tensor<2xf32>'
    ),
    "custom call of bytes": function(
        '%0 = stablehlo.custom_call @"weird name\\0A"(%x) {backend_config = "\\00\\FF\\22"}'
        " : (tensor<2xf32>) -> tensor<2xf32>"
    ),
    "unknown attributes": function(
        '%0 = stablehlo.add %x, %x {foo.bar = #foo.baz<1, 2>, "we ird" = !foo.type<abc>, alone} : tensor<2xf32>'
    ),
    "unknown type": function(
        '%0 = "foo.make"(%x) : (tensor<2xf32>) -> !foo.bar<"a b", 3>', result='!foo.bar<"a b", 3>'
    ),
    "no terminator": function('%0 = "foo.graph"() ({\n %b = "foo.b"() : () -> i32\n}) : () -> tensor<2xf32>'),
    "empty regions": function('%0 = "foo.graph"() ({\n}, {\n^bb0(%q: i32):\n}) : () -> tensor<2xf32>'),
    "blocks at the top": '"foo.top"() ({\n^a:\n "foo.br"()[^b] : () -> ()\n^b:\n "foo.e"() : () -> ()\n}) : () -> ()\n'
    + function("%0 = stablehlo.negate %x : tensor<2xf32>"),
    "module in a module": "module @a { module @b { "
    + function("%0 = stablehlo.negate %x : tensor<2xf32>")
    + " }\n"
    + function("%0 = stablehlo.negate %x : tensor<2xf32>")
    + "}",
    "nothing": "",
    "name with spaces": 'func.func public @"mäin ☃"(%x: i32) -> i32 { return %x : i32 }',
    "many results": function(
        f'%0:300 = "foo.many"(%x) : (tensor<2xf32>) -> ({", ".join(["tensor<2xf32>"] * 300)})', value="%0#299"
    ),
    "many operands": function(
        f'%0 = "foo.many"({", ".join(["%x"] * 500)}) : ({", ".join(["tensor<2xf32>"] * 500)}) -> tensor<2xf32>'
    ),
    "unbalanced brackets in strings": function(
        "\n".join(f'%{index} = stablehlo.abs %x {{a = "(<["}} : tensor<2xf32>  // ((' for index in range(600))
    ),
    "nested regions": function(
        "%c = stablehlo.constant dense<0> : tensor<i32>\n"
        + "".join(f'%i{level} = "stablehlo.case"(%c) ({{\n' for level in range(90))
        + "stablehlo.return %x : tensor<2xf32>\n"
        + "".join(
            f"}}) : (tensor<i32>) -> tensor<2xf32>\nstablehlo.return %i{level} : tensor<2xf32>\n"
            for level in range(89, 0, -1)
        )
        + "}) : (tensor<i32>) -> tensor<2xf32>",
        value="%i0",
    ),
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_program_survives_unchanged(name: str) -> None:
    module = import_text(ODD[name])
    assert export_text(module) == printed(ODD[name])
    if name not in ("no terminator", "empty regions"):
        verify(module)
    optimize(ODD[name])


def test_a_constant_that_stands_at_the_end_of_the_file() -> None:
    text = function("%0 = stablehlo.constant dense_resource<blob> : tensor<2xf32>")
    end = '{-# dialect_resources: { builtin: { blob: "0x040000000000803F00000040" } } #-}'
    assert "dense<[1.000000e+00, 2.000000e+00]>" in export_text(import_text(text + end))


def cut(text: str, length: int) -> bytes:
    context = make_context()
    with context, ir.Location.unknown(context):
        buffer = io.BytesIO()
        ir.Module.parse(text, context).operation.write_bytecode(buffer)
        return buffer.getvalue()[:length]


NEGATION = function("%0 = stablehlo.negate %x : tensor<2xf32>")

BROKEN = {
    "size of no integer": (same_typed("tensor<99999999999999999999xf32>"), "WL0501.*invalid dimension"),
    "elided": (
        function("%0 = stablehlo.constant dense_resource<__elided__> : tensor<2xf32>"),
        "WL0501.*the elements of a constant are not there",
    ),
    "used before defined": (
        function(
            '%0 = "foo.graph"() ({\n %a = "foo.use"(%b) : (i32) -> i32\n %b = "foo.b"() : () -> i32\n}) '
            ": () -> tensor<2xf32>"
        ),
        "WL0502.*foo.use takes a value that is not defined before it",
    ),
    "blocks in an unknown op": (
        function(
            '%0 = "foo.r"() ({\n^a:\n "foo.br"()[^b] : () -> ()\n^b:\n "foo.e"() : () -> ()\n}) : () -> tensor<2xf32>'
        ),
        "WL0502.*foo.r holds control flow between blocks",
    ),
    "name that is not UTF-8": ('"stablehlo.\\FFx"() : () -> ()', "WL0501.*a name is not UTF-8"),
    "attribute that is not UTF-8": (
        function('%0 = stablehlo.abs %x {"\\FFx" = 1 : i32} : tensor<2xf32>'),
        "WL0501.*a name is not UTF-8",
    ),
    "half a character": ("func.func @main\udcff() { return }", "WL0501.*it is not UTF-8"),
    "deep attributes": (
        function(f"%0 = stablehlo.abs %x {{a = {'[' * 200_000 + ']' * 200_000}}} : tensor<2xf32>"),
        "WL0501.*brackets are nested 200,00. deep",
    ),
    "deep types": (
        function("%0 = stablehlo.abs %x : tensor<2xf32>", "tuple<" * 100_000 + "i32" + ">" * 100_000),
        "WL0501.*brackets are nested 100,00. deep",
    ),
    "deep regions": (
        function("".join('%i = "foo.a"() ({\n' for _ in range(150)) + "}) : () -> i32\n" * 150, value="%x"),
        "WL0502.*nested in more than 100 others",
    ),
    "twice the same name": (NEGATION + NEGATION, "WL0501.*redefinition of symbol named 'main'"),
    "wrong size of a reshape": (
        function("%0 = stablehlo.reshape %x : (tensor<2xf32>) -> tensor<3xf32>", result="tensor<3xf32>"),
        "WL0501.*number of output elements",
    ),
    **{f"cut at {length}": (cut(NEGATION, length), "WL0501") for length in (4, 5, 20, 60, 120, 200)},
    "newer bytecode": (cut(NEGATION, 9999).replace(b"ML\xefR\r", b"ML\xefR\xc7"), "WL0501.*newer than the current"),
    "cut artifact": (
        jax.export.export(jax.jit(jnp.sin))(jax.ShapeDtypeStruct((3,), jnp.float32)).mlir_module_serialized[:300],
        "WL0501",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_program_gives_a_diagnostic(name: str) -> None:
    given, expected = BROKEN[name]
    with pytest.raises(ProgramError, match=expected):
        if isinstance(given, str):
            import_text(given)
        else:
            import_bytecode(given)
