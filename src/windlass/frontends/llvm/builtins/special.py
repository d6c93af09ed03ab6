"""Error functions, gamma, Bessel functions."""

from __future__ import annotations

import math

from windlass.frontends.llvm.builtins.floats import magnitude
from windlass.frontends.llvm.emitter import Emitter
from windlass.frontends.llvm.registry import builtin
from windlass.ir import Value
from windlass.ops.bessel import BesselI0e, BesselI1e
from windlass.ops.comparison import Compare
from windlass.ops.conversion import Convert
from windlass.ops.elementwise import Abs, Add, Divide, IsFinite, Multiply, Negate, Subtract
from windlass.ops.extremes import Minimum
from windlass.ops.functions import Exponential, Log, Power, Sine, Sqrt
from windlass.ops.rounding import Floor, RoundNearestEven
from windlass.ops.special_functions import Erf, Erfc, ErfInv, Lgamma


@builtin("erf", "erff")
def error_function(emit: Emitter, value: Value) -> Value:
    return Erf(value)


@builtin("erfc", "erfcf")
def complementary_error_function(emit: Emitter, value: Value) -> Value:
    return Erfc(value)


@builtin("erfinv", "erfinvf")
def inverse_error_function(emit: Emitter, value: Value) -> Value:
    return ErfInv(value)


@builtin("erfcinv", "erfcinvf")
def inverse_complementary_error_function(emit: Emitter, value: Value) -> Value:
    """Through erfinv where that loses nothing; for small arguments by Newton's method on log(erfc), in double."""
    wide = Convert(value, "f64") if value.dtype != "f64" else value
    one, two = emit.constant(1.0, "f64"), emit.constant(2.0, "f64")
    direct = ErfInv(Subtract(one, wide))
    is_small = Compare(wide, emit.constant(0.1, "f64"), "LT")
    is_large = Compare(wide, emit.constant(1.9, "f64"), "GT")
    tail = emit.select(is_large, Subtract(two, wide), wide)
    inside = emit.select(is_small, tail, emit.select(is_large, tail, emit.constant(0.05, "f64")))
    root = Sqrt(Negate(Log(inside)))
    half_root_pi = emit.constant(math.sqrt(math.pi) / 2, "f64")
    for _ in range(5):
        # f = log(erfc(y)) - log(p); f' = -2/sqrt(pi) * exp(-y*y) / erfc(y)
        current = Erfc(root)
        slope = Multiply(Multiply(half_root_pi, current), Exponential(Multiply(root, root)))
        root = Add(root, Multiply(slope, Log(Divide(current, inside))))
    signed = emit.select(is_large, Negate(root), root)
    infinity = emit.constant(float("inf"), "f64")
    found = emit.select(is_small, signed, emit.select(is_large, signed, direct))
    found = emit.select(Compare(wide, emit.constant(0.0, "f64"), "EQ"), infinity, found)
    found = emit.select(Compare(wide, two, "EQ"), Negate(infinity), found)
    return found if value.dtype == "f64" else Convert(found, value.dtype)


@builtin("erfcx", "erfcxf")
def scaled_complementary_error_function(emit: Emitter, value: Value) -> Value:
    """exp(x*x) * erfc(x): below 10 as written, in double; above by its continued fraction."""
    wide = Convert(value, "f64") if value.dtype != "f64" else value
    limit = emit.constant(10.0, "f64")
    is_far = Compare(wide, limit, "GT")
    small = emit.select(is_far, emit.constant(0.0, "f64"), wide)
    direct = Multiply(Exponential(Multiply(small, small)), Erfc(small))
    large = emit.select(is_far, wide, limit)
    fraction = large
    for step in range(24, 0, -1):
        fraction = Add(large, Divide(emit.constant(step / 2, "f64"), fraction))
    far = Divide(emit.constant(1 / math.sqrt(math.pi), "f64"), fraction)
    found = emit.select(is_far, far, direct)
    return found if value.dtype == "f64" else Convert(found, value.dtype)


@builtin("lgamma", "lgammaf")
def logarithm_of_gamma(emit: Emitter, value: Value) -> Value:
    return Lgamma(value)


# Lanczos' approximation with g = 6.0246800407767296, as a quotient of polynomials (Boost and CPython use the same).
LANCZOS_G = 6.024680040776729583740234375
LANCZOS_NUMERATOR = (
    23531376880.410759688572007674451636754734846804940,
    42919803642.649098768957899047001988850926355848959,
    35711959237.355668049440185451547166705960488635843,
    17921034426.037209699919755754458931112671403265390,
    6039542586.3520280050642916443072979210699388420708,
    1439720407.3117216736632230727949123939715485786372,
    248874557.86205415651146038641322942321632125127801,
    31426415.585400194380614231628318205362874684987640,
    2876370.6289353724412254090516208496135991145378768,
    186056.26539522349504029498971604569928220784236328,
    8071.6720023658162106380029022722506138218516325024,
    210.82427775157934587250973392071336271166969580291,
    2.5066282746310002701649081771338373386264310793408,
)
LANCZOS_DENOMINATOR = (
    0.0, 39916800.0, 120543840.0, 150917976.0, 105258076.0, 45995730.0, 13339535.0, 2637558.0, 357423.0, 32670.0,
    1925.0, 66.0, 1.0,
)  # fmt: skip


def polynomial(emit: Emitter, coefficients: tuple[float, ...], value: Value) -> Value:
    """The polynomial with these coefficients, highest first, by Horner's scheme."""
    found: Value = emit.constant(coefficients[0], value.dtype)
    for coefficient in coefficients[1:]:
        found = Add(Multiply(found, value), emit.constant(coefficient, value.dtype))
    return found


@builtin("tgamma", "tgammaf")
def gamma(emit: Emitter, value: Value) -> Value:
    """Lanczos' approximation for |x|, reflection for negative x; the power in two halves, lest it overflow."""
    x = Convert(value, "f64") if value.dtype != "f64" else value

    def constant(number: float) -> Value:
        return emit.constant(number, "f64")

    size = Minimum(Abs(x), constant(200.0))
    is_near = Compare(size, constant(5.0), "LT")
    near = Divide(polynomial(emit, LANCZOS_NUMERATOR[::-1], size), polynomial(emit, LANCZOS_DENOMINATOR[::-1], size))
    inverse = Divide(constant(1.0), size)
    far = Divide(polynomial(emit, LANCZOS_NUMERATOR, inverse), polynomial(emit, LANCZOS_DENOMINATOR, inverse))
    total = emit.select(is_near, near, far)
    shift = LANCZOS_G - 0.5
    base = Add(size, constant(shift))
    # What rounding of the base loses enters the result to first order.
    lost = Subtract(Subtract(base, size), constant(shift))
    lost_small = Subtract(Subtract(base, constant(shift)), size)
    lost = emit.select(Compare(size, constant(shift), "GT"), lost_small, lost)
    correction = Divide(Multiply(lost, constant(LANCZOS_G)), base)
    root = Power(base, Multiply(Subtract(size, constant(0.5)), constant(0.5)))
    positive = Divide(total, Exponential(base))
    positive = Add(positive, Multiply(correction, positive))
    positive = Multiply(Multiply(positive, root), root)
    turns = sine_of_half_turns(emit, size)
    negative = Divide(Divide(Divide(constant(-math.pi), turns), size), total)
    negative = Multiply(negative, Exponential(base))
    negative = Subtract(negative, Multiply(correction, negative))
    negative = Divide(Divide(negative, root), root)
    found = emit.select(Compare(x, constant(0.0), "GT"), positive, negative)
    infinity, nothing = constant(float("inf")), constant(float("nan"))
    found = emit.select(Compare(x, constant(171.7), "GT"), infinity, found)
    whole = Compare(Floor(x), x, "EQ")
    pole = emit.select(Compare(x, constant(0.0), "LT"), whole, emit.false)
    found = emit.select(pole, nothing, found)
    vanishing = Compare(x, constant(-190.0), "LT")
    found = emit.select(vanishing, emit.select(whole, nothing, Multiply(constant(0.0), turns)), found)
    found = emit.select(Compare(Abs(x), constant(1e-300), "LT"), Divide(constant(1.0), x), found)
    found = emit.select(IsFinite(x), found, emit.select(Compare(x, constant(0.0), "GT"), x, nothing))
    return found if value.dtype == "f64" else Convert(found, value.dtype)


def sine_of_half_turns(emit: Emitter, value: Value) -> Value:
    """sin(pi * x) for x >= 0, with the argument brought near zero exactly."""
    nearest = RoundNearestEven(value)
    rest = Subtract(value, nearest)
    found = Sine(Multiply(rest, emit.constant(math.pi, "f64")))
    half = Multiply(nearest, emit.constant(0.5, "f64"))
    is_odd = Compare(Floor(half), half, "NE")
    return emit.select(is_odd, Negate(found), found)


@builtin("cyl_bessel_i0", "cyl_bessel_i0f")
def modified_bessel_0(emit: Emitter, value: Value) -> Value:
    return Multiply(BesselI0e(value), Exponential(magnitude(emit, value)))


@builtin("cyl_bessel_i1", "cyl_bessel_i1f")
def modified_bessel_1(emit: Emitter, value: Value) -> Value:
    return Multiply(BesselI1e(value), Exponential(magnitude(emit, value)))
