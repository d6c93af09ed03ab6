// Bases for iterators of programs' own.
#pragma once
#include "iterator_traits.h"

namespace thrust {
struct iterator_core_access {
    template <class It> static __host__ __device__ decltype(auto) dereference(const It &it) { return it.dereference(); }
};
template <class Derived, class Value, class System, class Traversal, class Reference, class Difference = ptrdiff_t>
struct iterator_facade : __windlass_iterator<Derived, Value, Reference, Difference> {};

template <class Derived, class Base, class Value = use_default, class System = use_default,
          class Traversal = use_default, class Reference = use_default, class Difference = use_default>
struct iterator_adaptor
    : __windlass_iterator<
          Derived,
          std::conditional_t<std::is_same_v<Value, use_default>, typename std::iterator_traits<Base>::value_type, Value>,
          std::conditional_t<std::is_same_v<Reference, use_default>, typename std::iterator_traits<Base>::reference,
                             Reference>> {
    friend class iterator_core_access;
    using super_t = iterator_adaptor;
    __host__ __device__ iterator_adaptor() {}
    __host__ __device__ explicit iterator_adaptor(const Base &iterator) : m_iterator(iterator) {}
    __host__ __device__ const Base &base() const { return m_iterator; }
    __host__ __device__ decltype(auto) dereference() const { return *m_iterator; }
    __host__ __device__ void advance(ptrdiff_t n) { m_iterator += n; }
    __host__ __device__ ptrdiff_t distance_to(const Derived &b) const { return b.base() - m_iterator; }

protected:
    Base m_iterator;
    __host__ __device__ const Base &base_reference() const { return m_iterator; }
    __host__ __device__ Base &base_reference() { return m_iterator; }
};
}  // namespace thrust
