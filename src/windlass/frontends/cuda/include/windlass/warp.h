// What the threads of a warp tell each other: shuffles, votes, matches, reductions.
#pragma once

#ifdef __NVPTX__

#define __WINDLASS_FULL_WARP 0xffffffffu

__WINDLASS_DEVICE unsigned int __activemask() { return __nvvm_activemask(); }
__WINDLASS_DEVICE unsigned int __ballot_sync(unsigned int mask, int predicate) {
    return __nvvm_vote_ballot_sync(mask, predicate != 0);
}
__WINDLASS_DEVICE int __any_sync(unsigned int mask, int predicate) { return __nvvm_vote_any_sync(mask, predicate != 0); }
__WINDLASS_DEVICE int __all_sync(unsigned int mask, int predicate) { return __nvvm_vote_all_sync(mask, predicate != 0); }
__WINDLASS_DEVICE int __uni_sync(unsigned int mask, int predicate) { return __nvvm_vote_uni_sync(mask, predicate != 0); }
__WINDLASS_DEVICE unsigned int __ballot(int predicate) { return __ballot_sync(__WINDLASS_FULL_WARP, predicate); }
__WINDLASS_DEVICE int __any(int predicate) { return __any_sync(__WINDLASS_FULL_WARP, predicate); }
__WINDLASS_DEVICE int __all(int predicate) { return __all_sync(__WINDLASS_FULL_WARP, predicate); }
__WINDLASS_DEVICE unsigned int __lane_id() { return __nvvm_read_ptx_sreg_laneid(); }
__WINDLASS_DEVICE unsigned int __lanemask_lt() { return __nvvm_read_ptx_sreg_lanemask_lt(); }

// The last operand packs the width as PTX does: ((32 - width) << 8) | clamp. PTX has no shuffles of 64 bits: these are
// our own, so that what is done with them stays plain to see.
#define __WINDLASS_SHUFFLE(name, direction, clamp, position)                                                           \
    __WINDLASS_MEETS long long __windlass_shfl_sync_##direction##_i64(unsigned int, long long, int, int);              \
    __WINDLASS_MEETS double __windlass_shfl_sync_##direction##_f64(unsigned int, double, int, int);                    \
    __WINDLASS_DEVICE int name(unsigned int mask, int value, position lane, int width = 32) {                          \
        return __nvvm_shfl_sync_##direction##_i32(mask, value, (int)lane, ((32 - width) << 8) | clamp);                \
    }                                                                                                                  \
    __WINDLASS_DEVICE unsigned int name(unsigned int mask, unsigned int value, position lane, int width = 32) {        \
        return (unsigned int)name(mask, (int)value, lane, width);                                                      \
    }                                                                                                                  \
    __WINDLASS_DEVICE float name(unsigned int mask, float value, position lane, int width = 32) {                      \
        return __nvvm_shfl_sync_##direction##_f32(mask, value, (int)lane, ((32 - width) << 8) | clamp);                \
    }                                                                                                                  \
    __WINDLASS_DEVICE long long name(unsigned int mask, long long value, position lane, int width = 32) {              \
        return __windlass_shfl_sync_##direction##_i64(mask, value, (int)lane, ((32 - width) << 8) | clamp);            \
    }                                                                                                                  \
    __WINDLASS_DEVICE unsigned long long name(unsigned int mask, unsigned long long value, position lane,              \
                                              int width = 32) {                                                        \
        return (unsigned long long)name(mask, (long long)value, lane, width);                                          \
    }                                                                                                                  \
    __WINDLASS_DEVICE long name(unsigned int mask, long value, position lane, int width = 32) {                        \
        return (long)name(mask, (long long)value, lane, width);                                                        \
    }                                                                                                                  \
    __WINDLASS_DEVICE unsigned long name(unsigned int mask, unsigned long value, position lane, int width = 32) {      \
        return (unsigned long)name(mask, (long long)value, lane, width);                                               \
    }                                                                                                                  \
    __WINDLASS_DEVICE double name(unsigned int mask, double value, position lane, int width = 32) {                    \
        return __windlass_shfl_sync_##direction##_f64(mask, value, (int)lane, ((32 - width) << 8) | clamp);            \
    }

__WINDLASS_SHUFFLE(__shfl_sync, idx, 0x1f, int)
__WINDLASS_SHUFFLE(__shfl_up_sync, up, 0, unsigned int)
__WINDLASS_SHUFFLE(__shfl_down_sync, down, 0x1f, unsigned int)
__WINDLASS_SHUFFLE(__shfl_xor_sync, bfly, 0x1f, int)
#undef __WINDLASS_SHUFFLE

// A value of any type moved between lanes: a number as it is, everything else word by word.
template <class T, class Move> __WINDLASS_DEVICE T __windlass_moved(T value, Move move) {
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
        return move(value);
    } else if constexpr (std::is_integral_v<T> && sizeof(T) <= 4) {
        return (T)move((int)value);
    } else if constexpr (std::is_integral_v<T> && sizeof(T) == 8) {
        return (T)move((unsigned long long)value);
    } else {
        unsigned int words[(sizeof(T) + 3) / 4] = {};
        __builtin_memcpy(words, &value, sizeof(T));
        for (unsigned int &word : words) word = move(word);
        __builtin_memcpy(&value, words, sizeof(T));
        return value;
    }
}

// The forms without a mask, of before Volta.
template <class T> __WINDLASS_DEVICE T __shfl(T value, int lane, int width = 32) {
    return __shfl_sync(__WINDLASS_FULL_WARP, value, lane, width);
}
template <class T> __WINDLASS_DEVICE T __shfl_up(T value, unsigned int delta, int width = 32) {
    return __shfl_up_sync(__WINDLASS_FULL_WARP, value, delta, width);
}
template <class T> __WINDLASS_DEVICE T __shfl_down(T value, unsigned int delta, int width = 32) {
    return __shfl_down_sync(__WINDLASS_FULL_WARP, value, delta, width);
}
template <class T> __WINDLASS_DEVICE T __shfl_xor(T value, int mask, int width = 32) {
    return __shfl_xor_sync(__WINDLASS_FULL_WARP, value, mask, width);
}

template <class T> __WINDLASS_DEVICE unsigned int __match_any_sync(unsigned int mask, T value) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "__match_any_sync takes 4-byte and 8-byte values");
    if constexpr (sizeof(T) == 4) return __nvvm_match_any_sync_i32(mask, __builtin_bit_cast(int, value));
    else return __nvvm_match_any_sync_i64(mask, __builtin_bit_cast(long long, value));
}
template <class T> __WINDLASS_DEVICE unsigned int __match_all_sync(unsigned int mask, T value, int *all_equal) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "__match_all_sync takes 4-byte and 8-byte values");
    if constexpr (sizeof(T) == 4) return __nvvm_match_all_sync_i32p(mask, __builtin_bit_cast(int, value), all_equal);
    else return __nvvm_match_all_sync_i64p(mask, __builtin_bit_cast(long long, value), all_equal);
}

__WINDLASS_DEVICE unsigned int __reduce_add_sync(unsigned int mask, unsigned int value) {
    return (unsigned int)__nvvm_redux_sync_add((int)value, (int)mask);
}
__WINDLASS_DEVICE int __reduce_add_sync(unsigned int mask, int value) { return __nvvm_redux_sync_add(value, (int)mask); }
__WINDLASS_DEVICE unsigned int __reduce_min_sync(unsigned int mask, unsigned int value) {
    return (unsigned int)__nvvm_redux_sync_umin(value, (int)mask);
}
__WINDLASS_DEVICE int __reduce_min_sync(unsigned int mask, int value) { return __nvvm_redux_sync_min(value, (int)mask); }
__WINDLASS_DEVICE unsigned int __reduce_max_sync(unsigned int mask, unsigned int value) {
    return (unsigned int)__nvvm_redux_sync_umax(value, (int)mask);
}
__WINDLASS_DEVICE int __reduce_max_sync(unsigned int mask, int value) { return __nvvm_redux_sync_max(value, (int)mask); }
__WINDLASS_DEVICE unsigned int __reduce_and_sync(unsigned int mask, unsigned int value) {
    return (unsigned int)__nvvm_redux_sync_and((int)value, (int)mask);
}
__WINDLASS_DEVICE unsigned int __reduce_or_sync(unsigned int mask, unsigned int value) {
    return (unsigned int)__nvvm_redux_sync_or((int)value, (int)mask);
}
__WINDLASS_DEVICE unsigned int __reduce_xor_sync(unsigned int mask, unsigned int value) {
    return (unsigned int)__nvvm_redux_sync_xor((int)value, (int)mask);
}

#else
template <class T, class Move> __WINDLASS_DEVICE T __windlass_moved(T value, Move move) { return value; }
#endif
