"""Functions of the notation as their callers see them: NumPy arrays, `wl.jit`, JAX's transformations."""

from __future__ import annotations

import pickle
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import windlass as wl
from tests.frontends.notation.examples import floats, integers
from windlass.diagnostics import ArrayIndexError, LaunchError

PRODUCT = wl.notation("def mm(float(M, K) A, float(K, N) B) -> (C) { C(i, j) +=! A(i, k) * B(k, j) }")["mm"]
CONVOLUTION = wl.notation("""
def conv(float(N, C, H, W) I, float(M, C, KH, KW) K) -> (O) {
  O(n, m, h, w) +=! I(n, c, 2*h + kh, 2*w + kw) * K(m, c, kh, kw)
}""")["conv"]
ROWS = wl.notation("def rows(float(E, D) T, int32(B) I) -> (O) { O(b, d) = T(I(b), d) }")["rows"]
MIXED = wl.notation("""
def mixed(float(N, M) x, float(M) w, int32(N) pick) -> (loss, y) {
  most(i) max=! x(i, j)
  y(i, j) = exp(x(i, j) - most(i)) * w(j) / (1.0 + abs(x(i, M - 1 - j)))
  loss +=! y(i, pick(i)) * y(i, pick(i))
}""")["mixed"]


def mixed(x: Any, w: Any, pick: Any) -> tuple[Any, Any]:
    y = jnp.exp(x - x.max(1, keepdims=True)) * w / (1 + jnp.abs(x[:, ::-1]))
    return (y[jnp.arange(x.shape[0]), pick] ** 2).sum(), y


def test_results_are_fresh_numpy_arrays() -> None:
    a, b = floats(3, 4), floats(4, 2)
    first, second = PRODUCT(a, b), PRODUCT(a, B=b)
    assert type(first) is np.ndarray and first.flags.writeable and first is not second
    np.testing.assert_array_equal(first, second)


def test_a_program_is_made_once_for_each_shape() -> None:
    function = wl.notation("def twice(float(N) x) -> (y) { y(i) = 2.0 * x(i) }")["twice"]
    for size in (3, 5, 3, 5, 3):
        assert function(np.ones(size, np.float32)).tolist() == [2.0] * size
    assert function.programs == 2


def test_parameters_are_not_changed_by_what_is_written_to_them() -> None:
    function = wl.notation("def f(float(N) x) -> (x) { x(i) *= 3.0 }")["f"]
    x = np.ones(3, np.float32)
    assert function(x).tolist() == [3.0, 3.0, 3.0] and x.tolist() == [1.0, 1.0, 1.0]


def test_arrays_that_do_not_lie_in_order_are_taken() -> None:
    a, b = floats(4, 3), floats(8, 2)
    np.testing.assert_allclose(PRODUCT(a.T, b[::2]), a.T @ b[::2], rtol=1e-6)


def test_numbers_of_python_are_taken_where_there_are_no_axes() -> None:
    function = wl.notation("def f(float a, int8 n, bool b, bfloat16 h) -> (y) { y = b ? a * n : float(h) }")["f"]
    assert function(2, 3, True, 0.5) == np.float32(6) and function(2, 3, False, 0.5) == np.float32(0.5)
    assert function(np.float32(2), np.int8(3), np.bool_(True), 1).shape == ()


def test_a_module_is_a_mapping() -> None:
    module = wl.notation("def f(float x) -> (y) { y = x } def g(float x) -> (y) { y = f(x) }")
    assert list(module) == ["f", "g"] and "f" in module and len(module) == 2
    assert repr(module) == "<windlass notation: f, g>" and repr(module["g"]) == "<windlass notation function g>"
    assert pickle.loads(pickle.dumps(module["g"]))(2.0) == 2.0
    with pytest.raises(AttributeError, match=r"write module\['f'\]"):
        _ = module.f


def test_text_of_a_product_is_one_contraction() -> None:
    lowered = PRODUCT.lower(floats(5, 7), floats(7, 3))
    assert lowered.stages == ("tensor", "optimized", "hlo")
    assert lowered.text("tensor") == (
        "module @mm {\n"
        "  func.func public @mm(%arg0: tensor<5x7xf32>, %arg1: tensor<7x3xf32>) -> tensor<5x3xf32> {\n"
        "    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : "
        "(tensor<5x7xf32>, tensor<7x3xf32>) -> tensor<5x3xf32>\n"
        "    return %0 : tensor<5x3xf32>\n"
        "  }\n"
        "}\n"
    )


# -- JAX --------------------------------------------------------------------------------------------------------------


def test_derivatives_are_those_of_einsum_and_of_convolution() -> None:
    a, b, seed = (jnp.asarray(floats(*shape)) for shape in ((3, 4), (4, 2), (3, 2)))

    def theirs(a: Any, b: Any) -> Any:
        return (jnp.einsum("ik,kj->ij", a, b, precision="highest") * seed).sum()

    found = jax.grad(lambda a, b: (PRODUCT.jax(a, b) * seed).sum(), (0, 1))(a, b)
    jax.tree.map(
        lambda one, other: np.testing.assert_allclose(one, other, rtol=1e-5), found, jax.grad(theirs, (0, 1))(a, b)
    )
    x, k = jnp.asarray(floats(2, 3, 9, 8)), jnp.asarray(floats(4, 3, 3, 2))

    def convolved(x: Any, k: Any) -> Any:
        return jax.lax.conv_general_dilated(x, k, (2, 2), "VALID", precision="highest")

    for mine, other in zip(
        jax.grad(lambda x, k: jnp.sin(CONVOLUTION.jax(x, k)).sum(), (0, 1))(x, k),
        jax.grad(lambda x, k: jnp.sin(convolved(x, k)).sum(), (0, 1))(x, k),
        strict=True,
    ):
        np.testing.assert_allclose(mine, other, rtol=2e-4, atol=2e-4)


def test_pure_function_composes_with_transformations() -> None:
    x, w, pick = jnp.asarray(floats(3, 4)), jnp.asarray(floats(4)), jnp.asarray(integers(0, 4, 3))

    def transformed(function: Any) -> Any:
        """All in one program, as compiling takes the time."""

        def run(x: Any, w: Any) -> Any:
            gradient = jax.grad(lambda x, w: function(x, w, pick)[0], (0, 1))(x, w)
            many = jax.vmap(lambda x: function(x, w, pick)[0])(jnp.stack([x, 2 * x, -x]))
            tangent = jax.jvp(lambda w: function(x, w, pick), (w,), (w,))[1]
            return function(x, w, pick), gradient, many, tangent

        return jax.jit(run)(x, w)

    found, expected = (jax.tree.leaves(transformed(each)) for each in (MIXED.jax, mixed))
    for mine, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-4, atol=1e-5)


def test_jax_arrays_give_jax_arrays() -> None:
    assert isinstance(PRODUCT(jnp.ones((2, 3)), np.ones((3, 2), np.float32)), jax.Array)


def test_doubles_need_jax_to_hold_them() -> None:
    function = wl.notation("def f(double(N) x) -> (s) { s +=! x(i) }")["f"]
    assert function(np.array([0.1, 0.2])) == 0.1 + 0.2
    with pytest.raises(LaunchError, match="WL0902"):
        function.jax(np.array([0.1, 0.2]))
    with jax.enable_x64(True):
        assert function.jax(np.array([0.1, 0.2])) == 0.1 + 0.2


# -- within wl.jit ----------------------------------------------------------------------------------------------------


def test_functions_are_parts_of_compiled_functions() -> None:
    @wl.jit(whole=True)
    def step(a: Any, b: Any, out: Any) -> Any:
        product = PRODUCT(a, b)
        assert isinstance(product, wl.Array)
        product[0] = 0
        out[...] = product + np.ones(2, np.float32)
        return PRODUCT(out, out)

    a, b, out = floats(2, 3), floats(3, 2), np.zeros((2, 2), np.float32)
    found = step(a, b, out)
    expected = a @ b
    expected[0] = 0
    np.testing.assert_allclose(out, expected + 1, rtol=1e-6)
    np.testing.assert_allclose(found, out @ out, rtol=1e-6)


def test_functions_run_in_captured_loops() -> None:
    @wl.jit(whole=True)
    def power(a: Any, n: Any) -> Any:
        found = np.eye(2, dtype=np.float32)
        for _ in range(n):
            found = PRODUCT(found, a)
        return found

    a = floats(2, 2)
    np.testing.assert_allclose(power(a, 5), np.linalg.matrix_power(a, 5), rtol=1e-4)


# -- look-ups outside -------------------------------------------------------------------------------------------------

OUTSIDE = """error[WL1510]: rows: T(I(b), d) looks for element {index} of an axis of 4 elements
 --> <notation>:1:58
   |
 1 | def rows(float(E, D) T, int32(B) I) -> (O) {{ O(b, d) = T(I(b), d) }}
   |                                                          ^^^^
  help: indices count from 0; choose where there may be none: condition ? tensor(index) : 0.0"""


@pytest.mark.parametrize("index", [4, -1])
def test_look_up_outside_is_an_index_error(index: int) -> None:
    table, places = floats(4, 2), np.array([0, index, 3], np.int32)
    for call in (ROWS, wl.jit(whole=True)(ROWS.__call__)):
        with pytest.raises(ArrayIndexError) as caught:
            call(table, places)
        assert str(caught.value) == OUTSIDE.format(index=index)
        assert isinstance(caught.value, IndexError)


def test_look_up_outside_gives_the_nearest_element_under_jax() -> None:
    table = floats(4, 2)
    np.testing.assert_array_equal(ROWS.jax(table, np.array([9, -5, 1], np.int32)), table[[3, 0, 1]])


def test_look_up_that_a_condition_leaves_out_does_not_count() -> None:
    function = wl.notation("def f(float(E) T, int32(B) I) -> (O) { O(b) = I(b) >= 0 && I(b) < E ? T(I(b)) : -1.0 }")[
        "f"
    ]
    table = floats(3)
    np.testing.assert_array_equal(function(table, np.array([2, -7, 3], np.int32)), [table[2], -1, -1])


def test_look_up_in_an_empty_tensor_is_refused() -> None:
    with pytest.raises(LaunchError, match="reads an element of an axis that has none"):
        ROWS(floats(0, 2), np.zeros(1, np.int32))
    assert ROWS(floats(0, 2), np.zeros(0, np.int32)).shape == (0, 2)
