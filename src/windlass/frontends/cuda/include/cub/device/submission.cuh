// How the algorithms of a device are called: first for the size of their memory, then to run, in the order of a stream.
// They are Thrust's: native where host code can call what they call, else in kernels.
#pragma once
#include "../util_device.cuh"
#include "../thread/thread_operators.cuh"
#include <thrust/copy.h>

namespace cub {
namespace detail {
using thrust::detail::from_host;
using thrust::detail::run;

// No algorithm here needs memory of the caller's. Asking for its size gives a little.
inline bool asks_for_size(void *storage, size_t &bytes) {
    if (storage) return false;
    bytes = 256;
    return true;
}
// Does it now, or when the graph runs that the stream is captured into.
template <class Work> cudaError_t submit(cudaStream_t stream, Work work) {
    struct Task {
        Work work;
        bool has_run = false;
        static void perform(void *self) {
            ((Task *)self)->work();
            ((Task *)self)->has_run = true;
        }
    };
    Task *task = new Task{work};
    cudaError_t error = cudaLaunchHostFunc(stream, &Task::perform, task);
    if (task->has_run) delete task;
    return error;
}
// Type of the values that an output holds; that of the input where it holds none of its own.
template <class Out, class In> using output_t = non_void_value_t<Out, value_t<In>>;
}  // namespace detail
}  // namespace cub
