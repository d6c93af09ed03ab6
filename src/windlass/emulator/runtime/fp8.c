// Between float and the bits of the 8-bit floats: e4m3 (3 bits of fraction, bias 7, no infinity) and e5m2 (2 bits, bias
// 15). `most` is the greatest finite number's code. To nearest, ties to even.
#include "machine.h"
#include <math.h>

static uint32_t to_fp8(float value, int fraction, int bias, uint32_t most) {
    uint32_t bits, sign, magnitude, code;
    memcpy(&bits, &value, sizeof bits);
    sign = bits >> 24 & 0x80, magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) return sign | (fraction == 3 ? 0x7f : 0x7e);
    if (magnitude == 0x7f800000) return sign | (most + 1);
    int exponent = (int)(magnitude >> 23) - 127;
    if (exponent < 1 - bias) exponent = 1 - bias;
    // How many times the distance between neighbours of this size; a carry goes into the exponent by itself.
    code = ((uint32_t)(exponent + bias - 1) << fraction) + (uint32_t)rintf(ldexpf(fabsf(value), fraction - exponent));
    return sign | (code > most ? most + 1 : code);
}

static float from_fp8(uint32_t code, int fraction, int bias, uint32_t most) {
    uint32_t magnitude = code & 0x7f, field = magnitude >> fraction, rest = magnitude & ((1u << fraction) - 1);
    if (field) rest += 1u << fraction;
    float value = ldexpf((float)rest, (int)(field ? field : 1) - bias - fraction);
    if (magnitude > most) value = fraction == 2 && magnitude == most + 1 ? INFINITY : NAN;
    return copysignf(value, code & 0x80 ? -1.0f : 1.0f);
}

EXPORT uint32_t __windlass_float_to_e4m3(float value) { return to_fp8(value, 3, 7, 0x7e); }
EXPORT uint32_t __windlass_float_to_e5m2(float value) { return to_fp8(value, 2, 15, 0x7b); }
EXPORT float __windlass_e4m3_to_float(uint32_t code) { return from_fp8(code, 3, 7, 0x7e); }
EXPORT float __windlass_e5m2_to_float(uint32_t code) { return from_fp8(code, 2, 15, 0x7b); }
