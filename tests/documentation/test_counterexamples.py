"""The page of the families calls patterns wrong: for these operands they are, and programs keep their results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from windlass.ops.evaluation import evaluate_function
from windlass.stablehlo import import_text
from windlass.stablehlo.optimizing import Choices, optimize_module

FLOAT, INTEGER, BOOLEAN = "tensor<f32>", "tensor<i32>", "tensor<i1>"
TWO = "(tensor<1xf32>, tensor<f32>) -> tensor<2xf32>"
NAN, TINY = float("nan"), 1e-45


@dataclass(frozen=True)
class Counterexample:
    """A function as written, what a pattern makes of it, and operands for which both differ."""

    signature: str
    written: str
    rewritten: str
    operands: tuple[Any, ...]


def compared(direction: str, left: str, right: str, type_: str) -> str:
    """A comparison of two numbers."""
    return f"stablehlo.compare {direction}, {left}, {right} : ({type_}, {type_}) -> {BOOLEAN}"


def choice_by_comparison(direction: str, chosen: str, extreme: str, x: float) -> Counterexample:
    zero = f"%c = stablehlo.constant dense<0.0> : {FLOAT}\n"
    asked = f"%p = {compared(direction, '%x', '%c', FLOAT)}\n"
    return Counterexample(
        f"(%x: {FLOAT}) -> {FLOAT}",
        f"{zero}{asked}%r = stablehlo.select %p, {chosen} : {BOOLEAN}, {FLOAT}",
        f"{zero}%r = stablehlo.{extreme} %x, %c : {FLOAT}",
        (np.float32(x),),
    )


UPDATED = """
%c = stablehlo.constant dense<0.0> : tensor<32xf32>
%a = stablehlo.dynamic_update_slice %c, %u, %i : (tensor<32xf32>, tensor<4xf32>, tensor<i32>) -> tensor<32xf32>
%r = stablehlo.dynamic_slice %a, %i, sizes = [3] : (tensor<32xf32>, tensor<i32>) -> tensor<3xf32>"""

COUNTEREXAMPLES = {
    "x < 0 ? 0 : x as max(x, 0)": choice_by_comparison("LT", "%c, %x", "maximum", -0.0),
    "x < 0 ? x : 0 as min(x, 0)": choice_by_comparison("LT", "%x, %c", "minimum", NAN),
    "x <= 0 ? x : 0 as min(x, 0)": choice_by_comparison("LE", "%x, %c", "minimum", NAN),
    "x >= 0 ? 0 : x as min(x, 0)": choice_by_comparison("GE", "%c, %x", "minimum", -0.0),
    "x > 0 ? x : 0 as max(x, 0)": choice_by_comparison("GT", "%x, %c", "maximum", NAN),
    "x >= 0 ? x : 0 as max(x, 0)": choice_by_comparison("GE", "%x, %c", "maximum", NAN),
    "x > y ? y : x as min(x, y)": Counterexample(
        f"(%x: {FLOAT}, %y: {FLOAT}) -> {FLOAT}",
        f"%p = {compared('GT', '%x', '%y', FLOAT)}\n"
        f"%q = stablehlo.not %p : {BOOLEAN}\n%r = stablehlo.select %q, %x, %y : {BOOLEAN}, {FLOAT}",
        f"%r = stablehlo.minimum %x, %y : {FLOAT}",
        (np.float32(1), np.float32(NAN)),
    ),
    "|x| > 0 as x != 0": Counterexample(
        f"(%x: {FLOAT}) -> {BOOLEAN}",
        f"%c = stablehlo.constant dense<0.0> : {FLOAT}\n%a = stablehlo.abs %x : {FLOAT}\n"
        f"%r = {compared('GT', '%a', '%c', FLOAT)}",
        f"%c = stablehlo.constant dense<0.0> : {FLOAT}\n%r = {compared('NE', '%x', '%c', FLOAT)}",
        (np.float32(NAN),),
    ),
    "0.1 x > 0 as x > 0": Counterexample(
        f"(%x: {FLOAT}) -> {BOOLEAN}",
        f"%c = stablehlo.constant dense<0.0> : {FLOAT}\n%d = stablehlo.constant dense<0.1> : {FLOAT}\n"
        f"%a = stablehlo.multiply %x, %d : {FLOAT}\n%r = {compared('GT', '%a', '%c', FLOAT)}",
        f"%c = stablehlo.constant dense<0.0> : {FLOAT}\n%r = {compared('GT', '%x', '%c', FLOAT)}",
        (np.float32(TINY),),
    ),
    "x + 1 < 5 as x < 4": Counterexample(
        f"(%x: {INTEGER}) -> {BOOLEAN}",
        f"%c = stablehlo.constant dense<1> : {INTEGER}\n%d = stablehlo.constant dense<5> : {INTEGER}\n"
        f"%a = stablehlo.add %x, %c : {INTEGER}\n%r = {compared('LT', '%a', '%d', INTEGER)}",
        f"%d = stablehlo.constant dense<4> : {INTEGER}\n%r = {compared('LT', '%x', '%d', INTEGER)}",
        (np.int32(2**31 - 1),),
    ),
    "-x >= -6 as x <= 6": Counterexample(
        f"(%x: {INTEGER}) -> {BOOLEAN}",
        f"%c = stablehlo.constant dense<-6> : {INTEGER}\n%a = stablehlo.negate %x : {INTEGER}\n"
        f"%r = {compared('GE', '%a', '%c', INTEGER)}",
        f"%c = stablehlo.constant dense<6> : {INTEGER}\n%r = {compared('LE', '%x', '%c', INTEGER)}",
        (np.int32(-(2**31)),),
    ),
    "conj of a converted number as that number": Counterexample(
        "(%x: tensor<f32>) -> tensor<complex<f32>>",
        "%a = stablehlo.convert %x : (tensor<f32>) -> tensor<complex<f32>>\n"
        "%r = chlo.conj %a : tensor<complex<f32>> -> tensor<complex<f32>>",
        "%r = stablehlo.convert %x : (tensor<f32>) -> tensor<complex<f32>>",
        (np.float32(-1),),
    ),
    "concatenate(x, -y) as pad(x, 0) - pad(y, 0)": Counterexample(
        "(%x: tensor<1xf32>, %y: tensor<1xf32>) -> tensor<2xf32>",
        "%a = stablehlo.negate %y : tensor<1xf32>\n"
        "%r = stablehlo.concatenate %x, %a, dim = 0 : (tensor<1xf32>, tensor<1xf32>) -> tensor<2xf32>",
        "%c = stablehlo.constant dense<0.0> : tensor<f32>\n"
        f"%a = stablehlo.pad %x, %c, low = [0], high = [1], interior = [0] : {TWO}\n"
        f"%b = stablehlo.pad %y, %c, low = [1], high = [0], interior = [0] : {TWO}\n"
        "%r = stablehlo.subtract %a, %b : tensor<2xf32>",
        (np.ones(1, np.float32), np.zeros(1, np.float32)),
    ),
    "concatenate(x[:1], x[1:] + y) as x + pad(y, 0)": Counterexample(
        "(%x: tensor<2xf32>, %y: tensor<1xf32>) -> tensor<2xf32>",
        "%a = stablehlo.slice %x [0:1] : (tensor<2xf32>) -> tensor<1xf32>\n"
        "%b = stablehlo.slice %x [1:2] : (tensor<2xf32>) -> tensor<1xf32>\n%s = stablehlo.add %b, %y : tensor<1xf32>\n"
        "%r = stablehlo.concatenate %a, %s, dim = 0 : (tensor<1xf32>, tensor<1xf32>) -> tensor<2xf32>",
        "%c = stablehlo.constant dense<0.0> : tensor<f32>\n"
        f"%a = stablehlo.pad %y, %c, low = [1], high = [0], interior = [0] : {TWO}\n"
        "%r = stablehlo.add %x, %a : tensor<2xf32>",
        (np.array([-0.0, 1], np.float32), np.ones(1, np.float32)),
    ),
    "a part from where an update begins as a part of the update": Counterexample(
        "(%u: tensor<4xf32>, %i: tensor<i32>) -> tensor<3xf32>",
        UPDATED,
        "%r = stablehlo.slice %u [0:3] : (tensor<4xf32>) -> tensor<3xf32>",
        (np.arange(4, dtype=np.float32), np.int32(30)),
    ),
    "a slice of a dynamic slice as a shorter dynamic slice": Counterexample(
        "(%x: tensor<9xf32>, %i: tensor<i32>) -> tensor<1xf32>",
        "%a = stablehlo.dynamic_slice %x, %i, sizes = [2] : (tensor<9xf32>, tensor<i32>) -> tensor<2xf32>\n"
        "%r = stablehlo.slice %a [0:1] : (tensor<2xf32>) -> tensor<1xf32>",
        "%r = stablehlo.dynamic_slice %x, %i, sizes = [1] : (tensor<9xf32>, tensor<i32>) -> tensor<1xf32>",
        (np.arange(9, dtype=np.float32), np.int32(8)),
    ),
}


def module_of(example: Counterexample, body: str) -> Any:
    """The function with this body."""
    result = example.signature.split("-> ")[1]
    return import_text(f"func.func @main{example.signature} {{\n{body}\nreturn %r : {result}\n}}")


def bits_of(module: Any, operands: tuple[Any, ...]) -> bytes:
    """What the program gives, to the last bit."""
    with np.errstate(all="ignore"):
        (result,) = evaluate_function(module.main, *operands)
    return np.asarray(result).tobytes()


@pytest.mark.parametrize("name", COUNTEREXAMPLES)
def test_pattern_gives_something_else_and_the_optimizer_does_not(name: str) -> None:
    example = COUNTEREXAMPLES[name]
    expected = bits_of(module_of(example, example.written), example.operands)
    assert bits_of(module_of(example, example.rewritten), example.operands) != expected
    module = module_of(example, example.written)
    optimize_module(module, Choices())
    assert bits_of(module, example.operands) == expected
