// Labels at the ends of streamlines whose points are on the card. Every number equals that of
// src/engine/solvers/connectivity, so operations are rounded one by one; only coordinates below 1.2e-38 mm count as 0.
#include "lines.cuh"

// `KernelLabels` in src/engine/solvers/connectivity/cuda.rs: columns and offsets of the transforms between world mm and
// voxels, the largest distance of a label, and half the edges of the block of voxels that a ball of it touches.
struct Labels {
    double voxel_from_world[12], world_from_voxel[12];
    double reach[3];
    double radius_mm;
    u32 shape[3];
    u32 unused;
};

// `KernelEnds` in src/engine/solvers/connectivity/cuda.rs: the label's value at each end, 0 without one, and the length.
struct Ends {
    float first, last, length_mm;
};

// The number of a label is the whole part of its value.
__device__ __forceinline__ bool is_label(float value) { return fabsf(value) >= 1.0f && fabsf(value) <= LARGEST; }

// The label of the voxel that contains a point, else that of the labelled voxel with the nearest centre.
__device__ float label_at(const Labels& labels, const float* values, f32x3 point) {
    if (!is_finite(point)) return 0.0f;
    double world[3] = {(double)point.x, (double)point.y, (double)point.z}, at[3];
    bool inside = true;
    u32 cell[3];
#pragma unroll
    for (u32 a = 0; a < 3; a++) {
        at[a] = transformed(labels.voxel_from_world, a, widened(point));
        double nearest = round(at[a]);
        inside = inside && nearest >= 0.0 && nearest < (double)labels.shape[a];
        cell[a] = inside ? (u32)nearest : 0;
    }
    u64 nx = labels.shape[0], ny = labels.shape[1];
    if (inside) {
        float here = values[cell[0] + nx * (cell[1] + ny * cell[2])];
        if (is_label(here)) return here;
    }
    if (!(labels.radius_mm > 0.0)) return 0.0f;
    long long low[3], high[3];
#pragma unroll
    for (u32 a = 0; a < 3; a++) {
        double from = fmax(ceil(__dsub_rn(at[a], labels.reach[a])), 0.0);
        double to = fmin(floor(__dadd_rn(at[a], labels.reach[a])), (double)labels.shape[a] - 1.0);
        // Empty if the point lies too far outside.
        low[a] = (long long)fmin(from, 4e9);
        high[a] = (long long)fmax(__dadd_rn(to, 1.0), 0.0);
    }
    double best = __dmul_rn(labels.radius_mm, labels.radius_mm);
    float found = 0.0f;
    for (long long k = low[2]; k < high[2]; k++)
        for (long long j = low[1]; j < high[1]; j++)
            for (long long i = low[0]; i < high[0]; i++) {
                float label = values[i + nx * (j + ny * k)];
                if (!is_label(label)) continue;
                const f64x3 voxel = {(double)i, (double)j, (double)k};
                double squared = 0.0;
#pragma unroll
                for (u32 a = 0; a < 3; a++) {
                    double off = __dsub_rn(transformed(labels.world_from_voxel, a, voxel), world[a]);
                    squared = __dadd_rn(squared, __dmul_rn(off, off));
                }
                if (squared < best || (squared == best && found == 0.0f)) best = squared, found = label;
            }
    return found;
}

// One thread for each streamline: the labels at its ends, and its length.
extern "C" __global__ void __launch_bounds__(128)
    connectivity_ends(const Line* lines, u32 count, Labels labels, const float* values, Ends* ends) {
    u32 i = thread_index();
    if (!(i < count)) return;
    Line line = lines[i];
    Ends own = {0.0f, 0.0f, 0.0f};
    if (line.count > 0) {
        own.first = label_at(labels, values, line.points[0]);
        own.last = label_at(labels, values, line.points[line.count - 1]);
        double mm = 0.0;
        f32x3 last = line.points[0];
        for (u32 k = 1; k < line.count; k++) {
            f32x3 at = line.points[k];
            double x = (double)last.x - (double)at.x, y = (double)last.y - (double)at.y, z = (double)last.z - (double)at.z;
            double squared = __dadd_rn(__dadd_rn(__dmul_rn(x, x), __dmul_rn(y, y)), __dmul_rn(z, z));
            mm = __dadd_rn(mm, __dsqrt_rn(squared));
            last = at;
        }
        own.length_mm = (float)mm;
    }
    ends[i] = own;
}
