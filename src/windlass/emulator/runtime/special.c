// Functions of CUDA's math library that the C library lacks.
#include "machine.h"
#include <math.h>

// erfc(y) = x for 0 < x <= 0.5, by Newton's method on log erfc, which is nearly straight.
static double inverse_tail(double x) {
    double guess = sqrt(-log(x));
    for (int step = 0; step < 60; step++) {
        double tail = erfc(guess);
        if (tail == 0) {
            guess -= 0.5;
            continue;
        }
        double move = (log(tail) - log(x)) * tail * sqrt(M_PI) / (2 * exp(-guess * guess));
        guess += move;
        if (fabs(move) <= 1e-16 * guess) break;
    }
    return guess;
}

// erf(y) = x for |x| < 0.5, by Newton's method from the first terms of the series.
static double inverse_centre(double x) {
    double guess = x * sqrt(M_PI) / 2 * (1 + x * x * M_PI / 12);
    for (int step = 0; step < 6; step++) guess -= (erf(guess) - x) * sqrt(M_PI) / 2 * exp(guess * guess);
    return guess;
}

static double inverse_erf(double x) {
    if (!(x > -1 && x < 1)) return x == 1 ? INFINITY : x == -1 ? -INFINITY : NAN;
    if (fabs(x) < 1e-150) return x * sqrt(M_PI) / 2;
    return fabs(x) < 0.5 ? inverse_centre(x) : copysign(inverse_tail(1 - fabs(x)), x);
}

static double inverse_erfc(double x) {
    if (!(x > 0 && x < 2)) return x == 0 ? INFINITY : x == 2 ? -INFINITY : NAN;
    return x <= 0.5 ? inverse_tail(x) : x < 1.5 ? inverse_centre(1 - x) : -inverse_tail(2 - x);
}

// exp(x²) erfc(x): by its continued fraction where erfc is too small.
static double scaled_erfc(double x) {
    if (x < 5) return exp(x * x) * erfc(x);
    double fraction = x;
    for (int term = 60; term >= 1; term--) fraction = x + term / 2.0 / fraction;
    return 1 / sqrt(M_PI) / fraction;
}

// Modified Bessel functions: the power series, whose terms are all positive; the asymptotic series far out.
static double bessel(double x, int order) {
    double magnitude = fabs(x), sum;
    if (isnan(x)) return x;
    if (magnitude < 40) {
        double term = order ? magnitude / 2 : 1;
        sum = term;
        for (int k = 1; k < 200 && term > sum * 1e-18; k++) {
            term *= magnitude * magnitude / 4 / k / (k + order);
            sum += term;
        }
    } else {
        double term = 1, factor = 4.0 * order * order;
        sum = 1;
        for (int k = 1; k < 30; k++) {
            term *= -(factor - (2.0 * k - 1) * (2.0 * k - 1)) / (k * 8.0 * magnitude);
            sum += term;
            if (fabs(term) < 1e-18) break;
        }
        double half = exp(magnitude / 2);  // the whole of it may be infinite where the result is not
        sum = sum * half / sqrt(2 * M_PI) / sqrt(magnitude) * half;
    }
    return order && x < 0 ? -sum : sum;
}

EXPORT double erfinv(double x) { return inverse_erf(x); }
EXPORT float erfinvf(float x) { return (float)inverse_erf(x); }
EXPORT double erfcinv(double x) { return inverse_erfc(x); }
EXPORT float erfcinvf(float x) { return (float)inverse_erfc(x); }
EXPORT double erfcx(double x) { return scaled_erfc(x); }
EXPORT float erfcxf(float x) { return (float)scaled_erfc(x); }
EXPORT double cyl_bessel_i0(double x) { return bessel(x, 0); }
EXPORT float cyl_bessel_i0f(float x) { return (float)bessel(x, 0); }
EXPORT double cyl_bessel_i1(double x) { return bessel(x, 1); }
EXPORT float cyl_bessel_i1f(float x) { return (float)bessel(x, 1); }
