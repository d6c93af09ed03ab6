// The C and C++ standard library. Every function of the C headers and of <cmath> can be called on both sides; the C++
// headers give what is constexpr (std::min, std::swap, std::numeric_limits, ...).
#pragma once

// glibc's math.h also declares names with these spellings, which are CUDA's own: set them aside while it is read.
// (With parameters, since glibc pastes the bare names into others.)
#define __sinf(...) __windlass_glibc_sinf(__VA_ARGS__)
#define __cosf(...) __windlass_glibc_cosf(__VA_ARGS__)
#define __tanf(...) __windlass_glibc_tanf(__VA_ARGS__)
#define __tanhf(...) __windlass_glibc_tanhf(__VA_ARGS__)
#define __expf(...) __windlass_glibc_expf(__VA_ARGS__)
#define __exp10f(...) __windlass_glibc_exp10f(__VA_ARGS__)
#define __logf(...) __windlass_glibc_logf(__VA_ARGS__)
#define __log2f(...) __windlass_glibc_log2f(__VA_ARGS__)
#define __log10f(...) __windlass_glibc_log10f(__VA_ARGS__)
#define __powf(...) __windlass_glibc_powf(__VA_ARGS__)
#define __sincosf(...) __windlass_glibc_sincosf(__VA_ARGS__)
#define sincos(...) __windlass_glibc_sincos(__VA_ARGS__)
#define sincosf(...) __windlass_glibc_sincosf(__VA_ARGS__)
#define rsqrt(...) __windlass_glibc_rsqrt(__VA_ARGS__)
#define rsqrtf(...) __windlass_glibc_rsqrtf(__VA_ARGS__)
#define sinpi(...) __windlass_glibc_sinpi(__VA_ARGS__)
#define sinpif(...) __windlass_glibc_sinpif(__VA_ARGS__)
#define cospi(...) __windlass_glibc_cospi(__VA_ARGS__)
#define cospif(...) __windlass_glibc_cospif(__VA_ARGS__)
#define tanpi(...) __windlass_glibc_tanpi(__VA_ARGS__)
#define tanpif(...) __windlass_glibc_tanpif(__VA_ARGS__)
#define rootn(...) __windlass_glibc_rootn(__VA_ARGS__)
#define compoundn(...) __windlass_glibc_compoundn(__VA_ARGS__)
#define __isnan(...) __windlass_glibc_isnan(__VA_ARGS__)
#define __isnanf(...) __windlass_glibc_isnanf(__VA_ARGS__)
#define __isinf(...) __windlass_glibc_isinf(__VA_ARGS__)
#define __isinff(...) __windlass_glibc_isinff(__VA_ARGS__)
#define __finite(...) __windlass_glibc_finite(__VA_ARGS__)
#define __finitef(...) __windlass_glibc_finitef(__VA_ARGS__)
#define __signbit(...) __windlass_glibc_signbit(__VA_ARGS__)
#define __signbitf(...) __windlass_glibc_signbitf(__VA_ARGS__)

#pragma clang force_cuda_host_device begin
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <math.h>
#include <malloc.h>
#include <mm_malloc.h>
#include <limits.h>
#include <float.h>
#include <ctype.h>
#include <cmath>
#include <utility>
#include <limits>
#include <type_traits>
#pragma clang force_cuda_host_device end
// <tuple> brings these along, whose classes have virtual functions that stay on the host.
#include <exception>
#include <iosfwd>
#include <new>
#include <typeinfo>
#pragma clang force_cuda_host_device begin
#include <tuple>
#pragma clang force_cuda_host_device end

#undef __sinf
#undef __cosf
#undef __tanf
#undef __tanhf
#undef __expf
#undef __exp10f
#undef __logf
#undef __log2f
#undef __log10f
#undef __powf
#undef __sincosf
#undef sincos
#undef sincosf
#undef rsqrt
#undef rsqrtf
#undef sinpi
#undef sinpif
#undef cospi
#undef cospif
#undef tanpi
#undef tanpif
#undef rootn
#undef compoundn
#undef __isnan
#undef __isnanf
#undef __isinf
#undef __isinff
#undef __finite
#undef __finitef
#undef __signbit
#undef __signbitf

#include <time.h>
#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <iostream>
#include <string>
#include <vector>
