// threadIdx, blockIdx, blockDim, gridDim, warpSize: reads of llvm.nvvm.read.ptx.sreg.*.
#pragma once

#ifdef __NVPTX__
#define __WINDLASS_REGISTER(name) __nvvm_read_ptx_sreg_##name()
#else
// The host side parses device code but never runs it.
#define __WINDLASS_REGISTER(name) 0u
#endif

#define __WINDLASS_INDEX_VARIABLE(name, sreg)                                                                        \
    struct __windlass_##name##_type {                                                                                \
        __declspec(property(get = __get_x)) unsigned int x;                                                          \
        __declspec(property(get = __get_y)) unsigned int y;                                                          \
        __declspec(property(get = __get_z)) unsigned int z;                                                          \
        static inline __WINDLASS_DEVICE_MEMBER unsigned int __get_x() { return __WINDLASS_REGISTER(sreg##_x); }      \
        static inline __WINDLASS_DEVICE_MEMBER unsigned int __get_y() { return __WINDLASS_REGISTER(sreg##_y); }      \
        static inline __WINDLASS_DEVICE_MEMBER unsigned int __get_z() { return __WINDLASS_REGISTER(sreg##_z); }      \
        __WINDLASS_DEVICE_MEMBER operator dim3() const { return dim3(__get_x(), __get_y(), __get_z()); }             \
        __WINDLASS_DEVICE_MEMBER operator uint3() const { return uint3{__get_x(), __get_y(), __get_z()}; }           \
    };                                                                                                               \
    extern const __attribute__((device, weak)) __windlass_##name##_type name;

__WINDLASS_INDEX_VARIABLE(threadIdx, tid)
__WINDLASS_INDEX_VARIABLE(blockIdx, ctaid)
__WINDLASS_INDEX_VARIABLE(blockDim, ntid)
__WINDLASS_INDEX_VARIABLE(gridDim, nctaid)
#undef __WINDLASS_INDEX_VARIABLE

static constexpr int warpSize = 32;
