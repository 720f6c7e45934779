// Selection of streamlines whose points are on the card, and their values. Every number equals that of
// src/engine/solvers/tractogram, so operations are rounded one by one; only numbers below 1.2e-38 count as 0.
#include "lines.cuh"

// Constants of src/engine/solvers/tractogram/selection/meeting.rs and src/engine/solvers/curves/regions.rs.
const double CUT_MM = 1e-3, FACE = 1e-9;
const long long FEW_VOXELS = 27;
// Farther from the origin of its grid, in voxels, the CPU tests a segment.
const double FAR = 1048576.0;

// `KernelValues` in src/engine/solvers/tractogram/cuda.rs: where the values of a streamline's points are.
struct Values {
    const float* values;
    u32 count;
    u32 unused;
};

// `KernelRegion` in src/engine/solvers/tractogram/cuda.rs: bounds that are rounded outwards; the centre of a sphere or the
// low corner of a box; the transform of a mask from world mm to voxels, by columns, and its voxels.
struct Region {
    double from_world[12];
    double low[3], high[3];
    double radius_mm;
    float near_low[3], near_high[3];
    u32 kind;  // 0 sphere, 1 box, 2 mask
    u32 shape[3];
    const unsigned char* inside;
};

// `KernelRules` in src/engine/solvers/tractogram/cuda.rs: the regions follow each other by role.
struct Rules {
    u32 exclude, include, targets, masks;
    u32 by_ends;
};

// Whether no voxel around a short segment is in the mask; in voxels, voxel i covers i to i + 1.
__device__ __forceinline__ bool is_clear(const Region& region, const double (&from)[3], const double (&to)[3]) {
    long long low[3], high[3], voxels = 1;
    bool few = true;
#pragma unroll
    for (u32 a = 0; a < 3; a++) {
        double least = from[a] < to[a] ? from[a] : to[a], most = from[a] > to[a] ? from[a] : to[a];
        low[a] = max((long long)floor(__dsub_rn(least, FACE)), 0LL);
        high[a] = min((long long)floor(__dadd_rn(most, FACE)), (long long)region.shape[a] - 1);
        long long size = high[a] - low[a] + 1;
        if (size <= 0) return true;
        few = few && size <= FEW_VOXELS;
        voxels *= size;
    }
    if (!few || voxels > FEW_VOXELS) return false;
    for (long long k = low[2]; k <= high[2]; k++)
        for (long long j = low[1]; j <= high[1]; j++)
            for (long long i = low[0]; i <= high[0]; i++)
                if (region.inside[i + region.shape[0] * (j + region.shape[1] * k)]) return false;
    return true;
}

// The order of numbers in which -0 precedes 0.
__device__ __forceinline__ bool precedes(double a, double b) {
    return a < b || (a == b && __double_as_longlong(a) < 0 && __double_as_longlong(b) >= 0);
}

// Whether a segment enters a voxel of a mask (Amanatides and Woo 1987). Sets `far` if the CPU has to test it.
__device__ bool enters_mask(const Region& region, f64x3 from, f64x3 way, bool& far) {
    double start[3], along[3], end[3];
    long long voxel[3];
    int ahead[3];
#pragma unroll
    for (u32 a = 0; a < 3; a++) {
        start[a] = __dadd_rn(transformed(region.from_world, a, from), 0.5);
        along[a] = turned(region.from_world, a, way);
        end[a] = __dadd_rn(start[a], along[a]);
        if (!(fabs(start[a]) <= FAR && fabs(end[a]) <= FAR)) {
            far = true;
            return false;
        }
        voxel[a] = (long long)floor(start[a]);
        ahead[a] = along[a] < 0.0 ? -1 : 1;
    }
    if (is_clear(region, start, end)) return false;
    while (true) {
        bool in_grid = true;
#pragma unroll
        for (u32 a = 0; a < 3; a++) in_grid = in_grid && voxel[a] >= 0 && voxel[a] < (long long)region.shape[a];
        if (in_grid && region.inside[voxel[0] + region.shape[0] * (voxel[1] + region.shape[1] * voxel[2])]) return true;
        double next = 0.0;
        u32 axis = 0;
#pragma unroll
        for (u32 a = 0; a < 3; a++) {
            double face = (double)(voxel[a] + (ahead[a] > 0 ? 1 : 0));
            double t = __ddiv_rn(__dsub_rn(face, start[a]), along[a]);
            t = t >= 0.0 ? t : NEVER;
            if (a == 0 || precedes(t, next)) next = t, axis = a;
        }
        if (!(next <= 1.0)) return false;
#pragma unroll
        for (u32 a = 0; a < 3; a++) voxel[a] += a == axis ? ahead[a] : 0;
    }
}

// Whether a segment has a point in a region.
__device__ bool enters(const Region& region, f64x3 from, f64x3 to, bool& far) {
    f64x3 along = minus(to, from);
    if (region.kind == 0) {
        f64x3 out = minus(from, {region.low[0], region.low[1], region.low[2]});
        double c = __dsub_rn(product(out, out), __dmul_rn(region.radius_mm, region.radius_mm));
        if (c <= 0.0) return true;
        double a = product(along, along), b = product(out, along);
        double under = __dsub_rn(__dmul_rn(b, b), __dmul_rn(a, c));
        double t = __ddiv_rn(c, __dsub_rn(__dsqrt_rn(fmax(under, 0.0)), b));
        return b < 0.0 && under >= 0.0 && t <= 1.0;
    }
    if (region.kind == 1) {
        double enter = 0.0, leave = 1.0;
        const double a[3] = {from.x, from.y, from.z}, d[3] = {along.x, along.y, along.z};
#pragma unroll
        for (u32 i = 0; i < 3; i++) {
            if (d[i] == 0.0) {
                if (a[i] < region.low[i] || a[i] > region.high[i]) return false;
                continue;
            }
            double t = __ddiv_rn(__dsub_rn(region.low[i], a[i]), d[i]), u = __ddiv_rn(__dsub_rn(region.high[i], a[i]), d[i]);
            enter = fmax(enter, fmin(t, u)), leave = fmin(leave, fmax(t, u));
        }
        return enter <= leave;
    }
    return enters_mask(region, from, along, far);
}

__device__ __forceinline__ bool is_outside(float low, float high, float from, float to) {
    return (from < low && to < low) || (from > high && to > high);
}

__device__ __forceinline__ bool meets_segment(const Region& region, f32x3 from, f32x3 to, bool& far) {
    const float *low = region.near_low, *high = region.near_high;
    if (is_outside(low[0], high[0], from.x, to.x) || is_outside(low[1], high[1], from.y, to.y) ||
        is_outside(low[2], high[2], from.z, to.z))
        return false;
    return is_finite(from) && is_finite(to) && enters(region, widened(from), widened(to), far);
}

__device__ bool is_met(const Region& region, const Line& line, bool& far) {
    if (line.count == 0) return false;
    f32x3 from = line.points[0];
    if (line.count == 1) return meets_segment(region, from, from, far);
    for (u32 k = 1; k < line.count; k++) {
        f32x3 to = line.points[k];
        if (meets_segment(region, from, to, far)) return true;
        from = to;
    }
    return false;
}

__device__ __forceinline__ bool contains(const Region& region, f32x3 p, bool& far) {
    const float *low = region.near_low, *high = region.near_high;
    bool near = low[0] <= p.x && p.x <= high[0] && low[1] <= p.y && p.y <= high[1] && low[2] <= p.z && p.z <= high[2];
    return near && enters(region, widened(p), widened(p), far);
}

// Whether a streamline would enter the region immediately beyond an end.
__device__ bool reaches(const Region& region, f32x3 from, f32x3 end, bool& far) {
    const float *low = region.near_low, *high = region.near_high, reach = (float)CUT_MM;
    const float at[3] = {end.x, end.y, end.z};
#pragma unroll
    for (u32 a = 0; a < 3; a++) {
        if (!(at[a] >= __fsub_rn(low[a], reach) && at[a] <= __fadd_rn(high[a], reach))) return false;
    }
    f64x3 here = widened(end), along = minus(here, widened(from));
    double over = __ddiv_rn(1.0, __dsqrt_rn(product(along, along)));
    if (!(over > 0.0 && over < NEVER)) over = 0.0, along = {0.0, 0.0, 0.0};
    f64x3 unit = {__dmul_rn(along.x, over), __dmul_rn(along.y, over), __dmul_rn(along.z, over)};
    f64x3 beyond = {__dadd_rn(here.x, __dmul_rn(unit.x, CUT_MM)), __dadd_rn(here.y, __dmul_rn(unit.y, CUT_MM)),
                    __dadd_rn(here.z, __dmul_rn(unit.z, CUT_MM))};
    return enters(region, here, beyond, far);
}

__device__ __forceinline__ bool meets(const Region& region, const Line& line, bool by_ends, bool& far) {
    if (line.count == 0) return false;
    f32x3 first = line.points[0], last = line.points[line.count - 1];
    if (by_ends) {
        if (contains(region, first, far) || contains(region, last, far)) return true;
    } else if (is_met(region, line, far)) {
        return true;
    }
    if (line.count < 2) return false;
    return reaches(region, line.points[1], first, far) || reaches(region, line.points[line.count - 2], last, far);
}

// `VERDICTS` in src/engine/solvers/tractogram/cuda.rs; the CPU decides about the last.
enum Verdict { KEPT, TOUCHED_EXCLUDE, MISSED_INCLUDE, MISSED_TARGETS, LEFT_MASK, ASK_CPU = 255 };

__device__ u32 verdict(const Line& line, const Region* regions, const Rules& rules, bool& far) {
    for (u32 i = 0; i < rules.exclude; i++, regions++) {
        if (is_met(*regions, line, far)) return TOUCHED_EXCLUDE;
    }
    for (u32 i = 0; i < rules.include; i++, regions++) {
        if (!meets(*regions, line, rules.by_ends, far)) return MISSED_INCLUDE;
    }
    bool reached = rules.targets == 0;
    for (u32 i = 0; i < rules.targets && !reached; i++) reached = meets(regions[i], line, rules.by_ends, far);
    if (!reached) return MISSED_TARGETS;
    regions += rules.targets;
    for (u32 k = 0; rules.masks > 0 && k < line.count; k++) {
        bool inside = false;
        for (u32 i = 0; i < rules.masks && !inside; i++) inside = contains(regions[i], line.points[k], far);
        if (!inside) return LEFT_MASK;
    }
    return KEPT;
}

// One thread for each streamline: the first rule about regions that it fails.
extern "C" __global__ void __launch_bounds__(128)
    tractogram_select(const Line* lines, u32 count, const Region* regions, Rules rules, unsigned char* verdicts) {
    u32 i = thread_index();
    if (!(i < count)) return;
    bool far = false;
    u32 own = verdict(lines[i], regions, rules, far);
    verdicts[i] = (unsigned char)(far ? ASK_CPU : own);
}

// One thread for each streamline: its length, mm.
extern "C" __global__ void __launch_bounds__(128, 8)
    tractogram_lengths(const Line* lines, u32 count, float* lengths) {
    u32 i = thread_index();
    if (!(i < count)) return;
    Line line = lines[i];
    double mm = 0.0;
    f64x3 last = {0.0, 0.0, 0.0};
    for (u32 k = 0; k < line.count; k++) {
        f64x3 at = widened(line.points[k]), step = minus(last, at);
        if (k > 0) mm = __dadd_rn(mm, __dsqrt_rn(product(step, step)));
        last = at;
    }
    lengths[i] = __double2float_rn(mm);
}

// One thread for each streamline: the mean of the values of its points, NaN without any.
extern "C" __global__ void __launch_bounds__(128) tractogram_means(const Values* lines, u32 count, float* means) {
    u32 i = thread_index();
    if (!(i < count)) return;
    Values line = lines[i];
    double sum = 0.0;
    for (u32 k = 0; k < line.count; k++) sum = __dadd_rn(sum, (double)line.values[k]);
    means[i] = __double2float_rn(__ddiv_rn(sum, (double)line.count));
}

// `KernelImage` in src/engine/solvers/tractogram/cuda.rs: columns and offset of the transform from world mm to voxels, the
// last voxel, and the distance in voxels up to which points lie in the grid.
struct Image {
    float from_world[12];
    float last[3];
    float border;
    u32 shape[3];
    u32 unused;
};

// The trilinear value at a point; false for a point in no voxel.
__device__ __forceinline__ bool sample(const Image& image, const float* values, f32x3 p, float& value) {
    float v[3], low[3], share[3];
    bool finite = true, inside = true;
#pragma unroll
    for (u32 a = 0; a < 3; a++) {
        float sum = __fadd_rn(__fmul_rn(image.from_world[a], p.x), __fmul_rn(image.from_world[3 + a], p.y));
        sum = __fadd_rn(sum, __fmul_rn(image.from_world[6 + a], p.z));
        v[a] = __fadd_rn(sum, image.from_world[9 + a]);
        finite = finite && fabsf(v[a]) <= LARGEST;
        inside = inside && v[a] >= -image.border && v[a] <= __fadd_rn(image.last[a], image.border);
    }
    value = __int_as_float(0x7fc00000);
    if (!finite) return true;
    if (!inside) return false;
    u64 strides[3] = {1, image.shape[0], (u64)image.shape[0] * image.shape[1]}, first = 0, next[3];
#pragma unroll
    for (u32 a = 0; a < 3; a++) {
        float at = fminf(fmaxf(v[a], 0.0f), image.last[a]);
        low[a] = fminf(floorf(at), fmaxf(__fsub_rn(image.last[a], 1.0f), 0.0f));
        share[a] = __fsub_rn(at, low[a]);
        first += strides[a] * (u32)low[a];
        next[a] = image.shape[a] > 1 ? strides[a] : 0;
    }
    auto mix = [](float a, float b, float t) { return __fadd_rn(a, __fmul_rn(__fsub_rn(b, a), t)); };
    auto row = [&](u64 at) { return mix(values[at], values[at + next[0]], share[0]); };
    auto plane = [&](u64 at) { return mix(row(at), row(at + next[1]), share[1]); };
    value = mix(plane(first), plane(first + next[2]), share[2]);
    return true;
}

// One thread for each streamline: the mean of an image over the points inside it, NaN without any; and whether any of the
// values, whether all points and whether no value lies within limits: bits 0, 1 and 2.
extern "C" __global__ void __launch_bounds__(128)
    tractogram_image(const Line* lines, u32 count, Image image, const float* values, float low, float high, float* means,
                     unsigned char* flags) {
    u32 i = thread_index();
    if (!(i < count)) return;
    Line line = lines[i];
    double sum = 0.0;
    u32 inside = 0;
    bool any = false, all = line.count > 0, valued = false;
    for (u32 k = 0; k < line.count; k++) {
        float value;
        bool is_inside = sample(image, values, line.points[k], value);
        bool within = is_inside && low <= value && value <= high;
        any = any || within;
        all = all && within;
        valued = valued || (is_inside && value == value);
        if (is_inside) sum = __dadd_rn(sum, (double)value), inside++;
    }
    means[i] = __double2float_rn(__ddiv_rn(sum, (double)inside));
    flags[i] = (any ? 1 : 0) | (all ? 2 : 0) | (valued ? 4 : 0);
}
