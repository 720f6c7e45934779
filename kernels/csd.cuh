// The interior point method of src/engine/solvers/csd/interior_point.rs for a group of voxels in one block.
//
// A thread keeps four images of one representative direction for four voxels in registers. Everything that mixes
// directions or unknowns goes through shared memory: rows of VOXELS values, one for each voxel of the group.
#pragma once
#include "common.cuh"

constexpr u32 ALL_LANES = 0xffffffffu;

// The voxels of a group are numbered twice: as places in a row (`slot`), where a thread's four are neighbours, and as
// matrices, where those that a warp writes at once lie in different banks.
template <int ORDER, int VOXELS> struct Csd {
    static constexpr int HALF = ORDER / 2, FIBRE = (ORDER + 1) * (ORDER + 2) / 2;
    // Unknowns padded to whole sets of LANES rows; room for tissues without fibres is PADDED - FIBRE.
    static constexpr int PADDED = ORDER == 8 ? 48 : 96, LANES = 16, SETS = PADDED / LANES;
    static constexpr int DIRECTIONS = ORDER == 8 ? 80 : 128;
    static constexpr int FOURS = VOXELS / 4, THREADS = DIRECTIONS * FOURS, WARPS = THREADS / 32;
    static constexpr int FIRST = (HALF + 1) * (HALF + 2) / 2, OTHER = HALF * (HALF + 1) / 2;
    static constexpr int FIRST_GROUPS = (FIRST + 3) / 4, OTHER_GROUPS = (OTHER + 3) / 4;
    static constexpr int GROUPS = FIRST_GROUPS + 3 * OTHER_GROUPS;
    static constexpr int FIRST_MOMENTS = ((ORDER + 1) * (ORDER + 2) / 2 + 3) / 4;
    static constexpr int OTHER_MOMENTS = (ORDER * (ORDER + 1) / 2 + 3) / 4;
    static constexpr int MOMENTS = FIRST_MOMENTS + 3 * OTHER_MOMENTS;
    static constexpr int TISSUES = 3;
    // Elements of the matrix that a warp assembles at once.
    static constexpr int BUNDLE = 32 / FOURS;
    // Columns come in fours, from the first row of the four on.
    static constexpr int PACKED = PADDED * PADDED - 8 * (PADDED / 4) * (PADDED / 4 - 1);
    static constexpr int MATRIX = PACKED + (FOURS == 4 ? 8 : 16);
    // Matrices of a warp are so far apart that their banks differ by 16.
    static constexpr int APART = FOURS == 4 ? 2 : 1;
    static constexpr int FACTORS = VOXELS / 2;
    static constexpr int AT = 0, ROWS = AT + FIBRE * DIRECTIONS, MOMENT_ROWS = ROWS + 4 * GROUPS * DIRECTIONS;
    static constexpr int NORMAL = MOMENT_ROWS + 4 * MOMENTS * DIRECTIONS;
    static_assert(FACTORS <= WARPS && 4 * MOMENTS + TISSUES <= 4 * DIRECTIONS, "room");

    struct Shared {
        float matrix[VOXELS * MATRIX];
        // By class of the harmonics and direction; also moments.
        float parts[4 * DIRECTIONS * VOXELS];
        float x[PADDED * VOXELS], step[PADDED * VOXELS], residual[PADDED * VOXELS], g[PADDED * VOXELS];
        float d[TISSUES * VOXELS];
        float sums[(WARPS + TISSUES) * VOXELS], largest[(WARPS + TISSUES) * VOXELS];
        float gap[VOXELS], target[VOXELS], length[VOXELS], size[VOXELS];
        u32 good[VOXELS], broken[VOXELS];
    };

    static __device__ __forceinline__ float4 &four(float *at) { return *(float4 *)at; }
    static __device__ __forceinline__ float4 four(const float *at) { return *(const float4 *)at; }
    static __device__ __forceinline__ int column(int k) {
        int g = k >> 2;
        return 4 * g * PADDED - 8 * g * (g - 1) + (k & 3) * (PADDED - 4 * g) - 4 * g;
    }
    static __device__ __forceinline__ int slot_of(int matrix) { return matrix % FOURS * 4 + matrix / FOURS; }

    // Rows of a table times rows of `in`, for four rows of the table and four voxels a thread; four neighbouring
    // threads share the sum. `put(row of the table, slot, values)` receives one row each.
    template <int ALL, int ONE, int NEXT, int INNER, class Put>
    static __device__ __forceinline__ void project(const float *table, const float *in, Put put) {
        constexpr int ROUNDS = (ALL * FOURS * 4 + THREADS - 1) / THREADS;
        float4 kept[ROUNDS];
#pragma unroll
        for (int round = 0; round < ROUNDS; round++) {
            int t = round * THREADS + threadIdx.x, share = t & 3, slot = (t >> 2) % FOURS * 4;
            int group = min((t >> 2) / FOURS, ALL - 1), part = group < ONE ? 0 : 1 + (group - ONE) / NEXT;
            const float *rows = table + group * INNER * 4, *values = in + part * INNER * VOXELS + slot;
            float sum[4][4] = {};
#pragma unroll 4
            for (int i = share; i < INNER; i += 4) {
                float4 a = __ldg((const float4 *)(rows + 4 * i)), b = four(values + i * VOXELS);
                const float m[4] = {a.x, a.y, a.z, a.w}, v[4] = {b.x, b.y, b.z, b.w};
#pragma unroll
                for (int r = 0; r < 4; r++)
#pragma unroll
                    for (int k = 0; k < 4; k++) sum[r][k] = fmaf(m[r], v[k], sum[r][k]);
            }
#pragma unroll
            for (int keep = 2; keep >= 1; keep--) {
                bool upper = share & (keep == 2 ? 1 : 2);
#pragma unroll
                for (int r = 0; r < keep; r++)
#pragma unroll
                    for (int k = 0; k < 4; k++) {
                        float give = upper ? sum[r][k] : sum[r + keep][k], mine = upper ? sum[r + keep][k] : sum[r][k];
                        sum[r][k] = mine + __shfl_xor_sync(ALL_LANES, give, keep == 2 ? 1 : 2);
                    }
            }
            kept[round] = make_float4(sum[0][0], sum[0][1], sum[0][2], sum[0][3]);
        }
        put.before();
#pragma unroll
        for (int round = 0; round < ROUNDS; round++) {
            int t = round * THREADS + threadIdx.x, share = t & 3, group = (t >> 2) / FOURS;
            int row = (share & 1) * 2 + (share >> 1);
            if (group < ALL) put(4 * group + row, (t >> 2) % FOURS * 4, kept[round]);
        }
    }

    struct PutMoments {
        float *to;
        // Moments take the place of the parts that they are sums over.
        __device__ __forceinline__ void before() const { __syncthreads(); }
        __device__ __forceinline__ void operator()(int row, int slot, float4 v) const { four(to + row * VOXELS + slot) = v; }
    };

    struct PutResidual {
        float *residual;
        const float *g;
        __device__ __forceinline__ void before() const {}
        __device__ __forceinline__ void operator()(int row, int slot, float4 v) const {
            float4 a = four(g + row * VOXELS + slot);
            four(residual + row * VOXELS + slot) = make_float4(a.x - v.x, a.y - v.y, a.z - v.z, a.w - v.w);
        }
    };

    struct AddCoefficients {
        float *residual;
        __device__ __forceinline__ void before() const {}
        __device__ __forceinline__ void operator()(int row, int slot, float4 v) const {
            int group = row >> 2, part = group < FIRST_GROUPS ? 0 : 1 + (group - FIRST_GROUPS) / OTHER_GROUPS;
            int first = part == 0 ? 0 : 4 * (FIRST_GROUPS + (part - 1) * OTHER_GROUPS);
            int inside = row - first, unknown = inside + (part == 0 ? 0 : FIRST + (part - 1) * OTHER);
            if (inside >= (part == 0 ? FIRST : OTHER)) return;
            float4 &to = four(residual + unknown * VOXELS + slot);
            to = make_float4(to.x + v.x, to.y + v.y, to.z + v.z, to.w + v.w);
        }
    };

    // Values at the four images of this thread's direction.
    static __device__ __forceinline__ void values(const float *at, const float *x, float (&out)[4][4]) {
        int direction = threadIdx.x / FOURS, slot = threadIdx.x % FOURS * 4;
        float part[4][4] = {};
#pragma unroll
        for (int c = 0; c < 4; c++) {
            constexpr int UNROLL = 5;
            int first = c == 0 ? 0 : FIRST + (c - 1) * OTHER, count = c == 0 ? FIRST : OTHER;
#pragma unroll UNROLL
            for (int j = 0; j < count; j++) {
                float a = __ldg(at + (first + j) * DIRECTIONS + direction);
                float4 b = four(x + (first + j) * VOXELS + slot);
                part[c][0] = fmaf(a, b.x, part[c][0]);
                part[c][1] = fmaf(a, b.y, part[c][1]);
                part[c][2] = fmaf(a, b.z, part[c][2]);
                part[c][3] = fmaf(a, b.w, part[c][3]);
            }
        }
#pragma unroll
        for (int k = 0; k < 4; k++) {
            float even = part[0][k] + part[3][k], odd = part[1][k] + part[2][k];
            float other_even = part[0][k] - part[3][k], other_odd = part[1][k] - part[2][k];
            out[0][k] = even + odd;
            out[1][k] = even - odd;
            out[2][k] = other_even + other_odd;
            out[3][k] = other_even - other_odd;
        }
    }

    // The transpose of the last step of `values`, to shared memory.
    static __device__ __forceinline__ void store_parts(float *parts, const float (&v)[4][4]) {
        int direction = threadIdx.x / FOURS, slot = threadIdx.x % FOURS * 4;
        float out[4][4];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            float low = v[0][k] + v[1][k], high = v[2][k] + v[3][k];
            float low_difference = v[0][k] - v[1][k], high_difference = v[2][k] - v[3][k];
            out[0][k] = low + high;
            out[1][k] = low_difference + high_difference;
            out[2][k] = low_difference - high_difference;
            out[3][k] = low - high;
        }
#pragma unroll
        for (int c = 0; c < 4; c++)
            four(parts + (c * DIRECTIONS + direction) * VOXELS + slot) = make_float4(out[c][0], out[c][1], out[c][2], out[c][3]);
    }

    // A row of `to` for each warp.
    template <bool LARGEST> static __device__ __forceinline__ void reduce(float *to, float (&v)[4]) {
        int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
#pragma unroll
        for (int o = 16; o >= FOURS; o >>= 1)
#pragma unroll
            for (int k = 0; k < 4; k++) {
                float got = __shfl_xor_sync(ALL_LANES, v[k], o);
                v[k] = LARGEST ? fmaxf(v[k], got) : v[k] + got;
            }
        if (lane < FOURS) four(to + warp * VOXELS + 4 * lane) = make_float4(v[0], v[1], v[2], v[3]);
    }

    // By a slot's thread, after a barrier.
    template <bool LARGEST> static __device__ __forceinline__ float total(const float *from, int slot, u32 tissues) {
        float all = from[slot];
        for (int k = 1; k < WARPS + (int)tissues; k++)
            all = LARGEST ? fmaxf(all, from[k * VOXELS + slot]) : all + from[k * VOXELS + slot];
        return all;
    }

    // H + A'DA for all voxels: moments, times the coefficients of products of harmonics.
    static __device__ __forceinline__ void assemble(float *matrix, const float *moments, const uint2 *bundles, u32 count,
                                                    const uint2 *elements, const uint2 *terms) {
        int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, slot = lane % FOURS * 4, e = lane / FOURS;
        uint2 bundle = __ldg(bundles + min((u32)warp, count - 1)), element = __ldg(elements + min((u32)warp, count - 1) * BUNDLE + e);
        uint2 now[4];
#pragma unroll
        for (int i = 0; i < 4; i++) now[i] = __ldg(terms + bundle.x + i * BUNDLE + e);
        // Terms come in fours, the next of which are read ahead: they wait for the second-level cache.
        for (u32 b = warp; b < count; b += WARPS) {
            u32 following = min(b + WARPS, count - 1);
            uint2 next_bundle = __ldg(bundles + following), next_element = __ldg(elements + following * BUNDLE + e);
            float h = __uint_as_float(element.y);
            float sum[4] = {h, h, h, h};
            for (u32 t = 0; t < bundle.y; t += 4) {
                const uint2 *from = terms + (t + 4 < bundle.y ? bundle.x + (t + 4) * BUNDLE : next_bundle.x) + e;
                uint2 ahead[4];
#pragma unroll
                for (int i = 0; i < 4; i++) ahead[i] = __ldg(from + i * BUNDLE);
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    float c = __uint_as_float(now[i].y);
                    float4 m = four(moments + now[i].x * VOXELS + slot);
                    sum[0] = fmaf(c, m.x, sum[0]);
                    sum[1] = fmaf(c, m.y, sum[1]);
                    sum[2] = fmaf(c, m.z, sum[2]);
                    sum[3] = fmaf(c, m.w, sum[3]);
                }
#pragma unroll
                for (int i = 0; i < 4; i++) now[i] = ahead[i];
            }
#pragma unroll
            for (int k = 0; k < 4; k++) matrix[(k * FOURS + slot / 4) * MATRIX + element.x] = sum[k];
            bundle = next_bundle, element = next_element;
        }
    }

    // Rows less the products of the columns before the panel.
    template <int ROWS_AT_ONCE>
    static __device__ __forceinline__ void subtract(const float *m, int panel, const int (&row)[ROWS_AT_ONCE],
                                                    float (&a)[ROWS_AT_ONCE][LANES]) {
#pragma unroll 2
        for (int k = 0; k < LANES * panel; k++) {
            const float *from = m + column(k);
            float own[ROWS_AT_ONCE];
#pragma unroll
            for (int j = 0; j < ROWS_AT_ONCE; j++) own[j] = from[row[j]];
#pragma unroll
            for (int c = 0; c < LANES; c += 4) {
                float4 b = four(from + LANES * panel + c);
#pragma unroll
                for (int j = 0; j < ROWS_AT_ONCE; j++) {
                    a[j][c] = fmaf(-own[j], b.x, a[j][c]);
                    a[j][c + 1] = fmaf(-own[j], b.y, a[j][c + 1]);
                    a[j][c + 2] = fmaf(-own[j], b.z, a[j][c + 2]);
                    a[j][c + 3] = fmaf(-own[j], b.w, a[j][c + 3]);
                }
            }
        }
    }

    // L of LL' with 1 / L_ii on the diagonal, by LANES threads; false if a pivot is not positive. Loops over panels and
    // rows are not unrolled: code that exceeds the instruction cache takes several times as long.
    static __device__ __forceinline__ bool factorise(float *m) {
        int lane = threadIdx.x % LANES;
        bool good = true;
#pragma unroll 1
        for (int p = 0; p < SETS; p++) {
            // Columns of the panel lie in groups of four of descending height.
            float *top = m + column(LANES * p) + LANES * p;
            int height = PADDED - LANES * p;
            auto at = [=](int c) { return top + c * height - 16 * (c / 4 * (c / 4 - 1) / 2) - 4 * (c / 4) * (c & 3) - 4 * (c / 4); };
            {
                float a[1][LANES];
                int row[1] = {LANES * p + lane};
#pragma unroll
                for (int c = 0; c < LANES; c++) a[0][c] = lane >= c ? at(c)[lane] : 0.0f;
                subtract<1>(m, p, row, a);
#pragma unroll
                for (int c = 0; c < LANES; c++) {
                    float pivot = __shfl_sync(ALL_LANES, a[0][c], c, LANES), inverse = rsqrtf(pivot);
                    good = good && pivot > 0.0f;
                    a[0][c] *= inverse;
#pragma unroll
                    for (int k = c + 1; k < LANES; k++)
                        a[0][k] = fmaf(-a[0][c], __shfl_sync(ALL_LANES, a[0][c], k, LANES), a[0][k]);
                    if (lane == c) a[0][c] = inverse;
                }
#pragma unroll
                for (int c = 0; c < LANES; c++)
                    if (lane >= c) at(c)[lane] = a[0][c];
            }
            __syncwarp();
#pragma unroll 1
            for (int set = p + 1; set < SETS; set += 2) {
                // The last set is done twice if their number is odd.
                float a[2][LANES];
                int row[2] = {LANES * set + lane, LANES * min(set + 1, SETS - 1) + lane};
#pragma unroll
                for (int c = 0; c < LANES; c++)
#pragma unroll
                    for (int j = 0; j < 2; j++) a[j][c] = at(c)[row[j] - LANES * p];
                subtract<2>(m, p, row, a);
#pragma unroll
                for (int c = 0; c < LANES; c++) {
                    const float *l = at(c);
                    float inverse = l[c];
#pragma unroll
                    for (int j = 0; j < 2; j++) a[j][c] *= inverse;
#pragma unroll
                    for (int k = c + 1; k < LANES; k++) {
                        float factor = l[k];
#pragma unroll
                        for (int j = 0; j < 2; j++) a[j][k] = fmaf(-a[j][c], factor, a[j][k]);
                    }
                }
                __syncwarp();
#pragma unroll
                for (int c = 0; c < LANES; c++)
#pragma unroll
                    for (int j = 0; j < 2; j++) at(c)[row[j] - LANES * p] = a[j][c];
            }
            __syncwarp();
        }
        return good;
    }

    // LL' x = b by LANES threads, columns four at a time; returns |x|^2.
    static __device__ __forceinline__ float solve(const float *m, const float *b, float *x) {
        int lane = threadIdx.x % LANES;
        float r[SETS];
#pragma unroll
        for (int j = 0; j < SETS; j++) r[j] = b[(LANES * j + lane) * VOXELS];
#pragma unroll
        for (int set = 0; set < SETS; set++)
#pragma unroll 2
            for (int inside = 0; inside < LANES; inside += 4) {
                int k = set * LANES + inside, height = PADDED - k;
                const float *c0 = m + column(k), *c1 = c0 + height, *c2 = c1 + height, *c3 = c2 + height;
                float4 q0 = four(c0 + k), q1 = four(c1 + k), q2 = four(c2 + k), q3 = four(c3 + k);
                float y0 = __shfl_sync(ALL_LANES, r[set], inside, LANES) * q0.x;
                float y1 = __shfl_sync(ALL_LANES, r[set], inside + 1, LANES);
                float y2 = __shfl_sync(ALL_LANES, r[set], inside + 2, LANES);
                float y3 = __shfl_sync(ALL_LANES, r[set], inside + 3, LANES);
                y1 = fmaf(-q0.y, y0, y1) * q1.y;
                y2 = fmaf(-q1.z, y1, fmaf(-q0.z, y0, y2)) * q2.z;
                y3 = fmaf(-q2.w, y2, fmaf(-q1.w, y1, fmaf(-q0.w, y0, y3))) * q3.w;
#pragma unroll
                for (int j = set; j < SETS; j++) {
                    int row = LANES * j + lane;
                    if (j > set || lane > inside + 3)
                        r[j] = fmaf(-c3[row], y3, fmaf(-c2[row], y2, fmaf(-c1[row], y1, fmaf(-c0[row], y0, r[j]))));
                }
                int mine = lane - inside;
                if (mine >= 0 && mine < 4) r[set] = mine == 0 ? y0 : mine == 1 ? y1 : mine == 2 ? y2 : y3;
            }
#pragma unroll
        for (int set = SETS - 1; set >= 0; set--)
#pragma unroll 2
            for (int inside = LANES - 4; inside >= 0; inside -= 4) {
                int k = set * LANES + inside, height = PADDED - k;
                const float *c0 = m + column(k), *c1 = c0 + height, *c2 = c1 + height, *c3 = c2 + height;
                float4 q0 = four(c0 + k), q1 = four(c1 + k), q2 = four(c2 + k), q3 = four(c3 + k);
                float s[4] = {};
#pragma unroll
                for (int j = set; j < SETS; j++) {
                    int row = LANES * j + lane;
                    if (j > set || lane > inside + 3) {
                        s[0] = fmaf(c0[row], r[j], s[0]);
                        s[1] = fmaf(c1[row], r[j], s[1]);
                        s[2] = fmaf(c2[row], r[j], s[2]);
                        s[3] = fmaf(c3[row], r[j], s[3]);
                    }
                }
#pragma unroll
                for (int o = LANES / 2; o >= 1; o >>= 1)
#pragma unroll
                    for (int i = 0; i < 4; i++) s[i] += __shfl_xor_sync(ALL_LANES, s[i], o);
                float x0 = __shfl_sync(ALL_LANES, r[set], inside, LANES) - s[0];
                float x1 = __shfl_sync(ALL_LANES, r[set], inside + 1, LANES) - s[1];
                float x2 = __shfl_sync(ALL_LANES, r[set], inside + 2, LANES) - s[2];
                float x3 = (__shfl_sync(ALL_LANES, r[set], inside + 3, LANES) - s[3]) * q3.w;
                x2 = fmaf(-q2.w, x3, x2) * q2.z;
                x1 = fmaf(-q1.w, x3, fmaf(-q1.z, x2, x1)) * q1.y;
                x0 = fmaf(-q0.w, x3, fmaf(-q0.z, x2, fmaf(-q0.y, x1, x0))) * q0.x;
                int mine = lane - inside;
                if (mine >= 0 && mine < 4) r[set] = mine == 0 ? x0 : mine == 1 ? x1 : mine == 2 ? x2 : x3;
            }
        float square = 0.0f;
#pragma unroll
        for (int j = 0; j < SETS; j++) {
            x[(LANES * j + lane) * VOXELS] = r[j];
            square = fmaf(r[j], r[j], square);
        }
#pragma unroll
        for (int o = LANES / 2; o >= 1; o >>= 1) square += __shfl_xor_sync(ALL_LANES, square, o);
        return square;
    }
};
