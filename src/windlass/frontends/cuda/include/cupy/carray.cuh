// What kernels made of expressions see of CuPy's arrays: `raw` arguments, the indices of elements, and float16.
#pragma once
#include "windlass_cuda.h"
#include <cstddef>
#include <utility>

// A number of 16 bits that computes as a float does.
class float16 {
    _Float16 data_;

  public:
    float16() = default;
    __device__ float16(float value) : data_((_Float16)value) {}
    __device__ operator float() const { return (float)data_; }
    __device__ float16 &operator+=(float other) { return *this = float16((float)*this + other); }
    __device__ float16 &operator-=(float other) { return *this = float16((float)*this - other); }
    __device__ float16 &operator*=(float other) { return *this = float16((float)*this * other); }
    __device__ float16 &operator/=(float other) { return *this = float16((float)*this / other); }
    __device__ static float16 from_bits(unsigned short bits) {
        float16 found;
        found.data_ = __builtin_bit_cast(_Float16, bits);
        return found;
    }
};
__device__ inline float16 min(float16 a, float16 b) { return float16(min((float)a, (float)b)); }
__device__ inline float16 max(float16 a, float16 b) { return float16(max((float)a, (float)b)); }
__device__ inline float16 copysign(float16 size, float16 sign) { return float16(copysignf((float)size, (float)sign)); }
__device__ inline bool isnan(float16 x) { return isnan((float)x); }
__device__ inline bool isinf(float16 x) { return isinf((float)x); }
__device__ inline bool isfinite(float16 x) { return isfinite((float)x); }
__device__ inline bool signbit(float16 x) { return signbit((float)x); }

// An array in C order, indexed by the number of an element or by one index for each axis; strides are in bytes.
template <class T, int axes> class CArray {
    T *data_;
    ptrdiff_t size_ = 1, shape_[axes], steps_[axes], strides_[axes];

    template <int axis> __device__ void measure() {
        steps_[axis] = size_, strides_[axis] = size_ * (ptrdiff_t)sizeof(T), size_ *= shape_[axis];
        if constexpr (axis > 0) measure<axis - 1>();
    }
    template <class Index, size_t... axis>
    __device__ ptrdiff_t place(const Index (&index)[axes], std::index_sequence<axis...>) const {
        return (... + (steps_[axis] * (ptrdiff_t)index[axis]));
    }

  public:
    static constexpr int ndim = axes;
    template <class... Extents> __device__ CArray(T *data, Extents... extents) : data_(data), shape_{extents...} {
        measure<axes - 1>();
    }
    __device__ ptrdiff_t size() const { return size_; }
    __device__ const ptrdiff_t *shape() const { return shape_; }
    __device__ const ptrdiff_t *strides() const { return strides_; }
    __device__ T &operator[](ptrdiff_t i) { return data_[i]; }
    __device__ const T &operator[](ptrdiff_t i) const { return data_[i]; }
    template <class Index> __device__ T &operator[](const Index (&index)[axes]) {
        return data_[place(index, std::make_index_sequence<axes>())];
    }
    template <class Index> __device__ const T &operator[](const Index (&index)[axes]) const {
        return data_[place(index, std::make_index_sequence<axes>())];
    }
};
template <class T> class CArray<T, 0> {
    T *data_;

  public:
    static constexpr int ndim = 0;
    __device__ CArray(T *data) : data_(data) {}
    __device__ ptrdiff_t size() const { return 1; }
    __device__ const ptrdiff_t *shape() const { return nullptr; }
    __device__ const ptrdiff_t *strides() const { return nullptr; }
    __device__ T &operator[](ptrdiff_t i) { return data_[i]; }
    __device__ const T &operator[](ptrdiff_t i) const { return data_[i]; }
    template <class Index> __device__ T &operator[](const Index *) { return *data_; }
    template <class Index> __device__ const T &operator[](const Index *) const { return *data_; }
};

// The indices of an element along each axis, once its number is set.
template <int axes> class CIndexer {
    ptrdiff_t size_, shape_[axes], index_[axes];

    template <int axis> __device__ void divide(ptrdiff_t i) {
        if constexpr (axis == 0) index_[0] = i;
        else index_[axis] = i % shape_[axis], divide<axis - 1>(i / shape_[axis]);
    }

  public:
    static constexpr int ndim = axes;
    template <class... Extents>
    __device__ CIndexer(Extents... extents) : size_((ptrdiff_t(1) * ... * extents)), shape_{extents...} {}
    __device__ ptrdiff_t size() const { return size_; }
    __device__ void set(ptrdiff_t i) { divide<axes - 1>(i); }
    __device__ const ptrdiff_t (&get() const)[axes] { return index_; }
};
template <> class CIndexer<0> {
  public:
    static constexpr int ndim = 0;
    __device__ ptrdiff_t size() const { return 1; }
    __device__ void set(ptrdiff_t) {}
    __device__ const ptrdiff_t *get() const { return nullptr; }
};
