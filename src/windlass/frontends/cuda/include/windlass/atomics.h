// Atomic operations: LLVM's atomicrmw and cmpxchg, monotonic as CUDA's are.
//
// They are templates so that a program's own atomicAdd(double *, double), written for old devices, is preferred.
#pragma once

template <class T> inline constexpr bool __windlass_is_atomic_number = std::is_arithmetic_v<T> || std::is_enum_v<T>;

#define __WINDLASS_ATOMIC_UPDATE(name, builtin)                                                              \
    template <class T, class U, std::enable_if_t<__windlass_is_atomic_number<T>, int> = 0>                   \
    __WINDLASS_DEVICE T name(T *address, U value) {                                                          \
        return builtin(address, (T)value, __ATOMIC_RELAXED);                                                 \
    }

#define __WINDLASS_ATOMICS(scope)                                                                            \
    __WINDLASS_ATOMIC_UPDATE(atomicAdd##scope, __atomic_fetch_add)                                           \
    __WINDLASS_ATOMIC_UPDATE(atomicSub##scope, __atomic_fetch_sub)                                           \
    __WINDLASS_ATOMIC_UPDATE(atomicMin##scope, __atomic_fetch_min)                                           \
    __WINDLASS_ATOMIC_UPDATE(atomicMax##scope, __atomic_fetch_max)                                           \
    __WINDLASS_ATOMIC_UPDATE(atomicAnd##scope, __atomic_fetch_and)                                           \
    __WINDLASS_ATOMIC_UPDATE(atomicOr##scope, __atomic_fetch_or)                                             \
    __WINDLASS_ATOMIC_UPDATE(atomicXor##scope, __atomic_fetch_xor)                                           \
    template <class T, class U, std::enable_if_t<__windlass_is_atomic_number<T>, int> = 0>                   \
    __WINDLASS_DEVICE T atomicExch##scope(T *address, U value) {                                             \
        T desired = (T)value, previous;                                                                      \
        __atomic_exchange(address, &desired, &previous, __ATOMIC_RELAXED);                                   \
        return previous;                                                                                     \
    }                                                                                                        \
    template <class T, class U, class V, std::enable_if_t<__windlass_is_atomic_number<T>, int> = 0>          \
    __WINDLASS_DEVICE T atomicCAS##scope(T *address, U compare, V value) {                                   \
        T expected = (T)compare, desired = (T)value;                                                         \
        __atomic_compare_exchange(address, &expected, &desired, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);  \
        return expected;                                                                                     \
    }

__WINDLASS_ATOMICS()
__WINDLASS_ATOMICS(_block)
__WINDLASS_ATOMICS(_system)
#undef __WINDLASS_ATOMICS
#undef __WINDLASS_ATOMIC_UPDATE

#ifdef __NVPTX__
#define __WINDLASS_ATOMIC_WRAP(scope)                                                                        \
    __WINDLASS_DEVICE unsigned int atomicInc##scope(unsigned int *address, unsigned int limit) {             \
        return __nvvm_atom_inc_gen_ui(address, limit);                                                       \
    }                                                                                                        \
    __WINDLASS_DEVICE unsigned int atomicDec##scope(unsigned int *address, unsigned int limit) {             \
        return __nvvm_atom_dec_gen_ui(address, limit);                                                       \
    }
__WINDLASS_ATOMIC_WRAP()
__WINDLASS_ATOMIC_WRAP(_block)
__WINDLASS_ATOMIC_WRAP(_system)
#undef __WINDLASS_ATOMIC_WRAP
#endif
