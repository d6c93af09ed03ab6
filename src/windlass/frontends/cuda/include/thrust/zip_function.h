// Functions of several arguments as functions of one tuple.
#pragma once
#include "tuple.h"
#include "windlass/placement.h"

namespace thrust {
template <class F> struct zip_function {
    F f;
    __host__ __device__ zip_function(F f) : f(f) {}
    template <class Tuple> __WINDLASS_BOTH_MEMBER auto operator()(Tuple &&arguments) const {
        return apply(arguments, std::make_index_sequence<std::tuple_size_v<std::decay_t<Tuple>>>());
    }
    F &underlying_function() const { return const_cast<F &>(f); }

private:
    template <class Tuple, size_t... I>
    __WINDLASS_BOTH_MEMBER auto apply(Tuple &arguments, std::index_sequence<I...>) const {
        return const_cast<F &>(f)(std::get<I>(arguments)...);
    }
};
template <class F> __host__ __device__ zip_function<std::decay_t<F>> make_zip_function(F &&f) { return {f}; }
}  // namespace thrust

template <class Arguments> struct __windlass_zipped {
    template <class F> static constexpr bool calls = false;
};
template <class... A> struct __windlass_zipped<std::tuple<A...>> {
    template <class F> static constexpr bool calls = __windlass_calls_on_host<F, A &...>;
};
template <class F, class A>
inline constexpr bool __windlass_calls_on_host<thrust::zip_function<F>, A> =
    __windlass_zipped<std::decay_t<A>>::template calls<F>;
