#include <omp.h>
#include <math.h>
#include <stdatomic.h>
void helper(double *s, double v) { s[omp_get_thread_num()] = s[omp_get_thread_num()] * 0.5 + v; }
void through_call(int n, const double *x, double *s) {
#pragma omp parallel for
  for (int i = 0; i < n; i++) helper(s, x[i]);
}
static double buf[4];
#pragma omp threadprivate(buf)
void tp(int n, const double *x, double *out) {
#pragma omp parallel for
  for (int i = 0; i < n; i++) { buf[0] = buf[0]*0.5 + x[i]; out[i] = buf[0]; }
}
void flushing(int n, int *flag, double *y) {
#pragma omp parallel for schedule(static,1)
  for (int i = 1; i < n; i++) {
    while (flag[i-1] == 0) {
#pragma omp flush
    }
    y[i] = y[i-1] * 0.5 + 1;
    flag[i] = 1;
#pragma omp flush
  }
}
void seq_atomic(int n, atomic_int *c, int *order, double *y) {
#pragma omp parallel for
  for (int i = 0; i < n; i++) { int k = atomic_fetch_add(c, 1); order[k] = i; }
}
void vol(int n, volatile int *f, double *y) {
#pragma omp parallel for
  for (int i = 1; i < n; i++) { y[i] = y[i-1] + f[0]; }
}
void doacross(int n, double *y) {
#pragma omp parallel for ordered(1)
  for (int i = 1; i < n; i++) {
#pragma omp ordered depend(sink : i - 1)
    y[i] = y[i-1] * 0.5 + 1;
#pragma omp ordered depend(source)
  }
}
void down(int n, double *y, const double *x) {
#pragma omp parallel for
  for (int i = n - 1; i >= 0; i -= 2) y[i] = x[i] + i;
}
void unsigned_loop(unsigned n, double *y) {
#pragma omp parallel for
  for (unsigned i = 3; i < n; i += 3) y[i] = i;
}
void tri(int n, double *A) {
#pragma omp parallel for collapse(2)
  for (int i = 0; i < n; i++) for (int j = 0; j < i; j++) A[i*n+j] = i*100+j;
}
void lastp(int n, int *out, const int *x) {
  int last[2] = {0,0}, k = 0;
#pragma omp parallel for lastprivate(last, k)
  for (int i = 0; i < n; i++) { last[0] = x[i]; last[1] = i; k = i * 2; }
  out[0] = last[0]; out[1] = last[1]; out[2] = k;
}
void lin(int n, int *out) {
  int k = 5;
#pragma omp parallel for linear(k : 3)
  for (int i = 0; i < n; i++) { out[i] = k; k += 3; }
  out[n] = k;
}
#pragma omp declare reduction(absmax : double : omp_out = fabs(omp_in) > fabs(omp_out) ? omp_in : omp_out) initializer(omp_priv = 0)
double custom(int n, const double *x) { double m = 0;
#pragma omp parallel for reduction(absmax : m)
  for (int i = 0; i < n; i++) m = fabs(x[i]) > fabs(m) ? x[i] : m;
  return m; }
void scan(int n, const double *x, double *y) { double s = 0;
#pragma omp parallel for reduction(inscan, + : s)
  for (int i = 0; i < n; i++) { s += x[i];
#pragma omp scan inclusive(s)
    y[i] = s; } }
int cancel(int n, const int *x) { int found = 0;
#pragma omp parallel for
  for (int i = 0; i < n; i++) { if (x[i] == 7) { found = 1; } }
  return found; }
void masters(int n, double *x) {
#pragma omp parallel
  {
#pragma omp master
    x[0] += 1;
#pragma omp masked
    x[1] += 1;
#pragma omp barrier
#pragma omp for nowait
    for (int i = 2; i < n; i++) x[i] += 1;
  }
}
void copyp(int n, double *x) { double t = 0;
#pragma omp parallel firstprivate(t)
  {
#pragma omp single copyprivate(t)
    t = x[0];
#pragma omp for
    for (int i = 1; i < n; i++) x[i] += t;
  }
}
double tasks_red(int n, const double *x) { double s = 0;
#pragma omp parallel
#pragma omp single
  {
#pragma omp task shared(s)
   for (int i = 0; i < n; i++) s += x[i];
#pragma omp taskwait
   s *= 2;
  }
  return s; }
void dist_chunk(int n, double *x) {
#pragma omp target teams distribute parallel for dist_schedule(static, 4) schedule(static, 2) map(tofrom: x[:n])
  for (int i = 0; i < n; i++) x[i] += 1;
}
void simd_for(int n, double *x) {
#pragma omp parallel for simd schedule(simd: static, 5)
  for (int i = 0; i < n; i++) x[i] += 1;
}
void guided(int n, double *x) {
#pragma omp parallel for schedule(guided) num_threads(3)
  for (long i = 0; i < n; i++) x[i] += 1;
}
void runtime_s(int n, double *x, int c) {
#pragma omp parallel for schedule(runtime)
  for (int i = 0; i < n; i++) x[i] += 1;
#pragma omp parallel for schedule(static, c)
  for (int i = 0; i < n; i++) x[i] += 1;
#pragma omp parallel for schedule(dynamic, c)
  for (int i = 0; i < n; i++) x[i] += 1;
}
void loop_c(int n, double *x) {
#pragma omp parallel
#pragma omp loop
  for (int i = 0; i < n; i++) x[i] += 1;
}
void iff(int n, double *x) {
#pragma omp parallel for if (n > 5)
  for (int i = 0; i < n; i++) x[i] += 1;
}
