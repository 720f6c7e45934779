// Part of commit.cu: the unknowns, and the solver's work on them.
#pragma once
#include "sums.cuh"

// `Columns` in src/engine/solvers/commit/cuda/buffers.rs.
struct Columns {
    // Mixing of a streamline's columns to fewer: one row each, `wide` numbers per chunk.
    const float* mixing;
    u32 streamlines, atoms, chunks, wide;
    // Number of all columns, including those of voxels; and the first of those that this card sums: streamlines are
    // on every card.
    u64 count, first;
};
static_assert(sizeof(Columns) == 40, "as in buffers.rs");

__device__ __forceinline__ u64 thread_of_many() { return u64(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ __forceinline__ u64 many() { return u64(gridDim.x) * blockDim.x; }
__device__ __forceinline__ u64 intra(const Columns& n) { return u64(n.streamlines) * n.atoms; }

// The gradient for a column: its streamline's share of z, or its voxel's.
__device__ __forceinline__ float part(const Columns& n, u64 i, const float* z, const float* own) {
    if (i >= intra(n)) return own[i - intra(n)];
    const u32 row = n.chunks * n.wide;
    u64 fibre = i / n.atoms, j = i % n.atoms;
    float sum = 0;
    for (u32 k = 0; k < row; ++k)
        sum = fmaf(n.mixing[j * row + k], z[(u64(k / n.wide) * n.streamlines + fibre) * n.wide + k % n.wide], sum);
    return sum;
}

// The step of Penalty::step, without groups.
__device__ __forceinline__ float stepped(const Columns& n, u64 i, float z, float g, float h, float lasso) {
    float next = z - __fdiv_rn(g + (i < intra(n) ? lasso : 0.0f), h);
    return next > 0 && h > 0 ? next : 0.0f;
}

// Sums over the columns: h (x - z)², h x², h (z - x) (x - before), and x of the streamlines.
struct Measured {
    double sums[4];
    __device__ __forceinline__ Measured() : sums{0, 0, 0, 0} {}
    __device__ __forceinline__ void add(bool streamline, double h, float x, float z, float before) {
        double moved = x - z;
        sums[0] += h * moved * moved;
        sums[1] += h * x * x;
        sums[2] -= h * moved * double(x - before);
        if (streamline) sums[3] += x;
    }
};

// Chunk by chunk, within a chunk streamline by streamline.
extern "C" __global__ void commit_mix(Columns n, const float* x, float* z) {
    u32 fibre = thread_index();
    if (!(fibre < n.streamlines)) return;
    u32 row = n.chunks * n.wide;
    for (u32 i = 0; i < row; ++i) {
        float sum = 0;
        for (u32 j = 0; j < n.atoms; ++j) sum = fmaf(n.mixing[j * row + i], x[u64(fibre) * n.atoms + j], sum);
        z[(u64(i / n.wide) * n.streamlines + fibre) * n.wide + i % n.wide] = sum;
    }
}

// The reverse, with the gradient for the voxels' own columns.
extern "C" __global__ void commit_part(Columns n, const float* z, const float* own, float* g) {
    for (u64 i = thread_of_many(); i < n.count; i += many()) g[i] = part(n, i, z, own);
}

extern "C" __global__ void commit_step(
    Columns n, const float* z, const float* g, const float* h, float lasso, float* out) {
    for (u64 i = thread_of_many(); i < n.count; i += many()) out[i] = stepped(n, i, z[i], g[i], h[i], lasso);
}

// A whole step without groups: the parts of the gradient, the step from now + beta (now - next) to the next point,
// and its measures; `next` holds the point before the last.
extern "C" __global__ void commit_advance(Columns n, const float* z, const float* own, const float* h, float lasso,
    const float* now, float beta, float* next, double* to) {
    Measured measured;
    for (u64 i = thread_of_many(); i < n.count; i += many()) {
        float last = now[i], metric = h[i], ahead = last + beta * (last - next[i]);
        float x = stepped(n, i, ahead, part(n, i, z, own), metric, lasso);
        next[i] = x;
        if (i >= n.first) measured.add(i < intra(n), metric, x, ahead, last);
    }
    add_up(measured.sums, to);
}

// One block per group of streamlines: shrinks it if `shrinks`, as in solver/penalty.rs, and adds its penalty.
extern "C" __global__ void commit_groups(
    Columns n, const u32* begins, const u32* fibres, const float* costs, u32 shrinks, const float* h, float* x, double* sum) {
    const u32 first = begins[blockIdx.x], last = begins[blockIdx.x + 1];
    const u64 members = u64(last - first) * n.atoms;
    const double cost = costs[blockIdx.x];
    auto column = [&](u64 i) { return u64(fibres[first + i / n.atoms]) * n.atoms + i % n.atoms; };
    auto size = [&]() {
        double square = 0;
        for (u64 i = threadIdx.x; i < members; i += blockDim.x) {
            double v = x[column(i)];
            square += v * v;
        }
        return sqrt(whole(square));
    };
    if (shrinks && cost > 0) {
        auto above = [&](double t) {
            double square = 0;
            for (u64 i = threadIdx.x; i < members; i += blockDim.x) {
                double v = x[column(i)], w = h[column(i)], part = v > 0 ? w * v / (w * t + cost) : 0;
                square += part * part;
            }
            return whole(square) > 1;
        };
        double low = 0, high = size();
        bool none = !above(0);
        for (int i = 0; !none && i < 60; ++i) {
            double middle = 0.5 * (low + high);
            if (above(middle)) low = middle;
            else high = middle;
        }
        double t = 0.5 * (low + high);
        for (u64 i = threadIdx.x; i < members; i += blockDim.x) {
            double v = x[column(i)], w = h[column(i)];
            x[column(i)] = none || !(v > 0) ? 0.0f : float(w * v / (w + cost / t));
        }
        __syncthreads();
    }
    double all = size();
    if (threadIdx.x == 0 && n.first == 0) atomicAdd(sum, cost * all);
}

extern "C" __global__ void commit_measure(
    Columns n, const float* h, const float* x, const float* z, const float* before, double* to) {
    Measured measured;
    for (u64 i = n.first + thread_of_many(); i < n.count; i += many())
        measured.add(i < intra(n), h[i], x[i], z[i], before[i]);
    add_up(measured.sums, to);
}

// out = a u + b v.
extern "C" __global__ void commit_combine(u64 count, float a, const float* u, float b, const float* v, float* out) {
    for (u64 i = thread_of_many(); i < count; i += many()) out[i] = a * u[i] + b * v[i];
}
