// The deterministic model of kernels/odf_tracking.cu.
#pragma once
#include "odf_tracking.cuh"

// The peak of the lobe that is followed, by Newton's method from the last direction, and the midpoint rule:
// src/engine/solvers/odf_tracking/model.rs, src/engine/solvers/peaks/newton.rs. A lane is the cosine or the sine of a
// frequency m of the series, with all its degrees.
template <int ORDER> struct Lobes {
    using S = Series<ORDER>;
    static constexpr int TERMS = ORDER / 2 + 1;
    // The coefficients at a seed, and the amplitudes among which its largest peak is searched.
    struct Search {
        float4 record[S::FOURS];
        float amplitudes[VERTICES];
    };
    struct Shared {
        Search searches[WARPS];
    };
    Search& search;
    // The frequency of this lane, the place of its first coefficient in a record and the distance to the next one; its
    // first function and the factors of the recurrence; and the interpolated coefficients.
    u32 m, place, distance;
    bool is_sine;
    float first, by_squares[TERMS - 1], constants[TERMS - 1], previous[TERMS - 1];
    float coefficients[TERMS];

    template <int M, int T> __device__ __forceinline__ void set_degrees() {
        constexpr int L = begin(M) + 2 * T;
        if constexpr (L < ORDER) {
            constexpr float a = by_square(L, M), b = constant(L, M), c = before(L, M);
            by_squares[T] = a, constants[T] = b, previous[T] = c;
            set_degrees<M, T + 1>();
        }
    }
    template <int M> __device__ __forceinline__ void set_frequency() {
        if (m == M) {
            constexpr float f = first_value(M);
            first = f, place = S::number(begin(M), M) + (is_sine ? 1 : 0);
            set_degrees<M, 0>();
        }
        if constexpr (M < ORDER) set_frequency<M + 1>();
    }
    __device__ __forceinline__ Lobes(Shared& shared, const Data& data, u32 lane) : search(shared.searches[threadIdx.x / 32]) {
        m = (lane + 1) / 2, is_sine = lane > 0 && lane % 2 == 0, distance = m ? 2 : 1, place = 0, first = 0.0f;
#pragma unroll
        for (int t = 0; t < TERMS - 1; t++) by_squares[t] = 0.0f, constants[t] = 0.0f, previous[t] = 0.0f;
        set_frequency<0>();
    }

    // Degrees of this lane's frequency.
    __device__ __forceinline__ int terms() const { return m > ORDER ? 0 : (ORDER - (int)(m + m % 2)) / 2 + 1; }

    // Interpolates the coefficients at a position in voxels; they are 0 beyond the degrees of the frequency, and in the
    // lanes beyond the order.
    __device__ __forceinline__ void interpolate(const Rules& rules, const Data& data, f32x3 v) {
        u32 nx = rules.fibres.shape[0], ny = rules.fibres.shape[1];
        Axis x = axis(v.x, nx), y = axis(v.y, ny), z = axis(v.z, rules.fibres.shape[2]);
        const float* records = (const float*)data.records;
        int terms = this->terms();
#pragma unroll
        for (int t = 0; t < TERMS; t++) coefficients[t] = 0.0f;
#pragma unroll
        for (int k = 0; k < 8; k++) {
            u32 row = nx * ((k & 2 ? y.high : y.low) + ny * (k & 4 ? z.high : z.low));
            const float* record = records + (size_t)(__ldg(data.record_of + row + (k & 1 ? x.high : x.low)) * (4 * S::FOURS)) + place;
            float share = (k & 1 ? x.t : 1.0f - x.t) * (k & 2 ? y.t : 1.0f - y.t) * (k & 4 ? z.t : 1.0f - z.t);
#pragma unroll
            for (int t = 0; t < TERMS; t++)
                if (t < terms) coefficients[t] = fmaf(share, __ldg(record + distance * t), coefficients[t]);
        }
    }

    // The value, the slopes along two axes across u, and the second derivatives along them: `Series::derivatives`.
    struct Local {
        float value, p, q, a, b, c;
    };
    __device__ __forceinline__ Local at(f32x3 u, f32x3 e, f32x3 g, u32 lane) {
        float square = u.z * u.z;
        // The polynomial in z of this lane's functions with its first two derivatives, and their sums.
        float f0 = m % 2 ? first * u.z : first, f1 = m % 2 ? first : 0.0f, f2 = 0.0f, e0 = 0.0f, e1 = 0.0f, e2 = 0.0f;
        float s0 = coefficients[0] * f0, s1 = coefficients[0] * f1, s2 = 0.0f;
#pragma unroll
        for (int t = 0; t < TERMS - 1; t++) {
            float twice = 2.0f * by_squares[t], factor = fmaf(square, by_squares[t], constants[t]), by_z = twice * u.z;
            float n0 = fmaf(e0, previous[t], factor * f0), n1 = fmaf(e1, previous[t], fmaf(factor, f1, by_z * f0));
            float n2 = fmaf(e2, previous[t], fmaf(factor, f2, fmaf(2.0f * by_z, f1, twice * f0)));
            e0 = f0, e1 = f1, e2 = f2, f0 = n0, f1 = n1, f2 = n2;
            s0 = fmaf(coefficients[t + 1], f0, s0), s1 = fmaf(coefficients[t + 1], f1, s1), s2 = fmaf(coefficients[t + 1], f2, s2);
        }
        // Powers m - 2, m - 1 and m of x + iy; those below 0 are not used.
        float re = 1.0f, im = 0.0f, base_re = u.x, base_im = u.y;
        u32 power = m > 2 ? m - 2 : 0;
#pragma unroll
        for (int bit = 0; bit < 4; bit++) {
            float by_re = fmaf(re, base_re, -im * base_im), by_im = fmaf(re, base_im, im * base_re);
            if (power >> bit & 1) re = by_re, im = by_im;
            float square_im = 2.0f * base_re * base_im;
            base_re = fmaf(base_re, base_re, -base_im * base_im), base_im = square_im;
        }
        float second_re = re, second_im = im;
        float below_re = re, below_im = im;
        if (m >= 2) below_re = fmaf(re, u.x, -im * u.y), below_im = fmaf(re, u.y, im * u.x);
        float this_re = below_re, this_im = below_im;
        if (m >= 1) this_re = fmaf(below_re, u.x, -below_im * u.y), this_im = fmaf(below_re, u.y, below_im * u.x);
        float once = (float)m, twice = (float)(m * (m - 1));
        float value = is_sine ? this_im : this_re;
        float by_x = once * (is_sine ? below_im : below_re), by_y = once * (is_sine ? below_re : -below_im);
        float by_xx = twice * (is_sine ? second_im : second_re), by_xy = twice * (is_sine ? second_re : -second_im);
        f32x3 slope = make(s0 * by_x, s0 * by_y, s1 * value);
        float xx = s0 * by_xx, xy = s0 * by_xy, xz = s1 * by_x, yz = s1 * by_y, zz = s2 * value;
        // The powers of x + iy are harmonic: the second derivative by y is -xx.
        f32x3 to_e = make(xx * e.x + xy * e.y + xz * e.z, xy * e.x - xx * e.y + yz * e.z, xz * e.x + yz * e.y + zz * e.z);
        f32x3 to_g = make(xx * g.x + xy * g.y + xz * g.z, xy * g.x - xx * g.y + yz * g.z, xz * g.x + yz * g.y + zz * g.z);
        // A geodesic bends towards -u, which contributes the radial derivative.
        float radial = dot(slope, u);
        float sums[8] = {s0 * value, dot(slope, e), dot(slope, g), dot(e, to_e) - radial, dot(e, to_g), dot(g, to_g) - radial, 0.0f, 0.0f};
        add_lanes(sums, lane);
        return {sums[0], sums[1], sums[2], sums[3], sums[4], sums[5]};
    }

    // Sums over all lanes: each lane adds up one of eight, then all read the first six.
    static __device__ __forceinline__ void add_lanes(float (&sums)[8], u32 lane) {
#pragma unroll
        for (int half = 4, distance = 16; half > 0; half /= 2, distance /= 2) {
            bool upper = lane & distance;
#pragma unroll
            for (int i = 0; i < half; i++) {
                float given = upper ? sums[i] : sums[i + half], kept = upper ? sums[i + half] : sums[i];
                sums[i] = kept + __shfl_xor_sync(ALL_LANES, given, distance);
            }
        }
        float own = sums[0] + __shfl_xor_sync(ALL_LANES, sums[0], 2);
        own += __shfl_xor_sync(ALL_LANES, own, 1);
#pragma unroll
        for (int i = 0; i < 6; i++) sums[i] = __shfl_sync(ALL_LANES, own, 4 * i);
    }

    // The peak to which a unit vector leads, and its amplitude.
    __device__ float climb(f32x3& u, u32 lane) {
        const float MAX_STEP = 0.087266463f, CONVERGED = 1e-4f;
        float amplitude = 0.0f;
#pragma unroll 1
        for (int steps = 0; steps < 50; steps++) {
            f32x3 e, g;
            across(u, e, g);
            Local here = at(u, e, g, lane);
            float determinant = here.a * here.c - here.b * here.b, s, t;
            if (here.a < 0.0f && determinant > 0.0f) {
                s = (here.b * here.q - here.c * here.p) / determinant, t = (here.b * here.p - here.a * here.q) / determinant;
            } else {
                float steepness = sqrtf(here.p * here.p + here.q * here.q), share = steepness > 0.0f ? MAX_STEP / steepness : 0.0f;
                s = share * here.p, t = share * here.q;
            }
            float length = sqrtf(s * s + t * t);
            amplitude = here.value;
            if (!all_lanes(length > 0.0f)) break;
            float along = fminf(length, MAX_STEP), square = along * along, share = along / length;
            // Sine by its argument, and cosine, of at most 5 degrees.
            float sine = fmaf(square, fmaf(square, 1.0f / 120.0f, -1.0f / 6.0f), 1.0f), cosine = fmaf(square, fmaf(square, 1.0f / 24.0f, -0.5f), 1.0f);
            f32x3 next = cosine * u + (share * sine * s) * e + (share * sine * t) * g;
            u = rsqrtf(dot(next, next)) * next;
            // The step is short, so that the value after it follows from the derivatives before.
            if (all_lanes(length < CONVERGED)) return amplitude + 0.5f * (here.p * s + here.q * t);
        }
        return amplitude;
    }

    // The largest peak.
    __device__ bool start(const Rules& rules, const Data& data, const Seed& seed, u64, u32 lane, f32x3& along) {
        interpolate(rules, data, to_voxel(rules.fibres, seed.at));
        float largest = 0.0f;
        __syncwarp();
        float* record = (float*)search.record;
#pragma unroll
        for (int t = 0; t < TERMS; t++)
            if (t < terms()) record[place + distance * t] = coefficients[t];
        __syncwarp();
#pragma unroll 1
        for (u32 set = 0; set < VERTICES; set += 32) {
            float4 vertex = __ldg(data.vertices + min(set + lane, VERTICES - 1));
            float f = S::amplitude(search.record, make(vertex.x, vertex.y, vertex.z));
            if (set + lane < VERTICES) search.amplitudes[set + lane] = f;
            largest = fmaxf(largest, f);
        }
#pragma unroll
        for (int distance = 16; distance > 0; distance /= 2) largest = fmaxf(largest, __shfl_xor_sync(ALL_LANES, largest, distance));
        __syncwarp();
        // A peak between directions 8 degrees apart is higher than at them by up to a quarter at order 12.
        float low = 0.5f * fmaxf(rules.cut, largest), best = 0.0f;
#pragma unroll 1
        for (u32 set = 0; set < VERTICES; set += 32) {
            u32 vertex = min(set + lane, VERTICES - 1);
            float f = search.amplitudes[vertex];
            bool is_peak = set + lane < VERTICES && f > low;
            if (is_peak)
                for (u32 k = 0; k < 6; k++) is_peak = is_peak && !(search.amplitudes[__ldg(data.neighbours + 6 * vertex + k)] > f);
            u32 peaks = __ballot_sync(ALL_LANES, is_peak);
#pragma unroll 1
            for (; all_lanes(peaks != 0); peaks &= peaks - 1) {
                float4 from = __ldg(data.vertices + set + __ffs(peaks) - 1);
                f32x3 u = make(from.x, from.y, from.z);
                float amplitude = climb(u, lane);
                if (amplitude > best) best = amplitude, along = u;
            }
        }
        if (!all_lanes(best > 0.0f && best >= rules.cut)) return false;
        along = oriented(along, seed);
        return true;
    }

    // The direction at a point, continued from another one.
    __device__ __forceinline__ u32 direction(const Rules& rules, const Data& data, f32x3 at, f32x3 along, f32x3& out, u32 lane) {
        f32x3 v = to_voxel(rules.fibres, at);
        if (!all_lanes(contains(rules.fibres, v))) return LEFT_VOLUME;
        interpolate(rules, data, v);
        out = rsqrtf(dot(along, along)) * along;
        float amplitude = climb(out, lane);
        if (!all_lanes(amplitude >= rules.cut)) return LOW_AMPLITUDE;
        return all_lanes(dot(out, along) >= rules.min_cos) ? GO : (u32)ANGLE;
    }

    __device__ __forceinline__ u32 advance(const Rules& rules, const Data& data, Half& half, u32 lane) {
        const Position& from = half.last;
        // In the middle of the step, then at its end.
        f32x3 at = from.at + (0.5f * rules.step_mm) * from.along, along;
#pragma unroll 1
        for (int part = 0; part < 2; part++) {
            u32 reason = direction(rules, data, at, from.along, along, lane);
            if (all_lanes(reason != GO)) return reason;
            if (part == 0) at = from.at + rules.step_mm * along;
        }
        __syncwarp();
        if (lane == 0) half.shared.next = {at, along};
        __syncwarp();
        return GO;
    }
};
