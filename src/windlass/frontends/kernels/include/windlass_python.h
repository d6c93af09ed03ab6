// What Python's operators mean, where C++'s mean something else. Kernels that come from Python include this.
#pragma once

#define WINDLASS_PYTHON __device__ __attribute__((always_inline)) inline

// Indices count from the end where they are negative.
WINDLASS_PYTHON long long windlass_wrap(long long index, long long extent) { return index < 0 ? index + extent : index; }

// A slice's bound, brought into 0 ... extent.
WINDLASS_PYTHON long long windlass_clip(long long bound, long long extent) {
    bound = bound < 0 ? bound + extent : bound;
    return bound < 0 ? 0 : bound > extent ? extent : bound;
}
// The same for slices that go backwards: −1 ... extent − 1.
WINDLASS_PYTHON long long windlass_clip_down(long long bound, long long extent) {
    bound = bound < 0 ? bound + extent : bound;
    return bound < 0 ? -1 : bound >= extent ? extent - 1 : bound;
}
WINDLASS_PYTHON long long windlass_extent(long long start, long long stop, long long step) {
    if (step > 0) return start < stop ? (stop - start + step - 1) / step : 0;
    return stop < start ? (start - stop - step - 1) / -step : 0;
}

// A new shape: an extent, or 1 where it is left open; and what is left for that one.
WINDLASS_PYTHON long long windlass_known(long long extent) { return extent < 0 ? 1 : extent; }
WINDLASS_PYTHON long long windlass_rest(long long size, long long known) { return known == 0 ? 0 : size / known; }

// Overflow wraps around.
WINDLASS_PYTHON long long windlass_add(long long x, long long y) {
    return (long long)((unsigned long long)x + (unsigned long long)y);
}
WINDLASS_PYTHON long long windlass_subtract(long long x, long long y) {
    return (long long)((unsigned long long)x - (unsigned long long)y);
}
WINDLASS_PYTHON long long windlass_multiply(long long x, long long y) {
    return (long long)((unsigned long long)x * (unsigned long long)y);
}

// Quotients are rounded down, remainders have the divisor's sign; dividing integers by zero gives zero.
WINDLASS_PYTHON long long windlass_floor_divide(long long x, long long y) {
    if (y == 0) return 0;
    if (y == -1) return windlass_subtract(0, x);
    long long quotient = x / y;
    return (x % y != 0) && ((x % y < 0) != (y < 0)) ? quotient - 1 : quotient;
}
WINDLASS_PYTHON long long windlass_modulo(long long x, long long y) {
    if (y == 0 || y == -1) return 0;
    long long rest = x % y;
    return rest != 0 && ((rest < 0) != (y < 0)) ? rest + y : rest;
}
WINDLASS_PYTHON unsigned long long windlass_floor_divide(unsigned long long x, unsigned long long y) {
    return y == 0 ? 0 : x / y;
}
WINDLASS_PYTHON unsigned long long windlass_modulo(unsigned long long x, unsigned long long y) {
    return y == 0 ? 0 : x % y;
}

#define WINDLASS_REAL_DIVISION(R, fmod, floor, copysign)                                                   \
    WINDLASS_PYTHON R windlass_modulo(R x, R y) {                                                          \
        R rest = fmod(x, y);                                                                               \
        if (y == 0) return rest;                                                                           \
        if (rest != 0) return (y < 0) != (rest < 0) ? rest + y : rest;                                     \
        return copysign((R)0, y);                                                                          \
    }                                                                                                      \
    WINDLASS_PYTHON R windlass_floor_divide(R x, R y) {                                                    \
        if (y == 0) return x / y;                                                                          \
        R rest = fmod(x, y);                                                                               \
        R quotient = (x - rest) / y;                                                                       \
        if (rest != 0 && (y < 0) != (rest < 0)) quotient -= 1;                                             \
        if (quotient == 0) return copysign((R)0, x / y);                                                   \
        R rounded = floor(quotient);                                                                       \
        return quotient - rounded > (R)0.5 ? rounded + 1 : rounded;                                        \
    }
WINDLASS_REAL_DIVISION(float, fmodf, floorf, copysignf)
WINDLASS_REAL_DIVISION(double, fmod, floor, copysign)
#undef WINDLASS_REAL_DIVISION

// x ** n for an integer n, by squaring.
template <class T, class N> WINDLASS_PYTHON T windlass_power(T x, N exponent) {
    bool is_inverse = exponent < 0;
    unsigned long long rest = is_inverse ? 0ull - (unsigned long long)exponent : (unsigned long long)exponent;
    if constexpr (std::is_integral_v<T>) {
        if (is_inverse) {
            if (x == 0) return (T)(1ull << 63);
            if (x != 1 && x != (T)-1) return 0;
        }
    }
    T result = 1;
    if constexpr (std::is_same_v<T, long long>) {
        unsigned long long value = (unsigned long long)x, product = 1;
        for (; rest != 0; rest >>= 1) {
            if (rest & 1) product *= value;
            value *= value;
        }
        return (T)product;
    } else {
        if constexpr (!std::is_integral_v<T>)
            if (rest > 0x10000) return pow(x, (T)exponent);
        for (; rest != 0; rest >>= 1) {
            if (rest & 1) result *= x;
            x *= x;
        }
        return is_inverse ? (T)1 / result : result;
    }
}

template <class T> WINDLASS_PYTHON T windlass_minimum(T x, T y) { return y < x ? y : x; }
template <class T> WINDLASS_PYTHON T windlass_maximum(T x, T y) { return y > x ? y : x; }

// round(x, digits).
WINDLASS_PYTHON double windlass_round(double x, long long digits) {
    if (isinf(x) || isnan(x)) return x;
    if (digits >= 0) {
        double power = windlass_power(10.0, digits > 22 ? digits - 22 : digits), more = digits > 22 ? 1e22 : 1.0;
        double scaled = (x * power) * more;
        return isinf(scaled) ? x : (rint(scaled) / more) / power;
    }
    double power = windlass_power(10.0, -digits);
    return rint(x / power) * power;
}

// Complex numbers.
template <class R> struct windlass_complex {
    R x, y;
};
template <class R> WINDLASS_PYTHON windlass_complex<R> windlass_make(R x, R y) { return {x, y}; }
#define WINDLASS_COMPLEX template <class R> WINDLASS_PYTHON windlass_complex<R>
WINDLASS_COMPLEX operator+(windlass_complex<R> a, windlass_complex<R> b) { return {a.x + b.x, a.y + b.y}; }
WINDLASS_COMPLEX operator-(windlass_complex<R> a, windlass_complex<R> b) { return {a.x - b.x, a.y - b.y}; }
WINDLASS_COMPLEX operator-(windlass_complex<R> a) { return {-a.x, -a.y}; }
WINDLASS_COMPLEX operator*(windlass_complex<R> a, windlass_complex<R> b) {
    return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};
}
// By Smith's method.
WINDLASS_COMPLEX operator/(windlass_complex<R> a, windlass_complex<R> b) {
    if (fabs(b.x) >= fabs(b.y)) {
        if (b.x == 0 && b.y == 0) return {a.x / b.x, a.y / b.x};
        R ratio = b.y / b.x, scale = b.x + b.y * ratio;
        return {(a.x + a.y * ratio) / scale, (a.y - a.x * ratio) / scale};
    }
    R ratio = b.x / b.y, scale = b.x * ratio + b.y;
    return {(a.x * ratio + a.y) / scale, (a.y * ratio - a.x) / scale};
}
template <class R> WINDLASS_PYTHON bool operator==(windlass_complex<R> a, windlass_complex<R> b) {
    return a.x == b.x && a.y == b.y;
}
template <class R> WINDLASS_PYTHON bool operator!=(windlass_complex<R> a, windlass_complex<R> b) { return !(a == b); }
WINDLASS_COMPLEX windlass_polar(R size, R angle) {
    return {size == 0 ? size : size * cos(angle), angle == 0 ? angle : size * sin(angle)};
}
WINDLASS_COMPLEX windlass_exp(windlass_complex<R> a) {
    R size = exp(a.x);
    if (a.y == 0) return {size, a.y};
    if (size == 0) return {copysign((R)0, cos(a.y)), copysign((R)0, sin(a.y))};
    return windlass_polar(size, a.y);
}
WINDLASS_COMPLEX windlass_log(windlass_complex<R> a) { return {log(hypot(a.x, a.y)), atan2(a.y, a.x)}; }
// A size, which may be infinite, times a factor of at most 1, which may be zero.
template <class R> WINDLASS_PYTHON R windlass_scale(R size, R factor) {
    return factor == 0 ? (size < 0 ? -factor : factor) : size * factor;
}
template <class R> WINDLASS_PYTHON bool windlass_is_infinite(windlass_complex<R> a) { return isinf(a.x) || isinf(a.y); }
WINDLASS_COMPLEX windlass_sqrt(windlass_complex<R> a) {
    if (isinf(a.y)) return {fabs(a.y), a.y};
    if (isinf(a.x)) return a.x > 0 ? windlass_complex<R>{a.x, copysign((R)0, a.y)}
                                   : windlass_complex<R>{0, copysign(-a.x, a.y)};
    if (a.x == 0 && a.y == 0) return {0, a.y};
    R size = sqrt((fabs(a.x) + hypot(a.x, a.y)) / 2);
    if (a.x >= 0) return {size, a.y / (2 * size)};
    return {fabs(a.y) / (2 * size), copysign(size, a.y)};
}
WINDLASS_COMPLEX windlass_log10(windlass_complex<R> a) {
    return {log10(hypot(a.x, a.y)), atan2(a.y, a.x) / (R)2.302585092994046};
}
WINDLASS_COMPLEX windlass_sinh(windlass_complex<R> a) {
    return {windlass_scale(sinh(a.x), cos(a.y)), windlass_scale(cosh(a.x), sin(a.y))};
}
WINDLASS_COMPLEX windlass_cosh(windlass_complex<R> a) {
    return {windlass_scale(cosh(a.x), cos(a.y)), windlass_scale(sinh(a.x), sin(a.y))};
}
WINDLASS_COMPLEX windlass_tanh(windlass_complex<R> a) {
    if (isinf(a.x)) return {copysign((R)1, a.x), isinf(a.y) ? (R)0 : copysign((R)0, sin(2 * a.y))};
    R t = tanh(a.x), u = tan(a.y), c = 1 / cosh(a.x), below = 1 + t * u * t * u;
    return {t * (1 + u * u) / below, u / below * c * c};
}
WINDLASS_COMPLEX windlass_tan(windlass_complex<R> a) {
    windlass_complex<R> b = windlass_tanh(windlass_complex<R>{-a.y, a.x});
    return {b.y, -b.x};
}
// The inverse functions, by Kahan's formulas, which keep their accuracy near the branch cuts.
WINDLASS_COMPLEX windlass_acos(windlass_complex<R> a) {
    if (windlass_is_infinite(a)) return {atan2(fabs(a.y), a.x), -copysign((R)__builtin_inf(), a.y)};
    windlass_complex<R> s = windlass_sqrt(windlass_complex<R>{1 - a.x, -a.y});
    windlass_complex<R> t = windlass_sqrt(windlass_complex<R>{1 + a.x, a.y});
    return {2 * atan2(s.x, t.x), asinh(t.x * s.y - t.y * s.x)};
}
WINDLASS_COMPLEX windlass_acosh(windlass_complex<R> a) {
    if (windlass_is_infinite(a)) return {(R)__builtin_inf(), atan2(a.y, a.x)};
    windlass_complex<R> s = windlass_sqrt(windlass_complex<R>{a.x - 1, a.y});
    windlass_complex<R> t = windlass_sqrt(windlass_complex<R>{a.x + 1, a.y});
    return {asinh(s.x * t.x + s.y * t.y), 2 * atan2(s.y, t.x)};
}
WINDLASS_COMPLEX windlass_asinh(windlass_complex<R> a) {
    if (windlass_is_infinite(a))
        return {copysign((R)__builtin_inf(), a.x), copysign(atan2(fabs(a.y), fabs(a.x)), a.y)};
    windlass_complex<R> s = windlass_sqrt(windlass_complex<R>{1 + a.y, -a.x});
    windlass_complex<R> t = windlass_sqrt(windlass_complex<R>{1 - a.y, a.x});
    return {asinh(s.x * t.y - t.x * s.y), atan2(a.y, s.x * t.x - s.y * t.y)};
}
WINDLASS_COMPLEX windlass_asin(windlass_complex<R> a) {
    windlass_complex<R> b = windlass_asinh(windlass_complex<R>{-a.y, a.x});
    return {b.y, -b.x};
}
WINDLASS_COMPLEX windlass_atanh(windlass_complex<R> a) {
    if (windlass_is_infinite(a)) return {copysign((R)0, a.x), copysign((R)1.5707963267948966, a.y)};
    R sign = copysign((R)1, a.x), x = a.x * sign, y = a.y * sign;
    R real = log1p(4 * x / ((1 - x) * (1 - x) + y * y)) / 4;
    R imaginary = -atan2(-2 * y, (1 - x) * (1 + x) - y * y) / 2;
    return {real * sign, imaginary * sign};
}
WINDLASS_COMPLEX windlass_atan(windlass_complex<R> a) {
    windlass_complex<R> b = windlass_atanh(windlass_complex<R>{-a.y, a.x});
    return {b.y, -b.x};
}
WINDLASS_COMPLEX windlass_sin(windlass_complex<R> a) {
    return {windlass_scale(cosh(a.y), sin(a.x)), windlass_scale(sinh(a.y), cos(a.x))};
}
WINDLASS_COMPLEX windlass_cos(windlass_complex<R> a) {
    return {windlass_scale(cosh(a.y), cos(a.x)), -windlass_scale(sinh(a.y), sin(a.x))};
}
WINDLASS_COMPLEX windlass_power(windlass_complex<R> a, windlass_complex<R> b) {
    if (b.x == 0 && b.y == 0) return {1, 0};
    if (b.x == 1 && b.y == 0) return a;
    if (b.x == 2 && b.y == 0) return a * a;
    if (a.x == 0 && a.y == 0) return {0, 0};
    return windlass_exp(b * windlass_log(a));
}
#undef WINDLASS_COMPLEX

// Atomic operations that CUDA C++ has no functions for. Each gives the value from before.
template <class T, class Update> WINDLASS_PYTHON T windlass_atomic(T *address, Update update) {
    using Bits = std::conditional_t<sizeof(T) == 8, unsigned long long, unsigned int>;
    Bits *bits = (Bits *)address;
    Bits seen = *bits, expected;
    do {
        expected = seen;
        T wanted = update(__builtin_bit_cast(T, expected));
        seen = atomicCAS(bits, expected, __builtin_bit_cast(Bits, wanted));
    } while (seen != expected);
    return __builtin_bit_cast(T, seen);
}
// Of NaN and a number the old value stays, whichever of them it is: so do Numba's atomic.max and atomic.min compare.
template <class T> WINDLASS_PYTHON T windlass_atomic_maximum(T *address, T value) {
    if constexpr (std::is_integral_v<T>) return atomicMax(address, value);
    else return windlass_atomic(address, [=](T old) { return old < value ? value : old; });
}
template <class T> WINDLASS_PYTHON T windlass_atomic_minimum(T *address, T value) {
    if constexpr (std::is_integral_v<T>) return atomicMin(address, value);
    else return windlass_atomic(address, [=](T old) { return old > value ? value : old; });
}
// Wrapping counters of 64 bits.
template <class T> WINDLASS_PYTHON T windlass_atomic_increment(T *address, T limit) {
    if constexpr (sizeof(T) == 4) return (T)atomicInc((unsigned int *)address, (unsigned int)limit);
    else return windlass_atomic(address, [=](T old) { return old >= limit ? (T)0 : (T)(old + 1); });
}
template <class T> WINDLASS_PYTHON T windlass_atomic_decrement(T *address, T limit) {
    if constexpr (sizeof(T) == 4) return (T)atomicDec((unsigned int *)address, (unsigned int)limit);
    else return windlass_atomic(address, [=](T old) { return old == 0 || old > limit ? limit : (T)(old - 1); });
}

// Threads that raise note their exception, the first one that does.
WINDLASS_PYTHON void windlass_raise(long long *error, long long number) {
    if (atomicCAS((unsigned long long *)error, 0ull, (unsigned long long)number) == 0ull) {
        error[1] = threadIdx.x, error[2] = threadIdx.y, error[3] = threadIdx.z;
        error[4] = blockIdx.x, error[5] = blockIdx.y, error[6] = blockIdx.z;
    }
}

// xoroshiro128+ by David Blackman and Sebastiano Vigna.
template <class State> WINDLASS_PYTHON unsigned long long windlass_xoroshiro(State *state) {
    unsigned long long s0 = state->s0, s1 = state->s1, result = s0 + s1;
    s1 ^= s0;
    state->s0 = ((s0 << 55) | (s0 >> 9)) ^ s1 ^ (s1 << 14);
    state->s1 = (s1 << 36) | (s1 >> 28);
    return result;
}
template <class State> WINDLASS_PYTHON double windlass_uniform_double(State *state) {
    return (double)(windlass_xoroshiro(state) >> 11) * 0x1p-53;
}
template <class State> WINDLASS_PYTHON float windlass_uniform_float(State *state) {
    return (float)windlass_uniform_double(state);
}
// Box-Muller; the second value is not used.
template <class State> WINDLASS_PYTHON float windlass_normal_float(State *state) {
    float first = windlass_uniform_float(state), second = windlass_uniform_float(state);
    return sqrtf(-2.0f * logf(first)) * cosf(6.283185307179586f * second);
}
template <class State> WINDLASS_PYTHON double windlass_normal_double(State *state) {
    float first = windlass_uniform_float(state), second = windlass_uniform_float(state);
    return sqrt(-2.0 * (double)logf(first)) * cos(6.283185307179586 * (double)second);
}
