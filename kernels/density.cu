// Density maps of streamlines whose points are on the card. Every number equals that of src/engine/solvers/density, so
// operations are rounded one by one; only coordinates below 1.2e-38 mm count as 0.
#include "lines.cuh"

// Units of length per mm, as in src/engine/solvers/density/mod.rs.
const double UNITS_PER_MM = 16777216.0;

// `KernelCells` in src/engine/solvers/density/cuda.rs: the transform from world mm to coordinates in which voxel i is the
// half-open interval from i to i + 1, by columns, and the shape.
struct Cells {
    double columns[12];
    u32 shape[3];
    u32 unused;
};

// `KernelSums` in src/engine/solvers/density/cuda.rs: sums by voxel, which are 0 where they are not requested. The first
// entry of each streamline's table, which has twice as many entries as its number of passes.
struct Sums {
    u32* visits;
    u64* lengths;
    u64* directions;
    u32* tables;
    const u64* starts;
    const u32* passes;
    // Length inside the grid and of all streamlines, and the number of segments that are left out.
    u64* totals;
    u64 voxels;
};

// The voxel that contains a point of the cells.
__device__ __forceinline__ bool voxel_at(const Cells& cells, const double (&at)[3], u32& voxel) {
    u32 cell[3];
    bool inside = true;
#pragma unroll
    for (u32 a = 0; a < 3; a++) {
        double low = floor(at[a]);
        inside = inside && low >= 0.0 && low < (double)cells.shape[a];
        cell[a] = inside ? (u32)low : 0;
    }
    voxel = cell[0] + cells.shape[0] * (cell[1] + cells.shape[1] * cell[2]);
    return inside;
}

// Faces of one axis that a segment crosses, in their order along it.
struct Faces {
    double next, face, last, step;
};

// The next cut after that of `face`, if one lies before `end`.
__device__ __forceinline__ void advance(Faces& faces, double from, double along, double begin, double end) {
    faces.next = NEVER;
    while (faces.face != faces.last) {
        faces.face += faces.step;
        double t = __ddiv_rn(__dsub_rn(faces.face, from), along);
        if (t > begin) {
            if (t < end) faces.next = t;
            return;
        }
    }
}

// Calls `pass` with each voxel on a segment and the shares of the segment at which it begins and ends there.
template <class Pass>
__device__ __forceinline__ void cross(const Cells& cells, const double (&from)[3], const double (&to)[3], Pass pass) {
    bool same = true;
#pragma unroll
    for (u32 a = 0; a < 3; a++) same = same && floor(from[a]) == floor(to[a]);
    u32 voxel;
    if (same) {
        if (voxel_at(cells, from, voxel)) pass(voxel, 0.0, 1.0);
        return;
    }
    double along[3], begin = 0.0, end = 1.0;
#pragma unroll
    for (u32 a = 0; a < 3; a++) {
        along[a] = __dsub_rn(to[a], from[a]);
        double n = (double)cells.shape[a];
        if (along[a] == 0.0) {
            if (!(from[a] >= 0.0 && from[a] < n)) return;
            continue;
        }
        double low = __ddiv_rn(-from[a], along[a]), high = __ddiv_rn(__dsub_rn(n, from[a]), along[a]);
        begin = fmax(begin, fmin(low, high));
        end = fmin(end, fmax(low, high));
    }
    if (!(begin < end)) return;
    Faces faces[3];
#pragma unroll
    for (u32 a = 0; a < 3; a++) {
        faces[a] = {NEVER, 0.0, 0.0, 1.0};
        if (along[a] == 0.0) continue;
        double n = (double)cells.shape[a];
        double b = __dadd_rn(from[a], __dmul_rn(begin, along[a])), e = __dadd_rn(from[a], __dmul_rn(end, along[a]));
        double first = fmin(fmax(ceil(fmin(b, e)), 0.0), n), last = fmin(fmax(floor(fmax(b, e)), 0.0), n);
        if (!(first <= last)) continue;
        double step = along[a] > 0.0 ? 1.0 : -1.0;
        // One face before the first.
        faces[a].face = (along[a] > 0.0 ? first : last) - step;
        faces[a].last = along[a] > 0.0 ? last : first;
        faces[a].step = step;
        advance(faces[a], from[a], along[a], begin, end);
    }
    double now = begin;
    while (true) {
        double t = fmin(fmin(faces[0].next, faces[1].next), faces[2].next), until = fmin(t, end);
        if (now < until) {
            double middle = __dmul_rn(0.5, __dadd_rn(now, until)), at[3];
#pragma unroll
            for (u32 a = 0; a < 3; a++) at[a] = __dadd_rn(from[a], __dmul_rn(along[a], middle));
            if (voxel_at(cells, at, voxel)) pass(voxel, now, until);
            now = until;
        }
        if (!(t < end)) return;
#pragma unroll
        for (u32 a = 0; a < 3; a++) {
            if (faces[a].next == t) advance(faces[a], from[a], along[a], begin, end);
        }
    }
}

// One thread for each streamline: how often it goes from one voxel into another.
extern "C" __global__ void __launch_bounds__(128, 4)
    density_passes(const Line* lines, u32 count, Cells cells, u32* passes) {
    u32 i = thread_index();
    if (!(i < count)) return;
    Line line = lines[i];
    u32 own = 0, last = ~0u;
    if (line.count > 0) {
        f32x3 before = line.points[0];
        double from[3], to[3];
#pragma unroll
        for (u32 a = 0; a < 3; a++) from[a] = transformed(cells.columns, a, widened(before));
        if (line.count == 1 && voxel_at(cells, from, last)) own = 1;
        for (u32 k = 1; k < line.count; k++) {
            f32x3 here = line.points[k];
#pragma unroll
            for (u32 a = 0; a < 3; a++) to[a] = transformed(cells.columns, a, widened(here));
            if (is_finite(before) && is_finite(here)) {
                cross(cells, from, to, [&](u32 voxel, double, double) {
                    own += voxel != last;
                    last = voxel;
                });
            }
            before = here;
#pragma unroll
            for (u32 a = 0; a < 3; a++) from[a] = to[a];
        }
    }
    passes[i] = own;
}

// Whether a voxel is new in the table of a streamline.
__device__ __forceinline__ bool is_new(u32* table, u32 entries, u32 voxel) {
    u32 key = voxel + 1, place = (u32)((u64)(voxel * 2654435761u) * entries >> 32);
    while (true) {
        u32 known = table[place];
        if (known == key) return false;
        if (known == 0) {
            table[place] = key;
            return true;
        }
        place = place + 1 < entries ? place + 1 : 0;
    }
}

__device__ __forceinline__ u64 units(double mm) { return __double2ull_rz(round(__dmul_rn(mm, UNITS_PER_MM))); }

// The sum over a warp, of which all threads take part.
__device__ __forceinline__ u64 warp_sum(u64 value) {
    for (u32 lanes = 16; lanes > 0; lanes /= 2) value += __shfl_xor_sync(0xffffffff, value, lanes);
    return value;
}

// One thread for each streamline: adds its visits, its lengths, and their directions.
extern "C" __global__ void __launch_bounds__(128, 4)
    density_add(const Line* lines, u32 count, Cells cells, Sums sums) {
    u32 i = thread_index();
    bool is_line = i < count;
    Line line = is_line ? lines[i] : Line{0, 0, 0};
    u32* table = is_line && sums.visits ? sums.tables + sums.starts[i] : 0;
    u32 entries = table ? 2 * sums.passes[i] : 0, last = ~0u;
    u64 inside = 0, broken = 0;
    double before_mm = 0.0;
    auto visit = [&](u32 voxel) {
        if (table && voxel != last && is_new(table, entries, voxel)) atomicAdd(sums.visits + voxel, 1);
        last = voxel;
    };
    if (line.count > 0) {
        f32x3 before = line.points[0];
        double from[3], to[3];
#pragma unroll
        for (u32 a = 0; a < 3; a++) from[a] = transformed(cells.columns, a, widened(before));
        u32 only;
        if (line.count == 1 && voxel_at(cells, from, only)) visit(only);
        for (u32 k = 1; k < line.count; k++) {
            f32x3 here = line.points[k];
#pragma unroll
            for (u32 a = 0; a < 3; a++) to[a] = transformed(cells.columns, a, widened(here));
            if (is_finite(before) && is_finite(here)) {
                f64x3 p = widened(before), q = widened(here);
                f64x3 along = minus(q, p);
                double length = __dsqrt_rn(product(along, along)), share[3] = {0.0, 0.0, 0.0};
                if (sums.directions && length > 0.0) {
                    share[0] = __ddiv_rn(fabs(along.x), length);
                    share[1] = __ddiv_rn(fabs(along.y), length);
                    share[2] = __ddiv_rn(fabs(along.z), length);
                }
                cross(cells, from, to, [&](u32 voxel, double begin, double end) {
                    u64 piece = units(__dadd_rn(before_mm, __dmul_rn(end, length))) -
                                units(__dadd_rn(before_mm, __dmul_rn(begin, length)));
                    inside += piece;
                    visit(voxel);
                    if (sums.lengths) atomicAdd(sums.lengths + voxel, piece);
                    if (sums.directions) {
                        double whole = __ull2double_rn(piece);
#pragma unroll
                        for (u32 a = 0; a < 3; a++)
                            atomicAdd(sums.directions + a * sums.voxels + voxel,
                                      __double2ull_rz(round(__dmul_rn(share[a], whole))));
                    }
                });
                before_mm = __dadd_rn(before_mm, length);
            } else {
                broken++;
            }
            before = here;
#pragma unroll
            for (u32 a = 0; a < 3; a++) from[a] = to[a];
        }
    }
    u64 own[3] = {inside, is_line ? units(before_mm) : 0, broken};
#pragma unroll
    for (u32 a = 0; a < 3; a++) {
        u64 sum = warp_sum(own[a]);
        if (threadIdx.x % 32 == 0 && sum > 0) atomicAdd(sums.totals + a, sum);
    }
}
