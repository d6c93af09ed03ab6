#include <algorithm>
#include <cmath>
#include <omp.h>
#include <array>
#include <vector>
template <class T> void axpy(int n, T a, const T *x, T *y) {
#pragma omp parallel for
    for (int i = 0; i < n; i++) y[i] += a * x[i];
}
template void axpy<float>(int, float, const float *, float *);
template void axpy<double>(int, double, const double *, double *);
namespace grids {
class Grid {
  public:
    Grid(double *data, int rows, int columns) : data(data), rows(rows), columns(columns) {}
    double &at(int i, int j) { return data[i * columns + j]; }
    double sum() const { double s = 0;
#pragma omp parallel for reduction(+ : s)
      for (int i = 0; i < rows * columns; i++) s += data[i];
      return s; }
    void smooth(Grid &out) {
#pragma omp parallel for collapse(2)
        for (int i = 1; i < rows - 1; i++)
            for (int j = 1; j < columns - 1; j++)
                out.at(i, j) = 0.25 * (at(i - 1, j) + at(i + 1, j) + at(i, j - 1) + at(i, j + 1));
    }
  private:
    double *data;
    int rows, columns;
};
double smooth(int rows, int columns, double *in, double *out) {
    Grid a(in, rows, columns), b(out, rows, columns);
    a.smooth(b);
    return b.sum();
}
}
void by_reference(int n, const double *x, double &total, int &count) {
    for (int i = 0; i < n; i++) if (x[i] > 0) { total += x[i]; count++; }
}
void lambdas(int n, const float *x, float *y) {
    auto f = [](float v) { return std::max(v, 0.0f) * 2; };
#pragma omp parallel for
    for (int i = 0; i < n; i++) y[i] = f(x[i]);
}
void transform(int n, const double *x, double *y) { std::transform(x, x + n, y, [](double v) { return std::sqrt(std::abs(v)); }); }
int overloaded(int a) { return a + 1; }
double overloaded(double a) { return a + 0.5; }
struct V { double x, y, z; double norm() const { return std::sqrt(x*x + y*y + z*z); } };
void norms(int n, const V *v, double *out) {
#pragma omp parallel for
    for (int i = 0; i < n; i++) out[i] = v[i].norm();
}
std::array<double, 3> returns_struct() { return {1, 2, 3}; }
void with_vector(int n, double *x) { std::vector<double> t(n); for (int i = 0; i < n; i++) t[i] = x[i]; for (int i = 0; i < n; i++) x[i] = t[n-1-i]; }
double *pointer(double *x) { return x + 1; }
void range(double (&x)[8]) { for (auto &v : x) v *= 2; }
