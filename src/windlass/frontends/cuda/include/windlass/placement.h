// Where an algorithm of a library can run: on the host where everything that it calls can be called there, else in a
// kernel. Device memory is memory of the process, so that algorithms on the host reach it.
#pragma once
#include <memory>
#include <type_traits>
#include <utility>

// Asked inside a host function: a function that only device code may call is no candidate there.
struct __windlass_host {
    template <class F, class... A>
    static __host__ auto calls(int) -> decltype((void)std::declval<F &>()(std::declval<A>()...), std::true_type{});
    template <class F, class... A> static __host__ std::false_type calls(...);
};
// Whether host code can call an F with such arguments. Function objects whose operator is a template of ours are
// specialized: what their template calls decides.
template <class F, class... A>
inline constexpr bool __windlass_calls_on_host = decltype(__windlass_host::calls<F, A...>(0))::value;

// Whether host code can read what an iterator points to. Iterators that call functions are specialized.
template <class Iterator> inline constexpr bool __windlass_reads_on_host = true;
