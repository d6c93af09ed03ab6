// Host functions that call CUDA's libraries, whose derivatives test_derivatives.py compares with differences.
#include <cublas_v2.h>
#include <cufft.h>
#include <cusolverDn.h>
#include <curand.h>
#include <cusparse.h>
#include <thrust/execution_policy.h>
#include <thrust/transform.h>

struct Blas {
    cublasHandle_t handle;
    Blas() { cublasCreate(&handle), cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE); }
    ~Blas() { cublasDestroy(handle); }
    operator cublasHandle_t() const { return handle; }
};
struct HostBlas : Blas {
    HostBlas() { cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST); }
};
static cublasOperation_t operation(int number) {
    return number == 0 ? CUBLAS_OP_N : number == 1 ? CUBLAS_OP_T : CUBLAS_OP_C;
}
static cublasFillMode_t fill(int lower) { return lower ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER; }

// Columns are farther apart than they are long.
void gemm(double *c, const double *a, const double *b, const double *factors, int m, int n, int k, int ta, int tb,
          int pad) {
    cublasDgemm(Blas(), operation(ta), operation(tb), m, n, k, factors, a, (ta ? k : m) + pad, b, (tb ? n : k) + pad,
                factors + 1, c, m + pad);
}
void complex_gemm(cuDoubleComplex *c, const cuDoubleComplex *a, const cuDoubleComplex *b, int n, int ta, int tb) {
    cuDoubleComplex alpha = {2, 1}, beta = {0, -1};
    cublasZgemm(HostBlas(), operation(ta), operation(tb), n, n, n, &alpha, a, n, b, n, &beta, c, n);
}
void batched(double *c, const double *a, const double *b, int n, int count) {
    double alpha = 2, beta = 1;
    const double *pointers[2][8];
    double *targets[8], **device[3];
    for (int i = 0; i < count; i++)
        pointers[0][i] = a + n * n * i, pointers[1][i] = b + n * n * (count - 1 - i), targets[i] = c + n * n * i;
    for (int i = 0; i < 3; i++) {
        cudaMalloc(&device[i], sizeof targets);
        cudaMemcpy(device[i], i < 2 ? (void *)pointers[i] : targets, sizeof targets, cudaMemcpyHostToDevice);
    }
    cublasDgemmBatched(HostBlas(), CUBLAS_OP_N, CUBLAS_OP_T, n, n, n, &alpha, device[0], n, device[1], n, &beta, device[2], n,
                       count);
    cublasDgemmStridedBatched(HostBlas(), CUBLAS_OP_T, CUBLAS_OP_N, n, n, n, &alpha, a, n, n * n, b, n, 0, &beta, c, n,
                              n * n, count);
}
void vectors(double *x, double *y, double *results, int n) {
    Blas blas;
    cublasDdot(blas, n, x, 1, y, 2, results);
    cublasDnrm2(blas, n, x, 1, results + 1);
    cublasDasum(blas, n, y, 2, results + 2);
    cublasDaxpy(blas, n, results, x, 1, y, 2);
    cublasDscal(blas, n, results + 1, x, 1);
    cublasDswap(blas, n, x, 1, y, -2);
    cublasDrot(blas, n, x, 1, y, 2, results + 3, results + 4);
}
void level2(double *y, double *a, const double *x, double *packed, int n) {
    HostBlas blas;
    double alpha = 1.5, beta = 0.5;
    cublasDgemv(blas, CUBLAS_OP_T, n, n, &alpha, a, n, x, 1, &beta, y, 1);
    cublasDger(blas, n, n, &alpha, x, 1, y, 1, a, n);
    cublasDsymv(blas, CUBLAS_FILL_MODE_UPPER, n, &alpha, a, n, x, 1, &beta, y, 1);
    cublasDspr(blas, CUBLAS_FILL_MODE_LOWER, n, &alpha, x, 1, packed);
    cublasDspmv(blas, CUBLAS_FILL_MODE_LOWER, n, &alpha, packed, x, 1, &beta, y, 1);
    cublasDtrsv(blas, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_T, CUBLAS_DIAG_UNIT, n, a, n, y, 1);
    cublasDsyr2(blas, CUBLAS_FILL_MODE_UPPER, n, &alpha, x, 1, y, 1, a, n);
}
void level3(double *c, const double *a, double *b, int n, int lower) {
    HostBlas blas;
    double alpha = 0.5, beta = 1;
    cublasDsyrk(blas, fill(lower), CUBLAS_OP_N, n, n, &alpha, a, n, &beta, c, n);
    cublasDsymm(blas, CUBLAS_SIDE_RIGHT, fill(lower), n, n, &alpha, c, n, a, n, &beta, b, n);
    cublasDtrsm(blas, CUBLAS_SIDE_LEFT, fill(lower), CUBLAS_OP_T, CUBLAS_DIAG_NON_UNIT, n, n, &alpha, a, n, b, n);
    cublasDtrmm(blas, CUBLAS_SIDE_RIGHT, fill(lower), CUBLAS_OP_N, CUBLAS_DIAG_UNIT, n, n, &alpha, a, n, b, n, b, n);
    cublasDgeam(blas, CUBLAS_OP_T, CUBLAS_OP_N, n, n, &alpha, b, n, &beta, c, n, c, n);
}

void fourier(cuDoubleComplex *x, int n, int count, int direction) {
    cufftHandle plan;
    cufftPlan1d(&plan, n, CUFFT_Z2Z, count);
    cufftExecZ2Z(plan, x, x, direction);
    cufftDestroy(plan);
}
// Rows are as long as those of the transform, in place.
void fourier_there_and_back(double *x, double *y, int rows, int columns) {
    cufftHandle there, back;
    cufftPlan2d(&there, rows, columns, CUFFT_D2Z);
    cufftExecD2Z(there, x, (cuDoubleComplex *)x);
    cufftPlan2d(&back, rows, columns, CUFFT_Z2D);
    cufftExecZ2D(back, (cuDoubleComplex *)x, y);
    cufftDestroy(there), cufftDestroy(back);
}
void fourier_strided(double *x, cuDoubleComplex *y, int n, int count) {
    cufftHandle plan;
    int length[1] = {n};
    cufftPlanMany(&plan, 1, length, length, count, 1, length, 1, n, CUFFT_D2Z, count);
    cufftExecD2Z(plan, x, y);
    cufftDestroy(plan);
}

struct Solver {
    cusolverDnHandle_t handle;
    int *info, *pivots, size = 0;
    double *work;
    Solver() { cusolverDnCreate(&handle), cudaMalloc(&info, 4), cudaMalloc(&pivots, 256), cudaMalloc(&work, 1 << 16); }
    ~Solver() { cusolverDnDestroy(handle), cudaFree(info), cudaFree(pivots), cudaFree(work); }
    operator cusolverDnHandle_t() const { return handle; }
};
void cholesky(double *a, double *b, int n, int lower) {
    Solver solver;
    cusolverDnDpotrf_bufferSize(solver, fill(lower), n, a, n, &solver.size);
    cusolverDnDpotrf(solver, fill(lower), n, a, n, solver.work, solver.size, solver.info);
    int info = 1;
    cudaMemcpy(&info, solver.info, sizeof info, cudaMemcpyDeviceToHost);
    if (info == 0) cusolverDnDpotrs(solver, fill(lower), n, 2, a, n, b, n, solver.info);
}
void lu(double *a, double *b, int n, int transposed) {
    Solver solver;
    cusolverDnDgetrf(solver, n, n, a, n, solver.work, solver.pivots, solver.info);
    cusolverDnDgetrs(solver, operation(transposed), n, 2, a, n, solver.pivots, b, n, solver.info);
}
void qr(double *a, double *c, double *tau, int m, int n) {
    Solver solver;
    cusolverDnDgeqrf(solver, m, n, a, m, tau, solver.work, solver.size, solver.info);
    cusolverDnDormqr(solver, CUBLAS_SIDE_LEFT, CUBLAS_OP_T, m, 2, n, a, m, tau, c, m, solver.work, solver.size, solver.info);
    cusolverDnDorgqr(solver, m, n, n, a, m, tau, solver.work, solver.size, solver.info);
}
void eigen(double *a, double *w, int n, int lower) {
    Solver solver;
    cusolverDnDsyevd(solver, CUSOLVER_EIG_MODE_VECTOR, fill(lower), n, a, n, w, solver.work, solver.size, solver.info);
}
void singular(double *a, double *s, double *u, double *vt, int m, int n) {
    Solver solver;
    cusolverDnDgesvd(solver, 'S', 'S', m, n, a, m, s, u, m, vt, n, solver.work, solver.size, nullptr, solver.info);
}

struct Product {
    __device__ double operator()(double x, double y) const { return x * y; }
};
// A random number for each element, and a product by Thrust.
void random_product(double *x, double *y, int n) {
    curandGenerator_t generator;
    double *numbers;
    cudaMalloc(&numbers, n * sizeof(double));
    curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_XORWOW);
    curandSetPseudoRandomGeneratorSeed(generator, 7);
    curandGenerateUniformDouble(generator, numbers, n);
    thrust::transform(thrust::device, x, x + n, numbers, y, Product());
    thrust::transform(thrust::device, x, x + n, y, x, Product());
}

// y = alpha op(A) x + beta y, and C = A B.
void sparse(double *y, double *c, double *values, const double *x, double *b, int *offsets, int *columns, int rows,
            int count, int is_coordinates, int transposed) {
    cusparseHandle_t handle;
    cusparseSpMatDescr_t a;
    cusparseDnVecDescr_t vx, vy;
    cusparseDnMatDescr_t mb, mc;
    double alpha = 2, beta = 0.5;
    cusparseCreate(&handle);
    if (is_coordinates) cusparseCreateCoo(&a, rows, rows, count, offsets, columns, values, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F);
    else cusparseCreateCsr(&a, rows, rows, count, offsets, columns, values, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F);
    cusparseCreateDnVec(&vx, rows, (void *)x, CUDA_R_64F), cusparseCreateDnVec(&vy, rows, y, CUDA_R_64F);
    auto operation = transposed ? CUSPARSE_OPERATION_TRANSPOSE : CUSPARSE_OPERATION_NON_TRANSPOSE;
    cusparseSpMV(handle, operation, &alpha, a, vx, &beta, vy, CUDA_R_64F, CUSPARSE_SPMV_ALG_DEFAULT, nullptr);
    cusparseCreateDnMat(&mb, rows, 3, rows, b, CUDA_R_64F, CUSPARSE_ORDER_COL);
    cusparseCreateDnMat(&mc, rows, 3, 3, c, CUDA_R_64F, CUSPARSE_ORDER_ROW);
    cusparseSpMM(handle, operation, CUSPARSE_OPERATION_NON_TRANSPOSE, &alpha, a, mb, &beta, mc, CUDA_R_64F, CUSPARSE_SPMM_ALG_DEFAULT, nullptr);
    cusparseDestroySpMat(a), cusparseDestroyDnVec(vx), cusparseDestroyDnVec(vy), cusparseDestroyDnMat(mb), cusparseDestroyDnMat(mc);
    cusparseDestroy(handle);
}
