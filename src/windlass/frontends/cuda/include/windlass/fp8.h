// Between float and the bits of the 8-bit floats: e4m3 (bias 7, no infinity) and e5m2 (bias 15). To nearest, ties to even;
// what is too large becomes NaN or infinity.
#pragma once

__WINDLASS_PURE unsigned int __windlass_float_to_e4m3(float);
__WINDLASS_PURE unsigned int __windlass_float_to_e5m2(float);
__WINDLASS_PURE float __windlass_e4m3_to_float(unsigned int);
__WINDLASS_PURE float __windlass_e5m2_to_float(unsigned int);

// To float towards odd, which the second rounding does not notice.
__WINDLASS_BOTH float __windlass_double_to_odd_float(double x) {
    float nearest = (float)x;
    unsigned int bits = __builtin_bit_cast(unsigned int, nearest);
    if (x != x || (double)nearest == x) return nearest;
    if (__builtin_fabs((double)nearest) > __builtin_fabs(x)) --bits;
    return __builtin_bit_cast(float, bits | 1);
}
