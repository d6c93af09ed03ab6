"""Which carried values are proved to be reductions, and that folding them in parts gives the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from tests.frontends.llvm.running import imported

from windlass.ir import Block, Builder, Function, Region, Value, tensor_type
from windlass.loops import Condition, DoWhile, For, If, Yield, evaluate_kernel
from windlass.loops.reductions import find_reductions
from windlass.loops.verifier import LoopFault, verify_kernel
from windlass.ops import Add, Compare, Constant, Convert, Maximum, Multiply, Or, Select, Subtract

Body = Callable[..., Sequence[Value]]

PROGRAMS: dict[str, tuple[str, str]] = {
    "a sum": ("s += x[i];", "fadd"),
    "a sum of some": ("if (x[i] > 0) s += x[i];", "fadd"),
    "a sum of two": ("s += x[i]; s -= x[i + 1];", "fadd"),
    "a difference from it": ("s = x[i] - s;", ""),
    "a product": ("s *= x[i];", "fmul"),
    "a sum and a product": ("s = s * x[i] + 1;", ""),
    "a greatest number": ("s = fmaxf(s, x[i]);", "fmax"),
    "a sum that is stored on the way": ("s += x[i]; x[i] = s;", ""),
    "a sum that decides": ("if (s < 10) s += x[i];", ""),
    "a sum over an inner loop": ("for (int j = 0; j < i; j++) s += x[j];", "fadd"),
    "a sum of sums": ("float t = 0; for (int j = 0; j < i; j++) t += x[j]; s += t;", "fadd"),
    "a sum that an inner loop asks for": ("for (int j = 0; j < s; j++) x[j] = 0; s += 1;", ""),
    "one number of two": ("s = s + (i % 2 ? x[i] : -x[i]);", "fadd"),
    "an average": ("s = 0.5f * s + x[i];", ""),
    "what another lane has": ("s = __shfl_up_sync(~0u, s, 1);", ""),
    "a sum with what another lane has": ("s = __shfl_up_sync(~0u, s, 1) + x[i];", ""),
}


def kernel_of(body: str, type_: str = "float") -> Function:
    return imported(f"""__global__ void kernel({type_} *x, int n) {{
        {type_} s = x[0];
        for (int i = 0; i < n; i++) {{ {body} }}
        x[threadIdx.x] = s;
    }}""")


def outer_loop(kernel: Function) -> For:
    return next(op for op in kernel.walk() if isinstance(op, For))


@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", PROGRAMS)
def test_reductions_of_kernels_are_found(name: str) -> None:
    body, wanted = PROGRAMS[name]
    assert find_reductions(outer_loop(kernel_of(body))) == (wanted,)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("s = max(s, x[i]);", "max"),
        ("s = min((unsigned)s, (unsigned)x[i]);", "umin"),
        ("s |= x[i];", "or"),
        ("s ^= x[i];", "xor"),
        ("s &= x[i];", "and"),
        ("s -= x[i];", "add"),
        ("s += s;", ""),
        ("s = (s << 1) + x[i];", ""),
    ],
)
def test_reductions_of_integers_may_be_folded_in_parts(body: str, wanted: str) -> None:
    kernel = kernel_of(body, "int")
    assert find_reductions(outer_loop(kernel)) == (wanted,)
    found: list[np.ndarray] = []
    for order in (None, np.random.default_rng(3)):
        x = np.array([5, -2, 77, 1 << 30, -9, 4], np.int32)
        evaluate_kernel(kernel, (1,), (1,), [x, 6], order=order)
        found.append(x)
    assert np.array_equal(found[0], found[1])


def loop_of(dtypes: Sequence[str], body: Body) -> For:
    """A loop whose body takes the iteration and carried values, and gives the next ones."""
    block = Block([tensor_type((), each) for each in ("i64", *dtypes)])
    with Builder(Block()):
        initial = tuple(Constant.of(0, each) for each in dtypes)
        with Builder(block):
            Yield(tuple(body(*block.arguments)))
        return For(Constant.of(4, "i64"), initial, Region(block))


def test_a_truth_kept_by_a_choice_is_a_reduction() -> None:
    def body(i: Value, found: Value, never: Value) -> Sequence[Value]:
        is_second = Compare(i, Constant.of(2, "i64"), "EQ")
        true, false = Constant.of(True, "i1"), Constant.of(False, "i1")
        return Select(found, true, is_second), Select(is_second, never, false)

    assert find_reductions(loop_of(("i1", "i1"), body)) == ("or", "and")


def test_one_value_may_not_be_a_term_of_another_that_it_takes() -> None:
    def body(i: Value, one: Value, other: Value) -> Sequence[Value]:
        return Add(one, Convert(i, "i32")), Add(other, one)

    # The second adds running sums, but each is a term: the first is used, and so is none.
    assert find_reductions(loop_of(("i32", "i32"), body)) == ("", "add")


def test_an_inner_loop_that_starts_anew_is_none() -> None:
    def body(i: Value, total: Value) -> Sequence[Value]:
        inner = Block([tensor_type((), "i64"), tensor_type((), "i32")])
        with Builder(inner):
            Yield((Add(total, Convert(i, "i32")),))
        return For(i, (total,), Region(inner)).results

    assert find_reductions(loop_of(("i32",), body)) == ("",)


def test_an_inner_loop_that_runs_at_least_once_goes_on() -> None:
    def body(i: Value, total: Value) -> Sequence[Value]:
        inner = Block([tensor_type((), "i64"), tensor_type((), "i32")])
        with Builder(inner):
            place, running = inner.arguments
            following = Add(place, Constant.of(1, "i64"))
            Condition(Compare(following, i, "LT"), (following, Maximum(running, Convert(place, "i32"))))
        return DoWhile((Constant.of(0, "i64"), total), Region(inner)).results[1:]

    assert find_reductions(loop_of(("i32",), body)) == ("max",)


def test_a_condition_that_depends_on_the_value_forbids_it() -> None:
    def body(i: Value, total: Value) -> Sequence[Value]:
        sides = [Block(), Block()]
        with Builder(sides[0]):
            Yield((Multiply(total, Constant.of(3, "i32")),))
        with Builder(sides[1]):
            Yield((total,))
        return If(Compare(total, Constant.of(9, "i32"), "LT"), *map(Region, sides)).results

    assert find_reductions(loop_of(("i32",), body)) == ("",)


def test_a_false_declaration_breaks_the_verifier() -> None:
    kernel = kernel_of("s = 0.5f * s + x[i];")
    outer_loop(kernel).reductions = ("fadd",)
    with pytest.raises(LoopFault, match="L10: carried value 0 of For is no reduction by fadd"):
        verify_kernel(kernel)


def test_a_false_declaration_shows_when_folded_in_parts() -> None:
    kernel = kernel_of("s = x[i] - s;", "int")
    outer_loop(kernel).reductions = ("add",)
    found: list[np.ndarray] = []
    for order in (None, np.random.default_rng(3)):
        x = np.arange(1, 7, dtype=np.int32)
        evaluate_kernel(kernel, (1,), (1,), [x, 6], order=order)
        found.append(x)
    assert not np.array_equal(found[0], found[1])


def test_two_ops_are_no_reduction_together() -> None:
    def body(i: Value, total: Value) -> Sequence[Value]:
        return [Or(Subtract(total, Convert(i, "i32")), Constant.of(1, "i32"))]

    assert find_reductions(loop_of(("i32",), body)) == ("",)
