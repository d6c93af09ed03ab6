"""Programs on which rules once failed, made small: random programs had shown them."""

from __future__ import annotations

import numpy as np
import pytest

from windlass.ops.sampling import RandomDraw
from windlass.stablehlo import import_text
from windlass.stablehlo.bisecting import Comparison
from windlass.stablehlo.exporting import export_text
from windlass.stablehlo.optimizing import Choices, optimize_module

PROGRAMS = {
    "the range of a root of negative numbers": """
    func.func @main(%x: tensor<3xi32>, %y: tensor<3xi32>) -> tensor<3xi1> {
      %least = stablehlo.constant dense<-1> : tensor<3xi32>
      %negative = stablehlo.minimum %x, %least : tensor<3xi32>
      %float = stablehlo.convert %negative : (tensor<3xi32>) -> tensor<3xf32>
      %root = stablehlo.sqrt %float : tensor<3xf32>
      %whole = stablehlo.convert %root : (tensor<3xf32>) -> tensor<3xi32>
      %less = stablehlo.compare LT, %whole, %y : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
      return %less : tensor<3xi1>
    }""",
    "a system of constants that has no solution": """
    func.func @main(%x: tensor<2x1xf32>) -> tensor<2x1xf32> {
      %a = stablehlo.constant dense<[[0.0, 0.0], [0x7F800000, 1.0]]> : tensor<2x2xf32>
      %b = stablehlo.constant dense<[[1.0], [0x7F800000]]> : tensor<2x1xf32>
      %solved = "stablehlo.triangular_solve"(%a, %b) {left_side = true, lower = true, unit_diagonal = false,
        transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
      %sum = stablehlo.add %x, %solved : tensor<2x1xf32>
      return %sum : tensor<2x1xf32>
    }""",
    "a solution of a system with a table on its right side": """
    func.func @main(%a: tensor<2x2xf64>, %x: tensor<2xf64>) -> tensor<2xf64> {
      %b = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf64>
      %half = stablehlo.constant dense<0.5> : tensor<2x2xf64>
      %tame = stablehlo.multiply %a, %half : tensor<2x2xf64>
      %solved = stablehlo.custom_call @lapack_dtrsm_ffi(%tame, %b) {mhlo.backend_config = {diag = 85 : ui8,
        side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}} : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
      %product = stablehlo.dot_general %solved, %x, contracting_dims = [1] x [0]
        : (tensor<2x2xf64>, tensor<2xf64>) -> tensor<2xf64>
      return %product : tensor<2xf64>
    }""",
    "a sort whose comparator takes a number from outside": """
    func.func @main(%x: tensor<4xf64>, %limit: tensor<f64>) -> tensor<4xf64> {
      %zero = stablehlo.constant dense<0.0> : tensor<f64>
      %sorted = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
      ^bb0(%a: tensor<f64>, %b: tensor<f64>):
        %left = stablehlo.maximum %a, %zero : tensor<f64>
        %less = stablehlo.compare LT, %left, %b, TOTALORDER : (tensor<f64>, tensor<f64>) -> tensor<i1>
        stablehlo.return %less : tensor<i1>
      }) : (tensor<4xf64>) -> tensor<4xf64>
      %chosen = "stablehlo.sort"(%sorted) <{dimension = 0 : i64, is_stable = true}> ({
      ^bb0(%a: tensor<f64>, %b: tensor<f64>):
        %is_zero = stablehlo.compare EQ, %a, %zero : (tensor<f64>, tensor<f64>) -> tensor<i1>
        %left = stablehlo.select %is_zero, %limit, %a : tensor<i1>, tensor<f64>
        %less = stablehlo.compare LT, %left, %b, TOTALORDER : (tensor<f64>, tensor<f64>) -> tensor<i1>
        stablehlo.return %less : tensor<i1>
      }) : (tensor<4xf64>) -> tensor<4xf64>
      return %chosen : tensor<4xf64>
    }""",
    "an inner loop that carries one value twice, changed and unchanged": """
    func.func @main(%x: tensor<3x2xf32>, %c: tensor<1x2xf32>, %n: tensor<i32>) -> tensor<3x2xf32> {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %three = stablehlo.constant dense<3> : tensor<i32>
      %all:2 = stablehlo.while(%i = %zero, %rows = %x) : tensor<i32>, tensor<3x2xf32>
      cond {
        %go = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %go : tensor<i1>
      } do {
        %row = stablehlo.dynamic_slice %x, %i, %zero, sizes = [1, 2]
          : (tensor<3x2xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>
        %inner:3 = stablehlo.while(%j = %zero, %sum = %c, %same = %c) : tensor<i32>, tensor<1x2xf32>, tensor<1x2xf32>
        cond {
          %more = stablehlo.compare LT, %j, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %more : tensor<i1>
        } do {
          %next = stablehlo.add %j, %one : tensor<i32>
          %added = stablehlo.add %sum, %row : tensor<1x2xf32>
          %turned = stablehlo.negate %same : tensor<1x2xf32>
          stablehlo.return %next, %added, %turned : tensor<i32>, tensor<1x2xf32>, tensor<1x2xf32>
        }
        %both = stablehlo.multiply %inner#1, %inner#2 : tensor<1x2xf32>
        %new = stablehlo.dynamic_update_slice %rows, %both, %i, %zero
          : (tensor<3x2xf32>, tensor<1x2xf32>, tensor<i32>, tensor<i32>) -> tensor<3x2xf32>
        %after = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %after, %new : tensor<i32>, tensor<3x2xf32>
      }
      return %all#1 : tensor<3x2xf32>
    }""",
    "a choice by place between matrices without rows": """
    func.func @main(%x: tensor<0x2xf32>, %y: tensor<0x2xf32>) -> tensor<0x2xf32> {
      %rows = stablehlo.iota dim = 0 : tensor<0x2xi32>
      %columns = stablehlo.iota dim = 1 : tensor<0x2xi32>
      %lower = stablehlo.compare GE, %rows, %columns : (tensor<0x2xi32>, tensor<0x2xi32>) -> tensor<0x2xi1>
      %chosen = stablehlo.select %lower, %x, %y : tensor<0x2xi1>, tensor<0x2xf32>
      return %chosen : tensor<0x2xf32>
    }""",
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("exact", [False, True])
def test_program_keeps_its_meaning(name: str, exact: bool) -> None:
    text = PROGRAMS[name]
    module = import_text(text)
    draw = RandomDraw(0)
    arrays = [draw.tame_array(argument.tensor) for argument in module.main.arguments]
    comparison = Comparison([arrays], evaluated=True)
    with np.errstate(all="ignore"):
        comparison.expected = [comparison.run(text, arrays)]
        optimize_module(module, Choices(exact=exact))
        assert comparison.is_kept_by(export_text(module))
