// Where an algorithm of a library can run: on the host where everything that it calls can be called there, else in a
// kernel. Device memory is memory of the process, so that algorithms on the host reach it.
#pragma once
#include <memory>
#include <type_traits>
#include <utility>

// Lambdas without captures can also be called as pointers to functions, which says nothing: not so their heirs here.
template <class F, class = void> struct __windlass_callable {
    using type = F;
};
template <class F> struct __windlass_callable<F, std::enable_if_t<std::is_class_v<F>, std::void_t<decltype(+std::declval<F &>())>>> {
    struct type : F {
        using F::operator();
        operator decltype(+std::declval<F &>())() const = delete;
    };
};
// Asked inside a host function: a function that only device code may call is no candidate there.
struct __windlass_host {
    template <class F, class... A>
    static __host__ auto calls(int) -> decltype((void)std::declval<F &>()(std::declval<A>()...), std::true_type{});
    template <class F, class... A> static __host__ std::false_type calls(...);
};
// Whether host code can call an F with such arguments. Function objects whose operator is a template of ours are
// specialized: what their template calls decides.
template <class F, class... A>
inline constexpr bool __windlass_calls_on_host =
    decltype(__windlass_host::calls<typename __windlass_callable<F>::type, A...>(0))::value;

// Whether host code can read what an iterator points to. Iterators that call functions are specialized.
template <class Iterator> inline constexpr bool __windlass_reads_on_host = true;

// What a call gives; void * where there is no such call. Asked outside of functions, where device code counts too.
template <class Void, class F, class... A> struct __windlass_result_of {
    using type = void *;
};
template <class F, class... A>
struct __windlass_result_of<std::void_t<decltype(std::declval<F &>()(std::declval<A>()...))>, F, A...> {
    using type = std::conditional_t<std::is_void_v<decltype(std::declval<F &>()(std::declval<A>()...))>, void *,
                                    std::decay_t<decltype(std::declval<F &>()(std::declval<A>()...))>>;
};
template <class F, class... A> using __windlass_result = typename __windlass_result_of<void, F, A...>::type;
