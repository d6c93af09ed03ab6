#pragma once
#include "../detail/pointer.h"

namespace thrust {
template <class It> using iterator_traits = std::iterator_traits<It>;
template <class It> struct iterator_value { using type = typename std::iterator_traits<It>::value_type; };
template <class It> struct iterator_difference { using type = typename std::iterator_traits<It>::difference_type; };
template <class It> struct iterator_reference { using type = typename std::iterator_traits<It>::reference; };
template <class It> struct iterator_pointer { using type = typename std::iterator_traits<It>::pointer; };
template <class It> struct iterator_system { using type = host_system_tag; };
template <class T> struct iterator_system<device_ptr<T>> { using type = device_system_tag; };
template <class It> using iterator_value_t = typename iterator_value<It>::type;
template <class It> using iterator_reference_t = typename iterator_reference<It>::type;
template <class It> using iterator_difference_t = typename iterator_difference<It>::type;
using std::bidirectional_iterator_tag;
using std::forward_iterator_tag;
using std::input_iterator_tag;
using std::output_iterator_tag;
using std::random_access_iterator_tag;
using random_access_device_iterator_tag = std::random_access_iterator_tag;
struct use_default {};
struct any_system_tag : detail::device_t {};
}  // namespace thrust
