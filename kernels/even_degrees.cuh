// Real even spherical harmonics as polynomials in z times powers of x + iy.
#pragma once
#include "common.cuh"

// Factors of the recurrence over even degrees: src/engine/data/spherical_harmonics/even.rs.
__device__ constexpr double root(double v) {
    double r = v > 1 ? v : 1;
    for (int i = 0; i < 60; ++i) r = 0.5 * (r + v / r);
    return r;
}
__device__ constexpr double above(int l, int m) { return root((4.0 * l * l - 1) / double(l * l - m * m)); }
__device__ constexpr double below(int l, int m) {
    return l - 1 > m ? root(double((l - 1) * (l - 1) - m * m) / (4.0 * (l - 1) * (l - 1) - 1)) : 0;
}
__device__ constexpr int begin(int m) { return m + m % 2; }
__device__ constexpr double first_value(int m) {
    double square = 1 / (4 * 3.14159265358979323846);
    for (int i = 1; i <= m; ++i) square *= double(2 * i + 1) / (2 * i);
    double value = root(square) * (m == 0 ? 1 : m % 2 ? -root(2) : root(2));
    return m % 2 ? value * above(m + 1, m) : value;
}
__device__ constexpr double by_square(int l, int m) { return above(l + 2, m) * above(l + 1, m); }
__device__ constexpr double constant(int l, int m) {
    return -above(l + 2, m) * (above(l + 1, m) * below(l + 1, m) / (l > m ? above(l, m) : 1) + below(l + 2, m));
}
__device__ constexpr double before(int l, int m) {
    return l > m ? -above(l + 2, m) * above(l + 1, m) * below(l + 1, m) * below(l, m) : 0;
}
