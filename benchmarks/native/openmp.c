// The loops of kernels.cu, as a C programmer writes them with OpenMP.

#include <math.h>
#include <stdbool.h>

static int least(int a, int b) { return a < b ? a : b; }
static int most(int a, int b) { return a > b ? a : b; }

void heat(const float *u, float *v, int n, float c) {
#pragma omp parallel for
    for (int j = 1; j < n - 1; j++)
        for (int i = 1; i < n - 1; i++)
            v[j * n + i] = u[j * n + i] + c * (u[j * n + i - 1] + u[j * n + i + 1] + u[(j - 1) * n + i]
                                               + u[(j + 1) * n + i] - 4 * u[j * n + i]);
}

void clamped(const float *u, float *v, int n, float c) {
#pragma omp parallel for
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) {
            int west = most(i - 1, 0), east = least(i + 1, n - 1), north = most(j - 1, 0), south = least(j + 1, n - 1);
            v[j * n + i] = u[j * n + i] + c * (u[j * n + west] + u[j * n + east] + u[north * n + i] + u[south * n + i]
                                               - 4 * u[j * n + i]);
        }
}

void periodic(const float *u, float *v, int n, float c) {
#pragma omp parallel for
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) {
            int west = (i + n - 1) % n, east = (i + 1) % n, north = (j + n - 1) % n, south = (j + 1) % n;
            v[j * n + i] = u[j * n + i] + c * (u[j * n + west] + u[j * n + east] + u[north * n + i] + u[south * n + i]
                                               - 4 * u[j * n + i]);
        }
}

void seven_points(const float *u, float *v, int n, float a, float b) {
#pragma omp parallel for
    for (int k = 1; k < n - 1; k++)
        for (int j = 1; j < n - 1; j++)
            for (int i = 1; i < n - 1; i++) {
                int at = (k * n + j) * n + i;
                v[at] = a * u[at]
                        + b * (u[at - 1] + u[at + 1] + u[at - n] + u[at + n] + u[at - n * n] + u[at + n * n]);
            }
}

void hotspot(const float *power, const float *from, float *to, int rows, int columns, float step, float rx, float ry,
             float rz) {
#pragma omp parallel for
    for (int j = 0; j < rows; j++)
        for (int i = 0; i < columns; i++) {
            int at = j * columns + i;
            float here = from[at];
            float west = i > 0 ? from[at - 1] : here, east = i < columns - 1 ? from[at + 1] : here;
            float north = j > 0 ? from[at - columns] : here, south = j < rows - 1 ? from[at + columns] : here;
            to[at] = here + step * (power[at] + (north + south - 2.0f * here) * ry + (east + west - 2.0f * here) * rx
                                    + (80.0f - here) * rz);
        }
}

void srad_slopes(const float *image, const int *north, const int *south, const int *west, const int *east, float *dn,
                 float *ds, float *dw, float *de, float *c, int rows, int columns, float q0) {
#pragma omp parallel for
    for (int j = 0; j < rows; j++)
        for (int i = 0; i < columns; i++) {
            int at = j * columns + i;
            float here = image[at];
            float n = image[north[j] * columns + i] - here, s = image[south[j] * columns + i] - here;
            float w = image[j * columns + west[i]] - here, e = image[j * columns + east[i]] - here;
            float g2 = (n * n + s * s + w * w + e * e) / (here * here), l = (n + s + w + e) / here;
            float num = 0.5f * g2 - 0.0625f * (l * l), den = 1.0f + 0.25f * l, q = num / (den * den);
            den = (q - q0) / (q0 * (1.0f + q0));
            float found = 1.0f / (1.0f + den);
            dn[at] = n;
            ds[at] = s;
            dw[at] = w;
            de[at] = e;
            c[at] = found < 0 ? 0 : found > 1 ? 1 : found;
        }
}

void srad_update(float *image, const int *south, const int *east, const float *dn, const float *ds, const float *dw,
                 const float *de, const float *c, int rows, int columns, float rate) {
#pragma omp parallel for
    for (int j = 0; j < rows; j++)
        for (int i = 0; i < columns; i++) {
            int at = j * columns + i;
            float cn = c[at], cs = c[south[j] * columns + i], cw = cn, ce = c[j * columns + east[i]];
            image[at] = image[at] + 0.25f * rate * (cn * dn[at] + cs * ds[at] + cw * dw[at] + ce * de[at]);
        }
}

void lattice(const float *f, float *g, int n, float rate) {
#pragma omp parallel for
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) {
            int w = (i + n - 1) % n, e = (i + 1) % n, s = (j + n - 1) % n, t = (j + 1) % n, m = n * n, at = j * n + i;
            float f0 = f[at], f1 = f[m + j * n + w], f2 = f[2 * m + s * n + i], f3 = f[3 * m + j * n + e];
            float f4 = f[4 * m + t * n + i], f5 = f[5 * m + s * n + w], f6 = f[6 * m + s * n + e];
            float f7 = f[7 * m + t * n + e], f8 = f[8 * m + t * n + w];
            float rho = f0 + f1 + f2 + f3 + f4 + f5 + f6 + f7 + f8;
            float ux = (f1 + f5 + f8 - f3 - f6 - f7) / rho, uy = (f2 + f5 + f6 - f4 - f7 - f8) / rho;
            float p = ux + uy, q = uy - ux, u = 1 - 1.5f * (ux * ux + uy * uy), a = rho / 9, b = rho / 36;
            g[at] = f0 + rate * (rho * 4 / 9 * u - f0);
            g[m + at] = f1 + rate * (a * (u + 3 * ux + 4.5f * ux * ux) - f1);
            g[2 * m + at] = f2 + rate * (a * (u + 3 * uy + 4.5f * uy * uy) - f2);
            g[3 * m + at] = f3 + rate * (a * (u - 3 * ux + 4.5f * ux * ux) - f3);
            g[4 * m + at] = f4 + rate * (a * (u - 3 * uy + 4.5f * uy * uy) - f4);
            g[5 * m + at] = f5 + rate * (b * (u + 3 * p + 4.5f * p * p) - f5);
            g[6 * m + at] = f6 + rate * (b * (u + 3 * q + 4.5f * q * q) - f6);
            g[7 * m + at] = f7 + rate * (b * (u - 3 * p + 4.5f * p * p) - f7);
            g[8 * m + at] = f8 + rate * (b * (u - 3 * q + 4.5f * q * q) - f8);
        }
}

void bodies(const float *x, const float *y, const float *z, const float *mass, float *ax, float *ay, float *az, int n,
            float soft) {
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
        float px = x[i], py = y[i], pz = z[i], sx = 0, sy = 0, sz = 0;
        for (int j = 0; j < n; j++) {
            float dx = x[j] - px, dy = y[j] - py, dz = z[j] - pz;
            float r2 = dx * dx + dy * dy + dz * dz + soft, r = 1.0f / sqrtf(r2), f = mass[j] * (r * r * r);
            sx += f * dx;
            sy += f * dy;
            sz += f * dz;
        }
        ax[i] = sx;
        ay[i] = sy;
        az[i] = sz;
    }
}

static float normal(float d) {
    float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    float p = 0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)));
    float w = 0.39894228f * expf(-0.5f * d * d) * (k * p);
    return d > 0 ? 1.0f - w : w;
}

void black_scholes(const float *s, const float *k, const float *t, float *call, float *put, int n, float r, float v) {
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
        float q = sqrtf(t[i]), d1 = (logf(s[i] / k[i]) + (r + 0.5f * v * v) * t[i]) / (v * q), d2 = d1 - v * q;
        float a = normal(d1), b = normal(d2), e = expf(-r * t[i]);
        call[i] = s[i] * a - k[i] * e * b;
        put[i] = k[i] * e * (1.0f - b) - s[i] * (1.0f - a);
    }
}

void mandelbrot(int *out, int n, int limit) {
#pragma omp parallel for schedule(dynamic, 8)
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) {
            float x0 = 3.0f * i / n - 2.0f, y0 = 2.0f * j / n - 1.0f, x = 0, y = 0;
            int k = 0;
            while (k < limit && x * x + y * y < 4.0f) {
                float t = x * x - y * y + x0;
                y = 2 * x * y + y0;
                x = t;
                k++;
            }
            out[j * n + i] = k;
        }
}

void spmv(int n, const int *start, const int *column, const float *value, const float *x, float *y) {
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
        float sum = 0;
        for (int k = start[i]; k < start[i + 1]; k++) sum += value[k] * x[column[k]];
        y[i] = sum;
    }
}

void bfs_visit(const int *start, const int *edge, bool *frontier, bool *next, const bool *visited, int *cost, int n) {
#pragma omp parallel for
    for (int i = 0; i < n; i++)
        if (frontier[i]) {
            frontier[i] = false;
            for (int k = start[i]; k < start[i + 1]; k++) {
                int other = edge[k];
                if (!visited[other]) {
                    cost[other] = cost[i] + 1;
                    next[other] = true;
                }
            }
        }
}

void bfs_advance(bool *frontier, bool *next, bool *visited, bool *again, int n) {
#pragma omp parallel for
    for (int i = 0; i < n; i++)
        if (next[i]) {
            frontier[i] = true;
            visited[i] = true;
            *again = true;
            next[i] = false;
        }
}

void histogram(const int *x, int *counts, int n) {
#pragma omp parallel for reduction(+ : counts[ : 256])
    for (int i = 0; i < n; i++) counts[x[i]]++;
}
