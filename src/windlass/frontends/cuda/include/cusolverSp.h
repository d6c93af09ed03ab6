// cuSOLVER, sparse: systems of linear equations. Done outside the program, by the routine of its name.
#pragma once
#include "cusolver_common.h"
#include "cusparse.h"

typedef struct cusolverSpContext *cusolverSpHandle_t;

#ifdef __cplusplus
extern "C" {
#endif
cusolverStatus_t cusolverSpCreate(cusolverSpHandle_t *handle);
cusolverStatus_t cusolverSpDestroy(cusolverSpHandle_t handle);
cusolverStatus_t cusolverSpSetStream(cusolverSpHandle_t handle, cudaStream_t stream);
#define __WINDLASS_CUSOLVER_SPARSE(name, T, R)                                                                      \
    cusolverStatus_t cusolverSp##name(cusolverSpHandle_t handle, int m, int nnz, const cusparseMatDescr_t descr,    \
                                      const T *values, const int *offsets, const int *columns, const T *b, R tol,   \
                                      int reorder, T *x, int *singularity);
__WINDLASS_CUSOLVER_SPARSE(Scsrlsvqr, float, float)
__WINDLASS_CUSOLVER_SPARSE(Dcsrlsvqr, double, double)
__WINDLASS_CUSOLVER_SPARSE(Ccsrlsvqr, cuComplex, float)
__WINDLASS_CUSOLVER_SPARSE(Zcsrlsvqr, cuDoubleComplex, double)
__WINDLASS_CUSOLVER_SPARSE(Scsrlsvchol, float, float)
__WINDLASS_CUSOLVER_SPARSE(Dcsrlsvchol, double, double)
__WINDLASS_CUSOLVER_SPARSE(Ccsrlsvchol, cuComplex, float)
__WINDLASS_CUSOLVER_SPARSE(Zcsrlsvchol, cuDoubleComplex, double)
#ifdef __cplusplus
}
#endif
