"""Texts that MLIR's parser and verifier take and that are wrong all the same: a clear refusal, or the right answer.

Before they were screened, those of `REFUSED` gave results of other types than declared, garbage, waited for ever, ended
the process, or raised what is no WindlassError. `REFUSED_ALREADY` documents what the verifier finds itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

import windlass as wl

X = np.arange(1, 5, dtype=np.float32)
F4 = "tensor<4xf32>"
optimize: Callable[..., str] = wl.stablehlo.optimize


def main(body: str, results: str = F4, rest: str = "", arguments: str = f"%a: {F4}") -> str:
    return f"func.func public @main({arguments}) -> {results} {{\n  {body}\n}}\n{rest}"


def ending(op: str, results: str, rest: str = "") -> str:
    return main(op, results, rest)


def call(target: str, attributes: str = "", results: str = F4) -> str:
    return main(
        f'%0 = stablehlo.custom_call @"{target}"(%a) {attributes} : ({F4}) -> {results}\nreturn %0 : {results}', results
    )


def calling(callee: str, results: str) -> str:
    return main(f"%0 = call @g(%a) : ({F4}) -> {results}\nreturn %0 : {results}", results, callee)


def reducing(body: str) -> str:
    return main(
        f"""%i = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce"(%a, %i) <{{dimensions = array<i64: 0>}}> ({{
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    {body}
  }}) : ({F4}, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>""",
        "tensor<f32>",
    )


RETURN = f"stablehlo.return %a : {F4}"
LARGE = "tensor<4294967296x4294967296xf32>"
TOKEN = "%t = stablehlo.create_token : !stablehlo.token\n"

REFUSED: dict[str, tuple[str, str]] = {
    # A function ends with other values than it declares.
    "another dtype": ("WL0509", ending(RETURN, "tensor<4xi32>")),
    "another width": ("WL0509", ending(RETURN, "tensor<4xf64>")),
    "another sign": (
        "WL0509",
        main("stablehlo.return %a : tensor<4xui8>", "tensor<4xi8>", arguments="%a: tensor<4xui8>"),
    ),
    "another shape": ("WL0509", ending(RETURN, "tensor<5xf32>")),
    "another rank": ("WL0509", ending(RETURN, "tensor<2x2xf32>")),
    "no shape": ("WL0509", ending(RETURN, "tensor<?xf32>")),
    "too few results": ("WL0509", ending(RETURN, f"({F4}, {F4})")),
    "too many results": ("WL0509", ending(f"stablehlo.return %a, %a : {F4}, {F4}", F4)),
    "no results": ("WL0509", ending("stablehlo.return", F4)),
    "results of a function that has none": ("WL0509", ending(RETURN, "()")),
    "the terminator of another dialect": ("WL0509", ending(f'"mhlo.return"(%a) : ({F4}) -> ()', "tensor<4xi32>")),
    "the terminator of no dialect": ("WL0509", ending(f'"foo.return"(%a) : ({F4}) -> ()', "tensor<4xi32>")),
    "a callee of another shape": (
        "WL0509",
        calling(f"func.func private @g(%a: {F4}) -> tensor<5xf32> {{ {RETURN} }}", "tensor<5xf32>"),
    ),
    "a callee of another dtype": (
        "WL0509",
        calling(f"func.func private @g(%a: {F4}) -> tensor<4xi32> {{ {RETURN} }}", "tensor<4xi32>"),
    ),
    "a callee with too few results": (
        "WL0509",
        main(
            f"%0:2 = call @g(%a) : ({F4}) -> ({F4}, {F4})\nreturn %0#1 : {F4}",
            rest=f"func.func private @g(%a: {F4}) -> ({F4}, {F4}) {{ {RETURN} }}",
        ),
    ),
    "a decomposition of another dtype": (
        "WL0509",
        main(
            f'%0 = stablehlo.composite "a.b" %a {{decomposition = @g}} : ({F4}) -> tensor<4xi32>\n'
            f"return %0 : tensor<4xi32>",
            "tensor<4xi32>",
            f"func.func private @g(%a: {F4}) -> tensor<4xi32> {{ {RETURN} }}",
        ),
    ),
    "a function that nobody calls": (
        "WL0509",
        main(f"return %a : {F4}", rest=f"func.func private @g(%a: {F4}) -> tensor<4xi32> {{ {RETURN} }}"),
    ),
    # XLA's refusals and answers of other types.
    "a terminator of shardy's": ("WL0510", ending(f'"sdy.return"(%a) : ({F4}) -> ()', F4)),
    "a scatter into wider elements": (
        "WL0510",
        main(
            f"""%i = stablehlo.constant dense<[[0], [1]]> : tensor<2x1xi32>
  %u = stablehlo.constant dense<1.0> : tensor<2xf32>
  %0 = "stablehlo.scatter"(%a, %i, %u) <{{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0],
      scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}> ({{
  ^bb0(%x: tensor<f64>, %y: tensor<f64>):
    stablehlo.return %y : tensor<f64>
  }}) : ({F4}, tensor<2x1xi32>, tensor<2xf32>) -> tensor<4xf64>
  return %0 : tensor<4xf64>""",
            "tensor<4xf64>",
        ),
    ),
    "random bits that are floats": (
        "WL0510",
        main(
            "%s = stablehlo.constant dense<4> : tensor<2xui64>\n"
            "%0:2 = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY"
            f" : (tensor<2xui64>) -> (tensor<2xui64>, {F4})\nreturn %0#1 : {F4}"
        ),
    ),
    "bits of floats": (
        "WL0510",
        main(
            f"%0 = stablehlo.bitcast_convert %a : ({F4}) -> tensor<4x32xi1>\nreturn %0 : tensor<4x32xi1>",
            "tensor<4x32xi1>",
        ),
    ),
    "a fusion of another dtype": (
        "WL0510",
        main(
            f"""%0 = "mhlo.fusion"(%a) <{{fusion_kind = #mhlo<fusion_kind kLoop>}}> ({{
  ^bb0(%x: {F4}): "mhlo.return"(%x) : ({F4}) -> ()
  }}) : ({F4}) -> tensor<4xi32>
  return %0 : tensor<4xi32>""",
            "tensor<4xi32>",
        ),
    ),
    "another device": (
        "WL0510",
        main(
            f'%0 = "stablehlo.all_gather"(%a) <{{all_gather_dim = 0 : i64, '
            f"replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}}>"
            f" : ({F4}) -> tensor<8xf32>\nreturn %0 : tensor<8xf32>",
            "tensor<8xf32>",
        ),
    ),
    "four terabytes": (
        "WL0510",
        main(
            "%0 = stablehlo.iota dim = 0 : tensor<1099511627776xf32>\nreturn %0 : tensor<1099511627776xf32>",
            "tensor<1099511627776xf32>",
        ),
    ),
    "a broadcast that does not fit": (
        "WL0510",
        main(
            f"%0 = stablehlo.slice %a [0:3] : ({F4}) -> tensor<3xf32>\n"
            f"%1 = chlo.broadcast_add %a, %0 : ({F4}, tensor<3xf32>)"
            f" -> {F4}\nreturn %1 : {F4}"
        ),
    ),
    # Custom calls.
    "an unknown target": ("WL0511", call("nonesuch")),
    "an unknown target of the new interface": ("WL0511", call("nonesuch", "{api_version = 4 : i32}")),
    "a target without a name": ("WL0511", call("")),
    "a Python function": ("WL0511", call("xla_ffi_python_cpu_callback", "{api_version = 4 : i32}")),
    "a Python function of before": ("WL0511", call("xla_python_cpu_callback")),
    "a library's matrix product": ("WL0511", call("__onednn$matmul")),
    "a library's softmax": ("WL0511", call("__onednn$softmax")),
    "an expander of XLA's": ("WL0511", call("ProductOfElementaryHouseholderReflectors")),
    "a sort of XLA's": ("WL0511", call("TopK")),
    "a dynamic slice of XLA's": ("WL0511", call("SliceToDynamic")),
    "a computation that is not there": ("WL0511", call("Sharding", "{called_computations = [@nope]}")),
    "a sharding that changes the type": ("WL0511", call("Sharding", "", "tensor<8xf32>")),
    "a call in a reduction": (
        "WL0511",
        reducing(
            "%z = stablehlo.custom_call @Sharding(%x) : (tensor<f32>) -> tensor<f32>\nstablehlo.return %z : tensor<f32>"
        ),
    ),
    "pivots that are too few": (
        "WL0511",
        main(
            "%m = stablehlo.constant dense<1.0> : tensor<64x64xf32>\n"
            "%0:3 = stablehlo.custom_call @lapack_sgetrf_ffi(%m)"
            " {api_version = 4 : i32} : (tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<1xi32>, tensor<i32>)"
            f"\nreturn %a : {F4}"
        ),
    ),
    # Ops that wait, sizes that overflow, ops that have no place.
    "an infeed": (
        "WL0512",
        main(
            f'{TOKEN}%0:2 = "stablehlo.infeed"(%t) <{{infeed_config = ""}}> : (!stablehlo.token)'
            f" -> ({F4}, !stablehlo.token)\nreturn %0#0 : {F4}"
        ),
    ),
    "an outfeed": (
        "WL0512",
        main(
            f'{TOKEN}%0 = "stablehlo.outfeed"(%a, %t) <{{outfeed_config = ""}}> : ({F4}, !stablehlo.token)'
            f" -> !stablehlo.token\nreturn %a : {F4}"
        ),
    ),
    "a constant of 2^64 elements": (
        "WL0513",
        main(f"%0 = stablehlo.constant dense<1.0> : {LARGE}\nreturn %0 : {LARGE}", LARGE),
    ),
    "a broadcast to 2^66 elements": (
        "WL0513",
        main(
            f"%0 = stablehlo.broadcast_in_dim %a, dims = [2] : ({F4}) -> tensor<4294967296x4294967296x4xf32>\n"
            f"return %a : {F4}"
        ),
    ),
    "an argument of 2^64 elements": ("WL0513", main(f"return %a : {F4}", arguments=f"%a: {F4}, %b: {LARGE}")),
    "a mesh of 2^64 devices": (
        "WL0513",
        'sdy.mesh @mesh = <["x"=4611686018427387904, "y"=4]>\n' + main(f"return %a : {F4}"),
    ),
    "a transform of another length": (
        "WL0514",
        main(
            "%0 = stablehlo.fft %a, type = FFT, length = [5] : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>\n"
            "return %0 : tensor<4xcomplex<f32>>",
            "tensor<4xcomplex<f32>>",
            arguments="%a: tensor<4xcomplex<f32>>",
        ),
    ),
    "a constant beside functions": (
        "WL0505",
        "%0 = stablehlo.constant dense<1.0> : tensor<f32>\n" + main(f"return %a : {F4}"),
    ),
    "a call beside functions": (
        "WL0505",
        "stablehlo.custom_call @foo() {has_side_effect = true} : () -> ()\n" + main(f"return %a : {F4}"),
    ),
    "an op of another version": (
        "WL0501",
        '"vhlo.func_v1"() <{sym_name = "main", function_type = () -> (), sym_visibility = "public", arg_attrs = [],'
        ' res_attrs = []}> ({\n "vhlo.return_v1"() : () -> ()\n}) : () -> ()',
    ),
    "an op whose name is not UTF-8": (
        "WL0501",
        main(f'%0 = "foo.\\FFx"(%a) : ({F4}) -> {F4}\nreturn %0 : {F4}'),
    ),
    "a resource without alignment": (
        "WL0501",
        main(f"%0 = stablehlo.constant dense_resource<foo> : {F4}\nreturn %0 : {F4}")
        + '{-# dialect_resources: { builtin: { foo: "0x000000000000803F0000803F0000803F0000803F" } } #-}',
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_ill_typed_program_is_refused(name: str) -> None:
    code, text = REFUSED[name]
    with pytest.raises(wl.ProgramError) as caught:
        wl.stablehlo.run(text, X)
    assert str(caught.value).startswith(f"error[{code}]")


@pytest.mark.parametrize("name", [name for name, (code, _) in REFUSED.items() if code == "WL0509"])
def test_results_of_other_types_are_refused_by_the_optimizer_too(name: str) -> None:
    with pytest.raises(wl.ProgramError, match="WL0509"):
        optimize(REFUSED[name][1])


def test_the_diagnostic_names_line_and_column() -> None:
    with pytest.raises(wl.ProgramError) as caught:
        optimize(REFUSED["another dtype"][1])
    assert str(caught.value) == "\n".join(
        [
            "error[WL0509]: @main is to give tensor<4xi32>, and ends with tensor<4xf32>",
            " --> <stablehlo>:2:3",
            "  help: return values of the types that the function declares, or declare those that it returns",
        ]
    )


REFUSED_ALREADY: dict[str, str] = {
    "a body of a loop": main(
        f"""%0 = "stablehlo.while"(%a) ({{
  ^bb0(%x: {F4}):
    %c = stablehlo.constant dense<false> : tensor<i1>
    stablehlo.return %c : tensor<i1>
  }}, {{
  ^bb0(%x: {F4}):
    %y = stablehlo.convert %x : ({F4}) -> tensor<4xi32>
    stablehlo.return %y : tensor<4xi32>
  }}) : ({F4}) -> {F4}
  return %0 : {F4}"""
    ),
    "a reducer": reducing("%z = stablehlo.constant dense<0> : tensor<i32>\nstablehlo.return %z : tensor<i32>"),
    "a reducer without result": reducing("stablehlo.return"),
    "a function's return in a region": reducing('"func.return"(%x) : (tensor<f32>) -> ()'),
    "another dialect's return in a region": reducing('"mhlo.return"(%x) : (tensor<f32>) -> ()'),
    "a call of another type": calling(
        f"func.func private @g(%a: {F4}) -> {F4} {{ return %a : {F4} }}", "tensor<4xi32>"
    ),
    "a call of nothing": calling("", F4),
    "a call of a mesh": calling('sdy.mesh @g = <["x"=1]>', F4),
    "two functions of one name": main(f"return %a : {F4}") + main(f"return %a : {F4}"),
    "too few bytes": main(f'%0 = stablehlo.constant dense<"0x0000803F0000803F0000803F"> : {F4}\nreturn %0 : {F4}'),
    "too many elements": main(f"%0 = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0]> : {F4}\nreturn %0 : {F4}"),
    "floats for integers": main(
        "%0 = stablehlo.constant dense<1.5> : tensor<4xi32>\nreturn %0 : tensor<4xi32>", "tensor<4xi32>"
    ),
    "a negative size": main("return %a : tensor<-4xf32>", "tensor<-4xf32>"),
    "a size beyond 64 bits": main("return %a : tensor<99999999999999999999xf32>", "tensor<99999999999999999999xf32>"),
    "a sharding without mesh": main(
        f"return %a : {F4}", arguments=f'%a: {F4} {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}]>}}'
    ),
    "text of another compiler": "HloModule m\nENTRY main { ROOT p = f32[4] parameter(0) }",
    "a zero in a name": main(f"%0 = stablehlo.neg\0ate %a : {F4}\nreturn %0 : {F4}"),
}


@pytest.mark.parametrize("name", REFUSED_ALREADY)
def test_what_the_verifier_finds_is_a_diagnostic(name: str) -> None:
    for function in (wl.stablehlo.optimize, wl.stablehlo.run):
        with pytest.raises(wl.ProgramError, match=r"WL0501|WL0509"):
            function(REFUSED_ALREADY[name])


RIGHT: dict[str, tuple[str, object]] = {
    "the terminator of StableHLO": (main(RETURN), X),
    "the terminator of MHLO": (main(f'"mhlo.return"(%a) : ({F4}) -> ()'), X),
    "an alias that is out of range": (main(f"return %a : {F4}", arguments=f""
        f"%a: {F4} {{tf.aliasing_output = 9 : i32}}"), X),
    "an alias that is text": (main(f"return %a : {F4}", arguments=f'%a: {F4} {{tf.aliasing_output = "x"}}'), X),
    "an alias of another type": (
        main(f"%0 = stablehlo.slice %a [0:2] : ({F4}) -> tensor<2xf32>\nreturn %0 : tensor<2xf32>", "tensor<2xf32>",
             arguments=f"%a: {F4} {{tf.aliasing_output = 0 : i32}}"), X[:2],
    ),
    "a donor that is text": (main(f"return %a : {F4}", arguments=f'%a: {F4} {{jax.buffer_donor = "x"}}'), X),
    "a sharding that can't be read": (main(f"return %a : {F4}", arguments=f'%a: {F4} {{mhlo.sharding = "{{junk"}}'), X),
    "a zero at the end": (main(f"return %a : {F4}") + "\0", X),
    "a payload of NaN": (
        main("%0 = stablehlo.constant dense<[0x7FC00001, 0xFFC00000, 0x7F800000, 1.0]> : tensor<4xf32>\n"
        "return %0 : tensor<4xf32>"),
        np.array([np.nan, np.nan, np.inf, 1], np.float32),
    ),
    "a private entry": (main(f"return %a : {F4}").replace("public", "private"), X),
    "an entry of another name": (main(f"return %a : {F4}").replace("@main", "@f"), X),
    "2^40 equal elements": (
        main("%0 = stablehlo.constant dense<1.0> : tensor<1099511627776xf32>\n"
             f"%1 = stablehlo.slice %0 [0:4] : (tensor<1099511627776xf32>) -> {F4}\n"
        f"return %1 : {F4}"), np.ones(4, np.float32),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_an_odd_program_gives_the_right_answer(name: str) -> None:
    text, expected = RIGHT[name]
    for program in (text, optimize(text)):
        (result,) = wl.stablehlo.run(program, X)
        np.testing.assert_array_equal(result, np.asarray(expected))


@pytest.mark.parametrize("text", ["", " \n", "// nothing", "module {}"])
def test_an_empty_text_is_an_empty_module(text: str) -> None:
    assert re.sub(r"\s", "", optimize(text)) == "module{}"
    with pytest.raises(wl.ProgramError, match="WL0520"):
        wl.stablehlo.run(text)


@pytest.mark.parametrize("text", ["module { module { } }", "module @a { module @b { } }", "module { } \n module { }"])
def test_nested_modules_pass_and_do_not_run(text: str) -> None:
    assert "module" in optimize(text)
    with pytest.raises(wl.ProgramError, match=r"WL05(05|20)"):
        wl.stablehlo.run(text)


def test_recursion_passes_and_does_not_run() -> None:
    text = main(f"%0 = call @main(%a) : ({F4}) -> {F4}\nreturn %0 : {F4}")
    assert "call @main" in optimize(text)
    with pytest.raises(wl.ProgramError, match="WL0506"):
        wl.stablehlo.run(text, X)


@pytest.mark.parametrize("type_", ["tensor<?xf32>", "tensor<*xf32>", "tensor<?xf32, #stablehlo.bounds<4>>",
    "tensor<4x!quant.uniform<i8:f32, 0.5:1>>", "!stablehlo.token", f"tuple<{F4}>", "tensor<4xindex>", "tensor<4xi128>",
    "f32", "memref<4xf32>", "none", 'tensor<4xf32, "abc">', "tensor<4xcomplex<f16>>"])  # fmt: skip
def test_types_that_are_no_arrays_pass_and_do_not_run(type_: str) -> None:
    text = main(f"return %a : {type_}", type_, arguments=f"%a: {type_}")
    assert type_ in optimize(text)
    with pytest.raises(wl.ProgramError, match="WL0520"):
        wl.stablehlo.run(text, X)
