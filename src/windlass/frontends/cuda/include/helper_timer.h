// The CUDA samples' stop watches.
#pragma once
#include <chrono>

struct StopWatchInterface {
    std::chrono::steady_clock::time_point begin;
    double total = 0;
    int sessions = 0;
    bool running = false;
};
inline bool sdkCreateTimer(StopWatchInterface **timer) {
    *timer = new StopWatchInterface;
    return true;
}
inline bool sdkDeleteTimer(StopWatchInterface **timer) {
    delete *timer;
    *timer = nullptr;
    return true;
}
inline bool sdkStartTimer(StopWatchInterface **timer) {
    (*timer)->begin = std::chrono::steady_clock::now();
    (*timer)->running = true;
    return true;
}
inline bool sdkStopTimer(StopWatchInterface **timer) {
    (*timer)->total +=
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - (*timer)->begin).count();
    (*timer)->sessions += 1;
    (*timer)->running = false;
    return true;
}
inline bool sdkResetTimer(StopWatchInterface **timer) {
    (*timer)->total = 0;
    (*timer)->sessions = 0;
    return true;
}
inline float sdkGetTimerValue(StopWatchInterface **timer) { return (float)(*timer)->total; }
inline float sdkGetAverageTimerValue(StopWatchInterface **timer) {
    return (*timer)->sessions ? (float)((*timer)->total / (*timer)->sessions) : 0.0f;
}
