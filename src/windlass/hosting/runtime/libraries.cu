// Calls of libraries (cuBLAS and its kin): the process that runs the program does them, on the program's memory.
#include <cstdio>
#include "state.h"
using namespace windlass;

// What stands for a library's functions calls this; `result` has room for 16 bytes, and is zero.
WINDLASS_API void windlass_library(const char *name, const char *kinds, const uint64_t *words, void *result) {
    fflush(stdout);
    services.library(name, kinds, words, result);
}

// For the process that runs the program: the allocation that an address lies in, and whether there is one.
WINDLASS_API int windlass_allocation(const void *address, uint64_t *start, uint64_t *size) {
    uintptr_t base = 0;
    const Allocation *found = find_allocation(address, &base);
    if (!found) return 0;
    *start = base, *size = found->size;
    return 1;
}

// Does the call with this number now, or whenever the graph is launched that the stream is being captured into.
WINDLASS_API void windlass_perform_library_call(cudaStream_t stream, int call) {
    perform(stream, [=] {
        int error = services.library_again(call);
        return error ? fail((cudaError_t)error) : cudaSuccess;
    });
}
