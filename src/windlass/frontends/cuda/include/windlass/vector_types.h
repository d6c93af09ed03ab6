// float4 and its kin, with CUDA's sizes and alignments, make_float4 and its kin, dim3.
#pragma once

#define __WINDLASS_VECTORS(type, name, alignment_of_2, alignment_of_4)                                        \
    struct name##1 {                                                                                          \
        type x;                                                                                               \
    };                                                                                                        \
    struct __attribute__((aligned(alignment_of_2))) name##2 {                                                 \
        type x, y;                                                                                            \
    };                                                                                                        \
    struct name##3 {                                                                                          \
        type x, y, z;                                                                                         \
    };                                                                                                        \
    struct __attribute__((aligned(alignment_of_4))) name##4 {                                                 \
        type x, y, z, w;                                                                                      \
    };                                                                                                        \
    __WINDLASS_BOTH constexpr name##1 make_##name##1(type x) { return name##1{x}; }                           \
    __WINDLASS_BOTH constexpr name##2 make_##name##2(type x, type y) { return name##2{x, y}; }                \
    __WINDLASS_BOTH constexpr name##3 make_##name##3(type x, type y, type z) { return name##3{x, y, z}; }     \
    __WINDLASS_BOTH constexpr name##4 make_##name##4(type x, type y, type z, type w) {                        \
        return name##4{x, y, z, w};                                                                           \
    }

__WINDLASS_VECTORS(signed char, char, 2, 4)
__WINDLASS_VECTORS(unsigned char, uchar, 2, 4)
__WINDLASS_VECTORS(short, short, 4, 8)
__WINDLASS_VECTORS(unsigned short, ushort, 4, 8)
__WINDLASS_VECTORS(int, int, 8, 16)
__WINDLASS_VECTORS(unsigned int, uint, 8, 16)
__WINDLASS_VECTORS(long, long, 16, 16)
__WINDLASS_VECTORS(unsigned long, ulong, 16, 16)
__WINDLASS_VECTORS(long long, longlong, 16, 16)
__WINDLASS_VECTORS(unsigned long long, ulonglong, 16, 16)
__WINDLASS_VECTORS(float, float, 8, 16)
__WINDLASS_VECTORS(double, double, 16, 16)
#undef __WINDLASS_VECTORS

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

struct dim3 {
    unsigned int x, y, z;
    __WINDLASS_BOTH_MEMBER constexpr dim3(unsigned int x = 1, unsigned int y = 1, unsigned int z = 1)
        : x(x), y(y), z(z) {}
    __WINDLASS_BOTH_MEMBER constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    __WINDLASS_BOTH_MEMBER constexpr operator uint3() const { return uint3{x, y, z}; }
};
