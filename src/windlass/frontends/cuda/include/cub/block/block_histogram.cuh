// cub::BlockHistogram: how often each value below BINS occurs among a block's items.
#pragma once
#include "../util_ptx.cuh"

namespace cub {
enum BlockHistogramAlgorithm { BLOCK_HISTO_SORT, BLOCK_HISTO_ATOMIC };

template <class T, int BLOCK_DIM_X, int ITEMS_PER_THREAD, int BINS, BlockHistogramAlgorithm ALGORITHM = BLOCK_HISTO_SORT,
          int BLOCK_DIM_Y = 1, int BLOCK_DIM_Z = 1, int LEGACY_PTX_ARCH = 0>
class BlockHistogram {
    static constexpr int threads = BLOCK_DIM_X * BLOCK_DIM_Y * BLOCK_DIM_Z;
    int thread;

public:
    using TempStorage = detail::NoStorage;
    __WINDLASS_DEVICE_MEMBER BlockHistogram() : thread(RowMajorTid(BLOCK_DIM_X, BLOCK_DIM_Y, BLOCK_DIM_Z)) {}
    __WINDLASS_DEVICE_MEMBER BlockHistogram(TempStorage &) : BlockHistogram() {}

    template <class Counter> __WINDLASS_DEVICE_MEMBER void InitHistogram(Counter *histogram) {
        for (int bin = thread; bin < BINS; bin += threads) histogram[bin] = 0;
    }
    // Adds to a histogram.
    template <class Counter> __WINDLASS_DEVICE_MEMBER void Composite(T (&items)[ITEMS_PER_THREAD], Counter *histogram) {
        for (int i = 0; i < ITEMS_PER_THREAD; i++) atomicAdd(histogram + (unsigned int)items[i], Counter(1));
    }
    template <class Counter> __WINDLASS_DEVICE_MEMBER void Histogram(T (&items)[ITEMS_PER_THREAD], Counter *histogram) {
        InitHistogram(histogram);
        __syncthreads();
        Composite(items, histogram);
    }
};
}  // namespace cub
