// Random number engines, with the sequences that the C++ standard gives them.
#pragma once
#include "../detail/config.h"

namespace thrust {
namespace random {
// x' = (a x + c) mod m
template <class UInt, UInt A, UInt C, UInt M> class linear_congruential_engine {
    UInt state;

public:
    using result_type = UInt;
    static constexpr UInt multiplier = A, increment = C, modulus = M, default_seed = 1;
    static constexpr UInt min = C == 0 ? 1 : 0, max = M - 1;
    __WINDLASS_BOTH_MEMBER explicit linear_congruential_engine(UInt value = default_seed) { seed(value); }
    __WINDLASS_BOTH_MEMBER void seed(UInt value = default_seed) {
        UInt reduced = M == 0 ? value : value % M;
        state = C % M == 0 && reduced == 0 ? 1 : reduced;
    }
    __WINDLASS_BOTH_MEMBER UInt operator()() {
        return state = (UInt)(((unsigned long long)A * state + C) % M);
    }
    // The same as z calls, in log2(z) steps.
    __WINDLASS_BOTH_MEMBER void discard(unsigned long long z) {
        unsigned long long multiplier = A, increment = C, x = state;
        for (; z > 0; z >>= 1) {
            if (z & 1) x = (multiplier * x + increment) % M;
            increment = (multiplier + 1) % M * increment % M;
            multiplier = multiplier * multiplier % M;
        }
        state = (UInt)x;
    }
    __WINDLASS_BOTH_MEMBER bool operator==(const linear_congruential_engine &b) const { return state == b.state; }
    __WINDLASS_BOTH_MEMBER bool operator!=(const linear_congruential_engine &b) const { return state != b.state; }
};
using minstd_rand0 = linear_congruential_engine<std::uint32_t, 16807, 0, 2147483647>;
using minstd_rand = linear_congruential_engine<std::uint32_t, 48271, 0, 2147483647>;
using default_random_engine = minstd_rand;

template <class UInt, size_t W, size_t S, size_t R> class subtract_with_carry_engine {
    static constexpr UInt mask = W == sizeof(UInt) * 8 ? ~UInt(0) : (UInt(1) << (W % (sizeof(UInt) * 8))) - 1;
    UInt numbers[R];
    unsigned int place;
    int carry;

public:
    using result_type = UInt;
    static constexpr size_t word_size = W, short_lag = S, long_lag = R;
    static constexpr UInt min = 0, max = mask, default_seed = 19780503u;
    __WINDLASS_BOTH_MEMBER explicit subtract_with_carry_engine(UInt value = default_seed) { seed(value); }
    __WINDLASS_BOTH_MEMBER void seed(UInt value = default_seed) {
        linear_congruential_engine<std::uint32_t, 40014u, 0u, 2147483563u> from(
            value == 0u ? (std::uint32_t)default_seed : (std::uint32_t)(value % 2147483563u));
        for (size_t i = 0; i < R; i++) {
            UInt number = 0;
            for (size_t word = 0; word < (W + 31) / 32; word++) number |= (UInt)from() << (32 * word);
            numbers[i] = number & mask;
        }
        carry = numbers[R - 1] == 0;
        place = 0;
    }
    __WINDLASS_BOTH_MEMBER UInt operator()() {
        UInt far = numbers[(place + R - S) % R], near = numbers[place];
        UInt result = (far - near - (UInt)carry) & mask;
        carry = far < near || (far == near && carry);
        numbers[place] = result;
        place = (place + 1) % R;
        return result;
    }
    __WINDLASS_BOTH_MEMBER void discard(unsigned long long z) { for (; z > 0; z--) (*this)(); }
};
using ranlux24_base = subtract_with_carry_engine<std::uint32_t, 24, 10, 24>;
using ranlux48_base = subtract_with_carry_engine<std::uint64_t, 48, 5, 12>;

template <class Engine, size_t P, size_t Used> class discard_block_engine {
    Engine engine;
    size_t count = 0;

public:
    using result_type = typename Engine::result_type;
    static constexpr result_type min = Engine::min, max = Engine::max;
    __WINDLASS_BOTH_MEMBER discard_block_engine() {}
    __WINDLASS_BOTH_MEMBER explicit discard_block_engine(result_type value) : engine(value) {}
    __WINDLASS_BOTH_MEMBER void seed(result_type value) { engine.seed(value), count = 0; }
    __WINDLASS_BOTH_MEMBER result_type operator()() {
        if (count >= Used) {
            engine.discard(P - Used);
            count = 0;
        }
        ++count;
        return engine();
    }
    __WINDLASS_BOTH_MEMBER void discard(unsigned long long z) { for (; z > 0; z--) (*this)(); }
};
using ranlux24 = discard_block_engine<ranlux24_base, 223, 23>;
using ranlux48 = discard_block_engine<ranlux48_base, 389, 11>;

// Pierre L'Ecuyer's combined Tausworthe generator, with the parameters of its paper.
template <class UInt, size_t W, size_t K, size_t Q, size_t S> class linear_feedback_shift_engine {
    UInt state;

public:
    using result_type = UInt;
    static constexpr UInt min = 0, max = ~UInt(0), default_seed = 341u;
    __WINDLASS_BOTH_MEMBER explicit linear_feedback_shift_engine(UInt value = default_seed) : state(value) {}
    __WINDLASS_BOTH_MEMBER void seed(UInt value = default_seed) { state = value; }
    __WINDLASS_BOTH_MEMBER UInt operator()() {
        UInt b = (((state << Q) ^ state) & max) >> (K - S);
        UInt kept = max << (W - K);
        return state = ((state & kept) << S) ^ b;
    }
    __WINDLASS_BOTH_MEMBER void discard(unsigned long long z) { for (; z > 0; z--) (*this)(); }
};
template <class A, size_t Sa, class B, size_t Sb> class xor_combine_engine {
    A a;
    B b;

public:
    using result_type = typename A::result_type;
    static constexpr result_type min = 0, max = ~result_type(0);
    __WINDLASS_BOTH_MEMBER xor_combine_engine() {}
    __WINDLASS_BOTH_MEMBER explicit xor_combine_engine(result_type value) : a(value), b(value) {}
    __WINDLASS_BOTH_MEMBER void seed(result_type value) { a.seed(value), b.seed(value); }
    __WINDLASS_BOTH_MEMBER result_type operator()() { return (result_type)(a() << Sa) ^ (result_type)(b() << Sb); }
    __WINDLASS_BOTH_MEMBER void discard(unsigned long long z) { for (; z > 0; z--) (*this)(); }
};
using taus88 = xor_combine_engine<linear_feedback_shift_engine<std::uint32_t, 32, 31, 13, 12>, 0,
                                  xor_combine_engine<linear_feedback_shift_engine<std::uint32_t, 32, 29, 2, 4>, 0,
                                                     linear_feedback_shift_engine<std::uint32_t, 32, 28, 3, 17>, 0>, 0>;
}  // namespace random
using random::default_random_engine;
using random::minstd_rand;
using random::minstd_rand0;
using random::ranlux24;
using random::ranlux48;
using random::taus88;
}  // namespace thrust
