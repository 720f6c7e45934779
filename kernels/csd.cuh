// The interior point method of src/engine/solvers/csd/interior_point.rs for a group of voxels in one block.
//
// A thread keeps four images of one representative direction for PER voxels in registers. Everything that mixes
// directions or unknowns goes through shared memory: rows of VOXELS values, one for each voxel of the group.
#pragma once
#include "common.cuh"
#include "registers.cuh"

constexpr u32 ALL_LANES = 0xffffffffu;

// Azimuthal frequencies m1 >= m2 of a tile of the matrix, with the first of its elements.
struct CsdTile {
    u32 low, high, shape, element;
};

template <int ORDER> struct Csd {
    // Voxels of a block, and of a thread.
    static constexpr int VOXELS = 4, PER = 2;
    static constexpr int HALF = ORDER / 2, FIBRE = (ORDER + 1) * (ORDER + 2) / 2;
    // Unknowns padded to whole sets of LANES rows; room for tissues without fibres is PADDED - FIBRE.
    static constexpr int PADDED = ORDER == 8 ? 48 : 96, LANES = ORDER == 8 ? 16 : 32, SETS = PADDED / LANES;
    static constexpr int DIRECTIONS = ORDER == 8 ? 80 : 128;
    static constexpr int FOURS = VOXELS / 4, SPLIT = VOXELS / PER, THREADS = DIRECTIONS * SPLIT, WARPS = THREADS / 32;
    static constexpr int FIRST = (HALF + 1) * (HALF + 2) / 2, OTHER = HALF * (HALF + 1) / 2;
    static constexpr int FIRST_GROUPS = (FIRST + 3) / 4, OTHER_GROUPS = (OTHER + 3) / 4;
    static constexpr int GROUPS = FIRST_GROUPS + 3 * OTHER_GROUPS;
    static constexpr int FIRST_MOMENTS = ((ORDER + 1) * (ORDER + 2) / 2 + 3) / 4;
    static constexpr int OTHER_MOMENTS = (ORDER * (ORDER + 1) / 2 + 3) / 4;
    static constexpr int MOMENTS = FIRST_MOMENTS + 3 * OTHER_MOMENTS;
    static constexpr int TISSUES = 3;
    // Gauss-Legendre nodes of a half sphere that integrate products of four harmonics exactly.
    static constexpr int NODES = ORDER + 1;
    // cos 0 to cos (2 ORDER), then sin 1 to sin (2 ORDER), of the azimuth.
    static constexpr int WAVES = 4 * ORDER + 1;
    // Functions of the polar angle at a node, for each azimuthal frequency.
    static constexpr int POLAR = 8;
    // Columns come in fours, from the first row of the four on.
    static constexpr int PACKED = PADDED * PADDED - 8 * (PADDED / 4) * (PADDED / 4 - 1);
    // Matrices of neighbouring voxels begin in different banks.
    static constexpr int MATRIX = PACKED + 32 / VOXELS;
    // Threads that factorise; a warp with two matrices has those whose banks differ by 16.
    static constexpr int FACTORS = VOXELS * LANES / 32, STRIDE = VOXELS / 2;
    static constexpr int PANEL = 8;
    // Two warps share a matrix of order 12.
    static constexpr bool HAS_HELPER = LANES == 32;
    static constexpr int AT = 0, ROWS = AT + FIBRE * DIRECTIONS, MOMENT_ROWS = ROWS + 4 * GROUPS * DIRECTIONS;
    static constexpr int NORMAL = MOMENT_ROWS + 4 * MOMENTS * DIRECTIONS, POLAR_AT = NORMAL + PADDED * PADDED;
    static_assert((HAS_HELPER ? 2 : 1) * FACTORS <= WARPS && 4 * MOMENTS + TISSUES <= 4 * DIRECTIONS, "room");
    static_assert(PACKED % 32 == 0, "banks");
    // Room after the parts: the moments at the nodes begin after the moments, which take the place of the parts.
    static constexpr int AFTER_MOMENTS = WAVES * NODES - 4 * (DIRECTIONS - MOMENTS);
    static constexpr int EXTRA = AFTER_MOMENTS > PADDED ? AFTER_MOMENTS : PADDED;

    struct Shared {
        float matrix[VOXELS * MATRIX];
        // By class of the harmonics and direction; also moments, then those at the nodes. Steps follow.
        float parts[(4 * DIRECTIONS + EXTRA) * VOXELS];
        float x[PADDED * VOXELS], residual[PADDED * VOXELS], g[PADDED * VOXELS];
        float d[TISSUES * VOXELS];
        float sums[(WARPS + TISSUES) * VOXELS], largest[(WARPS + TISSUES) * VOXELS];
        // Tissues without fibres: amount, multiplier, change and relative step.
        float amount[TISSUES * VOXELS], multiplier[TISSUES * VOXELS], change[TISSUES * VOXELS], move[TISSUES * VOXELS];
        float gap[VOXELS], target[VOXELS], length[VOXELS], size[VOXELS];
        u32 good[VOXELS], broken[VOXELS];
    };

    static __device__ __forceinline__ float *step_of(Shared &s) { return s.parts + 4 * DIRECTIONS * VOXELS; }
    static __device__ __forceinline__ float *waves_of(Shared &s) { return s.parts + 4 * MOMENTS * VOXELS; }
    static __device__ __forceinline__ void load(float (&to)[4], const float *from) {
        float4 v = four(from);
        to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
    }
    static __device__ __forceinline__ void load(float (&to)[2], const float *from) {
        float2 v = *(const float2 *)from;
        to[0] = v.x, to[1] = v.y;
    }
    static __device__ __forceinline__ void store(float *to, const float (&v)[4]) { four(to) = make_float4(v[0], v[1], v[2], v[3]); }
    static __device__ __forceinline__ void store(float *to, const float (&v)[2]) { *(float2 *)to = make_float2(v[0], v[1]); }
    static __device__ __forceinline__ float4 &four(float *at) { return *(float4 *)at; }
    static __device__ __forceinline__ float4 four(const float *at) { return *(const float4 *)at; }
    static __device__ __forceinline__ int column(int k) {
        int g = k >> 2;
        return 4 * g * PADDED - 8 * g * (g - 1) + (k & 3) * (PADDED - 4 * g) - 4 * g;
    }

    // Rows of a table times rows of `in`, for four rows of the table and four voxels a thread; four neighbouring
    // threads share the sum. `put(row of the table, slot, values)` receives one row each.
    template <int ALL, int ONE, int NEXT, int INNER, class Put>
    static __device__ __forceinline__ void project(const float *table, const float *in, Put put) {
        constexpr int TASKS = ALL * FOURS * 4, ROUNDS = (TASKS + THREADS - 1) / THREADS, UNROLL = ORDER == 8 ? 5 : 8;
        static_assert(INNER % 4 == 0, "shares");
        float4 kept[ROUNDS];
#pragma unroll
        for (int round = 0; round < ROUNDS; round++) {
            int t = round * THREADS + thread_now(), share = t & 3, slot = (t >> 2) % FOURS * 4;
            // Common to a warp.
            if (round == ROUNDS - 1 && (t & ~31) >= TASKS) break;
            int group = min((t >> 2) / FOURS, ALL - 1), part = group < ONE ? 0 : 1 + (group - ONE) / NEXT;
            const float4 *rows = (const float4 *)table + group * INNER + share;
            const float *values = in + (part * INNER + share) * VOXELS + slot;
            float sum[4][4] = {};
#pragma unroll 1
            for (int i = 0; i < INNER / 4; i += UNROLL) {
                float4 a[UNROLL];
#pragma unroll
                for (int k = 0; k < UNROLL; k++) a[k] = i + k < INNER / 4 ? __ldg(rows + 4 * k) : float4{};
                __syncwarp();
#pragma unroll
                for (int k = 0; k < UNROLL; k++) {
                    if (INNER / 4 % UNROLL != 0 && i + k >= INNER / 4) break;
                    float4 b = four(values + 4 * k * VOXELS);
                    const float m[4] = {a[k].x, a[k].y, a[k].z, a[k].w}, v[4] = {b.x, b.y, b.z, b.w};
#pragma unroll
                    for (int r = 0; r < 4; r++)
#pragma unroll
                        for (int c = 0; c < 4; c++) sum[r][c] = fmaf(m[r], v[c], sum[r][c]);
                }
                rows += 4 * UNROLL, values += 4 * UNROLL * VOXELS;
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
            int t = round * THREADS + thread_now(), share = t & 3, group = (t >> 2) / FOURS;
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
    static __device__ __forceinline__ void values(const float *at, const float *x, float (&out)[4][PER]) {
        constexpr int UNROLL = ORDER == 8 ? 10 : 14;
        float part[4][PER] = {};
        at += thread_now() / SPLIT, x += thread_now() % SPLIT * PER;
#pragma unroll
        for (int c = 0; c < 4; c++)
#pragma unroll 1
            for (int j = 0; j < (c == 0 ? FIRST : OTHER); j += UNROLL) {
                const int count = min((c == 0 ? FIRST : OTHER) - j, UNROLL);
                float a[UNROLL];
#pragma unroll
                for (int i = 0; i < UNROLL; i++) a[i] = i < count ? __ldg(at + i * DIRECTIONS) : 0.0f;
                __syncwarp();
#pragma unroll
                for (int i = 0; i < UNROLL; i++) {
                    if (i >= count) break;
                    float b[PER];
                    load(b, x + i * VOXELS);
#pragma unroll
                    for (int k = 0; k < PER; k++) part[c][k] = fmaf(a[i], b[k], part[c][k]);
                }
                at += count * DIRECTIONS, x += count * VOXELS;
            }
#pragma unroll
        for (int k = 0; k < PER; k++) {
            float even = part[0][k] + part[3][k], odd = part[1][k] + part[2][k];
            float other_even = part[0][k] - part[3][k], other_odd = part[1][k] - part[2][k];
            out[0][k] = even + odd;
            out[1][k] = even - odd;
            out[2][k] = other_even + other_odd;
            out[3][k] = other_even - other_odd;
        }
    }

    // The transpose of the last step of `values`, to shared memory.
    static __device__ __forceinline__ void store_parts(float *parts, const float (&v)[4][PER]) {
        float *to = parts + thread_now() / SPLIT * VOXELS + thread_now() % SPLIT * PER;
        float out[4][PER];
#pragma unroll
        for (int k = 0; k < PER; k++) {
            float low = v[0][k] + v[1][k], high = v[2][k] + v[3][k];
            float low_difference = v[0][k] - v[1][k], high_difference = v[2][k] - v[3][k];
            out[0][k] = low + high;
            out[1][k] = low_difference + high_difference;
            out[2][k] = low_difference - high_difference;
            out[3][k] = low - high;
        }
#pragma unroll
        for (int c = 0; c < 4; c++) store(to + c * DIRECTIONS * VOXELS, out[c]);
    }

    // A row of `to` for each warp.
    template <bool LARGEST> static __device__ __forceinline__ void reduce(float *to, float (&v)[PER]) {
        int lane = thread_now() & 31, warp = thread_now() >> 5;
#pragma unroll
        for (int o = 16; o >= SPLIT; o >>= 1)
#pragma unroll
            for (int k = 0; k < PER; k++) {
                float got = __shfl_xor_sync(ALL_LANES, v[k], o);
                v[k] = LARGEST ? fmaxf(v[k], got) : v[k] + got;
            }
        if (lane < SPLIT) store(to + warp * VOXELS + PER * lane, v);
    }

    // By a slot's thread, after a barrier.
    template <bool LARGEST> static __device__ __forceinline__ float total(const float *from, int slot, u32 tissues) {
        float all = from[slot];
        for (int k = 1; k < WARPS + (int)tissues; k++)
            all = LARGEST ? fmaxf(all, from[k * VOXELS + slot]) : all + from[k * VOXELS + slot];
        return all;
    }

    // Moments of D to moments at the nodes: for each azimuthal function, sums over the degrees. `wave` holds the first
    // moment with the number of moments, and the first coefficient.
    static __device__ __forceinline__ void to_nodes(float *to, const float *moments, const uint2 *waves, const float *coefficients) {
        constexpr int TASKS = WAVES * NODES * FOURS, ROUNDS = (TASKS + THREADS - 1) / THREADS;
        uint2 all[ROUNDS];
#pragma unroll
        for (int round = 0; round < ROUNDS; round++)
            all[round] = __ldg(waves + min(round * THREADS + (int)thread_now(), TASKS - 1) / FOURS / NODES);
#pragma unroll
        for (int round = 0; round < ROUNDS; round++) {
            int t = round * THREADS + thread_now(), slot = t % FOURS * 4, at = t / FOURS;
            if (t >= TASKS) break;
            int count = all[round].x >> 16;
            const float *from = moments + (all[round].x & 0xffff) * VOXELS + slot, *c = coefficients + all[round].y + at % NODES;
            float sum[4] = {};
            for (int k = 0; k < count; k += 4) {
                float a[4];
#pragma unroll
                for (int i = 0; i < 4; i++) a[i] = k + i < count ? __ldg(c + i * NODES) : 0.0f;
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    if (k + i >= count) break;
                    float4 b = four(from + i * VOXELS);
                    sum[0] = fmaf(a[i], b.x, sum[0]);
                    sum[1] = fmaf(a[i], b.y, sum[1]);
                    sum[2] = fmaf(a[i], b.z, sum[2]);
                    sum[3] = fmaf(a[i], b.w, sum[3]);
                }
                c += 4 * NODES, from += 4 * VOXELS;
            }
            four(to + at * VOXELS + slot) = make_float4(sum[0], sum[1], sum[2], sum[3]);
        }
    }

    // Elements of one voxel that couple functions of azimuthal frequencies m1 >= m2, cosine or sine each: a product of
    // azimuthal functions has two frequencies, and the polar functions are summed over the nodes.
    // HIGH of the WIDTH polar functions of m1, from FIRST_HIGH on.
    template <int LOW, int WIDTH, int FIRST_HIGH = 0, int HIGH = WIDTH>
    static __device__ __forceinline__ void tile(float *matrix, const float *waves, const float *polar, const uint2 *all, u32 element_first,
                                                u32 high, u32 low, u32 both) {
        // Both cosines, both sines, sine of m1, cosine of m1.
        u32 sum = high + low, difference = high - low;
        bool is_even = both < 2;
        u32 first = is_even ? difference : 2 * ORDER + sum;
        u32 second = is_even ? sum : difference == 0 ? 0 : 2 * ORDER + difference;
        float sign = !is_even && difference == 0 ? 0.0f : both & 1 ? -1.0f : 1.0f;
        const float *one = waves + first * NODES * VOXELS, *other = waves + second * NODES * VOXELS;
        // The sine of 0 is 0, and has no wave.
        if (!is_even && sum == 0) one = other = waves, sign = -1.0f;
        float out[LOW][HIGH] = {};
        constexpr int STEP = (ORDER + 1) * POLAR, LOWS = (LOW + 3) / 4, HIGHS = (HIGH + 3) / 4;
        const float4 *from = (const float4 *)(polar + low * POLAR), *to = (const float4 *)(polar + high * POLAR + FIRST_HIGH);
        // Read one node ahead, where registers suffice.
        constexpr bool READS_AHEAD = LOW * HIGH < 20;
        float4 next[LOWS + HIGHS];
#pragma unroll
        for (int k = 0; k < LOWS; k++) next[k] = __ldg(from + k);
#pragma unroll
        for (int k = 0; k < HIGHS; k++) next[LOWS + k] = __ldg(to + k);
#pragma unroll 1
        for (int node = 0; node < NODES; node++) {
            float a[4 * LOWS], b[4 * HIGHS];
            if (!READS_AHEAD) {
#pragma unroll
                for (int k = 0; k < LOWS; k++) next[k] = __ldg(from + k);
#pragma unroll
                for (int k = 0; k < HIGHS; k++) next[LOWS + k] = __ldg(to + k);
            }
#pragma unroll
            for (int k = 0; k < LOWS; k++) a[4 * k] = next[k].x, a[4 * k + 1] = next[k].y, a[4 * k + 2] = next[k].z, a[4 * k + 3] = next[k].w;
#pragma unroll
            for (int k = 0; k < HIGHS; k++) {
                float4 v = next[LOWS + k];
                b[4 * k] = v.x, b[4 * k + 1] = v.y, b[4 * k + 2] = v.z, b[4 * k + 3] = v.w;
            }
            if (node + 1 < NODES) from += STEP / 4, to += STEP / 4;
            if (READS_AHEAD) {
#pragma unroll
                for (int k = 0; k < LOWS; k++) next[k] = __ldg(from + k);
#pragma unroll
                for (int k = 0; k < HIGHS; k++) next[LOWS + k] = __ldg(to + k);
            }
            float weight = fmaf(sign, *other, *one);
            one += VOXELS, other += VOXELS;
#pragma unroll
            for (int j = 0; j < HIGH; j++) {
                float scaled = weight * b[j];
#pragma unroll
                for (int i = 0; i < LOW; i++) out[i][j] = fmaf(a[i], scaled, out[i][j]);
            }
        }
        const uint2 *elements = read_now(all) + element_first;
        constexpr int AT_ONCE = 14 / HIGH < LOW ? 14 / HIGH : LOW;
#pragma unroll
        for (int first = 0; first < LOW; first += AT_ONCE) {
            uint2 element[AT_ONCE][HIGH];
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++)
#pragma unroll
                for (int j = 0; j < HIGH; j++)
                    if (first + i < LOW) element[i][j] = __ldg(elements + ((first + i) * WIDTH + FIRST_HIGH + j) * 4);
            // Keeps the compiler from reading one element after the other, each of which waits for the second-level cache.
            __syncwarp();
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++)
#pragma unroll
                for (int j = 0; j < HIGH; j++)
                    if (first + i < LOW && element[i][j].x < PACKED)
                        matrix[element[i][j].x] = out[first + i][j] + __uint_as_float(element[i][j].y);
        }
    }

    // H + A'DA for all voxels but the rows of tissues without fibres: a warp has four tiles of VOXELS voxels, or eight.
    static __device__ __forceinline__ void assemble(float *matrix, const float *waves, const float *polar, const CsdTile *tiles,
                                                    u32 count, const uint2 *elements) {
        constexpr int AT_ONCE = 8 / VOXELS;
        int warp = thread_now() >> 5, lane = thread_now() & 31, voxel = lane % VOXELS, both = lane / VOXELS & 3;
        int inside = AT_ONCE == 1 ? 0 : lane / (4 * VOXELS);
        for (u32 t = warp * AT_ONCE; t < count; t += WARPS * AT_ONCE) {
            uint4 tile_of = __ldg((const uint4 *)tiles + t + inside);
            float *to = matrix + voxel * MATRIX;
            const float *from = waves + voxel;
            const u32 own = tile_of.w + both;
            // A shape is common to the tiles of a warp.
            switch (tile_of.z) {
            case 0:
                // In two parts, because of the registers.
                tile<HALF + 1, HALF + 1, 0, 4>(to, from, polar, elements, own, tile_of.y, tile_of.x, both);
                tile<HALF + 1, HALF + 1, 4, HALF - 3>(to, from, polar, elements, own, tile_of.y, tile_of.x, both);
                break;
            case 1: tile<HALF + 1, HALF - 1>(to, from, polar, elements, own, tile_of.y, tile_of.x, both); break;
            case 2: tile<HALF - 1, HALF - 1>(to, from, polar, elements, own, tile_of.y, tile_of.x, both); break;
            default:
                if constexpr (ORDER > 8) {
                    switch (tile_of.z) {
                    case 3: tile<HALF + 1, HALF - 3>(to, from, polar, elements, own, tile_of.y, tile_of.x, both); break;
                    case 4: tile<HALF - 1, HALF - 3>(to, from, polar, elements, own, tile_of.y, tile_of.x, both); break;
                    default: tile<HALF - 3, HALF - 3>(to, from, polar, elements, own, tile_of.y, tile_of.x, both); break;
                    }
                }
            }
        }
    }

    // Rows of tissues without fibres, and of the unit matrix. `rest`: place, H, and the tissue on the diagonal, or 3.
    static __device__ __forceinline__ void assemble_rest(float *matrix, const float *d, const uint4 *rest, u32 count) {
        constexpr int AT_ONCE = 4;
        for (u32 first = thread_now() / 32 * 32; first < count * VOXELS; first += AT_ONCE * THREADS) {
            uint4 element[AT_ONCE];
            u32 t = first + thread_now() % 32, voxel = t % VOXELS;
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++) element[i] = __ldg(rest + min((t + i * THREADS) / VOXELS, count - 1));
            __syncwarp();
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++) {
                float h = __uint_as_float(element[i].y);
                if (element[i].z < TISSUES) h += d[element[i].z * VOXELS + voxel];
                if (t + i * THREADS < count * VOXELS) matrix[voxel * MATRIX + element[i].x] = h;
            }
        }
    }

    // PANEL columns from `first` on, of ROWS_AT_ONCE sets of rows, less the products of columns `begin` to `end`; then
    // factorised, if they are less all columns before. Returns false if a pivot is not positive.
    template <int ROWS_AT_ONCE>
    static __device__ __forceinline__ bool panel(float *m, int first, int begin, int end, bool is_complete) {
        int lane = thread_now() % LANES;
        bool good = true;
        float a[ROWS_AT_ONCE][PANEL];
        int row[ROWS_AT_ONCE];
#pragma unroll
        for (int j = 0; j < ROWS_AT_ONCE; j++) row[j] = min(first + LANES * j + lane, PADDED - 1);
        float *top = m + column(first);
        int height = PADDED - first;
        auto at = [=](int c) { return top + c * height - (c < 4 ? 0 : 4 * (c - 3)); };
#pragma unroll
        for (int c = 0; c < PANEL; c++)
#pragma unroll
            for (int j = 0; j < ROWS_AT_ONCE; j++) a[j][c] = at(c)[row[j]];
        const float *from = m + column(begin);
        constexpr int UNROLL = ROWS_AT_ONCE > 1 ? 4 : PANEL;
#pragma unroll 1
        for (int k = begin; k < end; k += PANEL) {
#pragma unroll UNROLL
            for (int i = 0; i < PANEL; i++) {
                const float *l = from + i * (PADDED - k) - (i < 4 ? 0 : 4 * (i - 3));
                float4 b = four(l + first), d = four(l + first + 4);
                const float v[PANEL] = {b.x, b.y, b.z, b.w, d.x, d.y, d.z, d.w};
#pragma unroll
                for (int j = 0; j < ROWS_AT_ONCE; j++) {
                    float own = l[row[j]];
#pragma unroll
                    for (int c = 0; c < PANEL; c++) a[j][c] = fmaf(-own, v[c], a[j][c]);
                }
            }
            from += PANEL * (PADDED - k) - 24;
        }
        if (is_complete)
#pragma unroll
        for (int c = 0; c < PANEL; c++) {
            float pivot = __shfl_sync(ALL_LANES, a[0][c], c, LANES), inverse = rsqrtf(pivot);
            good = good && pivot > 0.0f;
#pragma unroll
            for (int j = 0; j < ROWS_AT_ONCE; j++) a[j][c] *= inverse;
#pragma unroll
            for (int k = c + 1; k < PANEL; k++) {
                float factor = __shfl_sync(ALL_LANES, a[0][c], k, LANES);
#pragma unroll
                for (int j = 0; j < ROWS_AT_ONCE; j++) a[j][k] = fmaf(-a[j][c], factor, a[j][k]);
            }
            if (lane == c) a[0][c] = inverse;
        }
        // Above the diagonal are other elements, or none.
        __syncwarp();
#pragma unroll
        for (int c = 0; c < PANEL; c++)
#pragma unroll
            for (int j = 0; j < ROWS_AT_ONCE; j++)
                if ((j > 0 || lane >= c) && first + LANES * j + lane < PADDED) at(c)[row[j]] = a[j][c];
        __syncwarp();
        return good;
    }

    // L of LL' with 1 / L_ii on the diagonal; false if a pivot is not positive. Where two warps share the work, one factorises
    // panels, and a helper subtracts from the next panel what is known already. Loops over panels are not unrolled: code
    // that exceeds the instruction cache takes several times as long.
    static __device__ __forceinline__ bool factorise(float *m, bool helps, int barrier) {
        bool good = true;
#pragma unroll 1
        for (int number = 0; number < PADDED / PANEL; number++) {
            int mine = helps ? number + 1 : number, first = mine * PANEL;
            // The helper's part of the columns before, so that both take as long.
            int shared = PANEL * (mine - max(1, (mine - 3) / 2)), begin = helps || !HAS_HELPER ? 0 : max(shared, 0), end = helps ? shared : first;
            int rows = PADDED - first;
            if (rows > 0 && (!helps || end > 0)) {
                if (rows > 2 * LANES)
                    good = panel<3>(m, first, begin, end, !helps) && good;
                else if (rows > LANES)
                    good = panel<2>(m, first, begin, end, !helps) && good;
                else
                    good = panel<1>(m, first, begin, end, !helps) && good;
            }
            if (HAS_HELPER) asm volatile("bar.sync %0, 64;" ::"r"(barrier) : "memory");
        }
        return good;
    }

    // The rows of a panel at its diagonal, by column.
    static __device__ __forceinline__ void corner(float (&l)[PANEL][PANEL], const float *top, int k, int height) {
#pragma unroll
        for (int c = 0; c < PANEL; c++) {
            const float *from = top + c * height - (c < 4 ? 0 : 4 * (c - 3)) + k;
            float4 upper = c < 4 ? four(from) : float4{}, lower = four(from + 4);
            l[c][0] = upper.x, l[c][1] = upper.y, l[c][2] = upper.z, l[c][3] = upper.w;
            l[c][4] = lower.x, l[c][5] = lower.y, l[c][6] = lower.z, l[c][7] = lower.w;
        }
    }

    // LL' x = b by LANES threads, PANEL columns at a time; returns |x|^2.
    static __device__ __forceinline__ float solve(const float *m, const float *b, float *x) {
        int lane = thread_now() % LANES;
        float r[SETS];
#pragma unroll
        for (int j = 0; j < SETS; j++) r[j] = b[(LANES * j + lane) * VOXELS];
#pragma unroll
        for (int set = 0; set < SETS; set++)
#pragma unroll 1
            for (int inside = 0; inside < LANES; inside += PANEL) {
                int k = set * LANES + inside, height = PADDED - k;
                const float *top = m + column(k);
                auto at = [=](int c) { return top + c * height - (c < 4 ? 0 : 4 * (c - 3)); };
                float y[PANEL], l[PANEL][PANEL];
                corner(l, top, k, height);
#pragma unroll
                for (int c = 0; c < PANEL; c++) y[c] = __shfl_sync(ALL_LANES, r[set], inside + c, LANES);
#pragma unroll
                for (int c = 0; c < PANEL; c++) {
                    y[c] *= l[c][c];
#pragma unroll
                    for (int i = c + 1; i < PANEL; i++) y[i] = fmaf(-l[c][i], y[c], y[i]);
                }
#pragma unroll
                for (int j = set; j < SETS; j++) {
                    int row = LANES * j + lane;
                    if (j > set || lane >= inside + PANEL) {
                        float less = 0.0f;
#pragma unroll
                        for (int c = 0; c < PANEL; c += 2) {
                            r[j] = fmaf(-at(c)[row], y[c], r[j]);
                            less = fmaf(at(c + 1)[row], y[c + 1], less);
                        }
                        r[j] -= less;
                    }
                }
#pragma unroll
                for (int c = 0; c < PANEL; c++)
                    if (lane == inside + c) r[set] = y[c];
            }
#pragma unroll
        for (int set = SETS - 1; set >= 0; set--)
#pragma unroll 1
            for (int inside = LANES - PANEL; inside >= 0; inside -= PANEL) {
                int k = set * LANES + inside, height = PADDED - k;
                const float *top = m + column(k);
                auto at = [=](int c) { return top + c * height - (c < 4 ? 0 : 4 * (c - 3)); };
                float s[PANEL] = {};
#pragma unroll
                for (int j = set; j < SETS; j++) {
                    int row = LANES * j + lane;
                    if (j > set || lane >= inside + PANEL)
#pragma unroll
                        for (int c = 0; c < PANEL; c++) s[c] = fmaf(at(c)[row], r[j], s[c]);
                }
                // Lane c of every eight keeps the sum of column c.
#pragma unroll
                for (int keep = PANEL / 2; keep >= 1; keep /= 2) {
                    bool upper = lane & keep;
#pragma unroll
                    for (int c = 0; c < keep; c++) {
                        float give = upper ? s[c] : s[c + keep], mine = upper ? s[c + keep] : s[c];
                        s[c] = mine + __shfl_xor_sync(ALL_LANES, give, keep);
                    }
                }
#pragma unroll
                for (int o = PANEL; o < LANES; o *= 2) s[0] += __shfl_xor_sync(ALL_LANES, s[0], o);
                float left = r[set] - s[0], y[PANEL], l[PANEL][PANEL];
                corner(l, top, k, height);
#pragma unroll
                for (int c = 0; c < PANEL; c++) y[c] = __shfl_sync(ALL_LANES, left, inside + c, LANES);
#pragma unroll
                for (int c = PANEL - 1; c >= 0; c--) {
#pragma unroll
                    for (int i = PANEL - 1; i > c; i--) y[c] = fmaf(-l[c][i], y[i], y[c]);
                    y[c] *= l[c][c];
                }
#pragma unroll
                for (int c = 0; c < PANEL; c++)
                    if (lane == inside + c) r[set] = y[c];
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
