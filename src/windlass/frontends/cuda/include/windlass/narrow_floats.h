// What __half and __nv_bfloat16 have in common: operators, arithmetic, comparisons, functions, conversions, pairs.
//
// Each operation rounds to the narrow type, as the device's does. Functions such as hexp are done in float and rounded.
#pragma once

// Rounded to the narrow type S in a chosen direction; `I` holds its bits.
template <class S, class F> __WINDLASS_BOTH S __windlass_narrow_to(F x, __windlass_rounding mode) {
    S nearest = (S)x;
    F back = (F)nearest;
    if (back == x || x != x) return nearest;
    if (mode == __windlass_to_zero) mode = x < 0 ? __windlass_upward : __windlass_downward;
    unsigned short bits = __builtin_bit_cast(unsigned short, nearest);
    bool negative = bits >> 15;
    if (mode == __windlass_upward && x > back) bits = bits == 0x8000 ? 0x0001 : negative ? bits - 1 : bits + 1;
    if (mode == __windlass_downward && x < back) bits = bits == 0x0000 ? 0x8001 : negative ? bits + 1 : bits - 1;
    return __builtin_bit_cast(S, bits);
}

// Whether a type is one of the classes below.
template <class T, class = void> inline constexpr bool __windlass_is_narrow = false;
template <class T> inline constexpr bool __windlass_is_narrow<T, std::void_t<typename T::__windlass_narrow_number>> = true;

// The class H around the number type S.
#define __WINDLASS_NARROW_CLASS(H, S)                                                                             \
    struct __attribute__((aligned(2))) H##_raw {                                                                  \
        unsigned short x;                                                                                         \
    };                                                                                                            \
    struct H {                                                                                                    \
        typedef S __windlass_narrow_number;                                                                       \
        S __x;                                                                                                    \
        H() = default;                                                                                            \
        template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>                                    \
        __WINDLASS_BOTH_MEMBER constexpr H(T x) : __x((S)x) {}                                                    \
        template <class T, std::enable_if_t<__windlass_is_narrow<T> && !std::is_same_v<T, H>, int> = 0>           \
        __WINDLASS_BOTH_MEMBER explicit constexpr H(const T &x) : __x((S)(float)x) {}                             \
        __WINDLASS_BOTH_MEMBER constexpr H(const H##_raw &raw) : __x(__builtin_bit_cast(S, raw.x)) {}             \
        __WINDLASS_BOTH_MEMBER constexpr operator float() const { return (float)__x; }                            \
        template <class T, std::enable_if_t<std::is_arithmetic_v<T> && !std::is_same_v<T, float>, int> = 0>       \
        __WINDLASS_BOTH_MEMBER explicit constexpr operator T() const { return (T)__x; }                           \
        __WINDLASS_BOTH_MEMBER constexpr operator H##_raw() const {                                               \
            return H##_raw{__builtin_bit_cast(unsigned short, __x)};                                              \
        }                                                                                                         \
        template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>                                    \
        __WINDLASS_BOTH_MEMBER H &operator=(T x) {                                                                \
            __x = (S)x;                                                                                           \
            return *this;                                                                                         \
        }                                                                                                         \
    };                                                                                                            \
    struct __attribute__((aligned(4))) H##2_raw {                                                                 \
        unsigned short x, y;                                                                                      \
    };                                                                                                            \
    struct __attribute__((aligned(4))) H##2 {                                                                     \
        H x, y;                                                                                                   \
        H##2() = default;                                                                                         \
        __WINDLASS_BOTH_MEMBER constexpr H##2(const H &x, const H &y) : x(x), y(y) {}                             \
        __WINDLASS_BOTH_MEMBER constexpr H##2(const H##2_raw &raw) : x(H##_raw{raw.x}), y(H##_raw{raw.y}) {}      \
        __WINDLASS_BOTH_MEMBER constexpr operator H##2_raw() const {                                              \
            return H##2_raw{((H##_raw)x).x, ((H##_raw)y).x};                                                      \
        }                                                                                                         \
    };                                                                                                            \
    __WINDLASS_BOTH H __windlass_number(S x) {                                                                    \
        H result;                                                                                                 \
        result.__x = x;                                                                                           \
        return result;                                                                                            \
    }

// A function of one or two numbers, and its form for pairs.
#define __WINDLASS_NARROW_UNARY(H, name, pair_name, expression)                                        \
    __WINDLASS_BOTH H name(H a) { return __windlass_number(expression); }                              \
    __WINDLASS_BOTH H##2 pair_name(const H##2 &a) { return H##2(name(a.x), name(a.y)); }
#define __WINDLASS_NARROW_BINARY(H, name, pair_name, expression)                                       \
    __WINDLASS_BOTH H name(H a, H b) { return __windlass_number(expression); }                         \
    __WINDLASS_BOTH H##2 pair_name(const H##2 &a, const H##2 &b) { return H##2(name(a.x, b.x), name(a.y, b.y)); }
#define __WINDLASS_NARROW_TERNARY(H, name, pair_name, expression)                                      \
    __WINDLASS_BOTH H name(H a, H b, H c) { return __windlass_number(expression); }                    \
    __WINDLASS_BOTH H##2 pair_name(const H##2 &a, const H##2 &b, const H##2 &c) {                                           \
        return H##2(name(a.x, b.x, c.x), name(a.y, b.y, c.y));                                         \
    }
#define __WINDLASS_NARROW_COMPARISON(H, S, word, operation)                                                           \
    __WINDLASS_BOTH bool __h##word(H a, H b) { return (float)a operation (float)b; }                                  \
    __WINDLASS_BOTH H##2 __h##word##2(const H##2 &a, const H##2 &b) {                                                               \
        return H##2(__windlass_number((S)__h##word(a.x, b.x)), __windlass_number((S)__h##word(a.y, b.y)));            \
    }                                                                                                                 \
    __WINDLASS_BOTH bool __hb##word##2(const H##2 &a, const H##2 &b) { return __h##word(a.x, b.x) && __h##word(a.y, b.y); }         \
    __WINDLASS_BOTH unsigned int __h##word##2_mask(const H##2 &a, const H##2 &b) {                                                  \
        return (__h##word(a.x, b.x) ? 0xffffu : 0u) | (__h##word(a.y, b.y) ? 0xffff0000u : 0u);                       \
    }                                                                                                                 \
    __WINDLASS_BOTH bool __h##word##u(H a, H b) { return !((float)a == (float)a && (float)b == (float)b) || __h##word(a, b); } \
    __WINDLASS_BOTH H##2 __h##word##u2(const H##2 &a, const H##2 &b) {                                                              \
        return H##2(__windlass_number((S)__h##word##u(a.x, b.x)), __windlass_number((S)__h##word##u(a.y, b.y)));      \
    }                                                                                                                 \
    __WINDLASS_BOTH bool __hb##word##u2(const H##2 &a, const H##2 &b) { return __h##word##u(a.x, b.x) && __h##word##u(a.y, b.y); }

#define __WINDLASS_NARROW_FUNCTIONS(H, S)                                                                          \
    __WINDLASS_NARROW_BINARY(H, __hadd, __hadd2, a.__x + b.__x)                                                    \
    __WINDLASS_NARROW_BINARY(H, __hsub, __hsub2, a.__x - b.__x)                                                    \
    __WINDLASS_NARROW_BINARY(H, __hmul, __hmul2, a.__x *b.__x)                                                     \
    __WINDLASS_NARROW_BINARY(H, __hdiv, __h2div, a.__x / b.__x)                                                    \
    __WINDLASS_NARROW_BINARY(H, __hadd_rn, __hadd2_rn, a.__x + b.__x)                                              \
    __WINDLASS_NARROW_BINARY(H, __hsub_rn, __hsub2_rn, a.__x - b.__x)                                              \
    __WINDLASS_NARROW_BINARY(H, __hmul_rn, __hmul2_rn, a.__x *b.__x)                                               \
    __WINDLASS_NARROW_BINARY(H, __hadd_sat, __hadd2_sat, (S)__saturatef((float)__hadd(a, b)))                      \
    __WINDLASS_NARROW_BINARY(H, __hsub_sat, __hsub2_sat, (S)__saturatef((float)__hsub(a, b)))                      \
    __WINDLASS_NARROW_BINARY(H, __hmul_sat, __hmul2_sat, (S)__saturatef((float)__hmul(a, b)))                      \
    __WINDLASS_NARROW_TERNARY(H, __hfma, __hfma2, __builtin_elementwise_fma(a.__x, b.__x, c.__x))                  \
    __WINDLASS_NARROW_TERNARY(H, __hfma_sat, __hfma2_sat, (S)__saturatef((float)__hfma(a, b, c)))                  \
    __WINDLASS_NARROW_TERNARY(H, __hfma_relu, __hfma2_relu, (S)__windlass_rectify((float)__hfma(a, b, c)))         \
    __WINDLASS_NARROW_UNARY(H, __hneg, __hneg2, -a.__x)                                                            \
    __WINDLASS_NARROW_UNARY(H, __habs, __habs2, (S)__builtin_fabsf((float)a))                                      \
    __WINDLASS_NARROW_BINARY(H, __hmax, __hmax2, (S)__builtin_fmaxf((float)a, (float)b))                           \
    __WINDLASS_NARROW_BINARY(H, __hmin, __hmin2, (S)__builtin_fminf((float)a, (float)b))                           \
    __WINDLASS_NARROW_BINARY(H, __hmax_nan, __hmax2_nan,                                                           \
                             (float)a != (float)a || (float)b != (float)b ? (S)__builtin_nanf("")                  \
                                                                          : (S)__builtin_fmaxf((float)a, (float)b)) \
    __WINDLASS_NARROW_BINARY(H, __hmin_nan, __hmin2_nan,                                                           \
                             (float)a != (float)a || (float)b != (float)b ? (S)__builtin_nanf("")                  \
                                                                          : (S)__builtin_fminf((float)a, (float)b)) \
    __WINDLASS_NARROW_COMPARISON(H, S, eq, ==)                                                                     \
    __WINDLASS_NARROW_COMPARISON(H, S, le, <=)                                                                     \
    __WINDLASS_NARROW_COMPARISON(H, S, ge, >=)                                                                     \
    __WINDLASS_NARROW_COMPARISON(H, S, lt, <)                                                                      \
    __WINDLASS_NARROW_COMPARISON(H, S, gt, >)                                                                      \
    __WINDLASS_NARROW_INEQUALITY(H, S)                                                                             \
    __WINDLASS_BOTH bool __hisnan(H a) { return (float)a != (float)a; }                                            \
    __WINDLASS_BOTH int __hisinf(H a) { return __builtin_isinf((float)a) ? ((float)a < 0 ? -1 : 1) : 0; }          \
    __WINDLASS_BOTH H##2 __hisnan2(const H##2 &a) {                                                                       \
        return H##2(__windlass_number((S)__hisnan(a.x)), __windlass_number((S)__hisnan(a.y)));                     \
    }                                                                                                              \
    __WINDLASS_NARROW_UNARY(H, hexp, h2exp, (S)__builtin_expf((float)a))                                           \
    __WINDLASS_NARROW_UNARY(H, hexp2, h2exp2, (S)__builtin_exp2f((float)a))                                        \
    __WINDLASS_NARROW_UNARY(H, hexp10, h2exp10, (S)__builtin_exp10f((float)a))                                     \
    __WINDLASS_NARROW_UNARY(H, hlog, h2log, (S)__builtin_logf((float)a))                                           \
    __WINDLASS_NARROW_UNARY(H, hlog2, h2log2, (S)__builtin_log2f((float)a))                                        \
    __WINDLASS_NARROW_UNARY(H, hlog10, h2log10, (S)__builtin_log10f((float)a))                                     \
    __WINDLASS_NARROW_UNARY(H, hsqrt, h2sqrt, (S)__builtin_sqrtf((float)a))                                        \
    __WINDLASS_NARROW_UNARY(H, hrsqrt, h2rsqrt, (S)(1.0f / __builtin_sqrtf((float)a)))                             \
    __WINDLASS_NARROW_UNARY(H, hrcp, h2rcp, (S)(1.0f / (float)a))                                                  \
    __WINDLASS_NARROW_UNARY(H, hsin, h2sin, (S)__builtin_sinf((float)a))                                           \
    __WINDLASS_NARROW_UNARY(H, hcos, h2cos, (S)__builtin_cosf((float)a))                                           \
    __WINDLASS_NARROW_UNARY(H, htanh, h2tanh, (S)__builtin_tanhf((float)a))                                        \
    __WINDLASS_NARROW_UNARY(H, htanh_approx, h2tanh_approx, (S)__builtin_tanhf((float)a))                          \
    __WINDLASS_NARROW_UNARY(H, hceil, h2ceil, (S)__builtin_ceilf((float)a))                                        \
    __WINDLASS_NARROW_UNARY(H, hfloor, h2floor, (S)__builtin_floorf((float)a))                                     \
    __WINDLASS_NARROW_UNARY(H, htrunc, h2trunc, (S)__builtin_truncf((float)a))                                     \
    __WINDLASS_NARROW_UNARY(H, hrint, h2rint, (S)__builtin_rintf((float)a))                                        \
    __WINDLASS_NARROW_OPERATORS(H, S)

__WINDLASS_BOTH float __windlass_rectify(float x) { return x != x ? x : x > 0 ? x : 0.0f; }

// Unequal: ordered (__hne: false where one is NaN) and unordered (__hneu).
#define __WINDLASS_NARROW_INEQUALITY(H, S)                                                                      \
    __WINDLASS_BOTH bool __hne(H a, H b) { return (float)a < (float)b || (float)a > (float)b; }                 \
    __WINDLASS_BOTH bool __hneu(H a, H b) { return (float)a != (float)b; }                                      \
    __WINDLASS_BOTH H##2 __hne2(const H##2 &a, const H##2 &b) {                                                               \
        return H##2(__windlass_number((S)__hne(a.x, b.x)), __windlass_number((S)__hne(a.y, b.y)));              \
    }                                                                                                           \
    __WINDLASS_BOTH H##2 __hneu2(const H##2 &a, const H##2 &b) {                                                              \
        return H##2(__windlass_number((S)__hneu(a.x, b.x)), __windlass_number((S)__hneu(a.y, b.y)));            \
    }                                                                                                           \
    __WINDLASS_BOTH bool __hbne2(const H##2 &a, const H##2 &b) { return __hne(a.x, b.x) && __hne(a.y, b.y); }                 \
    __WINDLASS_BOTH bool __hbneu2(const H##2 &a, const H##2 &b) { return __hneu(a.x, b.x) && __hneu(a.y, b.y); }

#define __WINDLASS_NARROW_OPERATORS(H, S)                                                                \
    __WINDLASS_NARROW_OPERATOR(H, +, __hadd, __hadd2)                                                    \
    __WINDLASS_NARROW_OPERATOR(H, -, __hsub, __hsub2)                                                    \
    __WINDLASS_NARROW_OPERATOR(H, *, __hmul, __hmul2)                                                    \
    __WINDLASS_NARROW_OPERATOR(H, /, __hdiv, __h2div)                                                    \
    __WINDLASS_BOTH H operator+(const H &a) { return a; }                                                \
    __WINDLASS_BOTH H operator-(const H &a) { return __hneg(a); }                                        \
    __WINDLASS_BOTH H##2 operator+(const H##2 &a) { return a; }                                          \
    __WINDLASS_BOTH H##2 operator-(const H##2 &a) { return __hneg2(a); }                                 \
    __WINDLASS_BOTH H &operator++(H &a) { return a = __hadd(a, H(1)); }                                  \
    __WINDLASS_BOTH H &operator--(H &a) { return a = __hsub(a, H(1)); }                                  \
    __WINDLASS_BOTH bool operator==(const H &a, const H &b) { return __heq(a, b); }                      \
    __WINDLASS_BOTH bool operator!=(const H &a, const H &b) { return __hneu(a, b); }                     \
    __WINDLASS_BOTH bool operator<(const H &a, const H &b) { return __hlt(a, b); }                       \
    __WINDLASS_BOTH bool operator>(const H &a, const H &b) { return __hgt(a, b); }                       \
    __WINDLASS_BOTH bool operator<=(const H &a, const H &b) { return __hle(a, b); }                      \
    __WINDLASS_BOTH bool operator>=(const H &a, const H &b) { return __hge(a, b); }                      \
    __WINDLASS_BOTH bool operator==(const H##2 &a, const H##2 &b) { return __hbeq2(a, b); }              \
    __WINDLASS_BOTH bool operator!=(const H##2 &a, const H##2 &b) { return __hbneu2(a, b); }             \
    __WINDLASS_BOTH bool operator<(const H##2 &a, const H##2 &b) { return __hblt2(a, b); }               \
    __WINDLASS_BOTH bool operator>(const H##2 &a, const H##2 &b) { return __hbgt2(a, b); }               \
    __WINDLASS_BOTH bool operator<=(const H##2 &a, const H##2 &b) { return __hble2(a, b); }              \
    __WINDLASS_BOTH bool operator>=(const H##2 &a, const H##2 &b) { return __hbge2(a, b); }
#define __WINDLASS_NARROW_OPERATOR(H, symbol, function, pair_function)                                     \
    __WINDLASS_BOTH H operator symbol(const H &a, const H &b) { return function(a, b); }                   \
    __WINDLASS_BOTH H &operator symbol##=(H &a, const H &b) { return a = function(a, b); }                 \
    __WINDLASS_BOTH H##2 operator symbol(const H##2 &a, const H##2 &b) { return pair_function(a, b); }     \
    __WINDLASS_BOTH H##2 &operator symbol##=(H##2 &a, const H##2 &b) { return a = pair_function(a, b); }

// Conversions; `word` is how CUDA's function names call the type: half or bfloat16.
#define __WINDLASS_NARROW_INTEGER(H, S, word, name, I, suffix, round, limit)                              \
    __WINDLASS_BOTH I __##word##2##name##_##suffix(H a) {                                                 \
        return __windlass_saturate<I, float>(round((float)a), limit, (I)0);                               \
    }
#define __WINDLASS_NARROW_INTEGERS(H, S, word, suffix, round, from_integer)                                            \
    __WINDLASS_NARROW_INTEGER(H, S, word, short, short, suffix, round, 0x1p15f)                                        \
    __WINDLASS_NARROW_INTEGER(H, S, word, ushort, unsigned short, suffix, round, 0x1p16f)                              \
    __WINDLASS_NARROW_INTEGER(H, S, word, int, int, suffix, round, 0x1p31f)                                            \
    __WINDLASS_NARROW_INTEGER(H, S, word, uint, unsigned int, suffix, round, 0x1p32f)                                  \
    __WINDLASS_NARROW_INTEGER(H, S, word, ll, long long, suffix, round, 0x1p63f)                                       \
    __WINDLASS_NARROW_INTEGER(H, S, word, ull, unsigned long long, suffix, round, 0x1p64f)                             \
    __WINDLASS_BOTH H __short2##word##_##suffix(short x) { return __windlass_number(from_integer(S, (float)x)); }      \
    __WINDLASS_BOTH H __ushort2##word##_##suffix(unsigned short x) { return __windlass_number(from_integer(S, (float)x)); } \
    __WINDLASS_BOTH H __int2##word##_##suffix(int x) { return __windlass_number(from_integer(S, (double)x)); }         \
    __WINDLASS_BOTH H __uint2##word##_##suffix(unsigned int x) { return __windlass_number(from_integer(S, (double)x)); }
#define __WINDLASS_NEAREST(S, x) ((S)(x))
#define __WINDLASS_TO_ZERO(S, x) __windlass_narrow_to<S>(x, __windlass_to_zero)
#define __WINDLASS_UPWARD(S, x) __windlass_narrow_to<S>(x, __windlass_upward)
#define __WINDLASS_DOWNWARD(S, x) __windlass_narrow_to<S>(x, __windlass_downward)

#define __WINDLASS_NARROW_CONVERSIONS(H, S, word)                                                                      \
    __WINDLASS_NARROW_INTEGERS(H, S, word, rn, __builtin_rintf, __WINDLASS_NEAREST)                                    \
    __WINDLASS_NARROW_INTEGERS(H, S, word, rz, __builtin_truncf, __WINDLASS_TO_ZERO)                                   \
    __WINDLASS_NARROW_INTEGERS(H, S, word, ru, __builtin_ceilf, __WINDLASS_UPWARD)                                     \
    __WINDLASS_NARROW_INTEGERS(H, S, word, rd, __builtin_floorf, __WINDLASS_DOWNWARD)                                  \
    __WINDLASS_BOTH H __ll2##word##_rn(long long x) { return __windlass_number((S)x); }                                \
    __WINDLASS_BOTH H __ull2##word##_rn(unsigned long long x) { return __windlass_number((S)x); }                      \
    __WINDLASS_BOTH signed char __##word##2char_rz(H a) {                                                              \
        return __windlass_saturate<signed char, float>(__builtin_truncf((float)a), 0x1p7f, 0);                         \
    }                                                                                                                  \
    __WINDLASS_BOTH unsigned char __##word##2uchar_rz(H a) {                                                           \
        return __windlass_saturate<unsigned char, float>(__builtin_truncf((float)a), 0x1p8f, 0);                       \
    }                                                                                                                  \
    __WINDLASS_BOTH float __##word##2float(H a) { return (float)a; }                                                   \
    __WINDLASS_BOTH H __float2##word(float x) { return __windlass_number((S)x); }                                      \
    __WINDLASS_BOTH H __float2##word##_rn(float x) { return __windlass_number((S)x); }                                 \
    __WINDLASS_BOTH H __float2##word##_rz(float x) { return __windlass_number(__WINDLASS_TO_ZERO(S, x)); }             \
    __WINDLASS_BOTH H __float2##word##_ru(float x) { return __windlass_number(__WINDLASS_UPWARD(S, x)); }              \
    __WINDLASS_BOTH H __float2##word##_rd(float x) { return __windlass_number(__WINDLASS_DOWNWARD(S, x)); }            \
    __WINDLASS_BOTH H __double2##word(double x) { return __windlass_number((S)x); }                                    \
    __WINDLASS_BOTH H##2 __float2##word##2_rn(float x) { return H##2(H(x), H(x)); }                                    \
    __WINDLASS_BOTH H##2 __floats2##word##2_rn(float x, float y) { return H##2(H(x), H(y)); }                          \
    __WINDLASS_BOTH H##2 __float22##word##2_rn(float2 x) { return H##2(H(x.x), H(x.y)); }                              \
    __WINDLASS_BOTH float2 __##word##22float2(const H##2 &a) { return make_float2((float)a.x, (float)a.y); }                  \
    __WINDLASS_BOTH H##2 __##word##2##word##2(H a) { return H##2(a, a); }                                              \
    __WINDLASS_BOTH H##2 __halves2##word##2(H a, H b) { return H##2(a, b); }                                           \
    __WINDLASS_BOTH H##2 make_##word##2(H a, H b) { return H##2(a, b); }                                               \
    __WINDLASS_BOTH H __low2##word(const H##2 &a) { return a.x; }                                                             \
    __WINDLASS_BOTH H __high2##word(const H##2 &a) { return a.y; }                                                            \
    __WINDLASS_BOTH H##2 __low2##word##2(const H##2 &a) { return H##2(a.x, a.x); }                                            \
    __WINDLASS_BOTH H##2 __high2##word##2(const H##2 &a) { return H##2(a.y, a.y); }                                           \
    __WINDLASS_BOTH H##2 __lows2##word##2(const H##2 &a, const H##2 &b) { return H##2(a.x, b.x); }                                   \
    __WINDLASS_BOTH H##2 __highs2##word##2(const H##2 &a, const H##2 &b) { return H##2(a.y, b.y); }                                  \
    __WINDLASS_BOTH H##2 __lowhigh2highlow(const H##2 &a) { return H##2(a.y, a.x); }                                          \
    __WINDLASS_BOTH float __low2float(const H##2 &a) { return (float)a.x; }                                                   \
    __WINDLASS_BOTH float __high2float(const H##2 &a) { return (float)a.y; }                                                  \
    __WINDLASS_BOTH short __##word##_as_short(H a) { return __builtin_bit_cast(short, a.__x); }                        \
    __WINDLASS_BOTH unsigned short __##word##_as_ushort(H a) { return __builtin_bit_cast(unsigned short, a.__x); }     \
    __WINDLASS_BOTH H __short_as_##word(short x) { return __windlass_number(__builtin_bit_cast(S, x)); }               \
    __WINDLASS_BOTH H __ushort_as_##word(unsigned short x) { return __windlass_number(__builtin_bit_cast(S, x)); }

// Atomics, shuffles.
#define __WINDLASS_NARROW_THREADS(H, S)                                                                               \
    __WINDLASS_DEVICE H atomicAdd(H *address, H value) {                                                              \
        return __windlass_number(__atomic_fetch_add((S *)address, value.__x, __ATOMIC_RELAXED));                      \
    }                                                                                                                 \
    __WINDLASS_DEVICE H##2 atomicAdd(H##2 *address, H##2 value) {                                                     \
        return H##2(atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y));                                \
    }                                                                                                                 \
    __WINDLASS_NARROW_SHUFFLE(H, __shfl_sync, int)                                                                    \
    __WINDLASS_NARROW_SHUFFLE(H, __shfl_up_sync, unsigned int)                                                        \
    __WINDLASS_NARROW_SHUFFLE(H, __shfl_down_sync, unsigned int)                                                      \
    __WINDLASS_NARROW_SHUFFLE(H, __shfl_xor_sync, int)
#define __WINDLASS_NARROW_SHUFFLE(H, name, position)                                                           \
    __WINDLASS_DEVICE H name(unsigned int mask, H value, position lane, int width = 32) {                      \
        unsigned int bits = __builtin_bit_cast(unsigned short, value);                                         \
        return __builtin_bit_cast(H, (unsigned short)name(mask, bits, lane, width));                           \
    }                                                                                                          \
    __WINDLASS_DEVICE H##2 name(unsigned int mask, H##2 value, position lane, int width = 32) {                \
        return __builtin_bit_cast(H##2, name(mask, __builtin_bit_cast(unsigned int, value), lane, width));     \
    }
