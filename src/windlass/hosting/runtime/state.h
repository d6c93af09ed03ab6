// What the parts of the host runtime share. The runtime is linked into each host program; kernels run elsewhere: the
// process that loads the program gives it functions to call.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#define WINDLASS_API extern "C" __attribute__((visibility("default")))

namespace windlass {

// What the process that runs the program does for it. Numbers that are returned are cudaError_t.
struct Services {
    int (*launch)(int unit, const char *kernel, const unsigned *extents, size_t shared_bytes, void **arguments);
    int (*parameter_sizes)(int unit, const char *kernel, int *sizes, int capacity);
    void *(*variable_address)(int unit, const char *name);
    void (*place_managed)(int unit, const char *name, void *address, size_t size);
    // A call of cuBLAS and its kin (see library_calls.py): each argument is a word, whose kind is a character.
    void (*library)(const char *name, const char *kinds, const uint64_t *words, void *result);
    int (*library_again)(int call);  // a call that a stream captured
    // While a host function is traced, device memory has no contents: these note what would be done to it.
    int (*move)(void *target, const void *source, size_t bytes);
    int (*fill)(void *target, int value, size_t bytes);
    // An operation on floats of which some name traced numbers (observed_floats.py): the result takes the first word.
    int (*observe)(const char *operation, const char *kinds, uint64_t *words);
};
extern Services services;
// Whether a host function is traced (hosting/traced_call.py).
extern bool is_tracing;
extern std::recursive_mutex lock;

enum class Kind { device, host, managed, registered, variable };
struct Allocation {
    size_t size;
    Kind kind;
    void *owner;  // what to free
    bool is_reserved = false;  // has no contents: made while a host function is traced
};
// A kernel, variable or reference of a translation unit.
struct Symbol {
    int unit;
    std::string name;
};
// The allocation that an address lies in; null if there is none. `base` is where it begins.
const Allocation *find_allocation(const void *address, uintptr_t *base = nullptr);
void add_region(const void *address, size_t size, Kind kind);
// The device address of a __device__ or __constant__ variable, given its shadow on the host; null if there is none.
char *address_of_symbol(const void *shadow, size_t *size = nullptr);

// memmove and memset, for memory of either side.
cudaError_t move_bytes(void *target, const void *source, size_t bytes);
cudaError_t fill_bytes(void *target, int value, size_t bytes);

cudaError_t allocate(void **pointer, size_t bytes, Kind kind);
cudaError_t release(void *pointer);
void release_reserved();
cudaError_t copy(void *target, const void *source, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t copy_rows(void *target, size_t target_pitch, const void *source, size_t source_pitch, size_t width,
                      size_t height, cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t copy_3d(const struct cudaMemcpy3DParms &parameters, cudaStream_t stream);  // with an array on either side

// Runs a function of the program, whose calls of exit() and of leave_program end it; gives what it returns, or the status
// with which it was ended.
int run_guarded(const std::function<int()> &function);
[[noreturn]] void leave_program(int status);

size_t texel_bytes(const struct cudaChannelFormatDesc &format);
bool is_format(const struct cudaChannelFormatDesc &format);

cudaError_t fail(cudaError_t error);  // notes the error for cudaGetLastError and hands it on
// Does it now, or adds it to the graph that the stream is being captured into.
cudaError_t perform(cudaStream_t stream, std::function<cudaError_t()> action);

}  // namespace windlass

struct cudaArray {
    struct cudaChannelFormatDesc format;
    struct cudaExtent extent;  // as given: a height or depth of 0 is an extent that the array does not have
    unsigned int flags;
    void *texels;
    size_t bytes_of_row;
    size_t row_bytes() const { return bytes_of_row; }
    size_t rows() const { return extent.height ? extent.height : 1; }
    size_t slices() const { return extent.depth ? extent.depth : 1; }
};
