// What barrier objects and asynchronous copies are made of.
//
// Copies are done at once, so that what is waited for is other threads only. A barrier object is 8 bytes of memory that
// these functions alone look at. Raised, a wait is __syncthreads(), where all threads of the block come to it: whoever
// has to arrive has arrived then.
#pragma once
#include "../windlass_cuda.h"

// `count` arrivals make a phase. Arriving gives the number of the phase that it counts for; `leaving` ones are not
// expected in later phases. Waiting is for the end of the phase of a number, or with the highest bit set of one that is
// as even or odd as the number. `passed` tells whether it has ended.
__WINDLASS_MEETS void __windlass_barrier_open(void *barrier, unsigned int count);
__WINDLASS_MEETS unsigned int __windlass_barrier_arrive(void *barrier, unsigned int arriving, unsigned int leaving);
__WINDLASS_MEETS void __windlass_barrier_wait(void *barrier, unsigned int phase);
__WINDLASS_MEETS int __windlass_barrier_passed(void *barrier, unsigned int phase);
// Whether an arrival would end the phase: for barriers that call a function before that.
__WINDLASS_MEETS int __windlass_barrier_is_last(void *barrier, unsigned int arriving);

// Bytes from one place to another, by the threads of a group, of which this one has this rank.
template <class T, class U>
__WINDLASS_DEVICE void __windlass_copy(T *target, const U *source, size_t bytes, unsigned int rank, unsigned int size) {
    if constexpr (!std::is_same_v<T, U> || std::is_void_v<T>) {
        // Of no known type: in words, wherever they begin.
        typedef unsigned int __attribute__((aligned(1))) word;
        if (bytes % 4 == 0)
            for (size_t i = rank; i < bytes / 4; i += size) ((word *)target)[i] = ((const word *)source)[i];
        else __windlass_copy((unsigned char *)target, (const unsigned char *)source, bytes, rank, size);
    } else if (sizeof(T) == 1 || bytes % sizeof(T) == 0) {
        for (size_t i = rank; i < bytes / sizeof(T); i += size) target[i] = source[i];
    } else {
        for (size_t i = rank; i < bytes; i += size) ((unsigned char *)target)[i] = ((const unsigned char *)source)[i];
    }
}
