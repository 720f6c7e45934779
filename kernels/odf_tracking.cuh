// Code shared by the kernels that follow streamlines through fibre orientation distributions: the data of a launch, random
// numbers, cells of the lattice, and series of spherical harmonics.
#pragma once
#include "curves.cuh"
#include "even_degrees.cuh"

// `StopReason` of distributions.
const u32 LOW_AMPLITUDE = 12, CORTICAL_GREY = 13, DEEP_GREY = 14, BRAIN_STEM = 15, ENTERED_CSF = 16;
// `TissueType`, and no tissue.
enum { OF_CORTEX, OF_DEEP_GREY, OF_WHITE, OF_CSF, OF_OTHER, OUTSIDE };
const u32 ALL_LANES = 0xffffffffu, WARPS = 2;
const float MIN_AMPLITUDE = 1e-4f, MIN_FRACTIONS = 0.5f;
const u32 TRIES_PER_LENGTH = 3, MAX_ATTEMPTS = 300;
// Directions among which the largest peak is searched.
const u32 VERTICES = 321;

struct Lattice {
    // Rows of the affine from world to voxel.
    float voxel[12];
    u32 shape[3];
};

// `KernelRules` in src/engine/solvers/odf_tracking/cuda.rs, in the same order.
struct Rules {
    // Streamlines to be followed, steps per warp in one launch, and the largest number of steps of a half.
    u32 running, window, capacity;
    u32 max_steps;
    u32 gates, masks;
    u32 both_ways, goes_back, has_tissues;
    u32 samples;
    float step_mm, cap_height, cut, min_cos, stem_below;
    u32 key_low, key_high;
    Lattice fibres, tissues;
};
static_assert(sizeof(Rules) == 47 * 4, "as in cuda.rs");

// `Seed` in cuda.rs: the tissues passed in the lowest eight bits of `flags`.
struct Seed {
    f32x3 at;
    u32 id;
    f32x3 along;
    u32 flags;
};
const u32 IN_DEEP_GREY = 1, MAY_LEAVE = 2, ONE_STEP_IN_CORTEX = 4, IN_CORTEX = 7 << 2;
// `along` points inwards; a region ends both halves; it leaves in one sense only.
const u32 INWARDS = 1 << 8, CUT = 1 << 9, ONE_WAY = 1 << 10;

// `Summary` in cuda.rs; an end is its reason, and KEPT.
struct Summary {
    u32 steps[2];
    u32 ends[2];
    u32 targets[2];
    // Before the limit of both halves is applied.
    u32 taken;
    u32 status;
};
enum { FRESH, RUNNING, DONE, NO_START };
const u32 KEPT = 1 << 8;

struct Position {
    f32x3 at, along;
};

// A streamline between two launches, and what is rarely needed.
struct Progress {
    Position position;
    f32x3 start;
    u32 passed, half, step;
    u32 attempt, longest, back, tries;
};
static_assert(sizeof(Progress) == 64, "as in cuda.rs");

// A half that is being followed: its last point, and what all lanes share besides.
struct Half {
    Position last;
    u32 passed, step;
    struct Shared {
        // Random numbers of this attempt.
        u64 numbers;
        u32 slot, number, left;
        // The point of a step, and its three random numbers.
        Position next;
        float uniform[3];
    };
    Shared& shared;
};

// Buffers, as in `KernelData` in cuda.rs.
struct Data {
    const float4* records;
    const u32* record_of;
    // For arcs: cosine and sine of each candidate's azimuth.
    const float2* azimuths;
    // For lobes: directions among which the largest peak is searched, and the six around each.
    const float4* vertices;
    const u32* neighbours;
    const float4* fractions;
    const Seed* seeds;
    const u32* running;
    const Gate* gates;
    const unsigned char* bytes;
    Progress* progress;
    Summary* summaries;
    // By streamline, half and region; by streamline, half and step, with the tissues passed; by streamline and step.
    u32* met;
    float4* points;
    f32x3* directions;
    u32* queue;
};
static_assert(sizeof(Data) == 16 * 8, "as in cuda.rs");

// Random numbers: src/engine/data/random.rs.
__device__ __forceinline__ u64 mix(u64 z) {
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ z >> 27) * 0x94D049BB133111EBull;
    return z ^ z >> 31;
}
__device__ __forceinline__ u64 stream(u64 key, u64 name) { return mix(key ^ mix(name + 0xD1B54A32D192ED03ull)); }
__device__ __forceinline__ u64 random_bits(u64 key, u64 index) { return mix(key + index * 0x9E3779B97F4A7C15ull); }
__device__ __forceinline__ float uniform(u64 key, u64 index) {
    return __ull2float_rn((random_bits(key, index) >> 11) * 2 + 1) * 0x1p-54f;
}
__device__ __forceinline__ double uniform_double(u64 key, u64 index) {
    return ((double)(random_bits(key, index) >> 11) + 0.5) * 0x1p-53;
}

__device__ __forceinline__ float sine(float turns) {
    const float ROUND = 12582912.0f;
    turns -= 0.25f;
    float away = fabsf(turns - ((turns + ROUND) - ROUND)), x = 6.28318530717958647692f * (0.25f - away), s = x * x;
    return x * fmaf(s, fmaf(s, fmaf(s, fmaf(s, 1.0f / 362880.0f, -1.0f / 5040.0f), 1.0f / 120.0f), -1.0f / 6.0f), 1.0f);
}

__device__ __forceinline__ f32x3 to_voxel(const Lattice& lattice, f32x3 x) {
    const float* m = lattice.voxel;
    return make(fmaf(m[0], x.x, fmaf(m[1], x.y, fmaf(m[2], x.z, m[3]))), fmaf(m[4], x.x, fmaf(m[5], x.y, fmaf(m[6], x.z, m[7]))),
                fmaf(m[8], x.x, fmaf(m[9], x.y, fmaf(m[10], x.z, m[11]))));
}
__device__ __forceinline__ f32x3 turned(const Lattice& lattice, f32x3 x) {
    const float* m = lattice.voxel;
    return make(fmaf(m[0], x.x, fmaf(m[1], x.y, m[2] * x.z)), fmaf(m[4], x.x, fmaf(m[5], x.y, m[6] * x.z)),
                fmaf(m[8], x.x, fmaf(m[9], x.y, m[10] * x.z)));
}
// NaN is outside.
__device__ __forceinline__ bool contains(const Lattice& lattice, f32x3 v) {
    return v.x >= -0.5f && v.x <= (float)lattice.shape[0] - 0.5f && v.y >= -0.5f && v.y <= (float)lattice.shape[1] - 0.5f &&
           v.z >= -0.5f && v.z <= (float)lattice.shape[2] - 0.5f;
}
// Whether the voxel around a world point has a distribution.
__device__ bool has_fibres(const Lattice& lattice, const u32* record_of, f32x3 at) {
    f32x3 v = to_voxel(lattice, at);
    if (!contains(lattice, v)) return false;
    u32 x = min((u32)fmaxf(v.x + 0.5f, 0.0f), lattice.shape[0] - 1), y = min((u32)fmaxf(v.y + 0.5f, 0.0f), lattice.shape[1] - 1),
        z = min((u32)fmaxf(v.z + 0.5f, 0.0f), lattice.shape[2] - 1);
    return record_of[x + lattice.shape[0] * (y + lattice.shape[1] * z)] != 0;
}

// The samples around a coordinate; beyond the outer centres the nearest values continue.
struct Axis {
    u32 low, high;
    float t;
};
__device__ __forceinline__ Axis axis(float v, u32 count) {
    u32 last = count - 1;
    v = fminf(fmaxf(v, 0.0f), (float)last);
    Axis axis;
    axis.low = min((u32)v, last > 0 ? last - 1 : 0);
    axis.high = min(axis.low + 1, last);
    axis.t = v - (float)axis.low;
    return axis;
}

template <int ORDER> struct Series {
    static constexpr int COUNT = (ORDER + 1) * (ORDER + 2) / 2;
    // Records of four numbers in the order of the recurrence: by m, then by l, cosine before sine.
    static constexpr int FOURS = (COUNT + 3) / 4;

    static __device__ constexpr int number(int l, int m) {
        int n = 0;
        for (int k = 0; k < m; ++k) n += (k ? 2 : 1) * ((ORDER - begin(k)) / 2 + 1);
        return n + (m ? 2 : 1) * (l - begin(m)) / 2;
    }

    // The amplitudes of four records in one or two directions, four coefficients of each record at a time.
    template <int DIRECTIONS> struct Sums {
        const float4* records;
        u32 at[4];
        float4 now[4];
        float sum[DIRECTIONS][4];
        template <int N> __device__ __forceinline__ void take(const float (&y)[DIRECTIONS]) {
            if constexpr (N % 4 == 0)
#pragma unroll
                for (int k = 0; k < 4; k++) now[k] = __ldg(records + at[k] + N / 4);
#pragma unroll
            for (int k = 0; k < 4; k++) {
                float c = N % 4 == 0 ? now[k].x : N % 4 == 1 ? now[k].y : N % 4 == 2 ? now[k].z : now[k].w;
#pragma unroll
                for (int d = 0; d < DIRECTIONS; d++) sum[d][k] = fmaf(c, y[d], sum[d][k]);
            }
        }
    };

    // The amplitude of one series, whose coefficients are in shared memory.
    struct Sum {
        const float4* record;
        float4 now;
        float sum;
        template <int N> __device__ __forceinline__ void take(const float (&y)[1]) {
            if constexpr (N % 4 == 0) now = record[N / 4];
            sum = fmaf(N % 4 == 0 ? now.x : N % 4 == 1 ? now.y : N % 4 == 2 ? now.z : now.w, y[0], sum);
        }
    };
    static __device__ __forceinline__ float amplitude(const float4* record, f32x3 u) {
        Sum sum = {record, {}, 0.0f};
        Recurrence<1> functions;
        functions.u[0] = u;
        functions.add(sum);
        return sum.sum;
    }

    // The functions of each direction, one after the other.
    template <int DIRECTIONS> struct Recurrence {
        f32x3 u[DIRECTIONS];
        float square[DIRECTIONS], re[DIRECTIONS], im[DIRECTIONS], q[DIRECTIONS], earlier[DIRECTIONS];

        template <int M, int L, class To> __device__ __forceinline__ void degrees(To& sums) {
            constexpr int N = number(L, M);
            float y[DIRECTIONS];
#pragma unroll
            for (int d = 0; d < DIRECTIONS; d++) y[d] = q[d] * re[d];
            sums.template take<N>(y);
            if constexpr (M > 0) {
#pragma unroll
                for (int d = 0; d < DIRECTIONS; d++) y[d] = q[d] * im[d];
                sums.template take<N + 1>(y);
            }
            if constexpr (L < ORDER) {
                constexpr float a = by_square(L, M), b = constant(L, M), c = before(L, M);
#pragma unroll
                for (int d = 0; d < DIRECTIONS; d++) {
                    float next = fmaf(square[d], a, b) * q[d];
                    if constexpr (L > begin(M)) next = fmaf(earlier[d], c, next);
                    earlier[d] = q[d], q[d] = next;
                }
                degrees<M, L + 2>(sums);
            }
        }
        template <int M, class To> __device__ __forceinline__ void frequencies(To& sums) {
            constexpr float first = first_value(M);
#pragma unroll
            for (int d = 0; d < DIRECTIONS; d++) q[d] = M % 2 ? first * u[d].z : first;
            degrees<M, begin(M)>(sums);
            if constexpr (M < ORDER) {
#pragma unroll
                for (int d = 0; d < DIRECTIONS; d++) {
                    float next = fmaf(re[d], u[d].x, -im[d] * u[d].y);
                    im[d] = fmaf(re[d], u[d].y, im[d] * u[d].x), re[d] = next;
                }
                frequencies<M + 1>(sums);
            }
        }
        template <class To> __device__ __forceinline__ void add(To& sums) {
#pragma unroll
            for (int d = 0; d < DIRECTIONS; d++) square[d] = u[d].z * u[d].z, re[d] = 1.0f, im[d] = 0.0f;
            frequencies<0>(sums);
        }
    };

    // The amplitude at a position, in voxels, in a unit direction, of each lane its own. Two lanes in one cell share the
    // loads of its records, which limit this kernel: one takes the lower four in the directions of both, the other the
    // upper four.
    static __device__ __forceinline__ float amplitude(const float4* records, const u32* record_of, const Lattice& lattice, f32x3 v, f32x3 u, u32 lane) {
        u32 nx = lattice.shape[0], ny = lattice.shape[1];
        Axis x = axis(v.x, nx), y = axis(v.y, ny), z = axis(v.z, lattice.shape[2]);
        u32 corner = x.low + nx * (y.low + ny * z.low);
        bool together = __all_sync(ALL_LANES, corner == __shfl_xor_sync(ALL_LANES, corner, LANE_DISTANCE));
        float low = 0.0f, high = 0.0f;
        // Above order 8 the instructions of both ways would exceed their cache.
        if (ORDER <= 8 && !together) {
#pragma unroll 1
            for (int layer = 0; layer < 2; layer++) {
                Sums<1> sums = four<1>(records, record_of, nx, ny, x, y, layer ? z.high : z.low);
                Recurrence<1> functions;
                functions.u[0] = u;
                functions.add(sums);
                low = high, high = between(sums.sum[0], x.t, y.t);
            }
            return fmaf(z.t, high - low, low);
        }
        bool upper = lane & LANE_DISTANCE;
        float x_other = __shfl_xor_sync(ALL_LANES, x.t, LANE_DISTANCE), y_other = __shfl_xor_sync(ALL_LANES, y.t, LANE_DISTANCE), result = 0.0f;
#pragma unroll 1
        for (u32 pass = 0; pass < 2; pass++) {
            Axis i = x, j = y, k = z;
            if constexpr (ORDER > 8) {
                // The cell of the first lane, then that of the second.
                u32 of = (lane & ~LANE_DISTANCE) | (pass ? LANE_DISTANCE : 0);
                i.low = __shfl_sync(ALL_LANES, x.low, of), i.high = __shfl_sync(ALL_LANES, x.high, of);
                j.low = __shfl_sync(ALL_LANES, y.low, of), j.high = __shfl_sync(ALL_LANES, y.high, of);
                k.low = __shfl_sync(ALL_LANES, z.low, of), k.high = __shfl_sync(ALL_LANES, z.high, of);
            }
            Sums<2> sums = four<2>(records, record_of, nx, ny, i, j, upper ? k.high : k.low);
            Recurrence<2> functions;
            functions.u[0] = u;
            functions.u[1] = make(__shfl_xor_sync(ALL_LANES, u.x, LANE_DISTANCE), __shfl_xor_sync(ALL_LANES, u.y, LANE_DISTANCE), __shfl_xor_sync(ALL_LANES, u.z, LANE_DISTANCE));
            functions.add(sums);
            float own = between(sums.sum[0], x.t, y.t), of_other = between(sums.sum[1], x_other, y_other);
            float from_other = __shfl_xor_sync(ALL_LANES, of_other, LANE_DISTANCE);
            low = upper ? from_other : own, high = upper ? own : from_other;
            if (together || upper == (pass == 1)) result = fmaf(z.t, high - low, low);
            if (together || ORDER <= 8) break;
        }
        return result;
    }

  private:
    // Candidates whose numbers differ by 8 have azimuths that differ by 20 degrees only.
    static constexpr u32 LANE_DISTANCE = 8;

    // Sums of the four records around a position in a layer of the lattice.
    template <int DIRECTIONS> static __device__ __forceinline__ Sums<DIRECTIONS> four(const float4* records, const u32* record_of, u32 nx, u32 ny, const Axis& x, const Axis& y, u32 z) {
        Sums<DIRECTIONS> sums;
        sums.records = records;
#pragma unroll
        for (int k = 0; k < 4; k++) {
            u32 row = nx * ((k & 2 ? y.high : y.low) + ny * z);
            sums.at[k] = __ldg(record_of + row + (k & 1 ? x.high : x.low)) * FOURS;
#pragma unroll
            for (int d = 0; d < DIRECTIONS; d++) sums.sum[d][k] = 0.0f;
        }
        return sums;
    }
    static __device__ __forceinline__ float between(const float (&sum)[4], float x, float y) {
        float low = fmaf(x, sum[1] - sum[0], sum[0]), high = fmaf(x, sum[3] - sum[2], sum[2]);
        return fmaf(y, high - low, low);
    }
};

// A condition that is the same in all lanes, of which the compiler thus knows that they stay together.
__device__ __forceinline__ bool all_lanes(bool condition) { return __any_sync(ALL_LANES, condition); }

// The sum of the lanes up to this one.
__device__ __forceinline__ float sum_to(float value, u32 lane) {
#pragma unroll
    for (u32 distance = 1; distance < 32; distance *= 2) {
        float other = __shfl_up_sync(ALL_LANES, value, distance);
        if (lane >= distance) value += other;
    }
    return value;
}
__device__ __forceinline__ f32x3 of_lane(f32x3 v, u32 lane) {
    return make(__shfl_sync(ALL_LANES, v.x, lane), __shfl_sync(ALL_LANES, v.y, lane), __shfl_sync(ALL_LANES, v.z, lane));
}

// Two axes across a unit vector (Duff et al. 2017).
__device__ __forceinline__ void across(f32x3 d, f32x3& e, f32x3& g) {
    float sign = d.z < 0.0f ? -1.0f : 1.0f, q = -1.0f / (sign + d.z), t = d.x * d.y * q;
    e = make(1.0f + sign * d.x * d.x * q, sign * t, -sign * d.x), g = make(t, sign + d.y * d.y * q, -d.y);
}

// The sense of an axis with positive z (then y, then x), or the one that points inwards.
__device__ __forceinline__ f32x3 oriented(f32x3 v, const Seed& seed) {
    bool keeps = seed.flags & INWARDS ? dot(v, seed.along) >= 0.0f : v.z > 0.0f || (v.z == 0.0f && (v.y > 0.0f || (v.y == 0.0f && v.x >= 0.0f)));
    return keeps ? v : -v;
}
