// What the CUDA samples' helper headers offer, as far as programs use it: error checks, device choice, command lines.
#pragma once
#include "windlass_cuda.h"
#include <cmath>

template <class T> inline void __windlass_check(T result, const char *call, const char *file, int line) {
    if (result) {
        fprintf(stderr, "%s:%d: %s failed with code %d\n", file, line, call, (int)result);
        exit(EXIT_FAILURE);
    }
}
#define checkCudaErrors(call) __windlass_check((call), #call, __FILE__, __LINE__)
#define getLastCudaError(message) __windlass_check(cudaGetLastError(), message, __FILE__, __LINE__)
#define printLastCudaError(message) ((void)cudaGetLastError())

// The names of the CUDA 2 to 4 samples' utility library.
#define cutilSafeCall(call) checkCudaErrors(call)
#define cutilSafeCallNoSync(call) checkCudaErrors(call)
#define cutilCheckMsg(message) getLastCudaError(message)
#define cutilCheckError(call) ((void)(call))
#define CUDA_SAFE_CALL(call) checkCudaErrors(call)
#define CUDA_SAFE_CALL_NO_SYNC(call) checkCudaErrors(call)
#define CUT_SAFE_CALL(call) ((void)(call))
#define CUT_CHECK_ERROR(message) getLastCudaError(message)
#define CUT_DEVICE_INIT(argc, argv) ((void)0)
#define CUT_EXIT(argc, argv) ((void)0)

#ifndef MAX
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#endif
#ifndef MIN
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#endif

static inline const char *_cudaGetErrorEnum(cudaError_t error) { return cudaGetErrorName(error); }
static inline int gpuGetMaxGflopsDeviceId() { return 0; }
static inline int cutGetMaxGflopsDeviceId() { return 0; }
static inline int _ConvertSMVer2Cores(int, int) { return 64; }
static inline const char *_ConvertSMVer2ArchName(int, int) { return "Windlass"; }
static inline bool checkCudaCapabilities(int, int) { return true; }
static inline int ftoi(float x) { return (int)(x >= 0 ? x + 0.5f : x - 0.5f); }

// ---- command lines: --name and --name=value
static inline const char *__windlass_option(int argc, const char **argv, const char *name) {
    size_t length = strlen(name);
    for (int i = 1; i < argc; ++i) {
        const char *word = argv[i];
        while (*word == '-') ++word;
        if (strncmp(word, name, length) == 0 && (word[length] == 0 || word[length] == '='))
            return word + length + (word[length] == '=');
    }
    return nullptr;
}
static inline bool checkCmdLineFlag(int argc, const char **argv, const char *name) {
    return __windlass_option(argc, argv, name) != nullptr;
}
static inline int getCmdLineArgumentInt(int argc, const char **argv, const char *name) {
    const char *value = __windlass_option(argc, argv, name);
    return value ? atoi(value) : 0;
}
static inline float getCmdLineArgumentFloat(int argc, const char **argv, const char *name) {
    const char *value = __windlass_option(argc, argv, name);
    return value ? (float)atof(value) : 0.0f;
}
static inline bool getCmdLineArgumentString(int argc, const char **argv, const char *name, char **result) {
    const char *value = __windlass_option(argc, argv, name);
    *result = (char *)value;
    return value != nullptr;
}
static inline int findCudaDevice(int, const char **) { return 0; }
static inline int cutCheckCmdLineFlag(int argc, const char **argv, const char *name) {
    return checkCmdLineFlag(argc, argv, name);
}
static inline int cutGetCmdLineArgumenti(int argc, const char **argv, const char *name, int *result) {
    *result = getCmdLineArgumentInt(argc, argv, name);
    return checkCmdLineFlag(argc, argv, name);
}
static inline int cutGetCmdLineArgumentstr(int argc, const char **argv, const char *name, char **result) {
    return getCmdLineArgumentString(argc, argv, name, result);
}
static inline char *sdkFindFilePath(const char *name, const char *) { return (char *)name; }
static inline bool sdkCompareL2fe(const float *reference, const float *data, unsigned int count, float epsilon) {
    double error = 0, norm = 0;
    for (unsigned int i = 0; i < count; ++i) {
        error += ((double)reference[i] - data[i]) * ((double)reference[i] - data[i]);
        norm += (double)reference[i] * reference[i];
    }
    return norm > 0 && std::sqrt(error / norm) < epsilon;
}
