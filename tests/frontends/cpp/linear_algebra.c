#include <math.h>
void gemm(int n, double alpha, double beta, double C[n][n], double A[n][n], double B[n][n]) {
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < n; j++) C[i][j] *= beta;
    for (int k = 0; k < n; k++) for (int j = 0; j < n; j++) C[i][j] += alpha * A[i][k] * B[k][j];
  }
}
void two_mm(int n, double alpha, double t[n][n], double A[n][n], double B[n][n], double C[n][n], double D[n][n]) {
  for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) { t[i][j] = 0; for (int k = 0; k < n; k++) t[i][j] += alpha * A[i][k] * B[k][j]; }
  for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) { D[i][j] *= 2; for (int k = 0; k < n; k++) D[i][j] += t[i][k] * C[k][j]; }
}
void atax(int n, double A[n][n], double x[n], double y[n], double t[n]) {
  for (int i = 0; i < n; i++) y[i] = 0;
  for (int i = 0; i < n; i++) {
    t[i] = 0;
    for (int j = 0; j < n; j++) t[i] += A[i][j] * x[j];
    for (int j = 0; j < n; j++) y[j] += A[i][j] * t[i];
  }
}
void bicg(int n, double A[n][n], double s[n], double q[n], double p[n], double r[n]) {
  for (int i = 0; i < n; i++) s[i] = 0;
  for (int i = 0; i < n; i++) { q[i] = 0; for (int j = 0; j < n; j++) { s[j] += r[i] * A[i][j]; q[i] += A[i][j] * p[j]; } }
}
void mvt(int n, double x1[n], double x2[n], double y1[n], double y2[n], double A[n][n]) {
  for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) x1[i] += A[i][j] * y1[j];
  for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) x2[i] += A[j][i] * y2[j];
}
void syrk(int n, double alpha, double C[n][n], double A[n][n]) {
  for (int i = 0; i < n; i++) {
    for (int j = 0; j <= i; j++) C[i][j] *= 2;
    for (int k = 0; k < n; k++) for (int j = 0; j <= i; j++) C[i][j] += alpha * A[i][k] * A[j][k];
  }
}
void k_outermost(int n, double C[n][n], double A[n][n], double B[n][n]) {
  for (int k = 0; k < n; k++) for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) C[i][j] += A[i][k] * B[k][j];
}
void jacobi_2d(int t, int n, double A[n][n], double B[n][n]) {
  for (int s = 0; s < t; s++) {
    for (int i = 1; i < n - 1; i++) for (int j = 1; j < n - 1; j++) B[i][j] = 0.2 * (A[i][j] + A[i][j-1] + A[i][j+1] + A[i+1][j] + A[i-1][j]);
    for (int i = 1; i < n - 1; i++) for (int j = 1; j < n - 1; j++) A[i][j] = 0.2 * (B[i][j] + B[i][j-1] + B[i][j+1] + B[i+1][j] + B[i-1][j]);
  }
}
void doitgen(int n, double A[n][n][n], double C4[n][n], double sum[n]) {
  for (int r = 0; r < n; r++) for (int q = 0; q < n; q++) {
    for (int p = 0; p < n; p++) { sum[p] = 0; for (int s = 0; s < n; s++) sum[p] += A[r][q][s] * C4[s][p]; }
    for (int p = 0; p < n; p++) A[r][q][p] = sum[p];
  }
}
void gesummv(int n, double alpha, double beta, double A[n][n], double B[n][n], double t[n], double x[n], double y[n]) {
  for (int i = 0; i < n; i++) {
    t[i] = 0; y[i] = 0;
    for (int j = 0; j < n; j++) { t[i] = A[i][j] * x[j] + t[i]; y[i] = B[i][j] * x[j] + y[i]; }
    y[i] = alpha * t[i] + beta * y[i];
  }
}
void covariance(int n, double f, double data[n][n], double cov[n][n], double mean[n]) {
  for (int j = 0; j < n; j++) { mean[j] = 0; for (int i = 0; i < n; i++) mean[j] += data[i][j]; mean[j] /= f; }
  for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) data[i][j] -= mean[j];
  for (int i = 0; i < n; i++) for (int j = i; j < n; j++) {
    cov[i][j] = 0; for (int k = 0; k < n; k++) cov[i][j] += data[k][i] * data[k][j];
    cov[i][j] /= (f - 1); cov[j][i] = cov[i][j];
  }
}
void trisolv(int n, double L[n][n], double x[n], double b[n]) {
  for (int i = 0; i < n; i++) { x[i] = b[i]; for (int j = 0; j < i; j++) x[i] -= L[i][j] * x[j]; x[i] = x[i] / L[i][i]; }
}
