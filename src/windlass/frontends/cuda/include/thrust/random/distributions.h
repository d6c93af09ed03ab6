// Uniform and normal distributions, for any engine.
#pragma once
#include "../detail/config.h"

namespace thrust {
namespace random {
template <class Real = double> class uniform_real_distribution {
    Real low, high;

public:
    using result_type = Real;
    struct param_type { Real a, b; };
    __WINDLASS_BOTH_MEMBER explicit uniform_real_distribution(Real a = 0, Real b = 1) : low(a), high(b) {}
    __WINDLASS_BOTH_MEMBER void reset() {}
    template <class Engine> __WINDLASS_BOTH_MEMBER Real operator()(Engine &engine) const {
        Real result = (Real)(engine() - Engine::min);
        result /= (Real)1 + (Real)(Engine::max - Engine::min);
        return result * (high - low) + low;
    }
    template <class Engine> __WINDLASS_BOTH_MEMBER Real operator()(Engine &engine, const param_type &range) const {
        return uniform_real_distribution(range.a, range.b)(engine);
    }
    __WINDLASS_BOTH_MEMBER Real a() const { return low; }
    __WINDLASS_BOTH_MEMBER Real b() const { return high; }
    __WINDLASS_BOTH_MEMBER Real min() const { return low; }
    __WINDLASS_BOTH_MEMBER Real max() const { return high; }
};
// As Thrust does it: a real number of [a, b + 1), rounded down.
template <class Int = int> class uniform_int_distribution {
    Int low, high;

public:
    using result_type = Int;
    struct param_type { Int a, b; };
    __WINDLASS_BOTH_MEMBER explicit uniform_int_distribution(Int a = 0, Int b = std::numeric_limits<Int>::max())
        : low(a), high(b) {}
    __WINDLASS_BOTH_MEMBER void reset() {}
    template <class Engine> __WINDLASS_BOTH_MEMBER Int operator()(Engine &engine) const {
        uniform_real_distribution<double> real((double)low, (double)high + 1.0);
        return (Int)::floor(real(engine));
    }
    template <class Engine> __WINDLASS_BOTH_MEMBER Int operator()(Engine &engine, const param_type &range) const {
        return uniform_int_distribution(range.a, range.b)(engine);
    }
    __WINDLASS_BOTH_MEMBER Int a() const { return low; }
    __WINDLASS_BOTH_MEMBER Int b() const { return high; }
    __WINDLASS_BOTH_MEMBER Int min() const { return low; }
    __WINDLASS_BOTH_MEMBER Int max() const { return high; }
};
// By the inverse of the normal distribution: one number of the engine for each.
template <class Real = double> class normal_distribution {
    Real centre, deviation;

public:
    using result_type = Real;
    struct param_type { Real mean, stddev; };
    __WINDLASS_BOTH_MEMBER explicit normal_distribution(Real mean = 0, Real stddev = 1) : centre(mean), deviation(stddev) {}
    __WINDLASS_BOTH_MEMBER void reset() {}
    template <class Engine> __WINDLASS_BOTH_MEMBER Real operator()(Engine &engine) const {
        using UInt = typename Engine::result_type;
        double width = (double)(UInt)(Engine::max - Engine::min) + 1.0;
        double u = ((double)(UInt)(engine() - Engine::min) + 0.5) / width;
        return (Real)(centre + deviation * -1.4142135623730951 * erfcinv_of(2.0 * u));
    }
    __WINDLASS_BOTH_MEMBER Real mean() const { return centre; }
    __WINDLASS_BOTH_MEMBER Real stddev() const { return deviation; }

private:
    // Newton's method on erfc from a rational approximation (Giles), the same on both sides.
    static __WINDLASS_BOTH_MEMBER double erfcinv_of(double x) {
        double w = -::log(x * (2.0 - x)), y = 1.0 - x, p;
        if (w < 5.0) {
            w -= 2.5;
            p = 2.81022636e-08;
            p = 3.43273939e-07 + p * w, p = -3.5233877e-06 + p * w, p = -4.39150654e-06 + p * w;
            p = 0.00021858087 + p * w, p = -0.00125372503 + p * w, p = -0.00417768164 + p * w;
            p = 0.246640727 + p * w, p = 1.50140941 + p * w;
        } else {
            w = ::sqrt(w) - 3.0;
            p = -0.000200214257;
            p = 0.000100950558 + p * w, p = 0.00134934322 + p * w, p = -0.00367342844 + p * w;
            p = 0.00573950773 + p * w, p = -0.0076224613 + p * w, p = 0.00943887047 + p * w;
            p = 1.00167406 + p * w, p = 2.83297682 + p * w;
        }
        double result = p * y;
        for (int i = 0; i < 2; i++)
            result += (::erfc(result) - x) / (1.1283791670955126 * ::exp(-result * result));
        return result;
    }
};
}  // namespace random
using random::normal_distribution;
using random::uniform_int_distribution;
using random::uniform_real_distribution;
}  // namespace thrust
