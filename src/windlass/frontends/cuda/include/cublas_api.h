// cuBLAS: dense linear algebra. Each function is done outside the program, by the routine of its name.
#pragma once
#define CUBLAS_V2_H_
#include "windlass_cuda.h"
#include "cuComplex.h"
#include "cuda_fp16.h"
#include "cuda_bf16.h"
#include "library_types.h"
#include "windlass/cublas_types.h"

#ifdef __cplusplus
extern "C" {
#endif

// Each function has three names: its own, one that says the interface's version, and one with 64-bit sizes.
#define __WINDLASS_CUBLAS(name, parameters, ...)                          \
    cublasStatus_t cublas##name(parameters(int, __VA_ARGS__));            \
    cublasStatus_t cublas##name##_v2(parameters(int, __VA_ARGS__));       \
    cublasStatus_t cublas##name##_64(parameters(int64_t, __VA_ARGS__));   \
    cublasStatus_t cublas##name##_v2_64(parameters(int64_t, __VA_ARGS__));
#define __WINDLASS_CUBLAS_PLAIN(name, ...)          \
    cublasStatus_t cublas##name(__VA_ARGS__);       \
    cublasStatus_t cublas##name##_v2(__VA_ARGS__);
#define __WINDLASS_CUBLAS_REAL(name, parameters)             \
    __WINDLASS_CUBLAS(S##name, parameters, float, float)     \
    __WINDLASS_CUBLAS(D##name, parameters, double, double)
#define __WINDLASS_CUBLAS_COMPLEX(name, parameters)                    \
    __WINDLASS_CUBLAS(C##name, parameters, cuComplex, float)           \
    __WINDLASS_CUBLAS(Z##name, parameters, cuDoubleComplex, double)
#define __WINDLASS_CUBLAS_ALL(name, parameters) \
    __WINDLASS_CUBLAS_REAL(name, parameters) __WINDLASS_CUBLAS_COMPLEX(name, parameters)

// ---- handles
__WINDLASS_CUBLAS_PLAIN(Create, cublasHandle_t *handle)
__WINDLASS_CUBLAS_PLAIN(Destroy, cublasHandle_t handle)
__WINDLASS_CUBLAS_PLAIN(GetVersion, cublasHandle_t handle, int *version)
__WINDLASS_CUBLAS_PLAIN(SetStream, cublasHandle_t handle, cudaStream_t stream)
__WINDLASS_CUBLAS_PLAIN(GetStream, cublasHandle_t handle, cudaStream_t *stream)
__WINDLASS_CUBLAS_PLAIN(SetWorkspace, cublasHandle_t handle, void *workspace, size_t bytes)
__WINDLASS_CUBLAS_PLAIN(SetPointerMode, cublasHandle_t handle, cublasPointerMode_t mode)
__WINDLASS_CUBLAS_PLAIN(GetPointerMode, cublasHandle_t handle, cublasPointerMode_t *mode)
cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t mode);
cublasStatus_t cublasGetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t *mode);
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode);
cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t *mode);
cublasStatus_t cublasGetProperty(libraryPropertyType type, int *value);
const char *cublasGetStatusName(cublasStatus_t status);
const char *cublasGetStatusString(cublasStatus_t status);

// ---- copies between host and device
#define __WINDLASS_COPY_VECTOR(I, ...) I n, I size, const void *x, I incx, void *y, I incy
#define __WINDLASS_COPY_MATRIX(I, ...) I rows, I columns, I size, const void *A, I lda, void *B, I ldb
#define __WINDLASS_COPY_VECTOR_ASYNC(I, ...) I n, I size, const void *x, I incx, void *y, I incy, cudaStream_t stream
#define __WINDLASS_COPY_MATRIX_ASYNC(I, ...) \
    I rows, I columns, I size, const void *A, I lda, void *B, I ldb, cudaStream_t stream
__WINDLASS_CUBLAS(SetVector, __WINDLASS_COPY_VECTOR, )
__WINDLASS_CUBLAS(GetVector, __WINDLASS_COPY_VECTOR, )
__WINDLASS_CUBLAS(SetMatrix, __WINDLASS_COPY_MATRIX, )
__WINDLASS_CUBLAS(GetMatrix, __WINDLASS_COPY_MATRIX, )
__WINDLASS_CUBLAS(SetVectorAsync, __WINDLASS_COPY_VECTOR_ASYNC, )
__WINDLASS_CUBLAS(GetVectorAsync, __WINDLASS_COPY_VECTOR_ASYNC, )
__WINDLASS_CUBLAS(SetMatrixAsync, __WINDLASS_COPY_MATRIX_ASYNC, )
__WINDLASS_CUBLAS(GetMatrixAsync, __WINDLASS_COPY_MATRIX_ASYNC, )

// ---- level 1: T is the type of elements, R that of their real parts
#define __WINDLASS_AMAX(I, T, R) cublasHandle_t handle, I n, const T *x, I incx, I *result
#define __WINDLASS_NORM(I, T, R) cublasHandle_t handle, I n, const T *x, I incx, R *result
#define __WINDLASS_DOT(I, T, R) cublasHandle_t handle, I n, const T *x, I incx, const T *y, I incy, T *result
#define __WINDLASS_AXPY(I, T, R) cublasHandle_t handle, I n, const T *alpha, const T *x, I incx, T *y, I incy
#define __WINDLASS_COPY(I, T, R) cublasHandle_t handle, I n, const T *x, I incx, T *y, I incy
#define __WINDLASS_SWAP(I, T, R) cublasHandle_t handle, I n, T *x, I incx, T *y, I incy
#define __WINDLASS_SCAL(I, T, A) cublasHandle_t handle, I n, const A *alpha, T *x, I incx
#define __WINDLASS_ROT(I, T, C, S) cublasHandle_t handle, I n, T *x, I incx, T *y, I incy, const C *c, const S *s
#define __WINDLASS_ROTG(I, T, R) cublasHandle_t handle, T *a, T *b, R *c, T *s
#define __WINDLASS_ROTM(I, T, R) cublasHandle_t handle, I n, T *x, I incx, T *y, I incy, const T *param
#define __WINDLASS_ROTMG(I, T, R) cublasHandle_t handle, T *d1, T *d2, T *x1, const T *y1, T *param
__WINDLASS_CUBLAS(Isamax, __WINDLASS_AMAX, float, float)
__WINDLASS_CUBLAS(Idamax, __WINDLASS_AMAX, double, double)
__WINDLASS_CUBLAS(Icamax, __WINDLASS_AMAX, cuComplex, float)
__WINDLASS_CUBLAS(Izamax, __WINDLASS_AMAX, cuDoubleComplex, double)
__WINDLASS_CUBLAS(Isamin, __WINDLASS_AMAX, float, float)
__WINDLASS_CUBLAS(Idamin, __WINDLASS_AMAX, double, double)
__WINDLASS_CUBLAS(Icamin, __WINDLASS_AMAX, cuComplex, float)
__WINDLASS_CUBLAS(Izamin, __WINDLASS_AMAX, cuDoubleComplex, double)
__WINDLASS_CUBLAS_REAL(asum, __WINDLASS_NORM)
__WINDLASS_CUBLAS(Scasum, __WINDLASS_NORM, cuComplex, float)
__WINDLASS_CUBLAS(Dzasum, __WINDLASS_NORM, cuDoubleComplex, double)
__WINDLASS_CUBLAS_REAL(nrm2, __WINDLASS_NORM)
__WINDLASS_CUBLAS(Scnrm2, __WINDLASS_NORM, cuComplex, float)
__WINDLASS_CUBLAS(Dznrm2, __WINDLASS_NORM, cuDoubleComplex, double)
__WINDLASS_CUBLAS_REAL(dot, __WINDLASS_DOT)
__WINDLASS_CUBLAS_COMPLEX(dotu, __WINDLASS_DOT)
__WINDLASS_CUBLAS_COMPLEX(dotc, __WINDLASS_DOT)
__WINDLASS_CUBLAS_ALL(axpy, __WINDLASS_AXPY)
__WINDLASS_CUBLAS_ALL(copy, __WINDLASS_COPY)
__WINDLASS_CUBLAS_ALL(swap, __WINDLASS_SWAP)
__WINDLASS_CUBLAS(Sscal, __WINDLASS_SCAL, float, float)
__WINDLASS_CUBLAS(Dscal, __WINDLASS_SCAL, double, double)
__WINDLASS_CUBLAS(Cscal, __WINDLASS_SCAL, cuComplex, cuComplex)
__WINDLASS_CUBLAS(Zscal, __WINDLASS_SCAL, cuDoubleComplex, cuDoubleComplex)
__WINDLASS_CUBLAS(Csscal, __WINDLASS_SCAL, cuComplex, float)
__WINDLASS_CUBLAS(Zdscal, __WINDLASS_SCAL, cuDoubleComplex, double)
__WINDLASS_CUBLAS(Srot, __WINDLASS_ROT, float, float, float)
__WINDLASS_CUBLAS(Drot, __WINDLASS_ROT, double, double, double)
__WINDLASS_CUBLAS(Crot, __WINDLASS_ROT, cuComplex, float, cuComplex)
__WINDLASS_CUBLAS(Zrot, __WINDLASS_ROT, cuDoubleComplex, double, cuDoubleComplex)
__WINDLASS_CUBLAS(Csrot, __WINDLASS_ROT, cuComplex, float, float)
__WINDLASS_CUBLAS(Zdrot, __WINDLASS_ROT, cuDoubleComplex, double, double)
__WINDLASS_CUBLAS_ALL(rotg, __WINDLASS_ROTG)
__WINDLASS_CUBLAS_REAL(rotm, __WINDLASS_ROTM)
__WINDLASS_CUBLAS_REAL(rotmg, __WINDLASS_ROTMG)
#define __WINDLASS_NORM_EX(I, ...) \
    cublasHandle_t handle, I n, const void *x, cudaDataType xtype, I incx, void *result, cudaDataType resulttype, \
        cudaDataType executiontype
#define __WINDLASS_DOT_EX(I, ...)                                                                                   \
    cublasHandle_t handle, I n, const void *x, cudaDataType xtype, I incx, const void *y, cudaDataType ytype, I incy, \
        void *result, cudaDataType resulttype, cudaDataType executiontype
#define __WINDLASS_AXPY_EX(I, ...)                                                                                  \
    cublasHandle_t handle, I n, const void *alpha, cudaDataType alphatype, const void *x, cudaDataType xtype, I incx, \
        void *y, cudaDataType ytype, I incy, cudaDataType executiontype
#define __WINDLASS_SCAL_EX(I, ...)                                                                               \
    cublasHandle_t handle, I n, const void *alpha, cudaDataType alphatype, void *x, cudaDataType xtype, I incx,  \
        cudaDataType executiontype
__WINDLASS_CUBLAS(Nrm2Ex, __WINDLASS_NORM_EX, )
__WINDLASS_CUBLAS(DotEx, __WINDLASS_DOT_EX, )
__WINDLASS_CUBLAS(DotcEx, __WINDLASS_DOT_EX, )
__WINDLASS_CUBLAS(AxpyEx, __WINDLASS_AXPY_EX, )
__WINDLASS_CUBLAS(ScalEx, __WINDLASS_SCAL_EX, )

// ---- level 2
#define __WINDLASS_GEMV(I, T, R)                                                                                  \
    cublasHandle_t handle, cublasOperation_t trans, I m, I n, const T *alpha, const T *A, I lda, const T *x, I incx, \
        const T *beta, T *y, I incy
#define __WINDLASS_GBMV(I, T, R)                                                                               \
    cublasHandle_t handle, cublasOperation_t trans, I m, I n, I kl, I ku, const T *alpha, const T *A, I lda,   \
        const T *x, I incx, const T *beta, T *y, I incy
#define __WINDLASS_SYMV(I, T, R)                                                                                  \
    cublasHandle_t handle, cublasFillMode_t uplo, I n, const T *alpha, const T *A, I lda, const T *x, I incx,     \
        const T *beta, T *y, I incy
#define __WINDLASS_SBMV(I, T, R)                                                                                  \
    cublasHandle_t handle, cublasFillMode_t uplo, I n, I k, const T *alpha, const T *A, I lda, const T *x, I incx, \
        const T *beta, T *y, I incy
#define __WINDLASS_SPMV(I, T, R)                                                                            \
    cublasHandle_t handle, cublasFillMode_t uplo, I n, const T *alpha, const T *AP, const T *x, I incx,     \
        const T *beta, T *y, I incy
#define __WINDLASS_TRMV(I, T, R)                                                                                 \
    cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans, cublasDiagType_t diag, I n, const T *A, \
        I lda, T *x, I incx
#define __WINDLASS_TBMV(I, T, R)                                                                                      \
    cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans, cublasDiagType_t diag, I n, I k, const T *A, \
        I lda, T *x, I incx
#define __WINDLASS_TPMV(I, T, R)                                                                                  \
    cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans, cublasDiagType_t diag, I n, const T *AP, \
        T *x, I incx
#define __WINDLASS_GER(I, T, R) \
    cublasHandle_t handle, I m, I n, const T *alpha, const T *x, I incx, const T *y, I incy, T *A, I lda
#define __WINDLASS_SYR(I, T, R) \
    cublasHandle_t handle, cublasFillMode_t uplo, I n, const T *alpha, const T *x, I incx, T *A, I lda
#define __WINDLASS_HER(I, T, R) \
    cublasHandle_t handle, cublasFillMode_t uplo, I n, const R *alpha, const T *x, I incx, T *A, I lda
#define __WINDLASS_SPR(I, T, R) \
    cublasHandle_t handle, cublasFillMode_t uplo, I n, const R *alpha, const T *x, I incx, T *AP
#define __WINDLASS_SYR2(I, T, R)                                                                             \
    cublasHandle_t handle, cublasFillMode_t uplo, I n, const T *alpha, const T *x, I incx, const T *y, I incy, \
        T *A, I lda
#define __WINDLASS_SPR2(I, T, R) \
    cublasHandle_t handle, cublasFillMode_t uplo, I n, const T *alpha, const T *x, I incx, const T *y, I incy, T *AP
__WINDLASS_CUBLAS_ALL(gemv, __WINDLASS_GEMV)
__WINDLASS_CUBLAS_ALL(gbmv, __WINDLASS_GBMV)
__WINDLASS_CUBLAS_ALL(symv, __WINDLASS_SYMV)
__WINDLASS_CUBLAS_COMPLEX(hemv, __WINDLASS_SYMV)
__WINDLASS_CUBLAS_REAL(sbmv, __WINDLASS_SBMV)
__WINDLASS_CUBLAS_COMPLEX(hbmv, __WINDLASS_SBMV)
__WINDLASS_CUBLAS_REAL(spmv, __WINDLASS_SPMV)
__WINDLASS_CUBLAS_COMPLEX(hpmv, __WINDLASS_SPMV)
__WINDLASS_CUBLAS_ALL(trmv, __WINDLASS_TRMV)
__WINDLASS_CUBLAS_ALL(trsv, __WINDLASS_TRMV)
__WINDLASS_CUBLAS_ALL(tbmv, __WINDLASS_TBMV)
__WINDLASS_CUBLAS_ALL(tbsv, __WINDLASS_TBMV)
__WINDLASS_CUBLAS_ALL(tpmv, __WINDLASS_TPMV)
__WINDLASS_CUBLAS_ALL(tpsv, __WINDLASS_TPMV)
__WINDLASS_CUBLAS_REAL(ger, __WINDLASS_GER)
__WINDLASS_CUBLAS_COMPLEX(geru, __WINDLASS_GER)
__WINDLASS_CUBLAS_COMPLEX(gerc, __WINDLASS_GER)
__WINDLASS_CUBLAS_ALL(syr, __WINDLASS_SYR)
__WINDLASS_CUBLAS_COMPLEX(her, __WINDLASS_HER)
__WINDLASS_CUBLAS_REAL(spr, __WINDLASS_SPR)
__WINDLASS_CUBLAS_COMPLEX(hpr, __WINDLASS_SPR)
__WINDLASS_CUBLAS_ALL(syr2, __WINDLASS_SYR2)
__WINDLASS_CUBLAS_COMPLEX(her2, __WINDLASS_SYR2)
__WINDLASS_CUBLAS_REAL(spr2, __WINDLASS_SPR2)
__WINDLASS_CUBLAS_COMPLEX(hpr2, __WINDLASS_SPR2)

// ---- level 3
#define __WINDLASS_GEMM(I, T, R)                                                                                   \
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, I m, I n, I k, const T *alpha,     \
        const T *A, I lda, const T *B, I ldb, const T *beta, T *C, I ldc
#define __WINDLASS_GEMM_BATCHED(I, T, R)                                                                           \
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, I m, I n, I k, const T *alpha,     \
        const T *const A[], I lda, const T *const B[], I ldb, const T *beta, T *const C[], I ldc, I count
#define __WINDLASS_GEMM_STRIDED(I, T, R)                                                                           \
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, I m, I n, I k, const T *alpha,     \
        const T *A, I lda, long long int stride_a, const T *B, I ldb, long long int stride_b, const T *beta, T *C, \
        I ldc, long long int stride_c, I count
#define __WINDLASS_GEMM_EX(I, COMPUTE)                                                                              \
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, I m, I n, I k, const void *alpha,   \
        const void *A, cudaDataType atype, I lda, const void *B, cudaDataType btype, I ldb, const void *beta,      \
        void *C, cudaDataType ctype, I ldc, COMPUTE compute, cublasGemmAlgo_t algo
#define __WINDLASS_GEMM_BATCHED_EX(I, COMPUTE)                                                                      \
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, I m, I n, I k, const void *alpha,   \
        const void *const A[], cudaDataType atype, I lda, const void *const B[], cudaDataType btype, I ldb,        \
        const void *beta, void *const C[], cudaDataType ctype, I ldc, I count, COMPUTE compute, cublasGemmAlgo_t algo
#define __WINDLASS_GEMM_STRIDED_EX(I, COMPUTE)                                                                      \
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, I m, I n, I k, const void *alpha,   \
        const void *A, cudaDataType atype, I lda, long long int stride_a, const void *B, cudaDataType btype, I ldb, \
        long long int stride_b, const void *beta, void *C, cudaDataType ctype, I ldc, long long int stride_c,      \
        I count, COMPUTE compute, cublasGemmAlgo_t algo
#define __WINDLASS_GEMM_SINGLE_EX(I, T, R)                                                                          \
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, I m, I n, I k, const T *alpha,      \
        const void *A, cudaDataType atype, I lda, const void *B, cudaDataType btype, I ldb, const T *beta, void *C, \
        cudaDataType ctype, I ldc
#define __WINDLASS_SYMM(I, T, R)                                                                                   \
    cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo, I m, I n, const T *alpha, const T *A,     \
        I lda, const T *B, I ldb, const T *beta, T *C, I ldc
#define __WINDLASS_SYRK(I, T, R)                                                                                   \
    cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans, I n, I k, const T *alpha, const T *A,   \
        I lda, const T *beta, T *C, I ldc
#define __WINDLASS_HERK(I, T, R)                                                                                   \
    cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans, I n, I k, const R *alpha, const T *A,   \
        I lda, const R *beta, T *C, I ldc
#define __WINDLASS_SYR2K(I, T, R)                                                                                  \
    cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans, I n, I k, const T *alpha, const T *A,   \
        I lda, const T *B, I ldb, const T *beta, T *C, I ldc
#define __WINDLASS_HER2K(I, T, R)                                                                                  \
    cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans, I n, I k, const T *alpha, const T *A,   \
        I lda, const T *B, I ldb, const R *beta, T *C, I ldc
#define __WINDLASS_TRMM(I, T, R)                                                                                   \
    cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t trans,                  \
        cublasDiagType_t diag, I m, I n, const T *alpha, const T *A, I lda, const T *B, I ldb, T *C, I ldc
#define __WINDLASS_TRSM(I, T, R)                                                                                   \
    cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t trans,                  \
        cublasDiagType_t diag, I m, I n, const T *alpha, const T *A, I lda, T *B, I ldb
#define __WINDLASS_TRSM_BATCHED(I, T, R)                                                                           \
    cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t trans,                  \
        cublasDiagType_t diag, I m, I n, const T *alpha, const T *const A[], I lda, T *const B[], I ldb, I count
#define __WINDLASS_GEAM(I, T, R)                                                                                   \
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, I m, I n, const T *alpha,           \
        const T *A, I lda, const T *beta, const T *B, I ldb, T *C, I ldc
#define __WINDLASS_DGMM(I, T, R)                                                                                   \
    cublasHandle_t handle, cublasSideMode_t mode, I m, I n, const T *A, I lda, const T *x, I incx, T *C, I ldc
__WINDLASS_CUBLAS_ALL(gemm, __WINDLASS_GEMM)
__WINDLASS_CUBLAS(Hgemm, __WINDLASS_GEMM, __half, __half)
__WINDLASS_CUBLAS_COMPLEX(gemm3m, __WINDLASS_GEMM)
__WINDLASS_CUBLAS_ALL(gemmBatched, __WINDLASS_GEMM_BATCHED)
__WINDLASS_CUBLAS(HgemmBatched, __WINDLASS_GEMM_BATCHED, __half, __half)
__WINDLASS_CUBLAS_ALL(gemmStridedBatched, __WINDLASS_GEMM_STRIDED)
__WINDLASS_CUBLAS(HgemmStridedBatched, __WINDLASS_GEMM_STRIDED, __half, __half)
__WINDLASS_CUBLAS(GemmEx, __WINDLASS_GEMM_EX, cublasComputeType_t)
__WINDLASS_CUBLAS(GemmBatchedEx, __WINDLASS_GEMM_BATCHED_EX, cublasComputeType_t)
__WINDLASS_CUBLAS(GemmStridedBatchedEx, __WINDLASS_GEMM_STRIDED_EX, cublasComputeType_t)
__WINDLASS_CUBLAS(SgemmEx, __WINDLASS_GEMM_SINGLE_EX, float, float)
__WINDLASS_CUBLAS(CgemmEx, __WINDLASS_GEMM_SINGLE_EX, cuComplex, float)
__WINDLASS_CUBLAS_ALL(symm, __WINDLASS_SYMM)
__WINDLASS_CUBLAS_COMPLEX(hemm, __WINDLASS_SYMM)
__WINDLASS_CUBLAS_ALL(syrk, __WINDLASS_SYRK)
__WINDLASS_CUBLAS_COMPLEX(herk, __WINDLASS_HERK)
__WINDLASS_CUBLAS_ALL(syr2k, __WINDLASS_SYR2K)
__WINDLASS_CUBLAS_COMPLEX(her2k, __WINDLASS_HER2K)
__WINDLASS_CUBLAS_ALL(syrkx, __WINDLASS_SYR2K)
__WINDLASS_CUBLAS_COMPLEX(herkx, __WINDLASS_HER2K)
__WINDLASS_CUBLAS_ALL(trmm, __WINDLASS_TRMM)
__WINDLASS_CUBLAS_ALL(trsm, __WINDLASS_TRSM)
__WINDLASS_CUBLAS_ALL(trsmBatched, __WINDLASS_TRSM_BATCHED)
__WINDLASS_CUBLAS_ALL(geam, __WINDLASS_GEAM)
__WINDLASS_CUBLAS_ALL(dgmm, __WINDLASS_DGMM)

// ---- factorizations of batches of small matrices
#define __WINDLASS_GETRF(I, T, R) cublasHandle_t handle, int n, T *const A[], int lda, int *pivots, int *info, int count
#define __WINDLASS_GETRI(I, T, R)                                                                                  \
    cublasHandle_t handle, int n, const T *const A[], int lda, const int *pivots, T *const C[], int ldc, int *info, \
        int count
#define __WINDLASS_GETRS(I, T, R)                                                                                  \
    cublasHandle_t handle, cublasOperation_t trans, int n, int nrhs, const T *const A[], int lda, const int *pivots, \
        T *const B[], int ldb, int *info, int count
#define __WINDLASS_MATINV(I, T, R) \
    cublasHandle_t handle, int n, const T *const A[], int lda, T *const C[], int ldc, int *info, int count
#define __WINDLASS_GEQRF(I, T, R) \
    cublasHandle_t handle, int m, int n, T *const A[], int lda, T *const tau[], int *info, int count
#define __WINDLASS_GELS(I, T, R)                                                                                  \
    cublasHandle_t handle, cublasOperation_t trans, int m, int n, int nrhs, T *const A[], int lda, T *const C[],  \
        int ldc, int *info, int *dev_info, int count
__WINDLASS_CUBLAS_ALL(getrfBatched, __WINDLASS_GETRF)
__WINDLASS_CUBLAS_ALL(getriBatched, __WINDLASS_GETRI)
__WINDLASS_CUBLAS_ALL(getrsBatched, __WINDLASS_GETRS)
__WINDLASS_CUBLAS_ALL(matinvBatched, __WINDLASS_MATINV)
__WINDLASS_CUBLAS_ALL(geqrfBatched, __WINDLASS_GEQRF)
__WINDLASS_CUBLAS_ALL(gelsBatched, __WINDLASS_GELS)

#ifdef __cplusplus
}

// With a data type for the precision, as in older programs.
static inline cublasComputeType_t __windlass_compute_type(cudaDataType type) {
    return type == CUDA_R_16F   ? CUBLAS_COMPUTE_16F
           : type == CUDA_R_32I ? CUBLAS_COMPUTE_32I
           : type == CUDA_R_64F || type == CUDA_C_64F ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F;
}
static inline cublasStatus_t cublasGemmEx(__WINDLASS_GEMM_EX(int, cudaDataType)) {
    return cublasGemmEx(handle, transa, transb, m, n, k, alpha, A, atype, lda, B, btype, ldb, beta, C, ctype, ldc,
                        __windlass_compute_type(compute), algo);
}
static inline cublasStatus_t cublasGemmBatchedEx(__WINDLASS_GEMM_BATCHED_EX(int, cudaDataType)) {
    return cublasGemmBatchedEx(handle, transa, transb, m, n, k, alpha, A, atype, lda, B, btype, ldb, beta, C, ctype,
                               ldc, count, __windlass_compute_type(compute), algo);
}
static inline cublasStatus_t cublasGemmStridedBatchedEx(__WINDLASS_GEMM_STRIDED_EX(int, cudaDataType)) {
    return cublasGemmStridedBatchedEx(handle, transa, transb, m, n, k, alpha, A, atype, lda, stride_a, B, btype, ldb,
                                      stride_b, beta, C, ctype, ldc, stride_c, count,
                                      __windlass_compute_type(compute), algo);
}
#endif
