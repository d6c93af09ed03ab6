// The emulated machine: one block of CUDA threads at a time, each thread a fibre with a stack of its own.
//
// schedule.c  blocks, fibres, barriers, deadlock        warp.c     shuffles, votes, matches, reductions
// shadow.c    bounds, races, uninitialized reads        services.c printf, assert, heap, clocks, conversions
// textures.c  fetches, surfaces                         barriers.c barriers as objects
//
// Nothing here unwinds or raises signals: what is wrong with a kernel is found before the harm is done, written to
// `wl_fault`, and control goes back to the caller of wl_run; the fibres' stacks are simply used afresh next time.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

enum {
    WARP_SIZE = 32,
    MOST_THREADS = 1024,
    MOST_WARPS = MOST_THREADS / WARP_SIZE,
    STACK_BYTES = 4 << 20, // address space; memory is what is touched
    STACK_MARGIN = 64 << 10, // left for what the kernel calls: printf and the math library
    LOCAL_SHIFT = 20,        // each thread's local memory has a slot of 1 MiB, of which CUDA allows 512 KiB
    LOCAL_BYTES = 512 << 10,
    MOST_LOCALS = 2048,
    MESSAGE_BYTES = 2048,
};

// What the launch ends with; the order is known to report.py.
enum outcome {
    OUT_OF_MEMORY = -1,
    FINISHED,
    PAUSED, // the time slice is over: call wl_resume
    OUT_OF_BOUNDS,
    MISALIGNED,
    READ_ONLY,
    FOREIGN_LOCAL,
    UNINITIALIZED,
    RACE,
    DIVERGENT_BARRIER,
    INCOMPLETE_COLLECTIVE,
    LANE_NOT_IN_MASK,
    LANE_TAKES_NO_PART,
    ASSERTION,
    TRAP,
    STACK_OVERFLOW,
    LOCAL_EXHAUSTED,
    BAD_FUNCTION,
    UNSUPPORTED,
    BAD_FREE,
    BAD_TEXTURE,
    OUTSIDE_SURFACE,
};

// Relaxed: the plain load of a compare-and-swap loop. Speculated: moved by the optimizer to where its result may go
// unused; only its bounds matter.
enum site_flag { SITE_ATOMIC = 1, SITE_VOLATILE = 2, SITE_RELAXED = 4, SITE_SPECULATED = 8 };

// One instrumented instruction. `position` numbers distinct source positions: barriers are compared by it.
typedef struct {
    uint32_t size, alignment_mask, flags, position;
} site;

enum region_kind { ARGUMENT, VARIABLE, CONSTANT, SHARED, LITERAL, HEAP };

// What a thread last did to a granule of memory: time << 32 | site << 10 | thread in block. 0: nothing yet.
typedef uint64_t stamp;
#define TIME_OF(s) ((uint32_t)((s) >> 32))
#define SITE_OF(s) ((uint32_t)(s) >> 10)
#define THREAD_OF(s) ((uint32_t)(s) & 1023)

// `read` is the last read; `other_read` is an earlier one by another thread that nothing orders before `read`.
typedef struct {
    stamp write, read, other_read;
} cell;

// A piece of memory that kernels may touch. The table is sorted by `base`.
typedef struct {
    uint64_t base, size;
    uint32_t kind, identity;
    uint32_t granule_shift; // log2 of the bytes that one cell stands for; refined when smaller accesses come
    uint32_t written;
    cell *shadow;
} region;

typedef struct {
    uint32_t start, end, site;
} local_record;

enum fibre_state { READY, YIELDED, AT_BARRIER, AT_COLLECTIVE, AT_LOCKSTEP, AT_ACTIVE_MASK, AT_BARRIER_OBJECT, DONE };

typedef struct {
    void *stack_pointer;
    char *stack;
    uint32_t state, index, x, y, z;
    uint32_t site; // of the barrier or collective that it waits at
    // barrier: number, how many threads it is for (0: all), what is asked (warp.c: enum barrier_kind), predicate or result
    uint32_t barrier_number, barrier_count, barrier_kind, predicate;
    // collective: who takes part, which, operands, results; a barrier object: its address and the phase
    uint32_t mask, kind;
    uint64_t operand, control, result;
    // local memory
    uint32_t local_used, local_count;
    local_record *locals;
    // ordering by fence and atomic
    uint32_t released, acquired;
    bool has_fenced;
    // when it last waited at a barrier object
    uint32_t waited;
} fibre;

typedef struct {
    uint32_t outcome, site, thread, block[3];
    uint64_t address, size;
    int64_t region; // index in the table, -1 where none is concerned
    uint32_t other_site, other_thread, other_block[3], is_write, other_is_write;
    uint32_t local_site, local_offset, local_size;
    char message[MESSAGE_BYTES];
} fault_record;

typedef struct {
    // given by the caller
    site *sites;
    uint32_t *site_region; // where each site found its memory last time
    region *regions;
    uint32_t region_count, region_capacity;
    void **functions; // entry points of the module, sorted: what may be called through a pointer
    uint32_t function_count;
    uint32_t grid[3], block[3];
    void (*kernel)(void *);
    void *arguments;
    uint32_t uses_fibres, checks_races, checks_uninitialized, varies_undefined;
    double slice_seconds;
    uint64_t frame_bytes; // no function of the kernel takes more of the stack
} launch_description;

extern launch_description launch;
extern fault_record wl_fault;
extern fibre fibres[MOST_THREADS], *current;
extern uint32_t thread_count, block_index[3];
extern char *local_memory, *local_initialized;
extern char *stack_low; // lowest address of the running stack

// Logical time within a launch: advances at every block, barrier, warp collective, and release.
extern uint32_t now, block_time, barrier_time;
extern uint32_t warp_time[MOST_WARPS];                               // all live lanes of the warp met then
extern uint32_t lane_time[MOST_WARPS][WARP_SIZE][WARP_SIZE];         // [w][a][b]: what a knows of b ends then
extern bool block_has_acquired;

void advance_time(void);
void leave(enum outcome outcome) __attribute__((noreturn));
void fail(enum outcome outcome, uint32_t site_number) __attribute__((noreturn));
void wait_as(enum fibre_state state, uint32_t site_number);
void settle_pending(void);
extern bool has_pending, has_uninitialized_read;
void fail_uninitialized(void) __attribute__((noreturn));
void start_shadow(void);
void start_block_shadow(void);
void note_release(void);
void reset_locals(fibre *thread);
bool has_passed(uint64_t address, uint32_t phase);
bool complete_collectives(uint32_t first, uint32_t count);
bool complete_active_masks(uint32_t first, uint32_t count);
void block_of_time(uint32_t time, uint32_t block[3]);
region *find_region(uint64_t address, uint64_t size);
