// What random-access iterators of libraries have in common: given where they are, all of their operators.
#pragma once
#include <iterator>

// `Iterator` has dereference() const, advance(n) and distance_to(other) const.
template <class Iterator, class Value, class Reference, class Difference = ptrdiff_t> struct __windlass_iterator {
    using value_type = Value;
    using reference = Reference;
    using pointer = std::remove_reference_t<Reference> *;
    using difference_type = Difference;
    using iterator_category = std::random_access_iterator_tag;

    __WINDLASS_BOTH_MEMBER Reference operator*() const { return self().dereference(); }
    __WINDLASS_BOTH_MEMBER auto operator->() const {
        if constexpr (std::is_reference_v<Reference>) return &self().dereference();
        else return arrow<Reference>{self().dereference()};
    }
    __WINDLASS_BOTH_MEMBER Reference operator[](Difference n) const { return (self() + n).dereference(); }
    __WINDLASS_BOTH_MEMBER Iterator &operator++() { return self().advance(1), self(); }
    __WINDLASS_BOTH_MEMBER Iterator &operator--() { return self().advance(-1), self(); }
    __WINDLASS_BOTH_MEMBER Iterator operator++(int) {
        Iterator old = self();
        self().advance(1);
        return old;
    }
    __WINDLASS_BOTH_MEMBER Iterator operator--(int) {
        Iterator old = self();
        self().advance(-1);
        return old;
    }
    __WINDLASS_BOTH_MEMBER Iterator &operator+=(Difference n) { return self().advance(n), self(); }
    __WINDLASS_BOTH_MEMBER Iterator &operator-=(Difference n) { return self().advance(-n), self(); }
    __WINDLASS_BOTH_MEMBER Iterator operator+(Difference n) const {
        Iterator moved = self();
        moved.advance(n);
        return moved;
    }
    __WINDLASS_BOTH_MEMBER Iterator operator-(Difference n) const { return self() + -n; }
    friend __WINDLASS_BOTH_MEMBER Iterator operator+(Difference n, const Iterator &from) { return from + n; }
    friend __WINDLASS_BOTH_MEMBER Difference operator-(const Iterator &a, const Iterator &b) { return b.distance_to(a); }
    friend __WINDLASS_BOTH_MEMBER bool operator==(const Iterator &a, const Iterator &b) { return b.distance_to(a) == 0; }
    friend __WINDLASS_BOTH_MEMBER bool operator!=(const Iterator &a, const Iterator &b) { return b.distance_to(a) != 0; }
    friend __WINDLASS_BOTH_MEMBER bool operator<(const Iterator &a, const Iterator &b) { return b.distance_to(a) < 0; }
    friend __WINDLASS_BOTH_MEMBER bool operator>(const Iterator &a, const Iterator &b) { return b.distance_to(a) > 0; }
    friend __WINDLASS_BOTH_MEMBER bool operator<=(const Iterator &a, const Iterator &b) { return b.distance_to(a) <= 0; }
    friend __WINDLASS_BOTH_MEMBER bool operator>=(const Iterator &a, const Iterator &b) { return b.distance_to(a) >= 0; }

private:
    template <class T> struct arrow {
        T value;
        __WINDLASS_BOTH_MEMBER T *operator->() { return &value; }
    };
    __WINDLASS_BOTH_MEMBER Iterator &self() { return static_cast<Iterator &>(*this); }
    __WINDLASS_BOTH_MEMBER const Iterator &self() const { return static_cast<const Iterator &>(*this); }
};

// Something that takes any value and forgets it.
struct __windlass_sink {
    template <class T> __WINDLASS_BOTH_MEMBER const __windlass_sink &operator=(const T &) const { return *this; }
    __WINDLASS_BOTH_MEMBER const __windlass_sink &operator=(const __windlass_sink &) const { return *this; }
};
