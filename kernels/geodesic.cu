// Geodesic rays in Hamiltonian form; the mathematics, the rules and their order are those of
// src/engine/solvers/geodesic (mod.rs, half_ray.rs). Positions are in voxels, lengths in mm.
//
// One thread follows one half ray after the other (trace), or four or eight threads follow one (share4, share8).
// Midpoint rule on an H200: 121 registers (RK4 125, splines 204 to 218, share 108), no spills, about 360 warp
// instructions per step, 40 of which load a cell; 55.7 G steps/s with a million rays, issue slots 66 % busy (stalls:
// dispatch, then the L2 cache). With 4096 rays a step takes 0.48 us, 900 cycles: 320 warp instructions (38 %),
// waiting for their results (25 %), for cells from the L2 cache (17 %: in 57 % of the steps one of a warp's eight
// rays enters another cell; the cell cannot be prefetched closer than that cache, because ptxas has no scoreboard to
// spare for pending loads), for sums (8 %). With 2048 rays and eight threads each, 0.40 us. Cells of 8 M voxels take
// 2.5 ms, three times as long as writing their 1.5 GB would.
//
// Lobes of distributions (lobes.cuh), eight threads a ray: order 8 with the midpoint rule 128 registers, no spills, 2.04 G
// steps/s with 500,000 rays on an H200, whatever the length of a step, 0.94 G with 10,000; order 12 245 registers, 1.18 G.
#include "lobes.cuh"
#include "paper.cuh"
#include "ray_steps.cuh"

// One thread follows one half ray after the other.
#define TRACE(NAME, CELL, STAGES, BLOCKS)                                                                        \
    extern "C" __global__ void __launch_bounds__(64, BLOCKS) NAME(RAY_ARGUMENTS) {                                   \
        trace<CELL, STAGES>(rules, {cells, records}, RAYS, thread_index(), CELL());                                      \
    }

TRACE(geodesic_trace_linear_1, Whole, 1, 8)
TRACE(geodesic_trace_linear_2, Whole, 2, 8)
TRACE(geodesic_trace_linear_4, Whole, 4, 8)
TRACE(geodesic_trace_spline_1, Spline, 1, 4)
TRACE(geodesic_trace_spline_2, Spline, 2, 4)
TRACE(geodesic_trace_spline_4, Spline, 4, 4)

// Four or eight threads follow one half ray.
#define SHARE(THREADS, STAGES)                                                                                    \
    extern "C" __global__ void __launch_bounds__(64, 8)                                                             \
        geodesic_share##THREADS##_linear_##STAGES(RAY_ARGUMENTS) {                                                  \
        trace<Shared<THREADS>, STAGES>(rules, {cells, records}, RAYS, thread_index() / THREADS, Shared<THREADS>());                    \
    }

SHARE(4, 2)
SHARE(4, 4)
SHARE(8, 2)
SHARE(8, 4)

// Eight threads follow one half ray along the lobes of distributions. Runge-Kutta 4 takes two Newton steps for each slope.
#define LOBES(ORDER, STAGES, NEWTON, BLOCKS)                                                                              \
    extern "C" __global__ void __launch_bounds__(64, BLOCKS)                                                              \
        geodesic_lobes_##ORDER##_##STAGES(RAY_ARGUMENTS, LobeRules lobes) {                                               \
        trace<Lobe<ORDER, NEWTON>, STAGES>(rules, {cells, records}, RAYS, thread_index() / 8, Lobe<ORDER, NEWTON>(lobes)); \
    }

LOBES(8, 1, 1, 8)
LOBES(8, 2, 1, 8)
LOBES(8, 4, 2, 6)
LOBES(12, 1, 1, 4)
LOBES(12, 2, 1, 4)
LOBES(12, 4, 2, 4)

// One thread computes a cell; a block of 64 writes its cells contiguously.
extern "C" __global__ void __launch_bounds__(64) geodesic_cell(Rules rules, const void* records, float* cells) {
    const u32 FLOATS = sizeof(Cell) / 4;
    __shared__ float mine[FLOATS][64 + 1];
    u32 cell = thread_index(), nx = rules.shape[0] + 1, ny = rules.shape[1] + 1, nz = rules.shape[2] + 1;
    int i = (int)(cell % nx) - 1, j = (int)(cell / nx % ny) - 1, k = (int)(cell / (nx * ny)) - 1;
    float c[8][6];
    bool fitted = true;
    for (int n = 0; n < 8; n++) {
        float record[8];
        all_numbers(rules, records, nearest(rules, i + (n & 1), j + (n >> 1 & 1), k + (n >> 2)), record);
        for (int m = 0; m < 6; m++) c[n][m] = record[m];
        fitted = fitted && record[INSIDE] == 1.0f;
    }
    // Volumes one voxel thick end within their cell.
    bool at_border = i < 0 || j < 0 || k < 0 || i + 1 > rules.face[0] || j + 1 > rules.face[1] || k + 1 > rules.face[2];
    for (u32 n = 0; n < 6; n++) {
        float a[4], b[4];
        for (int e = 0; e < 4; e++) a[e] = c[2 * e][n], b[e] = c[2 * e + 1][n] - a[e];
        float to_a[4] = {a[0], a[1] - a[0], a[2] - a[0], (a[3] - a[2]) - (a[1] - a[0])};
        const float to_b[4] = {b[0], b[1] - b[0], b[2] - b[0], (b[3] - b[2]) - (b[1] - b[0])};
        for (u32 term = 0; term < 4; term++) {
            if (n == 0) to_a[term] = with_last_bit(to_a[term], fitted && !at_border);
            mine[12 * term + n][threadIdx.x] = to_a[term], mine[12 * term + 6 + n][threadIdx.x] = to_b[term];
        }
    }
    __syncthreads();
    u32 first = blockIdx.x * 64, count = min(64u, nx * ny * nz - first);
    for (u32 n = threadIdx.x; n < count * FLOATS; n += 64) cells[(size_t)first * FLOATS + n] = mine[n % FLOATS][n / FLOATS];
}

// Points and their connectivity measures in separate arrays.
struct PointsAndMeasures {
    f32x3* points;
    float* measures;
    __device__ __forceinline__ void operator()(u32 i, float4 point) const {
        points[i] = make(point.x, point.y, point.z);
        measures[i] = point.w;
    }
};

extern "C" __global__ void __launch_bounds__(256) geodesic_gather(const float4* step_grid, u32 rays, const CurveRange* ranges,
                                                                   u32 halves, f32x3* points, float* measures) {
    gather(step_grid, rays, ranges, halves, PointsAndMeasures{points, measures});
}

// Stores the seeds between the halves that `geodesic_gather` has copied.
extern "C" __global__ void __launch_bounds__(256) geodesic_seeds(const SeedPlace* seeds, u32 count, f32x3* points,
                                                                  float* measures) {
    u32 i = thread_index();
    if (!(i < count)) return;
    SeedPlace seed = seeds[i];
    points[seed.place] = seed.at;
    measures[seed.place] = measures[seed.neighbour];
}

// `Prepare` in cuda/prepare.rs.
struct Prepare {
    int shape[3];
    // Scales the mean diffusivity to 1.
    float scale;
    // 0: the real power `alpha`, which preserves the determinant; 1: the integer `power` below an FA, which preserves
    // the trace.
    u32 paper;
    float alpha;
    u32 power;
    float below_fa;
    // A tensor that is not positive definite gets at least this share of its largest eigenvalue.
    float least_share;
    // Rows of the matrix from world vectors to voxel vectors.
    float to_voxel[9];
};
static_assert(sizeof(Prepare) == 18 * 4, "as in cuda/prepare.rs");

// Eigenvalues and, in columns of v, eigenvectors of a symmetric matrix (xx xy xz yy yz zz), by Jacobi rotations.
__device__ void eigen(const float d[6], float values[3], float v[3][3]) {
    float a[3][3] = {{d[0], d[1], d[2]}, {d[1], d[3], d[4]}, {d[2], d[4], d[5]}};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) v[i][j] = i == j ? 1.0f : 0.0f;
    for (int sweep = 0; sweep < 6; sweep++) {
#pragma unroll
        for (int turn = 0; turn < 3; turn++) {
            const int p = turn == 2 ? 1 : 0, q = turn == 0 ? 1 : 2, r = 3 - p - q;
            if (a[p][q] == 0.0f) continue;
            float theta = (a[q][q] - a[p][p]) / (2.0f * a[p][q]);
            float t = copysignf(1.0f, theta) / (fabsf(theta) + sqrtf(fmaf(theta, theta, 1.0f)));
            float c = rsqrtf(fmaf(t, t, 1.0f)), s = t * c;
            a[p][p] -= t * a[p][q], a[q][q] += t * a[p][q], a[p][q] = a[q][p] = 0.0f;
            float rp = a[r][p], rq = a[r][q];
            a[r][p] = a[p][r] = c * rp - s * rq, a[r][q] = a[q][r] = s * rp + c * rq;
#pragma unroll
            for (int k = 0; k < 3; k++) {
                float vp = v[k][p], vq = v[k][q];
                v[k][p] = c * vp - s * vq, v[k][q] = s * vp + c * vq;
            }
        }
    }
    for (int i = 0; i < 3; i++) values[i] = a[i][i];
}

// One thread handles a voxel: sharpens its tensor, scales it and rotates it to voxel axes, as `sharpened` and
// `in_voxel_axes` of src/engine/solvers/geodesic/ray_metric.rs; counts tensors that were not positive definite.
extern "C" __global__ void geodesic_sharpen(Prepare prepare, const float* tensors, float* records,
                                            unsigned char* known, u32* repaired) {
    u32 i = thread_index();
    if (!(i < (u32)(prepare.shape[0] * prepare.shape[1] * prepare.shape[2]))) return;
    const float* tensor = tensors + 8 * (size_t)i;
    float* record = records + 8 * (size_t)i;
    bool inside = tensor[6] > 0.5f;
    known[i] = inside;
    if (!inside) {
        for (int k = 0; k < 8; k++) record[k] = 0.0f;
        return;
    }
    float d[6], values[3], v[3][3];
    for (int k = 0; k < 6; k++) d[k] = prepare.scale * tensor[k];
    eigen(d, values, v);
    float least = fminf(fminf(values[0], values[1]), values[2]), largest = fmaxf(fmaxf(values[0], values[1]), values[2]);
    bool is_positive_definite = least > 0.0f;
    if (!is_positive_definite) {
        atomicAdd(repaired, 1);
        // A tensor without any positive eigenvalue counts as isotropic.
        float floor = prepare.least_share * (largest > 0.0f ? largest : 1.0f);
        for (int k = 0; k < 3; k++) values[k] = fmaxf(values[k], floor);
    }
    float sum = values[0] + values[1] + values[2], mean = sum / 3.0f, spread = 0.0f, squares = 0.0f;
    for (int k = 0; k < 3; k++) {
        spread += (values[k] - mean) * (values[k] - mean);
        squares += values[k] * values[k];
    }
    float fa = sqrtf(1.5f * spread / squares);
    bool changed = !is_positive_definite;
    if (!prepare.paper && prepare.alpha != 1.0f) {
        float root = cbrtf(values[0] * values[1] * values[2]);
        for (int k = 0; k < 3; k++) values[k] = root * powf(values[k] / root, prepare.alpha);
        changed = true;
    } else if (prepare.paper && fa < prepare.below_fa) {
        float powers[3] = {1.0f, 1.0f, 1.0f};
        for (u32 n = 0; n < prepare.power; n++)
            for (int k = 0; k < 3; k++) powers[k] *= values[k];
        float gain = sum / (powers[0] + powers[1] + powers[2]);
        for (int k = 0; k < 3; k++) values[k] = gain * powers[k];
        changed = true;
    }
    if (changed) {
        for (int k = 0; k < 6; k++) d[k] = 0.0f;
        for (int k = 0; k < 3; k++) {
            f32x3 e = make(v[0][k], v[1][k], v[2][k]);
            f32x3 scaled = values[k] * e;
            d[0] += scaled.x * e.x, d[1] += scaled.x * e.y, d[2] += scaled.x * e.z;
            d[3] += scaled.y * e.y, d[4] += scaled.y * e.z, d[5] += scaled.z * e.z;
        }
    }
    const float* m = prepare.to_voxel;
    f32x3 rows[3], turned[3];
    for (int r = 0; r < 3; r++) {
        rows[r] = make(m[3 * r], m[3 * r + 1], m[3 * r + 2]);
        turned[r] = product(d, rows[r]);
    }
    record[0] = dot(rows[0], turned[0]), record[1] = dot(rows[0], turned[1]), record[2] = dot(rows[0], turned[2]);
    record[3] = dot(rows[1], turned[1]), record[4] = dot(rows[1], turned[2]), record[5] = dot(rows[2], turned[2]);
    record[6] = 1.0f, record[7] = fa;
}

// One thread handles a voxel without a tensor and gives it the mean of its known neighbours, if any: one layer of
// `extend` in src/engine/solvers/curves/spline.rs.
extern "C" __global__ void geodesic_extend(Prepare prepare, float* records, const unsigned char* known,
                                           unsigned char* known_after) {
    u32 i = thread_index(), nx = prepare.shape[0], ny = prepare.shape[1], nz = prepare.shape[2], plane = nx * ny;
    if (!(i < plane * nz)) return;
    known_after[i] = known[i];
    if (known[i]) return;
    u32 x = i % nx, y = i / nx % ny, z = i / plane;
    const bool exists[6] = {x > 0, x + 1 < nx, y > 0, y + 1 < ny, z > 0, z + 1 < nz};
    const u32 at[6] = {i - 1, i + 1, i - nx, i + nx, i - plane, i + plane};
    float sum[8] = {0, 0, 0, 0, 0, 0, 0, 0}, count = 0.0f;
    for (int n = 0; n < 6; n++) {
        if (!exists[n] || !known[at[n]]) continue;
        for (int k = 0; k < 8; k++) sum[k] += records[8 * (size_t)at[n] + k];
        count += 1.0f;
    }
    if (!(count > 0.0f)) return;
    for (int k = 0; k < 8; k++)
        if (k != INSIDE) records[8 * (size_t)i + k] = sum[k] / count;
    known_after[i] = 1;
}

// One thread handles a voxel: rounds its record to halves in place, and writes the halves.
extern "C" __global__ void geodesic_halve(u32 voxels, float* records, __half* halves) {
    u32 i = thread_index();
    if (!(i < voxels)) return;
    for (size_t k = 8 * (size_t)i; k < 8 * (size_t)i + 8; k++) {
        halves[k] = __float2half_rn(records[k]);
        records[k] = __half2float(halves[k]);
    }
}
