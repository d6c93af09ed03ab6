// What compiled host code calls for the 8-bit floats: see windlass/fp8.h. `most` is the greatest finite number's code.

static unsigned int to_fp8(float x, int fraction, int bias, unsigned int most) {
    unsigned int bits = __builtin_bit_cast(unsigned int, x), sign = bits >> 24 & 0x80, magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) return sign | (fraction == 3 ? 0x7f : 0x7e);
    if (magnitude == 0x7f800000) return sign | (most + 1);
    int exponent = (int)(magnitude >> 23) - 127;
    if (exponent < 1 - bias) exponent = 1 - bias;
    // How many times the distance between neighbours of this size; a carry goes into the exponent by itself.
    unsigned int units = (unsigned int)__builtin_rintf(__builtin_ldexpf(__builtin_fabsf(x), fraction - exponent));
    unsigned int code = ((unsigned int)(exponent + bias - 1) << fraction) + units;
    return sign | (code > most ? most + 1 : code);
}
static float from_fp8(unsigned int code, int fraction, int bias, unsigned int most) {
    unsigned int magnitude = code & 0x7f, field = magnitude >> fraction, rest = magnitude & ((1u << fraction) - 1);
    if (field) rest += 1u << fraction;
    float value = __builtin_ldexpf((float)rest, (int)(field ? field : 1) - bias - fraction);
    if (magnitude > most) value = fraction == 2 && magnitude == most + 1 ? __builtin_inff() : __builtin_nanf("");
    return __builtin_copysignf(value, code & 0x80 ? -1.0f : 1.0f);
}

extern "C" {
unsigned int __windlass_float_to_e4m3(float x) { return to_fp8(x, 3, 7, 0x7e); }
unsigned int __windlass_float_to_e5m2(float x) { return to_fp8(x, 2, 15, 0x7b); }
float __windlass_e4m3_to_float(unsigned int code) { return from_fp8(code, 3, 7, 0x7e); }
float __windlass_e5m2_to_float(unsigned int code) { return from_fp8(code, 2, 15, 0x7b); }
}
