// Part of commit.cu: from a voxel's sums of columns to its numbers for each shell, and back; one warp per voxel,
// three harmonics per lane.
#pragma once

// Peaks and shells at once.
static constexpr u32 SOME = 4;

__device__ __forceinline__ float add_lanes(float v) {
#pragma unroll
    for (int m = 16; m; m >>= 1) v += __shfl_xor_sync(ALL, v, m);
    return v;
}

// Sums times r and, with the first chunk, the contribution of the voxel's own columns.
template <int W>
__device__ __forceinline__ void contract(const Tables& t, const float* sums, const float* own, float* c, u32 chunk) {
    __shared__ float all_weights[WARPS][SOME * SOME * DEGREES];
    const u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5, voxel = blockIdx.x * WARPS + warp;
    if (!(voxel < t.voxels)) return;
    float* weights = all_weights[warp];
    const float* x = own + u64(voxel) * own_count(t);
    const float* r = t.intra + chunk * t.shells * DEGREES * W;
    float* to = c + u64(voxel) * stride(t);
    const u32 peaks = t.peak_counts[voxel];
    const bool more = chunk > 0;
    float m[3][W];
    u32 half[3];
#pragma unroll
    for (int l = 0; l < 3; ++l) {
        load<W>(sums + (u64(voxel) * PAD + lane + 32 * l) * W, m[l]);
        half[l] = halves.of[lane + 32 * l];
    }
    for (u32 first = 0; first < t.shells; first += SOME) {
        const u32 shells = min(t.shells - first, SOME);
        float value[3][SOME];
#pragma unroll
        for (int l = 0; l < 3; ++l)
#pragma unroll
            for (u32 k = 0; k < SOME; ++k)
                value[l][k] = more && k < shells ? to[(first + k) * ROW + min(lane + 32 * l, ROW - 1)] : 0.0f;
        for (u32 start = 0; !more && start < peaks; start += SOME) {
            __syncwarp();
            for (u32 i = lane; i < SOME * SOME * DEGREES; i += 32) {
                u32 p = start + i / (SOME * DEGREES), k = i / DEGREES % SOME;
                float sum = 0;
                for (u32 e = 0; p < peaks && k < shells && e < t.extra; ++e)
                    sum = fmaf(t.own[(e * t.shells + first + k) * DEGREES + i % DEGREES], x[p * t.extra + e], sum);
                weights[i] = sum;
            }
            __syncwarp();
#pragma unroll
            for (u32 p = 0; p < SOME; ++p) {
                if (start + p >= peaks) break;
                const float* y = t.peaks + (u64(voxel) * t.places + start + p) * COUNT;
#pragma unroll
                for (int l = 0; l < 3; ++l) {
                    float own = y[min(lane + 32 * l, COUNT - 1)];
#pragma unroll
                    for (u32 k = 0; k < SOME; ++k)
                        value[l][k] = fmaf(weights[(p * SOME + k) * DEGREES + half[l]], own, value[l][k]);
                }
            }
        }
        if (!more) {
            float sum = 0;
            for (u32 f = 0; lane < shells && f < t.free; ++f)
                sum = fmaf(
                    t.own[((t.extra + f) * t.shells + first + lane) * DEGREES], x[t.places * t.extra + f], sum);
#pragma unroll
            for (u32 k = 0; k < SOME; ++k) {
                float v = __shfl_sync(ALL, sum, k);
                value[0][k] += lane == 0 ? v : 0.0f;
            }
        }
#pragma unroll
        for (u32 k = 0; k < SOME; ++k) {
            if (k >= shells) break;
#pragma unroll
            for (int l = 0; l < 3; ++l) {
                float by[W];
                load<W>(r + ((first + k) * DEGREES + half[l]) * W, by);
#pragma unroll
                for (int j = 0; j < W; ++j) value[l][k] = fmaf(by[j], m[l][j], value[l][k]);
                if (lane + 32 * l < COUNT) to[(first + k) * ROW + lane + 32 * l] = value[l][k];
            }
        }
    }
    float flat = 0;
    const float* flats = t.flat + t.columns;
    for (u32 i = lane; !more && i < peaks * t.extra; i += 32) flat = fmaf(flats[i % t.extra], x[i], flat);
    for (u32 f = lane; !more && f < t.free; f += 32) flat = fmaf(flats[t.extra + f], x[t.places * t.extra + f], flat);
    if (lane < W) flat = fmaf(t.flat[chunk * W + lane], sums[u64(voxel) * PAD * W + lane], flat);
    flat = add_lanes(flat);
    if (lane == 0) to[t.shells * ROW] = flat + (more ? to[t.shells * ROW] : 0.0f);
}

// The contribution of a segment for each of its harmonics, in each column; with the first chunk also that of the
// voxel's own columns.
template <int W>
__device__ __forceinline__ void spread(const Tables& t, const float* c, float* shares, float* own, u32 chunk) {
    const u32 lane = threadIdx.x & 31, voxel = blockIdx.x * WARPS + (threadIdx.x >> 5);
    if (!(voxel < t.voxels)) return;
    const float* from = c + u64(voxel) * stride(t);
    const float* r = t.intra + chunk * t.shells * DEGREES * W;
    const float flat = from[t.shells * ROW];
    float value[3][W];
    u32 half[3], place[3];
#pragma unroll
    for (int l = 0; l < 3; ++l) {
        half[l] = halves.of[lane + 32 * l];
        place[l] = min(lane + 32 * l, ROW - 1);
#pragma unroll
        for (int j = 0; j < W; ++j) value[l][j] = lane + l ? 0.0f : t.flat[chunk * W + j] * flat;
    }
#pragma unroll 4
    for (u32 k = 0; k < t.shells; ++k)
#pragma unroll
        for (int l = 0; l < 3; ++l) {
            float v = from[k * ROW + place[l]], by[W];
            load<W>(r + (k * DEGREES + half[l]) * W, by);
#pragma unroll
            for (int j = 0; j < W; ++j) value[l][j] = fmaf(by[j], v, value[l][j]);
        }
#pragma unroll
    for (int l = 0; l < 3; ++l)
#pragma unroll
        for (int j = 0; j < W; ++j)
            shares[(u64(voxel) * PAD + lane + 32 * l) * W + j] = lane + 32 * l < COUNT ? value[l][j] : 0.0f;
    if (chunk > 0) return;
    float* to = own + u64(voxel) * own_count(t);
    const float* flats = t.flat + t.columns;
    const u32 peaks = t.peak_counts[voxel];
    for (u32 e = 0; e < t.extra; ++e) {
        float u[3] = {0, 0, 0};
#pragma unroll 4
        for (u32 k = 0; k < t.shells; ++k)
#pragma unroll
            for (int l = 0; l < 3; ++l) {
                float by = lane + 32 * l < COUNT ? t.own[(e * t.shells + k) * DEGREES + half[l]] : 0.0f;
                u[l] = fmaf(by, from[k * ROW + place[l]], u[l]);
            }
        for (u32 p = 0; p < t.places; ++p) {
            float sum = 0;
#pragma unroll
            for (int l = 0; l < 3; ++l)
                if (p < peaks)
                    sum = fmaf(u[l], t.peaks[(u64(voxel) * t.places + p) * COUNT + min(place[l], COUNT - 1)], sum);
            sum = add_lanes(sum);
            if (lane == 0) to[p * t.extra + e] = p < peaks ? sum + flats[e] * flat : 0.0f;
        }
    }
    for (u32 f = lane; f < t.free; f += 32) {
        float sum = flats[t.extra + f] * flat;
        for (u32 k = 0; k < t.shells; ++k)
            sum = fmaf(t.own[((t.extra + f) * t.shells + k) * DEGREES], from[k * ROW], sum);
        to[t.places * t.extra + f] = sum;
    }
}

#define BY_COLUMNS(W)                                                                                            \
    extern "C" __global__ void __launch_bounds__(128)                                                            \
    commit_contract_##W(Tables t, const float* sums, const float* own, float* c, u32 chunk) {                    \
        contract<W>(t, sums, own, c, chunk);                                                                     \
    }                                                                                                            \
    extern "C" __global__ void __launch_bounds__(128)                                                            \
    commit_spread_##W(Tables t, const float* c, float* shares, float* own, u32 chunk) {                          \
        spread<W>(t, c, shares, own, chunk);                                                                     \
    }
BY_COLUMNS(1)
BY_COLUMNS(2)
BY_COLUMNS(4)
#undef BY_COLUMNS
