// Every access to memory is checked here before it happens: that it lies within memory that the kernel may touch, that
// nothing conflicts with it, and that what it reads has been written.
//
// Races. Each granule of memory remembers its last write and two reads, stamped with logical time and thread. Accesses
// are ordered by program order, by barriers, by waits at barrier objects, by warp collectives among the lanes that take
// part, and, where a thread fences and then does an atomic, for threads that do an atomic later. Atomics, volatile
// accesses and the plain load of a compare-and-swap loop do not race among one another; volatile accesses do not race
// within a warp (code from before Volta relies on it). A write that changes nothing does not race: several threads may
// store the same value.
#include "machine.h"
#include <stdlib.h>
#include <sys/mman.h>

uint32_t now = 1, block_time, barrier_time;
uint32_t warp_time[MOST_WARPS], lane_time[MOST_WARPS][WARP_SIZE][WARP_SIZE];
bool has_pending, has_uninitialized_read, block_has_acquired;

enum { WRITTEN = 1 };

static bool races_are_checked;

// When each block of this launch began, and when it last released: for orders and messages between blocks.
typedef struct {
    uint32_t start, release;
} block_record;
static block_record *blocks;
static size_t block_records, block_capacity;

// A write that is about to happen. Whether it changes the memory is seen at the thread's next event: if it does not, the
// write is forgotten, and no race.
enum { PENDING_BYTES = 16 };
static struct {
    uint64_t address, size;
    uint32_t site, count;
    cell *cells;
    stamp other; // what it conflicts with, 0: nothing
    bool other_is_write, keeps_stamps;
    unsigned char before[PENDING_BYTES];
    stamp stamps[PENDING_BYTES];
} pending;

void advance_time(void) {
    if (now == UINT32_MAX) races_are_checked = false; // four billion barriers: stamps are used up
    else now++;
}

// ---- regions

region *find_region(uint64_t address, uint64_t size) {
    uint32_t low = 0, high = launch.region_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (launch.regions[middle].base <= address) low = middle + 1;
        else high = middle;
    }
    if (!low) return NULL;
    region *found = &launch.regions[low - 1];
    uint64_t offset = address - found->base;
    return offset < found->size && size <= found->size - offset ? found : NULL;
}

static void __attribute__((noreturn)) fail_at(enum outcome outcome, uint64_t address, uint64_t size, uint32_t site_number,
                                              const region *region) {
    wl_fault.address = address;
    wl_fault.size = size;
    wl_fault.region = region ? region - launch.regions : -1;
    fail(outcome, site_number);
}

static inline region *locate(uint64_t address, uint64_t size, uint32_t site_number) {
    region *region = &launch.regions[launch.site_region[site_number]];
    uint64_t offset = address - region->base;
    if (UNLIKELY(offset >= region->size || size > region->size - offset)) {
        region = find_region(address, size);
        if (!region) fail_at(OUT_OF_BOUNDS, address, size, site_number, NULL);
        launch.site_region[site_number] = (uint32_t)(region - launch.regions);
    }
    return region;
}

// ---- shadow memory

static cell *map_cells(uint64_t count) {
    void *cells = mmap(NULL, count * sizeof(cell), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return cells == MAP_FAILED ? NULL : cells;
}

static uint64_t cell_count(const region *region) { return (region->size >> region->granule_shift) + 1; }

EXPORT void wl_free_shadow(void) {
    for (uint32_t i = 0; i < launch.region_count; i++)
        if (launch.regions[i].shadow) {
            munmap(launch.regions[i].shadow, cell_count(&launch.regions[i]) * sizeof(cell));
            launch.regions[i].shadow = NULL;
        }
}

static void give_shadow(region *region) {
    bool is_constant = region->kind == CONSTANT || region->kind == LITERAL;
    bool is_wanted = launch.checks_races || (launch.checks_uninitialized && region->kind == SHARED);
    region->shadow = !is_constant && is_wanted && region->size ? map_cells(cell_count(region)) : NULL;
}

// Cells for smaller granules, each a copy of the cell that covered it.
static void refine(region *region, uint32_t shift) {
    uint32_t difference = region->granule_shift - shift;
    uint64_t old_count = cell_count(region), count = (region->size >> shift) + 1;
    cell *old = region->shadow, *fresh = map_cells(count);
    for (uint64_t i = 0; fresh && i < old_count; i++)
        if (old[i].write | old[i].read)
            for (uint64_t k = i << difference; k < (i + 1) << difference && k < count; k++) fresh[k] = old[i];
    munmap(old, old_count * sizeof(cell));
    region->shadow = fresh;
    region->granule_shift = shift;
}

void start_shadow(void) {
    now = 1; // shadows are fresh for each launch, and so is time
    races_are_checked = launch.checks_races;
    block_records = 0;
    memset(warp_time, 0, sizeof warp_time);
    memset(lane_time, 0, sizeof lane_time);
    for (uint32_t i = 0; i < launch.region_count; i++) give_shadow(&launch.regions[i]);
}

// Shared memory begins as anything: as NaN in floats, -1 in integers.
enum { POISON = 0xFF };

void start_block_shadow(void) {
    for (uint32_t i = 0; i < launch.region_count; i++)
        if (launch.regions[i].kind == SHARED) memset((void *)launch.regions[i].base, POISON, launch.regions[i].size);
    advance_time();
    block_time = barrier_time = now;
    block_has_acquired = false;
    if (block_records == block_capacity) {
        size_t capacity = block_capacity ? 2 * block_capacity : 1024;
        block_record *more = realloc(blocks, capacity * sizeof *blocks);
        if (!more) leave(OUT_OF_MEMORY);
        blocks = more;
        block_capacity = capacity;
    }
    blocks[block_records++] = (block_record){now, 0};
}

static size_t block_at(uint32_t time) {
    size_t low = 0, high = block_records;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (blocks[middle].start <= time) low = middle + 1;
        else high = middle;
    }
    return low ? low - 1 : 0;
}

void block_of_time(uint32_t time, uint32_t block[3]) {
    uint64_t number = block_at(time);
    block[0] = (uint32_t)(number % launch.grid[0]);
    block[1] = (uint32_t)(number / launch.grid[0] % launch.grid[1]);
    block[2] = (uint32_t)(number / launch.grid[0] / launch.grid[1]);
}

// ---- races

static inline stamp stamp_now(uint32_t site_number) {
    return (stamp)now << 32 | (stamp)(site_number << 10) | current->index;
}

static bool is_ordered(stamp earlier, const region *region) {
    uint32_t time = TIME_OF(earlier), thread = THREAD_OF(earlier), self = current->index;
    if (time < block_time) // another block: shared memory is another memory, global memory needs a release
        return region->kind == SHARED || (block_has_acquired && blocks[block_at(time)].release > time);
    if (time < barrier_time || time < current->waited || thread == self) return true;
    if (thread / WARP_SIZE == self / WARP_SIZE) {
        uint32_t warp = self / WARP_SIZE;
        if (time < warp_time[warp] || time < lane_time[warp][self % WARP_SIZE][thread % WARP_SIZE]) return true;
    }
    return fibres[thread].released > time && current->acquired >= fibres[thread].released;
}

static bool may_conflict_slowly(stamp earlier, uint32_t site_number, const region *region) {
    uint32_t mine = launch.sites[site_number].flags, other = launch.sites[SITE_OF(earlier)].flags;
    if (mine && other) return false; // both atomic, volatile or relaxed
    bool same_block = TIME_OF(earlier) >= block_time;
    if (same_block && THREAD_OF(earlier) / WARP_SIZE == current->index / WARP_SIZE && (mine | other) & SITE_VOLATILE)
        return false;
    return !is_ordered(earlier, region);
}

static inline bool may_conflict(stamp earlier, uint32_t site_number, const region *region) {
    if (!earlier) return false;
    uint32_t time = TIME_OF(earlier);
    if (time >= block_time && (time < barrier_time || THREAD_OF(earlier) == current->index)) return false;
    return may_conflict_slowly(earlier, site_number, region);
}

static void __attribute__((noreturn)) report_race(uint64_t address, uint64_t size, uint32_t site_number, bool is_write,
                                                  stamp other, bool other_is_write) {
    wl_fault.is_write = is_write;
    wl_fault.other_is_write = other_is_write;
    wl_fault.other_site = SITE_OF(other);
    wl_fault.other_thread = THREAD_OF(other);
    block_of_time(TIME_OF(other), wl_fault.other_block);
    fail_at(RACE, address, size, site_number, find_region(address, 1));
}

void settle_pending(void) {
    has_pending = false;
    if (memcmp((void *)pending.address, pending.before, pending.size)) {
        if (pending.other)
            report_race(pending.address, pending.size, pending.site, true, pending.other, pending.other_is_write);
    } else if (pending.keeps_stamps) {
        for (uint32_t i = 0; i < pending.count; i++) pending.cells[i].write = pending.stamps[i];
    }
}

static void note_read(cell *cell, uint64_t address, uint64_t size, uint32_t site_number, const region *region, stamp mine) {
    if (may_conflict(cell->write, site_number, region))
        report_race(address, size, site_number, false, cell->write, true);
    stamp read = cell->read;
    if (read && (THREAD_OF(read) != THREAD_OF(mine) || TIME_OF(read) < block_time) &&
        (!cell->other_read || is_ordered(cell->other_read, region)))
        cell->other_read = read;
    cell->read = mine;
}

// What a write conflicts with, or 0.
static stamp conflict_of(const cell *cell, uint32_t site_number, const region *region, bool *is_write) {
    *is_write = may_conflict(cell->write, site_number, region);
    if (*is_write) return cell->write;
    if (may_conflict(cell->read, site_number, region)) return cell->read;
    return may_conflict(cell->other_read, site_number, region) ? cell->other_read : 0;
}

static void note_write(cell *cells, uint64_t count, uint64_t address, uint64_t size, uint32_t site_number,
                       const region *region, stamp mine) {
    stamp other = 0;
    bool other_is_write = false, keeps_stamps = true;
    for (uint64_t i = 0; i < count && !other; i++) other = conflict_of(&cells[i], site_number, region, &other_is_write);
    if (size <= PENDING_BYTES && !(launch.sites[site_number].flags & SITE_ATOMIC)) {
        has_pending = true;
        pending.address = address;
        pending.size = size;
        pending.site = site_number;
        pending.count = (uint32_t)count;
        pending.cells = cells;
        pending.other = other;
        pending.other_is_write = other_is_write;
        memcpy(pending.before, (void *)address, size);
        for (uint64_t i = 0; i < count; i++) {
            pending.stamps[i] = cells[i].write;
            keeps_stamps &= region->kind != SHARED || TIME_OF(cells[i].write) >= block_time;
        }
        // The first write of shared memory counts: it initializes. So does one that repeats another thread's value:
        // the thread may read then what it wrote itself.
        pending.keeps_stamps = keeps_stamps && !(other && other_is_write);
    } else if (other) {
        report_race(address, size, site_number, true, other, other_is_write);
    }
    for (uint64_t i = 0; i < count; i++) cells[i].write = mine;
}

enum access { READS, WRITES, UPDATES }; // an atomic both reads and writes

// A read of shared memory that nothing has written yet. If another thread writes it before the next barrier, then the two
// race, and that is what to tell; else this is.
static fault_record uninitialized_read;

static void note_uninitialized(uint64_t address, uint64_t size, uint32_t site_number, const region *region) {
    has_uninitialized_read = true;
    uninitialized_read = wl_fault;
    uninitialized_read.outcome = UNINITIALIZED;
    uninitialized_read.site = site_number;
    uninitialized_read.thread = current->index;
    memcpy(uninitialized_read.block, block_index, sizeof block_index);
    uninitialized_read.address = address;
    uninitialized_read.size = size;
    uninitialized_read.region = region - launch.regions;
    if (!races_are_checked) fail_uninitialized();
}

void fail_uninitialized(void) {
    wl_fault = uninitialized_read;
    leave(UNINITIALIZED);
}

static void note(region *region, uint64_t address, uint64_t size, uint32_t site_number, enum access access) {
    uint64_t offset = address - region->base, low_bits = offset | size;
    if (UNLIKELY(low_bits & ((1u << region->granule_shift) - 1))) {
        refine(region, (uint32_t)__builtin_ctzll(low_bits));
        if (!region->shadow) return;
    }
    cell *cells = region->shadow + (offset >> region->granule_shift);
    uint64_t count = size >> region->granule_shift;
    if (region->kind == SHARED && access != WRITES && launch.checks_uninitialized) {
        bool is_written = false;
        for (uint64_t i = 0; i < count && !is_written; i++) is_written = TIME_OF(cells[i].write) >= block_time;
        if (!is_written && !has_uninitialized_read) note_uninitialized(address, size, site_number, region);
    }
    stamp mine = stamp_now(site_number);
    if (!races_are_checked) {
        if (access != READS)
            for (uint64_t i = 0; i < count; i++) cells[i].write = mine;
        return;
    }
    if (access != READS) note_write(cells, count, address, size, site_number, region, mine);
    else
        for (uint64_t i = 0; i < count; i++) note_read(&cells[i], address, size, site_number, region, mine);
}

// ---- ordering by fences and atomics

EXPORT void wl_fence(uint32_t site_number) {
    (void)site_number;
    current->has_fenced = true;
}

void note_release(void) {
    if (!current->has_fenced) return;
    advance_time();
    current->released = now;
    blocks[block_records - 1].release = now;
}

static void note_acquire(void) {
    current->acquired = now;
    block_has_acquired = true;
}

// ---- local memory: each alloca is a record of its own, so that an index cannot stray from one array to the next

void reset_locals(fibre *thread) { thread->local_used = thread->local_count = 0; }

static uint32_t local_slot(void) { return launch.uses_fibres ? current->index : 0; }

EXPORT uint64_t wl_local_mark(void) { return (uint64_t)current->local_count << 32 | current->local_used; }
EXPORT void wl_local_release(uint64_t mark) {
    current->local_count = (uint32_t)(mark >> 32);
    current->local_used = (uint32_t)mark;
}

EXPORT void *wl_local(uint64_t size, uint64_t alignment, uint32_t site_number) {
    uint64_t start = (current->local_used + 32 + alignment - 1) & ~(alignment - 1);
    if (size > LOCAL_BYTES || start + size > LOCAL_BYTES || current->local_count == MOST_LOCALS)
        fail(LOCAL_EXHAUSTED, site_number);
    current->locals[current->local_count++] = (local_record){(uint32_t)start, (uint32_t)(start + size), site_number};
    current->local_used = (uint32_t)(start + size);
    uint64_t offset = ((uint64_t)local_slot() << LOCAL_SHIFT) + start;
    memset(local_initialized + offset, 0, size);
    return memset(local_memory + offset, POISON, size);
}

// A struct passed by value: the callee's own copy.
EXPORT void *wl_local_copy(const void *from, uint64_t size, uint64_t alignment, uint32_t site_number) {
    char *copy = wl_local(size, alignment, site_number);
    memcpy(copy, from, size);
    memset(local_initialized + (copy - local_memory), WRITTEN, size);
    return copy;
}

static bool is_local(uint64_t address) {
    return address - (uint64_t)local_memory < (uint64_t)MOST_THREADS << LOCAL_SHIFT;
}

// A variable's lifetime begins (anew, in a loop): what it held is gone.
EXPORT void wl_local_begin(void *variable) {
    if (!is_local((uint64_t)variable)) return;
    uint64_t offset = (uint64_t)variable - (uint64_t)local_memory;
    uint32_t within = (uint32_t)(offset & ((1u << LOCAL_SHIFT) - 1));
    for (uint32_t i = current->local_count; i-- > 0;)
        if (current->locals[i].start == within) {
            memset(local_initialized + offset, 0, current->locals[i].end - within);
            return;
        }
}

// Returns the offset in the arena of local memory.
static uint64_t locate_local(uint64_t address, uint64_t size, uint32_t site_number) {
    uint64_t offset = address - (uint64_t)local_memory;
    if (offset >> LOCAL_SHIFT != local_slot()) fail_at(FOREIGN_LOCAL, address, size, site_number, NULL);
    uint32_t within = (uint32_t)(offset & ((1u << LOCAL_SHIFT) - 1));
    const local_record *nearest = NULL;
    uint32_t least = UINT32_MAX;
    for (uint32_t i = current->local_count; i-- > 0;) {
        const local_record *record = &current->locals[i];
        if (within >= record->start && within <= record->end && size <= record->end - within) return offset;
        uint32_t distance = within < record->start ? record->start - within : within - record->end + 1;
        if (within >= record->start && within < record->end) distance = 0;
        if (distance < least) {
            least = distance;
            nearest = record;
        }
    }
    if (nearest) {
        wl_fault.local_site = nearest->site;
        wl_fault.local_offset = within - nearest->start;
        wl_fault.local_size = nearest->end - nearest->start;
    }
    fail_at(OUT_OF_BOUNDS, address, size, site_number, NULL);
}

static bool any_initialized(uint64_t offset, uint64_t size) {
    for (uint64_t i = 0; i < size; i++)
        if (local_initialized[offset + i]) return true;
    return false;
}

static void access_local(uint64_t address, uint64_t size, uint32_t site_number, enum access access) {
    uint64_t offset = locate_local(address, size, site_number);
    if (access != WRITES && launch.checks_uninitialized && !any_initialized(offset, size)) {
        uint32_t within = (uint32_t)(offset & ((1u << LOCAL_SHIFT) - 1));
        for (uint32_t i = 0; i < current->local_count; i++)
            if (within >= current->locals[i].start && within < current->locals[i].end) {
                wl_fault.local_site = current->locals[i].site;
                wl_fault.local_offset = within - current->locals[i].start;
                wl_fault.local_size = current->locals[i].end - current->locals[i].start;
            }
        fail_at(UNINITIALIZED, address, size, site_number, NULL);
    }
    if (access != READS) memset(local_initialized + offset, WRITTEN, size);
}

// ---- called by instrumented code, before each access

static inline void check(uint64_t address, uint64_t size, uint32_t site_number, enum access access) {
    if (UNLIKELY(has_pending)) settle_pending();
    const site *where = &launch.sites[site_number];
    if (UNLIKELY(address & where->alignment_mask))
        fail_at(MISALIGNED, address, size, site_number, find_region(address, 1));
    bool is_speculated = where->flags & SITE_SPECULATED;
    if (is_local(address)) {
        if (is_speculated) locate_local(address, size, site_number);
        else access_local(address, size, site_number, access);
        return;
    }
    region *region = locate(address, size, site_number);
    if (UNLIKELY(is_speculated)) return;
    if (access != READS) {
        if (UNLIKELY(region->kind == CONSTANT || region->kind == LITERAL))
            fail_at(READ_ONLY, address, size, site_number, region);
        region->written = true;
    }
    if (region->shadow) note(region, address, size, site_number, access);
}

// Lanes take volatile accesses in lockstep, as warps did before Volta.
static inline void step_if_volatile(uint32_t site_number) {
    if (launch.uses_fibres && UNLIKELY(launch.sites[site_number].flags & SITE_VOLATILE)) {
        if (has_pending) settle_pending();
        wait_as(AT_LOCKSTEP, site_number);
    }
}

EXPORT void wl_load(uint64_t address, uint32_t site_number) {
    step_if_volatile(site_number);
    check(address, launch.sites[site_number].size, site_number, READS);
    if (launch.sites[site_number].flags & SITE_VOLATILE) note_acquire();
}

// A load that the optimizer moved: it counts where its result is used. Its bounds were checked when it was done.
EXPORT void wl_load_if(uint64_t address, uint32_t site_number, uint32_t is_used) {
    if (is_used) check(address, launch.sites[site_number].size, site_number, READS);
}

EXPORT void wl_store(uint64_t address, uint32_t site_number) {
    step_if_volatile(site_number);
    check(address, launch.sites[site_number].size, site_number, WRITES);
    if (launch.sites[site_number].flags & SITE_VOLATILE) note_release();
}

EXPORT void wl_update(uint64_t address, uint32_t site_number) {
    note_release();
    check(address, launch.sites[site_number].size, site_number, UPDATES);
    note_acquire();
}

EXPORT void wl_fill(uint64_t address, uint64_t size, uint32_t site_number) {
    if (size) check(address, size, site_number, WRITES);
}

// A struct passed by value, before the callee copies it: the optimizer may pass what the caller's pointer points to.
EXPORT void wl_record(uint64_t address, uint64_t size, uint32_t site_number) {
    if (!size) return;
    bool was_checked = launch.checks_uninitialized;
    launch.checks_uninitialized = false;
    check(address, size, site_number, READS);
    launch.checks_uninitialized = was_checked;
}

// Copies between local variables keep which bytes are initialized: padding may be copied.
EXPORT void wl_copy(uint64_t to, uint64_t from, uint64_t size, uint32_t site_number) {
    if (!size) return;
    bool was_checked = launch.checks_uninitialized;
    launch.checks_uninitialized = false;
    check(from, size, site_number, READS);
    launch.checks_uninitialized = was_checked;
    check(to, size, site_number, WRITES);
    if (is_local(to) && is_local(from))
        memmove(local_initialized + (to - (uint64_t)local_memory), local_initialized + (from - (uint64_t)local_memory), size);
}

EXPORT uint32_t wl_is_global(uint64_t address) {
    const region *found = find_region(address, 1);
    return found && (found->kind == ARGUMENT || found->kind == VARIABLE || found->kind == HEAP);
}
EXPORT uint32_t wl_is_shared(uint64_t address) {
    const region *found = find_region(address, 1);
    return found && found->kind == SHARED;
}
// The shared memory of which an address has these lower 32 bits.
EXPORT void *wl_shared_pointer(uint32_t low) {
    for (uint32_t i = 0; i < launch.region_count; i++) {
        const region *each = &launch.regions[i];
        if (each->kind == SHARED && low - (uint32_t)each->base < each->size) return (void *)(each->base + (low - (uint32_t)each->base));
    }
    return (void *)(uint64_t)low;
}
EXPORT uint32_t wl_is_constant(uint64_t address) {
    const region *found = find_region(address, 1);
    return found && (found->kind == CONSTANT || found->kind == LITERAL);
}
EXPORT uint32_t wl_is_local(uint64_t address) { return is_local(address); }

// Before a call through a pointer.
EXPORT void wl_function(void *function, uint32_t site_number) {
    uint32_t low = 0, high = launch.function_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (launch.functions[middle] == function) return;
        if (launch.functions[middle] < function) low = middle + 1;
        else high = middle;
    }
    wl_fault.address = (uint64_t)function;
    fail(BAD_FUNCTION, site_number);
}

// ---- memory for the caller

// Memory with a forbidden zone on either side. `size` is rounded up to whole pages; NULL where memory is lacking.
EXPORT void *wl_allocate(uint64_t size, uint64_t guard) {
    uint64_t bytes = (size + 4095) & ~(uint64_t)4095;
    if (!bytes) bytes = 4096;
    char *memory = mmap(NULL, bytes + 2 * guard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return NULL;
    if (mprotect(memory + guard, bytes, PROT_READ | PROT_WRITE)) {
        munmap(memory, bytes + 2 * guard);
        return NULL;
    }
    return memory + guard;
}

EXPORT void wl_free(void *memory, uint64_t size, uint64_t guard) {
    uint64_t bytes = (size + 4095) & ~(uint64_t)4095;
    munmap((char *)memory - guard, (bytes ? bytes : 4096) + 2 * guard);
}
