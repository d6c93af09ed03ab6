// Calls of single host functions, and traces of them: runs in which device memory has no contents.
#include <csignal>
#include <csetjmp>
#include "state.h"

namespace windlass {
bool is_tracing = false;
static uintptr_t touched = 0;
static struct sigaction usual;

// Host code that reads or writes device memory by itself would go unseen: it ends the trace.
static void on_fault(int number, siginfo_t *info, void *context) {
    const Allocation *found = is_tracing ? find_allocation(info->si_addr) : nullptr;
    if (found && found->is_reserved) {
        touched = (uintptr_t)info->si_addr;
        leave_program(0);
    }
    sigaction(number, &usual, nullptr);
}
}  // namespace windlass
using namespace windlass;

// For the process that has loaded the program: runs a host function by its entry point, which takes the arguments from
// words. Gives -1, or the status with which the function ended the program. `fault` is where host code touched memory
// of a trace; 0 where it did not.
WINDLASS_API int windlass_call(void (*entry)(const uint64_t *, void *), const uint64_t *words, void *result,
                               int has_contents, uint64_t *fault) {
    touched = 0;
    is_tracing = !has_contents;
    if (is_tracing) {
        struct sigaction action = {};
        action.sa_sigaction = on_fault;
        action.sa_flags = SA_SIGINFO | SA_NODEFER;
        sigaction(SIGSEGV, &action, &usual);
    }
    int status = run_guarded([=] { return entry(words, result), -1; });
    if (is_tracing) sigaction(SIGSEGV, &usual, nullptr);
    is_tracing = false;
    *fault = touched;
    return status;
}

// Whether an operand of an operation names a traced number; then the first word is the result, or a name of it.
WINDLASS_API int windlass_observe(const char *operation, const char *kinds, uint64_t *words) {
    if (!is_tracing) return 0;
    bool is_named = false;
    for (int i = 0; kinds[i + 1]; i++)
        // What is a name, or was one (hosting/host_numbers.py).
        is_named = is_named || (kinds[i] == 'f' ? ((uint32_t)words[i] & 0x7FB00000) == 0x7FA00000
                                                : (words[i] >> 48 & 0x7FF6) == 0x7FF4);
    if (!is_named) return 0;
    if (services.observe(operation, kinds, words)) leave_program(0);
    return 1;
}

// What a trace makes of an address: 1 memory without contents, 2 device memory that was there before, which the trace
// does not know; 0 the host's.
WINDLASS_API int windlass_side(const void *address) {
    const Allocation *found = find_allocation(address);
    if (!found || found->kind == Kind::host || found->kind == Kind::registered) return 0;
    return found->is_reserved ? 1 : 2;
}

// Memory without contents, for the arguments of a trace.
WINDLASS_API void *windlass_reserve(size_t bytes) {
    void *pointer = nullptr;
    is_tracing = true;
    allocate(&pointer, bytes ? bytes : 1, Kind::device);
    is_tracing = false;
    return pointer;
}
WINDLASS_API void windlass_release_reserved() { release_reserved(); }
