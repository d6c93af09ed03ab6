#pragma once
#include "submission.cuh"

namespace cub {
struct DeviceRunLengthEncode {
    template <class In, class Unique, class Lengths, class Count, class N>
    static cudaError_t Encode(void *storage, size_t &bytes, In in, Unique unique, Lengths lengths, Count runs, N count,
                              cudaStream_t stream = 0, bool = false) {
        if (detail::asks_for_size(storage, bytes)) return cudaSuccess;
        return detail::submit(stream, [=] {
            N run = 0;
            for (N i = 0; i < count; run++) {
                detail::value_t<In> value = in[i];
                N first = i;
                while (i < count && in[i] == value) i++;
                unique[run] = value;
                lengths[run] = i - first;
            }
            *runs = run;
        });
    }
    // Runs of two or more.
    template <class In, class Offsets, class Lengths, class Count, class N>
    static cudaError_t NonTrivialRuns(void *storage, size_t &bytes, In in, Offsets offsets, Lengths lengths, Count runs,
                                      N count, cudaStream_t stream = 0, bool = false) {
        if (detail::asks_for_size(storage, bytes)) return cudaSuccess;
        return detail::submit(stream, [=] {
            N run = 0;
            for (N i = 0; i < count;) {
                N first = i;
                while (i < count && in[i] == in[first]) i++;
                if (i - first < 2) continue;
                offsets[run] = first;
                lengths[run++] = i - first;
            }
            *runs = run;
        });
    }
};
}  // namespace cub
