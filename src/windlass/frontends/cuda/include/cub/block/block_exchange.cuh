// cub::BlockExchange: items change threads, between blocked, striped and warp-striped arrangements, or by rank.
#pragma once
#include "../util_ptx.cuh"

namespace cub {
template <class InputT, int BLOCK_DIM_X, int ITEMS_PER_THREAD, bool WARP_TIME_SLICING = false, int BLOCK_DIM_Y = 1,
          int BLOCK_DIM_Z = 1, int LEGACY_PTX_ARCH = 0>
class BlockExchange {
    static constexpr int threads = BLOCK_DIM_X * BLOCK_DIM_Y * BLOCK_DIM_Z, items = ITEMS_PER_THREAD;

public:
    struct TempStorage {
        detail::Storage<InputT, threads * items> values;
    };

private:
    TempStorage &storage;
    int thread;
    static __WINDLASS_DEVICE_MEMBER TempStorage &own_storage() {
        __shared__ TempStorage own;
        return own;
    }
    // Where item i of this thread is in each arrangement.
    __WINDLASS_DEVICE_MEMBER int blocked(int i) const { return thread * items + i; }
    __WINDLASS_DEVICE_MEMBER int striped(int i) const { return thread + i * threads; }
    __WINDLASS_DEVICE_MEMBER int warp_striped(int i) const {
        int warp = thread / 32, lanes = threads - warp * 32 < 32 ? threads - warp * 32 : 32;
        return warp * 32 * items + thread % 32 + i * lanes;
    }
    template <class OutputT, class From, class To>
    __WINDLASS_DEVICE_MEMBER void exchange(const InputT (&input)[items], OutputT (&output)[items], From from, To to) {
        for (int i = 0; i < items; i++) {
            int place = from(i);
            if (place >= 0) storage.values[place] = input[i];
        }
        __syncthreads();
        for (int i = 0; i < items; i++) output[i] = storage.values[to(i)];
    }

public:
    __WINDLASS_DEVICE_MEMBER BlockExchange() : BlockExchange(own_storage()) {}
    __WINDLASS_DEVICE_MEMBER BlockExchange(TempStorage &storage)
        : storage(storage), thread(RowMajorTid(BLOCK_DIM_X, BLOCK_DIM_Y, BLOCK_DIM_Z)) {}

    template <class O> __WINDLASS_DEVICE_MEMBER void StripedToBlocked(const InputT (&input)[items], O (&output)[items]) {
        exchange(input, output, [&](int i) { return striped(i); }, [&](int i) { return blocked(i); });
    }
    template <class O> __WINDLASS_DEVICE_MEMBER void BlockedToStriped(const InputT (&input)[items], O (&output)[items]) {
        exchange(input, output, [&](int i) { return blocked(i); }, [&](int i) { return striped(i); });
    }
    template <class O>
    __WINDLASS_DEVICE_MEMBER void WarpStripedToBlocked(const InputT (&input)[items], O (&output)[items]) {
        exchange(input, output, [&](int i) { return warp_striped(i); }, [&](int i) { return blocked(i); });
    }
    template <class O>
    __WINDLASS_DEVICE_MEMBER void BlockedToWarpStriped(const InputT (&input)[items], O (&output)[items]) {
        exchange(input, output, [&](int i) { return blocked(i); }, [&](int i) { return warp_striped(i); });
    }
    template <class O, class R>
    __WINDLASS_DEVICE_MEMBER void ScatterToBlocked(const InputT (&input)[items], O (&output)[items], R (&ranks)[items]) {
        exchange(input, output, [&](int i) { return (int)ranks[i]; }, [&](int i) { return blocked(i); });
    }
    template <class O, class R>
    __WINDLASS_DEVICE_MEMBER void ScatterToStriped(const InputT (&input)[items], O (&output)[items], R (&ranks)[items]) {
        exchange(input, output, [&](int i) { return (int)ranks[i]; }, [&](int i) { return striped(i); });
    }
    // Items of rank -1 go nowhere.
    template <class O, class R>
    __WINDLASS_DEVICE_MEMBER void ScatterToStripedGuarded(const InputT (&input)[items], O (&output)[items],
                                                          R (&ranks)[items]) {
        ScatterToStriped(input, output, ranks);
    }
    template <class O, class R, class V>
    __WINDLASS_DEVICE_MEMBER void ScatterToStripedFlagged(const InputT (&input)[items], O (&output)[items],
                                                          R (&ranks)[items], V (&is_valid)[items]) {
        exchange(input, output, [&](int i) { return is_valid[i] ? (int)ranks[i] : -1; },
                 [&](int i) { return striped(i); });
    }
    // In place.
    __WINDLASS_DEVICE_MEMBER void StripedToBlocked(InputT (&values)[items]) { StripedToBlocked(values, values); }
    __WINDLASS_DEVICE_MEMBER void BlockedToStriped(InputT (&values)[items]) { BlockedToStriped(values, values); }
    __WINDLASS_DEVICE_MEMBER void WarpStripedToBlocked(InputT (&values)[items]) { WarpStripedToBlocked(values, values); }
    __WINDLASS_DEVICE_MEMBER void BlockedToWarpStriped(InputT (&values)[items]) { BlockedToWarpStriped(values, values); }
    template <class R> __WINDLASS_DEVICE_MEMBER void ScatterToBlocked(InputT (&values)[items], R (&ranks)[items]) {
        ScatterToBlocked(values, values, ranks);
    }
    template <class R> __WINDLASS_DEVICE_MEMBER void ScatterToStriped(InputT (&values)[items], R (&ranks)[items]) {
        ScatterToStriped(values, values, ranks);
    }
};
}  // namespace cub
