// What PTX instructions do, in CUDA C++: included where inline assembly was translated, and nowhere else.
//
// Names are those of the instructions (PTX ISA 8.5, section 9.7). A type argument is the instruction's type: unsigned
// and signed integers, float, double, _Float16, and pairs of _Float16.
#pragma once

namespace __windlass_ptx {

#define __WINDLASS_PTX template <class T> __WINDLASS_DEVICE

typedef _Float16 half2 __attribute__((ext_vector_type(2)));

// Where integers wrap around: at least as wide as `unsigned`, lest C++ computes in `int`.
template <class T> using unsigned_of = std::conditional_t<sizeof(T) == 8, unsigned long long, unsigned>;
template <class T> constexpr bool is_signed_integer = std::is_integral_v<T> && std::is_signed_v<T>;
template <int size> struct word { typedef unsigned char type; };
template <> struct word<2> { typedef unsigned short type; };
template <> struct word<4> { typedef unsigned type; };
template <> struct word<8> { typedef unsigned long long type; };
template <class T> using word_of = typename word<sizeof(T)>::type;

// A register read as another type: the same bits, the lower ones of them, or more with zeros above.
template <class To, class From> __WINDLASS_DEVICE To as(From value) {
    if constexpr (std::is_same_v<To, From>) return value;
    else if constexpr (std::is_same_v<To, bool>) return (bool)value;
    else if constexpr (std::is_pointer_v<From>) return as<To>((unsigned long long)value);
    else if constexpr (sizeof(To) == sizeof(From)) return __builtin_bit_cast(To, value);
    else return __builtin_bit_cast(To, (word_of<To>)__builtin_bit_cast(word_of<From>, value));
}

// A result put into a register, which may be wider: signed integers keep their value.
template <class Register, class T> __WINDLASS_DEVICE void put(Register &target, T value) {
    if constexpr (is_signed_integer<T> && sizeof(Register) > sizeof(T)) target = as<Register>((long long)value);
    else target = as<Register>(value);
}

// ---- arithmetic

// Integers wrap around.
#define __WINDLASS_PTX_WRAPPED(name, operation)                                                                        \
    __WINDLASS_PTX T name(T a, T b) {                                                                                  \
        if constexpr (std::is_integral_v<T>) return (T)((unsigned_of<T>)a operation (unsigned_of<T>)b);                \
        else return a operation b;                                                                                     \
    }
__WINDLASS_PTX_WRAPPED(add, +)
__WINDLASS_PTX_WRAPPED(sub, -)
__WINDLASS_PTX_WRAPPED(mul, *)
#undef __WINDLASS_PTX_WRAPPED
__WINDLASS_PTX T div(T a, T b) { return a / b; }
__WINDLASS_PTX T rem(T a, T b) { return a % b; }
__WINDLASS_PTX T neg(T a) {
    if constexpr (std::is_integral_v<T>) return sub<T>(0, a);
    else return -a;
}
__WINDLASS_PTX T abs(T a) {
    if constexpr (std::is_integral_v<T>) return a < 0 ? neg<T>(a) : a;
    else return (T)__builtin_elementwise_abs(a);
}
__WINDLASS_PTX T min(T a, T b) {
    if constexpr (std::is_integral_v<T>) return b < a ? b : a;
    else return (T)__builtin_elementwise_minnum(a, b);
}
__WINDLASS_PTX T max(T a, T b) {
    if constexpr (std::is_integral_v<T>) return a < b ? b : a;
    else return (T)__builtin_elementwise_maxnum(a, b);
}
__WINDLASS_PTX T fma(T a, T b, T c) { return (T)__builtin_elementwise_fma(a, b, c); }
__WINDLASS_PTX T mad(T a, T b, T c) {
    if constexpr (std::is_integral_v<T>) return add<T>(mul<T>(a, b), c);
    else return fma<T>(a, b, c);
}
__WINDLASS_PTX T copysign(T a, T b) { return (T)__builtin_elementwise_copysign(b, a); }
__WINDLASS_PTX T sad(T a, T b, T c) { return add<T>(c, a < b ? sub<T>(b, a) : sub<T>(a, b)); }

// The upper half of a product.
__WINDLASS_PTX T mul_hi(T a, T b) {
    if constexpr (std::is_same_v<T, unsigned long long>) return __umul64hi(a, b);
    else if constexpr (std::is_same_v<T, long long>) return __mul64hi(a, b);
    else if constexpr (std::is_signed_v<T>) return (T)(((long long)a * b) >> (8 * sizeof(T)));
    else return (T)(((unsigned long long)a * b) >> (8 * sizeof(T)));
}
__WINDLASS_PTX T mad_hi(T a, T b, T c) { return add<T>(mul_hi<T>(a, b), c); }
// The whole product, twice as wide.
template <class T, class Wide> __WINDLASS_DEVICE Wide mul_wide(T a, T b) { return (Wide)a * (Wide)b; }
template <class T, class Wide> __WINDLASS_DEVICE Wide mad_wide(T a, T b, Wide c) { return add<Wide>((Wide)a * (Wide)b, c); }
__WINDLASS_PTX T mul24(T a, T b) {
    if constexpr (std::is_signed_v<T>) return (T)__mul24(a, b);
    else return (T)__umul24(a, b);
}
__WINDLASS_PTX T mad24(T a, T b, T c) { return add<T>(mul24<T>(a, b), c); }

// Sums of words wider than registers: the carry goes from one instruction to the next.
__WINDLASS_PTX T add_with_carry(T a, T b, bool &carry, bool takes) {
    unsigned_of<T> partial = (unsigned_of<T>)a + (unsigned_of<T>)b, total = partial + (takes && carry);
    carry = partial < (unsigned_of<T>)a || total < partial;
    return (T)total;
}
__WINDLASS_PTX T sub_with_carry(T a, T b, bool &borrow, bool takes) {
    unsigned_of<T> partial = (unsigned_of<T>)a - (unsigned_of<T>)b, total = partial - (takes && borrow);
    borrow = (unsigned_of<T>)a < (unsigned_of<T>)b || partial < total;
    return (T)total;
}

// Held between 0 and 1; NaN becomes 0.
__WINDLASS_PTX T saturated(T a) { return min<T>(max<T>(a, (T)0), (T)1); }
__WINDLASS_DEVICE int add_saturated(int a, int b) { return __builtin_elementwise_add_sat(a, b); }
__WINDLASS_DEVICE int sub_saturated(int a, int b) { return __builtin_elementwise_sub_sat(a, b); }

template <class A, class B> __WINDLASS_DEVICE unsigned dp4a(A a, B b, unsigned c) {
    for (int byte = 0; byte < 4; byte++) {
        int left = std::is_signed_v<A> ? (int)(signed char)(a >> 8 * byte) : (int)(unsigned char)(a >> 8 * byte);
        int right = std::is_signed_v<B> ? (int)(signed char)(b >> 8 * byte) : (int)(unsigned char)(b >> 8 * byte);
        c += (unsigned)(left * right);
    }
    return c;
}

// ---- functions of floats

template <class T, class Function> __WINDLASS_DEVICE T in_float(T a, Function function) {
    if constexpr (std::is_same_v<T, half2>) return half2{(_Float16)function((float)a.x), (_Float16)function((float)a.y)};
    else if constexpr (std::is_same_v<T, double>) return (double)function(a);
    else return (T)function((float)a);
}
__WINDLASS_PTX T ex2(T a) { return in_float<T>(a, [](auto x) { return __builtin_elementwise_exp2(x); }); }
__WINDLASS_PTX T lg2(T a) { return in_float<T>(a, [](auto x) { return __builtin_elementwise_log2(x); }); }
__WINDLASS_PTX T sin(T a) { return in_float<T>(a, [](auto x) { return __builtin_elementwise_sin(x); }); }
__WINDLASS_PTX T cos(T a) { return in_float<T>(a, [](auto x) { return __builtin_elementwise_cos(x); }); }
__WINDLASS_PTX T tanh(T a) { return in_float<T>(a, [](auto x) { return __builtin_elementwise_tanh(x); }); }
__WINDLASS_PTX T sqrt(T a) { return in_float<T>(a, [](auto x) { return __builtin_elementwise_sqrt(x); }); }
__WINDLASS_PTX T rsqrt(T a) { return in_float<T>(a, [](auto x) { return 1 / __builtin_elementwise_sqrt(x); }); }
__WINDLASS_PTX T rcp(T a) { return in_float<T>(a, [](auto x) { return 1 / x; }); }

// ---- bits

__WINDLASS_PTX T and_(T a, T b) { return a & b; }
__WINDLASS_PTX T or_(T a, T b) { return a | b; }
__WINDLASS_PTX T xor_(T a, T b) { return a ^ b; }
__WINDLASS_DEVICE bool not_(bool a) { return !a; }
__WINDLASS_PTX T not_(T a) {
    if constexpr (std::is_same_v<T, bool>) return !a;
    else return (T)~a;
}
__WINDLASS_PTX T cnot(T a) { return a == 0; }
// Shifts by the width or more leave nothing.
__WINDLASS_PTX T shl(T a, unsigned amount) {
    const unsigned width = 8 * sizeof(T);
    return amount < width ? (T)((unsigned_of<T>)a << amount) : (T)0;
}
__WINDLASS_PTX T shr(T a, unsigned amount) {
    const unsigned width = 8 * sizeof(T);
    if constexpr (std::is_signed_v<T>) return (T)(a >> (amount < width ? amount : width - 1));
    else return amount < width ? (T)(a >> amount) : (T)0;
}
__WINDLASS_DEVICE unsigned shf_l_wrap(unsigned a, unsigned b, unsigned c) { return __funnelshift_l(a, b, c); }
__WINDLASS_DEVICE unsigned shf_l_clamp(unsigned a, unsigned b, unsigned c) { return __funnelshift_lc(a, b, c); }
__WINDLASS_DEVICE unsigned shf_r_wrap(unsigned a, unsigned b, unsigned c) { return __funnelshift_r(a, b, c); }
__WINDLASS_DEVICE unsigned shf_r_clamp(unsigned a, unsigned b, unsigned c) { return __funnelshift_rc(a, b, c); }
__WINDLASS_DEVICE unsigned prmt(unsigned a, unsigned b, unsigned selector) {
    unsigned long long both = ((unsigned long long)b << 32) | a;
    unsigned result = 0;
    for (int byte = 0; byte < 4; byte++) {
        unsigned choice = selector >> 4 * byte, chosen = (unsigned)(both >> 8 * (choice & 7)) & 0xff;
        // The fourth bit asks for the byte's sign instead, eight times.
        if (choice & 8) chosen = chosen & 0x80 ? 0xff : 0;
        result |= chosen << 8 * byte;
    }
    return result;
}
template <int table> __WINDLASS_DEVICE unsigned lop3(unsigned a, unsigned b, unsigned c) {
    unsigned result = 0;
    for (int row = 0; row < 8; row++)
        if (table >> row & 1) result |= (row & 4 ? a : ~a) & (row & 2 ? b : ~b) & (row & 1 ? c : ~c);
    return result;
}
// A field of `length` bits from `position` on; beyond the word are copies of the sign, or zeros.
__WINDLASS_PTX T bfe(T a, unsigned position, unsigned length) {
    const unsigned width = 8 * sizeof(T);
    position &= 0xff, length &= 0xff;
    if (length == 0) return 0;
    T moved = shr<T>(a, position);
    if (length >= width) return moved;
    unsigned unused = width - length;
    return (T)((T)((unsigned_of<T>)moved << unused) >> unused);
}
__WINDLASS_PTX T bfi(T a, T b, unsigned position, unsigned length) {
    const unsigned width = 8 * sizeof(T);
    position &= 0xff, length &= 0xff;
    T ones = length >= width ? (T)~(T)0 : (T)(shl<T>(1, length) - 1), mask = shl<T>(ones, position);
    return (b & (T)~mask) | (shl<T>(a, position) & mask);
}
__WINDLASS_PTX T brev(T a) { return (T)__builtin_elementwise_bitreverse(a); }
__WINDLASS_PTX unsigned popc(T a) { return (unsigned)__builtin_elementwise_popcount(a); }
__WINDLASS_PTX unsigned clz(T a) { return sizeof(T) == 8 ? (unsigned)__clzll((long long)a) : (unsigned)__clz((int)a); }
// The place of the highest bit that is not the sign's, ~0 where there is none.
__WINDLASS_PTX unsigned bfind(T a) {
    unsigned_of<T> value = (unsigned_of<T>)(a < 0 ? (T)~a : a);
    return value ? 8 * sizeof(T) - 1 - clz(value) : ~0u;
}

// ---- choices

__WINDLASS_PTX T selp(T a, T b, bool p) { return p ? a : b; }
__WINDLASS_PTX T slct(T a, T b, int c) { return c >= 0 ? a : b; }
__WINDLASS_PTX T slct(T a, T b, float c) { return c >= 0 ? a : b; }

// ---- conversions

enum rounding { nearest, to_zero, down, up };
__WINDLASS_PTX T whole(T a, rounding mode) {
    if constexpr (std::is_integral_v<T>) return a;
    else if (mode == to_zero) return (T)__builtin_elementwise_trunc(a);
    else if (mode == down) return (T)__builtin_elementwise_floor(a);
    else if (mode == up) return (T)__builtin_elementwise_ceil(a);
    else return (T)__builtin_elementwise_roundeven(a);
}
// Numbers that don't fit become the nearest that does, NaN becomes 0.
template <class To, class From> __WINDLASS_DEVICE To to_integer(From a, rounding mode) {
    double value = (double)whole<From>(a, mode);
    const double least = (double)std::numeric_limits<To>::min(), most = (double)std::numeric_limits<To>::max();
    if (value != value) return 0;
    return value <= least ? std::numeric_limits<To>::min() : value >= most ? std::numeric_limits<To>::max() : (To)value;
}
template <class To, class From> __WINDLASS_DEVICE To clamped(From a) {
    typedef std::conditional_t<std::is_signed_v<From>, long long, unsigned long long> wide;
    if constexpr (std::is_signed_v<From> && !std::is_signed_v<To>) {
        if (a < 0) return 0;
    }
    if constexpr (std::is_signed_v<From> && std::is_signed_v<To>) {
        if ((wide)a < (wide)std::numeric_limits<To>::min()) return std::numeric_limits<To>::min();
    }
    if ((unsigned long long)a > (unsigned long long)std::numeric_limits<To>::max() && a > 0) return std::numeric_limits<To>::max();
    return (To)a;
}
// To the nearest of the floats with ten bits after the point, ties away from zero.
__WINDLASS_DEVICE unsigned tf32(float a) {
    unsigned value = as<unsigned>(a);
    return (value & 0x7f800000u) == 0x7f800000u ? value : (value + 0x1000u) & 0xffffe000u;
}

// ---- memory

// In shared memory addresses have 32 bits, too.
extern "C" __device__ void *__windlass_shared_pointer(unsigned);
template <class T, class A> __WINDLASS_DEVICE T *place(A address, long long offset) {
    if constexpr (sizeof(A) == 8) return (T *)((char *)address + offset);
    else return (T *)__windlass_shared_pointer(address + (unsigned)offset);
}
__WINDLASS_DEVICE void copy_words(void *to, const void *from, unsigned words, unsigned bytes) {
    for (unsigned i = 0; i < words; i++) ((unsigned *)to)[i] = 4 * i < bytes ? ((const unsigned *)from)[i] : 0u;
}

// ---- threads

// Whether a shuffle's source lies in its part of the warp; `packed` has that part's mask and the last lane.
template <char direction> __WINDLASS_DEVICE bool has_source(int lane, int packed) {
    int own = (int)__lane_id(), distance = lane & 31, part = packed >> 8 & 31, last = (own & part) | (packed & 31 & ~part);
    if constexpr (direction == 'u') return own - distance >= last;
    else if constexpr (direction == 'd') return own + distance <= last;
    else if constexpr (direction == 'b') return (own ^ distance) <= last;
    else return ((own & part) | (distance & ~part)) <= last;
}

#undef __WINDLASS_PTX

} // namespace __windlass_ptx
