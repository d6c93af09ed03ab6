// nvcuda::wmma: products of small matrices by the threads of a warp.
//
// CUDA leaves open which element of a fragment is whose. Here a thread has a part of the accumulator, and of the factors
// all rows and columns that this part is made of: the threads of a warp need nothing from one another.
#pragma once
#include "cuda_bf16.h"
#include "cuda_fp16.h"

#define __CUDA_MMA_H__

// As __syncwarp() in the emulator. Raised, it is nothing, since threads go in step.
__WINDLASS_MEETS void __windlass_warp_meets();

namespace nvcuda {
namespace wmma {

enum layout_t { mem_row_major, mem_col_major };
struct row_major;
struct col_major;
struct matrix_a;
struct matrix_b;
struct accumulator;
namespace precision {
struct tf32;
}

namespace detail {
// What a fragment of these elements keeps in x[], what it is loaded from, and what products of it are made in.
template <class T> struct element {
    using stored = T;
    using product = float;
};
template <> struct element<precision::tf32> {
    using stored = float;
    using product = float;
};
template <> struct element<double> {
    using stored = double;
    using product = double;
};
template <> struct element<signed char> {
    using stored = signed char;
    using product = unsigned int;
};
template <> struct element<unsigned char> {
    using stored = unsigned char;
    using product = unsigned int;
};

template <class T, int M, int N, int K>
inline constexpr bool has_shape =
    K == 16 && ((M == 16 && N == 16) || (M == 32 && N == 8) || (M == 8 && N == 32));
template <int M, int N, int K>
inline constexpr bool has_shape<precision::tf32, M, N, K> = M == 16 && N == 16 && K == 8;
template <int M, int N, int K> inline constexpr bool has_shape<double, M, N, K> = M == 8 && N == 8 && K == 4;
template <class T>
inline constexpr bool is_factor = std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16> ||
                                  std::is_same_v<T, precision::tf32> || std::is_same_v<T, double> ||
                                  std::is_same_v<T, signed char> || std::is_same_v<T, unsigned char>;
template <class T, int M, int N, int K>
inline constexpr bool is_sum =
    std::is_same_v<T, double> ? has_shape<double, M, N, K>
    : std::is_same_v<T, float> ? has_shape<__half, M, N, K> || has_shape<precision::tf32, M, N, K>
                               : (std::is_same_v<T, __half> || std::is_same_v<T, int>) && has_shape<__half, M, N, K>;

// A thread's part of an accumulator of M by N elements: rows one below another, in one column.
template <int M, int N> struct part {
    static constexpr int rows = M * N / 32;
    __WINDLASS_DEVICE_MEMBER static unsigned row(int i) { return __lane_id() / N * rows + i; }
    __WINDLASS_DEVICE_MEMBER static unsigned column() { return __lane_id() % N; }
};
}  // namespace detail

template <class Use, int M, int N, int K, class T, class Layout = void> struct fragment;

template <int M, int N, int K, class T, class Layout> struct fragment<matrix_a, M, N, K, T, Layout> {
    static_assert(detail::is_factor<T> && detail::has_shape<T, M, N, K>, "there is no wmma of this shape and type");
    using element_type = T;
    using storage_element_type = typename detail::element<T>::stored;
    enum { rows = detail::part<M, N>::rows, num_elements = rows * K, num_storage_elements = num_elements };
    storage_element_type x[num_elements];
};
template <int M, int N, int K, class T, class Layout> struct fragment<matrix_b, M, N, K, T, Layout> {
    static_assert(detail::is_factor<T> && detail::has_shape<T, M, N, K>, "there is no wmma of this shape and type");
    using element_type = T;
    using storage_element_type = typename detail::element<T>::stored;
    enum { num_elements = K, num_storage_elements = num_elements };
    storage_element_type x[num_elements];
};
template <int M, int N, int K, class T> struct fragment<accumulator, M, N, K, T, void> {
    static_assert(detail::is_sum<T, M, N, K>, "there is no wmma of this shape and type");
    using element_type = T;
    using storage_element_type = T;
    enum { num_elements = detail::part<M, N>::rows, num_storage_elements = num_elements };
    T x[num_elements];
};

template <class Use, int M, int N, int K, class T, class Layout, class U>
__WINDLASS_DEVICE void fill_fragment(fragment<Use, M, N, K, T, Layout> &target, const U &value) {
    for (int i = 0; i < (int)target.num_elements; ++i) target.x[i] = value;
}

// The threads of a warp meet before they touch memory: others may have filled it, or not have read it yet.
template <int M, int N, int K, class T, class Layout, class S>
__WINDLASS_DEVICE void load_matrix_sync(fragment<matrix_a, M, N, K, T, Layout> &target, const S *source, unsigned pitch) {
    using part = detail::part<M, N>;
    __syncwarp();
    for (int i = 0; i < part::rows; ++i)
        for (int k = 0; k < K; ++k) {
            unsigned row = part::row(i);
            target.x[i * K + k] = std::is_same_v<Layout, row_major> ? source[row * pitch + k] : source[k * pitch + row];
        }
}
template <int M, int N, int K, class T, class Layout, class S>
__WINDLASS_DEVICE void load_matrix_sync(fragment<matrix_b, M, N, K, T, Layout> &target, const S *source, unsigned pitch) {
    unsigned column = detail::part<M, N>::column();
    __syncwarp();
    for (int k = 0; k < K; ++k)
        target.x[k] = std::is_same_v<Layout, row_major> ? source[k * pitch + column] : source[column * pitch + k];
}
template <int M, int N, int K, class T>
__WINDLASS_DEVICE void load_matrix_sync(fragment<accumulator, M, N, K, T> &target, const T *source, unsigned pitch,
                                        layout_t layout) {
    using part = detail::part<M, N>;
    unsigned column = part::column();
    __syncwarp();
    for (int i = 0; i < part::rows; ++i) {
        unsigned row = part::row(i);
        target.x[i] = source[layout == mem_row_major ? row * pitch + column : column * pitch + row];
    }
}
template <int M, int N, int K, class T>
__WINDLASS_DEVICE void store_matrix_sync(T *target, const fragment<accumulator, M, N, K, T> &source, unsigned pitch,
                                         layout_t layout) {
    using part = detail::part<M, N>;
    unsigned column = part::column();
    __windlass_warp_meets();
    for (int i = 0; i < part::rows; ++i) {
        unsigned row = part::row(i);
        target[layout == mem_row_major ? row * pitch + column : column * pitch + row] = source.x[i];
    }
}

// d = a b + c. The new products are summed in float (integers modulo 2^32, doubles in double) and then added to c, after
// rounding where c is narrower. With `saturate`, integers stay at the ends of their range instead of wrapping around.
template <int M, int N, int K, class T, class D, class C, class LayoutA, class LayoutB>
__WINDLASS_DEVICE void mma_sync(fragment<accumulator, M, N, K, D> &d, const fragment<matrix_a, M, N, K, T, LayoutA> &a,
                                const fragment<matrix_b, M, N, K, T, LayoutB> &b,
                                const fragment<accumulator, M, N, K, C> &c, bool saturate = false) {
    using number = typename detail::element<T>::product;
    for (int i = 0; i < (int)d.num_elements; ++i) {
        if (std::is_same_v<D, int> && saturate) {
            long long sum = (long long)c.x[i];
            for (int k = 0; k < K; ++k) sum += (int)a.x[i * K + k] * (int)b.x[k];
            d.x[i] = sum > 0x7fffffffll ? 0x7fffffff : sum < -0x80000000ll ? -0x7fffffff - 1 : (int)sum;
        } else {
            number sum = 0;
            for (int k = 0; k < K; ++k) sum += (number)a.x[i * K + k] * (number)b.x[k];
            if constexpr (std::is_same_v<D, __half>) d.x[i] = (D)c.x[i] + (D)sum;
            else d.x[i] = (D)((number)c.x[i] + sum);
        }
    }
}

// To the nearest number of 10 bits behind the point, ties away from zero.
__WINDLASS_DEVICE float __float_to_tf32(float x) {
    unsigned bits = __builtin_bit_cast(unsigned, x);
    return x != x ? x : __builtin_bit_cast(float, (bits + 0x1000u) & 0xffffe000u);
}

}  // namespace wmma
}  // namespace nvcuda
