// cub::WarpExchange: items change lanes, between blocked and striped arrangements, or by rank.
#pragma once
#include "../util_ptx.cuh"

namespace cub {
enum WarpExchangeAlgorithm { WARP_EXCHANGE_SMEM, WARP_EXCHANGE_SHUFFLE };

template <class InputT, int ITEMS_PER_THREAD, int LOGICAL_WARP_THREADS = 32, int PTX_ARCH = 0,
          WarpExchangeAlgorithm ALGORITHM = WARP_EXCHANGE_SMEM>
class WarpExchange {
    static constexpr int width = LOGICAL_WARP_THREADS, items = ITEMS_PER_THREAD;

public:
    struct TempStorage {
        detail::Storage<InputT, width * items> values;
    };

private:
    TempStorage &storage;
    int lane;
    unsigned int mask;
    template <class OutputT, class From, class To>
    __WINDLASS_DEVICE_MEMBER void exchange(const InputT (&input)[items], OutputT (&output)[items], From from, To to) {
        for (int i = 0; i < items; i++) storage.values[from(i)] = input[i];
        __syncwarp(mask);
        for (int i = 0; i < items; i++) output[i] = storage.values[to(i)];
    }

public:
    WarpExchange() = delete;
    __WINDLASS_DEVICE_MEMBER explicit WarpExchange(TempStorage &storage) : storage(storage) {
        int own = (int)LaneId();
        lane = width == 32 ? own : own % width;
        mask = WarpMask<width>(own / width);
        if constexpr (32 % width) mask <<= own - lane;
    }
    template <class O> __WINDLASS_DEVICE_MEMBER void BlockedToStriped(const InputT (&input)[items], O (&output)[items]) {
        exchange(input, output, [&](int i) { return lane * items + i; }, [&](int i) { return lane + i * width; });
    }
    template <class O> __WINDLASS_DEVICE_MEMBER void StripedToBlocked(const InputT (&input)[items], O (&output)[items]) {
        exchange(input, output, [&](int i) { return lane + i * width; }, [&](int i) { return lane * items + i; });
    }
    template <class R> __WINDLASS_DEVICE_MEMBER void ScatterToStriped(InputT (&values)[items], R (&ranks)[items]) {
        ScatterToStriped(values, values, ranks);
    }
    template <class O, class R>
    __WINDLASS_DEVICE_MEMBER void ScatterToStriped(const InputT (&input)[items], O (&output)[items], R (&ranks)[items]) {
        exchange(input, output, [&](int i) { return (int)ranks[i]; }, [&](int i) { return lane + i * width; });
    }
};
}  // namespace cub
