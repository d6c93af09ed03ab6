// cub::BlockRadixSort: sorts a block's items by some or all of their keys' bits.
#pragma once
#include "sorting_network.cuh"

namespace cub {
namespace detail {
// The bits of a number that a radix sort compares; 0.0 and -0.0 are the same to it.
template <class T>
__WINDLASS_BOTH typename Traits<T>::UnsignedBits radix_digits(T key, int begin_bit, int end_bit, bool descends = false) {
    using Bits = typename Traits<T>::UnsignedBits;
    Bits bits = Traits<T>::TwiddleIn(__builtin_bit_cast(Bits, key));
    if constexpr (Traits<T>::CATEGORY == FLOATING_POINT)
        if (bits == Bits(~Traits<T>::HIGH_BIT)) bits = Traits<T>::HIGH_BIT;
    if (descends) bits = ~bits;
    int count = end_bit - begin_bit;
    if (count <= 0) return 0;
    bits >>= begin_bit;
    return count < (int)sizeof(Bits) * 8 ? Bits(bits & ((Bits(1) << count) - 1)) : bits;
}
}  // namespace detail

template <class KeyT, int BLOCK_DIM_X, int ITEMS_PER_THREAD, class ValueT = NullType, int RADIX_BITS = 4,
          bool MEMOIZE_OUTER_SCAN = true, int INNER_SCAN_ALGORITHM = 0, int SMEM_CONFIG = 0, int BLOCK_DIM_Y = 1,
          int BLOCK_DIM_Z = 1, int LEGACY_PTX_ARCH = 0>
class BlockRadixSort {
    static constexpr int threads = BLOCK_DIM_X * BLOCK_DIM_Y * BLOCK_DIM_Z, items = ITEMS_PER_THREAD;
    static constexpr int count = threads * items, bits = sizeof(KeyT) * 8;

public:
    struct TempStorage {
        detail::SortStorage<KeyT, count> order;
        detail::Storage<ValueT, std::is_same_v<ValueT, NullType> ? 1 : count> values;
    };

private:
    TempStorage &storage;
    int thread;
    static __WINDLASS_DEVICE_MEMBER TempStorage &own_storage() {
        __shared__ TempStorage own;
        return own;
    }
    template <bool Descends, bool ToStriped>
    __WINDLASS_DEVICE_MEMBER void sort(KeyT (&keys)[items], ValueT *values, int begin_bit, int end_bit) {
        auto less = [=](const KeyT &a, const KeyT &b) {
            return detail::radix_digits(a, begin_bit, end_bit, Descends) <
                   detail::radix_digits(b, begin_bit, end_bit, Descends);
        };
        auto to = [this](int i) { return ToStriped ? thread + i * threads : thread * items + i; };
        auto &room = reinterpret_cast<detail::Storage<ValueT, count> &>(storage.values);
        detail::sort_items<count, threads>(storage.order, room, thread, keys, values, less, [] { __syncthreads(); }, to);
    }

public:
    __WINDLASS_DEVICE_MEMBER BlockRadixSort() : BlockRadixSort(own_storage()) {}
    __WINDLASS_DEVICE_MEMBER BlockRadixSort(TempStorage &storage)
        : storage(storage), thread(RowMajorTid(BLOCK_DIM_X, BLOCK_DIM_Y, BLOCK_DIM_Z)) {}

    __WINDLASS_DEVICE_MEMBER void Sort(KeyT (&keys)[items], int begin = 0, int end = bits) {
        sort<false, false>(keys, (ValueT *)nullptr, begin, end);
    }
    __WINDLASS_DEVICE_MEMBER void Sort(KeyT (&keys)[items], ValueT (&values)[items], int begin = 0, int end = bits) {
        sort<false, false>(keys, values, begin, end);
    }
    __WINDLASS_DEVICE_MEMBER void SortDescending(KeyT (&keys)[items], int begin = 0, int end = bits) {
        sort<true, false>(keys, (ValueT *)nullptr, begin, end);
    }
    __WINDLASS_DEVICE_MEMBER void SortDescending(KeyT (&keys)[items], ValueT (&values)[items], int begin = 0,
                                                 int end = bits) {
        sort<true, false>(keys, values, begin, end);
    }
    __WINDLASS_DEVICE_MEMBER void SortBlockedToStriped(KeyT (&keys)[items], int begin = 0, int end = bits) {
        sort<false, true>(keys, (ValueT *)nullptr, begin, end);
    }
    __WINDLASS_DEVICE_MEMBER void SortBlockedToStriped(KeyT (&keys)[items], ValueT (&values)[items], int begin = 0,
                                                       int end = bits) {
        sort<false, true>(keys, values, begin, end);
    }
    __WINDLASS_DEVICE_MEMBER void SortDescendingBlockedToStriped(KeyT (&keys)[items], int begin = 0, int end = bits) {
        sort<true, true>(keys, (ValueT *)nullptr, begin, end);
    }
    __WINDLASS_DEVICE_MEMBER void SortDescendingBlockedToStriped(KeyT (&keys)[items], ValueT (&values)[items],
                                                                 int begin = 0, int end = bits) {
        sort<true, true>(keys, values, begin, end);
    }
};
}  // namespace cub
