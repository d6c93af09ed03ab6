// cuSOLVER, dense: factorizations, systems, eigenvalues. Done outside the program, by the routine of its name.
#pragma once
#include "cusolver_common.h"
#include "cublas_api.h"

typedef struct cusolverDnContext *cusolverDnHandle_t;
typedef struct gesvdjInfo *gesvdjInfo_t;
typedef struct syevjInfo *syevjInfo_t;

#ifdef __cplusplus
extern "C" {
#endif
cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t *handle);
cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t handle);
cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t handle, cudaStream_t stream);
cusolverStatus_t cusolverDnGetStream(cusolverDnHandle_t handle, cudaStream_t *stream);
cusolverStatus_t cusolverDnCreateGesvdjInfo(gesvdjInfo_t *info);
cusolverStatus_t cusolverDnDestroyGesvdjInfo(gesvdjInfo_t info);
cusolverStatus_t cusolverDnXgesvdjSetTolerance(gesvdjInfo_t info, double tolerance);
cusolverStatus_t cusolverDnXgesvdjSetMaxSweeps(gesvdjInfo_t info, int count);
cusolverStatus_t cusolverDnXgesvdjSetSortEig(gesvdjInfo_t info, int is_sorted);
cusolverStatus_t cusolverDnXgesvdjGetSweeps(cusolverDnHandle_t handle, gesvdjInfo_t info, int *count);
cusolverStatus_t cusolverDnCreateSyevjInfo(syevjInfo_t *info);
cusolverStatus_t cusolverDnDestroySyevjInfo(syevjInfo_t info);
cusolverStatus_t cusolverDnXsyevjSetTolerance(syevjInfo_t info, double tolerance);
cusolverStatus_t cusolverDnXsyevjSetMaxSweeps(syevjInfo_t info, int count);
cusolverStatus_t cusolverDnXsyevjSetSortEig(syevjInfo_t info, int is_sorted);
cusolverStatus_t cusolverDnXsyevjGetSweeps(cusolverDnHandle_t handle, syevjInfo_t info, int *count);

// T is the type of elements, R that of their real parts; un (or) and sy (he) begin names that differ between them.
#define __WINDLASS_CUSOLVER(t, T, R, un, sy)                                                                         \
    cusolverStatus_t cusolverDn##t##potrf_bufferSize(cusolverDnHandle_t handle, cublasFillMode_t uplo, int n, T *A,  \
                                                     int lda, int *size);                                            \
    cusolverStatus_t cusolverDn##t##potrf(cusolverDnHandle_t handle, cublasFillMode_t uplo, int n, T *A, int lda,    \
                                          T *work, int size, int *info);                                             \
    cusolverStatus_t cusolverDn##t##potri_bufferSize(cusolverDnHandle_t handle, cublasFillMode_t uplo, int n, T *A,  \
                                                     int lda, int *size);                                            \
    cusolverStatus_t cusolverDn##t##potri(cusolverDnHandle_t handle, cublasFillMode_t uplo, int n, T *A, int lda,    \
                                          T *work, int size, int *info);                                             \
    cusolverStatus_t cusolverDn##t##potrs(cusolverDnHandle_t handle, cublasFillMode_t uplo, int n, int nrhs,         \
                                          const T *A, int lda, T *B, int ldb, int *info);                            \
    cusolverStatus_t cusolverDn##t##potrfBatched(cusolverDnHandle_t handle, cublasFillMode_t uplo, int n, T *A[],    \
                                                 int lda, int *infos, int count);                                    \
    cusolverStatus_t cusolverDn##t##potrsBatched(cusolverDnHandle_t handle, cublasFillMode_t uplo, int n, int nrhs,  \
                                                 T *A[], int lda, T *B[], int ldb, int *info, int count);            \
    cusolverStatus_t cusolverDn##t##getrf_bufferSize(cusolverDnHandle_t handle, int m, int n, T *A, int lda,         \
                                                     int *size);                                                     \
    cusolverStatus_t cusolverDn##t##getrf(cusolverDnHandle_t handle, int m, int n, T *A, int lda, T *work,           \
                                          int *pivots, int *info);                                                   \
    cusolverStatus_t cusolverDn##t##getrs(cusolverDnHandle_t handle, cublasOperation_t trans, int n, int nrhs,       \
                                          const T *A, int lda, const int *pivots, T *B, int ldb, int *info);         \
    cusolverStatus_t cusolverDn##t##geqrf_bufferSize(cusolverDnHandle_t handle, int m, int n, T *A, int lda,         \
                                                     int *size);                                                     \
    cusolverStatus_t cusolverDn##t##geqrf(cusolverDnHandle_t handle, int m, int n, T *A, int lda, T *tau, T *work,   \
                                          int size, int *info);                                                      \
    cusolverStatus_t cusolverDn##t##un##mqr_bufferSize(cusolverDnHandle_t handle, cublasSideMode_t side,             \
                                                       cublasOperation_t trans, int m, int n, int k, const T *A,     \
                                                       int lda, const T *tau, const T *C, int ldc, int *size);       \
    cusolverStatus_t cusolverDn##t##un##mqr(cusolverDnHandle_t handle, cublasSideMode_t side,                        \
                                            cublasOperation_t trans, int m, int n, int k, const T *A, int lda,       \
                                            const T *tau, T *C, int ldc, T *work, int size, int *info);              \
    cusolverStatus_t cusolverDn##t##un##gqr_bufferSize(cusolverDnHandle_t handle, int m, int n, int k, const T *A,   \
                                                       int lda, const T *tau, int *size);                            \
    cusolverStatus_t cusolverDn##t##un##gqr(cusolverDnHandle_t handle, int m, int n, int k, T *A, int lda,           \
                                            const T *tau, T *work, int size, int *info);                             \
    cusolverStatus_t cusolverDn##t##gesvd_bufferSize(cusolverDnHandle_t handle, int m, int n, int *size);            \
    cusolverStatus_t cusolverDn##t##gesvd(cusolverDnHandle_t handle, signed char jobu, signed char jobvt, int m,     \
                                          int n, T *A, int lda, R *S, T *U, int ldu, T *VT, int ldvt, T *work,       \
                                          int size, R *rwork, int *info);                                            \
    cusolverStatus_t cusolverDn##t##gesvdj_bufferSize(cusolverDnHandle_t handle, cusolverEigMode_t jobz, int econ,   \
                                                      int m, int n, const T *A, int lda, const R *S, const T *U,     \
                                                      int ldu, const T *V, int ldv, int *size, gesvdjInfo_t params); \
    cusolverStatus_t cusolverDn##t##gesvdj(cusolverDnHandle_t handle, cusolverEigMode_t jobz, int econ, int m,       \
                                           int n, T *A, int lda, R *S, T *U, int ldu, T *V, int ldv, T *work,        \
                                           int size, int *info, gesvdjInfo_t params);                                \
    cusolverStatus_t cusolverDn##t##sy##evd_bufferSize(cusolverDnHandle_t handle, cusolverEigMode_t jobz,            \
                                                       cublasFillMode_t uplo, int n, const T *A, int lda,            \
                                                       const R *W, int *size);                                       \
    cusolverStatus_t cusolverDn##t##sy##evd(cusolverDnHandle_t handle, cusolverEigMode_t jobz,                       \
                                            cublasFillMode_t uplo, int n, T *A, int lda, R *W, T *work, int size,    \
                                            int *info);                                                              \
    cusolverStatus_t cusolverDn##t##sy##evj_bufferSize(cusolverDnHandle_t handle, cusolverEigMode_t jobz,            \
                                                       cublasFillMode_t uplo, int n, const T *A, int lda,            \
                                                       const R *W, int *size, syevjInfo_t params);                   \
    cusolverStatus_t cusolverDn##t##sy##evj(cusolverDnHandle_t handle, cusolverEigMode_t jobz,                       \
                                            cublasFillMode_t uplo, int n, T *A, int lda, R *W, T *work, int size,    \
                                            int *info, syevjInfo_t params);
__WINDLASS_CUSOLVER(S, float, float, or, sy)
__WINDLASS_CUSOLVER(D, double, double, or, sy)
__WINDLASS_CUSOLVER(C, cuComplex, float, un, he)
__WINDLASS_CUSOLVER(Z, cuDoubleComplex, double, un, he)
#ifdef __cplusplus
}
#endif
