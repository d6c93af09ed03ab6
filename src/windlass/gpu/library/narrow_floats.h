// Between float and the bits of the 8-bit floats: e4m3 (bias 7, no infinity) and e5m2 (bias 15), to nearest, ties to even.
#pragma once
#include "base.h"

// `most` is the greatest finite number's code.
INLINE u32 to_eight_bits(float value, int fraction, int bias, u32 most) {
    u32 bits = bits_of(value), sign = bits >> 24 & 0x80, size = bits & 0x7fffffff;
    if (size > 0x7f800000) return sign | (fraction == 3 ? 0x7f : 0x7e);
    if (size == 0x7f800000) return sign | (most + 1);
    int exponent = (int)(size >> 23) - 127;
    if (exponent < 1 - bias) exponent = 1 - bias;
    // How many times the distance between neighbours of this size; a carry goes into the exponent by itself.
    u32 count = (u32)nearest(magnitude(value) * power_of_two<float>(fraction - exponent));
    u32 code = ((u32)(exponent + bias - 1) << fraction) + count;
    return sign | (code > most ? most + 1 : code);
}

INLINE float from_eight_bits(u32 code, int fraction, int bias, u32 most) {
    u32 size = code & 0x7f, field = size >> fraction, rest = size & ((1u << fraction) - 1);
    if (field) rest += 1u << fraction;
    float value = (float)rest * power_of_two<float>((int)(field ? field : 1) - bias - fraction);
    if (size > most) value = fraction == 2 && size == most + 1 ? infinity<float>() : not_a_number<float>();
    return with_sign(value, code & 0x80 ? -1.0f : 1.0f);
}

EXPORT u32 __windlass_float_to_e4m3(float value) { return to_eight_bits(value, 3, 7, 0x7e); }
EXPORT u32 __windlass_float_to_e5m2(float value) { return to_eight_bits(value, 2, 15, 0x7b); }
EXPORT float __windlass_e4m3_to_float(u32 code) { return from_eight_bits(code, 3, 7, 0x7e); }
EXPORT float __windlass_e5m2_to_float(u32 code) { return from_eight_bits(code, 2, 15, 0x7b); }
