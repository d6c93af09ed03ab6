// What the lanes of a warp do together. A lane leaves its operands and waits; when all lanes that its mask names and
// that have not exited wait at the same collective with the same mask, results are computed for all of them at once.
#include "machine.h"

enum collective {
    SYNC,
    SHUFFLE_INDEX, SHUFFLE_UP, SHUFFLE_DOWN, SHUFFLE_XOR,
    SHUFFLE_INDEX_WIDE, SHUFFLE_UP_WIDE, SHUFFLE_DOWN_WIDE, SHUFFLE_XOR_WIDE, // of 64 bits, in the same order
    VOTE_ANY, VOTE_ALL, VOTE_UNIFORM, VOTE_BALLOT,
    MATCH_ANY, MATCH_ALL,
    REDUCE_ADD, REDUCE_MIN, REDUCE_MAX, REDUCE_UNSIGNED_MIN, REDUCE_UNSIGNED_MAX, REDUCE_AND, REDUCE_OR, REDUCE_XOR,
    ELECT,
};

static uint64_t take_part(uint32_t kind, uint32_t mask, uint64_t operand, uint64_t control, uint32_t site_number) {
    if (has_pending) settle_pending();
    if (!(mask >> (current->index % WARP_SIZE) & 1)) fail(LANE_NOT_IN_MASK, site_number);
    current->kind = kind;
    current->mask = mask;
    current->operand = operand;
    current->control = control;
    wait_as(AT_COLLECTIVE, site_number);
    return current->result;
}

// Results of shuffles of 32 bits and of match_all carry a predicate in bit 32.
#define SHUFFLE(name, kind)                                                                                            \
    EXPORT uint64_t name(uint32_t mask, uint32_t value, uint32_t lane, uint32_t control, uint32_t site_number) {       \
        return take_part(kind, mask, value, (uint64_t)control << 32 | lane, site_number);                              \
    }                                                                                                                  \
    EXPORT uint64_t name##_wide(uint32_t mask, uint64_t value, uint32_t lane, uint32_t control, uint32_t site_number) {\
        return take_part(kind##_WIDE, mask, value, (uint64_t)control << 32 | lane, site_number);                       \
    }
SHUFFLE(wl_shuffle_index, SHUFFLE_INDEX)
SHUFFLE(wl_shuffle_up, SHUFFLE_UP)
SHUFFLE(wl_shuffle_down, SHUFFLE_DOWN)
SHUFFLE(wl_shuffle_xor, SHUFFLE_XOR)
EXPORT uint32_t wl_vote_any(uint32_t mask, uint32_t predicate, uint32_t site_number) {
    return (uint32_t)take_part(VOTE_ANY, mask, predicate, 0, site_number);
}
EXPORT uint32_t wl_vote_all(uint32_t mask, uint32_t predicate, uint32_t site_number) {
    return (uint32_t)take_part(VOTE_ALL, mask, predicate, 0, site_number);
}
EXPORT uint32_t wl_vote_uniform(uint32_t mask, uint32_t predicate, uint32_t site_number) {
    return (uint32_t)take_part(VOTE_UNIFORM, mask, predicate, 0, site_number);
}
EXPORT uint32_t wl_vote_ballot(uint32_t mask, uint32_t predicate, uint32_t site_number) {
    return (uint32_t)take_part(VOTE_BALLOT, mask, predicate, 0, site_number);
}
EXPORT uint32_t wl_match_any(uint32_t mask, uint64_t value, uint32_t site_number) {
    return (uint32_t)take_part(MATCH_ANY, mask, value, 0, site_number);
}
EXPORT uint64_t wl_match_all(uint32_t mask, uint64_t value, uint32_t site_number) {
    return take_part(MATCH_ALL, mask, value, 0, site_number);
}
#define REDUCTION(name, kind)                                                                                          \
    EXPORT uint32_t name(uint32_t value, uint32_t mask, uint32_t site_number) {                                        \
        return (uint32_t)take_part(kind, mask, value, 0, site_number);                                                 \
    }
REDUCTION(wl_reduce_add, REDUCE_ADD)
REDUCTION(wl_reduce_min, REDUCE_MIN)
REDUCTION(wl_reduce_max, REDUCE_MAX)
REDUCTION(wl_reduce_unsigned_min, REDUCE_UNSIGNED_MIN)
REDUCTION(wl_reduce_unsigned_max, REDUCE_UNSIGNED_MAX)
REDUCTION(wl_reduce_and, REDUCE_AND)
REDUCTION(wl_reduce_or, REDUCE_OR)
REDUCTION(wl_reduce_xor, REDUCE_XOR)
EXPORT uint64_t wl_elect(uint32_t mask, uint32_t site_number) { return take_part(ELECT, mask, 0, 0, site_number); }
EXPORT void wl_warp_barrier(uint32_t mask, uint32_t site_number) { take_part(SYNC, mask, 0, 0, site_number); }
EXPORT void wl_warp_meets(uint32_t site_number) { take_part(SYNC, UINT32_MAX, 0, 0, site_number); }

// The lanes that run together: those that come to the same place before any of them can go on.
EXPORT uint32_t wl_active_mask(uint32_t site_number) {
    if (has_pending) settle_pending();
    if (!launch.uses_fibres) return 1u << current->index % WARP_SIZE;
    wait_as(AT_ACTIVE_MASK, site_number);
    return (uint32_t)current->result;
}

// CUDA leaves open what a lane gives that takes no part: here it is the reading lane's own value, or something else
// where the caller wants to see whether it matters. The first such read is noted.
static uint64_t undefined_value(const fibre *thread, uint32_t source) {
    if (wl_fault.outcome == FINISHED) {
        wl_fault.outcome = LANE_TAKES_NO_PART;
        wl_fault.site = thread->site;
        wl_fault.thread = thread->index;
        wl_fault.other_thread = source;
        memcpy(wl_fault.block, block_index, sizeof block_index);
    }
    return launch.varies_undefined ? thread->operand ^ 0x5555555555555555 : thread->operand;
}

// PTX, shfl.sync: the lane that is read from, and whether it lies within the segment.
static uint64_t shuffle(uint32_t kind, const fibre *thread, uint32_t first, uint32_t members) {
    bool is_wide = kind >= SHUFFLE_INDEX_WIDE;
    if (is_wide) kind -= SHUFFLE_INDEX_WIDE - SHUFFLE_INDEX;
    int32_t lane = (int32_t)(thread->index % WARP_SIZE), offset = (int32_t)(thread->control & 31);
    uint32_t control = (uint32_t)(thread->control >> 32), segment = control >> 8 & 31, clamp = control & 31;
    int32_t lowest = lane & (int32_t)segment, highest = lowest | (int32_t)(clamp & ~segment);
    int32_t source = kind == SHUFFLE_INDEX  ? lowest | (offset & (int32_t)~segment)
                     : kind == SHUFFLE_UP   ? lane - offset
                     : kind == SHUFFLE_DOWN ? lane + offset
                                            : lane ^ offset;
    bool within = kind == SHUFFLE_UP ? source >= highest : source <= highest;
    if (!within) source = lane;
    uint32_t number = first + (uint32_t)source;
    uint64_t value = members >> source & 1 ? fibres[number].operand : undefined_value(thread, number);
    return is_wide ? value : (uint64_t)within << 32 | (uint32_t)value;
}

static uint32_t reduce(uint32_t kind, uint32_t first, uint32_t members) {
    uint32_t result = 0;
    bool is_first = true;
    for (uint32_t lane = 0; lane < WARP_SIZE; lane++) {
        if (!(members >> lane & 1)) continue;
        uint32_t value = (uint32_t)fibres[first + lane].operand;
        if (is_first) result = value;
        else if (kind == REDUCE_ADD) result += value;
        else if (kind == REDUCE_MIN) result = (int32_t)value < (int32_t)result ? value : result;
        else if (kind == REDUCE_MAX) result = (int32_t)value > (int32_t)result ? value : result;
        else if (kind == REDUCE_UNSIGNED_MIN) result = value < result ? value : result;
        else if (kind == REDUCE_UNSIGNED_MAX) result = value > result ? value : result;
        else if (kind == REDUCE_AND) result &= value;
        else if (kind == REDUCE_OR) result |= value;
        else result ^= value;
        is_first = false;
    }
    return result;
}

static void compute(uint32_t kind, uint32_t first, uint32_t members) {
    uint32_t ballot = 0, lowest = (uint32_t)__builtin_ctz(members);
    bool all_equal = true;
    for (uint32_t lane = 0; lane < WARP_SIZE; lane++)
        if (members >> lane & 1) {
            ballot |= (uint32_t)(fibres[first + lane].operand != 0) << lane;
            all_equal &= fibres[first + lane].operand == fibres[first + lowest].operand;
        }
    uint32_t reduction = kind >= REDUCE_ADD && kind <= REDUCE_XOR ? reduce(kind, first, members) : 0;
    for (uint32_t lane = 0; lane < WARP_SIZE; lane++) {
        if (!(members >> lane & 1)) continue;
        fibre *thread = &fibres[first + lane];
        switch (kind) {
        case SYNC: break;
        case SHUFFLE_INDEX: case SHUFFLE_UP: case SHUFFLE_DOWN: case SHUFFLE_XOR:
        case SHUFFLE_INDEX_WIDE: case SHUFFLE_UP_WIDE: case SHUFFLE_DOWN_WIDE: case SHUFFLE_XOR_WIDE:
            thread->result = shuffle(kind, thread, first, members); break;
        case VOTE_ANY: thread->result = ballot != 0; break;
        case VOTE_ALL: thread->result = ballot == members; break;
        case VOTE_UNIFORM: thread->result = ballot == members || ballot == 0; break;
        case VOTE_BALLOT: thread->result = ballot; break;
        case MATCH_ANY: {
            uint32_t same = 0;
            for (uint32_t k = 0; k < WARP_SIZE; k++)
                if (members >> k & 1 && fibres[first + k].operand == thread->operand) same |= 1u << k;
            thread->result = same;
            break;
        }
        case MATCH_ALL: thread->result = all_equal ? (uint64_t)1 << 32 | members : 0; break;
        case ELECT: thread->result = (uint64_t)(lane == lowest) << 32 | lowest; break;
        default: thread->result = reduction;
        }
    }
}

// The members have met: what each did before is known to all of them.
static void order(uint32_t first, uint32_t members, uint32_t live) {
    uint32_t warp = first / WARP_SIZE;
    advance_time();
    if (members == live) {
        warp_time[warp] = now;
        return;
    }
    uint32_t known[WARP_SIZE] = {0};
    for (uint32_t lane = 0; lane < WARP_SIZE; lane++)
        if (members >> lane & 1)
            for (uint32_t other = 0; other < WARP_SIZE; other++)
                if (lane_time[warp][lane][other] > known[other]) known[other] = lane_time[warp][lane][other];
    for (uint32_t lane = 0; lane < WARP_SIZE; lane++)
        if (members >> lane & 1) known[lane] = now;
    for (uint32_t lane = 0; lane < WARP_SIZE; lane++)
        if (members >> lane & 1) memcpy(lane_time[warp][lane], known, sizeof known);
}

bool complete_collectives(uint32_t first, uint32_t count) {
    bool completed = false;
    uint32_t live = 0, waiting = 0;
    for (uint32_t lane = 0; lane < count; lane++) {
        live |= (uint32_t)(fibres[first + lane].state != DONE) << lane;
        waiting |= (uint32_t)(fibres[first + lane].state == AT_COLLECTIVE) << lane;
    }
    while (waiting) {
        fibre *leader = &fibres[first + (uint32_t)__builtin_ctz(waiting)];
        uint32_t members = leader->mask & live, arrived = 0;
        for (uint32_t lane = 0; lane < count; lane++) {
            fibre *thread = &fibres[first + lane];
            if (waiting >> lane & 1 && thread->kind == leader->kind && thread->mask == leader->mask) arrived |= 1u << lane;
        }
        waiting &= ~arrived;
        if (arrived != members) continue;
        compute(leader->kind, first, members);
        order(first, members, live);
        for (uint32_t lane = 0; lane < count; lane++)
            if (members >> lane & 1) fibres[first + lane].state = READY;
        completed = true;
    }
    return completed;
}

bool complete_active_masks(uint32_t first, uint32_t count) {
    bool completed = false;
    for (uint32_t lane = 0; lane < count; lane++) {
        fibre *leader = &fibres[first + lane];
        if (leader->state != AT_ACTIVE_MASK) continue;
        uint32_t together = 0;
        for (uint32_t k = lane; k < count; k++)
            if (fibres[first + k].state == AT_ACTIVE_MASK && fibres[first + k].site == leader->site) together |= 1u << k;
        for (uint32_t k = lane; k < count; k++)
            if (together >> k & 1) {
                fibres[first + k].result = together;
                fibres[first + k].state = READY;
            }
        completed = true;
    }
    return completed;
}
