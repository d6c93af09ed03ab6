// What host vectors and device vectors have in common.
#pragma once
#include "pointer.h"

namespace thrust {
// Allocators of device memory.
template <class T> struct device_allocator {
    using value_type = T;
    using pointer = device_ptr<T>;
    using size_type = size_t;
    device_allocator() = default;
    template <class U> device_allocator(const device_allocator<U> &) {}
    template <class U> struct rebind { using other = device_allocator<U>; };
    device_ptr<T> allocate(size_t count) {
        T *pointer = nullptr;
        if (cudaMalloc((void **)&pointer, count * sizeof(T)) != cudaSuccess) throw std::bad_alloc();
        return device_ptr<T>(pointer);
    }
    void deallocate(device_ptr<T> pointer, size_t) { cudaFree((void *)pointer.get()); }
    bool operator==(const device_allocator &) const { return true; }
    bool operator!=(const device_allocator &) const { return false; }
};
template <class T> using device_malloc_allocator = device_allocator<T>;
template <class T> using device_new_allocator = device_allocator<T>;

namespace detail {
template <class It>
using require_iterator = std::enable_if_t<
    std::is_convertible_v<typename std::iterator_traits<It>::iterator_category, std::input_iterator_tag>, int>;

template <class T, class Allocator, class Iterator, class ConstIterator> class vector {
    Allocator allocator;
    T *items = nullptr;
    size_t count = 0, room = 0;

    void grow(size_t needed) {
        if (needed <= room) return;
        size_t wanted = needed > 2 * room ? needed : 2 * room;
        T *fresh = raw_pointer_cast(allocator.allocate(wanted));
        for (size_t i = 0; i < count; i++) {
            new ((void *)(fresh + i)) T(std::move(items[i]));
            items[i].~T();
        }
        if (room) allocator.deallocate(typename std::allocator_traits<Allocator>::pointer(items), room);
        items = fresh, room = wanted;
    }
    void release() {
        clear();
        if (room) allocator.deallocate(typename std::allocator_traits<Allocator>::pointer(items), room);
        items = nullptr, room = 0;
    }
    // Makes a gap of `added` raw places before `place`; gives the index of the gap.
    size_t open(const T *place, size_t added) {
        size_t at = items ? place - items : 0;
        grow(count + added);
        for (size_t i = count; i > at; i--) {
            new ((void *)(items + i - 1 + added)) T(std::move(items[i - 1]));
            items[i - 1].~T();
        }
        count += added;
        return at;
    }

public:
    using value_type = T;
    using reference = T &;
    using const_reference = const T &;
    using pointer = Iterator;
    using const_pointer = ConstIterator;
    using iterator = Iterator;
    using const_iterator = ConstIterator;
    using reverse_iterator = std::reverse_iterator<Iterator>;
    using const_reverse_iterator = std::reverse_iterator<ConstIterator>;
    using difference_type = ptrdiff_t;
    using size_type = size_t;
    using allocator_type = Allocator;

    vector() = default;
    explicit vector(const Allocator &allocator) : allocator(allocator) {}
    explicit vector(size_t n) { resize(n); }
    vector(size_t n, const T &value) { resize(n, value); }
    vector(size_t n, const T &value, const Allocator &allocator) : allocator(allocator) { resize(n, value); }
    template <class It, require_iterator<It> = 0> vector(It first, It last) { assign(first, last); }
    vector(std::initializer_list<T> values) { assign(values.begin(), values.end()); }
    vector(const vector &other) { assign(other.items, other.items + other.count); }
    vector(vector &&other) noexcept { swap(other); }
    template <class A, class I, class C, class U> vector(const vector<U, A, I, C> &other) {
        assign(other.begin(), other.end());
    }
    template <class U, class A> vector(const std::vector<U, A> &other) { assign(other.begin(), other.end()); }
    ~vector() { release(); }
    vector &operator=(const vector &other) {
        if (this != &other) assign(other.items, other.items + other.count);
        return *this;
    }
    vector &operator=(vector &&other) noexcept { return swap(other), *this; }
    template <class A, class I, class C, class U> vector &operator=(const vector<U, A, I, C> &other) {
        return assign(other.begin(), other.end()), *this;
    }
    template <class U, class A> vector &operator=(const std::vector<U, A> &other) {
        return assign(other.begin(), other.end()), *this;
    }
    vector &operator=(std::initializer_list<T> values) { return assign(values.begin(), values.end()), *this; }

    void resize(size_t n) {
        grow(n);
        for (; count < n; count++) new ((void *)(items + count)) T();
        while (count > n) items[--count].~T();
    }
    void resize(size_t n, const T &value) {
        grow(n);
        for (; count < n; count++) new ((void *)(items + count)) T(value);
        while (count > n) items[--count].~T();
    }
    void assign(size_t n, const T &value) {
        T kept = value;
        clear();
        resize(n, kept);
    }
    template <class It, require_iterator<It> = 0> void assign(It first, It last) {
        using Category = typename std::iterator_traits<It>::iterator_category;
        clear();
        if constexpr (std::is_convertible_v<Category, std::random_access_iterator_tag>) {
            size_t n = last - first;
            grow(n);
            for (; count < n; count++) new ((void *)(items + count)) T(first[count]);
        } else {
            for (; first != last; ++first) push_back((T)*first);
        }
    }
    void reserve(size_t n) { grow(n); }
    void shrink_to_fit() {
        vector exact(begin(), end());
        swap(exact);
    }
    void clear() { while (count) items[--count].~T(); }
    void push_back(const T &value) {
        T kept = value;
        grow(count + 1);
        new ((void *)(items + count++)) T(std::move(kept));
    }
    template <class... A> T &emplace_back(A &&...arguments) {
        push_back(T(std::forward<A>(arguments)...));
        return back();
    }
    void pop_back() { items[--count].~T(); }
    iterator erase(const_iterator place) { return erase(place, place + 1); }
    iterator erase(const_iterator first, const_iterator last) {
        size_t at = first - cbegin(), removed = last - first;
        for (size_t i = at + removed; i < count; i++) items[i - removed] = std::move(items[i]);
        for (size_t i = 0; i < removed; i++) items[--count].~T();
        return begin() + at;
    }
    iterator insert(const_iterator place, const T &value) { return insert_copies(place, 1, value); }
    void insert(const_iterator place, size_t n, const T &value) { insert_copies(place, n, value); }
    template <class It, require_iterator<It> = 0> iterator insert(const_iterator place, It first, It last) {
        std::vector<T> kept(first, last);
        size_t at = open(raw_pointer_cast(place), kept.size());
        for (size_t i = 0; i < kept.size(); i++) new ((void *)(items + at + i)) T(kept[i]);
        return begin() + at;
    }
    void swap(vector &other) {
        std::swap(items, other.items), std::swap(count, other.count), std::swap(room, other.room);
        std::swap(allocator, other.allocator);
    }

    size_t size() const { return count; }
    size_t max_size() const { return ~(size_t)0 / sizeof(T); }
    size_t capacity() const { return room; }
    bool empty() const { return count == 0; }
    T &operator[](size_t i) { return items[i]; }
    const T &operator[](size_t i) const { return items[i]; }
    T &front() { return items[0]; }
    const T &front() const { return items[0]; }
    T &back() { return items[count - 1]; }
    const T &back() const { return items[count - 1]; }
    Iterator data() { return Iterator(items); }
    ConstIterator data() const { return ConstIterator(items); }
    iterator begin() { return Iterator(items); }
    iterator end() { return Iterator(items + count); }
    const_iterator begin() const { return ConstIterator(items); }
    const_iterator end() const { return ConstIterator(items + count); }
    const_iterator cbegin() const { return begin(); }
    const_iterator cend() const { return end(); }
    reverse_iterator rbegin() { return reverse_iterator(end()); }
    reverse_iterator rend() { return reverse_iterator(begin()); }
    const_reverse_iterator rbegin() const { return const_reverse_iterator(end()); }
    const_reverse_iterator rend() const { return const_reverse_iterator(begin()); }
    const_reverse_iterator crbegin() const { return rbegin(); }
    const_reverse_iterator crend() const { return rend(); }
    Allocator get_allocator() const { return allocator; }

private:
    iterator insert_copies(const_iterator place, size_t n, const T &value) {
        T kept = value;
        size_t at = open(raw_pointer_cast(place), n);
        for (size_t i = 0; i < n; i++) new ((void *)(items + at + i)) T(kept);
        return begin() + at;
    }
};
template <class T, class A, class I, class C, class U, class B, class J, class D>
bool operator==(const vector<T, A, I, C> &a, const vector<U, B, J, D> &b) {
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
}
template <class T, class A, class I, class C, class U, class B, class J, class D>
bool operator!=(const vector<T, A, I, C> &a, const vector<U, B, J, D> &b) {
    return !(a == b);
}
template <class T, class A, class I, class C, class U, class B>
bool operator==(const vector<T, A, I, C> &a, const std::vector<U, B> &b) {
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
}
template <class T, class A, class I, class C, class U, class B>
bool operator==(const std::vector<U, B> &a, const vector<T, A, I, C> &b) {
    return b == a;
}
template <class T, class A, class I, class C> void swap(vector<T, A, I, C> &a, vector<T, A, I, C> &b) { a.swap(b); }
}  // namespace detail
}  // namespace thrust
