// How algorithms run: natively where host code can call all that they call, else in kernels. Device memory is memory
// of the process.
//
// Each algorithm is a function object whose last `functions` arguments are the functions that it calls; its operator()
// does the work from beginning to end. One that works on each element by itself has `size(...)` and `at(i, ...)`, and
// has a thread for each where it runs in a kernel; others run in a single thread then, or say themselves what to do
// (`in_kernels`).
#pragma once
#include "pointer.h"
#include "windlass/placement.h"
#include "windlass/iterators.h"

namespace thrust {
namespace detail {
template <class T> using deref_t = decltype(*std::declval<T &>());
template <class T, class = void> struct is_iterator : std::false_type {};
template <class T> struct is_iterator<T, std::void_t<deref_t<T>>> : std::true_type {};
template <class It> using value_of = typename std::iterator_traits<It>::value_type;
template <class It> using distance_of = typename std::iterator_traits<It>::difference_type;

// What a function of an algorithm may be called with: what its iterators point to, other arguments, a position.
template <class T, bool = is_iterator<T>::value> struct given { using type = T &; };
template <class T> struct given<T, true> { using type = deref_t<T>; };

// Ways to call a function, tried in order: what no call is like is not tried, since the bodies of functions that deduce
// what they return would have to make sense of it.
template <class... A> struct with {
    template <class F> static constexpr bool calls = __windlass_calls_on_host<F, A...>;
};
template <class F> constexpr bool calls_natively() { return false; }
template <class F, class Way, class... Ways> constexpr bool calls_natively() {
    if constexpr (Way::template calls<F>) return true;
    else return calls_natively<F, Ways...>();
}

// `Second` is the argument that the second operands of an algorithm's function come from.
template <int Second, class Data, class Functions> struct natively;
template <int Second, class... Data, class... Functions>
struct natively<Second, std::tuple<Data...>, std::tuple<Functions...>> {
    template <class F, class First, class... A> static constexpr bool calls_on() {
        using Other = std::tuple_element_t<Second, std::tuple<First, A...>>;
        return calls_natively<F, with<First>, with<First, Other>, with<First, First>, with<A>..., with<First, A>...,
                              with<A, First>..., with<A, A>..., with<long>, with<>>();
    }
    // What one function gives may be what another takes.
    template <class F, class G, class First, class... A> static constexpr bool calls_on_results() {
        using One = __windlass_result<G, First>;
        using Two = __windlass_result<G, First, std::tuple_element_t<Second, std::tuple<First, A...>>>;
        return calls_natively<F, with<One &>, with<Two &>, with<One &, One &>, with<Two &, Two &>, with<A, One &>...,
                              with<A, Two &>...>();
    }
    template <class F> static constexpr bool calls() {
        if constexpr (calls_on<F, typename given<Data>::type...>()) return true;
        else return (calls_on_results<F, Functions, typename given<Data>::type...>() || ...);
    }
    static constexpr bool value = (__windlass_reads_on_host<Data> && ...) && (calls<Functions>() && ...);
};
template <class Algorithm, class = void> inline constexpr int second_operand = 0;
template <class Algorithm>
inline constexpr int second_operand<Algorithm, std::void_t<decltype(Algorithm::second)>> = Algorithm::second;
template <size_t... Data, size_t... Functions, class Tuple>
std::tuple<std::tuple<std::tuple_element_t<Data, Tuple>...>,
           std::tuple<std::tuple_element_t<sizeof...(Data) + Functions, Tuple>...>>
split(std::index_sequence<Data...>, std::index_sequence<Functions...>, Tuple);
template <int Functions, class... A> struct divided {
    using type = decltype(split(std::make_index_sequence<sizeof...(A) - Functions>(),
                                std::make_index_sequence<Functions>(), std::declval<std::tuple<A...>>()));
};
template <class Algorithm, class... A> constexpr bool runs_natively() {
    using both = typename divided<Algorithm::functions, A...>::type;
    return natively<second_operand<Algorithm>, std::tuple_element_t<0, both>, std::tuple_element_t<1, both>>::value;
}

// Device memory for a while.
template <class T> struct buffer {
    T *data = nullptr;
    explicit buffer(size_t count) { cudaMalloc((void **)&data, (count ? count : 1) * sizeof(T)); }
    buffer(const buffer &) = delete;
    ~buffer() { cudaFree(data); }
    T *begin() const { return data; }
};

// The end of the range is left out: it may be in no memory.
template <class Algorithm, class First, class... A>
__global__ void each_element(Algorithm algorithm, long count, First first, A... arguments) {
    long i = (long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) algorithm.at(i, first, first, arguments...);
}
template <class Algorithm, class... A> __global__ void in_one_thread(Algorithm algorithm, A... arguments) {
    algorithm(arguments...);
}
template <class Algorithm, class Result, class... A>
__global__ void in_one_thread_for(Algorithm algorithm, Result *result, A... arguments) {
    *result = algorithm(arguments...);
}
// Plain pointers are what kernels are raised with.
template <class T> T unwrapped(T argument) { return argument; }
template <class T> T *unwrapped(device_ptr<T> pointer) { return pointer.get(); }
template <class Algorithm, class First, class... A>
__host__ void run_each_element(Algorithm algorithm, long count, First first, First, A... arguments) {
    unsigned int blocks = (unsigned int)((count + 255) / 256);
    if (count > 0) each_element<<<blocks, 256>>>(algorithm, count, unwrapped(first), unwrapped(arguments)...);
    cudaDeviceSynchronize();
}
template <class Algorithm, class... A> __host__ auto run_in_one_thread(Algorithm algorithm, A... arguments) {
    using Result = decltype(algorithm(arguments...));
    if constexpr (std::is_void_v<Result>) {
        in_one_thread<<<1, 1>>>(algorithm, arguments...);
        cudaDeviceSynchronize();
    } else {
        buffer<Result> result(1);
        in_one_thread_for<<<1, 1>>>(algorithm, result.data, arguments...);
        cudaDeviceSynchronize();
        return Result(*result.data);
    }
}

template <class Algorithm, class = void> struct is_elementwise : std::false_type {};
template <class Algorithm>
struct is_elementwise<Algorithm, std::void_t<typename Algorithm::each_by_itself>> : std::true_type {};
template <class Algorithm, class = void> struct has_kernels : std::false_type {};
template <class Algorithm>
struct has_kernels<Algorithm, std::void_t<typename Algorithm::has_own_kernels>> : std::true_type {};

template <class Algorithm, class... A> __host__ __device__ auto run(right_here, Algorithm algorithm, A... arguments) {
    return algorithm(arguments...);
}
template <class Algorithm, class... A> __host__ auto run(from_host, Algorithm algorithm, A... arguments) {
    if constexpr (runs_natively<Algorithm, A...>()) {
        return algorithm(arguments...);
    } else if constexpr (is_elementwise<Algorithm>::value) {
        long count = (long)algorithm.size(arguments...);
        run_each_element(algorithm, count, arguments...);
        return algorithm.result(count, arguments...);
    } else if constexpr (has_kernels<Algorithm>::value) {
        return algorithm.in_kernels(arguments...);
    } else {
        return run_in_one_thread(algorithm, arguments...);
    }
}

// A policy, where there is one, says where to run.
template <class Forms, class Place, class First, class... Rest>
__host__ __device__ auto dispatch(Forms forms, Place place, First first, Rest... rest) {
    if constexpr (is_policy<First>)
        return forms(std::conditional_t<std::is_same_v<typename First::place, right_here>, right_here, Place>(), rest...);
    else return forms(place, first, rest...);
}
template <bool IsPolicy, class Forms, class First, class... Rest>
struct accepting : std::is_invocable<Forms, right_here, First, Rest...> {};
template <class Forms, class First, class... Rest>
struct accepting<true, Forms, First, Rest...> : std::is_invocable<Forms, right_here, Rest...> {};
template <class Forms, class First, class... Rest>
inline constexpr bool accepts = accepting<is_policy<First>, Forms, First, Rest...>::value;
}  // namespace detail

// A public function: `Forms` are the ways to call it. Host code and device code each have their own.
#define __THRUST_FUNCTION(name, Forms)                                                                         \
    template <class First, class... Rest, std::enable_if_t<detail::accepts<Forms, First, Rest...>, int> = 0>   \
    __host__ auto name(First first, Rest... rest) {                                                            \
        return detail::dispatch(Forms(), detail::from_host(), first, rest...);                                 \
    }                                                                                                          \
    template <class First, class... Rest, std::enable_if_t<detail::accepts<Forms, First, Rest...>, int> = 0>   \
    __device__ auto name(First first, Rest... rest) {                                                          \
        return detail::dispatch(Forms(), detail::right_here(), first, rest...);                                \
    }
}  // namespace thrust
