// Real even spherical harmonics up to degree 12, up to one factor each: those of
// src/engine/solvers/commit/harmonics.rs are Y_lm = s_lm P_lm(z) Re or Im (x + iy)^m, and P_l = (a z² + b) P_l-2 -
// P_l-4 costs two operations. Order of the 91: by m, then by l, cosine before sine.
#pragma once
#include "common.cuh"

static constexpr int LMAX = 12, COUNT = 91, DEGREES = 7;
// Sums per lane, which are halved up to five times.
static constexpr int PAD = 96;

__device__ constexpr double root(double v) {
    double r = v > 1 ? v : 1;
    for (int i = 0; i < 60; ++i) r = 0.5 * (r + v / r);
    return r;
}
__device__ constexpr double alpha(int l, int m) { return l <= m ? 0 : root(double(l * l - m * m) / (4.0 * l * l - 1)); }
__device__ constexpr double sectoral(int m) {
    double square = 1 / (4 * 3.14159265358979323846);
    for (int i = 1; i <= m; ++i) square *= double(2 * i + 1) / (2 * i);
    return root(square) * (m > 0 ? root(2) : 1);
}
__device__ constexpr int begin(int m) { return m + m % 2; }
__device__ constexpr double slope(int l, int m) { return 1 / (alpha(l - 1, m) * alpha(l, m)); }
// s_lm.
__device__ constexpr double size(int l, int m) {
    if (l == begin(m)) return sectoral(m) * (m % 2 ? 1 / alpha(m + 1, m) : 1);
    if (l == begin(m) + 2) return 0.5 * slope(l, m) * size(l - 2, m);
    return slope(l, m) * alpha(l - 2, m) * alpha(l - 3, m) * size(l - 4, m);
}
__device__ constexpr double by_square(int l, int m) { return slope(l, m) * size(l - 2, m) / size(l, m); }
__device__ constexpr double constant(int l, int m) {
    double a = alpha(l - 1, m), b = alpha(l - 2, m);
    return -by_square(l, m) * (a * a + b * b);
}
// Index of the first function of a pair, by m, then by l, cosine before sine.
__device__ constexpr int number(int l, int m) {
    int n = 0;
    for (int k = 0; k < m; ++k) n += (k ? 2 : 1) * ((LMAX - begin(k)) / 2 + 1);
    return n + (m ? 2 : 1) * (l - begin(m)) / 2;
}
struct Halves {
    unsigned char of[PAD];
    __device__ constexpr Halves() : of() {
        for (int m = 0; m <= LMAX; ++m)
            for (int l = begin(m); l <= LMAX; l += 2) {
                of[number(l, m)] = l / 2;
                if (m) of[number(l, m) + 1] = l / 2;
            }
    }
};
// l / 2 of each function.
__constant__ Halves halves = Halves();

// Calls visit.take<number>(value, s) for each degree of one m.
template <int L, int M, class T, class V>
__device__ __forceinline__ void degrees(T square, T p, T before, T re, T im, V& visit) {
    constexpr int N = number(L, M);
    if constexpr (M == 0) visit.template take<N, L, M>(p);
    else {
        visit.template take<N, L, M>(p * re);
        visit.template take<N + 1, L, M>(p * im);
    }
    if constexpr (L < LMAX) {
        constexpr T a = by_square(L + 2, M), b = constant(L + 2, M);
        T factor = square * a + b;
        degrees<L + 2, M>(square, L == begin(M) ? factor * p : factor * p - before, p, re, im, visit);
    }
}
template <int M, class T, class V>
__device__ __forceinline__ void orders(T x, T y, T z, T square, T re, T im, V& visit) {
    degrees<begin(M), M>(square, M % 2 ? z : T(1), T(0), re, im, visit);
    if constexpr (M < LMAX) {
        T next_re = M ? re * x - im * y : x, next_im = M ? re * y + im * x : y;
        orders<M + 1>(x, y, z, square, next_re, next_im, visit);
    }
}
template <class T, class V> __device__ __forceinline__ void harmonics(T x, T y, T z, V& visit) {
    orders<0>(x, y, z, z * z, T(1), T(0), visit);
}

// The axis of a code, as in src/engine/solvers/commit/directions.rs.
__device__ __forceinline__ f32x3 axis(u32 code) {
    constexpr float STEP = 2.0f / 256, BEGIN = 1.0f / 256 - 1;
    float u = float(code & 255) * STEP + BEGIN, w = float(code >> 8 & 255) * STEP + BEGIN;
    float x = 0.5f * (u + w), y = 0.5f * (u - w);
    f32x3 v = make(x, y, 1.0f - fabsf(x) - fabsf(y));
    float square = dot(v, v), scale = rsqrtf(square);
    // Accurate to rounding: an error here is twelve times as large in degree 12.
    scale *= 1.5f - 0.5f * square * scale * scale;
    return scale * v;
}

struct Write {
    float* out;
    u32 step;
    template <int N, int L, int M> __device__ __forceinline__ void take(float v) { out[N * step] = v; }
};
// Including s².
struct Scaled {
    double all[COUNT];
    template <int N, int L, int M> __device__ __forceinline__ void take(double v) {
        constexpr double s = size(L, M);
        all[N] = v * (s * s);
    }
};
