// The excess cost of pathways, written directly to an image that the window draws, without a copy of all its texels
// through the host.
#include "common.cuh"

// One thread writes one texel: the value where no path leads.
extern "C" __global__ void pathway_fill(u64 image, u32 nx, u32 ny, u32 nz, float value) {
    u32 i = thread_index();
    if (!(i < nx * ny * nz)) return;
    u32 x = i % nx, y = i / nx % ny, z = i / (nx * ny);
    surf3Dwrite(value, (cudaSurfaceObject_t)image, (int)(4 * x), (int)y, (int)z);
}

// One thread handles one place: writes the share by which its cost (u1 + u2, infinite where no path leads) exceeds
// the minimum to its voxel, numbered x fastest.
extern "C" __global__ void pathway_scatter(u64 image, u32 nx, u32 ny, const u32* voxels_grid,
                                           const float* first_grid, const float* second_grid, u32 places,
                                           double min_cost, float max_excess) {
    u32 i = thread_index();
    if (!(i < places)) return;
    // Equal to Pathway::shares to the last bit.
    double share = (double)(first_grid[i] + second_grid[i]) / min_cost - 1.0;
    float value = fminf((float)fmax(share, 0.0), max_excess);
    u32 voxel = voxels_grid[i];
    u32 x = voxel % nx, y = voxel / nx % ny, z = voxel / (nx * ny);
    surf3Dwrite(value, (cudaSurfaceObject_t)image, (int)(4 * x), (int)y, (int)z);
}
