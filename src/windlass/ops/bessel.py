"""The modified Bessel functions of orders 0 and 1, scaled so that they don't overflow."""

from __future__ import annotations

from collections.abc import Sequence

import scipy  # its parts are loaded when they are first used: that takes longer than all of this package

from windlass.ir import Value
from windlass.ops.base import Array
from windlass.ops.comparison import Compare
from windlass.ops.composite import Expander
from windlass.ops.conversion import Convert
from windlass.ops.creation import Constant
from windlass.ops.elementwise import Abs, Add, Divide, Multiply, Negate, Select, Sign, Subtract
from windlass.ops.extremes import Maximum
from windlass.ops.float_functions import FloatFunction
from windlass.ops.functions import Sqrt
from windlass.ops.pointwise import widened
from windlass.ops.special_functions import RealFunction

# fmt: off
NEAR = (
    0.33839763720473803, -0.3046826723431984, 0.1716209015222087, -0.09490109704804756, 0.04930528423967058,
    -0.023737414805899384, 0.01054646039459498, -0.004324309995050513, 0.0016394756169412744, -0.0005763755745385368,
    0.00018850288509573488, -5.754195010049701e-05, 1.6448448070693066e-05, -4.416738358563599e-06,
    1.1173875390746436e-06, -2.6707938512560146e-07, 6.046995009889589e-08, -1.3000250109751478e-08,
    2.6598236424479894e-09, -5.189793439441815e-10, 9.67580288113723e-11, -1.7268291241379075e-11,
    2.954748112848904e-12, -4.855249535751227e-13, 7.669309631808118e-14, -1.1666223542761145e-14,
    1.6864287744056127e-15, -2.1815882433884327e-16,
)
FAR = (
    0.40224520550705445, 0.003369116478255698, 6.889758346916963e-05, 2.891370520838876e-06, 2.048918588859472e-07,
    2.266668992056964e-08, 3.3962320333813523e-09, 4.94060259370599e-10, 1.1889135231868408e-11, -3.149915883682297e-11,
    -1.3215846195180348e-11, -1.7940449126285784e-12, 7.179912220323104e-13, 3.852318464225846e-13,
    1.5403234243649423e-14, -4.140243703432134e-14, -9.60453938603223e-15, 3.7636560534792805e-15,
    1.758593271006248e-15, -2.4646951146678477e-16,
)
# fmt: on
"""Coefficients of Chebyshev polynomials: of the function on [0, 8], by x/4 - 1, and of its product with the square root
of x from there on, by 16/x - 1. Interpolated at 400 of their roots."""


class BesselI0e(FloatFunction):
    """The modified Bessel function of order 0, times exp(-|operand|); sums of Chebyshev polynomials, in f64."""

    name = "windlass.bessel_i0e"

    def partial(self, position: int) -> Value:
        # At zero the slope on the right, as that of `Abs` is: the product with exp(|x|) is smooth.
        zero = Constant.splat(0, self.type)
        mirrored = Select(Compare(self.operand, zero, "GE"), Negate(self), self)
        return Add(BesselI1e(self.operand), mirrored)

    def expand(self, emit: Expander, *operands: Value) -> Value:
        (operand,) = operands
        value = Abs(operand if operand.dtype == "f64" else Convert(operand, "f64"))
        one, eight = emit.constant(1.0, "f64"), emit.constant(8.0, "f64")
        large = Maximum(value, eight)
        near = _sum_of_polynomials(emit, NEAR, Subtract(Multiply(value, emit.constant(0.25, "f64")), one))
        far = _sum_of_polynomials(emit, FAR, Subtract(Divide(emit.constant(16.0, "f64"), large), one))
        found = emit.select(Compare(value, eight, "LE"), near, Divide(far, Sqrt(large)))
        return found if operand.dtype == "f64" else Convert(found, operand.dtype)


def _sum_of_polynomials(emit: Expander, coefficients: Sequence[float], x: Value) -> Value:
    """The sum of Chebyshev polynomials, by Clenshaw's recurrence."""
    twice = Add(x, x)
    last, before = emit.constant(coefficients[-1], "f64"), emit.constant(0.0, "f64")
    for each in reversed(coefficients[1:-1]):
        last, before = Add(Subtract(Multiply(twice, last), before), emit.constant(each, "f64")), last
    return Add(Subtract(Multiply(x, last), before), emit.constant(coefficients[0], "f64"))


class BesselI1e(RealFunction):
    """The modified Bessel function of order 1, times exp(-|operand|)."""

    name = "chlo.bessel_i1e"

    def partial(self, position: int) -> Value:
        one, half, zero = (Constant.splat(number, self.type) for number in (1, 0.5, 0))
        is_zero = Compare(self.operand, zero, "EQ")
        slope = Add(Sign(self.operand), Divide(one, Select(is_zero, one, self.operand)))
        return Select(is_zero, half, Subtract(BesselI0e(self.operand), Multiply(self, slope)))

    def evaluate(self, operand: Array) -> Array:
        return widened(scipy.special.i1e, operand)
