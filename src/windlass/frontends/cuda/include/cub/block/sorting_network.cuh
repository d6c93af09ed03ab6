// Stable sorting of items in shared memory by a group of threads that moves in step.
#pragma once
#include "../util_ptx.cuh"

namespace cub {
namespace detail {
// Keys, and for each the place it came from, which decides between equal keys.
template <class Key, int Count> struct SortStorage {
    Storage<Key, Count> keys;
    unsigned short places[Count];
};

// Merge exchange (Knuth, The Art of Computer Programming 3, 5.2.2, algorithm M), for any number of items: at each step
// items i and i + distance are put in order, for those i whose bit `p` is `r`.
template <int Count, int Threads, class Key, class Less, class Meet>
__WINDLASS_DEVICE void sort_in_place(SortStorage<Key, Count> &shared, int thread, Less less, Meet meet) {
    static_assert(Count <= 65536, "there are too many items to sort in a block");
    constexpr int top = Count > 1 ? 1 << (31 - __builtin_clz(Count - 1 | 1)) : 0;
    for (int p = top; p > 0; p /= 2) {
        for (int q = top; q >= p; q /= 2) {
            int r = q == top ? 0 : p, distance = q == top ? p : 2 * q - p;
            for (int i = thread; i < Count - distance; i += Threads) {
                if ((i & p) != r) continue;
                Key a = shared.keys[i], b = shared.keys[i + distance];
                unsigned short from_a = shared.places[i], from_b = shared.places[i + distance];
                if (less(b, a) || (!less(a, b) && from_b < from_a)) {
                    shared.keys[i] = b, shared.keys[i + distance] = a;
                    shared.places[i] = from_b, shared.places[i + distance] = from_a;
                }
            }
            meet();
        }
    }
}

// Sorts a group's keys, and with them values if there are any (ValueT is not NullType): `from(i)` and `to(i)` are where
// item i of this thread is before and afterwards.
template <int Count, int Threads, int N, class Key, class Value, class Less, class Meet, class To>
__WINDLASS_DEVICE void sort_items(SortStorage<Key, Count> &shared, Storage<Value, Count> &values, int thread,
                                  Key (&keys)[N], Value *items, Less less, Meet meet, To to) {
    for (int i = 0; i < N; i++) {
        shared.keys[thread * N + i] = keys[i];
        shared.places[thread * N + i] = (unsigned short)(thread * N + i);
        if constexpr (!std::is_same_v<Value, NullType>) values[thread * N + i] = items[i];
    }
    meet();
    sort_in_place<Count, Threads>(shared, thread, less, meet);
    for (int i = 0; i < N; i++) {
        keys[i] = shared.keys[to(i)];
        if constexpr (!std::is_same_v<Value, NullType>) items[i] = values[shared.places[to(i)]];
    }
}
}  // namespace detail
}  // namespace cub
