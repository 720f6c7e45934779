// The speed of rays along the lobes of fibre orientation distributions: src/engine/solvers/geodesic/odf_field.rs.
#pragma once
#include "even_degrees.cuh"
#include "rays.cuh"

// `KernelLobes` in src/engine/solvers/geodesic/cuda/lobes.rs, in the same order.
struct LobeRules {
    float floor, per_reference, exponent;
    // Records 1 to this have a distribution.
    u32 fitted;
    // Rows of the matrices from world to voxel vectors, and from the axes of Rules::root to world vectors.
    float to_voxel[9];
    float world_from_root[9];
};
static_assert(sizeof(LobeRules) == 22 * 4, "as in cuda/lobes.rs");

// Eight threads follow one ray: each holds the coefficients at one corner of the ray's cell, by m, then by l, cosine
// before sine, evaluates their series, and the series of the point is the weighted sum over the eight.
template <int ORDER, int NEWTON> struct Lobe {
    static constexpr float MARGIN = 1.0f / 16.0f, MAX_TURN = 0.087f, TINY = 1.17549435e-38f;
    static constexpr bool IS_LARGE = true;
    // StopReason::LowAmplitude.
    static constexpr u32 TOO_LOW = 12;
    static constexpr int COUNT = (ORDER + 1) * (ORDER + 2) / 2, FOURS = (COUNT + 3) / 4;

    const LobeRules& lobes;
    float c[4 * FOURS];
    Position at;
    f32x3 u;
    float amplitude;
    u32 corner;
    // Whether this corner has a distribution and the cell is not at the border; and whether that holds for all corners.
    bool is_fitted, is_inner, is_plain;

    __device__ __forceinline__ Lobe(const LobeRules& lobes) : lobes(lobes), corner(threadIdx.x & 7) {}

    static __device__ constexpr int number(int l, int m) {
        int n = 0;
        for (int k = 0; k < m; ++k) n += (k ? 2 : 1) * ((ORDER - ::begin(k)) / 2 + 1);
        return n + (m ? 2 : 1) * (l - ::begin(m)) / 2;
    }

    static __device__ __forceinline__ bool any(bool active) { return __any_sync(ALL, active); }
    __device__ __forceinline__ bool writes() const { return corner == 0; }
    __device__ __forceinline__ u32 group() const { return 0xffu << (threadIdx.x & 24); }
    __device__ __forceinline__ u32 next(u32* queue) const {
        u32 slot = writes() ? take(queue, 8) : 0;
        return __shfl_sync(group(), slot, 0, 8);
    }

    __device__ __forceinline__ void begin(f32x3 direction) {
        const float* m = lobes.world_from_root;
        f32x3 d = direction;
        f32x3 v = make(fmaf(m[0], d.x, fmaf(m[1], d.y, m[2] * d.z)), fmaf(m[3], d.x, fmaf(m[4], d.y, m[5] * d.z)),
                       fmaf(m[6], d.x, fmaf(m[7], d.y, m[8] * d.z)));
        u = rsqrtf(dot(v, v)) * v;
    }

    __device__ __forceinline__ void follow(const Rules& rules, const Grids& grids, f32x3 x, f32x3, float margin) {
        if (!stays(at, x, margin)) enter(rules, grids, x);
        __syncwarp();
        is_plain = (__ballot_sync(ALL, is_fitted && is_inner) >> (threadIdx.x & 24) & 0xff) == 0xff;
    }

    __device__ __forceinline__ void enter(const Rules& rules, const Grids& grids, f32x3 x) {
        locate(rules, x, at);
        int i = __float2int_rd(at.middle.x), j = __float2int_rd(at.middle.y), k = __float2int_rd(at.middle.z);
        u32 sample = nearest(rules, i + (int)(corner & 1), j + (int)(corner >> 1 & 1), k + (int)(corner >> 2));
        u32 record = __ldg((const u32*)grids.cells + sample);
        const float4* from = (const float4*)grids.records + (size_t)record * FOURS;
#pragma unroll
        for (int n = 0; n < FOURS; n++) {
            float4 four = __ldg(from + n);
            c[4 * n] = four.x, c[4 * n + 1] = four.y, c[4 * n + 2] = four.z, c[4 * n + 3] = four.w;
        }
        is_fitted = record - 1 < lobes.fitted;
        is_inner = i >= 0 && j >= 0 && k >= 0 && i + 1 <= rules.face[0] && j + 1 <= rules.face[1] && k + 1 <= rules.face[2];
    }

    // The sum over the eight threads of a ray.
    static __device__ __forceinline__ float sum(float value) {
        value += __shfl_xor_sync(ALL, value, 1);
        value += __shfl_xor_sync(ALL, value, 2);
        return value + __shfl_xor_sync(ALL, value, 4);
    }

    // Powers m, m - 1 and m - 2 of x + iy.
    struct Powers {
        float re, im, below_re, below_im, last_re, last_im;
        __device__ __forceinline__ void raise(f32x3 v) {
            last_re = below_re, last_im = below_im, below_re = re, below_im = im;
            re = fmaf(below_re, v.x, -below_im * v.y), im = fmaf(below_re, v.y, below_im * v.x);
        }
    };
    // The sums over the degrees of one m, of the cosine and of the sine, with two derivatives by z.
    struct Frequency {
        float a[3], b[3];
    };
    // Value, gradient, and second derivatives of the polynomial; yy is -xx.
    struct Local {
        float value;
        f32x3 slope;
        float xx, xy, xz, yz, zz;
    };

    template <int M, int L> __device__ __forceinline__ void degrees(float z, float square, float q0, float q1, float q2, float e0,
                                                                    float e1, float e2, Frequency& f) const {
        constexpr int N = number(L, M);
        constexpr bool HAS_FIRST = L > 0, HAS_SECOND = L > 1 && L > M + M % 2;
        f.a[0] = fmaf(c[N], q0, f.a[0]);
        if constexpr (HAS_FIRST) f.a[1] = fmaf(c[N], q1, f.a[1]);
        if constexpr (HAS_SECOND) f.a[2] = fmaf(c[N], q2, f.a[2]);
        if constexpr (M > 0) {
            f.b[0] = fmaf(c[N + 1], q0, f.b[0]);
            if constexpr (HAS_FIRST) f.b[1] = fmaf(c[N + 1], q1, f.b[1]);
            if constexpr (HAS_SECOND) f.b[2] = fmaf(c[N + 1], q2, f.b[2]);
        }
        if constexpr (L < ORDER) {
            constexpr float by = by_square(L, M), add = constant(L, M), earlier = before(L, M), twice = 2 * by_square(L, M);
            float factor = fmaf(square, by, add), by_z = twice * z;
            float n0 = factor * q0, n1 = fmaf(factor, q1, by_z * q0), n2 = fmaf(factor, q2, fmaf(2.0f * by_z, q1, twice * q0));
            if constexpr (L > ::begin(M)) n0 = fmaf(earlier, e0, n0), n1 = fmaf(earlier, e1, n1), n2 = fmaf(earlier, e2, n2);
            degrees<M, L + 2>(z, square, n0, n1, n2, q0, q1, q2, f);
        }
    }

    template <int M> __device__ __forceinline__ void frequencies(f32x3 v, float square, Powers& p, Local& out) const {
        constexpr float first = first_value(M), times = M, twice = M * (M - 1);
        Frequency f = {{0, 0, 0}, {0, 0, 0}};
        degrees<M, ::begin(M)>(v.z, square, M % 2 ? first * v.z : first, M % 2 ? first : 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, f);
        if constexpr (M == 0) {
            out = {f.a[0], make(0.0f, 0.0f, f.a[1]), 0.0f, 0.0f, 0.0f, 0.0f, f.a[2]};
        } else {
            out.value = fmaf(f.b[0], p.im, fmaf(f.a[0], p.re, out.value));
            out.slope.z = fmaf(f.b[1], p.im, fmaf(f.a[1], p.re, out.slope.z));
            out.zz = fmaf(f.b[2], p.im, fmaf(f.a[2], p.re, out.zz));
            out.slope.x = fmaf(times, fmaf(f.b[0], p.below_im, f.a[0] * p.below_re), out.slope.x);
            out.slope.y = fmaf(times, fmaf(f.b[0], p.below_re, -f.a[0] * p.below_im), out.slope.y);
            out.xz = fmaf(times, fmaf(f.b[1], p.below_im, f.a[1] * p.below_re), out.xz);
            out.yz = fmaf(times, fmaf(f.b[1], p.below_re, -f.a[1] * p.below_im), out.yz);
        }
        if constexpr (M > 1) {
            out.xx = fmaf(twice, fmaf(f.b[0], p.last_im, f.a[0] * p.last_re), out.xx);
            out.xy = fmaf(twice, fmaf(f.b[0], p.last_re, -f.a[0] * p.last_im), out.xy);
        }
        if constexpr (M < ORDER) {
            p.raise(v);
            frequencies<M + 1>(v, square, p, out);
        }
    }

    // The value of this corner's series.
    template <int M, int L> __device__ __forceinline__ void values(float square, float q, float e, float& a, float& b) const {
        constexpr int N = number(L, M);
        a = fmaf(c[N], q, a);
        if constexpr (M > 0) b = fmaf(c[N + 1], q, b);
        if constexpr (L < ORDER) {
            constexpr float by = by_square(L, M), add = constant(L, M), earlier = before(L, M);
            float next = fmaf(square, by, add) * q;
            if constexpr (L > ::begin(M)) next = fmaf(earlier, e, next);
            values<M, L + 2>(square, next, q, a, b);
        }
    }
    template <int M> __device__ __forceinline__ void all_values(f32x3 v, float square, float re, float im, float& value) const {
        constexpr float first = first_value(M);
        float a = 0.0f, b = 0.0f;
        values<M, ::begin(M)>(square, M % 2 ? first * v.z : first, 0.0f, a, b);
        value = M == 0 ? a : fmaf(b, im, fmaf(a, re, value));
        if constexpr (M < ORDER) all_values<M + 1>(v, square, fmaf(re, v.x, -im * v.y), fmaf(re, v.y, im * v.x), value);
    }

    // A direction nearer to the maximum of w (p . u).
    __device__ __forceinline__ void uphill(f32x3 p, float weight) {
        Local at_u;
        Powers powers = {1.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
        frequencies<0>(u, u.z * u.z, powers, at_u);
        // Two unit vectors across u (Duff et al. 2017).
        float sign = u.z >= 0.0f ? 1.0f : -1.0f, s = -1.0f / (sign + u.z), b = u.x * u.y * s;
        f32x3 e = make(fmaf(sign, u.x * (u.x * s), 1.0f), sign * b, -sign * u.x), g = make(b, fmaf(u.y, u.y * s, sign), -u.y);
        f32x3 to_e = make(fmaf(at_u.xx, e.x, fmaf(at_u.xy, e.y, at_u.xz * e.z)), fmaf(at_u.xy, e.x, fmaf(-at_u.xx, e.y, at_u.yz * e.z)),
                          fmaf(at_u.xz, e.x, fmaf(at_u.yz, e.y, at_u.zz * e.z)));
        f32x3 to_g = make(fmaf(at_u.xx, g.x, fmaf(at_u.xy, g.y, at_u.xz * g.z)), fmaf(at_u.xy, g.x, fmaf(-at_u.xx, g.y, at_u.yz * g.z)),
                          fmaf(at_u.xz, g.x, fmaf(at_u.yz, g.y, at_u.zz * g.z)));
        // A geodesic bends towards -u, which contributes the radial derivative.
        float radial = dot(at_u.slope, u);
        float value = sum(weight * at_u.value), f_e = sum(weight * dot(at_u.slope, e)), f_g = sum(weight * dot(at_u.slope, g));
        float ee = sum(weight * (dot(e, to_e) - radial)), eg = sum(weight * dot(e, to_g)), gg = sum(weight * (dot(g, to_g) - radial));
        float a = lobes.exponent, speed = fmaf(fmaxf(value, 0.0f), lobes.per_reference, lobes.floor);
        float share = value >= 0.0f ? lobes.per_reference / speed : 0.0f, by_p = 1.0f / dot(p, u);
        f_e *= share, f_g *= share;
        float q_e = by_p * dot(p, e), q_g = by_p * dot(p, g), d_e = fmaf(a, f_e, q_e), d_g = fmaf(a, f_g, q_g);
        ee = fmaf(a, fmaf(share, ee, -f_e * f_e), fmaf(-q_e, q_e, -1.0f));
        eg = fmaf(a, fmaf(share, eg, -f_e * f_g), -q_e * q_g);
        gg = fmaf(a, fmaf(share, gg, -f_g * f_g), fmaf(-q_g, q_g, -1.0f));
        float determinant = fmaf(ee, gg, -eg * eg), turn_e, turn_g;
        if (-ee >= TINY && determinant >= TINY) {
            float by = 1.0f / determinant;
            turn_e = by * fmaf(eg, d_g, -gg * d_e), turn_g = by * fmaf(eg, d_e, -ee * d_g);
        } else {
            float steep = MAX_TURN * rsqrtf(fmaxf(fmaf(d_e, d_e, d_g * d_g), TINY));
            turn_e = steep * d_e, turn_g = steep * d_g;
        }
        float limit = fminf(MAX_TURN * rsqrtf(fmaxf(fmaf(turn_e, turn_e, turn_g * turn_g), TINY)), 1.0f);
        f32x3 next = u + (limit * turn_e) * e + (limit * turn_g) * g;
        u = rsqrtf(dot(next, next)) * next;
    }

    // Returns h w u, and 2 h (p . u) times the derivatives of w, in the form of `Slope`. If `rough`, the last direction
    // of the lobe is used without a Newton step; its error is of the order of a step.
    __device__ __forceinline__ Slope slope(const Rules&, const Grids&, f32x3 p, bool rough) {
        const float* m = lobes.to_voxel;
        f32x3 in_world = make(fmaf(m[0], p.x, fmaf(m[3], p.y, m[6] * p.z)), fmaf(m[1], p.x, fmaf(m[4], p.y, m[7] * p.z)),
                              fmaf(m[2], p.x, fmaf(m[5], p.y, m[8] * p.z)));
        float wu = corner & 1 ? at.u : 1.0f - at.u, wv = corner & 2 ? at.v : 1.0f - at.v, ww = corner & 4 ? at.w : 1.0f - at.w;
#pragma unroll 1
        for (int step = rough ? NEWTON : 0; step < NEWTON; step++) uphill(in_world, wu * wv * ww);
        float q;
        all_values<0>(u, u.z * u.z, 1.0f, 0.0f, q);
        float by_u = corner & 1 ? q : -q, by_v = corner & 2 ? q : -q, by_w = corner & 4 ? q : -q;
        float f = sum(wu * wv * (ww * q));
        f32x3 along = make(sum(wv * ww * by_u), sum(wu * ww * by_v), sum(wu * wv * by_w));
        amplitude = f;
        float base = fmaf(fmaxf(f, 0.0f), lobes.per_reference, lobes.floor), speed = exp2f(lobes.exponent * log2f(base));
        float by_amplitude = f >= 0.0f ? lobes.exponent * lobes.per_reference * speed / base : 0.0f;
        float ahead = dot(in_world, u), h = speed * ahead;
        // Where p points backwards, p . x' is negative, which ends the ray.
        f32x3 v = (fabsf(h) * speed) * u;
        f32x3 x = make(fmaf(m[0], v.x, fmaf(m[1], v.y, m[2] * v.z)), fmaf(m[3], v.x, fmaf(m[4], v.y, m[5] * v.z)),
                       fmaf(m[6], v.x, fmaf(m[7], v.y, m[8] * v.z)));
        return {x, (2.0f * h * ahead * by_amplitude) * along};
    }

    __device__ __forceinline__ bool plain() const { return is_plain; }
    __device__ __forceinline__ bool inside(const Rules&, const Grids&) const {
        float share = is_fitted ? corner_weight((int)corner, at) : 0.0f;
        share += __shfl_xor_sync(group(), share, 1);
        share += __shfl_xor_sync(group(), share, 2);
        return share + __shfl_xor_sync(group(), share, 4) >= 0.5f;
    }
    // The amplitude of the lobe within the step.
    __device__ __forceinline__ float level(const Rules&, const Grids&) const { return amplitude; }
};
