// cuBLAS as it was before handles: options are letters, factors are values, results are returned.
#pragma once
#ifndef CUBLAS_V2_H_
#include "windlass_cuda.h"
#include "cuComplex.h"
#include "library_types.h"
#include "windlass/cublas_types.h"

// These names have other parameters today: the symbols behind them say which are meant.
#define __WINDLASS_LEGACY(result, name, ...) result cublas##name(__VA_ARGS__) asm("cublasLegacy" #name);
#define __WINDLASS_LEGACY_REAL(name, parameters)                               \
    __WINDLASS_LEGACY(void, S##name, parameters(float, float))                 \
    __WINDLASS_LEGACY(void, D##name, parameters(double, double))
#define __WINDLASS_LEGACY_COMPLEX(name, parameters)                            \
    __WINDLASS_LEGACY(void, C##name, parameters(cuComplex, float))             \
    __WINDLASS_LEGACY(void, Z##name, parameters(cuDoubleComplex, double))
#define __WINDLASS_LEGACY_ALL(name, parameters) \
    __WINDLASS_LEGACY_REAL(name, parameters) __WINDLASS_LEGACY_COMPLEX(name, parameters)

#ifdef __cplusplus
extern "C" {
#endif
__WINDLASS_LEGACY(cublasStatus_t, Init, void)
__WINDLASS_LEGACY(cublasStatus_t, Shutdown, void)
__WINDLASS_LEGACY(cublasStatus_t, GetError, void)
__WINDLASS_LEGACY(cublasStatus_t, SetKernelStream, cudaStream_t stream)
__WINDLASS_LEGACY(cublasStatus_t, Alloc, int n, int size, void **pointer)
__WINDLASS_LEGACY(cublasStatus_t, Free, void *pointer)
cublasStatus_t cublasSetVector(int n, int size, const void *x, int incx, void *y, int incy);
cublasStatus_t cublasGetVector(int n, int size, const void *x, int incx, void *y, int incy);
cublasStatus_t cublasSetMatrix(int rows, int columns, int size, const void *A, int lda, void *B, int ldb);
cublasStatus_t cublasGetMatrix(int rows, int columns, int size, const void *A, int lda, void *B, int ldb);

// ---- level 1
#define __WINDLASS_L_VECTOR(T) int n, const T *x, int incx
#define __WINDLASS_L_PAIR(T, R) int n, T *x, int incx, T *y, int incy
#define __WINDLASS_L_COPY(T, R) int n, const T *x, int incx, T *y, int incy
#define __WINDLASS_L_AXPY(T, R) int n, T alpha, const T *x, int incx, T *y, int incy
#define __WINDLASS_L_SCAL(T, A) int n, A alpha, T *x, int incx
#define __WINDLASS_L_DOT(T) int n, const T *x, int incx, const T *y, int incy
__WINDLASS_LEGACY(int, Isamax, __WINDLASS_L_VECTOR(float))
__WINDLASS_LEGACY(int, Idamax, __WINDLASS_L_VECTOR(double))
__WINDLASS_LEGACY(int, Icamax, __WINDLASS_L_VECTOR(cuComplex))
__WINDLASS_LEGACY(int, Izamax, __WINDLASS_L_VECTOR(cuDoubleComplex))
__WINDLASS_LEGACY(int, Isamin, __WINDLASS_L_VECTOR(float))
__WINDLASS_LEGACY(int, Idamin, __WINDLASS_L_VECTOR(double))
__WINDLASS_LEGACY(int, Icamin, __WINDLASS_L_VECTOR(cuComplex))
__WINDLASS_LEGACY(int, Izamin, __WINDLASS_L_VECTOR(cuDoubleComplex))
__WINDLASS_LEGACY(float, Sasum, __WINDLASS_L_VECTOR(float))
__WINDLASS_LEGACY(double, Dasum, __WINDLASS_L_VECTOR(double))
__WINDLASS_LEGACY(float, Scasum, __WINDLASS_L_VECTOR(cuComplex))
__WINDLASS_LEGACY(double, Dzasum, __WINDLASS_L_VECTOR(cuDoubleComplex))
__WINDLASS_LEGACY(float, Snrm2, __WINDLASS_L_VECTOR(float))
__WINDLASS_LEGACY(double, Dnrm2, __WINDLASS_L_VECTOR(double))
__WINDLASS_LEGACY(float, Scnrm2, __WINDLASS_L_VECTOR(cuComplex))
__WINDLASS_LEGACY(double, Dznrm2, __WINDLASS_L_VECTOR(cuDoubleComplex))
__WINDLASS_LEGACY(float, Sdot, __WINDLASS_L_DOT(float))
__WINDLASS_LEGACY(double, Ddot, __WINDLASS_L_DOT(double))
__WINDLASS_LEGACY(cuComplex, Cdotu, __WINDLASS_L_DOT(cuComplex))
__WINDLASS_LEGACY(cuComplex, Cdotc, __WINDLASS_L_DOT(cuComplex))
__WINDLASS_LEGACY(cuDoubleComplex, Zdotu, __WINDLASS_L_DOT(cuDoubleComplex))
__WINDLASS_LEGACY(cuDoubleComplex, Zdotc, __WINDLASS_L_DOT(cuDoubleComplex))
__WINDLASS_LEGACY_ALL(axpy, __WINDLASS_L_AXPY)
__WINDLASS_LEGACY_ALL(copy, __WINDLASS_L_COPY)
__WINDLASS_LEGACY_ALL(swap, __WINDLASS_L_PAIR)
__WINDLASS_LEGACY(void, Sscal, __WINDLASS_L_SCAL(float, float))
__WINDLASS_LEGACY(void, Dscal, __WINDLASS_L_SCAL(double, double))
__WINDLASS_LEGACY(void, Cscal, __WINDLASS_L_SCAL(cuComplex, cuComplex))
__WINDLASS_LEGACY(void, Zscal, __WINDLASS_L_SCAL(cuDoubleComplex, cuDoubleComplex))
__WINDLASS_LEGACY(void, Csscal, __WINDLASS_L_SCAL(cuComplex, float))
__WINDLASS_LEGACY(void, Zdscal, __WINDLASS_L_SCAL(cuDoubleComplex, double))
__WINDLASS_LEGACY(void, Srot, int n, float *x, int incx, float *y, int incy, float c, float s)
__WINDLASS_LEGACY(void, Drot, int n, double *x, int incx, double *y, int incy, double c, double s)

// ---- level 2
#define __WINDLASS_L_GEMV(T, R) \
    char trans, int m, int n, T alpha, const T *A, int lda, const T *x, int incx, T beta, T *y, int incy
#define __WINDLASS_L_SYMV(T, R) \
    char uplo, int n, T alpha, const T *A, int lda, const T *x, int incx, T beta, T *y, int incy
#define __WINDLASS_L_TRMV(T, R) char uplo, char trans, char diag, int n, const T *A, int lda, T *x, int incx
#define __WINDLASS_L_GER(T, R) int m, int n, T alpha, const T *x, int incx, const T *y, int incy, T *A, int lda
#define __WINDLASS_L_SYR(T, R) char uplo, int n, T alpha, const T *x, int incx, T *A, int lda
#define __WINDLASS_L_SYR2(T, R) char uplo, int n, T alpha, const T *x, int incx, const T *y, int incy, T *A, int lda
__WINDLASS_LEGACY_ALL(gemv, __WINDLASS_L_GEMV)
__WINDLASS_LEGACY_REAL(symv, __WINDLASS_L_SYMV)
__WINDLASS_LEGACY_COMPLEX(hemv, __WINDLASS_L_SYMV)
__WINDLASS_LEGACY_ALL(trmv, __WINDLASS_L_TRMV)
__WINDLASS_LEGACY_ALL(trsv, __WINDLASS_L_TRMV)
__WINDLASS_LEGACY_REAL(ger, __WINDLASS_L_GER)
__WINDLASS_LEGACY_COMPLEX(geru, __WINDLASS_L_GER)
__WINDLASS_LEGACY_COMPLEX(gerc, __WINDLASS_L_GER)
__WINDLASS_LEGACY_REAL(syr, __WINDLASS_L_SYR)
__WINDLASS_LEGACY_REAL(syr2, __WINDLASS_L_SYR2)

// ---- level 3
#define __WINDLASS_L_GEMM(T, R)                                                                                  \
    char transa, char transb, int m, int n, int k, T alpha, const T *A, int lda, const T *B, int ldb, T beta, T *C, \
        int ldc
#define __WINDLASS_L_SYMM(T, R)                                                                                  \
    char side, char uplo, int m, int n, T alpha, const T *A, int lda, const T *B, int ldb, T beta, T *C, int ldc
#define __WINDLASS_L_SYRK(T, R) char uplo, char trans, int n, int k, T alpha, const T *A, int lda, T beta, T *C, int ldc
#define __WINDLASS_L_SYR2K(T, R)                                                                                 \
    char uplo, char trans, int n, int k, T alpha, const T *A, int lda, const T *B, int ldb, T beta, T *C, int ldc
#define __WINDLASS_L_TRSM(T, R) \
    char side, char uplo, char trans, char diag, int m, int n, T alpha, const T *A, int lda, T *B, int ldb
__WINDLASS_LEGACY_ALL(gemm, __WINDLASS_L_GEMM)
__WINDLASS_LEGACY_ALL(symm, __WINDLASS_L_SYMM)
__WINDLASS_LEGACY_COMPLEX(hemm, __WINDLASS_L_SYMM)
__WINDLASS_LEGACY_ALL(syrk, __WINDLASS_L_SYRK)
__WINDLASS_LEGACY_ALL(syr2k, __WINDLASS_L_SYR2K)
__WINDLASS_LEGACY_ALL(trsm, __WINDLASS_L_TRSM)
__WINDLASS_LEGACY_ALL(trmm, __WINDLASS_L_TRSM)
#ifdef __cplusplus
}
#endif
#endif
