#pragma once
#include "submission.cuh"

namespace cub {
struct DeviceHistogram {
    // `levels` boundaries at equal distances make levels - 1 bins; samples outside are not counted.
    template <class Samples, class Counter, class Level, class N>
    static cudaError_t HistogramEven(void *storage, size_t &bytes, Samples samples, Counter *histogram, int levels,
                                     Level lower, Level upper, N count, cudaStream_t stream = 0, bool = false) {
        return HistogramEven(storage, bytes, samples, histogram, levels, lower, upper, count, (N)1, (size_t)0, stream);
    }
    template <class Samples, class Counter, class Level, class N>
    static cudaError_t HistogramEven(void *storage, size_t &bytes, Samples samples, Counter *histogram, int levels,
                                     Level lower, Level upper, N row_count, N rows, size_t row_stride_bytes,
                                     cudaStream_t stream = 0, bool = false) {
        Counter *histograms[1] = {histogram};
        return MultiHistogramEven<1, 1>(storage, bytes, samples, histograms, &levels, &lower, &upper, row_count, rows,
                                        row_stride_bytes, stream);
    }
    template <class Samples, class Counter, class Level, class N>
    static cudaError_t HistogramRange(void *storage, size_t &bytes, Samples samples, Counter *histogram, int levels,
                                      Level *boundaries, N count, cudaStream_t stream = 0, bool = false) {
        return HistogramRange(storage, bytes, samples, histogram, levels, boundaries, count, (N)1, (size_t)0, stream);
    }
    template <class Samples, class Counter, class Level, class N>
    static cudaError_t HistogramRange(void *storage, size_t &bytes, Samples samples, Counter *histogram, int levels,
                                      Level *boundaries, N row_count, N rows, size_t row_stride_bytes,
                                      cudaStream_t stream = 0, bool = false) {
        Counter *histograms[1] = {histogram};
        Level *ranges[1] = {boundaries};
        return MultiHistogramRange<1, 1>(storage, bytes, samples, histograms, &levels, ranges, row_count, rows,
                                         row_stride_bytes, stream);
    }
    // Samples of several channels side by side, the first ACTIVE of which have a histogram each.
    template <int CHANNELS, int ACTIVE, class Samples, class Counter, class Level, class N>
    static cudaError_t MultiHistogramEven(void *storage, size_t &bytes, Samples samples, Counter **histograms,
                                          const int *levels, const Level *lower, const Level *upper, N pixels,
                                          cudaStream_t stream = 0, bool = false) {
        return MultiHistogramEven<CHANNELS, ACTIVE>(storage, bytes, samples, histograms, levels, lower, upper, pixels,
                                                    (N)1, (size_t)0, stream);
    }
    template <int CHANNELS, int ACTIVE, class Samples, class Counter, class Level, class N>
    static cudaError_t MultiHistogramEven(void *storage, size_t &bytes, Samples samples, Counter **histograms,
                                          const int *levels, const Level *lower, const Level *upper, N row_pixels, N rows,
                                          size_t row_stride_bytes, cudaStream_t stream = 0, bool = false) {
        if (detail::asks_for_size(storage, bytes)) return cudaSuccess;
        Channels<ACTIVE, Counter, Level> all(histograms, levels);
        for (int c = 0; c < ACTIVE; c++) all.lower[c] = lower[c], all.upper[c] = upper[c];
        return count_all<CHANNELS>(stream, samples, all, row_pixels, rows, row_stride_bytes, [=](int c, auto sample) {
            if (!(sample >= all.lower[c] && sample < all.upper[c])) return -1;
            int bins = all.levels[c] - 1;
            int bin;
            if constexpr (std::is_integral_v<Level>)
                bin = (int)((unsigned __int128)(sample - all.lower[c]) * bins / (all.upper[c] - all.lower[c]));
            else bin = (int)((sample - all.lower[c]) * (Level)(bins / (all.upper[c] - all.lower[c])));
            return bin < bins ? bin : bins - 1;
        });
    }
    template <int CHANNELS, int ACTIVE, class Samples, class Counter, class Level, class N>
    static cudaError_t MultiHistogramRange(void *storage, size_t &bytes, Samples samples, Counter **histograms,
                                           const int *levels, Level *const *boundaries, N pixels, cudaStream_t stream = 0,
                                           bool = false) {
        return MultiHistogramRange<CHANNELS, ACTIVE>(storage, bytes, samples, histograms, levels, boundaries, pixels,
                                                     (N)1, (size_t)0, stream);
    }
    template <int CHANNELS, int ACTIVE, class Samples, class Counter, class Level, class N>
    static cudaError_t MultiHistogramRange(void *storage, size_t &bytes, Samples samples, Counter **histograms,
                                           const int *levels, Level *const *boundaries, N row_pixels, N rows,
                                           size_t row_stride_bytes, cudaStream_t stream = 0, bool = false) {
        if (detail::asks_for_size(storage, bytes)) return cudaSuccess;
        Channels<ACTIVE, Counter, const Level *> all(histograms, levels);
        for (int c = 0; c < ACTIVE; c++) all.lower[c] = boundaries[c];
        return count_all<CHANNELS>(stream, samples, all, row_pixels, rows, row_stride_bytes, [=](int c, auto sample) {
            const Level *first = all.lower[c], *last = first + all.levels[c];
            if (!(sample >= first[0] && sample < last[-1])) return -1;
            return (int)(std::upper_bound(first, last, (Level)sample) - first) - 1;
        });
    }

private:
    template <int ACTIVE, class Counter, class Level> struct Channels {
        static constexpr int active = ACTIVE;
        Counter *histograms[ACTIVE];
        int levels[ACTIVE];
        Level lower[ACTIVE], upper[ACTIVE];
        Channels(Counter **all, const int *counts) {
            for (int c = 0; c < ACTIVE; c++) histograms[c] = all[c], levels[c] = counts[c];
        }
    };
    template <int CHANNELS, class Samples, class All, class N, class BinOf>
    static cudaError_t count_all(cudaStream_t stream, Samples samples, All all, N row_pixels, N rows,
                                 size_t row_stride_bytes, BinOf bin_of) {
        return detail::submit(stream, [=] {
            using Sample = detail::value_t<Samples>;
            for (int c = 0; c < All::active; c++)
                for (int bin = 0; bin < all.levels[c] - 1; bin++) all.histograms[c][bin] = 0;
            for (N y = 0; y < rows; y++) {
                Samples row = samples + y * (row_stride_bytes / sizeof(Sample));
                for (N x = 0; x < row_pixels; x++)
                    for (int c = 0; c < All::active; c++) {
                        int bin = bin_of(c, (Sample)row[x * CHANNELS + c]);
                        if (bin >= 0) all.histograms[c][bin] += 1;
                    }
            }
        });
    }
};
}  // namespace cub
