// Blocks one after another; the threads of a block as fibres, warp by warp, until all of them are done.
#include "machine.h"
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum { FUEL = 20000 }; // loop iterations between looks at the clock

EXPORT launch_description launch;
EXPORT fault_record wl_fault;
fibre fibres[MOST_THREADS], *current;
uint32_t thread_count, block_index[3];
char *local_memory, *local_initialized, *stack_low;

static void *caller_stack_pointer, *scheduler_stack_pointer, *paused_stack_pointer;
static char *scheduler_stack, *paused_stack_low;
static enum outcome outcome_of_run;
static int32_t fuel;
static double slice_end;

void wl_switch(void **save, void *to);
#if defined(__x86_64__)
enum { SAVED_WORDS = 6 };
__asm__(".text\n.globl wl_switch\n.hidden wl_switch\n.type wl_switch,@function\nwl_switch:\n"
        " push %rbp\n push %rbx\n push %r12\n push %r13\n push %r14\n push %r15\n mov %rsp,(%rdi)\n"
        " mov %rsi,%rsp\n pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbx\n pop %rbp\n ret\n");
static void *prepare(char *top, void (*entry)(void)) {
    void **words = (void **)top;
    *--words = 0;
    *--words = (void *)entry;
    words -= SAVED_WORDS;
    memset(words, 0, SAVED_WORDS * sizeof(void *));
    return words;
}
#elif defined(__aarch64__)
enum { SAVED_WORDS = 20 };
__asm__(".text\n.globl wl_switch\n.hidden wl_switch\n.type wl_switch,@function\nwl_switch:\n"
        " sub sp,sp,#160\n stp x19,x20,[sp,#0]\n stp x21,x22,[sp,#16]\n stp x23,x24,[sp,#32]\n stp x25,x26,[sp,#48]\n"
        " stp x27,x28,[sp,#64]\n stp x29,x30,[sp,#80]\n stp d8,d9,[sp,#96]\n stp d10,d11,[sp,#112]\n"
        " stp d12,d13,[sp,#128]\n stp d14,d15,[sp,#144]\n mov x9,sp\n str x9,[x0]\n mov sp,x1\n"
        " ldp x19,x20,[sp,#0]\n ldp x21,x22,[sp,#16]\n ldp x23,x24,[sp,#32]\n ldp x25,x26,[sp,#48]\n"
        " ldp x27,x28,[sp,#64]\n ldp x29,x30,[sp,#80]\n ldp d8,d9,[sp,#96]\n ldp d10,d11,[sp,#112]\n"
        " ldp d12,d13,[sp,#128]\n ldp d14,d15,[sp,#144]\n add sp,sp,#160\n ret\n");
static void *prepare(char *top, void (*entry)(void)) {
    void **words = (void **)top - SAVED_WORDS;
    memset(words, 0, SAVED_WORDS * sizeof(void *));
    words[11] = (void *)entry; // x30, the return address
    return words;
}
#else
#error "the emulator switches between fibres on x86-64 and AArch64 only"
#endif

static double seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

// ---- ways back to the caller and to the scheduler

void leave(enum outcome outcome) {
    void *unused;
    outcome_of_run = outcome;
    wl_switch(&unused, caller_stack_pointer);
    __builtin_unreachable();
}

void fail(enum outcome outcome, uint32_t site_number) {
    // What went wrong after a read of nothing probably comes of it; but if it is a race, that explains the read.
    if (has_uninitialized_read && outcome != RACE) fail_uninitialized();
    wl_fault.outcome = outcome;
    wl_fault.site = site_number;
    wl_fault.thread = current ? current->index : 0;
    memcpy(wl_fault.block, block_index, sizeof block_index);
    leave(outcome);
}

void wait_as(enum fibre_state state, uint32_t site_number) {
    current->state = state;
    current->site = site_number;
    wl_switch(&current->stack_pointer, scheduler_stack_pointer);
}

static void pause_when_slice_is_over(void) {
    if (seconds() < slice_end) return;
    outcome_of_run = PAUSED;
    paused_stack_low = stack_low;
    wl_switch(&paused_stack_pointer, caller_stack_pointer);
    stack_low = paused_stack_low;
}

// ---- called by instrumented code

// At every backward branch: other threads get their turn, and endless loops are found.
EXPORT void wl_tick(void) {
    if (--fuel > 0) return;
    fuel = FUEL;
    pause_when_slice_is_over();
    if (launch.uses_fibres) wait_as(YIELDED, 0);
}

// At the entry of every function that calls others: there must be room for any of them.
EXPORT void wl_enter(uint32_t site_number) {
    char *here = __builtin_frame_address(0);
    if (UNLIKELY(here < stack_low + STACK_MARGIN + launch.frame_bytes)) fail(STACK_OVERFLOW, site_number);
}

EXPORT uint32_t wl_thread_x(void) { return current->x; }
EXPORT uint32_t wl_thread_y(void) { return current->y; }
EXPORT uint32_t wl_thread_z(void) { return current->z; }
EXPORT uint32_t wl_block_x(void) { return block_index[0]; }
EXPORT uint32_t wl_block_y(void) { return block_index[1]; }
EXPORT uint32_t wl_block_z(void) { return block_index[2]; }
EXPORT uint32_t wl_block_size_x(void) { return launch.block[0]; }
EXPORT uint32_t wl_block_size_y(void) { return launch.block[1]; }
EXPORT uint32_t wl_block_size_z(void) { return launch.block[2]; }
EXPORT uint32_t wl_grid_size_x(void) { return launch.grid[0]; }
EXPORT uint32_t wl_grid_size_y(void) { return launch.grid[1]; }
EXPORT uint32_t wl_grid_size_z(void) { return launch.grid[2]; }
EXPORT uint32_t wl_lane(void) { return current->index % WARP_SIZE; }
EXPORT uint32_t wl_warp(void) { return current->index / WARP_SIZE; }
EXPORT uint32_t wl_warp_count(void) { return (thread_count + WARP_SIZE - 1) / WARP_SIZE; }
EXPORT uint32_t wl_lanes_below(void) { return (1u << wl_lane()) - 1; }
EXPORT uint32_t wl_lanes_up_to(void) { return 2u * (1u << wl_lane()) - 1; }
EXPORT uint32_t wl_lanes_above(void) { return ~wl_lanes_up_to(); }
EXPORT uint32_t wl_lanes_from(void) { return ~wl_lanes_below(); }
EXPORT uint32_t wl_lane_bit(void) { return 1u << wl_lane(); }

EXPORT uint32_t wl_warp_size(void) { return WARP_SIZE; }
EXPORT uint32_t wl_zero(void) { return 0; }
EXPORT uint32_t wl_one(void) { return 1; }
EXPORT void wl_nothing(void) {}

// ---- barriers

enum barrier_kind { PLAIN_BARRIER, COUNT_BARRIER, AND_BARRIER, OR_BARRIER };

static uint32_t meet(uint32_t number, uint32_t count, uint32_t kind, uint32_t predicate, uint32_t site_number) {
    if (has_pending) settle_pending();
    current->barrier_number = number;
    current->barrier_count = count;
    current->barrier_kind = kind;
    current->predicate = predicate;
    wait_as(AT_BARRIER, site_number);
    return current->predicate;
}
EXPORT void wl_barrier(uint32_t number, uint32_t site_number) { meet(number, 0, PLAIN_BARRIER, 0, site_number); }
EXPORT void wl_barrier_of(uint32_t number, uint32_t count, uint32_t site_number) {
    meet(number, count, PLAIN_BARRIER, 0, site_number);
}
EXPORT uint32_t wl_barrier_count(uint32_t number, uint32_t predicate, uint32_t site_number) {
    return meet(number, 0, COUNT_BARRIER, predicate, site_number);
}
EXPORT uint32_t wl_barrier_and(uint32_t number, uint32_t predicate, uint32_t site_number) {
    return meet(number, 0, AND_BARRIER, predicate, site_number);
}
EXPORT uint32_t wl_barrier_or(uint32_t number, uint32_t predicate, uint32_t site_number) {
    return meet(number, 0, OR_BARRIER, predicate, site_number);
}

EXPORT void wl_barrier_zero(uint32_t site_number) { meet(0, 0, PLAIN_BARRIER, 0, site_number); }
EXPORT uint32_t wl_barrier_count_zero(uint32_t predicate, uint32_t site_number) {
    return meet(0, 0, COUNT_BARRIER, predicate, site_number);
}
EXPORT uint32_t wl_barrier_and_zero(uint32_t predicate, uint32_t site_number) {
    return meet(0, 0, AND_BARRIER, predicate, site_number);
}
EXPORT uint32_t wl_barrier_or_zero(uint32_t predicate, uint32_t site_number) {
    return meet(0, 0, OR_BARRIER, predicate, site_number);
}

// A barrier across the grid: blocks run one after another, so only a grid of one block can pass it.
EXPORT void wl_grid_barrier(uint32_t site_number) {
    if (launch.grid[0] * launch.grid[1] * launch.grid[2] != 1) fail(UNSUPPORTED, site_number);
    meet(0, 0, PLAIN_BARRIER, 0, site_number);
}

static void release_barrier(uint32_t number) {
    uint32_t arrived = 0, holding = 0;
    for (uint32_t i = 0; i < thread_count; i++)
        if (fibres[i].state == AT_BARRIER && fibres[i].barrier_number == number) {
            arrived++;
            holding += fibres[i].predicate != 0;
        }
    if (has_uninitialized_read) fail_uninitialized();
    for (uint32_t i = 0; i < thread_count; i++) {
        fibre *thread = &fibres[i];
        if (thread->state != AT_BARRIER || thread->barrier_number != number) continue;
        thread->predicate = thread->barrier_kind == COUNT_BARRIER ? holding
                            : thread->barrier_kind == AND_BARRIER ? holding == arrived
                                                                  : holding != 0;
        thread->state = READY;
    }
    advance_time();
    barrier_time = now;
}

static void fail_between(enum outcome outcome, const fibre *one, const fibre *other) {
    wl_fault.other_site = other->site;
    wl_fault.other_thread = other->index;
    memcpy(wl_fault.other_block, block_index, sizeof block_index);
    current = (fibre *)one;
    fail(outcome, one->site);
}

// Every thread that has not exited waits. Opens the barriers that are complete; anything else is the kernel's mistake.
static bool open_barriers(void) {
    bool opened = false;
    for (uint32_t i = 0; i < thread_count; i++) {
        fibre *first = &fibres[i];
        if (first->state != AT_BARRIER) continue;
        uint32_t arrived = 0, missing = 0, expected = first->barrier_count;
        fibre *absent = NULL;
        for (uint32_t k = 0; k < thread_count; k++) {
            fibre *thread = &fibres[k];
            if (thread->state == AT_BARRIER && thread->barrier_number == first->barrier_number) {
                arrived++;
                if (!expected && launch.sites[thread->site].position != launch.sites[first->site].position)
                    fail_between(DIVERGENT_BARRIER, first, thread);
            } else if (thread->state != DONE) {
                missing++;
                absent = thread;
            }
        }
        if (expected ? arrived >= expected : !missing) {
            release_barrier(first->barrier_number);
            opened = true;
        } else if (!expected && absent && absent->state == AT_BARRIER && !absent->barrier_count) {
            fail_between(DIVERGENT_BARRIER, first, absent);
        }
    }
    return opened;
}

static void fail_stuck(void) {
    fibre *waiting = NULL, *other = NULL;
    for (uint32_t i = 0; i < thread_count && !waiting; i++)
        if (fibres[i].state == AT_COLLECTIVE) waiting = &fibres[i];
    if (waiting) {
        uint32_t first = waiting->index / WARP_SIZE * WARP_SIZE;
        for (uint32_t lane = 0; lane < WARP_SIZE && first + lane < thread_count && !other; lane++) {
            fibre *thread = &fibres[first + lane];
            if (thread->state == DONE || !(waiting->mask >> lane & 1)) continue;
            if (thread->state != AT_COLLECTIVE || thread->kind != waiting->kind || thread->mask != waiting->mask)
                other = thread;
        }
        fail_between(INCOMPLETE_COLLECTIVE, waiting, other ? other : waiting);
    }
    for (uint32_t i = 0; i < thread_count && !waiting; i++)
        if (fibres[i].state == AT_BARRIER || fibres[i].state == AT_BARRIER_OBJECT) waiting = &fibres[i];
    for (uint32_t i = 0; i < thread_count && !other; i++)
        if (fibres[i].state != DONE && &fibres[i] != waiting && fibres[i].site != waiting->site) other = &fibres[i];
    fail_between(DIVERGENT_BARRIER, waiting ? waiting : &fibres[0], other ? other : waiting ? waiting : &fibres[0]);
}

// ---- running

static void set_thread(fibre *thread, uint32_t index) {
    thread->index = index;
    thread->x = index % launch.block[0];
    thread->y = index / launch.block[0] % launch.block[1];
    thread->z = index / (launch.block[0] * launch.block[1]);
    thread->released = thread->acquired = thread->waited = 0;
    thread->has_fenced = false;
    reset_locals(thread);
}

static void run_fibre(void) {
    launch.kernel(launch.arguments);
    if (has_pending) settle_pending();
    wait_as(DONE, 0);
    __builtin_trap();
}

static void switch_to(fibre *thread) {
    char *own_stack = stack_low;
    current = thread;
    stack_low = thread->stack;
    wl_switch(&scheduler_stack_pointer, thread->stack_pointer);
    if (has_pending) settle_pending();
    stack_low = own_stack;
}

static bool run_warp(uint32_t first, uint32_t count) {
    bool progress = false;
    for (;;) {
        for (uint32_t i = first; i < first + count; i++)
            if (fibres[i].state == READY) {
                switch_to(&fibres[i]);
                progress = true;
            }
        if (complete_collectives(first, count)) continue;
        bool released = complete_active_masks(first, count);
        for (uint32_t i = first; i < first + count; i++)
            if (fibres[i].state == AT_LOCKSTEP) {
                fibres[i].state = READY;
                released = true;
            }
        if (!released) return progress;
    }
}

static void run_block_with_fibres(void) {
    for (uint32_t i = 0; i < thread_count; i++) {
        fibre *thread = &fibres[i];
        set_thread(thread, i);
        thread->state = READY;
        thread->stack_pointer = prepare(thread->stack + STACK_BYTES, run_fibre);
    }
    for (;;) {
        bool progress = false;
        uint32_t left = 0;
        for (uint32_t first = 0; first < thread_count; first += WARP_SIZE)
            progress |= run_warp(first, thread_count - first < WARP_SIZE ? thread_count - first : WARP_SIZE);
        for (uint32_t i = 0; i < thread_count; i++) {
            left += fibres[i].state != DONE;
            bool passes = fibres[i].state == AT_BARRIER_OBJECT && has_passed(fibres[i].operand, (uint32_t)fibres[i].control);
            if (fibres[i].state == YIELDED || passes) {
                fibres[i].state = READY;
                progress = true;
            } else if (fibres[i].state == READY) {
                progress = true;
            }
        }
        if (!left) return;
        if (!progress && !open_barriers()) fail_stuck();
    }
}

// Threads that never wait for one another need no stack of their own.
static void run_block_in_a_loop(void) {
    current = &fibres[0];
    for (uint32_t i = 0; i < thread_count; i++) {
        set_thread(current, i);
        launch.kernel(launch.arguments);
        if (has_pending) settle_pending();
    }
}

static void run_grid(void) {
    for (block_index[2] = 0; block_index[2] < launch.grid[2]; block_index[2]++)
        for (block_index[1] = 0; block_index[1] < launch.grid[1]; block_index[1]++)
            for (block_index[0] = 0; block_index[0] < launch.grid[0]; block_index[0]++) {
                current = &fibres[0];
                start_block_shadow();
                pause_when_slice_is_over();
                if (launch.uses_fibres) run_block_with_fibres();
                else run_block_in_a_loop();
                if (has_uninitialized_read) fail_uninitialized();
            }
    leave(FINISHED);
}

static char *map(size_t size) {
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static char *map_stack(void) {
    char *stack = map(STACK_BYTES);
    if (stack) mprotect(stack, 4096, PROT_NONE);
    return stack;
}

// Memory for stacks and local variables, once per process. Returns whether there is enough.
static bool map_machine(void) {
    size_t record_bytes = MOST_LOCALS * sizeof(local_record);
    if (!scheduler_stack && !(scheduler_stack = map_stack())) return false;
    if (!local_memory && !(local_memory = map((size_t)MOST_THREADS << LOCAL_SHIFT))) return false;
    if (!local_initialized && !(local_initialized = map((size_t)MOST_THREADS << LOCAL_SHIFT))) return false;
    if (!fibres[0].locals) {
        char *records = map(MOST_THREADS * record_bytes);
        if (!records) return false;
        for (uint32_t i = 0; i < MOST_THREADS; i++) fibres[i].locals = (local_record *)(records + i * record_bytes);
    }
    for (uint32_t i = 0; i < (launch.uses_fibres ? thread_count : 1); i++)
        if (!fibres[i].stack && !(fibres[i].stack = map_stack())) return false;
    return true;
}

// Runs the launch described in `launch`. Returns an enum outcome.
EXPORT int wl_run(void) {
    thread_count = launch.block[0] * launch.block[1] * launch.block[2];
    if (!map_machine()) return OUT_OF_MEMORY;
    memset(&wl_fault, 0, sizeof wl_fault);
    wl_fault.region = -1;
    fuel = FUEL;
    slice_end = seconds() + launch.slice_seconds;
    has_pending = has_uninitialized_read = false;
    start_shadow();
    stack_low = scheduler_stack;
    wl_switch(&caller_stack_pointer, prepare(scheduler_stack + STACK_BYTES, run_grid));
    return (int)outcome_of_run;
}

EXPORT int wl_resume(void) {
    slice_end = seconds() + launch.slice_seconds;
    wl_switch(&caller_stack_pointer, paused_stack_pointer);
    return (int)outcome_of_run;
}
