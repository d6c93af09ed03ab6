"""What comes in goes out again unchanged, and means the same."""

from __future__ import annotations

import gc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from windlass import ops
from windlass.diagnostics import Position
from windlass.ir import Block, Builder, Function, Module
from windlass.ir.types import NUMPY_DTYPES, tensor_type
from windlass.ir.verifier import verify
from windlass.stablehlo import export_bytecode, export_module, export_text, import_bytecode, import_module, import_text

SQUARE = jnp.ones((4, 4))


def scatter_twice(x: Any) -> Any:
    return x.at[jnp.arange(2)].add(1.0).at[1:3, 0].set(x[0, :2])


def scan(x: Any) -> Any:
    return jax.lax.scan(lambda carry, row: (carry + row.sum(), carry), 0.0, x)


def branch(x: Any) -> Any:
    return jax.lax.switch(x[0, 0].astype(int), [lambda: x, lambda: 2 * x, lambda: x.T])


def convolve(x: Any) -> Any:
    return jax.lax.conv_general_dilated(x[None, None], x[None, None, :3, :3], (2, 1), "SAME", (1, 1), (1, 2))


def pool(x: Any) -> Any:
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (2, 2), (1, 1), "SAME").sum()


def special(x: Any) -> Any:
    functions = jax.scipy.special
    total = functions.erf(x) + functions.erfinv(x) + functions.gammaln(x) + functions.digamma(x) + functions.i1e(x)
    return total + functions.polygamma(1, x) + functions.zeta(x + 1, x) + functions.erfc(x) + jnp.nextafter(x, 0.0)


def trigonometry(x: Any) -> Any:
    total = jnp.arcsin(x) + jnp.arccos(x) + jnp.arctan(x) + jnp.sinh(x) + jnp.cosh(x) + jnp.tan(x) + jnp.cbrt(x)
    return total + jnp.arcsinh(x) + jnp.arccosh(x) + jnp.arctanh(x) + jnp.arctan2(x, x) + jnp.hypot(x, x)


def bits(x: Any) -> Any:
    words = jax.lax.bitcast_convert_type(x, jnp.uint32)
    return jax.lax.population_count(words) + jax.lax.clz(words >> 3) + (words << 2) ^ ~words


def small_types(x: Any) -> Any:
    return x.astype(jnp.bfloat16) @ x.astype(jnp.bfloat16), x.astype(jnp.int4), x.astype(jnp.float8_e4m3fn)


def constants(x: Any) -> Any:
    wide = np.linspace(0, 1, 300).astype(np.float32)
    return (
        jnp.exp(1j * x) * np.array([1j, 2, 3, np.nan], np.complex64),
        jnp.array(wide.astype(jnp.bfloat16)) + x[0, 0].astype(jnp.bfloat16),
        x + np.array([np.inf, np.nan, -0.0, 1e-40], np.float32),
        x[0, 0].astype(int) + np.arange(200, dtype=np.uint8),
        (x > 0) & np.array([True, False, True, True]),
    )


def random_bits(x: Any) -> Any:
    return jax.random.bits(jax.random.key(0, impl="rbg"), (3,)), jax.random.normal(jax.random.key(0), x.shape)


def contractions(x: Any) -> Any:
    return jnp.einsum("ij,jk->ik", x, x, precision="highest"), jnp.einsum("bij,bjk->bik", x[None], x[None])


def misc(x: Any) -> Any:
    ordered = jnp.sort(x), jnp.argsort(x), jax.lax.top_k(x, 2), jnp.cumsum(x), jnp.argmax(x, 0), jnp.median(x)
    return ordered, jax.lax.reduce_precision(x, 5, 10), jax.lax.optimization_barrier(x), x[jnp.arange(2)]


FUNCTIONS: list[Callable[..., Any]] = [
    scatter_twice,
    scan,
    branch,
    convolve,
    jax.grad(pool),
    special,
    trigonometry,
    bits,
    small_types,
    constants,
    random_bits,
    contractions,
    misc,
    jnp.linalg.inv,
    jnp.linalg.eigh,
    jnp.linalg.qr,
    jnp.linalg.svd,
    jnp.linalg.cholesky,
    jnp.linalg.det,
    jnp.fft.fft2,
    jnp.fft.irfft,
    jax.jacfwd(jnp.linalg.inv),
]


def opaque_names(module: Module) -> set[str]:
    return {
        op.operation for function in module.functions.values() for op in function.walk() if isinstance(op, ops.Opaque)
    }


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: getattr(function, "__name__", "function"))
def test_programs_of_jax_keep_their_text_and_every_op_has_a_class(function: Callable[..., Any]) -> None:
    lowered = jax.jit(function).lower(SQUARE)
    expected = str(lowered.compiler_ir())
    module = import_module(lowered.compiler_ir())
    assert opaque_names(module) == set()
    verify(module)
    assert export_text(module).strip() == expected.strip()
    assert export_text(import_text(expected)).strip() == expected.strip()
    assert export_text(import_bytecode(export_bytecode(module))).strip() == expected.strip()


RICH = """\
module @rich attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=1]>
  func.func public @main(%arg0: tensor<4xf32> {jax.buffer_donor = true, mhlo.sharding = "{devices=[2]<=[2]}"}, %arg1: \
tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>, tf.aliasing_output = 0 : i32}) -> (tensor<4xf32> \
{jax.result_info = "result"}) attributes {no_inline} {
    %0 = sdy.sharding_constraint %arg0 <@mesh, [{"x"}]> : tensor<4xf32>
    %1 = call @helper(%0) {mhlo.frontend_attributes = {kind = "small"}} : (tensor<4xf32>) -> tensor<4xf32>
    %2 = stablehlo.add %1, %arg1 {mhlo.frontend_attributes = {a = "b"}} : tensor<4xf32>
    %3 = sdy.manual_computation(%2) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} \
(%arg2: tensor<2xf32>) {
      %6 = stablehlo.negate %arg2 : tensor<2xf32>
      sdy.return %6 : tensor<2xf32>
    } : (tensor<4xf32>) -> tensor<4xf32>
    %4 = stablehlo.custom_call @target(%3) {api_version = 4 : i32, backend_config = {n = 3 : i64}, \
has_side_effect = true, operand_layouts = [dense<0> : tensor<1xindex>], \
result_layouts = [dense<0> : tensor<1xindex>]} : (tensor<4xf32>) -> \
tensor<4xf32>
    %5 = stablehlo.composite "my.composite" %4 {decomposition = @helper} : (tensor<4xf32>) -> tensor<4xf32>
    return %5 : tensor<4xf32>
  }
  func.func private @helper(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.exponential %arg0 {result_accuracy = #stablehlo.result_accuracy<ulps = 10, mode = \
#stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
"""


def test_everything_around_the_ops_survives() -> None:
    module = import_text(RICH)
    assert opaque_names(module) == {
        "sdy.sharding_constraint",
        "sdy.manual_computation",
        "sdy.return",
        "stablehlo.composite",
    }
    assert export_text(module) == RICH
    assert module.main.argument_attributes[1]["tf.aliasing_output"] == "0 : i32"
    clone = Module([function.clone() for function in module.functions.values()], module.name)
    clone.attributes, clone.globals = module.attributes, module.globals
    assert export_text(clone) == RICH


KEPT = {
    "an op of a dialect that nobody knows": (
        '%0 = "my.op"(%arg0) {a = 1 : i64, "odd name" = "x"} : (tensor<2xf32>) -> tensor<2xf32>',
        True,
    ),
    "an op of another dialect": ("%0 = arith.addf %arg0, %arg0 : tensor<2xf32>", True),
    "tuples": (
        "%0 = stablehlo.tuple %arg0 : tuple<tensor<2xf32>>\n"
        "    %1 = stablehlo.get_tuple_element %0[0] : (tuple<tensor<2xf32>>) -> tensor<2xf32>",
        True,
    ),
    "sizes known only when it runs": (
        "%c = stablehlo.constant dense<[1, 2]> : tensor<2xi32>\n"
        "    %0 = stablehlo.dynamic_reshape %arg0, %c : (tensor<2xf32>, tensor<2xi32>) -> tensor<?x?xf32>\n"
        "    %1 = stablehlo.add %0, %0 : tensor<?x?xf32>",
        True,
    ),
    "tokens": (
        "%0 = stablehlo.after_all  : !stablehlo.token\n    %1 = stablehlo.after_all %0, %0 : !stablehlo.token",
        False,
    ),
    "an empty slice": ("%0 = stablehlo.slice %arg0 [0:0] : (tensor<2xf32>) -> tensor<0xf32>", False),
}


@pytest.mark.parametrize(("body", "is_opaque"), KEPT.values(), ids=KEPT)
def test_what_is_not_known_is_kept(body: str, is_opaque: bool) -> None:
    text = (
        "module {\n  func.func public @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {\n    "
        f"{body}\n    return %arg0 : tensor<2xf32>\n  }}\n}}\n"
    )
    module = import_text(text)
    assert export_text(module) == text
    assert bool(opaque_names(module)) is is_opaque


def test_positions_come_from_locations_and_go_back() -> None:
    text = (
        "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
        "  %0 = stablehlo.negate %x : tensor<2xf32> loc(HERE)\n  return %0 : tensor<2xf32>\n}"
    )
    nested = [
        '"a.py":3:4',
        '"jit(f)/neg"("a.py":3:4)',
        'fused["n"("a.py":3:4), "b.py":1:1]',
        'callsite("a.py":3:4 at "b.py":9:9)',
    ]
    for location in nested:
        module = import_text(text.replace("HERE", location))
        assert module.main.body.first is not None
        assert module.main.body.first.source == Position("a.py", 3, 4)
        assert 'loc("a.py":3:4)' in export_text(module, locations=True)
    module = import_text(text.replace(" loc(HERE)", ""), "mine.mlir")
    assert module.main.body.first is not None
    assert module.main.body.first.source == Position("mine.mlir", 2, 8)


def test_a_portable_artifact_of_jax_export_is_read() -> None:
    exported = jax.export.export(jax.jit(jnp.sin))(jax.ShapeDtypeStruct((3,), jnp.float32))
    module = import_bytecode(exported.mlir_module_serialized)
    assert any(isinstance(op, ops.Sine) for op in module.main.walk())


DTYPES = ("f32", "f64", "f16", "bf16", "f8E5M2", "i8", "ui64", "i1", "i4", "complex<f32>", "complex<f64>")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1000,), (10, 100), (8,)])
def test_constants_keep_their_bits(dtype: str, shape: tuple[int, ...]) -> None:
    target = NUMPY_DTYPES[dtype]
    raw = np.random.default_rng(0).integers(0, 256, 16000, dtype=np.uint8)
    if dtype in ("i1", "i4"):
        array = (raw % 2).astype(np.int8).astype(target)
    else:
        array = np.frombuffer(raw.tobytes(), target)
    constant = ops.Constant.of(array[: np.prod(shape)].reshape(shape), dtype)
    block = Block()
    with Builder(block):
        ops.Return((ops.Constant(constant.value),))
    found = import_text(export_text(Module([Function("main", block)]))).main.body.first
    assert isinstance(found, ops.Constant)
    assert found.value == constant.value


def test_a_slice_of_a_scalar_at_no_place_is_the_scalar() -> None:
    """MLIR prints `dynamic_slice %x, , sizes = []`, which it does not read."""
    block = Block([tensor_type((), "f32")])
    with Builder(block):
        part = ops.DynamicSlice(block.arguments[0], (), ())
        ops.Return((ops.Negate(part),))
    text = export_text(Module([Function("main", block)]))
    assert "dynamic_slice" not in text
    assert [type(op) for op in import_text(text).main.body] == [ops.Negate, ops.Return]


def test_exporting_needs_no_lock() -> None:
    module = import_text(RICH)
    with ThreadPoolExecutor(4) as pool:
        texts = list(pool.map(lambda _: export_text(module), range(16)))
    assert set(texts) == {RICH}


def test_an_exported_module_outlives_what_made_it() -> None:
    exported = export_module(import_text(RICH))
    gc.collect()
    assert str(exported).count("stablehlo.add") == 1
