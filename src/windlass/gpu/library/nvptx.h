// What NVIDIA's GPUs have no single instruction for.
#pragma once
#include "base.h"

// Values of 64 bits go from lane to lane in two halves.
#define SHUFFLE(kind, type, suffix)                                                                          \
    EXPORT __attribute__((convergent)) type __windlass_shfl_sync_##kind##_##suffix(u32 mask, type value, u32 lane, u32 c) { \
        u64 bits = bits_as<u64>(value);                                                                      \
        u32 low = (u32)__nvvm_shfl_sync_##kind##_i32(mask, (i32)(u32)bits, (i32)lane, (i32)c);               \
        u32 high = (u32)__nvvm_shfl_sync_##kind##_i32(mask, (i32)(u32)(bits >> 32), (i32)lane, (i32)c);      \
        return bits_as<type>((u64)high << 32 | low);                                                         \
    }
#define SHUFFLES(kind)             \
    SHUFFLE(kind, i64, i64)        \
    SHUFFLE(kind, double, f64)
SHUFFLES(idx)
SHUFFLES(up)
SHUFFLES(down)
SHUFFLES(bfly)
#undef SHUFFLES
#undef SHUFFLE

EXPORT __attribute__((convergent)) void __windlass_warp_meets() { __nvvm_bar_warp_sync(__nvvm_activemask()); }
EXPORT void __windlass_trap() { __builtin_trap(); }
EXPORT i64 __windlass_clock() { return (i64)__nvvm_read_ptx_sreg_clock64(); }
EXPORT u32 __windlass_smid() { return (u32)__nvvm_read_ptx_sreg_smid(); }

// The driver's own, which tells of the place and ends the launch.
extern "C" void __assertfail(const char *condition, const char *file, u32 line, const char *function, u64 width);
EXPORT void __windlass_assert_fail(const char *condition, const char *file, i32 line, const char *function) {
    __assertfail(condition, file, (u32)line, function, 1);
}

EXPORT void *__windlass_shared_pointer(u32 offset) {
    return (void *)(__attribute__((address_space(3))) char *)(u64)offset;
}
