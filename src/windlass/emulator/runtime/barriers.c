// Barriers as objects of the kernel: so many arrivals end a phase, and threads wait for the end of one.
//
// A wait orders all that any thread did before it: races that only the barrier's own arrivals would reveal go unseen.
#include "machine.h"

enum { MARK = 0xB5, BY_PARITY = 1u << 31, PHASES = 1 << 24 };

typedef struct {
    uint16_t expected, arrived;
    uint32_t phase : 24, mark : 8;
} barrier_object;

static barrier_object *barrier_at(uint64_t address, uint32_t site_number, bool is_opened) {
    if (has_pending) settle_pending();
    region *region = find_region(address, sizeof(barrier_object));
    wl_fault.address = address;
    wl_fault.size = sizeof(barrier_object);
    wl_fault.region = region ? region - launch.regions : -1;
    if (!region) fail(OUT_OF_BOUNDS, site_number);
    if (address % sizeof(barrier_object)) fail(MISALIGNED, site_number);
    barrier_object *barrier = (barrier_object *)address;
    if (is_opened && barrier->mark != MARK) fail(UNINITIALIZED, site_number);
    return barrier;
}

// `phase` is a number, or only whether it is even or odd.
bool has_passed(uint64_t address, uint32_t phase) {
    const barrier_object *barrier = (const barrier_object *)address;
    return phase & BY_PARITY ? (barrier->phase ^ phase) & 1 : barrier->phase != phase;
}

static void note_wait(void) {
    advance_time();
    current->waited = now;
}

EXPORT void wl_barrier_open(uint64_t address, uint32_t count, uint32_t site_number) {
    barrier_object *barrier = barrier_at(address, site_number, false);
    *barrier = (barrier_object){(uint16_t)count, 0, 0, MARK};
}

EXPORT uint32_t wl_barrier_arrive(uint64_t address, uint32_t arriving, uint32_t leaving, uint32_t site_number) {
    barrier_object *barrier = barrier_at(address, site_number, true);
    uint32_t phase = barrier->phase, arrived = barrier->arrived + arriving;
    bool is_over = arrived >= barrier->expected;
    barrier->expected -= leaving;
    // One that leaves takes its arrival with it, and is not missed in this phase either.
    barrier->arrived = is_over ? 0 : arrived - leaving;
    if (is_over) barrier->phase = (phase + 1) % PHASES;
    advance_time();
    return phase;
}

EXPORT uint32_t wl_barrier_is_last(uint64_t address, uint32_t arriving, uint32_t site_number) {
    barrier_object *barrier = barrier_at(address, site_number, true);
    bool is_last = barrier->arrived + arriving >= barrier->expected;
    if (is_last) note_wait();
    return is_last;
}

EXPORT void wl_barrier_wait(uint64_t address, uint32_t phase, uint32_t site_number) {
    barrier_at(address, site_number, true);
    current->operand = address;
    current->control = phase;
    while (!has_passed(address, phase)) wait_as(AT_BARRIER_OBJECT, site_number);
    note_wait();
}

// Who asks again and again lets others run in between.
EXPORT uint32_t wl_barrier_passed(uint64_t address, uint32_t phase, uint32_t site_number) {
    barrier_at(address, site_number, true);
    if (!has_passed(address, phase)) wait_as(YIELDED, site_number);
    if (!has_passed(address, phase)) return 0;
    note_wait();
    return 1;
}
