#include <math.h>
#include <omp.h>
#include <stdbool.h>
#include <cilk/cilk.h>
int calls = 3; static double table[4] = {1, 2, 3, 4}; static const float weights[3] = {0.25f, 0.5f, 0.25f};
struct pair { double a; int b; }; struct big { double a[4]; int n; };

double dot(int n, const double *x, const double *y) {
    double s = 0;
#pragma omp parallel for reduction(+ : s)
    for (int i = 0; i < n; i++) s += x[i] * y[i];
    return s;
}
void gemm_k_middle(int n, int m, int l, double alpha, const double *A, const double *B, double *C) {
#pragma omp parallel for
    for (int i = 0; i < n; i++)
        for (int k = 0; k < l; k++)
            for (int j = 0; j < m; j++) C[i * m + j] += alpha * A[i * l + k] * B[k * m + j];
}
void vla(int n, int m, double A[n][m], double B[n][m]) {
#pragma omp parallel for collapse(2)
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) B[i][j] = A[i][j] * 2 + j;
}
void spmv(int n, const int *rows, const int *columns, const double *values, const double *x, double *y) {
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < n; i++) {
        double s = 0;
        for (int k = rows[i]; k < rows[i + 1]; k++) s += values[k] * x[columns[k]];
        y[i] = s;
    }
}
void private_array(int n, const int *x, int *y) {
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
        int seen[4] = {0};
        for (int k = 0; k < 4; k++) seen[(x[i] + k) % 4] += k + 1;
        y[i] = seen[0] * 1000 + seen[1] * 100 + seen[2] * 10 + seen[3];
    }
}
void region_private_array(int n, const int *x, int *h) {
#pragma omp parallel
    {
        int own[8] = {0};
#pragma omp for
        for (int i = 0; i < n; i++) own[x[i] & 7]++;
#pragma omp critical
        for (int k = 0; k < 8; k++) h[k] += own[k];
    }
}
void critical_order(int n, const int *index, double *y) {
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
#pragma omp critical
        y[index[i]] = y[index[i]] * 0.5 + i;
    }
}
void ordered(int n, const int *index, double *y) {
#pragma omp parallel for ordered
    for (int i = 0; i < n; i++) {
#pragma omp ordered
        y[index[i]] = y[index[i]] * 0.5 + i;
    }
}
void slot_of_thread(int n, const double *x, double *slots) {
#pragma omp parallel
    {
        int t = omp_get_thread_num();
#pragma omp for
        for (int i = 0; i < n; i++) slots[t] = slots[t] * 0.5 + x[i];
    }
}
void locked(int n, const int *index, double *y) {
    omp_lock_t lock;
    omp_init_lock(&lock);
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
        omp_set_lock(&lock);
        y[index[i]] = y[index[i]] * 0.5 + i;
        omp_unset_lock(&lock);
    }
    omp_destroy_lock(&lock);
}
void chunked(int n, double *y) {
#pragma omp parallel for schedule(static, 4)
    for (int i = 0; i < n; i++)
        if (i % 4) y[i] += y[i - 1];
}
int lastprivate(int n, const int *x) {
    int last = -1;
#pragma omp parallel for lastprivate(last)
    for (int i = 0; i < n; i++) last = x[i] * 2;
    return last;
}
double extremes(int n, const double *x, double *low) {
    double high = -1e30, least = 1e30;
    int all = 1;
#pragma omp parallel for reduction(max : high) reduction(min : least) reduction(&& : all)
    for (int i = 0; i < n; i++) {
        high = fmax(high, x[i]);
        if (x[i] < least) least = x[i];
        all = all && x[i] > -5;
    }
    *low = least;
    return high + all;
}
void array_reduction(int n, const int *k, int *h) {
    int bins[8] = {0};
#pragma omp parallel for reduction(+ : bins[:8])
    for (int i = 0; i < n; i++) bins[k[i] & 7] += i;
    for (int j = 0; j < 8; j++) h[j] = bins[j];
}
int compact(int n, const double *x, double *y) {
    int count = 0;
#pragma omp parallel for
    for (int i = 0; i < n; i++)
        if (x[i] > 0) {
            int place;
#pragma omp atomic capture
            place = count++;
            y[place] = x[i];
        }
    return count;
}
void scatter(int n, const int *index, const double *x, double *y) {
#pragma omp parallel for
    for (int i = 0; i < n; i++) y[index[i]] = 2 * y[index[i]] + x[i];
}
void cilk_square(int n, const double *x, double *y) { cilk_for (int i = 0; i < n; i++) y[i] = x[i] * x[i]; }
static int fib(int n) { if (n < 2) return n; int a = cilk_spawn fib(n - 1), b = fib(n - 2); cilk_sync; return a + b; }
int fibonacci(int n) { return fib(n); }
void steps(int n, int t, double *u, double *v) {
#pragma omp parallel
    for (int k = 0; k < t; k++) {
#pragma omp for
        for (int i = 1; i < n - 1; i++) v[i] = u[i] + 0.25 * (u[i - 1] + u[i + 1] - 2 * u[i]);
#pragma omp for
        for (int i = 1; i < n - 1; i++) u[i] = v[i];
    }
}
int find(int n, const int *x, int wanted) {
    for (int i = 0; i < n; i++) if (x[i] == wanted) return i;
    return -1;
}
int count_call(int by) { calls += by; return calls; }
void use_tables(int n, const float *x, float *y) {
#pragma omp parallel for
    for (int i = 1; i < n - 1; i++) y[i] = weights[0] * x[i - 1] + weights[1] * x[i] + weights[2] * x[i + 1] + table[i % 4];
}
double by_value(struct pair p, int n, const double *x) { double s = p.a; for (int i = 0; i < n; i++) s += x[i] * p.b; return s; }
double by_value_big(struct big p) { double s = 0; for (int i = 0; i < p.n; i++) s += p.a[i]; return s; }
bool all_positive(int n, const float *x) { for (int i = 0; i < n; i++) if (!(x[i] > 0)) return false; return true; }
unsigned char flip(unsigned char c, short s, unsigned long u, bool b) { return (unsigned char)(c ^ s ^ u ^ b); }
void nested(int n, double *A) {
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
#pragma omp parallel for
        for (int j = 0; j < n; j++) A[i * n + j] = i * 10 + j;
    }
}
void sections(int n, double *x, double *y) {
#pragma omp parallel sections
    {
#pragma omp section
        for (int i = 0; i < n; i++) x[i] *= 2;
#pragma omp section
        for (int i = 0; i < n; i++) y[i] += 3;
    }
}
void tasks(int n, double *x) {
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < n; i++) {
#pragma omp task firstprivate(i)
        x[i] = x[i] * 2 + i;
    }
}
double simd(int n, const double *x) {
    double s = 0;
#pragma omp simd reduction(+ : s)
    for (int i = 0; i < n; i++) s += x[i] * x[i];
    return s;
}
void prefix(int n, double *x) { for (int i = 1; i < n; i++) x[i] += x[i - 1]; }
void overlap(int n, const double *x, double *y) { for (int i = 0; i < n; i++) y[i] = x[i] + 1; }
void floyd(int n, int *d) {
    for (int k = 0; k < n; k++)
#pragma omp parallel for
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                if (d[i * n + k] + d[k * n + j] < d[i * n + j]) d[i * n + j] = d[i * n + k] + d[k * n + j];
}
void target(int n, double *x) {
#pragma omp target teams distribute parallel for map(tofrom : x[0:n])
    for (int i = 0; i < n; i++) x[i] += 1;
}
int first_private(int n, int base, int *y) {
    int offset = base;
#pragma omp parallel for firstprivate(offset)
    for (int i = 0; i < n; i++) y[i] = offset + i;
    return offset;
}
int threads(void) { int n = 0;
#pragma omp parallel
 { n = omp_get_num_threads() + omp_get_max_threads(); } return n; }
