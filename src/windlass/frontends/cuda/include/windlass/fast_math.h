// CUDA's fast approximations. The device gives them a few wrong last bits; here they are the accurate functions.
#pragma once

__WINDLASS_DEVICE float __sinf(float x) { return __builtin_sinf(x); }
__WINDLASS_DEVICE float __cosf(float x) { return __builtin_cosf(x); }
__WINDLASS_DEVICE float __tanf(float x) { return __builtin_tanf(x); }
__WINDLASS_DEVICE float __tanhf(float x) { return __builtin_tanhf(x); }
__WINDLASS_DEVICE float __expf(float x) { return __builtin_expf(x); }
__WINDLASS_DEVICE float __exp10f(float x) { return __builtin_exp10f(x); }
__WINDLASS_DEVICE float __logf(float x) { return __builtin_logf(x); }
__WINDLASS_DEVICE float __log2f(float x) { return __builtin_log2f(x); }
__WINDLASS_DEVICE float __log10f(float x) { return __builtin_log10f(x); }
__WINDLASS_DEVICE float __powf(float x, float y) { return __builtin_powf(x, y); }
__WINDLASS_DEVICE float __fdividef(float x, float y) { return x / y; }
__WINDLASS_DEVICE double __fdivide(double x, double y) { return x / y; }
__WINDLASS_DEVICE void __sincosf(float x, float *sine, float *cosine) {
    *sine = __builtin_sinf(x);
    *cosine = __builtin_cosf(x);
}
// Clamped to [0, 1]; NaN gives 0.
__WINDLASS_BOTH float __saturatef(float x) { return __builtin_fminf(__builtin_fmaxf(x, 0.0f), 1.0f); }
__WINDLASS_BOTH float saturate(float x) { return __saturatef(x); }
