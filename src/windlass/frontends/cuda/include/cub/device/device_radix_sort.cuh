// Sorting by the bits of keys, and of segments.
#pragma once
#include "submission.cuh"
#include "../block/block_radix_sort.cuh"

namespace cub {
namespace detail {
// Where the keys come from in sorted order: a radix sort by eleven bits at a time.
template <class K> std::vector<size_t> radix_order(const K *keys, size_t count, int begin_bit, int end_bit, bool descends) {
    using Bits = typename Traits<K>::UnsignedBits;
    struct Item {
        Bits bits;
        size_t place;
    };
    constexpr int step = 11;
    std::vector<Item> items(count), moved(count);
    for (size_t i = 0; i < count; i++) items[i] = {radix_digits(keys[i], begin_bit, end_bit, descends), i};
    for (int shift = 0; shift < end_bit - begin_bit; shift += step) {
        size_t first[1 << step] = {}, sum = 0;
        auto digit = [=](const Item &item) { return (unsigned int)(item.bits >> shift) & ((1u << step) - 1); };
        for (const Item &item : items) first[digit(item)]++;
        for (size_t &each : first) {
            size_t size = each;
            each = sum, sum += size;
        }
        for (const Item &item : items) moved[first[digit(item)]++] = item;
        items.swap(moved);
    }
    std::vector<size_t> order(count);
    for (size_t i = 0; i < count; i++) order[i] = items[i].place;
    return order;
}
template <class T> void put_in_order(const T *from, T *to, const std::vector<size_t> &order) {
    std::vector<T> kept;
    kept.reserve(order.size());
    for (size_t place : order) kept.push_back(from[place]);
    for (size_t i = 0; i < order.size(); i++) to[i] = kept[i];
}
template <class K, class V>
void radix_sort(const K *keys, K *keys_out, const V *values, V *values_out, size_t count, int begin_bit, int end_bit,
                bool descends) {
    std::vector<size_t> order = radix_order(keys, count, begin_bit, end_bit, descends);
    if constexpr (!std::is_same_v<V, NullType>) put_in_order(values, values_out, order);
    put_in_order(keys, keys_out, order);
}
}  // namespace detail

#define __CUB_SORT(name, descends)                                                                                  \
    template <class K, class N>                                                                                     \
    static cudaError_t SortKeys##name(void *storage, size_t &bytes, const K *keys, K *keys_out, N count,            \
                                      int begin_bit = 0, int end_bit = sizeof(K) * 8, cudaStream_t stream = 0,      \
                                      bool = false) {                                                               \
        if (detail::asks_for_size(storage, bytes)) return cudaSuccess;                                              \
        return detail::submit(stream, [=] {                                                                         \
            NullType *none = nullptr;                                                                               \
            detail::radix_sort(keys, keys_out, none, none, count, begin_bit, end_bit, descends);                    \
        });                                                                                                         \
    }                                                                                                               \
    template <class K, class N>                                                                                     \
    static cudaError_t SortKeys##name(void *storage, size_t &bytes, DoubleBuffer<K> &keys, N count,                 \
                                      int begin_bit = 0, int end_bit = sizeof(K) * 8, cudaStream_t stream = 0,      \
                                      bool = false) {                                                               \
        if (detail::asks_for_size(storage, bytes)) return cudaSuccess;                                              \
        K *from = keys.Current(), *to = keys.Alternate();                                                           \
        keys.selector ^= 1;                                                                                         \
        return SortKeys##name(storage, bytes, (const K *)from, to, count, begin_bit, end_bit, stream);              \
    }                                                                                                               \
    template <class K, class V, class N>                                                                            \
    static cudaError_t SortPairs##name(void *storage, size_t &bytes, const K *keys, K *keys_out, const V *values,   \
                                       V *values_out, N count, int begin_bit = 0, int end_bit = sizeof(K) * 8,      \
                                       cudaStream_t stream = 0, bool = false) {                                     \
        if (detail::asks_for_size(storage, bytes)) return cudaSuccess;                                              \
        return detail::submit(stream, [=] {                                                                         \
            detail::radix_sort(keys, keys_out, values, values_out, count, begin_bit, end_bit, descends);            \
        });                                                                                                         \
    }                                                                                                               \
    template <class K, class V, class N>                                                                            \
    static cudaError_t SortPairs##name(void *storage, size_t &bytes, DoubleBuffer<K> &keys, DoubleBuffer<V> &values, \
                                       N count, int begin_bit = 0, int end_bit = sizeof(K) * 8,                     \
                                       cudaStream_t stream = 0, bool = false) {                                     \
        if (detail::asks_for_size(storage, bytes)) return cudaSuccess;                                              \
        const K *from = keys.Current();                                                                             \
        const V *values_from = values.Current();                                                                    \
        keys.selector ^= 1, values.selector ^= 1;                                                                   \
        return SortPairs##name(storage, bytes, from, keys.Current(), values_from, values.Current(), count,          \
                               begin_bit, end_bit, stream);                                                         \
    }
struct DeviceRadixSort {
    __CUB_SORT(, false)
    __CUB_SORT(Descending, true)
};
#undef __CUB_SORT

// Segment i is [begins[i], ends[i]); what is in no segment is not written.
#define __CUB_SORT_SEGMENTS(name, descends, BITS, begin_bit, end_bit)                                               \
    template <class K, class N, class B, class E>                                                                   \
    static cudaError_t name##Keys##descends(void *storage, size_t &bytes, const K *keys, K *keys_out, N, int segments, \
                                            B begins, E ends BITS, cudaStream_t stream = 0, bool = false) {         \
        if (detail::asks_for_size(storage, bytes)) return cudaSuccess;                                              \
        NullType *none = nullptr;                                                                                   \
        return sort(stream, keys, keys_out, none, none, segments, begins, ends, begin_bit, end_bit, is##descends);  \
    }                                                                                                               \
    template <class K, class N, class B, class E>                                                                   \
    static cudaError_t name##Keys##descends(void *storage, size_t &bytes, DoubleBuffer<K> &keys, N, int segments,   \
                                            B begins, E ends BITS, cudaStream_t stream = 0, bool = false) {         \
        if (detail::asks_for_size(storage, bytes)) return cudaSuccess;                                              \
        NullType *none = nullptr;                                                                                   \
        keys.selector ^= 1;                                                                                         \
        return sort(stream, keys.Alternate(), keys.Current(), none, none, segments, begins, ends, begin_bit, end_bit, \
                    is##descends);                                                                                  \
    }                                                                                                               \
    template <class K, class V, class N, class B, class E>                                                          \
    static cudaError_t name##Pairs##descends(void *storage, size_t &bytes, const K *keys, K *keys_out,              \
                                             const V *values, V *values_out, N, int segments, B begins,             \
                                             E ends BITS, cudaStream_t stream = 0, bool = false) {                  \
        if (detail::asks_for_size(storage, bytes)) return cudaSuccess;                                              \
        return sort(stream, keys, keys_out, values, values_out, segments, begins, ends, begin_bit, end_bit,         \
                    is##descends);                                                                                  \
    }                                                                                                               \
    template <class K, class V, class N, class B, class E>                                                          \
    static cudaError_t name##Pairs##descends(void *storage, size_t &bytes, DoubleBuffer<K> &keys,                   \
                                             DoubleBuffer<V> &values, N, int segments, B begins, E ends BITS,       \
                                             cudaStream_t stream = 0, bool = false) {                               \
        if (detail::asks_for_size(storage, bytes)) return cudaSuccess;                                              \
        keys.selector ^= 1, values.selector ^= 1;                                                                   \
        return sort(stream, keys.Alternate(), keys.Current(), values.Alternate(), values.Current(), segments, begins, \
                    ends, begin_bit, end_bit, is##descends);                                                        \
    }
namespace detail {
struct SegmentSort {
    static constexpr bool is = false, isDescending = true;
    template <class K, class V, class B, class E>
    static cudaError_t sort(cudaStream_t stream, const K *keys, K *keys_out, const V *values, V *values_out, int segments,
                            B begins, E ends, int begin_bit, int end_bit, bool descends) {
        return submit(stream, [=] {
            for (int i = 0; i < segments; i++) {
                auto first = begins[i];
                size_t count = first < ends[i] ? ends[i] - first : 0;
                radix_sort(keys + first, keys_out + first, values ? values + first : values,
                           values_out ? values_out + first : values_out, count, begin_bit, end_bit, descends);
            }
        });
    }
};
}  // namespace detail
#define __CUB_BITS , int begin_bit = 0, int end_bit = sizeof(K) * 8
struct DeviceSegmentedRadixSort : private detail::SegmentSort {
    __CUB_SORT_SEGMENTS(Sort, , __CUB_BITS, begin_bit, end_bit)
    __CUB_SORT_SEGMENTS(Sort, Descending, __CUB_BITS, begin_bit, end_bit)
};
struct DeviceSegmentedSort : private detail::SegmentSort {
    __CUB_SORT_SEGMENTS(Sort, , , 0, (int)sizeof(K) * 8)
    __CUB_SORT_SEGMENTS(Sort, Descending, , 0, (int)sizeof(K) * 8)
    __CUB_SORT_SEGMENTS(StableSort, , , 0, (int)sizeof(K) * 8)
    __CUB_SORT_SEGMENTS(StableSort, Descending, , 0, (int)sizeof(K) * 8)
};
#undef __CUB_BITS
#undef __CUB_SORT_SEGMENTS
}  // namespace cub
