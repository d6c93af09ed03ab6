// What NVIDIA's GPUs have instructions for, on AMD's: device code means these by the names of LLVM's intrinsics, with
// underscores. A warp is 32 lanes: a wave of 64 is two of them.
#pragma once
#include "base.h"

// -- places -----------------------------------------------------------------------------------------------------------

#define OF_AXIS(axis)                                                                                        \
    EXPORT u32 __windlass_nvvm_read_ptx_sreg_tid_##axis() { return __builtin_amdgcn_workitem_id_##axis(); }  \
    EXPORT u32 __windlass_nvvm_read_ptx_sreg_ctaid_##axis() { return __builtin_amdgcn_workgroup_id_##axis(); } \
    EXPORT u32 __windlass_nvvm_read_ptx_sreg_ntid_##axis() { return __builtin_amdgcn_workgroup_size_##axis(); } \
    EXPORT u32 __windlass_nvvm_read_ptx_sreg_nctaid_##axis() {                                               \
        u32 size = __builtin_amdgcn_workgroup_size_##axis();                                                 \
        return (__builtin_amdgcn_grid_size_##axis() + size - 1) / size;                                      \
    }
OF_AXIS(x)
OF_AXIS(y)
OF_AXIS(z)
#undef OF_AXIS

INLINE u32 lane_of_wave() { return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)); }
INLINE u32 half_of_wave() { return lane_of_wave() & 32; }
INLINE u32 lane_of_warp() { return lane_of_wave() & 31; }

INLINE u32 number_of_thread() {
    u32 width = __builtin_amdgcn_workgroup_size_x(), height = __builtin_amdgcn_workgroup_size_y();
    return __builtin_amdgcn_workitem_id_x() +
           width * (__builtin_amdgcn_workitem_id_y() + height * __builtin_amdgcn_workitem_id_z());
}

EXPORT u32 __windlass_nvvm_read_ptx_sreg_laneid() { return lane_of_warp(); }
EXPORT u32 __windlass_nvvm_read_ptx_sreg_warpid() { return number_of_thread() / 32; }
EXPORT u32 __windlass_nvvm_read_ptx_sreg_lanemask_eq() { return 1u << lane_of_warp(); }
EXPORT u32 __windlass_nvvm_read_ptx_sreg_lanemask_lt() { return (1u << lane_of_warp()) - 1; }
EXPORT u32 __windlass_nvvm_read_ptx_sreg_lanemask_le() { return (2u << lane_of_warp()) - 1; }
EXPORT u32 __windlass_nvvm_read_ptx_sreg_lanemask_gt() { return ~((2u << lane_of_warp()) - 1); }
EXPORT u32 __windlass_nvvm_read_ptx_sreg_lanemask_ge() { return ~((1u << lane_of_warp()) - 1); }

// -- barriers ---------------------------------------------------------------------------------------------------------

INLINE void block_barrier() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

// There is one barrier of a block: amdgcn.py refuses others.
EXPORT void __windlass_nvvm_barrier_cta_sync_aligned_all(u32) { block_barrier(); }
EXPORT void __windlass_nvvm_barrier_cta_sync_all(u32) { block_barrier(); }
EXPORT void __windlass_nvvm_membar_cta() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup"); }
EXPORT void __windlass_nvvm_membar_gl() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); }
EXPORT void __windlass_nvvm_membar_sys() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, ""); }

// How many threads of the block say yes, and how many there are.
[[clang::loader_uninitialized]] static __attribute__((address_space(3))) u32 counted[1];
INLINE u32 count_in_block(bool says_yes) {
    block_barrier();
    if (number_of_thread() == 0) counted[0] = 0;
    block_barrier();
    if (says_yes) __scoped_atomic_fetch_add(&counted[0], 1u, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
    block_barrier();
    u32 count = counted[0];
    block_barrier();
    return count;
}
INLINE u32 size_of_block() {
    return __builtin_amdgcn_workgroup_size_x() * __builtin_amdgcn_workgroup_size_y() *
           __builtin_amdgcn_workgroup_size_z();
}
EXPORT u32 __windlass_nvvm_barrier_cta_red_popc_aligned_all(u32, bool p) { return count_in_block(p); }
EXPORT bool __windlass_nvvm_barrier_cta_red_and_aligned_all(u32, bool p) { return count_in_block(!p) == 0; }
EXPORT bool __windlass_nvvm_barrier_cta_red_or_aligned_all(u32, bool p) { return count_in_block(p) != 0; }

// -- warps ------------------------------------------------------------------------------------------------------------

INLINE u32 ballot(bool p) { return (u32)(__builtin_amdgcn_ballot_w64(p) >> half_of_wave()); }
INLINE u32 value_of_lane(u32 lane, u32 value) {
    return (u32)__builtin_amdgcn_ds_bpermute((i32)((half_of_wave() | lane) << 2), (i32)value);
}

EXPORT void __windlass_nvvm_bar_warp_sync(u32) {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
    __builtin_amdgcn_wave_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}
EXPORT void __windlass_warp_meets() { __windlass_nvvm_bar_warp_sync(0); }
EXPORT u32 __windlass_nvvm_activemask() { return ballot(true); }
EXPORT u32 __windlass_nvvm_vote_ballot_sync(u32 mask, bool p) { return ballot(p) & mask; }
EXPORT bool __windlass_nvvm_vote_any_sync(u32 mask, bool p) { return (ballot(p) & mask) != 0; }
EXPORT bool __windlass_nvvm_vote_all_sync(u32 mask, bool p) { return (ballot(!p) & mask) == 0; }
EXPORT bool __windlass_nvvm_vote_uni_sync(u32 mask, bool p) {
    u32 yes = ballot(p) & mask;
    return yes == 0 || yes == (mask & ballot(true));
}

// Where PTX's shfl takes a value from: `control` has the last lane (low bits) and which bits of lanes are the segment's.
enum Direction { UP, DOWN, ACROSS, DIRECT };
INLINE u32 source_lane(Direction direction, u32 lane, u32 operand, u32 control) {
    u32 segment = control >> 8 & 31, last = (lane & segment) | (control & 31 & ~segment);
    i32 from = direction == UP       ? (i32)lane - (i32)(operand & 31)
               : direction == DOWN   ? (i32)lane + (i32)(operand & 31)
               : direction == ACROSS ? (i32)(lane ^ (operand & 31))
                                     : (i32)((lane & segment) | (operand & 31 & ~segment));
    bool is_inside = direction == UP ? from >= (i32)last : from <= (i32)last;
    return is_inside ? (u32)from : lane;
}

#define SHUFFLE(kind, direction)                                                                             \
    EXPORT u32 __windlass_nvvm_shfl_sync_##kind##_i32(u32, u32 value, u32 lane, u32 control) {               \
        return value_of_lane(source_lane(direction, lane_of_warp(), lane, control), value);                  \
    }                                                                                                        \
    EXPORT float __windlass_nvvm_shfl_sync_##kind##_f32(u32, float value, u32 lane, u32 control) {           \
        u32 from = source_lane(direction, lane_of_warp(), lane, control);                                    \
        return bits_as<float>(value_of_lane(from, bits_as<u32>(value)));                                     \
    }                                                                                                        \
    EXPORT u64 __windlass_shfl_sync_##kind##_i64(u32, u64 value, u32 lane, u32 control) {                    \
        u32 from = source_lane(direction, lane_of_warp(), lane, control);                                    \
        return (u64)value_of_lane(from, (u32)(value >> 32)) << 32 | value_of_lane(from, (u32)value);         \
    }                                                                                                        \
    EXPORT double __windlass_shfl_sync_##kind##_f64(u32 mask, double value, u32 lane, u32 control) {         \
        return bits_as<double>(__windlass_shfl_sync_##kind##_i64(mask, bits_as<u64>(value), lane, control)); \
    }
SHUFFLE(idx, DIRECT)
SHUFFLE(up, UP)
SHUFFLE(down, DOWN)
SHUFFLE(bfly, ACROSS)
#undef SHUFFLE

// What the lanes of the mask that are there give, lane after lane.
template <class Combine>
INLINE u32 fold(u32 mask, u32 value, Combine combine) {
    u32 there = mask & ballot(true), result = value_of_lane((u32)__builtin_ctz(there), value);
    for (u32 rest = there & (there - 1); rest; rest &= rest - 1)
        result = combine(result, value_of_lane((u32)__builtin_ctz(rest), value));
    return result;
}
#define REDUCTION(name, expression)                                                                          \
    EXPORT u32 __windlass_nvvm_redux_sync_##name(u32 value, u32 mask) {                                      \
        return fold(mask, value, [](u32 a, u32 b) -> u32 { return expression; });                            \
    }
REDUCTION(add, a + b)
REDUCTION(and, a & b)
REDUCTION(or, a | b)
REDUCTION(xor, a ^ b)
REDUCTION(umin, a < b ? a : b)
REDUCTION(umax, a < b ? b : a)
REDUCTION(min, (i32)a < (i32)b ? a : b)
REDUCTION(max, (i32)a < (i32)b ? b : a)
#undef REDUCTION

EXPORT u32 __windlass_nvvm_match_any_sync_i64(u32 mask, u64 value) {
    u32 found = 0;
    for (u32 rest = mask & ballot(true); rest; rest &= rest - 1) {
        u32 lane = (u32)__builtin_ctz(rest);
        u64 other = (u64)value_of_lane(lane, (u32)(value >> 32)) << 32 | value_of_lane(lane, (u32)value);
        found |= other == value ? 1u << lane : 0;
    }
    return found;
}
EXPORT u32 __windlass_nvvm_match_any_sync_i32(u32 mask, u32 value) {
    return __windlass_nvvm_match_any_sync_i64(mask, value);
}

// -- others -----------------------------------------------------------------------------------------------------------

EXPORT void __windlass_trap() { __builtin_trap(); }
EXPORT void __windlass_assert_fail(const char *, const char *, i32, const char *) { __builtin_trap(); }
EXPORT i64 __windlass_clock() { return (i64)__builtin_readcyclecounter(); }
EXPORT i64 __windlass_nvvm_read_ptx_sreg_clock64() { return (i64)__builtin_readcyclecounter(); }
EXPORT void *__windlass_shared_pointer(u32 offset) {
    return (void *)(__attribute__((address_space(3))) char *)offset;
}
EXPORT u32 __windlass_nvvm_atomic_load_inc_32(u32 *address, u32 limit) {
    return __builtin_amdgcn_atomic_inc32(address, limit, __ATOMIC_RELAXED, "agent");
}
EXPORT u32 __windlass_nvvm_atomic_load_dec_32(u32 *address, u32 limit) {
    return __builtin_amdgcn_atomic_dec32(address, limit, __ATOMIC_RELAXED, "agent");
}
