// Kernels and device variables as host code knows them, launches, and the program's own beginning and end.
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>
#include <unistd.h>
#include "state.h"

namespace windlass {
Services services;

struct Variable {
    int unit;
    std::string name;
    size_t size;
    char *address;
    bool is_managed;
};
// Constructors of translation units fill these, in any order: they come to life when they are first asked for.
static std::map<const void *, Symbol> &kernels() {
    static auto *all = new std::map<const void *, Symbol>;
    return *all;
}
static std::map<const void *, Variable> &variables() {
    static auto *all = new std::map<const void *, Variable>;
    return *all;
}

char *address_of_symbol(const void *shadow, size_t *size) {
    std::lock_guard<std::recursive_mutex> guard(lock);
    auto found = variables().find(shadow);
    if (found == variables().end()) return nullptr;
    Variable &variable = found->second;
    if (variable.is_managed) {
        // Host and device have one variable: that of the host.
        if (size) *size = variable.size;
        return (char *)shadow;
    }
    if (!variable.address) {
        variable.address = (char *)services.variable_address(variable.unit, variable.name.c_str());
        if (!variable.address) return nullptr;
        add_region(variable.address, variable.size, Kind::variable);
    }
    if (size) *size = variable.size;
    return variable.address;
}

// Managed variables: kernels work on those of the host.
extern "C" char __start_windlass_managed[] __attribute__((weak, visibility("hidden")));
extern "C" char __stop_windlass_managed[] __attribute__((weak, visibility("hidden")));

static void begin_managed() {
    for (auto &entry : variables()) {
        char *shadow = (char *)entry.first;
        Variable &variable = entry.second;
        variable.is_managed = __start_windlass_managed && shadow >= __start_windlass_managed && shadow < __stop_windlass_managed;
        if (!variable.is_managed) continue;
        services.place_managed(variable.unit, variable.name.c_str(), shadow, variable.size);
        add_region(shadow, variable.size, Kind::managed);
    }
}
// Dynamic shared memory that kernels may be launched with: what a device has by default, what a program asks for, at most.
constexpr size_t DEFAULT_SHARED = 48 << 10, MOST_SHARED = 227 << 10;
static std::map<const void *, size_t> &shared_limits() {
    static auto *all = new std::map<const void *, size_t>;
    return *all;
}

struct Configuration {
    dim3 grid, block;
    size_t shared_bytes;
    cudaStream_t stream;
};
static thread_local std::vector<Configuration> configurations;

static cudaError_t launch(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared_bytes,
                          cudaStream_t stream) {
    auto found = kernels().find(function);
    if (found == kernels().end()) return fail(cudaErrorInvalidDeviceFunction);
    auto limit = shared_limits().find(function);
    if (shared_bytes > (limit == shared_limits().end() ? DEFAULT_SHARED : limit->second))
        return fail(cudaErrorInvalidValue);
    const Symbol &kernel = found->second;
    // The arguments may change before a captured launch runs: it keeps copies.
    int sizes[256];
    int count = services.parameter_sizes(kernel.unit, kernel.name.c_str(), sizes, 256);
    if (count < 0) return fail(cudaErrorInvalidDeviceFunction);
    auto values = std::make_shared<std::vector<std::vector<char>>>();
    for (int i = 0; i < count; i++) values->emplace_back((char *)arguments[i], (char *)arguments[i] + sizes[i]);
    return perform(stream, [=, &kernel] {
        std::vector<void *> pointers;
        for (auto &value : *values) pointers.push_back(value.data());
        unsigned extents[6] = {grid.x, grid.y, grid.z, block.x, block.y, block.z};
        fflush(stdout);
        int error = services.launch(kernel.unit, kernel.name.c_str(), extents, shared_bytes, pointers.data());
        return error ? fail((cudaError_t)error) : cudaSuccess;
    });
}
}  // namespace windlass
using namespace windlass;

extern "C" {
void **__cudaRegisterFatBinary(void *wrapper) {
    struct Wrapper {
        int magic, version;
        const char *data;
        void *unused;
    };
    // The "binary" of a unit is its number.
    return (void **)(intptr_t)(atoi(((Wrapper *)wrapper)->data) + 1);
}
void __cudaRegisterFatBinaryEnd(void **) {}
void __cudaUnregisterFatBinary(void **) {}
int __cudaRegisterFunction(void **unit, const void *stub, char *, const char *name, int, void *, void *, void *, void *,
                           int *) {
    kernels()[stub] = Symbol{(int)(intptr_t)unit - 1, name};
    return 0;
}
void __cudaRegisterVar(void **unit, char *shadow, char *, const char *name, int, size_t size, int, int) {
    variables()[shadow] = Variable{(int)(intptr_t)unit - 1, name, size, nullptr, false};
}
void __cudaRegisterManagedVar(void **unit, void **, void *shadow, const char *name, size_t size, unsigned) {
    variables()[shadow] = Variable{(int)(intptr_t)unit - 1, name, size, nullptr, false};
}
char __cudaInitModule(void **) { return 1; }

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream) {
    configurations.push_back({grid, block, shared_bytes, stream});
    return 0;
}
unsigned __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_bytes, void *stream) {
    if (configurations.empty()) return cudaErrorMissingConfiguration;
    Configuration top = configurations.back();
    configurations.pop_back();
    *grid = top.grid, *block = top.block, *shared_bytes = top.shared_bytes, *(cudaStream_t *)stream = top.stream;
    return 0;
}
cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared_bytes,
                             cudaStream_t stream) {
    return launch(function, grid, block, arguments, shared_bytes, stream);
}
cudaError_t __windlass_launch(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared_bytes,
                              cudaStream_t stream) {
    return launch(function, grid, block, arguments, shared_bytes, stream);
}
cudaError_t __windlass_launch_cooperative(const void *function, dim3 grid, dim3 block, void **arguments,
                                          size_t shared_bytes, cudaStream_t stream) {
    return launch(function, grid, block, arguments, shared_bytes, stream);
}
cudaError_t __windlass_set_function_attribute(const void *function, int attribute, int value) {
    if (!kernels().count(function)) return fail(cudaErrorInvalidDeviceFunction);
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
    if (value < 0 || (size_t)value > MOST_SHARED) return fail(cudaErrorInvalidValue);
    shared_limits()[function] = value;
    return cudaSuccess;
}
cudaError_t __windlass_get_function_attributes(struct cudaFuncAttributes *attributes, const void *function) {
    if (!kernels().count(function)) return fail(cudaErrorInvalidDeviceFunction);
    *attributes = {};
    attributes->maxThreadsPerBlock = 1024;
    attributes->numRegs = 32;
    attributes->ptxVersion = attributes->binaryVersion = 70;
    attributes->maxDynamicSharedSizeBytes = 48 << 10;
    return cudaSuccess;
}
cudaError_t __windlass_max_active_blocks(int *count, const void *, int block_size, size_t shared_bytes) {
    int by_threads = block_size > 0 ? 2048 / block_size : 0;
    int by_memory = shared_bytes ? (int)((96 << 10) / shared_bytes) : 32;
    *count = by_threads < by_memory ? by_threads : by_memory;
    if (*count > 32) *count = 32;
    return cudaSuccess;
}
cudaError_t __windlass_best_block_size(int *grid_size, int *block_size, const void *, size_t, int limit) {
    *block_size = limit > 0 && limit < 1024 ? limit : 1024;
    *grid_size = 80 * (2048 / *block_size);
    return cudaSuccess;
}
__host__ __device__ void __windlass_assert_fail(const char *condition, const char *file, unsigned int line, const char *function) {
    fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", file, line, function, condition);
    abort();
}
}

// ---- the program itself

static sigjmp_buf program_end;
static bool is_running = false;
static int exit_status = 0;
static std::thread::id program_thread;

namespace windlass {
int run_guarded(const std::function<int()> &function) {
    static bool has_begun = false;
    program_thread = std::this_thread::get_id();
    is_running = true;
    if (!has_begun) begin_managed();
    has_begun = true;
    if (sigsetjmp(program_end, 1) == 0) exit_status = function();
    is_running = false;
    fflush(nullptr);
    return exit_status;
}

void leave_program(int status) {
    exit_status = status;
    siglongjmp(program_end, 1);
}
}  // namespace windlass

// The program's calls of exit() come here: they end the program, not the process that runs it.
extern "C" __host__ __device__ __attribute__((noreturn)) void exit(int status) {
    if (is_running && std::this_thread::get_id() == program_thread) leave_program(status & 255);
    fflush(nullptr);
    _exit(status);
}

WINDLASS_API void windlass_connect(const Services *given) { services = *given; }

WINDLASS_API int windlass_run(int (*program)(int, char **, char **), int count, char **arguments, char **environment) {
    return run_guarded([=] { return program(count, arguments, environment); }) & 255;
}
