// What compiled host code calls to round to bfloat16, to the nearest and to even, and what its library may lack.
#include <cstring>

static __bf16 from_bits(unsigned short bits) {
    __bf16 result;
    memcpy(&result, &bits, sizeof result);
    return result;
}
static unsigned int bits_of(float x) {
    unsigned int bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

extern "C" {
__attribute__((weak)) __bf16 __truncsfbf2(float x) {
    unsigned int bits = bits_of(x);
    if (x != x) return from_bits((unsigned short)(bits >> 16 | 0x40));
    return from_bits((unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16));
}
// Rounded once: to float towards an odd last bit first, which then rounds as the double would.
__attribute__((weak)) __bf16 __truncdfbf2(double x) {
    float near = (float)x;
    unsigned int bits = bits_of(near);
    if (x == x && (double)near != x) {
        bool is_beyond = x < 0 ? (double)near < x : (double)near > x;
        if (is_beyond) bits -= 1;
        bits |= 1;
        memcpy(&near, &bits, sizeof near);
    }
    return __truncsfbf2(near);
}
}
