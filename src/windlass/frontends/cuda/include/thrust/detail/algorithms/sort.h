// Sorting, all of it stable. On the host by the C++ library; in a kernel by merging, with room for a copy; in device
// code by insertion.
#pragma once
#include "copy.h"

namespace thrust {
namespace detail {
struct no_values {
    struct reference {};
};
template <class It> struct sorted_value { using type = value_of<It>; };
template <> struct sorted_value<no_values> { using type = char; };

// Merges runs of doubling length back and forth; for one thread. Places are sorted, then keys and values moved.
struct merge_sort_fn {
    template <class K, class V, class KeyRoom, class ValueRoom, class Less>
    __host__ __device__ void operator()(K keys, V values, long count, long *places, long *other, KeyRoom *key_room,
                                        ValueRoom *value_room, Less less) const {
        for (long i = 0; i < count; i++) places[i] = i;
        for (long width = 1; width < count; width *= 2) {
            for (long first = 0; first < count; first += 2 * width) {
                long middle = first + width < count ? first + width : count;
                long last = middle + width < count ? middle + width : count;
                long a = first, b = middle;
                for (long i = first; i < last; i++) {
                    bool takes_b = b < last && (a >= middle || less(keys[places[b]], keys[places[a]]));
                    other[i] = takes_b ? places[b++] : places[a++];
                }
            }
            long *swapped = places;
            places = other, other = swapped;
        }
        for (long i = 0; i < count; i++) key_room[i] = keys[places[i]];
        for (long i = 0; i < count; i++) keys[i] = key_room[i];
        if constexpr (!std::is_same_v<V, no_values>) {
            for (long i = 0; i < count; i++) value_room[i] = values[places[i]];
            for (long i = 0; i < count; i++) values[i] = value_room[i];
        }
    }
};
struct sort_fn {
    using has_own_kernels = void;
    static constexpr int functions = 1;
    // By insertion where code of a device sorts; see on_host for the rest.
    template <class K, class V, class Less>
    __host__ __device__ void operator()(K first, K last, V values, Less less) const {
        long count = (long)(last - first);
        for (long i = 1; i < count; i++) {
            value_of<K> key = first[i];
            long to = i;
            while (to > 0 && less(key, first[to - 1])) --to;
            if (to == i) continue;
            for (long j = i; j > to; j--) first[j] = (value_of<K>)first[j - 1];
            first[to] = key;
            if constexpr (!std::is_same_v<V, no_values>) {
                value_of<V> value = values[i];
                for (long j = i; j > to; j--) values[j] = (value_of<V>)values[j - 1];
                values[to] = value;
            }
        }
    }
    template <class K, class V, class Less> __host__ void in_kernels(K first, K last, V values, Less less) const {
        long count = (long)(last - first);
        buffer<long> places(count), other(count);
        buffer<value_of<K>> key_room(count);
        buffer<typename sorted_value<V>::type> value_room(std::is_same_v<V, no_values> ? 0 : count);
        run_in_one_thread(merge_sort_fn(), first, values, count, places.data, other.data, key_room.data, value_room.data,
                          less);
    }
};
// The host's way.
struct host_sort_fn {
    using has_own_kernels = void;
    static constexpr int functions = 1;
    template <class K, class V, class Less> __host__ void operator()(K first, K last, V values, Less less) const {
        if constexpr (std::is_same_v<V, no_values>) {
            std::vector<boxed<value_of<K>>> sorted(first, last);
            std::stable_sort(sorted.begin(), sorted.end(), [&](auto &a, auto &b) { return (bool)less(a.value, b.value); });
            for (auto &each : sorted) *first = each.value, ++first;
        } else {
            struct Item {
                value_of<K> key;
                value_of<V> value;
            };
            std::vector<Item> sorted;
            sorted.reserve(last - first);
            for (K key = first; key != last; ++key, ++values) sorted.push_back(Item{*key, *values});
            values -= last - first;
            std::stable_sort(sorted.begin(), sorted.end(), [&](auto &a, auto &b) { return (bool)less(a.key, b.key); });
            for (auto &each : sorted) *first = each.key, ++first, *values = each.value, ++values;
        }
    }
    template <class K, class V, class Less> __host__ void in_kernels(K first, K last, V values, Less less) const {
        sort_fn().in_kernels(first, last, values, less);
    }

private:
    // std::vector<bool> is not a vector.
    template <class T> struct boxed {
        T value;
        template <class U> boxed(const U &value) : value(value) {}
    };
};
template <class K, class V, class Less> __host__ __device__ void run_sort(right_here, K first, K last, V values, Less less) {
    sort_fn()(first, last, values, less);
}
template <class K, class V, class Less> __host__ void run_sort(from_host place, K first, K last, V values, Less less) {
    run(place, host_sort_fn(), first, last, values, less);
}
struct sort_forms {
    template <class P, class K> __host__ __device__ void operator()(P place, K first, K last) const {
        run_sort(place, first, last, no_values(), less<value_of<K>>());
    }
    template <class P, class K, class Less> __host__ __device__ void operator()(P place, K first, K last, Less less) const {
        run_sort(place, first, last, no_values(), less);
    }
};
struct sort_by_key_forms {
    template <class P, class K, class V> __host__ __device__ void operator()(P place, K first, K last, V values) const {
        run_sort(place, first, last, values, less<value_of<K>>());
    }
    template <class P, class K, class V, class Less>
    __host__ __device__ void operator()(P place, K first, K last, V values, Less less) const {
        run_sort(place, first, last, values, less);
    }
};
struct is_sorted_until_fn {
    static constexpr int functions = 1;
    template <class In, class Less> __host__ __device__ In operator()(In first, In last, Less less) const {
        if (first == last) return last;
        for (In next = first; ++next != last; first = next)
            if (less(*next, *first)) return next;
        return last;
    }
};
struct is_sorted_until_forms {
    template <class P, class In> __host__ __device__ In operator()(P place, In first, In last) const {
        return run(place, is_sorted_until_fn(), first, last, less<value_of<In>>());
    }
    template <class P, class In, class Less> __host__ __device__ In operator()(P place, In first, In last, Less less) const {
        return run(place, is_sorted_until_fn(), first, last, less);
    }
};
struct is_sorted_forms {
    template <class P, class In, class... Less>
    __host__ __device__ bool operator()(P place, In first, In last, Less... less) const {
        return is_sorted_until_forms()(place, first, last, less...) == last;
    }
};
}  // namespace detail
__THRUST_FUNCTION(sort, detail::sort_forms)
__THRUST_FUNCTION(stable_sort, detail::sort_forms)
__THRUST_FUNCTION(sort_by_key, detail::sort_by_key_forms)
__THRUST_FUNCTION(stable_sort_by_key, detail::sort_by_key_forms)
__THRUST_FUNCTION(is_sorted, detail::is_sorted_forms)
__THRUST_FUNCTION(is_sorted_until, detail::is_sorted_until_forms)
}  // namespace thrust
