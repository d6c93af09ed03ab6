// Types of CUB: pairs, double buffers, what bits keys have, memory for values that are not constructed yet.
#pragma once
#include "config.cuh"
#include "util_macro.cuh"

namespace cub {

struct NullType {
    using value_type = NullType;
    template <class T> __WINDLASS_BOTH_MEMBER NullType &operator=(const T &) { return *this; }
    __WINDLASS_BOTH_MEMBER bool operator==(const NullType &) const { return true; }
    __WINDLASS_BOTH_MEMBER bool operator!=(const NullType &) const { return false; }
};
template <int A> struct Int2Type {
    enum { VALUE = A };
};
template <class T, class U> struct Equals {
    enum { VALUE = std::is_same<T, U>::value, NEGATE = !std::is_same<T, U>::value };
};
template <bool Condition, class T, class U> struct If {
    using Type = typename std::conditional<Condition, T, U>::type;
};
template <class T> struct IsPointer {
    enum { VALUE = std::is_pointer<T>::value };
};
template <class T> struct IsVolatile {
    enum { VALUE = std::is_volatile<T>::value };
};
template <class T> struct RemoveQualifiers {
    using Type = typename std::remove_cv<T>::type;
};
template <int N> struct Log2 {
    enum { VALUE = N <= 1 ? 0 : 1 + Log2<(N + 1) / 2>::VALUE };
};
template <> struct Log2<1> {
    enum { VALUE = 0 };
};
template <> struct Log2<0> {
    enum { VALUE = 0 };
};
template <int N> struct PowerOfTwo {
    enum { VALUE = (N & (N - 1)) == 0 };
};

template <class KeyT, class ValueT> struct KeyValuePair {
    using Key = KeyT;
    using Value = ValueT;
    KeyT key;
    ValueT value;
    KeyValuePair() = default;
    __WINDLASS_BOTH_MEMBER KeyValuePair(const KeyT &key, const ValueT &value) : key(key), value(value) {}
    __WINDLASS_BOTH_MEMBER bool operator==(const KeyValuePair &b) const { return key == b.key && value == b.value; }
    __WINDLASS_BOTH_MEMBER bool operator!=(const KeyValuePair &b) const { return !(*this == b); }
};

template <class T> struct DoubleBuffer {
    T *d_buffers[2];
    int selector;
    __WINDLASS_BOTH_MEMBER DoubleBuffer() : d_buffers{nullptr, nullptr}, selector(0) {}
    __WINDLASS_BOTH_MEMBER DoubleBuffer(T *current, T *alternate) : d_buffers{current, alternate}, selector(0) {}
    __WINDLASS_BOTH_MEMBER T *Current() { return d_buffers[selector]; }
    __WINDLASS_BOTH_MEMBER T *Alternate() { return d_buffers[selector ^ 1]; }
};

// Room for a T, in shared memory or a union, where nothing may have a constructor.
template <class T> struct Uninitialized {
    alignas(T) unsigned char storage[sizeof(T)];
    __WINDLASS_BOTH_MEMBER T &Alias() { return reinterpret_cast<T &>(*this); }
};

namespace detail {
// Items in shared memory. Numbers and plain structs keep their own type there, which shows what the memory holds.
template <class T, int N, bool IsPlain = std::is_trivially_default_constructible<T>::value> struct Storage {
    T items[N];
    __WINDLASS_DEVICE_MEMBER T &operator[](int i) { return items[i]; }
};
template <class T, int N> struct Storage<T, N, false> {
    alignas(T) unsigned char bytes[N * sizeof(T)];
    __WINDLASS_DEVICE_MEMBER T &operator[](int i) { return reinterpret_cast<T *>(bytes)[i]; }
};
struct NoStorage {
    unsigned char unused;
};

template <class T, class = void> struct is_narrow : std::false_type {};
template <class T> struct is_narrow<T, std::void_t<typename T::__windlass_narrow_number>> : std::true_type {};
template <class T> inline constexpr bool is_floating = std::is_floating_point_v<T> || is_narrow<T>::value;

template <int Bytes> struct bits_of_size {};
template <> struct bits_of_size<1> { using type = unsigned char; };
template <> struct bits_of_size<2> { using type = unsigned short; };
template <> struct bits_of_size<4> { using type = unsigned int; };
template <> struct bits_of_size<8> { using type = unsigned long long; };
template <> struct bits_of_size<16> { using type = unsigned __int128; };
}  // namespace detail

enum Category { NOT_A_NUMBER, SIGNED_INTEGER, UNSIGNED_INTEGER, FLOATING_POINT };

// A number's bits as an unsigned integer that has the number's order, and back.
template <class T, bool IsNumber = std::is_arithmetic_v<T> || detail::is_narrow<T>::value ||
                                   std::is_same_v<T, __int128> || std::is_same_v<T, unsigned __int128>>
struct NumericTraits {
    static constexpr Category CATEGORY = NOT_A_NUMBER;
    enum { PRIMITIVE = false, NULL_TYPE = std::is_same_v<T, NullType> };
};
template <class T> struct NumericTraits<T, true> {
    using UnsignedBits = typename detail::bits_of_size<sizeof(T)>::type;
    static constexpr Category CATEGORY = detail::is_floating<T>   ? FLOATING_POINT
                                         : T(-1) < T(0)           ? SIGNED_INTEGER
                                                                  : UNSIGNED_INTEGER;
    enum { PRIMITIVE = true, NULL_TYPE = false };
    static constexpr UnsignedBits HIGH_BIT = UnsignedBits(1) << (sizeof(T) * 8 - 1);

    static __WINDLASS_BOTH_MEMBER UnsignedBits TwiddleIn(UnsignedBits key) {
        if constexpr (CATEGORY == FLOATING_POINT) return key ^ ((key & HIGH_BIT) ? UnsignedBits(~UnsignedBits(0)) : HIGH_BIT);
        else if constexpr (CATEGORY == SIGNED_INTEGER) return key ^ HIGH_BIT;
        else return key;
    }
    static __WINDLASS_BOTH_MEMBER UnsignedBits TwiddleOut(UnsignedBits key) {
        if constexpr (CATEGORY == FLOATING_POINT) return key ^ ((key & HIGH_BIT) ? HIGH_BIT : UnsignedBits(~UnsignedBits(0)));
        else if constexpr (CATEGORY == SIGNED_INTEGER) return key ^ HIGH_BIT;
        else return key;
    }
    static __WINDLASS_BOTH_MEMBER T Max() {
        if constexpr (detail::is_narrow<T>::value) {
            UnsignedBits bits = sizeof(T) == 2 && __is_same(typename T::__windlass_narrow_number, _Float16) ? 0x7BFF : 0x7F7F;
            return __builtin_bit_cast(T, bits);
        } else return std::numeric_limits<T>::max();
    }
    static __WINDLASS_BOTH_MEMBER T Lowest() {
        if constexpr (detail::is_narrow<T>::value) return T(-(float)Max());
        else return std::numeric_limits<T>::lowest();
    }
};
template <class T> struct Traits : NumericTraits<typename std::remove_cv<T>::type> {};
template <class T> struct BaseTraits : NumericTraits<typename std::remove_cv<T>::type> {};

// The type of an iterator's values, or another one where the iterator only writes.
template <class Iterator> using value_t = typename std::iterator_traits<Iterator>::value_type;
namespace detail {
template <class Iterator> using value_t = typename std::iterator_traits<Iterator>::value_type;
template <class Iterator, class Fallback>
using non_void_value_t =
    std::conditional_t<std::is_void_v<typename std::iterator_traits<Iterator>::value_type>, Fallback,
                       typename std::iterator_traits<Iterator>::value_type>;
}  // namespace detail
}  // namespace cub
