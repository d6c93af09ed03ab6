// What NVIDIA's GPUs have no single instruction for.
#pragma once
#include "base.h"

// Values of 64 bits go from lane to lane in two halves.
#define SHUFFLE(kind, type, suffix)                                                                          \
    EXPORT type __windlass_shfl_sync_##kind##_##suffix(u32 mask, type value, u32 lane, u32 control) {        \
        u64 bits = bits_as<u64>(value);                                                                      \
        u32 low = (u32)__nvvm_shfl_sync_##kind##_i32(mask, (i32)(u32)bits, (i32)lane, (i32)control);         \
        u32 high = (u32)__nvvm_shfl_sync_##kind##_i32(mask, (i32)(u32)(bits >> 32), (i32)lane, (i32)control); \
        return bits_as<type>((u64)high << 32 | low);                                                         \
    }
#define SHUFFLES(kind)          \
    SHUFFLE(kind, i64, i64)     \
    SHUFFLE(kind, double, f64)
SHUFFLES(idx)
SHUFFLES(up)
SHUFFLES(down)
SHUFFLES(bfly)
#undef SHUFFLES
#undef SHUFFLE

EXPORT void __windlass_warp_meets() { __nvvm_bar_warp_sync(__nvvm_activemask()); }
EXPORT void __windlass_trap() { __builtin_trap(); }
EXPORT i64 __windlass_clock() { return (i64)__nvvm_read_ptx_sreg_clock64(); }
EXPORT u32 __windlass_smid() { return (u32)__nvvm_read_ptx_sreg_smid(); }
EXPORT void *__windlass_shared_pointer(u32 offset) {
    return (void *)(__attribute__((address_space(3))) char *)(u64)offset;
}

// The driver's own, which tells of the place and ends the launch.
extern "C" void __assertfail(const char *condition, const char *file, u32 line, const char *function, u64 width);
EXPORT void __windlass_assert_fail(const char *condition, const char *file, i32 line, const char *function) {
    __assertfail(condition, file, (u32)line, function, 1);
}

// -- barriers ---------------------------------------------------------------------------------------------------------

// Of all blocks, which have to run at once (a cooperative launch). Block 0 adds what the others leave to half of all
// numbers, so that the highest bit changes when all have come, again and again.
static __attribute__((address_space(1))) u32 grid_arrivals = 0;

EXPORT void __windlass_grid_sync() {
    __nvvm_bar_sync(0);
    u32 x = __nvvm_read_ptx_sreg_tid_x() | __nvvm_read_ptx_sreg_tid_y() | __nvvm_read_ptx_sreg_tid_z();
    if (x == 0) {
        u32 blocks = __nvvm_read_ptx_sreg_nctaid_x() * __nvvm_read_ptx_sreg_nctaid_y() * __nvvm_read_ptx_sreg_nctaid_z();
        bool is_first = !(__nvvm_read_ptx_sreg_ctaid_x() | __nvvm_read_ptx_sreg_ctaid_y() | __nvvm_read_ptx_sreg_ctaid_z());
        __nvvm_membar_gl();
        u32 before = __atomic_fetch_add(&grid_arrivals, is_first ? 0x80000000u - (blocks - 1) : 1u, __ATOMIC_RELAXED);
        while (!((before ^ __atomic_load_n(&grid_arrivals, __ATOMIC_RELAXED)) & 0x80000000u)) {}
        __nvvm_membar_gl();
    }
    __nvvm_bar_sync(0);
}

// A barrier object: how many threads a phase expects, how many have arrived, the phase's number. The words are those of
// windlass/asynchronous.h.
struct Barrier {
    u16 expected, arrived;
    u32 phase;
};
static constexpr u32 BY_PARITY = 1u << 31;

INLINE bool has_passed(Barrier barrier, u32 phase) {
    return phase & BY_PARITY ? (barrier.phase ^ phase) & 1 : barrier.phase != phase;
}

EXPORT void __windlass_barrier_open(u64 *barrier, u32 count) {
    __atomic_store_n(barrier, bits_as<u64>(Barrier{(u16)count, 0, 0}), __ATOMIC_RELAXED);
}

EXPORT u32 __windlass_barrier_arrive(u64 *barrier, u32 arriving, u32 leaving) {
    u64 old = __atomic_load_n(barrier, __ATOMIC_RELAXED);
    for (;;) {
        Barrier before = bits_as<Barrier>(old), after = before;
        u32 arrived = before.arrived + arriving;
        bool is_over = arrived >= before.expected;
        after.expected = (u16)(before.expected - leaving);
        after.arrived = (u16)(is_over ? 0 : arrived - leaving);
        if (is_over) after.phase = (before.phase + 1) & 0x7fffffff;
        if (__atomic_compare_exchange_n(barrier, &old, bits_as<u64>(after), false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            return before.phase;
    }
}

EXPORT i32 __windlass_barrier_passed(u64 *barrier, u32 phase) {
    return has_passed(bits_as<Barrier>(__atomic_load_n(barrier, __ATOMIC_ACQUIRE)), phase);
}

EXPORT void __windlass_barrier_wait(u64 *barrier, u32 phase) {
    while (!__windlass_barrier_passed(barrier, phase)) {}
}
